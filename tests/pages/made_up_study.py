"""A small study's figures and claims, as its gallery takes them."""

from pathlib import Path

import pandas as pd
from PIL import Image, ImageDraw

from tests.figures import made_up_claims
from tests.tiny import ROOT


def figure(name, category, tables, published=(), module=None):
    module = module or name
    copied = module != "projection"
    tables = [f"measures/{table}.csv" for table in tables]
    named = {"name": name, "module": module, "category": category}
    return named | {"tables": tables, "published": list(published), "copied": copied}


FIGURES = [
    figure("mutual_information_input", "2 Information", ["mutual_information"], ["ib_mi_tasks"]),
    figure("projection_token", "5 What a layer represents", ["projection"], module="projection"),
    figure("mask", "8 The attention mask", ["mutual_information", "neighbours"]),
]
CONFIG = {
    "seeds": [1, 2],
    "measures": {
        "mutual_information": {"n_tokens": 100, "n_clusters": 50, "other_n_clusters": [20]},
        "neighbours": {"k": 10},
        "projection": {"words": ["is", "are"], "occurrences": 30, "perplexity": 9},
    },
}


def points():
    """What a figure draws: curves of ours, one of them beside a published one."""
    rows = [
        ("change", "lm", "mi", 0, 0.0, "ours"),
        ("change", "lm", "mi", 1, -0.2, "ours"),
        ("change", "lm", "mi", 2, -0.3, "ours"),
        ("change", "lm", "mi", 0, 0.0, "published"),
        ("change", "lm", "mi", 1, -0.50001, "published"),
        ("change", "lm", "mi", 2, -1.23456789, "published"),
        ("clusters", "mt", "mi", 0, 4.9, "ours"),
    ]
    table = pd.DataFrame(rows, columns=["panel", "series", "quantity", "x", "y", "source"])
    table.insert(5, "low", table["y"] - 0.1)
    table.insert(6, "high", table["y"] + 0.1)
    return table


def write_study(folder: Path) -> tuple[Path, dict, list]:
    """Write what the gallery is made from; returns where the gallery is to be, the settings of its
    program, and its other arguments."""
    images = [folder / f"{each['name']}.png" for each in FIGURES]
    for place, path in enumerate(images):
        image = Image.new("RGB", (1600 if place else 700, 600), "white")
        ImageDraw.Draw(image).line([(100, 100), (600, 500)], fill="blue", width=9)
        image.save(path)
    drawn = [folder / f"{each['name']}.csv" for each in FIGURES]
    for path in drawn:
        points().to_csv(path, index=False)
    claims = folder / "claims.csv"
    made_up_claims.claims().to_csv(claims, index=False)
    captions = [ROOT / f"docs/captions/{each['name']}.rst" for each in FIGURES]
    page = folder / "gallery" / "index.html"
    settings = {"study": "made_up", "repository": None, "figures": FIGURES, "config": CONFIG}
    arguments = ["--images", *images, "--points", *drawn, "--captions", *captions]
    return page.parent, settings, [*arguments, "--claims", claims, "--page", page]
