"""The program that draws one figure: its files, their bytes, its errors."""

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from bottomup.core.errors import UserError
from bottomup.core.files.tables import read_table
from bottomup.figures import style
from bottomup.figures.points import COLUMNS, NoRowsError, that_rest_on_enough
from bottomup.published import CURVES
from scripts import plot_figure
from tests.figures.test_stitching_figure import stitched

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]


def plot(folder, figure, tables, *more, options=None, **environment):
    """Run the program on `tables` (saved in `folder`), its outputs in `folder` too."""
    paths = []
    for name, table in tables.items():
        paths.append(str(folder / f"{name}.{'parquet' if 'without' in table else 'csv'}"))
        (table.to_parquet if "without" in table else table.to_csv)(paths[-1], index=False)
    settings = {"figure": figure, "title": "How much?", "options": options or {}}
    settings |= {"tables": [(name, 1) for name in tables], "places": {}, "untrained": []}
    outputs = [f"--{end}={folder / figure}.{end}" for end in ("png", "pdf", "csv")]
    program = [
        sys.executable,
        "scripts/plot_figure.py",
        "--settings",
        json.dumps(settings),
        *outputs,
    ]
    return subprocess.run(
        [*program, "--tables", *paths, *more],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
    )


def test_a_token_called_null_stays_one_and_metrics_are_read(tmp_path):
    (tmp_path / "a.csv").write_text("series,y\nnull,1\nNA,\n")
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n{"step": 2}\n')
    paths = [tmp_path / "a.csv", tmp_path / "metrics.jsonl"]
    found = plot_figure.read_all([("a", 1), ("lm-1", 1)], paths)
    assert found["a"]["series"].tolist() == ["null", "NA"]
    assert found["a"]["y"].isna().tolist() == [False, True]
    assert found["lm-1"]["step"].tolist() == [1, 2]


def test_the_same_bytes_again_and_the_points_as_csv(study, tmp_path):
    tables = {"pwcca_between_layers": study(layers=3)["pwcca_between_layers"]}
    published = ["--published", str(CURVES / "change_by_task.csv")]
    files = {}
    # Another hash seed and another moment must not show in the files.
    for seed, day in (("1", "0"), ("2", "86400")):
        folder = tmp_path / seed
        folder.mkdir()
        environment = {"PYTHONHASHSEED": seed, "SOURCE_DATE_EPOCH": day}
        done = plot(folder, "distance_between_layers", tables, *published, **environment)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        files[seed] = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert files["1"] == files["2"]
    assert b"CreationDate" not in files["1"]["distance_between_layers.pdf"]

    points = pd.read_csv(tmp_path / "1" / "distance_between_layers.csv")
    assert list(points) == COLUMNS
    assert set(points["source"]) == {"ours", "published"}
    step = points[(points["x"] == "1-2") & (points["series"] == "lm")].iloc[0]
    rows = tables["pwcca_between_layers"].query(
        "objective == 'lm' and layer_a == 1 and weights == 'x' and variant == 'definition'"
    )
    assert step["y"] == pytest.approx(rows["distance"].mean(), rel=1e-14)


def test_options_come_from_the_settings(study, tmp_path):
    tables = {name: study()[name] for name in ("cleaning", "splits", "frequencies")}
    done = plot(tmp_path, "corpus_overview", tables, options={"n_tokens": 50})
    assert done.returncode == 0, done.stderr
    points = pd.read_csv(tmp_path / "corpus_overview.csv")
    assert points.loc[points["quantity"] == "share of occurrences", "x"].tolist() == ["50"]


@pytest.mark.parametrize(
    ("figure", "options"),
    [
        ("mutual_information_input", {"estimate": {"n_clusters": 1000}}),
        ("distance_between_tasks", {}),
    ],
)
def test_a_missing_table_is_one_line(study, tmp_path, figure, options):
    done = plot(tmp_path, figure, {"splits": study()["splits"]}, options=options)
    assert done.returncode == 1
    assert done.stderr.startswith("error: table ") and done.stderr.count("\n") == 1


def test_metrics_are_read_from_json_lines(runs, tmp_path):
    path = tmp_path / "metrics.jsonl"
    runs()["lm-1"].to_json(path, orient="records", lines=True)
    assert read_table(path)["tokens"].tolist() == runs()["lm-1"]["tokens"].tolist()


def test_tables_of_one_name_are_read_as_one(study, tmp_path):
    whole = study(layers=3)["pwcca_between_layers"]
    halves = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path, rows in zip(halves, (whole.iloc[::2], whole.iloc[1::2]), strict=True):
        rows.to_csv(path, index=False)
    assert plot_figure.read_all([("x", 2)], halves)["x"].shape == whole.shape


def test_values_that_rest_on_too_few_cases_are_left_out_and_the_figure_says_so(study, tmp_path):
    """Of one of two objectives, or of all."""
    table = study(layers=3, objectives=("lm", "mt"))["pwcca_between_layers"]
    of_lm = (table["objective"] == "lm").to_numpy()
    table = table.assign(n_occurrences=np.where(of_lm, 48, 500), n_needed=128)
    table.loc[of_lm, ["distance", "ci_low", "ci_high"]] = np.nan
    kept, line = that_rest_on_enough({"pwcca_between_layers": table})
    assert set(kept["pwcca_between_layers"]["objective"]) == {"mt"}
    assert line == (
        f"pwcca between layers: {of_lm.sum()} of {len(table)} values are left out, which rest on "
        "too few cases: 48, where 128 are needed"
    )
    done = plot(tmp_path, "distance_between_layers", {"pwcca_between_layers": table})
    assert done.returncode == 0, done.stderr
    assert line in done.stderr
    assert set(pd.read_csv(tmp_path / "distance_between_layers.csv")["series"]) == {"mt"}
    done = plot(tmp_path, "distance_between_layers", {"pwcca_between_layers": table[of_lm]})
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "distance_between_layers.png").exists()
    assert "has no rows to draw;" in done.stderr  # it has rows
    points = pd.read_csv(tmp_path / "distance_between_layers.csv")
    assert points.empty and "y" in points


def test_a_table_with_nothing_of_what_a_figure_shows_ends_no_study(tmp_path):
    """Of relations, which little text has too seldom; heads have other functions there."""
    rows = pd.DataFrame({"function": ["positional", "amod_to_head"], "n": [500, 48]})
    rows = rows.assign(objective="lm", seed=1, attention="encoder", layer=1, head=1, n_needed=100)
    rows = rows.assign(accuracy=0.6, ci_low=0.5, ci_high=0.7, baseline_accuracy=0.4)
    rows["without"] = [[0.5, 0.7]] * 2
    done = plot(tmp_path, "syntactic_heads", {"head_functions": rows}, options={"threshold": 0.1})
    assert done.returncode == 0, done.stderr
    assert "no accuracy of any of nsubj_to_head, " in done.stderr
    assert (tmp_path / "syntactic_heads.png").exists()
    assert pd.read_csv(tmp_path / "syntactic_heads.csv").empty


def test_a_figure_of_two_tables_shows_the_one_that_rests_on_enough(study, tmp_path):
    similar = study()["similarity_between_runs"].assign(n_occurrences=2, n_needed=3)
    tables = {"stitching": stitched(), "similarity_between_runs": similar}
    done = plot(tmp_path, "stitching", tables)
    assert done.returncode == 0, done.stderr
    assert f"{len(similar):,} of {len(similar):,} values are left out" in done.stderr
    points = pd.read_csv(tmp_path / "stitching.csv")
    assert len(points) and set(points["quantity"]) == {"nats"}


def test_tables_that_do_not_say_what_they_need_are_whole():
    table = pd.DataFrame({"n": [1, 2], "y": [0.0, 1.0]})
    kept, line = that_rest_on_enough({"a": table})
    assert kept["a"] is table and line == ""


def test_a_part_without_rows_takes_no_type_from_the_others(tmp_path):
    """As that of a model whose attention cannot be looked at; text in a column has no bounds."""
    paths = [tmp_path / f"{name}.csv" for name in ("full", "none")]
    rows = pd.DataFrame({"objective": ["lm"], "layer": [1], "distance": [0.5]})
    for path, part in zip(paths, (rows, rows[:0]), strict=True):
        part.to_csv(path, index=False)
    for order in (paths, paths[::-1]):
        pd.testing.assert_frame_equal(plot_figure.read_all([("x", 2)], order)["x"], rows)
    assert plot_figure.read_all([("x", 1)], paths[1:])["x"].empty


POINT = pd.DataFrame([["a", "lm", "n", 0, 1.0, None, None, 1, 5, "ours"]], columns=COLUMNS)


@pytest.mark.parametrize("given", [None, Figure(), (Figure(), None), (Figure(), POINT[["x", "y"]])])
def test_what_is_no_figure_with_its_points_is_one_line(monkeypatch, given):
    """The pages of a study, which read the points, would not be made."""
    monkeypatch.setattr("bottomup.figures.corpus_overview.draw", lambda tables: given)
    with pytest.raises(UserError, match=r"^bottomup/figures/corpus_overview\.py: draw .*[^\n]$"):
        plot_figure.drawn("corpus_overview", {}, {})


def test_a_figure_without_a_point_has_nothing_to_draw(monkeypatch):
    for points, raises in ((POINT, nullcontext()), (POINT[:0], pytest.raises(NoRowsError))):
        given = Figure(), points
        monkeypatch.setattr("bottomup.figures.corpus_overview.draw", lambda tables, of=given: of)
        with raises:
            assert plot_figure.drawn("corpus_overview", {}, {}) is given


def test_models_have_the_looks_of_their_places_in_the_study(run_script, monkeypatch, tmp_path):
    colors = []

    def draw(tables, **options):
        colors.append([style.objective(name).color for name in ("mine", "yours")])
        raise NoRowsError("any")

    monkeypatch.setattr("bottomup.figures.corpus_overview.draw", draw)
    (tmp_path / "splits.csv").write_text("split\ntrain\n")
    outputs = [part for end in ("png", "pdf", "csv") for part in (f"--{end}", tmp_path / end)]
    for places in ({"mine": 0, "yours": 1}, {"mine": 1, "yours": 0}):
        settings = {"figure": "corpus_overview", "title": "What?", "options": {}}
        settings |= {"tables": [["splits", 1]]}
        files = ["--tables", tmp_path / "splits.csv", *outputs]
        run_script("plot_figure", settings | {"places": places, "untrained": []}, *files)
    assert colors[0] == colors[1][::-1] and colors[0][0] != colors[0][1]
