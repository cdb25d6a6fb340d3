"""A lower bound on mutual information in nats, by a linear classifier of the representations.

For any classifier q, I(label; representation) >= H(label) - E[-ln q(label | representation)]
(Barber and Agakov 2003, "The IM algorithm"). Clusters see what varies most. A linear classifier
sees whatever a linear map can bring out, however little it varies, so the two need not agree.

The better the classifier, the tighter the bound. A short training of fixed length, from zero,
serves both kinds of labels: it stops before it overfits labels that can hardly be told apart (next
tokens), and comes within about 0.01 nats of the optimum for labels that can (input tokens).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional

from bottomup.core import seeds
from bottomup.core.device import device as best_device
from bottomup.core.errors import UserError
from bottomup.measures import jackknife
from bottomup.measures.mutual_information import entropies_without, entropy, possible
from bottomup.views.values import all_standardized, checked

PASSES = 5
# The same number for few and many occurrences, so that each training has as many steps.
BATCHES = 64
# Times d_model^-1/2: a step then moves the logits of standardized views equally at all widths.
LEARNING_RATE = 0.3
BLOCK_ROWS = 8192

Classifier = tuple[Tensor, Tensor]  # weights [views, n_labels, d_model], bias [views, 1, n_labels]


@dataclass(frozen=True)
class Bound:
    """The bound, its 95 % interval and the entropy of the held-out labels, all in nats."""

    mi_nats: float
    ci_low: float
    ci_high: float
    entropy_nats: float
    n_occurrences: int  # held out
    without: np.ndarray  # the bound without each block, see `jackknife`; [n_blocks]


def classifier_bound(
    view: np.ndarray,
    labels: np.ndarray,
    blocks: np.ndarray,
    count: int,
    seed: int,
    device: torch.device | str | None = None,
) -> Bound:
    """H(label) - cross-entropy of a linear softmax classifier on held-out documents, in nats.

    The classifier is fitted to one half of the blocks of documents; all results, H(label) included,
    are of the other half.

    view: `[n, d_model]`; labels, blocks: `[n]`, blocks below `count`. device: the first GPU by
    default. The interval covers the held-out text, its half of the blocks, for the given
    classifier.

    The bound is at most H(label). It is below 0 if the classifier does worse than the labels'
    frequencies. The information itself is never negative, but the bound is returned as measured.

    Raises UserError if there are too few blocks to halve, the view holds NaN or infinity, or
    lengths do not match.
    """
    return bounds([view], labels, blocks, count, seed, device=device)[0]


def bounds(
    views: Sequence[np.ndarray],
    labels: np.ndarray,
    blocks: np.ndarray,
    count: int,
    seed: int,
    penalty: float = 0.0,
    device: torch.device | str | None = None,
    read: Sequence[np.ndarray] | None = None,
) -> list[Bound]:
    """The bound of each of several views that say something of the same labels.

    views: each `[n, d_model]`, equally wide. penalty: what the sum of squared weights (of
    standardized neurons) costs, in nats for each half of it, in addition to all losses. read: for
    each view the blocks of its rows, `[n]`, if they are not those of the labels; a row is then left
    out with either of its blocks. All else as in `classifier_bound`; a view has the same bound as
    it has alone, but for rounding.
    """
    views = [checked(view, "a classifier", labels=labels, blocks=blocks) for view in views]
    device = torch.device(device or best_device())
    fitted, held_out = _halves(blocks, seed)
    distinct, numbers = np.unique(labels, return_inverse=True)
    y = torch.from_numpy(numbers).to(device)
    x = torch.from_numpy(all_standardized(views, fitted)).to(device)
    classifier = _fit(x[:, fitted], y[fitted], len(distinct), seed, penalty)
    losses = _losses(x[:, held_out], y[held_out], classifier)
    view_blocks = [np.stack([blocks, of], axis=1)[held_out] for of in read or [blocks] * len(views)]
    return [
        _bound(each, numbers[held_out], of, count)
        for each, of in zip(losses, view_blocks, strict=True)
    ]


def _halves(blocks: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of two halves of the blocks."""
    distinct, index = np.unique(blocks, return_inverse=True)
    if len(distinct) < 2:
        raise UserError(
            f"blocks of documents that carry a label: {len(distinct)}; a classifier needs 2, one a "
            f"half; raise the n_tokens of its table, or corpus.splits.test_words and "
            f"occurrences.n, or take text of more documents"
        )
    order = seeds.generator(seed, "halves").permutation(len(distinct))
    first = order[index] < len(distinct) // 2
    return np.flatnonzero(first), np.flatnonzero(~first)


def _fit(x: Tensor, y: Tensor, n_labels: int, seed: int, penalty: float) -> Classifier:
    """Minimize the cross-entropy by Adam, from the labels' frequencies, at a rate falling to 0.

    x: `[views, n, d_model]`. Steps are taken neuron by neuron, so views do not meet.
    """
    n_views, n, d_model = x.shape
    counts = torch.bincount(y, minlength=n_labels) + 0.5
    bias = (counts / counts.sum()).log().repeat(n_views, 1, 1).requires_grad_()
    weights = x.new_zeros(n_views, n_labels, d_model, requires_grad=True)
    rate = LEARNING_RATE * d_model**-0.5
    optimizer = torch.optim.Adam([weights, bias])
    generator = seeds.generator(seed, "batches")
    orders = np.concatenate([generator.permutation(n) for _ in range(PASSES)])
    batches = torch.from_numpy(orders).to(x.device).split(-(-n // BATCHES))
    for step, batch in enumerate(batches):
        optimizer.param_groups[0]["lr"] = rate * (1 - step / len(batches))
        optimizer.zero_grad()
        loss = _cross_entropies(x[:, batch], y[batch], (weights, bias)).sum() / len(batch)
        (loss + penalty / (2 * n) * weights.square().sum()).backward()
        optimizer.step()
    return weights.detach(), bias.detach()


def _cross_entropies(x: Tensor, y: Tensor, classifier: Classifier) -> Tensor:
    """-ln q(label | representation) of each occurrence in each view `[views, n]`, in nats."""
    weights, bias = classifier
    logits = torch.baddbmm(bias, x, weights.mT)
    losses = functional.cross_entropy(logits.flatten(0, 1), y.repeat(len(x)), reduction="none")
    return losses.view(len(x), -1)


def _losses(x: Tensor, y: Tensor, classifier: Classifier) -> np.ndarray:
    """`_cross_entropies` in blocks of rows, float64 `[views, n]`."""
    blocks = [
        _cross_entropies(rows, labels, classifier)
        for rows, labels in zip(x.split(BLOCK_ROWS, 1), y.split(BLOCK_ROWS), strict=True)
    ]
    return torch.cat(blocks, dim=1).double().cpu().numpy()


def _bound(losses: np.ndarray, labels: np.ndarray, blocks: np.ndarray, count: int) -> Bound:
    if not np.isfinite(losses).all():
        raise UserError(
            "a classifier's loss is not finite: a neuron is far larger in one half of the "
            "documents than in the other; look for a run or layer that diverged"
        )
    label_entropy = entropy(labels)
    value = float(label_entropy - losses.mean())
    sums, sizes = (
        jackknife.sums_without(terms, blocks, count) for terms in (losses, np.ones(len(losses)))
    )
    without = entropies_without(labels, blocks, count) - jackknife.ratio(sums, sizes)
    low, high = jackknife.interval(value, without, jackknife.Range(high=possible(labels).high))
    return Bound(value, low, high, label_entropy, len(losses), without)


def by_classifier(
    view: np.ndarray, tokens: np.ndarray, blocks: np.ndarray, count: int, seed: int
) -> dict:
    """The columns of a table's row, without clusters; arguments as in `classifier_bound`."""
    bound = asdict(classifier_bound(view, tokens, blocks, count, seed))
    no_clusters = {"n_clusters": pd.NA, "n_clusters_used": pd.NA}
    return {"estimator": "classifier", **bound, "n_labels": len(np.unique(tokens)), **no_clusters}
