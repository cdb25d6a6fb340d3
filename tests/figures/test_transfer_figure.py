import itertools

import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.figures import transfer
from tests.figures.conftest import with_intervals

TOP = 3


def table(seeds=(1, 2), tasks=("tag", "origin")):
    """Frozen layers tell a half and more; fine-tuned the top one tells all but a tenth."""
    rows = []
    for objective, seed, task in itertools.product(("lm", "untrained"), seeds, tasks):
        run = {"objective": objective, "seed": seed, "task": task, "n_labels": 5}
        better = 0.1 * (objective == "lm") + 0.01 * seed
        accuracy = {**run, "metric": "accuracy", "baseline": 0.25, "n": 1200}
        moved = {**run, "metric": "cka_debiased", "weights": "fine_tuned", "null": 0.02, "n": 3000}
        tuned = {"weights": "fine_tuned", "layer": TOP, "value": 0.8 + better}
        rows.append(accuracy | tuned)
        for layer in range(TOP + 1):
            frozen = {"weights": "frozen", "layer": layer, "value": 0.5 + 0.02 * layer + better}
            rows += [
                accuracy | frozen,
                moved | {"layer": layer, "value": 0.9 - 0.2 * layer + better},
            ]
    return with_intervals(pd.DataFrame(rows), "value")


def test_points_are_the_means_of_runs(nothing_cut_off, of_two_runs):
    measured = table()
    figure, drawn = transfer.draw({"transfer": measured.sample(frac=1, random_state=1)})
    nothing_cut_off(figure)
    kinds = ("frozen accuracy", "fine_tuned accuracy", "fine_tuned cka_debiased")
    assert {*drawn["panel"]} == {f"{t}: {kind}" for t in ("tag", "origin") for kind in kinds}
    for (panel, objective), part in drawn.groupby(["panel", "series"]):
        task, _, kind = panel.partition(": ")
        weights, metric = kind.split()
        rows = measured[(measured[["objective", "task"]] == [objective, task]).all(axis=1)]
        rows = rows[(rows["weights"] == weights) & (rows["metric"] == metric)]
        by_layer = rows.groupby("layer")["value"]
        assert part["x"].tolist() == [*by_layer.groups] and (part["runs"] == 2).all()
        assert part["y"].tolist() == pytest.approx([*by_layer.mean()])
        low = -1 if metric == "cka_debiased" else 0
        for (_, runs), (_, point) in zip(by_layer, part.iterrows(), strict=True):
            assert (point["low"], point["high"]) == of_two_runs(runs, low=low)


def test_what_is_fine_tuned_is_a_line_across_and_a_mark_aside():
    figure, drawn = transfer.draw({"transfer": table()})
    above = figure.axes[0]
    tuned = drawn[drawn["panel"] == "tag: fine_tuned accuracy"]
    across = [line.get_ydata()[0] for line in above.lines if [*line.get_xdata()] == [0, 1]]
    assert across == tuned["y"].tolist()
    marks = [[*line.get_xdata()] for line in above.lines if len(line.get_xdata()) == 1]
    assert marks == [[TOP + transfer.ASIDE]] * 2, "not joined with the frozen layers"
    assert [text.get_text() for text in above.get_xticklabels()][-1] == "fine-\ntuned"
    titles = [axes.get_title("left").split("\n") for axes in figure.axes]
    assert titles[0] == ["part of speech", "1,200 examples, 5 labels; nothing seen: 0.25"]
    assert titles[2] == ["moved by fine-tuning", "3,000 words of other sentences; chance: 0.02"]
    assert [text.get_text() for text in figure.legends[0].get_texts()][-1] == "fine-tuned"


def test_a_task_alone_and_without_what_moved():
    rows = table(seeds=(1,), tasks=("relation",)).query("metric == 'accuracy'")
    figure, drawn = transfer.draw({"transfer": rows})
    assert len(figure.axes) == 2 and (drawn["runs"] == 1).all()
    figure.draw_without_rendering()


def test_without_values_one_line():
    with pytest.raises(UserError, match=r"no values; raise measures\.transfer\."):
        transfer.draw({"transfer": table().assign(value=float("nan"))})


def test_a_text_of_one_source_says_why_there_is_no_figure():
    """The table of a run without tasks has no columns but those that name the run."""
    with pytest.raises(UserError, match="has this text two labels, as of `origin`"):
        transfer.draw({"transfer": pd.DataFrame(columns=["objective", "seed"])})
    few = table().head(0)  # without values that rest on too few cases
    with pytest.raises(UserError, match="has no rows"):
        transfer.draw({"transfer": few})
