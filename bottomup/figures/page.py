"""The page of a figure: what is written around its panels, and its files, which are the same bytes
each time."""

import logging
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox, ScaledTranslation

from bottomup.figures.fonts import find_fonts
from bottomup.figures.style import broken, characters, paper

TITLE, NOTE = 10, 6.5  # sizes of the texts above and below a figure
GAP = 5  # pixels between two titles
BREAKS = 3  # how often titles are broken at most, as their lines move the panels


@paper()
def nothing() -> Figure:
    """A figure without a point, for a note that says why."""
    return Figure(figsize=(5.0, 0.3), layout="constrained")


def title(figure: Figure, text: str) -> None:
    """Write the question of a figure above it, outside of its layout; `save` makes room."""
    text = broken(text, characters(figure.get_figwidth(), TITLE))
    _outside(figure, text, 1, 6, fontsize=TITLE, va="bottom")


def note(figure: Figure, lines: str) -> None:
    """Write small lines below a figure, outside of its layout, and below those that are there."""
    text = broken(lines, characters(figure.get_figwidth(), NOTE))
    before = [text.get_text() for text in figure.texts if text.get_gid() == "note"]
    below = 3 + 1.5 * NOTE * len("\n".join(before).splitlines())
    look = {"fontsize": NOTE, "va": "top", "color": "#555555", "gid": "note"}
    _outside(figure, text, 0, -below, **look)


def _break_names(figure: Figure) -> bool:
    """Break titles and vertical labels of panels, such as names of models, that reach the next
    panel; returns whether any did."""
    panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    reached = False
    for axes in panels:
        box, label = axes.bbox, axes.yaxis.label
        for title in axes.get_children():
            if isinstance(title, Text) and title not in axes.texts:
                written = title.get_window_extent()
                rights = [
                    each.bbox.x0
                    for each in figure.axes
                    if each.bbox.x0 > box.x1 and _in_line(each, box if each in panels else written)
                ]
                right = min(rights, default=figure.bbox.x1)
                reached |= _fit(title, right - GAP - box.x0, written.width)
        above = [each for each in panels if each is not axes and each.get_ylabel()]
        apart = [abs(each.bbox.y0 - box.y0) for each in above if abs(each.bbox.x0 - box.x0) < 1]
        room = min(apart, default=figure.bbox.height)
        reached |= _fit(label, room, label.get_window_extent().height)
    return reached


def _in_line(axes: Axes, box: Bbox) -> bool:
    return bool(axes.bbox.y0 < box.y1 and axes.bbox.y1 > box.y0)


def _fit(text: Text, room: float, taken: float) -> bool:
    """Break a text if it takes more than its room, both in pixels; returns whether it does."""
    if taken <= room:
        return False
    longest = max(map(len, text.get_text().splitlines()))
    text.set_text(broken(text.get_text(), max(1, int(0.95 * longest * room / taken))))
    return True


def _outside(figure: Figure, text: str, edge: float, away: float, **look) -> None:
    """Write at the left, above (`edge` 1) or below (0) a figure, so many typographic points
    `away`."""
    offset = ScaledTranslation(4 / 72, away / 72, figure.dpi_scale_trans)
    figure.text(0, edge, text, transform=figure.transFigure + offset, **look)


def save(figure: Figure, png: Path, pdf: Path) -> None:
    """Write both files without date and version, so that drawing again gives the same bytes."""
    logging.getLogger("fontTools").setLevel(logging.WARNING)
    with paper():
        find_fonts(figure)
        # Laid out twice, as new sizes bring new ticks; not once more for each file's resolution,
        # which would start from the ticks of another.
        for _ in range(BREAKS):
            _lay_out(figure)
            if not _break_names(figure):
                break
        _lay_out(figure)
        figure.set_layout_engine(None)  # a placeholder would draw once more for each file
        # The layout's solver adds in another order each time, which would show in the PDF's bytes.
        for axes in figure.axes:
            axes.set_position(Bbox(axes.get_position(original=True).get_points().round(6)))
        for each in figure.legends:  # not at the edge of the page
            each.set_bbox_to_anchor((0, 0, 1, 1), figure.transFigure)
        page = _page(figure)
        figure.savefig(png, format="png", metadata={"Software": None}, bbox_inches=page)
        fixed = {"Creator": "bottomup", "Producer": None, "CreationDate": None}
        figure.savefig(pdf, format="pdf", metadata=fixed, bbox_inches=page)


def _lay_out(figure: Figure) -> None:
    """Place the panels, as drawing does first, and draw nothing."""
    if figure.axes and (engine := figure.get_layout_engine()):
        engine.execute(figure)


def _page(figure: Figure) -> Bbox:
    """The figure and what is written above and below it, in inches, as wide as the figure."""
    written = [text.get_window_extent() for text in figure.texts]
    pixels = Bbox.union([figure.bbox, *written])
    low, high = (round(y / figure.dpi, 2) for y in (pixels.y0 - 2, pixels.y1 + 2))
    ends = (low, high) if written else (0, figure.get_figheight())
    return Bbox([[0, ends[0]], [figure.get_figwidth(), ends[1]]])
