import numpy as np
import pytest
import torch
from torch.nn import functional

from bottomup import objectives
from bottomup.corpus.specials import EOS, PAD
from bottomup.objectives import IGNORE
from bottomup.training.loss import summed_loss
from tests.tiny import drawn

SOURCE = np.array([[5, 6, 7, EOS], [8, EOS, PAD, PAD]])


def example():
    return objectives.load("bilm", {}).example(SOURCE, None, 20, np.random.default_rng(0))


def test_each_token_predicts_the_next_and_then_the_one_before():
    assert np.array_equal(example().source, SOURCE) and example().target is None
    forward = [[6, 7, EOS, IGNORE], [EOS, IGNORE, IGNORE, IGNORE]]
    backward = [[IGNORE, 5, 6, 7], [IGNORE, 8, IGNORE, IGNORE]]
    assert example().labels.tolist() == np.hstack([forward, backward]).tolist()


@pytest.mark.parametrize("trunk", ["lstm", "convolution"])
def test_the_loss_is_that_of_both_directions(trunk):
    """Each from its half of the top layer, through one norm and one output layer."""
    model = drawn("bilm", trunk=trunk)
    top = model.encoder(torch.from_numpy(SOURCE))[-1]
    expected = torch.zeros(())
    for half, row, place, label in [
        *((0, 0, 0, 6), (0, 0, 1, 7), (0, 0, 2, EOS), (0, 1, 0, EOS)),
        *((1, 0, 1, 5), (1, 0, 2, 6), (1, 0, 3, 7), (1, 1, 1, 8)),
    ]:
        logits = model.head(model.norm(top[row, place, 8 * half : 8 * half + 8]))
        expected = expected + functional.cross_entropy(logits, torch.tensor(label))
    loss, count = summed_loss(model, example(), smoothing=0.0)
    assert count == 8
    torch.testing.assert_close(loss, expected)


@pytest.mark.parametrize("trunk", ["lstm", "convolution"])
def test_no_token_is_seen_where_it_is_predicted(trunk):
    """The state that predicts a token stays as it is, whatever the token is."""
    model, labels = drawn("bilm", trunk=trunk), example().labels[0]
    for place in range(4):
        other = SOURCE[:1].copy()
        other[0, place] = 19
        found, usual = (model(torch.from_numpy(ids))[0] for ids in (other, SOURCE[:1]))
        predicting = labels == SOURCE[0, place]
        assert predicting.sum() == (1 if place in (0, 3) else 2)
        assert torch.equal(found[predicting], usual[predicting])
