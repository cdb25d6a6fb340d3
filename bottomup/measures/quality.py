"""How good a trained run is: perplexity, accuracy, BLEU and chrF on held-out text."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import sacrebleu
import torch
from tokenizers import Tokenizer
from torch.nn import functional

from bottomup.corpus.detokenization import detokenize
from bottomup.measures.bootstrap import resamples
from bottomup.model.beam_search import translate
from bottomup.model.transformer import Transformer
from bottomup.objectives import IGNORE, Objective
from bottomup.seeds import generator
from bottomup.training.batches import Text, in_order
from bottomup.training.run import load_text

Scores = dict[str, tuple[float, str]]  # by metric: its value, and sacreBLEU's signature or ""


@dataclass(frozen=True)
class Quality:
    """Of a run on the test split.

    scores: by metric; compared: what pruned models are compared by, `[1 + n_samples]`: BLEU where
    they translate, else the mean probability of the right token (geometric mean). The first is
    that of all sentences, the others are those of bootstrap samples of them, which are the same
    for every run that reads the same sentences.
    """

    scores: Scores
    compared: np.ndarray


def quality(
    model: Transformer,
    objective: Objective,
    settings: dict,
    tokens: Path,
    translation: list[Path],
    batch_tokens: int,
    n_samples: int = 0,
) -> Quality:
    """All scores of a run on the test split, and `n_samples` bootstrap samples.

    settings: `sampling_seed`, and where the objective translates `beam_size`, `length_penalty`,
    `sentences` (how many are translated), `language` (of the target side); tokens: the folder of
    token files; translation: then also the test split's text and the target side's tokenizer.
    """
    text, seed = load_text(tokens, "test", objective), settings["sampling_seed"]
    found = predictions(model, objective, text, batch_tokens, seed)
    scores = {name: (value, "") for name, value in prediction_quality(found, objective).items()}
    if objective.predicts != "target":
        sums = with_samples(found[["loss_nats", "predicted"]].to_numpy(), n_samples, seed)
        return Quality(scores, np.exp(-sums[:, 0] / sums[:, 1]))
    pairs_file, tokenizer_file = translation
    pairs = pd.read_parquet(pairs_file)
    order = generator(seed, "translated").permutation(len(pairs))
    some = np.sort(order[: settings["sentences"]])
    references = pairs["target"].iloc[some].tolist()
    hypotheses = translations(
        model,
        text.select(some),
        Tokenizer.from_file(str(tokenizer_file)),
        settings["language"],
        settings["beam_size"],
        settings["length_penalty"],
        batch_tokens,
    )
    return Quality(
        scores | translation_quality(hypotheses, references),
        bleu_of_samples(hypotheses, references, n_samples, seed),
    )


@torch.inference_mode()
def predictions(
    model: Transformer, objective: Objective, text: Text, batch_tokens: int, seed: int
) -> pd.DataFrame:
    """A row for each sentence of `text`: how many tokens are `predicted`, the sum of their
    cross-entropies, `loss_nats`, and how many are `correct`, the true token being the most
    probable; `seed` draws those that MLM predicts."""
    device = model.head.weight.device
    found = np.zeros((len(text.source), 3))
    for index, sentences in enumerate(in_order(text, batch_tokens)):
        rng = generator(seed, "quality", index)
        example = objective.example(*text.batch(sentences), model.config.vocab_size, rng)
        target = None if example.target is None else torch.from_numpy(example.target).to(device)
        labels = torch.from_numpy(example.labels).to(device)
        states = model(torch.from_numpy(example.source).to(device), target)
        rows, _ = (labels != IGNORE).nonzero(as_tuple=True)
        logits = model.head(states[labels != IGNORE])
        labels = labels[labels != IGNORE]
        losses = functional.cross_entropy(logits, labels, reduction="none")
        of_token = torch.stack(
            [losses, logits.argmax(dim=1) == labels, torch.ones_like(losses)], dim=1
        )
        sums = torch.zeros(len(sentences), 3, dtype=torch.float64, device=device)
        found[sentences] = sums.index_add_(0, rows, of_token.double()).cpu().numpy()
    return pd.DataFrame(found, columns=["loss_nats", "correct", "predicted"])


def prediction_quality(found: pd.DataFrame, objective: Objective) -> dict[str, float]:
    """Perplexity and accuracy over the predicted tokens of `predictions`.

    Perplexity is exp of the mean cross-entropy in nats per predicted sub-word, so it compares
    only between runs with one vocabulary and one objective. Accuracy, 0 to 1, is the share whose
    most probable token is the true one; under MLM it is called masked_accuracy, and counts all
    chosen tokens, masked, replaced or kept.
    """
    loss, correct, predicted = found[["loss_nats", "correct", "predicted"]].sum()
    return {
        "perplexity": float(np.exp(loss / predicted)),
        objective.accuracy: float(correct / predicted),
    }


def with_samples(of_sentence: np.ndarray, n_samples: int, seed: int) -> np.ndarray:
    """Sums over all sentences, then over bootstrap samples of them: `[1 + n_samples, values]`.

    of_sentence: `[n_sentences, values]`.
    """
    _, drawn = resamples(np.arange(len(of_sentence)), n_samples, seed)
    once = np.ones((len(of_sentence), 1), dtype=drawn.dtype)
    return np.hstack([once, drawn]).T @ of_sentence


def translations(
    model: Transformer,
    text: Text,
    tokenizer: Tokenizer,
    language: str,
    beam_size: int,
    length_penalty: float,
    batch_tokens: int,
) -> list[str]:
    """The model's translation of each sentence of `text`, detokenized."""
    device = model.head.weight.device
    hypotheses = [""] * len(text.source)
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
    return hypotheses


def translation_quality(hypotheses: list[str], references: list[str]) -> Scores:
    """BLEU and chrF (0 to 100) with their signatures.

    references: the target side as it stood before tokenization; compared without regard to case,
    since the models read and write lower case.
    """
    scores = {}
    for name, metric in {
        "bleu": sacrebleu.BLEU(lowercase=True),
        "chrf": sacrebleu.CHRF(lowercase=True),
    }.items():
        score = metric.corpus_score(hypotheses, [references])
        scores[name] = (score.score, str(metric.get_signature()))
    return scores


def bleu_of_samples(
    hypotheses: list[str], references: list[str], n_samples: int, seed: int
) -> np.ndarray:
    """BLEU, as by `translation_quality`, over all sentences, then over bootstrap samples of them
    (Koehn 2004): `[1 + n_samples]`."""
    metric = sacrebleu.BLEU(lowercase=True, effective_order=True)
    pairs = zip(hypotheses, references, strict=True)
    scores = [metric.sentence_score(hypothesis, [reference]) for hypothesis, reference in pairs]
    counts = np.array([[*s.counts, *s.totals, s.sys_len, s.ref_len] for s in scores])
    return np.array(
        [
            metric.compute_bleu(
                correct=sums[:4].tolist(),
                total=sums[4:8].tolist(),
                sys_len=sums[8],
                ref_len=sums[9],
                smooth_method="exp",
            ).score
            for sums in with_samples(counts, n_samples, seed)
        ]
    )
