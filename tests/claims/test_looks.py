"""Looks: what is decided stands, and only what an undecided claim hangs on gets more seeds."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import yaml

from bottomup.claims.inference import Prior, decide
from bottomup.claims.looks import Looks, next_look
from bottomup.claims.verdicts import PValues, corrected
from bottomup.claims.words import IN_VAIN
from bottomup.core.errors import UserError
from tests.claims.made_up import BY_NAME, judged
from tests.claims.test_inference import evidence

PLANNED = [3, 5, 8]


def decided_at(effect, level, planned, n=20_000):
    """Of studies in which a statistic is `effect` deviations of a run, the share that is decided at
    a level, and the runs that they take on average."""
    rng = np.random.default_rng(0)
    runs = effect + rng.standard_normal((planned[-1], n, 1))
    found, used = np.zeros(n, bool), np.full(n, planned[-1])
    for look in planned:
        own = runs[:look]
        known = evidence(own.mean(0), run=own.var(0, ddof=1), n_runs=look)
        how = decide(known, Prior(1.0, 2.0), 0.0)
        p = PValues(how.above, how.below, how.below, *2 * [np.ones_like(how.below)])
        now = (len(planned) * p.side <= level) & ~found
        found, used = found | now, np.where(now, look, used)
    return found.mean(), used.mean()


def test_nothing_is_decided_more_often_where_nothing_is_true():
    assert decided_at(0, 0.05, PLANNED)[0] <= 0.05
    assert decided_at(0, 0.005, PLANNED)[0] <= 0.005


def test_three_deviations_of_a_run_are_found_at_the_level_of_a_family():
    """With three runs less than half of the time, by looks nearly always, with six runs."""
    alone, _ = decided_at(3, 0.005, [3])
    by_looks, runs = decided_at(3, 0.005, PLANNED)
    assert alone < 0.5 and by_looks > 0.95 and runs < 6.5


def test_each_look_has_an_equal_share_of_the_level():
    one = PValues(*(np.array(p) for p in (0.01, 0.99, 0.99, 1.0, 1.0)))  # two-sided 0.02
    assert corrected({"a": one}, looks=2)["a"].word == "reproduced"
    assert corrected({"a": one}, looks=3)["a"].word == "undecided"
    small = replace(one, holds=np.array(0.4), smaller=np.array(0.01))
    assert corrected({"a": small}, looks=2)["a"].word == "smaller than published"
    assert corrected({"a": small}, looks=3)["a"].word == "undecided"


def claims(*rows, until="5 runs, if the values stay"):
    found = pd.DataFrame(rows, columns=["claim", "verdict", "rests_on", "measure"])
    return found.assign(undecided_until=until)


NOW = {"lm": 3, "mt": 3, "mlm": 3, "untrained": 3, "untrained_causal": 3}
INITIAL = {"lm": "untrained_causal", "mt": "untrained", "mlm": "untrained"}


def test_only_what_an_undecided_claim_hangs_on_gets_more_seeds():
    found = claims(
        ("a", "undecided", "lm", "change"),
        ("b", "reproduced", "mt", "change"),
        ("c", "not measured", "", "gates"),
    )
    asked = next_look(found, PLANNED, NOW, INITIAL, pruned=2)
    assert asked.look == 2 and asked.seeds == {"lm": 5, "untrained_causal": 5}
    assert asked.claims == ["a"] and asked.pruned is None


def test_a_later_look_brings_each_to_its_number():
    """MT was decided at the second look, or not asked; both have eight then."""
    found = claims(("a", "undecided", "lm mt", "change"))
    now = NOW | {"lm": 5, "untrained_causal": 5}
    asked = next_look(found, PLANNED, now, {}, pruned=2)
    assert asked.look == 3 and asked.seeds == {"lm": 8, "mt": 8}


def test_what_no_claim_rests_on_may_have_more_seeds():
    """An initial model keeps those that it has more."""
    about = ("b", "absent", "lm untrained", "change")
    found = claims(("a", "undecided", "lm mlm", "change"), about)
    now = NOW | {"mlm_15": 8, "untrained": 8}
    asked = next_look(found, PLANNED, now, INITIAL, pruned=3)
    five = dict.fromkeys(["lm", "mlm", "untrained_causal"], 5)
    assert (asked.look, asked.seeds) == (2, five)
    resting = claims(("a", "undecided", "lm mlm", "change"), ("b", "absent", "mlm_15", "change"))
    assert next_look(resting, PLANNED, now, INITIAL, pruned=3) is None


def test_claims_on_pruned_models_need_pruned_runs():
    found = claims(("a", "undecided", "mt", "pruning"))
    assert next_look(found, PLANNED, NOW, INITIAL, pruned=2).pruned == 5
    assert next_look(found, PLANNED, NOW, INITIAL, pruned=5).pruned is None


@pytest.mark.parametrize(
    ("verdict", "about", "now"),
    [
        ("reproduced", "lm", NOW),
        ("undecided", "lm", dict.fromkeys(NOW, 8)),
        ("undecided", "bert", NOW),
        ("undecided", "lm", NOW | {"lm": 5}),
    ],
)
def test_nothing_is_trained_where_no_more_runs_would_decide(verdict, about, now):
    """A model from elsewhere has no seeds of ours, and an objective may have more than a look."""
    planned = [3, 5] if now["lm"] == 5 else PLANNED
    assert next_look(claims(("a", verdict, about, "change")), planned, now, {}, 2) is None


@pytest.mark.parametrize("why", IN_VAIN)
def test_a_claim_to_which_more_seeds_bring_nothing_asks_for_none(why):
    row = ("a", "undecided", "lm", "stitching")
    assert next_look(claims(row), PLANNED, NOW, INITIAL, pruned=2)
    assert next_look(claims(row, until=why), PLANNED, NOW, INITIAL, pruned=2) is None


@pytest.mark.parametrize("rows", [[], [("a", "not measured", "", "change")]], ids=str)
def test_where_no_claim_is_judged_it_is_said(rows):
    with pytest.raises(UserError, match=r"^no claim of this study is judged, so none asks for "):
        next_look(claims(*rows), PLANNED, NOW, INITIAL, pruned=2)


def test_the_program_writes_the_config_and_tells_what_it_costs(tmp_path, run_script):
    claims(
        ("a", "undecided", "lm", "change"),
        ("b", "undecided", "mt untrained", "pruning"),
        ("c", "reproduced", "mlm", "change"),
    ).to_csv(tmp_path / "claims.csv", index=False)
    tokens = {"lm": 1000, "mt": 2000, "mlm": 3000, "untrained": 0, "untrained_causal": 0}
    settings = {"planned": PLANNED, "seeds": NOW, "initial": INITIAL, "halves": 0}
    settings |= {"tokens": tokens, "told": {"lm": "about 1,000", "mlm": "3,000"}}
    look = tmp_path / "next_look.yaml"

    def written(**changes):
        files = ["--claims", tmp_path / "claims.csv", "--look", look]
        run_script("plan_next_look", settings | {"pruned": 2} | changes, *files)
        return look.read_text()

    text = written()
    five = {"n_seeds": 5}
    names = ["lm", "mt", "untrained", "untrained_causal"]
    assert yaml.safe_load(text) == {"objectives": dict.fromkeys(names, five), "pruning": five}
    # Two more of 1000 and two more of 2000, of three each of 1000, 2000 and 3000.
    assert "# It trains about 33% of the tokens trained so far, and prunes 5 runs" in text
    assert "# lm: from 3 to 5 seeds, of about 1,000 tokens each\n" in text and "mlm" not in text
    assert "# mt: from 3 to 5 seeds\n" in text
    assert f"--configfile: {look}" in text
    assert yaml.safe_load(written(planned=[3])) == {}
    # What an earlier look brought stays where the next one asks for something else, or for nothing.
    second = {"seeds": NOW | {"mlm": 5, "untrained": 5}, "pruned": 5}
    eight = {"n_seeds": 8}
    third = dict.fromkeys(names, eight) | {"mlm": five}
    assert yaml.safe_load(written(**second)) == {"objectives": third, "pruning": eight}
    kept = {"objectives": {"mlm": five, "untrained": five}, "pruning": five}
    assert yaml.safe_load(written(planned=[3, 5], **second)) == kept
    # Models of halves count where they were trained, and no look has more of them.
    assert "# It trains about 25% of the" in written(halves=6000)
    # Of a study that trains nothing.
    assert "# It trains about 0% of the" in written(tokens=dict.fromkeys(tokens, 0))


def test_tables_of_a_look_have_its_seeds():
    looks = Looks(seeds=[7, 8, 9, 1, 2, 3], planned=[2, 3, 6])
    taken = looks.reached({7, 8, 9, 1})
    assert taken == [2, 3] and looks.reached({7}) == [2]
    assert looks.reached({7, 8, 9, 1, 2, 3}) == [2, 3, 6]


def test_a_claim_hangs_on_what_its_condition_is_about(as_published):
    """Whether token dropout takes a head away asks for MT's own, too."""
    names = ["token_dropout_removes_rare_token_head", "rare_token_head", "lm_forgets_most"]
    found = judged(as_published, [BY_NAME[name] for name in names])
    assert found["rests_on"].tolist() == ["mt mt_noise", "mt", "lm mlm mt"]
