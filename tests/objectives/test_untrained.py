import numpy as np

from bottomup import objectives
from bottomup.objectives import IGNORE


def test_nothing_is_predicted():
    source = np.array([[5, 6, 1]])
    example = objectives.load("untrained", {}).example(source, None, 20, np.random.default_rng(0))
    assert np.array_equal(example.source, source)
    assert (example.labels == IGNORE).all()
