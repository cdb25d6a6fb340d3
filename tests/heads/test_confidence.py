import numpy as np
import pytest
import torch

from bottomup.errors import UserError
from bottomup.heads.confidence import head_confidence
from bottomup.model.transformer import positions
from bottomup.objectives import Example
from tests.tiny import drawn, ids_of

SOURCES = [[5, 6, 7, 8], [9, 4], [4, 4, 10, 6, 12, 7]]
TARGETS = [[7, 8, 4], [5, 6, 4, 9, 11], [10]]


def example(rows: list[int], translated: bool = True) -> Example:
    source, target = (ids_of([side[row] for row in rows]).numpy() for side in (SOURCES, TARGETS))
    return Example(source, target if translated else None, source)


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
    found = head_confidence(model, [example([0, 1, 2], translated=objective == "mt")]).mean()
    assert found["encoder"].shape == (3, 4)
    expected = torch.stack(largest).mean(dim=0).detach()
    np.testing.assert_allclose(found["encoder"], expected, rtol=1e-4)


def test_of_a_decoder_it_counts_the_predicted_tokens():
    """By hand: the weights of the first layer, from its modules, a sentence at a time."""
    model = drawn("mt")
    layer = model.decoder.layers[0]
    own, cross = [], []
    for source, target in zip(SOURCES, TARGETS, strict=True):
        states = model.encoder(ids_of([source])).states
        embedded = model.decoder.embedding(ids_of([target])[:, :-1])
        x = torch.nn.functional.pad(embedded, (0, 0, 1, 0))
        x = x + positions(x)
        normed = layer.attention_norm(x)
        attended, weights = layer.attention(normed, normed, causal=True, need_weights=True)
        # Rows predict the target's tokens and </s>; columns read the start and the tokens.
        own += weights[0, :, 1:-1, 1:].amax(dim=-1).unbind(dim=-1)
        _, weights = layer.cross(layer.cross_norm(x + attended), states, need_weights=True)
        cross += weights[0, :, :-1, :-1].amax(dim=-1).unbind(dim=-1)
    found = head_confidence(model, [example([0, 1, 2])]).mean()
    np.testing.assert_allclose(found["decoder"][0], torch.stack(own).mean(0).detach(), rtol=1e-4)
    np.testing.assert_allclose(found["cross"][0], torch.stack(cross).mean(0).detach(), rtol=1e-4)


def test_padding_and_batches_change_nothing():
    model = drawn("mt")
    one_by_one = head_confidence(model, [example([2]), example([0]), example([1])]).mean()
    close(head_confidence(model, [example([0, 1, 2])]).mean(), one_by_one)
    close(head_confidence(model, [example([1, 2]), example([0])]).mean(), one_by_one)


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
    assert head_confidence(model, [example([0], translated=False)]).mean()["encoder"] < 0.01


def test_no_token_at_all():
    empty = ids_of([[], []]).numpy()
    with pytest.raises(UserError, match="no token"):
        head_confidence(drawn("mlm"), [Example(empty, None, empty)]).mean()
