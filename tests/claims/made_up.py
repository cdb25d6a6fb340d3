"""Tables with noise that is known, for tests of what is inferred from them."""

from dataclasses import replace

import numpy as np
import pandas as pd

from bottomup.claims.catalog import CLAIMS
from bottomup.claims.claim import Claim, collect
from bottomup.claims.comparison import CURVE
from bottomup.claims.finding import find_all
from bottomup.claims.judge import judge
from bottomup.claims.looks import Looks
from bottomup.claims.specifications import COLUMNS as OF_SPECIFICATION
from bottomup.claims.tables import table
from bottomup.measures import jackknife
from bottomup.tables import value_columns

NO_CORRELATIONS = pd.DataFrame(columns=[*CURVE, "rank_correlation"])
NO_SPECIFICATIONS = pd.DataFrame(columns=OF_SPECIFICATION)
ONE_LOOK = Looks(seeds=[1], planned=[1])
BY_NAME = {claim.name: claim for claim in CLAIMS}
N_BLOCKS = 20
# The models that each starts from.
INITIAL = {
    **dict.fromkeys(["mt", "mlm", "lm_bidirectional", "mt_noise", "untrained"], "untrained"),
    **dict.fromkeys(["lm", "mlm_causal", "lm_noise", "untrained_causal"], "untrained_causal"),
}


def claim(parts, paper="beyond", **data) -> Claim:
    """A claim on the table `change`."""
    data = {"published": 2.0, "undecided_until": "a larger model", "measure": "change"} | data
    claims = []
    texts = dict.fromkeys(("statement", "section", "statistic", "contradicted_if"), "")
    collect(claims, paper=paper)(**texts, **data)(parts)
    return claims[0]


def named(claims, names):
    """The claims, called by these names."""
    for one, name in zip(claims, names, strict=True):
        object.__setattr__(one, "name", name)
    return claims


def of_seeds(spread=0.01, **values):
    """Runs with a value for each seed, by objective."""
    rng = np.random.default_rng(0)
    parts = [
        of_runs(of_seed, spread, rng, objective=name, seed=range(1, 1 + len(of_seed)))
        for name, of_seed in values.items()
    ]
    return pd.concat(parts)


def without(values, spread, rng, n_blocks=N_BLOCKS):
    """Values without each block with the standard errors `spread`, `[n, n_blocks]`."""
    values, spread = np.broadcast_arrays(np.asarray(values, float), spread)
    deviations = rng.standard_normal((len(values), n_blocks))
    deviations -= deviations.mean(1, keepdims=True)
    errors = jackknife.error(np.zeros(len(values)), deviations)
    return values[:, None] + deviations * (spread / errors)[:, None]


def measured(frame, name, arrays):
    """The frame with a column of values, an interval right of it, and values without each block."""
    others = frame.drop(columns=name)
    return others.assign(**{name: frame[name], "ci_low": np.nan, jackknife.WITHOUT: [*arrays]})


def value_of(frame):
    """Its column of values; none in a table of gates."""
    return next(iter(value_columns(frame)), None)


def blurred(frames, spread, seed=0, n_blocks=N_BLOCKS):
    """The frames with a standard error over documents of `spread` times each value."""
    rng = np.random.default_rng(seed)

    def of(frame):
        name = value_of(frame)
        if name is None:
            return frame
        values = frame[name].to_numpy(float)
        arrays = without(values, spread * np.abs(values), rng, n_blocks)
        return with_probability(frame.assign(**{jackknife.WITHOUT: [*arrays]}))

    return {name: of(frame) for name, frame in frames.items()}


def moved(frame, new):
    """The frame with other values, and those without blocks moved along."""
    name = value_of(frame)
    shift = (pd.Series(new, index=frame.index) - frame[name]).to_numpy(float)
    arrays = [array + by for array, by in zip(frame[jackknife.WITHOUT], shift, strict=True)]
    return with_probability(frame.assign(**{name: frame[name] + shift, jackknife.WITHOUT: arrays}))


def with_probability(frame):
    """Pruned models are as good by the probability of the right token as by their quality."""
    if "probability" not in frame:
        return frame
    return frame.assign(probability=frame["quality"], probability_without=frame[jackknife.WITHOUT])


def where(frame, **values):
    return (frame[list(values)] == pd.Series(values)).all(axis="columns")


def tables(frames):
    """The frames as tables; only importances are of another split."""
    splits = {"head_importance": "dev"}
    return {name: table(name, frame, splits.get(name, "test")) for name, frame in frames.items()}


def judged(
    frames,
    claims=CLAIMS,
    correlations=NO_CORRELATIONS,
    specifications=NO_SPECIFICATIONS,
    not_ready=(),
    looks=ONE_LOOK,
    lacking=(),
):
    others = (correlations, specifications, dict(not_ready), looks, dict(lacking))
    return judge(claims, tables(frames), INITIAL, *others).set_index("claim")


def finding(name, frames):
    """What is found of a claim; NotMeasuredError is raised."""
    found, missing = find_all([BY_NAME[name]], tables(frames), INITIAL)
    if missing:
        raise missing[name]
    return found[name]


def value(name, frames):
    return finding(name, frames).replicates.extreme(BY_NAME[name].one_of).whole[0, 0]


def of_runs(values, spread, rng, **columns):
    """A frame of `change` with a row for each run: `[runs]`."""
    frame = pd.DataFrame({"distance": np.asarray(values, float), "ci_low": None, "ci_high": None})
    frame = frame.assign(**columns)
    frame[jackknife.WITHOUT] = [*without(frame["distance"], spread, rng)]
    return frame


def scaled(evidence, values):
    return replace(evidence, values=np.asarray(values, float))
