"""docs/tables.md says which models are in which tables as the tables themselves do."""

import re

import pytest
import yaml

from bottomup.corpus.wordnet import FILES
from bottomup.plan.config import load
from bottomup.plan.study import tables
from bottomup.plan.subjects import Subjects
from tests.tiny import ROOT

SECTION = (ROOT / "docs/tables.md").read_text().split("## Which models are in which tables\n")[1]
PAGE = SECTION.split("\n## ")[0]
# By column of the page, a model of the study below.
MODELS = {"runs": "lm", "steps": "lm_step4", "other trunks": "lm_lstm", "checkpoints": "mine"}
SEEDS = {
    "all seeds": {1, 2, 3},
    "first two seeds": {1, 2},
    "first seed": {1},
    "yes": {0},  # of checkpoints
    "–": set(),
}
OF_KNOWN_LANGUAGE = "exact"


def config(folder, source):
    """A study with a model of each kind, and with something to measure in every table."""
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    config["corpus"]["source"] = source
    config["objectives"] |= {"lm_lstm": {"objective": "lm", "trunk": "lstm"}, "lm_backward": {}}
    config["training_steps"] = {"lm": [4]}
    config["checkpoints"] = {"mine": {"folder": str(folder)}}
    config["occurrences"]["unit"] = "word"
    config["measures"]["transfer"]["tasks"] = ["tag"]
    for name in ("minimal_pairs", "wordnet"):
        config["measures"][name]["folder"] = str(folder)
    return config


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """By table, the runs that its parts are about; pruned models are in tables of their own."""
    folder = tmp_path_factory.mktemp("models")
    for name in ("config.json", *FILES, "pairs.jsonl"):
        (folder / name).write_text("")
    known, text = (
        Subjects(load(config(folder, source))) for source in ("hidden_markov", "libreoffice_help")
    )
    parts = {
        name: module.TABLE.parts(known if name == OF_KNOWN_LANGUAGE else text)
        for name, module in tables().items()
        if module.TABLE.part != "pruned"
    }
    return {name: {run for part in some for run in part.split(".")} for name, some in parts.items()}


def seeds(runs, model):
    found = (re.fullmatch(rf"{model}-(\d+)", run) for run in runs)
    return {int(match[1]) for match in found if match}


def test_each_table_has_the_models_that_the_page_says(runs):
    heading, _, *rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in PAGE.splitlines()
        if line.startswith("|")
    ]
    assert heading == ["tables", *MODELS]
    said = {
        name: [SEEDS[cell] for cell in cells]
        for named, *cells in rows
        for name in re.findall(r"`(\w+)`", named)
    }
    has = {name: [seeds(some, model) for model in MODELS.values()] for name, some in runs.items()}
    assert said == has


@pytest.mark.parametrize(
    ("model", "begins"),
    [("untrained", "**Without training**"), ("lm_backward", "**What reads from the end**")],
)
def test_the_exceptions_are_those_that_the_page_names(runs, model, begins):
    [line] = [line for line in PAGE.splitlines() if line.startswith(f"- {begins}")]
    named = line.partition(": ")[2]
    without = {name for name, some in runs.items() if seeds(some, "lm") and not seeds(some, model)}
    assert {*re.findall(r"`(\w+)`", named)} == without
