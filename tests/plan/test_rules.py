"""Every rule keeps the form that makes its staleness exact."""

import json
import re
import subprocess
import sys
import textwrap

import pytest
from snakemake.scheduling.job_scheduler import JobScheduler

from bottomup.claims import published, published_heads
from bottomup.pages import latex
from bottomup.plan.study import tables
from bottomup.published import load_published
from tests.plan.checkouts import RESULTS, ROOT

pytestmark = pytest.mark.long

FILES = sorted((ROOT / "rules").glob("*.smk"))
# A rule's indentation, its name (none where a loop makes rules), and all that is further in.
RULE = re.compile(r"^( *)(?:rule|checkpoint) ?(\w*):\n((?:\1    .*\n|\n)+)", re.M)
RULES = [
    pytest.param(textwrap.dedent(body), id=f"{file.stem}.{name}")
    for file in FILES
    for _, name, body in RULE.findall(file.read_text())
]


def test_rules_are_found():
    declared = [re.findall(r"^ *(?:rule|checkpoint)\b.*:$", f.read_text(), re.M) for f in FILES]
    assert len(RULES) == sum(map(len, declared)) > 0


@pytest.mark.parametrize("body", RULES)
def test_a_rule_states_what_its_result_depends_on(body):
    directives = set(re.findall(r"^(\w+):", body, re.M))
    assert {"input", "output", "log", "benchmark", "params", "resources", "conda"} <= directives
    assert "shell" in directives and not {"run", "script", "notebook"} & directives
    # One param is compared, and only that: the slice of the config with the code's digest.
    params = re.search(r"^params:\n((?:    .*\n)+)", body, re.M)[1]
    settings, *others = re.findall(r"^    (\w+)=", params, re.M)
    assert settings == "settings" and others in ([], ["reads", "batches"])
    # Only the contents of files are compared, never those of folders.
    assert "directory(" not in body
    assert "python scripts/" in body and "--settings {params.settings:q}" in body


def test_each_table_has_one_writer(outputs):
    """Parts that two rules write, for runs and checkpoints, need not have the same columns."""
    writers: dict[str, set[str]] = {}
    for path, rule in outputs.rules.items():
        if table := re.match(r"measures/(\w+)/", path):
            writers.setdefault(table[1], set()).add(rule)
    # Of words, other text, a folder, and what is asked for alone.
    of_others = {"alignment", "exact", "minimal_pairs", "transfer", "wordnet"}
    assert writers == {name: {f"measure_{name}"} for name in tables() if name not in of_others} | {
        "gates": {"prune_heads"}
    }


def test_only_the_plan_reads_what_a_table_says_of_itself():
    """Digests leave it out, so a program that read it would depend on what nothing compares."""
    files = [*(ROOT / "scripts").glob("*.py"), *(ROOT / "bottomup").rglob("*.py")]
    reading = {file for file in files if re.search(r"\bTABLE\.|\.TABLE\b", file.read_text())}
    assert {file.parent for file in reading} == {ROOT / "bottomup/plan"}


@pytest.fixture(scope="module")
def records(built):
    """Snakemake's records of what made each output."""
    folder = built.path / ".snakemake/metadata"
    return [json.loads(path.read_text()) for path in folder.rglob("*") if path.is_file()]


def test_settings_are_plain_and_sorted_and_hold_the_code(records, built, outputs):
    assert {record["rule"] for record in records} == set(outputs.rules.values())
    for record in records:
        (text,) = record["params"]
        settings = json.loads(text)
        assert settings["code"]
        assert json.dumps(settings, sort_keys=True) == text
        # A path of this machine would make a moved checkout stale.
        assert str(built.path) not in text


def test_planning_imports_nothing_that_only_jobs_need(unbuilt):
    """Each job on a cluster plans once more, and PyTorch takes half as long as all of a plan."""
    command = [sys.executable, "-X", "importtime", "-m", "snakemake", "--dry-run"]
    done = subprocess.run(command, cwd=unbuilt, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "pandas" in imported
    assert not imported & {"torch", "transformers", "sklearn", "scipy", "matplotlib"}


def test_tables_in_latex_are_made_on_demand(built, outputs):
    made = {output for output in built.summary("latex") if output.startswith("latex/")}
    assert made == {f"latex/{name}.tex" for name in latex.TABLES}
    assert made.isdisjoint(outputs.rules)


def test_a_table_in_latex_that_is_there_is_kept_as_all_else(checkout):
    """Else it would stay in a paper when a measure is edited or a seed is added."""
    table = checkout.path / RESULTS / "latex/quality.tex"
    table.parent.mkdir()
    table.write_text("of an earlier study")
    assert checkout.planned() == {"latex/quality.tex"}


def test_a_look_that_cannot_be_planned_leaves_the_file_of_the_one_before(checkout):
    """The command that asks for it names that file as a config, and is to be given again."""
    look, asked = checkout.path / RESULTS / "next_look.yaml", "objectives: {lm: {n_seeds: 2}}\n"
    look.write_text(asked)
    files = ["--configfile", "study.yaml", f"{RESULTS}next_look.yaml"]
    failed = checkout.snakemake("--cores", "1", *files, "--", "plan_next_look", check=False)
    assert failed.returncode == 1 and "Error in rule plan_next_look" in failed.stderr
    assert look.read_text() == asked


def test_calibration_has_the_published_curves_that_it_reads_among_its_inputs(records, monkeypatch):
    read = set()

    def recorded(name):
        read.add(f"{name}.csv")
        return load_published(name)

    for module in (published, published_heads):
        monkeypatch.setattr(module, "load_published", recorded)
    published.frames()
    (record,) = (record for record in records if record["rule"] == "calibrate_claims")
    inputs = [path for path in record["input"] if "published/curves" in path]
    assert {path.rpartition("/")[2] for path in inputs} == read


def test_no_job_that_has_ended_makes_scheduling_dearer(checkout):
    """Snakemake's limit on jobs a second adds a timer for each (profiles/README.md)."""
    assert "job_rate_limiter" in JobScheduler.__init__.__code__.co_names  # else nothing is set here
    said = 'print("limit:", workflow.scheduler.job_rate_limiter)'
    checkout.edit("Snakefile", "onsuccess:\n", f"onsuccess:\n    {said}\n")
    checkout.append("text/en.txt", "Another line.")
    checkout.append("text/de.txt", "Eine andere Zeile.")
    done = checkout.snakemake(
        *("--cores", "1", "--configfile", "study.yaml", "--until", "fetch_corpus")
    )
    assert "limit: None" in done.stdout.splitlines()
    planned = checkout.snakemake("--dry-run", "--configfile", "study.yaml")
    assert "rule encode_text" in planned.stdout and "group" not in planned.stdout
