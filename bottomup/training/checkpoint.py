"""Checkpoints that survive being killed: written aside, then renamed.

A checkpoint holds tensors (safetensors) and counters (JSON); nothing in it can run code. All
randomness of training is derived from the seed and the step, so no generator state is kept.
"""

import hashlib
import itertools
import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from bottomup.differences import differences
from bottomup.errors import UserError

log = logging.getLogger(__name__)


@dataclass
class Progress:
    """Where a run stands: updates done, source tokens read, and what was measured on the way."""

    step: int = 0
    tokens: int = 0
    best_dev_loss: float = float("inf")
    stale_evaluations: int = 0
    metrics: list[dict] = field(default_factory=list)  # the lines of metrics.jsonl
    losses: list[float] = field(default_factory=list)  # of the updates since the last of them


class Checkpoint:
    """The newest state of one run, and its best weights, in `folder`.

    `identity` says what the run depends on, in plain values. A checkpoint of another identity was
    left by a run with other settings or another code: it is set aside, and the log says what
    differs.
    """

    def __init__(self, folder: Path, identity: dict):
        self.folder, self.identity = folder, json.loads(json.dumps(identity))

    def save(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        progress: Progress,
        best: bool,
    ) -> None:
        """Replace the checkpoint; the weights become the best ones if `best`, or if none are.

        `state.json` is renamed into place last, and names the weights that belong to it.
        """
        self.set_aside()
        weights = model.state_dict()
        newest = f"step_{progress.step}"
        previous = self.state()
        best_name = newest if best or not previous else previous["best"]
        files = {f"{newest}.optimizer": optimizer_tensors(optimizer), newest: weights}
        with writing(f"the checkpoint of step {progress.step}", self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            for name, tensors in files.items():
                save_file(tensors, self.folder / f"{name}.safetensors")
            state = {
                "identity": self.identity,
                "newest": newest,
                "best": best_name,
                "progress": asdict(progress),
            }
            aside = self.folder / "state.tmp"
            aside.write_text(json.dumps(state))
            os.replace(aside, self.folder / "state.json")
        keep = {*files, best_name}
        for path in self.folder.glob("step_*.safetensors"):
            if path.stem not in keep:
                path.unlink()

    def state(self) -> dict | None:
        """What `state.json` says, or None where there is no checkpoint of this run."""
        path = self.folder / "state.json"
        state = json.loads(path.read_text()) if path.exists() else None
        return state if state and state["identity"] == self.identity else None

    def set_aside(self) -> None:
        """Move a checkpoint of another run to the first free name beside, `checkpoint.1`."""
        path = self.folder / "state.json"
        if not path.exists() or self.state():
            return
        numbers = itertools.count(1)
        beside = (self.folder.with_suffix(f".{number}") for number in numbers)
        aside = next(folder for folder in beside if not folder.exists())
        words = "; ".join(differences(json.loads(path.read_text())["identity"], self.identity))
        log.info(f"the checkpoint in {self.folder} is of another run ({words}): moved to {aside}")
        self.folder.rename(aside)

    def load(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> Progress:
        """Restore model and optimizer; a fresh Progress where there is no checkpoint."""
        self.set_aside()
        state = self.state()
        if state is None:
            return Progress()
        model.load_state_dict(load_file(self.folder / f"{state['newest']}.safetensors"))
        saved = load_file(self.folder / f"{state['newest']}.optimizer.safetensors")
        restored = optimizer.state_dict()
        for name, tensor in saved.items():
            index, key = name.split(".")
            restored["state"].setdefault(int(index), {})[key] = tensor
        optimizer.load_state_dict(restored)
        return Progress(**state["progress"])

    def load_best(self, model: nn.Module) -> None:
        """Give `model` the weights of the lowest dev loss."""
        model.load_state_dict(load_file(self.folder / f"{self.state()['best']}.safetensors"))


class Finished:
    """A run that was trained to its end, in a file of `folder` that is named by what it depends on.

    So an earlier setting, or the same run in another study, costs no training. `identity` is that
    of its checkpoint; what the study calls it does not count. The folder can be deleted at any
    time.
    """

    def __init__(self, folder: Path, identity: dict):
        nameless = {name: value for name, value in identity.items() if name != "objective"}
        digest = hashlib.sha256(json.dumps(nameless, sort_keys=True).encode())
        self.path = folder / f"{digest.hexdigest()[:32]}.safetensors"

    def save(self, model: nn.Module, progress: Progress) -> None:
        """Keep the weights that a run ends with; where that fails, only the log says so."""
        aside = self.path.with_suffix(f".{os.getpid()}")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            metadata = {"progress": json.dumps(asdict(progress))}
            save_file(model.state_dict(), aside, metadata)
            os.replace(aside, self.path)
        except (OSError, SafetensorError) as error:
            if aside.is_file():
                aside.unlink()
            log.info(f"the run is not kept for other studies: {error}")

    def load(self, model: nn.Module) -> Progress | None:
        """Give `model` the weights of the run, if it was trained before and can be read."""
        if not self.path.exists():
            return None
        try:
            with safe_open(self.path, "pt") as file:
                progress = json.loads(file.metadata()["progress"])
            model.load_state_dict(load_file(self.path))
        except (OSError, SafetensorError) as error:
            log.info(f"{self.path} cannot be read ({error}): the run is trained again")
            return None
        log.info(f"this run was trained before: taken from {self.path}")
        return Progress(**progress)


@contextmanager
def writing(what: str, folder: Path) -> Iterator[None]:
    """UserError where a file cannot be written, as on a full disk; `folder` has the checkpoint."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"{what} cannot be written: {error}; the checkpoint before it is kept in {folder}; "
            "free some space and run again"
        ) from error


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimizer's state as named tensors, `index.name`."""
    return {
        f"{index}.{name}": tensor
        for index, state in optimizer.state_dict()["state"].items()
        for name, tensor in state.items()
    }
