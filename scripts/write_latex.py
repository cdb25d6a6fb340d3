"""Write one of the main tables as LaTeX.

Settings: table, a name of bottomup/pages/latex.py; options of that table, for example
          {"estimate": {"n_clusters": 1000, "n_tokens": 400}}.
Inputs:   the table of measures that it is made from (.csv).
Outputs:  the table (.tex), for \\input in a document.
"""

import argparse
from typing import Any

from bottomup.plan import program
from bottomup.core.files.tables import read_table
from bottomup.core.settings import Section
from bottomup.pages.latex import latex


class Settings(Section):
    table: str
    options: dict[str, Any]


def main(arguments: argparse.Namespace) -> None:
    settings = arguments.settings
    text = latex(settings.table, read_table(arguments.measured), **settings.options)
    arguments.latex.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    program.run(main, program.parser(__doc__, "measured", "latex"), Settings)
