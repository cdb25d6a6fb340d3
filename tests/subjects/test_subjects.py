import json

import pytest
import torch
from tokenizers import Tokenizer

from bottomup import subjects
from bottomup.corpus.specials import EOS, MASK, PAD, UNK
from bottomup.errors import UserError
from bottomup.training.run import save
from tests.tiny import drawn, ids_of, same_bytes

IDS = ids_of([[5, 6, 7, 8], [9]])


@pytest.fixture
def saved(tmp_path, corpus_files):
    """Save a model as a run does; returns its folder."""

    def saved(model):
        save(model, corpus_files.tokenizers("lm"), tmp_path / "model")
        return tmp_path / "model"

    return saved


@pytest.mark.parametrize("objective", ["lm", "mlm", "mt"])
def test_loaded_is_what_was_saved_bit_for_bit(saved, objective):
    model = drawn(objective)
    subject = subjects.load(saved(model))
    assert same_bytes(subject.model.state_dict(), model.state_dict())
    hidden_states = subject.hidden_states(IDS)
    expected = model.encoder(IDS, output_hidden_states=True).hidden_states
    assert all(map(torch.equal, hidden_states, expected))
    attentions = subject.attentions(IDS)
    expected = model.encoder(IDS, output_attentions=True).attentions
    assert all(map(torch.equal, attentions, expected))


def test_dropout_is_off():
    model = drawn("mlm", dropout=0.5)
    expected = model.encoder(IDS, output_hidden_states=True).hidden_states
    found = subjects.Subject(model.train(), tokenizer=None).hidden_states(IDS)
    assert all(map(torch.equal, found, expected))


@pytest.mark.parametrize("objective", ["lm", "mlm"])
def test_layer_by_layer_it_is_the_model(objective):
    subject = subjects.Subject(drawn(objective, layers=3), tokenizer=None)
    expected = subject.hidden_states(IDS)
    x = subject.embeddings(IDS)
    assert torch.equal(x, expected[0])
    tokens = IDS != PAD
    for number in (1, 2, 3):
        x = subject.layer(number, x, subject.visible(IDS))
        torch.testing.assert_close(x[tokens], expected[number][tokens], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("objective", ["lm", "mlm"])
def test_visible_is_what_attention_attends_to(objective):
    subject = subjects.Subject(drawn(objective), tokenizer=None)
    visible = subject.visible(IDS).expand(2, 2, 5, 5)
    tokens = (IDS != PAD)[:, None, :, None].expand(2, 2, 5, 5)
    for weights in subject.attentions(IDS):
        assert ((weights > 0) == visible)[tokens].all()


def test_less_can_be_seen():
    """With nothing but itself to be seen, a token is what it is in a sentence of its own."""
    subject = subjects.Subject(drawn("mlm"), tokenizer=None)
    below = subject.embeddings(IDS)
    itself = torch.eye(5, dtype=torch.bool)[None, None]
    found = subject.layer(1, below, subject.visible(IDS) & itself)
    for place in range(5):
        alone = below[:1, place : place + 1]
        expected = subject.layer(1, alone, torch.ones(1, 1, 1, 1, dtype=torch.bool))
        torch.testing.assert_close(found[:1, place : place + 1], expected, rtol=1e-5, atol=1e-5)


def test_shapes(saved):
    subject = subjects.load(saved(drawn("mlm", layers=3)))
    assert (subject.layers, subject.d_model) == (3, 16)
    assert [h.shape for h in subject.hidden_states(IDS)] == [(2, 5, 16)] * 4
    attentions = subject.attentions(IDS)
    assert [a.shape for a in attentions] == [(2, 2, 5, 5)] * 3
    assert all(torch.allclose(a.sum(dim=-1), torch.ones(2, 2, 5)) for a in attentions)
    assert not subject.hidden_states(IDS)[0].requires_grad


def test_tokens_are_those_of_the_token_files(saved, corpus_files):
    tokenizer = subjects.load(saved(drawn("lm"))).tokenizer
    ids = tokenizer("Five GREEN cats ate <mask>").input_ids
    trained_on = Tokenizer.from_file(str(corpus_files.tokenizer("source")))
    assert ids == trained_on.encode("Five GREEN cats ate <mask>").ids
    assert ids[-1] == EOS and ids[-2] == MASK
    special = (tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id)
    assert special == (PAD, EOS, UNK)
    assert tokenizer.mask_token_id == MASK


def test_no_folder(tmp_path):
    with pytest.raises(UserError, match=r"no model in .*missing; expected") as error:
        subjects.load(tmp_path / "missing")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_half_a_folder(saved, name):
    folder = saved(drawn("lm"))
    (folder / name).unlink()
    with pytest.raises(UserError, match="no model in"):
        subjects.load(folder)


def test_of_another_kind(saved):
    """Loading it would leave our weights undrawn."""
    folder = saved(drawn("lm"))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "bert"}))
    with pytest.raises(UserError, match="'bert'") as error:
        subjects.load(folder)
    assert "\n" not in str(error.value)
