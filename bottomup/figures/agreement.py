"""How often the form of a verb that agrees with its subject is the more probable one, by what
stands between the two: a panel for each score.

Not in the papers; the question is that of Linzen et al. (2016) and Goldberg (2019).
"""

import pandas as pd
from matplotlib.figure import Figure

from bottomup.figures import style
from bottomup.figures.means import over_runs
from bottomup.figures.points import NoRowsError, Tables, in_order, join, points, table
from bottomup.measures.jackknife import UNIT, WITHOUT

NEEDED = [
    *("objective", "seed", "by", "score", "attractors", "number"),
    *("accuracy", "ci_low", "ci_high", WITHOUT, "n"),
]
SCORES = {"verb": "the verb alone", "sentence": "the whole sentence"}
ATTRACTORS = {"0": "none", "1+": "one or more", "all": "any number"}
NGRAMS = "5-grams"
OF_NGRAMS = style.Look("5-grams of the training text", "#000000", "x", (0, (1, 1.2)))
CHANCE = 0.5
APART = 0.5  # of the places of groups, which nothing joins


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `agreement`: a panel for each score, with both numbers
    together; `x` is the number of attractors, and 5-grams are a series of their own.

    Raises NoRowsError if no row has verbs enough.
    """
    measured = table(tables, "agreement", NEEDED)
    both = measured[measured["number"] == "both"].dropna(subset="accuracy")
    if both.empty:
        raise NoRowsError("the text has too few verbs that agree with a noun")
    of_model = both[both["by"] != NGRAMS].assign(series=lambda rows: rows["objective"])
    # The same beside every model.
    same = both[both["by"] == NGRAMS].drop_duplicates(["score", "attractors"])
    named = pd.concat([of_model, same.assign(series=NGRAMS)])
    named = named.rename(columns={"attractors": "x", "accuracy": "value"})
    parts = [_points(named[named["score"] == score], score) for score in SCORES]
    drawn = join(parts)
    figure = Figure(figsize=(7.6, 3.4), layout="constrained")
    panels = figure.subplots(1, len(SCORES), sharey=True)
    for axes, title, part in zip(panels, SCORES.values(), parts, strict=True):
        style.curves(axes, part.assign(x=part["x"].map([*ATTRACTORS].index)), look, reach=APART)
        axes.set_title(title)
        axes.set_xticks(range(len(ATTRACTORS)), [_named(part, group) for group in ATTRACTORS])
        axes.set_xlabel("nouns of the other number between")
    panels[0].set_ylabel("accuracy")
    style.level(panels[-1], CHANCE, "chance")
    style.across(panels[0], CHANCE)
    looks = {name: look(name) for name in ordered(drawn["series"])}
    style.legend(figure, style.key(drawn, looks), columns=4)
    return figure, drawn


def _points(rows: pd.DataFrame, score: str) -> pd.DataFrame:
    """The points of one panel, from few attractors to many."""
    rows = over_runs(in_order(rows, "x", ATTRACTORS), ["series", "x"], UNIT)
    return points(rows, panel=score, quantity="accuracy")


def _named(part: pd.DataFrame, group: str) -> str:
    """A group, and the number of verbs."""
    of_group = part.loc[part["x"] == group, "n"]
    return f"{ATTRACTORS[group]}\n{style.count(of_group, 'verb')}"


def look(series: str) -> style.Look:
    return OF_NGRAMS if series == NGRAMS else style.objective(series)


def ordered(series: pd.Series) -> list[str]:
    """Objectives in the order of other figures, then 5-grams."""
    present = set(series)
    return [*style.ordered(present - {NGRAMS}), *(present & {NGRAMS})]
