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


def test_a_budget_spent_during_the_warm_up_is_not_overrun():
    assert share_of_peak("linear", 250, 500, 0.9) == pytest.approx(0.1)
