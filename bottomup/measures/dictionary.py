"""What two runs have in common, feature by feature: one sparse dictionary of both.

A crosscoder (Lindsey et al. 2024, transformer-circuits.pub/2024/crosscoders) reads the same
occurrences in both runs, codes them by a few of many features, and has a decoder for each run:

    code = the largest of relu([x_a, x_b] E + e)        x_a ~ code D_a + d_a, x_b ~ code D_b + d_b

A feature is a row of both decoders. Its relative norm |D_b| / (|D_a| + |D_b|) is 0 if only the
first run has it, 1 if only the second, 1/2 if both have it alike.

The code keeps the largest activations of a batch, each times the norms of its decoders (BatchTopK,
Bussmann et al. 2024, arXiv 2412.06410); once it is learned, those above one threshold, so that the
code of an occurrence does not depend on the others. An L1 penalty in its place shrinks the decoder
of a feature that one run has weakly, so that it looks exclusive where it is not (Minder et al.
2025, arXiv 2504.02922); here nothing is penalized.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from bottomup.core.seeds import generator
from bottomup.measures import jackknife
from bottomup.measures.jackknife import Range
from bottomup.measures.least_squares import ROWS_FOR_A_NEURON, rows_and_needed
from bottomup.views.values import checked, deviations, require_finite

BATCH = 512  # occurrences of an update, among which the largest activations are kept
LEARNING_RATE = 3e-3  # at the start; it falls to 0
RIDGE = 1e-6  # share of features' mean square, for those that no occurrence has
EXCLUSIVE = 0.1  # only one run has a feature whose relative norm is this near to 0 or 1
TOP = 20  # occurrences with the largest activation, by which a feature is named
NAMES = {"token": "input_id", "next_token": "right_id", "position": "position"}
KINDS = ("only_a", "only_b", "both")
ROWS = (  # measure and of
    *(("explained", "a"), ("explained", "b"), ("dead", "all"), ("imbalance", "all")),
    *((measure, kind) for kind in KINDS for measure in ("share", *NAMES)),
)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Dictionary:
    """encoder: `[d_a + d_b, size]`, bias `[size]`; decoder: `[size, d_a + d_b]`; the first `split`
    neurons are those of the first run; active: features of an occurrence, on average."""

    encoder: Tensor
    bias: Tensor
    decoder: Tensor
    split: int
    active: int

    def code(self, x: Tensor, least: Tensor | None = None) -> Tensor:
        """The code of rows `[n, d_a + d_b]`: `[n, size]`, with the activations that are at least so
        large; by default the n * active largest ones."""
        activations, sizes = self._activations(x)
        least = self._least(sizes) if least is None else least
        return activations * ((sizes >= least) & (sizes > 0))

    def least(self, x: Tensor) -> Tensor:
        """The least of the n * active largest activations of rows, `[]`."""
        return self._least(self._activations(x)[1])

    def _activations(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The activations of each feature, and their sizes: times the sum of both decoders'
        norms."""
        activations = (x @ self.encoder + self.bias).relu()
        norms = norms_of(self.decoder.detach(), self.split).sum(dim=1)
        return activations, (activations * norms).detach()

    def _least(self, sizes: Tensor) -> Tensor:
        return sizes.flatten().topk(min(len(sizes) * self.active, sizes.numel())).values[-1]


def norms_of(decoder: Tensor, split: int) -> Tensor:
    """The norms of each feature's two decoders, `[size, 2]`."""
    return torch.stack([side.norm(dim=1) for side in _sides(decoder, split)], dim=1)


def scaled(view: np.ndarray, width: int) -> np.ndarray:
    """A view with each neuron centered, of a mean squared length of `width`, that of the wider of
    two: else features that both have alike would be longer in it. One that is the same at all
    occurrences is 0, and has no features. UserError if it holds NaN or infinity."""
    mean = checked(view, "a dictionary").mean(axis=0, dtype=np.float64)
    centered = view - mean
    squares = np.square(centered)
    variance = squares.mean(axis=0)
    require_finite(variance, "a dictionary")
    if np.isinf(deviations(variance, mean)).all():
        log.warning("a view is the same at all occurrences; look for a run or layer that collapsed")
        return np.zeros(view.shape, dtype=np.float32)
    own = np.sqrt(width / view.shape[1])
    return (own * (centered / np.sqrt(squares.mean()))).astype(np.float32)


def fitted(x: Tensor, split: int, size: int, active: int, steps: int, seed: int) -> Dictionary:
    """The dictionary of rows `[n, d_a + d_b]` with the least squared error, by Adam.

    Both decoders of a feature start with norm 1, and the encoder as their transpose.
    """
    rng = generator(seed, "dictionary")
    start = torch.from_numpy(rng.standard_normal((size, x.shape[1]))).float()
    start = torch.cat([part / part.norm(dim=1, keepdim=True) for part in _sides(start, split)], 1)
    encoder = (start.T / 2).contiguous().to(x.device).requires_grad_()
    decoder = start.to(x.device).requires_grad_()
    bias = x.new_zeros(size, requires_grad=True)
    offset = x.new_zeros(x.shape[1], requires_grad=True)
    adam = torch.optim.Adam([decoder, encoder, bias, offset])
    orders = [rng.permutation(len(x)) for _ in range(1 + steps * BATCH // len(x))]
    batches = torch.from_numpy(np.concatenate(orders)).to(x.device).split(BATCH)[:steps]
    for step, batch in enumerate(batches):
        adam.param_groups[0]["lr"] = LEARNING_RATE * (1 - step / steps)
        current = Dictionary(encoder, bias, decoder, split, active)
        loss = (current.code(x[batch]) @ decoder + offset - x[batch]).square().mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
    return Dictionary(encoder.detach(), bias.detach(), decoder.detach(), split, active)


def best_decoder(code: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """The decoder `[size, d_a + d_b]` and offset with the least squared error, given the code.

    Adam's own decoder would not do: if a run has nothing of a feature, what is left of the start
    would count as its norm.
    """
    code, x = code.double(), x.double()
    centered = code - code.mean(dim=0)
    scatter = centered.T @ centered
    share = scatter.diagonal().mean() or 1  # 0, if no occurrence has any feature
    ridge = RIDGE * share * torch.eye(len(scatter)).to(scatter)
    decoder = torch.linalg.solve(scatter + ridge, centered.T @ x)
    return decoder.float(), (x.mean(dim=0) - code.mean(dim=0) @ decoder).float()


def _sides(x: Tensor, split: int) -> tuple[Tensor, Tensor]:
    return x[:, :split], x[:, split:]


def relative_norms(decoder: Tensor, split: int) -> np.ndarray:
    """The relative norm of each feature, from 0 (the first run alone has it) to 1, `[size]`; NaN if
    neither has it."""
    norms = norms_of(decoder, split)
    return (norms[:, 1] / norms.sum(dim=1)).cpu().numpy()


def kinds(relative: np.ndarray) -> np.ndarray:
    """Which of `KINDS` each feature is, by its relative norm."""
    return np.select([relative <= EXCLUSIVE, relative >= 1 - EXCLUSIVE], KINDS[:2], KINDS[2])


def dictionary(
    x: np.ndarray,
    y: np.ndarray,
    occurrences: pd.DataFrame,
    *,
    times: int,
    active: int,
    steps: int,
    seed: int,
    device: torch.device | str = "cpu",
) -> Iterator[dict]:
    """Rows of `dictionary.csv` for two views of the same occurrences, see docs/tables.md.

    x, y: `[n_occurrences, d_a]`, `[n_occurrences, d_b]`. times: features of the dictionary for each
    neuron of the wider view. If all occurrences are in blocks of one half of the documents, rows
    have no values, and n is 0.
    """
    width = max(x.shape[1], y.shape[1])
    views = np.concatenate([scaled(x, width), scaled(y, width)], axis=1)
    both = torch.from_numpy(views).to(device)
    features, blocks = times * width, occurrences["block"].to_numpy()
    held = blocks % 2 == 1
    if held.all() or not held.any():
        log.warning(
            "no dictionary: all occurrences are in blocks of one half of the documents, and one is "
            "fitted to one half and measured on the other; raise corpus.splits.test_words and "
            "occurrences.n"
        )
        nothing = np.full(jackknife.n_blocks(blocks), np.nan)
        size = {"n": 0, "n_needed": ROWS_FOR_A_NEURON * features}
        for measure, of in ROWS:
            estimate = jackknife.estimate("value", np.nan, nothing, jackknife.UNIT)
            yield {"measure": measure, "of": of, **estimate, **size}
        return
    learned = fitted(both[~held], x.shape[1], features, active, steps, seed)
    for measure, of, values, n, within in _values(learned, both, held, occurrences):
        size = rows_and_needed(n, int((~held).sum()), features)
        if size["n"] < size["n_needed"]:
            values = np.full_like(values, np.nan)
        estimate = jackknife.estimate("value", values[0], values[1:], within)
        yield {"measure": measure, "of": of, **estimate, **size}


def _values(
    learned: Dictionary, both: Tensor, held: np.ndarray, occurrences: pd.DataFrame
) -> Iterator[tuple[str, str, np.ndarray, int, Range]]:
    """measure, of, the value over all documents and without each block, n, and its range."""
    least = learned.least(both[~held])
    decoder, offset = best_decoder(learned.code(both[~held], least), both[~held])
    rest, code = both[held], learned.code(both[held], least)
    blocks = occurrences["block"].to_numpy()
    within, count = blocks[held], jackknife.n_blocks(blocks)
    errors = zip(_sides(code @ decoder + offset - rest, learned.split), "ab", strict=True)
    for (error, side), whole in zip(errors, _sides(rest, learned.split), strict=True):
        lost, all_of_it = (
            jackknife.sums(part.square().sum(dim=1).double().cpu().numpy(), within, count)
            for part in (error, whole)
        )
        share = 1 - jackknife.ratio(lost, all_of_it)
        yield "explained", side, share, int(held.sum()), jackknife.AT_MOST_ONE
    uses = jackknife.sums((code > 0).double().cpu().numpy(), within, count)
    relative = relative_norms(decoder, learned.split)
    live = (uses[0] > 0) & np.isfinite(relative)
    in_all: np.ndarray = uses[:, live].sum(axis=1)
    unknown = np.full(count, np.nan)
    yield "dead", "all", np.append(1 - live.mean(), unknown), len(live), jackknife.UNIT
    apart = jackknife.ratio(uses[:, live] @ np.abs(2 * relative[live] - 1), in_all)
    yield "imbalance", "all", apart, int(live.sum()), jackknife.UNIT
    kind_of = kinds(relative)
    for kind in KINDS:
        some = live & (kind_of == kind)
        share = jackknife.ratio(uses[:, some].sum(axis=1), in_all)
        yield "share", kind, share, int(some.sum()), jackknife.UNIT
        often = some & (uses[0] >= TOP)
        for name, alike in alikeness(code.cpu().numpy()[:, often], occurrences[held]).items():
            yield name, kind, np.append(alike, unknown), int(often.sum()), jackknife.UNIT


def alikeness(code: np.ndarray, occurrences: pd.DataFrame) -> dict[str, float]:
    """For each of `NAMES`, the share of its most frequent value among the `TOP` occurrences with
    most of a feature; mean over features, NaN if there are none.

    code: of features that `TOP` or more have, `[n_occurrences, n_features]`.
    """
    top = np.argsort(-code, axis=0, kind="stable")[:TOP].T
    shares = {}
    for name, column in NAMES.items():
        values = occurrences[column].to_numpy()[top]
        most = [np.unique(of, return_counts=True)[1].max() / TOP for of in values]
        shares[name] = float(np.mean(most)) if most else np.nan
    return shares
