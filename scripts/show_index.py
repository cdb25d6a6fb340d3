"""Write the first page of a study: its size, headline figures, verdicts, and all figures.

Settings: study, its name; model, the shape of its models; objectives, with the seeds and the tokens
          of their runs; trained, whether any is; checkpoints; beside, other studies; languages;
          text, the digest of its settings; figures, each with name, module, category, tables,
          explored and published (see bottomup/pages/index.py); config, the values that captions
          state; repository, the web address of the repository's files, or null.
Inputs:   the figures (.png), the points that they draw (.csv) and their captions (.rst), in the
          order of the settings; the sizes of the splits of the text; the table of claims, if any
          were judged; the page's templates, beside its module.
Outputs:  the page, and light images of the figures (.webp), in the order of the settings.
"""

import argparse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bottomup.plan import program
from bottomup.core.files.tables import read_table
from bottomup.corpus.reference import notice
from bottomup.pages.index import Drawn, Study, caption, light, page

RULES = Path("rules/figures.smk")


def main(arguments: argparse.Namespace) -> None:
    study, drawn = arguments.settings, []
    with ThreadPoolExecutor() as threads:  # most of the time goes into images
        images = [*threads.map(light, arguments.images)]
    for figure, (image, width, height), csv, text, lighter in zip(
        study.figures,
        images,
        arguments.points,
        arguments.captions,
        arguments.light,
        strict=True,
    ):
        lighter.write_bytes(image)
        captions = caption(text, study.config)
        drawn.append(Drawn(figure, *captions, read_table(csv), (width, height)))
    splits = read_table(arguments.splits)
    claims = arguments.claims and read_table(arguments.claims)
    text = notice(study.text, arguments.splits)
    written = page(study, drawn, splits, claims, rule(), text)
    arguments.page.write_text(written, encoding="utf-8")


def rule() -> str:
    """The current place of the figures' rule, `file:line`. It is only shown, and no result depends
    on it."""
    lines = RULES.read_text(encoding="utf-8").splitlines()
    line = next(n for n, line in enumerate(lines, start=1) if 'f"plot_{name}"' in line)
    return f"{RULES.as_posix()}:{line}"


if __name__ == "__main__":
    parser = program.parser(__doc__, "splits", "page")
    for name in ("images", "points", "captions", "light"):
        parser.add_argument(f"--{name}", nargs="*", type=Path, default=[])
    parser.add_argument("--claims", nargs="?", type=Path)
    program.run(main, parser, Study)
