"""Write the explorer: a page of a study's tables that needs no server.

Settings: study, its name; places, the numbers by which models without a fixed color get one;
          untrained, those of them that are not trained.
Inputs:   tables of measures with curves over the layers (.csv, each named after its measure); if
          there are any, the table of heads, the attention of subjects in a few sentences
          (.parquet), the points of t-SNE, and claims; the test split's text, and the tokenizer that
          counts positions in it; the page's templates, beside its module.
Outputs:  the page, and the JavaScript that draws it (the library of a package).
"""

import argparse
from pathlib import Path

from bottomup.plan import program
from bottomup.core.files.tables import read_table
from bottomup.core.files.tokenizers import load_tokenizer
from bottomup.core.settings import Section
from bottomup.figures.style import placed
from bottomup.pages.explorer import library, page, pictures


class Settings(Section):
    study: str
    places: dict[str, int]
    untrained: list[str]


def main(arguments: argparse.Namespace) -> None:
    projected = None
    if arguments.projection:
        table = read_table(arguments.projection, na_filter=False)
        text = read_table(arguments.text, columns=["source"])["source"]
        projected = pictures(table, text, load_tokenizer(arguments.tokenizer))
    settings = arguments.settings
    with placed(settings.places, settings.untrained):
        written = page(
            settings.study,
            {path.stem: read_table(path) for path in arguments.tables},
            arguments.heads and read_table(arguments.heads),
            [table for table in map(read_table, arguments.attention) if len(table)],
            [table for table in map(read_table, arguments.beliefs) if len(table)],
            projected,
            arguments.claims and read_table(arguments.claims),
        )
    arguments.page.write_text(written, encoding="utf-8")
    arguments.library.write_text(library(), encoding="utf-8")


if __name__ == "__main__":
    parser = program.parser(__doc__, "text", "tokenizer", "page", "library")
    for name in ("tables", "attention", "beliefs"):
        parser.add_argument(f"--{name}", nargs="*", type=Path, default=[])
    for name in ("heads", "projection", "claims"):
        parser.add_argument(f"--{name}", nargs="?", type=Path)
    program.run(main, parser, Settings)
