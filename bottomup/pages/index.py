"""The first page of a study: its question, its size, what is seen, and every figure."""

import io
import math
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jinja2
import pandas as pd
from docutils.core import publish_parts
from docutils.utils import SystemMessage
from markupsafe import Markup
from PIL import Image

from bottomup.claims.comparison import CURVE, beside, correlate
from bottomup.claims.words import NOT_MEASURED
from bottomup.core.errors import UserError
from bottomup.core.files import opening
from bottomup.pages import claims as claims_page
from bottomup.pages import render
from bottomup.pages.claims import Objective, Size, checked, counts, figures_of, shown_number
from bottomup.pages.headlines import headlines
from bottomup.pages.signs import VERDICTS, sign

WIDTH = 1024  # of a light image, in pixels
QUALITY = 45  # of WebP, 0 to 100
MOST_NAMES = 8  # panels, or curves, in the text that replaces an image


class Figure(claims_page.Figure):
    """A figure: also the module that draws it, its category in the report, and the measures among
    its tables that the explorer shows."""

    module: str
    category: str
    explored: list[str]

    @property
    def title(self) -> str:
        return self.name.replace("_", " ")


class Study(Size):
    """What the page says of its study: also whether any objective is trained, the languages of its
    text, its figures, and the values that captions state; repository, the web address of the
    repository's files, None if it has none; text, the digest of the settings of its text (see
    `corpus.reference`)."""

    trained: bool
    languages: list[str]
    figures: list[Figure]
    config: dict[str, Any]
    repository: str | None
    text: str


@dataclass(frozen=True)
class Drawn:
    """A drawn figure.

    see, explained: what to see in it, and the rest of its caption. points: what it draws. size:
    width and height of its image, in pixels.
    """

    figure: Figure
    see: Markup
    explained: Markup
    points: pd.DataFrame
    size: tuple[int, int]

    @property
    def has_published(self) -> bool:
        return self.points["source"].eq("published").any()

    def instead(self) -> str:
        """The text in place of the image: its panels and its curves."""
        names = {
            name: self.points[name].dropna().astype(str).unique() for name in ("panel", "series")
        }
        phrases = [
            f"{name}: {_some(list(values))}" for name, values in names.items() if len(values)
        ]
        if self.has_published:
            phrases.append("with published values")
        return "; ".join([self.figure.title, *phrases])


def _some(names: list[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def light(png: Path) -> tuple[bytes, int, int]:
    """An image as WebP, at most `WIDTH` wide, with its width and height in pixels; UserError if the
    file is damaged."""
    with opening(png):
        image = Image.open(png).convert("RGB")
    image.thumbnail((WIDTH, image.height), Image.Resampling.LANCZOS)
    written = io.BytesIO()
    image.save(written, "WEBP", quality=QUALITY)
    return written.getvalue(), *image.size


def caption(path: Path, config: dict) -> tuple[Markup, Markup]:
    """What to see in a figure, and the rest, from its caption in docs/captions: the first paragraph
    and the others, as HTML. config: the values of the study that a caption may state.

    Raises UserError for a caption that cannot be shown.
    """
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    try:
        text = environment.from_string(path.read_text(encoding="utf-8"))
        filled = text.render(snakemake=SimpleNamespace(config=config))
        first, _, others = filled.strip().partition("\n\n")
        return _html(first), _html(others)
    except (jinja2.TemplateError, SystemMessage, UnicodeDecodeError) as error:
        raise UserError(
            f"{path} cannot be shown: {' '.join(str(error).split())}; allowed: reStructuredText "
            "in UTF-8, with values of the study as other captions state them; mend it"
        ) from error


def _html(text: str) -> Markup:
    closed = {"file_insertion_enabled": False, "raw_enabled": False, "halt_level": 2}
    closed |= {"_disable_config": True}  # files of the user, such as ~/.docutils, change text
    return Markup(publish_parts(text, writer="html", settings_overrides=closed)["body"])


def beside_published(points: pd.DataFrame) -> list[dict]:
    """A row, as text, for each curve that the papers also have: panel, series, quantity, `ours` and
    `published` at their first and last place, and `rank_correlation` (Spearman's of both curves),
    empty if it is not known. points: those that a figure draws."""
    if not points["source"].eq("published").any():
        return []
    both = beside(points.assign(figure=""))
    if both.empty:
        return []
    correlations = correlate(both).set_index(CURVE)["rank_correlation"]
    return [
        dict(zip(CURVE, curve, strict=True))
        | {name: _ends(rows.set_index("x")[name].dropna()) for name in ("ours", "published")}
        | {"rank_correlation": shown_number(correlations.get(curve, math.nan))}
        for curve, rows in both.groupby(CURVE, sort=False)
    ]


def _ends(values: pd.Series) -> str:
    ends = [*values.items()]
    return " → ".join(
        f"{shown_number(value)} at {f'{place:g}' if isinstance(place, float) else place}"
        for place, value in ends[:1] + ends[1:][-1:]
    )


def seen_in(figure: Figure, claims: pd.DataFrame | None) -> list[dict]:
    """The claims that a figure shows, sorted by the rank of their verdict, which is one more
    column.

    claims: with a column `figures`.
    """
    if claims is None:
        return []
    seen = claims[[figure.name in names for names in claims["figures"]]]
    seen = seen.assign(rank=seen["verdict"].map(list(VERDICTS).index))
    return seen.sort_values("rank", kind="stable").to_dict("records")


def sizes(objectives: dict[str, Objective]) -> dict[str, list[str]]:
    """The objectives by the number of their runs and of their tokens, in words."""
    by_size: dict[str, list[str]] = {}
    for name, runs in objectives.items():
        by_size.setdefault(runs.size, []).append(name)
    return by_size


def words_of(splits: pd.DataFrame) -> dict[str, int]:
    """The words of the source side in each split, over all origins. splits: `corpus/splits.csv`."""
    return splits.groupby("split")["source_words"].sum().to_dict()


def not_ready(claims: pd.DataFrame) -> list[str]:
    """Each model that has not learned enough for some claim, with why, once."""
    return list(
        dict.fromkeys(model for text in claims["not_ready"] if text for model in text.split("; "))
    )


def page(
    study: Study,
    drawn: list[Drawn],
    splits: pd.DataFrame,
    claims: pd.DataFrame | None,
    rule: str,
    text: str | None = None,
) -> str:
    """The page: what the study is, headline figures, verdicts, and all figures in their order.

    splits: `corpus/splits.csv`. claims: `measures/claims.csv`, None if nothing was judged; they are
    left out if none of them is measured. rule: the place of the figures' rule, `file:line`. text: a
    sentence on the study's text, if there is one to show.
    """
    if claims is not None and (claims["verdict"] == NOT_MEASURED).all():
        claims = None
    if claims is not None:
        claims = checked(claims)
        seen = [figures_of(claim, study.figures) for claim in claims.to_dict("records")]
        claims = claims.assign(figures=seen)
    return render(
        "index.html",
        study=study,
        sizes=sizes(study.objectives),
        words=words_of(splits),
        text=text,
        drawn={each.figure.name: each for each in drawn},
        headlines=headlines({each.figure.name: each.points for each in drawn}),
        categories=list(dict.fromkeys(figure.category for figure in study.figures)),
        beside={each.figure.name: beside_published(each.points) for each in drawn},
        claims={figure.name: seen_in(figure, claims) for figure in study.figures},
        counts=None if claims is None else counts(claims),
        not_ready=[] if claims is None else not_ready(claims),
        looks=VERDICTS,
        sign=sign,
        rule=rule,
    )
