"""Synthetic inputs for the benchmarks: text, annotations, representations."""

import numpy as np
import pandas as pd

from bottomup.corpus.batches import Text
from bottomup.corpus.blocks import deal
from bottomup.corpus.specials import EOS, N_SPECIAL
from bottomup.corpus.tokens import TokenFile
from bottomup.measures.groups import TAGS
from bottomup.views import occurrences


def draw_text(lengths: np.ndarray, n_tokens: int, rng: np.random.Generator) -> TokenFile:
    """Sentences of tokens whose frequencies fall as 1 / rank (Zipf); each token is a word.

    lengths: the number of tokens of each sentence, without </s>. n_tokens: the size of the
    vocabulary, without special tokens.
    """
    shares = 1 / np.arange(1, n_tokens + 1)
    offsets = np.concatenate([[0], np.cumsum(lengths + 1)])
    ids = N_SPECIAL + rng.choice(n_tokens, offsets[-1], p=shares / shares.sum())
    words = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths + 1)
    ids[offsets[1:] - 1], words[offsets[1:] - 1] = EOS, -1
    return TokenFile(ids.astype(np.int32), words.astype(np.int32), offsets)


def draw_lengths(n: int, rng: np.random.Generator) -> np.ndarray:
    """Lengths of sentences, 4 to 100 tokens, half of them up to 20: `[n]`."""
    return rng.lognormal(np.log(20), 0.6, n).astype(int).clip(4, 100)


def draw_pairs(n: int, n_tokens: int, translated: bool, seed: int = 1) -> Text:
    """A split of `n` sentences, with a target side if `translated`, of nearly the same lengths."""
    rng = np.random.default_rng(seed)
    lengths = draw_lengths(n, rng)
    others = (lengths + rng.integers(-2, 3, n)).clip(4, 100)
    source = draw_text(lengths, n_tokens, rng)
    return Text(source, draw_text(others, n_tokens, rng) if translated else None)


def occurrences_of(text: TokenFile, n_tokens: int) -> pd.DataFrame:
    """The table of all tokens of a text, with the block of each."""
    ranks = np.zeros(N_SPECIAL + n_tokens, dtype=np.int32)
    ranks[N_SPECIAL:] = np.arange(1, n_tokens + 1)
    table = occurrences.plain(text, np.arange(len(text)), ranks).table
    table["block"] = deal(pd.Series(range(len(text))), seed=1)[table["sentence"]]
    return table


def annotate(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Annotations of occurrences, drawn at random."""
    n = len(table)
    tags = [some[0] for some in TAGS.values()]
    ccg = {name: rng.choice(["N", "N/N", "S\\NP"], n) for name in ("ccg", "ccg_left", "ccg_right")}
    return pd.DataFrame(
        {"last_subword": True, "tag": rng.choice(tags, n), **ccg, "ccg_source": "derived"},
        index=table.index,
    )


def draw_view(n: int, d_model: int, n_tokens: int = 5000, seed: int = 1) -> np.ndarray:
    """Representations like those of a lower layer: a vector for each token plus noise, float32
    `[n, d]`."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, n_tokens + 1)
    tokens = rng.choice(n_tokens, n, p=shares / shares.sum())
    vectors = rng.standard_normal((n_tokens, d_model), dtype=np.float32)
    return vectors[tokens] + rng.standard_normal((n, d_model), dtype=np.float32)
