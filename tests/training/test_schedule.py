import pytest

from bottomup.training.schedule import share_of_peak

SCHEDULES = ["inverse_sqrt", "linear"]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_it_rises_in_a_line_to_the_end_of_the_warm_up(schedule):
    rates = [share_of_peak(schedule, step, 4, 0.0) for step in range(1, 5)]
    assert rates == [0.25, 0.5, 0.75, 1.0]


def test_the_papers_schedule_falls_with_the_root_of_the_step():
    """At 4, 9 and 100 times the warm-up: a half, a third and a tenth, whatever is spent."""
    rates = [share_of_peak("inverse_sqrt", step, 500, 0.9) for step in (2000, 4500, 50_000)]
    assert rates == pytest.approx([1 / 2, 1 / 3, 1 / 10])


def test_a_linear_schedule_falls_with_what_is_left_of_the_budget():
    rates = [share_of_peak("linear", 1000, 500, spent) for spent in (0.25, 0.5, 1.0)]
    assert rates == [0.75, 0.5, 0.0]


@pytest.mark.parametrize(("updates", "peak", "at"), [(150, 0.6, 60), (1500, 0.9375, 94)])
def test_a_linear_fall_begins_with_the_first_step(updates, peak, at):
    """Beneath a rise of 100 steps: n / (n + 100) of the rate, where the two lines meet."""
    steps = range(1, updates + 1)
    rates = [share_of_peak("linear", step, 100, (step - 1) / updates) for step in steps]
    assert max(rates) == pytest.approx(peak, abs=0.001)
    assert abs(rates.index(max(rates)) + 1 - at) <= 1


def test_a_budget_spent_during_the_warm_up_is_not_overrun():
    assert share_of_peak("linear", 250, 500, 0.9) == pytest.approx(0.1)
