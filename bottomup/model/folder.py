"""Our models in folders of Hugging Face's form, without transformers, which is slow to import.

`config.json` has the shape and, as `model_type`, the kind of model; `model.safetensors` has the
weights. transformers can open the tokenizer's files.
"""

import json
from dataclasses import asdict, fields
from pathlib import Path

import torch
from tokenizers import Tokenizer

from bottomup.core.errors import UserError
from bottomup.core.files import opening
from bottomup.core.files.weights import header, load_weights, save_weights, unlike
from bottomup.core.names import WEIGHTS
from bottomup.corpus.specials import SPECIALS
from bottomup.model.configuration import TransformerConfig
from bottomup.model.transformer import Transformer
from bottomup.model.trunks import TrunkConfig, TrunkModel

KINDS = {
    TransformerConfig.model_type: (TransformerConfig, Transformer),
    TrunkConfig.model_type: (TrunkConfig, TrunkModel),
}
CONFIG, TOKENIZER = "config.json", "tokenizer.json"


def save(model: Transformer | TrunkModel, folder: Path) -> None:
    """Write a model to a folder, which is made if necessary."""
    folder.mkdir(parents=True, exist_ok=True)
    config = asdict(model.config) | {"model_type": model.config.model_type}
    _write(config, folder / CONFIG)
    save_weights(model.state_dict(), folder / WEIGHTS, {"format": "pt"})


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write the tokenizer of a model to its folder, which is made if necessary."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / TOKENIZER))
    roles = dict(zip(("pad_token", "eos_token", "unk_token", "mask_token"), SPECIALS, strict=True))
    kind = {"tokenizer_class": "PreTrainedTokenizerFast"}
    _write(kind | roles, folder / "tokenizer_config.json")


def load(folder: Path) -> Transformer | TrunkModel:
    """The model in a folder; UserError unless its weights are exactly those of its shape."""
    with opening(folder / CONFIG):
        _require_possible(json.loads((folder / CONFIG).read_bytes()), header(folder / WEIGHTS))
    # Not on the device "meta": PyTorch's imports for it take longer than drawing weights.
    model = initial(folder, seed=0)
    tensors = load_weights(folder / WEIGHTS)
    if wrong := unlike(model, tensors):
        raise UserError(
            f"{folder / WEIGHTS}: weights that are not as {CONFIG} has them: {len(wrong)}, "
            f"{wrong[0]} among them; allowed: those of a run, or what transformers saves of one, "
            "in float32 and by a class with an output layer; if a study made it, delete it and run "
            "again"
        )
    model.load_state_dict(tensors)
    return model


def _require_possible(shape: dict, weights: dict[str, tuple[int, ...]]) -> None:
    """Raise ValueError if a shape has more layers than there are weights, or is far wider than
    any: building it could fill the memory."""
    widest = max((size for sizes in weights.values() for size in sizes), default=0)
    for name, value in shape.items():
        most = len(weights) if "layers" in name else 2 * widest
        if isinstance(value, int) and value > max(most, 1):
            raise ValueError(f"{name} is {value}, and the weights beside it allow at most {most}")


def initial(folder: Path, seed: int) -> Transformer | TrunkModel:
    """A new model of the shape in a folder, with the initial weights of a run of that seed; no
    random state changes.

    Raises UserError if `config.json` is damaged.
    """
    with opening(folder / CONFIG), torch.random.fork_rng(devices=[]):
        shape = json.loads((folder / CONFIG).read_bytes())
        config, kind = KINDS[shape["model_type"]]
        known = {field.name for field in fields(config)}
        # transformers saves a model with keys of its own beside these.
        return kind(config(**{name: of for name, of in shape.items() if name in known}), seed)


def _write(config: dict, path: Path) -> None:
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
