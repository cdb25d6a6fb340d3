"""Find the damaged results of a study, and delete them on request.

A file is damaged if its bytes are not those that a job wrote, or if it cannot be read. Each damaged
file is a line, and the exit status is 1 if there are any. --delete deletes those that a job is on
record as having made, and the last line then says how to make them again. Others stay.

Inputs: the study's folder, results/<study>; trained/, the finished runs of all studies.
"""

import argparse
import logging
import os
import sys
from pathlib import Path

from bottomup.plan import program
from bottomup.core.errors import UserError
from bottomup.core.running import require_idle
from bottomup.plan.damage import find, in_checkpoint
from bottomup.plan.metadata import records


def main(arguments: argparse.Namespace) -> None:
    if not arguments.study.is_dir():
        raise UserError(f"no folder {arguments.study}; expected results/<study>, where it was made")
    study = Path(os.path.relpath(os.path.abspath(arguments.study)))  # as records have it
    require_idle(study)
    by_output = records()
    if not any(path.is_relative_to(study) for path in by_output):
        raise UserError(
            f"no job is on record as having made anything in {study}; expected: to be called where "
            "Snakemake runs, with results/<study>"
        )
    damaged, left = [], 0
    for path, line in find(study, arguments.trained, by_output):
        ours = path in by_output or path.parent == arguments.trained
        ours |= path.is_relative_to(study) and in_checkpoint(path.relative_to(study))
        print(line if ours else f"{line}; no job is on record as having made it", flush=True)
        damaged.append(path)
        if arguments.delete and ours:
            path.unlink()
        left += path.exists()
    if not damaged:
        logging.info("no file is damaged")
    if left:
        advice = "" if arguments.delete else ": --delete removes those that a job made"
        logging.info(f"{left} damaged{advice}")
    # Snakemake does not make a missing file by itself if everything made from it is there.
    if arguments.delete and (again := [str(path) for path in damaged if path in by_output]):
        logging.info("with the options of the study: snakemake %s; then the study", " ".join(again))
    if left:
        sys.exit(1)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("study", type=Path, help="results/<study>")
    parser.add_argument("--trained", type=Path, default=Path("trained"), help="finished runs")
    parser.add_argument("--delete", action="store_true", help="remove what is damaged")
    program.run(main, parser)
