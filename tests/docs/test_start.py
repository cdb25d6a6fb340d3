"""The numbers that docs/start.md has its reader compute are those of the tables."""

import re

import numpy as np
import pandas as pd

from bottomup.corpus.specials import N_SPECIAL
from tests.tiny import ROOT

TOKENS, LAYERS = 60, 4  # more than the 50 most frequent
OPTIONS = {"n_tokens": 50, "other_n_tokens": [20], "n_clusters": 50, "other_n_clusters": [20]}


def test_a_number_computed_by_hand_is_that_of_the_table(measure, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (results := tmp_path / "results/smoke").mkdir(parents=True)
    files = {
        "frequencies": results / "corpus/frequencies.csv",
        "occurrences": results / "occurrences/plain/occurrences.parquet",
        "views": results / "views/mt-1/plain.npy",
    }
    table = results / "measures/mutual_information/mt-1.plain.csv"
    for path in (*files.values(), table):
        path.parent.mkdir(parents=True)
    rng = np.random.default_rng(0)
    ids = N_SPECIAL + np.append(np.arange(TOKENS), rng.integers(TOKENS, size=1000))
    counts = {"token_id": N_SPECIAL + np.arange(TOKENS), "count": 100 - np.arange(TOKENS)}
    pd.DataFrame({**counts, "rank": 1 + np.arange(TOKENS)}).to_csv(files["frequencies"])
    occurrences = {"input_id": ids, "kind": "plain", "block": np.arange(len(ids)) % 20}
    pd.DataFrame(occurrences).to_parquet(files["occurrences"])
    np.save(files["views"], rng.normal(size=[LAYERS, len(ids), 8]) + ids[:, None] % 7)
    asked = {"reading": "plain", "labels": [{"label": "input", "positions": "all"}]}
    options = OPTIONS | {"clusterings": 2, "scikit_learn": False, "seed": 1}
    run = {"objective": "mt", "seed": 1}
    measure("mutual_information", run, options, asked, **files, table=table)
    capsys.readouterr()
    page = (ROOT / "docs/start.md").read_text().split("## Trace a number\n")[1]
    exec(re.search(r"```python\n(.*?)```", page, re.S)[1], {})
    by_hand, in_table = capsys.readouterr().out.split()
    assert by_hand == in_table
    smoke = (ROOT / "studies/smoke.yaml").read_text()
    assert "n_tokens: 50\n" in smoke and "n_clusters: 50\n" in smoke and "clusterings: 2\n" in smoke
