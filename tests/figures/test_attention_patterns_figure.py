import numpy as np
import pytest

from bottomup.figures import attention_patterns

ON_TEXT = ["special", "punctuation", "previous", "itself", "next"]
REPEATED = ["duplicate", "next_of_earlier", "previous_of_earlier"]
PANELS = [f"{by}: {name}" for by in ("weight", "norm") for name in ON_TEXT]
PANELS += [f"weight: {name}" for name in ("entropy_nats", "position", *REPEATED)]


@pytest.mark.parametrize("panel", PANELS)
def test_points_are_means_over_heads_and_runs(study, points_of, panel):
    tables, points = study(), points_of(attention_patterns.draw)
    by, quantity = panel.split(": ")
    rows = tables["attention_patterns"]
    rows = rows[(rows["by"] == by) & (rows["quantity"] == quantity)]
    drawn = points[points["panel"] == panel].set_index(["series", "x"])
    value = rows["value"] - rows["baseline"].fillna(0)
    expected = value.groupby([rows["objective"], rows["layer"]]).mean()
    assert drawn["y"].to_dict() == pytest.approx(expected.to_dict())
    assert (drawn["runs"] == 2).all() and (drawn["n"] == 901).all()
    assert ((drawn["low"] < drawn["y"]) & (drawn["y"] < drawn["high"])).all()
    units = {"entropy_nats": "nats"} | dict.fromkeys(REPEATED, "difference of shares")
    assert {*drawn["quantity"]} == {units.get(quantity, "share")}
    assert ("lm" in drawn.index) == (quantity not in ("special", "next"))


def test_the_interval_of_one_run_is_that_of_its_mean_over_heads(study):
    """Of two heads whose values without blocks are as far apart, relative to the value."""
    _, points = attention_patterns.draw(study(seeds=(1,)))
    row = points.query("panel == 'weight: punctuation' and series == 'mt' and x == 3").iloc[0]
    half = 2.570582 * np.sqrt(5 / 6 * 2 * (1 + 4 + 9)) * 0.01  # five degrees of freedom at most
    assert (row["high"] - row["low"]) / 2 / row["y"] == pytest.approx(half, rel=0.05)


def test_panels_stand_in_three_rows_and_shares_have_one_axis(study, nothing_cut_off):
    figure, points = attention_patterns.draw(study())
    nothing_cut_off(figure)
    assert [*points["panel"].unique()] == PANELS and len(figure.axes) == len(PANELS)
    limits = [axes.get_ylim() for axes in figure.axes]
    assert limits[:5] == limits[5:10] and len({*limits[12:]}) == 1
    assert all(low == 0 for low, _ in limits[:12])
    labels = [figure.axes[place].get_ylabel() for place in (0, 5, 10, 11, 12)]
    assert labels[:4] == ["share by weight", "share by norm", "nats", "share by weight"]
    assert labels[4] == "share, less that where\nnothing repeats"


def test_dotted_lines_are_where_attention_is_spread_evenly(study):
    """Models that see both sides have one, those that do not another one."""
    figure, _ = attention_patterns.draw(study())
    dotted = [
        [line.get_ydata()[0] for line in axes.get_lines() if line.get_linestyle() == ":"]
        for axes in figure.axes
    ]
    assert [sorted(values) for values in dotted[:5]] == [
        pytest.approx(values)
        for values in ([0.04], [0.04, 0.12], [0.04, 0.12], [0.04, 0.12], [0.04])
    ]
    assert sorted(dotted[10]) == [2.5, 3.5] and dotted[12:] == [[0]] * 3
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[-1] == "attention spread evenly" and labels[:4] == [
        "MT",
        "LM",
        "MLM",
        "untrained",
    ]


def test_what_no_model_has_says_so(study):
    """By norm where no family allows it; repeated tokens where the text has too few types."""
    tables = study()
    rows = tables["attention_patterns"]
    kept = (rows["by"] == "weight") & ~rows["quantity"].isin(REPEATED)
    tables["attention_patterns"] = rows[kept]
    figure, points = attention_patterns.draw(tables)
    assert {*points["panel"]} == {*PANELS[:5], *PANELS[10:12]}
    assert all("not measured" in figure.axes[place].texts[0].get_text() for place in (5, 9, 14))
    figure.draw_without_rendering()
