"""How important the heads of a checkpoint are, under its own objective, in its own tokens."""

import logging
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bottomup.core.device import device
from bottomup.core.files.joins import require_equal_lengths
from bottomup.core.files.tables import read_table
from bottomup.heads.confidence import encoder_attention
from bottomup.heads.examples import sample
from bottomup.heads.importance import gate_gradient, loss_increase
from bottomup.heads.own_objective import CheckpointPredictor, objective_of, references, text_of
from bottomup.heads.tasks import Examination
from bottomup.heads.totals import Totals
from bottomup.subjects import Subject

BATCH_TOKENS = 2048  # to read at once


def importances(
    subject: Subject, settings: Examination, folder: Path, text: list[Path], blocks: np.ndarray
) -> Iterator[tuple[str, Totals, np.ndarray]]:
    """Each importance by name, its totals, and the sentences that these are of, in order.

    Confidence and attention to special tokens; then gradient and loss, if the checkpoint has an
    objective of its own that the text has something to predict for. text: the parquet file of the
    dev split.
    """
    pairs = read_table(*text)
    require_equal_lengths(pairs=pairs, blocks=blocks)
    objective = objective_of(subject)
    if objective == "mt" and "target" not in pairs:
        objective = None
    dev = text_of(subject, pairs, objective or "mlm")
    some = sample(dev, settings.sentences, settings.seed)
    found, order = encoder_attention(subject, dev.select(some).source, BATCH_TOKENS, device())
    for name, totals in found.items():
        yield name, totals, some[order]
    if objective is None:
        logging.info(
            "no gradient and no loss without a head: the model predicts neither masked tokens, nor "
            "the next one, nor, as Marian, a translation that the text has"
        )
        return
    logging.info(f"gradient, and loss without a head, under {objective}")
    examples = references(subject, objective, dev.select(some), settings.seed)
    predictor = CheckpointPredictor(folder, subject, objective, device())
    yield "gradient", gate_gradient(predictor, examples), some
    yield "loss_increase", loss_increase(predictor, examples), some
