"""What pruning costs: quality against the number of heads kept, by the method that chose them.

Source: heads, section 6.2.1, figure 7, and section 6.3.1, table 2.
"""

from dataclasses import replace

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from bottomup.core.errors import UserError
from bottomup.core.kinds import GATED
from bottomup.core.plurals import plural
from bottomup.figures import heads, style
from bottomup.figures.points import Tables, join, points, select

RUN = ["objective", "seed", "attention"]
NEEDED = [
    *(*RUN, "method", "penalty", "heads_encoder", "heads_decoder", "heads_cross"),
    *("bleu", "test_loss_nats"),
]
BLEU, LOSS = "BLEU, difference from the unpruned model", "rise of the test loss, nats"
# Linear up to this number, logarithmic beyond: some ways cost a little, others nearly all.
LINEAR = {BLEU: 1.0, LOSS: 0.1}
TICKS = [0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50]
UNPRUNED = style.Look("unpruned", "#000000", "*", "")
DATASETS = {"WMT": ">", "OpenSubtitles": "<"}  # markers of published curves
# Our names for the series of the published tables.
SERIES = {"encoder pruned": "gates", "from trained": "gates", "from scratch": "scratch"}


@style.paper()
def draw(tables: Tables) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `pruning` and, if given, `heads_dying_enc_bleu_linear_x` and
    `bleu_all_attns`.

    A panel for each objective and the attention that has gates shows BLEU if there is one, else the
    test loss, as a difference from the unpruned model. With several seeds a point is the mean of a
    penalty, with the lowest and the highest seed.
    """
    rows = _differences(tables)
    names = heads.panels(rows)
    drawn = join([_points(rows), *_published(tables, names)])
    figure = Figure(figsize=(2.7 * len(names) + 0.5, 3.7), layout="constrained")
    panels = figure.subplots(1, len(names), squeeze=False)[0]
    first: dict[str, Axes] = {}
    for axes, name in zip(panels, names, strict=True):
        shown = drawn[drawn["panel"] == name]
        quantity = shown["quantity"].iloc[0]
        if quantity in first:
            axes.sharey(first[quantity])
        else:
            first[quantity] = axes
            axes.set_ylabel(quantity)
        _panel(axes, shown)
        axes.set_title(_title(rows[rows["panel"] == name], names))
    for quantity, axes in first.items():
        _scale(axes, quantity, drawn[drawn["quantity"] == quantity])
    style.legend(figure, _key(drawn), columns=len(names) + 1)
    return figure, drawn


def _differences(tables: Tables) -> pd.DataFrame:
    """All rows with the `panel`, `quantity`, `x` and `y` of their points."""
    unpruned = select(tables, "pruning", NEEDED, method="none")
    rows = select(tables, "pruning", NEEDED)
    values = ["bleu", "test_loss_nats"]
    rows = rows.merge(unpruned[[*RUN, *values]], "left", RUN, suffixes=("", "_unpruned"))
    alone = rows[rows["test_loss_nats_unpruned"].isna()]
    if len(alone):
        run = ", ".join(str(alone.iloc[0][name]) for name in RUN)
        raise UserError(
            f"the table pruning has no row with method none of {run} (objective, seed, attention); "
            f"a difference needs the unpruned model; measure it"
        )
    with_bleu = rows["bleu_unpruned"].notna()
    loss = rows["test_loss_nats"] - rows["test_loss_nats_unpruned"]
    return heads.with_panel(rows).assign(
        quantity=with_bleu.map({True: BLEU, False: LOSS}),
        x=[
            sum(getattr(row, f"heads_{kind}") for kind in GATED[row.attention])
            for row in rows.itertuples()
        ],
        y=(rows["bleu"] - rows["bleu_unpruned"]).where(with_bleu, loss),
    )


def _points(rows: pd.DataFrame) -> pd.DataFrame:
    pruned = rows[rows["method"].isin(list(style.METHODS))]
    unpruned = rows[rows["method"] == "none"].assign(penalty=0.0, method="unpruned")
    by = ["panel", "quantity", "method"]
    summary = heads.over_penalties(pd.concat([pruned, unpruned]), by)
    # The unpruned model differs from itself by 0 and has no range.
    summary.loc[summary["method"] == "unpruned", ["low", "high"]] = float("nan")
    return points(summary.rename(columns={"method": "series"}))


def _published(tables: Tables, names: list[str]) -> list[pd.DataFrame]:
    """The published curves as differences, if given: only those of `mt` have BLEU."""
    parts = []
    figures = {"encoder": "heads_dying_enc_bleu_linear_x", "all": "bleu_all_attns"}
    for attention, figure in figures.items():
        name = heads.panel("mt", attention)
        if figure in tables and name in names:
            curves = tables[figure].groupby("panel", sort=False)
            parts += [
                points(_against_first(curve), "published", panel=name, quantity=BLEU)
                for _, curve in curves
            ]
    return parts


def _against_first(curve: pd.DataFrame) -> pd.DataFrame:
    """A published curve less its first row, the unpruned model; `x` counts heads of all kinds."""
    kept = curve["x"].astype(str).str.split("/").map(lambda parts: sum(map(int, parts)))
    rows = curve.assign(x=kept, y=curve["y"] - curve["y"].iloc[0])
    rows = rows[rows["series"].isin(list(SERIES))]
    return rows.assign(series=rows["series"].map(SERIES) + ", " + rows["panel"])


def _look(series: str) -> style.Look:
    method, _, dataset = series.partition(", ")
    look = style.METHODS.get(method, UNPRUNED)
    return replace(look, marker=DATASETS[dataset]) if dataset else look


def _panel(axes: Axes, shown: pd.DataFrame) -> None:
    style.across(axes)
    heads.curves(axes, shown, _look, lambda points: points["x"].max())
    heads.from_all_to_none(axes, shown["x"].max(), "heads kept")


def _scale(axes: Axes, quantity: str, shown: pd.DataFrame) -> None:
    linear = LINEAR[quantity]
    axes.set_yscale("symlog", linthresh=linear, linscale=1.5)
    values = shown[["y", "low", "high"]]
    low, high = min(0, values.min().min()), max(0, values.max().max())
    room = 0.2 * linear
    axes.set_ylim(low - max(room, -0.2 * low), high + max(room, 0.2 * high))
    least = min(linear, max(high, -low)) / 2
    ticks = [tick for tick in TICKS if tick == 0 or tick >= least]
    axes.yaxis.set_major_locator(FixedLocator(sorted({*ticks, *(-tick for tick in ticks)})))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(lambda y, _: f"{y:+g}".replace("-", "−") if y else "0")
    # Losses rise while BLEU falls; down is worse in all panels.
    axes.yaxis.set_inverted(quantity == LOSS)


def _title(rows: pd.DataFrame, names: list[str]) -> str:
    unpruned = rows[rows["method"] == "none"]
    name = heads.title(unpruned["panel"].iloc[0], names, heads.PRUNED)
    means = unpruned[["x", "bleu", "test_loss_nats"]].mean()
    with_bleu = unpruned["quantity"].iloc[0] == BLEU
    quality = f"{means['bleu']:.1f} BLEU" if with_bleu else f"{means['test_loss_nats']:.2f} nats"
    return f"{name}\nunpruned: {quality}, {means['x']:.0f} {plural('head', round(means['x']))}"


def _key(drawn: pd.DataFrame) -> list:
    ours = drawn[drawn["source"] == "ours"]
    published = drawn.loc[drawn["source"] == "published", "series"]
    methods = {*ours["series"], *published.str.split(", ").str[0]}  # the paper's, too
    looks = {name: look for name, look in style.METHODS.items() if name in methods}
    handles = style.key(ours, {"unpruned": UNPRUNED} | looks, style.SEEDS)
    for dataset, marker in DATASETS.items():
        if published.str.endswith(dataset).any():
            behind = style.stroke(style.Look("", style.GRAY, marker), behind=True)
            handles.append(Line2D([], [], label=f"{style.PUBLISHED}, {dataset}", **behind))
    return handles
