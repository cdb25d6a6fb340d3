"""Which models could still come to what they lack, by their quality and their learning curves."""

import pandas as pd
import pytest

from bottomup.claims.readiness import late_fall, not_ready


def curve(*losses):
    """The dev loss after each million tokens."""
    tokens = [n * 1_000_000 for n in range(1, len(losses) + 1)]
    return pd.DataFrame({"tokens": tokens, "dev_loss_nats": losses})


def quality(**values):
    rows = [(name, *value) for name, value in values.items()]
    return pd.DataFrame(rows, columns=["objective", "metric", "value"])


def test_the_late_fall_is_that_of_the_second_half_of_the_tokens():
    # Half of four million tokens are two.
    assert late_fall(curve(9.0, 5.0, 4.5, 4.25)) == 0.75
    assert late_fall(curve(4.0, None, 4.0, 4.0)) == 0.0


def test_of_a_schedule_only_its_last_phase_can_show_that_it_still_learns():
    """Of ten million tokens four are the first phase's, which does not train what dev asks."""

    def scheduled(*last):
        return curve(9.0, 9.0, 9.0, 9.0, *last).assign(early=[True] * 4 + [False] * 6)

    # The last phase is half over after seven.
    assert late_fall(scheduled(9.0, 4.0, 3.0, 3.0, 3.0, 3.0)) == 0.0
    assert late_fall(scheduled(9.0, 4.0, 3.5, 3.25, 3.0, 3.0)) == 0.5
    ended = {"lm_then_mlm-1": scheduled(9.0, 4.0, 3.0, 3.0, 3.0, 3.0)[:4]}
    assert not_ready(ended, quality()) == {
        "lm_then_mlm": "dev loss is not known at half of the tokens of its last phase"
    }


def test_few_evaluations_do_not_hide_a_fall():
    rare = pd.DataFrame({"tokens": [40.0, 90.0, 100.0], "dev_loss_nats": [5.0, 4.0, 3.9]})
    # A fifth of the way from 40 to 90.
    assert late_fall(rare) == pytest.approx(4.8 - 3.9)
    assert not_ready({"lm-1": rare[1:]}, quality()) == {
        "lm": "dev loss is not known at half of its tokens"
    }


def test_weak_models_and_those_that_still_learn_are_named_with_the_reason():
    curves = {
        "mt-1": curve(9.0, 5.0, 4.6, 4.2),
        "mt-2": curve(9.0, 5.0, 4.8, 4.6),
        "lm-1": curve(9.0, 5.0, 5.0, 4.96),
    }
    measured = quality(mt=("bleu", 3.2), lm=("accuracy", 0.3), mlm=("masked_accuracy", 0.05))
    assert not_ready(curves, measured) == {
        "mt": "bleu 3.2, below 10, dev loss fell by 0.60 nats over the second half of its tokens",
        "mlm": "masked_accuracy 0.05, below 0.1",
    }
    assert not_ready({}, quality(mt=("bleu", 10.0))) == {}
