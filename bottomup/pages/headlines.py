"""The figures that the page of a study opens with, and a line on what is seen in each."""

from collections.abc import Callable
from typing import NamedTuple

import pandas as pd

MOST = 6  # models in a line
HEAD = ["panel", "series", "x"]
BOTTOM_UP = "the bottom to the top"


class Headline(NamedTuple):
    """figure: its name. title: what it is about. seen: a function from its points to a sentence on
    what is seen."""

    figure: str
    title: str
    seen: Callable[[pd.DataFrame], str]


def ends(along: str, of: str = "", unit: str = "") -> Callable[[pd.DataFrame], str]:
    """A function: the value of each curve at its first and last place, in the first panel that has
    the quantity.

    along: what lies between these places. of: the quantity, by default the first. unit: by default,
    the quantity.
    """

    def seen(points: pd.DataFrame) -> str:
        quantity = of or points["quantity"].iloc[0]
        points = points[points["quantity"] == quantity]
        points = points[points["panel"] == points["panel"].iloc[0]]
        values = points.groupby("series", sort=False)["y"].agg(["first", "last"])
        phrases = [f"{name} {first:.3g} → {last:.3g}" for name, first, last in values.itertuples()]
        return f"From {along}, {unit or quantity}: {_some(phrases)}."

    return seen


def functions(points: pd.DataFrame) -> str:
    """How many heads of each model have a function."""
    held = points[~points["quantity"].isin(["relevance", "confidence"])]
    phrases = [
        f"{model} {len(held[held['panel'] == model].drop_duplicates(HEAD))} "
        f"of {len(heads.drop_duplicates(HEAD))}"
        for model, heads in points.groupby("panel", sort=False)
    ]
    return f"Heads with a function: {_some(phrases)}."


def confidence(points: pd.DataFrame) -> str:
    """The largest confidence among the heads of each model."""
    highest = points[points["quantity"] == "confidence"].groupby("panel", sort=False)["y"].max()
    phrases = [f"{model} {value:.3g}" for model, value in highest.items()]
    return f"The most confident head: {_some(phrases)}."


def _some(phrases: list[str]) -> str:
    return "; ".join(phrases[:MOST]) + (
        f"; and {len(phrases) - MOST} more" if len(phrases) > MOST else ""
    )


# For each kind, the first of these figures that a study has.
KINDS = [
    [
        Headline(
            "mutual_information_input",
            "What each layer knows of the token that it read",
            ends(BOTTOM_UP, "mutual information", "nats"),
        )
    ],
    [
        Headline(
            "distance_between_tasks",
            "How far apart two models are",
            ends(BOTTOM_UP),
        )
    ],
    [
        Headline(
            "distance_between_layers",
            "How much each layer changes what the one below it has",
            ends(BOTTOM_UP),
        )
    ],
    [
        Headline("head_functions", "What attention heads do", functions),
        Headline("head_importance", "How sure attention heads are", confidence),
    ],
    [
        Headline(
            "learned_over_training",
            "What is learned, and when",
            ends("the first step to the end of training"),
        )
    ],
]


def headlines(points: dict[str, pd.DataFrame]) -> list[dict[str, str]]:
    """The `name`, `title` and `seen` of the figures to open with.

    points: what each figure of the study draws, by its name. Published points are left out, and so
    are figures without a point of ours.
    """
    ours = {name: drawn[drawn["source"] == "ours"] for name, drawn in points.items()}
    chosen = [next((one for one in kind if len(ours.get(one.figure, ()))), None) for kind in KINDS]
    return [
        {"name": one.figure, "title": one.title, "seen": one.seen(ours[one.figure])}
        for one in chosen
        if one
    ]
