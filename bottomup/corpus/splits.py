"""Train, dev and test splits by document."""

import numpy as np
import pandas as pd

from bottomup.errors import UserError

SPLITS = ["train", "dev", "test"]


def split(
    pairs: pd.DataFrame, seed: int, test_words: int, dev_words: int
) -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    """Split the pairs so that no document, and no source sentence, is in two splits.

    Documents in random order go to test until it has `test_words` source words, then to dev until
    it has `dev_words`, and the rest to train. A source sentence (casefolded) that is in test is
    dropped from dev and train, one that is in dev from train; sizes are reached without those
    that are dropped. Words stand between white space. Pairs keep their order.

    Returns the pairs of each split, and the counts: split, documents, pairs, source_words,
    target_words, dropped_repeats (pairs).

    Raises UserError where the asked sizes leave no text to train on.
    """
    documents, names = pd.factorize(pairs["document"])
    sentences, _ = pd.factorize(pairs["source"].str.casefold())
    words = _words(pairs["source"])
    # Where the document of each pair stands in the random order.
    place = np.random.default_rng(seed).permutation(len(names))[documents]

    tables, counts = {}, {}
    fresh = np.ones(len(pairs), dtype=bool)
    start = 0
    for name, size in (("test", test_words), ("dev", dev_words), ("train", words.sum())):
        gained = np.bincount(place, weights=words * fresh * (place >= start), minlength=len(names))
        # The last document is the one by which the size is reached.
        stop = max(start, np.searchsorted(np.cumsum(gained), size) + (size > 0))
        drawn = (place >= start) & (place < stop)
        tables[name] = pairs[drawn & fresh].reset_index(drop=True)
        counts[name] = _counts(name, tables[name], dropped=(drawn & ~fresh).sum())
        fresh &= ~np.isin(sentences, sentences[drawn & fresh])
        start = stop
    if tables["train"].empty:
        raise UserError(
            f"test_words {test_words} and dev_words {dev_words} leave no text to train on: the "
            f"clean corpus has {words.sum()} source words in {len(names)} documents; "
            "ask for fewer words, or clean less"
        )
    return {name: tables[name] for name in SPLITS}, pd.DataFrame([counts[name] for name in SPLITS])


def _words(texts: pd.Series) -> np.ndarray:
    return np.array([len(text.split()) for text in texts], dtype=np.int64)


def _counts(name: str, pairs: pd.DataFrame, dropped: int) -> dict:
    return {
        "split": name,
        "documents": pairs["document"].nunique(),
        "pairs": len(pairs),
        "source_words": _words(pairs["source"]).sum(),
        "target_words": _words(pairs["target"]).sum(),
        "dropped_repeats": dropped,
    }
