import pytest
from made_up_treebank import GUIDE, treebank_in

from bottomup.corpus.sources import fetch
from bottomup.errors import UserError


def test_sentences_of_a_treebank(tmp_path):
    folder = treebank_in(tmp_path / "treebank", a=GUIDE)
    found = fetch("conllu", {"folder": str(folder)}, tmp_path)
    assert found[["document", "element", "source"]].to_numpy().tolist() == [
        ["guide", "guide-1", "You don't open the well-known file."],
        ["guide", "guide-2", "Files and/or folders are shown."],
        ["a-1", "a-1", "Wait."],
    ]


def test_a_folder_without_a_treebank(tmp_path):
    with pytest.raises(UserError, match=r"folder: allowed: a folder with \*\.conllu files"):
        fetch("conllu", {"folder": str(tmp_path)}, tmp_path)
