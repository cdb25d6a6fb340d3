"""The Transformer's shape, saved as `config.json` in a Hugging Face folder."""

from transformers import PreTrainedConfig


class TransformerConfig(PreTrainedConfig):
    """Shape of one model.

    `vocab_size` is the source side's; `target_vocab_size` is that of the predicted side, which
    for a model without decoder (`decoder_layers` 0) is the source side again. `causal` says
    whether an encoder position may attend only to itself and to what stands before it.
    """

    model_type = "bottomup"

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
