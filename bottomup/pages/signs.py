"""How verdicts are drawn on every page."""

from typing import NamedTuple

from markupsafe import Markup

from bottomup.claims import words
from bottomup.pages import TEMPLATES


class Sign(NamedTuple):
    """How a verdict is drawn in a box of 20 by 20: its color, its shape and the strokes in it."""

    color: str
    shape: str
    stroke: str


CIRCLE = "M10 1a9 9 0 1 0 0 18a9 9 0 1 0 0-18z"
SQUARE = "M2 2h16v16h-16z"
DIAMOND = "M10 0l10 10l-10 10l-10-10z"
# Shape and strokes alone tell them apart, with any color vision and in gray print.
VERDICTS = {
    words.REPRODUCED: Sign("#0072B2", CIRCLE, "M6 10.5l3 3l5-7"),
    words.SMALLER: Sign("#56B4E9", CIRCLE, "M13 5l-6 5l6 5"),
    words.IN_PART: Sign("#A6761D", SQUARE, "M5 12l5-5l5 5"),
    words.ABSENT: Sign("#E69F00", SQUARE, "M5 10h10"),
    words.CONTRADICTED: Sign("#D55E00", SQUARE, "M6 6l8 8m0-8l-8 8"),
    words.NOT_YET: Sign("#009E73", DIAMOND, "M10 5v5l3 3"),
    words.ESTIMATOR: Sign("#CC79A7", DIAMOND, "M6 8h8m-8 4h8m-1.5-6.5l-5 9"),
    words.UNDECIDED: Sign(
        "#7f7f7f", CIRCLE, "M7.3 7.8a2.7 2.7 0 1 1 4.3 2.2q-1.6 1-1.6 2.4m0 2.4v.6"
    ),
    words.NOT_MEASURED: Sign("#b0b0b0", SQUARE, "M6 14l8-8"),
}


def sign(verdict: str) -> Markup:
    """The sign of a verdict, in SVG of the classes sign, shape and stroke."""
    drawn = TEMPLATES.get_template("svg.html").module
    return drawn.sign(VERDICTS[verdict])  # type: ignore[attr-defined]  # a macro there
