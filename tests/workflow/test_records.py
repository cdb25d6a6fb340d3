"""Snakemake's records say what was: of jobs that failed, of outputs that are missing, and of files
that were written while a job ran."""

from tests.workflow.checkouts import RESULTS
from tests.workflow.test_stale import NEIGHBOURS

STUDY = ("--configfile", "study.yaml")
PART = "measures/neighbors/lm-1.csv"


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


def test_what_is_made_again_to_the_same_bytes_ends_there_in_a_second_call(checkout):
    checkout.edit("study.yaml", "merges: 900", "merges: 901")
    checkout.snakemake("--touch", "--cores", "1", "--until", "learn_bpe", *STUDY)
    planned = checkout.summary()
    assert {rule for rule, plan in planned.values() if plan == "update pending"} == set()


def run_of_text(checkout):
    arguments = ("--cores", "1", "--until", "fetch_corpus", "--keep-going", *STUDY)
    return checkout.snakemake(*arguments, check=False)


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
