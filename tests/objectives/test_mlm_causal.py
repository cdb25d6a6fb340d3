import numpy as np
import pytest
import torch

from bottomup import objectives
from bottomup.corpus.specials import EOS, MASK, PAD
from bottomup.objectives import IGNORE
from bottomup.training.loss import summed_loss
from tests.tiny import VOCAB, drawn

SOURCE = np.array(
    [[5, 6, 7, 8, 9, EOS], [10, 11, EOS, PAD, PAD, PAD], [12, EOS, PAD, PAD, PAD, PAD]]
)


def example(name, seed=0, **options):
    loaded = objectives.load(name, options)
    return loaded.example(SOURCE, None, VOCAB, np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("options", [{}, {"choose": 0.5, "mask": 0.4, "replace": 0.4}])
def test_it_reads_and_predicts_what_mlm_does(seed, options):
    ours, mlms = (example(name, seed, **options) for name in ("mlm_causal", "mlm"))
    assert np.array_equal(ours.source, mlms.source)
    assert np.array_equal(ours.labels, mlms.labels)
    assert ours.target is mlms.target is None


def test_a_token_is_predicted_at_its_own_mask():
    read = example("mlm_causal", choose=0.99, mask=1.0, replace=0.0)
    asked = read.labels != IGNORE
    assert np.array_equal(asked, read.source == MASK) and asked.any()
    assert np.array_equal(read.labels[asked], SOURCE[asked])
    assert not np.isin(read.labels, [EOS, PAD]).any()


@pytest.mark.parametrize("place", range(1, 5))
def test_it_sees_no_later_token(place):
    """Bit for bit; what MLM predicts at the same position does depend on it."""
    ids = torch.from_numpy(SOURCE)
    other = ids.clone()
    other[0, place] = VOCAB - 1
    ours, mlms = drawn("mlm_causal"), drawn("mlm")
    assert torch.equal(ours(ids)[0, :place], ours(other)[0, :place])
    assert (ours(ids)[0, place:] != ours(other)[0, place:]).any(dim=1).all()
    assert (mlms(ids)[0, :place] != mlms(other)[0, :place]).any(dim=1).all()


def test_no_loss_depends_on_a_later_token():
    """Of the tokens read; the mask of the second one is the last that is asked for."""
    model = drawn("mlm_causal")
    read = np.array([[5, MASK, 7, 8, EOS]])
    labels = np.full_like(read, IGNORE)
    labels[0, 1] = 6

    def loss(later):
        whole = np.concatenate([read[:, :2], later], axis=1)
        return summed_loss(model, objectives.Example(whole, None, labels), smoothing=0.0)[0]

    assert torch.equal(loss(read[:, 2:]), loss(np.array([[15, 16, EOS]])))


def test_it_starts_from_the_weights_of_mlm_and_lm():
    weights = [drawn(name).state_dict() for name in ("mlm_causal", "mlm", "lm")]
    for name, ours in weights[0].items():
        assert all(torch.equal(ours, others[name]) for others in weights[1:])
