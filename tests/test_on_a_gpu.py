"""Every program that computes on a GPU is tested on a pretended one, which sees what is forgotten.

A test of a program that is marked `on_a_gpu` runs a second time where programs see one.
"""

import inspect
import re
from functools import partial
from textwrap import dedent

import pytest

from bottomup.measures import examples, stitching
from bottomup.model.dropout import Dropout
from bottomup.views import extraction
from tests.measures.test_quality import test_program as test_quality
from tests.measures.test_stitching import test_the_program as test_stitching
from tests.plan.imports import imported
from tests.pretend_gpu import BY_TASK
from tests.tiny import ROOT
from tests.training.test_run import settings_of
from tests.training.test_run import test_program as test_training
from tests.views.test_extraction import test_program as test_views

MEASURE = "scripts/measure.py"
MARK = re.compile(r"^@pytest\.mark\.on_a_gpu\((.*?)\)$", re.MULTILINE | re.DOTALL)


def marked() -> list[str]:
    """The programs that tests are marked with."""
    tests = (path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    return re.findall('"(.+?)"', "".join(found for test in tests for found in MARK.findall(test)))


def test_every_program_that_computes_is_tested():
    found = set()
    for path in (ROOT / "scripts").glob("*.py"):
        uses = "bottomup.core.device" in imported(f"scripts/{path.name}")
        if uses and path.stem not in BY_TASK:
            found.add(path.stem)
    for program, module in BY_TASK.items():
        script, _, table = program.partition(" ")
        tables = [f"bottomup.tables.{table}"] if table else []
        for task in ("runs", "checkpoints"):
            chosen = *tables, f"bottomup.heads.{task}.{module}"
            if "bottomup.core.device" in imported(f"scripts/{script}.py", *chosen):
                found.add(f"{program} {task}")
    for path in (ROOT / "bottomup/tables").glob("[!_]*.py"):
        program = f"measure {path.stem}"
        uses = "bottomup.core.device" in imported(MEASURE, f"bottomup.tables.{path.stem}")
        if uses and program not in BY_TASK:
            found.add(program)
    assert sorted(found) == sorted(marked())


@pytest.mark.parametrize("gpu", ["cuda", "mps"], indirect=True)
def test_training_in_the_precision_that_is_faster_there(corpus_files, tmp_path, run_script):
    settings = settings_of("mt", max_tokens=300, precision="auto") | {"code": {}}
    run_script(
        "train",
        settings,
        *("--tokens", corpus_files.tokens, "--run", tmp_path, "--accumulate", 1),
        *("--trained", tmp_path / "trained"),
        *("--tokenizers", *corpus_files.tokenizers("mt").values()),
    )
    assert (tmp_path / "model/model.safetensors").exists()


@pytest.mark.parametrize("gpu", ["mps"], indirect=True)
def test_views_on_mps(tmp_path, corpus_files, run_script):
    test_views(tmp_path, corpus_files, run_script)


# What somebody might forget: where, how it is right and how it is not, what is said of it, and a
# test of a program that comes there.
FORGOTTEN = {
    "to copy to the CPU": (
        *(extraction.extract, "states.cpu().numpy()", "states.numpy()"),
        *("cuda:0 device type tensor to numpy", test_views),
    ),
    "to copy to the GPU": (
        *(stitching.by_loss, "torch.from_numpy(part).float().to(x[0])"),
        *("torch.from_numpy(part).float()", "on the same device", partial(test_stitching, "lm")),
    ),
    "an index": (
        *(examples.tensors, "return source, target, labels", "return source, target, labels.cpu()"),
        *("on the same device", test_quality),
    ),
    "whose generator it is": (
        *(Dropout.forward, "nn.functional.dropout(x, self.p)"),
        "x * torch.empty_like(x).bernoulli_(1 - self.p, generator=torch.Generator())",
        *("'cuda' device type for generator", test_training),
    ),
}


@pytest.mark.parametrize("gpu", ["cuda"], indirect=True)
@pytest.mark.parametrize("what", FORGOTTEN)
def test_what_is_forgotten_is_found(gpu, what, request, monkeypatch, run_script):
    function, right, wrong, message, test = FORGOTTEN[what]
    function = inspect.unwrap(function)
    source, planted = dedent(inspect.getsource(function)), dict(function.__globals__)
    assert source.count(right) == 1
    exec(source.replace(right, wrong), planted)
    monkeypatch.setattr(function, "__code__", inspect.unwrap(planted[function.__name__]).__code__)
    fixtures = map(request.getfixturevalue, inspect.signature(test).parameters)
    with pytest.raises((RuntimeError, TypeError), match=message):
        test(*fixtures)
