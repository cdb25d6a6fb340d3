"""Checkpoints as subjects: opened offline, by transformers, and without running code from them."""

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import torch
import transformers
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoTokenizer, PreTrainedModel
from transformers import PreTrainedTokenizerFast as Tokenizer

from bottomup.errors import UserError
from bottomup.model.transformer import Encoding
from bottomup.seeds import derive
from bottomup.subjects import attending
from bottomup.subjects.attending import one_pass
from bottomup.subjects.folder import AGAIN, require_weights
from bottomup.subjects.subject import Subject

TOKENIZERS = ("tokenizer.json", "vocab.txt")
OFFLINE = {"local_files_only": True, "trust_remote_code": False}
# As the checkpoint was trained: its config may name another attention, even one to be fetched.
FAMILY_OWN = {"attn_implementation": "eager", "dtype": torch.float32}


class Checkpoint(Subject):
    """A model of transformers.

    Layers are as transformers counts and returns them, `layers + 1` with layer 0:

    BERT, RoBERTa, ELECTRA, DistilBERT, BART: layer 0 is the norm of token + position embedding (of
    ELECTRA where embeddings are narrower, these projected to `d_model`); norms are inside layers.
    Marian: token embedding + position, without norm.
    GPT-2: token + position embedding. GPT-NeoX, Llama, T5: token embedding alone, since positions
    come with attention. What these four return as the top layer has gone through the final norm,
    which a `Run` leaves out.

    `pretrained` is the tokenizer as transformers has it, which knows what special tokens are for.
    """

    model: PreTrainedModel

    def __init__(self, model: PreTrainedModel, pretrained: Tokenizer):
        super().__init__(model, pretrained.backend_tokenizer)
        self.pretrained = pretrained

    @property
    def layers(self) -> int:
        return self.model.config.num_hidden_layers

    @property
    def d_model(self) -> int:
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
        with one_pass():  # whatever pass asks for this, these layers are none of its own
            one, other = self._states([0, 1]), self._states([0, 2])
        return torch.equal(one[0], other[0])

    @cached_property
    def masks(self) -> bool:
        """Whether it was trained to predict masked tokens: its tokenizer has a mask, it sees both
        sides, and what was trained predicts tokens. ELECTRA tells replaced ones, and a model of
        sentences none."""
        mask = self.pretrained.mask_token_id
        return mask is not None and not self.causal and self.predicts_tokens

    @cached_property
    def predicts_tokens(self) -> bool:
        """Whether what was trained, by the names in its config, predicts tokens."""
        return any(map(self._has_output, self.model.config.architectures or []))

    @property
    def translates(self) -> bool:
        return self.model.config.is_encoder_decoder

    @property
    def max_length(self) -> int | None:
        for name, table in self.encoder.named_modules():
            counted_from_padding = isinstance(table, nn.Embedding) and table.padding_idx is not None
            if name.endswith("position_embeddings") and counted_from_padding:
                # RoBERTa's first position is the one after the padding's.
                return table.num_embeddings - table.padding_idx - 1
        return getattr(self.model.config, "max_position_embeddings", None)

    @property
    def padding(self) -> int:
        pad = self.pretrained.pad_token_id
        return 0 if pad is None else pad

    @property
    def special(self) -> list[int]:
        """The tokens that stand around a text and are none of it, padding among them.

        Where the tokenizer names no padding, `padding` is a word like others, and no special one.
        """
        names = ("pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id")
        return sorted({getattr(self.pretrained, name) for name in names} - {None})

    @property
    def encoder(self) -> nn.Module:
        return self.model.get_encoder() if self.translates else self.model

    def save_model(self, folder: Path) -> None:
        self.model.save_pretrained(folder, max_shard_size="1TB")

    def save_tokenizer(self, folder: Path) -> None:
        self.pretrained.save_pretrained(folder)

    def _read(
        self,
        ids: Tensor,
        gates: Tensor | None,
        hidden: Tensor | None,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
    ) -> Encoding:
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


def load(folder: Path) -> Checkpoint:
    """The checkpoint in a folder; UserError where it cannot be opened."""
    return Checkpoint(trained(folder), tokenizer(folder))


def untrained(folder: Path, seed: int) -> Checkpoint:
    """The untrained twin of the checkpoint in a folder."""
    return Checkpoint(initial(folder, seed), tokenizer(folder))


def trained(folder: Path, kind: type = AutoModel) -> PreTrainedModel:
    """The model with the weights of its folder; UserError where any that is looked at lacks.

    kind: of transformers' auto classes, such as the one with the layer that predicts masked tokens.
    """
    require_weights(folder)
    with one_line(folder):
        model, found = kind.from_pretrained(
            folder,
            output_loading_info=True,
            use_safetensors=True,
            ignore_mismatched_sizes=True,
            **FAMILY_OWN,
            **OFFLINE,
        )
    # transformers would draw these at random, and say so in its log alone.
    drawn = found["missing_keys"] | {name for name, *_ in found["mismatched_keys"]}
    # A pooler reads the top layer and is not looked at; checkpoints of masked models have none.
    lacking = {name for name in learned(model) & drawn if "pooler" not in name}
    require_right(folder, model, lacking, _of_more_layers(model, found["unexpected_keys"]))
    return _attended(model)


def require_right(
    folder: Path, model: PreTrainedModel, lacking: Collection[str], left: Collection[str]
) -> None:
    """Raise UserError for weights that a folder lacks, that are left over, or no numbers."""
    wrong = {
        "missing or of another shape than config.json says": lacking,
        "more than config.json says": left,
        "not finite numbers": _not_finite(model),
    }
    for what, names in wrong.items():
        if names:
            raise UserError(
                f"{len(names)} weights of the {model.config.model_type} in {folder} are {what}, "
                f"{min(names)} among them; {AGAIN}"
            )


def _of_more_layers(model: PreTrainedModel, left: Collection[str]) -> list[str]:
    """Of weights left over those whose names differ from the model's in a number alone.

    Others belong to layers that predict, which are not looked at.
    """
    known = {_numberless(name) for name in model.state_dict()}
    prefix = f"{model.base_model_prefix}."
    return [name for name in left if _numberless(name.removeprefix(prefix)) in known]


def _numberless(name: str) -> str:
    return re.sub(r"\d+", "#", name)


def _not_finite(model: PreTrainedModel) -> list[str]:
    return [name for name, weight in model.named_parameters() if not weight.isfinite().all()]


def initial(folder: Path, seed: int) -> PreTrainedModel:
    """The model with weights as its family draws them before training, from a seed."""
    with one_line(folder), torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(derive(seed, "untrained"))
        config = AutoConfig.from_pretrained(folder, **OFFLINE)
        return _attended(AutoModel.from_config(config, trust_remote_code=False, **FAMILY_OWN))


def learned(model: PreTrainedModel) -> set[str]:
    """Names of the weights that training changes: not those of sinusoidal positions, say."""
    with torch.device("meta"):
        fresh = type(model)(model.config)
    return {name for name, weight in fresh.named_parameters() if weight.requires_grad}


def _attended(model: PreTrainedModel) -> PreTrainedModel:
    """The model with our attention; families that do not call it stay as they are."""
    model.set_attn_implementation(attending.NAME)
    return model


def tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a folder; UserError unless it tells where in the text its tokens stand."""
    # Without any file, transformers would make a tokenizer that knows no token.
    if not any((folder / name).exists() for name in TOKENIZERS):
        raise UserError(
            f"no fast tokenizer in {folder}; expected tokenizer.json (or a vocab.txt of WordPiece):"
            " install the slow one's package, load it with AutoTokenizer, and save_pretrained it"
        )
    with one_line(folder):
        found = AutoTokenizer.from_pretrained(folder, **OFFLINE)
    if not found.is_fast:
        raise UserError(f"the tokenizer in {folder} is a slow one; expected tokenizer.json")
    return found


@contextmanager
def one_line(folder: Path) -> Iterator[None]:
    """What transformers says against a folder, in a line."""
    try:
        yield
    except Exception as error:  # whatever a damaged file makes it come across
        lines = str(error).strip().splitlines() or [type(error).__name__]
        reason = lines[0].rstrip(".") + "."
        raise UserError(
            f"transformers does not load {folder}: {reason} Expected: a whole checkpoint of a "
            f"kind that the installed transformers knows; {AGAIN}"
        ) from error
