"""Which attention keeps its heads: active heads of each kind against the number of pruned heads.

Source: heads, section 6.3.2, figure 9.
"""

import pandas as pd
from matplotlib.figure import Figure

from bottomup.figures import heads, style
from bottomup.figures.points import Tables, join, points, published_in, select

COUNTS = {kind: f"heads_{kind}" for kind in style.KINDS}
NEEDED = ["objective", "seed", "attention", "method", "penalty", *COUNTS.values()]
PUBLISHED = {"enc self": "encoder", "dec self": "decoder", "dec-enc": "cross"}


@style.paper()
def draw(tables: Tables, objective: str) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `pruning` and, if given, `heads_dying_by_attn_type_both`.

    It shows the models of `objective` with gates on all attention. There is a panel for each of the
    two published data sets, with our points in front. With several seeds a point is the mean of a
    penalty, with the lowest and the highest seed.
    """
    ours = _points(tables, objective)
    published = _published(tables)
    names = [*dict.fromkeys(published["panel"])] or [style.objective(objective).label]
    drawn = join([*(ours.assign(panel=name) for name in names), published])
    figure = Figure(figsize=(3.4 * len(names) + 0.4, 3.3), layout="constrained")
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for axes, name in zip(panels, names, strict=True):
        shown = drawn[drawn["panel"] == name]
        heads.active(axes, shown, style.KINDS.__getitem__, "pruned heads")
        label = style.objective(objective).label
        axes.set_title(f"{label}, with {name} behind" if len(published) else label)
    panels[0].set_ylabel("active heads")
    style.legend(figure, style.key(drawn, style.KINDS, style.SEEDS), columns=3)
    return figure, drawn


def _points(tables: Tables, objective: str) -> pd.DataFrame:
    wanted = {"objective": objective, "attention": "all"}
    rows = select(tables, "pruning", NEEDED, **wanted, method="gates")
    unpruned = select(tables, "pruning", NEEDED, **wanted, method="none")
    # The unpruned model comes before all penalties, 0 too.
    rows = pd.concat([unpruned.assign(penalty=-1.0), rows])
    total = unpruned[list(COUNTS.values())].sum(axis=1).iloc[0]
    rows = rows.assign(x=total - rows[list(COUNTS.values())].sum(axis=1))
    parts = [rows.assign(series=kind, y=rows[name]) for kind, name in COUNTS.items()]
    return points(heads.over_penalties(pd.concat(parts), ["series"]), quantity="active heads")


def _published(tables: Tables) -> pd.DataFrame:
    curves = published_in(tables, "heads_dying_by_attn_type_both")
    curves = curves.assign(series=curves["series"].map(PUBLISHED))
    return points(curves, "published", quantity="active heads")
