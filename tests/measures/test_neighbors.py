"""Nearest neighbors: scikit-learn, ties and self-matches, what they share, and its intervals."""

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import NearestNeighbors

from bottomup.core.errors import UserError
from bottomup.corpus.specials import N_SPECIAL, UNK
from bottomup.measures import neighbors
from bottomup.measures.neighbors import (
    METRICS,
    Sample,
    among_tokens,
    chance,
    estimates,
    measure,
    nearest,
    within_ambiguous_tokens,
    within_tokens,
)

CONTEXT = ["position", "left_token", "right_token"]
CCG = ["ccg", "ccg_left", "ccg_right"]


def text(n=3000, n_tokens=6, seed=0):
    """A table of occurrences, annotated, the more frequent tokens being those of lower rank."""
    generator = np.random.default_rng(seed)
    shares = 1 / np.arange(2, n_tokens + 2)
    rank = 1 + generator.choice(n_tokens, n, p=shares / shares.sum())
    left, right = generator.integers(4, 9, size=(2, n))
    return pd.DataFrame(
        {
            "block": (np.arange(n) * 32 // n).astype(np.int8),
            "position": (np.arange(n) % 15).astype(np.int32),
            "input_id": N_SPECIAL + n_tokens - rank,
            "rank": rank,
            "left_id": left,
            "right_id": right,
            "stands_for_word": generator.random(n) < 0.8,
            "ccg": np.array(["N", "N/N", "S\\NP"])[left % 3],
            "ccg_left": np.array(["", "NP"])[left % 2],
            "ccg_right": np.array(["N", ""])[right % 2],
            "ccg_source": "derived",
        }
    )


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("shift", [0, 30])
def test_equals_scikit_learn(shift, metric):
    # With a large mean all cosines are near 1, where float32 is coarse.
    view = np.random.default_rng(0).normal(size=(600, 12)) + shift
    peer = NearestNeighbors(n_neighbors=20, metric=metric, algorithm="brute").fit(view)
    distances, rows = peer.kneighbors()  # without the row itself
    found = nearest(view, 20, metric=metric)
    # Where the order differs, the distances do not: to float32's resolution of squared ones.
    np.testing.assert_allclose(
        peer_distances(view, found, metric), distances, atol=1e-6 * distances.max()
    )
    assert (found == rows).mean() > 0.999


def peer_distances(view, rows, metric):
    if metric == "euclidean":
        return np.linalg.norm(view[:, None] - view[rows], axis=2)
    unit = view / np.linalg.norm(view, axis=1, keepdims=True)
    return 1 - np.einsum("id,ikd->ik", unit, unit[rows])


def test_some_rows_are_looked_up_like_all():
    view = np.tile(np.random.default_rng(0).normal(size=(100, 4)), (2, 1))
    rows = np.array([7, 199, 3])
    assert (nearest(view, 20, queries=rows) == nearest(view, 20)[rows]).all()


def test_a_row_is_not_its_own_neighbor_though_others_equal_it():
    a, b = [1.0, 0.0], [0.0, 2.0]
    found = nearest(np.array([a, b, a, a, b]), 4)
    assert found.tolist() == [[2, 3, 1, 4], [4, 0, 2, 3], [0, 3, 1, 4], [0, 2, 1, 4], [1, 0, 2, 3]]


def test_of_equally_near_rows_the_first_are_taken():
    found = nearest(np.ones((40, 3)), 5)
    for row, near in enumerate(found):
        assert near.tolist() == [i for i in range(6) if i != row][:5]


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("block_cells", [1, 1000, 2**21])
def test_equal_rows_stay_equally_near_and_in_order_in_any_block(monkeypatch, block_cells, dtype):
    monkeypatch.setattr(neighbors, "BLOCK_CELLS", block_cells)
    generator = np.random.default_rng(0)
    kind = generator.integers(37, size=301)  # about 8 rows of each
    found = nearest(generator.normal(size=(37, 19)).astype(dtype)[kind], 20)
    for row, of_row in enumerate(kind[found]):
        starts = np.flatnonzero(np.diff(of_row, prepend=-1))
        assert of_row[0] == kind[row] and len(starts) == len(set(of_row))
        for start, run in zip(starts, np.split(found[row], starts[1:]), strict=True):
            others = np.flatnonzero(kind == kind[run[0]])
            assert run.tolist() == others[others != row][: 20 - start].tolist()


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_zeros_of_either_sign_are_equal(metric):
    view = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)
    view[:, 2] = 0
    view[20:] = view[:1]
    view[20::2, 2] = -0.0
    assert nearest(view, 5, metric=metric)[0].tolist() == [20, 21, 22, 23, 24]


def test_a_zero_vector_is_at_right_angles_to_all_others():
    """Its cosine with them is 0: farther than any of an acute angle, nearer than of an obtuse."""
    view = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 0.0], [-1.0, 0.2], [0.0, 0.0]])
    assert nearest(view, 4, "cpu").tolist() == [
        [1, 2, 4, 3],
        [0, 2, 4, 3],
        [4, 0, 1, 3],
        [2, 4, 1, 0],
        [2, 0, 1, 3],
    ]


def test_rows_of_one_direction_are_equally_near_by_cosine():
    view = np.random.default_rng(0).normal(size=(40, 6))
    view[20:] = view[0] * 2.0 ** np.arange(20)[:, None]
    assert nearest(view, 5, queries=[0, 3])[0].tolist() == [20, 21, 22, 23, 24]


@pytest.mark.parametrize(("cells", "rows"), [(5000, 1), (1, 5)])
def test_no_more_than_a_block_of_distances_is_made(monkeypatch, cells, rows):
    monkeypatch.setattr(neighbors, "BLOCK_CELLS", cells)
    monkeypatch.setattr(neighbors, "BLOCK_ROWS", rows)
    made, smallest = [], neighbors._smallest
    monkeypatch.setattr(
        neighbors, "_smallest", lambda block, k: made.append(block.numel()) or smallest(block, k)
    )
    nearest(np.random.default_rng(0).normal(size=(1000, 4)), 3)
    assert 1000**2 <= sum(made) < 1.1 * 1000**2  # some once more, in float64
    assert max(made) == 5000


@pytest.mark.parametrize(
    ("view", "k", "message"),
    [
        (np.ones((5, 2)), 5, r"5 occurrences for measures.neighbors.k 5; allowed: more"),
        (np.array([[1, np.nan], [1, 2], [0, 1]]), 1, "NaN or infinity"),
    ],
)
def test_what_has_no_neighbors_is_refused(view, k, message):
    with pytest.raises(UserError, match=message):
        nearest(view, k)


@pytest.mark.parametrize("queries", [[5], [-1], [True, False, True, False, True], [0.0]])
def test_queries_are_numbers_of_rows(queries):
    with pytest.raises(UserError, match=r"queries of type .*; allowed: numbers of rows, 0 to 4"):
        nearest(np.eye(5), 1, queries=np.array(queries))
    assert nearest(np.eye(5), 1, queries=[4, 0]).tolist() == [[0], [1]]


def test_as_many_of_each_of_the_most_frequent_tokens_are_drawn():
    occurrences = text()
    # In training the most frequent, here one of the rarest: the rank decides.
    first = np.flatnonzero(occurrences["rank"] == 1)
    occurrences = occurrences.drop(first[200:]).reset_index(drop=True)
    sample = among_tokens(occurrences, 3, 100, seed=1)
    assert sample.rows.shape == (1, 300) and sample.n_tokens == 3
    ranks, counts = np.unique(occurrences["rank"].to_numpy()[sample.rows], return_counts=True)
    assert ranks.tolist() == [1, 2, 3] and counts.tolist() == [100] * 3
    assert len(np.unique(sample.rows)) == 300 and (np.diff(sample.rows) < 0).any()
    again, other = (among_tokens(occurrences, 3, 100, seed).rows for seed in (1, 2))
    assert (again == sample.rows).all() and {*other.ravel()} != {*sample.rows.ravel()}


def test_unknown_tokens_are_no_token():
    occurrences = text()
    occurrences.loc[:500, "input_id"] = UNK
    sample = among_tokens(occurrences, 100, 100, seed=1)
    assert sample.n_tokens == 6 and UNK not in sample.values["token"]


def test_within_a_token_only_the_ends_of_words_are_drawn():
    occurrences = text()
    sample = within_tokens(occurrences, 2, 50, seed=1)
    assert sample.rows.shape == (2, 50)
    rows = occurrences.iloc[sample.rows.ravel()]
    assert rows["stands_for_word"].all()
    assert rows["rank"].tolist() == [1] * 50 + [2] * 50


def test_ccg_is_compared_where_two_occurrences_differ_more_often_than_not():
    occurrences = text()
    # Of 20 occurrences of a token, 14 have one category and the others another each: 14 * 13 of
    # 20 * 19 pairs agree, 0.479; of 15 of them, 0.553.
    for rank, same in [(1, 15), (2, 14)]:
        rows = np.flatnonzero(occurrences["rank"] == rank)
        occurrences.loc[rows[20:], "stands_for_word"] = False
        occurrences.loc[rows[:20], "stands_for_word"] = True
        occurrences.loc[rows[:20], "ccg"] = ["N"] * same + [f"N/{i}" for i in range(20 - same)]
    sample = within_ambiguous_tokens(occurrences, 3, 20, seed=1)
    assert occurrences["rank"].to_numpy()[sample.rows[:, 0]].tolist() == [2, 3, 4]
    assert chance(sample)["ccg"] < 0.5
    assert list(sample.values) == CCG


def test_tokens_with_too_few_occurrences_are_passed_over_and_one_is_not_enough():
    occurrences = text()
    counts = occurrences["rank"].value_counts()
    assert among_tokens(occurrences, 6, int(counts[4]), seed=1).n_tokens == 4
    with pytest.raises(UserError, match=r"1 tokens have the \d+ occurrences of .*\.occurrences; a"):
        among_tokens(occurrences, 6, int(counts[1]), seed=1)
    message = r"0 {} have the 3000 occurrences of .*\.within_occurrences; allowed: at least 2"
    with pytest.raises(UserError, match=message.format("tokens")):
        within_tokens(occurrences, 6, 3000, seed=1)
    with pytest.raises(UserError, match=message.format("ambiguous tokens")):
        within_ambiguous_tokens(occurrences, 6, 3000, seed=1)


def test_a_one_hot_view_of_the_token_shares_it_with_all_neighbors():
    occurrences = text()
    sample = among_tokens(occurrences, 4, 60, seed=1)
    shares = measure(np.eye(20)[occurrences["input_id"]], sample, k=50)["token"]
    assert shares.shape == (1, 240) and (shares == 1).all()


def test_a_random_view_gives_chance():
    occurrences = text()
    view = np.random.default_rng(1).normal(size=(len(occurrences), 8))
    for sample in (
        among_tokens(occurrences, 5, 150, 1),
        within_tokens(occurrences, 3, 300, 1),
        within_ambiguous_tokens(occurrences, 3, 300, 1),
    ):
        expected = chance(sample)
        for name, values in measure(view, sample, k=20).items():
            # Each occurrence has its 20 neighbors at random: were all values as uncertain as one
            # of them, the mean would be known to this.
            error = values.std() / np.sqrt(values.size)
            assert values.mean() == pytest.approx(expected[name], abs=5 * error), name


def test_chance_is_the_mean_over_pairs():
    samples = [draw(text(), 3, 40, 1) for draw in (within_tokens, within_ambiguous_tokens)]
    values_of = samples[0].values | samples[1].values
    found = chance(samples[0]) | chance(samples[1])
    assert list(found) == CONTEXT + CCG
    for name, values in values_of.items():
        apart = [
            abs(a - b) if name == "position" else a == b
            for of_token in values
            for i, a in enumerate(of_token)
            for j, b in enumerate(of_token)
            if i != j
        ]
        assert found[name] == pytest.approx(np.mean(apart), abs=1e-12)
    token = chance(among_tokens(text(), 5, 30, seed=1))["token"]
    assert token == pytest.approx(29 / 149, abs=1e-12)


def test_neighbors_are_compared_by_their_own_columns():
    # Three occurrences of each of two tokens in directions: of the first at 0, 10, 50 degrees, of
    # the second at 0, 40, 50. With k = 1 the neighbors are 1, 0, 1 and 1, 2, 1.
    degrees = np.deg2rad([0, 10, 50, 0, 40, 50])
    view = np.stack([np.cos(degrees), np.sin(degrees)], axis=1)
    occurrences = text(6).assign(
        input_id=[5, 5, 5, 6, 6, 6],
        rank=[1, 1, 1, 2, 2, 2],
        stands_for_word=True,
        position=[3, 7, 2, 0, 9, 4],
        left_id=[4, 4, 4, 4, 5, 5],
        right_id=[4, 5, 5, 7, 8, 9],
        ccg=list("ababab"),
        ccg_left=list("aabbba"),
        ccg_right=list("xyzxyz"),
    )
    expected = {
        "position": [4, 4, 5, 9, 5, 5],
        "left_token": [1, 1, 1, 0, 1, 1],
        "right_token": [0, 0, 1, 0, 0, 0],
        "ccg": [0, 0, 0, 0, 0, 0],
        "ccg_left": [1, 1, 0, 1, 0, 0],
        "ccg_right": [0, 0, 0, 0, 0, 0],
    }
    found = {}
    for sample in (
        within_tokens(occurrences, 2, 3, seed=1),
        within_ambiguous_tokens(occurrences, 2, 3, seed=1),
    ):
        order = sample.rows.ravel().argsort()
        of_sample = measure(view, sample, k=1)
        found |= {name: values.ravel()[order].tolist() for name, values in of_sample.items()}
    assert found == expected


def drawn(n=240, seed=0):
    """Occurrences of four tokens in 6 of 7 blocks; of one token most are in one block, and of
    another all."""
    generator = np.random.default_rng(seed)
    tokens = generator.permutation(np.repeat(np.arange(4), n // 4))
    blocks = generator.choice([0, 1, 2, 4, 5, 6], n)
    blocks[(tokens == 2) & (generator.random(n) < 0.8)] = 4
    blocks[tokens == 3] = 5
    view = np.eye(5)[tokens] + np.eye(7)[blocks, :5] + generator.normal(size=(n, 5))
    return view, tokens, blocks


def without(view, values, tokens, blocks, k, metric):
    """The mean without each block, by loops: how much a neighbor weighs is counted up to `k`."""
    distances = peer_distances(view, np.tile(np.arange(len(view)), (len(view), 1)), metric)
    for block in range(blocks.max() + 1):
        kept = np.flatnonzero(blocks != block)
        weight = {
            row: sum(tokens == tokens[row]) / sum(tokens[kept] == tokens[row]) for row in kept
        }
        total = 0
        for row in kept:
            room = k
            for other in kept[np.argsort(distances[row, kept])]:
                if other != row:
                    counted = min(weight[other], room)
                    total += weight[row] * counted * (values[other] == values[row]) / k
                    room -= counted
        yield total / sum(weight.values())


@pytest.mark.long
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("k", [1, 12, 40])
def test_a_block_is_left_out_of_queries_and_neighbors(k, metric):
    view, tokens, blocks = drawn()
    labels = np.random.default_rng(1).integers(3, size=len(view))
    values = {"token": tokens[None], "label": labels[None]}
    sample = Sample(np.arange(len(view))[None], values, tokens[None])
    rows = list(estimates(view, sample, blocks, k, metric=metric))
    assert [row["property"] for row in rows] == list(values)
    for row, of_property in zip(rows, (tokens, labels), strict=True):
        expected = list(without(view, of_property, tokens, blocks, k, metric))
        np.testing.assert_allclose(row["without"], expected, rtol=1e-5)
        assert row["without"][3] == row["value"]  # a block that holds nothing
        shared = measure(view, sample, k, metric=metric)[row["property"]]
        assert row["value"] == pytest.approx(shared.mean(), rel=1e-12)


def test_groups_count_alike_though_blocks_hold_more_of_one():
    # Two tokens, each in a group, on a line: of the first two thirds are in block 1.
    view = np.array([[0.0], [1], [3], [0], [1], [3]])
    positions = np.array([[0, 10, 30], [0, 100, 300]])
    blocks = np.array([0, 1, 1, 0, 2, 3])
    rows = np.arange(6).reshape(2, 3)
    sample = Sample(rows, {"position": positions}, np.array([[4] * 3, [5] * 3]))
    (found,) = estimates(view, sample, blocks, 1, metric="euclidean")
    assert found["value"] == pytest.approx((10 + 10 + 20 + 100 + 100 + 200) / 6)
    # Without block 0, 1 and 3 are left of each; without 1, one occurrence of the first token,
    # which has no neighbor; without 2, 0 and 3 of the second; without 3, 0 and 1.
    expected = [(20 + 200) / 2, 400 / 3, (40 / 3 + 300) / 2, (40 / 3 + 100) / 2]
    assert found["without"] == pytest.approx(expected)


def test_tokens_that_are_told_apart_are_so_without_any_block():
    view, tokens, blocks = drawn()
    sample = Sample(np.arange(len(view))[None], {"token": tokens[None]}, tokens[None])
    # 12 of the third token are in other blocks: 11 neighbors for one of them, but for weights.
    assert np.sum((tokens == 2) & (blocks != 4)) < 30
    (found,) = estimates(np.eye(4)[tokens], sample, blocks, 30)
    assert (found["without"] == 1).all() and 0.5 < found["ci_low"] < found["ci_high"] == 1


def test_one_block_has_no_interval():
    view, tokens, _ = drawn()
    sample = Sample(np.arange(len(view))[None], {"token": tokens[None]}, tokens[None])
    (found,) = estimates(view, sample, np.zeros(len(view), dtype=np.int8), 5)
    assert found["without"].tolist() == [found["value"]] and np.isnan(found["ci_low"])


@pytest.mark.long
def test_intervals_cover_the_mean_of_many_texts_as_often_as_they_say():
    """Documents have offsets of their own, and so neighbors of their own."""
    k, found = 10, []
    for text in range(150):
        generator = np.random.default_rng(text)
        documents = np.repeat(np.arange(64), generator.integers(2, 9, size=64))[:, None]
        documents = np.repeat(documents, 2, axis=1).ravel()  # sentences of two occurrences
        left = generator.integers(4, size=(64, 2))[
            documents, generator.integers(2, size=len(documents))
        ]
        offsets = generator.normal(size=(64, 4))[documents]
        view = np.eye(4)[left] + 0.5 * offsets + 0.5 * generator.normal(size=(len(left), 4))
        rows = np.arange(len(left))[None]
        sample = Sample(rows, {"left_token": left[None]}, np.zeros_like(rows))
        (row,) = estimates(view, sample, documents // 2, k)
        sentences = measure(view, sample, k)["left_token"].reshape(-1, 2).mean(1)
        by_sentences = 1.96 * sentences.std(ddof=1) / np.sqrt(len(sentences))
        found.append((row["value"], row["ci_high"] - row["value"], by_sentences))
    values, half_widths, by_sentences = np.transpose(found)
    apart = np.abs(values - values.mean())
    # 95 %, to 2.5 standard errors of a share in 150 texts.
    assert 0.905 <= np.mean(apart <= half_widths) <= 0.99
    assert np.mean(apart <= by_sentences) < 0.85


@pytest.fixture
def files(tmp_path):
    """Occurrences, annotations and views: one that shows the token, and one that shows nothing."""
    occurrences = text()
    occurrences = occurrences.rename(columns={"stands_for_word": "last_subword"})
    annotations = ["last_subword", "ccg", "ccg_left", "ccg_right", "ccg_source"]
    occurrences[annotations].to_parquet(tmp_path / "annotations.parquet")
    occurrences.drop(columns=annotations).to_parquet(tmp_path / "occurrences.parquet")
    noise = np.random.default_rng(0).normal(size=(len(occurrences), 16))
    layers = [np.eye(16)[occurrences["input_id"]], noise]
    np.save(tmp_path / "views.npy", np.stack(layers).astype(np.float16))
    return tmp_path


SETTINGS = {
    **{"k": 20, "tokens": 4, "occurrences": 50},
    **{"within_tokens": 3, "within_occurrences": 100, "seed": 1},
}


def run(measure, files, table, settings=SETTINGS):
    paths = {name: files / f"{name}.parquet" for name in ("occurrences", "annotations")}
    paths |= {"views": files / "views.npy", "table": files / table}
    measure("neighbors", {"objective": "lm", "seed": 2}, settings, **paths)


@pytest.mark.on_a_gpu("measure neighbors")
def test_the_program_tells_value_interval_and_chance_of_each_property(measure, files):
    run(measure, files, "table.csv")
    table = pd.read_csv(files / "table.csv")
    assert ",".join(table) == (
        "objective,seed,layer,property,metric,k,value,ci_low,ci_high,chance,n_occurrences,"
        "n_tokens,ccg_source"
    )
    assert table[["layer", "property", "metric"]].to_numpy().tolist() == [
        [layer, name, metric]
        for layer in range(2)
        for of_sample in [["token"], CONTEXT, CCG]
        for metric in METRICS
        for name in of_sample
    ]
    assert set(table["k"]) == {20}
    token = table["property"] == "token"
    assert (table["n_occurrences"] == np.where(token, 200, 300)).all()
    assert (table["n_tokens"] == np.where(token, 4, 3)).all()
    is_ccg = table["property"].str.startswith("ccg")
    assert ((table["ccg_source"] == "derived") == is_ccg).all()
    assert table["value"].between(table["ci_low"], table["ci_high"]).all()
    assert (table["ci_low"] < table["ci_high"]).all() and (table["ci_low"] >= 0).all()
    assert (table["ci_high"][table["property"] != "position"] <= 1).all()
    assert table.loc[token & (table["layer"] == 0), "value"].to_list() == [1, 1]
    assert table.loc[token & (table["layer"] == 1), "value"].to_list() == [
        pytest.approx(49 / 199, abs=0.05)
    ] * len(METRICS)
    # Within a token the first view is the same everywhere: neighbors are drawn by chance.
    first = table[(table["layer"] == 0) & ~token]
    assert first["value"].to_numpy() == pytest.approx(first["chance"].to_numpy(), rel=0.2)
    estimated = pd.read_parquet(files / "table.parquet")
    assert list(estimated.drop(columns="without")) == list(table)
    for row in estimated.itertuples():
        assert row.without.shape == (32,)
    run(measure, files, "again.csv")
    assert (files / "again.csv").read_bytes() == (files / "table.csv").read_bytes()
    of_words = pd.read_parquet(files / "annotations.parquet", columns=["last_subword"])
    of_words.to_parquet(files / "annotations.parquet")
    run(measure, files, "without_categories.csv")
    without = pd.read_csv(files / "without_categories.csv")
    others = table[~is_ccg].drop(columns="ccg_source").reset_index(drop=True)
    pd.testing.assert_frame_equal(without.drop(columns="ccg_source"), others)


def test_views_of_another_table_end_in_one_line(measure, files):
    np.save(files / "views.npy", np.load(files / "views.npy")[:, 1:])
    with pytest.raises(SystemExit) as ended:
        run(measure, files, "table.csv")
    assert "views.npy has 2999 rows; allowed: one for each of the 3000 rows" in ended.value.code
    assert not (files / "table.csv").exists()
