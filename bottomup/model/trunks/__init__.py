"""Trunks other than the Transformer, for the same objectives: one file each, which a config names.

A trunk is a class `Layer(width, one_way)`. `forward` takes representations `[batch, length, width]`
and which ids are tokens, bool `[batch, length]`, and returns the layer's output, of the same shape;
`one_way`: it reads only from the left. `GATES` is how many maps share each of its matrices.
`ADDS_FROM` is the first layer, counted from 1, that adds its output to its input.
"""

import importlib
from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar

import torch
from torch import Tensor, nn

from bottomup.core.seeds import derive
from bottomup.corpus.specials import PAD
from bottomup.model.dropout import Dropout
from bottomup.model.transformer import Embedding, Layers


@dataclass(frozen=True)
class TrunkConfig:
    """Shape of one model.

    `trunk` is a module of this package. `target_vocab_size`: how many tokens, or classes of them,
    it predicts. `causal`: each position sees itself and earlier positions. `both_ways`: half of its
    `d_model` dimensions see itself and earlier positions, the other half itself and later ones.
    """

    model_type: ClassVar[str] = "bottomup_trunk"

    trunk: str = "lstm"
    vocab_size: int = 4
    target_vocab_size: int = 4
    layers: int = 6
    d_model: int = 128
    dropout: float = 0.1
    causal: bool = False
    both_ways: bool = False

    @property
    def directions(self) -> int:
        """The number of stacks of layers, which do not see each other."""
        return 2 if self.both_ways else 1


class Encoder(nn.Module):
    """Token embedding, and a stack of layers for each direction.

    Both directions share the embedding (Peters et al. 2018, section 3.1).
    """

    def __init__(self, config: TrunkConfig):
        super().__init__()
        width = config.d_model // config.directions
        one_way, kind = config.causal or config.both_ways, module(config.trunk)
        self.adds_from = kind.ADDS_FROM
        self.embedding = Embedding(config.vocab_size, width)
        self.stacks: Layers[nn.ModuleList] = Layers(
            nn.ModuleList(kind.Layer(width, one_way) for _ in range(config.layers))
            for _ in range(config.directions)
        )
        self.dropout = Dropout(config.dropout)

    def forward(self, ids: Tensor) -> tuple[Tensor, ...]:
        """The layers for token ids `[batch, length]`, padded with PAD on the right.

        Layer 0 is the token embedding, layer n the sum after layer n, each `[batch, length,
        d_model]`: the directions side by side, from the left first.
        """
        tokens = ids != PAD
        embedded = self.dropout(self.embedding(ids))
        from_left, *others = self.stacks
        ways = [self.read(from_left, embedded, tokens)]
        for stack in others:
            from_right = self.read(stack, backwards(embedded, tokens), tokens)
            ways.append([backwards(states, tokens) for states in from_right])
        return tuple(torch.cat(states, dim=-1) for states in zip(*ways, strict=True))

    def read(self, stack: nn.ModuleList, embedded: Tensor, tokens: Tensor) -> list[Tensor]:
        """The embeddings and the sum after each layer, `[batch, length, width]`."""
        states = [embedded]
        for number, layer in enumerate(stack, start=1):
            # The sum stays in float32, whatever the format of the matrix products.
            output = self.dropout(layer(states[-1], tokens)).to(embedded.dtype)
            states.append(states[-1] + output if number >= self.adds_from else output)
        return states


class TrunkModel(nn.Module):
    """Encoder, norm, and an untied output layer that both directions share.

    `seed` draws the initial weights, each parameter from its own stream, as in the Transformer;
    embeddings and output layers of equal shape are the same in both.
    """

    def __init__(self, config: TrunkConfig, seed: int = 0):
        super().__init__()
        self.config = config
        width = config.d_model // config.directions
        self.encoder = Encoder(config)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, config.target_vocab_size, bias=False)
        initialize(self, seed)

    def forward(self, source: Tensor, target: None = None, padded: bool | None = None) -> Tensor:
        """States from which `head` predicts, one for each position of `source` `[batch, length]`.

        `[batch, length, d_model]`; for two directions `[batch, 2 * length, d_model / 2]`, those
        from the left first. `padded` makes no difference.
        """
        states = self.encoder(source)[-1]
        return self.norm(torch.cat(states.chunk(self.config.directions, dim=-1), dim=1))


def module(trunk: str) -> ModuleType:
    """The module of a trunk, by its name in a config."""
    return importlib.import_module(f"{__name__}.{trunk}")


def backwards(x: Tensor, tokens: Tensor) -> Tensor:
    """Each sentence reversed, with padding where it was; applied twice, it changes nothing.

    x: `[batch, length, width]`; tokens: bool `[batch, length]`.
    """
    positions = torch.arange(tokens.shape[1], device=tokens.device)
    last = tokens.sum(dim=1, keepdim=True) - 1
    order = torch.where(tokens, last - positions, positions)
    return x.gather(1, order[..., None].expand_as(x))


@torch.no_grad()
def initialize(model: TrunkModel, seed: int) -> None:
    """Draw the weights: Glorot uniform maps, N(0, 1/width) embeddings; biases stay as they are."""
    gates = module(model.config.trunk).GATES
    for name, parameter in model.named_parameters():
        stream = torch.Generator().manual_seed(derive(seed, "initial", name))
        if name.endswith("tokens.weight"):
            parameter.normal_(0.0, parameter.shape[1] ** -0.5, generator=stream)
        elif parameter.dim() > 1:
            for block in parameter.chunk(gates if name.startswith("encoder.") else 1):
                nn.init.xavier_uniform_(block, generator=stream)
