"""Results that a kill or a failed job took away, while what was made from them is there.

Snakemake deletes the output of a job before the job starts, and when the job fails. Later it does
not make this output again if everything made from it is there. So the file stays missing if the
reason for the job is gone by then, for example because an edit was taken back.
"""

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from bottomup.core.errors import UserError, writing
from bottomup.core.running import require_idle
from bottomup.plan.metadata import recorded, records


def make_again_what_was_lost(study: Path, snakemake: Path = Path(".snakemake")) -> None:
    """Have Snakemake make the lost files of a study again, with what was made from them; a line on
    stderr names one.

    study: the study's folder, as it stands in paths of outputs. snakemake: the folder of
    Snakemake's records.

    It does nothing while a Snakemake runs the study: files are then missing because they are being
    made.

    Raises UserError if Snakemake cannot be told.
    """
    try:
        require_idle(study)
    except (UserError, OSError):
        return
    metadata, incomplete = snakemake / "metadata", snakemake / "incomplete"
    all_records = [*recorded(metadata)]
    gone = lost(study, {path: record for _, path, record in all_records}, {*records(incomplete)})
    made_from_it = (
        file.relative_to(metadata)
        for file, _, record in (all_records if gone else [])
        if not gone.isdisjoint(map(Path, record["input"] or []))
    )
    _mark(incomplete / name for name in made_from_it)
    if gone:
        print(
            f"missing since a job failed or was killed: {min(gone)} and {len(gone) - 1} more; made "
            "again where they are needed, and then what is made from them",
            file=sys.stderr,
        )


def _mark(marks: Iterable[Path]) -> None:
    """Mark jobs like those that did not end: Snakemake then runs them again, and first what they
    read."""
    for mark in marks:
        with writing(mark):
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.write_text(json.dumps({"external_jobid": None}))


def lost(study: Path, by_output: dict[Path, dict], started: set[Path]) -> set[Path]:
    """The files below `study` that Snakemake deleted and that nothing makes it make again: missing,
    and read by a job whose output is there.

    If its job was killed, the file is in `started`; if its job failed, it has no record (see
    `plan.records`). A file that a user deleted, for example to save space, has a record, and is not
    lost.

    by_output: the records. started: outputs of jobs that started and did not end.
    """
    # Jobs read tens of thousands of inputs, which are a few hundred files, and all are there.
    inputs = {name for record in by_output.values() for name in record["input"] or []}
    missing = {name for name in inputs if name.startswith(f"{study}/") and not os.path.exists(name)}
    if not missing:
        return set()
    read = {
        Path(name)
        for path, record in by_output.items()
        if path.exists()
        for name in missing.intersection(record["input"] or [])
    }
    return {name for name in read if name not in by_output or name in started}
