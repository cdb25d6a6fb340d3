"""What the attention of a checkpoint's encoder tells of its heads."""

import numpy as np

from bottomup.corpus.batches import Text
from bottomup.heads.checkpoints.predictor import CheckpointPredictor
from bottomup.heads.confidence import encoder_attention
from bottomup.heads.tasks import Examination
from bottomup.heads.totals import Totals

BATCH_TOKENS = 2048  # to read at once


def of_attention(
    predictor: CheckpointPredictor, text: Text, settings: Examination
) -> tuple[dict[str, Totals], np.ndarray]:
    """Confidence and attention to special tokens, by name; and the numbers of their sentences, in
    order."""
    return encoder_attention(predictor.subject.on(predictor.device), text.source, BATCH_TOKENS)
