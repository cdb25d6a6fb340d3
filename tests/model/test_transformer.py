import math

import pytest
import torch

from bottomup.corpus.specials import PAD
from bottomup.model import folder
from bottomup.model.transformer import Encoder
from tests.model import by_hand
from tests.tiny import SHAPE, drawn, ids_of, initial, model_of, same_bytes

CLOSE = {"rtol": 1e-4, "atol": 1e-5}
SENTENCES = [[5, 6, 7, 8, 9, 10], [11, 12], [13, 14, 15, 16]]


@pytest.fixture
def ids():
    return ids_of(SENTENCES)


def changed(ids: torch.Tensor, position: int) -> torch.Tensor:
    """Another token at one position of the first sentence."""
    ids = ids.clone()
    ids[0, position] = 19
    return ids


# What a position may look at


def test_bidirectional_sees_later_tokens(ids):
    encoder = drawn("mlm").encoder
    before = encoder(ids, output_hidden_states=True).hidden_states
    after = encoder(changed(ids, 4), output_hidden_states=True).hidden_states
    assert torch.equal(before[0][0, :4], after[0][0, :4])
    for layer in (1, 2):
        assert (before[layer][0, :4] != after[layer][0, :4]).any(dim=1).all()


@pytest.mark.parametrize("position", range(1, 6))
def test_causal_does_not(ids, position):
    """Bit for bit, in a batch with padding."""
    encoder = drawn("lm").encoder
    before = encoder(ids, output_hidden_states=True).hidden_states
    after = encoder(changed(ids, position), output_hidden_states=True).hidden_states
    for a, b in zip(before, after, strict=True):
        assert torch.equal(a[0, :position], b[0, :position])
    assert (before[2][0, position:] != after[2][0, position:]).any(dim=1).all()


@pytest.mark.parametrize("objective", ["lm", "mlm", "mt", "untrained"])
def test_objectives_look_as_they_should(objective):
    assert initial(objective).encoder.causal == (objective == "lm")


@pytest.mark.parametrize("objective", ["lm", "mlm"])
def test_sentences_of_a_batch_do_not_see_each_other(ids, objective):
    encoder = drawn(objective).encoder
    assert torch.equal(encoder(ids).states[1:], encoder(changed(ids, 2)).states[1:])


@pytest.mark.parametrize("objective", ["lm", "mlm"])
def test_padding_changes_no_token(ids, objective):
    encoder = drawn(objective).encoder
    together = encoder(ids, output_hidden_states=True).hidden_states
    wider = encoder(torch.nn.functional.pad(ids, (0, 3), value=PAD)).states
    for row, sentence in enumerate(SENTENCES):
        n = len(sentence) + 1
        alone = encoder(ids_of([sentence]), output_hidden_states=True)
        for a, b in zip(together, alone.hidden_states, strict=True):
            torch.testing.assert_close(a[row, :n], b[0], **CLOSE)
        torch.testing.assert_close(wider[row, :n], alone.states[0], **CLOSE)


# What is computed


def test_layer_0_is_embedding_and_position_by_hand(ids):
    encoder = drawn("mlm").encoder
    layer_0 = encoder(ids, output_hidden_states=True).hidden_states[0]
    d = SHAPE["d_model"]
    for row in range(len(ids)):
        for place, token in enumerate(ids[row].tolist()):
            embedding = encoder.embedding.tokens.weight[token] * math.sqrt(d)
            expected = embedding + encoder.embedding.bias + by_hand.position(place, d)
            torch.testing.assert_close(layer_0[row, place], expected, **CLOSE)


@pytest.mark.parametrize("objective", ["lm", "mlm"])
def test_layers_are_the_pre_norm_formula(objective):
    encoder = drawn(objective).encoder
    encoding = encoder(ids_of(SENTENCES[:1]), output_hidden_states=True)
    x = encoding.hidden_states[0][0]
    allowed = torch.ones(len(x), len(x)).bool()
    if objective == "lm":
        allowed = allowed.tril()
    for layer, states in zip(encoder.layers, encoding.hidden_states[1:], strict=True):
        x = by_hand.encoder_layer(layer, x, allowed)
        torch.testing.assert_close(states[0], x, **CLOSE)
    torch.testing.assert_close(encoding.states[0], by_hand.norm(encoder.norm, x), **CLOSE)


def test_decoder_is_the_pre_norm_formula_from_a_zero_vector():
    model = drawn("mt")
    source, target = ids_of([[5, 6, 7]]), ids_of([[8, 9]])
    d = SHAPE["d_model"]
    embedding = model.decoder.embedding
    rows = [
        torch.zeros(d),
        *(embedding.tokens.weight[i] * math.sqrt(d) + embedding.bias for i in (8, 9)),
    ]
    x = torch.stack([row + by_hand.position(place, d) for place, row in enumerate(rows)])
    memory = model.encoder(source).states[0]
    for layer in model.decoder.layers:
        x = by_hand.decoder_layer(layer, x, memory)
    expected = by_hand.norm(model.decoder.norm, x)
    torch.testing.assert_close(model(source, target)[0], expected, **CLOSE)


def test_decoder_reads_the_target_shifted(ids):
    """The state that predicts a token sees those before it, bit for bit no other."""
    model = drawn("mt")
    before = model(ids, ids)
    after = model(ids, changed(ids, 3))
    assert before.shape == (*ids.shape, SHAPE["d_model"])
    same = (before[0] == after[0]).all(dim=1).tolist()
    assert same == [True] * 4 + [False] * 3


def test_decoder_sees_all_of_the_source_but_padding(ids):
    model = drawn("mt")
    target = ids_of([[5], [6], [7]])
    assert (model(ids, target)[0] != model(changed(ids, 5), target)[0]).any(dim=1).all()
    for row, sentence in enumerate(SENTENCES):
        alone = model(ids_of([sentence]), target[row : row + 1])
        torch.testing.assert_close(model(ids, target)[row], alone[0], **CLOSE)


def test_decoder_steps_with_a_cache_are_the_whole_pass(ids):
    model = drawn("mt")
    target = ids_of([[5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]])
    whole = model(ids, target)
    memory = model.decoder.project_memory(model.encoder(ids).states)
    mask = (ids != PAD)[:, None, None, :]
    last, cache = None, None
    for place in range(target.shape[1]):
        state, cache = model.decoder.step(last, memory, mask, cache)
        torch.testing.assert_close(state, whole[:, place], **CLOSE)
        last = target[:, place]


@pytest.mark.parametrize("objective", ["lm", "mlm"])
def test_what_is_handed_out_costs_no_bit(ids, objective):
    encoder = drawn(objective).encoder
    plain = encoder(ids)
    full = encoder(ids, output_hidden_states=True, output_attentions=True)
    assert plain.hidden_states == plain.attentions == ()
    assert torch.equal(plain.states, full.states)
    assert len(full.hidden_states) == 3
    assert torch.equal(encoder.norm(full.hidden_states[-1]), full.states)
    assert [a.shape for a in full.attentions] == [(3, 2, 7, 7)] * 2


def test_dropout_acts_in_training_alone(ids):
    model = drawn("mlm", dropout=0.5)
    assert torch.equal(model(ids), model(ids))
    model.train()
    assert not torch.equal(model(ids), model(ids))


# Initial weights


def test_what_models_share_is_the_same_bytes():
    models = {name: initial(name).state_dict() for name in ("lm", "mlm", "mt", "untrained")}
    shared = [name for name in models["mt"] if not name.startswith("decoder.")]
    assert len([name for name in shared if name.startswith("encoder.")]) > 20
    for weights in models.values():
        assert all(torch.equal(weights[name], models["mt"][name]) for name in shared)
    assert same_bytes(models["lm"], models["mlm"])


def test_what_else_a_model_contains_does_not_matter():
    """A deeper model of the same seed has the same first layers."""
    shallow, deep = initial("mlm"), initial("mlm", layers=3, d_ff=64)
    for name in ("attention.query.weight", "attention.key_value.weight", "attention.out.weight"):
        a, b = shallow.encoder.layers[1], deep.encoder.layers[1]
        assert torch.equal(a.get_parameter(name), b.get_parameter(name))


def test_seeds_differ_and_are_repeated():
    assert same_bytes(initial("mt", seed=1).state_dict(), initial("mt", seed=1).state_dict())
    other = initial("mt", seed=2)
    for name, parameter in initial("mt", seed=1).named_parameters():
        if parameter.dim() == 2:
            assert not torch.isclose(parameter, other.get_parameter(name)).any(dim=1).all(), name


def test_no_two_matrices_are_alike():
    matrices = [p for p in initial("mt").parameters() if p.dim() == 2]
    firsts = {parameter.flatten()[0].item() for parameter in matrices}
    assert len(firsts) == len(matrices)


def test_embeddings_have_variance_1_by_d():
    d, n = 16, 3000 * 16
    for embedding in (
        initial("mt", vocab=3000).encoder.embedding.tokens.weight,
        initial("mt", vocab=3000).decoder.embedding.tokens.weight,
    ):
        # Standard errors of n normal draws: of the mean s / sqrt(n), of s s / sqrt(2 n).
        assert abs(embedding.mean().item()) < 5 * d**-0.5 / n**0.5
        assert abs(embedding.std().item() * d**0.5 - 1) < 5 / (2 * n) ** 0.5


def test_matrices_are_glorot_uniform():
    model = initial("mt", vocab=50)
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2 and not name.endswith("tokens.weight"):
            for block in parameter.chunk(2) if "key_value" in name else [parameter]:
                bound = (6 / sum(block.shape)) ** 0.5
                # All of n uniform draws stay below 0.95 of the bound with probability 0.95^n.
                assert 0.95 ** block.numel() < 1e-5
                assert 0.95 * bound < block.abs().max().item() <= bound, name


def test_vectors_are_zero_and_one():
    for name, parameter in initial("mt").named_parameters():
        if parameter.dim() == 1:
            assert (parameter == (1.0 if name.endswith("norm.weight") else 0.0)).all(), name


def test_embeddings_are_untied():
    model = initial("mt")
    pointers = {
        weight.data_ptr()
        for weight in (
            model.head.weight,
            model.encoder.embedding.tokens.weight,
            model.decoder.embedding.tokens.weight,
        )
    }
    assert len(pointers) == 3


def test_every_parameter_is_trained(ids):
    """Under each objective's loss; one that is not would be a leftover."""
    for objective in ("lm", "mlm", "mt"):
        model = initial(objective)
        states = model(ids, ids if objective == "mt" else None)
        model.head(states).square().sum().backward()
        assert all(parameter.grad is not None for parameter in model.parameters())


# Hugging Face folders


@pytest.mark.parametrize("objective", ["lm", "mt"])
def test_saved_and_loaded_is_the_same_bytes(tmp_path, ids, objective):
    model = drawn(objective)
    model.encoder.layers[0].attention.gates[1] = 0.0
    folder.save(model, tmp_path)
    loaded = folder.load(tmp_path).eval()
    assert same_bytes(model.state_dict(), loaded.state_dict())
    assert loaded.config == model.config
    assert loaded.encoder.causal == (objective == "lm")
    assert torch.equal(model.encoder(ids).states, loaded.encoder(ids).states)
    assert {path.name for path in tmp_path.iterdir()} == {"config.json", "model.safetensors"}


def test_sizes_are_the_configurations():
    model = model_of(vocab_size=9, target_vocab_size=7, decoder_layers=2)
    assert isinstance(model.encoder, Encoder)
    assert model.encoder.embedding.tokens.weight.shape == (9, 16)
    assert model.decoder.embedding.tokens.weight.shape == (7, 16)
    assert model.head.weight.shape == (7, 16)
    assert len(model.encoder.layers) == 1 and len(model.decoder.layers) == 2
    assert not hasattr(model_of(), "decoder")
