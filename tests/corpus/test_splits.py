import itertools
import string
import time

import numpy as np
import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.corpus import splits
from bottomup.corpus.splits import SPLITS, near

# Most of the sentences below are alike but for their number.
SIZES = {
    "seed": 3,
    "test_words": 300,
    "dev_words": 100,
    "near_duplicates": "keep",
    "packed_words": None,
}


def split(pairs, **settings):
    """Of a text of which cleaning has dropped nothing."""
    return splits.split(pairs.assign(raw_row=range(len(pairs))), **settings)


@pytest.fixture
def pairs():
    """60 pages of 1 to 20 pairs of 4 words; a quarter of the sources is shared between pages."""
    draw = np.random.default_rng(5)
    rows = [
        (f"page{page}", f"par{i}", f"Save the file {draw.integers(10_000)}", "die Datei speichern")
        if draw.random() > 0.25
        else (f"page{page}", f"par{i}", f"See also page {draw.integers(30)}", "siehe auch")
        for page in range(60)
        for i in range(draw.integers(1, 21))
    ]
    table = pd.DataFrame(rows, columns=["document", "element", "source", "target"], dtype=str)
    return table.assign(origin="help")


def words(table):
    return table["source"].str.split().str.len().sum()


def test_no_document_and_no_source_sentence_is_in_two_splits(pairs):
    pairs.loc[::2, "source"] = pairs.loc[::2, "source"].str.upper()
    tables, _ = split(pairs, **SIZES)
    for a, b in itertools.combinations(SPLITS, 2):
        assert not set(tables[a]["document"]) & set(tables[b]["document"])
        folded = [set(tables[name]["source"].str.casefold()) for name in (a, b)]
        assert not folded[0] & folded[1]


def test_sizes_are_reached_by_the_last_document(pairs):
    tables, counts = split(pairs, **SIZES)
    for name, size in (("test", 300), ("dev", 100)):
        largest = tables[name].groupby("document").apply(words).max()
        assert size <= words(tables[name]) < size + largest
    assert counts["source_words"].tolist() == [words(tables[name]) for name in SPLITS]


def test_a_split_of_more_than_twice_its_size_says_so(caplog):
    """As of a treebank whose files name no documents, so that each file is one."""
    sizes = {"long": 100, "b": 4, "c": 4, "d": 4}
    rows = [(name, f"{name} {i}", "", "o") for name, n in sizes.items() for i in range(n)]
    pairs = pd.DataFrame(rows, columns=["document", "source", "target", "origin"])
    said = {}
    for seed in range(30):
        caplog.clear()
        tables, _ = split(pairs, **SIZES | {"seed": seed, "test_words": 8, "dev_words": 4})
        [name] = (name for name in SPLITS if "long" in {*tables[name]["document"]})
        sizes_said = [line for line in caplog.messages if "asks for" in line]
        said[name] = [line.partition(", since")[0] for line in sizes_said]
    assert said == {
        "train": [],
        "dev": ["corpus.splits.dev_words asks for 4 source words, and the split has 200"],
        "test": ["corpus.splits.test_words asks for 8 source words, and the split has 200"],
    }


@pytest.mark.parametrize(("test_words", "warned"), [(5, True), (9, False)])
def test_held_out_text_of_one_document_is_told_before_models_are_trained(
    test_words, warned, caplog
):
    """Three chapters of two words a sentence: no block of documents can be left out of one."""
    rows = [(f"chapter {n % 3}", f"word{n} other", "", "novel") for n in range(12)]
    pairs = pd.DataFrame(rows, columns=["document", "source", "target", "origin"])
    split(
        pairs.assign(document=[f"{n % 12}" for n in range(12)]),
        **SIZES | {"test_words": 5, "dev_words": 2},
    )
    assert not caplog.messages, "lines that name no document are a text of many"
    tables, _ = split(pairs, **SIZES | {"test_words": test_words, "dev_words": 0})
    assert tables["test"]["document"].nunique() == 2 - warned
    assert [line.startswith("the test split is of one document") for line in caplog.messages] == (
        [True] * warned
    )


@pytest.mark.parametrize("longest", [8, 7])
def test_a_document_with_most_of_the_words_of_the_test_split_is_told(longest, caplog):
    """Beside one of seven words."""
    sizes = {"long": longest, "short": 7, "for training": 40}
    rows = [
        (document, f"{document[0]}{i}", "", "novel")
        for document, n in sizes.items()
        for i in range(n)
    ]
    pairs = pd.DataFrame(rows, columns=["document", "source", "target", "origin"])
    seed = next(seed for seed in range(20) if np.random.default_rng(seed).permutation(3)[2] == 2)
    split(pairs, **SIZES | {"test_words": 14, "dev_words": 0, "seed": seed})
    said = [line for line in caplog.messages if "words of the test split are of" in line]
    assert [line.partition(",")[0] for line in said] == (
        ["53 % of the words of the test split are of one document"] * (longest > 7)
    )


def test_repeats_are_dropped_from_train_first_and_counted(pairs):
    tables, counts = split(pairs, **SIZES)
    dropped = counts.set_index("split")["dropped_repeats"]
    assert dropped["test"] == 0 < dropped["train"]
    assert sum(map(len, tables.values())) + dropped.sum() == len(pairs)
    test_pages = pairs["document"].isin(tables["test"]["document"])
    assert test_pages.sum() == len(tables["test"])


def test_what_each_source_has_of_a_split(pairs):
    manuals = pairs.assign(origin="manuals", source=pairs["source"] + " now")
    manuals["document"] = "manuals/" + manuals["document"]
    tables, counts = split(pd.concat([pairs, manuals], ignore_index=True), **SIZES)
    assert counts[["split", "origin"]].to_numpy().tolist() == [
        [name, origin] for name in SPLITS for origin in ("help", "manuals")
    ]
    for name, origin, documents, n_pairs, n_words, *_ in counts.itertuples(index=False):
        table = tables[name][tables[name]["origin"] == origin]
        found = (table["document"].nunique(), len(table), words(table))
        assert found == (documents, n_pairs, n_words)
    dropped = ["dropped_repeats", "dropped_near_duplicates"]
    for origin, rows in counts.groupby("origin"):
        of_origin = len(pairs if origin == "help" else manuals)
        assert rows["pairs"].sum() + rows[dropped].to_numpy().sum() == of_origin


def test_the_digest_tells_the_text(pairs):
    _, counts = split(pairs, **SIZES)
    tables, again = split(pairs.copy(), **SIZES)
    assert (again["digest"] == counts["digest"]).all() and counts["digest"].is_unique
    names = ["document", "element"]
    place = (pairs[names] == tables["dev"][names].iloc[0]).all(axis=1)
    for changed in (lambda text: text + ".", lambda text: text.swapcase()):
        others = pairs.copy()
        others.loc[place, "target"] = others.loc[place, "target"].map(changed)
        _, now = split(others, **SIZES)
        differs = now["digest"] != counts["digest"]
        assert now.loc[differs, "split"].tolist() == ["dev"]


def test_text_without_a_target_is_split_alike(pairs):
    tables, counts = split(pairs, **SIZES)
    alone, alone_counts = split(pairs.drop(columns="target"), **SIZES)
    for name in SPLITS:
        assert tables[name].drop(columns="target").equals(alone[name])
    columns = ["target_words", "digest"]
    assert counts.drop(columns=columns).equals(alone_counts.drop(columns="digest"))


def test_pairs_keep_their_order(pairs):
    train = split(pairs, **SIZES)[0]["train"]
    places = pairs.reset_index().merge(train, on=["document", "element"])["index"]
    assert places.is_monotonic_increasing and len(places) == len(train)


def test_the_seed_decides(pairs):
    first, again, other = (
        set(split(pairs, **{**SIZES, "seed": seed})[0]["test"]["document"]) for seed in (3, 3, 4)
    )
    assert first == again != other


def test_a_split_may_be_empty_if_asked_for(pairs):
    tables, _ = split(pairs, **SIZES | {"test_words": 0})
    assert tables["test"].empty and not tables["dev"].empty


@pytest.mark.parametrize("sizes", [(10**6, 0), (0, 10**6), (1000, 10**6)])
def test_too_small_a_corpus_is_an_error(pairs, sizes):
    with pytest.raises(UserError, match=f"corpus: {words(pairs)}, documents: 60;"):
        split(pairs, **SIZES | {"test_words": sizes[0], "dev_words": sizes[1]})


def test_no_pairs_are_an_error(pairs):
    with pytest.raises(UserError, match="leave no text to train on"):
        split(pairs[:0], **SIZES)


# Near-duplicates

SENTENCE = "Click the Save button to keep page 7."
ALIKE = {
    "repeated": SENTENCE,
    "first word replaced": "Press the Save button to keep page 7.",
    "inner word replaced": "Click the Save icon to keep page 7.",
    "last word replaced": "Click the Save button to keep page seven.",
    "word put in front": "Now click the Save button to keep page 7.",
    "word put in": "Click the Save button to safely keep page 7.",
    "word put at the end": "Click the Save button to keep page 7 here.",
    "first word left out": "the Save button to keep page 7.",
    "inner word left out": "Click the button to keep page 7.",
    "last word left out": "Click the Save button to keep page.",
    "word moved": "the Save button to keep page 7: click.",
    "one word left out, one put in elsewhere": "Click Save button to keep page 7 now.",
    "other number": "Click the Save button to keep page 8.",
    "longer number": "Click the Save button to keep page 1250.",
    "punctuation": '"Click" the (Save) button, to keep - page 7!',
    "case": "CLICK THE save BUTTON TO KEEP PAGE 7.",
    "all but one word": "PRESS: the save-button, to keep page 99",
}
UNLIKE = {
    "two words replaced": "Press the Save icon to keep page 7.",
    "two words put in": "Now click the Save button to safely keep page 7.",
    "two words left out": "Click Save to keep page 7.",
    "one replaced, one put in": "Press the Save button to safely keep page 7.",
    "part of a word": "Clicking the Save buttons to keep page 7.",
    "order of two pairs": "the Click button Save to keep page 7.",
    "no words": "...",
    "nothing": "",
}


@pytest.mark.parametrize("text", ALIKE.values(), ids=ALIKE)
def test_alike_but_for_a_word_digits_punctuation_and_case(text):
    assert near(pd.Series([text]), pd.Series(["Another sentence.", SENTENCE])).tolist() == [True]
    assert near(pd.Series([SENTENCE]), pd.Series([text])).tolist() == [True]


def test_turkish_capitals_are_those_of_their_small_letters():
    """All four words differ in dots of i."""
    written = ["IŞIK İÇİN KAPI İNDİ", "ışık için kapı indi"]
    assert near(pd.Series(written[:1]), pd.Series(written[1:])).tolist() == [True]
    texts = [*written, "a b c d", "e f g h"]
    pairs = pd.DataFrame({"document": [*"abcd"], "source": texts, "target": "", "origin": "o"})
    of_seeds = [
        split(pairs, **SIZES | {"seed": seed, "test_words": 4, "dev_words": 4})[0]
        for seed in range(9)
    ]
    # All four where both are of one split.
    assert {sum(map(len, tables.values())) for tables in of_seeds} == {3, 4}


@pytest.mark.parametrize("text", UNLIKE.values(), ids=UNLIKE)
def test_unlike_by_two_words(text):
    assert near(pd.Series([text]), pd.Series(["Another sentence.", SENTENCE])).tolist() == [False]
    assert near(pd.Series([SENTENCE]), pd.Series([text])).tolist() == [False]


def test_marks_belong_to_their_words():
    """As the vowels of Hindi."""
    longer = pd.Series(["मेरा हिन्दुस्तानी दिन बड़ा है"])
    assert near(pd.Series(["मेरा दिन बड़ा है"]), longer).tolist() == [True]
    assert near(pd.Series(["दिन में काम"]), pd.Series(["दान मे किमी"])).tolist() == [False]
    # Joiners, as in Persian: one word of three is another.
    texts = pd.Series(["من می\u200cروم خانه"]), pd.Series(["من نمی\u200cآیم خانه"])
    assert near(*texts).tolist() == [True]
    # How an emoji is to look is no word.
    assert near(pd.Series(["I ❤\ufe0f you all"]), pd.Series(["I like you all"])).tolist() == [True]


ONE_WORD = {
    "other words": ("Yes.", "No!", False),
    "the word again": ("Yes.", "YES!", True),
    "with another": ("Yes.", "Yes, sir.", True),
    "other signs": ("😀 😀", "😡 😡", False),
    "signs again": ("😀 😀", "😀 😀", True),
    "signs and a word": ("? !", "Yes.", False),
}


@pytest.mark.parametrize(("text", "trained", "alike"), ONE_WORD.values(), ids=ONE_WORD)
def test_some_word_is_left(text, trained, alike):
    for one, other in ((text, trained), (trained, text)):
        assert near(pd.Series([one]), pd.Series([other])).tolist() == [alike]


def test_long_sentences_are_compared_as_a_whole():
    """To leave out each of 100,000 words would take their square in time and memory."""
    long = "a.b," * 50_000
    start = time.process_time()
    assert near(pd.Series([long]), pd.Series([long, "a"])).tolist() == [True]
    assert near(pd.Series([long]), pd.Series([long[:-4]])).tolist() == [False]
    assert time.process_time() - start < 5


def test_each_held_out_sentence_has_its_answer():
    """An index of their own, as rows of a larger table have, does not matter."""
    held_out = pd.Series(["a b c d", "e f g h", "a b c x"], index=[7, 3, 9])
    found = near(held_out, pd.Series(["a b c d e", "z f y h"], index=[3, 7]))
    assert found.dtype == bool and found.tolist() == [True, False, False]
    assert near(held_out[:0], held_out).shape == (0,)
    assert near(held_out, held_out[:0]).tolist() == [False] * 3


def words_by_hand(text):
    """Letter by letter: runs of letters, digits and underscores, each run of digits as one 0."""
    words = [""]
    for letter in text.lower():
        if letter.isdecimal():
            words[-1] += "" if words[-1].endswith("0") else "0"
        elif letter.isalnum() or letter == "_":
            words[-1] += letter
        else:
            words.append("")
    return [word for word in words if word]


def in_common(a, b):
    """How many words two sentences have in common, in the same order."""
    longest = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, j in itertools.product(range(len(a)), range(len(b))):
        same = longest[i][j] + 1 if a[i] == b[j] else 0
        longest[i + 1][j + 1] = max(same, longest[i][j + 1], longest[i + 1][j])
    return longest[-1][-1]


def near_by_hand(held_out, training):
    """Each is compared with each: what both have in common is at most a word less than either."""
    a, b = ([words_by_hand(text) for text in texts] for texts in (held_out, training))
    texts = [*held_out], [*training]

    def alike(i, j):
        x, y = a[i], b[j]
        if not (x or y):
            return texts[0][i] == texts[1][j]
        return in_common(x, y) >= max(len(x) - 1, len(y) - 1, 1)

    return [any(alike(i, j) for j in range(len(b))) for i in range(len(a))]


@pytest.mark.parametrize(("longest", "n"), [(2, 3), (4, 10), (6, 30), (8, 40)])
def test_as_each_compared_with_each(longest, n):
    """Random sentences of few words, from none on, some of which are alike."""
    draw = np.random.default_rng(longest)
    words = ["a", "A", "b", "c,", "d.e", "7", "12", "x1y23", "-", "É", "f_g"]

    def sentences():
        lengths = draw.integers(0, longest + 1, n)
        return pd.Series([" ".join(draw.choice(words, length)) for length in lengths], dtype=str)

    answers = []
    for _ in range(10):
        held_out, training = sentences(), sentences()
        found = near(held_out, training).tolist()
        assert found == near_by_hand(held_out, training)
        answers += found
    assert 0 < sum(answers) < len(answers)


def dealt(near_duplicates, **texts):
    """`split` of three pages, those of `test`, `dev` and `train`, with these sentences each."""
    sizes = SIZES | {"seed": 1, "test_words": 1, "dev_words": 1, "near_duplicates": near_duplicates}
    blank = [(page, "0", f"only {page}", "", "help") for page in ("one", "two", "three")]
    columns = ["document", "element", "source", "target", "origin"]
    drawn, _ = split(pd.DataFrame(blank, columns=columns), **sizes | {"near_duplicates": "keep"})
    pages = {drawn[name]["document"].item(): name for name in SPLITS}
    rows = [
        (page, str(i), text, f"{text} übersetzt", "help")
        for page, *_ in blank
        for i, text in enumerate(texts[pages[page]])
    ]
    tables, counts = split(pd.DataFrame(rows, columns=columns), **sizes)
    return {name: tables[name]["source"].tolist() for name in SPLITS}, counts.set_index("split")


TEXTS = {
    "train": ["Open the file 1.", "Print a page.", "Save it at once now.", "Close it, please."],
    "dev": ["Open the file 2.", "Nothing like it here.", "print a page"],
    "test": ["Save it all at once now!", "Quite another text there.", "Close it, please."],
}


def test_near_duplicates_leave_dev_and_test_and_are_counted():
    tables, counts = dealt("drop", **TEXTS)
    # What test repeats has left train, and so is like no training sentence.
    assert tables == {
        "train": ["Open the file 1.", "Print a page.", "Save it at once now."],
        "dev": ["Nothing like it here."],
        "test": ["Quite another text there.", "Close it, please."],
    }
    # Case alone makes a repeat, case and punctuation a near-duplicate.
    assert counts["dropped_near_duplicates"].to_dict() == {"train": 0, "dev": 2, "test": 1}
    assert counts["dropped_repeats"].to_dict() == {"train": 1, "dev": 0, "test": 0}
    assert counts["pairs"].to_dict() == {name: len(rows) for name, rows in tables.items()}
    assert counts["source_words"].to_dict() == {"train": 12, "dev": 4, "test": 7}
    assert counts["target_words"].to_dict() == {"train": 15, "dev": 5, "test": 9}


def test_near_duplicates_may_be_kept():
    tables, counts = dealt("keep", **TEXTS)
    assert tables == TEXTS | {"train": TEXTS["train"][:3]}
    assert not counts["dropped_near_duplicates"].any()


def test_only_near_duplicates_of_training_text_leave():
    """Not those of held-out text, nor of what has left the training text as a repeat."""
    texts = {
        "train": ["Click here to go on.", "Some other text."],
        "dev": ["Click there to go on.", "Drag this up to there."],
        "test": ["Click here to go on.", "Drag it up to there.", "Drag this down to there."],
    }
    tables, counts = dealt("drop", **texts)
    assert tables == texts | {"train": ["Some other text."]}
    assert not counts["dropped_near_duplicates"].any()


def test_a_split_of_near_duplicates_alone_is_refused():
    message = (
        "all sentences drawn for dev, 1, repeat other text: raise corpus.splits.dev_words, or "
        "set corpus.splits.near_duplicates to keep"
    )
    with pytest.raises(UserError, match=message):
        dealt("drop", train=["a b c d"], dev=["a b c e"], test=["f g h i", "a b c"])


def test_near_duplicates_change_neither_train_nor_what_is_left(pairs):
    letters = np.random.default_rng(1).choice(list(string.ascii_lowercase), (len(pairs), 3))
    pairs["source"] += [f" and {a} or {b} or {c}" for a, b, c in letters]
    kept, dropped = (split(pairs, **SIZES | {"near_duplicates": how}) for how in ("keep", "drop"))
    pd.testing.assert_frame_equal(dropped[0]["train"], kept[0]["train"])
    counts = dropped[1].set_index("split")["dropped_near_duplicates"]
    for name in ("dev", "test"):
        alike = near_by_hand(kept[0][name]["source"], kept[0]["train"]["source"])
        assert 0 < sum(alike) == counts[name]
        left = kept[0][name][~np.array(alike)].reset_index(drop=True)
        pd.testing.assert_frame_equal(dropped[0][name], left)
    total = dropped[1][["pairs", "dropped_repeats", "dropped_near_duplicates"]].to_numpy().sum()
    assert total == len(pairs)
