"""What the programs in `scripts/` share: the settings argument, and errors in one line."""

import argparse
import json
import logging
import os
import sys
from collections.abc import Callable

from pydantic import BaseModel

from bottomup import running
from bottomup.errors import UserError
from bottomup.schema import problems, validated
from bottomup.workflow.leases import lease


def parser(doc: str) -> argparse.ArgumentParser:
    """A parser with the program's docstring as help and the arguments every program has."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
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
        help="how many the job was given: it waits until no other job holds them; with 0 it "
        "computes on the CPU, whatever it sees",
    )
    return parser


def settings(text: str) -> dict:
    """The settings that a rule passes, and with them `code`, the digest of the program."""
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
    """Call `main` on the command line's arguments, with `settings` as a `model` and `code` apart.

    A user's mistake ends in one line, status 1; settings that do not fit, in one line each.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    try:
        arguments = parser.parse_args()
        if arguments.gpus == 0:
            # Read when CUDA starts, which importing a program does not do.
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
        arguments.code = arguments.settings.pop("code", None)
        if model is not None:
            if lines := problems(model, arguments.settings):
                raise UserError("--settings: " + "; ".join(lines))
            arguments.settings = validated(model, arguments.settings)
        running.follow()
        if arguments.gpus:
            lease(arguments.gpus)
        main(arguments)
    except UserError as error:
        sys.exit(f"error: {error}")
