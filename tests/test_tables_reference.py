"""docs/tables.md has the columns that code states, for all tables that the workflow collects."""

import importlib
import re
import subprocess
from itertools import chain

from bottomup.claims import calibration, comparison, judge, specifications
from bottomup.core.files.tables import TEXT
from bottomup.corpus import annotation, sources
from bottomup.figures import gates_over_time, groups, heads, influence_of_groups, points
from bottomup.heads import functions
from bottomup.measures.jackknife import WITHOUT
from bottomup.plan.study import TABLE_NAMES
from bottomup.tables import attention, attention_patterns, projection
from bottomup.views import annotations
from scripts import collect_heads
from tests.tiny import ROOT

HEADS = [*collect_heads.HEAD, *collect_heads.IMPORTANCES, *collect_heads.FUNCTION.values()]
STATED = {
    "change": [*groups.NEEDED, "layer_a", "layer_b", "n_occurrences", "n_needed", WITHOUT],
    "influence": [*groups.NEEDED, *influence_of_groups.COLUMNS, "n_needed", WITHOUT],
    "projection": ["objective", "seed", *projection.COLUMNS],
    "head_functions": ["objective", "seed", *functions.COLUMNS],
    "attention_patterns": ["objective", "seed", *attention_patterns.COLUMNS],
    "pruned_functions": [*heads.MODEL, *functions.COLUMNS],
    "heads": [*HEADS, "function", "baseline_accuracy"],
    "gates": gates_over_time.NEEDED,
    "<seed>": ["objective", "seed", *attention.COLUMNS],
    "claims": judge.COLUMNS,
    "specifications": specifications.COLUMNS,
    "calibration": [*calibration.COLUMNS, "as_if"],
    "comparison": comparison.COLUMNS,
    "test": ["origin", *sources.COLUMNS],
    "annotation": [*annotation.COLUMNS, *annotations.COLUMNS],
    "annotations": ["word", "first_subword", "last_subword", *annotations.COLUMNS],
    "<figure>": points.COLUMNS,
}


def documented():
    """Columns by table; a row about one of several tables says so: in `splits.csv`: ..."""
    found = {}
    for section in (ROOT / "docs/tables.md").read_text().split("\n### ")[1:]:
        heading, *lines = section.splitlines()
        tables = re.findall(r"([\w<>]+)\.(?:csv|parquet|jsonl)`", heading)
        for columns, meaning in (line.split("|")[1:3] for line in lines if line.startswith("| `")):
            one = re.match(r" in `(\w+)\.\w+`:", meaning)
            for table in [one[1]] if one else tables:
                found.setdefault(table, set()).update(re.findall(r"`(\w+)`", columns))
    return found


def test_columns_are_those_that_code_states():
    assert {name: documented()[name] for name in STATED} == {k: set(v) for k, v in STATED.items()}


def test_names_of_objectives_are_read_as_text():
    every = set().union(*documented().values())
    assert {*TEXT} <= every
    assert {name for name in every if "objective" in name} < {*TEXT}


def test_figures_find_what_they_need():
    for path in (ROOT / "bottomup/figures").glob("*.py"):
        for table in re.findall(r'\(\s*tables, "(\w+)", NEEDED', path.read_text()):
            needed = importlib.import_module(f"bottomup.figures.{path.stem}").NEEDED
            assert set(needed) <= documented()[table], (path.stem, table)


def test_each_table_is_computed_where_the_page_says():
    text = (ROOT / "docs/tables.md").read_text()
    section = text.split("## Where each is computed\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in section.splitlines() if line.startswith("| `")]
    named = [[re.findall(r"`([\w./]+)`", cell) for cell in row] for row in rows]
    tables, rules, modules, _ = map(chain.from_iterable, zip(*named, strict=True))
    assert {*TABLE_NAMES} <= {*tables}
    listed = subprocess.run(
        ["snakemake", "--list-rules"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert {*rules} <= {*listed.stdout.split()}
    assert all((ROOT / path).is_file() for path in modules if "/" in path)


def test_every_table_that_is_collected_is_documented():
    assert {*TABLE_NAMES} - {"attention", "beliefs"} <= documented().keys()
