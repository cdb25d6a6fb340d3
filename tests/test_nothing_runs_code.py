"""What could run code when a file is opened is not called anywhere."""

import ast
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted([*(ROOT / "bottomup").rglob("*.py"), *(ROOT / "scripts").glob("*.py")])
MODULES = {"pickle", "cPickle", "dill", "joblib", "cloudpickle", "shelve", "marshal", "runpy"}
CALLS = {
    *("eval", "exec", "compile", "torch.load", "yaml.load", "yaml.full_load", "yaml.unsafe_load"),
    *("pd.read_pickle", "archive.extractall", "shutil.unpack_archive", "os.system"),
}
KEYWORDS = {"allow_pickle", "trust_remote_code", "shell"}


def dangers(code):
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name.split(".")[0] for alias in node.names}
            names |= {(getattr(node, "module", None) or "").split(".")[0]}
            yield from names & MODULES
        if isinstance(node, ast.Call):
            yield from {ast.unparse(node.func)} & CALLS
            yield from (
                f"{keyword.arg}={ast.unparse(keyword.value)}"
                for keyword in node.keywords
                if keyword.arg in KEYWORDS and ast.unparse(keyword.value) != "False"
            )


def test_no_program_opens_what_can_run_code():
    assert len(FILES) > 100
    found = {path.name: found for path in FILES if (found := [*dangers(path.read_text())])}
    # It compares what a program was compiled from, and runs nothing.
    assert found == {"planned.py": ["compile"]}


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from joblib import load",
        "np.load(path, allow_pickle=True)",
        "kind.from_pretrained(folder, trust_remote_code=remote)",
        "torch.load(path)",
        "yaml.load(text, Loader)",
        "pd.read_pickle(path)",
        "subprocess.run(command, shell=True)",
        "archive.extractall(folder)",
    ],
)
def test_each_is_found(code):
    assert [*dangers(code)]


def test_arrays_with_pickles_are_refused_where_nothing_is_said(tmp_path):
    np.save(tmp_path / "a.npy", np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        np.load(tmp_path / "a.npy")
