import json

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoModel, BertConfig, GPT2Config, PreTrainedTokenizerFast, T5Config

from bottomup import subjects
from bottomup.core.errors import UserError
from bottomup.corpus.specials import EOS, MASK, PAD, UNK
from bottomup.heads.removal import without_closed_heads
from bottomup.subjects.runs import Run
from bottomup.views.extraction import extract
from tests.tiny import VOCAB, drawn, ids_of, initial, same_bytes, tokens_of

IDS = ids_of([[5, 6, 7, 8], [9]])


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
    found = Run(model.train(), tokenizer=None).hidden_states(IDS)
    assert all(map(torch.equal, found, expected))


@pytest.mark.parametrize("objective", ["lm", "mlm"])
def test_layer_by_layer_it_is_the_model(objective):
    subject = Run(drawn(objective, layers=3), tokenizer=None)
    expected = subject.hidden_states(IDS)
    x = subject.embeddings(IDS)
    assert torch.equal(x, expected[0])
    tokens = IDS != PAD
    for number in (1, 2, 3):
        x = subject.after(number, x, IDS)
        torch.testing.assert_close(x[tokens], expected[number][tokens], rtol=1e-5, atol=1e-5)


def test_where_all_are_hidden_a_token_is_what_it_is_alone():
    subject = Run(drawn("mlm"), tokenizer=None)
    below = subject.embeddings(IDS)
    found = subject.after(1, below, IDS, hidden=IDS != PAD)
    for place in range(5):
        one = slice(place, place + 1)
        expected = subject.after(1, below[:1, one], IDS[:1, one])
        torch.testing.assert_close(found[:1, one], expected, rtol=1e-5, atol=1e-5)


def test_where_all_are_hidden_in_every_layer_padding_spoils_nothing():
    """It sees nothing else, and a number that is none would spread from it."""
    subject = Run(drawn("mlm"), tokenizer=None)
    tokens = IDS != PAD
    for weights in subject.attentions(IDS, hidden=tokens):
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 2, 5))
    assert all(states.isfinite().all() for states in subject.hidden_states(IDS, hidden=tokens))


@pytest.mark.parametrize("objective", ["lm", "mlm"])
def test_a_run_goes_on_to_what_others_come_to_from_the_start(objective):
    """As checkpoints do, whose layers are not run one by one."""
    subject = Run(drawn(objective, layers=3), tokenizer=None)
    hidden, tokens = torch.zeros(2, 5, dtype=torch.bool), IDS != PAD
    hidden[:, 1] = True
    usual = subject.hidden_states(IDS)
    assert torch.equal(subjects.Subject.embeddings(subject, IDS), subject.embeddings(IDS))
    for layer in (1, 2, 3):
        for of_layer in (None, hidden):
            found = subject.after(layer, usual[layer - 1], IDS, of_layer)
            expected = subjects.Subject.after(subject, layer, None, IDS, of_layer)
            torch.testing.assert_close(found[tokens], expected[tokens], rtol=1e-5, atol=1e-5)
        assert not torch.allclose(found[tokens], usual[layer][tokens])


@pytest.mark.parametrize(
    ("objective", "can"),
    [
        ("lm", {"causal": True, "masks": False, "translates": False}),
        ("mlm", {"causal": False, "masks": True, "translates": False}),
        ("mt", {"causal": False, "masks": False, "translates": True}),
    ],
)
def test_what_it_can_do(saved, objective, can):
    subject = subjects.load(saved(drawn(objective)))
    assert {name: getattr(subject, name) for name in can} == can
    assert (subject.heads, subject.max_length, subject.padding) == (2, None, PAD)


def test_a_closed_head_of_a_run():
    """As the model's own gates close it, and with these left as they were."""
    subject = Run(drawn("mlm"), tokenizer=None)
    usual = subject.hidden_states(IDS)
    gates = torch.tensor([[1.0, 1.0], [0.0, 1.0]])
    found = subject.hidden_states(IDS, gates)
    assert all(map(torch.equal, subject.hidden_states(IDS), usual))
    assert all(map(torch.equal, subject.hidden_states(IDS, torch.ones(2, 2)), usual))
    subject.model.encoder.layers[1].attention.gates[0] = 0
    assert all(map(torch.equal, found, subject.hidden_states(IDS)))
    assert not torch.equal(found[-1], usual[-1])


def test_where_heads_were_removed_and_layers_differ_none_are_looked_at():
    """Which of those that are left a gate is for, the smaller model does not know."""
    model = drawn("mlm")
    model.encoder.layers[1].attention.gates[0] = 0
    subject = Run(without_closed_heads(model), tokenizer=None)
    assert subject.heads == 0
    line = "heads were removed from it, and its layers have 2, 1; look at the model"
    with pytest.raises(UserError, match=line):
        subject.hidden_states(IDS, gates=torch.ones(2, 2))
    with pytest.raises(UserError, match=line):
        subject.attentions(IDS)
    hidden = torch.zeros((2, *IDS.shape), dtype=torch.bool)
    assert len(subject.hidden_states(IDS, hidden=hidden)) == 3
    assert line in subject.without_heads("looked at") and subject.without_heads("changed") is None


def test_where_as_many_heads_were_removed_from_each_layer_the_others_are_its_heads():
    model = drawn("mlm")
    for layer in model.encoder.layers:
        layer.attention.gates[0] = 0
    subject = Run(without_closed_heads(model), tokenizer=None)
    assert subject.heads == 1 and len(subject.attentions(IDS)) == 2


@pytest.mark.parametrize("objective", ["lm", "mlm"])
def test_a_hidden_token_of_a_run_changes_no_other(objective):
    subject = Run(drawn(objective), tokenizer=None)
    hidden = torch.zeros(2, 5, dtype=torch.bool)
    hidden[:, 0] = True
    other = torch.where(hidden, 13, IDS)
    found, changed = (subject.hidden_states(ids, hidden=hidden) for ids in (IDS, other))
    rest = (IDS != PAD) & ~hidden
    assert torch.equal(found[-1][rest], changed[-1][rest])
    assert not torch.equal(found[-1][hidden], changed[-1][hidden])
    for weights in subject.attentions(IDS, hidden=hidden):
        assert weights[:, :, 1:, 0].eq(0).all()
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 2, 5))


def test_hidden_in_one_layer_of_a_run():
    """Layer by layer as `after` does it, which influence is measured with."""
    subject = Run(drawn("mlm"), tokenizer=None)
    hidden = torch.zeros(2, 2, 5, dtype=torch.bool)
    hidden[1, :, 0] = True
    found = subject.hidden_states(IDS, hidden=hidden)
    usual = subject.hidden_states(IDS)
    tokens = IDS != PAD
    torch.testing.assert_close(found[1][tokens], usual[1][tokens])
    expected = subject.after(2, found[1], IDS, hidden[1])
    assert torch.equal(found[2][tokens], expected[tokens])
    assert not torch.allclose(found[2][tokens], usual[2][tokens])


@pytest.mark.parametrize("objective", ["lm", "mlm", "mt"])
def test_the_untrained_twin_is_what_a_run_starts_from(saved, objective):
    folder = saved(drawn(objective))
    before = torch.random.get_rng_state()
    subjects.load(folder)
    (folder / "model.safetensors").unlink()
    twin = subjects.untrained(folder, seed=7)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert same_bytes(twin.model.state_dict(), initial(objective, seed=7).state_dict())
    assert twin.causal == (objective == "lm")
    assert twin.tokenizer.encode("five green cats").ids


def test_shapes(saved):
    subject = subjects.load(saved(drawn("mlm", layers=3)))
    assert (subject.layers, subject.d_model) == (3, 16)
    assert [h.shape for h in subject.hidden_states(IDS)] == [(2, 5, 16)] * 4
    attentions = subject.attentions(IDS)
    assert [a.shape for a in attentions] == [(2, 2, 5, 5)] * 3
    assert all(torch.allclose(a.sum(dim=-1), torch.ones(2, 2, 5)) for a in attentions)
    assert not subject.hidden_states(IDS)[0].requires_grad


def test_tokens_are_those_of_the_token_files(saved, corpus_files):
    """As transformers opens them, too."""
    folder = saved(drawn("lm"))
    trained_on = Tokenizer.from_file(str(corpus_files.tokenizer("source")))
    ids = trained_on.encode("Five GREEN cats ate <mask>").ids
    assert subjects.load(folder).tokenizer.encode("Five GREEN cats ate <mask>").ids == ids
    assert ids[-1] == EOS and ids[-2] == MASK
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    assert tokenizer("Five GREEN cats ate <mask>").input_ids == ids
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


def test_of_a_kind_that_nobody_knows(saved):
    folder = saved(drawn("lm"))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "ours"}))
    with pytest.raises(UserError, match=r"transformers does not load .*ours") as error:
        subjects.load(folder)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("token", [-1, VOCAB])
def test_tokens_that_the_model_does_not_know(token):
    subject = Run(drawn("lm"), None)
    with pytest.raises(UserError, match=f"ids from .* bottomup knows 0 to {VOCAB - 1};"):
        subject.hidden_states(torch.tensor([[5, token, 6]]))


SHAPE = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2}
BERT = BertConfig(**SHAPE, intermediate_size=32, pad_token_id=PAD)
GPT2 = GPT2Config(vocab_size=40, n_embd=16, n_layer=3, n_head=2, n_positions=32)
T5 = T5Config(vocab_size=40, d_model=16, d_kv=8, d_ff=32, num_layers=3, num_heads=2, pad_token_id=0)


@pytest.fixture(params=[BERT, GPT2, T5], ids=["bert", "gpt2", "t5"])
def other(request, tmp_path, corpus_files):
    """A small model of another kind, and the folder in which it was saved."""
    torch.manual_seed(1)
    model = AutoModel.from_config(request.param, attn_implementation="eager").eval()
    model.save_pretrained(tmp_path / "other")
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(corpus_files.tokenizer("source")), pad_token="<pad>"
    )
    tokenizer.save_pretrained(tmp_path / "other")
    return model, tmp_path / "other"


def test_other_models_of_transformers(other):
    model, folder = other
    subject = subjects.load(folder)
    assert (subject.layers, subject.d_model) == (3, 16)
    ids = IDS[:1]
    if model.config.is_encoder_decoder:
        expected = model.encoder(ids, output_hidden_states=True, output_attentions=True)
    else:
        expected = model(ids, output_hidden_states=True, output_attentions=True)
    torch.testing.assert_close(subject.hidden_states(ids), expected.hidden_states)
    torch.testing.assert_close(subject.attentions(ids), expected.attentions)
    assert subject.tokenizer.encode("five green cats").ids


def test_padding_changes_nothing_in_other_models(other):
    subject = subjects.load(other[1])
    tokens = int((IDS[1] != PAD).sum())
    alone = subject.hidden_states(IDS[1:, :tokens])
    for layer, states in enumerate(subject.hidden_states(IDS)):
        torch.testing.assert_close(states[1:, :tokens], alone[layer])
    for weights in subject.attentions(IDS):
        assert weights[1, :, :tokens, tokens:].eq(0).all()
        torch.testing.assert_close(weights.sum(dim=-1)[1, :, :tokens], torch.ones(2, tokens))


def test_views_of_another_model(other, tmp_path):
    subject, text = subjects.load(other[1]), tokens_of([[5, 6, 7, 8], [9, 10]])
    table = pd.DataFrame({"text": [0, 0, 1], "position": [0, 3, 1]})
    extract(subject, text, table, tmp_path / "views.npy", "float32", 64)
    first, second = (
        subject.hidden_states(torch.from_numpy(text.sentence(i)).long()[None]) for i in (0, 1)
    )
    for layer, view in enumerate(np.load(tmp_path / "views.npy")):
        expected = torch.cat([first[layer][0, [0, 3]], second[layer][0, [1]]])
        torch.testing.assert_close(torch.from_numpy(view), expected)
