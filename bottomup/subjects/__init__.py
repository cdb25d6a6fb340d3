"""What is looked at: a trained run or another Hugging Face model, behind one small interface."""

import json
from pathlib import Path

import torch
from torch import Tensor
from transformers import AutoModel, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers import PreTrainedTokenizerFast as TokenizerOfARun

from bottomup.corpus.specials import PAD
from bottomup.errors import UserError
from bottomup.model.configuration import TransformerConfig
from bottomup.model.transformer import Transformer


class Subject:
    """A model that is looked at: its layers, its attention, its tokens; the encoder of a model
    that has one.

    Layers are as transformers counts and returns them: what pre-norm models return as the top one
    has gone through the final norm, which a `Run` leaves out.
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

    @torch.inference_mode()
    def hidden_states(self, ids: Tensor) -> tuple[Tensor, ...]:
        """The residual stream after each layer for padded ids `[batch, length]`.

        `layers + 1` tensors `[batch, length, d_model]`; layer 0 is token embedding + position.
        """
        return self._read(ids, output_hidden_states=True).hidden_states

    @torch.inference_mode()
    def attentions(self, ids: Tensor) -> tuple[Tensor, ...]:
        """Attention weights of each layer, `[batch, heads, queries, keys]`, rows summing to 1."""
        return self._read(ids, output_attentions=True).attentions

    def _read(self, ids: Tensor, **wanted: bool):
        pad = self.tokenizer.pad_token_id
        tokens = torch.ones_like(ids) if pad is None else ids != pad
        return self.model(ids, attention_mask=tokens.long(), **wanted)


class Run(Subject):
    """A model of ours: its encoder, which can also be run layer by layer."""

    model: Transformer

    @property
    def layers(self) -> int:
        return self.model.config.encoder_layers

    @property
    def d_model(self) -> int:
        return self.model.config.d_model

    def _read(self, ids: Tensor, **wanted: bool):
        return self.model.encoder(ids, **wanted)

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
    """The model in a Hugging Face folder, a `Run` if it is one of ours.

    Weights are read from `model.safetensors` alone. Raises UserError where there is none, or where
    transformers does not know the kind of model.
    """
    config = Path(folder) / "config.json"
    if not config.exists() or not (Path(folder) / "model.safetensors").exists():
        raise UserError(
            f"no model in {folder}; expected config.json and model.safetensors, as `model/` of a "
            "run has them"
        )
    if json.loads(config.read_text()).get("model_type") == TransformerConfig.model_type:
        return Run(Transformer.from_pretrained(folder), TokenizerOfARun.from_pretrained(folder))
    try:
        # Only eager attention returns its weights.
        model = AutoModel.from_pretrained(
            folder, attn_implementation="eager", dtype=torch.float32, use_safetensors=True
        )
        tokenizer = AutoTokenizer.from_pretrained(folder)
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(f"transformers does not load {folder}: {reason}") from error
    return Subject(model.get_encoder() if model.config.is_encoder_decoder else model, tokenizer)
