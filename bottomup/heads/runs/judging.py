"""How good a run with fewer heads is, under its objective, on token files."""

import math

import numpy as np

from bottomup.core.names import WEIGHTS
from bottomup.core.settings import Scoring
from bottomup.corpus.batches import Text
from bottomup.heads.runs.predictor import RunPredictor
from bottomup.measures.quality import Score, as_written, compared, quality, right_token
from bottomup.subjects.seen import Seen


def judged(
    predictor: RunPredictor, text: Text, blocks: np.ndarray, scoring: Scoring, seen: Seen
) -> tuple[Score, Score, dict[str, float]]:
    """The score by which models are compared, the probability of the right token, and other
    columns.

    All are of the smaller model that computes the same as one with closed heads.
    """
    model, objective = predictor.model, predictor.objective
    if known := seen.file("quality"):
        scores = as_written(known)
    else:
        translation = seen.paths("translation")
        scores = quality(model, objective, scoring, text, blocks, translation)
    others = {name: score.value for name, score in scores.items() if name in ("bleu", "chrf")}
    others |= {
        "test_loss_nats": math.log(scores["perplexity"].value),
        "accuracy": scores[objective.accuracy].value,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "megabytes": (seen.folder / WEIGHTS).stat().st_size / 1e6,
    }
    return compared(scores), right_token(scores), others
