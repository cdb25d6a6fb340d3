import pandas as pd
import pytest

from bottomup.figures import stitching

LAYERS = (2, 4, 6)


def stitched(other_seeds=True):
    """Costs that grow by layer; least squares cost twice as much."""
    rows = [
        {
            **{"objective": objective, "seed": 1, "from_objective": other, "from_seed": seed},
            **{"from_layer": layer, "layer": layer, "fit": fit},
            "value": cost * (1 + layer / 10) * (1 if fit == "loss" else 2),
            **{"ci_low": 0.01, "ci_high": 9.0, "own_nats": 4.25, "n": 1234},
        }
        for objective in ("lm", "mlm")
        for other, seed, cost in [
            ("mlm" if objective == "lm" else "lm", 1, 1.0),
            ("untrained", 1, 2.0),
            *([(objective, 2, 0.3)] if other_seeds else []),
        ]
        for layer in LAYERS
        for fit in ("least_squares", "loss")
    ]
    return pd.DataFrame(rows)


def test_points_are_the_costs_by_the_loss_and_the_similarity_of_the_same_runs(
    study, nothing_cut_off
):
    tables = {"stitching": stitched().sample(frac=1, random_state=1)} | {
        "similarity_between_runs": study()["similarity_between_runs"]
    }
    figure, points = stitching.draw(tables)
    nothing_cut_off(figure)
    assert points.groupby(["panel", "series"])["x"].is_monotonic_increasing.all()
    cost = points[points["panel"] == "cost mlm"].set_index(["series", "x"])["y"]
    assert cost.to_dict() == pytest.approx(
        {
            (name, layer): value * (1 + layer / 10)
            for name, value in [("lm", 1.0), ("untrained", 2.0), ("other_seed", 0.3)]
            for layer in LAYERS
        }
    )
    similar = tables["similarity_between_runs"].query("measure == 'cka_debiased'")
    for panel, other in (("lm", "mlm"), ("mlm", "lm")):
        shown = points[points["panel"] == f"cka_debiased {panel}"]
        assert set(shown["series"]) == {other, "other_seed"}, "trained and untrained: not measured"
        of_both = similar.query("objective_a == 'lm' and objective_b == 'mlm'")
        assert shown[shown["series"] == other]["y"].tolist() == of_both["value"].tolist()
        of_seeds = similar.query(f"objective_a == '{panel}' and objective_b == '{panel}'")
        assert shown[shown["series"] == "other_seed"]["y"].tolist() == of_seeds["value"].tolist()
    titles = [axes.get_title(loc="left").split("\n") for axes in figure.axes[:2]]
    assert titles == [
        [f"into {name}", "own loss 4.25, 1,234 predictions"] for name in ("LM", "MLM")
    ]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[:4] == ["LM", "MLM", "untrained", "its own, another seed"]


def test_similarity_is_at_layers_of_the_frozen_model():
    """A pair is measured once, at the layers of its first run."""
    cost = stitched(other_seeds=False).query("from_objective != 'untrained'")
    shallow = cost[(cost["objective"] == "lm") | (cost["layer"] == 2)]
    similar = pd.DataFrame({"objective_a": "lm", "objective_b": "mlm", "layer": range(7)})
    similar = similar.assign(seed_a=1, seed_b=1, measure="cka_debiased", value=0.5)
    similar = similar.assign(ci_low=0.4, ci_high=0.6, n_occurrences=9)
    for frozen, panels in ((cost, {"lm", "mlm"}), (shallow, {"lm"})):
        _, points = stitching.draw({"stitching": frozen, "similarity_between_runs": similar})
        shown = points[points["panel"].str.startswith("cka")]
        assert set(shown["panel"]) == {f"cka_debiased {name}" for name in panels}


@pytest.mark.parametrize("similar", [{}, {"similarity_between_runs": pd.DataFrame()}])
def test_without_similarity_and_another_seed_one_row_of_panels(similar):
    figure, points = stitching.draw({"stitching": stitched(other_seeds=False)} | similar)
    assert len(figure.axes) == 2 and "other_seed" not in set(points["series"])
    figure.draw_without_rendering()
