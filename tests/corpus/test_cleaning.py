import pandas as pd
import pytest

from bottomup.corpus.cleaning import clean, normalise

LIMITS = {"min_words": 3, "max_words": 6, "max_length_ratio": 2.0}


def pairs(*texts):
    return pd.DataFrame(
        [("page", str(i), source, target) for i, (source, target) in enumerate(texts)],
        columns=["document", "element", "source", "target"],
        dtype=str,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  two\t words\u00a0\n", "two words"),
        ("e\u0301", "é"),
        ("Mon\u00adday\ufeff", "Monday"),
        ("a\x00b\x1bc\x85d", "abc d"),
        ("\u200b", ""),
        ("\u0646\u200c\u0645", "\u0646\u200c\u0645"),
    ],
)
def test_normalise(text, expected):
    assert normalise(text) == expected


@pytest.mark.parametrize(
    ("step", "source", "target"),
    [
        ("empty", "one two three", " "),
        ("untranslated", "Open The File", "open the file"),
        ("too_short", "one two", "eins zwei drei"),
        ("too_long", "a b c d", "a b c d e f g"),
        ("length_ratio", "a b c", "x"),
        ("duplicate", "ONE two three ", "eins\u00a0zwei drei"),
    ],
)
def test_each_step_drops_what_it_names(step, source, target):
    kept = ("one two three", "Eins zwei drei")
    cleaned, counts, examples = clean(pairs(kept, (source, target)), **LIMITS)
    assert cleaned[["source", "target"]].to_numpy().tolist() == [list(kept)]
    assert counts.set_index("step")["dropped"].to_dict() == {
        name: int(name == step) for name in counts["step"]
    }
    assert examples.loc[examples["step"] == step, "source"].tolist() == [normalise(source)]


def test_limits_are_inclusive():
    texts = [("a b c", "d e f g h i"), ("a b c d e f", "d e f"), ("d e f", "d e f g")]
    assert len(clean(pairs(*texts), **LIMITS)[0]) == 3


def test_counts_add_up_and_shares_are_of_the_raw_pairs():
    texts = [("a b c", "d e f"), ("a b c", "d e f"), ("", "x"), ("a", "b"), ("b", "c")]
    cleaned, counts, examples = clean(pairs(*texts), **LIMITS)
    assert counts["step"].iloc[0] == "normalise"
    assert counts["remaining"].tolist() == [5, 4, 4, 2, 2, 2, 1]
    assert counts["remaining"].iloc[-1] == len(cleaned)
    assert counts["share_dropped"].tolist() == [0, 0.2, 0, 0.4, 0, 0, 0.2]
    assert examples["step"].tolist() == ["empty", "too_short", "too_short", "duplicate"]


def test_normalisation_is_counted_and_its_examples_are_raw():
    _, counts, examples = clean(pairs(("a  b c", "d e f"), ("g h i", "j k l")), **LIMITS)
    assert counts.loc[0, ["changed", "dropped"]].tolist() == [1, 0]
    assert examples["source"].tolist() == ["a  b c"]


def test_at_most_three_examples_a_step():
    _, _, examples = clean(pairs(*[("a", f"b{i}") for i in range(9)]), **LIMITS)
    assert len(examples) == 3


def test_nothing_to_clean():
    cleaned, counts, _ = clean(pairs(), **LIMITS)
    assert cleaned.empty
    assert (counts["share_dropped"] == 0).all()
