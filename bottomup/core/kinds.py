"""Kinds of trunks, kinds of attention, kinds whose heads may go together, and objectives that look
the same in every figure."""

from itertools import combinations

# Whether layers attend, with heads to look at and to prune; a trunk that does not attend has no
# decoder either.
TRUNKS = {"transformer": True, "lstm": False, "convolution": False}
KINDS = ("encoder", "decoder", "cross")  # of the encoder, of the decoder, from decoder to encoder
# Whose heads may go, by the name in the config.
GATED = {"+".join(kinds): kinds for n in (1, 2) for kinds in combinations(KINDS, n)}
GATED["all"] = KINDS
# Others share what is spare, by their place in a study.
WITH_A_LOOK = (
    *("mt", "lm", "mlm", "mt_noise", "lm_noise", "mlm_causal", "lm_bidirectional"),
    *("untrained", "untrained_causal", "untrained_backward"),
)
