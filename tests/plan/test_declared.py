"""A typo in what a table declares is one line, which names its file."""

import pytest
from pydantic import Field

from bottomup.core.errors import UserError
from bottomup.core.settings import File, Section
from bottomup.plan.config import load
from bottomup.plan.declared import require_declared, require_own_names, require_sections
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


class Mine(Section):
    n: int = 3
    shares: list[float] = Field(default_factory=lambda: [0.5])


class Another(Section):
    n: int = 3


class Wrong(Section):
    needed: int
    n: int = "3"  # type: ignore[assignment]
    most: float = Field(default=2.0, le=1)


def test_a_section_is_declared_once():
    require_sections(
        [("a", "mine", Mine, False), ("b", "mine", Mine, True), ("c", "other", Another, False)],
        ["chance"],
    )
    with pytest.raises(UserError) as said:
        require_sections(
            [
                *(("a", "mine", Mine, False), ("b", "mine", Another, False)),
                ("chance", "chance", Mine, False),
            ],
            ["chance"],
        )
    assert str(said.value).splitlines() == [
        "bottomup/tables/b.py: found the section measures.mine, which the table a declares with "
        "other keys; allowed: another section, or the Settings of that table",
        "bottomup/tables/chance.py: found the section measures.chance, which "
        "bottomup/core/settings.py declares with other keys; allowed: another section, or the "
        "Settings of that table",
    ]


def test_a_default_that_its_key_does_not_allow_is_a_line():
    with pytest.raises(UserError) as said:
        require_sections([("mine", "mine", Wrong, False)], [])
    assert str(said.value).splitlines() == [
        'bottomup/tables/mine.py: default of measures.mine.n: found "3"; allowed: whole number',
        "bottomup/tables/mine.py: default of measures.mine.most: found 2.0; allowed: number, <= 1",
    ]


class Uncounted(Section):
    words: File | None = None
    skipped: list[set[str]] = Field([])


def test_a_key_that_tells_no_plan_what_has_changed_is_a_line():
    a_set = "bottomup/tables/mine.py: measures.mine.skipped: found a set, of another order in"
    for more, lines in (
        (True, [a_set]),
        (False, ["bottomup/tables/mine.py: measures.mine.words: found a path, and an edit", a_set]),
    ):
        with pytest.raises(UserError) as said:
            require_sections([("mine", "mine", Uncounted, more)], [])
        found = str(said.value).splitlines()
        assert [line[: len(start)] for line, start in zip(found, lines, strict=True)] == lines


def test_the_names_of_tables_that_other_programs_write(outputs):
    """Of gates there are parts alone, which pruning writes. What collects parts has a pattern."""
    written = {rule: ["results/planned/measures/{measure}.csv"] for rule in ("collect_tables",)}
    for output, rule in outputs.rules.items():
        if rule not in ("collect_tables", "collect_estimates"):
            written.setdefault(rule, []).append(f"results/planned/{output}")
    require_own_names([*tables()], written)
    for name in ("heads", "claims", "specifications", "calibration", "comparison", "gates"):
        line = rf"^bottomup/tables/{name}\.py: found a table that a study has beside these; rename"
        with pytest.raises(UserError, match=line):
            require_own_names([*tables(), name], written)


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
