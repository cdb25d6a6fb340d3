"""Draw one figure from tables: PNG, PDF, and a CSV of its points.

Settings: figure, a module of bottomup/figures; title, the question above it; options of the
          figure, for example {"objective": "lm"}; tables, the name of each and the number of
          its files, which are joined; places, the numbers by which models without a fixed color
          get one; untrained, those of them that are not trained.
Inputs:   tables (.csv, .parquet, or .jsonl for metrics), published curves.
Outputs:  the figure as PNG and PDF, its points as CSV. Values that rest on too few cases are left
          out, and the figure says so. It also says if there is nothing to draw.
"""

import argparse
import importlib
import logging
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from bottomup.plan import program
from bottomup.core.errors import UserError
from bottomup.core.files.tables import below, read_table, write_table
from bottomup.core.settings import Section
from bottomup.figures.page import note, nothing, save, title
from bottomup.figures.points import COLUMNS, NoRowsError, Tables, that_rest_on_enough
from bottomup.figures.ranges import differ
from bottomup.figures.style import placed
from bottomup.published import load_published


class Settings(Section):
    figure: str
    title: str
    options: dict[str, Any]
    tables: list[tuple[str, int]]
    places: dict[str, int]
    untrained: list[str]


def main(arguments: argparse.Namespace) -> None:
    settings = arguments.settings
    tables = read_all(settings.tables, arguments.tables)
    tables |= {path.stem: load_published(path.stem, path.parent) for path in arguments.published}
    tables, left_out = that_rest_on_enough(tables)
    try:
        with placed(settings.places, settings.untrained):
            figure, points = drawn(settings.figure, tables, settings.options)
    except NoRowsError as error:
        figure, points = nothing(), pd.DataFrame(columns=COLUMNS)
        left_out = f"{left_out}\nNothing to draw: {error}".strip()
    if left_out:
        logging.info(left_out.replace("\n", "; "))
    title(figure, settings.title)
    if remarks := "\n".join(filter(None, [differ(figure), left_out])):
        note(figure, remarks)
    write_table(points.convert_dtypes(), arguments.csv)
    save(figure, arguments.png, arguments.pdf)


def drawn(name: str, tables: Tables, options: dict[str, Any]) -> tuple[Figure, pd.DataFrame]:
    """What the module of a figure draws; UserError unless it is a figure with its points."""
    given = importlib.import_module(f"bottomup.figures.{name}").draw(tables, **options)
    match given:
        case (Figure(), pd.DataFrame(columns=columns) as points) if [*columns] == COLUMNS:
            if points.empty:
                raise NoRowsError(f"bottomup/figures/{name}.py gives no points")
            return given
    raise UserError(
        f"bottomup/figures/{name}.py: draw gives something else than a figure and its points; "
        f"allowed: both, and points with the columns {', '.join(COLUMNS)}, as from "
        "bottomup.figures.points.points"
    )


def read_all(numbers: list[tuple[str, int]], paths: list[Path]) -> dict[str, pd.DataFrame]:
    """The tables by name; the files of a table, so many by `numbers`, one below the other."""
    names = [name for name, n in numbers for _ in range(n)]
    parts: dict[str, list[pd.DataFrame]] = {}
    for name, path in zip(names, paths, strict=True):
        parts.setdefault(name, []).append(read_table(path))
    return {name: below(tables) for name, tables in parts.items()}


if __name__ == "__main__":
    parser = program.parser(__doc__, "png", "pdf", "csv")
    parser.add_argument("--tables", required=True, nargs="+", type=Path)
    parser.add_argument("--published", nargs="*", type=Path, default=[], metavar="CSV")
    program.run(main, parser, Settings)
