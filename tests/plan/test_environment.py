"""The environments for pip and for conda are the same, and have what is asked for; making one
destroys nothing."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, version

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from bottomup.plan import lock
from tests.plan.checkouts import ROOT

PINS = re.compile(r"^(\S.*?) \\\n((?: +--hash=.*\n)+)", re.M)
LOCKS = [(ROOT / f"envs/{name}.lock").read_text() for name in ("requirements", "gpu", "cpu")]
# By pin, its hashes.
PINNED, GPU, CPU = (
    {pin: re.findall(r"--hash=(\S+)", hashes) for pin, hashes in PINS.findall(lock)}
    for lock in LOCKS
)
MAKE = (ROOT / "envs/make").read_text()
CONDA = yaml.safe_load((ROOT / "envs/bottomup.yaml").read_text())


def test_what_is_not_installed_as_locked_is_told_of_this_machine_alone(monkeypatch):
    pins = [("numpy", "0.1", ""), ("pandas", "0.1", "sys_platform == 'other'"), ("none", "1", "")]
    monkeypatch.setattr(lock, "_pins", lambda: iter([*pins, ("scipy", version("scipy"), "")]))
    found = f"numpy {version('numpy')} instead of 0.1, none none instead of 1; results count"
    assert f"envs/requirements.lock: {found}" in lock.unlike_the_lock()
    monkeypatch.setattr(lock, "_pins", lambda: iter([("scipy", version("scipy"), "")]))
    assert lock.unlike_the_lock() is None


def test_conda_has_the_pins_of_the_lock():
    python, pip, pins = CONDA["dependencies"]
    assert pip == "pip" and pins == {"pip": [*PINNED]}
    assert CONDA["channels"] == ["conda-forge"]
    # One, so that records say which; of those that the library asks for and envs/make takes.
    asked_for = SpecifierSet(python.removeprefix("python "))
    lowest, highest = map(int, re.findall(r"\(3, (\d+)\)", MAKE))
    [taken] = [minor for minor in range(30) if f"3.{minor}" in asked_for]
    assert lowest <= taken <= highest
    assert f"3.{taken}" in SpecifierSet(project()["requires-python"])
    of_conda = lock.of_conda()
    assert of_conda["python"] == f"3.{taken}"
    assert {f"{name}=={of_conda[name]}" for name in ("numpy", "scipy", "pandas")} <= {
        pin.split(" ")[0] for pin in PINNED
    }


def test_a_pin_is_one_version_that_pip_can_read():
    for pin in map(Requirement, [*PINNED, *GPU]):
        (version,) = pin.specifier
        assert version.operator == "==" and not pin.extras and not pin.url


def test_the_lock_pins_what_is_asked_for():
    library, extras = asked()
    assert library | extras <= {pin.partition("==")[0] for pin in PINNED}
    assert "torch==2.13.0" in PINNED


def test_each_line_of_the_locks_is_a_pin_with_hashes():
    assert [PINS.sub("", lock) for lock in LOCKS] == [""] * 3
    hashes = [each for found in (PINNED | GPU | CPU).values() for each in found]
    assert all(re.fullmatch("sha256:[0-9a-f]{64}", each) for each in hashes)


def test_the_libraries_of_torch_for_gpus_are_apart():
    """As its build for GPUs asks for them; `--no-deps` would forget what is in neither lock."""
    kinds = re.compile("(nvidia-|cuda-|triton==)")
    assert all(kinds.match(pin) for pin in GPU) and not any(map(kinds.match, PINNED))
    assert {"nvidia-cublas", "nvidia-cudnn-cu13", "triton"} <= {pin.split("==")[0] for pin in GPU}
    assert [*CPU] == ["torch==2.13.0+cpu"]


def test_the_library_asks_for_what_it_imports():
    """But for what a user installs for one source or one annotation, as messages there say."""
    optional = {"depccg", "mtdata"}
    trees = [ast.parse(path.read_text()) for path in (ROOT / "bottomup").rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {n.module for n in nodes if isinstance(n, ast.ImportFrom) and not n.level}
    roots = {name.partition(".")[0] for name in names} - sys.stdlib_module_names
    distributions = packages_distributions()
    installed = (distributions[root][0] for root in roots - optional - {"bottomup"})
    imported = {name.lower().replace("_", "-") for name in installed}
    library, _ = asked()
    interfaces = {f"snakemake-interface-{of}-plugins" for of in ("executor", "logger")}
    of_workflow = {"snakemake"} | interfaces
    assert imported - library == of_workflow | {"pydantic-core"}  # of pydantic
    assert library - imported == {"sentencepiece"}  # of tokenizers in transformers


def asked() -> tuple[set[str], set[str]]:
    """The distributions that the library needs, and those of its extras."""
    extras = [line for lines in project()["optional-dependencies"].values() for line in lines]
    library, of_extras = (
        {re.match(r"[\w-]+", line)[0] for line in lines}
        for lines in (project()["dependencies"], extras)
    )
    return library, of_extras


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


INSTALLED = ["cpu.lock", "requirements.lock"]
# Stands for Python, venv and pip. Its torch is for GPUs if the variable GPU is set.
FAKE_PYTHON = """\
#!/usr/bin/env bash
case "$*" in
    "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
    *"pip install"*)
        echo "${@: -1}" >>"$CALLS"
        if [[ "${FAILS:-}" == *"${@: -1}"* ]]; then
            echo "WARNING: ${PIP_RETRIES:-5} retries"
            echo "ERROR: nothing like ${@: -1}"
            exit 1
        fi >&2 ;;
    *"requires"*) [[ -n "${GPU:-}" ]] ;;
esac
"""


class Checkout:
    """A folder with envs/ and a Python that makes environments of nothing."""

    def __init__(self, folder):
        self.path, self.venv, self.calls = folder, folder / ".venv", folder / "calls"
        shutil.copytree(ROOT / "envs", folder / "envs")
        shutil.copy2(ROOT / "study", folder / "study")
        for name in ("requirements", "cpu", "gpu"):
            (folder / f"envs/{name}.lock").write_text(f"{name}==1\n")
        (folder / "programs").mkdir()
        python = folder / "programs/python3"
        python.write_text(FAKE_PYTHON)
        python.chmod(0o755)

    def make(self, **variables):
        """Run envs/make: the locks that were installed, and what it said if it failed."""
        self.calls.write_text("")
        path = f"{self.path}/programs:{os.environ['PATH']}"
        done = subprocess.run(
            [self.path / "envs/make"],
            env=os.environ | {"PATH": path, "CALLS": str(self.calls)} | variables,
            capture_output=True,
            text=True,
        )
        self.said = done.stderr.splitlines()
        said = self.said[-1] if done.returncode else None
        return [line.removeprefix("envs/") for line in self.calls.read_text().split()], said

    def refuses(self, *words):
        """Whether it ends in one line with these words, and changes no file."""
        before = contents(self.path)
        installed, said = self.make()
        assert said.startswith("error: ") and all(word in said for word in words), said
        assert not installed and contents(self.path) == before
        return True


def contents(folder):
    """Files, folders and links below a folder, and what links lead to."""
    found = {}
    for path in folder.rglob("*"):
        if path != folder / "calls":
            found[path] = path.read_bytes() if path.is_file() else None
        if path.is_symlink():
            found |= {path: os.readlink(path)} | (contents(path) if path.is_dir() else {})
    return found


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "one").mkdir()
    return Checkout(tmp_path / "one")


@pytest.fixture
def other(tmp_path):
    (tmp_path / "other").mkdir()
    return Checkout(tmp_path / "other")


def test_an_environment_is_made_once_for_each_lock(checkout):
    assert checkout.make() == (INSTALLED, None)
    assert checkout.make() == ([], None)
    (checkout.path / "envs/gpu.lock").write_text("gpu==2\n")
    assert checkout.make(GPU="1") == ([*INSTALLED, "gpu.lock"], None)
    assert checkout.make() == ([], None)


def test_where_no_build_of_torch_for_cpus_is_found_that_of_the_lock_is_installed(checkout):
    assert checkout.make(FAILS="envs/cpu.lock") == (INSTALLED, None)
    assert checkout.make() == ([], None)


def test_each_download_is_told_at_its_start_and_what_pip_found_at_its_end(checkout):
    """Without a network nothing would be said for minutes."""
    both = {"FAILS": "envs/cpu.lock envs/requirements.lock"}
    installed, error = checkout.make(**both)
    _, cpu, not_found, all_packages, retries, of_pip, last = checkout.said
    assert installed == INSTALLED and last == error
    assert cpu.startswith("Fetching") and "envs/cpu.lock" in cpu
    assert not_found.endswith("pip said: ERROR: nothing like envs/cpu.lock")
    assert all_packages.startswith("Fetching") and "envs/requirements.lock (1)" in all_packages
    assert retries == "WARNING: 2 retries"
    assert of_pip == "ERROR: nothing like envs/requirements.lock"
    checkout.make(**both, PIP_RETRIES="7")
    assert "WARNING: 7 retries" in checkout.said


def test_an_install_that_was_interrupted_starts_again(checkout):
    assert "were not installed" in checkout.make(FAILS="envs/requirements.lock")[1]
    (checkout.venv / "half").touch()
    assert checkout.make() == (INSTALLED, None)
    assert not (checkout.venv / "half").exists()


def test_a_checkout_that_was_moved_has_its_environment_made_anew(checkout, tmp_path):
    """Its programs contain the path of the Python that runs them."""
    checkout.make()
    moved = checkout.path.rename(tmp_path / "moved")
    os.symlink(tmp_path / "moved", tmp_path / "link")
    checkout.path, checkout.calls = moved, moved / "calls"
    assert checkout.make() == (INSTALLED, None)
    checkout.path = tmp_path / "link"
    assert checkout.make() == ([], None)


def test_a_whole_environment_is_used_through_a_link(checkout, other):
    other.make()
    checkout.venv.symlink_to(other.venv)
    before = contents(other.path)
    assert checkout.make() == ([], None)
    assert contents(other.path) == before


@pytest.mark.parametrize("state", ["of another lock", "unfinished", "of somebody else"])
def test_an_environment_behind_a_link_is_left_as_it_is(checkout, other, state):
    if state == "of somebody else":
        (other.venv / "bin").mkdir(parents=True)
    else:
        (other.path / "envs/requirements.lock").write_text("of another==1\n")
        other.make(FAILS="envs/requirements.lock" if state == "unfinished" else "")
    checkout.venv.symlink_to(other.venv)
    assert checkout.refuses(f".venv is a link to {other.venv}", "delete the link or empty")


def test_an_environment_is_made_in_an_empty_folder_behind_a_link(checkout, tmp_path):
    """As on a cluster with little room in the home folder."""
    (tmp_path / "scratch").mkdir()
    checkout.venv.symlink_to("../scratch")
    assert checkout.make() == (INSTALLED, None)
    assert checkout.venv.is_symlink() and (tmp_path / "scratch/bin/python").exists()
    assert checkout.make() == ([], None)


def test_a_link_to_nothing(checkout):
    checkout.venv.symlink_to("nowhere")
    assert checkout.refuses(".venv is a link to nowhere, where no folder is")


def test_a_python_that_does_not_run_is_told_of_an_environment_behind_a_link(checkout, other):
    """As one in the closed home of whoever made it."""
    other.make()
    (other.venv / "pyvenv.cfg").write_text("home = /home/ada/bin\n")
    (other.venv / "bin/python").unlink()
    checkout.venv.symlink_to(other.venv)
    assert checkout.refuses("its Python, of /home/ada/bin, does not run here", "delete the link")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder to another user")
@pytest.mark.parametrize("unfinished", [False, True])
def test_an_environment_of_another_user_is_left_as_it_is(checkout, unfinished):
    """One of a folder that a group shares may be at work, or on the way."""
    checkout.make(FAILS="envs/requirements.lock" if unfinished else "")
    (checkout.venv / "bin/python").unlink()
    os.chown(checkout.venv, 12345, -1)
    assert checkout.refuses(".venv is another user's (12345)", "let that user run envs/make")


@pytest.mark.parametrize("made_by", ["conda-meta/history", "pyvenv.cfg"])
def test_an_environment_that_somebody_else_made_is_left_as_it_is(checkout, made_by):
    file = checkout.venv / made_by
    file.parent.mkdir(parents=True)
    file.touch()
    assert checkout.refuses(".venv was not made by envs/make", "move or delete it")


def test_a_file_in_place_of_the_environment(checkout):
    checkout.venv.write_text("mine")
    assert checkout.refuses(".venv is a file; delete it")


def test_two_do_not_make_one_environment(checkout):
    checkout.venv.mkdir()
    (checkout.venv / "made-by").write_text(f"{os.uname().nodename} {os.getpid()}\n")
    assert checkout.refuses(f"{os.getpid()} makes .venv; wait until it ends")


def bash_scripts():
    """The scripts of the repository, but for those that say nothing of a folder."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout
    files = (name for name in listed.splitlines() if not name.endswith(".py"))
    texts = {name: (ROOT / name).read_text(errors="replace") for name in files}
    bash = {name: text for name, text in texts.items() if text.startswith("#!/usr/bin/env bash\n")}
    return {name: text for name, text in bash.items() if re.search("^cd ", text, re.M)}


@pytest.mark.parametrize("name", bash_scripts())
def test_a_script_works_in_its_own_checkout_whatever_that_is_called(tmp_path, name):
    """Not in one of the same name where cd looks first; envs/remove would delete there."""
    assert {"study", "test", "envs/make", "envs/remove"} <= {*bash_scripts()}
    before, line, _ = re.split("^(cd .*)$", bash_scripts()[name], maxsplit=1, flags=re.M)
    for folder in (tmp_path, tmp_path / "others"):
        script = folder / "-n" / name
        script.parent.mkdir(parents=True)
        script.write_text(f"{before}{line}\npwd -P\n")
    for called, start in ((f"-n/{name}", tmp_path), (name, tmp_path / "-n")):
        done = subprocess.run(
            ["bash", "--", called],
            cwd=start,
            env=os.environ | {"CDPATH": f"{tmp_path}/others:{tmp_path}/others/-n"},
            capture_output=True,
            text=True,
        )
        assert done.stdout.removesuffix("/envs\n").rstrip() == f"{tmp_path}/-n", done.stderr


def test_nothing_is_removed_through_a_link(checkout, other):
    (other.path / "results").mkdir()
    (checkout.path / "results").symlink_to(other.path / "results")
    (checkout.path / "file").write_text("ours")
    (checkout.path / "folder").mkdir()
    (checkout.path / "folder/link").symlink_to(other.path)
    before = contents(checkout.path)

    def removed(*paths):
        done = subprocess.run(
            [checkout.path / "envs/remove", *paths], capture_output=True, text=True
        )
        return done.stderr or "all"

    assert "results is a link to" in removed("file", "results/smoke")
    assert "results is a link to" in removed("results")
    assert contents(checkout.path) == before
    there = contents(other.path)
    assert removed("file", "folder", "missing") == "all"
    assert contents(other.path) == there
    assert not (checkout.path / "file").exists() and not (checkout.path / "folder").exists()
