"""The explorer: the tables of a study in a page that needs no server.

The reader chooses in the browser. This module provides the choices and their data, as compactly as
possible: numbers with a few digits, each name once, and a sample of the points of t-SNE.
"""

import base64
import json
import math
from collections.abc import Iterable

import numpy as np
import pandas as pd
import vl_convert
from markupsafe import Markup
from tokenizers import Tokenizer

from bottomup.core import names
from bottomup.core.errors import UserError
from bottomup.corpus.words import located
from bottomup.figures import projection, style
from bottomup.figures.head_functions import LABELS
from bottomup.pages import render
from bottomup.pages.signs import VERDICTS, sign
from bottomup.tables import too_few, value_columns

DIGITS = 4
MOST_POINTS = 60  # of each word and kind, in a t-SNE picture
# Vega's shapes for matplotlib's markers.
SHAPES = {
    **{"o": "circle", "s": "square", "D": "diamond", "d": "diamond", "X": "cross", "P": "cross"},
    **{"^": "triangle-up", "v": "triangle-down", "<": "triangle-left", ">": "triangle-right"},
}
MARKS = {"circle": "●", "square": "■", "diamond": "◆", "cross": "✚", "triangle-up": "▲"}
MARKS |= {"triangle-down": "▼", "triangle-left": "◀", "triangle-right": "▶"}
RUN_AND_PICTURE = ["objective", "seed", "picture"]
HEAD = ["objective", "seed", "attention", "layer", "head"]
IMPORTANCES = [
    *("confidence", "special", "relevance", "relevance_ratio", "gradient", "loss_increase"),
]


def looks(objectives: Iterable[str]) -> dict[str, dict]:
    """The looks of the curves of each objective, in the order of figures; `opened` are shown before
    the reader chooses others."""
    by_objective, every = {}, {*objectives}
    # A checkpoint may end like a run at a step.
    whole = {name for name in every if names.whole(name) not in every - {name}}
    opened = style.compared(whole)
    for name in style.ordered(every):
        look = style.objective(name)
        shape = SHAPES.get(look.marker, "circle")
        by_objective[name] = {
            "label": look.label,
            "color": look.color,
            "shape": shape,
            "mark": MARKS[shape],
            "dashed": look.linestyle != "-",
            "opened": name in opened,
        }
    return by_objective


def curves(name: str, table: pd.DataFrame) -> dict:
    """The curves over the layers in a table of a measure: `{name, value, choices, x, curves}`.

    A table has, from the left, columns that say what a row is about, its value, and its interval,
    `ci_low` and `ci_high`.

    choices: these first columns without runs and layers, each with its values.
    x: the layers, or the steps from one to the next.
    curves: for each, its run or both runs, the numbers of its choices, and over x the values and
        both ends of their intervals, null if there is none or it rests on too few cases.
    """
    [value] = value_columns(table)
    about = list(table.columns[: table.columns.get_loc(value)])
    if "n_clusters" in table:
        n = table["n_clusters"].map(lambda n: "" if pd.isna(n) else f", {n:.0f}")
        table = table.assign(estimator=table["estimator"] + n)
    x = _x(table)
    table = table.assign(x=x)[x.notna()]
    table.loc[too_few(table), [value, "ci_low", "ci_high"]] = np.nan
    layers = sorted(set(table["x"]), key=_place)
    choices = [each for each in about if not each.startswith(("objective", "seed", "layer"))]
    values = {each: list(map(str, dict.fromkeys(table[each]))) for each in choices}
    table = table.dropna(subset=choices)
    place = {x: n for n, x in enumerate(layers)}
    places = [table[each].map(str).map(values[each].index) for each in choices]
    numbers = [_numbers(table[column]) for column in (value, "ci_low", "ci_high")]
    lines: dict[tuple, list] = {}
    # Grouping by pandas takes ten times as long.
    for pair, x, row, *chosen in zip(
        _runs(table), table["x"], zip(*numbers, strict=True), *places, strict=True
    ):
        key = (pair, *chosen)
        if key not in lines:
            empty = [[None] * len(layers) for _ in numbers]
            lines[key] = [pair.split("."), chosen, *empty]
        for curve, number in zip(lines[key][2:], row, strict=True):
            curve[place[x]] = number
    curves = [*lines.values()]
    return {"name": name, "value": value, "choices": values, "x": layers, "curves": curves}


def _x(table: pd.DataFrame) -> pd.Series:
    """The layer of each row, or the step between two, as text; missing if it is about no layer."""
    if "layer_a" in table:
        return table["layer_a"].astype(str) + "-" + table["layer_b"].astype(str)
    return table["layer"].astype("Int64").astype("string")


def _place(x: str) -> tuple[int, int]:
    """Layers from the lowest up; steps to the next layer before longer ones."""
    ends = [*map(int, x.split("-"))]
    return ends[-1] - ends[0], ends[0]


def _runs(table: pd.DataFrame) -> list[str]:
    if "objective_a" not in table:
        return [names.run(*run) for run in zip(table["objective"], table["seed"], strict=True)]
    sides = [zip(table[f"objective_{x}"], table[f"seed_{x}"], strict=True) for x in "ab"]
    return [names.pair(*(names.run(*run) for run in pair)) for pair in zip(*sides, strict=True)]


def _numbers(values: Iterable[float]) -> list[float | None]:
    return [None if pd.isna(x) else float(f"{x:.{DIGITS}g}") for x in values]


def heads(table: pd.DataFrame) -> list[dict]:
    """Each head of the table `heads`, which has a row for each function of a head: its place, its
    importances, and its functions, in words (`functions`) and in letters (`labels`)."""
    entries = []
    known = [name for name in IMPORTANCES if name in table]
    for place, rows in table.groupby(HEAD, sort=False):
        first = rows.iloc[0]
        held = rows.dropna(subset="function")
        numbers = zip(known, _numbers(first[known]), strict=True)
        entries.append(
            {
                "run": names.run(*place[:2]),
                **dict(zip(HEAD[2:], place[2:], strict=True)),
                **{name: number for name, number in numbers if number is not None},
                "functions": ", ".join(_function(row) for row in held.to_dict("records")),
                "labels": " ".join(dict.fromkeys(map(_label, held["function"]))),
            }
        )
    return entries


def _function(row: dict) -> str:
    phrase = f"{row['function'].replace('_', ' ')} {row['function_accuracy']:.2f}"
    known = not math.isnan(row["baseline_accuracy"])
    return f"{phrase} (baseline {row['baseline_accuracy']:.2f})" if known else phrase


def _label(function: str) -> str:
    """The label in a map; only the words give the place of a position."""
    return {"positional": "p", "rarest": "r"}.get(function) or LABELS[function]


def attention(table: pd.DataFrame) -> dict:
    """The attention of one run: `{run, layers, heads, kinds}`. Each kind has a list of sentences
    with `queries`, `keys` and `weights`: `[layers, heads, queries, keys]` in 255ths, one byte each,
    in base64."""
    kinds: dict[str, list] = {}
    for (kind, _), rows in table.groupby(["attention", "sentence"], sort=False):
        rows = rows.sort_values(["layer", "head", "query", "key"])
        of_queries, of_keys = (
            rows.drop_duplicates(side)[f"{side}_token"].tolist() for side in ("query", "key")
        )
        weights = np.rint(255 * rows["weight"].to_numpy()).astype(np.uint8)
        coded = base64.b64encode(weights.tobytes()).decode()
        sentence = {"queries": of_queries, "keys": of_keys, "weights": coded}
        kinds.setdefault(kind, []).append(sentence)
    run = names.run(table["objective"].iloc[0], int(table["seed"].iloc[0]))
    sizes = {f"{name}s": int(table[name].max()) for name in ("layer", "head")}
    return {"run": run, **sizes, "kinds": kinds}


def beliefs(table: pd.DataFrame) -> dict:
    """What each layer of one run would predict: `{run, sentences}`. Each sentence has at its places
    the token `read` and the `right` one, and from layer 0 up the word that is `believed`, its
    probability and that of the right one, `[layers, places]`."""
    sentences = []
    for _, rows in table.groupby("sentence", sort=False):
        by_layer = [layer.sort_values("place") for _, layer in rows.groupby("layer")]
        sentences.append(
            {
                **{name: by_layer[0][name].tolist() for name in ("read", "right")},
                "believed": [layer["believed"].tolist() for layer in by_layer],
                "probability": [_numbers(layer["probability"]) for layer in by_layer],
                "right_probability": [_numbers(layer["right_probability"]) for layer in by_layer],
            }
        )
    run = names.run(table["objective"].iloc[0], int(table["seed"].iloc[0]))
    return {"run": run, "sentences": sentences}


def pictures(table: pd.DataFrame, text: pd.Series, tokenizer: Tokenizer) -> dict | None:
    """Pictures by t-SNE: `{sentences, pictures}`, with at most `MOST_POINTS` of each word and kind,
    the same points in all layers.

    text: sentences of the test split. tokenizer: the one that counts positions in them. Each
    picture has `run`, `picture`, the number of points shown and of all points, `x` and `y` in
    hundredths (a list for each layer), and for each point the number of its sentence, its place
    there in characters, its color and its kind. None if the table has no picture.
    """
    if table.empty:
        return None
    entries, shown = [], []
    for (objective, seed, picture), rows in table.groupby(RUN_AND_PICTURE, sort=False):
        bottom = rows[rows["layer"] == rows["layer"].min()]
        some = _sample(bottom)
        per_layer = [layer.iloc[some] for _, layer in rows.groupby("layer")]
        points = per_layer[0]
        shown.append(points)
        entries.append(
            {
                "run": names.run(objective, seed),
                "picture": picture,
                "shown": len(some),
                "of": len(bottom),
                "colors": _colors(points, picture),
                "kinds": points["kind"].tolist() if points["kind"].nunique() > 1 else None,
                **{x: [_hundredths(layer[x]) for layer in per_layer] for x in "xy"},
            }
        )
    sentences = sorted(set().union(*(points["sentence"] for points in shown)))
    written, read = located([text[sentence] for sentence in sentences], tokenizer)
    encoded = tokenizer.encode_batch(read)
    number = {sentence: n for n, sentence in enumerate(sentences)}
    for each, points in zip(entries, shown, strict=True):
        each["sentences"] = [number[sentence] for sentence in points["sentence"]]
        each["words"] = [
            [written[n][1][place] for place in encoded[n].offsets[position]]
            for n, position in zip(each["sentences"], points["position"], strict=True)
        ]
    return {"sentences": [shown for shown, _ in written], "pictures": entries}


def _sample(points: pd.DataFrame) -> np.ndarray:
    """The places of the points to show, ascending: of each word and kind, from the whole text."""
    kept = []
    for place in points.groupby(["token", "kind"]).indices.values():
        shown = np.linspace(0, len(place) - 1, min(len(place), MOST_POINTS))
        kept.append(place[np.rint(shown).astype(int)])
    return np.sort(np.concatenate(kept))


def _colors(points: pd.DataFrame, picture: str) -> list:
    """What determines the color of each point; words or categories beyond the most frequent ones
    count as one, as in figures."""
    values = points[picture]
    if picture == "position":
        return values.tolist()
    frequent = values.value_counts().index[: len(projection.COLORS)]
    return values.where(values.isin(frequent), projection.ALL_OTHERS).tolist()


def _hundredths(values: pd.Series) -> list[int]:
    return np.rint(100 * values).astype(int).tolist()


def library() -> str:
    """The JavaScript that draws the page: Vega, Vega-Lite and Vega-Embed."""
    return vl_convert.javascript_bundle()


def page(
    study: str,
    tables: dict[str, pd.DataFrame],
    heads_table: pd.DataFrame | None,
    attentions: list[pd.DataFrame],
    believed: list[pd.DataFrame],
    projected: dict | None,
    claims: pd.DataFrame | None,
) -> str:
    """The page. tables: those of measures, by name. projected: as from `pictures`. The others are
    as the functions here take them, None if there is none."""
    measures = [curves(name, table) for name, table in tables.items() if len(table)]
    runs = {run for measure in measures for curve in measure["curves"] for run in curve[0]}
    objectives_and_seeds = [names.objective_and_seed(run) for run in runs]
    about = [] if heads_table is None else heads(heads_table)
    data = {
        "looks": looks(objective for objective, _ in objectives_and_seeds),
        "measures": measures,
        "heads": _rows(about),
        "importances": [name for name in IMPORTANCES if any(name in head for head in about)],
        "attentions": [attention(table) for table in attentions],
        "beliefs": [beliefs(table) for table in believed],
        "projected": projected,
        "claims": [] if claims is None else _claims(claims),
        "signs": {verdict: sign(verdict) for verdict in VERDICTS},
        "palette": projection.COLORS,
        "other": {"name": projection.ALL_OTHERS, "color": projection.OTHERS},
    }
    # Escaped, so that nothing in it can end the script element around it.
    written = _json(data).replace("<", "\\u003c")
    seeds = sorted({seed for _, seed in objectives_and_seeds})
    first = [seed for seed in seeds if seed][:1]  # checkpoints have 0
    given = {"seeds": seeds, "opened": {0, *first}}
    return render("explorer.html", study=study, data=data, written=Markup(written), **given)


def _rows(entries: list[dict]) -> dict[str, list]:
    """The entries with each name once; None where an entry lacks it."""
    fields = list(dict.fromkeys(name for entry in entries for name in entry))
    return {"fields": fields, "rows": [[entry.get(name) for name in fields] for entry in entries]}


def _json(data: dict) -> str:
    """JSON without NaN and infinity, of which a browser would show nothing at all."""
    try:
        return json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise UserError(
            "a table holds infinity; the explorer needs finite numbers, or empty cells; make the "
            "tables of the study again"
        ) from error


def _claims(claims: pd.DataFrame) -> list[dict]:
    return claims[["claim", "measure", "statement", "verdict"]].to_dict("records")
