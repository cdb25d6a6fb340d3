"""Groups of tokens: bins of ranks to the boundary, classes of tags, and who stands for a word."""

import numpy as np
import pandas as pd
import pytest

from bottomup.corpus.specials import N_SPECIAL, UNK
from bottomup.measures.groups import RANKS, TAGS, groups, in_turns
from bottomup.published import load_published


def table(ranks, tags="", last=True, ids=N_SPECIAL):
    """Occurrences and their annotations."""
    occurrences = pd.DataFrame({"rank": ranks}).assign(input_id=ids)
    annotations = pd.DataFrame(index=occurrences.index).assign(tag=tags, last_subword=last)
    first = annotations["last_subword"].shift(fill_value=True)
    annotations = annotations.assign(first_subword=first, stands_for_word=last)
    return occurrences, annotations


def ranks_of(ranks, **columns):
    """The ranks in each bin."""
    found = groups(*table(ranks, **columns))
    assert {group.grouping for group in found} <= {"frequency_rank"}
    return {group.name: np.array(ranks)[group.members].tolist() for group in found}


def test_names_are_those_of_the_published_figures():
    for names, figure in (([*RANKS], "change_freq"), ([*TAGS], "change_pos")):
        series = load_published(figure)["series"]
        assert [name for name in names if name != "CD"] == list(series.drop_duplicates())


@pytest.mark.parametrize(
    ("lower", "rank", "upper"),
    [
        *[("1-10", 10, "10-25"), ("10-25", 25, "25-50"), ("25-50", 50, "50-100")],
        *[("50-100", 100, "100-250"), ("100-250", 250, "250-500"), ("250-500", 500, "500-1k")],
        *[("500-1k", 1000, "1k-2.5k"), ("1k-2.5k", 2500, "2.5k-5k")],
        *[("2.5k-5k", 5000, "5k-10k"), ("5k-10k", 10_000, "10k-30k")],
    ],
)
def test_a_bin_ends_with_its_upper_rank(lower, rank, upper):
    assert ranks_of([rank, rank + 1]) == {lower: [rank], upper: [rank + 1]}


def test_the_first_bin_is_the_ten_most_frequent_and_the_last_ends_with_30k():
    bins = ranks_of([*range(1, 13), 30_000, 30_001])
    assert bins == {"1-10": list(range(1, 11)), "10-25": [11, 12], "10k-30k": [30_000]}


def test_bins_part_the_ranks_of_the_vocabulary():
    bins = ranks_of(list(range(1, 4154)))
    assert [rank for ranks in bins.values() for rank in ranks] == list(range(1, 4154))
    assert list(bins) == list(RANKS)[:9]
    assert (bins["2.5k-5k"][0], bins["2.5k-5k"][-1]) == (2501, 4153)


def test_special_tokens_are_in_no_bin():
    # <unk> stands in the occurrence table with the rank after the last.
    assert ranks_of([1, 4154, 4154], ids=[N_SPECIAL, UNK, N_SPECIAL]) == {
        "1-10": [1],
        "2.5k-5k": [4154],
    }


@pytest.mark.parametrize(
    ("name", "tags"),
    [
        ("NN", "NN NNS"),
        ("NNP", "NNP NNPS"),
        ("PRP", "PRP"),
        ("PRP$", "PRP$"),
        ("JJ", "JJ JJR JJS"),
        ("CD", "CD"),
        ("VB", "VB VBD VBG VBN VBP VBZ MD"),
        ("RB", "RB RBR RBS"),
        ("IN", "IN TO"),
        ("CC", "CC"),
        ("DT", "DT"),
        ("comma", ","),
        ("period", "."),
        (None, "WDT WP WP$ WRB PDT EX POS RP UH FW SYM LS HYPH NFP `` '' : -LRB- -RRB- $ # _SP"),
    ],
)
def test_classes_of_penn_tags(name, tags):
    for tag in tags.split():
        found = groups(*table([0, 0], tags=[tag, "none"], ids=UNK))
        assert [group.name for group in found] == ([name] if name else [])
        assert all(group.members.tolist() == [True, False] for group in found)


@pytest.mark.parametrize(
    ("name", "tags"),
    [
        *[("NN", "NOUN"), ("NNP", "PROPN"), ("PRP", "PRON"), ("JJ", "ADJ"), ("VB", "VERB AUX")],
        *[("RB", "ADV"), ("IN", "ADP SCONJ"), ("CC", "CCONJ"), ("DT", "DET"), ("CD", "NUM")],
        (None, "PART INTJ PUNCT SYM X"),
    ],
)
def test_classes_of_universal_tags(name, tags):
    for tag in tags.split():
        found = groups(*table([0, 0], tags=[tag, "none"], ids=UNK))
        assert [group.name for group in found] == ([name] if name else [])


def test_words_without_tags_are_grouped_by_rank_alone():
    occurrences, annotations = table([1, 20], tags="NN")
    found = groups(occurrences, annotations.drop(columns="tag"))
    assert [group.name for group in found] == ["1-10", "10-25"]


def test_a_word_is_all_its_sub_words_and_its_last_stands_for_it():
    tags, last = ["NN", "NN", "NN", "VB"], [False, False, True, True]
    by_name = {group.name: group for group in groups(*table([1, 20, 2, 20], tags, last))}
    assert by_name["NN"].members.tolist() == [True, True, True, False]
    assert by_name["NN"].representatives.tolist() == [False, False, True, False]
    assert by_name["VB"].representatives.tolist() == [False, False, False, True]
    assert by_name["NN"].units.tolist() == by_name["VB"].units.tolist() == [0, 0, 0, 1]
    # A rank is that of a sub-word.
    assert by_name["1-10"].units.tolist() == [0, 1, 2, 3]
    assert by_name["1-10"].representatives.tolist() == [True, False, True, False]
    assert (by_name["10-25"].representatives == by_name["10-25"].members).all()
    # The last sub-word is the only one of its word.
    assert by_name["VB"].whole.tolist() == [False, False, False, True]
    assert not by_name["NN"].whole.any() and not by_name["1-10"].whole.any()
    assert by_name["10-25"].whole.tolist() == [False, False, False, True]


def test_types_take_turns():
    types = np.array([7, 7, 7, 7, 8, 9, 9, 5])
    found = in_turns(np.array([3, 6, 0, 1, 4, 5, 2]), types)
    assert found.tolist() == [3, 6, 4, 0, 5, 1, 2]
    assert types[found].tolist() == [7, 9, 8, 7, 9, 7, 7]


def test_ranks_of_words_are_those_of_all_their_sub_words():
    """Of two words, the first of two sub-words, both of rank 3."""
    occurrences, annotations = table([3, 3, 3], last=[False, True, True])
    [found] = groups(occurrences, annotations, ranks_of_words=True)
    assert found.members.tolist() == [True, True, True]
    assert found.representatives.tolist() == [False, True, True]
    assert found.whole.tolist() == [False, False, True]
    assert found.units.tolist() == [0, 0, 1]
