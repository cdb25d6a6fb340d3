from itertools import product

import numpy as np
import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.figures import agreement
from bottomup.figures.points import NoRowsError

GROUPS, NUMBERS = ("0", "1+", "all"), ("singular", "plural", "both")


def table(objectives=("mlm", "lm", "untrained")):
    rows = []
    parts = product(enumerate(objectives), ("model", "5-grams"), ("verb", "sentence"))
    for (place, objective), by, score in parts:
        for group, number in product(GROUPS, NUMBERS):
            value = 0.9 - 0.1 * place - 0.3 * (group == "1+") if by == "model" else 0.55
            value -= 0.05 * (number != "both") + 0.02 * (score == "verb")
            n = 20 if objective == "mlm" and by == "model" and score == "sentence" else 500
            names = {"objective": objective, "seed": 1, "by": by, "score": score}
            names |= {"attractors": group, "number": number}
            ends = {"accuracy": value, "ci_low": value - 0.1, "ci_high": value + 0.1}
            rows.append(names | ends | {"n": n, "without": [value - 0.01, value + 0.01]})
    return pd.DataFrame(rows)


def test_points_are_the_rows_of_both_numbers():
    _, drawn = agreement.draw({"agreement": table()})
    assert len(drawn) == 2 * 3 * (3 + 1)
    of = drawn.set_index(["panel", "series", "x"])["y"].sort_index()
    assert of["verb", "lm"].to_dict() == pytest.approx({"0": 0.78, "1+": 0.48, "all": 0.78})
    assert of["sentence", "mlm"].to_dict() == pytest.approx({"0": 0.9, "1+": 0.6, "all": 0.9})
    # Those beside every model are one series.
    assert of["verb", "5-grams"].to_dict() == pytest.approx(dict.fromkeys(GROUPS, 0.53))
    assert drawn["y"].sub(drawn["low"]).tolist() == pytest.approx([0.1] * len(drawn))


def test_points_of_models_are_means_over_seeds():
    rows = table()
    by_model = 0.1 * (rows["by"] == "model")
    other = rows.assign(seed=2, accuracy=rows["accuracy"] - by_model)
    _, drawn = agreement.draw({"agreement": pd.concat([rows, other], ignore_index=True)})
    of = drawn.set_index(["panel", "series", "x"])
    assert of.loc[("verb", "lm", "0"), ["y", "runs"]].tolist() == pytest.approx([0.73, 2])
    # 5-grams are no run.
    assert of.loc[("verb", "5-grams", "0"), ["y", "runs"]].tolist() == pytest.approx([0.53, 1])


def test_each_group_says_how_many_verbs(nothing_cut_off):
    figure, _ = agreement.draw({"agreement": table()})
    nothing_cut_off(figure)
    ticks = [[label.get_text() for label in axes.get_xticklabels()] for axes in figure.axes]
    names = ["none", "one or more", "any number"]
    assert ticks == [
        [f"{name}\n500 verbs" for name in names],
        [f"{name}\n20–500 verbs" for name in names],
    ]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == [
        *("LM", "MLM", "untrained", "5-grams of the training text"),
        "95 % interval, documents (one run)",
    ]
    for axes in figure.axes:
        assert any(np.allclose(line.get_ydata(), 0.5) for line in axes.lines), "chance"
        assert axes.get_ylim()[0] < 0.5


def test_what_rests_on_too_few_is_not_there():
    rows = table()
    few = rows["attractors"] == "1+"
    rows.loc[few, ["accuracy", "ci_low", "ci_high"]] = np.nan
    figure, drawn = agreement.draw({"agreement": rows})
    assert set(drawn["x"]) == {"0", "all"}
    assert figure.axes[0].get_xticklabels()[1].get_text() == "one or more\ntoo few verbs"
    figure.draw_without_rendering()
    rows["accuracy"] = np.nan
    with pytest.raises(NoRowsError, match="too few verbs"):
        agreement.draw({"agreement": rows})


def test_a_table_without_values_is_refused():
    with pytest.raises(UserError, match="has no column accuracy"):
        agreement.draw({"agreement": table().drop(columns="accuracy")})
