"""Each value that the config accepts names a file that a rule makes: drawn configs."""

import copy
import re

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from snakemake.io import regex_from_filepattern

from bottomup.core import names
from bottomup.core.errors import UserError
from bottomup.plan.config import load
from bottomup.plan.subjects import READINGS, Subjects, exactly
from tests.plan.checkouts import ROOT

DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text())
# What names of objectives and checkpoints may look like, and what else stands in names.
NAME = st.one_of(
    st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True),
    st.sampled_from(
        ["lm", "lm_1", "l", "lm_half", "none", "gates_0", "plain", "as_trained", "all"]
    ),
    st.sampled_from(["step1", "lm_step", "untrained1", "mt_none", "e", "words", "random_0"]),
)
SEED = st.one_of(st.integers(0, 30), st.integers(0, 2**63 - 1))
PENALTY = st.one_of(
    st.floats(0, 1000),
    st.sampled_from([-0.0, 0, 1, 5e-324, 1e-300, 0.1 + 0.2, 1e-5, 100, 1000]),
)
PENALTIES = st.lists(PENALTY, min_size=1, max_size=4)
SWEEP = st.dictionaries(st.sampled_from(["all", "encoder", "encoder+cross"]), PENALTIES, max_size=2)


@st.composite
def studies(draw):
    """Studies that the config accepts."""
    config = copy.deepcopy(DEFAULT)
    config["seeds"] = sorted(draw(st.lists(SEED, min_size=1, max_size=3, unique=True)))
    others = draw(st.lists(NAME, max_size=3, unique=True))
    module = draw(st.sampled_from(["lm", "mlm", "mt"]))
    config["objectives"] |= {name: {"objective": module} for name in others}
    config["training_halves"] = draw(st.sampled_from([[], ["lm"], ["lm", "mt"]]))
    config["training_steps"] = draw(st.sampled_from([{}, {"lm": [0, 1, 10]}, {"mt": [7]}]))
    config["pruning"]["penalties"] = {
        "mt": draw(SWEEP),
        **{name: {"encoder": draw(PENALTIES)} for name in others[:1]},
    }
    config["pruning"]["controls"] = {}
    try:
        return load(config)
    except UserError:
        return None


@pytest.mark.long
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(studies())
def test_each_name_is_made_and_read_in_one_way(study):
    assume(study is not None)
    subjects = Subjects(study)
    of_runs = subjects.wildcards()
    constraints = {"reading": exactly(READINGS), **of_runs}
    constraints |= {
        f"{name}_{side}": of_runs[name] for name in ("objective", "seed") for side in "ab"
    }

    def read(pattern, name):
        constrained = re.sub(r"{(\w+)}", lambda w: f"{{{w[1]},{constraints[w[1]]}}}", pattern)
        found = re.match(regex_from_filepattern(constrained), name)
        assert found, f"no rule makes {name}"
        assert pattern.format(**found.groupdict()) == name
        return found.groupdict()

    everything = [*subjects.objectives, *subjects.halves, *subjects.steps, *subjects.checkpoints]
    for run in subjects.runs(everything):
        found = read(names.RUN, run)
        assert names.objective_and_seed(run) == (found["objective"], int(found["seed"]))
    for reading in subjects.readings():
        assert read(names.READING, reading)["reading"] in READINGS
    for pair in subjects.pairs_of_runs():
        found = read(names.PAIR, pair)
        runs = [names.run(found[f"objective_{side}"], found[f"seed_{side}"]) for side in "ab"]
        assert runs == names.runs_of(pair)
    penalties = {
        p for sweep in study.pruning.penalties.values() for some in sweep.values() for p in some
    }
    for pruned in subjects.pruned_runs() + subjects.whole_runs():
        found = read(names.PRUNED, pruned)
        assert float(found["penalty"]) in penalties or found["method"] == "none"
        assert names.runs_of(pruned) == [names.run(found["objective"], found["seed"])]


def test_pruned_checkpoints_have_wildcards(monkeypatch):
    subjects = Subjects(load(copy.deepcopy(DEFAULT)))
    pruned = "bert-0.encoder.gates_7.25"
    monkeypatch.setattr(Subjects, "pruned_checkpoints", lambda self: [pruned])
    assert re.fullmatch(subjects.wildcards()["penalty"], "7.25")


@pytest.mark.parametrize(("written", "name"), [(-0.0, "0"), (0, "0"), (1e-300, "1e-300"), (1, "1")])
def test_a_penalty_has_one_name(written, name):
    config = copy.deepcopy(DEFAULT)
    config["pruning"]["penalties"] = {"mt": {"all": [written]}}
    config["pruning"]["controls"] = {}
    [pruned] = [p for p in Subjects(load(config)).pruned_runs() if "gates" in p and "-1." in p][:1]
    assert pruned == f"mt-1.all.gates_{name}" and names.runs_of(pruned) == ["mt-1"]


@pytest.mark.long
def test_a_negative_zero_plans_what_zero_plans(checkout, outputs):
    checkout.edit("study.yaml", "all: [0, 0.5]", "all: [-0.0, 0.5]")
    assert checkout.planned() == set()
