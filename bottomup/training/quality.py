"""How good a trained run is: perplexity, accuracy, BLEU and chrF on held-out text."""

from pathlib import Path

import numpy as np
import pandas as pd
import sacrebleu
import torch
from tokenizers import Tokenizer

from bottomup.corpus.detokenization import detokenize
from bottomup.model.beam_search import translate
from bottomup.model.transformer import Transformer
from bottomup.objectives import IGNORE, Objective
from bottomup.seeds import generator
from bottomup.training.batches import Text, in_order
from bottomup.training.run import load_text

Scores = dict[str, tuple[float, str]]  # by metric: its value, and sacreBLEU's signature or ""


def quality(
    model: Transformer,
    objective: Objective,
    settings: dict,
    tokens: Path,
    translation: list[Path],
    batch_tokens: int,
) -> Scores:
    """All scores of a run on the test split.

    settings: `sampling_seed`, and where the objective translates `beam_size`, `length_penalty`,
    `sentences` (how many are translated), `language` (of the target side); tokens: the folder of
    token files; translation: then also the test split's text and the target side's tokenizer.
    """
    text, seed = load_text(tokens, "test", objective), settings["sampling_seed"]
    predicted = prediction_quality(model, objective, text, batch_tokens, seed)
    scores = {name: (value, "") for name, value in predicted.items()}
    if objective.predicts != "target":
        return scores
    pairs_file, tokenizer_file = translation
    pairs = pd.read_parquet(pairs_file)
    order = generator(seed, "translated").permutation(len(pairs))
    some = np.sort(order[: settings["sentences"]])
    return scores | translation_quality(
        model,
        text.select(some),
        pairs["target"].iloc[some].tolist(),
        Tokenizer.from_file(str(tokenizer_file)),
        settings["language"],
        settings["beam_size"],
        settings["length_penalty"],
        batch_tokens,
    )


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
) -> Scores:
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
