"""The structural probe: trees, what is read from predictions, the optimum, and planted trees."""

import logging

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.sparse.csgraph import minimum_spanning_tree, shortest_path
from scipy.stats import spearmanr

from bottomup import subjects
from bottomup.core.errors import UserError
from bottomup.corpus.tokens import NO_WORD, TokenFile
from bottomup.measures import structural_probe as probe
from bottomup.subjects.batches import states
from bottomup.subjects.seen import Seen
from bottomup.subjects.words import held_out, stands_for_word
from tests import tiny
from tests.subjects import families

COUNT = 8
# The big cat eats fish.
HEADS = [2, 2, 3, 3, 3, 3]
DISTANCES = [
    [0, 2, 1, 2, 3, 3],
    [2, 0, 1, 2, 3, 3],
    [1, 1, 0, 1, 2, 2],
    [2, 2, 1, 0, 1, 1],
    [3, 3, 2, 1, 0, 2],
    [3, 3, 2, 1, 2, 0],
]
DEPTHS = [2, 2, 1, 0, 1, 1]


def random_heads(rng, length):
    """A tree drawn at random: each word but the root depends on one that was there before it."""
    order = rng.permutation(length)
    heads = np.empty(length, dtype=int)
    heads[order[0]] = order[0]
    for place in range(1, length):
        heads[order[place]] = order[rng.integers(place)]
    return heads


def annotated(all_heads, punctuation=()):
    """An annotation; punctuation: places in each sentence, unless a root is
    there."""
    rows = [
        {"sentence": number, "word": word, "head": head}
        | {"relation": "punct" if word in punctuation and head != word else "dep"}
        for number, heads in enumerate(all_heads)
        for word, head in enumerate(heads)
    ]
    return pd.DataFrame(rows)


def paths(heads):
    """Vectors whose squared distances are those in the tree: each edge is an axis of its own."""
    found = np.zeros((len(heads), len(heads)))
    for word in range(len(heads)):
        above = word
        while heads[above] != above:
            found[word, above] = 1
            above = heads[above]
    return found


@pytest.fixture(scope="module")
def text():
    """Sentences of 5 to 9 words of eight blocks, the first half to train: annotation, the trees of
    both, and vectors that hold them."""
    rng = np.random.default_rng(0)
    all_heads = [random_heads(rng, rng.integers(5, 10)) for _ in range(240)]
    annotation, blocks = annotated(all_heads, punctuation=[4]), np.arange(240) // 30
    to_train = probe.trees(annotation, np.arange(120), blocks)
    first = sum(one.rows.size for one in to_train)
    to_test = probe.trees(annotation, np.arange(120, 240), blocks, first)
    vectors = np.concatenate(
        [np.pad(paths(heads), ((0, 0), (0, 9 - len(heads)))) for heads in all_heads]
    )
    return annotation, blocks, to_train, to_test, vectors


def values(views, text, column="value"):
    """By metric and layer."""
    _, _, to_train, to_test, _ = text
    rows = pd.DataFrame(probe.structural_probe(views, to_train, to_test, COUNT, 1, "cpu"))
    return rows.pivot(index="metric", columns="layer", values=column)


def test_edges_of_a_tree_by_hand():
    distances, depths, edges = probe.in_edges(np.array([HEADS]))
    np.testing.assert_array_equal(distances[0], DISTANCES)
    np.testing.assert_array_equal(depths[0], DEPTHS)
    np.testing.assert_array_equal(edges[0], np.array(DISTANCES) == 1)


def test_edges_of_trees_are_the_shortest_paths_of_a_graph():
    rng = np.random.default_rng(1)
    heads = np.stack([random_heads(rng, 12) for _ in range(9)])
    distances, depths, _ = probe.in_edges(heads)
    for of, found, depth in zip(heads, distances, depths, strict=True):
        graph = np.zeros((12, 12))
        graph[np.arange(12), of] = of != np.arange(12)
        expected = shortest_path(graph, directed=False, unweighted=True)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(depth, expected[np.flatnonzero(of == np.arange(12))[0]])


def test_trees_have_the_words_of_their_sentences_in_a_view_and_no_edge_to_punctuation():
    annotation = annotated([HEADS, [0, 0, 0, 0, 0], HEADS[::-1]], punctuation=[4])
    blocks = np.array([3, 1, 2])
    five, six = probe.trees(annotation, np.array([2, 1, 0]), blocks, first=100)
    np.testing.assert_array_equal(five.rows, [106 + np.arange(5)])
    np.testing.assert_array_equal(six.rows, [100 + np.arange(6), 111 + np.arange(6)])
    assert five.blocks.tolist() == [1] and six.blocks.tolist() == [2, 3]
    np.testing.assert_array_equal(six.distances[1], DISTANCES)
    np.testing.assert_array_equal(six.counted[1], [True, True, True, True, False, True])
    found = {tuple(sorted(pair)) for pair in np.argwhere(six.edges[1])}
    assert found == {(0, 2), (1, 2), (2, 3), (3, 5)}
    assert np.argwhere(five.edges[0]).tolist() == [[0, n] for n in (1, 2, 3)] + [
        [n, 0] for n in (1, 2, 3)
    ]


def test_spanning_trees_are_those_of_scipy_among_words_that_count():
    rng = np.random.default_rng(2)
    distances = rng.uniform(0.1, 1, (20, 11, 11))
    distances += distances.swapaxes(1, 2)
    counted = rng.random((20, 11)) < 0.7
    counted[0], counted[1] = False, np.arange(11) == 4  # nothing to join
    for of, told, found in zip(
        distances, counted, probe.spanning_trees(distances, counted), strict=True
    ):
        kept = np.flatnonzero(told)
        expected = np.zeros((11, 11), dtype=bool)
        if len(kept) > 1:
            tree = minimum_spanning_tree(of[np.ix_(kept, kept)] * (1 - np.eye(len(kept))))
            expected[np.ix_(kept, kept)] = (tree.toarray() > 0) | (tree.toarray() > 0).T
        np.testing.assert_array_equal(found, expected)


def test_correlations_are_those_of_scipy_with_ties():
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 5, (2, 4, 7, 9))
    found = probe.correlations(x, y)
    assert found.shape == (4, 7)
    for place in np.ndindex(4, 7):
        assert found[place] == pytest.approx(spearmanr(x[place], y[place]).statistic)
    assert probe.correlations(np.ones(4), np.arange(4)) == 0, "a constant says nothing"


def test_what_is_read_from_predictions_by_hand():
    """One sentence of five words, two of six; the last word is punctuation in all."""
    star, line = [0, 0, 0, 0, 0], [0, 0, 1, 2, 3, 4]
    annotation = annotated([star, line, HEADS])
    annotation.loc[annotation.groupby("sentence")["word"].idxmax(), "relation"] = "punct"
    told = probe.trees(annotation, np.arange(3), np.array([0, 1, 2]))
    apart = [np.abs(np.subtract.outer(np.arange(n), np.arange(n)))[None] for n in (5, 6)]
    distances = [apart[0], np.concatenate([apart[1], apart[1]])]
    depths = [np.array([[4, 1, 2, 3, 0]]), np.array([[0, 1, 2, 3, 4, 5], [1, 1, 1, 0, 1, -1]])]
    found = probe.measured(distances, depths, told, 3)
    # Star: 0-1 of three edges; line: all four; cat: 1-2, 2-3 and 3-4 of four.
    np.testing.assert_allclose(found["uuas"], [8 / 11, 7 / 8, 4 / 7, 5 / 7])
    # Punctuation may be higher than the root.
    np.testing.assert_allclose(found["root_accuracy"], [2 / 3, 1, 1 / 2, 1 / 2])
    of = [spearmanr(*pair).statistic for pair in (([4, 1, 2, 3, 0], [0, 1, 1, 1, 1]),)]
    of += [1, spearmanr([1, 1, 1, 0, 1, -1], DEPTHS).statistic]
    without = [(of[1] + of[2]) / 2, (of[0] + of[2]) / 2, (of[0] + of[1]) / 2]
    expected = [(of[0] + (of[1] + of[2]) / 2) / 2, *without]  # over lengths, not sentences
    np.testing.assert_allclose(found["depth_spearman"], expected)
    of_words = [spearmanr(a, b).statistic for a, b in zip(apart[1][0], DISTANCES, strict=True)]
    line_less_star = found["distance_spearman"][1]
    assert line_less_star == pytest.approx((1 + np.mean(of_words)) / 2)


def test_a_chain_is_right_of_chains_and_roots_are_first(text):
    chains = annotated([[0, 0, 1, 2, 3, 4], [0, 0, 1, 2, 3]])
    found = probe.chain(probe.trees(chains, np.arange(2), np.array([0, 1])), 2)
    assert found == pytest.approx(dict.fromkeys(probe.METRICS, 1.0))
    star = annotated([[2, 2, 2, 2, 2]] * 2)
    found = probe.chain(probe.trees(star, np.arange(2), np.array([0, 1])), 2)
    assert found["uuas"] == 0.5 and found["root_accuracy"] == 0


def test_permuted_trees_are_those_of_others_of_the_same_length():
    """Two sentences of five words have each other's tree; the one of six has no control."""
    all_heads = [[0, 0, 0, 0, 0], [0, 0, 1, 2, 3], [0, 0, 1, 2, 3, 4]]
    told = probe.trees(annotated(all_heads), np.arange(3), np.arange(3))
    assert len(told) == 2 and probe.with_others(told) == told[:1]
    found = probe.permuted(told[:1], 3, seed=1)
    assert found["root_accuracy"] == 1 and found["uuas"] == pytest.approx((1 + 1) / 8)
    expected = spearmanr([0, 1, 1, 1, 1], [0, 1, 2, 3, 4]).statistic
    assert found["depth_spearman"] == pytest.approx(expected)


def test_values_are_of_the_sentences_that_have_a_control(text):
    _, blocks, to_train, to_test, vectors = text
    lone = probe.trees(annotated([[0] * 49]), np.arange(1), blocks[:1])
    usual, same = (
        pd.DataFrame(probe.structural_probe(vectors[None], to_train, told, COUNT, 1))
        for told in (to_test, [*to_test, *lone])
    )
    pd.testing.assert_frame_equal(usual, same)


def test_of_equally_near_words_the_order_of_the_sentence_takes_none():
    """Where all words are equally near, no chain of neighbors and no star of the first comes out;
    where all are equally low, the root is not the first."""
    n = 31
    equal, counted = np.ones((1, n, n)), np.full((1, n), True)
    rows, columns = np.nonzero(probe.spanning_trees(equal, counted)[0])
    assert len(rows) == 2 * (n - 1)
    assert ((rows == 0) | (columns == 0)).sum() < n and (abs(rows - columns) == 1).sum() < n
    told = probe.trees(annotated([[0] * n] * 2), np.arange(2), np.arange(2))
    found = probe.measured([np.ones((2, n, n))], [np.ones((2, n))], told, 2)
    assert found["root_accuracy"][0] == 0


def slope_in_m(b, view, rows, told, of_pairs):
    """The slope of the loss by M, pair by pair in float64: the optimum's own conditions."""
    m, slope = b.T @ b, probe.PENALTY * np.eye(len(b))
    for some, right in zip(rows, told, strict=True):
        for words, values in zip(view[some], right, strict=True):
            ends = (words[:, None] - words[None, :]) if of_pairs else words
            ends, values = ends.reshape(-1, len(b)), values.ravel()
            wrong = np.einsum("ni,ij,nj->n", ends, m, ends) - values
            steep = np.clip(wrong / probe.SMOOTH, -1, 1) / len(values)
            slope += np.einsum("n,ni,nj->ij", steep, ends, ends)
    return m, slope


@pytest.mark.parametrize("told", ["distances", "depths"])
def test_two_starts_reach_one_optimum_whose_conditions_hold(text, monkeypatch, told):
    """A convex problem over M >= 0: the slope is nowhere negative, and 0 where M is not."""
    monkeypatch.setattr(probe, "SLOPE", 1e-6)
    monkeypatch.setattr(probe, "MAX_STEPS", 3000)
    _, _, to_train, _, vectors = text
    rng = np.random.default_rng(4)
    view = np.hstack([vectors @ rng.normal(size=(9, 9)), rng.normal(size=(len(vectors), 4))])
    rows, right = [one.rows for one in to_train], [getattr(one, told) for one in to_train]
    predicted = probe.squared_distances if told == "distances" else probe.squared_lengths
    given = [torch.tensor(some) for some in rows], [torch.tensor(some) for some in right]
    maps = [
        probe.fit(torch.tensor(view), *given, predicted, start).numpy()
        for start in (None, torch.tensor(rng.normal(size=(13, 13))))
    ]
    m, slope = slope_in_m(maps[0], view, rows, right, told == "distances")
    np.testing.assert_allclose(maps[1].T @ maps[1], m, atol=2e-3 * np.abs(m).max())
    assert np.abs(maps[0] - maps[1]).max() > 0.1, "though the maps are not the same"
    size = np.abs(np.linalg.eigvalsh(slope)).max()
    assert np.linalg.eigvalsh(slope).min() > -1e-3 * size
    assert np.abs(m @ slope).max() < 1e-3 * size * np.abs(m).max()


def test_planted_trees_are_found_among_louder_neurons_and_whatever_the_mean(text, monkeypatch):
    monkeypatch.setattr(probe, "PENALTY", 0.3)  # as for a text of many sentences
    vectors, rng = text[-1], np.random.default_rng(5)
    noise = rng.normal(0, 9, (len(vectors), 6))
    planted = np.hstack([vectors @ rng.normal(size=(9, 9)), noise])
    found = values(np.stack([planted, planted + 50]).astype(np.float32), text)
    assert (found.loc[["uuas", "root_accuracy"]] > 0.97).all(axis=None)
    # Rounding parts equal distances.
    assert (found.loc[["distance_spearman", "depth_spearman"]] > 0.9).all(axis=None)
    assert (found.loc["rank"] <= 9).all(), "there are nine axes of edges"
    np.testing.assert_allclose(found[0], found[1], atol=0.02)


def test_vectors_that_know_nothing_are_near_chance(text):
    """Words drawn alike: a tree of n words has any pair with probability 2 / n, a root any word."""
    _, _, _, to_test, vectors = text
    noise = np.random.default_rng(6).normal(size=(1, len(vectors), 12))
    found = values(noise, text)[0]
    counted = np.concatenate([one.counted.sum(1) for one in to_test])
    edges = np.concatenate([one.edges.sum((1, 2)) // 2 for one in to_test])
    assert found["uuas"] == pytest.approx((edges * 2 / counted).sum() / edges.sum(), abs=0.08)
    assert found["root_accuracy"] < 0.3 and abs(found["depth_spearman"]) < 0.15


def test_a_layer_that_is_the_same_everywhere_has_no_tree_and_no_error(text):
    found = values(np.ones((1, len(text[-1]), 6), dtype=np.float32), text)[0]
    assert found["depth_spearman"] == found["distance_spearman"] == 0
    assert found["rank"] == 1


def test_without_a_block_the_sentences_of_the_others_count(text, monkeypatch):
    monkeypatch.setattr(probe, "NEEDED", 50)
    annotation, blocks, to_train, _, vectors = text
    first = sum(one.rows.size for one in to_train)
    views = np.random.default_rng(7).normal(vectors, 0.7)[None]
    without = values(views, text, "without")[0]
    whole, low, high = (values(views, text, name)[0] for name in ("value", "ci_low", "ci_high"))
    others = np.array([n for n in range(120, 240) if blocks[n] != 6])
    starts = np.searchsorted(annotation["sentence"], [120, 180, 210])
    kept = np.delete(views, np.s_[starts[1] : starts[2]], axis=1)
    rest = (*text[:3], probe.trees(annotation, others, blocks, first), vectors)
    for metric, value in values(kept, rest)[0].items():
        if metric == "rank":
            assert without[metric] is None
            continue
        assert without[metric][6] == pytest.approx(value, abs=1e-3)
        assert without[metric][:4] == pytest.approx([whole[metric]] * 4), "these trained"
        assert low[metric] < whole[metric] < high[metric]


def test_the_effective_rank_counts_axes_until_the_edges_are_there():
    told = probe.trees(annotated([[0, 0, 1, 2, 3]] * 2), np.arange(2), np.arange(2))
    line, nothing = np.arange(5.0), np.zeros(5)
    for axes, expected in (
        ([line, nothing, nothing], 1),
        ([nothing, nothing, line], 3),
        ([line[[0, 2, 4, 1, 3]], 9 * line, nothing], 2),
    ):
        words = [np.tile(np.stack(axes, axis=1), (2, 1, 1))]
        assert probe.effective_rank(words, told, whole=8) == expected


def test_few_sentences_have_no_value_and_say_how_many_there_are(text):
    annotation, blocks, to_train, to_test, vectors = text
    few = probe.trees(annotation, np.arange(probe.NEEDED - 1), blocks)
    for parts in ((few, to_test), (to_train, few), ([], [])):
        rows = pd.DataFrame(probe.structural_probe(vectors[None], *parts, COUNT, 1))
        assert rows["metric"].tolist() == [*probe.METRICS, "rank"]
        assert rows[["value", "ci_low", "chain", "permuted"]].isna().all(axis=None)
        assert (rows["n"] == (99 if parts[0] or parts[1] else 0)).all()
        assert (rows["n_needed"] == 100).all()


def test_sentences_are_drawn_from_other_documents_with_one_root_and_a_fitting_length():
    rng = np.random.default_rng(8)
    lengths = rng.integers(2, 60, 900)
    all_heads = [random_heads(rng, length) for length in lengths]
    for number in range(0, 900, 7):
        all_heads[number][:2] = 0, 1  # two roots or more
    annotation, blocks = annotated(all_heads), rng.integers(0, 20, 900)
    roots = np.array([(heads == np.arange(len(heads))).sum() for heads in all_heads])
    train, test = probe.drawn(annotation, blocks, 100, seed=1)
    assert len(train) == len(test) == len({*train}) == len({*test}) == 100
    assert not {*blocks[train]} & {*blocks[test]}
    drawn = np.concatenate([train, test])
    assert lengths[drawn].min() >= 5 and lengths[drawn].max() <= 50
    assert (roots[drawn] == 1).all()
    everything = np.concatenate(probe.drawn(annotation, blocks, 10_000, seed=1))
    assert {*everything} == {*np.flatnonzero((lengths >= 5) & (lengths <= 50) & (roots == 1))}
    np.testing.assert_array_equal(probe.drawn(annotation, blocks, 100, seed=1)[0], train)
    assert {*probe.drawn(annotation, blocks, 100, seed=2)[0]} != {*train}


@pytest.mark.parametrize("objective", ["lm", "lm_backward"])
def test_what_stands_for_a_word_has_read_all_of_it(objective):
    subject = subjects.runs.Run(tiny.drawn(objective, vocab=20), None)

    def of_second_word(*word):
        ids = np.array([5, 6, *word, 9, 10, 1], dtype=np.int32)
        words = np.array([0, 0, 1, 1, 2, 2, NO_WORD], dtype=np.int32)
        text = TokenFile(ids, words, np.array([0, 7]))
        stands = stands_for_word(text, subject.backward)
        return states(subject, text, stands, 100)[-1][1]

    usual = of_second_word(7, 8)
    assert not np.allclose(of_second_word(11, 8), usual)
    assert not np.allclose(of_second_word(7, 11), usual)


def test_the_subword_that_stands_for_each_word_and_sentences_of_which_a_word_is_missing():
    words = np.array([NO_WORD, 0, 0, 1, NO_WORD, 0, 2, 2, 0, 0, NO_WORD], dtype=np.int32)
    tokens = TokenFile(words, words, np.array([0, 5, 8, 9, 11]))
    ends = [False, False, True, True, False, True, False, True, True, True, False]
    np.testing.assert_array_equal(stands_for_word(tokens, False), ends)
    begins = [False, True, False, True, False, True, True, False, True, True, False]
    np.testing.assert_array_equal(stands_for_word(tokens, True), begins)
    annotation = pd.DataFrame({"sentence": np.repeat([3, 5, 6, 7], [2, 3, 1, 1])})
    whole = probe.read_whole(tokens, annotation, np.array([3, 5, 7, 6]))
    assert whole.tolist() == [True, False, True, True]


def of_a_run(corpus_files, folder, heads_of):
    """The files of a run and of the split test, its tokens, and an annotation of it in which the
    `heads_of` n words of a sentence are known."""
    tokens = TokenFile.load(corpus_files.tokens / "test.source")
    found = [np.unique(words[words != NO_WORD]) for words in np.split(tokens.words, tokens.offsets)]
    annotation = annotated([heads_of(len(words)) for words in found[1:-1]])
    np.save(folder / "blocks.npy", (np.arange(30) % 6).astype(np.int8))
    files = {
        "model": corpus_files.save(tiny.drawn, "lm", folder / "model"),
        "text": corpus_files.tokens / "test.source",
        "annotation": folder / "annotation.parquet",
        "blocks": folder / "blocks.npy",
    }
    return files, tokens, annotation


def to_the_left(n):
    """The heads of words of which each depends on the one before."""
    return np.maximum(np.arange(n) - 1, 0)


@pytest.fixture
def run_files(corpus_files, tmp_path):
    """A run, and an annotation of the test split in which all words depend on the first."""
    files, _, annotation = of_a_run(corpus_files, tmp_path, lambda n: np.zeros(n, dtype=int))
    annotation.to_parquet(files["annotation"])
    return files


def test_states_of_words_do_not_depend_on_the_sentences_beside_them(run_files):
    subject, text = subjects.load(run_files["model"]), TokenFile.load(run_files["text"])
    ends = stands_for_word(text, False)
    found = states(subject, text, ends, 40)
    assert found.shape == (3, ends.sum(), tiny.SHAPE["d_model"]) and not ends.all()
    row = 0
    for number in range(len(text)):
        layers = subject.hidden_states(torch.tensor(text.sentence(number)[None].astype(np.int64)))
        last = np.flatnonzero(ends[text.offsets[number] : text.offsets[number + 1]])
        for view, layer in zip(found, layers, strict=True):
            np.testing.assert_allclose(
                view[row : row + len(last)], layer[0, last].numpy(), rtol=1e-4, atol=1e-5
            )
        row += len(last)
    assert row == found.shape[1]
    nothing = text.select(np.array([], dtype=int))
    assert states(subject, nothing, ends[:0], 40).shape == (3, 0, tiny.SHAPE["d_model"])


@pytest.mark.on_a_gpu("measure structural_probe")
@pytest.mark.parametrize("needed", [3, 100])
def test_the_program_measures_a_run(measure, run_files, tmp_path, monkeypatch, needed):
    """The root is the first word of each sentence, which positions tell."""
    monkeypatch.setattr(probe, "NEEDED", needed)
    monkeypatch.setattr(probe, "PENALTY", 0.1)
    run, options = {"objective": "lm", "seed": 1}, {"sentences": 100, "seed": 1}
    run_files["table"] = tmp_path / "lm-1.csv"
    measure("structural_probe", run, options, **run_files, batch_tokens=40)
    table = pd.read_csv(run_files["table"])
    assert list(table) == [
        *("objective", "seed", "layer", "metric", "value", "ci_low", "ci_high"),
        *("chain", "permuted", "n", "n_needed"),
    ]
    assert len(table) == 3 * 5
    assert (table["n_needed"] == needed).all() and table["n"].between(5, 15).all()
    assert table["value"].isna().all() == (needed == 100)
    if needed == 3:
        of_depth = table.set_index("metric").loc["root_accuracy"]
        assert (of_depth["chain"] == 1).all() and (of_depth["value"] > 0.4).all(), "of 1 in 6"


def test_blocks_of_another_text(run_files, tmp_path):
    np.save(run_files["blocks"], np.zeros(29, dtype=np.int8))
    files = {
        name: [path] for name, path in (run_files | {"blocks": tmp_path / "blocks.npy"}).items()
    }
    files["text"] = [run_files["text"] / "ids.npy"]
    with pytest.raises(UserError, match="29"):
        held_out(Seen({}, None, tmp_path, files), np.arange(3))


def test_a_checkpoint_reads_the_same_sentences_but_those_that_it_cuts(
    measure, tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr(probe, "NEEDED", 3)
    texts = ["w3 w4 w5 w6 w7", "w6 w7 w8 w9 w3 w4"] * 6 + [" ".join(["w3"] * 30)]
    tiny.written(tmp_path, texts)
    annotated([[0] * len(text.split()) for text in texts]).to_parquet(
        tmp_path / "annotation.parquet"
    )
    np.save(tmp_path / "blocks.npy", (np.arange(13) % 4).astype(np.int8))
    folder = families.save(families.FAMILIES["bert"], tmp_path / "model")
    with caplog.at_level(logging.INFO):
        measure(
            "structural_probe",
            {"objective": "bert", "seed": 0},
            {"sentences": 100, "seed": 1},
            model=folder,
            text=tmp_path / "test.parquet",
            blocks=tmp_path / "blocks.npy",
            annotation=tmp_path / "annotation.parquet",
            written=[tmp_path / "test.parquet", tmp_path / "words.json"],
            table=tmp_path / "table.csv",
            batch_tokens=40,
        )
    assert "12 of 13 sentences are read word by word" in caplog.text
    table = pd.read_csv(tmp_path / "table.csv")
    assert len(table) == (families.LAYERS + 1) * 5 and table["n"].between(6, 7).all()
    shares = table[table["metric"].isin(["uuas", "root_accuracy"])]
    assert shares["value"].between(0, 1).all()
