"""The claims for readers: python -m bottomup.claims.reference > docs/claims.md"""

from pathlib import Path

import pandas as pd

from bottomup.claims.catalogue import CLAIMS
from bottomup.claims.claim import MARGIN, Claim
from bottomup.claims.inference import LEVEL, MOST_RUNS
from bottomup.corpus.blocks import N_BLOCKS
from bottomup.figures.claims_table import PAPERS

CALIBRATION = Path(__file__).parents[2] / "docs/calibration.csv"
HEADER = f"""# Claims

What is judged in `results/<study>/measures/claims.csv`: sentences of the papers, each with a
statistic that is positive as far as the sentence holds. Statements are in our words, after the
authors' posts on the papers; where each stands is given by the heading there and by the published
figure.

A claim is **reproduced** where its statistic is surely above the margin, **contradicted** where it
is surely below minus the margin, and **undecided** otherwise. The margin is {MARGIN:.0%} of the
statistic's value on the published curves: less counts as no effect. Bottom, middle and top are
thirds of the layers, so that no claim hangs on one layer.

## How sure

A statistic is computed from the tables of each run, and runs are averaged. Another set of runs, or
other held-out documents, would have given another mean. Its variance is that over documents plus
that over runs by their number:

- **Documents** are dealt into {N_BLOCKS} blocks, and every value is computed without each block in
  turn (a jackknife). All measures leave out the same blocks, so that differences are paired.
- **Runs** are left out in turn. A few runs say little of how variable they are, so the variance is
  drawn towards what is usual for claims on the same table, but only upwards (Smyth 2004). What is
  usual counts as two more degrees of freedom, unless the claim's own variance is far above it.
  Where the first centers of clusters are drawn, too, a run varies at least by what that draws.

From both follow a standard error and Student's t. Where several things must hold, each must be
sure (an intersection-union test); where one of several must, it must be sure at the level divided
by their number. The best of many heads is chosen in one half of the documents and measured in the
other. With a single block of documents nothing is known of its error, and nothing is decided.

**What training adds.** Where a sentence is about training, the same statistic is computed of the
initial models; each objective stands beside the one with its attention mask. The claim is
reproduced only if training adds more than the margin, too. A claim that
holds of the trained models, and held more before training, stays undecided, and a mark says so.
Of importance other than confidence, and of readings as in training, there are no initial
models.

**Marks** in the column `provisional`, without which no verdict should be quoted:

- *one run*, *one pair of runs*: how much runs differ is taken from other claims or, if these have
  one run, too, not known; then the verdict is on this run. What no text changes either, as the
  number of heads left, is undecided.
- *no initial models beside it*: the sentence is about training, and nothing shows what was there
  before.
- *holds, but less than before training*, *only less than before training*: nothing but what
  training takes away speaks against the sentence.
- *holds before training, too*, of a sentence that is not about training.

**Many claims.** Of the verdicts on one paper that are not "undecided", the expected share of wrong
ones is at most {LEVEL:.0%}, however the claims hang together (Benjamini and Yekutieli 2001). The
column `uncorrected` has the verdict on the claim alone. What the paper on heads asks of MT is asked
anew of LM and MLM, with the margin of MT's claim; what the paper has not compared is asked for by
three hundredths. These, and what is asked beyond the papers, are families of their own.

**Other estimators.** Where a measure leaves a choice open (clusters or a classifier, how groups
are matched, the variant of PWCCA, the metric of neighbors, the rule of relevance), the verdict
under each other choice stands in `other_estimators`. A claim that is reproduced under one and
contradicted under another **depends on the estimator**.

**Calibration.** `snakemake calibrate_claims` simulates studies with the runs, documents and noise
of one's own, whose truth is known, and judges each claim alone: how often it is decided where
nothing is true (the worst of: no part of it holds; all but one do; all do, but training adds
nothing), reproduced where the published curves are true, and contradicted where they are reversed.
Claims about heads with a function, where a study has none, are calibrated as if it had as many as
the paper's: the accuracies of its heads are raised, and their noise is left as it is.

`undecided_until` says how many runs would decide a claim four times of five if the values stayed,
or, where {MOST_RUNS} would not, how much more text with so many; and which larger study would
decide it in any case.

`rank_correlation` is Spearman's, of our curve and the published one over the layers; where a claim
is about several curves, which are then in the column `curves`, it is their mean. Claims on heads
have none: heads of two models have no common order, and pruned models no common size.

Made by `python -m bottomup.claims.reference > docs/claims.md`; the numbers on calibration are those
of the default study with `pruning: {{controls: {{scratch: [1], random: [0.1, 0.3], gradient: [0.1,
0.3]}}}}`, kept in `docs/calibration.csv`.
"""


def reference() -> str:
    """docs/claims.md: every claim, what decides it, what would contradict it, and how often."""
    rows = pd.read_csv(CALIBRATION).set_index("claim") if CALIBRATION.exists() else pd.DataFrame()
    known = rows.to_dict("index")
    parts = [HEADER.strip()]
    for paper, title in PAPERS.items():
        claims = [claim for claim in CLAIMS if claim.paper == paper]
        parts += [f"## {title}", *(_entry(claim, known.get(claim.name)) for claim in claims)]
    return "\n\n".join(parts) + "\n"


def _entry(claim: Claim, calibration: dict | None) -> str:
    about = " Judged on what training adds, too." if claim.of_training else ""
    entry = f"""### `{claim.name}`

{claim.statement} *({claim.section})*

- **Statistic:** {claim.statistic}. Published: {claim.published:.3g}; margin: {claim.margin:.2g}.\
{about}
- **Contradicted if** {claim.contradicted_if}.
- **Where undecided**, this would decide it: {claim.undecided_until}."""
    return entry if calibration is None else f"{entry}\n{_calibrated(**calibration)}"


def _calibrated(
    runs: int,
    decided_if_nothing_is_true: float,
    reproduced_if_as_published: float,
    contradicted_if_reversed: float,
    runs_for_80_percent: float,
    text_for_80_percent: float,
    reproduced_there: float,
    as_if: bool,
    **_: object,
) -> str:
    enough = f"no number of runs up to {MOST_RUNS} would be enough"
    if pd.notna(runs_for_80_percent):
        text = f" and {text_for_80_percent:.1f} times the text" if text_for_80_percent > 1 else ""
        enough = f"with {runs_for_80_percent:.0f} runs{text}, {reproduced_there:.0%}"
    heads = ", as if it had such heads" if as_if else ""
    return (
        f"- **Calibrated** (default study, {runs} run{'s' if runs > 1 else ''}{heads}): decided in "
        f"{decided_if_nothing_is_true:.1%} where nothing is true; reproduced in "
        f"{reproduced_if_as_published:.0%} where the published curves are ({enough}); "
        f"contradicted in {contradicted_if_reversed:.0%} where they are reversed."
    )


if __name__ == "__main__":
    print(reference(), end="")
