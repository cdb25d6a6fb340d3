"""Cross-entropy of the predicted tokens, with label smoothing as in the papers' code."""

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bottomup.corpus.specials import PAD
from bottomup.model.transformer import Transformer
from bottomup.objectives import IGNORE, Example

if TYPE_CHECKING:
    from bottomup.model.trunks import TrunkModel

# Logits to hold at once: on a CPU as many as fit its cache, on a GPU so many that neither the calls
# nor the passes over the weight's gradient matter.
CHUNK, GPU_CHUNK = 2**20, 2**26


def summed_loss(
    model: "Transformer | TrunkModel", example: Example, smoothing: float
) -> tuple[Tensor, int]:
    """Loss in nats summed over the predicted tokens, and their number.

    The true token should get probability 1 - smoothing, and each of the other V - 1 an equal share
    of the rest. The entropy of that distribution is subtracted, so that 0 is the optimum. The
    output layer runs only at predicted positions. The CPU knows these positions, and whether
    anything is padded, so nothing waits for the device.
    """
    device = model.head.weight.device
    where = np.flatnonzero(example.labels != IGNORE)
    source, labels, rows = (
        moved(array, device) for array in (example.source, example.labels.ravel()[where], where)
    )
    target = None if example.target is None else moved(example.target, device)
    states = model(source, target, padded=bool((example.source == PAD).any()))
    loss = LinearCrossEntropy.apply(
        states.flatten(0, 1).index_select(0, rows),
        model.head.weight,
        labels,
        smoothing,
        torch.is_grad_enabled(),
    )
    return loss - len(rows) * smoothing_entropy(smoothing, len(model.head.weight)), len(rows)


def moved(array: np.ndarray, device: torch.device) -> Tensor:
    """The array on a device; a GPU fetches it by itself after its earlier work."""
    tensor = torch.from_numpy(array)
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


class LinearCrossEntropy(torch.autograd.Function):
    """Output layer and summed cross-entropy in one, for a chunk of positions at a time.

    The gradient is formed while the logits of a chunk are in memory. So the `[n_predicted, vocab]`
    logits, by far the largest array of a training step, are never held as a whole.
    """

    @staticmethod
    def forward(
        ctx, states: Tensor, weight: Tensor, labels: Tensor, smoothing: float, needs_gradient: bool
    ) -> Tensor:
        """states `[n, d_model]`, weight `[vocab, d_model]`, labels `[n]` -> a scalar in nats.

        needs_gradient: whether `backward` will be called, which is not known here.
        """
        vocab_size = len(weight)
        other = smoothing / (vocab_size - 1)
        low, low_weight = states.to(product_dtype(states)), weight.to(product_dtype(states))
        loss = weight.new_zeros(())
        states_gradient, weight_gradient = torch.empty_like(low), torch.zeros_like(weight)
        at_once = CHUNK if weight.device.type == "cpu" else GPU_CHUNK
        chunk = max(1, min(at_once // vocab_size, len(low)))
        # Both hold one chunk and are overwritten: fresh memory costs more than the arithmetic.
        low_products, products = (
            low.new_empty(chunk, vocab_size),
            weight.new_empty(chunk, vocab_size),
        )
        for start in range(0, len(low), chunk):
            rows = slice(start, min(start + chunk, len(low)))
            true = labels[rows, None]
            low_logits = torch.mm(low[rows], low_weight.T, out=low_products[: len(true)])
            logits = products[: len(true)].copy_(low_logits)
            logits -= logits.amax(dim=1, keepdim=True)
            loss -= (1 - smoothing - other) * logits.gather(1, true).sum()
            if smoothing:
                loss -= other * logits.sum()
            sums = logits.exp_().sum(dim=1, keepdim=True)
            loss += sums.log().sum()
            if needs_gradient:
                gradient = logits.div_(sums).sub_(other)
                gradient.scatter_add_(1, true, torch.full_like(sums, smoothing + other - 1))
                low_gradient = low_logits.copy_(gradient)
                torch.mm(low_gradient, low_weight, out=states_gradient[rows])
                weight_gradient += low_gradient.T @ low[rows]
        if needs_gradient:
            ctx.save_for_backward(states_gradient.to(states.dtype), weight_gradient)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx, upstream: Tensor):
        states_gradient, weight_gradient = ctx.saved_tensors
        return upstream * states_gradient, upstream * weight_gradient, None, None, None


def product_dtype(x: Tensor) -> torch.dtype:
    """The number format in which autocast multiplies matrices on the device of `x`."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype


def smoothing_entropy(smoothing: float, vocab_size: int) -> float:
    """Entropy in nats of the smoothed distribution of one token."""
    if smoothing == 0:
        return 0.0
    share = smoothing / (vocab_size - 1)
    return -(1 - smoothing) * math.log(1 - smoothing) - smoothing * math.log(share)
