import pandas as pd
import pytest

from bottomup.pages.headlines import headlines

COLUMNS = ["panel", "series", "quantity", "x", "y", "source"]


def points(*rows):
    return pd.DataFrame(rows, columns=COLUMNS)


DISTANCES = points(
    ("definition", "lm-mt", "PWCCA distance", 0, 0.25, "ours"),
    ("definition", "mt-mlm", "PWCCA distance", 0, 0.1, "ours"),
    ("definition", "lm-mt", "PWCCA distance", 3, 0.41234, "ours"),
    ("definition", "mt-mlm", "PWCCA distance", 3, 0.3, "ours"),
    ("definition", "lm-mt", "PWCCA distance", 6, 0.9, "published"),
    ("svcca-2019", "lm-mt", "PWCCA distance", 0, 0.7, "ours"),
)
FUNCTIONS = points(
    ("lm", "layer 1", "relevance", 1, 0.3, "ours"),
    ("lm", "layer 1", "relevance", 2, 0.2, "ours"),
    ("mt", "layer 1", "relevance", 1, 0.3, "ours"),
    ("mt", "layer 2", "relevance", 1, 0.3, "ours"),
    ("mt", "layer 2", "relevance", 2, 0.3, "ours"),
    ("mt", "layer 2", "-1", 1, 0.95, "ours"),
    ("mt", "layer 2", "s-v", 1, 0.8, "ours"),
    ("mt", "layer 1", "r", 1, 0.7, "ours"),
    ("EN-DE", "layer 1", "+1", 1, 0.7, "published"),
)


@pytest.mark.parametrize(
    "name",
    [
        "mutual_information_input",
        "distance_between_layers",
        "learned_over_training",
        "head_functions",
    ],
)
@pytest.mark.parametrize("drawn", [points(), DISTANCES.assign(source="published")])
def test_a_figure_without_a_point_of_ours_is_no_headline(name, drawn):
    other = {"distance_between_tasks": DISTANCES}
    assert [told["name"] for told in headlines({name: drawn} | other)] == [*other]


def test_the_next_figure_of_its_kind_stands_in_for_one_without_points():
    rows = ("lm, encoder", "layer 1", "confidence", 1, 0.31, "ours")
    (told,) = headlines({"head_functions": points(), "head_importance": points(rows)})
    assert told["name"] == "head_importance"


def test_a_curve_is_told_by_its_ends_in_the_first_panel():
    (told,) = headlines({"distance_between_tasks": DISTANCES, "mask": DISTANCES})
    assert told["name"] == "distance_between_tasks"
    assert told["seen"] == (
        "From the bottom to the top, PWCCA distance: lm-mt 0.25 → 0.412; mt-mlm 0.1 → 0.3."
    )


def test_what_is_learned_is_told_in_the_words_of_its_first_panel():
    steps = points(
        ("agreement", "lm", "accuracy, the verb alone", 8, 0.5, "ours"),
        ("agreement", "lm", "accuracy, the verb alone", 90, 0.87, "ours"),
        ("trees", "lm", "edges found (UUAS), share", 90, 0.4, "ours"),
    )
    (told,) = headlines({"learned_over_training": steps})
    assert told["seen"] == (
        "From the first step to the end of training, accuracy, the verb alone: lm 0.5 → 0.87."
    )


def test_of_many_models_some_are_told():
    many = points(*[("a", f"m{n}", "PWCCA distance", 0, n, "ours") for n in range(8)])
    (told,) = headlines({"distance_between_layers": many})
    assert told["seen"].endswith("m5 5 → 5; and 2 more.") and "m6" not in told["seen"]


def test_heads_with_a_function_are_counted_once():
    (told,) = headlines({"head_functions": FUNCTIONS, "head_importance": FUNCTIONS})
    assert told["seen"] == "Heads with a function: lm 0 of 2; mt 2 of 3."


def test_without_functions_the_most_confident_head_is_told():
    rows = [("lm, encoder", "layer 1", "confidence", head, head / 10, "ours") for head in (3, 1)]
    (told,) = headlines({"head_importance": points(*rows)})
    assert told["seen"] == "The most confident head: lm, encoder 0.3."


def test_a_study_without_these_figures_has_no_headline():
    assert headlines({"probes": DISTANCES}) == []
