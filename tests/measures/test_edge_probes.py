"""Edge probes: pairs and phrases of trees by hand, labels planted at a layer, what tags tell."""

import numpy as np
import pandas as pd
import pytest

from bottomup.measures import edge_probes as probe
from bottomup.measures import probes
from bottomup.subjects.words import stands_for_word
from tests.measures.test_structural_probe import annotated, of_a_run, random_heads, to_the_left

COUNT = 6
# I saw the man with a hat ,
HEADS = [1, 1, 3, 1, 3, 6, 4, 5]
TAGS = ["PRP", "VBD", "DT", "NN", "IN", "DT", "NN", ","]
WORDS = ["I", "saw", "the", "man", "with", "a", "hat", ","]


def of_sentences(all_heads, punctuation=(), **columns):
    """The words of as many sentences to train as to test, of blocks of their own."""
    annotation = annotated(all_heads, punctuation).assign(text="w", tag="NN")
    half, n = len(all_heads) // 2, len(all_heads)
    words = probe.words_of(
        annotation, np.arange(half), np.arange(half, n), np.arange(n) * COUNT // n
    )
    return words.assign(**columns)


def measured(views, words):
    """By task and metric, and by layer, of which the expected one is none."""
    rows = pd.DataFrame(probe.edge_probes(views, words, COUNT, 1, "cpu"))
    return rows.set_index(["task", "metric", "layer"]).sort_index()


def by_layer(found, task, metric="accuracy"):
    return found.loc[(task, metric), "value"].to_numpy()


@pytest.fixture
def sentence():
    """One sentence, twice: to train and to test on."""
    return of_sentences([HEADS] * 2, punctuation=[7], tag=TAGS * 2, text=WORDS * 2)


def test_words_are_in_the_order_of_a_view_with_heads_there():
    annotation = annotated([[0, 0], [1, 1, 1], HEADS, [1, 1]]).assign(tag="NN", text="w")
    train, test = np.array([3, 0, 1]), np.array([2])
    found = probe.words_of(annotation, train, test, np.array([4, 1, 0, 2]))
    assert found["sentence"].tolist() == [3] * 2 + [0] * 2 + [1] * 3 + [2] * 8
    assert found["head"].tolist() == [1, 1, 2, 2, 5, 5, 5, *(7 + np.array(HEADS))]
    assert found["block"].tolist() == [2] * 2 + [4] * 2 + [1] * 3 + [0] * 8
    # A fifth of the three sentences to train, the last one, chooses the penalty.
    assert found["part"].tolist() == [0] * 4 + [1] * 3 + [2] * 8


def test_arcs_are_those_between_words(sentence):
    of_one = [[0, 1], [2, 3], [3, 1], [4, 3], [5, 6], [6, 4]]
    expected = np.concatenate([of_one, np.array(of_one) + 8])
    np.testing.assert_array_equal(probe.arcs(sentence), expected)
    under_punctuation = of_sentences([[1, 2, 2, 1]], punctuation=[1])
    assert probe.arcs(under_punctuation).tolist() == [], "nor to what depends on punctuation"


def test_pairs_by_hand(sentence):
    """Of distance 1 there are arcs 0-1, 2-3, 3-4 and 5-6, and two other pairs; of distance 2, arcs
    1-3 and 4-6, and three others."""
    pairs, is_arc = probe.arcs_and_others(sentence, probe.arcs(sentence), seed=1)
    first = pairs[:, 0] < 8
    assert ((pairs[:, 1] < 8) == first).all(), "of one sentence"
    others = {tuple(pair) for pair in pairs[first & ~is_arc].tolist()}
    arcs = {tuple(pair) for pair in pairs[first & is_arc].tolist()}
    assert len(others) == len(arcs) == 4 and first.sum() == 8
    assert arcs < {(0, 1), (2, 3), (3, 4), (5, 6), (1, 3), (4, 6)} and {(1, 3), (4, 6)} < arcs
    assert {(1, 2), (4, 5)} < others < {(1, 2), (4, 5), (0, 2), (2, 4), (3, 5)}


def test_as_many_pairs_have_an_arc_as_have_none_at_each_distance_of_each_sentence():
    rng = np.random.default_rng(0)
    all_heads = [random_heads(rng, rng.integers(3, 15)) for _ in range(40)]
    words = of_sentences(all_heads, punctuation=[1])
    found = probe.arcs(words)
    pairs, is_arc = probe.arcs_and_others(words, found, seed=1)
    in_order = {tuple(sorted(pair)) for pair in found.tolist()}
    told = [tuple(pair) in in_order for pair in pairs.tolist()]
    assert is_arc.tolist() == told and 0 < sum(told) < len(told)
    assert len({*map(tuple, pairs.tolist())}) == len(pairs), "no pair twice"
    assert (words["relation"].to_numpy()[pairs] != "punct").all()
    sentences = words["sentence"].to_numpy()[pairs]
    assert (sentences[:, 0] == sentences[:, 1]).all()
    table = pd.DataFrame({"sentence": sentences[:, 0], "apart": np.diff(pairs)[:, 0]})
    assert (table.assign(arc=is_arc).groupby(["sentence", "apart"])["arc"].mean() == 0.5).all()
    again, _ = probe.arcs_and_others(words, found, seed=1)
    other, _ = probe.arcs_and_others(words, found, seed=2)
    np.testing.assert_array_equal(again, pairs)
    assert {*map(tuple, other.tolist())} != {*map(tuple, pairs.tolist())}


def test_phrases_by_hand(sentence):
    """with a hat: an IN, in the phrase of man, in that of saw. A comma makes no phrase of a."""
    rows, labels = probe.phrases(sentence, probe.arcs(sentence))
    assert rows.tolist() == [[4], [5], [6], [12], [13], [14]]
    of_one = [["IN", "NN", "VB"], ["NN", "IN", "NN"], ["NN", "IN", "NN"]]
    assert labels.tolist() == of_one * 2


def test_a_tag_of_no_class_is_a_category_of_its_own(sentence):
    words = sentence.assign(tag=[tag.replace("IN", "XX") for tag in sentence["tag"]])
    assert probe.phrases(words, probe.arcs(words))[1][0].tolist() == ["XX", "NN", "VB"]


def test_what_both_words_say_together_has_one_number():
    values = pd.Series(["the", "cat", "the", "cat", "sat"])
    rows = np.array([[0, 1], [2, 3], [1, 0], [4, 4], [0, 3]])
    found = probe.joint(values, rows)
    assert found[0] == found[1] == found[4] and len({*found[[0, 2, 3]]}) == 3
    assert len({*probe.joint(values, rows[:, :1])}) == 3


def test_the_most_frequent_label_of_a_key_by_hand():
    labels = np.array(list("aabbbbba" + "a" + "aaabb"))
    keys = np.array([*(0, 0, 0, 1, 1, 1, 2, 2), 0, *(0, 0, 1, 2, 3)])
    parts = [np.arange(8), np.array([8]), np.arange(9, 14)]
    # Key 0 has a, 1 has b; of 2, which has both, and of 3, which is new, the most frequent is b.
    right = [True, True, False, True, True]
    assert probe.of_most_frequent(labels, keys, parts) == np.mean(right)


def test_deeper_labels_planted_in_deeper_layers_are_found_there():
    """Layer 1 has the parent, layer 2 also the grandparent, layer 3 all."""
    rng = np.random.default_rng(1)
    words = of_sentences([random_heads(rng, 10) for _ in range(120)])
    words["tag"] = rng.choice(["NN", "VB", "IN"], len(words))
    rows, labels = probe.phrases(words, probe.arcs(words))
    views = rng.normal(0, 0.1, (4, len(words), 9))
    for level in range(3):
        axes = rng.normal(size=(3, 9))[np.unique(labels[:, level], return_inverse=True)[1]]
        views[level + 1 :, rows[:, 0]] += axes
    found = measured(views, words)
    for level, name in enumerate(probe.CONSTITUENTS):
        accuracy = by_layer(found, name)
        assert (accuracy[level + 1 :] > 0.9).all() and (accuracy[: level + 1] < 0.55).all()
        expected = found.loc[(name, "expected_layer")].iloc[0]
        assert expected["value"] == pytest.approx(level + 1, abs=0.1)
    of_parent = found.loc[("parent", "accuracy")]
    assert (of_parent["by_tags"] > 0.6).all(), "that of a word with dependents is its own tag"
    assert found.loc["great_grandparent", "by_tags"].max() < 0.55
    assert of_parent["baseline"].between(0.25, 0.45).all()


def test_a_relation_of_which_each_word_tells_a_half():
    """Layer 0 has the half that the dependent tells, layer 1 that of the head, layer 2 both, and
    layer 3 nothing."""
    rng = np.random.default_rng(2)
    words = of_sentences([random_heads(rng, 9) for _ in range(60)])
    below, above = rng.integers(2, size=(2, len(words)))
    words["relation"] = [f"{a}{b}" for a, b in zip(below, above[words["head"]], strict=True)]
    nothing = rng.normal(0, 0.1, (len(words), 2))
    views = [np.stack([below, nothing[:, 0]], 1), np.stack([nothing[:, 0], above], 1)]
    found = measured([*views, np.stack([below, above], 1), nothing], words)
    accuracy = by_layer(found, "relation")
    assert (accuracy[:2] < 0.62).all() and accuracy[2] == 1 and accuracy[3] < 0.4
    assert found.loc[("relation", "expected_layer"), "value"].iloc[0] == pytest.approx(2, abs=0.1)
    selectivity = accuracy - by_layer(found, "relation", "control_accuracy")
    np.testing.assert_allclose(by_layer(found, "relation", "selectivity"), selectivity)


def test_arcs_are_found_where_heads_stand_out_and_by_distance_alone_are_not():
    """All words of a sentence depend on one; a view of places tells distances."""
    rng = np.random.default_rng(3)
    words = of_sentences([[rng.integers(8)] * 8 for _ in range(120)])
    rows = np.arange(len(words))
    is_head = np.stack([words["head"] == rows, words["head"] != rows], 1).astype(float)
    places = np.eye(8)[words["word"]]
    views = [np.pad(is_head, ((0, 0), (0, 6))), places, rng.normal(size=(len(words), 8))]
    found = measured(views, words)
    heads, by_place, by_chance = by_layer(found, "arc")
    assert heads == 1 and by_place == pytest.approx(0.5, abs=0.05)
    assert by_chance == pytest.approx(0.5, abs=0.05)
    assert (found.loc[("arc", "accuracy"), "baseline"] == 0.5).all()
    expected = found.loc[("arc", "expected_layer")].iloc[0]
    assert np.isnan(expected["value"]), "no layer is above layer 0"


def test_labels_drawn_for_each_word_are_learned_where_words_are_seen():
    rng = np.random.default_rng(4)
    words = of_sentences([random_heads(rng, 10) for _ in range(80)])
    types = rng.integers(6, size=len(words))
    words = words.assign(text=[f"{rng.choice(['The', 'the'])}{n}" for n in types])
    words["tag"] = rng.choice(["NN", "VB", "IN"], len(words))
    found = measured([np.eye(6)[types]], words)
    assert (found.loc[("grandparent", "control_accuracy"), "value"] == 1).all()
    assert found.loc[("grandparent", "accuracy"), "value"].max() < 0.55


def test_intervals_are_over_the_documents_tested():
    rng = np.random.default_rng(5)
    words = of_sentences([random_heads(rng, 9) for _ in range(90)])
    words["relation"] = rng.choice(["a", "b"], len(words))
    view = (words["relation"] == "a").to_numpy(float)[:, None] + rng.normal(0, 0.7, (len(words), 1))
    found = measured([view], words).loc[("relation", "accuracy")].iloc[0]
    assert found["without"][:3] == pytest.approx([found["value"]] * 3), "these trained"
    tested = found["without"][3:]  # blocks of equal size
    assert tested.mean() == pytest.approx(found["value"]) and tested.std() > 0
    assert 0.5 < found["ci_low"] < found["value"] < found["ci_high"] < 1
    arcs = probe.arcs(words)
    assert found["n"] == (words["part"].to_numpy()[arcs[:, 0]] == 2).sum()


def test_the_gain_of_an_expected_layer_is_sure():
    """Rises of which the blocks tell that they may be none have no expected layer."""
    flat = np.full((3, 7), 0.5)
    sure, unsure = flat.copy(), flat.copy()
    sure[1] += 0.1 + np.linspace(-0.005, 0.005, 7)
    unsure[1] += [0.01, 0.03, -0.02, 0.04, -0.03, 0.02, 0.01]
    assert probe._of_gains(np.maximum.accumulate(sure))["value"] == 1
    assert np.isnan(probe._of_gains(np.maximum.accumulate(unsure))["value"])
    assert np.isnan(probe._of_gains(flat)["value"])


@pytest.mark.parametrize("n_sentences, relations", [(10, "ab"), (40, "a")])
def test_few_examples_or_one_label_have_no_value_and_say_how_many(n_sentences, relations):
    rng = np.random.default_rng(6)
    words = of_sentences([random_heads(rng, 9) for _ in range(n_sentences)])
    words["relation"] = rng.choice([*relations], len(words))
    rows = measured(np.zeros((2, len(words), 3)), words).loc["relation"]
    assert rows.index.get_level_values(0).tolist() == sorted([*probe.METRICS] * 2)
    assert rows[["value", "ci_low", "baseline", "by_tags"]].isna().all(axis=None)
    assert (rows["n"] == n_sentences // 2 * 4 // 5 * 8).all(), "the lesser number, to train"
    assert (rows["n_labels"] == len(relations)).all() and (rows["n_needed"] == 100).all()


@pytest.fixture
def probed_files(corpus_files, tmp_path):
    """A run, and an annotation of the test split in which each word depends on the one before, and
    its last sub-word decides about tag and relation."""
    files, tokens, annotation = of_a_run(corpus_files, tmp_path, to_the_left)
    is_even = tokens.ids[stands_for_word(tokens, False)] % 2 == 0
    annotation["tag"] = np.where(is_even, "VB", "NN")
    annotation["relation"] = np.where(is_even, "even", "odd")
    annotation.assign(text="w").to_parquet(files["annotation"])
    return files


@pytest.mark.on_a_gpu("measure edge_probes")
def test_the_program_measures_a_run(measure, probed_files, tmp_path, monkeypatch):
    monkeypatch.setattr(probe, "NEEDED", 10)
    monkeypatch.setattr(probes, "STRENGTHS", (1e-2,))
    run, options = {"objective": "lm", "seed": 1}, {"sentences": 100, "seed": 1}
    measure(
        "edge_probes",
        run,
        options,
        **probed_files,
        table=tmp_path / "lm-1.csv",
        batch_tokens=40,
    )
    table = pd.read_csv(tmp_path / "lm-1.csv")
    assert list(table) == [
        *("objective", "seed", "layer", "task", "metric", "value", "ci_low", "ci_high"),
        *("baseline", "n", "n_labels", "by_tags", "n_needed"),
    ]
    assert {*table["task"]} == {*probe.TASKS}
    shown = table[(table["task"] == "relation") & (table["metric"] == "accuracy")]
    assert shown["layer"].tolist() == [0, 1, 2] and shown["value"].iloc[0] > 0.95
    assert (shown["by_tags"] == 1).all() and (shown["n"] >= 10).all()
    of_arcs = table[table["task"] == "arc"]
    assert (of_arcs["n"] == 0).all() and of_arcs["value"].isna().all(), "in a chain all have arcs"
    assert table["layer"].isna().sum() == 4, "the expected layers of the others"
