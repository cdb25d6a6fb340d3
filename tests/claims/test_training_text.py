"""What models of halves of the training text say, beside seeds and documents."""

import numpy as np
import pandas as pd

from bottomup.claims.training_text import description
from tests.claims import made_up

PAIR = ["objective_a", "seed_a", "objective_b", "seed_b"]


def distances(*pairs, without=None):
    """Two runs each, at the layers 0 to 2: layer 0 is left out, the mean of the others is given."""
    rows = [
        dict(zip(PAIR, pair, strict=True)) | {"layer": layer, "distance": distance}
        for *pair, mean in pairs
        for layer, distance in enumerate((9.0, mean - 0.1, mean + 0.1))
    ]
    frame = pd.DataFrame(rows)
    arrays = [
        np.full(2, value) if without is None else value + np.array([-without, without])
        for value in frame["distance"]
    ]
    frame = made_up.measured(frame, "distance", arrays)
    return made_up.tables({"pwcca_between_runs": frame})


HALVES = [("lm_half1", seed, "lm_half2", seed, 0.3 + 0.1 * seed) for seed in (1, 2)]
SEEDS = ("lm", 1, "lm", 2, 0.5)
OTHERS = ("lm", 1, "mt", 1, 0.9), ("mt", 1, "mt", 2, 0.9)


def test_halves_stand_beside_seeds():
    found = description(distances(*HALVES, SEEDS, *OTHERS), "lm")
    assert found.startswith("No interval stands for another training text. Two models of lm, ")
    # 0.4 and 0.5 on average, and 0.45 of 0.5.
    assert "are 0.45 ± 0 over documents apart" in found
    assert "two seeds on all of it 0.5 ± 0 over documents" in found
    assert found.endswith("leads 0.90 times as far as another seed.")


def test_the_error_is_that_of_documents():
    # Two blocks, each left out, are 0.02 off: the jackknife's variance is 1/2 of 2 times 0.02².
    found = description(distances(*HALVES, without=0.02), "lm")
    assert "are 0.45 ± 0.02 over documents apart" in found


def test_without_a_second_seed_or_without_halves():
    found = description(distances(*HALVES, *OTHERS), "lm")
    assert found.endswith("mean over layers); there are no two seeds to compare this with.")
    assert "too little to compare two models of halves of lm" in description(distances(SEEDS), "lm")


def test_too_little_text_held_out_ends_no_page():
    few = distances(*HALVES, SEEDS)["pwcca_between_runs"].rows.assign(distance=np.nan)
    tables = made_up.tables({"pwcca_between_runs": few.assign(without=[[np.nan]] * len(few))})
    nothing = {name: of.filtered(of.rows["distance"].notna()) for name, of in tables.items()}
    assert "too little to compare" in description(nothing, "lm")
