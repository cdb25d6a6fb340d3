"""Multi-head attention with one gate per head."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from bottomup.model.short_attention import ShortAttention, serves

# Keys and values, each [batch, heads, length, d_head].
Memory = tuple[Tensor, Tensor]


class Projection(nn.Linear):
    """A linear map of zeros until `transformer.initialize` draws its weights.

    PyTorch's own draw would be overwritten, and it warns if all heads were removed.
    """

    def reset_parameters(self) -> None:
        nn.init.zeros_(self.weight)
        nn.init.zeros_(self.bias)


class Attention(nn.Module):
    """Scaled dot-product attention with `heads` heads of width `d_head`; self- or cross-attention.

    Each head's output is multiplied by its gate before the output projection (Voita et al. ACL
    2019, section 5). Here the gates scale the projection's columns, which gives the same product
    for one pass over its matrix. Open gates (1) change no bit.
    """

    gates: Tensor  # [heads]

    def __init__(self, d_model: int, heads: int, d_head: int, dropout: float):
        super().__init__()
        self.heads, self.d_head = heads, d_head
        self.dropout = dropout
        self.query = Projection(d_model, heads * d_head)
        self.key_value = Projection(d_model, 2 * heads * d_head)
        self.out = Projection(heads * d_head, d_model)
        self.register_buffer("gates", torch.ones(heads))

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        causal: bool = False,
        need_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from `x` to `memory`.

        x: `[batch, queries, d_model]`; memory: `[batch, keys, d_model]`;
        mask: bool, True where a query may attend, broadcastable to
        `[batch, heads, queries, keys]`, or None for everywhere.
        Returns the output `[batch, queries, d_model]` and, if `need_weights`, the attention
        weights `[batch, heads, queries, keys]`, whose rows sum to 1. In training, dropout applies
        to the output but not to the returned weights.
        """
        return self.attend(x, self.keys_and_values(memory), mask, causal, need_weights)

    def attend(
        self,
        x: Tensor,
        memory: Memory,
        mask: Tensor | None = None,
        causal: bool = False,
        need_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """As `forward`, with the memory's `keys_and_values`, which may have been cached."""
        queries, (keys, values) = self.split_heads(self.query(x)), memory
        weights = attention_weights(queries, keys, mask, causal) if need_weights else None
        dropout = self.dropout if self.training else 0.0
        heads = attended(queries, keys, values, mask, causal, dropout).to(queries.dtype)
        heads = heads.transpose(1, 2).flatten(2)
        return functional.linear(heads, self.gated_output(), self.out.bias), weights

    def gated_output(self) -> Tensor:
        """The output projection, its columns times the gates: `[d_model, heads * d_head]`."""
        return self.out.weight * self.gates.repeat_interleave(self.d_head)

    def keys_and_values(self, memory: Tensor) -> Memory:
        """Each head's keys and values of a memory `[batch, keys, d_model]`."""
        keys, values = self.key_value(memory).chunk(2, dim=-1)
        return self.split_heads(keys), self.split_heads(values)

    def split_heads(self, x: Tensor) -> Tensor:
        """`[batch, length, d_model]` to `[batch, heads, length, d_head]`."""
        return x.unflatten(-1, (self.heads, self.d_head)).transpose(1, 2)


def attended(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None,
    causal: bool,
    dropout: float,
) -> Tensor:
    """Each head's output, `[batch, heads, queries, d_head]`, by the faster of two ways.

    Short sentences on a CPU go through `short_attention`, all others through PyTorch's fused
    kernels. On a CPU these kernels are fast only in float32, whatever the format of the matrix
    products. They have no dropout there: with dropout, PyTorch falls back to separate steps. On a
    GPU all kernels have dropout. The flash kernel works without a mask. The memory-efficient kernel
    takes the mask as it is, bool and broadcast, for heads whose width is a multiple of 8 (of 4 in
    float32).
    """
    if not queries.shape[1]:
        return queries  # there is no head, and some builds of PyTorch divide by their number
    with torch.autocast("cpu", enabled=False):
        if queries.device.type == "cpu":
            if not dropout and serves(queries.shape[2], keys.shape[2]):
                return ShortAttention.apply(queries, keys, values, mask, causal)
            precise = torch.promote_types(queries.dtype, torch.float32)
            queries, keys, values = (each.to(precise) for each in (queries, keys, values))
        return functional.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask, is_causal=causal, dropout_p=dropout
        )


def attention_weights(queries: Tensor, keys: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
    """Softmax of scaled dot products, `[batch, heads, queries, keys]`, in float32."""
    with torch.autocast(queries.device.type, enabled=False):
        scores = queries.float() @ keys.float().transpose(-1, -2) / queries.shape[-1] ** 0.5
    if causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(dim=-1)
