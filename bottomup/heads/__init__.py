"""Attention heads: how sure they are, and how much a prediction owes to each."""

from itertools import combinations

KINDS = ("encoder", "decoder", "cross")  # of attention: that of the encoder, of the decoder, to it
# Whose heads may go, by the name that the config gives it.
GATED = {"+".join(kinds): kinds for n in (1, 2) for kinds in combinations(KINDS, n)}
GATED["all"] = KINDS
