"""A small study's figures, claims and tables, as the pages take them."""

from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image, ImageDraw
from tokenizers import Tokenizer

from bottomup.heads.attention import weight_rows
from bottomup.tables.attention import COLUMNS
from tests.conftest import Corpus
from tests.pages import made_up_claims
from tests.tiny import ROOT

INFORMATION = [("input", "clusters"), ("input", "classifier"), ("output", "clusters")]


def curves() -> dict[str, pd.DataFrame]:
    """Tables of measures over the layers, 0 to 2, of LM and MT under two seeds."""
    runs = list(product(("lm", "mt"), (1, 2)))
    information, distances, change = [], [], []
    for (name, seed), layer in product(runs, range(3)):
        run = {"objective": name, "seed": seed}
        for place, (label, estimator) in enumerate(INFORMATION):
            if label == "output" and name == "mt":
                continue  # which predicts no next token
            value = 4.87654 - 0.3 * layer - 0.1 * seed - place - (name == "lm")
            n_clusters = 50 if estimator == "clusters" else None
            numbers = (100, 60) if label == "input" and estimator == "clusters" else (100,)
            for n_tokens in numbers:
                row = {"layer": layer, "label": label, "n_tokens": n_tokens, "estimator": estimator}
                row |= interval("mi_nats", value - (n_tokens != 100) / 4)
                information.append(run | row | {"n_clusters": n_clusters})
        if layer:
            for group in ("1-10", "10-25"):
                row = {"group": group, "layer_a": layer - 1, "layer_b": layer}
                change.append(run | row | interval("distance", 0.1 * layer + 0.01 * seed))
    for ((a, seed_a), (b, seed_b)), layer in product(combinations(runs, 2), range(3)):
        pair = {"objective_a": a, "objective_b": b, "seed_a": seed_a, "seed_b": seed_b}
        row = interval("distance", 0.2 + 0.1 * layer + 0.01 * (seed_a + seed_b))
        distances.append(pair | {"layer": layer} | row)
    return {
        "mutual_information": pd.DataFrame(information),
        "pwcca_between_runs": pd.DataFrame(distances),
        "change": pd.DataFrame(change),
    }


def interval(name: str, value: float) -> dict[str, float]:
    return {name: value, "ci_low": value - 0.05, "ci_high": value + 0.04}


def figure(name, category, tables, published=(), module=None):
    module = module or name
    named = {"name": name, "module": module, "category": category, "published": list(published)}
    explored = [table for table in tables if table in curves()]
    tables = [f"measures/{table}.csv" for table in tables]
    return named | {"tables": tables, "explored": explored}


FIGURES = [
    figure("mutual_information_input", "2 Information", ["mutual_information"], ["ib_mi_tasks"]),
    figure("projection_token", "5 What a layer represents", ["projection"], module="projection"),
    figure("mask", "8 The attention mask", ["mutual_information", "neighbors"]),
]
CONFIG = {
    "n_seeds": "2",
    "measures": {
        "mutual_information": {
            **{"n_tokens": 100, "other_n_tokens": [60], "n_clusters": 50, "other_n_clusters": [20]}
        },
        "neighbors": {"k": 10},
        "projection": {"words": ["is", "are"], "occurrences": 30, "perplexity": 9},
    },
}


SETTINGS = {
    "study": "made_up",
    "model": {"layers": 2, "heads": 3, "d_model": 64},
    "objectives": {
        "lm": {"seeds": [1, 2], "tokens": "100,000"},
        "mt": {"seeds": [1, 2], "tokens": "100,000"},
        "untrained": {"seeds": [1]},
    },
    "trained": True,
    "checkpoints": [],
    "beside": [],
    "languages": ["en", "de"],
    "figures": FIGURES,
    "config": CONFIG,
    "repository": None,
    "text": "0" * 12,
}
SPLITS = """split,origin,source_words,digest
train,help,4000,a1
train,packages,1500,b2
dev,help,90,c3
test,help,70,d4
test,packages,9,e5
"""


def points():
    """What a figure draws: curves of ours, one of them beside a published one."""
    rows = [
        ("change", "lm", "change", 0, 0.0, "ours"),
        ("change", "lm", "change", 1, -0.2, "ours"),
        ("change", "lm", "change", 2, -0.3, "ours"),
        ("change", "lm", "change", 0, 0.0, "published"),
        ("change", "lm", "change", 1, -0.50001, "published"),
        ("change", "lm", "change", 2, -1.23456789, "published"),
        ("clusters", "mt", "mutual information", 0, 4.9, "ours"),
        ("clusters", "mt", "mutual information", 1, 4.1234, "ours"),
    ]
    table = pd.DataFrame(rows, columns=["panel", "series", "quantity", "x", "y", "source"])
    table.insert(5, "low", table["y"] - 0.1)
    table.insert(6, "high", table["y"] + 0.1)
    return table


def write_study(folder: Path) -> tuple[Path, dict, list]:
    """Write what the first page is made from, and what it links to, empty; returns where it is to
    be, the settings of its program, and its other arguments."""
    for name in ("figures", "measures", "site"):
        (folder / name).mkdir()
    for table in {table for each in FIGURES for table in each["tables"]}:
        (folder / table).touch()
    images = [folder / f"figures/{each['name']}.png" for each in FIGURES]
    for path in images:
        path.with_suffix(".pdf").touch()
    light = [folder / f"site/{each['name']}.webp" for each in FIGURES]
    (folder / "splits.csv").write_text(SPLITS)
    for place, path in enumerate(images):
        image = Image.new("RGB", (1600 if place else 700, 600), "white")
        ImageDraw.Draw(image).line([(100, 100), (600, 500)], fill="blue", width=9)
        image.save(path)
    drawn = [folder / f"figures/{each['name']}.csv" for each in FIGURES]
    for path in drawn:
        points().to_csv(path, index=False)
    claims = folder / "claims.csv"
    made_up_claims.claims().to_csv(claims, index=False)
    captions = [ROOT / f"docs/captions/{each['name']}.rst" for each in FIGURES]
    arguments = ["--images", *images, "--points", *drawn, "--captions", *captions]
    arguments += ["--light", *light, "--splits", folder / "splits.csv", "--claims", claims]
    return folder, SETTINGS, [*arguments, "--page", folder / "index.html"]


IMPORTANCES = ("confidence", "special", "relevance")
SENTENCES = [["a", "big", "cat", "</s>"], ["old", "dogs", "eat", "in", "june", "</s>"]]


def heads() -> pd.DataFrame:
    """The table of heads of LM and MT: two layers of three heads, with a function or two."""
    found = []
    runs = [("lm", "encoder", 1), ("lm", "encoder", 2), ("mt", "encoder", 1), ("mt", "cross", 1)]
    for (name, kind, seed), layer, head in product(runs, (1, 2), (1, 2, 3)):
        row = {"objective": name, "seed": seed, "attention": kind, "layer": layer, "head": head}
        row |= {each: 0.1 * layer + 0.01 * head + place for place, each in enumerate(IMPORTANCES)}
        if name == "mt":
            row["relevance"] = None
        functions = ["positional", "dobj_to_head"] if (layer, head) == (2, 3) else [None]
        for function in functions:
            known = None if function is None else 0.9
            baseline = 0.4 if function == "dobj_to_head" else None
            said = {"function_accuracy": known, "baseline_accuracy": baseline}
            found.append(row | {"function": function} | said)
    return pd.DataFrame(found)


def weights(layers: int, heads: int, queries: int, keys: int, seed: int = 0) -> np.ndarray:
    """Made-up attention, `[layers, heads, queries, keys]`."""
    drawn = np.random.default_rng(seed).random((layers, heads, queries, keys)) ** 4
    return drawn / drawn.sum(axis=-1, keepdims=True)


def attention(name: str) -> pd.DataFrame:
    """The attention of a run of the first seed in `SENTENCES`."""
    parts = []
    for place, tokens in enumerate(SENTENCES):
        found = weights(2, 3, len(tokens), len(tokens), seed=place)
        parts.append(weight_rows("encoder", tokens, tokens, found).assign(sentence=10 * place))
        if name == "mt":
            words = tokens[::-1]
            found = weights(2, 3, len(words), len(tokens), seed=5 + place)
            parts.append(weight_rows("cross", words, tokens, found).assign(sentence=10 * place))
    table = pd.concat(parts)[COLUMNS]
    table.insert(0, "objective", name)
    table.insert(1, "seed", 1)
    return table


def beliefs(name: str) -> pd.DataFrame:
    """What the layers 0 to 2 of a run would predict in `SENTENCES`: from the bottom the first word,
    then the right one, ever more surely."""
    table = []
    for number, tokens in enumerate(SENTENCES):
        for layer, (place, read) in product(range(3), enumerate(tokens[:-1])):
            right = tokens[place + 1]
            row = {"objective": name, "seed": 1, "sentence": 10 * number, "place": place}
            row |= {"layer": layer, "read": read, "right": right}
            row |= {"believed": right if layer else tokens[0], "probability": (1 + layer) / 4}
            table.append(row | {"right_probability": layer / 4})
    return pd.DataFrame(table)


def projection(text: pd.Series, tokenizer: Tokenizer, n: int) -> pd.DataFrame:
    """Pictures of the words `dogs` and `green` where a text has them, at most `n` times each, in
    three layers; of `green` masked ones, too."""
    found = []
    for word in ("dogs", "green"):
        places = [
            (sentence, encoded.tokens.index(f"▁{word}"))
            for sentence, encoded in enumerate(tokenizer.encode_batch(text.tolist()))
            if f"▁{word}" in encoded.tokens
        ]
        kinds = ("plain", "masked") if word == "green" else ("plain",)
        shown = [("token", kind) for kind in kinds] + [("position", "plain")]
        every = product(enumerate(places[:n]), shown, range(3))
        for (place, (sentence, position)), (picture, kind), layer in every:
            y = (word == "green") + (kind == "masked") / 2
            row = {"objective": "lm", "seed": 1, "picture": picture, "layer": layer}
            row |= {"x": place + layer / 10, "y": y, "token": word, "kind": kind}
            found.append(row | {"position": position, "ccg": "NP", "sentence": sentence})
    return pd.DataFrame(found).sort_values("layer", kind="stable")


def write_explored(folder: Path, corpus: Corpus) -> tuple[Path, dict, list]:
    """As `write_study`, for the explorer."""
    for name, table in curves().items():
        table.to_csv(folder / f"{name}.csv", index=False)
    heads().to_csv(folder / "heads.csv", index=False)
    for name in ("lm", "mt"):
        attention(name).to_parquet(folder / f"{name}-1.parquet")
        beliefs(name).to_parquet(folder / f"beliefs-{name}-1.parquet")
    tokenizer = corpus.tokenizer("source")
    text = pd.read_parquet(corpus.text("test"))["source"]
    drawn = projection(text, Tokenizer.from_file(str(tokenizer)), n=6)
    drawn.to_csv(folder / "projection.csv", index=False)
    made_up_claims.claims().to_csv(folder / "claims.csv", index=False)
    page = folder / "explorer.html"
    (folder / "site").mkdir()
    files = {name: [folder / f"{name}.csv"] for name in ("heads", "projection", "claims")}
    files |= {
        "tables": [folder / f"{name}.csv" for name in curves()],
        "attention": [folder / "lm-1.parquet", folder / "mt-1.parquet"],
        "beliefs": [folder / "beliefs-lm-1.parquet", folder / "beliefs-mt-1.parquet"],
        "text": [corpus.text("test")],
        "tokenizer": [tokenizer],
        "page": [page],
        "library": [folder / "site/vega.js"],
    }
    arguments = [part for name, paths in files.items() for part in (f"--{name}", *paths)]
    return page, {"study": "made_up", "places": {}, "untrained": []}, arguments
