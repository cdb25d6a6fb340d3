"""How good a checkpoint with fewer heads is, under its own objective, in its own tokens."""

import math

import numpy as np

from bottomup.core.settings import Scoring
from bottomup.corpus.batches import Text
from bottomup.heads.checkpoints.predictor import CheckpointPredictor
from bottomup.measures import jackknife
from bottomup.measures.examples import BATCH_TOKENS
from bottomup.measures.quality import Score
from bottomup.subjects.seen import Seen


def judged(
    predictor: CheckpointPredictor, text: Text, blocks: np.ndarray, scoring: Scoring, seen: Seen
) -> tuple[Score, Score, dict[str, float]]:
    """The score by which models are compared, the probability of the right token, and other
    columns.

    Checkpoints are compared by that probability, even if they translate: nothing is translated.
    """
    score = right_token(predictor, text, blocks, scoring.seed)
    return score, score, {"test_loss_nats": -math.log(score.value)}


def right_token(predictor: CheckpointPredictor, text: Text, blocks: np.ndarray, seed: int) -> Score:
    """The geometric mean probability of the right token, 0 to 1.

    blocks: the block of each sentence of `text`, `[n_sentences]`. seed: for the masks.
    """
    by_sentence = predictor.losses_of_text(text, BATCH_TOKENS, seed, "quality")
    losses, predicted = jackknife.sums(by_sentence, blocks, jackknife.n_blocks(blocks)).T
    value, *without = np.exp(-jackknife.ratio(losses, predicted))
    return Score(value, np.array(without), jackknife.UNIT, int(predicted[0]))
