"""What the rows of a measure must have for what its declaration promises."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from bottomup.core.errors import UserError
from bottomup.tables import Table, mistake
from scripts.measure import logged

ROW = {"layer": 1, "length": 2.0, "ci_low": None, "ci_high": None, "without": np.ones(3)}
CURVES, JUDGED = Table("run", over_layers=True), Table("run", judged=True)


def without(*names: str) -> dict:
    return {name: of for name, of in ROW.items() if name not in names}


@pytest.mark.parametrize(
    ("table", "rows", "said"),
    [
        (CURVES, [ROW], None),
        (JUDGED, [without("layer")], None),
        (CURVES, [without("without")], None),
        (CURVES, [ROW | {"layer": layer} for layer in (1, math.nan)], None),
        (CURVES, [ROW | {"layer": layer} for layer in (1, None, "")], "no column layer of whole"),
        (CURVES, [ROW | {"layer": layer, "length": None} for layer in (1, pd.NA)], None),
        (CURVES, [{"layer_a": n, "layer_b": n + 1} | without("layer") for n in (1, 2)], None),
        (CURVES, [{"n_clusters": n} | ROW for n in (5, 9)], None),
        (CURVES, [ROW | {"n_clusters": n} for n in (5, 9)], None),
        (CURVES, [], None),
        (Table("run"), [without("layer", "ci_low", "ci_high", "without")], None),
        (CURVES, [without("layer")], "no column layer of whole numbers;"),
        (CURVES, [ROW | {"length": torch.tensor([1.0, 2.0])}], "a length that is no number;"),
        (CURVES, [ROW | {"layer": "L1"}], "no column layer of whole numbers;"),
        (CURVES, [ROW | {"layer": 0.5}], "no column layer of whole numbers;"),
        (CURVES, [ROW, ROW], "two rows for one layer;"),
        (CURVES, [ROW | {"quantity": n} for n in "ab"], "two rows for one layer;"),
        (CURVES, [without("ci_low", "ci_high")], "no column ci_low "),
        (JUDGED, [without("ci_low", "ci_high")], "no column ci_low "),
        (JUDGED, [without("without")], "no column without,"),
        (CURVES, [ROW | {"length": "long"}], "a length that is no number;"),
    ],
)
def test_the_explorer_and_claims_can_read_them_or_one_line_says_why_not(table, rows, said):
    found = mistake(pd.DataFrame(rows), table)
    assert found is None if said is None else found.startswith(said)


@pytest.mark.parametrize(("rows", "of"), [(None, "NoneType"), ([(1, 2.0)], "tuple"), (ROW, "str")])
def test_rows_are_dictionaries(rows, of):
    with pytest.raises(UserError, match=f"^rows gives a {of}; allowed: dictionaries"):
        [*logged(rows)]


def test_a_job_ends_with_the_file_that_is_to_be_mended(measure, tmp_path, monkeypatch):
    monkeypatch.setattr("bottomup.tables.geometry.rows", lambda seen, settings: [ROW, ROW])
    np.save(tmp_path / "views.npy", np.ones([1, 4, 2], np.float16))
    pd.DataFrame({"block": [0, 0, 1, 1]}).to_parquet(tmp_path / "occurrences.parquet")
    files = {"views": tmp_path / "views.npy", "occurrences": tmp_path / "occurrences.parquet"}
    run, table = {"objective": "lm", "seed": 1}, tmp_path / "lm-1.csv"
    with pytest.raises(SystemExit, match=r"bottomup/tables/geometry\.py: rows gives two rows"):
        measure("geometry", run, {"points": 100, "seed": 1}, table=table, **files)
    assert not table.exists()
