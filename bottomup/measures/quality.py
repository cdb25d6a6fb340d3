"""How good a trained run is: perplexity, accuracy, BLEU and chrF on held-out text."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import sacrebleu
import torch
from tokenizers import Tokenizer
from torch.nn import functional

from bottomup.core.files.joins import require_equal_lengths
from bottomup.core.files.tables import read_table
from bottomup.core.files.tokenizers import load_tokenizer
from bottomup.core.languages import script
from bottomup.core.seeds import generator
from bottomup.core.settings import Scoring
from bottomup.corpus.batches import Text, in_order
from bottomup.corpus.detokenization import detokenize
from bottomup.corpus.segmentation import base, spaced, unmarked
from bottomup.measures import jackknife
from bottomup.measures.examples import BATCH_TOKENS, examples, tensors
from bottomup.measures.jackknife import UNIT, Range
from bottomup.measures.log_probability import HIDDEN, mode_of
from bottomup.measures.token_dropout import without_dropout
from bottomup.model.beam_search import translate
from bottomup.model.transformer import Transformer
from bottomup.objectives import IGNORE, Objective

if TYPE_CHECKING:
    from bottomup.model.trunks import TrunkModel

# The range of each metric; the others are shares.
RANGES = {"perplexity": Range(1), "bleu": Range(0, 100), "chrf": Range(0, 100)}
RANGES["mlm_perplexity"] = RANGES["perplexity"]


@dataclass(frozen=True)
class Score:
    """A value on the test split, and what an interval needs.

    without: the value without each block, `[n_blocks]`. within: its range. n: the number of tokens
    or sentences. cases: for a share of tokens, how many each block has, `[n_blocks]`. signature:
    sacreBLEU's, or "".
    """

    value: float
    without: np.ndarray
    within: Range
    n: int
    cases: np.ndarray | None = None
    signature: str = ""

    def estimate(self, name: str) -> dict:
        """The columns of an estimate called `name`, and n."""
        columns = jackknife.estimate(name, self.value, self.without, self.within, self.cases)
        return columns | {"n": self.n}


Scores = dict[str, Score]  # by metric


def quality(
    model: "Transformer | TrunkModel",
    objective: Objective,
    scoring: Scoring,
    text: Text,
    blocks: np.ndarray,
    translation: list[Path],
    as_mlm: Objective | None = None,
) -> Scores:
    """All scores of a run on the test split.

    text: the split. blocks: the block of each of its sentences, `[n_sentences]`. translation: if
    the run translates, the split before tokenization and the tokenizer of the target side. as_mlm:
    MLM, whose examples all models that predict hidden tokens are asked, too.
    """
    objective = without_dropout(objective)
    if scoring.choose is not None:
        objective = objective.model_copy(update={"choose": scoring.choose})
    require_equal_lengths(sentences=text.source, blocks=blocks)
    seed, count = scoring.seed, jackknife.n_blocks(blocks)
    by_sentence = predictions(model, objective, text, BATCH_TOKENS, seed)
    scores = prediction_quality(by_sentence, objective, blocks, count)
    n_types = len(model.head.weight)  # of tokens, where tokens are predicted
    if as_mlm and mode_of(objective, objective.causal, n_types) == HIDDEN:
        by_sentence = predictions(model, as_mlm, text, BATCH_TOKENS, seed)
        found = prediction_quality(by_sentence, as_mlm, blocks, count)
        scores["mlm_perplexity"] = found["perplexity"]
        scores["mlm_accuracy"] = found[as_mlm.accuracy]
    options = scoring.translation
    if options is None:
        return scores
    assert isinstance(model, Transformer)  # no other trunk has a decoder
    pairs_file, tokenizer_file = translation
    pairs = read_table(pairs_file)
    require_equal_lengths(pairs=pairs, blocks=blocks)
    order = generator(seed, "translated").permutation(len(pairs))
    some = np.sort(order[: options.sentences])
    tokenizer = load_tokenizer(tokenizer_file)
    # In lower case, if translations are: sacreBLEU's knows no language.
    references = [
        tokenizer.normalizer.normalize_str(unmarked(text)) for text in pairs["target"].iloc[some]
    ]
    hypotheses = translations(
        model,
        text.select(some),
        tokenizer,
        options.language,
        options.beam_size,
        options.length_penalty,
        BATCH_TOKENS,  # it affects results: a batch's longest sentence limits translations
    )
    lowercase = tokenizer.normalizer.normalize_str("A") == "a"
    return scores | translation_quality(
        hypotheses, references, blocks[some], count, options.language, lowercase
    )


def as_written(estimates: Path) -> Scores:
    """The scores in what `measure_quality` wrote beside its table."""
    rows = read_table(estimates).to_dict("records")
    return {
        row["metric"]: Score(
            row["value"],
            row[jackknife.WITHOUT],
            RANGES.get(row["metric"], UNIT),
            row["n"],
            signature=row["signature"],
        )
        for row in rows
    }


def compared(scores: Scores) -> Score:
    """How good a pruned model is: its BLEU if it translates, else `right_token`."""
    return scores["bleu"] if "bleu" in scores else right_token(scores)


def right_token(scores: Scores) -> Score:
    """The geometric mean probability of the right token, 0 to 1."""
    perplexity = scores["perplexity"]
    return Score(1 / perplexity.value, 1 / perplexity.without, UNIT, perplexity.n)


@torch.inference_mode()
def predictions(
    model: "Transformer | TrunkModel",
    objective: Objective,
    text: Text,
    batch_tokens: int,
    seed: int,
) -> pd.DataFrame:
    """A row for each sentence of `text`: how many tokens are `predicted`, the sum of their
    cross-entropies (`loss_nats`), and for how many the true token is the most probable (`correct`).
    `seed` draws the tokens that MLM predicts."""
    device = model.head.weight.device
    by_sentence = np.zeros((len(text.source), 3))
    for sentences, example in examples(
        objective, text, model.config.vocab_size, batch_tokens, seed
    ):
        source, target, labels = tensors(example, device)
        states = model(source, target)
        rows, _ = (labels != IGNORE).nonzero(as_tuple=True)
        logits = model.head(states[labels != IGNORE])
        labels = labels[labels != IGNORE]
        losses = functional.cross_entropy(logits, labels, reduction="none")
        of_token = torch.stack(
            [losses, logits.argmax(dim=1) == labels, torch.ones_like(losses)], dim=1
        )
        sums = torch.zeros(len(sentences), 3, dtype=torch.float64, device=device)
        by_sentence[sentences] = sums.index_add_(0, rows, of_token.double()).cpu().numpy()
    return pd.DataFrame(by_sentence, columns=["loss_nats", "correct", "predicted"])


def prediction_quality(
    by_sentence: pd.DataFrame, objective: Objective, blocks: np.ndarray, count: int
) -> Scores:
    """Perplexity and accuracy over the predicted tokens of `predictions`.

    Perplexity is exp of the mean cross-entropy in nats per predicted sub-word. So it compares only
    runs with the same vocabulary and target (for MLM, the same share of masks). Accuracy, 0 to 1,
    is the share of tokens whose most probable prediction is right. Under MLM it is called
    masked_accuracy and counts all chosen tokens, whether masked, replaced or kept. blocks: the
    block of each sentence, below `count`.
    """
    of_sentence = by_sentence[["loss_nats", "correct", "predicted"]].to_numpy()
    losses, correct, predicted = jackknife.sums(of_sentence, blocks, count).T
    perplexity = np.exp(jackknife.ratio(losses, predicted))
    accuracy, n = jackknife.ratio(correct, predicted), int(predicted[0])
    return {
        "perplexity": Score(float(perplexity[0]), perplexity[1:], RANGES["perplexity"], n),
        objective.accuracy: Score(float(accuracy[0]), accuracy[1:], UNIT, n, n - predicted[1:]),
    }


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
        # Sentences of a batch have similar lengths; only a runaway translation grows this long.
        outputs = translate(
            model,
            torch.from_numpy(source).to(device),
            beam_size,
            length_penalty,
            max_length=2 * source.shape[1] + 10,
        )
        for sentence, ids in zip(sentences, outputs, strict=True):
            hypotheses[sentence] = detokenize(tokenizer.decode(ids), language)
    return hypotheses


def translation_quality(
    hypotheses: list[str],
    references: list[str],
    blocks: np.ndarray,
    count: int,
    language: str,
    lowercase: bool,
) -> Scores:
    """BLEU and chrF (0 to 100) with their signatures.

    references: the target side before tokenization. lowercase: whether case is ignored, as of
    models that write lower case. BLEU counts the words of sacreBLEU's tokenizer for the language:
    zh for Chinese script, ja-mecab and ko-mecab; char for other languages without spaces, where 13a
    would take a clause for a word; else 13a. blocks: the block of each sentence, below `count`.
    """
    code = "zh" if script(language) in ("Hans", "Hant") else base(language)
    of_sacrebleu = sacrebleu.BLEU._TOKENIZER_MAP
    tokenizer = of_sacrebleu.get(code, "13a" if spaced(language) else "char")
    scores = {}
    for name, metric in {
        "bleu": sacrebleu.BLEU(lowercase=lowercase, tokenize=tokenizer),
        "chrf": sacrebleu.CHRF(lowercase=lowercase),
    }.items():
        # What corpus_score adds up over sentences; chrF has no public method for it.
        of_sentence = np.array(metric._extract_corpus_statistics(hypotheses, [references]))
        value, *without = (
            metric._compute_score_from_stats(totals.tolist()).score
            for totals in jackknife.sums(of_sentence, blocks, count)
        )
        scores[name] = Score(
            value,
            np.array(without),
            RANGES[name],
            len(hypotheses),
            signature=str(metric.get_signature()),
        )
    return scores
