import numpy as np
import pytest
import torch

from bottomup.core.errors import UserError
from bottomup.corpus.specials import PAD
from bottomup.heads import relevance
from bottomup.heads.propagation import RULES
from bottomup.heads.relevance import head_relevance, propagate
from bottomup.objectives import IGNORE, Example
from tests.heads import explicit
from tests.tiny import drawn, ids_of

SOURCES = [[5, 6, 7, 8], [9, 4], [4, 4, 10, 6, 12]]
TARGETS = [[7, 8], [5, 6, 4, 9], [10]]
ALPHA_BETA, RATIO = RULES["alpha_beta"], RULES["ratio"]
OBJECTIVES = ["lm", "mlm", "mt"]
EXACT = {"rtol": 1e-8, "atol": 1e-12}


def example(objective: str, rows: tuple[int, ...] = (0, 1, 2)) -> Example:
    """Predicts the target; the next token; for MLM tokens at odd positions only."""
    source = ids_of([SOURCES[row] for row in rows]).numpy()
    if objective == "mt":
        target = ids_of([TARGETS[row] for row in rows]).numpy()
        return Example(source, target, np.where(target == PAD, IGNORE, target))
    following = np.pad(source[:, 1:], ((0, 0), (0, 1)))
    labels = np.where(following == PAD, IGNORE, following)
    if objective == "mlm":
        labels[:, ::2] = IGNORE
    return Example(source, None, labels)


class Conserving:
    """A rule that refuses any step whose relevance is not that of the step before."""

    def __init__(self, rule, tolerance: float):
        self.rule, self.tolerance = rule, tolerance

    def __getattr__(self, name: str):
        step = getattr(self.rule, name)

        def checked(given, *activations):
            received = step(given, *activations)
            parts = received if isinstance(received, tuple) else (received,)
            if name == "logit":
                given = torch.ones_like(given[..., :1])
            # What is left of the axes: batch and predictions, all that never mix.
            axes = {5: (1, 2, 4), 4: (1, 3), 3: (2,)}[given.dim()]
            total = sum(part.sum(dim=axes) for part in parts)
            size = sum(part.abs().sum(dim=axes) for part in parts)
            assert ((total - given.sum(dim=axes)).abs() <= self.tolerance * size).all(), name
            return received

        return checked


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(("name", "tolerance"), [("alpha_beta", 1e-5), ("ratio", 1e-12)])
def test_every_step_conserves_relevance(objective, name, tolerance):
    """To rounding, of float32 and float64, relative to the sum of absolute relevance."""
    model = drawn(objective).to(RULES[name].dtype)
    propagate(model, example(objective), Conserving(RULES[name], tolerance))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_embeddings_share_the_logit(objective):
    """Through all of the network; biases have their part in their step's inputs."""
    found = propagate(drawn(objective), example(objective), ALPHA_BETA)
    total = found.source.sum(dim=1) + (0 if found.target is None else found.target.sum(dim=1))
    torch.testing.assert_close(total, found.predictions.float(), rtol=1e-4, atol=0)
    assert min(heads.min() for heads in found.heads.values()) >= 0


@pytest.mark.parametrize("objective", ["lm", "mt"])
def test_nothing_goes_to_later_tokens(objective):
    found = propagate(drawn(objective), example(objective), ALPHA_BETA)
    read = found.source if objective == "lm" else found.target
    later = torch.ones(read.shape[1:]).tril(-1).bool()
    assert not read[:, later].any()
    assert read[:, ~later].any()


@pytest.mark.long
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_two_layers_are_propagated_as_by_whole_jacobians(objective):
    model = drawn(objective, heads=4).double()
    for row in range(3):
        batch = example(objective, (row,))
        found = propagate(model, batch, ALPHA_BETA).heads
        source = torch.from_numpy(batch.source)
        target = None if batch.target is None else torch.from_numpy(batch.target)
        for n, position in enumerate((batch.labels[0] != IGNORE).nonzero()[0]):
            expected = explicit.head_relevance(model, source, target, position)
            assert found.keys() == expected.keys()
            for kind in found:
                torch.testing.assert_close(found[kind][:, 0, n], expected[kind], **EXACT)


def test_a_linear_network_has_its_closed_form():
    """One layer without feed-forward network, between norms that `ratio` passes.

    The logit w . h, h = norm(x + u), u = sum over heads of W_k o_k, owes to head k

        sum_j w_j h_j / (w . h)  u_j / (x_j + u_j)  (W_k o_k)_j / u_j.
    """
    model = drawn("mlm", layers=1, heads=4)
    layer = model.encoder.layers[0]
    with torch.no_grad():
        for parameter in (*layer.feed_forward.outer.parameters(), layer.attention.out.bias):
            parameter.zero_()
    batch = example("mlm")
    source = torch.from_numpy(batch.source)
    x = model.encoder.embed(source)
    normed = layer.attention_norm(x)
    _, weights = layer.attention(normed, normed, model.encoder.mask(source), need_weights=True)
    _, values = layer.attention.keys_and_values(normed)
    outputs = (weights @ values).unbind(dim=1)
    columns = layer.attention.out.weight.chunk(4, dim=1)
    by_head = torch.stack([o @ w.T for o, w in zip(outputs, columns, strict=True)])
    states = model(source)
    parts = model.head.weight[model.head(states).argmax(dim=-1)] * states
    to_update = parts / parts.sum(dim=-1, keepdim=True) / (x + by_head.sum(dim=0))
    expected = (to_update * by_head).sum(dim=-1)[:, batch.labels != IGNORE].T  # [n, heads]

    found = propagate(model.double(), batch, RATIO)
    found = found.heads["encoder"][0, found.predictions]
    torch.testing.assert_close(found, expected.double(), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("rule", RULES)
def test_all_goes_to_the_head_that_is_not_gated_off(rule):
    model = drawn("mt", heads=4)
    everywhere = head_relevance(model, [example("mt")], rule).mean()
    assert max(shares.max() for shares in everywhere.values()) < 0.99
    gates = {
        "encoder": model.encoder.layers[0].attention.gates,
        "decoder": model.decoder.layers[1].attention.gates,
        "cross": model.decoder.layers[0].cross.gates,
    }
    for head, open_gates in enumerate(gates.values()):
        open_gates.zero_()
        open_gates[head] = 0.5
    shares = head_relevance(model, [example("mt")], rule).mean()
    for head, (kind, layer) in enumerate([("encoder", 0), ("decoder", 1), ("cross", 0)]):
        np.testing.assert_allclose(shares[kind][layer], np.arange(4) == head)
        assert (shares[kind][1 - layer] > 0).all()


@pytest.mark.parametrize("rule", RULES)
def test_a_gate_is_the_scale_of_its_heads_columns(rule):
    gated, scaled = drawn("mt"), drawn("mt")
    gated.encoder.layers[1].attention.gates[0] = 0.2
    with torch.no_grad():
        scaled.encoder.layers[1].attention.out.weight[:, :8] *= 0.2
    shares, expected = (
        head_relevance(model, [example("mt")], rule).mean() for model in (gated, scaled)
    )
    for kind in shares:
        np.testing.assert_allclose(shares[kind], expected[kind], rtol=1e-4)


@pytest.mark.parametrize("rule", RULES)
def test_a_closed_layer_has_no_relevance(rule):
    model = drawn("mt")
    model.decoder.layers[0].cross.gates.zero_()
    shares = head_relevance(model, [example("mt")], rule).mean()
    assert not shares["cross"][0].any()
    np.testing.assert_allclose(shares["cross"][1].sum(), 1)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_padding_and_batches_change_nothing(objective, rule):
    """Sentences differ in predictions, so a mean over batches' means would show."""
    model = drawn(objective)
    together = head_relevance(model, [example(objective)], rule).mean()
    apart = head_relevance(model, [example(objective, (row,)) for row in (2, 0, 1)], rule).mean()
    for kind in together:
        np.testing.assert_allclose(together[kind], apart[kind], rtol=1e-3)
        np.testing.assert_allclose(together[kind].sum(axis=1), 1)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_predictions_go_down_alike_at_once_and_one_by_one(monkeypatch, objective, rule):
    model = drawn(objective).to(RULES[rule].dtype)
    at_once = propagate(model, example(objective), RULES[rule])
    monkeypatch.setattr(relevance, "AT_ONCE", 1)
    one_by_one = propagate(model, example(objective), RULES[rule])
    torch.testing.assert_close(one_by_one.heads, at_once.heads)
    torch.testing.assert_close(one_by_one.source, at_once.source)
    torch.testing.assert_close(one_by_one.target, at_once.target)


def test_it_is_the_mean_over_predictions():
    found = propagate(drawn("mt"), example("mt"), ALPHA_BETA)
    steps = [len(target) + 1 for target in TARGETS]
    assert found.predictions.sum(dim=1).tolist() == steps
    shares = [
        heads / heads.sum(dim=-1, keepdim=True)
        for row, n in enumerate(steps)
        for heads in found.heads["cross"][:, row, :n].unbind(dim=1)
    ]
    relevance = head_relevance(drawn("mt"), [example("mt")]).mean()["cross"]
    np.testing.assert_allclose(relevance, torch.stack(shares).mean(dim=0), rtol=1e-5)


def test_the_model_is_left_as_it_was():
    model = drawn("mt")
    head_relevance(model, [example("mt")], "ratio").mean()
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert all(p.grad is None for p in model.parameters())


def test_no_prediction():
    nothing = Example(ids_of(SOURCES).numpy(), None, np.full((3, 6), IGNORE))
    with pytest.raises(UserError, match="no prediction"):
        head_relevance(drawn("untrained"), [nothing]).mean()


def test_an_unknown_rule():
    with pytest.raises(UserError, match=r"'gradient'; allowed: ratio or alpha_beta"):
        head_relevance(drawn("mt"), [example("mt")], "gradient").mean()
