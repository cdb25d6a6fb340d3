import subprocess
import sys

import pytest

from bottomup.workflow import config, digest
from tests.workflow.checkouts import ROOT

# What a function imports, where it is called for.
LATER = {"bottomup.subjects.checkpoint"}
SCRIPTS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "scripts").glob("*.py"))
LOADED = """
import runpy, sys
for module in sys.argv[2:]:
    __import__(module)
runpy.run_path(sys.argv[1], run_name="imported")
print(*(name for name in sys.modules if name.partition(".")[0] == "bottomup"))
"""


def loaded(script, *modules):
    """The project's modules that are there once `script` and `modules` are imported."""
    command = [sys.executable, "-c", LOADED, script, *modules]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The modules whose text is only shown, and what they import."""
    script = tmp_path_factory.mktemp("script") / "empty.py"
    script.touch()
    return loaded(script, *digest.SHOWN)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A small project in place of this one; writes files, and forgets what was read before."""

    def write(**files):
        for name, text in files.items():
            path = tmp_path / f"{name.replace('__', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for function in (
            digest._file,
            digest._parsed,
            digest._names,
            digest._digest,
            digest._locked,
            digest.digest,
        ):
            function.cache_clear()

    (tmp_path / "envs").mkdir()
    (tmp_path / "envs/requirements.lock").write_text(
        "numpy==1 ; python_full_version < '3.12'\n"
        "numpy==2 ; python_full_version >= '3.12'\nscikit-learn==3\nnumpy-financial==1\n"
    )
    monkeypatch.setattr(digest, "ROOT", tmp_path)
    write(run="import bottomup.a", bottomup__a="x = 1", bottomup__b="y = 1")
    (tmp_path / "bottomup/__init__.py").touch()
    yield write
    monkeypatch.undo()
    write()


@pytest.mark.parametrize("script", SCRIPTS)
def test_imported_is_what_importing_loads(script, shown):
    found = set(digest.imported(script))
    assert found <= loaded(script, *(found & LATER)) <= found | shown
    assert not found & digest.SHOWN.keys()


@pytest.mark.parametrize(
    "module",
    [f"bottomup.objectives.{name}" for name in config.modules("objectives")]
    + [f"bottomup.model.trunks.{name}" for name in config.modules("model.trunks")]
    + [f"bottomup.corpus.sources.{name}" for name in config.modules("corpus.sources")],
)
def test_modules_chosen_by_name_bring_what_they_import(module, shown):
    script = "scripts/fetch_corpus.py"
    found = set(digest.imported(script, module))
    assert found <= loaded(script, module) <= found | shown


@pytest.mark.parametrize(
    "statement",
    [
        "import bottomup.sub.c",
        "import bottomup.sub.c as c, os",
        "from bottomup.sub import c",
        "from bottomup.sub.c import z",
        "from .sub import c",
        "from .sub.c import z",
        "from . import sub; from .sub import c",
        "def f():\n    from bottomup.sub.c import z",
        "if True:\n    import bottomup.sub.c",
    ],
)
def test_every_form_of_import_is_followed(project, tmp_path, statement):
    project(bottomup__a=statement, bottomup__sub__c="from .. import b\nz = 1")
    (tmp_path / "bottomup/sub/__init__.py").write_text("")
    expected = ["bottomup", "bottomup.a", "bottomup.b", "bottomup.sub", "bottomup.sub.c"]
    assert digest.imported("run.py") == expected


def test_importing_a_module_brings_its_packages_with_what_they_import(project, tmp_path):
    project(run="from bottomup.sub.c import z", bottomup__sub__c="z = 1")
    (tmp_path / "bottomup/sub/__init__.py").write_text("from bottomup import b")
    project()
    assert digest.imported("run.py") == ["bottomup", "bottomup.b", "bottomup.sub", "bottomup.sub.c"]


@pytest.mark.parametrize(
    "same",
    [
        "x = 1  # a comment",
        '"""A docstring."""\nx = 1',
        "\n\nx = (\n    1\n)",
        "x = 0x1",
    ],
)
def test_form_does_not_matter(project, same):
    before = digest.digest("run.py")
    project(bottomup__a=same)
    assert digest.digest("run.py") == before


def test_docstrings_do_not_matter_and_other_text_does(project):
    project(bottomup__a='def f():\n    "One."\n    return "one"')
    before = digest.digest("run.py")
    project(bottomup__a='def f():\n    "Two."\n    return "one"')
    assert digest.digest("run.py") == before
    project(bottomup__a='def f():\n    "Two."\n    return "two"')
    assert digest.digest("run.py") != before


@pytest.mark.parametrize("other", ["x = 2", "x = 1.0", "x = True", "x = '1'", "x = None", "y = 1"])
def test_code_matters(project, other):
    before = digest.digest("run.py")
    project(bottomup__a=other)
    assert digest.digest("run.py") != before


def test_bounds_of_a_key_do_not_matter_and_arguments_of_a_method_do(project):
    project(bottomup__a="x = key('a', 'b', ge=1)")
    before = digest.digest("run.py")
    project(bottomup__a="x = key('c', 'd', ge=2)")
    assert digest.digest("run.py") == before
    project(bottomup__a="x = style.key(points, looks)")
    before = digest.digest("run.py")
    project(bottomup__a="x = style.key(points, looks[::-1])")
    assert digest.digest("run.py") != before


def test_a_module_that_is_not_imported_does_not_matter_until_it_is_chosen(project):
    before = digest.digest("run.py"), digest.digest("run.py", "bottomup.b")
    assert before[0] != before[1]
    project(bottomup__b="y = 2")
    assert digest.digest("run.py") == before[0]
    assert digest.digest("run.py", "bottomup.b") != before[1]
    with pytest.raises(FileNotFoundError, match="no module"):
        digest.digest("run.py", "bottomup.nothing")


def test_pins_of_packages_matter_where_they_are_imported(project, tmp_path):
    project(bottomup__a="from sklearn import cluster\nimport numpy.linalg")
    before = digest.digest("run.py")
    lock = tmp_path / "envs/requirements.lock"

    def pinned(old, new):
        lock.write_text(lock.read_text().replace(old, new))
        project()
        return digest.digest("run.py")

    assert pinned("numpy-financial==1", "numpy-financial==2") == before
    assert pinned("numpy==1", "numpy==1.1") != before
    assert pinned("numpy==1.1", "numpy==1") == before
    assert pinned("scikit-learn==3", "scikit-learn==4") != before


def test_the_pin_of_a_package_that_is_chosen_by_name_matters(project, tmp_path):
    before = digest.digest("run.py", "sklearn"), digest.digest("run.py")
    lock = tmp_path / "envs/requirements.lock"
    lock.write_text(lock.read_text().replace("scikit-learn==3", "scikit-learn==4"))
    project()
    assert digest.digest("run.py", "sklearn") != before[0]
    assert digest.digest("run.py") == before[1]


def test_every_package_that_the_library_imports_is_pinned():
    files = [*(ROOT / "bottomup").rglob("*.py"), *(ROOT / "scripts").glob("*.py")]
    imported = set().union(*(digest._names(file) for file in files))
    packages = {name for name in imported if name.partition(".")[0] != digest.PACKAGE}
    # Optional: mtdata for the studies at the papers' size, depccg for those who have its model.
    optional = {"mtdata", "depccg"}
    assert {digest._distribution(name) for name in packages} - {*digest._locked()} == optional


def test_content_is_the_names_and_bytes_of_files(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    digests = set()
    for texts in (("x", ""), ("", "x"), ("xx", ""), ("x", "y")):
        a.write_text(texts[0])
        b.write_text(texts[1])
        digest.content.cache_clear()
        digests |= {digest.content(str(a), str(b)), digest.content(str(a))}
        assert digest.content(str(b), str(a)) in digests
    assert len(digests) == 4 + len({"x", "", "xx"})
    # Who reads it for its text says that it is not there.
    assert digest.content(str(tmp_path / "none")) not in digests
