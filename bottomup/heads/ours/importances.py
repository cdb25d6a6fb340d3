"""How important the heads of a run are, under its objective, on token files."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bottomup import objectives
from bottomup.core.device import device
from bottomup.core.files.joins import require_equal_lengths
from bottomup.corpus.batches import Text
from bottomup.heads.confidence import head_attention
from bottomup.heads.examples import references, sample, together, translations
from bottomup.heads.importance import RunPredictor, gate_gradient, loss_increase
from bottomup.heads.relevance import head_relevance
from bottomup.heads.tasks import Examination
from bottomup.heads.totals import Totals
from bottomup.subjects import Subject

BATCH_TOKENS = 512  # to lose a head in, at once: sentence by sentence takes twice as long


def importances(
    subject: Subject, settings: Examination, folder: Path, text: list[Path], blocks: np.ndarray
) -> Iterator[tuple[str, Totals, np.ndarray]]:
    """Each importance by name, its totals, and the sentences that these are of, in order.

    Confidence, attention to special tokens and relevance on the model's own translations, gradient
    and loss on the references. A model that predicts nothing has only the first two. text: token
    files of the dev split.
    """
    objective = objectives.load(settings.run.module, settings.run.options)
    model = subject.model.to(device())
    dev = Text.load(text[0].parents[1], "dev", objective.predicts)
    require_equal_lengths(sentences=dev.source, blocks=blocks)
    some = sample(dev, settings.sentences, settings.seed)
    examples = references(model, objective, dev.select(some), settings.seed)
    own = examples
    if objective.predicts == "target":
        own = translations(model, dev.select(some), **dict(settings.beam))
    found = head_attention(model, own)
    if objective.predicts is not None:
        predictor = RunPredictor(model)
        found |= {
            "relevance_alpha_beta": head_relevance(model, own, "alpha_beta"),
            "relevance_ratio": head_relevance(model, own, "ratio"),
            "gradient": gate_gradient(predictor, examples),
            "loss_increase": loss_increase(predictor, together(examples, BATCH_TOKENS)),
        }
    for name, totals in found.items():
        yield name, totals, some
