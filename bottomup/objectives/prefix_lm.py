"""Prefix language modeling, as an encoder-decoder has it (Raffel et al. 2020, section 3.3.1)."""

import numpy as np

from bottomup import objectives
from bottomup.corpus.batches import stacked
from bottomup.corpus.specials import EOS, PAD
from bottomup.objectives import IGNORE, Example


class Objective(objectives.Objective):
    """The encoder reads the beginning of a sentence, and the decoder writes the rest.

    Each sentence is cut at a place that is drawn anew each time. All places are equally probable,
    from before the first token (all is written) to after the last (all is read). What is read and
    what is written both end in </s>.
    """

    rewrites = True

    @property
    def predictions_a_token(self) -> float:
        return 0.5

    def reads_of(self, source, target) -> float:
        return float((source + 1).sum() / 2)  # half of the tokens, and </s>

    def example(self, source, target, vocab_size, rng) -> Example:
        sentences = [row[(row != PAD) & (row != EOS)] for row in source]
        cuts = [rng.integers(len(tokens) + 1) for tokens in sentences]
        parts = [np.split(tokens, [cut]) for tokens, cut in zip(sentences, cuts, strict=True)]
        read, written = (
            stacked([np.append(part, EOS) for part in side]) for side in zip(*parts, strict=True)
        )
        return Example(read, written, np.where(written == PAD, IGNORE, written))
