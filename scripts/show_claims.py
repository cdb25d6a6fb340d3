"""Write the claims, with verdicts and evidence, as a page.

Settings: study, its name; model, the shape of its models; objectives, with the seeds and the tokens
          of their runs; checkpoints; beside, other studies; figures, each with name, tables and
          published; tables, by name, that claims read; halves, the objectives trained on halves
          of the text, and pwcca, by which these are compared.
Inputs:   the claims, a row each (.csv); the specifications of each (.csv); the distances between
          runs (.parquet), if there are halves.
Outputs:  the page (.html), self-contained.
"""

import argparse
from pathlib import Path

from bottomup.plan import program
from bottomup.claims.tables import load
from bottomup.claims.training_text import description
from bottomup.core.files.tables import read_table
from bottomup.pages.claims import Study, page


def main(arguments: argparse.Namespace) -> None:
    claims = read_table(arguments.claims, dtype={"seeds": str})
    specifications = read_table(arguments.specifications)
    study, notes = arguments.settings, []
    if arguments.between_runs:
        path = arguments.between_runs
        tables = load([path], {path.stem: study.pwcca}, {})
        notes = [description(tables, objective) for objective in study.halves]
    arguments.page.write_text(page(claims, specifications, study, notes), encoding="utf-8")


if __name__ == "__main__":
    parser = program.parser(__doc__, "claims", "specifications", "page")
    parser.add_argument("--between-runs", nargs="?", type=Path)
    program.run(main, parser, Study)
