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
    assert load(DEFAULT).of_text() in reference.KNOWN


@pytest.mark.parametrize(
    "same",
    [
        {"corpus__bpe__merges": 900},
        {"corpus__sources__mtdata": {"train": "a-b-c"}},
        {"corpus__sources__man_pages": {"from": "apt", "folder": None}},
        {"corpus__sources__libreoffice_help": {}},
    ],
)
def test_what_decides_nothing_of_the_text_makes_no_other(same):
    """Sub-words; sources that are not chosen; a default that is written out, or left out."""
    assert load(changed(**same)).of_text() == load(DEFAULT).of_text()


@pytest.mark.parametrize(
    "other",
    [
        {"corpus__splits__test_words": 900},
        {"corpus__sources__man_pages": {"packages": ["tar", "grep"]}},
    ],
)
def test_what_decides_the_text_makes_another(other):
    assert load(changed(**other)).of_text() not in reference.KNOWN


def test_another_spelling_of_a_path_is_the_same_text(tmp_path):
    (tmp_path / "a.txt").write_text("A line.\n")

    def of_text(path):
        files = {"source": path, "target": path}
        return load(changed(corpus__source="files", corpus__sources__files=files)).of_text()

    assert of_text(f"{tmp_path}/a.txt") == of_text(f"{tmp_path}//./a.txt")


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
