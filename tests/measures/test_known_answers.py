"""Synthetic views in which measures must find what was put into them."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from bottomup.corpus.specials import N_SPECIAL
from bottomup.measures.classifier_bound import classifier_bound
from bottomup.measures.mutual_information import cluster, entropy, mutual_information, shuffled
from bottomup.measures.neighbors import among_tokens, chance, measure, within_tokens
from bottomup.measures.pwcca import pwcca_distance


def blocks(n):
    return np.arange(n) // 10 % 20


def occurrences(**columns):
    """A table of plain occurrences, with nothing to tell them apart but what is given."""
    n = len(next(iter(columns.values())))
    given = pd.DataFrame({name: np.asarray(values) for name, values in columns.items()})
    same = ["position", "left_id", "right_id", "ccg", "ccg_left", "ccg_right"]
    table = pd.DataFrame({name: np.zeros(n, dtype=int) for name in ["input_id", *same]})
    table["input_id"] += N_SPECIAL
    table["stands_for_word"] = True
    table[given.columns] = given
    return table.assign(rank=table["input_id"])


def test_a_view_that_tells_pairs_of_tokens_apart():
    # Tokens 0 and 1 look alike, 2 and 3 do, ...: what the view holds of the token is the pair.
    tokens = np.random.default_rng(0).permutation(np.repeat(np.arange(12), 300))
    view = 5 * np.eye(6)[tokens // 2]
    clusters = cluster(view, 30, seed=1)
    assert mutual_information(tokens, clusters) == pytest.approx(entropy(tokens // 2), abs=1e-12)
    bound = classifier_bound(view, tokens, blocks(3600), 20, seed=1)
    assert bound.mi_nats == pytest.approx(np.log(6), abs=0.02)


def test_neighbors_that_look_alike_are_taken_by_chance_and_not_in_the_order_of_the_text():
    tokens = np.repeat(np.arange(12), 300)
    sample = among_tokens(occurrences(input_id=N_SPECIAL + tokens), 12, 200, seed=1)
    shares = measure(np.eye(6)[tokens // 2], sample, k=50)["token"]
    # 50 of the 399 others of a pair, 199 of them the same token; 5 standard deviations.
    by_token = pd.Series(shares[0]).groupby(sample.values["token"][0]).mean()
    assert by_token.to_numpy() == pytest.approx(199 / 399, abs=5 * 0.5 / np.sqrt(50))
    assert shares.mean() == pytest.approx(199 / 399, abs=0.01)
    assert chance(sample)["token"] == pytest.approx(199 / 2399)


def test_a_signal_in_gaussian_noise():
    # y = m s + noise, s = 1 or -1: I = ln 2 - E ln(1 + exp(-2 m (m + Z))) nats, Z normal.
    n, m = 40_000, 1.2
    generator = np.random.default_rng(0)
    signs = generator.choice([-1, 1], n)
    view = np.outer(m * signs, [0.6, 0.8]) + generator.normal(size=(n, 2))
    loss = norm.expect(lambda z: np.logaddexp(0, -2 * m * (m + z)))
    true = np.log(2) - loss
    # Held-out losses have a standard deviation of about 0.6; 4 of their mean over n / 2.
    bound = classifier_bound(view, signs, blocks(n), 20, seed=1)
    assert bound.mi_nats == pytest.approx(true, abs=0.02)
    # 40 clusters cut the plane finely, and the bias is (40 - 1) / 2n.
    found = mutual_information(signs, cluster(view, 40, seed=1))
    assert found == pytest.approx(true, abs=0.02)


def test_labels_that_the_view_knows_nothing_of_have_no_information_beyond_the_baseline():
    # Most of 40 x 100 cells are empty or hold one of 3,000: the bias is large, about 0.5 nats.
    generator = np.random.default_rng(0)
    labels, view = generator.integers(40, size=3000), generator.normal(size=(3000, 8))
    clusters = cluster(view, 100, seed=1)
    value, baseline = mutual_information(labels, clusters), shuffled(labels, clusters, seed=1)
    draws = [mutual_information(generator.permutation(labels), clusters) for _ in range(40)]
    assert value > 0.3
    # The value is one more draw, the baseline the mean of 5.
    assert abs(value - baseline) < 4 * np.std(draws) * np.sqrt(1 + 1 / 5)


@pytest.mark.long
@pytest.mark.parametrize("n_labels", [2, 7, 300])
@pytest.mark.parametrize("scale", [1e-3, 1, 1e3])
def test_the_bound_is_never_above_the_entropy_of_the_labels(n_labels, scale):
    generator = np.random.default_rng(n_labels)
    labels = generator.integers(n_labels, size=1500)
    for view in (np.eye(n_labels)[labels], generator.normal(size=(1500, 5))):
        bound = classifier_bound(scale * view, labels, blocks(1500), 20, seed=1)
        assert bound.mi_nats <= bound.entropy_nats <= np.log(n_labels)


def test_mixed_gaussians_with_known_canonical_correlations(tmp_path):
    # x = A z, y = B w with cov(z_i, w_i) = rho_i and all else white: the variates are z and w, and
    # alpha_i = sum_j |cov(z_i, x_j)| = sum_j |A_ji|.
    generator = np.random.default_rng(0)
    n, rho = 100_000, np.array([0.95, 0.8, 0.6, 0.3, 0.1])
    a, b = generator.normal(size=(2, 5, 5))
    z, e = generator.normal(size=(2, n, 5))
    for name, view in (("x", z @ a.T), ("y", (rho * z + np.sqrt(1 - rho**2) * e) @ b.T)):
        np.save(tmp_path / f"{name}.npy", view.astype(np.float16))
    x, y = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "xy")
    # Sampling errors are of order 1 / sqrt(n), as in test_pwcca. float16 rounds by about 1 % of
    # the standard deviation in B's narrowest direction: 1e-4 of a correlation.
    for weights, mix in (("x", a), ("y", b)):
        alpha = np.abs(mix).sum(0)
        expected = 1 - alpha @ rho / alpha.sum()
        found = pwcca_distance(x, y, weights=weights)
        assert found == pytest.approx(expected, abs=4 / np.sqrt(n))


def test_a_view_of_the_position_has_its_neighbors_at_the_next_positions():
    # 20 positions on an arc, c occurrences at each, k = 3c - 1: all the others at a position and
    # at the two beside it; at the ends, of the two on one side.
    c, n_positions = 6, 20
    position = np.repeat(np.arange(n_positions), c)
    table = occurrences(position=np.tile(position, 2), input_id=np.repeat([4, 5], len(position)))
    angle = np.tile(position, 2) / n_positions
    sample = within_tokens(table, 2, len(position), seed=1)
    found = measure(np.stack([np.cos(angle), np.sin(angle)], 1), sample, k=3 * c - 1)["position"]
    inner, end = 2 * c / (3 * c - 1), 3 * c / (3 * c - 1)
    expected = ((n_positions - 2) * inner + 2 * end) / n_positions
    assert found.mean() == pytest.approx(expected)
    # Two positions drawn from 0 to 19, of different occurrences.
    apart = (n_positions**2 - 1) / (3 * n_positions)
    pairs = len(position) / (len(position) - 1)
    assert chance(sample)["position"] == pytest.approx(apart * pairs)


def test_a_view_of_the_left_token_can_share_it_with_no_more_neighbors_than_there_are():
    # c occurrences of each left token, c - 1 of them neighbors of a row of which k are asked.
    c, k = 8, 20
    left = np.tile(np.repeat(np.arange(10, 25), c), 2)
    table = occurrences(left_id=left, input_id=np.repeat([4, 5], len(left) // 2))
    sample = within_tokens(table, 2, len(left) // 2, seed=1)
    found = measure(np.eye(25)[left], sample, k)
    assert (found["left_token"] == (c - 1) / k).all()
    assert (found["right_token"] == 1).all() and (found["position"] == 0).all()
    assert chance(sample)["left_token"] == pytest.approx((c - 1) / (15 * c - 1))
