"""Measure one part of a table: of a run, of a run under a reading, of two runs, or of a run with
fewer heads.

Settings: table, a module of bottomup/tables; sees, of_heads, unit, reading, labels and null, see
          `bottomup.core.settings.Measured`; run, the columns that name what the part is about;
          options, what the rows depend on (`Settings` of that module).
Inputs:   files by name, NAME=FILE: what the table reads.
Outputs:  the table (.csv), and the same with values without each block of documents (.parquet), or
          one of these. A table of heads has no rows for a model whose heads cannot be looked at.
"""

import argparse
import importlib
import logging
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd

from bottomup.plan import program
from bottomup.core.errors import UserError
from bottomup.core.files.tables import write_estimates
from bottomup.core.schema import validated
from bottomup.core.settings import Measured
from bottomup.tables import mistake

NAMES = ("objective", "seed", "attention", "method", "penalty")  # in this order; JSON sorts them


def main(arguments: argparse.Namespace) -> None:
    settings = arguments.settings
    files: dict[str, list[Path]] = {}
    for name, path in arguments.reads:
        files.setdefault(name, []).append(path)
    table = importlib.import_module(f"bottomup.tables.{settings.table}")
    seen = importlib.import_module(f"bottomup.{settings.sees}.seen").see(files, settings)
    if arguments.batch_tokens:
        seen = replace(seen, batch_tokens=arguments.batch_tokens)
    if settings.of_heads and (line := seen.subject.without_heads(settings.of_heads)):
        logging.info("left out: %s", line)
        rows = pd.DataFrame(columns=table.COLUMNS)
    else:
        rows = table.rows(seen, validated(table.Settings, settings.options))
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(logged(rows))
    if wrong := mistake(frame, settings):
        raise UserError(f"bottomup/tables/{settings.table}.py: rows gives {wrong}")
    write_estimates(named(frame, settings.run), arguments.writes)


def named(frame: pd.DataFrame, run: dict) -> pd.DataFrame:
    """The table with the columns that name its run in front; they replace columns of these
    names."""
    names = {name: run[name] for name in (*NAMES, *run) if name in run}
    rest = frame.drop(columns=[*names], errors="ignore")
    values = {name: math.nan if value is None else value for name, value in names.items()}
    return rest.assign(**values)[[*names, *rest]]


def logged(rows: Iterable[dict]) -> Iterator[dict]:
    """Each row, after it is logged up to its first float, which is its value."""
    for row in rows if isinstance(rows, Iterable) else [rows]:
        if not isinstance(row, dict):
            raise UserError(f"rows gives a {type(row).__name__}; allowed: dictionaries by column")
        words = []
        for name, value in row.items():
            is_value = isinstance(value, float)
            words.append(f"{name} {value:.4g}" if is_value else f"{name} {value}")
            if is_value:
                break
        logging.info(", ".join(words))
        yield row


def pair(text: str) -> tuple[str, Path]:
    """The name and the path of NAME=FILE."""
    name, _, path = text.partition("=")
    if not path:
        raise argparse.ArgumentTypeError(f"expected NAME=FILE, found {text}")
    return name, Path(path)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--reads", type=pair, nargs="+", required=True, metavar="NAME=FILE")
    parser.add_argument("--writes", type=Path, nargs="+", required=True, metavar="FILE")
    parser.add_argument("--batch-tokens", type=int, default=0, help="padded, to be read at once")
    program.run(main, parser, Measured)
