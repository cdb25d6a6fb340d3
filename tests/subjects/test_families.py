"""Each family, as transformers has it: nothing differs, and what is asked for is done."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor
from transformers import (
    AutoModel,
    BertConfig,
    BertLMHeadModel,
    DebertaV2Config,
    DebertaV2ForMaskedLM,
    EsmConfig,
    EsmForMaskedLM,
    Gemma2Config,
    Gemma2ForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    ModernBertConfig,
    ModernBertForMaskedLM,
)

from bottomup import subjects
from bottomup.core.errors import UserError
from bottomup.heads.checkpoints.predictor import CheckpointPredictor
from bottomup.heads.checkpoints.projections import what_reads_heads
from tests.subjects import every_family, families
from tests.subjects.families import FAMILIES, HEADS, LAYERS, VOCAB, WIDTH, Family
from tests.tiny import noise, same_bytes

pytestmark = pytest.mark.long

LENGTH = 5


@pytest.fixture(scope="module", params=FAMILIES)
def folder(request, tmp_path_factory):
    return families.save(FAMILIES[request.param], tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def family(folder) -> Family:
    return FAMILIES[AutoModel.from_pretrained(folder).config.model_type]


@pytest.fixture(scope="module")
def subject(folder):
    return subjects.load(folder)


@pytest.fixture(scope="module")
def ids(subject):
    """A sentence of five tokens and one of three, padded."""
    ids = torch.tensor([[5, 6, 7, 8, 9], [10, 6, 11, 0, 0]])
    ids[1, 3:] = subject.padding
    return ids


TOKENS = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])


def eager(folder, ids):
    """What transformers makes of a padded batch, the encoder of a model that has one."""
    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    encoder = model.encoder if model.config.is_encoder_decoder else model
    with torch.no_grad():
        return encoder(
            ids, attention_mask=TOKENS.long(), output_hidden_states=True, output_attentions=True
        )


def test_is_eager_bit_for_bit(folder, subject, ids):
    expected = eager(folder, ids)
    hidden_states, attentions = subject.hidden_states(ids), subject.attentions(ids)
    assert len(hidden_states) == len(expected.hidden_states) == LAYERS + 1
    assert len(attentions) == len(expected.attentions) == LAYERS
    for found, usual in zip(hidden_states, expected.hidden_states, strict=True):
        assert torch.equal(found[TOKENS], usual[TOKENS])
    for found, usual in zip(attentions, expected.attentions, strict=True):
        assert torch.equal(found.mT.transpose(1, 3)[TOKENS], usual.mT.transpose(1, 3)[TOKENS])


def test_what_it_can_do(subject, family):
    assert (subject.layers, subject.d_model, subject.heads) == (LAYERS, WIDTH, HEADS)
    assert subject.hides
    assert subject.causal == family.causal
    assert subject.masks == family.masks
    assert subject.translates == family.translates
    assert subject.max_length == family.max_length


def test_causal_is_whether_a_later_token_changes_earlier_ones(subject, ids):
    other = ids[:1].clone()
    other[0, -1] = 12
    for layer in range(1, LAYERS + 1):
        usual, changed = (subject.hidden_states(x)[layer][0] for x in (ids[:1], other))
        assert not torch.equal(changed[-1], usual[-1])
        assert torch.equal(changed[:-1], usual[:-1]) == subject.causal


def test_causal_is_found_from_the_model(tmp_path):
    model = BertLMHeadModel(BertConfig(**families.BERT, is_decoder=True))
    model.save_pretrained(tmp_path)
    families.save_tokenizer(tmp_path)
    subject = subjects.load(tmp_path)
    assert subject.causal
    assert not subject.masks


def test_a_family_whose_tokens_see_no_other_is_refused(tmp_path):
    """MRA without a GPU: transformers attends with a kernel, and in its place with zeros."""
    every_family.save("mra", tmp_path, ("pad", "mask"))
    with pytest.raises(UserError, match=r"mra .* none of its tokens sees another") as raised:
        subjects.load(tmp_path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "learns", "sees"), [("rwkv", False, (False, True)), ("ibert", True, (True, True))]
)
def test_who_writes_over_states_does_not_learn(name, learns, sees, tmp_path):
    """As RWKV without a GPU. Of both what is seen is told by states: those of I-BERT, of numbers
    and their scales, have slopes by weights alone."""
    every_family.save(name, tmp_path, ("pad", "mask"))
    subject = subjects.load(tmp_path)
    assert subject.learns == learns and subject.sees == sees
    assert subjects.untrained(tmp_path, 1).sees == sees
    state = subject.differentiable_states(torch.tensor([[5, 6, 7]]))[-1].sum()
    with nullcontext() if learns else pytest.raises(RuntimeError):
        state.backward()


def test_attention_sums_to_one_over_what_is_seen(subject, ids):
    seen = TOKENS[:, None, None, :].expand(2, HEADS, LENGTH, LENGTH)
    seen = seen.tril() if subject.causal else seen
    for weights in subject.attentions(ids):
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, HEADS, LENGTH))
        rows = TOKENS[:, None, :, None].expand_as(weights)
        assert torch.equal((weights > 0)[rows], seen[rows])


def test_what_each_layer_sees_is_what_has_weight(subject, ids):
    assert len(subject.visible(LENGTH)) == LAYERS
    for seen, weights in zip(subject.visible(LENGTH), subject.attentions(ids), strict=True):
        assert torch.equal(seen.expand(HEADS, -1, -1), weights[0] > 0)


@pytest.mark.parametrize(
    "name, config, trained, reach",
    [
        ("llama", MistralConfig, MistralForCausalLM, [(3, 0), (3, 0)]),
        ("llama", Gemma2Config, Gemma2ForCausalLM, [(3, 0), (11, 0)]),
        ("bert", ModernBertConfig, ModernBertForMaskedLM, [(11, 11), (2, 2)]),
    ],
)
def test_a_layer_sees_what_is_in_its_window(name, config, trained, reach, tmp_path):
    """How many tokens it sees before a token, and after it; a window of 4 has the token in it."""
    window = {"sliding_window": 4, "num_key_value_heads": 2, "head_dim": 4}
    if config is ModernBertConfig:
        window = {"local_attention": 4, "global_attn_every_n_layers": 2}
    made = config(**families.BERT, **window)
    family = replace(FAMILIES[name], config=made, trained=trained)
    subject, places = subjects.load(families.save(family, tmp_path)), torch.arange(12)
    apart, ids = places - places[:, None], torch.arange(4, 16)[None]
    weights = subject.attentions(ids, lengths=torch.tensor([12]))
    for (before, after), seen, of in zip(reach, subject.visible(12), weights, strict=True):
        assert torch.equal(seen, (-before <= apart) & (apart <= after))
        assert torch.equal(seen.expand(HEADS, -1, -1), of[0] > 0)
    alike = {id(seen) for seen in subject.visible(12)}
    assert len(alike) == len({*reach}), "layers of one kind share a map"


def test_open_gates_and_nothing_hidden_change_no_bit(subject, ids):
    changed = subject.hidden_states(
        ids, torch.ones(LAYERS, HEADS), torch.zeros(2, LENGTH, dtype=torch.bool)
    )
    assert all(map(torch.equal, changed, subject.hidden_states(ids)))


@pytest.mark.parametrize(("layer", "head"), [(0, 1), (1, 0)])
def test_a_closed_head_is_one_whose_output_is_not_projected(folder, family, ids, layer, head):
    subject = subjects.load(folder)
    gates = torch.ones(LAYERS, HEADS)
    gates[layer, head] = 0
    found = subject.hidden_states(ids, gates)
    usual = subject.hidden_states(ids)
    width = WIDTH // HEADS
    projection = subject.model.get_submodule(family.projection.format(layer))
    with torch.no_grad():
        # GPT-2 keeps its matrices transposed.
        weight = projection.weight.mT if family.projection.endswith("c_proj") else projection.weight
        weight[:, head * width : (head + 1) * width] = 0
    expected = subject.hidden_states(ids)
    assert all(map(torch.equal, found, expected))
    assert all(map(torch.equal, found[: layer + 1], usual))
    assert not torch.allclose(found[-1][TOKENS], usual[-1][TOKENS])


def test_gates_scale(subject, ids):
    """Halfway between open and closed, the first layer's attention adds half of it."""
    halves = [torch.full((LAYERS, HEADS), gate) for gate in (0.0, 0.5, 1.0)]
    closed, half, usual = (subject.attentions(ids, gates) for gates in halves)
    assert torch.equal(closed[0], usual[0])
    assert not torch.allclose(half[1], usual[1])
    assert not torch.allclose(half[1], closed[1])


def test_a_hidden_token_changes_no_other(subject, ids):
    """Whatever stands there: and it still sees the others, and itself."""
    hidden = torch.zeros(2, LENGTH, dtype=torch.bool)
    hidden[0, 1] = hidden[1, 1] = True
    other = torch.where(hidden, 13, ids)
    found, changed = (subject.hidden_states(x, hidden=hidden)[-1] for x in (ids, other))
    rest = TOKENS & ~hidden
    assert torch.equal(found[rest], changed[rest])
    assert not torch.equal(found[hidden], changed[hidden])
    assert not torch.equal(found[rest], subject.hidden_states(ids)[-1][rest])
    itself = torch.eye(LENGTH, dtype=torch.bool)
    for weights in subject.attentions(ids, hidden=hidden):
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, HEADS, LENGTH))
        unseen = hidden[:, None, None, :] & ~itself & TOKENS[:, None, :, None]
        assert weights.masked_select(unseen).eq(0).all()
        assert weights[hidden[:, None].expand(2, HEADS, LENGTH)].gt(0).sum() > HEADS * 2


@pytest.mark.parametrize("layer", range(LAYERS))
def test_hidden_in_one_layer_alone(subject, ids, layer):
    hidden = torch.zeros(LAYERS, 2, LENGTH, dtype=torch.bool)
    hidden[layer, :, 0] = True
    found, usual = subject.hidden_states(ids, hidden=hidden), subject.hidden_states(ids)
    assert all(map(torch.equal, found[: layer + 1], usual))
    assert not torch.equal(found[layer + 1], usual[layer + 1])
    for number, weights in enumerate(subject.attentions(ids, hidden=hidden)):
        to_first = weights[0, :, 1:, 0]
        assert to_first.eq(0).all() if number == layer else to_first.gt(0).all()


def test_what_layer_0_and_the_top_are(tmp_path, family):
    """As the interface's description says; with the weights of the start, norms do not scale."""
    subject = subjects.load(families.save(family, tmp_path, scale=0.0))
    hidden_states = subject.hidden_states(torch.tensor([[5, 6, 5, 7]]))
    first, below, top = (states[0] for states in (hidden_states[0], *hidden_states[-2:]))
    assert torch.allclose(first[0], first[2]) != family.positions
    alone = subject.hidden_states(torch.tensor([[5, 8, 9, 10]]))[0][0]
    assert torch.equal(alone[0], first[0])
    assert normed(first) == family.normed
    if family.top:
        assert normed(top) and not normed(below)


def normed(states):
    return torch.allclose(states.square().mean(dim=-1), torch.ones(1), atol=0.1)


def test_as_many_tokens_as_it_can_read(subject, family):
    longest = torch.full((1, family.max_length or 50), 7)
    assert subject.hidden_states(longest)[-1].shape[1] == longest.shape[1]
    if family.max_length is not None:
        with pytest.raises(UserError, match=r"has 13 tokens; \S+ reads at most 12"):
            subject.hidden_states(torch.full((1, 13), 7))
    if family.max_length is not None and family.positions:
        with pytest.raises((IndexError, RuntimeError)):
            subject.encoder(torch.full((1, 13), 7))


def test_the_decoder_can_be_reached(subject, ids):
    if subject.translates:
        output = subject.model(
            input_ids=ids, decoder_input_ids=ids[:, :3], output_attentions=True, use_cache=False
        )
        assert [w.shape for w in output.decoder_attentions] == [(2, HEADS, 3, 3)] * LAYERS
        assert [w.shape for w in output.cross_attentions] == [(2, HEADS, 3, LENGTH)] * LAYERS


def test_untrained_is_the_same_but_for_its_weights(folder, subject, ids):
    before = torch.random.get_rng_state()
    first, again, other = (subjects.untrained(folder, seed) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert same_bytes(first.model.state_dict(), again.model.state_dict())
    states = [s.hidden_states(ids)[-1] for s in (first, other, subject)]
    assert not torch.allclose(states[0], states[1])
    assert not torch.allclose(states[0], states[2])
    for name in ("layers", "d_model", "heads", "causal", "translates", "max_length"):
        assert getattr(first, name) == getattr(subject, name), name
    assert not first.masks and not first.predicts_tokens  # it was trained for nothing
    assert first.tokenizer.get_vocab() == subject.tokenizer.get_vocab()


def test_untrained_needs_no_weights(folder, tmp_path):
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    found, expected = (
        subjects.untrained(path, 3).model.state_dict() for path in (tmp_path, folder)
    )
    assert same_bytes(found, expected)


def test_a_model_whose_attention_cannot_be_looked_at(tmp_path):
    shape = families.BERT | {"num_hidden_layers": 1}
    DebertaV2ForMaskedLM(DebertaV2Config(**shape)).save_pretrained(tmp_path)
    families.save_tokenizer(tmp_path)
    subject = subjects.load(tmp_path)
    ids = torch.randint(3, VOCAB, (1, 4))
    assert (subject.heads, subject.causal) == (0, False)
    assert len(subject.hidden_states(ids)) == 2
    with pytest.raises(UserError, match="deberta-v2 has no attention that can be looked at"):
        subject.attentions(ids)
    with pytest.raises(UserError, match="deberta-v2 has no attention that can be changed"):
        subject.hidden_states(ids, torch.ones(1, 2))


def made(family, folder, **changed):
    """A tiny checkpoint with what a family's config does not have by itself."""
    config = every_family.tiny(family, **changed)
    model = getattr(transformers, every_family.PREDICTING[family])(config)
    noise(model, 1, 0.1).save_pretrained(folder)
    families.save_tokenizer(folder)
    return subjects.load(folder)


@pytest.mark.parametrize(("of_layers", "heads"), [([2, 4], 0), ([4, 4], 4)])
def test_layers_with_other_numbers_of_heads_are_not_looked_at(tmp_path, of_layers, heads):
    """No table has room for them, and gates none either."""
    shape = {"num_attention_heads_per_layer": of_layers, "num_key_value_heads": 2}
    subject = made("laguna", tmp_path, **shape)
    assert (subject.heads, subject.hides) == (heads, heads > 0)
    if not heads:
        line = r"laguna has no attention that can be looked at: of its 2 layers, .* 2, 4 heads; all"
        with pytest.raises(UserError, match=line):
            subject.attentions(torch.tensor([[5, 6, 7]]))


def test_layers_without_attention_are_named(tmp_path):
    subject = made("olmo_hybrid", tmp_path, layer_types=["linear_attention", "full_attention"])
    assert subject.heads == 0
    assert "of its 2 layers, transformers hands out attention with 2 h" in subject.without_heads(
        "looked at"
    )


@pytest.mark.parametrize("family", ["deepseek_v32", "glm_moe_dsa", "axk2", "minimax_m3_vl_text"])
def test_only_selected_keys_are_attended_to(tmp_path, family):
    """In a sentence of more tokens than a query selects, beside a shorter one."""
    every_family.save(family, tmp_path, ("pad", "mask"))
    subject = subjects.load(tmp_path)
    usual = AutoModel.from_pretrained(tmp_path, attn_implementation="eager").eval()
    ids, lengths = torch.arange(40).reshape(2, 20) + 3, torch.tensor([20, 13])
    states = subject.hidden_states(ids, lengths=lengths)
    attentions = subject.attentions(ids, lengths=lengths)
    for row, length in enumerate(lengths):
        alone = every_family.read(usual, [ids[row, :length].tolist()], output_hidden_states=True)
        for found, expected in zip(states, alone.hidden_states, strict=True):
            torch.testing.assert_close(found[row, :length], expected[0], rtol=1e-4, atol=1e-5)
    for weights in attentions:
        assert ((weights[0, :, -1] > 0).sum(-1) == every_family.SELECTED).all()


def test_gpt2_hands_out_attention_in_any_order_of_its_steps(tmp_path):
    """With the order for numbers of half precision, it would go around the interface."""
    subject, ids = made("gpt2", tmp_path, reorder_and_upcast_attn=True), torch.tensor([[5, 6, 7]])
    usual = AutoModel.from_pretrained(tmp_path, attn_implementation="eager").eval()
    assert subject.heads == HEADS
    expected = every_family.read(usual, ids.tolist(), output_attentions=True).attentions
    torch.testing.assert_close(subject.attentions(ids), expected)


@pytest.mark.parametrize("family", ["falcon_h1", "inkling_text"])
def test_what_attention_cannot_hide_is_not_said_to_be_hidden(tmp_path, family):
    """A convolution or a recurrence beside attention, in each layer, sees it all the same."""
    subject = made(family, tmp_path)
    ids = torch.tensor([[5, 6, 7, 8]])
    assert subject.heads and not subject.hides
    assert len(subject.attentions(ids)) == subject.layers
    assert subject.hidden_states(ids, torch.ones(subject.layers, subject.heads))
    with pytest.raises(UserError, match="be changed: its layers mix tokens by more than attention"):
        subject.hidden_states(ids, hidden=ids == 5)


def test_what_is_found_by_trying_is_not_tried_on_the_mask(tmp_path):
    """ESM scales all of a sentence by the share of masks in it, and leaves these out."""
    config = EsmConfig(**families.BERT, mask_token_id=1, token_dropout=True)
    subject = subjects.load(families.save(Family(config, EsmForMaskedLM, ""), tmp_path))
    assert subject.mask == 1 and subject.hides
    predictor = CheckpointPredictor(tmp_path, subject)
    assert len(what_reads_heads(predictor)) == LAYERS * HEADS


@pytest.mark.parametrize(
    ("family", "room", "hides"),
    [
        ("doge", {"keep_window_size": 5}, False),
        ("doge", {"keep_window_size": every_family.POSITIONS - 1}, False),
        ("doge", {"keep_window_size": every_family.POSITIONS}, True),  # it reads no more tokens
        ("deepseek_v32", {"index_topk": 5, "num_key_value_heads": HEADS}, False),
        ("switch_transformers", {"expert_capacity": 5}, False),
        ("switch_transformers", {"expert_capacity": 1000}, False),  # it reads any number
        ("switch_transformers", {"num_sparse_encoder_layers": 3}, True),  # more than it has: none
        ("nllb-moe", {"expert_capacity": 5}, True),  # for which there is room for all
    ],
)
def test_where_tokens_compete_for_room_none_is_said_to_be_hidden(tmp_path, family, room, hides):
    """A hidden one takes a place among the keys that are selected, or with an expert."""
    subject = made(family, tmp_path, **room)
    assert subject.heads and subject.hides == hides
    if not hides:
        [most, *_] = room.values()
        with pytest.raises(UserError, match=f"be changed: among more than {most} tokens a hidden"):
            subject.hidden_states(torch.tensor([[5, 6]]), hidden=torch.tensor([[True, False]]))


@pytest.mark.parametrize(
    "change",
    [lambda ids: ids[0], lambda ids: ids[:0], lambda ids: ids[:, :0], Tensor.float, Tensor.bool],
)
def test_ids_that_are_no_sentences(subject, ids, change):
    for read in (subject.hidden_states, subject.attentions):
        with pytest.raises(UserError, match=r"ids of shape \(.*\) and type torch.\w+; allowed"):
            read(change(ids))


def test_hidden_tokens_of_another_shape(subject, ids):
    for shape in [(2, 3), (1, 2, 5), (3, 2, 5), (5,)]:
        with pytest.raises(UserError, match=r"hidden tokens of shape .*; allowed: \(2, 5\), "):
            subject.hidden_states(ids, hidden=torch.zeros(shape, dtype=torch.bool))


def test_numbers_need_no_format_of_their_own(subject, ids):
    """Lists, arrays, and tensors of other types are what they say."""
    gates, hidden = torch.full((LAYERS, HEADS), 0.5), ids == 6
    lengths = torch.tensor([5, 3])
    expected = subject.hidden_states(ids, gates, hidden, lengths)
    as_arrays = ids.int().numpy(), gates.double().numpy(), hidden.float(), lengths.tolist()
    for change in (lambda part: part, np.ndarray.tolist):
        some = [change(part) for part in as_arrays[:2]]
        found = subject.hidden_states(*some, *as_arrays[2:])
        assert all(map(torch.equal, found, expected))


def test_gates_of_another_shape(subject, ids):
    with pytest.raises(UserError, match=r"gates of shape \(2, 3\); allowed: \(2, 2\)"):
        subject.hidden_states(ids, torch.ones(2, 3))
