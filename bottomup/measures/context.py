"""What a representation says of the tokens around it, in nats, place by place.

The representation is that of position i, and the token the one at i + k, for k from -4 to 4. A last
place is `anywhere`: another token of the sentence, drawn at random. The estimator is not told where
it stands, so this is about the sentence's words and not about their order.

Two estimators see different things:

- `classifier`, the held-out bound of a linear classifier (`bottomup.measures.classifier_bound`),
  sees what is linearly there, however little it varies;
- `clusters`, the plug-in value for k-means clusters (`bottomup.measures.mutual_information`), sees
  what most of the representation is about.

Some tokens often follow others. So a representation that says which token stands at i says
something of the one at i + k, with or without context. `by_token` is how much: the same estimate
after each representation has changed places with another one of its token. It then still says its
token, but nothing of what stands around it. `added` is `information` less `by_token`. A position in
the sentence also says something of tokens and is lost in the exchange; at layer 0, all of `added`
is due to that.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from bottomup.core import seeds
from bottomup.core.errors import UserError
from bottomup.measures import jackknife
from bottomup.measures.classifier_bound import Bound, bounds
from bottomup.measures.jackknife import Range
from bottomup.measures.mutual_information import (
    cluster,
    entropy,
    mutual_information,
    possible,
    shuffled,
    without_blocks,
)
from bottomup.views.draws import places, there

REACH = 4  # tokens
OFFSETS = range(-REACH, REACH + 1)
ANYWHERE = "anywhere"
PLACES = (*(f"{offset:+d}" if offset else "0" for offset in OFFSETS), ANYWHERE)
# Times d_model, what half the squared weights of a classifier cost, in nats. So scaled, a penalty
# leaves views of all widths the same information (docs/decisions.md).
PENALTY = 0.4
# Occurrences of a token, on average, half of them held out from a classifier, for values to count.
OCCURRENCES_A_TOKEN = 10


@dataclass(frozen=True)
class Sample:
    """Tokens, and the rows of a view in which each is looked for.

    tokens, blocks: what is looked for, and its blocks of documents, `[n]`. rows: for each of
    `PLACES` the rows that are read, `[places, n]`; seen from such a row, the token stands at that
    place. changed: the same, where each row has changed places with another one of its token.
    changed_blocks: the blocks of these, `[places, n]`.
    """

    tokens: np.ndarray
    blocks: np.ndarray
    rows: np.ndarray
    changed: np.ndarray
    changed_blocks: np.ndarray


def draw(
    occurrences: pd.DataFrame, labeled: np.ndarray, labels: np.ndarray, n: int, seed: int
) -> Sample:
    """At most `n` of the labeled tokens, drawn from those with `REACH` others of their sentence on
    either side, so that all places are about the same tokens.

    occurrences: the occurrence table, in text order; also of those that are not seen, see
    `views.draws`. labeled, labels: the rows of the tokens that count, and these tokens. Of those
    that are drawn, the ones stay for which all places are seen.

    Raises UserError if there are no such tokens.
    """
    inside, seen = np.flatnonzero(_inside(occurrences)[labeled]), there(occurrences)
    order = seeds.generator(seed, "context").permutation(len(inside))
    kept = np.sort(inside[order[:n]])
    rows = labeled[kept]
    read = np.stack([*(rows - offset for offset in OFFSETS), elsewhere(occurrences, rows, seed)])
    whole = seen[read].all(axis=0)
    if not whole.any():
        raise UserError(
            f"of {len(labeled)} tokens {len(inside)} have {REACH} others of their sentence on "
            f"either side, and of {len(rows)} that were drawn none is seen with all of them; "
            "raise occurrences.n or measures.context.occurrences, or leave out the table context"
        )
    own, blocks = (occurrences[name].to_numpy() for name in ("input_id", "block"))
    changed = np.stack([_changed(some, own, whole, seen, seed) for some in read])[:, whole]
    in_view = places(seen, read[:, whole]), places(seen, changed)
    return Sample(labels[kept[whole]], blocks[rows[whole]], *in_view, blocks[changed])


def _inside(occurrences: pd.DataFrame) -> np.ndarray:
    """Whether the `REACH` rows on either side are the nearest tokens of the same sentence `[n]`."""
    sentences, positions = (occurrences[name].to_numpy(int) for name in ("sentence", "position"))
    inside = np.zeros(len(occurrences), dtype=bool)
    left, right = slice(None, -2 * REACH), slice(2 * REACH, None)
    together = sentences[left] == sentences[right]
    inside[REACH:-REACH] = together & (positions[right] - positions[left] == 2 * REACH)
    return inside


def elsewhere(occurrences: pd.DataFrame, rows: np.ndarray, seed: int) -> np.ndarray:
    """Another row of the sentence for each of `rows`, drawn uniformly, `[n]`."""
    sentences = occurrences["sentence"].to_numpy()
    starts = np.flatnonzero(np.diff(sentences, prepend=sentences[0] - 1))
    sizes = np.diff(starts, append=len(sentences))
    of = np.searchsorted(starts, rows, side="right") - 1
    steps = seeds.generator(seed, "anywhere").integers(1, sizes[of])
    return starts[of] + (rows - starts[of] + steps) % sizes[of]


def _changed(
    rows: np.ndarray, tokens: np.ndarray, whole: np.ndarray, seen: np.ndarray, seed: int
) -> np.ndarray:
    """For each of the rows that are read at a place, another row of the same token: `[n]`.

    tokens: those of all occurrences; seen: which of these are seen. whole: which rows stay, `[n]`.
    The other row is one that is also read at this place, so the same positions in sentences are
    read as before. Only if a token is read once, any other occurrence of it is taken.
    """
    others = rows[within_token(tokens[rows], whole, seed)]
    return np.where(others == rows, within_token(tokens, seen, seed)[rows], others)


def within_token(tokens: np.ndarray, seen: np.ndarray, seed: int) -> np.ndarray:
    """For each row another one of the same token, drawn at random, each row once: `[n]`.

    tokens: `[n]`. seen: which rows are seen, bool `[n]`. A token that is seen once stays where it
    is, as does a row that is not seen.
    """
    _, numbers = np.unique(tokens, return_inverse=True)
    order = seeds.generator(seed, "within token").permutation(len(tokens))
    order = order[seen[order]]
    order = order[np.argsort(numbers[order], kind="stable")]
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    following = np.roll(order, -1)
    following[np.append(starts[1:], len(order)) - 1] = order[starts]
    others = np.arange(len(tokens))
    others[order] = following
    return others


def by_classifier(
    view: np.ndarray,
    sample: Sample,
    count: int,
    seed: int,
    device: torch.device | str | None = None,
) -> Iterator[dict]:
    """Rows of a table for one layer, by the bound of a linear classifier.

    view: `[n_occurrences, d_model]`; count: the number of blocks. `n_occurrences` of a row are
    those held out. Shuffled tokens have nothing to do with any place, so one estimate serves all
    places.
    """

    def bounded(
        rows: np.ndarray, tokens: np.ndarray, read: list[np.ndarray] | None = None
    ) -> list[Bound]:
        views, penalty = [view[some] for some in rows], PENALTY * view.shape[1]
        return bounds(views, tokens, sample.blocks, count, seed, penalty, device, read)

    def values(by_place: list[Bound]) -> np.ndarray:
        return np.stack([np.append(bound.mi_nats, bound.without) for bound in by_place])

    information = bounded(sample.rows, sample.tokens)
    by_token = bounded(sample.changed, sample.tokens, [*sample.changed_blocks])
    permuted = seeds.generator(seed, "shuffled labels").permutation(sample.tokens)
    [nothing] = bounded(sample.rows[[REACH]], permuted)
    yield from _rows(
        ("classifier", sample, information[0].n_occurrences, OCCURRENCES_A_TOKEN // 2),
        values(information),
        values(by_token),
        [nothing.mi_nats] * len(PLACES),
        Range(high=possible(sample.tokens).high),
        information[0].entropy_nats,
    )


def by_clusters(
    view: np.ndarray,
    sample: Sample,
    count: int,
    n_clusters: int,
    seed: int,
    device: torch.device | str | None = None,
) -> Iterator[dict]:
    """The same by k-means clusters of all occurrences; other arguments as in `by_classifier`.

    A plug-in value is too high where clusters are many and occurrences few. `added` is a difference
    of two such values, so this bias cancels as far as both have it.
    """
    tokens, blocks = sample.tokens, sample.blocks
    clusters = cluster(view, n_clusters, seed, device)

    def values(rows: np.ndarray, read: Iterable[np.ndarray]) -> np.ndarray:
        by_place = [
            [
                mutual_information(tokens, clusters[some]),
                *without_blocks(tokens, clusters[some], np.stack([blocks, of], axis=1), count),
            ]
            for some, of in zip(rows, read, strict=True)
        ]
        return np.array(by_place)

    yield from _rows(
        ("clusters", sample, len(tokens), OCCURRENCES_A_TOKEN),
        values(sample.rows, [blocks] * len(PLACES)),
        values(sample.changed, sample.changed_blocks),
        [shuffled(tokens, clusters[some], seed) for some in sample.rows],
        possible(tokens, n_clusters),
        entropy(tokens),
    )


def _rows(
    of: tuple[str, Sample, int, int],
    information: np.ndarray,
    by_token: np.ndarray,
    chance: list[float],
    within: Range,
    entropy_nats: float,
) -> Iterator[dict]:
    """The rows of an estimator: information, what the token itself says, and the rest.

    of: the estimator, the tokens, how many of them it measures, and how many of a token it needs on
    average. information, by_token: for each place, with all blocks and then without each,
    `[places, 1 + count]`.
    """
    estimator, sample, n_occurrences, needed = of
    n_labels = len(np.unique(sample.tokens))
    quantities = {
        "information": (information, within, chance),
        "by_token": (by_token, within, chance),
        "added": (information - by_token, within.of_differences, [np.nan] * len(PLACES)),
    }
    for number, place in enumerate(PLACES):
        for quantity, (values, ends, shuffled_nats) in quantities.items():
            value, without = values[number, 0], values[number, 1:]
            yield {
                **{"estimator": estimator, "place": place, "quantity": quantity},
                **jackknife.estimate("nats", value, without, ends),
                "shuffled_nats": shuffled_nats[number],
                "entropy_nats": entropy_nats,
                "n_occurrences": n_occurrences,
                "n_labels": n_labels,
                "n_needed": needed * n_labels,
            }
