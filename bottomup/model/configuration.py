"""The Transformer's shape."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class TransformerConfig:
    """Shape of one model.

    `vocab_size` is that of the source side, `target_vocab_size` that of the predicted side; for a
    model without decoder (`decoder_layers` 0) this is the source side again. If `causal`, an
    encoder position attends only to itself and to earlier positions. If it is also `backward`, it
    attends to itself and to later ones instead, and positions count from the end. With `pairs`, a
    sentence may be followed by its translation; the positions of the translation start again at 0,
    and a learned vector is added to its tokens.

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
