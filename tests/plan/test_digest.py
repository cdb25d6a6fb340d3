import ast
import importlib
import os
import re
import shutil
import subprocess
import sys

import pytest

from bottomup.plan import digest, lock, study, syntax
from bottomup.plan.syntax import Code
from tests.plan.checkouts import ROOT
from tests.plan.imports import imported
from tests.warm import OF_PROGRAMS, warm

pytestmark = pytest.mark.long

# What a function imports, where it is called for.
LATER = {"bottomup.subjects.checkpoint"}
CACHED = (
    *(digest._folder, digest._file, digest._names, digest._digest, digest.facts),
    *(digest._version, digest._distributions, digest._by_package),
)
SCRIPTS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "scripts").glob("*.py"))
LOADED = """
import runpy, sys
for module in sys.argv[2:]:
    __import__(module)
runpy.run_path(sys.argv[1], run_name="imported")
print(*(name for name in sys.modules if name.partition(".")[0] == "bottomup"))
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """Gives the project's modules that are there once a script and modules are imported."""
    program = tmp_path_factory.mktemp("program") / "loaded.py"
    program.write_text(LOADED)
    options = {"cwd": ROOT, "env": os.environ | {"PYTHONPATH": str(ROOT)}}

    def ask(script, *modules):
        command = [python, program, script, *modules]
        done = subprocess.run(command, **options, capture_output=True, text=True, check=True)
        return set(done.stdout.split())

    with warm(*OF_PROGRAMS) as python:
        yield ask


@pytest.fixture(scope="module")
def shown(loaded, tmp_path_factory):
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
        for function in (*CACHED, digest.digest):
            function.cache_clear()

    monkeypatch.setattr(digest, "ROOT", tmp_path)
    monkeypatch.setattr(digest, "SCRIPTS", tmp_path / "scripts")
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    write(run="import bottomup.a", bottomup__a="x = 1", bottomup__b="y = 1")
    (tmp_path / "bottomup/__init__.py").touch()
    yield write
    monkeypatch.undo()
    write()


def install(folder, **versions):
    """Put packages in place of those that are installed."""
    for name, version in versions.items():
        for earlier in folder.glob(f"site-packages/{name}-*.dist-info"):
            shutil.rmtree(earlier)
        about = folder / f"site-packages/{name}-{version}.dist-info/METADATA"
        about.parent.mkdir(parents=True)
        about.write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    importlib.invalidate_caches()
    for function in (*CACHED, digest.digest):
        function.cache_clear()


@pytest.mark.parametrize("script", SCRIPTS)
def test_imported_is_what_importing_loads(script, loaded, shown):
    found = set(imported(script))
    assert found <= loaded(script, *(found & LATER)) <= found | shown
    assert not found & digest.SHOWN.keys()


@pytest.mark.parametrize(
    "module",
    [f"bottomup.objectives.{name}" for name in study.modules("objectives")]
    + [f"bottomup.model.trunks.{name}" for name in study.modules("model.trunks")]
    + [f"bottomup.corpus.sources.{name}" for name in study.modules("corpus.sources")],
)
def test_modules_chosen_by_name_bring_what_they_import(module, loaded, shown):
    script = "scripts/fetch_corpus.py"
    found = set(imported(script, module))
    assert found <= loaded(script, module) <= found | shown


@pytest.mark.parametrize(
    "statement",
    [
        "import bottomup.sub.c",
        "import bottomup.sub.c as c, os",
        "import importlib\nimportlib.import_module('bottomup.sub.c')",
        "from importlib import import_module\nx = import_module('bottomup.sub.c').z",
        "x = __import__('bottomup.sub.c').z",
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
    assert imported("run.py") == expected


def test_importing_a_module_brings_its_packages_with_what_they_import(project, tmp_path):
    project(run="from bottomup.sub.c import z", bottomup__sub__c="z = 1")
    (tmp_path / "bottomup/sub/__init__.py").write_text("from bottomup import b")
    project()
    assert imported("run.py") == ["bottomup", "bottomup.b", "bottomup.sub", "bottomup.sub.c"]


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


# Before, after: what is only shown, by what its names are bound to.
LOG = "import logging\nlog = logging.getLogger(__name__)\n"
ERROR = "from bottomup.core.errors import UserError\n"
KEY = "from bottomup.core.settings import key\n"
FIELD = "from pydantic import Field\n"
PARSER = "from bottomup.plan import program\nparser = program.parser(__doc__)\n"
USED = "try:\n    f()\nexcept {} as error:\n    x = error"
CAUGHT = "\ntry:\n    f()\nexcept ValueError as error:\n    "
SHOWN = [
    (LOG, "log.info('a %s', x)", "log.warning('b %d %s', len(x), x)"),
    (LOG, "log.info('a')\nx = 1", "x = 1"),
    (LOG, *(f"raise ValueError('{t}')\nlog.info('a', exc_info=True)" for t in "ab")),
    ("", *(f"raise ValueError('{t}')\nx = rounded(y, 'exception')" for t in "ab")),
    (
        LOG,
        "log.info(', '.join(f'{n} {v:.2f}' for n, v in x))",
        *["log.info('; '.join(f'{n}={v:.3f}' for n, v in x))"],
    ),
    ("import logging\n", "logging.info('a')", "logging.info('b')"),
    ("import logging as told\nl = told.getLogger('x')\n", "l.info('a')", "l.info('b')"),
    (ERROR, "raise UserError(f'a {x}')", "raise UserError('b')"),
    ("", "raise ValueError('a')", "raise ValueError('b')"),
    ("", "assert x, 'a'", "assert x, 'b'"),
    (
        ERROR,
        *(f"raise ValueError('{t}'){CAUGHT}raise UserError(f'{{error}}') from error" for t in "ab"),
    ),
    (LOG, *(f"raise ValueError('{t}'){CAUGHT}log.info(error)" for t in "ab")),
    (
        ERROR,
        *(
            f"def f():\n    raise ValueError('{text}')\ndef g():\n    try:\n        f()\n"
            "    except Exception as error:\n        missing = str(error)\n    if missing:\n"
            "        raise UserError(missing)"
            for text in "ab"
        ),
    ),
    # Another function has a name alike.
    (
        ERROR,
        *(
            f"def f():\n    try:\n        raise ValueError('{text}')\n"
            "    except ValueError as error:\n        line = str(error)\n"
            "        raise UserError(line)\ndef g(lines):\n    return [line for line in lines]"
            for text in "ab"
        ),
    ),
    (LOG, "log.info('a' if x else 'b')", "log.info('c' if y else 'd')"),
    (LOG, "log.info('%s', x[1:])", "log.info('%s', x[2:])"),
    # What a log tells of an exception, and one class that is no other.
    (LOG, *(f"raise ValueError('{t}'){CAUGHT}log.exception('a')" for t in "ab")),
    (
        "",
        *(f"raise ValueError('{t}')\nclass A:\n    def __exit__(self, *_): f()" for t in "ab"),
    ),
    *(
        (head, *(f"raise ValueError('{t}')\n{USED.format(kind)}" for t in "ab"))
        for head, kind in [
            ("", "(OSError, KeyError)"),
            ("import tarfile\n", "tarfile.HeaderError"),
            ("from bottomup.figures.points import NoRowsError\n", "NoRowsError"),
        ]
    ),
    (KEY, "x = key('a', 'b', ge=1)", "x = key('c', 'd', ge=2)"),
    (FIELD, "x = Field(1, description='a')", "x = Field(1, description='b')"),
    ("import pydantic\n", *(f"x = pydantic.Field(1, description='{t}')" for t in "ab")),
    (PARSER, *(f"parser.add_argument('--x', help='{t}', metavar='{t}')" for t in "ab")),
    (PARSER, *(f"parser.add_argument_group('g').add_argument('--x', help='{t}')" for t in "ab")),
    (
        "import argparse\np = argparse.ArgumentParser()\n",
        *(f"p.add_argument('--x', help='{t}')" for t in "ab"),
    ),
    ("from bottomup.tables import Table\n", "TABLE = Table('run')", "TABLE = Table('pair')"),
    ("x = 1\n", "'a'\ny = 1", "'b'\ny = 1\n...\npass"),
    (LOG, "if x:\n    log.info('a')\ny = 1", "y = 1"),
    (
        LOG,
        *[
            "if x:\n    log.info('a')\nelif y > 1:\n    pass\nelse:\n    log.info('b')\ny = 1",
            "y = 1",
        ],
    ),
]
# The same for what only looks so, and for what does more than to show.
COUNTED = [
    ("log = []\n", "log.append('a')", "log.append('b')"),
    ("def f(log):\n    ", "log.info('a')", "log.info('b')"),
    *(
        (head, "log.info('a')", "log.info('b')")
        for head in (f"{LOG}log = []\n", f"log = []\n{LOG}")
    ),
    (LOG, "log.info('%s', y := 1)", "log.info('%s', y := 2)"),
    (LOG, "if rows.pop():\n    log.info('a')\ny = 1", "y = 1"),
    (LOG, "if x:\n    log.info('%s', rows.pop())\ny = 1", "y = 1"),
    (LOG, "if x:\n    log.info('a')\nelse:\n    y = 1", "if x:\n    y = 1"),
    ("", "if x:\n    y = 1", "if x:\n    pass\nelse:\n    y = 1"),
    (LOG, "log.info('%s', rows.pop())", "log.info('%s', rows)"),
    (LOG, "log.info(f'{rows.pop(0)}')", "log.info(f'{rows.pop(1)}')"),
    (LOG, "log.info('%d', len([*map(f, x)]))", "log.info('%d', len(x))"),
    (LOG, "log.info('%d', sum(rows))", "log.info('%d', len(rows))"),
    # What goes through something may leave nothing of it.
    *((LOG, f"log.info('a', {of})\nx = 1", "x = 1") for of in ("*rows", "[*rows]", "3 in rows")),
    (
        LOG + "from collections import defaultdict\nd = defaultdict(int)\n",
        *("log.info('%s', d['x'])", "log.info('%s', d)"),
    ),
    # What decides whether something acts.
    *(
        (LOG, f"log.info('%s', {one})", f"log.info('%s', {other})")
        for one, other in [
            ("rows.pop() if x else 0", "rows.pop() if not x else 0"),
            ("x and rows.pop()", "x or rows.pop()"),
            ("x < y < rows.pop()", "y < x < rows.pop()"),
        ]
    ),
    (LOG, *(f"if {name} and rows.pop():\n    log.info('a')" for name in "xy")),
    # What may be a defaultdict, and adds a key where it is asked for one.
    (f"{LOG}import a\n", "log.info('%s', a.d['x'])", "log.info('%s', a.d)"),
    *(
        (LOG + head, "log.info('%s', d['x'])", "log.info('%s', d)")
        for head in [
            "from a import d\n",
            "from a import Counts\nd = Counts()\n",
            "from collections import defaultdict\nd: dict = defaultdict(int)\n",
            "from collections import defaultdict\nd = defaultdict(int)\ndef f():\n    d = x\n",
            "def f(d):\n    ",
        ]
    ),
    (f"{LOG}def f(self):\n    ", "log.info('%s', self.d['x'])", "log.info('%s', self.d)"),
    (LOG, "log.setLevel(1)", "log.setLevel(2)"),
    ("import logging\nlen = print\nlog = logging.getLogger()\n", *("log.info(len(x))", "")),
    (
        "",
        "class UserError(Exception): ...\nraise UserError('a')",
        *["class UserError(Exception): ...\nraise UserError('b')"],
    ),
    ("from elsewhere import UserError\n", "raise UserError('a')", "raise UserError('b')"),
    (
        "",
        "ValueError = make()\nraise ValueError('a')",
        "ValueError = make()\nraise ValueError('b')",
    ),
    ("", "x = str(ValueError('a'))", "x = str(ValueError('b'))"),
    ("", "raise KeyError('a')", "raise KeyError('b')"),
    ("", *(f"raise ValueError('{t}'){CAUGHT}x = str(error)" for t in "ab")),
    ("", *(f"raise ValueError('{t}'){CAUGHT}line = str(error)\n    x = line" for t in "ab")),
    ("", *(f"raise ValueError('{t}'){CAUGHT}raise Other(error.args)" for t in "ab")),
    (
        "line = ''\n",
        *(
            f"def f():\n    global line\n    try:\n        raise ValueError('{t}')\n"
            "    except ValueError as error:\n        line = str(error)"
            for t in "ab"
        ),
    ),
    (
        "",
        *(
            f"def f():\n    try:\n        raise ValueError('{t}')\n"
            "    except ValueError as error:\n        line = str(error)\n    return line"
            for t in "ab"
        ),
    ),
    ("", *(f"assert x, '{t}'\ntry:\n    f()\nexcept Exception as e:\n    x = e" for t in "ab")),
    ("", "def key(a): ...\nx = key('a')", "def key(a): ...\nx = key('b')"),
    ("", "x = style.key(points, looks)", "x = style.key(points, looks[::-1])"),
    (KEY, "x = key('a', default=1)", "x = key('a', default=2)"),
    ("def Field(**x): ...\n", "x = Field(description='a')", "x = Field(description='b')"),
    (FIELD, "x = Field(description='a', alias='a')", "x = Field(description='a', alias='b')"),
    ("", "parser.add_argument('--x', help='a')", "parser.add_argument('--x', help='b')"),
    (PARSER, *(f"parser.add_argument('--x', default='{t}')" for t in "ab")),
    ("", "TABLE = str.maketrans('a', 'b')", "TABLE = str.maketrans('a', 'c')"),
    ("from bottomup.tables import Table\n", *(f"TABLE = Table('{t}')\nx = TABLE" for t in "ab")),
    ("from bottomup.tables import Table\n", *(f"TABLE = Table(rows.pop({t}))" for t in "12")),
    ("", *(f"def f():\n    '{t}'\nx = f.__doc__" for t in "ab")),
    ("", *(f"def f():\n    '{t}'\nx = getattr(f, '__doc__')" for t in "ab")),
    ("from inspect import getdoc\n", *(f"def f():\n    '{t}'\nx = getdoc(f)" for t in "ab")),
    (
        "import traceback\n",
        *(
            f"try:\n    raise ValueError('{t}')\nexcept ValueError:\n    x = traceback.format_exc()"
            for t in "ab"
        ),
    ),
    ("from x import *\n", "raise ValueError('a')", "raise ValueError('b')"),
    # Texts of exceptions that no handler names.
    *(
        ("import sys\n", *(f"raise ValueError('{t}')\n{used}" for t in "ab"))
        for used in [
            "try:\n    f()\nexcept ValueError:\n    x = str(sys.exception())",
            "class A:\n    def __exit__(self, kind, error, where):\n        x.append(str(error))",
            "class A:\n    def __exit__(self, *given):\n        x.append(str(given[1]))",
            "class A:\n    def __exit__(self, kind, /, error, where):\n        x.append(error)",
            "x = str(pool.submit(f).exception())",
            "ask = pool.submit(f).exception\nx = str(ask())",
            "x = pool.apply_async(f, error_callback=note)",
            "x = asyncio.gather(*some, return_exceptions=True)",
            "sys.excepthook = note",
            "stack.push(note)",
            "x = str(getattr(error, '__cause__'))",
            "x = str(error.__cause__)",
            "x = str(error.__context__)",
        ]
    ),
    # What another file may do with it is not known.
    ("", *(f"def f():\n    return ValueError('{t}')\ndef g():\n    raise f()" for t in "ab")),
    # Types that may be tuples, or other names of what they catch.
    *(
        (head, *(f"raise ValueError('{t}')\n{USED.format(kind)}" for t in "ab"))
        for head, kind in [
            ("from a import BROKEN\n", "BROKEN"),
            ("from bottomup.a import BROKEN\n", "(OSError, *BROKEN)"),
            ("import a\n", "a.BadError"),
            ("from pydantic import ValidationError\n", "ValidationError"),
            ("", "kinds()"),
            ("", "type(error)"),
            ("", "ExceptionGroup"),
        ]
    ),
    (
        "class Bad(Exception): ...\n",
        *(f"raise ValueError('{t}'){CAUGHT}raise Bad(str(error))" for t in "ab"),
    ),
]


@pytest.mark.parametrize("before", ["def f():\n", "def f(a):\n    if a:\n        a += 1\n    "])
def test_docstrings_count_where_another_file_reads_them(project, before):
    found = []
    for reads in ("x = 1", "x = a.f.__doc__"):
        for text in ("one", "two"):
            project(
                run="import bottomup.b",
                bottomup__a=f"{before}    '{text}'\n",
                bottomup__b=f"from bottomup import a\n{reads}",
            )
            found.append(digest.digest("run.py"))
    assert found[0] == found[1] and found[2] != found[3]


def of_both(project, head, before, after):
    """The digests of two versions of a module."""
    found = []
    for text in (before, after):
        project(bottomup__a=head + text)
        found.append(digest.digest("run.py"))
    return found


@pytest.mark.parametrize(("head", "before", "after"), SHOWN)
def test_text_that_is_only_shown_does_not_matter(project, head, before, after):
    before, after = of_both(project, head, before, after)
    assert before == after


@pytest.mark.parametrize(("head", "before", "after"), COUNTED)
def test_what_only_looks_like_it_matters(project, head, before, after):
    before, after = of_both(project, head, before, after)
    assert before != after


def test_text_that_another_module_catches_and_uses_matters(project):
    user = "\nfrom bottomup import a\ntry:\n    a.f()\nexcept ValueError as e:\n    print(e)"
    found = []
    for text in ("raise ValueError('a')", "raise ValueError('b')"):
        project(bottomup__a=text, run="import bottomup.b", bottomup__b=user)
        found.append(digest.digest("run.py"))
    assert found[0] != found[1]


def test_an_error_of_the_library_is_one_class():
    """And no other name for what it catches, or a tuple; so a handler of it catches no other."""
    for file in (ROOT / "bottomup").rglob("*.py"):
        bound = re.findall(r"^\s*\w*Error(?:: \w+)? =", file.read_text(), re.MULTILINE)
        assert not bound, file


def test_an_error_that_a_function_returns_is_raised_at_once():
    """Where the function is `-> UserError`, since its text counts nowhere."""
    codes = {file: Code(file.read_bytes()) for file in (ROOT / "bottomup").rglob("*.py")}
    returning = set()
    for file, code in codes.items():
        module = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        functions = (node for node in ast.walk(code.tree) if isinstance(node, ast.FunctionDef))
        own = {node.name for node in functions if code.meaning(node.returns) == syntax.ERROR}
        returning |= {f"{module}.{name}" for name in own}
        raised = {id(node.exc) for node in ast.walk(code.tree) if isinstance(node, ast.Raise)}
        for node in ast.walk(code.tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) in own:
                assert id(node) in raised, (file, node.lineno)
    assert "bottomup.core.files.damaged" in returning
    for file, code in codes.items():
        raised = {id(node.exc) for node in ast.walk(code.tree) if isinstance(node, ast.Raise)}
        for node in ast.walk(code.tree):
            if isinstance(node, ast.Call) and code.meaning(node.func) in returning:
                assert id(node) in raised, (file, node.lineno)


def test_no_claim_uses_the_text_of_an_error():
    """Or an edit of any message would judge again."""
    for file in (ROOT / "bottomup/claims").glob("*.py"):
        assert not Code(file.read_bytes()).catches, file


def test_one_name_for_loggers():
    """So that a reader knows a log line."""
    for file in [*(ROOT / "bottomup").rglob("*.py"), *(ROOT / "scripts").glob("*.py")]:
        for name in re.findall(r"^(\w+) = logging\.getLogger", file.read_text(), re.MULTILINE):
            assert name == "log", file


def test_a_module_that_is_not_imported_does_not_matter_until_it_is_chosen(project):
    before = digest.digest("run.py"), digest.digest("run.py", "bottomup.b")
    assert before[0] != before[1]
    project(bottomup__b="y = 2")
    assert digest.digest("run.py") == before[0]
    assert digest.digest("run.py", "bottomup.b") != before[1]
    with pytest.raises(FileNotFoundError, match="no module"):
        digest.digest("run.py", "bottomup.nothing")


def test_installed_versions_matter_where_they_are_imported(project, tmp_path):
    project(bottomup__a="from sklearn import cluster\nimport numpy.linalg")
    install(tmp_path, numpy="1", scikit_learn="3", numpy_financial="1")
    before = digest.digest("run.py")
    assert before["numpy"] == "1" and before["scikit-learn"] == "3"
    install(tmp_path, numpy_financial="2")
    assert digest.digest("run.py") == before
    install(tmp_path, numpy="1.1")
    assert digest.digest("run.py") == before | {"numpy": "1.1"}
    install(tmp_path, numpy="1", scikit_learn="4")
    assert digest.digest("run.py") == before | {"scikit-learn": "4"}


def test_what_computes_for_an_imported_package_matters(project, tmp_path):
    """Their versions are their own: transformers says nothing of sentencepiece."""
    project(bottomup__a="import transformers\nfrom sklearn import cluster")
    names = ("sentencepiece", "scipy", "sacremoses", "fugashi", "unidic_lite")
    install(tmp_path, **dict.fromkeys(names, "1"), thinc="1")
    before = digest.digest("run.py")
    for name in names:
        install(tmp_path, **{name: "2"})
        assert digest.digest("run.py") == before | {digest.normal(name): "2"}
        install(tmp_path, **{name: "1"})
    install(tmp_path, thinc="2")
    assert digest.digest("run.py") == before


def test_what_computes_for_such_a_package_matters_where_that_is_installed(project, tmp_path):
    """A pipeline of transformers computes by torch; the others do not."""
    project(bottomup__a="import spacy, transformers")
    install(tmp_path, thinc="1", blis="1", fugashi="1", ipadic="1")
    before = digest.digest("run.py")
    assert before["blis"] == before["ipadic"] == "1" and "torch" not in before
    install(tmp_path, spacy_curated_transformers="1", curated_transformers="1")
    found = digest.digest("run.py")
    assert found["curated-transformers"] == "1" and found["torch"] == digest.installed("torch")


def test_the_version_of_a_package_that_is_chosen_by_name_matters(project, tmp_path):
    install(tmp_path, scikit_learn="3")
    before = digest.digest("run.py", "sklearn"), digest.digest("run.py")
    install(tmp_path, scikit_learn="4")
    assert digest.digest("run.py", "sklearn") == before[0] | {"scikit-learn": "4"}
    assert digest.digest("run.py") == before[1]


def test_another_python_matters(project, monkeypatch):
    before = digest.digest("run.py")
    monkeypatch.setattr(sys, "version_info", (3, 99, 0))
    project()
    assert digest.digest("run.py") == before | {"python": "3.99"}


def test_where_snakemake_makes_the_environment_the_lock_counts(project, monkeypatch):
    project(bottomup__a="import numpy")
    monkeypatch.setattr(digest, "_version", digest._version)
    digest.count_versions_of({"numpy": "1", "python": "3.99"})
    found = digest.digest("run.py")
    assert (found["numpy"], found["python"]) == ("1", "3.99")


@pytest.mark.parametrize("where", ["", "scripts", "own/lib"])
def test_modules_beside_the_library_count_by_their_code(project, tmp_path, monkeypatch, where):
    """As does what they import; so do packages that are installed so that they can be edited."""
    folder = tmp_path / where
    (folder / "mine").mkdir(parents=True)
    (folder / "mine/__init__.py").touch()
    (folder / "more.py").write_text("z = 1")
    if where == "own/lib":
        monkeypatch.syspath_prepend(folder)
    found = []
    for text in ("import more", "import more  # said", "import more\nz = 2"):
        (folder / "mine/parts.py").write_text(text)
        project(bottomup__a="from mine.parts import y")
        found.append(digest.digest("run.py"))
    (folder / "more.py").write_text("z = 2")
    project()
    assert found[0] == found[1] != found[2] != digest.digest("run.py")
    prefix = "scripts/" if where == "scripts" else "own/lib/" if where else ""
    assert {f"{prefix}mine/parts.py", f"{prefix}more.py"} < found[0].keys()


def test_what_is_installed_counts_by_its_version_alone():
    installed = ("/a/lib/python3.11/site-packages/b.py", "/usr/lib/python3/dist-packages/b/c.py")
    assert digest.is_own("/home/a/b.py") and not any(map(digest.is_own, installed))
    assert not digest.is_own("b.py")


def test_every_package_that_the_library_imports_is_pinned():
    files = [*(ROOT / "bottomup").rglob("*.py"), *(ROOT / "scripts").glob("*.py")]
    imported = set().union(*(digest._names(file) for file in files))
    packages = {name.partition(".")[0] for name in imported} - sys.stdlib_module_names
    # Optional: mtdata for the studies at the papers' size, depccg for those who have its model.
    optional = {"mtdata", "depccg"}
    names = {digest.normal(digest.DISTRIBUTIONS.get(name, name)) for name in packages}
    assert names - {digest.PACKAGE, *lock.of_conda()} == optional
