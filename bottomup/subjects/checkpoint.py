"""Opening the folder of a Hugging Face checkpoint: offline, and without running code from it."""

import json
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModel, AutoTokenizer, PreTrainedModel
from transformers import PreTrainedTokenizerFast as Tokenizer

from bottomup.errors import UserError
from bottomup.seeds import derive
from bottomup.subjects import attending

WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
TOKENIZERS = ("tokenizer.json", "vocab.txt")
AGAIN = "fetch it again, or, where a study has made it, delete it and run again"
OFFLINE = {"local_files_only": True, "trust_remote_code": False}
# As the checkpoint was trained: its config may name another attention, even one to be fetched.
FAMILY_OWN = {"attn_implementation": "eager", "dtype": torch.float32}


def model_type(folder: Path) -> str | None:
    """The kind of model in a folder; UserError where there is none, or one with its own code."""
    if not (folder / "config.json").exists():
        raise UserError(_no_model(folder))
    for name in ("config.json", "tokenizer_config.json"):
        if (folder / name).exists() and "auto_map" in _read(folder / name):
            raise UserError(
                f"{folder / name} asks for code of its own (auto_map), which is never run; allowed "
                "are kinds of model that transformers knows: look for a checkpoint of one"
            )
    named = _read(folder / "config.json").get("model_type")
    return named if isinstance(named, str) else None


def require_weights(folder: Path) -> None:
    """Raise UserError unless the folder has weights that can be read without running code."""
    if any((folder / name).exists() for name in WEIGHTS):
        return
    pickled = sorted(path.name for path in folder.glob("*.bin"))
    if pickled:
        raise UserError(
            f"{folder} has pickled weights only ({', '.join(pickled)}), which can run code when "
            "they are opened; expected model.safetensors: convert them with save_pretrained where "
            "you trust them"
        )
    raise UserError(_no_model(folder))


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


def of_ours(folder: Path, kind: type[PreTrainedModel]) -> PreTrainedModel:
    """A model of ours with the weights of its folder; UserError unless these are exactly its."""
    require_weights(folder)
    with one_line(folder):
        model, found = kind.from_pretrained(
            folder, output_loading_info=True, use_safetensors=True, ignore_mismatched_sizes=True
        )
    drawn = found["missing_keys"] | {name for name, *_ in found["mismatched_keys"]}
    require_right(folder, model, drawn, found["unexpected_keys"])
    return model


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
            " load the slow one with AutoTokenizer, its package installed, and save_pretrained it"
        )
    with one_line(folder):
        found = AutoTokenizer.from_pretrained(folder, **OFFLINE)
    if not found.is_fast:
        raise UserError(f"the tokenizer in {folder} is a slow one; expected tokenizer.json")
    return found


def _no_model(folder: Path) -> str:
    return (
        f"no model in {folder}; expected config.json and model.safetensors, as `model/` of a run "
        "has them: fetch a model by its name into a folder first"
    )


def _read(path: Path) -> dict:
    try:
        found = json.loads(path.read_text())
    except ValueError as error:
        raise UserError(f"{path} is not JSON ({error}); {AGAIN}") from error
    if not isinstance(found, dict):
        raise UserError(f"{path} holds {type(found).__name__}, expected an object; {AGAIN}")
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
            f"transformers does not load {folder}: {reason} Expected is a whole checkpoint of a "
            f"kind that the installed transformers knows; {AGAIN}"
        ) from error
