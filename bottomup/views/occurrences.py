"""Occurrences: the token positions of held-out text at which every run is looked at.

A reading is a token file (the text as the models read it) and a table of positions in it. Both are
drawn once per study, so that all runs are seen on the same data.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bottomup.core.seeds import generator
from bottomup.corpus.specials import EOS, MASK, UNK
from bottomup.corpus.tokens import TokenFile
from bottomup.objectives import Masking


@dataclass(frozen=True)
class Reading:
    """text: the sentences as the models read them; table: a row for each occurrence, in text order.

    Columns of the table: `text` (the sentence in `text`), `sentence` (its number in the test
    split), `position` (from 0), `input_id` (read there), `output_id` (to be predicted there),
    `kind` (plain, masked, replaced or drawn), `rank` (frequency rank of the original token, 1 =
    most frequent), `left_id` and `right_id` (its original neighbors; </s> also stands before the
    first token).
    """

    text: TokenFile
    table: pd.DataFrame


def sample_sentences(tokens: TokenFile, n: int, seed: int) -> np.ndarray:
    """Sentences drawn without replacement until they hold `n` tokens, in text order.

    Sentences are whole, so that each occurrence has its context. </s> does not count. A shorter
    text gives all its sentences.
    """
    order = generator(seed, "occurrences").permutation(len(tokens))
    sizes = np.cumsum(tokens.lengths[order] - 1)
    return np.sort(order[: np.searchsorted(sizes, n) + 1])


def plain(tokens: TokenFile, sentences: np.ndarray, ranks: np.ndarray) -> Reading:
    """Every token of the sentences, uncorrupted. The output is the next token, as for an LM.

    ranks: frequency rank by token id, `[vocab]`.
    """
    text = tokens.select(sentences)
    table = positions_of(text, sentences, ranks)
    table["output_id"] = table["right_id"]
    table["kind"] = "plain"
    return Reading(text, finished(table, text.ids))


def as_trained(
    tokens: TokenFile,
    sentences: np.ndarray,
    ranks: np.ndarray,
    objective: Masking,
    vocab_size: int,
    draws: int,
    label_ids: np.ndarray,
    seed: int,
) -> Reading:
    """The positions where MLM, fed as in training, reads another token than the original.

    objective: MLM, with its shares of masked and replaced tokens. vocab_size: how many types of
    tokens it reads, those of its own among them. label_ids: the tokens whose information is to be
    measured.

    The sentences are corrupted `draws` times. This seldom puts one of `label_ids` in place of
    another token: in the papers, training replaces 1.5 % of the tokens, by any token of the
    vocabulary. So as many positions are drawn as there are corrupted sentences, uniformly. A label
    drawn uniformly replaces the token at each, and the rest of its sentence is corrupted as in
    training. Since training corrupts positions independently, this is its distribution, given that
    a label replaces this token. Such an occurrence has the kind `drawn`; the other positions of its
    sentence are no occurrences.
    """
    rng = generator(seed, "as_trained")
    passes = np.tile(sentences, draws)
    places = positions_of(tokens.select(sentences), sentences, ranks)
    drawn = places.iloc[np.sort(rng.integers(0, len(places), len(passes)))]
    read = np.concatenate([passes, drawn["sentence"]])
    text = tokens.select(read)
    corrupted = objective.corrupt(text.ids, objective.chosen(text.ids, rng), vocab_size, rng)
    drawn_index = text.offsets[len(passes) : -1] + drawn["position"].to_numpy()
    corrupted[drawn_index] = rng.choice(label_ids, len(drawn_index))

    table = positions_of(text, read, ranks).rename(columns={"original_id": "output_id"})
    is_drawn = table["index"].isin(drawn_index)
    inputs = corrupted[table["index"]]
    hidden = (inputs == MASK) | (inputs >= len(ranks))  # by <mask>, or by a mark of its own
    table["kind"] = np.where(is_drawn, "drawn", np.where(hidden, "masked", "replaced"))
    kept = (is_drawn | (table["text"] < len(passes))) & (inputs != table["output_id"])
    as_read = TokenFile(ids=corrupted.astype(np.int32), words=text.words, offsets=text.offsets)
    return Reading(as_read, finished(table[kept], corrupted))


def positions_of(text: TokenFile, sentences: np.ndarray, ranks: np.ndarray) -> pd.DataFrame:
    """A row for each token of `text` except </s>: its place, original id, rank and neighbors."""
    index = np.flatnonzero(text.ids != EOS)
    number = text.sentences[index]
    return pd.DataFrame(
        {
            "index": index,
            "text": number.astype(np.int32),
            "sentence": sentences[number].astype(np.int32),
            "position": (index - text.offsets[number]).astype(np.int32),
            "original_id": text.ids[index],
            "rank": ranks[text.ids[index]].astype(np.int32),
            "left_id": text.ids[index - 1],  # </s> of the previous sentence, or of the last one
            "right_id": text.ids[index + 1],
        }
    )


def finished(table: pd.DataFrame, read: np.ndarray) -> pd.DataFrame:
    """The table in its final columns; `read` holds the ids as the model reads them."""
    table = table.assign(input_id=read[table["index"]].astype(np.int32))
    columns = ["text", "sentence", "position", "input_id", "output_id", "kind"]
    return table[[*columns, "rank", "left_id", "right_id"]].reset_index(drop=True)


def unknown_apart(words: pd.DataFrame) -> pd.DataFrame:
    """A table of words in which no two are the same for being unknown: those that the training text
    lacks share the id UNK, and get numbers of their own, below 0, in input_id, left_id and
    right_id."""
    own = -1 - np.arange(len(words))
    columns = words.columns.intersection(["input_id", "left_id", "right_id"])
    return words.assign(**{name: words[name].where(words[name] != UNK, own) for name in columns})
