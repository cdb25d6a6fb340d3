"""The words of one sentence against each other: how alike their representations are.

Representations lie in a narrow cone (Ethayarajh 2019, see `bottomup.measures.isotropy`): any two
have a cosine far above 0, in the upper layers most of all. So what all occurrences share, their
mean, is taken off first. Then two words drawn at random have a cosine of about 0.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from tokenizers import Tokenizer

from bottomup.core.files.tokenizers import load_tokenizer
from bottomup.corpus.tokens import NO_WORD
from bottomup.corpus.words import spans
from bottomup.subjects import Subject
from bottomup.subjects.words import encode
from bottomup.views.extraction import means


def cosines(vectors: np.ndarray, center: np.ndarray) -> np.ndarray:
    """The cosine of each two of some vectors less their center, -1 to 1, `[n, n]`.

    vectors: `[n, d_model]`; center: `[d_model]`.

    A vector at the center has no direction, so no cosine: NaN.
    """
    rows = vectors.astype(np.float64) - center
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    units = np.divide(rows, lengths, out=np.full_like(rows, np.nan), where=lengths > 0)
    return np.clip(units @ units.T, -1, 1)


def words_of(
    subject: Subject, sentence: str, tokenizer: Path | None, pooling: str
) -> tuple[list[str], list[np.ndarray]]:
    """The words of a sentence that a subject sees, as they are written, and its representations of
    them at each layer, `[n_words, d_model]`.

    sentence: as from `corpus.cleaning.cleaned`.
    tokenizer: the one whose words they are; None for the subject's own.
    pooling: what stands for a word, see `Words.pooled`; as in the views of which they are centered.
    """
    own = load_tokenizer(tokenizer) if tokenizer else subject.tokenizer
    assert isinstance(own, Tokenizer)  # a run has one; for a checkpoint it is given
    [(text, places)] = spans([sentence], own)
    read = encode(subject.tokenizer, [sentence], [places], subject.max_length)
    ids = torch.from_numpy(np.asarray(read.tokens.ids, dtype=np.int64))[None]
    layers = subject.hidden_states(ids, lengths=torch.tensor([ids.shape[1]]))
    first, last = read.pooled(pooling, subject.backward)
    seen = np.flatnonzero(last != NO_WORD)
    words = [text[start:end] for start, end in (places[number] for number in seen)]
    of_words = np.zeros_like(seen), first[seen], last[seen]
    return words, [means(states.float().numpy(), *of_words) for states in layers]


def against_each_other(
    words: Sequence[str], layers: Sequence[np.ndarray], centers: Sequence[np.ndarray]
) -> pd.DataFrame:
    """A row for each layer and each two words, in both orders, a word and itself among them: layer,
    place_a, word_a, place_b, word_b and cosine. Places count from 0.

    words, layers: as from `words_of`. centers: of each layer, `[d_model]`.
    """
    similarity = np.stack([cosines(*of_layer) for of_layer in zip(layers, centers, strict=True)])
    layer, a, b = np.indices(similarity.shape).reshape(3, -1)
    named = np.array(words, dtype=object)
    return pd.DataFrame(
        {
            **{"layer": layer, "place_a": a, "word_a": named[a], "place_b": b, "word_b": named[b]},
            "cosine": similarity.ravel(),
        }
    )
