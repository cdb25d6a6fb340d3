"""The source that docs/tutorials/add_corpus.md adds: its module and nothing else."""

import importlib.util

import pytest

from bottomup.core.errors import UserError
from bottomup.corpus.sources import COLUMNS
from tests.tutorials import files_in

PATH = "bottomup/corpus/sources/jsonl.py"
MODULE = files_in("add_corpus")[PATH]
LINE = '{"document": "a", "source": "Click %s.", "target": "Klicken Sie auf %s."}\n'


def test_it_is_planned_as_any_source(checkout):
    (checkout.path / PATH).write_text(MODULE)
    (checkout.path / "text.jsonl").write_text(LINE % ("here", "hier"))
    checkout.edit("study.yaml", "source: [files, libreoffice_help]", "source: jsonl")
    checkout.edit("study.yaml", "  sources:\n", "  sources:\n    jsonl: {file: text.jsonl}\n")
    assert "corpus/pairs/jsonl.parquet" in checkout.summary()
    checkout.edit("study.yaml", "{file: text.jsonl}", "{file: missing.jsonl}")
    said = checkout.snakemake("--summary", "--configfile", "study.yaml", check=False)
    assert 'corpus.sources.jsonl.file: found "missing.jsonl"' in said.stderr


@pytest.fixture
def jsonl(tmp_path):
    """The module, and a way to fetch from a file with some text."""
    (tmp_path / "jsonl.py").write_text(MODULE)
    spec = importlib.util.spec_from_file_location("jsonl", tmp_path / "jsonl.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def fetch(text):
        (tmp_path / "text.jsonl").write_text(text)
        return module.fetch(module.Options(file=tmp_path / "text.jsonl"), tmp_path)

    return fetch


def test_it_gives_the_pairs_of_the_file(jsonl):
    found = jsonl(LINE % ("OK", "OK") + LINE % ("07", "07"))[COLUMNS]
    assert found.to_numpy().tolist() == [
        ["a", "1", "Click OK.", "Klicken Sie auf OK."],
        ["a", "2", "Click 07.", "Klicken Sie auf 07."],
    ]


def test_a_file_that_is_something_else_is_an_error(jsonl):
    with pytest.raises(UserError, match="is not JSON Lines"):
        jsonl("Click here.")
    with pytest.raises(UserError, match="has no document, target; add it to each line"):
        jsonl('{"source": "Click here."}')
