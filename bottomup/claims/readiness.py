"""Whether a study's models could show what a claim asks for, or may still come to it.

What a weak model lacks, or one that still learns, says nothing of the objective: heads of a
translation model took on positions after 20 million tokens, and were not there after 3 million.
"""

from collections.abc import Mapping
from math import isnan, nan

import numpy as np
import pandas as pd

from bottomup.core.names import objective_and_seed
from bottomup.training.metrics import early

# Below these a model hardly does what it was trained for: few translations give the gist, few
# predictions are right.
FLOORS = {"bleu": 10.0, "accuracy": 0.1, "masked_accuracy": 0.1}
# Nats of dev loss over the second half of the tokens; the papers' models, trained until they no
# longer improve, have less.
STILL_FALLING = 0.05
READY = (
    f"dev loss falls by less than {STILL_FALLING:g} nats over the second half of the tokens, and "
    "none is weak"
)


def not_ready(curves: Mapping[str, pd.DataFrame], quality: pd.DataFrame) -> dict[str, str]:
    """By objective, in words, why what its models lack may still come; others are left out.

    curves: by run (`lm-1`), its metrics.jsonl, with tokens and dev_loss_nats. quality: quality.csv.
    """
    reasons: dict[str, list[str]] = {}
    for metric, floor in FLOORS.items():
        of_metric = quality[quality["metric"] == metric]
        for objective, value in of_metric.groupby("objective")["value"].mean().items():
            if value < floor:
                reasons.setdefault(objective, []).append(f"{metric} {value:.2g}, below {floor:g}")
    falls: dict[str, list[float]] = {}
    tokens: dict[str, str] = {}
    for run, curve in curves.items():
        objective, _ = objective_and_seed(run)
        falls.setdefault(objective, []).append(late_fall(curve))
        tokens[objective] = "the tokens of its last phase" if "early" in curve else "its tokens"
    for objective, of_runs in falls.items():
        fall = sum(of_runs) / len(of_runs)
        if isnan(fall):
            reasons.setdefault(objective, []).append(
                f"dev loss is not known at half of {tokens[objective]}"
            )
        elif fall > STILL_FALLING:
            reasons.setdefault(objective, []).append(
                f"dev loss fell by {fall:.2f} nats over the second half of {tokens[objective]}"
            )
    return {objective: ", ".join(why) for objective, why in reasons.items()}


def late_fall(curve: pd.DataFrame) -> float:
    """How much the dev loss fell over the second half of the tokens, nats, on a line between two
    evaluations; NaN if the first is later.

    Of a schedule, dev loss is that of its last phase, so only tokens of this phase count: those
    after the last evaluation that is `early`.
    """
    before = early(curve)
    late = curve.loc[~before, ["tokens", "dev_loss_nats"]].dropna()
    if late.empty:
        return nan
    tokens, loss = late.to_numpy(float).T
    begin = curve["tokens"].where(before, 0).max()
    return float(np.interp((begin + tokens[-1]) / 2, tokens, loss, left=nan) - loss[-1])
