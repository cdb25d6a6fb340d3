"""The folder of a model, ours or a checkpoint: its kind, and whether it can be opened."""

import json
from pathlib import Path

from bottomup.errors import UserError

WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
AGAIN = "fetch it again, or, where a study has made it, delete it and run again"


def model_type(folder: Path) -> str | None:
    """The kind of model in a folder; UserError if there is none, or one with its own code."""
    if not (folder / "config.json").exists():
        raise UserError(_no_model(folder))
    for name in ("config.json", "tokenizer_config.json"):
        if (folder / name).exists() and "auto_map" in _read(folder / name):
            raise UserError(
                f"{folder / name} asks for code of its own (auto_map), which is never run; "
                "allowed: a checkpoint of a kind that transformers itself knows"
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
            "they are opened; expected model.safetensors: if you trust them, convert them with "
            "save_pretrained"
        )
    raise UserError(_no_model(folder))


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
