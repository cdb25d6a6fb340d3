"""Models for the benchmarks, and the cost of their matrix products."""

import numpy as np

from bottomup.corpus.specials import N_SPECIAL
from bottomup.corpus.tokens import TokenFile
from bottomup.model.configuration import TransformerConfig
from bottomup.model.transformer import Transformer
from bottomup.subjects.runs import Run
from bottomup.subjects.subject import Subject

HEADS = 8


def model(n_tokens: int, d: int, layers: int, decoder_layers: int = 0, **options) -> Transformer:
    """An untrained Transformer; n_tokens: size of each vocabulary, without special tokens."""
    vocab_size = n_tokens + N_SPECIAL
    shape = {"heads": HEADS, "d_model": d, "d_ff": 4 * d, "attention_dropout": 0.0}
    sizes = {"encoder_layers": layers, "decoder_layers": decoder_layers}
    config = TransformerConfig(
        vocab_size=vocab_size, target_vocab_size=vocab_size, **shape, **sizes, **options
    )
    return Transformer(config, seed=1)


def encoder(n_tokens: int, d: int, layers: int) -> Subject:
    """A model that sees both sides, as a subject."""
    return Run(model(n_tokens, d, layers), tokenizer=None)


def encoder_flop(text: TokenFile, d: int, layers: int, causal: bool = False) -> float:
    """Operations of encoding a text, without padding.

    A layer has 12 d^2 weights in its matrices, 4 d^2 in attention and 8 d^2 in the feed-forward
    part (4 d wide), and uses each once for each token. A score and the weighting of a value take 2
    d operations each for a query and a key; causal attention needs half of these pairs. Together
    that is 24 d^2 + 4 d n operations for each of the n tokens of a sentence.
    """
    n = text.lengths.astype(np.float64)
    return layers * float((24 * d**2 * n + (2 if causal else 4) * d * n**2).sum())


def decoder_flop(source: TokenFile, target: TokenFile, d: int, layers: int) -> float:
    """Operations of reading a target of n tokens, which attend to earlier tokens and to m source
    tokens.

    A layer has 14 d^2 weights in its matrices for each target token, and 2 d^2 for the keys and
    values of each source token. That is 28 d^2 n + 4 d^2 m, plus 2 d n^2 for causal attention and
    4 d n m for attention to the source, see `encoder_flop`.
    """
    n, m = target.lengths.astype(np.float64), source.lengths
    of_sentences = 28 * d**2 * n + 4 * d**2 * m + 2 * d * n**2 + 4 * d * n * m
    return layers * float(of_sentences.sum())
