"""What a repository of the field has beside its code, as far as a test can hold it true."""

import re
import subprocess
import tomllib

import pytest
import yaml

from tests.plan.checkouts import ROOT

FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))


def test_one_version_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == version
    newest = re.search(r"^## (\S+) - (unreleased|\d{4}-\d\d-\d\d)$", changelog(), re.M)
    assert newest[1] == version


def test_the_changelog_keeps_its_form():
    kinds = re.findall(r"^### (.*)$", changelog(), re.M)
    assert set(kinds) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def changelog():
    return (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("file", FORMS, ids=lambda file: file.stem)
def test_a_form_for_issues_is_one_that_can_be_filled_in(file):
    """The keys that GitHub asks for, and no question twice."""
    form = yaml.safe_load(file.read_text())
    if file.stem == "config":
        assert form.keys() == {"blank_issues_enabled"}
        return
    assert {"name", "description", "body"} <= form.keys()
    asked = [field for field in form["body"] if field["type"] != "markdown"]
    assert all(field["attributes"]["label"] for field in asked)
    ids = [field["id"] for field in asked]
    assert len(ids) == len(set(ids)) > 0
    assert any(field.get("validations", {}).get("required") for field in asked)


def test_what_is_checked_before_a_commit_is_what_ci_checks():
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert local["repo"] == "local"  # so that no network is needed
    ci = (ROOT / ".ci/run").read_text()
    for hook in local["hooks"]:
        assert hook["language"] == "system" and hook["entry"] in ci


def test_the_catalog_finds_a_workflow():
    """What snakemake-workflow-catalog asks of a repository, but for what it calls standardized."""
    readme = (ROOT / "README.md").read_text().lower()
    assert "snakemake" in readme and "workflow" in readme
    assert (ROOT / "Snakefile").exists() and list((ROOT / "rules").glob("*.smk"))
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert set(usage["software-stack-deployment"]) == {"conda", "apptainer", "apptainer+conda"}


@pytest.mark.parametrize("file", ["CONTRIBUTING.md", ".github/pull_request_template.md"])
def test_the_commands_that_it_names_are_there(file):
    text = (ROOT / file).read_text()
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout
    named = re.findall(r"`([\w./-]+/[\w.-]+|\./\w+|\w+\.\w+)`", text)
    named += [path for path in re.findall(r"\]\((?!http)([^)#]+)", text)]
    assert named
    for path in named:
        path = path.removeprefix("./").rstrip("/")
        assert any(f"{line}/".startswith(f"{path}/") for line in tracked.splitlines()), path


def test_nothing_that_is_kept_is_a_link():
    """It would lead to a place of one machine; and one that stands where others have a folder that
    git ignores takes the place of that folder."""
    listed = ["git", "ls-files", "--stage", "--cached", "--others", "--exclude-standard"]
    kept = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
    assert not [line for line in kept if line.startswith("120000")]
    ignored = subprocess.run(
        ["git", "check-ignore", "--no-index", ".venv", "downloads", "trained", "results"],
        cwd=ROOT, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    assert len(ignored) == 4, "a link of this name must be ignored, too"
