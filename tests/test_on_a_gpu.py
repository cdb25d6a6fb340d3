"""Every program that computes on a GPU does so on a pretend one, to the same assertions."""

import inspect
from collections import Counter
from textwrap import dedent

import pytest

from bottomup.measures import examples
from bottomup.model.dropout import Dropout
from bottomup.views import extraction
from bottomup.views.moments import Moments
from tests.heads.test_attention_trees import test_the_program as test_attention_trees
from tests.heads.test_functions import test_the_program as test_head_functions
from tests.heads.test_heads_scripts import (  # noqa: F401
    importance,
    measure_checkpoint,
    measure_importance,
    prune,
    test_a_pruned_model_is_measured_as_the_smaller_one,
    test_importance_of_each_head_and_kind,
    test_of_a_translating_checkpoint_all_kinds_of_heads_have_a_loss,
    trained,
)
from tests.heads.test_pruning_checkpoints import (  # noqa: F401
    file,
    start,
    test_programs_prune_and_measure,
)
from tests.measures import test_measure_scripts
from tests.measures.test_attention_patterns import test_the_program as test_attention_patterns
from tests.measures.test_bertscore import (
    test_a_checkpoint_reads_its_own_tokens as test_bertscore,
)
from tests.measures.test_dictionary import test_the_program as test_dictionary
from tests.measures.test_edge_probes import (  # noqa: F401
    probed_files,
)
from tests.measures.test_edge_probes import (
    test_the_program_measures_a_run as test_edge_probes,
)
from tests.measures.test_exact import known_files  # noqa: F401
from tests.measures.test_exact import test_the_program as test_exact
from tests.measures.test_head_distances import test_the_program as test_head_distances
from tests.measures.test_lens import test_the_program as test_lens
from tests.measures.test_lens import test_the_program_of_beliefs as test_beliefs
from tests.measures.test_measure_scripts import (  # noqa: F401
    influence_of,
    measured,
    run,
    test_influence_in_a_checkpoint_is_by_word,
    test_mutual_information_of_each_layer_label_and_estimator,
    test_probes_of_each_layer,
    test_what_each_layer_says_of_the_tokens_around,
)
from tests.measures.test_neighbors import (  # noqa: F401
    files,
    test_the_program_tells_value_interval_and_chance_of_each_property,
)
from tests.measures.test_quality import test_program as test_quality
from tests.measures.test_senses import (
    test_the_program_tells_a_layer_with_senses_from_one_without as test_senses,
)
from tests.measures.test_stitching import test_the_program as test_stitching
from tests.measures.test_structural_probe import (  # noqa: F401
    run_files,
)
from tests.measures.test_structural_probe import (
    test_the_program_measures_a_run as test_structural_probe,
)
from tests.measures.test_transfer import task_files  # noqa: F401
from tests.measures.test_transfer import test_the_program_measures_a_run as test_transfer
from tests.measures.test_word_order import (
    test_the_program_measures_a_run as test_word_order,
)
from tests.measures.test_wordnet_senses import test_the_program as test_wordnet
from tests.plan.imports import imported
from tests.pretend_gpu import pretend_gpu
from tests.tiny import ROOT
from tests.training.test_run import settings_of
from tests.training.test_run import test_program as test_training
from tests.views.test_extraction import test_program as test_views

pytestmark = pytest.mark.long

MEASURE = "scripts/measure.py"
# Programs, with their tables, that choose modules for runs of ours and for checkpoints.
BY_TASK = {
    "prune_heads": "predictor",
    "measure pruning": "judging",
    "measure head_importance": "importances",
}
# By program, and by table or kind of model where it has several, a test of it.
TESTS = {
    "train": test_training,
    "prune_heads runs": test_a_pruned_model_is_measured_as_the_smaller_one,
    "measure pruning runs": test_a_pruned_model_is_measured_as_the_smaller_one,
    "prune_heads checkpoints": test_programs_prune_and_measure,
    "measure pruning checkpoints": test_programs_prune_and_measure,
    "extract_views": test_views,
    "measure influence": test_influence_in_a_checkpoint_is_by_word,
    "measure quality": test_quality,
    "measure head_functions": test_head_functions,
    "measure pruned_functions": test_head_functions,
    "measure head_importance runs": test_importance_of_each_head_and_kind,
    "measure head_importance checkpoints": (
        test_of_a_translating_checkpoint_all_kinds_of_heads_have_a_loss
    ),
    "measure mutual_information": test_mutual_information_of_each_layer_label_and_estimator,
    "measure context": test_what_each_layer_says_of_the_tokens_around,
    "measure exact": test_exact,
    "measure lens": test_lens,
    "measure beliefs": test_beliefs,
    "measure senses": test_senses,
    "measure structural_probe": test_structural_probe,
    "measure edge_probes": test_edge_probes,
    "measure stitching": test_stitching,
    "measure transfer": test_transfer,
    "measure dictionary": test_dictionary,
    "measure word_order": test_word_order,
    "measure wordnet": test_wordnet,
    "measure bertscore": test_bertscore,
    "measure attention_patterns": test_attention_patterns,
    "measure head_distances": test_head_distances,
    "measure attention_trees": test_attention_trees,
    "measure probes": test_probes_of_each_layer,
    "measure neighbors": test_the_program_tells_value_interval_and_chance_of_each_property,
}


# Of these, one layer is enough.
LONG = [TESTS["measure mutual_information"], TESTS["measure probes"]]


@pytest.fixture(params=["bert"])
def name(request):
    """The checkpoint that is pruned."""
    return request.param


@pytest.fixture(autouse=True)
def fewer_layers(request, monkeypatch):
    if request.function in LONG:
        monkeypatch.setattr(test_measure_scripts, "LAYERS", 1)


@pytest.fixture
def kind():
    return "cuda"


@pytest.fixture
def run_script(run_script, request, kind):
    """Programs see one GPU, and those that the test is of use it."""
    used, function = Counter(), request.function
    expected = [name for name, test in TESTS.items() if test is function]
    if function is test_views_on_mps:
        expected = ["extract_views"]

    def on_gpu(name, settings, *arguments):
        with pretend_gpu(kind) as gpu, pytest.MonkeyPatch.context() as patch:
            patch.setenv("BOTTOMUP_DEVICE", kind)
            run_script(name, settings, *arguments)
        program = f"{name} {settings.get('table', '')}".strip()
        if program in BY_TASK:
            run = settings["options"]["run"] if name == "measure" else settings
            program += " checkpoints" if run["module"] is None else " runs"
        used[program] += gpu.used

    yield on_gpu
    assert all(used[name] for name in expected)


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
    assert found == set(TESTS)


@pytest.mark.parametrize("kind", ["cuda", "mps"])
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


@pytest.mark.parametrize("kind", ["mps"])
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
        *(Moments._float64, "block.detach().to(self.mean)", "block.detach().double()"),
        *("on the same device", test_influence_in_a_checkpoint_is_by_word),
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


@pytest.mark.parametrize("what", FORGOTTEN)
def test_what_is_forgotten_is_found(what, request, monkeypatch, run_script):
    function, right, wrong, message, test = FORGOTTEN[what]
    function = inspect.unwrap(function)
    source, planted = dedent(inspect.getsource(function)), dict(function.__globals__)
    assert source.count(right) == 1
    exec(source.replace(right, wrong), planted)
    monkeypatch.setattr(function, "__code__", inspect.unwrap(planted[function.__name__]).__code__)
    fixtures = map(request.getfixturevalue, inspect.signature(test).parameters)
    with pytest.raises((RuntimeError, TypeError), match=message):
        test(*fixtures)
