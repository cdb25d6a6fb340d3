"""Kinds of attention, which of them are pruned together, and the objectives that look the same in
every figure."""

from itertools import combinations

KINDS = ("encoder", "decoder", "cross")  # self-attention of each; decoder to encoder
# The kinds of attention whose heads a sweep may prune, by its name in the config.
GATED = {"+".join(kinds): kinds for n in (1, 2) for kinds in combinations(KINDS, n)}
GATED["all"] = KINDS
# Objectives with a look of their own. Others get the spare looks, by their place in a study.
WITH_A_LOOK = (
    *("mt", "lm", "mlm", "mt_noise", "lm_noise", "mlm_causal", "lm_bidirectional"),
    *("untrained", "untrained_causal", "untrained_backward"),
)
