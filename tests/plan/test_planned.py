"""A job runs what it was planned with, or ends in one line."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path

import pytest

from bottomup.plan import planned
from bottomup.core.errors import UserError
from bottomup.plan.digest import digest, facts_of
from tests.plan.checkouts import ROOT

pytestmark = pytest.mark.long

SCRIPT = "scripts/collect_tables.py"


@pytest.fixture
def copy(tmp_path):
    """A copy of the library and its programs, and a table to collect."""
    for name in ("bottomup", "scripts"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "a.csv").write_text("x\n1\n")
    return tmp_path


def collected(copy, **changes):
    """What a job says that collects the table as planned, but for these changes of the plan."""
    code = digest(SCRIPT) | changes
    command = [sys.executable, SCRIPT, "--settings", json.dumps({"code": code})]
    done = subprocess.run(
        [*command, "--tables", "a.csv", "--table", "out.csv"],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
    )
    assert (copy / "out.csv").exists() == (done.returncode == 0)
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1] if done.returncode else ""


def edited(path, text):
    path.write_text(path.read_text() + text)


def test_what_is_as_planned_runs(copy):
    assert collected(copy) == ""


def test_what_differs_only_in_form_runs(copy):
    edited(copy / "bottomup/core/files/tables.py", "# A comment.\n")
    assert collected(copy) == ""


@pytest.mark.parametrize("file", ["bottomup/core/files/tables.py", "bottomup/__init__.py", SCRIPT])
def test_code_that_was_edited_since_the_plan(copy, file):
    edited(copy / file, "\nOTHER = 1\n")
    assert collected(copy).startswith(f"error: {file} is not as it was when this job was planned")


def test_a_module_that_became_a_package_since_the_plan(copy):
    """Who imports it is as it was, and the other file is in no plan."""
    module = copy / "bottomup/core/files/tables.py"
    (module.with_suffix("")).mkdir()
    module.rename(module.with_suffix("") / "__init__.py")
    name = "bottomup/core/files/tables/__init__.py"
    assert collected(copy).startswith(f"error: {name} is no part of what this job was planned")


def test_a_module_from_elsewhere_whose_name_is_computed(copy, tmp_path_factory):
    """No plan has it, so an edit of it would go unseen."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "mine.py").write_text("x = 1\n")
    main = "def main(arguments):\n"
    imports = f"    sys.path.append({str(elsewhere)!r})\n    __import__('mine'.lower())\n"
    script = copy / SCRIPT
    script.write_text("import sys\n" + script.read_text().replace(main, main + imports))
    code = facts_of(script, script.read_bytes())["digests"][0]
    said = collected(copy, **{SCRIPT: code})
    assert said.startswith("error: mine.py is no part of what this job was planned with")


def test_a_file_that_stands_before_an_installed_package_since_the_plan(copy):
    lines = ["import sys", "here = sys.path.pop(0)", "del sys.modules['pandas']", "import pandas"]
    (copy / "scripts/pandas.py").write_text("\n".join([*lines, "sys.path.insert(0, here)\n"]))
    line = collected(copy)
    assert line.startswith("error: scripts/pandas.py is no part of what this job was planned")


def test_a_package_that_is_not_installed_as_planned(copy):
    [line] = [collected(copy, pandas="0.1")]
    assert line.startswith("error: planned with pandas 0.1, but runs with ")


def test_another_python(copy):
    assert collected(copy, python="3.1").startswith("error: planned with python 3.1, but runs ")


@pytest.mark.parametrize(("found", "refused"), [("2.13.0+cpu", False), ("2.14.0+cpu", True)])
def test_a_build_of_the_locked_version_will_do(found, refused, monkeypatch):
    monkeypatch.setattr(planned, "_plan", {})
    monkeypatch.setattr(planned, "installed", lambda name: found)
    for name in ("_take_imported", "_require_script"):
        monkeypatch.setattr(planned, name, lambda: None)
    with pytest.raises(UserError, match=r"^planned with torch 2\.13") if refused else nullcontext():
        planned.require({"torch": "2.13.0"})


def test_code_that_is_imported_later(copy):
    """By a function, once the rest was compared."""
    script = copy / SCRIPT
    script.write_text(script.read_text().replace("def main(", "def main_before(", 1))
    edited(script, "")
    text = script.read_text()
    later = "def main(arguments):\n    import bottomup.core.seeds\n    main_before(arguments)\n\n\n"
    script.write_text(
        text.replace('if __name__ == "__main__"', later + 'if __name__ == "__main__"')
    )
    planned = {SCRIPT: digest_of(copy, SCRIPT), "bottomup/core/seeds.py": "00000000"}
    assert collected(copy, **planned).startswith(
        "error: bottomup/core/seeds.py is not as it was when"
    )


@pytest.mark.skipif(not find_spec("xxlimited"), reason="this Python has no example of an extension")
def test_an_extension_of_ones_own_that_is_imported_later(copy):
    extension = Path(shutil.copy(find_spec("xxlimited").origin, copy)).name
    script, main = copy / SCRIPT, "def main(arguments):\n"
    script.write_text(script.read_text().replace(main, f"{main}    import xxlimited\n"))
    code = {SCRIPT: digest_of(copy, SCRIPT)}
    assert collected(copy, **code).startswith(f"error: {extension} is no part of what this job was")
    assert collected(copy, **code, **{extension: "00000000"}).startswith(
        f"error: {extension} is not as it was when this job was planned"
    )
    assert collected(copy, **code, **{extension: digest_of(copy, extension)}) == ""
    # To ask whether there is one imports nothing.
    asks = "    from importlib.util import find_spec; assert find_spec('xxlimited')"
    script.write_text(script.read_text().replace("    import xxlimited", asks))
    assert collected(copy, **{SCRIPT: digest_of(copy, SCRIPT)}) == ""


def digest_of(copy, file):
    """The digest of a file in the copy."""
    command = "import sys; from bottomup.plan import digest as d; from pathlib import Path; "
    command += "print(d._digest(Path(sys.argv[1]).resolve(), False, False))"
    done = subprocess.run(
        [sys.executable, "-c", command, file],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_bytecode_of_other_code_is_not_run(copy):
    """Python takes bytecode for that of a source with the same size and second."""
    path = copy / "bottomup/core/files/tables.py"
    text = path.read_text()
    path.write_text(text.replace('== b"\\n"', '!= b"\\n"'))  # finds no table whole
    assert path.stat().st_size == len(text.encode())
    os.utime(path, (1000, 1000))
    environment = os.environ | {"PYTHONPATH": str(copy)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", "import bottomup.core.files.tables"]
    subprocess.run(command, cwd=copy, env=environment, check=True)
    assert [*path.parent.glob("__pycache__/tables*.pyc")]
    path.write_text(text)
    os.utime(path, (1000, 1000))
    assert collected(copy) == ""


def test_a_program_that_was_edited_as_it_started(copy):
    """Python had read it by then, and says nowhere what it read."""
    script = copy / SCRIPT
    planned = script.read_text()
    edit = f"import pathlib\npathlib.Path(__file__).write_text({planned!r})\n"
    first = "from bottomup.plan import program\n"
    script.write_text(planned.replace(first, edit + first))
    assert collected(copy) == (
        f"error: {SCRIPT} was edited as this job started; run the same command again, which plans "
        "anew"
    )
    assert script.read_text() == planned


def test_code_that_is_put_back_as_the_job_starts(copy):
    """What is imported before the importer is there counts as it was then."""
    package, script = copy / "bottomup/__init__.py", copy / SCRIPT
    back = f'    Path("bottomup/__init__.py").write_text({package.read_text()!r})\n'
    script.write_text(script.read_text().replace("    program.run(", f"{back}    program.run("))
    edited(package, "OTHER = 1\n")
    line = collected(copy, **{SCRIPT: digest_of(copy, SCRIPT)})
    assert line.startswith("error: bottomup/__init__.py is not as it was when this job was planned")
