"""Snakemake's records say what was: of jobs that failed, of outputs that are missing, and of files
that were written while a job ran."""

import asyncio
import json
import os
import shutil
import time
from types import SimpleNamespace

import pytest
from snakemake.exceptions import WorkflowError
from snakemake.iocontainers import InputFiles, OutputFiles
from transformers import ByT5Tokenizer, T5Config, T5ForConditionalGeneration

from bottomup.plan import contents, records
from bottomup.core.differences import differences
from bottomup.plan.records import _changed, digests, slice_of
from bottomup.plan.slices import Slice
from tests.plan.checkouts import RESULTS
from tests.plan.test_stale import NEIGHBOURS

pytestmark = pytest.mark.long

STUDY = ("--configfile", "study.yaml")


def job(inputs, outputs=None, of_rule=None, **params):
    """A job with these files by name, these params, and those of its rule where they differ."""
    files = InputFiles(fromdict=inputs), OutputFiles(fromdict=outputs or {})
    rule = SimpleNamespace(params=of_rule or params, name="a", lineno=1, snakefile="rules.smk")
    return SimpleNamespace(params=params, input=files[0], output=files[1], rule=rule)


PART = "measures/neighbors/lm-1.csv"


def test_order_and_names_of_inputs_are_told():
    paths = {"views": ["a", "b"], "table": "c"}
    others = [{"views": ["b", "a"], "table": "c"}, {"tables": ["a", "b"], "view": "c"}]
    first, *rest = (digests(InputFiles(fromdict=some)) for some in (paths, *others))
    assert [first == digests(InputFiles(fromdict=paths)), *(first == other for other in rest)] == [
        True,
        False,
        False,
    ]
    assert digests(InputFiles(["a", "b"])) != digests(InputFiles(["b", "a"]))


@pytest.mark.parametrize("failed", [True, False])
def test_a_job_that_failed_leaves_no_record(failed, monkeypatch):
    async def ended(*_, **__):
        pass

    cleaned = []
    persistence = SimpleNamespace(cleanup=cleaned.append)
    dag = SimpleNamespace(workflow=SimpleNamespace(persistence=persistence))
    failing = type("Job", (), {"dag": dag, "log": []})()
    monkeypatch.setattr(records, "_stamps", {})
    monkeypatch.setattr(records, "_end", ended)
    monkeypatch.setattr(records, "_changed", lambda *_: iter(()))
    asyncio.run(records._postprocess(failing, error=failed))
    assert cleaned == [failing] * failed


def prepared(one, monkeypatch):
    """Have a job prepared, without what Snakemake does for it."""

    async def by_snakemake(_):
        pass

    monkeypatch.setattr(records, "_prepare_by_snakemake", by_snakemake)
    monkeypatch.setattr(records.nodes, "unlike_its_plan", lambda *_: None)
    asyncio.run(records._prepare(one))


def test_the_folder_of_a_model_begins_empty(tmp_path, monkeypatch):
    """Of another tokenizer before it, transformers would read what this one has not."""
    model, checkpoint = tmp_path / "a-0/model", tmp_path / "a-0/checkpoint"
    for folder in (model / "target", checkpoint):
        folder.mkdir(parents=True)
        (folder / "added_tokens.json").write_text("{}")
    (model / "added_tokens.json").write_text("{}")
    outputs = {name: str(model / name) for name in ("model.safetensors", "config.json")}
    prepared(job({}, outputs, settings="a user's own"), monkeypatch)
    assert (model / "target/added_tokens.json").exists()
    prepared(job({}, outputs, settings=Slice({"k": 1})), monkeypatch)
    assert [*model.iterdir()] == [] and [*checkpoint.iterdir()] != []


def test_the_folder_of_a_model_that_cannot_be_made_anew_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes").write_text("mine")
    (tmp_path / "model").symlink_to(tmp_path / "mine")
    one = job({}, {"model": str(tmp_path / "model/model.safetensors")}, settings=Slice({"k": 1}))
    with pytest.raises(WorkflowError, match=r"model cannot be made anew: .*; delete it and run"):
        prepared(one, monkeypatch)
    assert (tmp_path / "mine/notes").read_text() == "mine"


def test_what_is_recorded_of_a_job_has_the_order_of_its_inputs():
    settings = {"settings": Slice({"k": 10})}
    first, again, other = (slice_of(job({"views": [*v]}, **settings)) for v in ("ab", "ab", "ba"))
    assert first == again != other and json.loads(first)["k"] == 10
    assert slice_of(job({"views": ["a"]})) is None
    assert slice_of(job({"views": ["a"]}, settings="a user's own")) is None


def test_what_is_recorded_of_a_job_has_its_outputs_and_other_params():
    def reads(wildcards, input):
        return [*input]

    def batches(wildcards, resources):
        return resources.n

    settings = {"settings": Slice({"k": 10}), "more": 1, "reads": ["a"], "batches": "8"}
    of_rule = {"reads": reads, "batches": batches}
    here, there = {"dev": "a", "test": "b"}, {"dev": "b", "test": "a"}

    def recorded(output, **changed):
        params = settings | changed
        return slice_of(job({}, output, of_rule=params | of_rule, **params))

    first = recorded(here)
    assert first == recorded(here, batches="9")  # how it runs
    assert first != recorded(there) and first != recorded(here, more=2)
    assert first != recorded(here, another=1)
    both = (json.loads(first), json.loads(recorded(there, more=2)))
    assert differences(*both) == ["outputs: which dev, test, or their order", "params: which more"]


@pytest.mark.parametrize(
    "around",
    [
        *(set, frozenset, lambda some: {"x": [some]}, lambda some: (1, {"x": some})),
        lambda some: {(frozenset(some), "x")},
    ],
)
def test_the_order_of_sets_in_params_does_not_count(around):
    """It differs from process to process and, as here, where hashes collide."""
    sets = {0, 8}, {8, 0}, {0, 9}
    assert [*sets[0]] != [*sets[1]]
    params = [{"settings": Slice(), "more": around(some)} for some in sets]
    first, again, other = (slice_of(job({}, of_rule=of, **of)) for of in params)
    assert first == again != other


def test_params_of_other_kinds_are_other_params():
    """A command has `{'k': 1}` of one and `('k', 1)` of the other."""
    params = [
        {"settings": Slice(), "more": some} for some in ({"k": 1}, [("k", 1)], {1, 2}, [1, 2])
    ]
    assert len({slice_of(job({}, of_rule=of, **of)) for of in params}) == 4


def test_a_job_that_failed_is_planned_again_with_what_shows_its_result(checkout, outputs):
    """Its output is gone, and what was made from it shows an older setting."""
    checkout.edit("study.yaml", "k: 10", "k: 11")
    one = [RESULTS + PART, "--cores", "1", *STUDY]
    done = checkout.snakemake(*one, check=False)  # its inputs are no views
    assert done.returncode == 1 and not (checkout.path / RESULTS / PART).exists()
    checkout.snakemake(
        "--touch", "--until", "measure_neighbors", "--keep-going", *one[1:], check=False
    )
    planned = checkout.planned()
    assert outputs.of(*NEIGHBOURS[1:]) <= planned <= outputs.of(*NEIGHBOURS)


def test_an_output_that_is_gone_though_its_record_has_todays_settings(checkout, outputs):
    checkout.edit("study.yaml", "k: 10", "k: 11")
    (checkout.path / RESULTS / PART).write_text("made with k: 11")
    checkout.snakemake("--touch", "--cores", "1", "--until", "measure_neighbors", *STUDY)
    (checkout.path / RESULTS / PART).unlink()
    assert PART in checkout.planned() >= outputs.of("collect_tables:*/neighbors.csv", "show_claims")


def test_an_output_that_is_gone_and_that_all_was_made_from_stays_gone(checkout):
    """So views can be deleted to save disk."""
    (checkout.path / RESULTS / "views/lm-1/plain.npy").unlink()
    assert checkout.planned() == set()


def test_a_study_copied_under_another_name_is_made_again(checkout, outputs):
    """Nothing tells by which settings it was made."""
    shutil.copytree(checkout.path / RESULTS, checkout.path / "results/other")
    checkout.edit("study.yaml", "study: planned", "study: other")
    planned = {output.removeprefix("results/other/") for output in checkout.planned()}
    assert planned == outputs.rules.keys()


def test_of_a_study_that_was_never_made_nothing_has_changed(checkout):
    checkout.edit("study.yaml", "study: planned", "study: other")
    plan = checkout.snakemake("--dry-run", *STUDY).stdout
    assert "Missing output files" in plan and "have changed" not in plan


def test_what_is_made_again_to_the_same_bytes_ends_there_in_a_second_call(checkout):
    checkout.edit("study.yaml", "merges: 900", "merges: 901")
    checkout.snakemake("--touch", "--cores", "1", "--until", "learn_bpe", *STUDY)
    planned = checkout.summary()
    assert {rule for rule, plan in planned.values() if plan == "update pending"} == set()


def run_of_text(checkout):
    pairs = f"{RESULTS}corpus/pairs/files.parquet"
    return checkout.snakemake(pairs, "--cores", "1", *STUDY, check=False)


def test_a_checkpoint_whose_tokenizer_is_in_python_has_what_its_rule_promises(checkout):
    """As ByT5's, which has no file at all."""
    shape = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}
    T5ForConditionalGeneration(T5Config(**shape)).save_pretrained(checkout.path / "byt5")
    ByT5Tokenizer().save_pretrained(checkout.path / "byt5")
    checkout.edit("study.yaml", "occurrences: {n", "occurrences: {unit: word, n")
    checkout.append("study.yaml", "checkpoints: {byt5: {folder: byt5}}")
    for name in ("byt5", "byt5_untrained"):
        asked = f"{RESULTS}runs/{name}-0/model/config.json"
        done = checkout.snakemake(asked, "--cores", "1", *STUDY, check=False)
        assert done.returncode == 0, done.stderr


def test_a_text_that_is_written_while_a_job_reads_it(checkout):
    """Even if it has the same bytes in the end: the job may have read others."""
    checkout.edit("text/de.txt", "A sentence.", "B sentence.")
    write = "    Path('text/de.txt').write_bytes(Path('text/de.txt').read_bytes())\n"
    checkout.edit("bottomup/corpus/sources/files.py", "    n_sides =", f"{write}    n_sides =")
    done = run_of_text(checkout)
    assert done.returncode == 1
    assert "text/de.txt was written or replaced while a job read it; run again" in done.stderr
    assert "corpus/pairs/files.parquet" in checkout.planned()


def test_a_text_that_is_edited_between_plan_and_job(checkout):
    checkout.edit("text/de.txt", "A sentence.", "B sentence.")
    edit = "    Path('text/de.txt').write_text('C sentence.\\nOne more, in de.\\n')\n"
    checkout.edit("Snakefile", "onstart:\n", f"onstart:\n{edit}")
    done = run_of_text(checkout)
    assert done.returncode == 1 and "has changed since the study was planned" in done.stderr


def test_a_clock_that_was_set_back_fails_no_job(checkout):
    checkout.edit("text/de.txt", "A sentence.", "B sentence.")
    tomorrow = time.time() + 86400
    os.utime(checkout.path / "text/de.txt", (tomorrow, tomorrow))
    assert run_of_text(checkout).returncode == 0
    assert "corpus/pairs/files.parquet" not in checkout.planned()


@pytest.mark.parametrize("place", [{}, {"options": {}}, {"options": {"of": [{}]}}])
def test_files_count_wherever_settings_have_their_digest(place, tmp_path):
    """As tables have it, whose folders are no inputs of a rule."""
    file = tmp_path / "a.jsonl"
    file.write_text("a")
    contents.first_content.cache_clear()
    settings = json.loads(json.dumps(place).replace("{}", '{"content": "CONTENT"}'))
    told = json.dumps(settings).replace("CONTENT", contents.content(lambda: [str(file)]))
    one = job({}, settings=Slice(json.loads(told)))
    assert [*_changed(one, {})] == []
    file.write_text("b")
    [line] = _changed(one, {})
    assert line.startswith(f"{file} or a file with it has changed since the study was planned")
    assert [*_changed(job({}, settings=Slice({"k": 1})), {})] == []


def test_a_file_that_joins_a_folder_between_plan_and_job(tmp_path):
    """The program lists the folder anew; if the file is gone later, nothing would be planned."""
    (tmp_path / "a").write_text("a")
    contents.first_content.cache_clear()
    planned = contents.content(lambda: map(str, tmp_path.iterdir()))
    one = job({}, settings=Slice({"content": planned}))
    assert [*_changed(one, {})] == []
    (tmp_path / "b").write_text("b")
    [line] = _changed(one, {})
    assert "has changed since the study was planned" in line


@pytest.mark.parametrize("known", [True, False])
def test_permissions_and_other_links_to_an_input_are_no_other_bytes(tmp_path, known, monkeypatch):
    """As a backup makes them: a job that reads the file goes on, if its digest was known."""
    monkeypatch.setattr(contents, "SETTLED_NS", -(10**18) if known else 10**18)
    file = tmp_path / "view.npy"
    file.write_bytes(b"values")
    contents.digest(file)
    before = contents.stamp(file), contents.known(file)
    assert (before[1] is not None) == known
    one = job({})
    assert [*_changed(one, {str(file): before})] == []
    file.chmod(0o640)
    (tmp_path / "backup").hardlink_to(file)
    assert bool([*_changed(one, {str(file): before})]) == (not known)
    file.write_bytes(b"VALUES")
    os.utime(file, ns=(1, before[0][3]))
    assert [*_changed(one, {str(file): before})], "the time of before, and other bytes"


def test_code_that_is_edited_between_plan_and_job(checkout):
    """And put back afterwards: what it made would count as made by what was planned."""
    checkout.edit("text/de.txt", "A sentence.", "B sentence.")
    file = "bottomup/corpus/sources/files.py"
    edit = f"    with Path('{file}').open('a') as f:\n        f.write('EDITED = 1\\n')\n"
    checkout.edit("Snakefile", "onstart:\n", f"onstart:\n{edit}")
    done = run_of_text(checkout)
    assert done.returncode == 1
    [*_, line] = done.stderr.splitlines()
    assert f"error: {file} is not as it was when this job was planned" in line


ON_NODE = ("--mode", "remote", "--target-jobs", "fetch_corpus:origin=files", "--force")
ON_NODE += ("--allowed-rules", "fetch_corpus", "--nolock", "--no-hooks", "--ignore-incomplete")
OTHER_PYDANTIC = """
other = Path("other/pydantic-0.1.dist-info")
other.mkdir(parents=True, exist_ok=True)
(other / "METADATA").write_text("Name: pydantic\\nVersion: 0.1\\n")
sys.path.insert(0, str(other.parent))
"""


CHANGED = [
    ("bottomup/corpus/sources/files.py", "    n_sides =", "    n = n_sides =", "code: {file}"),
    ("study.yaml", "text/de.txt}", "text/en.txt}", "options.target "),
    ("text/de.txt", "A sentence.", "B sentence.", "content "),
    (
        "Snakefile",
        "from pathlib import Path\n",
        f"from pathlib import Path\n{OTHER_PYDANTIC}",
        "package: pydantic ",
    ),
]


def test_what_changed_before_a_node_plans_the_job_anew(checkout):
    """Its records would be those of the plan from which it was sent."""
    checkout.edit("text/de.txt", "One more", "And more")
    run_of_text(checkout)
    on_node = ("--cores", "1", *ON_NODE, *STUDY)
    checkout.snakemake(*on_node)
    for file, old, new, said in CHANGED:
        text = (checkout.path / file).read_text()
        checkout.edit(file, old, new)
        done = checkout.snakemake(*on_node, check=False)
        assert done.returncode == 1 and "changed since the study was planned, on " in done.stderr
        assert said.format(file=file) in done.stderr
        log = checkout.path / RESULTS / "logs/fetch_corpus.files.log"
        assert log.read_text().startswith("error: changed since the study was planned")
        assert (checkout.path / RESULTS / "corpus/pairs/files.parquet").exists()
        (checkout.path / file).write_text(text)
    checkout.snakemake(*on_node)


@pytest.mark.parametrize("first", ["a", "z"])
def test_a_run_that_is_only_waited_for_makes_nothing_stale(checkout, first):
    """An objective that is trained like one before it takes its runs, and needs nothing of them."""
    own = f"  {first}: {{objective: lm_backward, n_seeds: 1}}\n"
    other = "  b: {objective: lm_backward, n_seeds: 1}\n"
    checkout.edit("study.yaml", "  mt: {}\n", f"  mt: {{}}\n{own}")

    def planned(name):
        """Of what the training of one objective makes."""
        outputs = checkout.planned(f"{RESULTS}runs/{name}-1/metrics.jsonl")
        return {output for output in outputs if output.startswith(f"runs/{name}-1/")}

    def made(name):
        for output in (outputs := planned(name)):
            (checkout.path / RESULTS / output).parent.mkdir(parents=True, exist_ok=True)
            (checkout.path / RESULTS / output).write_text(output)
        checkout.snakemake(
            f"{RESULTS}runs/{name}-1/metrics.jsonl", "--touch", "--cores", "1", *STUDY
        )
        return outputs

    assert len(made(first)) == 5 and not planned(first)
    # Another one beside it; the first alone again; the other one alone, which waited for the first.
    checkout.edit("study.yaml", own, own + other)
    assert not planned(first)
    assert len(made("b")) == 5 and not planned("b")
    checkout.edit("study.yaml", own, "")
    assert not planned("b")
