import numpy as np
import pytest
import torch

from bottomup import objectives
from bottomup.corpus.specials import EOS, PAD
from bottomup.objectives import IGNORE
from tests.tiny import initial, same_bytes

SOURCE = np.array([[5, 6, 7, 8, EOS], [9, EOS, PAD, PAD, PAD]])


@pytest.mark.parametrize("name", ["untrained", "untrained_causal"])
def test_nothing_is_predicted(name):
    objective = objectives.load(name, {})
    example = objective.example(SOURCE, None, 20, np.random.default_rng(0))
    assert np.array_equal(example.source, SOURCE)
    assert example.target is None and example.labels.shape == SOURCE.shape
    assert (example.labels == IGNORE).all()
    assert objective.predicts is None


@pytest.mark.parametrize(
    ("name", "trained"), [("untrained", ["mlm", "lm_bidirectional"]), ("untrained_causal", ["lm"])]
)
def test_it_is_what_training_starts_from(name, trained):
    """Weights and mask; MT has a decoder, too."""
    ours = initial(name, dropout=0.1)
    for other in (initial(objective, dropout=0.1) for objective in trained):
        assert same_bytes(ours.state_dict(), other.state_dict())
        assert ours.config == other.config
    encoder = initial("mt").encoder
    assert same_bytes(ours.encoder.state_dict(), encoder.state_dict())
    assert (ours.encoder.causal == encoder.causal) == (name == "untrained")


def test_the_causal_one_differs_in_its_mask_alone():
    both_sides, causal = initial("untrained").eval(), initial("untrained_causal").eval()
    assert same_bytes(both_sides.state_dict(), causal.state_dict())
    ids = torch.from_numpy(SOURCE)
    for place in range(1, 5):
        other = ids.clone()
        other[0, place] = 19
        # Bit for bit, before the place; from it on all states differ.
        assert torch.equal(causal(ids)[0, :place], causal(other)[0, :place])
        assert (causal(ids)[0, place:] != causal(other)[0, place:]).any(dim=1).all()
        assert (both_sides(ids)[0] != both_sides(other)[0]).any(dim=1).all()
