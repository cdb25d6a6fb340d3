import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from pydantic import Field, ValidationError

from bottomup.core.errors import UserError
from bottomup.core.schema import validated
from bottomup.core.settings import File, Folder
from bottomup.corpus import sources


def test_the_sources_there_are():
    assert sources.names() == [
        "brackets",
        "conllu",
        "files",
        "hidden_markov",
        "libreoffice_help",
        "man_pages",
        "mtdata",
        "package_descriptions",
        "program_messages",
    ]


@pytest.mark.parametrize("name", sources.names())
def test_every_source_keeps_the_interface(name):
    options = sources.module(name).Options
    assert issubclass(options, sources.SourceOptions)
    assert callable(sources.module(name).fetch)
    for field, info in options.model_fields.items():
        assert info.description, f"{name}.{field} has no description"


def test_an_unknown_source_is_an_error_that_names_the_known_and_the_nearest():
    with pytest.raises(UserError) as error:
        sources.module("libreofice_help")
    known = "brackets, conllu, files, hidden_markov, libreoffice_help, man_pages, mtdata, "
    known += "package_descriptions, program_messages"
    assert known in str(error.value)
    assert "did you mean libreoffice_help?" in str(error.value)


def test_all_problems_of_options_are_told_in_one_line(tmp_path):
    options = {"languages": ["en", "sw"], "form": "apt", "version": "new"}
    with pytest.raises(UserError) as error:
        sources.fetch("libreoffice_help", options, tmp_path)
    message = str(error.value)
    assert "\n" not in message
    for part in ("en, zh, ca", "form: Extra inputs", "version: String should match"):
        assert part in message


@pytest.mark.parametrize("languages", [["en", "en"], ["english", "de"], [], ["en", "de", "fr"]])
def test_languages_are_codes_that_differ(languages, tmp_path):
    with pytest.raises(UserError, match="languages"):
        sources.fetch("files", {"languages": languages, "tsv": __file__}, tmp_path)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"document": None}, "no column document; allowed: all of document, element, source"),
        ({"target": ["Datei", None]}, "nan as target of pair 2; allowed: text"),
        ({"document": [7, 7]}, "7 as document of pair 1; allowed: text"),
    ],
)
def test_what_a_source_of_ones_own_forgets_is_told(given, said, tmp_path, monkeypatch):
    columns = {name: ["a", "b"] for name in sources.COLUMNS} | given
    pairs = pd.DataFrame({name: of for name, of in columns.items() if of})
    monkeypatch.setattr(sources.module("brackets"), "fetch", lambda *_: pairs)
    with pytest.raises(UserError, match=f"the corpus source brackets gives {said}"):
        sources.fetch("brackets", {}, tmp_path)


class OfFiles(sources.SourceOptions):
    """What a source of one's own may name on the disk."""

    first: File
    none: File | None = None
    more: list[File] = Field([])
    by_side: dict[str, list[File]] = Field({})
    folder: Folder


def test_all_that_options_name_on_the_disk_is_read(tmp_path):
    """Whether a source says so or not: else an edit of it would go unseen."""
    (tmp_path / "folder/below").mkdir(parents=True)
    names = ["a", "b", "c", "folder/d", "folder/below/e"]
    files = [str(tmp_path / name) for name in names]
    for file in files:
        Path(file).write_text("text")
    options = {"first": files[0], "more": files[1:2], "by_side": {"source": files[2:3]}}
    options |= {"folder": str(tmp_path / "folder")}
    found = validated(OfFiles, options)
    assert found.input_files() == files[:3]
    assert sorted(found.read_files()) == sorted(files)


def test_a_source_of_pairs_alone_asks_for_two_languages(tmp_path):
    options = {"languages": ["en"], "datasets": ["a-b-1-eng-deu"]}
    with pytest.raises(
        UserError, match="the source mtdata has only sentence pairs; allowed: two languages"
    ):
        sources.fetch("mtdata", options, tmp_path)


def test_text_of_one_language_has_no_target(tmp_path):
    text = tmp_path / "text.en"
    text.write_text("One.\nTwo.\n")
    table = sources.fetch("files", {"languages": ["en"], "source": str(text)}, tmp_path)
    assert table.to_dict("list") == {
        "document": ["1", "2"],
        "element": ["1", "2"],
        "source": ["One.", "Two."],
    }


def test_a_source_without_pairs_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(sources.module("files"), "lines", lambda path: [])
    monkeypatch.setattr(sources.module("files"), "_tsv", lambda path: [[], []])
    with pytest.raises(UserError, match="files gave no pairs"):
        sources.fetch("files", {"tsv": __file__}, tmp_path)


def test_no_part_of_the_room_but_annotation_loads_torch():
    files = set(Path("bottomup/corpus").rglob("*.py"))
    files -= {Path("bottomup/corpus/annotation/pipeline.py")}  # spaCy loads it
    modules = [".".join(path.with_suffix("").parts) for path in sorted(files)]
    code = f"import importlib, sys; [importlib.import_module(m) for m in {modules}];"
    code += "sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path.cwd())


# Sources that come from Debian, or else from a folder; and what each of them reads.
DEBIAN = {
    **{"libreoffice_help": "help", "man_pages": "pages"},
    **{"package_descriptions": "indices", "program_messages": "catalogs"},
}
TRANSLATED = [*DEBIAN][1:]
OF_PACKAGES = ["man_pages", "program_messages"]


@pytest.mark.parametrize(
    ("names", "given", "where"),
    [
        (TRANSLATED, {"languages": ("de", "fr")}, "the source {name} is translated from English"),
        (DEBIAN, {"from": "folder"}, "goes with `from: folder`"),
        (DEBIAN, {"folder": "."}, "goes with `from: folder`"),
        (OF_PACKAGES, {"packages": ["../x"]}, r"packages\.0"),
        (OF_PACKAGES, {"packages": ["-y"]}, r"packages\.0"),
        (OF_PACKAGES, {"packages": []}, "packages"),
        (
            OF_PACKAGES,
            {"from": "folder", "folder": ".", "packages": ["apt"]},
            "`packages` goes with",
        ),
    ],
)
def test_options_of_debian_that_cannot_be_are_errors(names, given, where):
    for name in names:
        with pytest.raises(ValidationError, match=where.replace("{name}", name)):
            sources.module(name).Options(**given)


@pytest.mark.parametrize(("name", "read"), DEBIAN.items())
def test_a_file_where_the_folder_of_downloads_should_be_is_an_error(name, read, tmp_path):
    (tmp_path / "downloads").touch()
    with pytest.raises(UserError, match=rf"{read} cannot be read or written .*; free some space"):
        sources.module(name).fetch(sources.module(name).Options(), tmp_path / "downloads")
