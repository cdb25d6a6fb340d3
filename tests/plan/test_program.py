import errno
import json
import os
import subprocess
import sys
import tempfile

import pytest

from bottomup.plan import program
from bottomup.core.errors import UserError
from bottomup.core.settings import Section
from tests.tiny import ROOT


@pytest.fixture
def run(monkeypatch):
    """Run a program with these arguments; returns what its main function was given."""
    monkeypatch.setenv("BOTTOMUP_DEVICE", "")

    def run(*argv, main=lambda arguments: None, model=None):
        seen = []
        monkeypatch.setattr("sys.argv", ["program", *argv])
        parser = program.parser("What.")
        program.run(lambda arguments: (seen.append(arguments), main(arguments)), parser, model)
        return seen[0]

    return run


class Options(Section):
    mask: float


class Settings(Section):
    layers: int
    options: Options
    on: bool


SETTINGS = {"layers": 6, "options": {"mask": 0.8}, "on": True, "code": "abc"}


def test_settings_are_sections_and_the_code_is_apart(run):
    arguments = run("--settings", json.dumps(SETTINGS), model=Settings)
    assert arguments.code == "abc"
    assert arguments.settings == Settings(layers=6, options=Options(mask=0.8), on=True)


def test_settings_that_do_not_fit_are_one_line(run):
    wrong = SETTINGS | {"layers": "6", "options": {}, "off": 1}
    with pytest.raises(SystemExit) as error:
        run("--settings", json.dumps(wrong), model=Settings)
    assert error.value.code == (
        'error: --settings: layers: found "6"; allowed: whole number; '
        "options.mask: missing; allowed: number; off: unknown key; allowed: layers, on, options"
    )


def test_a_log_begins_with_program_settings_and_arguments(run, caplog):
    with caplog.at_level("INFO"):
        run("--settings", json.dumps(SETTINGS), "--gpus", "0", model=Settings)
    *_, program, settings, gpus, done = caplog.messages
    assert (program, gpus, done) == ("program: program", "gpus: 0", "done")
    assert json.loads(settings.removeprefix("settings: ")) | {"code": "abc"} == SETTINGS


def test_settings_may_be_left_out(run):
    assert run().settings == {}
    assert run().code is None


@pytest.mark.parametrize(
    ("given", "seen"), [(["--gpus", "0"], ""), (["--gpus", "1"], "2,3"), ([], "2,3")]
)
def test_a_job_that_was_given_no_gpu_sees_none(run, monkeypatch, given, seen):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    visible = []
    run(*given, main=lambda arguments: visible.append(os.environ["CUDA_VISIBLE_DEVICES"]))
    assert visible == [seen]
    assert os.environ["BOTTOMUP_DEVICE"] == ("" if seen else "cpu")


def test_a_job_that_was_given_gpus_takes_them_once_its_settings_fit(run, monkeypatch):
    taken = []
    monkeypatch.setattr(program, "lease", taken.append)
    with pytest.raises(SystemExit):
        run("--gpus", "2", "--settings", '{"off": 1}', model=Settings)
    assert taken == []
    run("--gpus", "2", main=lambda arguments: taken.append("main"))
    assert taken == [2, "main"]
    monkeypatch.setenv("BOTTOMUP_DEVICE", "cpu")
    monkeypatch.setattr("sys.argv", ["program", "--gpus", "2"])
    program.run(lambda arguments: taken.append("again"), program.parser("What."))
    assert taken == [2, "main", "again"]


@pytest.mark.parametrize("text", ["[1]", "{1, 2}", "{'a': 1}", '{"a": open}', "", "a b", "f()"])
def test_settings_of_any_other_kind(run, text, capsys):
    with pytest.raises(SystemExit) as error:
        run("--settings", text)
    assert error.value.code == 2
    assert "error: argument --settings: " in capsys.readouterr().err


def test_a_users_mistake_is_one_line_and_status_1(run):
    def main(arguments):
        raise UserError("no such file; give another")

    with pytest.raises(SystemExit) as error:
        run(main=main)
    # sys.exit of a string prints it to stderr and ends with status 1.
    assert error.value.code == "error: no such file; give another"


WRITERS = """
import resource, sys
import numpy as np, pandas as pd
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models
from bottomup.plan import program

numbers = np.random.default_rng(0).random(10_000)
frame = pd.DataFrame({"number": numbers})
tokenizer = Tokenizer(models.WordLevel({str(n): i for i, n in enumerate(numbers)}, "x"))
writers = {
    "array.npy": lambda file: np.save(file, numbers),
    "weights.safetensors": lambda file: save_file({"numbers": numbers}, file),
    "table.csv": frame.to_csv,
    "table.parquet": frame.to_parquet,
    "tokenizer.json": tokenizer.save,
}
sys.argv = ["program"]
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
for name, write in writers.items():
    try:
        program.run(lambda arguments: write(name), program.parser("What."))
    except SystemExit as end:
        print(end.code)
"""


def test_a_disk_that_takes_no_more_is_a_line_whoever_writes(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WRITERS],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 5, done.stderr
    assert all(line.startswith("error: ") for line in lines)
    assert all(line.endswith("; free some space and run again") for line in lines)


def test_no_room_for_temporary_files_is_a_line(run, tmp_path, monkeypatch):
    full = [str(tmp_path / "full")]
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: full)
    with pytest.raises(SystemExit, match=r"^error: .*/full'\]; free some space and run again"):
        run(main=lambda arguments: tempfile.TemporaryDirectory())


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_a_folder_that_is_closed_is_a_line(run, number):
    def main(arguments):
        raise OSError(number, os.strerror(number), "results/table.csv")

    with pytest.raises(SystemExit) as error:
        run(main=main)
    assert error.value.code == (
        f"error: [Errno {number}] {os.strerror(number)}: 'results/table.csv'; change its "
        "permissions, or move the folder to a disk that can be written"
    )


def test_a_mistake_of_ours_shows_where_it_is(run):
    with pytest.raises(ZeroDivisionError):
        run(main=lambda arguments: 1 / 0)


def test_help_is_the_docstring(run, capsys):
    with pytest.raises(SystemExit) as error:
        run("--help")
    assert error.value.code == 0
    shown = capsys.readouterr().out
    assert "What." in shown and "--settings JSON" in shown
