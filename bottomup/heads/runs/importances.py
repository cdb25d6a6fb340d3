"""What the attention of a run tells of its heads, most of it on the model's own translations."""

import numpy as np
import torch

from bottomup.corpus.batches import Text
from bottomup.corpus.specials import EOS
from bottomup.heads.confidence import head_attention
from bottomup.heads.examples import references
from bottomup.heads.relevance import head_relevance
from bottomup.heads.runs.predictor import RunPredictor
from bottomup.heads.tasks import Examination
from bottomup.heads.totals import Totals
from bottomup.model.beam_search import translate
from bottomup.model.transformer import Transformer
from bottomup.objectives import Example


def of_attention(
    predictor: RunPredictor, text: Text, settings: Examination
) -> tuple[dict[str, Totals], np.ndarray]:
    """Confidence, attention to special tokens and, if the run predicts anything, relevance, by
    name; and the numbers of their sentences, in order."""
    model, predicts = predictor.model, predictor.objective.predicts
    if settings.beam is not None:
        own = translations(model, text, **dict(settings.beam))
    else:
        own = references(predictor, text, settings.seed)
    by_name = head_attention(model, own)
    if predicts is not None:
        by_name |= {
            "relevance_alpha_beta": head_relevance(model, own, "alpha_beta"),
            "relevance_ratio": head_relevance(model, own, "ratio"),
        }
    return by_name, np.arange(len(text.source))


def translations(
    model: Transformer, text: Text, beam_size: int, length_penalty: float
) -> list[Example]:
    """The model's own translation of each sentence, for it to predict token by token."""
    examples = []
    for sentence in range(len(text.source)):
        source, _ = text.batch(np.array([sentence]))
        [ids] = translate(
            model,
            torch.from_numpy(source).to(model.head.weight.device),
            beam_size,
            length_penalty,
            max_length=2 * source.shape[1] + 10,
        )
        target = np.array([[*ids, EOS]])
        examples.append(Example(source, target, target))
    return examples
