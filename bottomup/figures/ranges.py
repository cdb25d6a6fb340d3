"""Whether panels that seem to share an axis do."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

ALIKE = 0.8  # of the whole range, what the range of each panel is at least
# By axis: along which its label is shared, and where from.
SIDES = {"x": ("colspan", "rowspan", 1), "y": ("rowspan", "colspan", -1)}


def differ(figure: Figure) -> str:
    """A line about axes that have one label in several panels and different ranges; "" if none.

    A panel without a label has that of a panel to its left, or below it.
    """
    panels = [axes for axes in figure.axes if axes.get_subplotspec() and axes.axison]
    sides = [axis for axis in SIDES if any(map(_differ, _by_label(panels, axis)))]
    return f"Panels differ in the range of the {' and the '.join(sides)} axis." if sides else ""


def _by_label(panels: list[Axes], axis: str) -> list[list[tuple[float, float]]]:
    """The ranges, as drawn, of the panels with data that have one label."""
    ranges: dict[str, list[tuple[float, float]]] = {}
    for axes in panels:
        label = _label(axes, panels, axis)
        drawn = getattr(axes, f"{axis}axis")
        if label and axes.has_data() and len(drawn.get_ticklocs()):
            scale = drawn.get_transform()
            low, high = sorted(scale.transform(getattr(axes, f"get_{axis}lim")()))
            ranges.setdefault(label, []).append((low, high))
    return list(ranges.values())


def _label(axes: Axes, panels: list[Axes], axis: str) -> str:
    same, along, way = SIDES[axis]

    def place(each: Axes, span: str) -> int:
        return getattr(each.get_subplotspec(), span).start

    beside = [
        (way * (place(each, along) - place(axes, along)), getattr(each, f"get_{axis}label")())
        for each in panels
        if place(each, same) == place(axes, same)
    ]
    return min(((far, label) for far, label in beside if far >= 0 and label), default=(0, ""))[1]


def _differ(ranges: list[tuple[float, float]]) -> bool:
    lows, highs = zip(*ranges, strict=True)
    whole = max(highs) - min(lows)
    return any(high - low < ALIKE * whole for low, high in ranges)
