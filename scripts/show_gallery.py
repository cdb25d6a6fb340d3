"""Write the gallery: a page of all figures of a study, which needs no server.

Settings: study, its name; repository, the web address of the repository's files, or null; figures,
          each with name, module, category, tables, explored, published and copied (see
          bottomup/pages/gallery.py); config, the values that captions state.
Inputs:   the figures (.png), the points that they draw (.csv) and their captions (.rst), in the
          order of the settings; the table of claims, if any were judged; the page's templates,
          beside its module.
Outputs:  the page (index.html); beside it the folders images, with light images (.webp), and
          points, with the points of the figures that copy them (.csv).
"""

import argparse
from pathlib import Path
from typing import Any

from bottomup import program
from bottomup.files.tables import read_table
from bottomup.pages.gallery import Drawn, Figure, caption, light, page
from bottomup.settings import Section

RULES = Path("rules/figures.smk")


class Settings(Section):
    study: str
    repository: str | None
    figures: list[Figure]
    config: dict[str, Any]


def main(arguments: argparse.Namespace) -> None:
    settings, folder = arguments.settings, arguments.page.parent
    drawn = []
    for figure, png, csv, text in zip(
        settings.figures, arguments.images, arguments.points, arguments.captions, strict=True
    ):
        image, *size = light(png.read_bytes())
        write(folder / "images" / f"{figure.name}.webp", image)
        points = read_table(csv)
        if figure.copied:
            copy = points.to_csv(index=False, float_format="%.6g").encode()
            write(folder / "points" / f"{figure.name}.csv", copy)
        told = caption(text.read_text(encoding="utf-8"), settings.config)
        drawn.append(Drawn(figure, *told, points, tuple(size)))
    claims = arguments.claims and read_table(arguments.claims)
    written = page(settings.study, drawn, claims, rule(), settings.repository)
    write(arguments.page, written.encode())


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def rule() -> str:
    """The current place of the rule of figures, `file:line`: only shown, no result depends on
    it."""
    lines = RULES.read_text(encoding="utf-8").splitlines()
    line = next(n for n, line in enumerate(lines, start=1) if 'f"plot_{name}"' in line)
    return f"{RULES.as_posix()}:{line}"


if __name__ == "__main__":
    parser = program.parser(__doc__)
    for name in ("images", "points", "captions"):
        parser.add_argument(f"--{name}", nargs="*", type=Path, default=[])
    parser.add_argument("--claims", nargs="?", type=Path)
    parser.add_argument("--page", required=True, type=Path)
    program.run(main, parser, Settings)
