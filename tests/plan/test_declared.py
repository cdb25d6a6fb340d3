"""A typo in what a table declares is one line, which names its file."""

from fnmatch import fnmatch
from pathlib import Path

import pytest

from bottomup.core.errors import UserError
from bottomup.plan.config import load
from bottomup.plan.declared import OTHERS, require_declared
from bottomup.plan.figures import Figures
from bottomup.plan.reading import read
from bottomup.plan.study import tables
from bottomup.plan.subjects import Subjects
from bottomup.tables import Table
from tests.tiny import ROOT

READS = {"views": ["views", "occurrences"], "annotations": ["annotations"], "model": ["model"]}
PARTS = {"run": "lm-1", "reading": "mlm-1.as_trained", "pair": "lm-1.mt_half1-2"}
PARTS |= {"pruned": "mt-1.all.gates_0.03"}


def declared(part="run", **table) -> None:
    parts = table.pop("parts", [PARTS.get(part, "lm-1")])
    require_declared({"mine": Table(part, **table)}, {"mine": parts}, READS)


@pytest.mark.parametrize("part", PARTS)
def test_each_kind_may_be_declared(part):
    declared(part)
    declared(part, parts=[])
    declared(part, sees="subjects", reads=("model", "annotations") if part == "run" else ("model",))


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ({"part": "runs"}, "part: found 'runs'; allowed: one of run, reading, pair, pruned"),
        ({"sees": "model"}, "sees: found 'model'; allowed: one of views, subjects"),
        ({"writes": ("json",)}, "writes: found ('json',); allowed: list (one of csv, parquet)"),
        ({"reads": "views"}, "reads: found 'views'; allowed: list (text)"),
        ({"memory": 3000}, "memory: found 3000; allowed: list (number)"),
        (
            {"reads": ("view",)},
            "reads: found view; allowed: annotations, model, views; did you mean views?",
        ),
        (
            {"reads": ("annotations",)},
            "reads: found nothing that gives occurrences, which sees='views' needs",
        ),
        (
            {"part": "reading", "reads": ("views", "annotations")},
            "reads: found annotations, which are of plain text; allowed: for a run, not a reading",
        ),
        (
            {"part": "pair", "parts": ["lm-1"]},
            "parts: found lm-1; allowed: pairs of runs, as from subjects.pairs_of_runs(), since it "
            "is about a pair",
        ),
    ],
)
def test_what_is_wrong(table, line):
    with pytest.raises(UserError) as said:
        declared(**table)
    assert str(said.value) == f"bottomup/tables/mine.py: {line}"


@pytest.mark.parametrize("name", ["heads", "claims"])
def test_the_name_of_a_table_that_another_program_writes(name):
    with pytest.raises(UserError, match=rf"^bottomup/tables/{name}\.py: found a table that"):
        require_declared({name: Table("run")}, {name: ["lm-1"]}, READS)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("other", PARTS)
def test_parts_of_another_kind_are_refused(part, other):
    if other != part:
        with pytest.raises(UserError, match=f"parts: found {PARTS[other]}; "):
            declared(part, parts=[PARTS[other]])


def test_a_table_with_the_figure_of_another_is_a_line(monkeypatch):
    """Its own would take the place of the other, without a word."""
    study = load(*read([ROOT / "config.yaml"], {}))
    subjects = Subjects(study)
    parts = {name: [*module.TABLE.parts(subjects)] for name, module in tables().items()}
    figures = Figures(study, subjects, parts | {"gates": []})
    figures.drawn()
    of_tables = figures._of_tables()
    monkeypatch.setattr(figures, "_of_tables", lambda: of_tables | {"mask": of_tables["probes"]})
    with pytest.raises(UserError, match=r"^two figures are called mask; allowed"):
        figures.drawn()


def test_the_tables_of_other_programs_are_those_that_a_study_has(outputs):
    """Gates are collected like other tables, and written by pruning."""
    collected = ("collect_tables", "collect_estimates")
    written = {name for name, rule in outputs.rules.items() if rule not in collected}
    beside = {Path(name).stem for name in written if fnmatch(name, "measures/*.csv")}
    assert {name for name in beside if f"measures/{name}.csv" in written} | {"gates"} == OTHERS
