"""The folder of a model, ours or a checkpoint: its kind, and whether it can be opened."""

import json
from pathlib import Path

from bottomup.core.errors import UserError
from bottomup.core.names import INDEX, WEIGHTS

AGAIN = "fetch it again, or, where a study has made it, delete it and run again"
ADAPTER = "adapter_config.json"
LARGEST = 2**24  # bytes of a config, which is read whole


def model_type(folder: Path) -> str | None:
    """The kind of model in a folder; UserError if there is none, or an adapter changes it."""
    if (folder / ADAPTER).exists():
        base = read_json(folder / ADAPTER).get("base_model_name_or_path") or "that it does not name"
        raise UserError(
            f"{folder} holds an adapter for the model {base}; expected a whole model alone: load "
            "both where they were made, merge_and_unload() the adapter, and save_pretrained it to "
            "a folder of its own"
        )
    if not (folder / "config.json").exists():
        raise UserError(_no_model(folder))
    named = read_json(folder / "config.json").get("model_type")
    return named if isinstance(named, str) else None


def require_weights(folder: Path) -> None:
    """Raise UserError unless the folder has weights that can be read without running code."""
    if any((folder / name).exists() for name in (WEIGHTS, INDEX)):
        return
    pickled = sorted(path.name for path in folder.glob("*.bin"))
    if pickled:
        raise UserError(
            f"{folder} has pickled weights only ({', '.join(pickled)}), which can run code when "
            "they are opened; expected model.safetensors: if you trust them, convert them with "
            "save_pretrained"
        )
    raise UserError(_no_model(folder))


def read_json(path: Path) -> dict:
    """The object in a file; UserError if there is none."""
    require_file(path)
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError(f"more than {LARGEST} bytes")
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} is not JSON ({error}); {AGAIN}") from error
    if not isinstance(content, dict):
        raise UserError(f"{path} holds {type(content).__name__}, expected an object; {AGAIN}")
    return content


def require_file(path: Path) -> None:
    """Raise UserError for what is no file, such as a pipe, from which one might read for ever."""
    if not path.is_file():
        raise UserError(f"{path} is no file; {AGAIN}")


def _no_model(folder: Path) -> str:
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    listed = f"; found {', '.join(names[:5])}" if names else ""
    return (
        f"no model in {folder}{listed}; expected config.json and model.safetensors, as `model/` of "
        "a run has them: fetch a model by its name into a folder first"
    )
