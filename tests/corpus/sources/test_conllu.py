import pytest
from made_up_treebank import GUIDE, treebank_in

from bottomup.core.errors import UserError
from bottomup.corpus.losses import carried
from bottomup.corpus.sources import fetch


def test_sentences_of_a_treebank(tmp_path):
    folder = treebank_in(tmp_path / "treebank", a=GUIDE)
    found = fetch("conllu", {"folder": str(folder), "languages": ["en"]}, tmp_path)
    assert found.columns.tolist() == ["document", "element", "source"]
    assert found.to_numpy().tolist() == [
        ["guide", "guide-1", "You don't open the well-known file."],
        ["guide", "guide-2", "Files and/or folders are shown."],
        ["a-1", "a-1", "Wait."],
    ]


def test_what_cleaning_would_change_is_counted_and_said(tmp_path, caplog):
    unseen = "\n".join(f"# sent_id = {i}\n1 \u200b _ SYM , _ 0 root _ _\n" for i in range(4))
    folder = treebank_in(tmp_path / "treebank", a=f"{unseen}\n{GUIDE}")
    found = fetch("conllu", {"folder": str(folder), "languages": ["en"]}, tmp_path)
    [lost] = carried(found)
    assert (lost.dropped, lost.of, len(found)) == (4, 7, 3)
    assert "dropped 4 of 7 sentences (corpus.sources.conllu)" in caplog.text


def test_a_folder_without_a_treebank(tmp_path):
    with pytest.raises(UserError, match=r"folder: allowed: a folder with \*\.conllu files"):
        fetch("conllu", {"folder": str(tmp_path), "languages": ["en"]}, tmp_path)


def test_a_treebank_has_no_translation(tmp_path):
    folder = treebank_in(tmp_path / "treebank", a=GUIDE)
    with pytest.raises(UserError, match="languages: a treebank has no translation; allowed: one"):
        fetch("conllu", {"folder": str(folder), "languages": ["en", "de"]}, tmp_path)
