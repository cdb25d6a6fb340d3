import logging

import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.corpus.cleaning import clean, joined
from bottomup.corpus.losses import Loss, carried, carry, tell
from bottomup.corpus.splits import split
from bottomup.plan.program import _Lines
from bottomup.plan.progress import warnings_in

SIZES = {
    "seed": 1,
    "test_words": 10,
    "dev_words": 10,
    "near_duplicates": "keep",
    "packed_words": None,
}


def pairs(texts, documents=None):
    rows = [(str(i), str(i), *sides) for i, sides in enumerate(texts)]
    table = pd.DataFrame(rows, columns=["document", "element", "source", "target"], dtype=str)
    return table if documents is None else table.assign(document=documents)


def test_a_step_that_drops_more_than_half_says_so_with_its_key_and_two_lines(caplog):
    losses = [
        Loss("one", "a.key", 2, 4, "pairs", ["x"]),
        Loss("two", "b.key", 3, 4, "pairs", ["x  y", "z" * 99, "w"]),
        Loss("three", "c.key", 0, 0, "pairs"),
    ]
    assert tell(losses) == losses
    assert carried(carry(pairs([]), losses)) == [
        Loss("one", "a.key", 2, 4, "pairs", ["x"]),
        Loss("two", "b.key", 3, 4, "pairs", ["x  y", "z" * 99, "w"]),
    ]
    assert caplog.messages == [f'two dropped 3 of 4 pairs (b.key), such as "x y"; "{"z" * 60}…"']


def test_a_table_keeps_what_it_lost_in_its_file(tmp_path):
    lost = [Loss("one", "a.key", 2, 4, "pairs", ["x"])]
    carry(pairs([("a", "b")]), lost).to_parquet(tmp_path / "a.parquet")
    assert carried(pd.read_parquet(tmp_path / "a.parquet")) == lost


def test_the_error_for_too_little_text_names_the_step_that_dropped_most(caplog):
    """That of the fetching, which the table of a source brings along."""
    texts = [("one two three four", "eins")] * 5 + [("a b c d", "e f g h")]
    raw = carry(pairs(texts), [Loss("pairing", "corpus.sources.help", 7, 13, "elements")])
    cleaned, _, _ = clean(joined({"help": raw}), ["en", "de"], 4, 100, 3.0)
    assert caplog.messages == [
        "cleaning help, step length_ratio dropped 5 of 6 pairs (corpus.cleaning.max_length_ratio), "
        'such as "one two three four | eins"; "one two three four | eins"'
    ]
    with pytest.raises(UserError, match=r"pairing dropped 7 of 13 elements \(corpus.sources.help"):
        split(cleaned, **SIZES)


@pytest.mark.parametrize("documents", [["one"] * 3, ["one", "two", "two"]])
def test_with_fewer_documents_than_splits_fewer_words_are_no_advice(documents):
    table = pairs([(f"{i} b c d", "e f g h") for i in "xyz"], documents).assign(origin="files")
    with pytest.raises(UserError, match="take text of more documents") as error:
        split(table, **SIZES)
    assert "fewer words" not in str(error.value)


def test_a_warning_of_a_job_is_found_in_its_log(tmp_path):
    lines = _Lines("%(asctime)s %(message)s", datefmt="%H:%M:%S")
    said = [("bottomup.a", 30, "half"), ("bottomup.a", 20, "all"), ("matplotlib", 30, "font")]
    records = [
        logging.LogRecord(name, level, "", 0, text, None, None) for name, level, text in said
    ]
    log = tmp_path / "a.log"
    log.write_text("\n".join(map(lines.format, records)))
    assert warnings_in([log, tmp_path / "none"]) == ["warning: half"]
