"""Denoising by a decoder, as in BART (Lewis et al. 2020, arXiv 1910.13461)."""

import math

import numpy as np
from pydantic import Field

from bottomup import objectives
from bottomup.corpus.batches import stacked
from bottomup.corpus.specials import EOS, MASK, PAD
from bottomup.objectives import IGNORE, Example

SPAN = 3  # mean number of tokens of a span


class Objective(objectives.Objective):
    """The decoder writes the source sentence, of which the encoder reads a part.

    Spans of tokens, with lengths from a Poisson distribution, are hidden until a share `hide` of
    the tokens is hidden. The encoder reads one <mask> for each span, even for one of length 0.
    Spans do not overlap, and all ways to place them are equally probable.
    """

    rewrites = True

    hide: float = Field(0.3, ge=0.01, lt=1, description="share of tokens to hide")

    def reads_of(self, source, target) -> float:
        hidden = np.ceil(self.hide * (source - 1))
        # Spans are drawn until enough is hidden, and the last one is cut off: half a span more.
        spans = np.maximum(hidden / SPAN + 0.5, 1) * (hidden > 0)
        return float((source - hidden + spans).sum())

    def example(self, source, target, vocab_size, rng) -> Example:
        read = [self.parted(row, rng)[0] for row in source]
        return Example(stacked(read), source, np.where(source == PAD, IGNORE, source))

    def parted(self, row: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """A padded sentence as the encoder reads it, and what is hidden: each span after a <mask>.

        Both end in </s>.
        """
        tokens = row[(row != PAD) & (row != EOS)]
        lengths = self.lengths(len(tokens), rng)
        # What is read, in order: a token or a span.
        is_span = rng.permutation(len(tokens) - lengths.sum() + len(lengths)) < len(lengths)
        sizes = np.ones(len(is_span), dtype=np.int64)
        sizes[is_span] = lengths
        starts = np.cumsum(sizes) - sizes
        read = np.where(is_span, MASK, np.append(tokens, EOS)[starts])
        hidden = tokens[np.repeat(is_span, sizes)]
        written = np.insert(hidden, np.cumsum(lengths) - lengths, MASK)
        return np.append(read, EOS), np.append(written, EOS)

    def lengths(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """The lengths of the spans of a sentence of `n` tokens, `[n_spans]`, in random order.

        The span that is drawn last is cut off.
        """
        n_hidden = math.ceil(self.hide * n)
        # 50 more than tokens to hide: enough, although some spans have length 0.
        ends = np.minimum(np.cumsum(rng.poisson(SPAN, n_hidden + 50)), n_hidden)
        n_spans = np.searchsorted(ends, n_hidden) + 1 if n_hidden else 0
        return rng.permutation(np.diff(ends[:n_spans], prepend=0))
