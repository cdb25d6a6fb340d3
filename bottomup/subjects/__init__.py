"""What is looked at: a trained run or any Hugging Face checkpoint, behind one small interface.

What comes after knows subjects by what they can do, never by what they are called.
"""

from pathlib import Path
from types import ModuleType

from bottomup.model.folder import KINDS
from bottomup.subjects import runs
from bottomup.subjects.folder import model_type
from bottomup.subjects.subject import Subject


def load(folder: str | Path) -> Subject:
    """The model in a Hugging Face folder, one of ours or a checkpoint.

    Weights are read from safetensors alone, and nothing from the folder is run or fetched. Raises
    UserError where there is no such model, where transformers does not know its kind, and where
    weights or a fast tokenizer are missing.
    """
    return _who_opens(Path(folder)).load(Path(folder))


def untrained(folder: str | Path, seed: int) -> Subject:
    """The untrained twin of what `load` opens: same shape and tokenizer, fresh initial weights.

    They are drawn from `seed`, as the family draws them before training; those of a run are the
    ones that a run of that seed starts from. No weights are read, and no random state changes.
    """
    return _who_opens(Path(folder)).untrained(Path(folder), seed)


def _who_opens(folder: Path) -> ModuleType:
    """The module for the kind of model that a folder holds."""
    if model_type(folder) in KINDS:
        return runs
    # It imports transformers, which takes longer than many a job over runs.
    from bottomup.subjects import checkpoint

    return checkpoint
