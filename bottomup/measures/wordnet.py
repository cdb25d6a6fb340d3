"""Whether a layer tells the senses of a word apart, where senses are those of a dictionary.

The text is the examples of WordNet: sentences and phrases with a word of which the sense is given.
Among the examples of one word, the nearest one tells the sense if it has the same (Wiedemann et al.
2019, arXiv 1909.10430), and pairs of one sense should be more alike than pairs of two (the question
of Pilehvar and Camacho-Collados 2019, "WiC"). A layer that holds nothing but the word finds all its
examples alike.
"""

from collections.abc import Iterator, Set

import numpy as np
import pandas as pd
from scipy.spatial.distance import pdist
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import LabelEncoder

from bottomup.core.seeds import generator
from bottomup.corpus.blocks import N_BLOCKS
from bottomup.measures import jackknife
from bottomup.measures.neighbors import directions, nearest
from bottomup.measures.senses import shared
from bottomup.views.draws import there
from bottomup.views.values import checked

WORD = ["word", "class"]
PROPERTIES = NEAREST, PAIRS = "nearest", "pairs"
WITHIN = {NEAREST: jackknife.COSINE, PAIRS: jackknife.UNIT}
NEEDED = 20  # words; with fewer there is no value


def known(examples: pd.DataFrame, words: Set[str]) -> pd.DataFrame:
    """The examples whose word, in the form that it has there, is one of `words`.

    examples: as from `corpus.wordnet.examples`.
    """
    places = zip(examples["text"], examples["start"], examples["end"], strict=True)
    forms = [text[start:end] for text, start, end in places]
    kept = [bool({form, form.lower()} & words) for form in forms]
    return examples[np.array(kept, dtype=bool)]


def asked(examples: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The examples of words with two senses or more, of two examples or more, and the `block` of
    each, to which words are dealt at random. The order is random, so that chance decides between
    equally near ones.

    Both are drawn for all examples, those that are not seen among them, see `views.draws`.
    """
    examples = _ambiguous(examples)
    number, random = examples.groupby(WORD).ngroup().to_numpy(), generator(seed, "wordnet")
    order = random.permutation(number.max(initial=-1) + 1)
    examples = examples.assign(block=order[number] % N_BLOCKS)
    examples = examples.iloc[random.permutation(len(examples))]
    return _ambiguous(examples[there(examples)]).reset_index(drop=True)


def _ambiguous(examples: pd.DataFrame) -> pd.DataFrame:
    """The examples of words with two senses or more, of two examples or more."""
    examples = examples[examples.groupby([*WORD, "sense"])["text"].transform("size") > 1]
    return examples[examples.groupby(WORD)["sense"].transform("nunique") > 1]


def sense_separation(view: np.ndarray, senses: np.ndarray) -> tuple[float, float, float]:
    """For one word: the share of examples whose nearest one has the same sense; the share of all
    others that have it; and how often a pair of one sense is more alike than a pair of two, a tie
    counting half.

    view: `[n, d]`. senses: `[n]`. Senses count equally in the shares. Nearness is by cosine.
    """
    # As cosines, but exact for equal vectors, and where one neuron is much larger than the others.
    # What differs by float64's rounding alone is a tie.
    apart = pdist(directions(checked(view, "sense separation"))).round(14)
    labels = LabelEncoder().fit_transform(senses)[:, None]
    others = ~np.eye(len(labels), dtype=bool)
    ones = np.full((len(labels), 1), True)
    near = nearest(view, len(labels) - 1)
    share, chance, _ = shared(near, others, labels, labels, ones, 1)[:, 0]
    pairs = np.triu_indices(len(labels), 1)
    return share, chance, roc_auc_score((labels == labels.T)[pairs], -apart)


def rows(views: np.ndarray, some: pd.DataFrame) -> Iterator[dict]:
    """Rows of `wordnet.csv`, see docs/tables.md.

    views: of the examples, `[layers + 1, n, d_model]`. some: as from `asked`.
    """
    words = [*some.groupby(WORD).indices.values()]
    senses = some["sense"].to_numpy()
    blocks = some["block"].to_numpy()[[of[0] for of in words]] if words else np.zeros(0, int)
    for layer, view in enumerate(views):
        scores = np.array([sense_separation(view[of], senses[of]) for of in words]).reshape(-1, 3)
        share, chance, alike = jackknife.sums(scores, blocks, N_BLOCKS).T
        n = jackknife.sums(np.ones(len(words)), blocks, N_BLOCKS)
        values = {
            NEAREST: jackknife.ratio(share - chance, n - chance),
            PAIRS: jackknife.ratio(alike, n),
        }
        for name, of in values.items():
            value, *without = of if len(words) >= NEEDED else np.full_like(of, np.nan)
            estimate = jackknife.estimate("value", value, np.array(without), WITHIN[name])
            about = {"layer": layer, "property": name}
            yield about | estimate | {"n": len(words), "n_needed": NEEDED}
