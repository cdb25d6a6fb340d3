import time

import pandas as pd
import pytest
from moses_words import words

from bottomup.corpus.bpe import learn
from bottomup.corpus.cleaning import clean, folded, joined, normalize
from bottomup.corpus.specials import SPECIALS

LIMITS = {"languages": ["en", "de"], "min_words": 3, "max_words": 6, "max_length_ratio": 2.0}


def pairs(*texts, origin="help"):
    table = pd.DataFrame(
        [("page", str(i), source, target) for i, (source, target) in enumerate(texts)],
        columns=["document", "element", "source", "target"],
        dtype=str,
    )
    return joined({origin: table})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  two\t words\u00a0\n", "two words"),
        ("e\u0301", "é"),
        ("e\u00ad\u0301", "é"),
        ("Mon\u00adday\ufeff", "Monday"),
        ("a\x00b\x1bc\x85d", "abc d"),
        ("\u200b", ""),
        ("\u0646\u200c\u0645", "\u0646\u200c\u0645"),
    ],
)
def test_normalize(text, expected):
    assert normalize(text) == expected


LONG = {
    "letters": "a" * 10**6,
    "control characters": "\x01" * 10**6,
    "letters and control characters": "a\x1b" * (5 * 10**5),
    "marks in another order than NFC": "e" + "\u0301\u0323" * 50_000,
    "white space": " \u00a0" * (5 * 10**5),
    "words": "a " * (5 * 10**5),
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_line_of_a_megabyte_is_dropped_in_a_moment(text):
    """NFC alone sorts marks that follow each other in a time that grows with their square."""
    start = time.process_time()
    kept = ("one two three", "eins zwei drei")
    cleaned, _, _ = clean(pairs((text, "eins zwei drei"), ("one two three", text), kept), **LIMITS)
    assert cleaned[["source", "target"]].to_numpy().tolist() == [list(kept)]
    assert time.process_time() - start < 8


@pytest.mark.parametrize("name", SPECIALS)
def test_no_text_becomes_a_special_token(name):
    """It becomes the words that the same brackets hold elsewhere."""
    texts = ["<pod>, </S>, <UNK>", "a mask, a pad, s / unk"]
    tokenizer = learn([texts], merges=9, lowercase=True, language="en")
    text = f"a {name} mask<{name}>{name.upper()} <{name[1]}\u200b{name[2:]}"
    ids = tokenizer.encode(normalize(text)).ids
    assert ids.count(SPECIALS.index(name)) == (name == "</s>")
    assert words(normalize(name), "en") == " ".join(
        ["<", *name[1:-1].replace("/", "/ ").split(), ">"]
    )
    assert normalize("<pads> < pad> <s> </pad>") == "<pads> < pad> <s> </pad>"


@pytest.mark.parametrize(
    ("step", "source", "target"),
    [
        ("empty", "one two three", " "),
        ("untranslated", "Open The File", "open the file"),
        ("too_short", "one two", "eins zwei drei"),
        ("too_long", "a b c d", "a b c d e f g"),
        ("too_long", "one two " + "x" * 1001, "eins zwei drei"),
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
    assert examples.loc[examples["step"] == step, "source"].tolist() == [normalize(source)]


def test_turkish_capitals_are_those_of_their_small_letters():
    assert folded("IŞIK İNDEKS") == folded("ışık indeks")
    texts = [("İndeks okunamadı yine", "d e f"), ("indeks okunamadı yine", "D e f")]
    assert len(clean(pairs(*texts), **LIMITS | {"languages": ["tr", "en"]})[0]) == 1


def test_limits_are_inclusive():
    texts = [("a b c", "d e f g h i"), ("a b c d e f", "d e f"), ("d e f", "d e f g")]
    texts.append(("a b c", "x" * 1000 + " y z"))
    assert len(clean(pairs(*texts), **LIMITS)[0]) == 4


def test_counts_add_up_and_shares_are_of_the_raw_pairs():
    texts = [("a b c", "d e f"), ("a b c", "d e f"), ("", "x"), ("a", "b"), ("b", "c")]
    cleaned, counts, examples = clean(pairs(*texts), **LIMITS)
    assert counts["step"].iloc[0] == "normalize"
    assert counts["remaining"].tolist() == [5, 4, 4, 2, 2, 2, 1]
    assert counts["remaining"].iloc[-1] == len(cleaned)
    assert counts["share_dropped"].tolist() == [0, 0.2, 0, 0.4, 0, 0, 0.2]
    assert examples["step"].tolist() == ["empty", "too_short", "too_short", "duplicate"]


def test_normalization_is_counted_and_its_examples_are_raw():
    _, counts, examples = clean(pairs(("a  b c", "d e f"), ("g h i", "j k l")), **LIMITS)
    assert counts.loc[0, ["changed", "dropped"]].tolist() == [1, 0]
    assert examples["source"].tolist() == ["a  b c"]


def test_at_most_three_examples_a_step():
    _, _, examples = clean(pairs(*[("a", f"b{i}") for i in range(9)]), **LIMITS)
    assert len(examples) == 3


def test_of_one_language_the_sides_are_not_compared():
    texts = ["a b c", "A  b c", "", "a", "a b c d e f g", "d e f"]
    one = pairs(*((text, "") for text in texts)).drop(columns="target")
    cleaned, counts, examples = clean(one, **LIMITS | {"languages": ["en"]})
    assert cleaned["source"].tolist() == ["a b c", "d e f"] and "target" not in cleaned
    assert counts.set_index("step")["dropped"].to_dict() == {
        **{"normalize": 0, "empty": 1, "too_short": 1, "too_long": 1, "duplicate": 1}
    }
    assert examples.columns.tolist() == ["origin", "step", "source"]


def test_each_source_has_its_counts_and_examples_and_the_first_of_duplicates_stays():
    texts = {
        "b": [("a  b c", "d e f"), ("x", "y")],
        "a": [("A b c", "d e f"), ("g h i", "j k l"), ("x", "z"), ("", "z")],
    }
    tables = {
        origin: pd.DataFrame(
            [("page", "1", *text) for text in some],
            columns=["document", "element", "source", "target"],
        )
        for origin, some in texts.items()
    }
    cleaned, counts, examples = clean(joined(tables), **LIMITS)
    assert cleaned[["origin", "document", "source"]].to_numpy().tolist() == [
        ["b", "b/page", "a b c"],
        ["a", "a/page", "g h i"],
    ]
    steps = ["normalize", "empty", "untranslated", "too_short", "too_long"]
    steps += ["length_ratio", "duplicate"]
    expected = {  # changed, dropped and remaining at each step
        "b": zip([1] + [0] * 6, [0, 0, 0, 1, 0, 0, 0], [2, 2, 2, 1, 1, 1, 1], strict=True),
        "a": zip([0] * 7, [0, 1, 0, 1, 0, 0, 1], [4, 3, 3, 2, 2, 2, 1], strict=True),
    }
    raw = {"b": 2, "a": 4}
    assert counts.to_numpy().tolist() == [
        [origin, step, *numbers, numbers[1] / raw[origin]]
        for origin, rows in expected.items()
        for step, numbers in zip(steps, rows, strict=True)
    ]
    assert examples[["origin", "step", "source"]].to_numpy().tolist() == [
        ["b", "normalize", "a  b c"],
        ["b", "too_short", "x"],
        ["a", "empty", ""],
        ["a", "too_short", "x"],
        ["a", "duplicate", "A b c"],
    ]
