"""The linear classifier's bound against information that is known."""

import numpy as np
import pytest

from bottomup.core.errors import UserError
from bottomup.measures.classifier_bound import bounds, classifier_bound
from bottomup.measures.jackknife import error


def bound(view, labels, length=10, count=20, seed=1):
    blocks = np.arange(len(labels)) // length % count
    return classifier_bound(view, labels, blocks, count, seed)


def test_labels_in_plain_view_give_their_entropy():
    generator = np.random.default_rng(0)
    labels = generator.integers(20, size=4000)
    view = generator.normal(size=(20, 16))[labels] + 0.01 * generator.normal(size=(4000, 16))
    found = bound(view.astype(np.float16), labels)
    assert found.mi_nats == pytest.approx(found.entropy_nats, abs=1e-3)
    assert found.mi_nats <= found.entropy_nats
    assert found.ci_low < found.mi_nats < found.ci_high
    # Half of the blocks, and so of occurrences, are held out.
    assert found.n_occurrences == 2000


def test_a_noisy_channel_gives_nearly_its_information():
    # As in test_mutual_information, where clusters see the same.
    generator = np.random.default_rng(0)
    n, n_labels = 20_000, 8
    labels = generator.integers(n_labels, size=n)
    wrong = (labels + generator.integers(1, n_labels, size=n)) % n_labels
    passed = np.where(generator.random(n) < 0.8, labels, wrong)
    view = 10 * np.eye(n_labels)[passed] + generator.normal(size=(n, n_labels)) / 10
    channel = -(0.8 * np.log(0.8) + 0.2 * np.log(0.2 / 7))
    assert bound(view, labels).mi_nats == pytest.approx(np.log(n_labels) - channel, abs=0.04)


def test_what_varies_little_counts_as_much_as_what_varies_much():
    generator = np.random.default_rng(0)
    labels = generator.integers(4, size=2000)
    view = 1000 * generator.normal(size=(2000, 8))
    view[:, :4] = 1e-3 * np.eye(4)[labels]
    found = bound(view, labels)
    assert found.mi_nats == pytest.approx(found.entropy_nats, abs=0.01)


def test_a_view_that_says_nothing_gives_no_more_than_0():
    generator = np.random.default_rng(0)
    labels, view = generator.integers(5, size=4000), generator.normal(size=(4000, 8))
    found = bound(view, labels)
    assert found.mi_nats < 0.01
    assert found.mi_nats > -0.1
    assert found.mi_nats == bound(view, labels).mi_nats


def test_what_is_learned_by_heart_of_a_sentence_does_not_count():
    # Each sentence has a direction of its own that would give its labels away.
    generator = np.random.default_rng(0)
    labels = np.repeat(generator.integers(2, size=60), 10)
    view = np.repeat(generator.normal(size=(60, 80)), 10, axis=0)
    assert bound(view, labels).mi_nats < 0.2


def test_a_constant_neuron_and_a_label_of_one_half_only_do_no_harm():
    generator = np.random.default_rng(0)
    labels = generator.integers(4, size=2000)
    labels[0] = 9
    view = np.concatenate([np.eye(4)[labels % 4], np.ones((2000, 1))], axis=1)
    assert np.isfinite(bound(view, labels).mi_nats)


@pytest.mark.long
def test_the_seed_decides_which_half_is_held_out_and_the_order_of_the_batches():
    """Of two blocks, with 300 and with 100 rows: what is held out tells which half it is."""
    generator = np.random.default_rng(0)
    labels, view = generator.integers(3, size=400), generator.normal(size=(400, 4))
    blocks = (np.arange(400) >= 300).astype(int)
    found = [classifier_bound(view, labels, blocks, 2, seed) for seed in (*range(8), 0)]
    assert {bound.n_occurrences for bound in found} == {300, 100}
    assert found[0].mi_nats == found[-1].mi_nats
    same_half = [bound.mi_nats for bound in found[:-1] if bound.n_occurrences == 300]
    assert len(same_half) == len(set(same_half)) > 1


def test_views_together_have_the_bounds_that_they_have_alone():
    generator = np.random.default_rng(0)
    labels = generator.integers(4, size=2000)
    blocks = np.arange(2000) // 10 % 20
    telling = 100 * np.eye(4)[labels] + generator.normal(size=(2000, 4))
    views = [generator.normal(size=(2000, 4)), telling, telling + 60 * generator.normal(size=4)]
    together = bounds(views, labels, blocks, 20, 1, device="cpu")
    for view, found in zip(views, together, strict=True):
        alone = classifier_bound(view, labels, blocks, 20, 1, "cpu")
        assert found.mi_nats == pytest.approx(alone.mi_nats, abs=1e-4)
        np.testing.assert_allclose(found.without, alone.without, atol=1e-4)
    assert together[0].mi_nats < 0.01 < 1 < together[1].mi_nats


def test_a_penalty_takes_from_views_that_tell_nothing_most_of_what_they_lose():
    generator = np.random.default_rng(0)
    labels, view = generator.integers(20, size=2000), generator.normal(size=(2000, 40))
    telling = np.eye(20)[labels] @ generator.normal(size=(20, 40))
    blocks = np.arange(2000) // 10 % 20
    without, with_penalty = (
        [one.mi_nats for one in bounds([view, telling], labels, blocks, 20, 1, penalty, "cpu")]
        for penalty in (0.0, 50.0)
    )
    assert without[0] < 2 * with_penalty[0] < 0
    assert with_penalty[1] > 0.7 * without[1]


def test_a_single_block_is_refused():
    with pytest.raises(UserError, match="blocks of documents that carry a label: 1;"):
        bound(np.zeros((19, 2)), np.zeros(19), count=1)


def test_a_neuron_of_another_size_in_the_other_half_is_refused_in_a_line():
    view, blocks = np.random.default_rng(0).normal(size=(400, 4)), np.repeat([0, 1], 200)
    view[:, 0] *= np.where(blocks == 0, 1e-9, 1e35)  # seed 1 fits block 0
    with pytest.raises(UserError, match="loss is not finite: a neuron is far larger"):
        classifier_bound(view, np.arange(400) % 2, blocks, 2, 1)


@pytest.mark.long
def test_the_error_is_that_of_the_held_out_text_drawn_anew():
    generator = np.random.default_rng(0)
    found = []
    for _ in range(60):
        documents = np.repeat(np.arange(200), 10)
        labels = generator.integers(4, size=2000)
        clear = np.where(generator.integers(2, size=200)[documents], 3.0, 0.3)[:, None]
        view = clear * np.eye(4)[labels] + generator.normal(size=(2000, 4)) / 2
        found.append(classifier_bound(view, labels, documents % 20, 20, seed=1))
    values = np.array([one.mi_nats for one in found])
    errors = np.array([error(one.mi_nats, one.without) for one in found])
    # 60 values give their own standard deviation to 1 / sqrt(120), that is 9 %: 3 of these. What
    # other text would train is in the spread of the values and not in the errors.
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(values.std(), rel=0.3)
