"""Every program that computes on a GPU does so on a pretend one, to the same assertions."""

from collections import Counter

import pytest

from bottomup.workflow import digest
from tests.heads.test_functions import test_the_program as test_head_functions
from tests.heads.test_heads_scripts import (  # noqa: F401
    importance,
    measure_checkpoint,
    prune,
    test_a_pruned_model_is_measured_as_the_smaller_one,
    test_gates_then_as_many_at_random,
    test_importance_of_each_head_and_kind,
    test_of_a_translating_checkpoint_all_kinds_of_heads_have_a_loss,
    trained,
)
from tests.heads.test_pruning_checkpoints import (  # noqa: F401
    file,
    start,
    test_programs_prune_and_measure,
)
from tests.measures.test_measure_scripts import (  # noqa: F401
    call,
    measure,
    run,
    test_change_of_groups,
    test_distances_between_layers,
    test_distances_between_runs,
    test_influence_in_a_checkpoint_is_by_word,
    test_mutual_information_of_each_layer_label_and_estimator,
    test_probes_of_each_layer,
    test_similarity_of_runs,
)
from tests.measures.test_neighbours import (  # noqa: F401
    files,
    test_the_program_tells_value_interval_and_chance_of_each_property,
)
from tests.measures.test_quality import test_program as test_quality
from tests.pretend_gpu import pretend_gpu
from tests.tiny import ROOT
from tests.training.test_run import test_program as test_training
from tests.views.test_extraction import test_program as test_views

MEASURE_VIEWS = "scripts/measure_views.py"
# By program, and by table where it makes several, a test of it.
TESTS = {
    "train": test_training,
    "prune_heads": test_gates_then_as_many_at_random,
    "measure_pruning": test_a_pruned_model_is_measured_as_the_smaller_one,
    "extract_views": test_views,
    "measure_influence": test_influence_in_a_checkpoint_is_by_word,
    "measure_quality": test_quality,
    "measure_head_functions": test_head_functions,
    "measure_head_importance": test_importance_of_each_head_and_kind,
    "measure_checkpoint_heads": test_of_a_translating_checkpoint_all_kinds_of_heads_have_a_loss,
    "prune_checkpoint": test_programs_prune_and_measure,
    "measure_checkpoint_pruning": test_programs_prune_and_measure,
    "measure_views mutual_information": test_mutual_information_of_each_layer_label_and_estimator,
    "measure_views pwcca_between_layers": test_distances_between_layers,
    "measure_views pwcca_between_runs": test_distances_between_runs,
    "measure_views similarity_between_runs": test_similarity_of_runs,
    "measure_views probes": test_probes_of_each_layer,
    "measure_views change": test_change_of_groups,
    "measure_views neighbours": test_the_program_tells_value_interval_and_chance_of_each_property,
}


@pytest.fixture(params=["marian"])
def name(request):
    """The checkpoint that is pruned: one with all kinds of heads."""
    return request.param


@pytest.fixture
def run_script(run_script, request):
    """Programs see one GPU, and what the test is of uses it."""
    used = Counter()

    def on_gpu(name, settings, *arguments):
        with pretend_gpu() as gpu:
            run_script(name, settings, *arguments)
        used[f"{name} {settings.get('table', '')}".strip()] += gpu.used

    yield on_gpu
    assert all(used[name] for name, test in TESTS.items() if test is request.function)


def test_every_program_that_computes_is_tested():
    found = set()
    for path in (ROOT / "scripts").glob("*.py"):
        if "bottomup.device" in digest.imported(f"scripts/{path.name}"):
            found.add(path.stem)
    for path in (ROOT / "bottomup/tables").glob("[!_]*.py"):
        if "bottomup.device" in digest.imported(MEASURE_VIEWS, f"bottomup.tables.{path.stem}"):
            found.add(f"measure_views {path.stem}")
    assert found == set(TESTS)
