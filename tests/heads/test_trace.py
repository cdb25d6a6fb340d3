import pytest
import torch

from bottomup.heads.trace import trace
from tests.tiny import drawn, ids_of

SOURCE = ids_of([[5, 6, 7, 8], [9], [4, 4, 10]])
TARGET = ids_of([[7, 8], [5, 6, 4, 9, 11], [10]])
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


@pytest.mark.parametrize("objective", ["lm", "mlm", "mt"])
def test_it_is_the_models_forward_pass(objective):
    model = drawn(objective)
    model.encoder.layers[0].attention.gates[1] = 0.3
    target = TARGET if objective == "mt" else None
    run = trace(model, SOURCE, target)
    tokens = (SOURCE if target is None else TARGET) != 0
    expected = model(SOURCE, target)
    torch.testing.assert_close(run.states[tokens], expected[tokens], **CLOSE)


def test_each_step_is_the_models_module():
    run = trace(drawn("mt"), SOURCE, TARGET)
    causal = {"encoder": False, "decoder": True, "cross": False}
    padding = (SOURCE != 0)[:, None, None, :]
    kinds = []
    for step in run.attentions():
        kinds.append(step.kind)
        memory = step.normed if step.memory is None else step.memory
        mask = None if causal[step.kind] else padding
        update, weights = step.module(step.normed, memory, mask, causal[step.kind], True)
        torch.testing.assert_close(step.update, update, **CLOSE)
        torch.testing.assert_close(step.weights, weights, **CLOSE)
    assert kinds == ["encoder"] * 2 + ["decoder", "cross"] * 2


def test_float64_is_computed_in_float64():
    """The model's own attention goes through float32 on a CPU."""
    model = drawn("mt").double()
    run = trace(model, SOURCE, TARGET)
    assert run.states.dtype == torch.float64
    sums = next(run.attentions()).weights.sum(dim=-1)
    torch.testing.assert_close(sums, torch.ones_like(sums), rtol=0, atol=1e-14)
