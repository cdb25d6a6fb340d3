"""Write the claims, with verdicts and evidence, as the first page of the report.

Settings: study, its name; model, the shape of its models; objectives, with the seeds and the tokens
          of their runs; checkpoints; test_words; figures, each with name, tables and published.
Inputs:   the claims, a row each (.csv); the specifications of each (.csv).
Outputs:  the page (.html), self-contained.
"""

import argparse
from pathlib import Path

from bottomup import program
from bottomup.figures.claims_table import Study, page
from bottomup.files.tables import read_table


def main(arguments: argparse.Namespace) -> None:
    claims = read_table(arguments.claims, dtype={"seeds": str})
    specifications = read_table(arguments.specifications)
    arguments.page.write_text(page(claims, specifications, arguments.settings), encoding="utf-8")


if __name__ == "__main__":
    parser = program.parser(__doc__)
    for name in ("claims", "specifications", "page"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    program.run(main, parser, Study)
