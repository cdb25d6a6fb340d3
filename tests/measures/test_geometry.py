"""How representations lie in space: against shapes of which it is known, and other formulas."""

import logging

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial import KDTree

from bottomup.core.errors import UserError
from bottomup.measures.geometry import (
    curvature,
    effective_ranks,
    geometry,
    intrinsic_dimensions,
    matrix_entropy,
)
from bottomup.measures.jackknife import WITHOUT

MEASURES = ["matrix_entropy", "curvature_degrees", "intrinsic_dimension", "effective_rank"]
LENGTH, COUNT = 6, 5


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def rotation(d, seed=0):
    return np.linalg.qr(normal(d, d, seed=seed))[0]


def dimension(points):
    """TwoNN of all points together."""
    return intrinsic_dimensions(points, np.zeros(len(points), dtype=int), 1)[0][0]


def rank(view):
    return effective_ranks(view, np.zeros(len(view), dtype=int), 1)[0][0]


def measured(*views, points=10**4, seed=1, sentences=None, blocks=None):
    """The rows by layer and measure, of sentences of `LENGTH`, each block every fifth of them."""
    numbers = np.arange(len(views[0])) // LENGTH if sentences is None else sentences
    blocks = numbers % COUNT if blocks is None else blocks
    rows = list(geometry(views, numbers, blocks, points, seed))
    assert [(row["layer"], row["measure"]) for row in rows] == [
        (layer, measure) for layer in range(len(views)) for measure in MEASURES
    ]
    return {(row["layer"], row["measure"]): row for row in rows}


# Sentences


def test_the_entropy_of_tokens_that_are_alike_or_orthogonal():
    assert matrix_entropy(np.tile(normal(1, 9), (5, 1))) == pytest.approx(0, abs=1e-12)
    assert matrix_entropy(np.outer([1, -2, 3], normal(9))) == pytest.approx(0, abs=1e-12)
    assert matrix_entropy(7 * rotation(9)[:5]) == pytest.approx(1)
    # Two orthogonal tokens of lengths 3 and 1 have the shares 0.9 and 0.1.
    by_hand = -(0.9 * np.log(0.9) + 0.1 * np.log(0.1)) / np.log(2)
    assert matrix_entropy(np.array([[0.0, 3.0], [1.0, 0.0]])) == pytest.approx(by_hand)


@pytest.mark.parametrize(("n", "d"), [(4, 30), (30, 4), (8, 8)])
def test_the_entropy_is_that_of_squared_singular_values(n, d):
    tokens = normal(n, d) * np.arange(1, d + 1) + 1
    shares = np.linalg.svd(tokens, compute_uv=False) ** 2 / (tokens**2).sum()
    assert matrix_entropy(tokens) == pytest.approx(-(shares * np.log(shares)).sum() / np.log(n))
    assert matrix_entropy(tokens) <= np.log(min(n, d)) / np.log(n) + 1e-12


def test_a_sentence_of_one_token_or_of_zeros_has_no_entropy():
    assert np.isnan(matrix_entropy(normal(1, 4))) and np.isnan(matrix_entropy(np.zeros((3, 4))))


def test_the_curvature_of_a_line_a_corner_a_square_and_a_zigzag():
    line = np.outer([0, 1, 3, 4.5], normal(9)) + normal(9, seed=1)
    assert curvature(line) == pytest.approx(0, abs=1e-5)
    assert curvature(np.array([[0.0, 0], [1, 0], [1, 1]])) == pytest.approx(90)
    # Straight on, then back: the mean of 0 and 180.
    assert curvature(np.array([[0.0, 1], [1, 1], [2, 1], [0, 1]])) == pytest.approx(90)
    assert curvature(np.tile(normal(2, 9), (4, 1))) == pytest.approx(180, abs=1e-5)
    # An equilateral triangle turns by 120 degrees.
    around = np.radians([0, 120, 240, 360])
    assert curvature(np.stack([np.cos(around), np.sin(around)], axis=1)) == pytest.approx(120)


def test_the_curvature_of_independent_steps_and_of_independent_tokens():
    tokens = normal(60, 4000)
    assert curvature(tokens.cumsum(axis=0)) == pytest.approx(90, abs=0.5)
    assert curvature(tokens) == pytest.approx(120, abs=0.5)


def test_curvature_by_another_formula():
    """By half angles, step by step."""
    tokens = normal(9, 3)
    angles = []
    for a, b, c in zip(tokens, tokens[1:], tokens[2:], strict=False):
        u, v = (b - a) / np.linalg.norm(b - a), (c - b) / np.linalg.norm(c - b)
        angles.append(2 * np.arctan2(np.linalg.norm(u - v), np.linalg.norm(u + v)))
    assert curvature(tokens) == pytest.approx(np.degrees(np.mean(angles)))


def test_a_step_of_length_0_has_no_angle():
    corner = np.array([[0.0, 0], [0, 0], [1, 0], [1, 1]])
    assert curvature(corner) == pytest.approx(90)
    assert np.isnan(curvature(np.ones((4, 2)))) and np.isnan(curvature(normal(2, 4)))


# Points


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_dimension_of_a_plane_in_50_dimensions(d):
    flat = np.random.default_rng(d).uniform(size=(3000, d)) @ rotation(50)[:d]
    assert dimension(flat) == pytest.approx(d, rel=0.1)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_dimension_of_a_sphere_in_50_dimensions(d):
    points = normal(3000, d + 1)
    sphere = points / np.linalg.norm(points, axis=1, keepdims=True) @ rotation(50)[: d + 1]
    assert dimension(sphere) == pytest.approx(d, rel=0.1)


def test_the_dimension_by_another_formula():
    """From a tree of neighbors, by least squares."""
    points = normal(400, 6) * [1, 1, 2, 3, 5, 8]
    distances = KDTree(points).query(points, k=3)[0]
    log_ratios = np.sort(np.log(distances[:, 2] / distances[:, 1]))[:360]
    y = [-np.log(1 - i / 400) for i in range(1, 361)]
    [slope], *_ = np.linalg.lstsq(log_ratios[:, None], np.array(y), rcond=None)
    assert dimension(points) == pytest.approx(slope)


@pytest.mark.parametrize(
    ("dtype", "noise", "mean"),
    [(np.float16, 1e-4, 0), (np.float32, 1e-6, 0), (np.float32, 1e-6, 10), (np.float32, 3e-7, 100)],
)
def test_a_point_that_is_seen_twice_is_one_point(dtype, noise, mean):
    points, blocks = (normal(500, 3) + mean).astype(dtype), np.arange(500) % COUNT
    value, n = intrinsic_dimensions(points, blocks, COUNT)
    again = (points[::2] * (1 + noise * normal(250, 3, seed=1))).astype(dtype)
    assert (again != points[::2]).any()
    both = np.concatenate([points, again]), np.concatenate([blocks, blocks[::2]])
    with_both, n_both = intrinsic_dimensions(*both, COUNT)
    assert n == n_both == 500
    np.testing.assert_allclose(with_both, value, rtol=1e-9)


def test_a_shift_changes_no_dimension():
    points = normal(400, 3) @ normal(3, 16, seed=1)
    assert dimension(points + 1e6) == pytest.approx(dimension(points), rel=1e-6)


@pytest.mark.parametrize("constant", [1000, 60000])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_constant_neuron_changes_no_dimension(constant, dtype):
    points = (normal(400, 3) @ normal(3, 16, seed=1)).astype(dtype)
    more = np.column_stack([points, np.full(400, constant, dtype=dtype)])
    assert dimension(more) == pytest.approx(dimension(points), rel=1e-9)


def test_large_points_of_float16_that_are_seen_twice_are_one_point():
    """As the first tokens of sentences, a hundred times as large as all others in some models."""
    points, blocks = normal(500, 3), np.arange(500) % COUNT
    large = 100 * normal(1, 3, seed=2) + normal(20, 3, seed=3)
    again = large * (1 + 2e-4 * normal(20, 3, seed=1))
    both = np.concatenate([points, large, again]).astype(np.float16)
    _, n = intrinsic_dimensions(both, np.resize(blocks, 540), COUNT)
    assert n == 520


def of_normal_numbers(n, d):
    """The effective rank that random matrix theory expects: singular values are the roots of
    eigenvalues that follow Marchenko and Pastur's law."""
    few, many = min(n, d), max(n, d)
    c = few / many
    low, high = (1 - np.sqrt(c)) ** 2, (1 + np.sqrt(c)) ** 2

    def mean(f):
        def density(x):
            return f(np.sqrt(x)) * np.sqrt((high - x) * (x - low)) / (2 * np.pi * c * x)

        return quad(density, low, high)[0]

    size = mean(lambda s: s)
    return few * size * np.exp(-mean(lambda s: s * np.log(s)) / size)


@pytest.mark.parametrize(("n", "d"), [(4000, 60), (300, 60), (120, 60), (61, 300)])
def test_the_effective_rank_of_normal_numbers(n, d):
    # One degree of freedom goes with the mean.
    assert rank(normal(n, d) + 5) == pytest.approx(of_normal_numbers(n - 1, d), rel=0.01)


def test_the_effective_rank_is_that_of_the_singular_values():
    view = normal(300, 12) * np.geomspace(1, 100, 12) + 7
    values = np.linalg.svd(view - view.mean(0), compute_uv=False)
    shares = values / values.sum()
    assert rank(view) == pytest.approx(np.prod(shares**-shares))
    assert rank(np.outer(normal(50), normal(9)) + 3) == pytest.approx(1, abs=1e-5)
    assert np.isnan(rank(np.tile(normal(1, 9), (70, 1))))  # whose mean is rounded


# The table


def test_the_interval_of_a_rank_ends_at_the_number_of_neurons():
    row = measured(normal(120, 2) * [1, 0.7], blocks=np.arange(120) // LENGTH % 4)[0, MEASURES[-1]]
    assert 1.8 < row["ci_low"] < row["value"] < row["ci_high"] <= 2


def test_values_and_those_without_each_block_are_the_measures_of_these_rows():
    view = normal(600, 8).cumsum(axis=0) * np.arange(1, 9)
    rows, blocks = measured(view), np.arange(600) // LENGTH % COUNT
    for kept, of in [(blocks >= 0, None), *((blocks != b, b) for b in range(COUNT))]:
        some = view[kept]
        texts = some.reshape(-1, LENGTH, 8)
        expected = {
            "matrix_entropy": np.mean([matrix_entropy(text) for text in texts]),
            "curvature_degrees": np.mean([curvature(text) for text in texts]),
            "intrinsic_dimension": dimension(some),
            "effective_rank": rank(some),
        }
        for measure, value in expected.items():
            row = rows[0, measure]
            found = row["value"] if of is None else row[WITHOUT][of]
            assert found == pytest.approx(value, rel=1e-6), (measure, of)
    for (_, measure), row in rows.items():
        assert row["ci_low"] < row["value"] < row["ci_high"]
        n = {"matrix_entropy": 100, "curvature_degrees": 100}.get(measure, 600)
        assert row["n"] == n


def test_what_is_planted_differs_from_its_null_and_what_is_not_does_not():
    """Sentences with a topic of their own, sentences that go on smoothly, neurons that say the same
    thing; and numbers without any of it."""
    n, d = 1500, 24
    nothing = normal(LENGTH * n, d)
    topics = nothing + 3 * np.repeat(normal(n, d, seed=1), LENGTH, axis=0)
    smooth = normal(n, LENGTH, d, seed=2).cumsum(axis=1).reshape(-1, d)
    related = nothing[:, :3] @ normal(3, d, seed=3) + 0.01 * nothing
    rows = measured(nothing, topics, smooth, related, points=2000)

    def off(layer, measure):
        row = rows[layer, measure]
        return row["value"] / row["null"] - 1

    assert all(abs(off(0, measure)) < 0.02 for measure in MEASURES)
    assert off(1, "matrix_entropy") < -0.2 and abs(off(1, "curvature_degrees")) < 0.02
    assert rows[2, "curvature_degrees"]["value"] == pytest.approx(90, abs=2)
    assert rows[2, "curvature_degrees"]["null"] == pytest.approx(120, abs=2)
    assert rows[3, "effective_rank"]["value"] < 5 and rows[3, "effective_rank"]["null"] > 20
    assert rows[3, "intrinsic_dimension"]["value"] == pytest.approx(3, rel=0.15)
    assert rows[3, "intrinsic_dimension"]["null"] > 8


def test_nulls_are_the_same_permutations_at_all_layers_and_others_by_another_seed():
    view = normal(600, 8).cumsum(axis=0)
    one, other = (measured(view, view, points=300, seed=seed) for seed in (1, 2))
    for measure in MEASURES:
        assert one[0, measure]["null"] == one[1, measure]["null"] != other[0, measure]["null"]
    assert one[0, "intrinsic_dimension"]["value"] != other[0, "intrinsic_dimension"]["value"]
    assert one[0, "intrinsic_dimension"]["n"] == 300


def test_sentences_in_which_nothing_is_defined_do_not_count():
    view = normal(240, 8)
    numbers = np.repeat(np.arange(6), [1, 2, 1, 36, 100, 100])
    rows = measured(view, sentences=numbers, blocks=numbers % 2)
    assert rows[0, "matrix_entropy"]["n"] == 4 and rows[0, "curvature_degrees"]["n"] == 3
    of_three = [curvature(view[numbers == number]) for number in (3, 4, 5)]
    assert rows[0, "curvature_degrees"]["value"] == pytest.approx(np.mean(of_three))


def test_too_few_occurrences_give_no_value_and_say_so(caplog):
    with caplog.at_level(logging.WARNING):
        rows = measured(normal(LENGTH * 16, 25))
    few = {"intrinsic_dimension": (96, 100), "effective_rank": (96, 100)}
    for measure in MEASURES:
        row = rows[0, measure]
        assert np.isnan([row["value"], row["null"], row["ci_low"]]).all() == (measure in few)
        if measure in few:
            assert (row["n"], row["n_needed"]) == few[measure]
            assert np.isnan(row[WITHOUT]).all() and len(row[WITHOUT]) == COUNT
    assert "layer 0: no effective_rank of 96 cases; 100 that differ are needed" in caplog.text
    rows = measured(normal(LENGTH * 17, 25))
    assert all(np.isfinite(rows[0, measure]["value"]) for measure in MEASURES)


def test_a_layer_that_collapsed_has_an_entropy_alone(caplog):
    with caplog.at_level(logging.WARNING):
        rows = measured(np.full((600, 8), 0.1))
    assert rows[0, "matrix_entropy"]["value"] == pytest.approx(0, abs=1e-9)
    assert rows[0, "intrinsic_dimension"]["n"] == 1
    assert np.isnan([rows[0, measure]["value"] for measure in MEASURES[1:]]).all()
    assert len(caplog.records) == 3


def test_text_of_a_single_block_has_no_interval():
    rows = measured(normal(600, 8), blocks=np.zeros(600, dtype=int))
    assert np.isfinite([rows[0, measure]["value"] for measure in MEASURES]).all()
    assert np.isnan([rows[0, measure]["ci_low"] for measure in MEASURES]).all()


def test_a_view_of_other_rows_is_refused():
    with pytest.raises(UserError, match="sentences of shape"):
        measured(normal(60, 4), sentences=np.arange(61) // LENGTH)
