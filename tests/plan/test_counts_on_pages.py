"""How many jobs a page says that Snakemake plans, it plans."""

import re
from collections import Counter

import pytest
import yaml

from tests.plan.planning import planned
from tests.tiny import ROOT

RERUN = (ROOT / "docs/tutorials/rerun.md").read_text()
SMOKE = "studies/smoke.yaml"
# A command that changes a key, and the list of jobs below it.
CHANGES = re.findall(
    r"--config '(\w+)=([^\n]+)' --dry-run\n```.*?```text\njob .*?\n-.*?\n(.*?)```", RERUN, re.S
)


def stale(before, after):
    """Jobs of the second plan that the first has not, or told other things, and all after them."""
    told = {tuple(job.output): (job.params, {*job.input}) for job in before}
    found = {job for job in after if told.get(tuple(job.output)) != (job.params, {*job.input})}
    made = {file for job in found for file in job.output}
    while more := {job for job in after if job not in found and made & {*job.input}}:
        found |= more
        made |= {file for job in more for file in job.output}
    return found


@pytest.fixture(scope="module")
def smoke(unbuilt):
    return planned(unbuilt, unbuilt / SMOKE)


def test_there_are_two_changes():
    assert [section for section, _, _ in CHANGES] == ["objectives", "measures"]


@pytest.mark.parametrize(
    ("section", "keys", "listed"), CHANGES, ids=[section for section, _, _ in CHANGES]
)
def test_what_a_change_makes_stale(section, keys, listed, smoke, unbuilt, tmp_path):
    change = tmp_path / "change.yaml"
    change.write_text(yaml.safe_dump({section: yaml.safe_load(keys)}))
    jobs = stale(smoke, planned(unbuilt, unbuilt / SMOKE, change))
    counts = Counter(job.rule.name for job in jobs) | {"all": 1}
    on_page = {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", listed, re.M)}
    assert on_page.pop("total") == sum(counts.values())
    assert on_page.items() <= counts.items()
    assert "..." in listed or on_page.keys() == counts.keys()


def test_how_many_jobs_a_study_has(smoke, unbuilt):
    pages = {"start.md": smoke, "tutorials/rerun.md": smoke, "running.md": planned(unbuilt)}
    for page, jobs in pages.items():
        text = (ROOT / "docs" / page).read_text()
        said = re.findall(r"^(\d+) jobs;|\d+ of (\d+) jobs", text, re.M)
        assert {int(a or b) for a, b in said} == {len(jobs) + 1}, page  # and `all`
