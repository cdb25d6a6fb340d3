"""How often the acceptable one of two sentences is the more probable one (Warstadt et al. 2020,
arXiv 1912.00582).

Pairs of a set are made alike, so a set counts as a whole: accuracy of a phenomenon is the mean over
its sets.
"""

import logging
from collections.abc import Iterator

import numpy as np
import pandas as pd
from tokenizers import Tokenizer

from bottomup.core.seeds import generator
from bottomup.corpus.blocks import N_BLOCKS
from bottomup.corpus.minimal_pairs import ALL
from bottomup.corpus.words import spans
from bottomup.measures import jackknife
from bottomup.measures.readers import Reader, of_sentences, preferred
from bottomup.subjects.words import encode

log = logging.getLogger(__name__)


def drawn(pairs: pd.DataFrame, most: int, seed: int) -> pd.DataFrame:
    """At most `most` pairs of each set, and the `block` of each pair.

    With one seed, a smaller draw is part of a larger one.
    """
    order = generator(seed, "minimal pairs").permutation(len(pairs))
    place = pairs.iloc[order].groupby(["phenomenon", "set"]).cumcount().sort_index()
    return pairs.assign(block=place % N_BLOCKS)[place < most].reset_index(drop=True)


def answered(pairs: pd.DataFrame, tokenizer: Tokenizer, reader: Reader) -> pd.DataFrame:
    """The pairs that a reader reads whole, with `is_right`: 1 where the good sentence is more
    probable, 0 where the bad one is, half at a tie.

    tokenizer: of the study, whose words are hidden together.
    """
    sides = []
    for name in ("good", "bad"):
        texts = pairs[name].tolist()
        places = [places for _, places in spans(texts, tokenizer)]
        sides.append(encode(reader.tokenizer, texts, places, reader.max_length))
    whole = ~(sides[0].cut | sides[1].cut)
    if not whole.all():
        log.info("%d of %d pairs are longer than is read at once", (~whole).sum(), len(whole))
    scores = []
    for side in sides:
        tokens = side.tokens.select(np.flatnonzero(whole))
        asked = of_sentences(tokens, reader.mode)
        scores.append(reader.log_probabilities(tokens, asked))
    return pairs[whole].assign(is_right=preferred(*scores))


def rows(pairs: pd.DataFrame) -> Iterator[dict]:
    """A row for each set, each phenomenon (`set` is "all") and all of them (both are "all").

    Without pairs there are no rows.

    accuracy: the mean over sets, 0 to 1. n: pairs. n_sets: sets.
    """
    sets = {key: of for key, of in pairs.groupby(["phenomenon", "set"], sort=False)}
    for (phenomenon, name), of in sets.items():
        yield {"phenomenon": phenomenon, "set": name, **accuracy([of])}
    for phenomenon in pairs["phenomenon"].unique():
        of_it = [of for (other, _), of in sets.items() if other == phenomenon]
        yield {"phenomenon": phenomenon, "set": ALL, **accuracy(of_it)}
    if sets:
        yield {"phenomenon": ALL, "set": ALL, **accuracy([*sets.values()])}


def accuracy(sets: list[pd.DataFrame]) -> dict:
    """The mean accuracy of some sets, and its interval over pairs."""
    sizes = np.array([len(of) for of in sets])
    shares = [
        jackknife.means(of["is_right"].to_numpy(), of["block"].to_numpy(), N_BLOCKS) for of in sets
    ]
    value, *without = np.mean(shares, axis=0)
    # A mean over unequal sets is as sure as one over so many pairs of equal weight.
    equal = len(sizes) ** 2 / (sizes.sum() * (1 / sizes).sum())
    cases = equal * sum(jackknife.cases_of(of["block"].to_numpy(), N_BLOCKS) for of in sets)
    return {
        **jackknife.estimate("accuracy", value, np.array(without), jackknife.UNIT, cases),
        "n": int(sizes.sum()),
        "n_sets": len(sets),
    }
