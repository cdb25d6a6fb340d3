"""Forward and backward language modeling on the source side, as in ELMo (Peters et al. 2018)."""

import numpy as np

from bottomup.objectives import Example, lm, lm_backward


class Objective(lm.Objective):
    """Predict each token from those before and again from those after; needs the key `trunk`.

    Two directions that do not see each other read the text (section 3.1). The labels of the
    direction from the right follow those of the one from the left, `[batch, 2 * length]`. Their
    losses are added.
    """

    causal = False
    both_ways = True

    @property
    def predictions_a_token(self) -> float:
        return 2.0

    def example(self, source, target, vocab_size, rng) -> Example:
        forward = super().example(source, target, vocab_size, rng).labels
        backward = lm_backward.labels(source)
        return Example(source, None, np.concatenate([forward, backward], axis=1))
