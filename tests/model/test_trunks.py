from itertools import product

import pytest
import torch

from bottomup.model.trunks import backwards, convolution, lstm
from tests.tiny import drawn, ids_of, initial, noise, same_bytes

TRUNKS = ["lstm", "convolution"]
OBJECTIVES = ["lm", "mlm", "bilm"]
SENTENCES = [[5, 6, 7, 8, 9, 10], [11], [12, 13, 14]]
LENGTH = 12
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def layers_of(model, ids):
    with torch.no_grad():
        return torch.stack(model.encoder(ids))


def moved_by(objective, trunk, layers=2):
    """Which positions of each layer another token at each place changes, by dimension: bool
    `[place, layer, position, d_model]`."""
    model = drawn(objective, trunk=trunk, layers=layers)
    ids = torch.arange(5, 5 + LENGTH)[None]
    usual, moved = layers_of(model, ids), []
    for place in range(LENGTH):
        other = ids.clone()
        other[0, place] = 4
        moved.append((layers_of(model, other) - usual)[:, 0].abs() > 1e-7)
    return torch.stack(moved)


# One layer, from its equations


def lstm_by_hand(module, x):
    """Hochreiter and Schmidhuber 1997 with forget gates; one sentence `[length, width]`."""
    bias = module.bias_ih_l0 + module.bias_hh_l0
    h = c = torch.zeros(module.hidden_size)
    states = []
    for token in x:
        maps = module.weight_ih_l0 @ token + module.weight_hh_l0 @ h + bias
        i, f, g, o = maps.unflatten(0, (4, -1))
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        states.append(h)
    return torch.stack(states)


@torch.no_grad()
@pytest.mark.parametrize("one_way", [True, False])
def test_lstm_by_hand(one_way):
    layer = noise(lstm.Layer(6, one_way))
    x = torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(0))
    tokens = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    found = layer(x, tokens)
    for row, length in enumerate((5, 3)):
        read = x[row, :length]
        expected = [lstm_by_hand(layer.lstms[0], read)]
        if not one_way:
            expected.append(lstm_by_hand(layer.lstms[1], read.flip(0)).flip(0))
        torch.testing.assert_close(found[row, :length], torch.cat(expected, dim=1), **CLOSE)


@torch.no_grad()
@pytest.mark.parametrize(("one_way", "offsets"), [(True, range(-4, 1)), (False, range(-2, 3))])
def test_convolution_by_hand(one_way, offsets):
    layer = noise(convolution.Layer(4, one_way))
    x = torch.randn(1, 7, 4, generator=torch.Generator().manual_seed(0))
    tokens = torch.tensor([[True] * 6 + [False]])
    normed = layer.norm(x[0])
    for position in range(6):
        maps = layer.convolution.bias.clone()
        for number, offset in enumerate(offsets):
            if 0 <= position + offset < 6:
                maps += layer.convolution.weight[:, :, number] @ normed[position + offset]
        expected = maps[:4] * maps[4:].sigmoid()
        torch.testing.assert_close(layer(x, tokens)[0, position], expected, **CLOSE)


def test_backwards_turns_sentences_and_leaves_padding():
    x = torch.arange(8.0).reshape(2, 4, 1)
    tokens = torch.tensor([[True] * 4, [True, True, False, False]])
    found = backwards(x, tokens)
    assert found[..., 0].tolist() == [[3, 2, 1, 0], [5, 4, 6, 7]]
    assert torch.equal(backwards(found, tokens), x)


# What a stack of them sees


@pytest.mark.parametrize(("trunk", "objective"), [*product(TRUNKS, OBJECTIVES)])
def test_padding_changes_nothing(trunk, objective):
    model = drawn(objective, trunk=trunk, layers=3)
    together = layers_of(model, ids_of(SENTENCES))
    for row, sentence in enumerate(SENTENCES):
        alone = layers_of(model, ids_of([sentence]))[:, 0]
        torch.testing.assert_close(together[:, row, : len(sentence) + 1], alone, **CLOSE)


@pytest.mark.parametrize("trunk", TRUNKS)
def test_a_causal_one_sees_what_came_before_alone(trunk):
    moved = moved_by("lm", trunk).any(dim=-1)
    for place, position in product(range(LENGTH), repeat=2):
        if trunk == "lstm":
            reached = [place == position] + 2 * [place <= position]
        else:  # 4 more tokens to the left in each layer
            reached = [place <= position <= place + 4 * layer for layer in range(3)]
        assert moved[place, :, position].tolist() == reached


@pytest.mark.parametrize("trunk", TRUNKS)
def test_one_of_both_sides_sees_both(trunk):
    moved = moved_by("mlm", trunk).any(dim=-1)
    reach = {"lstm": [0, LENGTH, LENGTH], "convolution": [0, 2, 4]}[trunk]
    for place, position in product(range(LENGTH), repeat=2):
        expected = [abs(place - position) <= tokens for tokens in reach]
        assert moved[place, :, position].tolist() == expected


def test_an_lstm_is_in_float32_on_a_cpu_that_does_not_multiply_bfloat16(monkeypatch):
    monkeypatch.setattr(lstm, "multiplies_bfloat16", lambda device: False)
    layer, tokens = noise(lstm.Layer(6, False)), torch.ones(2, 5, dtype=torch.bool)
    x = torch.randn(2, 5, 6)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low = layer(x, tokens)
    assert low.dtype == torch.float32 and torch.equal(low, layer(x, tokens))


def test_an_lstm_is_one_through_which_cudnn_computes_gradients():
    """As transfer needs of a model that it looks at, whose dropout is off."""
    model = drawn("mlm", trunk="lstm").eval()
    of_kind = {type(part): part.training for part in model.modules()}
    assert of_kind[lstm.Lstm] and not of_kind[type(model)]


def test_layers_of_an_lstm_see_both_sides_in_each_half():
    """Above the first layer, both directions read what both have made of the layer below."""
    first, second = (moved_by("mlm", "lstm")[:, layer].unflatten(-1, (2, 8)) for layer in (1, 2))
    for place, position in product(range(LENGTH), repeat=2):
        sees = first[place, position].any(dim=-1).tolist()
        assert sees == [place <= position, place >= position]
    assert second.any(dim=-1).all()


@pytest.mark.parametrize("trunk", TRUNKS)
def test_two_directions_do_not_see_each_other(trunk):
    """Each half of a view is a causal model of its own, in every layer."""
    moved = moved_by("bilm", trunk).unflatten(-1, (2, 8)).any(dim=-1)
    causal = moved_by("lm", trunk).any(dim=-1)
    assert torch.equal(moved[..., 0], causal)
    assert torch.equal(moved[..., 1], causal.flip(0, 2))


@pytest.mark.parametrize("trunk", TRUNKS)
def test_with_the_weights_of_the_other_a_direction_reads_backwards(trunk):
    model = drawn("bilm", trunk=trunk)
    model.encoder.stacks[1].load_state_dict(model.encoder.stacks[0].state_dict())
    ids = torch.arange(5, 5 + LENGTH)[None]
    forward, backward = layers_of(model, ids).chunk(2, dim=-1)
    forward_of_reversed, _ = layers_of(model, ids.flip(1)).chunk(2, dim=-1)
    torch.testing.assert_close(backward.flip(2), forward_of_reversed, **CLOSE)
    assert torch.equal(forward[0], backward[0])  # one embedding


@torch.no_grad()
@pytest.mark.parametrize("trunk", TRUNKS)
def test_layers_add_to_what_they_read_but_the_first_of_an_lstm(trunk):
    model, ids = drawn("lm", trunk=trunk, layers=3), torch.tensor([[5, 6, 7]])
    embedded, one, two, three = layers_of(model, ids)
    assert torch.equal(embedded, model.encoder.embedding(ids))
    first, second, third = model.encoder.stacks[0]
    tokens = torch.ones(1, 3, dtype=torch.bool)
    read = 0 if trunk == "lstm" else embedded
    torch.testing.assert_close(one, read + first(embedded, tokens))
    torch.testing.assert_close(two, one + second(one, tokens))
    torch.testing.assert_close(three, two + third(two, tokens))
    torch.testing.assert_close(model(ids), model.norm(three))


# Initial weights


@pytest.mark.parametrize(("trunk", "objective"), [*product(TRUNKS, OBJECTIVES)])
def test_a_seed_is_one_model(trunk, objective):
    one, same, other = (initial(objective, seed, trunk=trunk).state_dict() for seed in (1, 1, 2))
    assert same_bytes(one, same)
    drawn_again = [name for name in one if not torch.equal(one[name], other[name])]
    assert drawn_again == [name for name in one if one[name].dim() > 1]


@pytest.mark.parametrize("trunk", TRUNKS)
def test_words_start_where_those_of_a_transformer_do(trunk):
    found, expected = (initial("lm", trunk=kind).state_dict() for kind in (trunk, None))
    for name in ("encoder.embedding.tokens.weight", "head.weight"):
        assert torch.equal(found[name], expected[name])


def test_each_gate_is_a_glorot_map_of_its_own():
    """Uniform within sqrt(6 / (fan in + fan out)), fans that of one gate, taps of it included."""
    d = 64
    of_lstm = initial("lm", trunk="lstm", d_model=d).encoder.stacks[0][0].lstms[0]
    of_convolution = initial("lm", trunk="convolution", d_model=d).encoder.stacks[0][0].convolution
    for matrix, bound in [
        (of_lstm.weight_ih_l0, (6 / (2 * d)) ** 0.5),
        (of_lstm.weight_hh_l0, (6 / (2 * d)) ** 0.5),
        (of_convolution.weight, (6 / (2 * d * convolution.KERNEL)) ** 0.5),
    ]:
        assert 0.99 * bound < matrix.abs().max().item() <= bound * (1 + 1e-6)
        assert matrix.std().item() == pytest.approx(bound / 3**0.5, rel=0.02)
    # Forget gates start open.
    bias = of_lstm.bias_ih_l0 + of_lstm.bias_hh_l0
    assert bias.unflatten(0, (4, d)).tolist() == [[0.0] * d, [1.0] * d, [0.0] * d, [0.0] * d]
