"""The Transformer's shape."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class TransformerConfig:
    """Shape of one model.

    `vocab_size` is that of the source side, `target_vocab_size` that of the predicted side; for a
    model without decoder (`decoder_layers` 0) this is the source side again. `causal` says whether
    an encoder position may attend only to itself and to earlier positions; with `backward`, which
    only a causal encoder has, to itself and to later ones, and positions count from the end. With
    `pairs`, a sentence may be followed by its translation, whose positions count anew and which has
    an embedding of its own.

    A head is `d_model / heads` wide. If heads were removed, `kept_heads` says how many each layer
    has left, from the bottom up, by kind of attention: "encoder", "decoder", "cross".
    """

    model_type: ClassVar[str] = "bottomup"

    vocab_size: int = 4
    target_vocab_size: int = 4
    encoder_layers: int = 6
    decoder_layers: int = 0
    heads: int = 8
    d_model: int = 128
    d_ff: int = 512
    dropout: float = 0.1
    attention_dropout: float = 0.1
    causal: bool = False
    backward: bool = False
    pairs: bool = False
    kept_heads: dict[str, list[int]] | None = None

    def heads_of(self, kind: str, layer: int) -> int:
        """Heads of one kind of attention in a layer, counted from 0."""
        return self.heads if self.kept_heads is None else self.kept_heads[kind][layer]
