"""Subjects: a trained run or any Hugging Face checkpoint, behind one small interface.

Later steps know subjects by what they can do, never by their names.
"""

from pathlib import Path
from types import ModuleType

from bottomup.model.folder import KINDS
from bottomup.subjects import runs
from bottomup.subjects.folder import model_type
from bottomup.subjects.subject import Subject


def load(folder: str | Path) -> Subject:
    """Open the model in a Hugging Face folder: a run of a study, or a checkpoint.

    Weights are read from safetensors alone, and nothing from the folder is run or fetched.

    Parameters
    ----------
    folder : str or Path
        With `config.json`, `model.safetensors` and a tokenizer. Either `model/` in the folder
        of a run, or a model of any family of transformers that reads token ids alone and hands out
        its states after each layer. A short sentence is read, to see whether it does.

    Returns
    -------
    Subject
        The model, on the CPU and in evaluation mode, with its tokenizer.

    Raises
    ------
    UserError
        Where there is no such model, its family cannot be read, or weights or a tokenizer are
        missing.

    Examples
    --------
    >>> subject = load("results/smoke/runs/lm-1/model")
    >>> subject.layers, subject.heads, subject.d_model, subject.causal
    (3, 4, 32, True)
    """
    folder = Path(folder).expanduser()
    return _who_opens(folder).load(folder)


def untrained(folder: str | Path, seed: int) -> Subject:
    """The untrained twin of what `load` opens: same shape and tokenizer, fresh initial weights.

    They are drawn as the family draws them before training. No weights are read, and no random
    state changes.

    Parameters
    ----------
    folder : str or Path
        As in `load`.
    seed : int
        Seed of the weights. A run's twin has the weights from which a run of this seed starts.

    Returns
    -------
    Subject
        The twin, on the CPU and in evaluation mode.

    Raises
    ------
    UserError
        As `load`, but weights may be missing.

    Examples
    --------
    >>> twin = untrained("results/smoke/runs/lm-1/model", seed=1)
    >>> twin.layers, twin.d_model
    (3, 32)
    """
    folder = Path(folder).expanduser()
    return _who_opens(folder).untrained(folder, seed)


def _who_opens(folder: Path) -> ModuleType:
    """The module for the kind of model that a folder holds."""
    if model_type(folder) in KINDS:
        return runs
    # Late: importing transformers takes longer than many jobs about runs.
    from bottomup.subjects import checkpoint

    return checkpoint
