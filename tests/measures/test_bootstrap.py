"""Resampling of sentences: the counts, and whether the intervals cover what they should."""

import numpy as np
import pytest

from bottomup.measures import bootstrap
from bottomup.measures.mutual_information import bootstrapped, entropy, mutual_information


def text(generator, n_sentences=100, length=20):
    """Labels, clusters and sentences of a text whose sentences have topics.

    Labels are drawn from one of two sets, by topic; a cluster is the label, or for 3 of 10
    occurrences any.
    """
    sentences = np.repeat(np.arange(n_sentences), length)
    topics = generator.integers(2, size=n_sentences)[sentences]
    labels = 4 * topics + generator.integers(4, size=len(sentences))
    noise = generator.integers(8, size=len(sentences))
    clusters = np.where(generator.random(len(sentences)) < 0.7, labels, noise)
    return labels, clusters, sentences


def test_each_sample_holds_as_many_sentences_as_the_text():
    sentences = np.array([7, 7, 3, 9, 3, 7])
    index, counts = bootstrap.resamples(sentences, 50, seed=1)
    assert index.tolist() == [1, 1, 0, 2, 0, 1]
    assert counts.shape == (3, 50)
    assert (counts.sum(0) == 3).all() and counts.min() == 0
    assert (counts == bootstrap.resamples(sentences, 50, seed=1)[1]).all()
    assert (counts != bootstrap.resamples(sentences, 50, seed=2)[1]).any()


@pytest.mark.parametrize("at_once", [1, 3, 8192])
def test_values_of_samples_are_those_of_the_texts_they_stand_for(monkeypatch, at_once):
    monkeypatch.setattr(bootstrap, "VALUES_AT_ONCE", at_once)
    labels, clusters, sentences = text(np.random.default_rng(0), n_sentences=8, length=5)
    index, counts = bootstrap.resamples(sentences, 10, seed=1)
    samples = bootstrapped(labels, clusters, sentences, 10, seed=1)
    entropies = bootstrap.entropies(labels, index, counts)
    for i in range(10):
        rows = np.repeat(np.arange(len(labels)), counts[index, i])
        assert entropies[i] == pytest.approx(entropy(labels[rows]), abs=1e-12)
        assert samples[i] == pytest.approx(
            mutual_information(labels[rows], clusters[rows]), abs=1e-12
        )


def test_the_interval_is_the_value_and_its_standard_error_however_biased_the_samples():
    samples = np.random.default_rng(0).normal(5, 2, size=100)
    low, high = bootstrap.interval(1.0, samples)
    assert (low + high) / 2 == pytest.approx(1)
    assert (high - low) / 2 == pytest.approx(1.96 * samples.std(ddof=1))


def test_the_standard_error_is_that_of_drawing_the_text_anew():
    generator = np.random.default_rng(0)
    values, errors, covered = [], [], []
    for seed in range(300):
        labels, clusters, sentences = text(generator)
        values.append(mutual_information(labels, clusters))
        samples = bootstrapped(labels, clusters, sentences, 100, seed)
        errors.append(samples.std(ddof=1))
        covered.append(bootstrap.interval(values[-1], samples))
    # 300 values give their own standard deviation to 1 / sqrt(600), that is 4 %: 3 of these,
    # and a few percent for the bootstrap's bias with 100 sentences.
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.16)
    # 95 % of the intervals should hold the estimate's mean; 300 of them show it to 1.3 %.
    low, high = np.transpose(covered)
    assert np.mean((low < np.mean(values)) & (np.mean(values) < high)) == pytest.approx(
        0.95, abs=0.045
    )
