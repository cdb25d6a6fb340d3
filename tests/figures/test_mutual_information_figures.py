import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from bottomup.core.errors import UserError
from bottomup.figures import (
    first_look,
    mutual_information_estimators,
    mutual_information_input,
    mutual_information_input_output,
    over_training,
)
from bottomup.published import load_published

BY = ["series", "x"]
ESTIMATE = {"n_clusters": 1000, "n_tokens": 400}
# Of blocks that move a value by 1, 2 and 3, either way: 3 * (sum d^2)^2 / sum d^4 - 2, at most 5.
DF_OF_BLOCKS = min(3 * 28**2 / (2 * (1 + 16 + 81)) - 2, 5)


def same(drawn, expected):
    """Equal values at equal series and layers."""
    return drawn.to_dict() == expected.to_dict()


def quantity(points, panel, name, source="ours"):
    """One value a series and layer, from the points of one panel."""
    of = (points["panel"] == panel) & (points["quantity"] == name) & (points["source"] == source)
    rows = points[of].assign(x=points["x"].astype(float))
    return rows.set_index(BY).sort_index()


def measured(table, **select):
    """The rows of the table with these values, indexed as the points are."""
    for column, value in select.items():
        table = table[table[column] == value]
    rows = table.rename(columns={"objective": "series", "layer": "x"})
    return rows.assign(x=rows["x"].astype(float)).groupby(BY)


@pytest.mark.parametrize("estimator", ["clusters", "classifier"])
def test_points_are_the_table(study, estimator):
    tables = study()
    _, points = mutual_information_input.draw(tables, ESTIMATE)
    groups = measured(
        tables["mutual_information"],
        **{"estimator": estimator, "label": "input", "reading": "plain", "positions": "all"},
    )
    drawn = quantity(points, f"input: {estimator}", "mutual information")
    assert same(drawn["y"], groups["mi_nats"].mean())
    assert drawn[["low", "high"]].isna().all(axis=None), "they would cross the entropy"
    entropy = points[(points["panel"] == f"input: {estimator}") & (points["quantity"] == "entropy")]
    assert entropy["y"].tolist() == tables["mutual_information"]["entropy_nats"].unique().tolist()


def test_the_first_look_says_that_it_is_one(study):
    tables = study()
    figure, points = first_look.draw(tables, ESTIMATE)
    whole, same_points = mutual_information_input.draw(tables, ESTIMATE)
    pd.testing.assert_frame_equal(points, same_points)
    said, before = ({text.get_text() for text in each.texts} for each in (figure, whole))
    (note,) = said - before
    assert "first seed alone" in note.replace("\n", " ")


def test_the_entropy_is_the_one_that_no_model_can_exceed(study):
    """Models that lose other words see other ones."""
    tables = study()
    table = tables["mutual_information"]
    less = 0.5 * (table["objective"] == "mt")
    changed = table.assign(entropy_nats=table["entropy_nats"] - less)
    _, points = mutual_information_input.draw({"mutual_information": changed}, ESTIMATE)
    levels = points[points["quantity"] == "entropy"]["y"].unique().tolist()
    assert levels == [table["entropy_nats"].max()]


def test_the_chance_level_is_shown_for_clusters_alone(study):
    tables = study()
    _, points = mutual_information_input.draw(tables, ESTIMATE)
    groups = measured(
        tables["mutual_information"], estimator="clusters", label="input", reading="plain"
    )
    drawn = quantity(points, "input: clusters", "shuffled labels")
    assert same(drawn["y"], groups["shuffled_mi_nats"].mean())
    assert set(points.loc[points["quantity"] == "shuffled labels", "panel"]) == {"input: clusters"}


def change_in(curves, name):
    """The published curve called `name`, less its first point."""
    values = curves.loc[curves["series"] == name, "y"].reset_index(drop=True)
    return values - values[0]


def test_published_curves_are_the_data_less_layer_0(study):
    published = load_published("ib_mi_tasks")
    _, points = mutual_information_input.draw(study() | {"ib_mi_tasks": published}, ESTIMATE)
    drawn = quantity(points, "input: change", "change of mutual information", "published")
    for name in ("mt", "lm", "mlm"):
        expected = change_in(published, name.upper())
        assert drawn.loc[name, "y"].tolist() == expected.tolist()


@pytest.mark.parametrize(("objective", "reading"), [("lm", "plain"), ("mlm", "as_trained")])
def test_input_and_output_of_one_objective(study, objective, reading):
    published = load_published("ib_src_dst_lm_mlm")
    tables = study() | {"ib_src_dst_lm_mlm": published}
    shown = {"objective": objective, "reading": reading, "estimate": ESTIMATE}
    _, points = mutual_information_input_output.draw(tables, **shown)
    positions = {"input": "replaced", "output": "changed"} if reading == "as_trained" else {}
    for token, series in (("input", "src"), ("output", "dst")):
        groups = measured(
            tables["mutual_information"],
            objective=objective,
            label=token,
            reading=reading,
            positions=positions.get(token, "all"),
            estimator="clusters",
        )
        drawn = quantity(points, f"{token}: clusters", "mutual information")
        assert same(drawn["y"], groups["mi_nats"].mean())
        behind = quantity(points, f"{token}: change", "change of mutual information", "published")
        expected = change_in(published[published["panel"] == objective.upper()], series)
        assert behind["y"].tolist() == expected.tolist()


def test_order_of_rows_in_the_table_does_not_matter(study):
    tables = study()
    shuffled = {name: table.sample(frac=1, random_state=1) for name, table in tables.items()}
    _, points = mutual_information_input.draw(shuffled, ESTIMATE)
    for _, line in points.dropna(subset="x").groupby(["panel", "series", "quantity"]):
        assert line["x"].is_monotonic_increasing


def test_a_missing_objective_takes_its_published_curve_along(study):
    tables = study(objectives=("lm", "untrained")) | {"ib_mi_tasks": load_published("ib_mi_tasks")}
    _, points = mutual_information_input.draw(tables, ESTIMATE)
    assert set(points["series"].dropna()) == {"lm", "untrained"}
    assert set(points.loc[points["source"] == "published", "series"]) == {"lm"}


def test_one_seed_and_three_layers(study):
    tables = study(layers=3, seeds=(7,)) | {"ib_mi_tasks": load_published("ib_mi_tasks")}
    figure, points = mutual_information_input.draw(tables, ESTIMATE)
    ours = points[points["source"] == "ours"]
    assert ours["x"].max() == 3
    banded = ours[ours["low"].notna()]
    assert set(banded["quantity"]) == {"change of mutual information"}
    assert set(banded["x"]) == {1, 2, 3}, "layer 0 differs by nothing from itself"
    assert points.loc[points["source"] == "published", "x"].max() == 6
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"95 % interval, documents (one run)", "Voita et al. 2019"} < set(labels)


def test_one_estimator(study):
    tables = study()
    table = tables["mutual_information"]
    only = {"mutual_information": table[table["estimator"] == "classifier"]}
    figure, points = mutual_information_input.draw(only, ESTIMATE)
    assert len(figure.axes) == 2
    assert set(points["panel"]) == {"input: classifier", "input: classifier change"}


def test_an_objective_that_was_not_measured(study):
    with pytest.raises(UserError, match=r"objective mlm.*found .* lm, mt"):
        mutual_information_input_output.draw(
            study(objectives=("lm", "mt")), "mlm", "as_trained", ESTIMATE
        )


def test_an_mlm_that_reads_no_other_token_has_no_such_input(study):
    table = study()["mutual_information"]
    masks = {"mutual_information": table[table["positions"] != "replaced"]}
    shown = {"objective": "mlm", "reading": "as_trained", "estimate": ESTIMATE}
    _, points = mutual_information_input_output.draw(masks, **shown)
    assert {panel.partition(":")[0] for panel in points["panel"]} == {"output"}


@pytest.mark.parametrize(
    ("estimator", "panel"), [("clusters", "change"), ("classifier", "classifier change")]
)
def test_intervals_are_of_the_change_in_pairs(study, estimator, panel):
    """Information without a block is up to 0.03 other at layer 0, and up to 0.004 for each layer
    more above it: only that is uncertain."""
    tables = study(seeds=(1, 2, 3))
    table = tables["mutual_information"]
    # Runs fall by 0, 0.01 and 0.02 more.
    fall = 0.01 * (table["seed"] - 1) * (table["layer"] == 2)
    table[["mi_nats", "without"]] = table[["mi_nats", "without"]].sub(fall, axis="index")
    table["clustering_error_nats"] = 0.02 if estimator == "clusters" else 0.0
    _, points = mutual_information_input.draw(tables, ESTIMATE)
    drawn = quantity(points, f"input: {panel}", "change of mutual information").loc["lm", 2]
    # Six of seven blocks move it, by 0.008, 0.016 and 0.024, either way.
    of_text = 5 / 6 * 0.008**2 * 2 * (1 + 4 + 9)
    # Clusters of both layers have first centers of their own; else runs vary by 0.01.
    of_runs = max(0.01**2, 2 * 0.02**2 if estimator == "clusters" else 0) / 3
    variance = of_text + of_runs
    df = min(variance**2 / (of_text**2 / DF_OF_BLOCKS + of_runs**2 / 2), 8)
    half_width = student.ppf(0.975, df) * np.sqrt(variance)
    assert drawn["runs"] == 3
    assert (drawn["high"] - drawn["low"]) / 2 == pytest.approx(half_width, rel=1e-6)


def with_more_clusters(tables):
    """The tables, with an estimate by four times the clusters that is a little higher."""
    table = tables["mutual_information"]
    more = table[table["estimator"] == "clusters"].assign(n_clusters=4000)
    more["mi_nats"] += 0.07
    return tables | {"mutual_information": pd.concat([table, more], ignore_index=True)}


def with_scikit_learn(tables):
    """The tables, with an estimate by scikit-learn that is a little lower."""
    table = tables["mutual_information"]
    other = table[table["n_clusters"] == 1000].assign(estimator="scikit-learn")
    other["mi_nats"] -= 0.04
    return tables | {"mutual_information": pd.concat([table, other], ignore_index=True)}


def test_scikit_learn_s_clusters_are_drawn_beside_ours_and_nowhere_else(study, nothing_cut_off):
    tables = with_scikit_learn(study(objectives=("mlm", "mt")))
    figure, points = mutual_information_estimators.draw(tables, n_tokens=400)
    levels = points[points["quantity"] == "mutual information"].set_index(["series", "panel"])["y"]
    ours, theirs = (levels[f"1,000 clusters{by}"]["mlm"] for by in ("", " by scikit-learn"))
    assert theirs.to_numpy() == pytest.approx(ours.to_numpy() - 0.04)
    nothing_cut_off(figure)
    draw = mutual_information_input.draw
    shown = [draw(these, ESTIMATE)[1] for these in (study(), with_scikit_learn(study()))]
    by = ["panel", "quantity", "series", "x"]
    alone, beside = (drawn.sort_values(by, ignore_index=True) for drawn in shown)
    pd.testing.assert_frame_equal(alone, beside)


@pytest.mark.parametrize("n_clusters", [1000, 4000])
def test_only_the_chosen_number_of_clusters_is_shown(study, n_clusters):
    tables = with_more_clusters(study())
    figure, points = mutual_information_input.draw(tables, ESTIMATE | {"n_clusters": n_clusters})
    groups = measured(
        tables["mutual_information"], n_clusters=n_clusters, label="input", reading="plain"
    )
    drawn = quantity(points, "input: clusters", "mutual information")
    assert same(drawn["y"], groups["mi_nats"].mean())
    assert figure.axes[0].get_title("left").startswith(f"by {n_clusters:,} clusters")


def with_more_tokens(tables):
    """The tables, with an estimate on more tokens, by as many clusters, a tenth higher."""
    table = tables["mutual_information"]
    more = table[table["estimator"] == "clusters"].assign(n_tokens=500, n_labels=500)
    more[["mi_nats", "entropy_nats"]] *= 1.1
    return tables | {"mutual_information": pd.concat([more, table], ignore_index=True)}


DRAWN = [
    (mutual_information_input, {"estimate": ESTIMATE}),
    (
        mutual_information_input_output,
        {"objective": "mlm", "reading": "as_trained", "estimate": ESTIMATE},
    ),
    (mutual_information_estimators, {"n_tokens": 400}),
    (over_training, {"estimate": ESTIMATE, "variant": "definition"}),
]


@pytest.mark.parametrize("module, options", DRAWN)
def test_only_the_chosen_number_of_tokens_is_shown(study, runs, module, options):
    tables = study(objectives=("mlm_step4", "mlm")) | runs(("mlm",))
    _, alone = module.draw(tables, **options)
    _, beside = module.draw(with_more_tokens(tables), **options)
    pd.testing.assert_frame_equal(alone, beside)
    more = {"n_tokens": 500}
    if "estimate" in options:
        more = {"estimate": ESTIMATE | more}
    _, other = module.draw(with_more_tokens(tables), **options | more)
    assert not other["y"].equals(alone["y"])


@pytest.mark.parametrize("name", ["1,000 clusters", "4,000 clusters", "linear classifier"])
def test_estimators_side_by_side(study, name, nothing_cut_off):
    tables = with_more_clusters(study(objectives=("mlm", "mt")))
    figure, points = mutual_information_estimators.draw(tables, n_tokens=400)
    table = tables["mutual_information"]
    of = table["n_clusters"].map("{:,.0f} clusters".format) == name
    of |= (table["estimator"] == "classifier") & (name == "linear classifier")
    groups = measured(table[of], label="input", reading="plain")["mi_nats"]
    for objective in ("mlm", "mt"):
        drawn = points[points["series"].str.startswith(name, na=False)]
        drawn = drawn[drawn["panel"] == objective]
        levels = drawn[drawn["quantity"] == "mutual information"]
        assert levels["y"].tolist() == groups.mean()[objective].tolist()
        assert levels["low"].isna().all()
        changes = drawn.loc[drawn["quantity"] == "change of mutual information", "y"]
        expected = groups.mean()[objective] - groups.mean()[objective][0]
        assert changes.tolist() == pytest.approx(expected.tolist(), abs=1e-12)
    assert [axes.get_title("left") for axes in figure.axes] == ["MT", "MLM", "", ""]
    nothing_cut_off(figure)


def test_many_models_stand_in_rows_of_one_scale(study, nothing_cut_off):
    table = study(objectives=("lm",))["mutual_information"]
    models = [table.assign(objective=f"model{n}", mi_nats=table["mi_nats"] + n) for n in range(7)]
    tables = {"mutual_information": pd.concat(models)}
    figure, _ = mutual_information_estimators.draw(tables, n_tokens=400)
    titles = [axes.get_title("left") for axes in figure.axes]
    assert titles == [*(f"model{n}" for n in range(6)), *[""] * 6, "model6", ""]
    first, last = figure.axes[0], figure.axes[-2]
    assert first.get_ylim() == last.get_ylim() != figure.axes[-1].get_ylim()
    nothing_cut_off(figure)
