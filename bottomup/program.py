"""What the programs in `scripts/` share: the settings argument, and errors in one line."""

import argparse
import ast
import logging
import sys
from collections.abc import Callable

from bottomup.errors import UserError


def parser(doc: str) -> argparse.ArgumentParser:
    """A parser with the program's docstring as help and the arguments every program has."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--settings",
        type=settings,
        default={},
        metavar="DICT",
        help="what the result depends on: a Python or JSON-like dict of plain values",
    )
    return parser


def settings(text: str) -> dict:
    """The settings that a rule passes, and with them `code`, the digest of the program."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError) as error:
        raise argparse.ArgumentTypeError(f"not a dict of plain values: {text}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"expected a dict, found {type(value).__name__}")
    return value


def run(main: Callable[[argparse.Namespace], None], parser: argparse.ArgumentParser) -> None:
    """Call `main` on the command line's arguments; a user's mistake ends in one line, status 1."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    try:
        arguments = parser.parse_args()
        arguments.code = arguments.settings.pop("code", None)
        main(arguments)
    except UserError as error:
        sys.exit(f"error: {error}")
