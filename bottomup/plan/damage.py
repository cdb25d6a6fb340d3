"""Which results of a study are no longer as they were written.

For each file that a job made, Snakemake records the SHA-256 of the files that the job read. A
checkpoint contains the digests of its files, and a finished run has its digest beside it. If a file
has no digest, it is only tried whether it can be read in its format.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from bottomup.core.errors import UserError
from bottomup.core.files import AGAIN, as_written, opening
from bottomup.core.files.arrays import load_array
from bottomup.core.files.tables import read_table
from bottomup.core.files.weights import load_weights
from bottomup.training.checkpoint import STATES, kept_whole, not_as_written


def _read_json(path: Path) -> None:
    with opening(path):
        json.loads(path.read_bytes())


READERS: dict[str, Callable[[Path], object]] = {
    ".csv": read_table,
    ".json": _read_json,
    ".jsonl": read_table,
    ".npy": load_array,
    ".parquet": read_table,
    ".safetensors": load_weights,
}
NOT_RESULTS = ("benchmarks", "logs")


def find(study: Path, trained: Path, by_output: dict[Path, dict]) -> Iterator[tuple[Path, str]]:
    """Each damaged file of a study, of its checkpoints, and of the finished runs of all studies (in
    `trained`), with a line that says what is wrong. by_output: the `records`."""
    written = _first_read(by_output)
    for path in sorted(study.rglob("*")):
        place = path.relative_to(study)
        if path.is_file() and place.parts[0] not in NOT_RESULTS and not in_checkpoint(place):
            yield from _flaw(path, written.get(path))
    for state in sorted(path for name in STATES for path in study.rglob(f"checkpoint*/{name}")):
        yield from ((path, _changed(path)) for path in not_as_written(state) if path.exists())
    for path in sorted(trained.glob("*.safetensors")):
        if not kept_whole(path):
            yield path, _changed(path)


def _first_read(by_output: dict[Path, dict]) -> dict[Path, str]:
    """By path, the digest that an output had when another job first read it.

    Reads before the file was last made do not count: they read another file.
    """
    read = [
        (record["endtime"], Path(path), digest)
        for record in by_output.values()
        for path, digest in record["input_checksums"].items()
    ]
    first: dict[Path, str] = {}
    for end, path, digest in sorted(read):
        if path in by_output and end >= by_output[path]["endtime"]:
            first.setdefault(path, digest.removeprefix("sha256:"))
    return first


def in_checkpoint(path: Path) -> bool:
    """Whether a file is of a checkpoint from which a training goes on."""
    return any(part.partition(".")[0] == "checkpoint" for part in path.parts[:-1])


def _flaw(path: Path, digest: str | None) -> Iterator[tuple[Path, str]]:
    """What is wrong with a file of results, if anything is."""
    if digest is not None:
        if not as_written(path, digest):
            yield path, _changed(path)
        return
    try:
        READERS.get(path.suffix, Path.stat)(path)
    except UserError as error:
        yield path, str(error).removesuffix(f"; {AGAIN}")


def _changed(path: Path) -> str:
    return f"{path} is damaged: its bytes are not those that were written"
