"""Ids of the special tokens, the same on both sides; sub-words follow them."""

SPECIALS = ["<pad>", "</s>", "<unk>", "<mask>"]
PAD, EOS, UNK, MASK = range(4)
N_SPECIAL = len(SPECIALS)
