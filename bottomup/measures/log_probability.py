"""How probable a model finds a sentence, or one word of it, in nats.

A language model predicts each token from those before it. Other models predict hidden tokens:

    a word      with all of its sub-words hidden (Goldberg 2019, arXiv 1901.05287)
    a sentence  each token with itself and all later tokens of its word hidden, summed over the
                sentence: the pseudo-log-likelihood `word-l2r` (Kauf and Ivanova 2023, arXiv
                2305.10588). With the token alone hidden (Salazar et al. 2020), the rest of its word
                would give it away.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from torch import Tensor

from bottomup.core.seeds import generator
from bottomup.corpus.batches import padded, split_by_size
from bottomup.corpus.specials import EOS, N_SPECIAL
from bottomup.corpus.tokens import NO_WORD, TokenFile
from bottomup.objectives import IGNORE, Example, Objective

ENOUGH = 10_000  # tokens, of which every objective predicts some


class Mode(NamedTuple):
    """How a model predicts tokens. hides: whether it reads them hidden. before: whether it predicts
    a token at the place before it, and so never the first."""

    hides: bool
    before: bool


NEXT, HIDDEN = Mode(hides=False, before=True), Mode(hides=True, before=False)


class Questions(NamedTuple):
    """What is asked of one sentence, a row for each time that it is read: which tokens are hidden
    then, and which are asked for, both bool `[times, length]`."""

    hidden: np.ndarray
    asked: np.ndarray


def mode_of(objective: Objective, causal: bool, n_types: int) -> Mode:
    """How models of an objective predict tokens, told by an example; those that are not trained are
    asked as LM if they are causal, else as MLM. n_types: of tokens in its text, special ones
    included."""
    if objective.predicts is None:
        return NEXT if causal else HIDDEN
    types = np.arange(N_SPECIAL, n_types)[:ENOUGH]  # no type twice in a sentence
    source = np.tile(np.append(types, EOS), (-(-ENOUGH // len(types)), 1))
    n_read, _ = objective.vocabularies({"source": n_types, "target": N_SPECIAL})
    labels = objective.example(source, source[:, :0], n_read, generator(1, "mode")).labels
    predicted = labels != IGNORE
    return Mode(objective.masked, not np.array_equal(labels[predicted], source[predicted]))


def of_word(words: np.ndarray, word: int, mode: Mode) -> Questions:
    """The questions for one word of a sentence; words: the word of each token, `[length]`."""
    asked = (words == word)[None]
    return Questions(asked & mode.hides, asked)


def of_sentence(words: np.ndarray, special: np.ndarray, mode: Mode) -> Questions:
    """The questions for a whole sentence: of what is not hidden for every token but the first,
    which follows nothing; else for every token but special ones, bool `[length]`."""
    places = np.arange(len(words))
    if not mode.hides:
        asked = (places > 0)[None]
        return Questions(np.zeros_like(asked), asked)
    itself = np.eye(len(words), dtype=bool)
    of_its_word = (words == words[:, None]) & (words != NO_WORD) & (places >= places[:, None])
    some = ~special & (places >= mode.before)
    return Questions((itself | of_its_word)[some], itself[some])


def log_probabilities(
    losses: Callable[[Example], Tensor],
    text: TokenFile,
    questions: Sequence[Questions],
    mode: Mode,
    mask: int | None,
    padding: int,
    batch_tokens: int,
) -> np.ndarray:
    """The summed log-probability of the tokens that are asked for: `[n_sentences]`.

    losses: the summed cross-entropy of each row of an example. questions: of each sentence of
    `text`. mask: what stands for a hidden token, if any is. padding: what fills up shorter
    sentences. batch_tokens: padded tokens at once.
    """
    times = [len(of_one.asked) for of_one in questions]
    sentence = np.repeat(np.arange(len(text)), times)
    hidden, asked = ([row for of_one in questions for row in of_one[side]] for side in (0, 1))
    lengths, nats = text.lengths[sentence], np.zeros(len(sentence))
    for rows in split_by_size(lengths, np.argsort(lengths, kind="stable"), batch_tokens):
        ids = padded(text, sentence[rows], padding)
        hide, ask = (_stacked([side[row] for row in rows], ids.shape) for side in (hidden, asked))
        labels = np.where(ask, ids, IGNORE)
        if mode.before:
            labels = np.roll(labels, -1, axis=1)  # the first token is never asked for
        read = ids if mask is None else np.where(hide, mask, ids)
        example = Example(read, None, labels, lengths[rows])
        nats[rows] = losses(example).double().cpu().numpy()
    return -np.bincount(sentence, nats, minlength=len(text))


def _stacked(rows: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """Rows of several lengths, filled up with False."""
    mask = np.zeros(shape, dtype=bool)
    for place, row in enumerate(rows):
        mask[place, : len(row)] = row
    return mask
