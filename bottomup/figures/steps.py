"""Parts of the figures over training: the step of a run, and an axis of updates."""

import re

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from bottomup.core.errors import UserError
from bottomup.core.names import objective_and_step
from bottomup.figures import style
from bottomup.figures.points import NoRowsError, Tables, table
from bottomup.training.metrics import candidates

TICKS = 6  # about as many at most: numbers of five digits stand side by side


def at(names: pd.Series) -> dict[str, list]:
    """The objective (`panel`) and the step (`x`, NaN at the end) of runs."""
    parts = [objective_and_step(name) for name in names]
    steps = [np.nan if step is None else step for _, step in parts]
    return {"panel": [objective for objective, _ in parts], "x": steps}


def end(tables: Tables, objective: str) -> int:
    """The step whose weights the runs of an objective end with (that of the lowest dev loss), mean
    over seeds, from a table of metrics for each run, named `objective-seed`."""
    runs = [name for name in tables if re.fullmatch(rf"{objective}-\d+", name)]
    if not runs:
        raise UserError(f"no metrics of {objective}, which say when its training ended; give them")
    metrics = [candidates(table(tables, run, ["step", "dev_loss_nats"])) for run in runs]
    best = [rows.loc[rows["dev_loss_nats"].idxmin(), "step"] for rows in metrics]
    return round(sum(best) / len(best))


def with_ends(
    tables: Tables, drawn: pd.DataFrame, column: str, lacking: str
) -> tuple[pd.DataFrame, dict[str, int]]:
    """The points of the objectives that have some at a step, in the order of steps, with the `end`
    in place of NaN as `x`; and these ends by objective, in the papers' order.

    column: that of the objectives. Raises NoRowsError, which says what is `lacking`, if none has a
    point at a step.
    """
    at_steps = drawn.loc[drawn["x"].notna(), column].unique()
    if not len(at_steps):
        raise NoRowsError(f"{lacking}; name some in training_steps")
    ends = {name: end(tables, name) for name in style.ordered(at_steps)}
    drawn = drawn[drawn[column].isin(at_steps)]
    drawn = drawn.fillna({"x": drawn[column].map(ends)}).astype({"x": int})
    return drawn.sort_values("x", kind="stable").reset_index(drop=True), ends


def axis(axes: Axes, steps: pd.Series) -> None:
    """Updates on a logarithmic axis, where the initial model, at 0, has its own place."""
    shown = np.unique(steps)
    first = min(shown[shown > 0], default=1)
    axes.set_xscale("symlog", base=2, linthresh=first, linscale=1)
    scale = axes.xaxis.get_transform()
    places = scale.transform(shown)
    column = axes.get_shared_x_axes().get_siblings(axes)
    margin = max(each.margins()[0] for each in column) * (np.ptp(places) or 1)
    axes.set_xlim(*scale.inverted().transform([places[0] - margin, places[-1] + margin]))
    ticks = _apart(places, np.ptp(places) / TICKS)
    axes.set_xticks(shown[ticks], [f"{step:,}" for step in shown[ticks]])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("updates (dotted: the end of training)")


def mark_end(axes: Axes, step: int) -> None:
    """A dotted line where training ends."""
    axes.axvline(step, color="black", linewidth=0.7, linestyle=(0, (1, 1.5)))


def _apart(places: np.ndarray, distance: float) -> list[int]:
    """Indices of the last of the sorted places and, going down, of each that is at least `distance`
    from the one before."""
    kept = [len(places) - 1]
    for i in reversed(range(len(places) - 1)):
        if places[kept[-1]] - places[i] >= distance:
            kept.append(i)
    return kept
