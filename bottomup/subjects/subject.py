"""The interface of every subject, whatever it is."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Self

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from bottomup.core.errors import UserError
from bottomup.model.transformer import Encoding

if TYPE_CHECKING:
    from bottomup.subjects.slow import SlowTokenizer


class Subject(ABC):
    """A model that is looked at: its layers, its attention, its tokens.

    If a model has an encoder, only the encoder is looked at. `bottomup.subjects.load` opens one.

    Attributes
    ----------
    model : torch.nn.Module
        The whole model, with its decoder where it has one.
    tokenizer : tokenizers.Tokenizer
        From text to ids: `subject.tokenizer.encode("click the button .").ids`.

    Examples
    --------
    >>> import torch
    >>> from bottomup import subjects
    >>> subject = subjects.load("results/smoke/runs/lm-1/model")
    >>> ids = torch.tensor([subject.tokenizer.encode("click the button .").ids])
    >>> layers = subject.hidden_states(ids)  # layer 0, then each layer
    >>> len(layers), layers[0].shape == (*ids.shape, 32)
    (4, True)
    >>> weights = subject.attentions(ids)[0]  # of the first layer
    >>> weights.shape == (1, 4, ids.shape[1], ids.shape[1])
    True
    >>> closed = torch.ones(subject.layers, subject.heads)
    >>> closed[0, 1] = 0  # the second head of the first layer
    >>> bool(torch.equal(subject.hidden_states(ids, gates=closed)[0], layers[0]))
    True
    """

    def __init__(self, model: nn.Module, tokenizer: "Tokenizer | SlowTokenizer"):
        self.model = model.eval()
        self.tokenizer = tokenizer

    @property
    def device(self) -> torch.device:
        """Where the model computes."""
        return next(self.model.parameters()).device

    def on(self, device: torch.device | str) -> Self:
        """The subject, moved to a device."""
        self.model.to(device)
        return self

    @property
    @abstractmethod
    def layers(self) -> int:
        """Layers above the embeddings; representations count from 0 to `layers`."""

    @property
    @abstractmethod
    def d_model(self) -> int:
        """Width of a representation."""

    @property
    @abstractmethod
    def heads(self) -> int:
        """Heads in a layer; 0 if none can be looked at."""

    @property
    def hides(self) -> bool:
        """Whether tokens can be hidden from others, because these see them by attention alone."""
        return self.heads > 0

    @property
    @abstractmethod
    def causal(self) -> bool:
        """Whether no position sees later ones (earlier ones, if the model reads `backward`)."""

    @property
    def backward(self) -> bool:
        """Whether it reads from the end, and is `causal`."""
        return False

    def seen(self, pairs: Tensor) -> Tensor:
        """`pairs` without those whose query does not see the side of the text that has the key.

        pairs: of positions, bool `[..., queries, keys]`.
        """
        if self.backward:
            return pairs.triu()
        return pairs.tril() if self.causal else pairs

    def visible(self, length: int) -> list[Tensor]:
        """Which keys each query sees in a sentence of so many tokens: for each layer, bool
        `[length, length]`. Layers that see alike share one. In shorter sentences it is the same."""
        return [self.seen(torch.ones(length, length, dtype=torch.bool))] * self.layers

    @property
    def learns(self) -> bool:
        """Whether its states have gradients with respect to its weights."""
        return True

    @property
    @abstractmethod
    def masks(self) -> bool:
        """Whether it was trained to predict masked tokens at their places, without a decoder."""

    @property
    @abstractmethod
    def predicts_tokens(self) -> bool:
        """Whether transformers knows the layers with which it was trained to predict tokens."""

    @property
    @abstractmethod
    def mask(self) -> int | None:
        """The token that hides others; None if it knows none."""

    @property
    @abstractmethod
    def translates(self) -> bool:
        """Whether a decoder writes another text from the one it reads."""

    @property
    @abstractmethod
    def max_length(self) -> int | None:
        """Tokens that it can read at once, including special ones; None for any number."""

    @property
    @abstractmethod
    def padding(self) -> int:
        """The token that fills shorter sentences up on the right."""

    @property
    @abstractmethod
    def pads_alone(self) -> bool:
        """Whether `padding` does nothing else, so that no sentence has it."""

    @property
    @abstractmethod
    def special(self) -> list[int]:
        """The tokens that surround a text and are not part of it, and padding that does nothing
        else. In a text, what is special is a matter of places: `TokenFile.special`."""

    @property
    def open_heads(self) -> list[Tensor]:
        """The heads of each layer that contribute anything, by number from 0."""
        return [torch.arange(self.heads)] * self.layers

    @property
    @abstractmethod
    def encoder(self) -> nn.Module:
        """The part that is looked at: the model, or its encoder."""

    @property
    def learned_weights(self) -> list[nn.Parameter]:
        """Those of `encoder` that training changes."""
        return [*self.encoder.parameters()]

    @abstractmethod
    def save_model(self, folder: Path) -> None:
        """Write the model as `load` reads it, its weights in one file."""

    @abstractmethod
    def save_tokenizer(self, folder: Path) -> None:
        """Write the tokenizer as `load` reads it."""

    @torch.inference_mode()
    def hidden_states(
        self,
        ids: Tensor,
        gates: Tensor | None = None,
        hidden: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        """The residual stream after each layer.

        Parameters
        ----------
        ids : Tensor of shape (batch, length), int64
            Token ids on any device, shorter sentences filled up on the right; it does not matter
            with what.
        gates : Tensor of shape (layers, heads), optional
            What the output of each head is multiplied by; 0 closes it.
        hidden : Tensor of shape (batch, length) or (layers, batch, length), bool, optional
            Tokens that no position but their own sees, in all layers or in each.
        lengths : Tensor of shape (batch,), int64, optional
            The number of tokens of each sentence; what comes after is padding. Without it, a
            sentence ends where only padding follows, if the tokenizer has a token for padding
            alone, such as `<pad>`. Otherwise it fills its row.

        Returns
        -------
        tuple of Tensor
            `layers + 1` tensors of shape (batch, length, d_model); layer 0 is token embedding +
            position.

        Raises
        ------
        UserError
            For ids that the model does not know or of another shape or type, a sentence longer than
            `max_length`, lengths that cannot be or are needed and not given, gates or hidden tokens
            of another shape, or where it has no attention.
        """
        return self._checked(ids, gates, hidden, lengths, output_hidden_states=True).hidden_states

    def differentiable_states(
        self, ids: Tensor, lengths: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        """As `hidden_states`, with gradients, to train the weights of `encoder`."""
        return self._checked(ids, None, None, lengths, output_hidden_states=True).hidden_states

    @torch.inference_mode()
    def attentions(
        self,
        ids: Tensor,
        gates: Tensor | None = None,
        hidden: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        """The attention weights of each layer.

        Parameters
        ----------
        ids, gates, hidden, lengths
            As in `hidden_states`.

        Returns
        -------
        tuple of Tensor
            `layers` tensors of shape (batch, heads, queries, keys), whose rows sum to 1; to less
            where a family lets heads attend to nothing, as GPT-OSS does.

        Raises
        ------
        UserError
            As `hidden_states`; and where the model has no attention.
        """
        if line := self.without_heads("looked at"):
            raise UserError(line)
        return self._checked(ids, gates, hidden, lengths, output_attentions=True).attentions

    def value_norms(self, ids: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, ...] | None:
        """Norms of the vectors that heads weight: |f(x)|, f(x) = (x W_V + b_V) W_O (Kobayashi et
        al. 2020).

        Parameters
        ----------
        ids, lengths
            As in `attentions`.

        Returns
        -------
        tuple of Tensor, or None
            `layers` tensors of shape (batch, heads, keys), not negative; None where a family does
            more with what its heads read than to weight it, add it up and project it.
        """
        return None

    def tokens(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Which places are tokens and not padding, bool `[batch, length]`; lengths: as in
        `hidden_states`."""
        places = torch.arange(ids.shape[1], device=ids.device)
        if lengths is None:
            lengths = self._inferred_lengths(ids)
        lengths = torch.as_tensor(lengths, device=ids.device)
        if lengths.shape != ids.shape[:1] or ((lengths < 1) | (lengths > ids.shape[1])).any():
            raise UserError(
                f"lengths {lengths.tolist()} for ids of shape {tuple(ids.shape)}; allowed: one for "
                f"each sentence, from 1 to {ids.shape[1]}"
            )
        return places < lengths[:, None]

    def _inferred_lengths(self, ids: Tensor) -> Tensor:
        """The length of each sentence where nobody says it, `[batch]`."""
        padding, whole = ids == self.padding, torch.full_like(ids[:, 0], ids.shape[1])
        if self.pads_alone:
            lengths = (~padding).sum(dim=1)
            if padding.cumsum(dim=1)[:, :-1].masked_select(~padding[:, 1:]).any():
                raise UserError(
                    "a sentence has padding before its end; pad on the right, or give `lengths` if "
                    f"{self.padding} stands for something in it"
                )
            return lengths.clamp(min=1)
        if not self.causal and len(ids) > 1 and padding[:, -1].any():
            raise UserError(
                f"a sentence ends in {self.padding}, and {self._name} has no token for padding "
                "alone; give `lengths`, the number of tokens of each sentence"
            )
        return whole

    def embeddings(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Only layer 0, for padded ids `[batch, length]`: `[batch, length, d_model]`."""
        return self.hidden_states(ids, lengths=lengths)[0]

    def after(
        self,
        layer: int,
        below: Tensor,
        ids: Tensor,
        hidden: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> Tensor:
        """The residual stream after `layer`, counted from 1, `[batch, length, d_model]`.

        ids: padded, `[batch, length]`. below: the stream before this layer, with anything at
        padding. If the family allows it, this layer alone is run on `below`; otherwise all layers
        are run from the start. hidden: tokens that no position but their own sees in this layer,
        bool `[batch, length]`; nothing is hidden in others.
        """
        hidden = self.in_layer(layer, hidden)
        return self.hidden_states(ids, hidden=hidden, lengths=lengths)[layer]

    def in_layer(self, layer: int, hidden: Tensor | None) -> Tensor | None:
        """Tokens hidden in one layer, counted from 1, `[batch, length]`, as a pass over all layers
        takes them, `[layers, batch, length]`."""
        if hidden is None:
            return None
        of_layers = hidden.new_zeros(self.layers, *hidden.shape)
        of_layers[layer - 1] = hidden
        return of_layers

    def _checked(
        self,
        ids: Tensor,
        gates: Tensor | None,
        hidden: Tensor | None,
        lengths: Tensor | None,
        **wanted: bool,
    ) -> Encoding:
        ids = torch.as_tensor(ids, device=self.device)
        whole = not ids.is_floating_point() and ids.dtype != torch.bool
        if ids.ndim != 2 or not ids.numel() or not whole:
            raise UserError(
                f"ids of shape {tuple(ids.shape)} and type {ids.dtype}; allowed: whole numbers of "
                "shape (batch, length), a row a sentence"
            )
        length, most = ids.shape[1], self.max_length
        if most is not None and length > most:
            raise UserError(
                f"a sentence has {length} tokens; {self._name} reads at most {most}; cut it"
            )
        ids = ids.long()
        tokens = self.tokens(ids, lengths)
        self.require_known(ids[tokens], self.vocab_size)
        able = (gates is None or self.heads) and (hidden is None or self.hides)
        if not able:
            raise UserError(self._no_attention("changed"))
        if gates is not None:
            gates = torch.as_tensor(gates, dtype=torch.float32, device=self.device)
            if gates.shape != (self.layers, self.heads):
                raise UserError(
                    f"gates of shape {tuple(gates.shape)}; allowed: ({self.layers}, {self.heads}), "
                    "one for each head"
                )
        if hidden is not None:
            hidden = torch.as_tensor(hidden, dtype=torch.bool, device=self.device)
            of_layers = (self.layers, *ids.shape)
            if hidden.shape not in (ids.shape, of_layers):
                raise UserError(
                    f"hidden tokens of shape {tuple(hidden.shape)}; allowed: {tuple(ids.shape)}, "
                    f"as the ids, or {of_layers}, for each layer"
                )
            hidden = hidden.expand(of_layers)
        return self._read(self.filled(ids, tokens), tokens, gates, hidden, **wanted)

    def require_known(self, ids: Tensor, known: int | None) -> None:
        """Raise UserError unless all ids are from 0 to below `known`; None: any are known."""
        if known is not None and ((ids < 0) | (ids >= known)).any():
            raise UserError(
                f"a sentence has ids from {int(ids.min())} to {int(ids.max())}; {self._name} "
                f"knows 0 to {known - 1}; text and model have different tokenizers: make both "
                "again, or give a checkpoint the tokenizer that it was trained with"
            )

    def filled(self, ids: Tensor, tokens: Tensor) -> Tensor:
        """Ids with `padding` wherever there are no `tokens`, both `[batch, length]`."""
        return ids.masked_fill(~tokens, self.padding)

    @abstractmethod
    def _read(
        self,
        ids: Tensor,
        tokens: Tensor,
        gates: Tensor | None,
        hidden: Tensor | None,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
    ) -> Encoding:
        """Read checked input.

        tokens: from `tokens`; ids are `padding` elsewhere. hidden: `[layers, batch, length]`.
        Others: as in `Encoder.forward` of the Transformer.
        """

    @property
    @abstractmethod
    def vocab_size(self) -> int | None:
        """The number of ids that the model knows, from 0; None if it knows any."""

    def without_heads(self, what: str) -> str | None:
        """One line that says why attention cannot be "looked at", or "changed" so that tokens are
        hidden; None if it can."""
        able = self.heads if what == "looked at" else self.hides
        return None if able else self._no_attention(what)

    def _no_attention(self, what: str) -> str:
        return f"{self._name} has no attention that can be {what}{self._why_no_heads()}"

    def _why_no_heads(self) -> str:
        return ""

    @property
    def _name(self) -> str:
        return self.model.config.model_type  # type: ignore[union-attr, return-value]  # of all


def from_others(hidden: Tensor) -> Tensor:
    """Which queries may not see which keys, for hidden tokens `[batch, length]`: bool `[batch, 1,
    length, length]`.

    A token still sees itself.
    """
    itself = torch.eye(hidden.shape[-1], dtype=torch.bool, device=hidden.device)
    return hidden[:, None, None, :] & ~itself


def projected_norms(values: Tensor, projection: Tensor) -> Tensor:
    """The lengths of values after the output projection, `[batch, heads, keys]`.

    values: `[batch, heads, keys, d_head]`. projection: `[d_model, heads * d_head]`. Computed in the
    width of a head: |v W|^2 = v W W^T v^T.
    """
    of_heads = projection.unflatten(1, values.shape[1::2])
    products = torch.einsum("mhd,mhe->hde", of_heads, of_heads)
    return (values @ products * values).sum(dim=-1).clamp(min=0).sqrt()
