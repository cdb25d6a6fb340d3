"""A rule that a user adds to the workflow, beside its own."""

import pytest

RULE = """
rule mine:
    output:
        "mine.txt",
    params:
        NAME="VALUE",
    shell:
        '''
        # on a line of its own
        printf 'two  blanks, %s' {params.NAME} > {output}
        '''


"""
START = "\nfor each in workflow.rules:"


@pytest.mark.parametrize("name", ["word", "settings"])
def test_it_keeps_its_command_and_is_made_again_if_its_params_change(checkout, name):
    snakefile = checkout.path / "Snakefile"
    loop = snakefile.read_text()
    assert loop.count(START) == 1
    for value in ("one", "other"):
        rule = RULE.replace("NAME", name).replace("VALUE", value)
        snakefile.write_text(loop.replace(START, rule + START.lstrip("\n")))
        checkout.snakemake("--cores", "1", "mine.txt")
        assert (checkout.path / "mine.txt").read_text() == f"two  blanks, {value}"


def test_it_may_stand_below_all_others_and_be_asked_for(checkout):
    snakefile = checkout.path / "Snakefile"
    snakefile.write_text(snakefile.read_text() + RULE.replace("NAME", "word"))
    assert "mine" in checkout.snakemake("--dry-run", "mine").stdout
    done = checkout.snakemake("--dry-run", "min", check=False)
    assert "did you mean mine?" in done.stderr and done.returncode == 1


def test_jobs_are_told_nothing_of_the_launcher_that_started_snakemake(checkout, monkeypatch):
    """They would compute on the first GPU without a lock, or wait for other processes. Nor of a
    backend for figures that the shell names, which may not be there."""
    monkeypatch.setenv("MPLBACKEND", "Qt4Agg")
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.setenv(name, "1")
    told = "$RANK$LOCAL_RANK$WORLD_SIZE$MASTER_ADDR$MASTER_PORT$MPLBACKEND"
    snakefile = checkout.path / "Snakefile"
    rule = RULE.replace("{params.NAME}", f'"{told}"').replace("# on", "set +u  # on")
    snakefile.write_text(snakefile.read_text().replace(START, rule + START.lstrip("\n")))
    checkout.snakemake("--cores", "1", "mine.txt")
    assert (checkout.path / "mine.txt").read_text() == "two  blanks, agg"
