"""Change of groups: the whole from its parts, equal numbers, and what stands for a word."""

import logging

import numpy as np
import pytest

from bottomup.errors import UserError
from bottomup.measures.blocks import distances, moments_of_blocks
from bottomup.measures.change import change, rows_of
from bottomup.measures.groups import Group
from bottomup.measures.pwcca import moments_of, pwcca_from_moments
from bottomup.views.moments import Moments, merged

N, D = 1200, 4
SENTENCES = np.arange(N) // 10
COLUMNS = ["grouping", "group", "layer_a", "layer_b", "distance", "ci_low", "ci_high"]


def group(members, name="some", grouping="pos", representatives=None):
    representatives = members if representatives is None else representatives
    return Group(grouping, name, members, representatives, units=np.arange(N))


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


def changes(views, groups, n=300, n_samples=5, seed=1):
    return list(change(views, SENTENCES, groups, n, n_samples, seed))


def test_known_changes(views, bins):
    rows = changes(views, bins)
    assert [[*row] for row in rows] == [[*COLUMNS, "n_occurrences"]] * 6
    assert [(row["group"], row["layer_a"], row["layer_b"]) for row in rows] == [
        (name, layer, layer + 1) for name in "012" for layer in (0, 1)
    ]
    for row in rows:
        assert row["n_occurrences"] == 300 and row["grouping"] == "frequency_rank"
        if row["layer_a"] == 0:
            assert row["distance"] == pytest.approx(0, abs=1e-9)
        else:
            # No correlation of unrelated views is beyond (sqrt(d_x) + sqrt(d_y)) / sqrt(n) by more
            # than a few tenths of it.
            assert 1 > row["distance"] > 1 - 1.3 * 2 * np.sqrt(D) / np.sqrt(300)


def test_the_change_is_the_distance_at_the_rows_drawn_weighted_by_the_lower_layer(views, bins):
    mixed = [views[0], views[0] + 0.5 * views[2] * [1, 2, 3, 4]]
    for row, some in zip(changes(mixed, bins), bins, strict=True):
        rows = rows_of(some, 300, seed=1)
        moments = moments_of(mixed[0][rows], mixed[1][rows])
        assert row["distance"] == pytest.approx(pwcca_from_moments(moments), abs=1e-9)
        assert row["distance"] != pytest.approx(pwcca_from_moments(moments, "y"), abs=1e-4)
        blocks = moments_of_blocks(mixed[0][rows], mixed[1][rows], SENTENCES[rows], seed=1)
        [expected] = distances(blocks, [("definition", "x")], 5, seed=1)
        assert expected.items() <= row.items()


def test_groups_together_are_the_whole(views, bins):
    """Pooled moments of groups that part the occurrences are those of all of them."""
    lower, upper = views[0], views[0] + views[2]
    pooled = Moments(D, D)
    for some in bins:
        rows = rows_of(some, int(some.members.sum()), seed=1)
        blocks = moments_of_blocks(lower[rows], upper[rows], SENTENCES[rows], seed=1)
        pooled.merge(merged(blocks, np.ones(len(blocks), dtype=int)))
    whole = moments_of(lower, upper)
    assert pooled.n == whole.n == N
    np.testing.assert_allclose(pooled.scatter, whole.scatter, atol=1e-10 * N)
    [row] = changes([lower, upper], [group(np.full(N, True))], n=N)
    assert row["distance"] == pytest.approx(pwcca_from_moments(pooled), abs=1e-9)


def test_rows_are_drawn_from_those_that_stand_for_the_group():
    last = np.arange(N) % 3 == 0
    rows = rows_of(group(np.full(N, True), representatives=last), 300, seed=1)
    assert last[rows].all() and len(set(rows)) == 300 and (np.diff(rows) > 0).all()
    assert np.array_equal(rows_of(group(last), 300, seed=1), rows)
    assert not np.array_equal(rows_of(group(last), 300, seed=2), rows)


def test_smaller_groups_are_left_out(views, caplog):
    small, large = group(np.arange(N) < 299, "small"), group(np.arange(N) < 300, "large")
    with caplog.at_level(logging.INFO):
        rows = changes(views, [small, large])
    assert {row["group"] for row in rows} == {"large"}
    assert "small has 299 occurrences, fewer than 300: left out" in caplog.text
    with pytest.raises(UserError, match=r"no group has 301 occurrences; lower") as error:
        changes(views, [small, large], n=301)
    assert "\n" not in str(error.value)
