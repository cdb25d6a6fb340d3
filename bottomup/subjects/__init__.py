"""What is looked at: a trained run, behind one small interface."""

import json
from pathlib import Path

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from bottomup.corpus.specials import PAD
from bottomup.errors import UserError
from bottomup.model.configuration import TransformerConfig
from bottomup.model.transformer import Transformer


class Subject:
    """A model whose encoder is looked at: its layers, its attention, its tokens."""

    def __init__(self, model: Transformer, tokenizer: PreTrainedTokenizerFast):
        self.model = model.eval()
        self.tokenizer = tokenizer

    @property
    def layers(self) -> int:
        """Layers above the embeddings; representations are counted 0 to `layers`."""
        return self.model.config.encoder_layers

    @property
    def d_model(self) -> int:
        """Width of a representation."""
        return self.model.config.d_model

    @torch.inference_mode()
    def hidden_states(self, ids: Tensor) -> tuple[Tensor, ...]:
        """The residual stream after each layer for padded ids `[batch, length]`.

        `layers + 1` tensors `[batch, length, d_model]`; layer 0 is token embedding + position.
        """
        return self.model.encoder(ids, output_hidden_states=True).hidden_states

    @torch.inference_mode()
    def attentions(self, ids: Tensor) -> tuple[Tensor, ...]:
        """Attention weights of each layer, `[batch, heads, queries, keys]`, rows summing to 1."""
        return self.model.encoder(ids, output_attentions=True).attentions

    @torch.inference_mode()
    def embeddings(self, ids: Tensor) -> Tensor:
        """Layer 0 alone, of padded ids `[batch, length]`: `[batch, length, d_model]`."""
        return self.model.encoder.embed(ids)

    def visible(self, ids: Tensor) -> Tensor:
        """Which tokens each token attends to, bool `[batch, 1, queries, keys]`."""
        mask = (ids != PAD)[:, None, None, :].expand(-1, -1, ids.shape[1], -1)
        return mask.tril() if self.model.config.causal else mask

    @torch.inference_mode()
    def layer(self, number: int, below: Tensor, mask: Tensor) -> Tensor:
        """The residual stream after layer `number`, counted from 1, from the one before it.

        below: `[batch, length, d_model]`; mask: as of `visible`, or with less to be seen.
        """
        return self.model.encoder.layers[number - 1](below, mask, causal=False)[0]


def load(folder: str | Path) -> Subject:
    """The run whose Hugging Face folder this is; UserError where it is none of ours."""
    config = Path(folder) / "config.json"
    if not config.exists() or not (Path(folder) / "model.safetensors").exists():
        raise UserError(
            f"no model in {folder}; expected config.json and model.safetensors, as `model/` of a "
            "run has them"
        )
    model_type = json.loads(config.read_text()).get("model_type")
    if model_type != TransformerConfig.model_type:
        raise UserError(
            f"a model of type {model_type!r} in {folder}; expected "
            f"{TransformerConfig.model_type!r}, as `model/` of a run has it"
        )
    return Subject(
        Transformer.from_pretrained(folder), PreTrainedTokenizerFast.from_pretrained(folder)
    )
