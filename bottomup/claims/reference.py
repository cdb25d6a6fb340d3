"""The claims for readers: python -m bottomup.claims.reference > docs/claims.md"""

from pathlib import Path

import pandas as pd

from bottomup.claims.catalog import CLAIMS
from bottomup.claims.claim import MARGIN, Claim
from bottomup.claims.inference import MOST_RUNS
from bottomup.claims.readiness import FLOORS, STILL_FALLING
from bottomup.claims.words import LEVEL, MEANING, PAPERS, PUBLISHED_AS
from bottomup.corpus.blocks import N_BLOCKS
from bottomup.measures.over_runs import MOST_DF

DOCS = Path(__file__).parents[2] / "docs"
CALIBRATION, NULL_STUDIES = DOCS / "calibration.csv", DOCS / "null_studies.csv"


def header() -> str:
    return f"""# Claims

`results/<study>/measures/claims.csv` judges sentences of the papers. Each has a statistic that is
positive as far as the sentence holds. Statements are in our words, after the authors' posts on the
papers; each gives the heading there and the published figure. Sentences of other papers of the
field name their source.

## Verdicts

{_meanings()}

The margin is {MARGIN:.0%} of the statistic's value on the published curves: less counts as no
effect. Bottom, middle and top are thirds of the layers, so that no claim depends on one layer.

A published value may be of something else than the statistic, and then says so: of MT, where the
claim is asked of LM or MLM; of another statistic, such as groups that are not matched; or assumed,
where the paper gives no number. Only the first is a size that ours may be smaller than. Where a
statistic is narrower or wider than the sentence, the column `differs` says in what.

Models are **not ready** where they are weak ({_floors()}) or where their dev loss fell by more than
{STILL_FALLING} nats over the second half of their tokens.

## How sure

Each run has its own statistic, computed from its tables, and runs are averaged. Other runs, or
other held-out documents, would give another mean. The variance of the mean is the variance over
documents plus the variance over runs divided by their number:

- **Documents** are dealt into {N_BLOCKS} blocks, and every value is computed without each block in
  turn (a jackknife). All measures leave out the same blocks, so that differences are paired.
- **Runs** are left out in turn. A few runs say little about how much runs vary. So their variance
  is drawn towards the usual variance of claims on the same table, but only upwards (Smyth 2004).
  The usual variance counts as two more degrees of freedom, unless the claim's own is above it.
  Statistics of one table have several units, so their variances are pooled as parts of what is
  published. If the first centers of clusters are also drawn, or heads are counted, a run varies at
  least as much as that draw, or as what rounding to a whole head hides.

No interval stands for another training text, since all runs read the same. Where a study has
`training_halves`, `claims.html` says how far models of two halves are apart, beside two seeds.

Both together give a standard error and Student's t, with at most {MOST_DF} degrees of freedom for
each run beyond the first: a few runs that look alike by chance are no certainty. If several things
must hold, each must be sure (an intersection-union test). If one of several must hold, it must be
sure at the level divided by their number. One half of the documents chooses the best of many heads,
and the other half measures it. With a single block of documents the error is unknown, and nothing
is decided.

**What training adds.** If a sentence is about training, the same statistic is computed for the
initial models; each objective is compared with the one that has its attention mask, over the seeds
that both have. The claim is reproduced only if training also adds more than the margin, and
contradicted only if training takes away as much. If it holds for the trained models but held more
before training, it stays undecided, and a mark says so.
There are no initial models for importance other than confidence, nor for readings as in training.

**Marks** in the column `provisional`; quote no verdict without them:

- *one run*: other claims on its table tell how much runs differ. If these have one run, too, that
  is unknown, and the claim is undecided.
- *one pair of runs*: two seeds make one pair, and nothing tells how far another would be. The claim
  is undecided.
- *one run of 3*: the others could show it and do not, as where they have no head with the function.
  That run was chosen by what it shows, so the claim is undecided.
- *smaller than published*: it is reproduced, and surely below the published size.
- *no initial models beside it*: the sentence is about training, and nothing shows the state before.
- *initial models beside some of its runs*: what training adds is of fewer seeds than the rest.
- *holds, but less than before training*, *only less than before training*: only what training takes
  away speaks against the sentence.
- *holds before training, too*: the sentence is not about training.

**Many claims.** Of the claims of one paper that are said to lie on either side of the margin, of
those said to be contradicted, learned in part, or smaller than published, the expected share of
wrong ones is at most {LEVEL:.0%} each, however the claims depend on each other (Benjamini and
Yekutieli 2001). In simulated families of 32 claims of which none is true, anything is decided in at
most 3.6 % of studies of 2, 3 or 5 runs: whether all statistics vary alike from run to run, or as
the usual variance has it, or a tenth of them at thirty times
(tests/claims/test_families_of_claims.py). The promise is of a family. A single claim whose runs
vary far more than is usual has p-values that are too small: with ten to thirty times the usual
variance, p of three runs is below 0.5 % four times as often as it should be, and below 0.05 % up to
17 times; p of five runs twice and five times; p of ten runs hardly more often
(tests/claims/test_inference.py). Whole studies are simulated, too, see [null
studies](#null-studies). The column `uncorrected` has the verdict on the claim alone. Claims of the
paper on heads about MT are asked again of LM and MLM, with the margin of MT's claim; for
comparisons that the paper does not make, the published value is set to 0.03. These claims, those
beyond the papers, and those of the field are families of their own. How much runs usually vary is
told for claims of the field by these alone, so that they change no verdict on the papers.

**When something appears.** A claim that one thing is learned before another compares midpoints of
what rises from the first to the last step looked at, within each run or seed, in doublings of
updates; the midpoint is the mean time of the rise, that of a sigmoid its own. It is asked only
where both surely rise. Two values that rise together have 0, however noisy each is: in simulated
studies of three runs, in which one has ten times the noise of the other, one is said to be later in
5 % (tests/claims/test_midpoint.py). By the first time that a rise is sure, the noisier one
would be later.

**Specifications.** Some measures leave a choice open (how many clusters, or a classifier; how
many tokens; how groups are matched; the variant of PWCCA; the metric of neighbors; the rule of
relevance), and so do bottom and top, which may be thirds, halves or quarters of the layers. Each
claim is judged alone under all combinations that the tables of a study allow and that change its
numbers, and without each seed where two are left (`measures/specifications.csv`);
`specifications_agree` of its `specifications` have its verdict alone. A claim that is reproduced
under one and on the other side under another, of all seeds, **depends on the estimator**.

**Looks.** With `looks: [3, 5, 8]` a study starts with three seeds. `snakemake plan_next_look` then
writes `next_look.yaml` among the results: five seeds for the models on which an undecided claim
hangs, and what that trains. Added behind `--configfile`, it is the second look. Each look has an
equal share of the level, and what is decided at one stands; `look` says at which. If a statistic is
three deviations of a run away from its margin, three seeds find it in 42% of studies at the level
of a family (0.5%), and these looks in 99%, with six seeds on average (tests/claims/test_looks.py).

**Calibration.** `snakemake calibrate_claims` simulates studies with the runs, documents and noise
of your study, whose truth is known, and judges each claim alone: how often it is decided if nothing
is true (the worst of three cases: no part of it holds; all but one do; all do, but training adds
nothing), reproduced if the published curves are true, and contradicted if they are reversed. If a
study has no heads with a function, claims about them are calibrated as if it had as many as the
paper: the accuracies of its heads are raised, and their noise stays as it is.

`power` is the chance that such a study finds the claim reproduced, asked alone, if its statistic
has the published size and the initial models what they have here: where it is low, little follows
from *undecided*.

`undecided_until` says how many runs would decide a claim four times out of five if the values
stayed, alone or, where it is decided alone, among all claims; if {MOST_RUNS} are not enough, how
much more text would, with that many runs; and which larger study would decide it in any case.

`rank_correlation` is Spearman's correlation between our curve and the published one over the
layers. If a claim is about several curves (named in the column `curves`), it is their mean. Claims
on heads have none: heads of two models have no common order, and pruned models no common size.

`python -m bottomup.claims.reference > docs/claims.md` makes this page. The calibration is that of
the default study at commit 8e26b45, kept in `docs/calibration.csv`. It has no controls of pruning,
nor objectives with another's mask or with token dropout, nor learning curves, nor what else other
studies of the field need; claims about them stand here without a calibration.

## Null studies

How often is something decided where nothing is true? In these studies all models are alike, trained
or not, and heads are kept at random. Each is simulated from its tables on, so claims read it
through their logarithms, thresholds, ties and maxima. All values vary alike from run to run; or
with variances that are drawn as the usual variance has it; or a tenth of them has thirty times the
variance of others.

The column *decided* is the share of studies in which a claim of a paper is decided, given how many
are asked, of the paper for which it is largest: at most {LEVEL:.0%} are promised. None of 100 still
allows for 3 %, none of 40 for 7 %, none of 8 for 31 %. The next three columns are how often a claim
by itself has a p-value below a level, in multiples of what that level allows. The last is what
*decided* was at commit 07ba5ca, in simulated families of 32 claims, from the least to the most over
amounts of text.

{_null_studies()}

Made by `python -m tests.claims.null_studies 100 > docs/null_studies.csv`, but for the last column,
for one row, which has more studies, and for the field, which has fewer (40, and at least 8).
"""


def _null_studies() -> str:
    """Null studies as a table of the page."""
    heads = ["sentences of", "runs", "their variances", "decided"]
    heads += [*(f"at {n} %" for n in (5, 0.5, 0.05)), "before"]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for row in pd.read_csv(NULL_STUDIES, dtype={"before": str}).fillna("").to_dict("records"):
        decided = f"{row['decided']:.1%} of {row['studies']}".replace("%", " %")
        tails = [f"{row[name]:.2g}" for name in ("at_0.05", "at_0.005", "at_0.0005")]
        cells = [row["claims"], str(row["runs"]), row["variances"], decided, *tails, row["before"]]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _meanings() -> str:
    return "\n".join(f"- **{word}**: {meaning}" for word, meaning in MEANING.items())


def _floors() -> str:
    return ", ".join(f"{name.replace('_', ' ')} below {floor:g}" for name, floor in FLOORS.items())


def reference() -> str:
    """docs/claims.md: every claim, what decides it, what would contradict it, and how often."""
    rows = pd.read_csv(CALIBRATION).set_index("claim") if CALIBRATION.exists() else pd.DataFrame()
    known = rows.to_dict("index")
    parts = [header().strip()]
    for paper, title in PAPERS.items():
        claims = [claim for claim in CLAIMS if claim.paper == paper]
        parts += [f"## {title}", *(_entry(claim, known.get(claim.name)) for claim in claims)]
    return "\n\n".join(parts) + "\n"


def _published_as(claim: Claim) -> str:
    return f" ({PUBLISHED_AS[claim.published_as]})" if claim.published_as else ""


def _entry(claim: Claim, calibration: dict | None) -> str:
    about = " Also judged on what training adds." if claim.of_training else ""
    differs = f"\n- **Differs from the sentence.** {claim.differs}" if claim.differs else ""
    entry = f"""### `{claim.name}`

{claim.statement} *({claim.section})*

- **Statistic:** {claim.statistic}. Published: {claim.published:.3g}\
{_published_as(claim)}; margin: {claim.margin:.2g}.{about}{differs}
- **Contradicted if** {claim.contradicted_if}.
- **If undecided**, this would decide it: {claim.undecided_until}."""
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
        f"{decided_if_nothing_is_true:.1%} if nothing is true; reproduced in "
        f"{reproduced_if_as_published:.0%} if the published curves are true ({enough}); "
        f"contradicted in {contradicted_if_reversed:.0%} if they are reversed."
    )


if __name__ == "__main__":
    print(reference(), end="")
