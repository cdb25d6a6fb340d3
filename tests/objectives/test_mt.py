import numpy as np

from bottomup import objectives
from bottomup.corpus.specials import EOS, PAD
from bottomup.objectives import IGNORE


def test_every_target_token_is_predicted_and_no_padding():
    source = np.array([[5, 6, 7, EOS], [8, EOS, PAD, PAD]])
    target = np.array([[9, EOS, PAD], [10, 11, EOS]])
    example = objectives.load("mt", {}).example(source, target, 20, np.random.default_rng(0))
    assert np.array_equal(example.source, source)
    assert np.array_equal(example.target, target)
    assert example.labels.tolist() == [[9, EOS, IGNORE], [10, 11, EOS]]
