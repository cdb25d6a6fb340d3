"""What finds sentences more or less probable: a model, or n-grams of the training text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch
from tokenizers import Tokenizer

from bottomup.corpus.tokens import TokenFile
from bottomup.measures.log_probability import (
    NEXT,
    Mode,
    Questions,
    log_probabilities,
    mode_of,
    of_sentence,
)
from bottomup.measures.ngram import Ngrams
from bottomup.subjects import Subject

if TYPE_CHECKING:
    from bottomup.heads.predictor import Predictor
    from bottomup.subjects.slow import SlowTokenizer

ORDER = 5  # of n-grams
MODEL, NGRAMS = "model", f"{ORDER}-grams"


@dataclass(frozen=True)
class Reader:
    """What finds sentences more or less probable.

    tokenizer: its own. max_length: tokens that it reads at once. mode: how it predicts tokens.
    log_probabilities: of what is asked about each sentence of a text, `[n_sentences]`.
    """

    tokenizer: "Tokenizer | SlowTokenizer"
    max_length: int | None
    mode: Mode
    log_probabilities: Callable[[TokenFile, Sequence[Questions]], np.ndarray]


def of_model(subject: Subject, predictor: "Predictor", batch_tokens: int) -> Reader | None:
    """A model as a reader; None if it gives no probabilities to tokens of what it reads.

    predictor: the subject with its objective. batch_tokens: tokens, padded, to read at once.
    """
    if subject.translates or not predictor.gives_probabilities:
        return None
    n_types = subject.tokenizer.get_vocab_size()
    mode = mode_of(predictor.objective, subject.causal, n_types)

    @torch.inference_mode()
    def scores(text: TokenFile, questions: Sequence[Questions]) -> np.ndarray:
        return log_probabilities(
            lambda example: predictor.losses(example)[0],
            text,
            questions,
            mode,
            subject.mask,
            subject.padding,
            batch_tokens,
        )

    return Reader(subject.tokenizer, subject.max_length, mode, scores)


def of_ngrams(train: TokenFile, tokenizer: Tokenizer) -> Reader:
    """An n-gram model of a text in sub-words of `tokenizer`."""
    model = Ngrams(train, ORDER, tokenizer.get_vocab_size())

    def scores(text: TokenFile, questions: Sequence[Questions]) -> np.ndarray:
        asked = np.concatenate([np.zeros(0, dtype=bool), *(of.asked[0] for of in questions)])
        summed = np.where(asked, model.log_probabilities(text), 0)
        return np.bincount(text.sentences, summed, minlength=len(text))

    return Reader(tokenizer, None, NEXT, scores)


def of_sentences(tokens: TokenFile, mode: Mode) -> list[Questions]:
    """What is asked of each sentence for its probability."""
    parts = zip(by_sentence(tokens, tokens.words), by_sentence(tokens, tokens.special), strict=True)
    return [of_sentence(words, special, mode) for words, special in parts]


def by_sentence(tokens: TokenFile, values: np.ndarray) -> list[np.ndarray]:
    """Values of tokens, an array for each sentence."""
    return [values[start:end] for start, end in pairwise(tokens.offsets)]


def preferred(right: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """1 where the right one is more probable, 0 where the wrong one is, half at a tie."""
    return (1 + np.sign(right - wrong)) / 2
