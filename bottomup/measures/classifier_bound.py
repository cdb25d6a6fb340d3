"""A lower bound on mutual information, by a linear classifier of the representations.

For any classifier q, I(label; representation) >= H(label) - E[-ln q(label | representation)]
(Barber and Agakov 2003, "The IM algorithm"). Clusters see what varies most; a linear classifier
sees whatever a linear map can bring out, however little it varies, so the two need not agree.

The bound is as tight as the classifier is good. It is fitted on one half of the sentences from
two starts, since neither serves all layers and labels: zero, which stops short of overfitting
where labels can hardly be told apart; and the linear discriminant (Fisher 1936), near the optimum
at once where they can. A tenth of that half, kept from fitting, decides. The other half of the
sentences gives the bound.
"""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from bottomup import seeds
from bottomup.errors import UserError
from bottomup.measures import bootstrap
from bottomup.measures.mutual_information import entropy
from bottomup.training import precision

PASSES = 3
BATCH_ROWS = 512
LEARNING_RATE = 1e-2
# Share of the sentences to fit on and to choose on; the rest is held out.
FITTED, CHOOSING = 0.45, 0.05
# Added to the covariance within labels, of standardized representations.
RIDGE = 1e-3
BLOCK_ROWS = 8192

Classifier = tuple[Tensor, Tensor]  # weights [n_labels, d_model] and bias [n_labels]


@dataclass(frozen=True)
class Bound:
    """The bound, its 95 % interval and the entropy of the held-out labels, all in nats."""

    mi_nats: float
    ci_low: float
    ci_high: float
    entropy_nats: float
    n_occurrences: int  # held out


def classifier_bound(
    view: np.ndarray,
    labels: np.ndarray,
    sentences: np.ndarray,
    n_samples: int,
    seed: int,
    device: torch.device | str | None = None,
) -> Bound:
    """H(label) - cross-entropy of a linear softmax classifier on held-out sentences, in nats.

    view: `[n, d_model]`; labels, sentences: `[n]`; n_samples: bootstrap samples of the held-out
    sentences, for the interval, the classifier being given. device: the first GPU by default.

    At most H(label). Below 0 where the classifier does worse than the labels' frequencies would:
    left so, since it is what was measured; the information itself is never negative.

    Raises UserError if there are fewer than 20 sentences, too few to divide.
    """
    device = torch.device(device or precision.device())
    fitted, choosing, held_out = _parts(sentences, seed)
    distinct, numbers = np.unique(labels, return_inverse=True)
    y = torch.from_numpy(numbers).to(device)
    x = torch.from_numpy(np.array(view)).to(device, torch.float32)
    x = (x - x[fitted].mean(0)) / x[fitted].std(0).clamp_min(1e-6)

    n_labels = len(distinct)
    fits = [
        _fit(x[fitted], y[fitted], start(x[fitted], y[fitted], n_labels), seed)
        for start in (_zero, _discriminant)
    ]
    best = min(fits, key=lambda fit: _losses(x[choosing], y[choosing], fit).mean())
    losses = _losses(x[held_out], y[held_out], best)
    return _bound(losses, numbers[held_out], sentences[held_out], n_samples, seed)


def _parts(sentences: np.ndarray, seed: int) -> list[np.ndarray]:
    """The rows to fit on, to choose on and to hold out; no sentence in two of them."""
    distinct, index = np.unique(sentences, return_inverse=True)
    if len(distinct) < 20:
        raise UserError(
            f"{len(distinct)} sentences carry a label; a classifier needs 20 to divide into "
            f"halves; raise occurrences.n or measures.mutual_information.n_tokens"
        )
    shares = (seeds.generator(seed, "halves").permutation(len(distinct)) + 0.5) / len(distinct)
    part = np.digitize(shares, [FITTED, FITTED + CHOOSING])[index]
    return [np.flatnonzero(part == i) for i in range(3)]


def _zero(x: Tensor, y: Tensor, n_labels: int) -> Classifier:
    """The labels' frequencies, whatever the representation."""
    counts = torch.bincount(y, minlength=n_labels) + 0.5
    return x.new_zeros(n_labels, x.shape[1]), (counts / counts.sum()).log()


def _discriminant(x: Tensor, y: Tensor, n_labels: int) -> Classifier:
    """Optimal for labels that are normal around their means with one covariance."""
    _, log_prior = _zero(x, y, n_labels)
    x = x.double()
    sums = x.new_zeros(n_labels, x.shape[1]).index_add_(0, y, x)
    means = sums / torch.bincount(y, minlength=n_labels).clamp_min(1)[:, None]
    within = x - means[y]
    covariance = within.T @ within / len(x)
    covariance.diagonal().add_(RIDGE)
    weights = torch.linalg.solve(covariance, means.T).T.contiguous()
    return weights.float(), log_prior - (weights * means).sum(1).float() / 2


def _fit(x: Tensor, y: Tensor, start: Classifier, seed: int) -> Classifier:
    """Adam on the cross-entropy, its rate falling to 0 over a fixed number of passes."""
    weights, bias = (parameter.requires_grad_() for parameter in start)
    optimizer = torch.optim.Adam([weights, bias], lr=LEARNING_RATE)
    generator = seeds.generator(seed, "batches")
    order = np.concatenate([generator.permutation(len(x)) for _ in range(PASSES)])
    batches = torch.from_numpy(order).to(x.device).split(BATCH_ROWS)
    for step, batch in enumerate(batches):
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - step / len(batches))
        optimizer.zero_grad()
        F.cross_entropy(torch.addmm(bias, x[batch], weights.T), y[batch]).backward()
        optimizer.step()
    return weights.detach(), bias.detach()


def _losses(x: Tensor, y: Tensor, classifier: Classifier) -> np.ndarray:
    """-ln q(label | representation) of each occurrence `[n]`, in nats, float64."""
    weights, bias = classifier
    blocks = [
        F.cross_entropy(torch.addmm(bias, rows, weights.T), labels, reduction="none")
        for rows, labels in zip(x.split(BLOCK_ROWS), y.split(BLOCK_ROWS), strict=True)
    ]
    return torch.cat(blocks).double().cpu().numpy()


def _bound(
    losses: np.ndarray, labels: np.ndarray, sentences: np.ndarray, n_samples: int, seed: int
) -> Bound:
    label_entropy = entropy(labels)
    value = label_entropy - losses.mean()
    index, draws = bootstrap.resamples(sentences, n_samples, seed)
    cross_entropies = np.bincount(index, losses) @ draws / (np.bincount(index) @ draws)
    samples = bootstrap.entropies(labels, index, draws) - cross_entropies
    low, high = bootstrap.interval(value, samples)
    return Bound(float(value), low, high, label_entropy, len(losses))
