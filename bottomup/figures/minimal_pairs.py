"""How often the acceptable one of two sentences is the more probable one, by phenomenon, beside
published models.

Not in the papers; the question and the published values are those of Warstadt et al. (2020).
"""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bottomup.figures import style
from bottomup.figures.agreement import APART, CHANCE, NGRAMS, look, ordered
from bottomup.figures.means import over_runs
from bottomup.figures.points import Tables, join, points, published_in, table
from bottomup.measures.jackknife import UNIT, WITHOUT

NEEDED = [
    *("objective", "seed", "by", "phenomenon", "set"),
    *("accuracy", "ci_low", "ci_high", WITHOUT, "n"),
]
ALL = "all"
THEIRS = {
    "5-gram": style.Look("5-grams, published", "#000000", "x"),
    "LSTM": style.Look("LSTM, published", style.GRAY, "v"),
    "GPT-2": style.Look("GPT-2, published", style.GRAY, "*"),
}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `minimal_pairs`: `x` is the phenomenon, and 5-grams are a
    series of their own; and the published models of the sets that are asked about."""
    measured = table(tables, "minimal_pairs", NEEDED)
    whole = measured[measured["set"] == ALL]
    of_model = whole[whole["by"] != NGRAMS].assign(series=lambda rows: rows["objective"])
    # The same beside every model.
    same = whole[whole["by"] == NGRAMS].drop_duplicates("phenomenon").assign(series=NGRAMS)
    named = pd.concat([of_model, same]).rename(columns={"phenomenon": "x", "accuracy": "value"})
    ours = points(over_runs(named, ["series", "x"], UNIT), quantity="accuracy")
    places = [*(name for name in ours["x"].unique() if name != ALL), ALL]
    asked = measured.loc[measured["set"] != ALL, ["phenomenon", "set"]].drop_duplicates()
    drawn = join([ours, _published(tables, asked)])
    figure = Figure(figsize=(7.6, 4.2), layout="constrained")
    axes = figure.subplots()
    looks = {name: look(name) for name in ordered(ours["series"])}
    theirs = {name: look for name, look in THEIRS.items() if (drawn["series"] == name).any()}
    placed = drawn.assign(x=drawn["x"].map(places.index))
    style.curves(axes, placed, (looks | theirs).__getitem__, reach=APART)
    labels = [name.replace("_", " ") for name in places]
    axes.set_xticks(range(len(places)), labels, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_ylabel("accuracy")
    style.across(axes, CHANCE)
    style.level(axes, CHANCE, "chance")
    handles = style.key(ours, looks, bars="95 % interval")
    handles += [
        Line2D([], [], label=look.label, **style.stroke(look, behind=True))
        for look in theirs.values()
    ]
    style.legend(figure, handles, columns=4)
    return figure, drawn


def _published(tables: Tables, asked: pd.DataFrame) -> pd.DataFrame:
    """Published means of each phenomenon over the sets that are asked about, and of all of these,
    if given; none where one of the sets is not published. asked: columns phenomenon and set."""
    rows = published_in(tables, "blimp").rename(columns={"panel": "phenomenon", "x": "set"})
    rows = rows[rows["series"].isin(THEIRS)]
    of_all = [(name, of) for name, of in asked.groupby("phenomenon", sort=False)]
    means = [
        same.groupby("series", as_index=False)["y"].mean().assign(x=name)
        for name, of in [*of_all, (ALL, asked)]
        if len(same := rows.merge(of)) == len(THEIRS) * len(of)
    ]
    return join([points(mean, "published", quantity="accuracy") for mean in means])
