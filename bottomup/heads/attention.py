"""What each head attends to in a few short sentences, word by word."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from tokenizers import Tokenizer
from torch import Tensor

from bottomup.core.errors import UserError
from bottomup.core.seeds import generator
from bottomup.corpus.bpe import WORD_START
from bottomup.corpus.segmentation import INNER, MARK, WORD
from bottomup.heads.trace import trace
from bottomup.subjects import Subject
from bottomup.subjects.runs import Run
from bottomup.subjects.words import encode

if TYPE_CHECKING:
    from bottomup.subjects.slow import SlowTokenizer

WORDS = rf"{WORD}|[^\w\s{INNER}{MARK}]"  # words and punctuation marks
SHORT = (5, 10)  # the fewest and the most words of a short sentence
START = "<start>"  # the zero vector that a decoder reads first


def short(sentences: pd.Series, n: int, seed: int) -> np.ndarray:
    """The numbers of `n` different short sentences, drawn without replacement, ascending; all if
    there are fewer. Raises UserError if there is none."""
    fits = sentences.str.count(WORDS).between(*SHORT) & ~sentences.duplicated()
    numbers = np.flatnonzero(fits)
    if not len(numbers):
        raise UserError(
            f"no sentence of {SHORT[0]} to {SHORT[1]} words in the test split, in which to show "
            "attention; set leave_out to [attention, beliefs] or hold out more text"
        )
    return np.sort(generator(seed, "attention").permutation(numbers)[:n])


def attention(
    subject: Subject, sentence: str, target: str | None, tokenizer: Tokenizer | None
) -> Iterator[tuple[str, list[str], list[str], np.ndarray]]:
    """Each kind of attention in a sentence: its name, queries, keys, and the weights `[layers,
    heads, queries, keys]`, whose rows sum to 1.

    target, tokenizer: the translation for one of our decoders to predict, and the tokenizer of the
    target side; None without a decoder. As elsewhere (bottomup/heads/confidence.py), a query of a
    decoder is the token to be predicted, and its keys are the tokens before it, `START` first.
    """
    most = subject.max_length
    ids, tokens = _encoded(subject.tokenizer, sentence, most)
    attentions = subject.attentions(ids, lengths=torch.tensor([ids.shape[1]]))
    yield "encoder", tokens, tokens, _stacked(attentions)
    if target is None or tokenizer is None:
        return
    assert isinstance(subject, Run)  # only runs are given a target
    predicted, words = _encoded(tokenizer, target, most)
    steps = list(trace(subject.model, ids, predicted).attentions())
    for kind, keys in (("decoder", [START, *words[:-1]]), ("cross", tokens)):
        weights = [step.weights for step in steps if step.kind == kind]
        yield kind, words, keys, _stacked(weights)


def _encoded(
    tokenizer: "Tokenizer | SlowTokenizer", text: str, most: int | None
) -> tuple[Tensor, list[str]]:
    """The ids `[1, length]`, and the tokens as the model reads them, at most `most` at once."""
    ids = encode(tokenizer, [text], [[]], most).tokens.ids.tolist()
    return torch.tensor([ids]), [shown(i, tokenizer) for i in ids]


def shown(token: int, tokenizer: "Tokenizer | SlowTokenizer") -> str:
    """A token as it is written, without white space around it; `WORD_START` if it is only that, as
    of a word whose first letters are not joined to its mark."""
    return tokenizer.decode([token], skip_special_tokens=False).strip() or WORD_START


def _stacked(layers: Sequence[Tensor]) -> np.ndarray:
    return torch.stack([weights[0] for weights in layers]).float().cpu().numpy()


def weight_rows(
    kind: str, queries: list[str], keys: list[str], weights: np.ndarray
) -> pd.DataFrame:
    """A row for each weight of `attention`: the columns of the table but the sentence. Layers and
    heads count from 1, places from 0."""
    layer, head, query, key = np.indices(weights.shape).reshape(4, -1)
    return pd.DataFrame(
        {
            **{"attention": kind, "layer": layer + 1, "head": head + 1, "query": query, "key": key},
            "query_token": np.array(queries, dtype=object)[query],
            "key_token": np.array(keys, dtype=object)[key],
            "weight": weights.ravel(),
        }
    )
