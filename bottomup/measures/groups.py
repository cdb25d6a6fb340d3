"""Groups of tokens whose change and influence are measured: Voita et al. EMNLP 2019, section 5.

By frequency, bins of the rank in the training text; by part of speech, classes of Penn tags. Names
are those of the published figures.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bottomup.corpus.specials import N_SPECIAL

# Ranks above the first number, up to the second.
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
    "NN": ("NN", "NNS"),
    "NNP": ("NNP", "NNPS"),
    "PRP": ("PRP",),
    "PRP$": ("PRP$",),
    "JJ": ("JJ", "JJR", "JJS", "CD"),
    "VB": ("VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "MD"),
    "RB": ("RB", "RBR", "RBS"),
    "IN": ("IN", "TO"),
    "CC": ("CC",),
    "DT": ("DT",),
    "comma": (",",),
    "period": (".",),
}


@dataclass(frozen=True)
class Group:
    """Some of the occurrences, all arrays `[n_occurrences]`.

    grouping: "frequency_rank" or "pos"; name: as in the published figures; members: the sub-words
    that belong to the group, bool; representatives: those of them whose representations stand for
    it, bool: of a word its last sub-word, since a model that reads from left to right knows the
    word only there; units: a number for each token that is one of a group or not as a whole, int:
    by part of speech a word, by rank a sub-word.
    """

    grouping: str
    name: str
    members: np.ndarray
    representatives: np.ndarray
    units: np.ndarray


def groups(occurrences: pd.DataFrame, annotations: pd.DataFrame) -> list[Group]:
    """All groups with at least one member.

    occurrences: in the order of the text, columns `rank` and `input_id`; special tokens are in no
    bin of ranks. annotations: the same rows, columns `tag` (Penn) and `last_subword`.
    """
    rank = occurrences["rank"].to_numpy()
    ranked = (occurrences["input_id"] >= N_SPECIAL).to_numpy()
    last = annotations["last_subword"].to_numpy()
    sub_words = np.arange(len(rank))
    words = np.cumsum(last) - last
    by_rank = {name: ranked & (low < rank) & (rank <= high) for name, (low, high) in RANKS.items()}
    by_tag = {name: annotations["tag"].isin(some).to_numpy() for name, some in TAGS.items()}
    found = [Group("frequency_rank", name, rows, rows, sub_words) for name, rows in by_rank.items()]
    found += [Group("pos", name, rows, rows & last, words) for name, rows in by_tag.items()]
    return [group for group in found if group.members.any()]
