"""Isotropy against its definitions pair by pair, known answers, and what it must ignore."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.core.files.tables import write_estimates
from bottomup.measures.isotropy import (
    _intra_sentence,
    _scales,
    anisotropy,
    intra_sentence_similarity,
    isotropy,
    maximum_explainable_variance,
    self_similarity,
    versions,
)
from bottomup.measures.jackknife import WITHOUT

ROUNDING = 1e-9
N, D, COUNT = 120, 7, 5
MEASURES = [
    ("anisotropy", False),
    ("self_similarity", False),
    ("self_similarity", True),
    ("intra_sentence_similarity", False),
    ("intra_sentence_similarity", True),
    ("first_component", False),
    ("maximum_explainable_variance", False),
    ("maximum_explainable_variance", True),
]


def cosine(a, b):
    return a @ b / np.sqrt((a @ a) * (b @ b))


def of_each(view, labels):
    return [view[labels == label] for label in np.unique(labels)]


def directly_self_similarity(view, words):
    """Ethayarajh 2019, definition 1."""
    return np.mean(
        [
            np.mean([cosine(a, b) for a, b in combinations(rows, 2)])
            for rows in of_each(view, words)
            if len(rows) > 1
        ]
    )


def directly_intra_sentence_similarity(view, sentences):
    """Definition 2."""
    return np.mean(
        [np.mean([cosine(row, rows.mean(0)) for row in rows]) for rows in of_each(view, sentences)]
    )


def directly_maximum_explainable_variance(view, words, least=5):
    """Definition 3."""
    singular = [np.linalg.svd(rows)[1] for rows in of_each(view, words) if len(rows) >= least]
    return np.mean([s[0] ** 2 / np.sum(s**2) for s in singular])


def directly_anisotropy(view, words):
    numbered = list(zip(words, view, strict=True))
    pairs = combinations(numbered, 2)
    return np.mean([cosine(a, b) for (one, a), (other, b) in pairs if one != other])


@pytest.fixture(scope="module")
def text():
    """A view in a cone, words of different frequencies, sentences of 4, and their blocks."""
    rng = np.random.default_rng(0)
    words = np.minimum(rng.geometric(0.12, size=N), 30)
    means = rng.normal(size=(31, D))
    view = means[words] + rng.normal(size=(N, D)) + 2 * np.eye(D)[0]
    sentences = np.arange(N) // 4
    return view, words, sentences, sentences % COUNT


def rows_of(text, n=1000, seed=1):
    view, *rest = text
    return list(isotropy([view], *rest, n=n, seed=seed))


def test_equals_the_definitions_pair_by_pair(text):
    view, words, sentences, _ = text
    assert self_similarity(view, words) == pytest.approx(directly_self_similarity(view, words))
    assert intra_sentence_similarity(view, sentences) == pytest.approx(
        directly_intra_sentence_similarity(view, sentences)
    )
    assert anisotropy(view, words) == pytest.approx(directly_anisotropy(view, words))
    # On both sides of the width, 7.
    for least in (2, 5, 8):
        assert maximum_explainable_variance(view, words, least) == pytest.approx(
            directly_maximum_explainable_variance(view, words, least)
        )


def test_tiny_texts_by_hand():
    # A word of three occurrences, two of them alike: cosines 1, 0, 0. Another, opposite: -1.
    view = np.array([[2, 0], [1, 0], [0, 3], [1, 1], [-2, -2], [5, 1]])
    words = np.array(["a", "a", "a", "b", "b", "once"])
    assert self_similarity(view, words) == pytest.approx((1 / 3 - 1) / 2)
    # Means (3, 4) and (4, 3): cosines with (1, 0) and (0, 1) are 0.6 and 0.8, and the reverse.
    sentences = np.array([0, 0, 1, 1])
    pairs = np.array([[6, 0], [0, 8], [0, 6], [8, 0]])
    assert intra_sentence_similarity(pairs, sentences) == pytest.approx(0.7)
    # Squares along the axes: 9 and 1; 4 and 4.
    squares = np.array([[3, 0], [0, 1], [2, 0], [0, 2]])
    shares = maximum_explainable_variance(squares, np.array([1, 1, 2, 2]), least=2)
    assert shares == pytest.approx((0.9 + 0.5) / 2)
    # (1, 0), twice, with (1, 1) and with (0, 2) of the other word: sqrt(1 / 2) and 0.
    axes = np.array([[1, 0], [1, 0], [1, 1], [0, 2]])
    assert anisotropy(axes, np.array([7, 7, 8, 8])) == pytest.approx(np.sqrt(0.5) / 2)


def test_identical_directions_are_all_alike():
    view = np.outer(np.arange(1, 13), [1.0, 2, 3])
    words, sentences = np.arange(12) % 2, np.arange(12) // 4
    assert self_similarity(view, words) == pytest.approx(1)
    assert intra_sentence_similarity(view, sentences) == pytest.approx(1)
    assert maximum_explainable_variance(view, words) == pytest.approx(1)
    assert anisotropy(view, words) == pytest.approx(1)


def test_orthogonal_directions_have_nothing_in_common():
    view, words = 3 * np.eye(12), np.arange(12) % 2
    assert self_similarity(view, words) == pytest.approx(0, abs=ROUNDING)
    assert anisotropy(view, words) == pytest.approx(0, abs=ROUNDING)
    assert maximum_explainable_variance(view, words) == pytest.approx(1 / 6)
    assert intra_sentence_similarity(view, np.arange(12) // 4) == pytest.approx(1 / np.sqrt(4))


def test_random_directions_of_high_dimension_are_isotropic_and_a_mean_makes_a_cone():
    rng = np.random.default_rng(0)
    view, words = rng.normal(size=(400, 500)), np.arange(400) % 40
    # A cosine has the variance 1 / d, and pairs are uncorrelated: 78,000 of different
    # words, 40 x 45 of the same.
    assert anisotropy(view, words) == pytest.approx(0, abs=4 / np.sqrt(500 * 78000))
    assert self_similarity(view, words) == pytest.approx(0, abs=4 / np.sqrt(500 * 1800))
    # A mean as large as the deviations: cosines of 1 / 2.
    cone = view + 1
    assert anisotropy(cone, words) == pytest.approx(0.5, abs=0.02)
    found = {name: anisotropy(rows, words) for name, rows in versions(cone)}
    assert [*found] == ["raw", "centered", "standardized"] and found["raw"] > 0.45
    assert abs(found["centered"]) < 0.01 > abs(found["standardized"])


def test_versions_have_mean_0_and_deviation_1_and_no_constant_neurons(text):
    view, *_ = text
    wider = np.concatenate([view * [100, *[1] * (D - 1)], np.full((N, 1), 0.1)], axis=1)
    found = {name: rows.copy() for name, rows in versions(wider.astype(np.float32))}
    assert found["raw"].dtype == np.float64 and found["raw"].shape == (N, D + 1)
    np.testing.assert_allclose(found["centered"].mean(0), 0, atol=1e-12 * 100)
    assert (found["standardized"][:, D] == 0).all()
    np.testing.assert_allclose(found["standardized"][:, :D].std(0), 1)


def test_one_large_neuron_makes_a_cone_in_the_raw_view_alone(text):
    _, words, sentences, blocks = text
    view = np.random.default_rng(3).normal(size=(N, 50))
    view[:, 0] += 100
    rows = list(isotropy([view], words, sentences, blocks))
    found = {row["version"]: row["value"] for row in rows if row["measure"] == "anisotropy"}
    assert found["raw"] > 0.99 and abs(found["centered"]) < 0.05 > abs(found["standardized"])


def test_rows_and_what_they_are_adjusted_by(text):
    view, words, sentences, blocks = text
    rows = list(isotropy([view, view**2], words, sentences, blocks))
    columns = ["layer", "version", "measure", "adjusted", "value", "ci_low", "ci_high", WITHOUT]
    assert [[*row] for row in rows] == [columns] * 48
    table = pd.DataFrame(rows)
    assert table["layer"].tolist() == [0] * 24 + [1] * 24
    names = list(table[["measure", "adjusted"]].itertuples(index=False, name=None))
    assert names == MEASURES * 6
    raw = table[:8].set_index(["measure", "adjusted"])["value"]
    assert raw["anisotropy", False] == pytest.approx(anisotropy(view, words))
    assert raw["first_component", False] == pytest.approx(
        maximum_explainable_variance(view, np.zeros(N))
    )
    for measure, labels, baseline in (
        (self_similarity, words, "anisotropy"),
        (intra_sentence_similarity, sentences, "anisotropy"),
        (maximum_explainable_variance, words, "first_component"),
    ):
        value = measure(view, labels)
        assert raw[measure.__name__, False] == pytest.approx(value)
        assert raw[measure.__name__, True] == pytest.approx(value - raw[baseline, False])
    standardized = dict(versions(view))["standardized"]
    assert rows[17]["version"] == "standardized"
    assert rows[17]["value"] == pytest.approx(self_similarity(standardized, words))


def test_without_a_block_is_the_rest_of_the_text(text):
    view, words, sentences, blocks = text
    found = {(row["measure"], row["adjusted"]): row for row in rows_of(text)[:8]}
    for number in range(COUNT):
        rest = blocks != number
        baseline = anisotropy(view[rest], words[rest])
        for name, value in (
            ("self_similarity", self_similarity(view[rest], words[rest])),
            ("intra_sentence_similarity", intra_sentence_similarity(view[rest], sentences[rest])),
        ):
            assert found[name, False][WITHOUT][number] == pytest.approx(value)
            assert found[name, True][WITHOUT][number] == pytest.approx(value - baseline)
        assert found["anisotropy", False][WITHOUT][number] == pytest.approx(baseline)
    for name, adjusted in MEASURES[:5]:
        row = found[name, adjusted]
        assert row["ci_low"] < row["value"] < row["ci_high"]
    for name, adjusted in MEASURES[5:]:
        assert found[name, adjusted][WITHOUT] is None and np.isnan(found[name, adjusted]["ci_low"])


def test_occurrences_are_drawn_once_for_all_layers(text):
    view, words, sentences, blocks = text
    first, second = (
        [row["value"] for row in isotropy([view, view], words, sentences, blocks, n=30, seed=seed)]
        for seed in (1, 2)
    )
    assert first[:24] == first[24:] and first[0] != second[0]
    assert first[0] == anisotropy(view, words, n=30, seed=1) != anisotropy(view, words)


def test_a_single_block_has_no_interval_and_an_empty_one_changes_nothing(text):
    view, words, sentences, blocks = text
    for row in isotropy([view], words, sentences, np.zeros(N, dtype=int)):
        assert np.isfinite(row["value"]) and np.isnan(row["ci_low"])
    for row in isotropy([view], words, sentences, np.where(blocks == 3, 4, blocks)):
        if row[WITHOUT] is not None:
            assert row[WITHOUT][3] == pytest.approx(row["value"])


def test_tables_are_written_with_what_has_no_interval(text, tmp_path):
    paths = [tmp_path / f"isotropy.{kind}" for kind in ("csv", "parquet")]
    write_estimates(pd.DataFrame(rows_of(text)), paths)
    table = pd.read_csv(tmp_path / "isotropy.csv")
    without = pd.read_parquet(tmp_path / "isotropy.parquet")[WITHOUT]
    assert len(table) == 24 and table["value"].notna().all()
    assert without[0].shape == (COUNT,) and without[7] is None


def test_views_without_an_answer_are_refused(text):
    view, words, sentences, _ = text
    zero, infinite = view.copy(), view.copy()
    zero[3], infinite[3, 0] = 0, np.inf
    for measure, labels in (
        (anisotropy, words),
        (self_similarity, words),
        (intra_sentence_similarity, sentences),
        (maximum_explainable_variance, words),
    ):
        with pytest.raises(UserError, match="is zero; cosines need a direction") as error:
            measure(zero, labels)
        assert "\n" not in str(error.value)
        with pytest.raises(UserError, match="NaN or infinity"):
            measure(infinite, labels)
    with pytest.raises(UserError, match="n: found -1; allowed: at least 1"):
        anisotropy(view, words, n=-1)
    with pytest.raises(UserError, match="do not hold two words"):
        anisotropy(view, np.zeros(N))
    with pytest.raises(UserError, match="do not hold a word twice"):
        self_similarity(view, np.arange(N))
    with pytest.raises(UserError, match="do not hold a word 5 times"):
        maximum_explainable_variance(view, np.arange(N) // 4)
    with pytest.raises(UserError, match="the sum over a sentence is zero"):
        intra_sentence_similarity(np.array([[1, 2], [-1, -2]]), np.array([0, 0]))


def test_a_version_without_directions_has_no_values_and_the_others_keep_theirs(text, caplog):
    view, words, sentences, blocks = text
    one_zero = view.copy()
    one_zero[3] = 0
    constant = np.full((N, D), 0.1)  # whose mean is rounded
    found = pd.DataFrame(isotropy([constant, one_zero, view], words, sentences, blocks))
    cosines = found[found["measure"].isin({"anisotropy", "self_similarity"})]
    known = cosines.groupby(["layer", "version"])["value"].agg(lambda of: of.notna().all())
    assert known.unstack()[["raw", "centered", "standardized"]].to_numpy().tolist() == [
        [True, False, False],
        [False, True, True],
        [True, True, True],
    ]
    same = found[(found["layer"] == 0) & (found["version"] == "raw")].set_index("measure")
    assert same["value"]["anisotropy"] == pytest.approx(1)
    assert "layer 0, centered: a representation is zero" in caplog.text


def test_a_sentence_whose_sum_is_rounding_has_no_similarity():
    """The only one, once its mean is taken off; of several, the others have theirs."""
    view = np.random.default_rng(0).normal(size=(12, D))
    words, one = np.arange(12) % 4, np.zeros(12, dtype=int)
    table = pd.DataFrame(isotropy([view], words, one, one, n=100, seed=1))
    table = table[table["measure"] == "intra_sentence_similarity"].set_index("version")["value"]
    assert table.drop("raw").isna().all() and table["raw"].notna().all()
    opposite = np.concatenate([view[:4], view[:2], -view[:2]])
    found = _intra_sentence(opposite, _scales(opposite), np.repeat([0, 1], 4))
    assert np.isnan(found[1]) and 0 < found[0] < 1
