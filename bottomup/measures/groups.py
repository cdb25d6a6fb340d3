"""Groups of tokens whose change and influence are measured: Voita et al. EMNLP 2019, section 5.

Groups by frequency are bins of the rank in the training text. Groups by part of speech are classes
of Penn tags, or of the nearest tags of Universal Dependencies; the latter separate neither
possessive pronouns from others nor commas from periods. Names are those of the published figures.
Neither the paper nor its post says where numerals (CD) went. They are a class of their own here:
they are not adjectives, of which they would make up a fourth.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bottomup.corpus.specials import N_SPECIAL

# Ranks above the first number and up to the second.
RANKS = {
    "1-10": (0, 10),
    "10-25": (10, 25),
    "25-50": (25, 50),
    "50-100": (50, 100),
    "100-250": (100, 250),
    "250-500": (250, 500),
    "500-1k": (500, 1_000),
    "1k-2.5k": (1_000, 2_500),
    "2.5k-5k": (2_500, 5_000),
    "5k-10k": (5_000, 10_000),
    "10k-30k": (10_000, 30_000),
}
TAGS = {
    "NN": ("NN", "NNS", "NOUN"),
    "NNP": ("NNP", "NNPS", "PROPN"),
    "PRP": ("PRP", "PRON"),
    "PRP$": ("PRP$",),
    "JJ": ("JJ", "JJR", "JJS", "ADJ"),
    "VB": ("VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "MD", "VERB", "AUX"),
    "RB": ("RB", "RBR", "RBS", "ADV"),
    "IN": ("IN", "TO", "ADP", "SCONJ"),
    "CC": ("CC", "CCONJ"),
    "DT": ("DT", "DET"),
    "comma": (",",),
    "period": (".",),
    "CD": ("CD", "NUM"),
}


@dataclass(frozen=True)
class Group:
    """Some of the occurrences; all arrays are `[n_occurrences]`.

    grouping: "frequency_rank" or "pos".
    name: as in the published figures.
    members: whether a sub-word belongs to the group, bool.
    representatives: whether a member's representation stands for the group, bool. The last sub-word
        stands for a word, since a model that reads from left to right knows the word only there.
    whole: whether a representative is a word by itself, bool.
    units: the number of a sub-word's unit, int. A unit is in a group as a whole or not at all: a
        word by part of speech, a sub-word by rank (a word where ranks are of words).
    """

    grouping: str
    name: str
    members: np.ndarray
    representatives: np.ndarray
    whole: np.ndarray
    units: np.ndarray


def groups(
    occurrences: pd.DataFrame, annotations: pd.DataFrame, ranks_of_words: bool = False
) -> list[Group]:
    """All groups with at least one member.

    occurrences: in the order of the text, with columns `rank` and `input_id`; special tokens are in
    no bin of ranks. annotations: the same rows, with columns `first_subword`, `last_subword`,
    `stands_for_word` and, if known, `tag`; without `tag` there are no groups by part of speech.
    ranks_of_words: whether `rank` and `input_id` describe the word that the sub-word is part of.
    """
    rank = occurrences["rank"].to_numpy()
    ranked = (occurrences["input_id"] >= N_SPECIAL).to_numpy()
    names = "first_subword", "last_subword", "stands_for_word"
    first, last, stands = (annotations[name].to_numpy() for name in names)
    sub_words, words = np.arange(len(rank)), np.cumsum(first) - 1
    by_rank = {name: ranked & (low < rank) & (rank <= high) for name, (low, high) in RANKS.items()}
    tags = annotations["tag"] if "tag" in annotations else pd.Series(index=annotations.index)
    by_tag = {name: tags.isin(some).to_numpy() for name, some in TAGS.items()}
    of_tags = [(name, rows, rows & stands, words) for name, rows in by_tag.items()]
    if ranks_of_words:
        of_ranks = [(name, rows, rows & stands, words) for name, rows in by_rank.items()]
    else:
        of_ranks = [(name, rows, rows, sub_words) for name, rows in by_rank.items()]
    whole = first & last
    return [
        Group(grouping, name, members, representatives, representatives & whole, units)
        for grouping, of_grouping in (("frequency_rank", of_ranks), ("pos", of_tags))
        for name, members, representatives, units in of_grouping
        if members.any()
    ]


def in_turns(rows: np.ndarray, types: np.ndarray) -> np.ndarray:
    """`rows` in another order: the first of each type, then the second of each, and so on.

    types: the type of every occurrence. The first n of the result hold equally many of each type;
    where a type has too few, the others fill in.
    """
    turns = pd.Series(rows).groupby(types[rows]).cumcount()
    return rows[np.argsort(turns, kind="stable")]
