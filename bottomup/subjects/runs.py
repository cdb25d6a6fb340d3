"""Our own models as subjects, opened without transformers."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from bottomup.core.files.tokenizers import load_tokenizer
from bottomup.corpus.specials import EOS, MASK, PAD
from bottomup.model import folder as folders
from bottomup.model.transformer import EncoderLayer, Encoding, Layers, Transformer
from bottomup.model.trunks import TrunkModel
from bottomup.subjects.folder import require_weights
from bottomup.subjects.subject import Subject, from_others, projected_norms


class OfOurs(Subject):
    """What all our models have in common."""

    model: Transformer | TrunkModel
    tokenizer: Tokenizer
    predicts_tokens = False  # transformers does not know its layers
    max_length = None  # it has no positions, or computes them for any length
    mask, padding, pads_alone = MASK, PAD, True

    @property
    def d_model(self) -> int:
        return self.model.config.d_model

    @property
    def causal(self) -> bool:
        return self.model.config.causal

    @property
    def vocab_size(self) -> int:
        return self.model.config.vocab_size

    @property
    def special(self) -> list[int]:
        return [PAD, EOS]

    @property
    def encoder(self) -> nn.Module:
        return self.model.encoder

    def save_model(self, folder: Path) -> None:
        folders.save(self.model, folder)

    def save_tokenizer(self, folder: Path) -> None:
        folders.save_tokenizer(self.tokenizer, folder)


class Run(OfOurs):
    """One of our Transformers: its encoder, which can also be run layer by layer.

    Layer 0 is token embedding + position, layer n the residual stream after layer n, before the
    final norm.
    """

    model: Transformer
    hides = True  # tokens see others by attention alone

    @property
    def layers(self) -> int:
        return self.model.config.encoder_layers

    @property
    def heads(self) -> int:
        """Heads in a layer, open or closed; 0 if some were removed and layers differ, of the
        decoder too."""
        return self._of_layers[0] if len({*self._of_layers}) == 1 else 0

    @property
    def _of_layers(self) -> list[int]:
        config = self.model.config
        return [*chain(*(config.kept_heads or {"encoder": [config.heads]}).values())]

    def _why_no_heads(self) -> str:
        of_layers = ", ".join(map(str, self._of_layers))
        return (
            f": heads were removed from it, and its layers have {of_layers}; look at the model "
            "that still has them"
        )

    @property
    def masks(self) -> bool:
        """Whether it sees both sides and has no decoder, like models trained with masks.

        Its folder does not say more. So the untrained control counts, and MLM under LM's attention
        mask does not.
        """
        return not self.causal and not self.translates

    @property
    def backward(self) -> bool:
        return self.model.config.backward

    @property
    def translates(self) -> bool:
        return self.model.config.decoder_layers > 0

    @property
    def open_heads(self) -> list[Tensor]:
        """The heads whose gate is open."""
        return [layer.attention.gates.nonzero()[:, 0] for layer in self.model.encoder.layers]

    def _read(
        self,
        ids: Tensor,
        tokens: Tensor,
        gates: Tensor | None,
        hidden: Tensor | None,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
    ) -> Encoding:
        with _gated(self.model.encoder.layers, gates):
            if hidden is None:
                return self.model.encoder(ids, output_hidden_states, output_attentions)
            return self._read_by_layer(ids, hidden)

    def _read_by_layer(self, ids: Tensor, hidden: Tensor) -> Encoding:
        """Read with tokens hidden, bool `[layers, batch, length]`."""
        encoder, visible = self.model.encoder, self._visible(ids)
        x = encoder.embed(ids)
        # Padding may see itself, or it would see nothing.
        itself = torch.eye(ids.shape[1], dtype=torch.bool, device=ids.device)
        hidden_states, attentions = [x], []
        for layer, tokens in zip(encoder.layers, hidden, strict=True):
            mask = visible & ~from_others(tokens) | itself
            x, weights = layer(x, mask, causal=False, need_weights=True)
            hidden_states.append(x)
            attentions.append(weights)
        return Encoding(encoder.norm(x), tuple(hidden_states), tuple(attentions))

    @torch.inference_mode()
    def embeddings(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        ids = ids.to(self.device)
        return self.model.encoder.embed(self.filled(ids, self.tokens(ids, lengths)))

    @torch.inference_mode()
    def after(
        self,
        layer: int,
        below: Tensor,
        ids: Tensor,
        hidden: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> Tensor:
        ids = ids.to(self.device)
        mask = self._visible(self.filled(ids, self.tokens(ids, lengths)))
        if hidden is not None:
            mask = mask & ~from_others(hidden)
        return self.model.encoder.layers[layer - 1](below, mask, causal=False)[0]

    @torch.inference_mode()
    def value_norms(self, ids: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, ...]:
        below = self.hidden_states(ids, lengths=lengths)[:-1]
        norms = []
        for layer, x in zip(self.model.encoder.layers, below, strict=True):
            _, values = layer.attention.keys_and_values(layer.attention_norm(x))
            norms.append(projected_norms(values, layer.attention.gated_output()))
        return tuple(norms)

    def _visible(self, ids: Tensor) -> Tensor:
        """Which tokens each token attends to, bool `[batch, 1, queries, keys]`."""
        mask = (ids != PAD)[:, None, None, :].expand(-1, -1, ids.shape[1], -1)
        return self.seen(mask)


class OtherTrunk(OfOurs):
    """One of our models that is not a Transformer and has no heads.

    Layer 0 is the token embedding, layer n the sum after layer n. If two directions do not see each
    other, their states are concatenated, left to right first.
    """

    model: TrunkModel
    heads, translates = 0, False

    @property
    def layers(self) -> int:
        return self.model.config.layers

    @property
    def masks(self) -> bool:
        """Whether each position sees both sides; as for a `Run`, the untrained control counts."""
        return not self.causal and not self.model.config.both_ways

    def _read(
        self,
        ids: Tensor,
        tokens: Tensor,
        gates: Tensor | None,
        hidden: Tensor | None,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
    ) -> Encoding:
        layers = self.model.encoder(ids)
        return Encoding(layers[-1], layers)


KINDS = {Transformer: Run, TrunkModel: OtherTrunk}


def load(folder: Path) -> OfOurs:
    """The model in a folder; UserError if a file is missing or damaged."""
    require_weights(folder)
    return _subject(folders.load(folder), folder)


def untrained(folder: Path, seed: int) -> OfOurs:
    """The untrained twin of the model in a folder."""
    return _subject(folders.initial(folder, seed), folder)


def _subject(model: Transformer | TrunkModel, folder: Path) -> OfOurs:
    return KINDS[type(model)](model, load_tokenizer(folder / folders.TOKENIZER))


@contextmanager
def _gated(layers: Layers[EncoderLayer], gates: Tensor | None) -> Iterator[None]:
    """A context in which the layers' own gates are multiplied by `gates` `[layers, heads]`."""
    usual = [layer.attention.gates for layer in layers]
    if gates is not None:
        for layer, row in zip(layers, gates, strict=True):
            layer.attention.gates = layer.attention.gates * row
    try:
        yield
    finally:
        for layer, row in zip(layers, usual, strict=True):
            layer.attention.gates = row
