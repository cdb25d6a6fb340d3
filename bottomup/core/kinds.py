"""Kinds of trunks and of attention, which kinds are pruned together, and the objectives that look
the same in every figure."""

from itertools import combinations

# By trunk, whether its layers have attention heads. A trunk without attention has no decoder.
TRUNKS = {"transformer": True, "lstm": False, "convolution": False}
# Of those without, the weights of a layer for each d_model^2: read from one side, and from both.
OF_LAYER = {"lstm": (8, 6), "convolution": (10, 10)}
KINDS = ("encoder", "decoder", "cross")  # self-attention of each; decoder to encoder
# The kinds of attention whose heads a sweep may prune, by its name in the config.
GATED = {"+".join(kinds): kinds for n in (1, 2) for kinds in combinations(KINDS, n)}
GATED["all"] = KINDS
# Objectives with a look of their own. Others get the spare looks, by their place in a study.
WITH_A_LOOK = (
    *("mt", "lm", "mlm", "mt_noise", "lm_noise", "mlm_causal", "lm_bidirectional"),
    *("untrained", "untrained_causal", "untrained_backward"),
)
