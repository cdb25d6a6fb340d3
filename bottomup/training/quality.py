"""How good a trained run is: perplexity, accuracy, BLEU and chrF on held-out text."""

import numpy as np
import sacrebleu
import torch
from tokenizers import Tokenizer

from bottomup.corpus.detokenization import detokenize
from bottomup.model.beam_search import translate
from bottomup.model.transformer import Transformer
from bottomup.objectives import IGNORE, Objective
from bottomup.seeds import generator
from bottomup.training.batches import Text, in_order


@torch.inference_mode()
def prediction_quality(
    model: Transformer, objective: Objective, text: Text, batch_tokens: int, seed: int
) -> dict[str, float]:
    """Perplexity and accuracy over the predicted tokens; `seed` draws those of MLM.

    Perplexity is exp of the mean cross-entropy in nats per predicted sub-word, so it compares
    only between runs with one vocabulary and one objective. Accuracy, 0 to 1, is the share whose
    most probable token is the true one; under MLM it is called masked_accuracy, and counts all
    chosen tokens, masked, replaced or kept.
    """
    device = model.head.weight.device
    loss, correct, count = 0.0, 0, 0
    for index, sentences in enumerate(in_order(text, batch_tokens)):
        rng = generator(seed, "quality", index)
        example = objective.example(*text.batch(sentences), model.config.vocab_size, rng)
        target = None if example.target is None else torch.from_numpy(example.target).to(device)
        labels = torch.from_numpy(example.labels).to(device)
        states = model(torch.from_numpy(example.source).to(device), target)
        logits = model.head(states[labels != IGNORE])
        labels = labels[labels != IGNORE]
        loss += torch.nn.functional.cross_entropy(logits, labels, reduction="sum").item()
        correct += int((logits.argmax(dim=1) == labels).sum())
        count += len(labels)
    return {"perplexity": float(np.exp(loss / count)), objective.accuracy: correct / count}


def translation_quality(
    model: Transformer,
    text: Text,
    references: list[str],
    tokenizer: Tokenizer,
    language: str,
    beam_size: int,
    length_penalty: float,
    batch_tokens: int,
) -> dict[str, tuple[float, str]]:
    """BLEU and chrF (0 to 100) with their signatures.

    references: the target side as it stood before tokenization, a string for each sentence of
    `text`; compared without regard to case, since the models read and write lower case.
    """
    device = model.head.weight.device
    hypotheses = [""] * len(references)
    for sentences in in_order(text, batch_tokens):
        source, _ = text.batch(sentences)
        # Sentences of a batch have like lengths, and only a runaway translation grows so long.
        found = translate(
            model,
            torch.from_numpy(source).to(device),
            beam_size,
            length_penalty,
            max_length=2 * source.shape[1] + 10,
        )
        for sentence, ids in zip(sentences, found, strict=True):
            hypotheses[sentence] = detokenize(tokenizer.decode(ids), language)
    scores = {}
    for name, metric in {
        "bleu": sacrebleu.BLEU(lowercase=True),
        "chrf": sacrebleu.CHRF(lowercase=True),
    }.items():
        score = metric.corpus_score(hypotheses, [references])
        scores[name] = (score.score, str(metric.get_signature()))
    return scores
