"""Change of groups: the whole from its parts, equal numbers, and what types do to it."""

import logging

import numpy as np
import pandas as pd
import pytest

from bottomup.measures.blocks import distances, moments_of_blocks
from bottomup.measures.change import KINDS, change, matched, moments_within, published, ten_types
from bottomup.measures.groups import Group
from bottomup.measures.jackknife import WITHOUT
from bottomup.measures.pwcca import moments_of, pwcca_distance, pwcca_from_moments
from bottomup.views.moments import Moments, merged

N, D = 1200, 4
BLOCKS = np.arange(N) // 10 % 8
TYPES = np.random.default_rng(2).integers(40, size=N)
COLUMNS = ["grouping", "group", "matching", "layer_a", "layer_b", "distance", "ci_low", "ci_high"]


def group(members, name="some", grouping="pos", representatives=None):
    representatives = members if representatives is None else representatives
    whole, units = representatives, np.arange(len(members))
    return Group(grouping, name, members, representatives, whole, units)


@pytest.fixture(scope="module")
def views():
    """Three layers: the second a linear map of the first, the third unrelated to both."""
    generator = np.random.default_rng(0)
    first, third = generator.normal(size=(2, N, D))
    return [first, first @ generator.normal(size=(D, D)) + 1, third]


@pytest.fixture(scope="module")
def bins():
    ranks = np.random.default_rng(1).integers(3, size=N)
    return [group(ranks == i, str(i), "frequency_rank") for i in range(3)]


def changes(views, groups, n=300, seed=1, types=TYPES, blocks=BLOCKS):
    occurrences = pd.DataFrame({"input_id": types, "block": blocks})
    return list(change(views, occurrences, groups, n, seed))


def of(rows, matching):
    return [row for row in rows if row["matching"] == matching]


def test_known_changes(views, bins):
    rows = changes(views, bins)
    assert [[*row] for row in rows] == [[*COLUMNS, "n_occurrences", "n_needed", WITHOUT]] * 12
    assert [(row["group"], row["layer_a"], row["layer_b"]) for row in of(rows, "published")] == [
        (name, layer, layer + 1) for name in "012" for layer in (0, 1)
    ]
    for row in rows:
        assert row["n_occurrences"] == (340 if row["matching"] == "matched" else 300)
        assert row["grouping"] == "frequency_rank" and row[WITHOUT].shape == (8,)
        if row["layer_a"] == 0:
            assert row["distance"] == pytest.approx(0, abs=1e-9)
        else:
            # No correlation of unrelated views is beyond (sqrt(d_x) + sqrt(d_y)) / sqrt(n) by more
            # than a few tenths of it.
            assert 1 > row["distance"] > 1 - 1.3 * 2 * np.sqrt(D) / np.sqrt(300)


def test_a_layer_that_tells_types_alone_has_no_distance_where_types_are_one(views, bins, caplog):
    """As layer 0 of models that tell positions in their attention: Llama, GPT-NeoX, BLOOM, T5."""
    of_types = np.random.default_rng(3).normal(size=(40, D)).astype(np.float16)
    some, one_type = [of_types[TYPES], views[2]], group(TYPES == 0, "of one type")
    rows = changes(some, [*bins, one_type], n=20)
    for row in rows:
        alone = row["matching"] == "matched" or row["group"] == "of one type"
        assert np.isnan(row["distance"]) == alone == np.isnan(row[WITHOUT]).all()
        assert row["n_occurrences"] >= 20
    assert "a view is the same at all 20 occurrences: no distance" in caplog.text


def test_the_change_is_the_distance_at_the_rows_drawn_weighted_by_the_lower_layer(views, bins):
    mixed = [views[0], views[0] + 0.5 * views[2] * [1, 2, 3, 4]]
    for row, some in zip(of(changes(mixed, bins), "published"), bins, strict=True):
        rows = np.sort(published(some, TYPES, 300, seed=1))
        moments = moments_of(mixed[0][rows], mixed[1][rows])
        assert row["distance"] == pytest.approx(pwcca_from_moments(moments), abs=1e-9)
        assert row["distance"] != pytest.approx(pwcca_from_moments(moments, "y"), abs=1e-4)
        parts = moments_of_blocks(mixed[0][rows], mixed[1][rows], BLOCKS[rows], 8)
        [expected] = distances(parts, KINDS)
        np.testing.assert_array_equal(row[WITHOUT], expected.pop(WITHOUT))
        assert expected.items() <= row.items()


def test_groups_together_are_the_whole(views, bins):
    """Pooled moments of groups that part the occurrences are those of all of them."""
    lower, upper = views[0], views[0] + views[2]
    pooled = Moments(D, D)
    for some in bins:
        rows = np.sort(published(some, TYPES, int(some.members.sum()), seed=1))
        blocks = moments_of_blocks(lower[rows], upper[rows], BLOCKS[rows], 8)
        pooled.merge(merged(blocks))
    whole = moments_of(lower, upper)
    assert pooled.n == whole.n == N
    np.testing.assert_allclose(pooled.scatter, whole.scatter, atol=1e-10 * N)
    [row] = of(changes([lower, upper], [group(np.full(N, True))], n=N), "published")
    assert row["distance"] == pytest.approx(pwcca_from_moments(pooled), abs=1e-9)


@pytest.mark.parametrize("draw", [published, matched, ten_types])
def test_rows_are_drawn_from_those_that_stand_for_the_group(draw):
    last = np.arange(N) % 3 == 0
    types = TYPES % 15
    rows = draw(group(np.full(N, True), representatives=last), types, 200, seed=1)
    assert last[rows].all() and len(set(rows)) == len(rows)
    assert np.array_equal(draw(group(last), types, 200, seed=1), rows)
    assert set(draw(group(last), types, 200, seed=2)) != set(rows)


def test_matched_rows_have_one_number_of_degrees_of_freedom_and_types_equal_shares():
    # 5 types of 100 occurrences, 20 of 10, 100 of 2, and 100 that come once.
    types = np.repeat(np.arange(225), [*[100] * 5, *[10] * 20, *[2] * 100, *[1] * 100])
    everything = group(np.full(len(types), True))
    for n, most in ((60, 2), (300, 10), (500, 55)):
        rows = matched(everything, types, n, seed=1)
        _, counts = np.unique(types[rows], return_counts=True)
        assert len(rows) - len(counts) == n and counts.min() >= 2
        assert counts.max() <= most + 1
    assert len(matched(everything, types, 775, seed=1)) == 900
    assert matched(everything, types, 776, seed=1) is None


def test_ten_types_are_the_most_frequent_in_equal_numbers():
    types = np.repeat(np.arange(12), [5, *range(30, 41)])
    rows = ten_types(group(np.full(len(types), True)), types, 319, seed=1)
    assert np.unique(types[rows], return_counts=True)[1].tolist() == [31] * 10
    assert set(types[rows]) == set(range(2, 12))
    assert ten_types(group(np.full(len(types), True)), types, 320, seed=1) is None
    assert ten_types(group(types < 9), types, 10, seed=1) is None


def test_moments_within_types_are_those_of_rows_centered_anew():
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(2, 150, 3)) + TYPES[:150, None] * [1, 10, 100]
    # One type is in one block alone.
    types, blocks = np.where(np.arange(150) < 5, 99, TYPES[:150]), np.arange(150) // 5 % 6
    blocks[types == 99] = 0
    whole, *others = moments_within(x, y, types, blocks, 6)
    for kept, found in [
        (np.full(150, True), whole),
        *((blocks != number, moments) for number, moments in enumerate(others)),
    ]:
        table = pd.DataFrame(np.hstack([x, y])[kept])
        by_type = table.groupby(types[kept])
        deviations = (table - by_type.transform("mean")).to_numpy()
        np.testing.assert_allclose(found.scatter, deviations.T @ deviations, atol=1e-9)
        assert found.n == kept.sum() - by_type.ngroups
        assert not found.mean.any()


def made_up(n_types, n, generator, d=8):
    """Two layers in which occurrences of each type change alike, and types lie far apart."""
    types = np.arange(n) % n_types
    means = 3 * generator.normal(size=(n_types, d))
    deviations = generator.normal(size=(n, d))
    noise = np.linspace(0.2, 2, d) * generator.normal(size=(n, d))
    return means[types] + deviations, means[types] + deviations + noise, types


def test_an_equal_change_within_types_is_one_change_only_where_groups_are_matched():
    """Of the same change in all, groups of 10, 100 and 1,000 types have distances that differ by
    half as published, and by sampling alone where their means are out."""
    generator = np.random.default_rng(0)
    found = {"published": [], "matched": []}
    for n_types in (10, 100, 1000):
        for _ in range(6):
            lower, upper, types = made_up(n_types, 4000, generator)
            everything = group(np.full(4000, True))
            rows = changes([lower, upper], [everything], 1000, 1, types, np.arange(4000) % 8)
            for name, values in found.items():
                values += [row["distance"] for row in of(rows, name)]
    plain, alike = (np.array(values).reshape(3, 6) for values in found.values())
    error = np.sqrt(alike.var(axis=1, ddof=1).mean() / 6)
    assert np.ptp(alike.mean(axis=1)) < 4 * error < 0.1 * alike.mean()
    assert plain[0].mean() > 1.3 * plain[2].mean()


@pytest.mark.long
def test_the_error_of_matched_changes_is_that_of_drawing_the_text_anew():
    """Too large by the square root of m / (m - 1) = 2 at most, for types that come m = 2 times."""
    generator = np.random.default_rng(0)
    for n_types, most in ((20, 1), (500, np.sqrt(2))):
        values, errors = [], []
        for _ in range(60):
            x, y, types = made_up(n_types, 1000, generator, d=4)
            blocks = generator.integers(16, size=1000)
            whole, *others = moments_within(x, y, types, blocks, 16)
            without = np.array([pwcca_from_moments(moments) for moments in others])
            values.append(pwcca_from_moments(whole))
            errors.append(np.sqrt(15 * without.var()))
        # 60 values give their own standard deviation to 1 / sqrt(120), that is 9 %: 3 of these.
        ratio = np.sqrt(np.mean(np.square(errors))) / np.std(values)
        assert 1 - 0.28 < ratio < most * 1.28


def test_without_a_block_is_the_rest_of_the_text():
    generator = np.random.default_rng(0)
    lower, upper, types = made_up(50, 1000, generator)
    blocks = np.arange(1000) % 7
    everything = group(np.full(1000, True))
    rows = changes([lower, upper], [everything], 950, 1, types, blocks)
    [row] = of(rows, "matched")
    assert row["n_occurrences"] == 1000
    kept = blocks != 3
    x, y = (
        view[kept] - pd.DataFrame(view[kept]).groupby(types[kept]).transform("mean").to_numpy()
        for view in (lower, upper)
    )
    assert row[WITHOUT][3] == pytest.approx(pwcca_distance(x, y), abs=1e-9)
    assert row["ci_low"] < row["distance"] < row["ci_high"]


def test_smaller_groups_have_no_value(views, caplog):
    small, large = group(np.arange(N) < 299, "small"), group(np.arange(N) < 300, "large")
    with caplog.at_level(logging.INFO):
        rows = changes(views, [small, large])
    assert {(row["group"], row["matching"]) for row in rows} == {
        ("large", "published"),
        ("small", "published"),
    }
    for row in rows:
        numbers = row["distance"], row["ci_low"], row["ci_high"], *row[WITHOUT]
        assert np.isnan(numbers).all() == (row["group"] == "small") and len(row[WITHOUT]) == 8
        n = (299, 300) if row["group"] == "small" else (300, 16)
        assert (row["n_occurrences"], row["n_needed"]) == n
    for left_out in ("small has too few occurrences for 300: no value of publ", "of matched"):
        assert left_out in caplog.text
    assert np.isnan([row["distance"] for row in changes(views, [small, large], n=301)]).all()


@pytest.mark.parametrize(("width", "n"), [(128, 1500), (384, 1540), (768, 3080), (1024, 4100)])
def test_as_many_are_drawn_as_the_width_needs(width, n):
    """By default 1,500 of each group; of GPT-2's and BERT's width what these need."""
    views = np.zeros((2, 5000, width), np.float16)
    few, types = group(np.arange(5000) < n - 1), np.arange(5000)
    blocks = types % 20
    [row] = changes(views, [few], n=1500, types=types, blocks=blocks)
    assert np.isnan(row["distance"])
    assert (row["n_occurrences"], row["n_needed"]) == (n - 1, n)
