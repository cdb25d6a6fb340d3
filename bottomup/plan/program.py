"""What the programs in `scripts/` share: the settings argument, and errors in one line."""

import argparse
import json
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel

from bottomup.plan import planned  # first: it watches the imports that follow
from bottomup.core import running
from bottomup.core.disk import about_the_disk
from bottomup.core.errors import UserError
from bottomup.core.schema import problems, validated
from bottomup.plan.leases import lease

WARNING = "warning: "  # the beginning of a line that the terminal shows
DONE = "done"  # the last line of a job's log, if its program ended well


def parser(doc: str, *paths: str) -> argparse.ArgumentParser:
    """A parser with the program's docstring as help, the arguments of every program and, for each
    of `paths`, one that must be given. @FILE stands for the lines of a file, since a command line
    has room for thousands of paths, not for those of all pairs of a hundred runs."""
    parser = argparse.ArgumentParser(
        description=doc,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        fromfile_prefix_chars="@",
        epilog="@FILE stands for the lines of a file, each an argument.",
    )
    parser.add_argument(
        "--settings",
        type=settings,
        default={},
        metavar="JSON",
        help="what the result depends on: sections of the config, and names",
    )
    parser.add_argument(
        "--gpus",
        type=int,
        metavar="N",
        help="GPUs that the job was given: it waits until no other job holds them; with 0 it "
        "computes on the CPU, whatever it sees",
    )
    for name in paths:
        parser.add_argument(f"--{name}", type=Path, required=True)
    return parser


def settings(text: str) -> dict:
    """The settings that a rule passes, including `code`, the digest of the program."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {text}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"expected an object, found {type(value).__name__}")
    return value


def run(
    main: Callable[[argparse.Namespace], None],
    parser: argparse.ArgumentParser,
    model: type[BaseModel] | None = None,
) -> None:
    """Call `main` on the command line's arguments: `settings`, checked as a `model` if there is
    one, without `code`, which is an argument of its own.

    A user's mistake ends in one line and status 1, and so do a disk that cannot be written, and
    code or packages that are not those of the plan; wrong settings end in one line each.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(_Lines("%(asctime)s %(message)s", datefmt="%H:%M:%S"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    try:
        arguments = parser.parse_args()
        if arguments.gpus == 0:
            # CUDA reads this when it starts, which is after the import of a program.
            os.environ.update(CUDA_VISIBLE_DEVICES="", BOTTOMUP_DEVICE="cpu")
        arguments.code = arguments.settings.pop("code", None)
        given = vars(arguments).copy()
        if model is not None:
            if lines := problems(model, arguments.settings):
                raise UserError("--settings: " + "; ".join(lines))
            arguments.settings = validated(model, arguments.settings)
        running.follow()
        if arguments.code is not None:  # from a rule; by hand, a user has just typed the arguments
            _tell(given)
        if isinstance(arguments.code, dict):
            planned.require(arguments.code)
        if arguments.gpus and os.environ.get("BOTTOMUP_DEVICE", "") in ("", "cuda"):
            lease(arguments.gpus)
        main(arguments)
        if arguments.code is not None:
            logging.info(DONE)
    except UserError as error:
        sys.exit(f"error: {error}")
    except Exception as error:
        if not (line := about_the_disk(error)):
            raise
        sys.exit(f"error: {line}")


class _Lines(logging.Formatter):
    """Marks our own warnings, which a study shows on the terminal (see `plan.progress`)."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        if record.levelno == logging.WARNING and record.name.startswith("bottomup"):
            record.message = f"{WARNING}{record.message}"
        return super().formatMessage(record)


def _tell(given: dict) -> None:
    """Says at the head of a job's log which program computes what, from what, by which settings."""
    logging.info("program: %s", sys.argv[0])
    for name, value in given.items():
        if name == "settings":
            logging.info("settings: %s", json.dumps(value, ensure_ascii=False))
        elif name != "code" and value not in (None, []):
            several = isinstance(value, list | tuple)
            logging.info("%s: %s", name, " ".join(map(str, value)) if several else value)
