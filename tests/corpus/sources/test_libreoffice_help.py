import hashlib

import pytest
from archive_forms import deb, tar
from pydantic import ValidationError

from bottomup.corpus.sources import libreoffice_help
from bottomup.corpus.sources.libreoffice_help import Options, elements, fetch
from bottomup.errors import UserError

EXPECTED = [
    ["hd_id1", "Saving Documents", "Dokumente speichern"],
    [
        "par_id2",
        "Click Save & wait a moment.",
        "Klicken Sie auf Speichern und warten Sie.",
    ],
]


def of_packs(folder, **more):
    """Options for help packs in a folder."""
    url = f"file://{folder}/helppack_{{language}}.tar.gz"
    return Options(**{"from": "archive", "archive_url": url, **more})


def check(table):
    assert table["document"].unique().tolist() == ["shared/01/save.html", "swriter/main.html"]
    for _, page in table.groupby("document"):
        assert page[["element", "source", "target"]].to_numpy().tolist() == EXPECTED


@pytest.mark.parametrize("depth", ["", "usr/share/libreoffice/help/"])
def test_a_folder_of_pages(tmp_path, help_pages, depth):
    for path, html in help_pages.items():
        file = tmp_path / depth / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(html)
    check(fetch(Options(**{"from": "folder", "folder": tmp_path}), tmp_path / "downloads"))


def test_help_packs_of_an_archive(help_packs, tmp_path):
    check(fetch(of_packs(help_packs), tmp_path / "downloads"))


def test_either_direction(help_packs, tmp_path):
    table = fetch(of_packs(help_packs, languages=("de", "en")), tmp_path)
    assert table[["target", "source"]].iloc[0].tolist() == EXPECTED[0][1:]


def test_a_help_pack_is_downloaded_once(help_packs, tmp_path):
    downloads = tmp_path / "downloads"
    fetch(of_packs(help_packs), downloads)
    for pack in help_packs.glob("*.tar.gz"):
        pack.unlink()
    check(fetch(of_packs(help_packs), downloads))


def test_checksums(help_packs, tmp_path):
    right = hashlib.sha256((help_packs / "helppack_de.tar.gz").read_bytes()).hexdigest()
    check(fetch(of_packs(help_packs, sha256={"de": right.upper()}), tmp_path / "downloads"))
    with pytest.raises(UserError, match=f"SHA-256 {right}, expected {'0' * 64}"):
        fetch(of_packs(help_packs, sha256={"de": "0" * 64}), tmp_path / "downloads")


def test_a_help_pack_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(UserError, match=r"cannot download file:.*helppack_en-US.*from: folder"):
        fetch(of_packs(tmp_path), tmp_path / "downloads")
    assert list((tmp_path / "downloads").iterdir()) == []


def test_a_help_pack_that_leaves_its_folder_is_refused(tmp_path):
    (tmp_path / "helppack_en-US.tar.gz").write_bytes(tar({"../en-US/text/a.html": b"<p>"}))
    with pytest.raises(UserError, match="outside its folder"):
        fetch(of_packs(tmp_path), tmp_path / "downloads")


def test_no_pages_are_an_error(tmp_path):
    with pytest.raises(UserError, match=r"no help pages in .*en-US/text"):
        fetch(Options(**{"from": "folder", "folder": tmp_path}), tmp_path)


@pytest.fixture
def apt(monkeypatch, tmp_path, help_pages):
    """An apt-get whose lists are empty until they are renewed."""
    calls = []

    def run(arguments, folder):
        calls.append([argument for argument in arguments if not argument.startswith("-o")])
        updated = ["update"] in calls
        if calls[-1][0] == "download":
            if not updated:
                return "E: Unable to locate package; "
            name = f"{calls[-1][1]}_4%3a7.4.7-1+deb12u14_all.deb"
            pages = {f"./usr/share/{path}": html for path, html in help_pages.items()}
            (folder / name).write_bytes(deb(pages))
        return ""

    monkeypatch.setattr(libreoffice_help, "_apt", run)
    return calls


def test_apt_renews_lists_of_its_own_where_those_of_the_system_do_not_do(apt, tmp_path):
    check(fetch(Options(), tmp_path / "downloads"))
    assert apt[:3] == [
        ["download", "libreoffice-help-en-us"],
        ["update"],
        ["download", "libreoffice-help-en-us"],
    ]
    n_calls = len(apt)
    check(fetch(Options(), tmp_path / "downloads"))
    assert len(apt) == n_calls


def test_another_version_from_apt_is_a_warning(apt, tmp_path, caplog):
    fetch(Options(), tmp_path)
    assert not caplog.messages
    fetch(Options(version="24.2.7.2"), tmp_path)
    assert "apt has version 7.4.7 " in caplog.messages[0]


def test_no_apt_is_an_error_that_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="no apt-get; set `from: archive`"):
        fetch(Options(), tmp_path / "downloads")


def test_no_network_is_an_error_that_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(libreoffice_help, "_apt", lambda arguments, _: f"E: no {arguments[-1]}; ")
    expected = "help-en-us: E: no update; E: no libreoffice-help-en-us; set `from: archive`"
    with pytest.raises(UserError, match=expected):
        fetch(Options(), tmp_path / "downloads")


@pytest.mark.parametrize("languages", [("de", "fr"), ("en", "pl"), ("en", "en")])
def test_a_language_pair_that_the_help_lacks_is_an_error_of_the_options(languages):
    with pytest.raises(ValidationError, match="languages"):
        Options(languages=languages)


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"sha256": {"de": "12"}}, "sha256.de"),
        ({"sha256": {"deu": "0" * 64}}, "sha256.deu"),
        ({"archive_url": "https://example.org/help.tar.gz"}, "archive_url"),
        ({"version": "latest"}, "version"),
    ],
)
def test_options_that_cannot_be_are_errors(given, where):
    with pytest.raises(ValidationError, match=where):
        Options(**given)


@pytest.mark.parametrize("given", [{"from": "folder"}, {"from": "apt", "folder": "."}])
def test_a_folder_goes_with_from_folder(given):
    with pytest.raises(ValidationError, match="from: folder"):
        Options(**given)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p id='a'>One <b>two</b>\n  three&nbsp;&amp;<br>four</p>", {"a": "One two three & four"}),
        ("<h2 id='a'>x<sub>2</sub></h2><p>no id</p>text", {"a": "x2"}),
        ("<p id='a'>open<p id='b'>next</p>", {"a": "open", "b": "next"}),
        ("<p id='a'>first</p><p id='a'>second</p>", {"a": "first"}),
        ("<div id='a'><p id='b'><img alt='icon'></p></div>", {"b": ""}),
    ],
)
def test_elements_of_a_page(html, expected):
    assert elements(html) == expected


def test_of_variants_by_system_the_last_is_kept():
    variants = "".join(
        f"<span hidden='true' class='{system}'><span>{text}</span></span>\n"
        for system, text in (("MAC", "Command"), ("UNIX", "Meta"), ("", "Ctrl"))
    )
    html = f"<p id='a'>Press <span class='switchinline'>{variants}</span><span>+A</span> now</p>"
    assert elements(html) == {"a": "Press Ctrl +A now"}
