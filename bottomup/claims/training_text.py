"""How much another training text changes what is learned, compared with another seed.

No interval of a claim stands for another training text. Two models that start alike, each trained
on one half of the text, show how far another text leads. Two seeds on the whole text show how far
another seed leads. Both are PWCCA distances, the only thing that is measured of halves.
"""

import numpy as np

from bottomup.claims import NotMeasuredError
from bottomup.claims.curves import Curve, between_objectives, between_seeds, mean
from bottomup.claims.inference import mean_square
from bottomup.claims.tables import TEXT, Tables
from bottomup.core import names


def description(tables: Tables, objective: str) -> str:
    """A sentence that compares the models of two halves with two seeds of one objective.

    tables: `pwcca_between_runs`. Distances are means over layers, seeds and pairs of seeds, with
    their standard error over documents.
    """
    try:
        halves = between_objectives(tables, names.half(objective, 1), names.half(objective, 2))
    except NotMeasuredError:
        return f"The text held out is too little to compare two models of halves of {objective}."
    sentence = (
        f"No interval stands for another training text. Two models of {objective}, each trained on "
        f"half of it, are {_distance(halves)} apart (PWCCA distance, mean over layers)"
    )
    try:
        of_seeds = between_seeds(tables, objective)
    except NotMeasuredError:
        return f"{sentence}; there are no two seeds to compare this with."
    times = mean(halves)[0] / mean(of_seeds)[0]
    return (
        f"{sentence}, two seeds on all of it {_distance(of_seeds)}: another text, and half as "
        f"much, leads {times:.2f} times as far as another seed."
    )


def _distance(curve: Curve) -> str:
    distance = mean(curve)[None]
    error = float(np.sqrt(mean_square(distance, TEXT)[0]))
    known = f" ± {error:.2g} over documents" if np.isfinite(error) else ""
    return f"{distance[0, 0]:.3g}{known}"
