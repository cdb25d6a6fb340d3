"""How far representations fill their space, and how much they depend on context.

The measures of Ethayarajh 2019 (EMNLP, arXiv 1909.00512), section 3, for the occurrences f of a
word w, of a sentence s, and of any words:

    self-similarity               mean of cos(f_j, f_k) over all j != k of w
    intra-sentence similarity     mean of cos(f_i, mean of s) over all i of s
    maximum explainable variance  sigma_1^2 / sum_i sigma_i^2, singular values of w's matrix [n, d]
    anisotropy                    mean of cos(f_j, f_k), j and k of different words

The adjusted measures subtract what words drawn at random give: the anisotropy or, for the maximum
explainable variance, the share of the first component of all drawn occurrences.

A few large neurons can make all cosines alike. So each measure is taken of three versions of a
view: raw, as in the paper; centered, less the mean of all occurrences; and standardized, with each
neuron also divided by its standard deviation.

The published maximum explainable variance is another quantity. The public code (kawine/contextual)
takes `explained_variance_ratio_` of scikit-learn's TruncatedSVD: the variance about the mean along
the first singular vector, as a share of the variance about the mean. If that vector is the mean, as
in a narrow cone, the share is next to nothing (.001 to .02 for most words in BERT). By the
definition, no word of n occurrences has less than 1 / n.
"""

import logging
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array

from bottomup.core.errors import UserError
from bottomup.core.seeds import generator
from bottomup.measures import jackknife
from bottomup.views.draws import chosen
from bottomup.views.values import checked, deviations, require_finite

# Occurrences drawn at random, as in the paper.
DRAWN = 1000
# The fewest occurrences of a word whose variance counts, as in the paper: the first component of n
# occurrences holds 1 / n at least.
LEAST = 5

log = logging.getLogger(__name__)


def anisotropy(view: np.ndarray, words: np.ndarray, n: int = DRAWN, seed: int = 1) -> float:
    """Mean cosine of two occurrences of different words (Ethayarajh 2019, section 3).

    Parameters
    ----------
    view : ndarray of shape (n_occurrences, d_model)
        Representations at one layer.
    words : ndarray of shape (n_occurrences,)
        The word of each occurrence.
    n : int, default=1000
        Occurrences drawn; all, where there are fewer. Each two of them count, unless of one word.
    seed : int, default=1
        Seed of their draw.

    Returns
    -------
    float
        About 0 for directions that are spread evenly, at most 1.

    Raises
    ------
    UserError
        If all drawn are of one word, or the view holds NaN, infinity or a zero vector.

    Examples
    --------
    >>> import numpy as np
    >>> view = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> words = np.array(["a", "the", "the"])
    >>> round(anisotropy(view, words), 4)  # the mean of 0 and cos 45 degrees
    0.3536
    """
    view = checked(view, "isotropy", words=words)
    rows, words = _drawn(len(view), n, seed), np.asarray(words)
    return _defined(_between(_units(view[rows]), words[rows]), "two words")


def self_similarity(view: np.ndarray, words: np.ndarray) -> float:
    """Mean over words of the mean cosine of two occurrences of the word (Ethayarajh 2019).

    Unadjusted: subtract `anisotropy` to tell words from what any occurrences share.

    Parameters
    ----------
    view : ndarray of shape (n_occurrences, d_model)
        Representations at one layer.
    words : ndarray of shape (n_occurrences,)
        The word of each occurrence. Words that occur twice or more count once each, with all of
        their pairs.

    Returns
    -------
    float
        At most 1, where context changes nothing.

    Raises
    ------
    UserError
        If no word occurs twice, or the view holds NaN, infinity or a zero vector.

    Examples
    --------
    >>> import numpy as np
    >>> view = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> words = np.array(["a", "the", "the"])
    >>> round(self_similarity(view, words), 4)  # "the" alone occurs twice
    0.7071
    """
    rows = checked(view, "isotropy", words=words).astype(np.float64)
    one_block = np.zeros(len(rows), dtype=int)
    return _defined(_self_similarity(rows, _scales(rows), words, one_block, 1)[0], "a word twice")


def intra_sentence_similarity(view: np.ndarray, sentences: np.ndarray) -> float:
    """Mean over sentences of the mean cosine of an occurrence with the mean of its sentence.

    As Ethayarajh (2019), and unadjusted: subtract `anisotropy` to tell sentences from what any
    occurrences share. The mean of a sentence is of vectors as they are, so that long ones count
    more.

    Parameters
    ----------
    view : ndarray of shape (n_occurrences, d_model)
        Representations at one layer.
    sentences : ndarray of shape (n_occurrences,)
        The sentence of each occurrence.

    Returns
    -------
    float
        At most 1; a sentence of one occurrence has 1.

    Raises
    ------
    UserError
        If there is no occurrence, the view holds NaN, infinity or a zero vector, or the vectors of
        a sentence sum to zero.

    Examples
    --------
    >>> import numpy as np
    >>> view = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> sentences = np.array([0, 0, 1])
    >>> round(intra_sentence_similarity(view, sentences), 4)  # the mean of cos 45 degrees and 1
    0.8536
    """
    rows = checked(view, "isotropy", sentences=sentences).astype(np.float64)
    similarities = _intra_sentence(rows, _scales(rows), sentences)
    if np.isnan(similarities).any():
        raise zero("the sum over a sentence")
    return _defined(jackknife.ratio(similarities.sum(), len(similarities)), "a sentence")


def maximum_explainable_variance(view: np.ndarray, words: np.ndarray, least: int = LEAST) -> float:
    """Mean over words of the share of a word's occurrences that one direction explains.

    The share of the first singular value's square in the sum of all, about 0 and not about the
    mean: whether one vector can stand for all occurrences of a word. Unadjusted; the module says
    how the published values differ.

    Parameters
    ----------
    view : ndarray of shape (n_occurrences, d_model)
        Representations at one layer.
    words : ndarray of shape (n_occurrences,)
        The word of each occurrence.
    least : int, default=5
        Words that occur less often are left out; the others count once each.

    Returns
    -------
    float
        At most 1. The share of a word of n occurrences is 1 / n or more.

    Raises
    ------
    UserError
        If no word occurs so often, or the view holds NaN, infinity or a zero vector.

    Examples
    --------
    >>> import numpy as np
    >>> view = np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> words = np.array(["a", "a", "the", "the"])
    >>> maximum_explainable_variance(view, words, least=2)
    1.0
    """
    rows = checked(view, "isotropy", words=words).astype(np.float64)
    _scales(rows)  # refuses rows without a direction
    shares = _first_shares(rows, words, least)
    return _defined(jackknife.ratio(np.sum(shares), len(shares)), f"a word {least} times")


def isotropy(
    views: np.ndarray | Sequence[np.ndarray],
    words: np.ndarray,
    sentences: np.ndarray,
    blocks: np.ndarray,
    n: int = DRAWN,
    seed: int = 1,
    seen: np.ndarray | None = None,
) -> Iterator[dict]:
    """Rows of `isotropy.csv`, see docs/tables.md.

    views: `[n_occurrences, d_model]` for each layer, layer 0 first. words, sentences, blocks: those
    of each occurrence, `[n_occurrences]`; a sentence is in one block. n, seed: occurrences drawn
    for the adjustment, the same at all layers. seen: of all occurrences that a study draws from,
    which these are, see `views.draws`; all by default.

    Values without a block keep the mean and scale of the view, and the rest of the same draw.
    maximum_explainable_variance has none: each would need the components of all words again.
    Memory holds one layer in float64, and no copy of it.
    """
    of_rows = {"words": words, "sentences": sentences, "blocks": blocks}
    drawn = _drawn(len(blocks), n, seed, seen)
    for layer, view in enumerate(views):
        view = checked(view, "isotropy", **of_rows)
        for version, rows in versions(view):
            if rows.any(axis=1).all():
                scales = _scales(rows)
            else:
                scales = np.full(len(rows), np.nan)
                what = "a representation is zero, so cosines have no values"
                log.warning("layer %d, %s: %s", layer, version, what)
            for row in _measures(rows, scales, words, sentences, blocks, drawn):
                yield {"layer": layer, "version": version, **row}
        del rows  # before the next layer is read


def versions(view: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Names and float64 rows `[n_occurrences, d_model]`: raw, centered, standardized.

    The rows are one array, overwritten by the next version. Constant neurons are 0 in the last
    two.

    Raises UserError if the view holds NaN or infinity, or numbers whose squares are infinite.
    """
    rows = checked(view, "isotropy").astype(np.float64)
    yield "raw", rows
    mean = rows.mean(0)
    rows -= mean
    variance = np.einsum("nd,nd->d", rows, rows) / len(rows)
    require_finite(variance, "isotropy")
    deviation = deviations(variance, mean)
    rows[:, np.isinf(deviation)] = 0  # what is left of constant neurons is rounding
    yield "centered", rows
    rows /= deviation
    yield "standardized", rows


def _measures(
    rows: np.ndarray,
    scales: np.ndarray,
    words: np.ndarray,
    sentences: np.ndarray,
    blocks: np.ndarray,
    drawn: np.ndarray,
) -> Iterator[dict]:
    """The rows of `isotropy` for one version of a view; scales, drawn: see `_scales`, `_drawn`."""
    count = jackknife.n_blocks(blocks)
    kept = [drawn, *(drawn[blocks[drawn] != block] for block in range(count))]
    baseline = np.array([_between(rows[some] * scales[some, None], words[some]) for some in kept])
    yield _row("anisotropy", False, baseline)
    in_sentence = _intra_sentence(rows, scales, sentences)
    _, first = np.unique(sentences, return_index=True)
    known = ~np.isnan(in_sentence)
    sums, totals = (
        jackknife.sums(of_sentences, blocks[first], count)
        for of_sentences in (np.where(known, in_sentence, 0), known.astype(float))
    )
    for measure, values in (
        ("self_similarity", _self_similarity(rows, scales, words, blocks, count)),
        ("intra_sentence_similarity", jackknife.ratio(sums, totals)),
    ):
        yield _row(measure, False, values)
        yield _row(measure, True, values - baseline)
    shares = _first_shares(rows, words, LEAST)
    of_words, of_drawn = jackknife.ratio(np.sum(shares), len(shares)), _first_share(rows[drawn])
    yield _row_alone("first_component", False, of_drawn)
    yield _row_alone("maximum_explainable_variance", False, of_words)
    yield _row_alone("maximum_explainable_variance", True, of_words - of_drawn)


def _row(measure: str, adjusted: bool, values: np.ndarray) -> dict:
    """A row; values: with all blocks, then without each, `[1 + n_blocks]`."""
    # Adjusted values are differences of two cosines.
    within = jackknife.Range(-2, 2) if adjusted else jackknife.COSINE
    estimate = jackknife.estimate("value", values[0], values[1:], within)
    return {"measure": measure, "adjusted": adjusted, **estimate}


def _row_alone(measure: str, adjusted: bool, value: float) -> dict:
    """A row that has no values without a block."""
    return {"measure": measure, "adjusted": adjusted, **jackknife.given(value)}


def _self_similarity(
    rows: np.ndarray, scales: np.ndarray, words: np.ndarray, blocks: np.ndarray, count: int
) -> np.ndarray:
    """Self-similarity with all blocks, then without each: `[1 + count]`, NaN if no word is twice.

    A block changes the sums of its own words only.
    """
    _, numbers, sizes = np.unique(words, return_inverse=True, return_counts=True)
    sums = _sums(rows, scales, numbers, len(sizes))
    whole = _within(sums, sizes)
    parts = [whole]
    for block in range(count):
        gone = np.flatnonzero(blocks == block)
        affected, of_gone, n_gone = np.unique(
            numbers[gone], return_inverse=True, return_counts=True
        )
        rest = whole.copy()
        left = sums[affected] - _sums(rows[gone], scales[gone], of_gone, len(affected))
        rest[affected] = _within(left, sizes[affected] - n_gone)
        parts.append(rest)
    similarities = np.stack(parts)
    return jackknife.ratio(np.nansum(similarities, axis=1), np.isfinite(similarities).sum(1))


def _within(sums: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Mean cosine of two different occurrences of a word, from the sum of their unit vectors.

    sums: `[n_words, d]`; sizes and the result: `[n_words]`, NaN for fewer than two occurrences. The
    cosines of all j and k add up to the squared norm of the sum, and those of j = k to n.
    """
    cosines = np.full(len(sizes), np.nan)
    pairs = sizes * (sizes - 1)
    return np.divide((sums**2).sum(1) - sizes, pairs, out=cosines, where=pairs > 0)


def _between(units: np.ndarray, words: np.ndarray) -> float:
    """Mean cosine of two occurrences of different words, NaN if there are none.

    All pairs less those of one word: see `_within`.
    """
    _, numbers, sizes = np.unique(words, return_inverse=True, return_counts=True)
    sums = _sums(units, np.ones(len(units)), numbers, len(sizes))
    cosines = np.sum(sums.sum(0) ** 2) - np.sum(sums**2)
    return float(jackknife.ratio(cosines, len(units) ** 2 - np.sum(sizes**2)))


def _intra_sentence(rows: np.ndarray, scales: np.ndarray, sentences: np.ndarray) -> np.ndarray:
    """The intra-sentence similarity of each sentence, in order of their numbers: `[n_sentences]`.

    The cosines of unit vectors with a direction add up to the product of their sum with it. NaN for
    a sentence whose sum is 0 but for rounding, as that of the only one is once its mean is taken
    off.
    """
    _, numbers, sizes = np.unique(sentences, return_inverse=True, return_counts=True)
    sums = _sums(rows, np.ones(len(rows)), numbers, len(sizes))
    lengths = np.bincount(numbers, np.linalg.norm(rows, axis=1))
    sums[np.linalg.norm(sums, axis=1) <= jackknife.ROUNDING * lengths] = np.nan
    directions = _units(sums)
    return (directions * _sums(rows, scales, numbers, len(sizes))).sum(1) / sizes


def _first_shares(rows: np.ndarray, words: np.ndarray, least: int) -> list[float]:
    """The share of the first component, for each word that occurs `least` times or more."""
    _, numbers, sizes = np.unique(words, return_inverse=True, return_counts=True)
    of_words = np.split(np.argsort(numbers, kind="stable"), np.cumsum(sizes)[:-1])
    return [_first_share(rows[some]) for some in of_words if len(some) >= least]


def _first_share(rows: np.ndarray) -> float:
    """sigma_1^2 / sum_i sigma_i^2 of `[n, d]`, from the smaller of its two Gram matrices."""
    gram = rows @ rows.T if len(rows) < rows.shape[1] else rows.T @ rows
    last = len(gram) - 1
    [largest] = eigh(gram, eigvals_only=True, subset_by_index=[last, last])
    return float(jackknife.ratio(largest, np.trace(gram)))


def _sums(rows: np.ndarray, scales: np.ndarray, places: np.ndarray, n: int) -> np.ndarray:
    """Sums of `rows` times their scales, by their place (below `n`): `[n, d]`."""
    columns = np.arange(len(places))
    return csr_array((scales, (places, columns)), shape=(n, len(places))) @ rows


def _units(rows: np.ndarray) -> np.ndarray:
    """Rows of length 1, float64."""
    rows = np.asarray(rows, dtype=np.float64)
    return rows * _scales(rows)[:, None]


def _scales(rows: np.ndarray) -> np.ndarray:
    """What float64 rows have to be multiplied by to be of length 1, `[n]`."""
    lengths = np.sqrt(np.einsum("nd,nd->n", rows, rows))
    if not lengths.all():
        raise zero("a representation")
    return 1 / lengths


def zero(what: str) -> UserError:
    """The error for a vector without a direction."""
    return UserError(
        f"{what} is zero; cosines need a direction; look for a run or layer that collapsed"
    )


def _drawn(n_rows: int, n: int, seed: int, seen: np.ndarray | None = None) -> np.ndarray:
    """Row numbers of occurrences drawn at random, in the order of the text; seen: see
    `isotropy`."""
    if n < 1:
        raise UserError(f"n: found {n}; allowed: at least 1; usual: {DRAWN}")
    seen = np.full(n_rows, True) if seen is None else seen
    return chosen(generator(seed, "isotropy"), n, seen)


def _defined(value: float, wanted: str) -> float:
    """The value; raises UserError if there was nothing to take a mean of."""
    if np.isnan(value):
        raise UserError(f"the occurrences do not hold {wanted}, which isotropy needs; look at more")
    return float(value)
