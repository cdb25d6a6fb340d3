"""A small made-up study, damaged in every way, and the program that finds out."""

import fcntl
import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from bottomup.core import running
from bottomup.model.folder import save
from bottomup.plan.damage import find
from bottomup.plan.metadata import records
from bottomup.training.checkpoint import Checkpoint, Finished, Progress
from tests.tiny import drawn, initial

SNAKEFILE = """
FILES = [
    "corpus/blocks.npy", "corpus/test.parquet", "measures/quality.csv",
    "runs/lm-1/model/config.json", "runs/lm-1/model/model.safetensors",
]
rule all:
    input: expand("results/made_up/figures/{n}.pdf", n=[1, 2])
rule make:
    input: "source/{file}"
    output: "results/made_up/{file}"
    wildcard_constraints: file="|".join(FILES)
    shell: "cp {input} {output}"
rule draw:
    input: expand("results/made_up/{file}", file=FILES)
    output: "results/made_up/figures/{n}.pdf"
    shell: "head -c 100 {input[4]} > {output}"
"""


def flip(path):
    """One bit, in the middle of the file, as on a failing disk: the time of writing stays."""
    content, times = bytearray(path.read_bytes()), path.stat()
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def state_of(folder, step, best=True):
    model = initial("lm", seed=step)
    optimizer = torch.optim.Adam(model.parameters())
    Checkpoint(folder, {"run": "this"}).save(model, [optimizer], Progress(step=step), best)


def test_what_was_read_before_a_file_was_made_again_says_nothing_of_it(tmp_path):
    """A job that was not run since then read another file; the first to read this one tells."""
    (table := tmp_path / "table.txt").write_text("now")
    before, now = (f"sha256:{sha256(text).hexdigest()}" for text in (b"before", b"now"))
    records = {table: {"endtime": 2, "input_checksums": {}}}
    for end, digest in ((1, before), (3, now), (4, before)):
        records[tmp_path / f"{end}"] = {"endtime": end, "input_checksums": {str(table): digest}}
    assert [*find(tmp_path, tmp_path / "none", records)] == []
    table.write_text("before")
    assert [path for path, _ in find(tmp_path, tmp_path / "none", records)] == [table]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Files of each kind as jobs leave them, which others have read, with Snakemake's records; a
    checkpoint with two states; and a finished run."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "Snakefile").write_text(SNAKEFILE)
    source = folder / "source"
    save(drawn("lm"), source / "runs/lm-1/model")
    for name in ("corpus", "measures"):
        (source / name).mkdir()
    pd.DataFrame({"source": ["a"] * 50}).to_parquet(source / "corpus/test.parquet")
    np.save(source / "corpus/blocks.npy", np.arange(50))
    pd.DataFrame({"value": np.arange(50) / 8}).to_csv(source / "measures/quality.csv", index=False)
    snakemake("all", "--directory", str(folder), "--snakefile", str(folder / "Snakefile"))
    for step in (2, 4):
        state_of(folder / "results/made_up/runs/mt-1/checkpoint", step)
    Finished(folder / "trained", {"run": "this"}).save(drawn("lm"), Progress(step=2))
    return folder


@pytest.fixture
def study(made, tmp_path, monkeypatch):
    """The study's folder in a copy."""
    shutil.copytree(made, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return Path("results/made_up")


RESULTS = [
    "corpus/blocks.npy",
    "corpus/test.parquet",
    "measures/quality.csv",
    "runs/lm-1/model/config.json",
    "runs/lm-1/model/model.safetensors",
]


def found(study):
    return {
        path.relative_to(study).as_posix() for path, _ in find(study, study / "none", records())
    }


def test_nothing_is_damaged(study, run_script, caplog, capsys):
    caplog.set_level("INFO")
    run_script("find_damaged", {}, study)
    assert "no file is damaged" in caplog.text and not capsys.readouterr().out


def test_a_folder_however_it_is_called(study, run_script, monkeypatch, capsys):
    flip(study / RESULTS[0])
    for path in (study.absolute(), study / ".." / study.name):
        with pytest.raises(SystemExit):
            run_script("find_damaged", {}, path)
        assert "its bytes are not those that were written" in capsys.readouterr().out
    (study.parent / "copied").mkdir()
    with pytest.raises(SystemExit, match="no job is on record as having made anything in"):
        run_script("find_damaged", {}, study.parent / "copied")


@pytest.mark.parametrize("name", RESULTS)
def test_a_flipped_bit(study, name):
    flip(study / name)
    [(path, line)] = find(study, study / "none", records())
    assert path == study / name
    assert line == f"{path} is damaged: its bytes are not those that were written"


def snakemake(*arguments):
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--max-checksum-file-size", "1TB"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_what_is_removed_is_made_again_and_no_more(study, run_script, caplog):
    """What was made from the file before it was damaged stays; what was made from another does
    not, though the file that is made again is the same."""
    caplog.set_level("INFO")
    table, weights = study / "measures/quality.csv", study / "runs/lm-1/model/model.safetensors"
    whole, before = weights.read_bytes(), (study / "figures/1.pdf").stat().st_mtime_ns
    flip(weights)
    (study / "figures/2.pdf").unlink()
    snakemake("all")  # the second figure is drawn from the damaged weights
    flip(table)
    run_script("find_damaged", {}, study, "--delete")
    assert caplog.messages[-1].endswith(f": snakemake {table} {weights}; then the study")
    snakemake(str(table), str(weights))
    assert weights.read_bytes() == whole and not found(study)
    planned = snakemake("all", "--dry-run")
    assert "output: results/made_up/figures/2.pdf" in planned
    assert "output: results/made_up/figures/1.pdf" not in planned
    assert (study / "figures/1.pdf").stat().st_mtime_ns == before


def test_what_no_job_has_read_must_be_readable(study):
    shutil.rmtree(".snakemake")
    assert not found(study)
    for name in RESULTS:
        path = study / name
        path.write_bytes(path.read_bytes()[:40])
    assert found(study) == {*RESULTS}
    weights = study / "runs/lm-1/model/model.safetensors"
    broken = drawn("lm")
    broken.encoder.norm.weight.data[0] = torch.nan
    save(broken, weights.parent)
    lines = dict(find(study, study / "none", records()))
    assert "encoder.norm.weight has numbers that are not finite" in lines[weights]


def test_a_checkpoint_loses_what_is_damaged_and_goes_on_from_the_state_before(study, run_script):
    checkpoint = study / "runs/mt-1/checkpoint"
    flip(checkpoint / "step_4.optimizer.safetensors")
    assert found(study) == {"runs/mt-1/checkpoint/step_4.optimizer.safetensors"}
    run_script("find_damaged", {}, study, "--delete")
    model = initial("lm")
    optimizer = torch.optim.Adam(model.parameters())
    assert Checkpoint(checkpoint, {"run": "this"}).load(model, [optimizer]).step == 2
    flip(checkpoint / "state.json")
    assert found(study) == {"runs/mt-1/checkpoint/state.json"}


def test_the_program_removes_only_what_it_is_asked_to(study, run_script, caplog, capsys):
    caplog.set_level("INFO")
    damaged = [study / RESULTS[0], study / RESULTS[4], *study.parents[1].glob("trained/*.saf*")]
    for path in damaged:
        flip(path)
    before = {path for path in study.parents[1].rglob("*") if path.is_file()}
    with pytest.raises(SystemExit) as ended:
        run_script("find_damaged", {}, study)
    assert (
        ended.value.code == 1 and "3 damaged: --delete removes those that a job made" in caplog.text
    )
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(" is damaged")[0] for line in lines] == [str(path) for path in damaged]
    assert {path for path in study.parents[1].rglob("*") if path.is_file()} == before
    run_script("find_damaged", {}, study, "--delete")
    left = {path for path in study.parents[1].rglob("*") if path.is_file()}
    assert left == before - {*damaged}
    run_script("find_damaged", {}, study)


def test_what_no_job_made_is_not_removed(study, run_script, capsys, caplog):
    """Notes that lie among the results, and results whose records are gone."""
    caplog.set_level("INFO")
    notes = study / "my_notes.csv"
    notes.write_text("a,b\n1")  # a table of a job ends its last line
    flip(damaged := study / RESULTS[0])
    with pytest.raises(SystemExit):
        run_script("find_damaged", {}, study, "--delete")
    assert notes.exists() and not damaged.exists()
    assert "my_notes.csv is damaged" in (said := capsys.readouterr().out)
    assert "no job is on record as having made it" in said.splitlines()[-1] + said.splitlines()[0]
    assert "1 damaged" in caplog.text


def test_nothing_says_how_to_run_what_is_in_an_array(study):
    (study / "a.npy").write_bytes(b"no array")
    [line] = [line for path, line in find(study, study / "none", records()) if path.stem == "a"]
    assert "it is no array of numbers, or not whole" in line and "pickle" not in line


def test_not_while_snakemake_works(study, run_script):
    with (study / running.MAY_RUN).open("w") as lock:
        print("process 12 on a", end="", file=lock, flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(SystemExit, match=r"another Snakemake \(process 12 on a\) runs"):
            run_script("find_damaged", {}, study, "--delete")


def test_no_such_study(study, run_script):
    with pytest.raises(SystemExit, match="no folder results/other; expected results/<study>"):
        run_script("find_damaged", {}, "results/other")
