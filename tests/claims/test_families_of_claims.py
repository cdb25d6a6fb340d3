"""Families of claims none of which is true: the page promises that hardly any is decided."""

import numpy as np
import pytest

from bottomup.claims.inference import Evidence, decide, pooled_prior
from bottomup.claims.verdicts import PValues, corrected
from bottomup.claims.words import UNDECIDED
from tests.claims.null_studies import factors

pytestmark = pytest.mark.long

N_CLAIMS, N_FAMILIES = 32, 250
BLOCKS = 20


def family(n_runs, kind, text, rng):
    """The verdicts on claims whose statistics are truly 0, judged together like a paper's."""
    runs = rng.standard_normal((n_runs, N_CLAIMS)) * np.sqrt(factors(kind, N_CLAIMS, rng))
    values = runs.mean(0) + np.sqrt(text) * rng.standard_normal(N_CLAIMS)
    of_text = text * rng.chisquare(BLOCKS - 1, N_CLAIMS) / (BLOCKS - 1)
    parts = (values, of_text, np.zeros(N_CLAIMS), runs.var(0, ddof=1))
    # Each claim has one part.
    found = Evidence(*(part[:, None] for part in parts), n_runs, BLOCKS - 1)
    decision = decide(found, pooled_prior([Evidence(*parts, n_runs, BLOCKS - 1)]), margin=0.0)
    sides = enumerate(zip(decision.above, decision.below, strict=True))
    found = corrected({str(n): PValues(up, down, down, 1.0, 1.0) for n, (up, down) in sides})
    return [sure.word for sure in found.values()]


@pytest.mark.parametrize("n_runs", [2, 3, 5, 10])
@pytest.mark.parametrize("kind", ["alike", "as the prior has it", "a tenth at thirty times"])
@pytest.mark.parametrize("text", [0.1, 0.5])
def test_of_a_paper_none_of_whose_claims_is_true_hardly_any_is_decided(n_runs, kind, text):
    rng = np.random.default_rng(0)
    wrong = [set(family(n_runs, kind, text, rng)) != {UNDECIDED} for _ in range(N_FAMILIES)]
    # 5 %, and two standard errors of a share of so many families.
    assert np.mean(wrong) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / N_FAMILIES)
