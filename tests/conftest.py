"""For the rooms from the model to the views: one thread, a tiny corpus, and the programs."""

import gc
import json
import os
import runpy
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from itertools import count
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
import torch
from pydantic import PrivateAttr
from threadpoolctl import threadpool_limits
from tokenizers import Tokenizer

from bottomup.corpus import bpe, encoding
from bottomup.corpus.frequencies import frequencies
from bottomup.corpus.tokens import TokenFile
from bottomup.objectives import mlm
from bottomup.plan.study import tables
from bottomup.training.run import save
from tests.pretend_gpu import pretend_gpu, program_of
from tests.tiny import ROOT

WORDS = ["a", "big", "cat", "dogs", "eat", "five", "green", "houses", "in", "june", "kings", "old"]
SIZES = {"train": 120, "dev": 20, "test": 30}


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Tiny models and matrices run fastest, and always alike, on one thread; so they do in programs
    that tests start."""
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session", autouse=True)
def garbage():
    """It is looked for less often, since each look goes through what was imported."""
    gc.set_threshold(100_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def signals():
    """Those that whoever starts the tests ignores, as nohup does, are heard."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fifth", action="store_true", help="of the long tests, a fifth, by commit")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes a minute comes first, or one process would end with it while the others wait."""
    items.sort(key=lambda item: item.path.parent.name not in ("slurm", "faults"))
    if not config.getoption("fifth"):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True)
    for item in {*long} - {*long[int(commit, 16) % 5 :: 5]}:
        item.add_marker(pytest.mark.skip(reason="not in this commit's fifth of the long tests"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """What is marked so runs on the CPU and on a pretended GPU."""
    if metafunc.definition.get_closest_marker("on_a_gpu"):
        on_cpu = pytest.param(None, id=pytest.HIDDEN_PARAM)
        on_gpu = pytest.param("cuda", marks=pytest.mark.long)
        metafunc.parametrize("gpu", [on_cpu, on_gpu], indirect=True)


@dataclass(frozen=True)
class Corpus:
    """The files of a corpus whose target side is the source side spelt backwards, in capitals."""

    folder: Path

    @property
    def tokens(self) -> Path:
        return self.folder / "tokens"

    @property
    def frequencies(self) -> Path:
        return self.folder / "frequencies.csv"

    @property
    def vocab(self) -> int:
        """The number of tokens of a side, the same for both."""
        return Tokenizer.from_file(str(self.tokenizer("source"))).get_vocab_size()

    def text(self, split: str) -> Path:
        return self.folder / f"{split}.parquet"

    def blocks(self, split: str) -> Path:
        return self.folder / f"blocks.{split}.npy"

    def tokenizer(self, side: str) -> Path:
        return self.folder / f"tokenizer.{side}.json"

    def tokenizers(self, objective: str) -> dict[str, Path]:
        """Those that an objective needs."""
        sides = ["source", "target"] if objective == "mt" else ["source"]
        return {side: self.tokenizer(side) for side in sides}

    def save(self, make: Callable, objective: str, folder: Path, **options: object) -> Path:
        """Make a model of this vocabulary, as by `tiny.initial`, and save it as a run does."""
        save(make(objective, vocab=self.vocab, **options), self.tokenizers(objective), folder)
        return folder


@pytest.fixture(scope="session")
def corpus_files(tmp_path_factory) -> Corpus:
    """Splits, their blocks of eight sentences, tokenizers, token files and frequencies of 170
    made-up pairs."""
    corpus = Corpus(tmp_path_factory.mktemp("corpus"))
    rng = np.random.default_rng(0)
    for split, size in SIZES.items():
        sentences = [rng.choice(WORDS, rng.integers(4, 9)) for _ in range(size)]
        pairs = [(" ".join(s), " ".join(word[::-1].capitalize() for word in s)) for s in sentences]
        pd.DataFrame(pairs, columns=["source", "target"]).to_parquet(corpus.text(split))
        np.save(corpus.blocks(split), (np.arange(size) // 8).astype(np.int8))
    for side in ("source", "target"):
        train = pd.read_parquet(corpus.text("train"))[side].tolist()
        bpe.learn([train], 20, True, "en").save(str(corpus.tokenizer(side)))
        for split in SIZES:
            folder = corpus.tokens / f"{split}.{side}"
            folder.mkdir(parents=True)
            encoding.encode(
                Tokenizer.from_file(str(corpus.tokenizer(side))),
                [pd.read_parquet(corpus.text(split))[side].tolist()],
                **{name: folder / f"{name}.npy" for name in ("ids", "words", "offsets")},
            )
    vocabulary = Tokenizer.from_file(str(corpus.tokenizer("source"))).get_vocab()
    ids = TokenFile.load(corpus.tokens / "train.source").ids
    frequencies(ids, vocabulary).to_csv(corpus.frequencies, index=False)
    return corpus


@pytest.fixture
def gpu(request) -> str | None:
    """The kind of the pretended GPU that programs see, "cuda" or "mps"."""
    return getattr(request, "param", None)


@pytest.fixture
def run_script(monkeypatch, gpu, request):
    """Run a program of `scripts/` with these settings and arguments, in this process. On a GPU,
    those that the test is marked with must compute there, or all, if it has no mark."""
    used = Counter()

    def run(name: str, settings: dict, *arguments: object) -> None:
        argv = [name, "--settings", json.dumps(settings), *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", argv)
        with pytest.MonkeyPatch.context() as patch:
            if gpu:
                patch.setenv("BOTTOMUP_DEVICE", gpu)
            with pretend_gpu(gpu) if gpu else nullcontext() as pretended:
                runpy.run_path(str(ROOT / "scripts" / f"{name}.py"), run_name="__main__")
        if pretended:
            used[program_of(name, settings)] += pretended.used

    yield run
    mark = request.node.get_closest_marker("on_a_gpu")
    if gpu:
        assert all(used[program] for program in (mark.args if mark else used))


@pytest.fixture
def measure(run_script):
    """Measure a table, as its rule does.

    more: settings beside `table`, `run` and `options`. table: what it writes, with the .parquet
    beside it if it has one. files: what it reads, by name; `model` and token files by folder.
    """

    def measure(name, run, options, more=None, *, table, batch_tokens=None, **files):
        about = tables()[name].TABLE
        settings = {"table": name, "sees": about.sees, "of_heads": about.of_heads}
        settings |= {"over_layers": about.over_layers, "judged": about.judged}
        settings |= {"run": run, "options": options, "code": "any"} | (more or {})
        writes = [table] if table.suffix == ".parquet" else []
        for kind in about.writes if not writes else []:
            writes.append(table.with_suffix(f".{kind}"))
        reads = []
        for label, paths in files.items():
            for path in paths if isinstance(paths, list) else [paths]:
                if path.is_dir():
                    path /= "model.safetensors" if label == "model" else "ids.npy"
                reads.append(f"{label}={path}")
        at_once = ["--batch-tokens", batch_tokens] if batch_tokens else []
        run_script("measure", settings, "--reads", *reads, "--writes", *writes, *at_once)

    return measure


@pytest.fixture
def signal_in_call(monkeypatch):
    """Have this process hear a signal when a method is called the `call`th time."""

    def patch(owner: object, name: str, call: int, number: int = signal.SIGTERM) -> None:
        method, calls = getattr(owner, name), count(1)

        def signaled(*arguments, **named):
            if next(calls) == call:
                os.kill(os.getpid(), number)
            return method(*arguments, **named)

        monkeypatch.setattr(owner, name, signaled)

    return patch


class Marked(mlm.Objective):
    """MLM that hides tokens by a mark of its own, numbered after the tokens of the text."""

    __module__ = "bottomup.objectives.marked"
    _mark: int = PrivateAttr()

    def vocabularies(self, sizes):
        read, predicted = super().vocabularies(sizes)
        return read + 1, predicted

    def learn_types(self, types):
        self._mark = len(types)

    def corrupt(self, source, chosen, vocab_size, rng):
        assert vocab_size == self._mark + 1
        return np.where(chosen, self._mark, source)


@pytest.fixture
def marked(monkeypatch) -> str:
    """The name of an objective that reads a token of its own, as a module of its own."""
    module = ModuleType(Marked.__module__)
    module.Objective, module.__spec__ = Marked, ModuleSpec(Marked.__module__, None)
    monkeypatch.setitem(sys.modules, Marked.__module__, module)
    return "marked"
