"""Whether a study's text is the one of the findings is said."""

import pytest

from bottomup.corpus import reference
from bottomup.plan.config import load
from tests.plan.test_config import DEFAULT, changed


@pytest.fixture
def splits(tmp_path):
    """`corpus/splits.csv` with the findings' digests but for some parts."""

    def write(**others):
        [known] = reference.KNOWN.values()
        lines = ["split,origin,pairs,digest"]
        for part, digest in known.items():
            split, _, origin = part.partition(" of ")
            lines.append(f"{split},{origin},7,{others.get(f'{split}_{origin}', digest)}")
        (tmp_path / "splits.csv").write_text("\n".join(lines) + "\n")
        return tmp_path / "splits.csv"

    return write


def test_the_findings_have_the_text_of_the_default_study():
    assert reference.settings_of(load(DEFAULT).corpus) in reference.KNOWN


def test_sub_words_and_sources_that_are_not_chosen_make_no_other_text():
    known = reference.settings_of(load(DEFAULT).corpus)
    same = changed(corpus__bpe__merges=900, corpus__sources__mtdata={"train": "a-b-c"})
    assert reference.settings_of(load(same).corpus) == known
    other = changed(corpus__splits__test_words=900)
    assert reference.settings_of(load(other).corpus) != known


def test_the_same_text_says_so(splits):
    [settings] = reference.KNOWN
    assert reference.notice(settings, splits()) == "The text is that of docs/findings.md."


def test_other_parts_are_named(splits):
    [settings] = reference.KNOWN
    line = reference.notice(settings, splits(train_man_pages="0" * 12))
    assert "is not that of docs" in line and line.endswith(
        "and numbers with it: train of man_pages."
    )


def test_of_another_text_nothing_is_said(splits):
    assert reference.notice("0" * 12, splits()) is None
