"""The measure that docs/tutorials/add_measure.md adds: its files and nothing else, as a reader
would write them."""

import json
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch

from bottomup import subjects
from bottomup.corpus.tokens import TokenFile
from tests.tiny import ROOT, initial
from tests.tutorials import files_in

TABLE, CAPTION = "bottomup/tables/norm.py", "docs/captions/norm.rst"
CATEGORY = '    category="5 What a layer represents",\n'


@pytest.fixture
def extended(checkout):
    """A copy with the files of the page, and the line that it adds to one."""
    files = files_in("add_measure")
    assert f"```text\n{CATEGORY}```" in (ROOT / "docs/tutorials/add_measure.md").read_text()
    assert [*files] == [
        *("bottomup/tables/norm.py", "bottomup/figures/norm.py", "docs/captions/norm.rst"),
        "bottomup/tables/spread.py",
    ]
    for name, text in files.items():
        (checkout.path / name).write_text(text)
    with_figure = files[TABLE].replace("over_layers=True,\n", f"over_layers=True,\n{CATEGORY}")
    (checkout.path / TABLE).write_text(with_figure)
    return checkout


def test_a_measure_needs_no_figure_unless_it_asks_for_one(extended):
    asked = ["--configfile", "study.yaml", "--", "results/planned/measures/norm.csv"]
    without = [extended.path / path for path in ("bottomup/figures/norm.py", CAPTION)]
    for path in without:
        path.unlink()
    done = extended.snakemake("--dry-run", *asked, check=False)
    said = [line.partition(";")[0] for line in done.stderr.splitlines() if "norm" in line]
    files = [path.relative_to(extended.path) for path in without]
    assert said == [f"the figure norm has no {path}" for path in files] and done.returncode == 1
    (extended.path / TABLE).write_text(files_in("add_measure")[TABLE])
    assert "measure_norm" in extended.snakemake("--dry-run", *asked).stdout


def test_a_measure_is_planned_with_its_figure_and_nothing_is_stale(extended, outputs):
    runs = [f"{name}-1" for name in ("lm", "mlm", "mt", "untrained")]
    parts = [f"measures/norm/{run}{ending}" for run in runs for ending in (".csv", ".parquet")]
    figure = [f"figures/norm.{ending}" for ending in ("png", "pdf", "csv")]
    shown = {"site/norm.webp", *outputs.of("show_index", "show_explorer")}
    of_heads = {part.replace("norm", "spread") for part in ("measures/norm.csv", *parts)}
    assert extended.planned() == {"measures/norm.csv", *parts, *figure, *shown, *of_heads}


def test_it_is_measured_and_drawn_under_its_own_settings(extended, tmp_path):
    views = np.ones([2, 40, 4], np.float16) * np.array([1, 3], np.float16)[:, None, None]
    np.save(tmp_path / "views.npy", views)
    blocks = pd.DataFrame({"block": np.arange(40, dtype=np.int8) % 8})
    blocks.to_parquet(tmp_path / "occurrences.parquet")
    table, run = tmp_path / "lm-1.csv", {"objective": "lm", "seed": 1}
    settings = {"table": "norm", "sees": "views", "run": run, "options": {"order": 1}}
    files = {"views": tmp_path / "views.npy", "occurrences": tmp_path / "occurrences.parquet"}
    reads = [f"{name}={path}" for name, path in files.items()]
    call(extended, "measure", settings, reads=reads, writes=[table, table.with_suffix(".parquet")])
    # Four numbers of 1, and of 3, add to 4 and to 12.
    assert pd.read_csv(table)["norm"].tolist() == [4, 12]
    settings = {"figure": "norm", "title": "How long?", "options": {}}
    settings |= {"tables": [["norm", 1]], "places": {}, "untrained": []}
    drawn = {ending: tmp_path / f"norm.{ending}" for ending in ("png", "pdf", "csv")}
    call(extended, "plot_figure", settings, tables=table.with_suffix(".parquet"), **drawn)
    assert pd.read_csv(drawn["csv"])["y"].tolist() == [4, 12]


def test_one_is_measured_on_a_model(extended, tmp_path, corpus_files):
    corpus_files.save(initial, "lm", tmp_path / "model")
    run = {"objective": "lm", "seed": 1}
    settings = {"table": "spread", "sees": "subjects", "run": run, "options": {}}
    files = {
        "model": tmp_path / "model/model.safetensors",
        "text": corpus_files.tokens / "test.source/ids.npy",
        "blocks": corpus_files.blocks("test"),
    }
    table = tmp_path / "lm-1.csv"
    reads = [f"{name}={path}" for name, path in files.items()]
    call(extended, "measure", settings, reads=reads, writes=[table])
    found = pd.read_csv(table)
    subject = subjects.load(tmp_path / "model")
    assert len(found) == subject.layers * subject.heads
    text, total, n = TokenFile.load(corpus_files.tokens / "test.source"), 0.0, 0
    for start, end in pairwise(text.offsets):
        weights = subject.attentions(torch.tensor(text.ids[None, start:end].astype(int)))[1][0, 0]
        total -= float((weights * weights.clamp(min=1e-30).log()).sum())
        n += end - start
    of_head = found.query("layer == 2 and head == 1")["entropy_nats"].item()
    assert of_head == pytest.approx(total / n, rel=1e-5)


def test_the_page_of_keys_is_made(extended):
    """Also for a section that config.yaml leaves out."""
    program = [sys.executable, "-m", "bottomup.plan.reference"]
    made = subprocess.run(program, cwd=extended.path, capture_output=True, text=True, check=True)
    assert "measures.norm" in made.stdout


def test_its_keys_are_checked_as_any(extended):
    config = ["--config", "measures={norm: {order: 0, odrer: 1}}"]
    said = extended.snakemake("--summary", "--configfile", "study.yaml", *config, check=False)
    assert "measures.norm.order: found 0" in said.stderr
    assert "measures.norm.odrer: unknown key" in said.stderr


def test_a_typo_in_its_declaration_is_one_line(extended):
    file = extended.path / TABLE
    file.write_text(file.read_text().replace('    "run",\n', '    "runs",\n'))
    said = extended.snakemake("--summary", "--configfile", "study.yaml", check=False).stderr
    assert f"{TABLE}: part: found 'runs'; allowed: one of run, " in said


def call(checkout, script, settings, **files):
    command = [sys.executable, f"scripts/{script}.py", "--settings", json.dumps(settings)]
    for name, path in files.items():
        command += [f"--{name}", *(path if isinstance(path, list) else [path])]
    environment = {"PYTHONPATH": str(checkout.path), "OMP_NUM_THREADS": "1"}
    subprocess.run(command, cwd=checkout.path, env=environment, check=True)
