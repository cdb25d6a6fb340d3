"""The claims for readers: python -m bottomup.claims.reference > docs/claims.md"""

from bottomup.claims import evolution, heads
from bottomup.claims.claim import MARGIN, Claim
from bottomup.figures.claims_table import PAPERS

HEADER = f"""# Claims

What is judged in `results/<study>/measures/claims.csv`: sentences of the papers, each with a
statistic that is positive as far as the sentence holds. Statements are in our words, after the
authors' posts on the papers; where each stands is given by the heading there and by the published
figure.

A claim is **reproduced** where the whole interval of its statistic lies above the margin,
**contradicted** where all of it lies below minus the margin, and **undecided** otherwise. The
margin is {MARGIN:.0%} of the statistic's value on the published curves: less counts as no effect.

The interval is made from those of the tables (95 %, by resampling sentences). Half-widths of a
difference add in quadrature; a mean has the mean half-width; where several things must hold, the
weakest counts. Over seeds it spans the intervals of all, so that a verdict holds for each seed.

What is counted, such as heads with a function or pairs of heads in one order, spans what the
intervals of the tables leave open. Pruned models have none: the models of a sweep of penalties are
its repeats, and their mean has Student's interval over them; a loss of quality at a given number
of heads lies between those of the models with just more and just fewer.

What the paper on heads asks of MT is asked anew of LM and MLM. The margin is then that of MT's
claim; what the paper has not compared has the margin of the claim on training from scratch.

Bottom, middle and top are thirds of the layers, so that no claim hangs on one layer.

`undecided_until` says how many times the held-out text (for a sweep, the penalties) would decide a
claim where the values of all seeds are beyond the margin and only their intervals are too wide;
and, as below, which larger study would decide it in any case.

`rank_correlation` is Spearman's, of our curve and the published one over the layers; where a claim
is about several curves, which are then in the column `curves`, it is their mean. Claims on heads
have none: heads of two models have no common order, and pruned models no common size.

Made by `python -m bottomup.claims.reference > docs/claims.md`.
"""


def reference() -> str:
    """docs/claims.md: every claim, what decides it, and what would contradict it."""
    parts, claims = [HEADER.strip()], [*evolution.CLAIMS, *heads.CLAIMS]
    for paper, title in PAPERS.items():
        parts += [f"## {title}", *(_entry(claim) for claim in claims if claim.paper == paper)]
    return "\n\n".join(parts) + "\n"


def _entry(claim: Claim) -> str:
    return f"""### `{claim.name}`

{claim.statement} *({claim.section})*

- **Statistic:** {claim.statistic}. Published: {claim.published:.3g}; margin: {claim.margin:.2g}.
- **Contradicted if** {claim.contradicted_if}.
- **Where undecided**, this would decide it: {claim.undecided_until}."""


if __name__ == "__main__":
    print(reference(), end="")
