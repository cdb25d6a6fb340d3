from itertools import pairwise

import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.figures import over_training, style

ESTIMATE = {"n_clusters": 1000, "n_tokens": 400}
OPTIONS = {"estimate": ESTIMATE, "variant": "svcca-2019"}
OBJECTIVES = ("lm_step0", "lm_step4", "lm_step16", "mlm_step8", "lm", "mlm", "untrained")


@pytest.fixture
def tables(study, runs):
    """A function: those of a study with these objectives, and how its runs were trained."""

    def tables(objectives=OBJECTIVES, seeds=(1, 2), **shape):
        whole = [name for name in objectives if name in ("lm", "mlm")]
        return study(objectives=objectives, seeds=seeds, **shape) | runs(whole, seeds)

    return tables


def of(points, panel, quantity):
    return points[(points["panel"] == panel) & (points["quantity"] == quantity)]


def test_information_at_steps_and_at_the_end(tables):
    made = tables()
    # The first of two equal losses is the one whose weights are kept.
    for seed, losses in ((1, [5.0, 3.0, 3.0]), (2, [5.0, 4.0, 3.0])):
        made[f"lm-{seed}"] = made[f"lm-{seed}"].head(3).assign(dev_loss_nats=losses)
        made[f"lm-{seed}"]["step"] = [20, 40, 60]
    _, points = over_training.draw(made, **OPTIONS)
    shown = of(points, "lm", style.INFORMATION)
    assert set(shown["x"]) == {0, 4, 16, 50}, "the end is at 40 and at 60, 50 on average"
    rows = made["mutual_information"].query(
        "label == 'input' and reading == 'plain' and estimator == 'clusters'"
    )
    bottom, rows = rows[rows["layer"] == 0], rows[rows["layer"] == 2]
    by_step = shown[shown["series"] == 2].set_index("x")
    for step, name in ((0, "lm_step0"), (4, "lm_step4"), (16, "lm_step16"), (50, "lm")):
        of_runs = rows[rows["objective"] == name]
        assert len(of_runs) == 2
        first = bottom[bottom["objective"] == name]["mi_nats"].mean()
        assert by_step["y"][step] == pytest.approx(of_runs["mi_nats"].mean() - first)
        assert by_step["runs"][step] == 2 and by_step["low"][step] < by_step["y"][step]
    assert shown.loc[shown["series"] == 0, ["y", "low"]].fillna(0).eq(0).all(axis=None)


def test_an_end_that_is_on_average_at_a_step_is_not_averaged_with_it(tables):
    made = tables()
    for seed, end in ((1, 12), (2, 20)):
        made[f"lm-{seed}"] = made[f"lm-{seed}"].head(1).assign(step=end, dev_loss_nats=3.0)
    _, points = over_training.draw(made, **OPTIONS)
    shown = of(points, "lm", style.INFORMATION).query("series == 2 and x == 16")
    table = made["mutual_information"].query(
        "label == 'input' and reading == 'plain' and estimator == 'clusters'"
    )
    values = table.pivot_table(index="objective", columns="layer", values="mi_nats")
    expected = (values[2] - values[0])[["lm_step16", "lm"]]
    assert sorted(shown["y"]) == pytest.approx(sorted(expected))


def test_a_schedule_ends_in_its_last_phase(tables):
    """Whatever it lost before; one too short for an evaluation ends where it ends."""
    made = tables(seeds=(1,))
    losses = pd.DataFrame({"step": [20, 40, 60], "dev_loss_nats": [2.0, 4.0, 3.0]})
    ends = {20: losses, 60: losses.assign(early=True), 40: losses.assign(early=[True, False, True])}
    for end, made["lm-1"] in ends.items():
        _, points = over_training.draw(made, **OPTIONS)
        assert max(of(points, "lm", style.INFORMATION)["x"]) == end


def test_distances_are_to_the_same_run_at_its_end(tables):
    made = tables()
    _, points = over_training.draw(made, **OPTIONS)
    rows = made["pwcca_between_runs"].query(
        "objective_a == 'lm_step4' and objective_b == 'lm' and seed_a == seed_b "
        "and variant == 'svcca-2019' and weights == 'x'"
    )
    expected = rows.groupby("layer")["distance"].mean()
    shown = of(points, "lm", over_training.TO_THE_END)
    assert set(shown["x"]) == {0, 4, 16}
    drawn = shown[shown["x"] == 4].set_index("series")["y"]
    assert drawn.to_dict() == pytest.approx(expected.to_dict())
    assert set(of(points, "mlm", over_training.TO_THE_END)["x"]) == {8}


@pytest.mark.long
@pytest.mark.parametrize("layers", [1, 6, 24])
@pytest.mark.parametrize("seeds", [(1,), (1, 2)])
def test_a_line_for_each_layer_and_a_column_for_each_objective(tables, layers, seeds):
    figure, points = over_training.draw(tables(layers=layers, seeds=seeds), **OPTIONS)
    figure.draw_without_rendering()
    titles = [axes.get_title("left") for axes in figure.axes]
    assert titles == [style.objective("lm").label, style.objective("mlm").label, "", ""]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert set(labels) >= set(map(str, range(layers + 1)))
    # Steps in order, all in sight, the initial model apart from the first step.
    places = figure.axes[2].transData.transform([(step, 0) for step in (0, 4, 16)])[:, 0]
    assert places[0] + 10 < places[1] < places[2] - 10
    low, high = figure.axes[2].get_xlim()
    assert low <= 0 and points.loc[points["panel"] == "lm", "x"].max() <= high
    ticks = [text.get_text() for text in figure.axes[2].get_xticklabels()]
    assert {"0", "4", "16"} < set(ticks)


def test_a_long_run_has_its_last_step_among_the_ticks(tables):
    steps = [1, 3, 10, 30, 100, 300, 1000, 3000, 10000, 30000, 100000, 300000]
    objectives = (*(f"lm_step{step}" for step in steps), "lm")
    made = tables(objectives, seeds=(1,))
    made["lm-1"] = made["lm-1"].assign(step=400_000 - made["lm-1"].index[::-1])
    figure, _ = over_training.draw(made, **OPTIONS)
    figure.draw_without_rendering()
    ticks = [text.get_text() for text in figure.axes[1].get_xticklabels()]
    end = made["lm-1"].loc[made["lm-1"]["dev_loss_nats"].idxmin(), "step"]
    assert f"{end:,}" in ticks and 6 <= len(ticks) <= 9
    labels = [text.get_window_extent() for text in figure.axes[1].get_xticklabels()]
    labels.sort(key=lambda box: box.x0)
    assert all(left.x1 < right.x0 for left, right in pairwise(labels))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda made: made.pop("pwcca_between_runs"), "table 'pwcca_between_runs' is missing"),
        (lambda made: made.pop("mutual_information"), "table 'mutual_information' is missing"),
        (lambda made: [made.pop(f"lm-{seed}") for seed in (1, 2)], "no metrics of lm, which say"),
    ],
)
def test_what_is_missing(tables, change, said):
    made = tables()
    change(made)
    with pytest.raises(UserError, match=said):
        over_training.draw(made, **OPTIONS)


def test_no_run_at_a_step(tables):
    with pytest.raises(UserError, match=r"no run at a step beside its end; .* training_steps"):
        over_training.draw(tables(("lm", "mlm")), **OPTIONS)
