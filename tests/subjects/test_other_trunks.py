import pytest
import torch

from bottomup import subjects
from bottomup.core.errors import UserError
from bottomup.corpus.specials import EOS, PAD
from tests.tiny import drawn, ids_of, initial, same_bytes

IDS = ids_of([[5, 6, 7, 8], [9]])
TRUNKS = ["lstm", "convolution"]
CAN = {
    "lm": {"causal": True, "masks": False},
    "mlm": {"causal": False, "masks": True},
    "bilm": {"causal": False, "masks": False},
}


@pytest.mark.parametrize("trunk", TRUNKS)
@pytest.mark.parametrize("objective", CAN)
def test_loaded_is_what_was_saved_bit_for_bit(saved, objective, trunk):
    model = drawn(objective, trunk=trunk, dropout=0.5)
    subject = subjects.load(saved(model))
    assert same_bytes(subject.model.state_dict(), model.state_dict())
    found = subject.hidden_states(IDS)
    with torch.inference_mode():
        expected = model.encoder(IDS)
    assert len(found) == subject.layers + 1 == 3
    tokens = IDS != PAD
    assert all(torch.equal(a[tokens], b[tokens]) for a, b in zip(found, expected, strict=True))
    assert {layer.shape for layer in found} == {(2, 5, 16)} and subject.d_model == 16
    assert torch.equal(subject.embeddings(IDS), found[0])


@pytest.mark.parametrize("trunk", TRUNKS)
@pytest.mark.parametrize(("objective", "can"), CAN.items())
def test_what_it_can_do(saved, objective, can, trunk):
    subject = subjects.load(saved(drawn(objective, trunk=trunk)))
    assert {name: getattr(subject, name) for name in can} == can
    assert (subject.heads, subject.max_length, subject.translates) == (0, None, False)
    assert (subject.padding, subject.special) == (PAD, [PAD, EOS])


@pytest.mark.parametrize("trunk", TRUNKS)
def test_what_asks_for_attention_is_refused_in_a_line(saved, trunk):
    subject = subjects.load(saved(drawn("lm", trunk=trunk)))
    with pytest.raises(UserError, match=r"^\w+ has no attention that can be looked at$"):
        subject.attentions(IDS)
    with pytest.raises(UserError, match=r"^\w+ has no attention that can be changed$"):
        subject.hidden_states(IDS, hidden=IDS == 6)


@pytest.mark.parametrize("trunk", TRUNKS)
@pytest.mark.parametrize("objective", CAN)
def test_the_untrained_twin_is_what_a_run_of_that_seed_starts_from(saved, objective, trunk):
    folder = saved(drawn(objective, trunk=trunk))
    size = subjects.load(folder).model.config.vocab_size
    expected = initial(objective, 7, size, trunk)
    assert same_bytes(subjects.untrained(folder, 7).model.state_dict(), expected.state_dict())
