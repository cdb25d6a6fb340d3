import numpy as np
import pytest
import torch

from bottomup import subjects
from bottomup.core.errors import UserError
from bottomup.corpus.tokens import TokenFile
from bottomup.heads.confidence import encoder_attention, head_attention
from bottomup.model.transformer import positions
from bottomup.objectives import Example
from tests.subjects import every_family
from tests.subjects.families import FAMILIES, save
from tests.tiny import drawn, ids_of

SOURCES = [[5, 6, 7, 8], [9, 4], [4, 4, 10, 6, 12, 7]]
TARGETS = [[7, 8, 4], [5, 6, 4, 9, 11], [10]]


def example(rows: list[int], translated: bool = True) -> Example:
    source, target = (ids_of([side[row] for row in rows]).numpy() for side in (SOURCES, TARGETS))
    return Example(source, target if translated else None, source)


def confidence(model, examples):
    return head_attention(model, examples)["confidence"].mean()


def close(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]):
    assert found.keys() == expected.keys()
    for kind in found:
        np.testing.assert_allclose(found[kind], expected[kind], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("objective", ["lm", "mlm", "mt"])
def test_it_is_the_mean_largest_weight_of_the_encoders_tokens(objective):
    model = drawn(objective, layers=3, heads=4)
    largest = []
    for sentence in SOURCES:
        weights = model.encoder(ids_of([sentence]), output_attentions=True).attentions
        weights = torch.stack(weights)[:, 0, :, :-1, :-1]  # without </s>
        if objective == "lm":  # whose first token sees itself alone
            weights = weights[:, :, 1:]
        largest += weights.amax(dim=-1).unbind(dim=-1)
    found = confidence(model, [example([0, 1, 2], translated=objective == "mt")])
    assert found["encoder"].shape == (3, 4)
    expected = torch.stack(largest).mean(dim=0).detach()
    np.testing.assert_allclose(found["encoder"], expected, rtol=1e-4)


def test_of_a_decoder_it_counts_the_predicted_tokens():
    """By hand: the weights of the first layer, from its modules, a sentence at a time."""
    model = drawn("mt")
    layer = model.decoder.layers[0]
    own, cross, start, end = [], [], [], []
    for source, target in zip(SOURCES, TARGETS, strict=True):
        states = model.encoder(ids_of([source])).states
        embedded = model.decoder.embedding(ids_of([target])[:, :-1])
        x = torch.nn.functional.pad(embedded, (0, 0, 1, 0))
        x = x + positions(x)
        normed = layer.attention_norm(x)
        attended, weights = layer.attention(normed, normed, causal=True, need_weights=True)
        # Rows predict the target's tokens and </s>; columns read the start and the tokens.
        own += weights[0, :, 1:-1, 1:].amax(dim=-1).unbind(dim=-1)
        start += weights[0, :, 1:-1, 0].unbind(dim=-1)
        _, weights = layer.cross(layer.cross_norm(x + attended), states, need_weights=True)
        cross += weights[0, :, :-1, :-1].amax(dim=-1).unbind(dim=-1)
        end += weights[0, :, :-1, -1].unbind(dim=-1)
    totals = head_attention(model, [example([0, 1, 2])])
    found, special = (totals[name].mean() for name in ("confidence", "special"))
    np.testing.assert_allclose(
        special["decoder"][0], torch.stack(start).mean(0).detach(), rtol=1e-4
    )
    np.testing.assert_allclose(special["cross"][0], torch.stack(end).mean(0).detach(), rtol=1e-4)
    np.testing.assert_allclose(found["decoder"][0], torch.stack(own).mean(0).detach(), rtol=1e-4)
    np.testing.assert_allclose(found["cross"][0], torch.stack(cross).mean(0).detach(), rtol=1e-4)


def test_what_sees_no_special_token_has_no_weight_there():
    """A language model has </s> after all tokens; a difference from 1 would be rounding."""
    totals = head_attention(drawn("lm", layers=3, heads=4), [example([0, 1, 2], False)])["special"]
    assert (totals.mean()["encoder"] == 0).all()


def test_padding_and_batches_change_nothing():
    model = drawn("mt")
    one_by_one = confidence(model, [example([2]), example([0]), example([1])])
    close(confidence(model, [example([0, 1, 2])]), one_by_one)
    close(confidence(model, [example([1, 2]), example([0])]), one_by_one)


def test_a_head_that_rests_on_the_end_is_not_confident():
    """Its keys are such that all attention goes to </s>, whose embedding alone is so large."""
    model = drawn("mlm", heads=1, layers=1)
    attention, norm = model.encoder.layers[0].attention, model.encoder.layers[0].attention_norm
    with torch.no_grad():
        norm.weight.fill_(1.0)
        norm.bias.zero_()
        model.encoder.embedding.tokens.weight[1] = 0.0
        model.encoder.embedding.tokens.weight[1, 0] = 100.0
        attention.query.weight.zero_()
        attention.query.bias.fill_(100.0)
        attention.key_value.weight.zero_()
        attention.key_value.weight[0, 0] = 1.0
    weights = model.encoder(ids_of(SOURCES[:1]), output_attentions=True).attentions[0]
    assert (weights[..., -1] > 0.99).all()
    found = head_attention(model, [example([0], translated=False)])
    assert found["confidence"].mean()["encoder"] < 0.01
    assert found["special"].mean()["encoder"] > 0.99


def test_special_tokens_of_a_checkpoint(tmp_path):
    """Around each sentence a start and an end, as BERT has them, and padding after it; the same
    tokens inside of a sentence are its own."""
    subject = subjects.load(save(FAMILIES["bert"], tmp_path))
    sentences = [[2, *words, 3] for words in ([5, 6, 2, 8], [9, 3], [4])]
    text = TokenFile(
        np.concatenate(sentences).astype(np.int32),
        np.zeros(0),
        np.cumsum([0, *map(len, sentences)]),
        np.concatenate([[True, *[False] * (len(s) - 2), True] for s in sentences]),
    )
    found, order = encoder_attention(subject, text, batch_tokens=18)
    assert order.tolist() == [2, 1, 0]
    expected = {"confidence": [], "special": []}
    for sentence in sentences[:2]:  # the last has one token, which sees no other
        weights = torch.stack(subject.attentions(torch.tensor([sentence])))[:, 0, :, 1:-1]
        expected["confidence"] += weights[..., 1:-1].amax(dim=-1).unbind(dim=-1)
        expected["special"] += (weights[..., 0] + weights[..., -1]).unbind(dim=-1)
    for name, values in expected.items():
        mean = torch.stack(values).mean(dim=0)
        np.testing.assert_allclose(found[name].mean()["encoder"], mean, rtol=1e-4)


def test_a_causal_checkpoint_is_not_asked_at_the_first_token(tmp_path):
    """Its tokenizer names no padding: token 0, which fills up batches, is a word like others."""
    subject = subjects.load(save(FAMILIES["gpt2"], tmp_path))
    text = TokenFile(np.array([5, 6, 0, 8], dtype=np.int32), np.zeros(0), np.array([0, 1, 4]))
    found, _ = encoder_attention(subject, text, batch_tokens=18)
    [weights] = torch.stack(subject.attentions(torch.tensor([[6, 0, 8]])), dim=1)
    expected = weights[:, :, 1:].amax(dim=-1).mean(dim=-1)
    np.testing.assert_allclose(found["confidence"].mean()["encoder"], expected, rtol=1e-4)
    np.testing.assert_allclose(found["special"].mean()["encoder"], 0, atol=1e-6)


def test_where_there_is_one_token_there_is_no_choice():
    one = Example(ids_of([[5]]).numpy(), ids_of([[7, 8, 4]]).numpy(), ids_of([[5]]).numpy())
    found = head_attention(drawn("mt"), [one])["confidence"].mean()
    assert np.isnan(found["encoder"]).all() and np.isnan(found["cross"]).all()
    assert not np.isnan(found["decoder"]).any()


def test_no_token_at_all():
    empty = ids_of([[], []]).numpy()
    with pytest.raises(UserError, match="no token"):
        confidence(drawn("mlm"), [Example(empty, None, empty)])


def test_what_a_head_leaves_to_no_token_is_not_on_special_ones(tmp_path):
    """GPT-OSS lets heads attend to nothing, and its text here has no special token."""
    every_family.save("gpt_oss", tmp_path, ())
    subject = subjects.load(tmp_path)
    ids = np.array([5, 6, 7, 8])
    [usual, *_] = subject.attentions(torch.from_numpy(ids)[None])
    assert (usual.sum(dim=-1) < 0.99).all()
    text = TokenFile(ids, np.zeros(4, int), np.array([0, 4]), np.zeros(4, bool))
    totals, _ = encoder_attention(subject, text, 100)
    assert totals["special"].mean()["encoder"].max() == 0
