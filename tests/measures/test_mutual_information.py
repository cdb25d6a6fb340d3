"""Mutual information: hand cases, scikit-learn, its laws, and its bias."""

import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import mutual_info_score

from bottomup.core import seeds
from bottomup.measures import jackknife
from bottomup.measures.mutual_information import (
    by_clusters,
    cluster,
    entropies_without,
    entropy,
    mutual_information,
    shuffled,
    without_blocks,
)

ROUNDING = 1e-12


def tied(n, n_labels, n_clusters, seed=0):
    """Labels and clusters that depend on each other in part."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(n_labels, size=n)
    random = generator.integers(n_clusters, size=n)
    return labels, np.where(generator.random(n) < 0.5, labels % n_clusters, random)


def test_two_by_two_by_hand():
    # Counts 3 1 / 1 3 of 8: margins 1/2, so MI = 2 (3/8 ln 3/2 + 1/8 ln 1/2) nats.
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    clusters = np.array([5, 5, 5, 2, 2, 2, 2, 5])
    by_hand = 0.75 * np.log(1.5) + 0.25 * np.log(0.5)
    assert mutual_information(labels, clusters) == pytest.approx(by_hand, abs=ROUNDING)


@pytest.mark.parametrize(
    ("n", "n_labels", "n_clusters"), [(10, 3, 4), (5000, 40, 100), (300, 2, 290)]
)
def test_equals_scikit_learn(n, n_labels, n_clusters):
    labels, clusters = tied(n, n_labels, n_clusters)
    expected = mutual_info_score(labels, clusters)
    assert mutual_information(labels, clusters) == pytest.approx(expected, abs=ROUNDING)


def test_is_0_where_independent_and_the_entropy_where_the_same():
    labels, clusters = (grid.ravel() for grid in np.indices((7, 13)))
    assert mutual_information(labels, clusters) == pytest.approx(0, abs=ROUNDING)
    assert mutual_information(labels, clusters) >= 0
    assert mutual_information(labels, np.zeros_like(labels)) == pytest.approx(0, abs=ROUNDING)
    assert entropy(labels) == pytest.approx(np.log(7), abs=ROUNDING)
    unequal, _ = tied(1000, 7, 11)
    assert mutual_information(unequal, 5 - unequal) == pytest.approx(entropy(unequal), abs=ROUNDING)


def test_large_counts_do_not_overflow():
    # 100,000 x 100,000 cells would not fit a 32-bit cell number.
    labels = np.arange(100_000, dtype=np.int32)
    assert mutual_information(labels, labels) == pytest.approx(np.log(100_000), abs=1e-9)


def test_inputs_of_different_or_no_length_are_refused():
    with pytest.raises(ValueError, match="3 labels and 2 clusters"):
        mutual_information([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="0 labels and 0 clusters"):
        mutual_information([], [])


def test_shuffled_labels_show_the_bias_of_well_filled_cells():
    n, n_labels, n_clusters = 5000, 5, 6
    labels, clusters = tied(n, n_labels, n_clusters)
    draws = [shuffled(labels, clusters, seed) for seed in range(40)]
    # 2 n MI is chi-squared with 4 * 5 degrees of freedom (Wilks), of standard deviation
    # sqrt(2 * 20); 40 times 5 shuffles know their mean to sqrt(40 / 200) = 0.45.
    assert 2 * n * np.mean(draws) == pytest.approx((n_labels - 1) * (n_clusters - 1), abs=4 * 0.45)
    assert shuffled(labels, clusters, 1) == draws[1] != draws[2]


def test_shuffled_is_the_information_with_permuted_labels():
    labels, clusters = tied(500, 30, 40)
    generator = seeds.generator(1, "shuffled labels")
    draws = [mutual_information(generator.permutation(labels), clusters) for _ in range(5)]
    assert shuffled(labels, clusters, seed=1) == pytest.approx(np.mean(draws), abs=1e-12)


def test_the_information_in_a_view_is_that_of_the_channel_that_made_it():
    # A label is passed on whole with probability 0.8 and as any of the 7 others with 0.2; the
    # view shows without doubt what was passed on. So MI = ln 8 - H(channel).
    generator = np.random.default_rng(0)
    n, n_labels = 20_000, 8
    labels = generator.integers(n_labels, size=n)
    wrong = (labels + generator.integers(1, n_labels, size=n)) % n_labels
    passed = np.where(generator.random(n) < 0.8, labels, wrong)
    view = 10 * np.eye(n_labels)[passed] + generator.normal(size=(n, n_labels)) / 10
    channel = -(0.8 * np.log(0.8) + 0.2 * np.log(0.2 / 7))
    found = mutual_information(labels, cluster(view, 40, seed=1))
    # The bias for 40 clusters is at most 7 * 39 / 2n = 0.007; a sampling error of sd(ln p) /
    # sqrt(n), 0.01, comes to it.
    assert found == pytest.approx(np.log(n_labels) - channel, abs=0.03)


def test_without_the_only_block_it_is_unknown_and_nothing_warns():
    labels, blocks = np.array([0, 1, 1, 0]), np.full(4, 1)
    with warnings.catch_warnings(action="error"):
        found = without_blocks(labels, 1 - labels, blocks, 2)
    assert found == pytest.approx([np.log(2), np.nan], nan_ok=True)


def test_without_a_block_it_is_that_of_the_other_blocks():
    generator = np.random.default_rng(0)
    labels, clusters, blocks = generator.integers(6, size=(3, 500))
    clusters = np.where(generator.random(500) < 0.5, labels, clusters)
    found = without_blocks(labels, clusters, blocks, 8)
    for block in range(8):  # the last two hold nothing
        rest = blocks != block
        expected = mutual_information(labels[rest], clusters[rest])
        assert found[block] == pytest.approx(expected, abs=1e-12)


def test_many_values_are_counted_in_parts(monkeypatch):
    values, blocks = np.arange(300) // 2, np.arange(300) % 5
    whole = entropies_without(values, blocks, 5)
    monkeypatch.setattr("bottomup.measures.mutual_information.VALUES_AT_ONCE", 7)
    assert entropies_without(values, blocks, 5) == pytest.approx(whole, abs=1e-12)
    assert whole[0] == pytest.approx(entropy(values[blocks != 0]), abs=1e-12)


def test_the_error_is_that_of_drawing_documents_anew():
    """Documents with a taste for some labels, which clusters show in part."""
    generator = np.random.default_rng(0)
    values, errors = [], []
    for _ in range(150):
        tastes = generator.dirichlet(np.full(5, 0.3), size=100)
        labels = np.concatenate([generator.choice(5, 20, p=taste) for taste in tastes])
        clusters = np.where(generator.random(2000) < 0.6, labels, generator.integers(5, size=2000))
        blocks = np.repeat(np.arange(100), 20) % 20
        values.append(mutual_information(labels, clusters))
        without = without_blocks(labels, clusters, blocks, 20)
        errors.append(jackknife.error(values[-1], without))
    # 150 values give their own standard deviation to 1 / sqrt(300), that is 6 %: 3 of these.
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(values), rel=0.18)


def test_clusterings_that_agree_by_chance_have_the_error_of_all_layers(monkeypatch):
    labels, blocks = np.array([0, 1] * 8), np.repeat(np.arange(4), 4)
    # Both clusterings of the first layer know the label, ln 2 nats, of the second only one does.
    found = iter([labels, labels, labels, np.zeros(16, int)])
    monkeypatch.setattr("bottomup.measures.mutual_information.cluster", lambda *_: next(found))
    rows = list(by_clusters([None, None], labels, blocks, 4, 2, 2, seed=1))
    assert [row["mi_nats"] for row in rows] == pytest.approx([np.log(2), np.log(2) / 2])
    # Variances 0 and (ln 2)^2 / 2: their mean, halved for a mean of two, is (ln 2)^2 / 8.
    errors = [row["clustering_error_nats"] for row in rows]
    assert errors == pytest.approx([np.log(2) / 8**0.5] * 2)


def test_clusterings_have_first_centers_of_their_own_which_follow_the_seed(monkeypatch):
    labels, blocks, drawn = np.array([0, 1] * 8), np.repeat(np.arange(4), 4), []

    def noting(view, n_clusters, seed):
        drawn[-1].append(seed)
        return labels

    monkeypatch.setattr("bottomup.measures.mutual_information.cluster", noting)
    for seed in (1, 1, 2):
        drawn.append([])
        list(by_clusters([None], labels, blocks, 4, 2, 3, seed=seed))
    assert drawn[0] == drawn[1] and len({*drawn[0], *drawn[2]}) == 6


def test_the_interval_covers_other_text_and_other_clusterings(monkeypatch):
    labels, blocks = np.array([0, 1] * 8), np.repeat(np.arange(4), 4)
    # One clustering knows the label but for a row of each block after the first, the other nothing.
    knowing = np.where(np.isin(np.arange(16), (4, 8, 13)), 1 - labels, labels)
    found = iter([knowing, np.zeros(16, int)])
    monkeypatch.setattr("bottomup.measures.mutual_information.cluster", lambda *_: next(found))
    [row] = by_clusters([None], labels, blocks, 4, 2, 2, seed=1)
    value, without = row["mi_nats"], row[jackknife.WITHOUT]
    spread = without - without.mean()  # each block moves the value
    of_text = (3 / 4 * (spread**2).sum()) ** 0.5
    of_clusterings = value  # the values are 2 v and 0: of variance 2 v^2, their mean of v^2
    df = jackknife.degrees_of_freedom(jackknife.deviations(value, without))
    half_width = stats.t.ppf(0.975, df) * (of_text**2 + of_clusterings**2) ** 0.5
    expected = jackknife.Range(0, np.log(2)).around(value, half_width)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(expected)


def test_two_clusters_tell_no_more_than_ln_2():
    rng, blocks = np.random.default_rng(0), np.arange(400) % 10
    labels = rng.integers(0, 40, 400)
    view = np.where(labels < 17, 0.0, 1.0)[:, None]  # near halves, known from the label
    [row] = by_clusters([view], labels, blocks, 10, 2, 2, seed=1)
    assert 0.6 < row["ci_low"] < row["mi_nats"] < row["ci_high"] <= np.log(2)


def test_the_interval_of_what_is_known_covers_the_entropy_of_other_text(monkeypatch):
    """A view that knows every label has their entropy, which differs from text to text."""
    rng, n_blocks = np.random.default_rng(1), 20
    shares = np.array([0.7, 0.2, 0.1])
    monkeypatch.setattr("bottomup.measures.mutual_information.cluster", lambda view, *_: view)
    covered = []
    for _ in range(200):
        of_blocks = rng.dirichlet(30 * shares, n_blocks)
        labels = np.concatenate([rng.choice(3, 50, p=share) for share in of_blocks])
        blocks = np.repeat(np.arange(n_blocks), 50)
        [row] = by_clusters([labels], labels, blocks, n_blocks, 3, 2, seed=1)
        assert row["ci_high"] - row["ci_low"] < 0.5
        covered.append(row["ci_low"] < -(shares * np.log(shares)).sum() < row["ci_high"])
    assert 0.9 < np.mean(covered) < 0.99
