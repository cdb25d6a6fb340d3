"""The pre-norm Transformer of both papers.

It follows the authors' code where that departs from Vaswani et al. 2017: layer normalization before
each sub-layer and after each stack, untied embeddings drawn from N(0, 1/d_model) and scaled by
sqrt(d_model), a learned bias on the input, positions as sines followed by cosines, and a decoder
that starts from a zero vector.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import torch
from torch import Tensor, nn

from bottomup.core.seeds import derive
from bottomup.corpus.specials import EOS, PAD
from bottomup.model.attention import Attention, Memory
from bottomup.model.configuration import TransformerConfig
from bottomup.model.dropout import Dropout

Cache = list[Memory]  # one for each decoder layer
Layer = TypeVar("Layer", bound=nn.Module)


@dataclass
class Encoding:
    """What the encoder makes of a batch.

    states: `[batch, length, d_model]`, the top of the residual stream after the final norm.
    hidden_states: the residual stream, `layers + 1` tensors of that shape, or empty. Layer 0 is
        token embedding + position; layer `n` is the output of layer `n`, before the final norm.
    attentions: one `[batch, heads, length, length]` for each layer, or empty.
    """

    states: Tensor
    hidden_states: tuple[Tensor, ...] = ()
    attentions: tuple[Tensor, ...] = ()


class Layers(nn.ModuleList, Generic[Layer]):
    """A ModuleList that tells type checkers which modules it holds."""

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[Layer]: ...


class Embedding(nn.Module):
    """Token embedding, scaled by sqrt(d_model), plus a learned bias."""

    def __init__(self, vocab_size: int, d_model: int):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, ids: Tensor) -> Tensor:
        """ids: `[batch, length]` -> `[batch, length, d_model]`, without positions."""
        return self.tokens(ids) * math.sqrt(self.bias.shape[0]) + self.bias


class FeedForward(nn.Module):
    """Linear, ReLU, dropout, linear."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.inner = nn.Linear(config.d_model, config.d_ff)
        self.outer = nn.Linear(config.d_ff, config.d_model)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(self.dropout(self.inner(x).relu()))


def attention(config: TransformerConfig, kind: str, layer: int) -> Attention:
    """One kind of attention of a layer, counted from 0."""
    return Attention(
        config.d_model,
        config.heads_of(kind, layer),
        config.d_model // config.heads,
        config.attention_dropout,
    )


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward, each `x + dropout(f(norm(x)))`."""

    def __init__(self, config: TransformerConfig, layer: int):
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.d_model)
        self.attention = attention(config, "encoder", layer)
        self.feed_forward_norm = nn.LayerNorm(config.d_model)
        self.feed_forward = FeedForward(config)
        self.dropout = Dropout(config.dropout)

    def forward(
        self, x: Tensor, mask: Tensor | None, causal: bool, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """x: `[batch, length, d_model]`; the mask is `Attention.forward`'s."""
        normed = self.attention_norm(x)
        attended, weights = self.attention(normed, normed, mask, causal, need_weights)
        x = x + self.dropout(attended)
        return x + self.dropout(self.feed_forward(self.feed_forward_norm(x))), weights


class Encoder(nn.Module):
    """Embeddings, positions, a stack of layers and a final norm."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.see(config.causal, config.backward)
        self.pairs = config.pairs
        if config.pairs:
            self.translation = nn.Parameter(torch.zeros(config.d_model))
        self.embedding = Embedding(config.vocab_size, config.d_model)
        self.layers: Layers[EncoderLayer] = Layers(
            EncoderLayer(config, n) for n in range(config.encoder_layers)
        )
        self.norm = nn.LayerNorm(config.d_model)
        self.dropout = Dropout(config.dropout)

    def see(self, causal: bool, backward: bool) -> None:
        """Set which positions each position sees from now on; arguments as in the config."""
        self.causal = causal and not backward  # the kernel masks by itself
        self.backward = backward

    def forward(
        self,
        ids: Tensor,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
        padded: bool | None = None,
    ) -> Encoding:
        """Encode token ids `[batch, length]`, padded with PAD on the right; padded: see `mask`."""
        mask = self.mask(ids, padded)
        x = self.embed(ids)
        hidden_states, attentions = [x], []
        for layer in self.layers:
            x, weights = layer(x, mask, self.causal, output_attentions)
            if output_hidden_states:
                hidden_states.append(x)
            if output_attentions:
                attentions.append(weights)
        return Encoding(
            self.norm(x), tuple(hidden_states) if output_hidden_states else (), tuple(attentions)
        )

    def embed(self, ids: Tensor) -> Tensor:
        """Layer 0: token embedding + position, `[batch, length, d_model]`."""
        embedded = self.embedding(ids)
        places = positions(embedded)
        from_start = torch.arange(ids.shape[1], device=ids.device)
        if self.backward:
            lengths = (ids != PAD).sum(dim=1, keepdim=True)
            places = places[(lengths - 1 - from_start).clamp(min=0)]
        if self.pairs:
            ends = ids == EOS
            translated = ends.cumsum(dim=1) > ends.long()
            first = ends.int().argmax(dim=1, keepdim=True) + 1
            places = places[from_start - first * translated]
            embedded = embedded + translated[..., None] * self.translation
        return self.dropout(embedded + places)

    def mask(self, ids: Tensor, padded: bool | None = None) -> Tensor | None:
        """Which keys may be attended to, `[batch, 1, 1, length]`, or None for all of them.

        For an encoder that reads backward, `[batch, 1, length, length]`. There padding sees itself,
        since a softmax needs a key.

        Causal attention needs no mask for padding, since padding is always to the right. `padded`:
        as in `padding_mask`.
        """
        if self.backward:
            itself = torch.eye(ids.shape[1], dtype=torch.bool, device=ids.device)
            return (ids != PAD)[:, None, None, :] & torch.ones_like(itself).triu() | itself
        return None if self.causal else padding_mask(ids, padded)


class DecoderLayer(nn.Module):
    """Causal self-attention, attention to the encoder, feed-forward."""

    def __init__(self, config: TransformerConfig, layer: int):
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.d_model)
        self.attention = attention(config, "decoder", layer)
        self.cross_norm = nn.LayerNorm(config.d_model)
        self.cross = attention(config, "cross", layer)
        self.feed_forward_norm = nn.LayerNorm(config.d_model)
        self.feed_forward = FeedForward(config)
        self.dropout = Dropout(config.dropout)

    def forward(
        self,
        x: Tensor,
        memory: Memory,
        memory_mask: Tensor | None,
        past: Memory | None = None,
    ) -> tuple[Tensor, Memory]:
        """x: `[batch, length, d_model]`; memory: this layer's keys and values of the encoder's
        states.

        With `past` (keys and values of earlier positions), `x` is the next position only. It may
        then have several rows for each row of the memory, one after another. Returns the output and
        the keys and values so far.
        """
        normed = self.attention_norm(x)
        own = self.attention.keys_and_values(normed)
        if past is not None:
            (past_keys, past_values), (keys, values) = past, own
            own = torch.cat([past_keys, keys], dim=2), torch.cat([past_values, values], dim=2)
        attended, _ = self.attention.attend(normed, own, causal=past is None)
        x = x + self.dropout(attended)
        # Rows with the same memory become queries of one attention, so memory is not repeated.
        queries = self.cross_norm(x).reshape(len(memory[0]), -1, x.shape[2])
        attended, _ = self.cross.attend(queries, memory, memory_mask)
        x = x + self.dropout(attended.reshape(x.shape))
        return x + self.dropout(self.feed_forward(self.feed_forward_norm(x))), own


class Decoder(nn.Module):
    """Predicts each target token from those before it and from the encoder's states."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.embedding = Embedding(config.target_vocab_size, config.d_model)
        self.layers: Layers[DecoderLayer] = Layers(
            DecoderLayer(config, n) for n in range(config.decoder_layers)
        )
        self.norm = nn.LayerNorm(config.d_model)
        self.dropout = Dropout(config.dropout)

    def forward(self, previous: Tensor, states: Tensor, mask: Tensor | None) -> Tensor:
        """States that predict `previous.shape[1] + 1` tokens, `[batch, length + 1, d_model]`.

        previous: target ids `[batch, length]`; states, mask: the encoder's.
        """
        x = self.embed(previous)
        for layer, memory in zip(self.layers, self.project_memory(states), strict=True):
            x, _ = layer(x, memory, mask)
        return self.norm(x)

    def embed(self, previous: Tensor) -> Tensor:
        """The first layer's input, a zero vector first: `[batch, length + 1, d_model]`."""
        embedded = nn.functional.pad(self.embedding(previous), (0, 0, 1, 0))
        return self.dropout(embedded + positions(embedded))

    def project_memory(self, states: Tensor) -> Cache:
        """Each layer's keys and values of the encoder's states."""
        return [layer.cross.keys_and_values(states) for layer in self.layers]

    def step(
        self, last: Tensor | None, memory: Cache, mask: Tensor | None, past: Cache | None
    ) -> tuple[Tensor, Cache]:
        """One more position: the state that predicts the next token, `[batch, d_model]`.

        last: the newest token of each hypothesis `[batch]`, None at the start; memory: from
        `project_memory`, a row for each hypothesis, or for each group of them that follow each
        other; past: the cache that the previous step returned.
        """
        pasts: Sequence[Memory | None]
        if last is None:
            batch, d_model = len(memory[0][0]), self.norm.weight.shape[0]
            x = self.norm.weight.new_zeros(batch, 1, d_model)
            start, pasts = 0, [None] * len(self.layers)
        else:
            assert past is not None  # the step before has returned it
            x, start, pasts = self.embedding(last[:, None]), past[0][0].shape[2], past
        x = x + positions(x, start)
        cache = []
        for layer, layer_memory, layer_past in zip(self.layers, memory, pasts, strict=True):
            x, own = layer(x, layer_memory, mask, layer_past)
            cache.append(own)
        return self.norm(x[:, 0]), cache


class Transformer(nn.Module):
    """Encoder, an optional decoder, and an untied output layer over the predicted vocabulary.

    `seed` draws the initial weights. Each parameter has its own random stream, named after it. So
    parameters that two models of one seed have in common are equal to the byte, whatever else the
    models contain.
    """

    def __init__(self, config: TransformerConfig, seed: int = 0):
        super().__init__()
        self.config = config
        self.encoder = Encoder(config)
        if config.decoder_layers:
            self.decoder = Decoder(config)
        self.head = nn.Linear(config.d_model, config.target_vocab_size, bias=False)
        initialize(self, seed)

    def attentions(self) -> dict[str, list[Attention]]:
        """The attention of each layer, from the bottom up, by kind: "encoder", "decoder", "cross".

        Without a decoder, only the encoder's.
        """
        kinds = {"encoder": [layer.attention for layer in self.encoder.layers]}
        if self.config.decoder_layers:
            kinds["decoder"] = [layer.attention for layer in self.decoder.layers]
            kinds["cross"] = [layer.cross for layer in self.decoder.layers]
        return kinds

    def forward(
        self, source: Tensor, target: Tensor | None = None, padded: bool | None = None
    ) -> Tensor:
        """States from which `head` predicts, `[batch, length, d_model]`.

        Without a decoder: one for each source position. With a decoder: one for each position of
        `target` `[batch, length]`, which the decoder reads shifted to the right. `padded`: as in
        `padding_mask`, for the source.
        """
        states = self.encoder(source, padded=padded).states
        if target is None:
            return states
        return self.decoder(target[:, :-1], states, padding_mask(source, padded))


def initialize(model: Transformer, seed: int) -> None:
    """Draw all weights: Glorot uniform matrices, N(0, 1/d_model) embeddings, zero biases."""
    for name, parameter in model.named_parameters():
        draw(name, parameter, seed)


@torch.no_grad()
def draw(name: str, parameter: nn.Parameter, seed: int) -> None:
    """Draw the weights of one name, see `initialize`."""
    stream = torch.Generator().manual_seed(derive(seed, "initial", name))
    if name.endswith("tokens.weight"):
        parameter.normal_(0.0, parameter.shape[1] ** -0.5, generator=stream)
    elif parameter.dim() == 2:
        for block in glorot_blocks(name, parameter):
            nn.init.xavier_uniform_(block, generator=stream)
    elif name.endswith("norm.weight"):
        parameter.fill_(1.0)
    else:
        parameter.zero_()


def glorot_blocks(name: str, parameter: Tensor) -> tuple[Tensor, ...]:
    """Keys and values share a matrix but are two projections, each with its own fan-out."""
    return parameter.chunk(2) if name.endswith("key_value.weight") else (parameter,)


def positions(embedded: Tensor, start: int = 0) -> Tensor:
    """Sinusoidal positions `[length, d_model]` for `embedded` `[batch, length, d_model]`.

    Sines in the first half of the dimensions, cosines in the second, wavelengths from 2 pi to
    10,000 x 2 pi.
    """
    length, d_model = embedded.shape[1:]
    steps = torch.arange(start, start + length, device=embedded.device, dtype=torch.float32)
    exponents = torch.arange(d_model // 2, device=embedded.device) / max(d_model // 2 - 1, 1)
    angles = steps[:, None] * torch.pow(1e4, -exponents)
    return torch.cat([angles.sin(), angles.cos()], dim=-1).to(embedded.dtype)


def padding_mask(ids: Tensor, padded: bool | None = None) -> Tensor | None:
    """True at tokens, `[batch, 1, 1, length]`; None if nothing is padded.

    padded: whether anything is padded, if known; finding out would wait for the device.
    """
    tokens = ids != PAD
    padded = not bool(tokens.all()) if padded is None else padded
    return tokens[:, None, None, :] if padded else None
