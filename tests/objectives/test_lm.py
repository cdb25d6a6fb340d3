import numpy as np

from bottomup import objectives
from bottomup.corpus.specials import EOS, PAD
from bottomup.objectives import IGNORE


def test_each_token_predicts_the_next_and_the_last_one_the_end():
    source = np.array([[5, 6, 7, EOS], [8, EOS, PAD, PAD]])
    example = objectives.load("lm", {}).example(source, None, 20, np.random.default_rng(0))
    assert np.array_equal(example.source, source)
    assert example.target is None
    expected = [[6, 7, EOS, IGNORE], [EOS, IGNORE, IGNORE, IGNORE]]
    assert example.labels.tolist() == expected
