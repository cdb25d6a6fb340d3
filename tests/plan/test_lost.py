"""A result that Snakemake deleted, for a job that failed or was killed, is not lost for good."""

import base64
import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from bottomup.core import running
from bottomup.core.errors import UserError
from bottomup.plan.lost import lost, make_again_what_was_lost
from bottomup.plan.metadata import recorded, records
from tests.plan.checkouts import RESULTS

ENCODED = "encode_text:*/train.source/*"
OPTIONS = ["--cores", "1", "--configfile", "study.yaml"]


def test_only_what_a_result_that_is_there_was_made_from_is_lost(tmp_path):
    study = tmp_path / "study"
    study.mkdir()
    names = ("text", "table", "figure", "gone")
    text, table, figure, gone = (study / name for name in names)
    table.touch()
    made = {table: {"input": [f"{text}", f"{tmp_path}/study2/a"]}, gone: {"input": [f"{figure}"]}}
    assert lost(study, made, set()) == {text}
    # A user deleted it, if there is a record of it and its job was not killed.
    assert lost(study, made | {text: {"input": []}}, set()) == set()
    assert lost(study, made | {text: {"input": None}}, {text}) == {text}


def a_record(folder, output, inputs):
    """As Snakemake records that an output was made from inputs."""
    file = folder / "metadata" / base64.urlsafe_b64encode(str(output).encode()).decode()
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text(json.dumps({"input": [*map(str, inputs)]}))
    return file


def test_what_is_lost_and_cannot_be_marked_is_one_line(tmp_path):
    (table := tmp_path / "study" / "table").parent.mkdir()
    table.touch()
    record = a_record(tmp_path, table, [table.with_name("text")])
    make_again_what_was_lost(table.parent, tmp_path)
    assert [path.name for path in (tmp_path / "incomplete").iterdir()] == [record.name]
    shutil.rmtree(tmp_path / "incomplete")
    (tmp_path / "incomplete").touch()  # stands for a disk that is full or read-only
    with pytest.raises(UserError, match=r"^\S+ cannot be written: \D+; free some space or "):
        make_again_what_was_lost(table.parent, tmp_path)


def test_files_of_the_system_among_the_records_are_none(tmp_path):
    """NFS has such a file in place of one that is deleted while it is open."""
    record = a_record(tmp_path, "results/a", [])
    for name in (".nfs00001", "a", "é"):
        shutil.copy(record, record.with_name(name))
    assert [*records(record.parent)] == [Path("results/a")]


@pytest.mark.parametrize("damage", ["", '{"input": [', "[" * 100_000, "[]"], ids=lambda d: d[:20])
def test_a_damaged_record_is_none(tmp_path, damage):
    record = a_record(tmp_path, "results/a", [])
    a_record(tmp_path, "results/b", []).write_text(damage)
    assert [*records(record.parent)] == [Path("results/a")]


def jobs(checkout, *targets):
    """How many jobs of each rule a dry run plans; a summary takes no account of marks."""
    shown = checkout.snakemake("--dry-run", *OPTIONS, "--", *targets).stdout
    return Counter({rule: int(n) for rule, n in re.findall(r"^(\w+) +(\d+)$", shown, re.M)})


def delete(checkout, paths):
    for path in paths:
        (checkout.path / RESULTS / path).unlink()


def killed(checkout, paths):
    """As Snakemake leaves outputs if it is killed with their job."""
    folder = checkout.path / ".snakemake"
    for file, path, _ in [*recorded(folder / "metadata")]:
        if str(path).removeprefix(RESULTS) in paths:
            (folder / "incomplete" / file.name).write_text('{"external_jobid": null}')
    delete(checkout, paths)


@pytest.mark.long
def test_output_of_a_job_that_failed_is_made_again_when_its_reason_is_gone(checkout):
    """The text that is encoded again is no text here, so the program ends in an error."""
    target = f"{RESULTS}corpus/tokens/train.source/ids.npy"
    failed = checkout.snakemake("--forcerun", target, *OPTIONS, "--", target, check=False)
    assert failed.returncode and not (checkout.path / target).exists()
    planned = jobs(checkout)
    assert planned["encode_text"] == 1  # of six
    assert planned["train_lm"] == 2 and planned["plot_learning_curves"] == 1
    assert not {"annotate_words", "learn_bpe"} & {*planned}
    said = checkout.snakemake("--dry-run", *OPTIONS).stderr
    assert f"missing since a job failed or was killed: {target} and 2 more" in said


def test_output_of_a_job_that_was_killed_is_made_again(checkout, outputs):
    killed(checkout, outputs.of(ENCODED))
    planned = jobs(checkout, f"{RESULTS}runs/lm-1/metrics.jsonl")
    assert planned == {"encode_text": 1, "train_lm": 1, "total": 2}


def test_what_a_user_deleted_is_not_made_again(checkout, outputs):
    """To save space, where all that was made from it is there."""
    delete(checkout, outputs.of("extract_views", ENCODED))
    assert jobs(checkout) == {}


def test_what_is_being_made_is_not_lost(checkout, outputs):
    killed(checkout, outputs.of(ENCODED))
    with (checkout.path / RESULTS / running.MAY_RUN).open("a") as held:
        running._take(held, running.fcntl.LOCK_EX)
        assert jobs(checkout) == {}
