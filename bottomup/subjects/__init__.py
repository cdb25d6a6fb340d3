"""What is looked at: a trained run or any Hugging Face checkpoint, behind one small interface.

What comes after knows subjects by what they can do, never by what they are called.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import torch
import transformers
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers import PreTrainedTokenizerFast as TokenizerOfARun

from bottomup.corpus.specials import EOS, PAD
from bottomup.errors import UserError
from bottomup.model.configuration import TransformerConfig
from bottomup.model.transformer import EncoderLayer, Encoding, Transformer
from bottomup.model.trunks import TrunkConfig, TrunkModel
from bottomup.subjects import checkpoint
from bottomup.subjects.attending import from_others, one_pass


class Subject:
    """A model that is looked at: its layers, its attention, its tokens; the encoder of a model
    that has one.

    Layers are as transformers counts and returns them, `layers + 1` with layer 0:

    BERT, RoBERTa, ELECTRA, DistilBERT, BART: layer 0 is the norm of token + position embedding (of
    ELECTRA where embeddings are narrower, these projected to `d_model`); norms are inside layers.
    Marian: token embedding + position, without norm.
    GPT-2: token + position embedding. GPT-NeoX, Llama, T5: token embedding alone, since positions
    come with attention. What these four return as the top layer has gone through the final norm,
    which a `Run` leaves out.

    `model` is the whole model, with its decoder where it has one; `encoder` is what is looked at.
    """

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase):
        self.model = model.eval()
        self.tokenizer = tokenizer

    @property
    def layers(self) -> int:
        """Layers above the embeddings; representations are counted 0 to `layers`."""
        return self.model.config.num_hidden_layers

    @property
    def d_model(self) -> int:
        """Width of a representation."""
        return self.model.config.hidden_size

    @cached_property
    def heads(self) -> int:
        """Heads in a layer; 0 where none can be looked at: a model without attention, or one whose
        attention is not called as transformers' interface has it."""
        with one_pass(keep=True) as seen:
            self._states([0])
        return seen.weights[0].shape[1] if len(seen.weights) == self.layers else 0

    @cached_property
    def causal(self) -> bool:
        """Whether what comes later changes nothing: no position sees those after it."""
        with one_pass():  # whatever pass asks for this, these layers are none of its own
            one, other = self._states([0, 1]), self._states([0, 2])
        return torch.equal(one[0], other[0])

    @cached_property
    def masks(self) -> bool:
        """Whether it was trained to predict masked tokens: its tokenizer has a mask, it sees both
        sides, and what was trained predicts tokens. ELECTRA tells replaced ones, and a model of
        sentences none."""
        return self.tokenizer.mask_token_id is not None and not self.causal and self.predicts_tokens

    @cached_property
    def predicts_tokens(self) -> bool:
        """Whether what was trained, by the names in its config, predicts tokens."""
        return any(map(self._has_output, self.model.config.architectures or []))

    @property
    def translates(self) -> bool:
        """Whether a decoder writes another text from what is read."""
        return self.model.config.is_encoder_decoder

    @property
    def max_length(self) -> int | None:
        """Tokens that it can read at once, special ones included; None for any number."""
        for name, table in self.encoder.named_modules():
            counted_from_padding = isinstance(table, nn.Embedding) and table.padding_idx is not None
            if name.endswith("position_embeddings") and counted_from_padding:
                # RoBERTa's first position is the one after the padding's.
                return table.num_embeddings - table.padding_idx - 1
        return getattr(self.model.config, "max_position_embeddings", None)

    @property
    def padding(self) -> int:
        """The token that fills up shorter sentences, on the right."""
        pad = self.tokenizer.pad_token_id
        return 0 if pad is None else pad

    @property
    def special(self) -> list[int]:
        """The tokens that stand around a text and are none of it, padding among them.

        Where the tokenizer names no padding, `padding` is a word like others, and no special one.
        """
        names = ("pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id")
        return sorted({getattr(self.tokenizer, name) for name in names} - {None})

    @property
    def open_heads(self) -> list[Tensor]:
        """The heads of each layer that can say anything, by number from 0."""
        return [torch.arange(self.heads)] * self.layers

    @property
    def encoder(self) -> nn.Module:
        """What is looked at: the model, or its encoder."""
        return self.model.get_encoder() if self.translates else self.model

    @torch.inference_mode()
    def hidden_states(
        self, ids: Tensor, gates: Tensor | None = None, hidden: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        """The residual stream after each layer for padded ids `[batch, length]`.

        gates: what each head's output is multiplied by, `[layers, heads]`; hidden: tokens that no
        position but their own sees, bool `[batch, length]` for all layers or `[layers, batch,
        length]`. Returns `layers + 1` tensors `[batch, length, d_model]`.
        """
        return self._checked(ids, gates, hidden, output_hidden_states=True).hidden_states

    @torch.inference_mode()
    def attentions(
        self, ids: Tensor, gates: Tensor | None = None, hidden: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        """Attention weights of each layer, `[batch, heads, queries, keys]`, rows summing to 1.

        Arguments are those of `hidden_states`.
        """
        if not self.heads:
            raise UserError(f"{self._name} has no attention that can be looked at")
        return self._checked(ids, gates, hidden, output_attentions=True).attentions

    def tokens(self, ids: Tensor) -> Tensor:
        """Which ids are no padding, bool `[batch, length]`."""
        # What cannot see padding needs no mask for it, and may use one token for it and for ends.
        return torch.ones_like(ids, dtype=torch.bool) if self.causal else ids != self.padding

    def embeddings(self, ids: Tensor) -> Tensor:
        """Layer 0 alone, of padded ids `[batch, length]`: `[batch, length, d_model]`."""
        return self.hidden_states(ids)[0]

    def after(self, layer: int, below: Tensor, ids: Tensor, hidden: Tensor | None = None) -> Tensor:
        """The residual stream after `layer`, counted from 1, `[batch, length, d_model]`.

        ids: padded, `[batch, length]`; below: the stream before this layer, from which a `Run`
        goes on, where others read from the start; hidden: tokens that no position but their own
        sees in this layer, all layers below being as usual, bool `[batch, length]`.
        """
        if hidden is not None:
            of_layers = hidden.new_zeros(self.layers, *hidden.shape)
            of_layers[layer - 1] = hidden
            hidden = of_layers
        return self.hidden_states(ids, hidden=hidden)[layer]

    def _checked(
        self, ids: Tensor, gates: Tensor | None, hidden: Tensor | None, **wanted: bool
    ) -> Encoding:
        length, most = ids.shape[1], self.max_length
        if most is not None and length > most:
            raise UserError(
                f"{length} tokens in a sentence, {self._name} reads at most {most}; cut it"
            )
        changed = gates is not None or hidden is not None
        if changed and not self.heads:
            raise UserError(f"{self._name} has no attention that can be changed")
        if gates is not None and gates.shape != (self.layers, self.heads):
            raise UserError(
                f"gates {tuple(gates.shape)} for {self.layers} layers of {self.heads} heads"
            )
        if hidden is not None:
            hidden = hidden.expand(self.layers, *ids.shape)
        return self._read(ids, gates, hidden, **wanted)

    def _read(
        self,
        ids: Tensor,
        gates: Tensor | None,
        hidden: Tensor | None,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
    ) -> Encoding:
        """hidden: `[layers, batch, length]`."""
        tokens = self.tokens(ids).long()
        with one_pass(gates, hidden, keep=output_attentions) as seen:
            output = self.encoder(
                ids, attention_mask=tokens, output_hidden_states=output_hidden_states
            )
        states = output.hidden_states if output_hidden_states else ()
        return Encoding(output.last_hidden_state, states, tuple(seen.weights))

    @torch.inference_mode()
    def _states(self, ids: Sequence[int]) -> Tensor:
        """The top layer for some ids, none of which is padding, `[length, d_model]`."""
        ids = torch.tensor([ids], device=self.model.device)
        return self.encoder(ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0]

    def _has_output(self, architecture: str) -> bool:
        kind = getattr(transformers, architecture, None)
        if kind is None:
            return False
        with torch.device("meta"):
            return kind(self.model.config).get_output_embeddings() is not None

    @property
    def _name(self) -> str:
        return self.model.config.model_type


class Run(Subject):
    """A model of ours: its encoder, which can also be run layer by layer.

    Layer 0 is token embedding + position, layer n the residual stream after layer n, before the
    final norm.
    """

    model: Transformer

    @property
    def layers(self) -> int:
        return self.model.config.encoder_layers

    @property
    def d_model(self) -> int:
        return self.model.config.d_model

    @property
    def heads(self) -> int:
        """Heads in a layer, before any were removed."""
        return self.model.config.heads

    @property
    def causal(self) -> bool:
        return self.model.config.causal

    @property
    def masks(self) -> bool:
        """Whether it sees both sides and has no decoder, as what is trained with masks does.

        That the untrained control counts, and MLM under the mask of LM does not, its folder cannot
        tell.
        """
        return not self.causal and not self.translates

    @property
    def translates(self) -> bool:
        return self.model.config.decoder_layers > 0

    @property
    def max_length(self) -> None:
        """None: its positions are computed for any number of tokens."""

    @property
    def padding(self) -> int:
        return PAD

    @property
    def special(self) -> list[int]:
        return [PAD, EOS]

    @property
    def open_heads(self) -> list[Tensor]:
        """Those whose gate is open."""
        return [layer.attention.gates.nonzero()[:, 0] for layer in self.encoder.layers]

    @property
    def encoder(self) -> nn.Module:
        return self.model.encoder

    def _read(
        self, ids: Tensor, gates: Tensor | None, hidden: Tensor | None, **wanted: bool
    ) -> Encoding:
        with _gated(self.encoder.layers, gates):
            if hidden is None:
                return self.encoder(ids, **wanted)
            return self._read_by_layer(ids, hidden)

    def _read_by_layer(self, ids: Tensor, hidden: Tensor) -> Encoding:
        """hidden: `[layers, batch, length]`."""
        visible, x = self._visible(ids), self.embeddings(ids)
        # Padding may see itself, lest it see nothing.
        itself = torch.eye(ids.shape[1], dtype=torch.bool, device=ids.device)
        hidden_states, attentions = [x], []
        for layer, tokens in zip(self.encoder.layers, hidden, strict=True):
            mask = visible & ~from_others(tokens) | itself
            x, weights = layer(x, mask, causal=False, need_weights=True)
            hidden_states.append(x)
            attentions.append(weights)
        return Encoding(self.encoder.norm(x), tuple(hidden_states), tuple(attentions))

    @torch.inference_mode()
    def embeddings(self, ids: Tensor) -> Tensor:
        return self.model.encoder.embed(ids)

    @torch.inference_mode()
    def after(self, layer: int, below: Tensor, ids: Tensor, hidden: Tensor | None = None) -> Tensor:
        mask = self._visible(ids)
        if hidden is not None:
            mask = mask & ~from_others(hidden)
        return self.model.encoder.layers[layer - 1](below, mask, causal=False)[0]

    def _visible(self, ids: Tensor) -> Tensor:
        """Which tokens each token attends to, bool `[batch, 1, queries, keys]`."""
        mask = (ids != PAD)[:, None, None, :].expand(-1, -1, ids.shape[1], -1)
        return mask.tril() if self.model.config.causal else mask


class OtherTrunk(Subject):
    """A model of ours that is no Transformer, and has no heads.

    Layer 0 is the token embedding, layer n what layer n adds up to; where two directions do not see
    each other, that of both side by side, the one from the left first.
    """

    model: TrunkModel

    @property
    def causal(self) -> bool:
        return self.model.config.causal

    @property
    def masks(self) -> bool:
        """Whether each position sees both sides; the untrained control counts, as of a `Run`."""
        return not self.causal and not self.model.config.both_ways

    @property
    def encoder(self) -> nn.Module:
        return self.model.encoder


OURS = {
    TransformerConfig.model_type: (Transformer, Run),
    TrunkConfig.model_type: (TrunkModel, OtherTrunk),
}


@contextmanager
def _gated(layers: Sequence[EncoderLayer], gates: Tensor | None) -> Iterator[None]:
    """Within it, the layers' own gates are multiplied by `gates` `[layers, heads]`."""
    usual = [layer.attention.gates for layer in layers]
    if gates is not None:
        for layer, row in zip(layers, gates, strict=True):
            layer.attention.gates = layer.attention.gates * row
    try:
        yield
    finally:
        for layer, row in zip(layers, usual, strict=True):
            layer.attention.gates = row


def load(folder: str | Path) -> Subject:
    """The model in a Hugging Face folder, a `Run` or an `OtherTrunk` if it is one of ours.

    Weights are read from safetensors alone, and nothing from the folder is run or fetched. Raises
    UserError where there is no such model, where transformers does not know its kind, and where
    weights or a fast tokenizer are missing.
    """
    folder = Path(folder)
    if kinds := OURS.get(checkpoint.model_type(folder)):
        model, subject = kinds
        return subject(checkpoint.of_ours(folder, model), _tokenizer(folder))
    return Subject(checkpoint.trained(folder), checkpoint.tokenizer(folder))


def untrained(folder: str | Path, seed: int) -> Subject:
    """The untrained twin of what `load` opens: same shape and tokenizer, fresh initial weights.

    They are drawn from `seed`, as the family draws them before training; those of a run are the
    ones that a run of that seed starts from. No weights are read, and no random state changes.
    """
    folder = Path(folder)
    if kinds := OURS.get(checkpoint.model_type(folder)):
        model, subject = kinds
        with checkpoint.one_line(folder):
            config = model.config_class.from_pretrained(folder)
        return subject(model(config, seed), _tokenizer(folder))
    return Subject(checkpoint.initial(folder, seed), checkpoint.tokenizer(folder))


def _tokenizer(folder: Path) -> TokenizerOfARun:
    with checkpoint.one_line(folder):
        return TokenizerOfARun.from_pretrained(folder)
