"""Influence by frequency rank in models trained as usual, and in models trained with token dropout,
which replaces a share of the tokens they read by random ones.

Source: evolution, the figures on the amount of influence by token frequency, without and with
token dropout.
"""

import pandas as pd
from matplotlib.figure import Figure

from bottomup.figures import groups, style
from bottomup.figures.influence_of_groups import COLUMNS, counts, cut, finish
from bottomup.figures.points import NoRowsError, Tables, join

PUBLISHED = {
    "influence_freq": {"MT": "mt", "LM": "lm"},
    "influence_freq_iwd": {"MT": "mt_noise", "LM": "lm_noise"},
}


@style.paper()
def draw(tables: Tables, variants: dict[str, list[str]]) -> tuple[Figure, pd.DataFrame]:
    """The figure and its points, from `influence` and, if given, `influence_freq` and
    `influence_freq_iwd`.

    variants: the objectives with token dropout, each with the objectives without it to compare.

    Raises NoRowsError if no model was trained with token dropout.
    """
    rows = groups.select(tables, "influence", "frequency_rank", COLUMNS)
    measured = set(rows["panel"])
    if not measured & variants.keys():
        raise NoRowsError(
            f"the table influence has no objective with token dropout; found "
            f"{', '.join(style.ordered(measured))}; add mt_noise or lm_noise"
        )
    panels = [name for name in _panels(variants) if name in measured]
    rows = rows[rows["panel"].isin(panels)]
    theirs = [
        groups.published(
            tables, name, {theirs: ours for theirs, ours in by.items() if ours in panels}
        )
        for name, by in PUBLISHED.items()
    ]
    drawn = join([groups.ours(rows.rename(columns={"layer": "x"})), *theirs])
    return cut(groups.draw(drawn, panels, "frequency_rank", counts(rows), finish)), drawn


def _panels(variants: dict[str, list[str]]) -> list[str]:
    """Each objective, followed by its variants."""
    plain = style.ordered(name for names in variants.values() for name in names)
    beside = [
        [name, *(variant for variant, names in variants.items() if name in names)] for name in plain
    ]
    return list(dict.fromkeys(name for names in beside for name in names))
