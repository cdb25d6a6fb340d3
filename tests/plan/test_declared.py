"""A typo in what a table declares is one line, which names its file."""

import pytest

from bottomup.core.errors import UserError
from bottomup.plan.declared import require_declared
from bottomup.tables import Table

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


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("other", PARTS)
def test_parts_of_another_kind_are_refused(part, other):
    if other != part:
        with pytest.raises(UserError, match=f"parts: found {PARTS[other]}; "):
            declared(part, parts=[PARTS[other]])
