"""Panels of a figure: a column for each model, a row for each quantity; more models than one can
see side by side have further rows."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

WIDEST = 15  # inches that panels side by side take

Rows = list[tuple[str, dict[str, Axes]]]


def grid(
    titles: Mapping[str, str],
    labels: Mapping[str, str],
    width: float,
    heights: Sequence[float],
    around: tuple[float, float],
    shared: bool = True,
) -> tuple[Figure, Rows]:
    """A figure, and its rows: a quantity and its panels by their names.

    titles: of the panels, by name; as many as `WIDEST` holds stand side by side. labels: of the y
    axis, by quantity. width, heights: of a panel and of each quantity's row, in inches. around: how
    much wider and higher the figure is, in inches. shared: panels of one quantity have one y axis,
    those of one name one x axis.
    """
    blocks = in_rows([*titles], in_a_row(width))
    columns = max(map(len, blocks))
    size = (width * columns + around[0], sum(heights) * len(blocks) + around[1])
    figure = Figure(figsize=size, layout="constrained")
    ratios = {"height_ratios": [*heights] * len(blocks)}
    drawn = figure.subplots(len(labels) * len(blocks), columns, squeeze=False, gridspec_kw=ratios)
    rows: Rows = []
    for block, part in zip(blocks, np.split(drawn, len(blocks)), strict=True):
        for quantity, row in zip(labels, part, strict=True):
            for axes in row[len(block) :]:
                axes.remove()
            row[0].set_ylabel(labels[quantity])
            rows.append((quantity, dict(zip(block, row, strict=False))))
        for name, axes in zip(block, part[0], strict=False):
            axes.set_title(titles[name])
        if shared:
            _share_x(part[:, : len(block)])
    if shared:
        share_y([list(of.values()) for _, of in rows], [quantity for quantity, _ in rows])
    return figure, rows


def _share_x(part: np.ndarray) -> None:
    """Let the panels of a column share its x axis; numbers and words stand below the last."""
    for column in part.T:
        for axes in column[:-1]:
            axes.sharex(column[-1])
            axes.tick_params(labelbottom=False)
            axes.xaxis.label.set_visible(False)


def share_y(rows: Iterable[Sequence[Axes]], quantities: Iterable[str]) -> None:
    """Let the rows of panels that show one quantity share its axis, before they are drawn; its
    numbers stand in the first column. quantities: that of each row."""
    first: dict[str, Axes] = {}
    for row, quantity in zip(rows, quantities, strict=True):
        for axes in row:
            if first.setdefault(quantity, axes) is not axes:
                axes.sharey(first[quantity])
        for axes in row[1:]:
            axes.tick_params(labelleft=False)


def in_a_row(width: float) -> int:
    """How many panels of so many inches stand side by side at most."""
    return max(1, int(WIDEST / width))


def in_rows(names: list[str], size: int) -> list[list[str]]:
    """`names`, at most `size` in a row."""
    return [names[start : start + size] for start in range(0, len(names), size)]
