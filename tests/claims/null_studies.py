"""Studies in which no claim is true, from their tables on, and how often one is decided.

    python -m tests.claims.null_studies STUDIES > null_studies.csv

Sentences of the two papers and of the field rest on other tables, and are asked apart.

All models of a study are alike: trained or not, under each objective, in each layer and group, and
where a claim asks for a threshold, its best head is there. Runs differ, and so do documents, which
all runs share; heads are kept at random. Claims then read the tables as they read those of any
study, through logarithms, thresholds, ties and maxima.
"""

import argparse
import sys
from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd

from bottomup.claims import field, published
from bottomup.claims.catalog import CLAIMS
from bottomup.claims.finding import find_all, priors
from bottomup.claims.heads import HALF, RARE
from bottomup.claims.verdicts import corrected
from bottomup.claims.words import AGAINST, PAPERS, REPRODUCED
from bottomup.measures.jackknife import WITHOUT
from tests.claims import field_tables
from tests.claims.made_up import INITIAL, N_BLOCKS, value_of
from tests.claims.made_up import tables as as_tables

READ = (
    *("mutual_information", "pwcca_between_runs", "pwcca_between_layers", "change", "influence"),
    *("neighbors", "head_importance", "head_functions", "gates"),
)
LEVELS = (0.05, 0.005, 0.0005)
RUNS = (2, 3, 5, 10)
# The variance of a run, in units of the usual one.
KINDS = ("alike", "as the prior has it", "a tenth at thirty times")
# Of the heads of a layer, in multiples of the others' mean: a quarter just stands out, and another
# lies as far below the layer's mean as that lies above it.
RELEVANCE = np.array([1.25, 1.25, *[1.0625] * 4, 0.875, 0.875]) / 8.5
A_RUN = 0.02  # its deviation, as a share of a value
TEXT = 0.5  # the variance of the text, in those of a run


def of_papers(
    seeds: tuple[int, ...], kind: str, rng: np.random.Generator
) -> dict[str, pd.DataFrame]:
    """The tables of a study in which nothing is true that the papers say."""
    whole = published.frames(seeds)
    return {
        name: kept_at_random(whole[name], rng)
        if name == "gates"
        else varied(level(name, whole[name], rng), kind, rng)
        for name in READ
    }


def of_field(
    seeds: tuple[int, ...], kind: str, rng: np.random.Generator
) -> dict[str, pd.DataFrame]:
    """The tables of a study in which nothing is true that others say."""
    whole = field_tables.frames(seeds, size=0.0)
    return {
        name: field_tables.without_documents(varied(frame, kind, rng))
        for name, frame in whole.items()
    }


ASKED = {
    "the papers": (of_papers, [claim for claim in CLAIMS if claim.paper != "field"]),
    "the field": (of_field, field.CLAIMS),
}


def level(name: str, frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """The table of models that are all alike; initial models are as those that start from them.

    Which heads of a layer are relevant has nothing to do with what else they do.
    """
    if name == "head_importance":
        confident = frame["importance"] == "confidence"
        first = (frame["layer"] == 1) & (frame["head"] == 1)
        layers = frame.groupby(["objective", "seed", "importance", "layer"])["head"]
        relevant = RELEVANCE[layers.transform(lambda heads: rng.permutation(heads)) - 1]
        values = np.where(confident, np.where(first, HALF, 0.1), relevant)
    elif name == "head_functions":
        values = frame["baseline_accuracy"].fillna(pd.Series(HALF, frame.index))
        values = values.mask(frame["function"].str.endswith("rarest"), RARE)
    else:
        values = np.full(len(frame), 0.2)
    frame = frame.assign(**{value_of(frame): values})
    if "objective_a" in frame:
        return frame
    known = frame[frame["objective"].isin(["mt", "lm"])]
    start = known["objective"].map({"mt": "untrained", "lm": "untrained_causal"})
    trained = frame[~frame["objective"].str.startswith("untrained")]
    return pd.concat([trained, known.assign(objective=start)], ignore_index=True)


def varied(frame: pd.DataFrame, kind: str, rng: np.random.Generator) -> pd.DataFrame:
    """With other values in each run, and in each block of documents."""
    arrays = [name for name in frame if name.endswith(WITHOUT)]
    seeds = [name for name in ("seed", "seed_a", "seed_b") if name in frame]
    value = value_of(frame)
    cells = [name for name in frame if name not in (*seeds, *arrays, value)]
    cell = frame.groupby(cells, dropna=False, sort=False).ngroup().to_numpy()
    usual = (A_RUN * frame[value].to_numpy()) ** 2
    run = rng.standard_normal(len(frame)) * np.sqrt(
        usual * factors(kind, cell.max() + 1, rng)[cell]
    )
    blocks = rng.standard_normal((cell.max() + 1, N_BLOCKS))[cell]
    blocks *= np.sqrt(TEXT * usual * N_BLOCKS)[:, None]
    whole = frame[value].to_numpy() + run + blocks.mean(axis=1)
    without = (blocks.sum(axis=1, keepdims=True) - blocks) / (N_BLOCKS - 1)
    without += (frame[value].to_numpy() + run)[:, None]
    return frame.assign(**{value: whole, WITHOUT: [*without]})


def factors(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """How large the true variances of runs are, beside what is usual, of `n` values."""
    if kind == "alike":
        return np.ones(n)
    if kind == "as the prior has it":
        return 2 / rng.chisquare(2, n)
    return np.where(rng.random(n) < 0.1, 30.0, 1.0)


def kept_at_random(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """As many heads as published in each model, any of them."""
    last = frame["step"] > 0
    of_model = frame[last].groupby(["objective", "seed", "penalty", "kind"])["kept"]
    return frame.assign(
        kept=of_model.transform(lambda kept: rng.permutation(kept)).reindex(
            frame.index, fill_value=True
        )
    )


def judged(
    of: str, n_runs: int, kind: str, rng: np.random.Generator
) -> tuple[list[float], list[bool]]:
    """The p-values of all claims of a study, each alone, and whether one of each family is
    decided."""
    frames, claims = ASKED[of]
    tables = as_tables(frames(tuple(range(1, 1 + n_runs)), kind, rng))
    found, _ = find_all(claims, tables, INITIAL)
    usual = priors(found)
    p = {n: one.decided(usual[n]).p for n, one in found.items()}
    decided = []
    for paper in PAPERS:
        of_paper = {c.name: p[c.name] for c in claims if c.paper == paper and c.name in p}
        # Of a statistic that is nothing, it is true that it is smaller than published.
        words = {sure.word for sure in corrected(of_paper).values()}
        decided.append(not words.isdisjoint({REPRODUCED, *AGAINST}))
    return [float(one.side) for one in p.values()], decided


def rates(n_studies: int, of: str, n_runs: int, kind: str) -> dict:
    """How often p-values are below each level, all claims together, in multiples of it; and in
    which share of studies a claim is decided, in the family in which this is most often so."""
    rng = np.random.default_rng(n_runs)
    studies = [judged(of, n_runs, kind, rng) for _ in range(n_studies)]
    p = np.concatenate([values for values, _ in studies])
    row = {
        "claims": of,
        "runs": n_runs,
        "variances": kind,
        "studies": n_studies,
        "p_values": len(p),
    }
    row |= {f"at_{level:g}": (p <= level).mean() / level for level in LEVELS}
    return row | {"decided": np.mean([decided for _, decided in studies], axis=0).max()}


def all_rates(n_studies: int) -> Iterator[dict]:
    """`n_studies`: of two runs; of more there are fewer, so that each row takes about as long."""
    for of, n_runs, kind in product(ASKED, RUNS, KINDS):
        yield rates(2 * n_studies // n_runs, of, n_runs, kind)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("studies", type=int, help="of two runs; of more there are fewer")
    for number, row in enumerate(all_rates(parser.parse_args().studies)):
        line = pd.DataFrame([row])
        line.to_csv(sys.stdout, index=False, float_format="%.3g", header=number == 0)
        sys.stdout.flush()  # what was computed stays if it is stopped
