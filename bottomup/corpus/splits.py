"""Train, dev and test splits by document."""

import hashlib
import logging
import re

import numpy as np
import pandas as pd

from bottomup.core.errors import UserError
from bottomup.corpus.cleaning import RAW_ROW, SIDES, folded
from bottomup.corpus.losses import SHOWN, UNIT, Loss, carried, tell, worst
from bottomup.corpus.packing import packed
from bottomup.corpus.segmentation import WORD, unmarked, words

log = logging.getLogger(__name__)

SPLITS = ["train", "dev", "test"]
# What to do where there are fewer documents than splits.
DOCUMENTS = (
    "each split needs a document of its own: take text of more documents, or do not name them, so "
    "that each line is its own (the source files without `documents`)"
)
# Words. Longer sentences are compared only as a whole: leaving out each word in turn takes time and
# memory that grow with the square of length.
MAX_SHORTENED = 500
_WORD = re.compile(WORD)


def split(
    pairs: pd.DataFrame,
    seed: int,
    test_words: int,
    dev_words: int,
    near_duplicates: str,
    packed_words: int | None,
) -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    """Split the pairs so that no document, and no source sentence, is in two splits.

    Documents in random order go to test until it has `test_words` source words, then to dev until
    it has `dev_words`, and the rest go to train. A source sentence (`folded`) in test is dropped
    from dev and train, and one in dev from train; dropped sentences do not count for the sizes.
    Words are those of `segmentation`. Pairs keep their order.

    near_duplicates: "drop" near-duplicates of training sentences (see `near`) from dev and test, or
    "keep" them. They are dropped after the sizes are reached, since only then is it known which
    text is for training.

    packed_words: sentences of a document that follow each other are joined to passages of so many
    words (see `packing`), last of all; None leaves them single.

    Returns the pairs of each split, and the counts, a row for each split and origin: split, origin,
    documents, pairs, source_words, target_words (if there is a target), dropped_repeats,
    dropped_near_duplicates (pairs), digest (of the kept text).

    Raises UserError if the sizes leave no text to train on, if nothing is left of a split that
    should have text, or if no document has two sentences to join. Warns of dev and test splits of
    more than twice their sizes, of splits that lose more than half of what was drawn for them, and
    of a test split of one document, or of one that has most of its words.
    """
    documents, names = pd.factorize(pairs["document"])
    if packed_words is not None and 0 < len(names) == len(pairs):
        raise UserError(
            "corpus.splits.packed_words: no document of this text has two sentences; allowed: "
            "null, or text whose documents are named"
        )
    counted = _words(pairs["source"])
    # The place of each pair's document in the random order.
    place = np.random.default_rng(seed).permutation(len(names))[documents]
    sizes = {"test": test_words, "dev": dev_words}
    drawn_by, fresh_by = _draw(pairs["source"], counted, place, sizes)
    if not fresh_by["train"].any():
        instead = "ask for fewer words, or clean less" if len(names) >= len(SPLITS) else DOCUMENTS
        raise UserError(
            f"corpus.splits: test_words {test_words} and dev_words {dev_words} leave no text to "
            f"train on: source words in the clean corpus: {counted.sum()}, documents: "
            f"{len(names)}; {instead}{worst(carried(pairs))}"
        )
    similar = np.zeros(len(pairs), dtype=bool)
    if near_duplicates == "drop":
        held_out = fresh_by["dev"] | fresh_by["test"]
        similar[held_out] = near(pairs["source"][held_out], pairs["source"][fresh_by["train"]])
    tables, counts = {}, []
    _tell(pairs, drawn_by, fresh_by, similar)
    for name in SPLITS:
        tables[name] = pairs[fresh_by[name] & ~similar].reset_index(drop=True)
        tables[name].attrs.clear()
        if packed_words is not None and not tables[name].empty:
            tables[name] = packed(tables[name], packed_words)
        tables[name] = tables[name].drop(columns=RAW_ROW)
        for origin in pairs["origin"].unique():
            of = pairs["origin"] == origin
            repeats = (drawn_by[name] & ~fresh_by[name] & of).sum()
            alike = (fresh_by[name] & similar & of).sum()
            kept = tables[name][tables[name]["origin"] == origin]
            counts.append(_counts(name, origin, kept, repeats, alike))
        if tables[name].empty and sizes.get(name):
            raise UserError(
                f"all sentences drawn for {name}, {drawn_by[name].sum()}, repeat other text: raise "
                f"corpus.splits.{name}_words, or set corpus.splits.near_duplicates to keep"
            )
    tested = fresh_by["test"] & ~similar
    _tell_of_one_document(pairs["document"][tested], counted[tested])
    return tables, pd.DataFrame(counts)


def _draw(
    texts: pd.Series, counted: np.ndarray, place: np.ndarray, sizes: dict[str, int]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The pairs drawn for each split, and those of them whose sentence is in no split drawn before.

    Both are bool `[n_pairs]` by split. counted: words of each of the texts, `[n_pairs]`. place: of
    each pair's document in the order of drawing, `[n_pairs]`. sizes: words of the held-out splits,
    in the order of drawing; train gets the rest.
    """
    sentences, _ = pd.factorize(texts.map(folded))
    drawn_by, fresh_by = {}, {}
    fresh = np.ones(len(texts), dtype=bool)
    start = 0
    for name, size in {**sizes, "train": counted.sum()}.items():
        gained = np.bincount(place, weights=counted * fresh * (place >= start))
        # The last document is the one that reaches the size.
        stop = max(start, int(np.searchsorted(np.cumsum(gained), size) + (size > 0)))
        drawn = (place >= start) & (place < stop)
        drawn_by[name], fresh_by[name] = drawn, drawn & fresh
        _tell_size(name, size, gained[start:stop].astype(int))
        fresh &= ~np.isin(sentences, sentences[drawn & fresh])
        start = stop
    return drawn_by, fresh_by


def _tell_size(name: str, asked: int, sizes: np.ndarray) -> None:
    """Warn of a split of more than twice the words asked for. sizes: words of its documents."""
    if sizes.sum() > 2 * asked:
        log.warning(
            "corpus.splits.%s_words asks for %d source words, and the split has %d, since documents"
            " stay whole: the longest has %d; if that is too much, change corpus.splits.seed, or "
            "take text of shorter documents",
            *(name, asked, sizes.sum(), sizes.max()),
        )


def _tell_of_one_document(documents: pd.Series, counted: np.ndarray) -> None:
    """Warn of a test split that is one document, or most of whose words are, before models are
    trained: intervals are over documents. documents, counted: of each pair, its document and its
    words."""
    words_of = pd.Series(counted).groupby(documents.to_numpy()).sum()
    if len(words_of) == 1 < len(documents):
        log.warning(
            "the test split is of one document, %s, and intervals are over documents: none can be "
            "had, nor what is learned of some documents and tested on others, as the linear "
            "classifier of mutual_information; raise corpus.splits.test_words, take text of more "
            "documents, or do not name them",
            words_of.index[0],
        )
    elif len(words_of) > 1 and words_of.max() > words_of.sum() / 2:
        log.warning(
            "%.0f %% of the words of the test split are of one document, %s, and intervals are "
            "over documents: they will be wide; change corpus.splits.seed, raise "
            "corpus.splits.test_words, or take text of shorter documents",
            *(100 * words_of.max() / words_of.sum(), words_of.idxmax()),
        )


def _tell(pairs: pd.DataFrame, drawn: dict, fresh: dict, similar: np.ndarray) -> None:
    """Warn of splits that lose more than half of what was drawn for them."""
    unit, losses = UNIT[sum(side in pairs for side in SIDES)], []
    for name in SPLITS:
        for step, key, of, lost in (
            ("repeats of other splits", "corpus.source", drawn[name], ~fresh[name]),
            ("near-duplicates", "corpus.splits.near_duplicates", fresh[name], similar),
        ):
            texts = pairs["source"][of & lost].head(SHOWN).map(unmarked).tolist()
            step = f"{name} split, {step}"
            losses.append(Loss(step, key, (of & lost).sum(), of.sum(), unit, texts))
    tell(losses)


def near(held_out: pd.Series, training: pd.Series) -> np.ndarray:
    """Which held-out sentences are near-duplicates of a training sentence: bool `[n_held_out]`.

    Two sentences are near-duplicates if leaving out at most one word of each makes them equal, and
    some word is left. Words are compared without case and punctuation, and all numbers count as
    equal. Sentences of more than `MAX_SHORTENED` words must be equal as they are, and so must
    sentences without words.
    """
    parts = [_shortened(text) for text in held_out]
    known = set().union(*parts)
    trained = {words for text in training for words in _shortened(text) if words in known}
    return np.array([not trained.isdisjoint(part) for part in parts], dtype=bool)


def _shortened(text: str) -> set[tuple[str, ...]]:
    """The words of a sentence, and the words that are left without each one in turn."""
    sentence = tuple(_WORD.findall(re.sub(r"\d+", "0", folded(text)))) or (text,)
    if not 1 < len(sentence) <= MAX_SHORTENED:
        return {sentence}
    return {sentence, *(sentence[:place] + sentence[place + 1 :] for place in range(len(sentence)))}


def _words(texts: pd.Series) -> np.ndarray:
    return np.array([len(words(text)) for text in texts], dtype=np.int64)


def _counts(
    name: str, origin: str, pairs: pd.DataFrame, repeats: int, near_duplicates: int
) -> dict:
    return {
        "split": name,
        "origin": origin,
        "documents": pairs["document"].nunique(),
        "pairs": len(pairs),
        **{f"{side}_words": _words(pairs[side]).sum() for side in SIDES if side in pairs},
        "dropped_repeats": repeats,
        "dropped_near_duplicates": near_duplicates,
        "digest": _digest(pairs),
    }


def _digest(pairs: pd.DataFrame) -> str:
    """12 hexadecimal digits that change with any character of either side, and with the order."""
    sides = [pairs[side] for side in SIDES if side in pairs]
    text = "\0".join(sentence for side in sides for sentence in side)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
