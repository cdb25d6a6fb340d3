"""What docs/api.md lists is documented in full, and its examples run."""

import doctest
import importlib
import inspect
import re

import pytest

from bottomup.training.run import save
from tests.tiny import ROOT, drawn

PUBLIC = re.findall(r"\.\. auto(?:function|class):: (\S+)", (ROOT / "docs/api.md").read_text())
SHAPE = {"layers": 3, "heads": 4, "d_model": 32, "d_ff": 64}


def found(path):
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


@pytest.fixture(scope="module")
def smoke(tmp_path_factory, corpus_files):
    """A folder with a model of the smoke study's shape, where the examples look for it."""
    folder = tmp_path_factory.mktemp("examples")
    words = corpus_files.vocab
    model = folder / "results/smoke/runs/lm-1/model"
    save(drawn("lm", vocab=words, **SHAPE), corpus_files.tokenizers("lm"), model)
    return folder


@pytest.mark.parametrize("path", PUBLIC)
def test_its_examples_run(path, smoke, monkeypatch):
    monkeypatch.chdir(smoke)
    public = found(path)
    names = {public.__name__: public}  # the rest it imports
    [example] = doctest.DocTestFinder(recurse=False).find(public, path, globs=names)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0


@pytest.mark.parametrize("path", PUBLIC)
def test_every_argument_is_documented(path):
    public = found(path)
    documented = [public, *members(public)] if inspect.isclass(public) else [public]
    for function in documented:
        text = inspect.getdoc(function)
        parameters = re.search(r"Parameters\n-+\n(.*?)(\n\n[A-Z]\w+\n--|$)", text, re.DOTALL)
        lines = re.findall(r"^(\w+(?:, \w+)*)(?: :|$)", parameters[1] if parameters else "", re.M)
        names = {name for line in lines for name in line.split(", ")}
        assert names == arguments(function), function
        assert ("Returns\n---" in text) == returns(function), function


def members(public):
    """The methods that the page shows of a class."""
    directive = re.search(
        rf":: \S+\.{public.__name__}\n   :members: (.*)", (ROOT / "docs/api.md").read_text()
    )
    shown = [inspect.getattr_static(public, name) for name in directive[1].split(", ")]
    return [inspect.unwrap(method) for method in shown if inspect.isroutine(method)]


def returns(function):
    return inspect.isroutine(function) and inspect.signature(function).return_annotation is not None


def arguments(function):
    if inspect.isabstract(function):  # who opens one gives what it is made of
        return set()
    return set(inspect.signature(function).parameters) - {"self"}
