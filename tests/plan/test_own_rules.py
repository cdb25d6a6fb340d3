"""A rule that a user adds to the workflow, beside its own."""

RULE = """
rule mine:
    output:
        "mine.txt",
    params:
        word="VALUE",
    shell:
        '''
        # on a line of its own
        printf 'two  blanks, %s' {params.word} > {output}
        '''


"""


def test_it_keeps_its_command_and_is_made_again_if_its_params_change(checkout):
    snakefile = checkout.path / "Snakefile"
    start, loop = "\nfor each in workflow.rules:", snakefile.read_text()
    assert loop.count(start) == 1
    for value in ("one", "other"):
        snakefile.write_text(loop.replace(start, RULE.replace("VALUE", value) + start.lstrip("\n")))
        checkout.snakemake("--cores", "1", "mine.txt")
        assert (checkout.path / "mine.txt").read_text() == f"two  blanks, {value}"
