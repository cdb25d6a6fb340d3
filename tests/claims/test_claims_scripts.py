"""The programs of the claims, as the rules call them; and the claims for readers."""

import logging

import pandas as pd
import pytest

from bottomup.claims.reference import reference
from scripts.judge_claims import CLAIMS
from tests.tiny import ROOT

SETTINGS = {"n_clusters": 10_000, "variant": "definition", "weights": "x", "k": 50}


def figure(panel, series, source, ys):
    columns = {"panel": panel, "series": series, "quantity": "change", "source": source}
    return pd.DataFrame({"x": range(len(ys)), "y": ys, "low": None, "high": None}).assign(**columns)


@pytest.fixture
def study(published, published_heads, tmp_path):
    """The tables and figures of a study in files."""
    tables = published() | published_heads()
    runs = tables["pwcca_between_runs"].assign(weights="x", variant="definition")
    other = runs.assign(distance=9.0, variant="svcca-2019")
    tables["pwcca_between_runs"] = pd.concat([runs, other])
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    parts = [
        figure("input: change", "lm", "ours", [0, -1, -2, -4]),
        figure("input: change", "lm", "published", [0, -1, -3, -2]),
        figure("input: clusters", None, "ours", [5.0]),
    ]
    pd.concat(parts).to_csv(tmp_path / "mutual_information_input.csv", index=False)
    return tmp_path, [tmp_path / f"{name}.csv" for name in tables]


def test_from_figures_and_tables_to_verdicts(study, run_script, caplog):
    folder, tables = study
    outputs = [folder / name for name in ("comparison.csv", "correlations.csv", "claims.csv")]
    with caplog.at_level(logging.INFO):
        run_script(
            "compare_with_published",
            {},
            *("--figures", folder / "mutual_information_input.csv"),
            *("--table", outputs[0], "--correlations", outputs[1]),
        )
        run_script(
            "judge_claims",
            SETTINGS,
            *("--tables", *tables, "--correlations", outputs[1], "--table", outputs[2]),
        )
    assert caplog.messages == [
        "1 curves, median rank correlation 0.80",
        f"{len(CLAIMS)} reproduced",
    ]
    comparison = pd.read_csv(outputs[0])
    assert ",".join(comparison) == "figure,panel,series,x,ours,low,high,published"
    assert comparison["ours"].tolist() == [0, -1, -2, -4]
    claims = pd.read_csv(outputs[2]).set_index("claim")
    assert (claims["verdict"] == "reproduced").all()
    # 1 - 6 (0 + 0 + 1 + 1) / (4 * 15), for each claim about this curve.
    known = claims["rank_correlation"].dropna()
    assert known.to_dict() == pytest.approx({"lm_forgets_input": 0.8, "lm_forgets_most": 0.8})


def test_a_study_without_tables_on_heads_leaves_their_claims_undecided(study, run_script):
    folder, tables = study
    pd.DataFrame(columns=["figure", "panel", "series", "rank_correlation"]).to_csv(
        folder / "correlations.csv", index=False
    )
    on_heads = ("head_", "pruned_", "pruning", "gates")
    run_script(
        "judge_claims",
        SETTINGS,
        *("--tables", *(path for path in tables if not path.stem.startswith(on_heads))),
        *("--correlations", folder / "correlations.csv", "--table", folder / "claims.csv"),
    )
    claims = pd.read_csv(folder / "claims.csv")
    verdicts = claims.groupby("paper")["verdict"].unique().map(list).to_dict()
    assert verdicts == {
        "evolution": ["reproduced"],
        "heads": ["undecided"],
        "heads, asked anew": ["undecided"],
    }


def test_a_setting_that_no_row_has_is_named(study, run_script):
    folder, tables = study
    pd.DataFrame(columns=["figure", "panel", "series", "rank_correlation"]).to_csv(
        folder / "correlations.csv", index=False
    )
    with pytest.raises(SystemExit) as stop:
        run_script(
            "judge_claims",
            SETTINGS | {"n_clusters": 7},
            *("--tables", *tables, "--correlations", folder / "correlations.csv"),
            *("--table", folder / "claims.csv"),
        )
    assert "no rows with n_clusters 7 in" in str(stop.value)
    assert "found 10000" in str(stop.value)


def test_the_claims_for_readers_are_up_to_date():
    assert (ROOT / "docs/claims.md").read_text() == reference()
