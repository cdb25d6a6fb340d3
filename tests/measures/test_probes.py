"""Probes against labels that a view tells wholly, in part or not at all, and by hand."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression
from torch.utils._python_dispatch import TorchDispatchMode

from bottomup.core.errors import UserError
from bottomup.measures import probes
from bottomup.measures.mutual_information import entropy
from bottomup.tables import probes as of_table
from bottomup.views.seen import Seen


def probe(view, labels, words=None, length=5, count=10, **options):
    """The rows of `probes.probe` by metric; sentences of `length` rows, dealt to blocks in turn."""
    sentences = np.arange(len(labels)) // length
    control = probes.control_labels(labels, labels if words is None else words, 1)
    rows = probes.probe(
        "task", view, labels, control, sentences, sentences % count, count, **options
    )
    return {row["metric"]: row for row in rows}


def mixed(views, labels):
    """The values of `probes.scalar_mix` by metric, arrays where there is one for each layer."""
    sentences = np.arange(len(labels)) // 5
    rows = pd.DataFrame(probes.scalar_mix("task", views, labels, sentences, sentences % 10, 10))
    of_layers = {"mix_accuracy", "mix_weight"}
    return {
        name: rows["value"].to_numpy() if name in of_layers else rows["value"].item()
        for name, rows in rows.groupby("metric")
    }


def repeated(labels, n_sentences):
    """Sentences that all hold the same labels: any order of them has the same code."""
    return np.tile(labels, n_sentences), np.repeat(np.arange(n_sentences), len(labels))


def by_counts(ends, counts):
    """Bits of the online code of such sentences by frequencies, blocks ending after `ends`."""
    counts = np.asarray(counts)
    coded = [
        -(end - start) * counts @ np.log2((start * counts + 0.5) / (start * counts + 0.5).sum())
        for start, end in pairwise(ends)
    ]
    return ends[0] * counts.sum() * np.log2(len(counts)) + sum(coded)


def test_labels_in_plain_view_are_all_found_and_cost_little():
    generator = np.random.default_rng(0)
    labels = generator.integers(4, size=1000)
    view = generator.normal(size=(4, 8))[labels] + 0.01 * generator.normal(size=(1000, 8))
    found = probe(view.astype(np.float16), labels)
    accuracy, code = found["accuracy"], found["code_length_bits"]
    assert accuracy["value"] == 1
    assert accuracy["baseline"] < 0.4
    assert (accuracy["n"], code["n"], accuracy["n_labels"]) == (100, 1000, 4)
    # The first block of 10 costs 20 bits of the uniform 2,000, and the next ones are coded by few.
    assert 20 < code["value"] < 200
    assert found["compression"]["value"] == pytest.approx(2000 / code["value"])


def test_labels_that_the_view_does_not_tell_are_coded_by_their_frequencies():
    generator = np.random.default_rng(0)
    labels = generator.choice(3, size=3000, p=[0.7, 0.2, 0.1])
    found = probe(generator.normal(size=(3000, 8)), labels, length=10)
    assert found["accuracy"]["value"] == pytest.approx(found["accuracy"]["baseline"], abs=0.01)
    assert found["accuracy"]["baseline"] == pytest.approx(0.7, abs=0.05)
    bits = 3000 * entropy(labels) / np.log(2)
    assert bits < found["code_length_bits"]["baseline"] < 1.02 * bits
    assert bits < found["code_length_bits"]["value"] < 1.04 * bits


def test_as_many_neurons_as_examples_do_not_lead_the_probe_astray():
    # Any labels of 400 examples can be told apart by 400 neurons: the penalty must forbid it.
    generator = np.random.default_rng(0)
    labels = generator.choice(2, size=500, p=[0.8, 0.2])
    found = probe(generator.normal(size=(500, 400)), labels)
    assert found["accuracy"]["value"] == found["accuracy"]["baseline"]
    assert found["compression"]["value"] > 0.95


def test_the_control_task_is_a_function_of_the_word_with_the_frequencies_of_the_labels():
    words = np.random.default_rng(0).integers(3000, size=20_000)
    labels = np.repeat([0, 1, 2], [14_000, 4000, 2000])
    control = probes.control_labels(labels, words, seed=1)
    assert all(len(set(control[words == word])) == 1 for word in range(100))
    shares = np.bincount(control) / len(control)
    np.testing.assert_allclose(shares, [0.7, 0.2, 0.1], atol=0.03)
    assert np.array_equal(control, probes.control_labels(labels, words, seed=1))
    assert not np.array_equal(control, probes.control_labels(labels, words, seed=2))


def test_a_view_of_the_word_alone_is_not_selective():
    words = np.random.default_rng(0).integers(20, size=2000)
    found = probe(np.eye(20)[words], words % 3, words)
    assert found["accuracy"]["value"] == found["control_accuracy"]["value"] == 1
    assert found["selectivity"]["value"] == 0


def test_a_view_of_the_label_alone_is_selective():
    # Each label has 20 words; a view of the label leaves the control task to their majority.
    words = np.random.default_rng(0).integers(60, size=2000)
    found = probe(np.eye(3)[words % 3], words % 3, words)
    assert found["accuracy"]["value"] == 1
    assert found["control_accuracy"]["value"] < 0.7
    assert found["selectivity"]["value"] == 1 - found["control_accuracy"]["value"]


@pytest.mark.parametrize("missing", [[7], [199], [*range(20)]])
def test_sentences_that_are_not_seen_move_no_other(missing):
    every = np.repeat(np.arange(200), 4)
    some = every[~np.isin(every, missing)]
    order, of_some = (probes.drawn_order(each, 1, "x")[::4] for each in (every, some))
    assert (np.argsort(np.delete(order, missing)) == np.argsort(of_some)).all()
    parts, of_some = ([{*each[rows]} for rows in probes.split(each, 1)] for each in (every, some))
    moved = [len(one - {*missing} - other) for one, other in zip(parts, of_some, strict=True)]
    assert sum(moved) <= len(missing)


def test_words_are_seen_through_their_ends_in_whole_sentences_drawn_by_the_seed():
    """Thirty sentences of three words with two sub-words each."""
    place = np.arange(180)
    occurrences = pd.DataFrame({"stands_for_word": place % 2 == 1, "sentence": place // 6})
    drawn = [of_table.drawn(occurrences, 20, seed) for seed in (1, 1, 2)]
    assert np.array_equal(drawn[0], drawn[1]) and not np.array_equal(drawn[0], drawn[2])
    for rows in drawn:
        # Six sentences have 18 words, seven 21.
        assert len(rows) == 21 and (rows % 2 == 1).all() and len(set(rows // 6)) == 7


def test_a_task_of_one_label_is_left_out_and_said(caplog):
    rng, place = np.random.default_rng(0), np.arange(200)
    table = pd.DataFrame({"input_id": place % 7, "sentence": place // 4, "block": place // 40})
    table = table.assign(stands_for_word=True, tag=rng.integers(2, size=200), relation="dep")
    seen = Seen(table, rng.normal(size=(2, 200, 3)))
    settings = of_table.Settings(tasks=["tag", "relation"], occurrences=200, seed=1)
    assert {row["task"] for row in of_table.rows(seen, settings)} == {"tag"}
    assert "task relation: all 200 words have one label, so it is left out" in caplog.text
    settings = of_table.Settings(tasks=["relation"], occurrences=200, seed=1)
    with pytest.raises(UserError, match=r"measures.probes.tasks: found relation, of which none"):
        next(of_table.rows(seen, settings))


def test_no_sentence_is_in_two_parts():
    sentences = np.random.default_rng(0).integers(50, size=700) * 3
    train, dev, test = probes.split(sentences, seed=1)
    assert sorted(np.concatenate([train, dev, test])) == list(range(700))
    of_parts = [set(sentences[part]) for part in (train, dev, test)]
    assert [len(part) for part in of_parts] == [40, 5, 5]
    assert len(set.union(*of_parts)) == 50
    assert not np.array_equal(test, probes.split(sentences, seed=2)[-1])


def test_what_is_learned_by_heart_of_a_sentence_does_not_count():
    # Each sentence has a direction of its own that would give its labels away.
    generator = np.random.default_rng(0)
    labels = np.repeat(generator.integers(2, size=60), 10)
    view = np.repeat(generator.normal(size=(60, 80)), 10, axis=0)
    found = probe(view, labels, length=10)
    assert found["accuracy"]["value"] < 0.9
    assert found["compression"]["value"] < 1.1
    assert probes.online_code_length(view, labels, 2, device="cpu") < 300


def test_a_block_of_wrong_labels_is_what_the_others_do_without():
    generator = np.random.default_rng(0)
    labels = generator.integers(2, size=2000)
    view = np.eye(2)[labels]
    labels[np.arange(2000) // 5 % 10 == 3] ^= 1
    accuracy = probe(view, labels)["accuracy"]
    assert accuracy["without"][3] == 1
    assert (np.delete(accuracy["without"], 3) < 0.95).all()
    assert accuracy["ci_low"] < accuracy["value"] < accuracy["ci_high"]


def test_the_code_without_a_block_is_that_of_as_many_occurrences():
    # All cost the same but those of the first block of the code.
    labels, sentences = repeated([0, 1], 400)
    rows = probes.probe("task", np.zeros((800, 2)), labels, labels, sentences, sentences % 10, 10)
    code = {row["metric"]: row for row in rows}["code_length_bits"]
    assert code["value"] == pytest.approx(800)
    np.testing.assert_allclose(code["without"], 800)


def test_a_view_of_zeros_is_coded_block_by_block_by_the_frequencies_before():
    labels, sentences = repeated([0] * 5 + [1] * 3 + [2] * 2, 40)
    # 0.032, 0.0625, 0.125, 0.25, 0.5 and 1 of 40 sentences.
    bits = by_counts([1, 2, 5, 10, 20, 40], [5, 3, 2])
    view = np.zeros((400, 3))
    assert probes.online_code_length(view, labels, 3, sentences=sentences) == pytest.approx(bits)
    faulty = probes.online_code_length(
        view, labels, 3, sentences=sentences, variant="voita-titov-2020"
    )
    first = 10 * np.log2(3)
    assert faulty == pytest.approx(first + (bits - first) * np.log(2))


def test_a_label_not_seen_before_costs_as_half_an_example():
    # Of 25 examples, the first 12 are the first block: a half is 12, and a quarter too few.
    bits = 12 * np.log2(4) - 13 * np.log2(12.5 / 14)
    zeros = np.zeros(25, dtype=np.int32)
    assert probes.online_code_length(np.zeros((25, 1)), zeros, 4) == pytest.approx(bits)


def test_examples_too_few_for_two_blocks_are_coded_uniformly():
    labels = np.arange(15) % 4
    assert probes.online_code_length(np.eye(4)[labels], labels, 4) == pytest.approx(30)


@pytest.mark.parametrize("informative", [0, 2])
def test_the_mix_is_the_only_layer_that_tells(informative):
    generator = np.random.default_rng(0)
    labels = generator.integers(3, size=900)
    views = generator.normal(size=(3, 900, 4))
    views[informative, :, :3] += 2 * np.eye(3)[labels]
    found = mixed(views, labels)
    assert found["mix_weight"].sum() == pytest.approx(1)
    assert found["mix_weight"][informative] > 0.9
    assert found["center_of_gravity"] == pytest.approx(informative, abs=0.15)
    tells = np.arange(3) >= informative
    assert (found["mix_accuracy"][tells] > 0.6).all()
    assert (found["mix_accuracy"][~tells] < 0.5).all()
    if informative:  # what comes after layer 0 adds to it by chance
        assert found["expected_layer"] == pytest.approx(informative, abs=0.15)


def test_layers_that_tell_a_half_each_share_the_mix():
    # A strong penalty leaves all to one of them; a weaker one, tried next, must find the other.
    generator = np.random.default_rng(0)
    labels = generator.integers(4, size=1500)
    views = np.zeros((2, 1500, 2))
    views[0, :, 0] = labels // 2 + 0.1 * generator.normal(size=1500)
    views[1, :, 1] = labels % 2 + 0.1 * generator.normal(size=1500)
    found = mixed(views, labels)
    np.testing.assert_allclose(found["mix_weight"], 0.5, atol=0.1)
    assert found["mix_accuracy"][0] < 0.7 and found["mix_accuracy"][1] == 1
    assert found["expected_layer"] == 1


def test_layers_that_say_the_same_at_any_scale_share_the_mix():
    generator = np.random.default_rng(0)
    labels = generator.integers(3, size=300)
    view = generator.normal(size=(300, 4)) + np.eye(4)[labels]
    found = mixed(np.stack([view, 10 * view, 0.1 * view]), labels)
    np.testing.assert_allclose(found["mix_weight"], 1 / 3, atol=1e-3)
    assert found["center_of_gravity"] == pytest.approx(1, abs=3e-3)
    # They gain nothing, and so there is no layer where it would be gained.
    assert np.isnan(found["expected_layer"])


def test_a_mix_of_one_layer_is_the_probe_of_that_layer():
    generator = np.random.default_rng(0)
    labels = generator.integers(3, size=600)
    views = generator.normal(size=(2, 600, 4)) + np.eye(4)[labels]
    sentences = np.arange(600) // 5
    rows = list(probes.scalar_mix("tag", views, labels, sentences, sentences % 10, 10))
    alone = probe(views[0], labels)["accuracy"]
    assert all(row["task"] == "tag" and row["n_labels"] == 3 for row in rows)
    first = rows[0]
    assert (first["layer"], first["metric"]) == (0, "mix_accuracy")
    for name in ("value", "ci_low", "ci_high", "baseline", "n"):
        assert first[name] == alone[name]
    np.testing.assert_array_equal(first["without"], alone["without"])
    [center] = [row for row in rows if row["metric"] == "center_of_gravity"]
    # One in ten sentences is for development and one for test, and the center has no interval.
    assert (center["n"], center["baseline"], center["without"]) == (480, 0.5, None)
    assert pd.isna(center["layer"]) and np.isnan(center["ci_low"])


def test_the_expected_layer_weighs_layers_by_what_they_gain():
    # Of all: gains of 0.1 at layer 1 and 0.3 at layer 3. Without a block: a loss at layer 1.
    scores = np.array([[0.5, 0.5, 0.6], [0.6, 0.4, 0.6], [0.6, 0.4, 0.6], [0.9, 0.9, 0.6]])
    found = probes.expected_layer(scores)
    assert found[:2].tolist() == pytest.approx([(0.1 * 1 + 0.3 * 3) / 0.4, (-0.1 + 1.5) / 0.4])
    assert np.isnan(found[2])


def test_what_is_gained_and_lost_again_leaves_no_layer():
    scores = np.array([390, 1025, 317, 276, 826, 723, 390]) / 1149
    assert np.diff(scores).sum() > 0  # by rounding alone
    assert np.isnan(probes.expected_layer(scores))


def test_a_mix_is_an_optimum_of_its_loss(monkeypatch):
    """By SciPy, which goes on from it; and of its classifier, which SciPy finds from zero."""
    monkeypatch.setattr(probes, "SLOPE", 1e-6)
    generator = np.random.default_rng(0)
    labels, strength = generator.integers(3, size=200), 2.0
    views = generator.normal(size=(3, 200, 4))
    views[0, :, 0] += labels == 1
    views[2, :, 1] += labels == 2
    x = probes.standardized(views, "cpu")
    found = probes.fit(x, torch.from_numpy(labels), 3, strength)
    x = x.double().numpy()

    def loss(parameters, scalars):
        weights, bias = parameters[:12].reshape(3, 4), parameters[12:15]
        logits = np.einsum("l,lnd->nd", softmax(scalars), x) @ weights.T + bias
        of_examples = -log_softmax(logits, axis=1)[np.arange(200), labels].sum()
        return of_examples - log_softmax(bias).sum() / 2 + strength / 2 * (weights**2).sum()

    parts = (found.weights.flatten(), found.bias, found.scalars)
    parameters, scalars = torch.cat(parts).double().numpy()[:15], parts[2].double().numpy()
    least = loss(parameters, scalars)
    fixed = minimize(loss, np.zeros(15), args=(scalars,))
    assert fixed.fun == pytest.approx(least, abs=1e-3)
    np.testing.assert_allclose(fixed.x[:12], parameters[:12], atol=3e-3)
    joint = minimize(lambda z: loss(z[:15], z[15:]), np.append(parameters, scalars))
    assert joint.fun == pytest.approx(least, abs=1e-3)
    np.testing.assert_allclose(softmax(joint.x[15:]), softmax(scalars), atol=0.01)
    assert (softmax(scalars)[[0, 2]] > 0.2).all()


def test_a_classifier_is_that_of_scikit_learn(monkeypatch):
    monkeypatch.setattr(probes, "SLOPE", 1e-6)
    generator = np.random.default_rng(0)
    labels = np.append(generator.integers(3, size=299), 3)
    view = generator.normal(size=(300, 6)) @ generator.normal(size=(6, 6)) + np.eye(6)[labels]
    x = probes.standardized(view[None], "cpu")
    found = probes.fit(x, torch.from_numpy(labels), 5, strength=3.0)
    standardized = (view - view.mean(0)) / view.std(0, ddof=1)
    # Half an example of each label at 0; the fifth label has no other.
    peer = LogisticRegression(C=1 / 3, tol=1e-8, max_iter=1000).fit(
        np.concatenate([standardized, np.zeros((5, 6))]),
        np.append(labels, np.arange(5)),
        sample_weight=np.repeat([1, 0.5], [300, 5]),
    )
    expected = peer.predict_proba(standardized)
    np.testing.assert_allclose(found.logits(x).softmax(1), expected, atol=3e-4)


class Largest(TorchDispatchMode):
    """How many bytes the largest tensor takes that is made meanwhile."""

    bytes = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        if isinstance(made, torch.Tensor):
            self.bytes = max(self.bytes, made.nbytes)
        return made


def test_layers_are_turned_one_by_one_so_memory_holds_them_once():
    views = np.random.default_rng(0).normal(size=(16, 100, 8)).astype(np.float16)
    with Largest() as largest:
        x = probes.standardized(views, "cpu")
    assert largest.bytes == x.nbytes
    with Largest() as largest:
        probes.standardized(views[:1], "cpu")
    assert largest.bytes == 2 * x[0].nbytes, "one layer in float64"


def test_the_same_seed_gives_the_same_values():
    generator = np.random.default_rng(0)
    view, labels = generator.normal(size=(200, 4)), generator.integers(3, size=200)
    first, again, other = (probe(view, labels, seed=seed) for seed in (1, 1, 2))
    values = [[row["value"] for row in rows.values()] for rows in (first, again, other)]
    assert values[0] == values[1]
    bits = [rows["code_length_bits"]["value"] for rows in (first, other)]
    assert bits[0] != bits[1]
    code = probes.online_code_length(view, labels, 3, sentences=np.arange(200) // 5)
    assert code == pytest.approx(bits[0])


@pytest.mark.parametrize(
    "change, message",
    [
        ({"labels": np.zeros(6)}, "labels: 1; a probe needs 2"),
        ({"sentences": np.arange(6) % 2}, "sentences that carry a label: 2; a probe needs 3"),
        ({"control": np.arange(5)}, r"control of shape \(5,\) for a view of 6 occurrences"),
        ({"view": np.zeros(6)}, r"a view of shape \(6,\); allowed: \[occurrences, d\]"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(change, message):
    of_each = np.arange(6)
    columns = {"view": np.zeros((6, 2)), "labels": of_each, "control": of_each}
    columns |= {"sentences": of_each, "blocks": of_each, **change}
    with pytest.raises(UserError, match=message):
        list(probes.probe("task", **columns, count=6))


@pytest.mark.parametrize(
    "change, message",
    [
        ({"n_labels": 1}, "labels: 1; a probe needs 2"),
        ({"n_labels": 5}, "labels from 0 to 5; allowed: 0 to 4"),
        ({"labels": np.arange(6) * 0.9}, "labels of type float64; allowed: whole numbers from 0"),
        ({"labels": np.array([*"abcdef"])}, "labels of type <U1; allowed: whole numbers"),
        ({"variant": "nats"}, "variant of the code length: found nats; allowed: "),
        ({"sentences": np.arange(5)}, r"sentences of shape \(5,\)"),
    ],
)
def test_a_code_without_sense_is_refused(change, message):
    columns = {"view": np.zeros((6, 2)), "labels": np.arange(6), "n_labels": 6, **change}
    with pytest.raises(UserError, match=message):
        probes.online_code_length(**columns)
