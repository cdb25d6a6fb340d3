"""Going on from a layer, against reading all from the start."""

from collections import Counter

import pytest
import torch
from transformers.pytorch_utils import Conv1D

from bottomup import subjects
from bottomup.subjects.subject import Subject
from tests.subjects import families
from tests.subjects.families import FAMILIES, LAYERS

LENGTHS = torch.tensor([5, 3])
COMPUTES = torch.nn.Linear | Conv1D
INSIDE = torch.arange(5) < LENGTHS[:, None]
IDS = torch.tensor([[5, 6, 7, 8, 9], [10, 6, 11, 0, 0]])


@pytest.fixture(params=FAMILIES)
def subject(request, tmp_path):
    return subjects.load(families.save(FAMILIES[request.param], tmp_path))


@pytest.mark.long
@pytest.mark.parametrize("layer", range(1, LAYERS + 1))
@pytest.mark.parametrize("hides", [False, True])
def test_it_is_as_reading_from_the_start(subject, layer, hides):
    """Whatever states padding has."""
    hidden = torch.zeros(2, 5, dtype=torch.bool)
    hidden[0, 2] = hidden[1, 0] = hides
    below = subject.hidden_states(IDS, lengths=LENGTHS)[layer - 1]
    below = torch.where(INSIDE[..., None], below, 7.0)
    expected = Subject.after(subject, layer, below, IDS, hidden, LENGTHS)
    found = subject.after(layer, below, IDS, hidden, LENGTHS)
    torch.testing.assert_close(found[INSIDE], expected[INSIDE], rtol=1e-5, atol=1e-6)


def test_states_are_those_that_it_is_given(subject):
    below = torch.randn(2, 5, subject.d_model, generator=torch.Generator().manual_seed(1))
    one = subject.after(2, below, IDS, lengths=LENGTHS)
    other = subject.after(2, 2 * below + 1, IDS, lengths=LENGTHS)
    assert not torch.allclose(one[INSIDE], other[INSIDE], rtol=0.01)


def test_no_other_layer_works_but_the_first_for_what_it_hands_on(subject):
    worked = Counter()

    def count(module, *_):
        worked[module] += 1

    below = subject.hidden_states(IDS, lengths=LENGTHS)[1]
    assert subject.stack is not None and len(subject.stack) == LAYERS
    # The first of its modules that computes.
    parts = [next(m for m in layer.modules() if isinstance(m, COMPUTES)) for layer in subject.stack]
    hooks = [module.register_forward_hook(count) for module in parts]
    subject.after(1, below, IDS, lengths=LENGTHS)
    assert worked == {parts[0]: 1}
    for hook in hooks:
        hook.remove()
    # Nothing is left behind.
    usual = subject.hidden_states(IDS, lengths=LENGTHS)
    subject.after(2, below, IDS, lengths=LENGTHS)
    again = subject.hidden_states(IDS, lengths=LENGTHS)
    assert all(torch.equal(a, b) for a, b in zip(usual, again, strict=True))
