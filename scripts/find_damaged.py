"""Find the damaged results of a study, and remove them where that is asked for.

A file is damaged if its bytes are not those that a job wrote, or if it cannot be read. Each is a
line, and the exit status is 1 where there is any. With --delete they are removed: the next call of
Snakemake makes them again, and what hangs on them.

Inputs: the study's folder, results/<study>; trained/, the finished runs of all studies.
"""

import argparse
import logging
import sys
from pathlib import Path

from bottomup import program
from bottomup.errors import UserError
from bottomup.workflow.damage import find

LOCKS = Path(".snakemake/locks")


def main(arguments: argparse.Namespace) -> None:
    if not arguments.study.is_dir():
        raise UserError(f"no folder {arguments.study}; expected results/<study>, where it was made")
    if LOCKS.is_dir() and any(LOCKS.iterdir()):
        raise UserError(
            "Snakemake is at work here, and writes what would be read: wait for its end, or, if it "
            "was killed, run snakemake --unlock"
        )
    found = 0
    for path, line in find(arguments.study, arguments.trained):
        found += 1
        print(line, flush=True)
        if arguments.delete:
            path.unlink()
    if not found:
        logging.info("no file is damaged")
    elif arguments.delete:
        logging.info(f"{found} removed: run the study again, and they are made anew")
    else:
        logging.info(f"{found} damaged: --delete removes them, then run the study again")
        sys.exit(1)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("study", type=Path, help="results/<study>")
    parser.add_argument("--trained", type=Path, default=Path("trained"), help="finished runs")
    parser.add_argument("--delete", action="store_true", help="remove what is damaged")
    program.run(main, parser)
