"""Pictures of representations in two dimensions, by t-SNE (van der Maaten and Hinton 2008).

As in the evolution paper (Voita et al. EMNLP 2019), the pictures show the occurrences of a few
words, layer by layer. Each picture starts from the principal components of its own layer and not
from the picture before, so that it shows only what is in that layer. Then it is turned, which t-SNE
leaves open, to match the picture before, so that the eye can follow a group from layer to layer.
"""

import logging
import unicodedata
from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy.linalg import orthogonal_procrustes
from sklearn.manifold import TSNE

from bottomup.core.seeds import generator
from bottomup.corpus.bpe import WORD_START
from bottomup.corpus.specials import EOS
from bottomup.views.draws import among
from bottomup.views.values import checked, in_float32

log = logging.getLogger(__name__)

# A word with fewer occurrences forms no visible group.
MIN_OCCURRENCES = 10
# Different representations that a picture needs.
MIN_POINTS = 4
# Kobak and Berens 2019, "The art of using t-SNE": so small that no structure is fixed by it.
INITIAL_STD = 1e-4
# Enough to separate groups that the start lays across each other. The usual 12 is meant to order a
# random start: from this start it ends at a higher loss, and similar layers differ more.
EXAGGERATION = 1.5
SUGGESTIONS = 8


def pictures(views: Iterable[np.ndarray], perplexity: float) -> list[np.ndarray]:
    """A picture `[n, 2]` of each view `[n, d_model]`, each aligned with the one before.

    Pictures have mean 0 and mean squared distance 1 from it, since the scale of t-SNE means
    nothing. Nothing is random: the same views give the same pictures, on the same number of
    threads.

    Equal rows are one point, since the approximation (Barnes-Hut) fails if points coincide. Too few
    occurrences are no reason to end a study. With a warning, a perplexity that is too high for them
    is lowered. A view with less than `MIN_POINTS` different rows, such as layer 0 of a model
    without positions, is drawn as one point; if all views are such, there are no pictures.
    """
    found: list[np.ndarray] = []
    last, alike = None, []
    for layer, view in enumerate(views):
        rows = in_float32(checked(view, "a picture"))
        points, index = np.unique(rows, axis=0, return_inverse=True)
        if len(points) < MIN_POINTS:
            found.append(np.zeros((len(view), 2)))
            alike.append(layer)
            continue
        if last is None and len(points) <= 3 * perplexity:
            log.warning(
                "%d different points for measures.projection.perplexity %g; allowed: more than "
                "three times the perplexity, which is lowered: raise "
                "measures.projection.occurrences or name more frequent words",
                *(len(points), perplexity),
            )
        picture = standardize(project(points, perplexity)[index])
        last = picture if last is None else align(picture, last)
        found.append(last)
    if alike:
        log.warning(
            "the %d occurrences of a picture have less than %d different representations at layer "
            "%s: %s",
            *(len(view), MIN_POINTS, ", ".join(map(str, alike))),
            "drawn there as one point"
            if last is not None
            else "it is left out: name more frequent words in measures.projection",
        )
    return [] if last is None else found


def project(points: np.ndarray, perplexity: float) -> np.ndarray:
    """The t-SNE of different points `[n, d_model]`, from Euclidean distances: `[n, 2]`.

    It spreads the perplexity over three times as many neighbors, so that with few points the
    perplexity is lowered to a third of the others.
    """
    left, scale, _ = np.linalg.svd(points - points.mean(0), full_matrices=False)
    start = np.zeros((len(points), 2), dtype=np.float32)  # one neuron spreads points on a line
    start[:, : len(scale)] = left[:, :2] * scale[:2]
    tsne = TSNE(
        perplexity=min(perplexity, (len(points) - 1) / 3),
        init=INITIAL_STD * start / start[:, 0].std(),
        early_exaggeration=EXAGGERATION,
    )
    return tsne.fit_transform(points)


def standardize(picture: np.ndarray) -> np.ndarray:
    """Shift and scale points `[n, 2]` to mean 0 and mean squared distance 1 from it."""
    centered = picture.astype(np.float64) - picture.mean(0)
    return centered / np.sqrt(np.square(centered).sum(1).mean())


def align(picture: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Rotate or mirror `picture` to be as near as possible to `other`, point by point.

    Both `[n, 2]` with mean 0. Orthogonal Procrustes (Schönemann 1966): distances stay the same.
    """
    rotation, _ = orthogonal_procrustes(picture, other)
    return picture @ rotation


def word_ids(
    words: list[str], key: str, occurrences: pd.DataFrame, frequencies: pd.DataFrame
) -> dict[str, int]:
    """The token id of each of the `words`.

    key: the key under measures.projection that names them. occurrences: columns input_id and
    right_id, one row for each token of the text. frequencies: token_id and token.

    A word that is no token, or has fewer than `MIN_OCCURRENCES` occurrences, is replaced by the
    most frequent one that has more, with a warning, and left out if there is none.
    """
    tokens = frequencies.set_index("token_id")["token"]
    whole = occurrences["input_id"][ends_word(occurrences, frequencies)]
    counts = whole.map(tokens).value_counts()
    counts = counts[counts.index.str.startswith(WORD_START)]
    counts.index = counts.index.str.removeprefix(WORD_START)
    frequent = counts[[is_word(token) for token in counts.index]]
    examples = ", ".join(f"{other} ({n})" for other, n in frequent.head(SUGGESTIONS).items())
    spare = [word for word, n in frequent.items() if n >= MIN_OCCURRENCES and word not in words]
    ids, chosen = pd.Series(tokens.index, index=tokens), {}
    for word in words:
        shown = word
        if (n := counts.get(word, 0)) < MIN_OCCURRENCES:
            rare = (
                f'measures.projection.{key}: found "{word}", which occurs {n} times as one token; '
                f"allowed: words with at least {MIN_OCCURRENCES} occurrences; the most frequent "
                f"are {examples}"
            )
            if not spare:
                log.warning("%s; it is left out", rare)
                continue
            shown = spare.pop(0)
            log.warning('%s; "%s" is drawn in its place', rare, shown)
        chosen[shown] = int(ids[WORD_START + shown])
    return chosen


def is_word(token: str) -> bool:
    """Whether a token is of letters and their marks alone: two, or one of a script without case,
    such as a Chinese character."""
    kinds = [unicodedata.category(character) for character in token]
    return all(kind[0] in "LM" for kind in kinds) and (len(kinds) > 1 or kinds == ["Lo"])


def ends_word(occurrences: pd.DataFrame, frequencies: pd.DataFrame) -> np.ndarray:
    """Whether each occurrence is the end of its word, `[n]`: as annotated, else by the token to its
    right."""
    if "last_subword" in occurrences:
        return occurrences["last_subword"].to_numpy()
    starts = frequencies["token_id"][frequencies["token"].str.startswith(WORD_START)]
    return occurrences["right_id"].isin([EOS, *starts]).to_numpy()


def draw(rows: np.ndarray, seen: np.ndarray, n: int, seed: int, *names: str) -> np.ndarray:
    """At most `n` of the `rows` that are seen, ascending, as rows of a view; see `views.draws`.

    names: what they are for; each has its own draw.
    """
    order = generator(seed, "projection", *names).permutation(rows)
    return np.sort(among(seen, order)[:n])
