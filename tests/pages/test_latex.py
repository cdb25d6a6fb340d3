import re
import shutil
import subprocess

import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.pages.latex import TABLES, latex
from tests.figures.conftest import mutual_information

NAN = float("nan")
DOCUMENT = r"\documentclass{article}\usepackage{booktabs,longtable}\begin{document}%s\end{document}"


def rows(columns, *values):
    return pd.DataFrame(values, columns=columns.split())


MEASURED = {
    "claims": rows(
        "paper statement value ci_low ci_high published published_as verdict provisional "
        "same_number_as",
        [
            *("heads", "Undecided & 90% _sure_ #1 {x} ~ ^ \\."),
            *[NAN] * 5,
            "undecided",
            "one run",
            NAN,
        ],
        [
            "heads",
            "A head is confident.",
            -0.12345,
            -0.2,
            1234.5,
            1e-5,
            NAN,
            "contradicted",
            NAN,
            NAN,
        ],
        ["evolution", "MLM keeps the token.", 0.5, 0.25, 0.75, NAN, "", "reproduced", NAN, NAN],
        [
            "evolution",
            "MLM keeps it best.",
            0.5,
            0.25,
            0.8,
            0.2,
            "assumed",
            "reproduced",
            NAN,
            "keeps",
        ],
    ),
    "quality": rows(
        "objective seed metric value",
        ["mine_2", 1, "perplexity", 1234.56],
        ["lm", 1, "perplexity", 50.0],
        ["lm", 2, "perplexity", 53.0],
        ["mt", 1, "bleu", 20.0],
        ["mt", 2, "bleu", 20.0],
    ),
    "head_functions": rows(
        "objective seed attention layer head function n n_needed held",
        ["lm", 1, "encoder", 1, 1, "positional", 99, 30, True],
        ["lm", 1, "encoder", 1, 1, "nsubj_to_head", 30, 30, True],
        ["lm", 1, "encoder", 1, 1, "nsubj_from_head", 30, 30, True],
        ["lm", 1, "encoder", 1, 1, "two_rarest", 99, 30, False],
        ["lm", 1, "encoder", 1, 2, "positional", 99, 30, False],
        ["lm", 1, "encoder", 1, 2, "nsubj_to_head", 30, 30, False],
        ["lm", 1, "encoder", 1, 2, "two_rarest", 99, 30, True],
        ["lm", 2, "encoder", 1, 1, "positional", 99, 30, True],
        ["lm", 2, "encoder", 1, 1, "nsubj_to_head", 30, 30, False],
        ["lm", 2, "encoder", 1, 1, "two_rarest", 99, 30, False],
        ["lm", 2, "encoder", 1, 2, "positional", 99, 30, True],
        ["untrained", 1, "encoder", 1, 1, "positional", 99, 30, False],
        ["untrained", 1, "encoder", 1, 1, "nsubj_to_head", 29, 30, False],
    ),
    "pruning": rows(
        "objective seed attention method penalty heads_encoder heads_decoder heads_cross quality",
        ["untrained", 1, "encoder", "none", NAN, 4, 0, 0, 0.1],
        ["mt", 1, "all", "none", NAN, 4, 4, 4, 20.0],
        ["mt", 2, "all", "none", NAN, 4, 4, 4, 22.0],
        ["mt", 1, "all", "gates", 0.3, 1, 2, 3, 19.5],
    ),
    "mutual_information": mutual_information(layers=2, seeds=(1,), objectives=("untrained", "lm")),
}
MEASURED["verdicts"] = MEASURED["claims"]
ESTIMATE = {"n_clusters": 1000, "n_tokens": 400}
OPTIONS = {"mutual_information": {"estimate": ESTIMATE}}


def made(name, measured=None):
    return latex(name, MEASURED[name] if measured is None else measured, **OPTIONS.get(name, {}))


def lines(text):
    """The cells of each row between the rules, as they stand, the heading first."""
    inner = [line for line in text.splitlines() if line.endswith(r" \\") and "caption" not in line]
    inner = [line for line in inner if "multicolumn" not in line]
    return [[cell.strip() for cell in line[:-2].split(" & ")] for line in inner]


@pytest.mark.parametrize("name", TABLES)
def test_it_is_well_formed(name):
    text = made(name)
    opened = re.findall(r"\\begin\{(\w+)\}", text)
    assert opened == re.findall(r"\\end\{(\w+)\}", text)[::-1] and opened
    assert {r"\toprule", r"\midrule", r"\bottomrule"} <= set(text.splitlines())
    (form,) = re.findall(r"\\begin\{(?:longtable|tabular)\}\{(.*)\}$", text, re.M)
    columns = len(re.sub(r"p\{.*?\}", "l", form))
    assert {len(line) for line in lines(text)} == {columns}
    plain = re.sub(r"\\[&%$#_{}]|\$(-|\\pm)\$", "", text.partition(r"\midrule")[2])
    assert not set(plain) & set("%$#_~^") and plain.isascii()
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")
    assert f"\\label{{tab:{name}}}" in text


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="there is no TeX (pdflatex)")
def test_tex_typesets_all_of_them(tmp_path):
    text = DOCUMENT % "\n".join(map(made, TABLES))
    (tmp_path / "all.tex").write_text(text)
    command = ["pdflatex", "-halt-on-error", "-interaction=batchmode", "all.tex"]
    subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    assert "Undefined" not in (tmp_path / "all.log").read_text()


def test_claims_go_by_verdict():
    first, assumed, second, third = lines(made("claims"))[-4:]
    assert assumed[3] == "0.2 (assumed)"
    assert first == ["MLM keeps the token.", "0.5", "[0.25, 0.75]", "", "reproduced"]
    assert second[1:] == ["$-$0.123", "[$-$0.2, 1.23e+03]", "1e$-$05", "contradicted"]
    escaped = (
        r"Undecided \& 90\% \_sure\_ \#1 \{x\} \textasciitilde \space \textasciicircum \space "
    )
    assert third[0] == escaped + r"\textbackslash ."
    assert third[1:] == ["", "", "", "undecided (one run)"]


def test_verdicts_are_counted():
    heading, evolution, heads = lines(made("verdicts"))
    assert heading[1:] == [
        *("reproduced", "smaller than published", "learned in part", "absent, as before training"),
        "contradicted",
        *("not yet", "depends on the estimator", "undecided", "not measured"),
    ]
    assert evolution == ["evolution", "1", *"00000000"]
    assert heads == ["heads", *"000010010"]


def test_quality_is_the_mean_over_seeds_with_their_deviation():
    assert lines(made("quality")) == [
        ["objective", "perplexity", "BLEU"],
        ["MT", "", "20.0"],
        ["LM", r"51.5 $\pm$ 2.1", ""],  # 3 / sqrt(2)
        ["mine 2", "1,234.6", ""],
    ]


def test_a_head_counts_once_for_each_kind_of_function():
    heading, lm, untrained = lines(made("head_functions"))
    assert heading == ["objective", "heads", "positional", "rare tokens", "syntactic"]
    assert lm == ["LM", "2.0", r"1.5 $\pm$ 0.7", *[r"0.5 $\pm$ 0.7"] * 2]
    # Of relations there were too few, and rare tokens were never asked for.
    assert untrained == ["untrained", "1.0", "0.0", "", ""]


def test_pruned_models_follow_the_whole_ones():
    _, whole, pruned, other = lines(made("pruning"))
    assert whole == ["MT", "all", "none", "", *["4.0"] * 3, r"21.000 $\pm$ 1.414"]
    assert pruned == ["MT", "all", "gates", "0.3", "1.0", "2.0", "3.0", "19.500"]
    # Without a decoder nothing of it is left, nor was.
    assert other == ["untrained", "encoder", "none", "", "4.0", "", "", "0.100"]
    assert r"\begin{tabular}{lllrrrrr}" in made("pruning")


def test_information_is_that_of_the_clusters_and_tokens_asked_for():
    # In the made-up table 4.9 + 0.02 at the embeddings, and 0.5 less at the top of LM.
    heading, lm, untrained = lines(made("mutual_information"))
    assert heading == ["layer", "0", "1", "2"]
    assert lm[:2] == ["LM", "4.92"] and lm[3] == "4.42" and untrained[:2] == ["untrained", "4.92"]
    text = made("mutual_information")
    assert "of the 400 most frequent ones, in nats, by 1000 clusters" in text
    for column, found in ESTIMATE.items():
        missing = rf"has no rows with .*{column} 7.* found {column} {found}$"
        with pytest.raises(UserError, match=missing):
            other = ESTIMATE | {column: 7}
            latex("mutual_information", MEASURED["mutual_information"], estimate=other)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_without_its_columns_is_an_error(name):
    needed = {"claims": "value", "verdicts": "paper", "mutual_information": "mi_nats"}
    with pytest.raises(UserError, match="has no column"):
        made(name, MEASURED[name].drop(columns=needed.get(name, "objective")))


def test_the_program_writes_what_the_library_makes(tmp_path, run_script):
    MEASURED["quality"].to_csv(tmp_path / "quality.csv", index=False)
    files = [f"--measured={tmp_path}/quality.csv", f"--latex={tmp_path}/quality.tex"]
    run_script("write_latex", {"table": "quality", "options": {}}, *files)
    assert (tmp_path / "quality.tex").read_text() == made("quality")


@pytest.mark.parametrize("column", ESTIMATE)
def test_the_program_asks_for_the_estimate_that_it_is_told(tmp_path, run_script, column):
    rows = MEASURED["mutual_information"]
    more = rows.assign(**{column: 7}, mi_nats=rows["mi_nats"] + 1)
    pd.concat([rows, more]).to_csv(tmp_path / "measured.csv", index=False)
    files = [f"--measured={tmp_path}/measured.csv", f"--latex={tmp_path}/table.tex"]
    settings = {"table": "mutual_information", "options": {"estimate": ESTIMATE | {column: 7}}}
    run_script("write_latex", settings, *files)
    assert lines((tmp_path / "table.tex").read_text())[1][:2] == ["LM", "5.92"]
