"""Peak memory and time of every measure on synthetic views of 1,000,000 occurrences x 512.

PYTHONPATH=. OMP_NUM_THREADS=1 python benchmarks/memory.py

Each measure runs as in the workflow, in its own process. Peak memory includes the pages of
memory-mapped views that are in memory. The exit status is 1 if a measure fails or exceeds 8 GiB.
About 2.1 GB of files are written to a temporary folder (TMPDIR says where), then deleted.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from side_by_side import apart, machine
from synthetic import annotate, draw_text, occurrences_of
from tokenizers import Tokenizer, models

from bottomup import objectives
from bottomup.core.settings import Model
from bottomup.corpus.bpe import WORD_START
from bottomup.corpus.specials import N_SPECIAL, SPECIALS
from bottomup.model.folder import save, save_tokenizer
from bottomup.training.run import initial_model

SENTENCE_TOKENS = 25
N_TOKENS = 20_000
BLOCK_ROWS = 50_000
LIMIT_GIB = 8

RUN = {"objective": "mlm", "seed": 1}
LABELS = {"labels": [{"label": "input", "positions": "all"}]}
# 1,000 clusters; the paper's 10,000 take ten times as long, but little more memory.
INFORMATION = {
    **{"n_tokens": 1000, "other_n_tokens": [], "n_clusters": 1000, "other_n_clusters": []},
    **{"clusterings": 3, "scikit_learn": False, "seed": 1},
}
PWCCA = {"variants": ["definition", "svcca-2019"]}
NULL = {"null": {"permutations": 63, "seed": 1}}
SIMILARITY = {"variance": 0.99, "rsa_rows": 1000, "seed": 1}
CHANGE = {"occurrences": 20_000, "seed": 1}
NEIGHBOURS = {
    **{"k": 50, "tokens": 500, "occurrences": 100, "within_tokens": 20},
    **{"within_occurrences": 5000, "seed": 1},
}
PROJECTION = {
    **{"words": ["w0", "w1", "w2", "w3"], "position_word": "w4", "ccg_word": "w5"},
    **{"occurrences": 300, "perplexity": 30, "seed": 1},
}
INFLUENCE = {"hidden": "token", "sentences": 2000, "seed": 1}


def commands(folder: Path) -> dict[str, list]:
    """The command line of each measure."""
    table = [f"occurrences={folder / 'occurrences.parquet'}"]
    annotated = [*table, f"annotations={folder / 'annotations.parquet'}"]
    frequencies = [f"frequencies={folder / 'frequencies.csv'}"]
    views = [f"views={folder / 'views.npy'}"]
    pair = 2 * views
    model = [f"model={folder / 'model.safetensors'}", f"text={folder / 'ids.npy'}"]

    def measure(name: str, options: dict, *reads: str) -> list:
        sees = "subjects" if name == "influence" else "views"
        settings = {"table": name, "sees": sees, "run": RUN, "options": options}
        settings |= LABELS if name == "mutual_information" else {}
        settings |= NULL if "between" in name else {}
        at_once = ["--batch-tokens", 2048] if name == "influence" else []
        writes = [folder / f"table.{kind}" for kind in ("csv", "parquet")]
        command = ["scripts/measure.py", "--settings", json.dumps(settings), *at_once]
        return [*command, "--reads", *reads, "--writes", *writes]

    return {
        "mutual information": measure(
            "mutual_information", INFORMATION, *table, *frequencies, *views
        ),
        "PWCCA between layers": measure("pwcca_between_layers", PWCCA, *table, *views),
        "PWCCA between runs": measure("pwcca_between_runs", PWCCA, *table, *pair),
        "similarity between runs": measure("similarity_between_runs", SIMILARITY, *table, *pair),
        "isotropy": measure("isotropy", {"n": 1000, "seed": 1}, *table, *views),
        "change of groups": measure("change", CHANGE, *annotated, *views),
        "influence of groups, one layer": measure("influence", INFLUENCE, *annotated, *model),
        "neighbors": measure("neighbors", NEIGHBOURS, *annotated, *views),
        "projection": measure("projection", PROJECTION, *annotated, *frequencies, *views),
    }


def write(folder: Path, n: int, d_model: int) -> None:
    """Text, occurrences, annotations, frequencies, two layers of views and a model."""
    rng = np.random.default_rng(1)
    text = draw_text(np.full(n // SENTENCE_TOKENS, SENTENCE_TOKENS), N_TOKENS, rng)
    text.save(folder)
    table = occurrences_of(text, N_TOKENS)
    table.to_parquet(folder / "occurrences.parquet")
    annotate(table, rng).to_parquet(folder / "annotations.parquet")
    names = [f"{WORD_START}w{i}" for i in range(N_TOKENS)]
    ranks = np.arange(1, N_TOKENS + 1)
    pd.DataFrame({"token_id": N_SPECIAL + ranks - 1, "token": names, "rank": ranks}).to_csv(
        folder / "frequencies.csv", index=False
    )
    write_views(folder, table, d_model, rng)
    write_model(folder, d_model, [*SPECIALS, *names])


def write_views(folder: Path, table: pd.DataFrame, d_model: int, rng: np.random.Generator) -> None:
    """Layer 0 is a vector for each token and noise; layer 1 mixes the neurons and adds noise."""
    tokens = rng.normal(size=(N_SPECIAL + N_TOKENS, d_model)).astype(np.float32)
    mix = rng.normal(size=(d_model, d_model)).astype(np.float32) / d_model**0.5
    shape = (2, len(table), d_model)
    layers = np.lib.format.open_memmap(folder / "views.npy", "w+", np.float16, shape)
    for start in range(0, len(table), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        x = tokens[table["input_id"].to_numpy()[rows]]
        for view in layers:
            x = x + rng.standard_normal(x.shape, dtype=np.float32)
            view[rows] = x
            x = x @ mix


def write_model(folder: Path, d_model: int, tokens: list[str]) -> None:
    """A random encoder of one layer."""
    shape = Model(
        layers=1, heads=8, d_model=d_model, d_ff=4 * d_model, dropout=0.0, attention_dropout=0.0
    )
    sizes = {"source": len(tokens), "target": len(tokens)}
    save(initial_model(shape, objectives.load("mlm", {}), 1, sizes), folder)
    tokenizer = Tokenizer(models.WordLevel({token: i for i, token in enumerate(tokens)}))
    save_tokenizer(tokenizer, folder)


def measured(command: list, log: Path) -> tuple[float, float, bool]:
    """Seconds and peak GiB of a program, and whether it succeeded; its output goes to `log`."""
    start = time.perf_counter()
    with log.open("w") as stream:
        process = subprocess.Popen([sys.executable, *map(str, command)], stderr=stream)
        _, status, usage = os.wait4(process.pid, 0)
    return time.perf_counter() - start, usage.ru_maxrss / 2**20, status == 0


def main(n: int, d_model: int) -> int:
    print(f"{n} x {d_model}. {machine(torch.get_num_threads(), 'torch', 'numpy')}", end="\n\n")
    failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        apart(write, folder, n, d_model)  # a program's peak counts that of who starts it
        print("| | seconds | peak GiB |\n| --- | ---: | ---: |", flush=True)
        for name, command in commands(folder).items():
            log = folder / "log"
            seconds, gib, done = measured(command, log)
            print(f"| {name} | {seconds:.0f} | {gib:.2f} |", flush=True)
            failures += gib > LIMIT_GIB or not done
            if not done:
                print(log.read_text(), file=sys.stderr)
    return min(failures, 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--occurrences", type=int, default=1_000_000)
    parser.add_argument("--d-model", type=int, default=512)
    arguments = parser.parse_args()
    sys.exit(main(arguments.occurrences, arguments.d_model))
