"""Kinds of trunks, of attention, and those whose heads may go together."""

from itertools import combinations

# Whether layers attend, with heads that can be looked at and taken away; what does not has no
# decoder either.
TRUNKS = {"transformer": True, "lstm": False, "convolution": False}
KINDS = ("encoder", "decoder", "cross")  # that of the encoder, of the decoder, and to the encoder
# Whose heads may go, by the name that the config gives it.
GATED = {"+".join(kinds): kinds for n in (1, 2) for kinds in combinations(KINDS, n)}
GATED["all"] = KINDS
