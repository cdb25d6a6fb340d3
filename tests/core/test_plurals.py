"""One thing is not several, wherever a number stands beside its noun."""

import pandas as pd
import pytest

from bottomup.core.plurals import plural
from bottomup.figures import style
from bottomup.pages import TEMPLATES
from bottomup.plan.failures import stopped


@pytest.mark.parametrize(("n", "noun"), [(0, "jobs"), (1, "job"), (1.0, "job"), (2, "jobs")])
def test_the_noun_beside_a_number(n, noun):
    assert plural("job", n) == noun
    assert TEMPLATES.from_string('{{ plural("job", n) }}').render(n=n) == noun


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1, 1], "1 word"),
        ([1, 3], "1–3 words"),
        ([1200, None], "1,200 words"),
        ([None], "too few words"),
    ],
)
def test_what_figures_count(values, said):
    assert style.count(pd.Series(values, dtype=float), "word") == said
    assert style.count(pd.Series(values, dtype=float)) == said.rpartition(" ")[0]
    rows = pd.DataFrame({"n": values, "n_labels": 1.0})
    assert style.counts(rows.astype(float), n="word", n_labels="label") == f"{said}, 1 label"


def test_one_job_that_is_done():
    assert "(1 job since the start)" in stopped(1)
    assert "(2 jobs since the start)" in stopped(2)
