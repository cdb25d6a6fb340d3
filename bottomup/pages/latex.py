"""The main tables for a paper, as LaTeX with the rules of booktabs."""

import math
from collections.abc import Callable

import pandas as pd

from bottomup.claims.words import MEANING, PAPERS
from bottomup.figures import heads, style
from bottomup.figures.points import table

SEEDS = "means over seeds, of several with their standard deviation"
METRICS = {  # of quality: heading and digits
    "perplexity": ("perplexity", 1),
    "accuracy": ("accuracy", 3),
    "masked_accuracy": ("masked accuracy", 3),
    "class_accuracy": ("class accuracy", 3),
    "bleu": ("BLEU", 1),
    "chrf": ("chrF", 1),
}
WIDEST = 40  # characters in a line of a cell
FUNCTIONS = {"positional": "positional", "rare": "rare tokens", "syntactic": "syntactic"}
LEFT = {f"heads_{kind}": f"{kind} heads" for kind in ("encoder", "decoder", "cross")}


def latex(name: str, measured: pd.DataFrame, **options) -> str:
    """The LaTeX of a table: `name` is one of `TABLES`, `measured` the table that it is made from.

    A document needs the packages booktabs and, for `claims`, longtable.

    Raises UserError if `measured` lacks a column or has no rows.
    """
    make, caption = TABLES[name]
    cells = make(measured, **options)
    long = name == "claims"
    shown = cells.style.hide(axis="index").format(escape="latex-math")
    return shown.format_index(escape="latex-math", axis="columns").to_latex(
        hrules=True,
        environment="longtable" if long else "table",
        position_float=None if long else "centering",
        column_format="".join(_alignment(cells[column]) for column in cells),
        caption=caption.format(**options),
        label=f"tab:{name}",
    )


def claims(measured: pd.DataFrame) -> pd.DataFrame:
    """A row for each claim, sorted by verdict, then as in the table; a verdict has its marks, and a
    published value says what it is, if not this statistic on the paper's curves."""
    needed = ["statement", "value", "ci_low", "ci_high", "published", "verdict", "provisional"]
    needed += ["published_as"]
    places = {verdict: place for place, verdict in enumerate(MEANING)}
    rows = table({"claims": measured}, "claims", needed)
    rows = rows.sort_values("verdict", key=lambda column: column.map(places), kind="stable")
    numbers = rows[needed[1:5]].map(lambda value: _typeset(f"{value:.3g}", value))
    marks, what = (
        rows[name].fillna("").map(lambda mark: f" ({mark})" if mark else "")
        for name in ("provisional", "published_as")
    )
    intervals = "[" + numbers["ci_low"] + ", " + numbers["ci_high"] + "]"
    return pd.DataFrame(
        {
            "claim": rows["statement"],
            "value": numbers["value"],
            "95 % interval": intervals.where(rows["ci_low"].notna(), ""),
            "published": (numbers["published"] + what).where(rows["published"].notna(), ""),
            "verdict": rows["verdict"] + marks,
        }
    )


def verdicts(measured: pd.DataFrame) -> pd.DataFrame:
    """How many claims of each paper have each verdict; two that rest on one number count once."""
    rows = table({"claims": measured}, "claims", ["paper", "verdict", "same_number_as"])
    rows = rows[rows["same_number_as"].fillna("") == ""]
    counts = pd.crosstab(rows["paper"], rows["verdict"])
    papers = [paper for paper in PAPERS if paper in counts.index]
    return _with_index(counts.reindex(index=papers, columns=list(MEANING), fill_value=0))


def quality(measured: pd.DataFrame) -> pd.DataFrame:
    """A row for each objective, a column for each metric that any of them has."""
    rows = table({"quality": measured}, "quality", ["objective", "seed", "metric", "value"])
    metrics = {name: rows[rows["metric"] == name] for name in METRICS}
    return _by_objective(
        {
            METRICS[name][0]: _cells(some, "value", ["objective"], METRICS[name][1])
            for name, some in metrics.items()
            if len(some)
        }
    )


def head_functions(measured: pd.DataFrame) -> pd.DataFrame:
    """How many heads the encoder of a run has, and how many have a function of each kind; nothing
    where no function of the kind was asked of enough cases."""
    needed = [*heads.HEAD, "function", "n", "n_needed", "held"]
    rows = heads.select({"functions": measured}, "functions", needed, attention="encoder")
    asked = rows[rows["n"] >= rows["n_needed"]]
    kinds = asked["function"].map(heads.function_kind)
    have = {"heads": rows.assign(held=True)} | {
        heading: asked[kinds == kind] for kind, heading in FUNCTIONS.items()
    }
    runs = pd.DataFrame({heading: _heads_that_hold(some) for heading, some in have.items()})
    runs = runs.reset_index()
    return _by_objective({name: _cells(runs, name, ["objective"], digits=1) for name in have})


def _heads_that_hold(rows: pd.DataFrame) -> pd.Series:
    """The number of heads of each run for which one of the rows is held."""
    return rows.groupby(heads.HEAD)["held"].any().groupby(["objective", "seed"]).sum()


def pruning(measured: pd.DataFrame) -> pd.DataFrame:
    """A row for each objective, kind of attention, method and penalty: heads left, none where the
    whole model has none, and quality."""
    by = [name for name in heads.MODEL if name != "seed"]
    rows = table({"pruning": measured}, "pruning", [*by, "seed", *LEFT, "quality"])
    left = rows[[*LEFT]]
    left = left.where(left.groupby(rows["objective"]).transform("max") > 0)
    penalties = [_typeset(f"{penalty:g}", penalty) for penalty in rows["penalty"]]
    rows = rows.assign(penalty=penalties, **left)
    cells = {heading: _cells(rows, column, by, digits=1) for column, heading in LEFT.items()}
    cells = pd.DataFrame(cells | {"quality": _cells(rows, "quality", by, digits=3)})
    parts = [cells.xs(name, drop_level=False) for name in style.ordered(rows["objective"])]
    return _with_index(pd.concat(parts).rename(_label, level="objective"))


def mutual_information(measured: pd.DataFrame, estimate: dict[str, int]) -> pd.DataFrame:
    """A row for each objective, a column for each layer: information about the token read, nats."""
    shown = {"reading": "plain", "positions": "all", "label": "input", "estimator": "clusters"}
    needed = ["objective", "seed", "layer", "mi_nats"]
    rows = heads.select({"information": measured}, "information", needed, **shown, **estimate)
    layers = {
        str(layer): _cells(some, "mi_nats", ["objective"], digits=2)
        for layer, some in rows.groupby("layer")
    }
    return _by_objective(layers).rename(columns={"objective": "layer"})


TABLES: dict[str, tuple[Callable[..., pd.DataFrame], str]] = {
    "claims": (
        claims,
        "Claims by verdict; intervals are over runs and documents, of one run over documents. In "
        "brackets: what a published value is, if not the statistic of the paper's models.",
    ),
    "verdicts": (verdicts, "Claims by paper and verdict."),
    "quality": (quality, f"Quality on the test split: {SEEDS}."),
    "head_functions": (head_functions, f"Encoder heads with a function of each kind: {SEEDS}."),
    "pruning": (
        pruning,
        "Heads that pruning left, and the quality (BLEU of translation, else the mean probability "
        f"of the right token): {SEEDS}.",
    ),
    "mutual_information": (
        mutual_information,
        "Mutual information of each layer with the token that was read, of the "
        "{estimate[n_tokens]} most frequent ones, in nats, by {estimate[n_clusters]} clusters: "
        f"{SEEDS}.",
    ),
}


def _cells(rows: pd.DataFrame, value: str, by: list[str], digits: int) -> pd.Series:
    """By group, the mean over seeds, and their standard deviation if they differ."""
    seeds = rows.groupby(by, sort=False)[value]
    means, deviations = (
        numbers.map(lambda number: _typeset(f"{number:,.{digits}f}", number))
        for numbers in (seeds.mean(), seeds.std().replace(0, math.nan))
    )
    return means.where(deviations == "", means + r" $\pm$ " + deviations)


def _typeset(text: str, value: float) -> str:
    """The text of a number, with a minus sign; nothing if there is no number."""
    return "" if math.isnan(value) else text.replace("-", "$-$")


def _alignment(cells: pd.Series) -> str:
    """Sentences in lines of a third of the page, words to the left, numbers to the right."""
    if (cells.str.len() > WIDEST).any():
        return r"p{0.38\linewidth}"
    return "l" if cells.str.match("[A-Za-z]").any() else "r"


def _by_objective(columns: dict[str, pd.Series]) -> pd.DataFrame:
    cells = pd.DataFrame(columns).fillna("")
    return _with_index(cells.loc[style.ordered(cells.index)].rename(_label))


def _label(objective: str) -> str:
    return style.objective(objective).label


def _with_index(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells with the index as columns."""
    return cells.rename_axis(columns=None).reset_index().astype(str)
