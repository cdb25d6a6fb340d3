"""Linear probes: what a linear classifier can read from the representations at one layer.

For one task, the module measures

- the accuracy on sentences that the probe has not seen;
- its selectivity: the accuracy less that on a control task, which can only be learned by heart
  (Hewitt and Liang 2019, "Designing and Interpreting Probes with Control Tasks", section 2);
- the length of the labels' online code, which is short if few examples are enough, and its
  compression (Voita and Titov 2020, "Information-Theoretic Probing with Minimum Description
  Length", section 2.2);
- the scalar mix of all layers, with its center of gravity and the layer expected by cumulative
  scores (Tenney, Das and Pavlick 2019, "BERT Rediscovers the Classical NLP Pipeline", section 3.2).

The probe is a softmax regression with an L2 penalty. Adam trains the linear taggers of the
literature, at a rate of 0.001 for up to 50 epochs, until the loss on development sentences has not
fallen for 3; the result depends on rate, batches and epochs. The problem is convex, so here L-BFGS
on all examples looks for its one optimum. The penalty takes the place of early stopping; the
development sentences choose its strength.

With 20,000 occurrences, 128 neurons and 45 tags, a classifier takes about 5 s of one core for all
strengths, `probe` with its control task and code 14 s, and `scalar_mix` of 7 layers, with a mix up
to each of them, 90 s. All grow with the product of the three numbers: to predict the word itself,
take frequent words, or a GPU.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional
from torch.optim import LBFGS

from bottomup.core.device import device as best_device
from bottomup.core.errors import UserError
from bottomup.core.seeds import generator
from bottomup.measures import jackknife
from bottomup.measures.jackknife import ANY, NOT_NEGATIVE, UNIT, Range
from bottomup.views.values import all_standardized, checked

# Shares of the sentences, for development and for test.
HELD_OUT = (0.1, 0.1)
# Strengths of the L2 penalty on the weights of standardized neurons. It is added to the sum of the
# examples' losses in nats, so a strength is the inverse of scikit-learn's C. The first leaves
# little but the labels' frequencies.
STRENGTHS = (1e4, 1e3, 1e2, 1e1, 1e0)
# The largest slope left, of the loss in nats per example, in coordinates of curvature 1. In real
# views the loss is then within 3e-4 nats of its minimum, the accuracy within 0.002 of that there.
SLOPE = 3e-4
# The most steps of L-BFGS (the weakest penalty takes about 100), and how many of them it remembers
# (with fewer than 50 it takes more).
MAX_STEPS = 1000
HISTORY = 50
# Occurrences whose logits memory holds at once.
BLOCK_ROWS = 4096
# Shares of the sentences where the blocks of the online code end, as in the paper.
PORTIONS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)
# A block of the online code with fewer examples is merged with the next.
FEW = 10
VARIANTS = ("definition", "voita-titov-2020")
# The range of each metric; the others are shares of test occurrences.
RANGES = {
    "selectivity": Range(-1, 1),
    "code_length_bits": NOT_NEGATIVE,
    "compression": NOT_NEGATIVE,
}


@dataclass(frozen=True)
class Classifier:
    """weights: `[n_labels, d]`; bias: `[n_labels]`; scalars: a of the scalar mix, `[layers]`."""

    weights: Tensor
    bias: Tensor
    scalars: Tensor

    def mixed(self, x: Tensor) -> Tensor:
        """The mix of the layers of `x` `[layers, n, d]`: `[n, d]`."""
        return x[0] if len(x) == 1 else torch.einsum("l,lnd->nd", self.scalars.softmax(0), x)

    def logits(self, x: Tensor) -> Tensor:
        """The logits of views `[layers, n, d]`: `[n, n_labels]`."""
        return torch.addmm(self.bias, self.mixed(x), self.weights.T)


def probe(
    task: str,
    view: np.ndarray,
    labels: np.ndarray,
    control: np.ndarray,
    sentences: np.ndarray,
    blocks: np.ndarray,
    count: int,
    seed: int = 1,
    device: torch.device | str | None = None,
) -> Iterator[dict]:
    """Rows of `probes.csv` for one task and view, see docs/tables.md.

    view: `[n, d]`; labels, control, sentences, blocks: those of each occurrence `[n]`, blocks of
    documents below `count`; control as from `control_labels`. device: the first GPU by default.

    The code without a block is scaled to as many occurrences as with it.

    The published probes use the Penn Treebank: 45 tags; 39,832 sentences to train, 1,700 for
    development and 2,416 for test.

    Raises UserError for fewer than two labels or three sentences, and if lengths do not match.
    """
    of_rows = {"labels": labels, "control": control, "sentences": sentences, "blocks": blocks}
    view = checked(view, "a probe", **of_rows)
    parts = split(sentences, seed)
    for row in accuracies(view, labels, control, parts, blocks, count, device):
        yield {"task": task, **row}
    distinct, targets = np.unique(labels, return_inverse=True)
    code, uninformed = (
        _code(standardized([of], device), targets, len(distinct), sentences, blocks, count, seed)
        for of in (view, _nothing(view))
    )
    for row in _rows(code, uninformed, blocks, count, len(distinct)):
        yield {"task": task, **row}


def accuracies(
    view: np.ndarray,
    labels: np.ndarray,
    control: np.ndarray,
    parts: Sequence[np.ndarray],
    blocks: np.ndarray,
    count: int,
    device: torch.device | str | None = None,
) -> Iterator[dict]:
    """Rows like those of `probe`, without `task`: accuracy, control_accuracy and selectivity.

    parts: the rows for training, development and test; the rest as in `probe`.

    Raises UserError for fewer than two labels.
    """
    n_labels = len(np.unique(labels))
    _require_labels(n_labels)
    distinct, numbers = np.unique(np.concatenate([labels, control]), return_inverse=True)
    tasks = numbers[: len(labels)], numbers[len(labels) :]
    informed, uninformed = (
        _accuracies(standardized([of], device), tasks, len(distinct), parts, blocks, count)
        for of in (view, _nothing(view))
    )
    yield from _rows(informed, uninformed, blocks[parts[-1]], count, n_labels)


def _nothing(view: np.ndarray) -> np.ndarray:
    """A view of as many occurrences that tells nothing."""
    return np.zeros((len(view), 1))


def _rows(
    values: dict[str, np.ndarray],
    baselines: dict[str, np.ndarray],
    blocks: np.ndarray,
    count: int,
    n_labels: int,
) -> Iterator[dict]:
    """A row for each metric; blocks: those of the occurrences that count."""
    cases = jackknife.cases_of(blocks, count)
    for metric, value in values.items():
        within, of = RANGES.get(metric, UNIT), None if metric in RANGES else cases
        yield {
            "metric": metric,
            **jackknife.estimate("value", value[0], value[1:], within, of),
            "baseline": float(baselines[metric][0]),
            "n": len(blocks),
            "n_labels": n_labels,
        }


def online_code_length(
    view: np.ndarray,
    labels: np.ndarray,
    n_labels: int,
    seed: int = 1,
    sentences: np.ndarray | None = None,
    variant: str = "definition",
    device: torch.device | str | None = None,
) -> float:
    """Length of the online code of labels, given representations, in bits (Voita and Titov 2020).

    The shorter, the more easily a linear classifier reads the labels from the view. Labels are
    sent in blocks. The first block takes log2(n_labels) bits a label; every other is coded by a
    classifier that is trained on all blocks before it. Its penalty is the one that would have coded
    those blocks best, so a receiver can decode.

    Parameters
    ----------
    view : ndarray of shape (n, d)
        Representations.
    labels : ndarray of shape (n,), int
        From 0 to `n_labels - 1`.
    n_labels : int
        How many different labels there may be; 2 or more.
    seed : int, default=1
        Seed of the order in which sentences are sent.
    sentences : ndarray of shape (n,), optional
        The sentence of each row; sentences are sent as wholes. Without it, each row is its own.
    variant : {"definition", "voita-titov-2020"}, default="definition"
        The second counts as the public code does, whose first block is in bits and all others in
        nats. That is too short, and no code length; take it only to compare with published
        values.
    device : torch.device or str, optional
        Where to compute; by default the first GPU, else the CPU.

    Returns
    -------
    float
        In bits. The uniform code takes ``n * log2(n_labels)`` bits; that over this length is the
        compression.

    Raises
    ------
    UserError
        For fewer than two labels, labels that are out of range or no whole numbers, an unknown
        variant, or lengths that differ.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(200) % 2
    >>> telling = np.stack([labels, rng.normal(size=200)], axis=1)
    >>> online_code_length(telling, labels, 2, device="cpu") < 100  # the uniform code: 200
    True
    """
    sentences = np.arange(len(view)) if sentences is None else sentences
    view, labels = checked(view, "a probe", labels=labels, sentences=sentences), np.asarray(labels)
    _require_labels(n_labels)
    if labels.dtype.kind not in "biu":
        raise UserError(
            f"labels of type {labels.dtype}; allowed: whole numbers from 0 to {n_labels - 1}, such "
            "as np.unique(labels, return_inverse=True)[1]"
        )
    if np.min(labels) < 0 or np.max(labels) >= n_labels:
        raise UserError(
            f"labels from {np.min(labels)} to {np.max(labels)}; allowed: 0 to {n_labels - 1}, as "
            f"n_labels is {n_labels}"
        )
    if variant not in VARIANTS:
        raise UserError(f"variant of the code length: found {variant}; allowed: {VARIANTS}")
    x = standardized([view], device)
    numbers = np.unique(sentences, return_inverse=True)[1]
    bits, is_first = _bits(x, labels.astype(np.int64), n_labels, numbers, seed)
    if variant == "voita-titov-2020":
        bits[~is_first] *= np.log(2)
    return float(bits.sum())


def scalar_mix(
    task: str,
    views: np.ndarray | Sequence[np.ndarray],
    labels: np.ndarray,
    sentences: np.ndarray,
    blocks: np.ndarray,
    count: int,
    seed: int = 1,
    device: torch.device | str | None = None,
) -> Iterator[dict]:
    """Rows like those of `probe`, with `layer`; it is empty for values of all layers together.

    The probe reads gamma sum_l s_l h_l with s = softmax(a), and a is trained with it (Tenney et al.
    2019, equation 1; Peters et al. 2018, "Deep contextualized word representations", equation 1).

    views: `[layers, n, d]`, layer 0 first; the rest as in `probe`. Metrics:

    mix_accuracy: the accuracy (a share) of the probe of layers 0 to `layer`; at the top, of all.
    mix_weight: s_l of `layer` in the mix of all layers; these sum to 1.
    center_of_gravity: sum_l l s_l (equation 2), from 0 to the top layer.
    expected_layer: sum_l l d_l / sum_l d_l, where d_l is how much layer l raises mix_accuracy
        (equations 3 and 4). It is below 0 or above the top layer if some layers lower mix_accuracy,
        and empty if all of them together do not raise it.

    n: test occurrences; training occurrences for mix_weight and center_of_gravity. These two have
    no interval: they belong to the given classifier, and an interval would take one training for
    each block. Their baseline is that of equal weights.

    All neurons of all layers are standardized. Otherwise a layer of twice the norm would need half
    the weight to say the same. gamma is 1: it would scale all layers alike, which the classifier's
    weights already do, and so only undo their penalty.

    The problem is not convex; it starts from the best classifier of the layers' mean. So a mix of
    layers that cancel each other out stays at chance; those of one residual stream do not. One
    layer is cheaper than a mix unless the others add more than the penalty costs. So a few layers
    get all the weight, and fewer of them with less text. The published centers come from a training
    by Adam, which starts from equal weights and stops early: their sizes do not compare with these.

    Raises UserError as `probe`.
    """
    of_rows = {"labels": labels, "sentences": sentences, "blocks": blocks}
    views = [checked(view, "a probe", **of_rows) for view in views]
    distinct, targets = np.unique(labels, return_inverse=True)
    _require_labels(len(distinct))
    parts = split(sentences, seed)
    of_text = targets, len(distinct), parts, blocks, count
    layers = np.arange(len(views))
    probes = [_accuracy(standardized(views[: top + 1], device), *of_text) for top in layers]
    scores = np.stack([score for score, _ in probes])
    weights = probes[-1][1].scalars.softmax(0).double().cpu().numpy()
    baseline = _accuracy(standardized([np.zeros((len(labels), 1))], device), *of_text)[0][0]

    def row(metric: str, value: dict, baseline: float, part: int, layer: int = pd.NA) -> dict:
        names = {"layer": layer, "task": task, "metric": metric}
        sizes = {"n": len(parts[part]), "n_labels": len(distinct)}
        return {**names, **value, "baseline": float(baseline), **sizes}

    of_test = jackknife.cases_of(blocks[parts[-1]], count)
    for layer, score in enumerate(scores):
        value = jackknife.estimate("value", score[0], score[1:], UNIT, of_test)
        yield row("mix_accuracy", value, baseline, -1, layer)
    for layer, weight in enumerate(weights):
        yield row("mix_weight", jackknife.given(weight), 1 / len(layers), 0, layer)
    yield row("center_of_gravity", jackknife.given(layers @ weights), layers.mean(), 0)
    expected = expected_layer(scores)
    value = jackknife.estimate("value", expected[0], expected[1:], ANY)
    yield row("expected_layer", value, np.nan, -1)


def control_labels(labels: np.ndarray, words: np.ndarray, seed: int) -> np.ndarray:
    """Labels `[n]` of the control task: one for each word type, drawn by the labels' frequencies.

    As in Hewitt and Liang 2019 for parts of speech. labels, words: `[n]`, of all that a study has,
    so that all models have the same control, see `views.draws`.
    """
    types, index = np.unique(words, return_inverse=True)
    return generator(seed, "control task").choice(labels, len(types))[index]


def drawn_order(sentences: np.ndarray, seed: int, name: str) -> np.ndarray:
    """The place of each row's sentence, from 0, in an order drawn at random, `[n]`.

    sentences: the number of each row's sentence, `[n]`. Of two sentences the same one comes first,
    whichever others there are: a model that does not read some shares the order with one that does.
    """
    keys = generator(seed, name).random(int(np.max(sentences, initial=-1)) + 1)
    return np.unique(keys[sentences], return_inverse=True)[1]


def split(sentences: np.ndarray, seed: int) -> list[np.ndarray]:
    """The rows for training, development and test; rows of one sentence stay together.

    sentences: the sentence of each row, `[n]`.

    Raises UserError for fewer than three sentences.
    """
    n = len(np.unique(sentences))
    if n < 3:
        raise UserError(
            f"sentences that carry a label: {n}; a probe needs 3, one each for training, "
            "development and test: raise corpus.splits.test_words or occurrences.n"
        )
    held_out = [max(1, round(share * n)) for share in HELD_OUT]
    ends = np.cumsum([n - sum(held_out), *held_out])
    part = np.searchsorted(ends, drawn_order(sentences, seed, "split"), side="right")
    return [np.flatnonzero(part == number) for number in range(len(ends))]


def _accuracies(
    x: Tensor,
    tasks: tuple[np.ndarray, np.ndarray],
    n_labels: int,
    parts: Sequence[np.ndarray],
    blocks: np.ndarray,
    count: int,
) -> dict[str, np.ndarray]:
    """By metric, its value with all blocks, then without each, `[1 + count]`.

    tasks: the real one and the control task.
    """
    real, control = (_accuracy(x, labels, n_labels, parts, blocks, count)[0] for labels in tasks)
    return {"accuracy": real, "control_accuracy": control, "selectivity": real - control}


def _accuracy(
    x: Tensor,
    labels: np.ndarray,
    n_labels: int,
    parts: Sequence[np.ndarray],
    blocks: np.ndarray,
    count: int,
) -> tuple[np.ndarray, Classifier]:
    """The share of test occurrences that a probe gets right, with all blocks, then without each,
    `[1 + count]`; and the probe."""
    hits, classifier = _hits(x, labels, n_labels, parts)
    return jackknife.means(hits, blocks[parts[-1]], count), classifier


def expected_layer(scores: np.ndarray) -> np.ndarray:
    """The expected layer (Tenney et al. 2019, equation 4), `[...]`, from the scores of layers 0 to
    l, `[layers, ...]`; NaN if the last is not above the first."""
    # Gains that are added one by one could leave a remainder where they cancel out.
    gained = scores[-1] - scores[0]
    weighted = np.tensordot(np.arange(1, len(scores)), np.diff(scores, axis=0), axes=1)
    return jackknife.ratio(weighted, np.where(gained > 0, gained, np.nan))


def _code(
    x: Tensor,
    labels: np.ndarray,
    n_labels: int,
    sentences: np.ndarray,
    blocks: np.ndarray,
    count: int,
    seed: int,
) -> dict[str, np.ndarray]:
    """By metric, its value with all blocks, then without each, `[1 + count]`."""
    bits, _ = _bits(x, labels, n_labels, sentences, seed)
    lengths = jackknife.means(bits, blocks, count) * len(bits)
    uniform = len(bits) * np.log2(n_labels)
    return {"code_length_bits": lengths, "compression": jackknife.ratio(uniform, lengths)}


def _bits(
    x: Tensor, labels: np.ndarray, n_labels: int, sentences: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Bits of each label in the online code, and whether it is in the first block, both `[n]`."""
    place = drawn_order(sentences, seed, "online code")
    order = np.argsort(place, kind="stable")
    x, y = x[:, order], torch.from_numpy(labels[order]).to(x.device)
    ends = _ends(np.bincount(place))
    nats = np.full(len(order), np.log(n_labels))
    fitted: dict[int, Classifier] = {}
    coded = np.zeros(len(STRENGTHS))
    for start, end in pairwise(ends):
        best = int(np.argmin(coded))
        # How other strengths would code the last block matters to no later one.
        for i in [best] if end == ends[-1] else range(len(STRENGTHS)):
            fitted[i] = fit(x[:, :start], y[:start], n_labels, STRENGTHS[i], fitted.get(i))
            losses = _losses(x[:, start:end], y[start:end], fitted[i])
            coded[i] += losses.sum()
            if i == best:
                nats[start:end] = losses
    bits, is_first = np.empty(len(order)), np.empty(len(order), dtype=bool)
    bits[order], is_first[order] = nats / np.log(2), np.arange(len(order)) < ends[0]
    return bits, is_first


def _ends(sizes: np.ndarray) -> list[int]:
    """How many examples each block of the online code holds, together with those before it.

    sizes: the number of examples in each sentence, in the order of the code.
    """
    totals = np.concatenate([[0], np.cumsum(sizes)])
    ends = [0]
    for total in totals[[int(portion * len(sizes)) for portion in PORTIONS]]:
        if total - ends[-1] >= FEW:
            ends.append(int(total))
    return [*ends[1:-1], int(totals[-1])]


def standardized(
    views: np.ndarray | Sequence[np.ndarray], device: torch.device | str | None
) -> Tensor:
    """The views, each `[n, d]`, with standardized neurons, in their principal axes:
    `[layers, n, d]`.

    A rotation that all layers share changes neither the penalty nor the result. But it saves `fit`
    many steps, since `fit` scales coordinates one by one and they should not depend on each other.
    Labels play no part.
    """
    x = torch.from_numpy(all_standardized(views)).to(device or best_device())
    products = torch.zeros(x.shape[2], x.shape[2], dtype=torch.float64, device=x.device)
    # Layer by layer: all of them in float64 would take as much memory as eight views in float16.
    for rows in map(Tensor.double, x):
        products += rows.T @ rows
    axes = torch.linalg.eigh(products).eigenvectors.to(x.dtype)
    for rows in x:
        rows.copy_(rows @ axes)
    return x


def _hits(
    x: Tensor, labels: np.ndarray, n_labels: int, parts: Sequence[np.ndarray]
) -> tuple[np.ndarray, Classifier]:
    """Whether the probe gets each test occurrence right, and the probe itself.

    Strengths go from strong to weak; the probe has the last one before the loss on the development
    sentences first rises.
    """
    (x_train, y_train), (x_dev, y_dev), (x_test, y_test) = (
        (x[:, rows], torch.from_numpy(labels[rows]).to(x.device)) for rows in parts
    )
    best = classifier = fit(x_train, y_train, n_labels, STRENGTHS[0])
    least = _losses(x_dev, y_dev, best).mean()
    for strength in STRENGTHS[1:]:
        classifier = fit(x_train, y_train, n_labels, strength, classifier)
        loss = _losses(x_dev, y_dev, classifier).mean()
        if loss >= least:
            break
        best, least = classifier, loss
    predicted = torch.cat([best.logits(rows).argmax(1) for rows in x_test.split(BLOCK_ROWS, 1)])
    return (predicted == y_test).cpu().numpy(), best


def fit(
    x: Tensor, y: Tensor, n_labels: int, strength: float, start: Classifier | None = None
) -> Classifier:
    """The classifier of least loss.

    The loss is the sum of the examples' losses in nats, strength / 2 times the squared weights, and
    half an example of each label at 0, the mean of the view.

    x: `[layers, n, d]`, from `standardized`; y: `[n]`, below `n_labels`. Half an example keeps
    labels possible that no example has. Where the view tells nothing, shares are then estimated by
    counts plus a half (Krichevsky and Trofimov 1981).
    """
    shares = torch.bincount(y, minlength=n_labels) + 0.5
    shares = shares / shares.sum()
    weights, bias = x.new_zeros(n_labels, x.shape[2]), shares.log()
    if len(x) > 1:
        # Never start from earlier scalars: a strong penalty leaves one layer all the weight, and
        # then the loss has no slope in the weights of the others.
        start = fit(x.mean(0, keepdim=True), y, n_labels, strength, start)
    if start is not None:
        weights, bias = start.weights, start.bias
    start = Classifier(weights, bias, x.new_zeros(len(x)))
    # In coordinates of equal curvature, L-BFGS takes a fraction of the steps.
    scales = [curvature.rsqrt() for curvature in _curvatures(x, strength, start)]
    scaled = [
        (values / scale).requires_grad_()
        for values, scale in zip((start.weights, start.bias, start.scalars), scales, strict=True)
    ]

    def current() -> Classifier:
        return Classifier(*(values * scale for values, scale in zip(scaled, scales, strict=True)))

    def closure() -> float:
        optimizer.zero_grad()
        total = 0.0
        for term in _terms(x, y, strength, current):
            (term / len(y)).backward()
            total += float(term.detach())
        return total / len(y)

    steps = {"max_iter": MAX_STEPS, "history_size": HISTORY}
    optimizer = LBFGS(scaled, **steps, tolerance_grad=SLOPE, line_search_fn="strong_wolfe")
    optimizer.step(closure)
    fitted = current()
    return Classifier(
        *(values.detach() for values in (fitted.weights, fitted.bias, fitted.scalars))
    )


def _terms(
    x: Tensor, y: Tensor, strength: float, current: Callable[[], Classifier]
) -> Iterator[Tensor]:
    """The terms of the loss in `fit`, in nats, each with its own graph."""
    classifier = current()
    penalty = strength / 2 * classifier.weights.square().sum()
    yield penalty - classifier.bias.log_softmax(0).sum() / 2
    for rows, labels in zip(x.split(BLOCK_ROWS, 1), y.split(BLOCK_ROWS), strict=True):
        yield functional.cross_entropy(current().logits(rows), labels, reduction="sum")


def _curvatures(x: Tensor, strength: float, classifier: Classifier) -> tuple[Tensor, ...]:
    """Second derivatives of the loss in `fit` by weights, bias and scalars.

    Those by scalars are the part that is sure to be positive (Gauss-Newton), plus 1 for one example
    more.
    """
    n = x.shape[1]
    weights, bias = torch.zeros_like(classifier.weights), torch.zeros_like(classifier.bias)
    scalars = torch.ones_like(classifier.scalars)
    for rows in x.split(BLOCK_ROWS, 1):
        q = classifier.logits(rows).softmax(1)
        mixed = classifier.mixed(rows)
        weights += (q - q.square()).T @ mixed.square()
        bias += (q - q.square()).sum(0)
        for i, share in enumerate(classifier.scalars.softmax(0)):
            moves = share * (rows[i] - mixed) @ classifier.weights.T
            scalars[i] += (q * moves.square()).sum() - (q * moves).sum(1).square().sum()
    return (weights + strength) / n, (bias + 0.5) / n, scalars / n


def _losses(x: Tensor, y: Tensor, classifier: Classifier) -> np.ndarray:
    """-ln q(label | representation) of each occurrence `[n]`, in nats, float64."""
    blocks = [
        functional.cross_entropy(classifier.logits(rows), labels, reduction="none")
        for rows, labels in zip(x.split(BLOCK_ROWS, 1), y.split(BLOCK_ROWS), strict=True)
    ]
    return torch.cat(blocks).double().cpu().numpy()


def _require_labels(n_labels: int) -> None:
    if n_labels < 2:
        raise UserError(f"labels: {n_labels}; a probe needs 2 or more to tell apart")
