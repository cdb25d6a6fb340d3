"""Checkpoints that survive being killed: written to new files, then renamed.

A checkpoint holds tensors (safetensors) and counters (JSON); nothing in it can run code. All
randomness of training comes from the seed and the step, so no generator state is kept.
"""

import hashlib
import itertools
import json
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.optim import Optimizer

from bottomup.core.differences import differences
from bottomup.core.disk import FULL
from bottomup.core.errors import UserError
from bottomup.core.files import AGAIN, as_written, damaged, digest, json_or_none, noted, opening
from bottomup.core.files.weights import load_into, load_weights, save_weights
from bottomup.core.running import alone

log = logging.getLogger(__name__)

STATES = ("state.json", "previous.json")  # the newer first


@dataclass
class Progress:
    """The progress of a run: updates done, source tokens read, and measurements on the way."""

    step: int = 0
    tokens: int = 0
    best_dev_loss: float = float("inf")
    stale_evaluations: int = 0
    metrics: list[dict] = field(default_factory=list)  # the lines of metrics.jsonl
    losses: list[float] = field(default_factory=list)  # of updates with predictions since a line


class Checkpoint:
    """The newest state of one run and the one before it, with their best weights, in `folder`.

    `identity` says what the run depends on, in plain values. A checkpoint with another identity
    comes from a run with other settings or other code: it is set aside, and the log says what
    differs. A run to whose settings one returns goes on from its own. Each state has the digests of
    its files; a state with a damaged file is skipped.

    Raises UserError if `folder` is a link: what it leads to is somebody else's.
    """

    def __init__(self, folder: Path, identity: dict):
        self.folder, self.identity = folder, json.loads(json.dumps(identity))
        if folder.is_symlink():
            raise UserError(
                f"{folder} is a link to {os.readlink(folder)}, and a training deletes what is in "
                "its checkpoint; delete the link and run again"
            )

    def save(
        self,
        model: nn.Module,
        optimizers: Sequence[Optimizer],
        progress: Progress,
        best: bool,
    ) -> None:
        """Add a state, and keep only the one before it beside it. If `best`, or if there was no
        state, its weights count as the best.

        `state.json` is renamed into place last, after its old content has become `previous.json`.
        """
        self.set_aside()
        newest, before = progress.step, self.state()
        best_step = newest if best or not before else before["best"]
        digests = {}
        if before and best_step != newest:
            digests[weights(best_step)] = before["files"][weights(best_step)]
        files = {optimizer_state(newest): optimizer_tensors(optimizers)}
        files[weights(newest)] = model.state_dict()
        with writing(f"the checkpoint of step {newest}", self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            for name, tensors in files.items():
                save_weights(tensors, self.folder / name)
                digests[name] = digest(self.folder / name)
            state = {
                "identity": self.identity,
                "newest": newest,
                "best": best_step,
                "files": digests,
                "progress": asdict(progress),
            }
            temporary = self.folder / "state.tmp"
            temporary.write_text(json.dumps({"digest": digest_of(state), "state": state}))
            if before and before["newest"] != newest:
                os.replace(self.folder / STATES[0], self.folder / STATES[1])
            os.replace(temporary, self.folder / STATES[0])
        states = filter(None, (read_state(self.folder / name) for name in STATES))
        keep = {name for state in states for name in state["files"]}
        for path in self.folder.glob("step_*.safetensors"):
            if path.name not in keep:
                path.unlink()

    def state(self) -> dict | None:
        """What the newest state says, or None if this run has none."""
        state = read_state(self.folder / STATES[0])
        return state if state and state["identity"] == self.identity else None

    def set_aside(self) -> None:
        """Move a checkpoint of another run to the first free name, such as `checkpoint.1`."""
        state = last_state(self.folder)
        if state is None or state["identity"] == self.identity:
            return
        numbers = itertools.count(1)
        beside = (self.folder.with_suffix(f".{number}") for number in numbers)
        aside = next(folder for folder in beside if not folder.exists())
        words = "; ".join(differences(state["identity"], self.identity))
        log.info(f"the checkpoint in {self.folder} is of another run ({words}): moved to {aside}")
        self.folder.rename(aside)

    def take_back(self) -> None:
        """Move the checkpoint of this run back, if another has set it aside and has left its place:
        as after an edit that was taken back, or on a branch to which one has returned. A link
        stays: what it leads to is somebody else's."""
        if self.folder.exists():
            return
        beside = self.folder.parent.glob(f"{self.folder.name}.*")
        ours = (folder for folder in sorted(beside) if not folder.is_symlink())
        states = {folder: last_state(folder) for folder in ours}
        own = {
            folder: state["newest"]
            for folder, state in states.items()
            if state and state["identity"] == self.identity
        }
        if own:
            aside = max(own, key=own.__getitem__)
            log.info(f"going on from {aside}, which was set aside while this run was another one")
            aside.rename(self.folder)

    def load(self, model: nn.Module, optimizers: Sequence[Optimizer]) -> Progress:
        """Restore model and optimizers; a fresh Progress if there is no checkpoint.

        If the newest state is damaged, the log says so, and the one before is taken.

        Raises UserError if no state is whole.
        """
        self.set_aside()
        self.take_back()
        if not self._whole():
            return Progress()
        with opening(self.folder / STATES[0]):
            state = self.state()
            assert state is not None  # since it is whole
            load_into(model, self.folder / weights(state["newest"]))
            saved = load_weights(self.folder / optimizer_state(state["newest"]))
            restored = [optimizer.state_dict() for optimizer in optimizers]
            for name, tensor in saved.items():
                which, index, key = name.split(".")
                restored[int(which)]["state"].setdefault(int(index), {})[key] = tensor
            for optimizer, state_dict in zip(optimizers, restored, strict=True):
                optimizer.load_state_dict(state_dict)
            return Progress(**state["progress"])

    def _whole(self) -> bool:
        """Whether there is a whole state; the newest whole one becomes the newest state."""
        passed = []
        for name in STATES:
            path = self.folder / name
            if not path.exists():
                continue
            if flaws := not_as_written(path):
                passed.append(flaws[0])
                continue
            if name != STATES[0]:
                with writing(f"{self.folder / STATES[0]}", self.folder):
                    os.replace(path, self.folder / STATES[0])
            for flaw in passed:
                log.info(f"{flaw} is missing or damaged: going on from the checkpoint before")
            return True
        if passed:
            raise UserError(
                f"{passed[0]} is missing or damaged, and there is no whole checkpoint before it; "
                f"delete {self.folder} and run again: the run is then trained from its beginning"
            )
        return False

    def load_best(self, model: nn.Module) -> None:
        """Give `model` the weights of the lowest dev loss."""
        state = self.state()
        assert state is not None  # a training has one at its end
        name = weights(state["best"])
        if not as_written(self.folder / name, state["files"][name]):
            raise damaged(self.folder / name, "its bytes are not those that were written")
        load_into(model, self.folder / name)


class Finished:
    """A run that was trained to its end, in a file of `folder` named after what it depends on.

    So going back to an earlier setting, or having the same run in another study, costs no training.
    `identity` is that of its checkpoint, but the study's name for the run does not count. The
    folder can be deleted at any time.
    """

    def __init__(self, folder: Path, identity: dict):
        nameless = {name: value for name, value in identity.items() if name != "objective"}
        self.path = folder / f"{digest_of(nameless)[:32]}.safetensors"

    def save(self, model: nn.Module, progress: Progress) -> None:
        """Keep the weights that a run ends with; if that fails, only the log says so."""
        temporary = self.path.with_suffix(".new")  # so the next one replaces what a kill left
        metadata = {"progress": json.dumps(asdict(progress))}
        try:
            with alone(self.path.with_suffix(".lock")):  # another study may have the same run
                temporary.unlink(missing_ok=True)  # if it is a link, its target stays
                try:
                    save_weights(model.state_dict(), temporary, metadata)
                    note_of(self.path).unlink(missing_ok=True)  # as above
                    note_of(self.path).write_text(f"{digest(temporary)}  {self.path.name}\n")
                    os.replace(temporary, self.path)
                finally:
                    temporary.unlink(missing_ok=True)
        except (OSError, SafetensorError, UserError) as error:
            log.info(f"the run is not kept for other studies: {error}")

    def load(self, model: nn.Module) -> Progress | None:
        """Give `model` the weights of the run if it was trained before and is still whole."""
        if not os.path.lexists(self.path):
            return None
        try:
            with opening(self.path):
                if not kept_whole(self.path):
                    raise damaged(self.path, "it is damaged, or has no digest")
                with safe_open(self.path, "pt") as file:
                    progress = Progress(**json.loads(file.metadata()["progress"]))
                load_into(model, self.path)
        except UserError as error:
            reason = str(error).removesuffix(f"; {AGAIN}")
            log.info(f"{reason}: the run is trained again")
            return None
        log.info(f"this run was trained before: taken from {self.path}")
        return progress


def weights(step: int) -> str:
    """The file of a checkpoint with the weights of a step."""
    return f"step_{step:d}.safetensors"


def optimizer_state(step: int) -> str:
    """The file of a checkpoint with the optimizer's state at a step."""
    return f"step_{step:d}.optimizer.safetensors"


def read_state(path: Path) -> dict | None:
    """What a state of a checkpoint says; None if it is missing or not as it was written."""
    record = json_or_none(path)
    try:
        state = record["state"]
        newest, best = state["newest"], state["best"]
        # Made from numbers, so that no name leads outside the folder.
        names = {weights(newest), optimizer_state(newest), weights(best)}
        whole = record["digest"] == digest_of(state) and state["files"].keys() == names
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return state if whole else None


def last_state(folder: Path) -> dict | None:
    """What the newest state in the folder of a checkpoint says that can be read; None if none
    can."""
    states = (read_state(folder / name) for name in STATES)
    return next(filter(None, states), None)


def not_as_written(path: Path) -> list[Path]:
    """The damaged or missing files of a checkpoint's state: itself, or files that it names."""
    state = read_state(path)
    if state is None:
        return [path]
    files = {path.with_name(name): written for name, written in state["files"].items()}
    return [file for file, written in files.items() if not as_written(file, written)]


def note_of(kept: Path) -> Path:
    """The file that notes the digest of a finished run."""
    return kept.with_suffix(".sha256")


def kept_whole(kept: Path) -> bool:
    """Whether a finished run is as it was written."""
    note = note_of(kept)
    return note.exists() and noted(note).get(Path(kept.name)) == digest(kept)


def digest_of(value: dict) -> str:
    """The SHA-256 of plain values, in hexadecimal."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


@contextmanager
def writing(what: str, folder: Path) -> Iterator[None]:
    """Raise UserError if a file cannot be written, as on a full disk; `folder` has the
    checkpoint."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        kept = (
            f"the checkpoint before it is kept in {folder}; "
            if any(read_state(folder / name) for name in STATES)
            else ""
        )
        remedy = (
            "free some space and run again"
            if FULL.search(str(error))
            else "mend that and run again"
        )
        raise UserError(f"{what} cannot be written: {error}; {kept}{remedy}") from error


def optimizer_tensors(optimizers: Sequence[Optimizer]) -> dict[str, Tensor]:
    """The states of the optimizers as named tensors, `which.index.name`."""
    return {
        f"{which}.{index}.{name}": tensor
        for which, optimizer in enumerate(optimizers)
        for index, state in optimizer.state_dict()["state"].items()
        for name, tensor in state.items()
    }
