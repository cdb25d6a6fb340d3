"""Nothing in an update waits for a GPU until it has done all before."""

import numpy as np
import pytest
import torch

from bottomup.heads.pruning import Pruner
from bottomup.heads.runs.predictor import RunPredictor
from tests.tiny import DROPOUT
from tests.training.test_loop import TRAINED, changed
from tests.training.waiting import Calls

LOW = {"settings": changed(precision="bfloat16")}


def waiting(calls):
    return {name: n for name, n in calls.counts.items() if name.startswith("waits: ")}


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("objective", [*TRAINED, "bilm"])
def test_an_update_waits_for_nothing(trainer, objective, parts):
    """With padding in the batch, dropout and lower precision."""
    run = trainer(objective, accumulate=parts, trunk="lstm" if objective == "bilm" else None, **LOW)
    with Calls() as calls:
        run.update(np.arange(9), 1)
    assert calls.counts["all"] > 100 and not waiting(calls)


@pytest.mark.parametrize("parts", [1, 3])
def test_an_update_of_gates_waits_for_nothing(trainer, parts):
    run = trainer("mt", accumulate=parts, **LOW, **DROPOUT)
    gates = {"penalty": 0.1, "learning_rate": 0.05, "initial_log_alpha": 2.0}
    pruner = Pruner(
        RunPredictor(run.model, run.objective),
        *(run.model, run.text, run.dev, run.settings, 1, run.checkpoint, parts),
        kinds=("encoder", "decoder", "cross"),
        **gates,
    )
    with Calls() as calls:
        pruner.update(np.arange(9), 1)
    assert calls.counts["all"] > 100 and not waiting(calls)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.sum().item(),
        lambda x: bool((x > 0).all()),
        lambda x: x[x > 0],
        lambda x: x.nonzero(),
        lambda x: x.unique(),
        lambda x: x.index_put_((x > 0,), x.new_ones(1)),
    ],
)
def test_what_waits_is_seen(call):
    with Calls() as calls:
        call(torch.arange(3.0))
    assert sum(waiting(calls).values()) == 1


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("objective", TRAINED)
def test_an_update_on_a_gpu_waits_for_nothing(trainer, objective):
    """As CUDA itself sees it, and attention by a fused kernel, which takes the mask as it is."""
    run = trainer(objective, accumulate=2, **LOW, **DROPOUT)
    run.model.to("cuda")
    run.device = torch.device("cuda")
    run.update(np.arange(9), 1)
    torch.cuda.set_sync_debug_mode("error")
    torch.backends.cuda.enable_math_sdp(False)
    try:
        loss = run.update(np.arange(9), 2)
    finally:
        torch.cuda.set_sync_debug_mode("default")
        torch.backends.cuda.enable_math_sdp(True)
    assert loss.isfinite()
