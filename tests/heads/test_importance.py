import numpy as np
import pytest
import torch

from bottomup import objectives
from bottomup.heads.importance import gate_gradient, loss_increase
from bottomup.heads.runs.predictor import RunPredictor
from bottomup.heads.totals import Totals
from bottomup.heads.trace import trace
from bottomup.measures import jackknife
from bottomup.objectives import IGNORE, Example
from tests.heads.test_relevance import OBJECTIVES, example
from tests.tiny import drawn

ROWS = (0, 1, 2)


def predictor_of(model, objective):
    return RunPredictor(model, objectives.load(objective, {}))


def loss_of(model, batch: Example) -> tuple[float, int]:
    """Summed cross-entropy in nats, by its definition, and the number of predictions."""
    source = torch.from_numpy(batch.source)
    target = None if batch.target is None else torch.from_numpy(batch.target)
    with torch.no_grad():
        log_p = model.head(trace(model, source, target).states).log_softmax(dim=-1)
    places = np.argwhere(batch.labels != IGNORE)
    return -sum(float(log_p[b, t, batch.labels[b, t]]) for b, t in places), len(places)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_increase_is_that_of_the_loss_without_the_head(objective):
    model = drawn(objective)
    found = loss_increase(predictor_of(model, objective), [example(objective)]).mean()
    whole, count = loss_of(model, example(objective))
    for kind, modules in model.attentions().items():
        for layer, module in enumerate(modules):
            for head in range(module.heads):
                module.gates[head] = 0
                without, _ = loss_of(model, example(objective))
                module.gates[head] = 1
                expected = (without - whole) / count
                assert found[kind][layer, head] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_losses_from_a_layer_are_those_of_the_whole_model_to_the_bit(objective):
    predictor, batch = predictor_of(drawn(objective), objective), example(objective)
    with torch.inference_mode():
        before, losses_from = predictor.losses(batch)[0], predictor.losses_from(batch)
        for kind, of_kind in predictor.gates.items():
            for layer, gates in enumerate(of_kind):
                gates[1] = 0
                found = losses_from(kind, layer)
                assert torch.equal(found, predictor.losses(batch)[0])
                assert not torch.equal(found, before)
                gates[1] = 1


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_gradient_is_the_slope_of_each_sentences_loss(objective):
    """By differences over gates of 1 +- 0.0001, in double precision."""
    model = drawn(objective)
    found = gate_gradient(predictor_of(model, objective), [example(objective)]).mean()
    model = model.double()
    count = loss_of(model, example(objective))[1]
    for kind, modules in model.attentions().items():
        for layer, module in enumerate(modules):
            for head in range(module.heads):
                slopes = []
                for row in ROWS:
                    losses = []
                    for value in (0.9999, 1.0001):
                        module.gates[head] = value
                        losses.append(loss_of(model, example(objective, (row,)))[0])
                    slopes.append(abs(losses[1] - losses[0]) / 2e-4)
                module.gates[head] = 1
                assert found[kind][layer, head] == pytest.approx(sum(slopes) / count, rel=1e-2)


@pytest.mark.parametrize("measure", [gate_gradient, loss_increase])
def test_the_model_is_left_as_it_was(measure):
    model = drawn("mt")
    model.encoder.layers[0].attention.gates[1] = 0.3
    measure(predictor_of(model, "mt"), [example("mt")])
    gates = [module.gates for modules in model.attentions().values() for module in modules]
    assert not any(gate.requires_grad for gate in gates)
    assert gates[0].tolist() == [1.0, pytest.approx(0.3)]
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize("measure", [gate_gradient, loss_increase])
def test_padding_and_batches_change_nothing(measure):
    model = drawn("mt")
    together = measure(predictor_of(model, "mt"), [example("mt")])
    apart = measure(predictor_of(model, "mt"), [example("mt", (row,)) for row in ROWS])
    for kind in together.mean():
        np.testing.assert_allclose(together.mean()[kind], apart.mean()[kind], rtol=1e-3, atol=1e-6)
        found, expected = (some.without(np.array([0, 1, 1]), 2)[kind] for some in (together, apart))
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-6)


def test_totals_are_means_over_all_terms():
    """Two sentences of 1 and 3 terms: (2 + 6) / 4."""
    totals = Totals()
    totals.add("encoder", torch.tensor([[[2.0]], [[6.0]]]), torch.tensor([1, 3]))
    assert totals.mean()["encoder"] == 2.0


def test_a_kind_without_terms_has_no_mean():
    totals = Totals()
    totals.add("encoder", torch.ones(2, 1, 1), torch.tensor([1, 1]))
    assert not totals.empty()
    totals.add("decoder", torch.zeros(2, 1, 1), torch.tensor([0, 0]))
    assert totals.mean()["encoder"] == 1 and np.isnan(totals.mean()["decoder"])
    assert np.isnan(totals.without(np.array([0, 1]), 2)["decoder"]).all()


def test_the_mean_without_a_block_is_that_of_the_other_sentences():
    """Of terms (2), (6, 6), (4) and (9) in blocks 0, 1, 0 and 2; the fourth block is empty."""
    totals = Totals()
    totals.add("encoder", torch.tensor([[[2.0]], [[12.0]]]), torch.tensor([1, 2]))
    totals.add("encoder", torch.tensor([[[4.0]], [[9.0]]]), torch.tensor([1, 1]))
    found = totals.without(np.array([0, 1, 0, 2]), 4)["encoder"]
    assert found.shape == (1, 1, 4)
    assert found[0, 0].tolist() == [21 / 3, 15 / 3, 18 / 4, 27 / 5]


def test_the_error_is_that_of_a_mean_of_independent_sentences():
    """Sentences of one term each, and each a block: their deviation over the root of their
    number."""
    values = np.random.default_rng(1).normal(size=25)
    totals = Totals()
    totals.add("encoder", torch.from_numpy(values)[:, None, None], torch.ones(25, dtype=int))
    without = totals.without(np.arange(25), 25)["encoder"]
    assert jackknife.error(values.mean(), without.ravel()).item() == pytest.approx(
        values.std(ddof=1) / 5
    )
