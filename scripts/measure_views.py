"""Measure the views of one run, or of two runs on the same occurrences.

Settings: table (a module of bottomup/tables); run (the columns that name one run or both); options,
    the table's section of the config; unit (of occurrences: only words can be unseen); reading,
    labels and null, see bottomup.tables.Seen.
Inputs: the views of each run; the table of their occurrences (those that a run does not see are
    left out); what else the table reads: annotations, frequencies of tokens.
Outputs: the table (.csv), and the same with values without each block of documents (.parquet).
"""

import importlib
import logging
from typing import Any, Literal

from bottomup import program
from bottomup.files.tables import read_beside, read_table
from bottomup.measures import jackknife
from bottomup.schema import validated
from bottomup.settings import Label, Null, Section
from bottomup.tables import Seen, seen_by_all
from bottomup.views.files import load


class Settings(Section):
    table: str
    run: dict[str, str | int]
    options: dict[str, Any]
    unit: Literal["subword", "word"] = "subword"
    reading: str = "plain"
    labels: tuple[Label, ...] = ()
    null: Null | None = None


def main(arguments):
    settings = arguments.settings
    occurrences = read_beside(arguments.occurrences, *arguments.annotations)
    views = [load(path, len(occurrences), settings.unit) for path in arguments.views]
    occurrences, views = seen_by_all(occurrences, views)
    frequencies = None
    for path in arguments.frequencies:
        frequencies = read_table(path, keep_default_na=False)
    of_text = {"frequencies": frequencies, "reading": settings.reading, "labels": settings.labels}
    seen = Seen(occurrences, *views, **of_text, null=settings.null)
    table = importlib.import_module(f"bottomup.tables.{settings.table}")
    rows = []
    for row in table.rows(seen, validated(table.Settings, settings.options)):
        rows.append(settings.run | row)
        logging.info(", ".join(f"{name} {value}" for name, value in told(row)))
    jackknife.write(rows, arguments.table)


def told(row):
    """A row up to its first fractional number, which is its value."""
    for name, value in row.items():
        yield name, f"{value:.4g}" if isinstance(value, float) else value
        if isinstance(value, float):
            return


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--views", required=True, nargs="+")
    parser.add_argument("--occurrences", required=True)
    parser.add_argument("--annotations", nargs="*", default=[])
    parser.add_argument("--frequencies", nargs="*", default=[])
    parser.add_argument("--table", required=True)
    program.run(main, parser, Settings)
