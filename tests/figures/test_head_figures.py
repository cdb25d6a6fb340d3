"""Figures on attention heads: their points are derived by hand from tables of a few rows."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Rectangle

from bottomup.core.errors import UserError
from bottomup.figures import (
    attention_of_heads,
    decoder_heads_by_layers,
    functions_kept,
    gates_over_time,
    head_functions,
    head_importance,
    heads,
    heads_kept_by_attention,
    importance_agreement,
    page,
    quality_against_heads,
    relevance_kept,
    style,
    syntactic_heads,
)
from bottomup.figures.points import COLUMNS, NoRowsError
from bottomup.published import load_published

pytestmark = pytest.mark.long

INITIAL = {"mt": "untrained", "lm": "untrained_causal", "mlm": "untrained", "mlm_40": "untrained"}
INITIAL |= {"bert": "bert_untrained", "spans": None}
# By module: its options, tables, and published curves.
FIGURES = {
    attention_of_heads: ({"initial": INITIAL}, ["head_importance", "head_functions"], []),
    head_importance: ({}, ["head_importance"], ["lrp_confidence"]),
    head_functions: ({}, ["head_functions", "head_importance"], ["functions_ru_de_fr"]),
    syntactic_heads: ({"threshold": 0.1}, ["head_functions"], ["syntactic_accuracy"]),
    importance_agreement: ({}, ["head_importance"], []),
    quality_against_heads: (
        {},
        ["pruning"],
        ["heads_dying_enc_bleu_linear_x", "bleu_all_attns"],
    ),
    functions_kept: ({}, ["pruned_functions", "gates"], ["functions_retained"]),
    relevance_kept: ({}, ["gates", "head_importance"], []),
    heads_kept_by_attention: (
        {"objective": "mt"},
        ["pruning"],
        ["heads_dying_by_attn_type_both"],
    ),
    decoder_heads_by_layers: ({"objective": "mt"}, ["gates"], ["heads_dying_decoder"]),
    gates_over_time: ({"objective": "mt", "attention": "all"}, ["gates"], []),
}
EVERY = pytest.mark.parametrize(
    "figure", FIGURES, ids=lambda module: module.__name__.rsplit(".", 1)[-1]
)
KINDS = {"mt": ("encoder", "decoder", "cross"), "lm": ("encoder",), "mlm": ("encoder",)}
FUNCTIONS = ["positional", *head_functions.LABELS, "rarest"]


def importance(values):
    """`head_importance`, from the values of a layer's heads by its objective, seed, kind, layer."""
    rows = [
        [*layer, head, name, value]
        for layer, by_name in values.items()
        for name, of_heads in by_name.items()
        for head, value in enumerate(of_heads, start=1)
    ]
    table = pd.DataFrame(rows, columns=[*heads.HEAD, "importance", "value"])
    return table.assign(ci_low=table["value"] - 0.01, ci_high=table["value"] + 0.01)


def functions(rows):
    """`head_functions`, from objective, seed, layer, head, function, offset, accuracy, held."""
    table = pd.DataFrame(rows, columns=head_functions.NEEDED)
    interval = {"ci_low": table["accuracy"] - 0.01, "ci_high": table["accuracy"] + 0.01}
    interval["without"] = [[value - 0.01, value, value + 0.01] for value in table["accuracy"]]
    return table.assign(attention="encoder", baseline_accuracy=0.4, n=120, **interval)


def pruning(rows):
    """`pruning`, from rows without the test loss, which falls short of 5 by a tenth of BLEU."""
    counts = ["heads_encoder", "heads_decoder", "heads_cross"]
    columns = [*quality_against_heads.RUN, "method", "penalty", *counts, "bleu"]
    table = pd.DataFrame(rows, columns=columns).astype({"penalty": float, "bleu": float})
    return table.assign(test_loss_nats=5 - table["bleu"] / 10)


def gates(open_heads, steps=(0, 100), n_heads=2, n_layers=2, **model):
    """`gates` of one model whose heads are all open until the last step, and then these alone."""
    model = {"objective": "mt", "seed": 1, "attention": "all", "method": "gates"} | model
    rows = []
    for step, (kind, layers) in itertools.product(steps, open_heads.items()):
        for layer, head in itertools.product(range(1, n_layers + 1), range(1, n_heads + 1)):
            kept = step < max(steps) or head in layers.get(layer, ())
            place = {"step": step, "kind": kind, "layer": layer, "head": head}
            rows.append(model | place | {"open_probability": 0.9 if kept else 0.1, "kept": kept})
    return pd.DataFrame(rows)


def study(layers, n_heads, seeds, penalties):
    """Tables of all parts, by simple rules, of any size."""
    runs = list(itertools.product(KINDS, seeds))
    rng = np.random.default_rng(0)
    names = ("confidence", "special", "relevance_alpha_beta", "relevance_ratio", "gradient")
    names = (*names, "loss_increase")
    measured = {
        (objective, seed, kind, layer): {name: rng.random(n_heads) for name in names}
        for objective, seed in runs
        for kind in KINDS[objective]
        for layer in range(1, layers + 1)
    }
    places = list(itertools.product(range(1, layers + 1), range(1, n_heads + 1)))
    held = functions(
        [
            [*run, *place, name, -1, rng.random(), rng.random() > 0.7]
            for run, place, name in itertools.product(runs, places, FUNCTIONS)
        ]
    )
    parts, kept_functions, results = [], [], []
    setups = [("mt", "all"), *((objective, "encoder") for objective in KINDS)]
    for (objective, attention), seed in itertools.product(setups, seeds):
        kinds = KINDS[objective] if attention == "all" else ("encoder",)
        whole = [layers * n_heads * (kind in KINDS[objective]) for kind in KINDS["mt"]]
        bleu = 20.0 + seed if objective == "mt" else None
        loss = 3.0 + seed
        run = [objective, seed, attention]
        results.append([*run, "none", None, *whole, bleu, loss])
        for place, penalty in enumerate(penalties):
            left = max(0, n_heads - 2 * place)
            layout = {
                kind: dict.fromkeys(range(1, layers + 1), range(1, left + 1)) for kind in kinds
            }
            model = {"objective": objective, "seed": seed, "attention": attention}
            size = {"n_heads": n_heads, "n_layers": layers}
            parts.append(gates(layout, **size, **model, penalty=penalty))
            kept = [
                layers * left if kind in kinds else n
                for kind, n in zip(KINDS["mt"], whole, strict=True)
            ]
            for cost, method in enumerate(style.METHODS):
                worse = place * (cost + 0.1)
                values = [bleu and bleu - worse, loss + worse / 10]
                results.append([*run, method, penalty, *kept, *values])
            of_run = (
                (held["objective"] == objective) & (held["seed"] == seed) & (held["head"] <= left)
            )
            kept_functions.append(held[of_run].assign(**model, method="gates", penalty=penalty))
    return {
        "head_importance": importance(measured),
        "head_functions": held,
        "gates": pd.concat(parts),
        "pruned_functions": pd.concat(kept_functions),
        "pruning": pd.DataFrame(results, columns=quality_against_heads.NEEDED),
    }


def draw(module, tables, published=True):
    options, _, curves = FIGURES[module]
    behind = {name: load_published(name) for name in curves} if published else {}
    return module.draw(tables | behind, **options)


def series(points, panel, name, source="ours", **columns):
    """x and y of one series."""
    of = (points["panel"] == panel) & (points["series"] == name) & (points["source"] == source)
    for column, value in columns.items():
        of &= points[column] == value
    return list(zip(points.loc[of, "x"], points.loc[of, "y"], strict=True))


def titles(figure):
    return [axes.get_title("left") for axes in figure.axes if axes.get_title("left")]


# What heads attend to.


def attention(objectives):
    """Two heads in one layer of each, by its place: `confidence`, `special`, and positional."""
    measured = {
        (name, 1, "encoder", 1): {
            "confidence": [0.1 * place, 0.1 * place + 0.05],
            "special": [0.5, 0.6],
            "gradient": [3, 4],
        }
        for place, name in enumerate(objectives)
    }
    rows = [
        [name, 1, 1, head, function, -1, 0.1 * place + head / 10, False]
        for place, name in enumerate(objectives)
        for head in (1, 2)
        for function in ("positional", "rarest")
    ]
    return {"head_importance": importance(measured), "head_functions": functions(rows)}


def test_each_model_stands_beside_its_untrained_twin():
    names = ["lm", "bert", "untrained", "bert_untrained", "untrained_causal", "mlm_40", "spans"]
    figure, points = draw(attention_of_heads, attention(names))
    assert titles(figure) == ["LM", "bert", "mlm 40", "spans"]
    twins = points.groupby("panel")["series"].unique().map(set).to_dict()
    assert twins == {
        **{"lm": {"lm", "untrained_causal"}, "bert": {"bert", "bert_untrained"}},
        **{"mlm_40": {"mlm_40", "untrained"}, "spans": {"spans"}},
    }
    for quantity, expected in {
        "confidence": [0.1, 0.15],
        "special": [0.5, 0.6],
        "positional": [0.2, 0.3],
    }.items():
        found = series(points, "bert", "bert", quantity=quantity)
        assert [x for x, _ in found] == [1, 1]
        assert [y for _, y in found] == pytest.approx(expected)
    drawn = points[points["quantity"] == "confidence"]
    assert (drawn["high"] - drawn["low"]).tolist() == pytest.approx([0.02] * len(drawn))


def test_a_model_stands_beside_its_twin_and_without_one_on_its_layer():
    figure, _ = draw(attention_of_heads, attention(["spans", "bert", "bert_untrained"]))
    panels = {
        axes.get_title(loc="left"): axes for axes in figure.axes if axes.get_title(loc="left")
    }
    places = {
        name: {round(float(x), 2) for line in axes.lines for x in line.get_xdata()}
        for name, axes in panels.items()
    }
    assert places == {"spans": {1}, "bert": {0.86, 1.14}}


def test_of_untrained_models_alone_there_is_no_figure():
    with pytest.raises(NoRowsError, match="only untrained models"):
        draw(attention_of_heads, attention(["untrained"]))


# All of them.


@EVERY
@pytest.mark.parametrize(
    ("layers", "n_heads", "seeds", "penalties", "published"),
    [(6, 8, (1,), (0, 0.1, 0.2), True), (1, 1, (3,), (0,), False), (3, 2, (1, 2), (0, 0.5), True)],
)
def test_studies_of_any_size(figure, layers, n_heads, seeds, penalties, published):
    tables = study(layers, n_heads, seeds, penalties)
    if figure is importance_agreement and n_heads < 3:
        with pytest.raises(NoRowsError, match="no layer with three heads that differ"):
            draw(figure, tables)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn, points = draw(figure, tables, published)
        drawn.draw_without_rendering()
    assert (points["source"] == "ours").any()
    assert (points["source"] == "published").any() == (published and bool(FIGURES[figure][2]))
    assert list(points) == COLUMNS


@EVERY
def test_files_are_written_without_warnings(figure, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn, _ = draw(figure, study(2, 3, (1, 2), (0, 0.1)))
        page.save(drawn, tmp_path / "a.png", tmp_path / "a.pdf")
    assert (tmp_path / "a.png").stat().st_size > 1000


@EVERY
def test_what_is_missing_is_one_line(figure):
    tables = study(1, 2, (1,), (0,))
    for name in FIGURES[figure][1]:
        empty = tables[name].iloc[:0]
        without = {key: table for key, table in tables.items() if key != name}
        for wrong, words in (
            (without, f"table '{name}' is missing"),
            (tables | {name: empty}, "has no rows"),
            (tables | {name: tables[name].drop(columns="seed")}, "has no column seed"),
        ):
            with pytest.raises(UserError, match=words) as error:
                draw(figure, wrong, published=False)
            assert "\n" not in str(error.value)


# Importance.

LAYER = {"relevance_alpha_beta": [0.2, 0.5, 0.3], "confidence": [0.9, 0.1, 0.4]}
TWO_LAYERS = {
    ("lm", 2, "encoder", 1): LAYER,
    ("lm", 2, "encoder", 2): {"relevance_alpha_beta": [0.6, 0.4], "confidence": [0.7, 0.8]},
    ("lm", 3, "encoder", 1): {"relevance_alpha_beta": [1.0], "confidence": [1.0]},
    ("mt", 2, "cross", 1): LAYER,
    ("mt", 2, "encoder", 1): LAYER,
}


def test_heads_by_relevance_of_the_first_seed():
    _, points = draw(head_importance, {"head_importance": importance(TWO_LAYERS)})
    relevance = {"quantity": "relevance"}
    assert series(points, "lm, encoder", "layer 1", **relevance) == [(1, 0.5), (2, 0.3), (3, 0.2)]
    assert series(points, "lm, encoder", "layer 2", **relevance) == [(1, 0.6), (2, 0.4)]
    confidence = {"quantity": "confidence"}
    assert series(points, "lm, encoder", "layer 1", **confidence) == [(1, 0.1), (2, 0.4), (3, 0.9)]
    assert series(points, "lm, encoder", "layer 2", **confidence) == [(1, 0.7), (2, 0.8)]
    assert len(points[points["source"] == "ours"]) == 2 * (5 + 3 + 3), "one seed"


def test_maps_have_the_top_layer_on_top_and_one_scale_a_row():
    figure, _ = draw(head_importance, {"head_importance": importance(TWO_LAYERS)})
    paper = "EN-RU, encoder\nVoita et al. 2019"
    assert titles(figure) == ["MT, encoder", "MT, cross", "LM", paper]
    above, below = figure.axes[:4], figure.axes[4:8]
    mesh = above[2].collections[0]
    # Rows from the bottom; layer 2 lacks the third head.
    expected = [[1.5, 0.9, 0.6], [1.2, 0.8, -1]]  # times 1/3 and 1/2, even shares
    assert mesh.get_array().filled(-1) == pytest.approx(np.array(expected))
    assert above[2].get_ylim() == (0.5, 2.5)
    paper = load_published("lrp_confidence").query("panel == '(a) LRP'")["y"]
    assert len(paper) == 6 * 8
    for row, low, high in ((above, 0.6, 8 * paper.max()), (below, 0.1, 0.9)):
        limits = {axes.collections[0].get_clim() for axes in row}
        assert len(limits) == 1
        assert limits.pop() == pytest.approx((low, high), abs=0.01)


def test_layers_of_few_and_of_many_heads_have_one_scale():
    """An even share is 1 in each; CSV holds the shares themselves."""
    even = {
        (name, 1, "encoder", 1): {"relevance_alpha_beta": [1 / n] * n, "confidence": [0.5] * n}
        for name, n in (("lm", 4), ("mlm", 8))
    }
    of_lm = ["lm", 1, 1, 1, "positional", 1, 0.9, True]
    held = functions([of_lm, ["mlm", *of_lm[1:-1], False]])
    tables = {"head_importance": importance(even), "head_functions": held}
    for module in (head_importance, head_functions):
        figure, points = draw(module, tables, published=False)
        meshes = [axes.collections[0].get_array() for axes in figure.axes[:2]]
        assert [np.ravel(mesh).tolist() for mesh in meshes] == [[1] * 4, [1] * 8]
        assert set(points.loc[points["quantity"] == "relevance", "y"]) == {1 / 4, 1 / 8}
    said = [[text.get_text() for text in axes.texts] for axes in figure.axes[2:4]]
    assert said == [["+1"], ["no head has a function"]]


def test_the_published_map_is_the_data():
    _, points = draw(head_importance, {"head_importance": importance(TWO_LAYERS)})
    published = points[points["source"] == "published"]
    assert published["quantity"].value_counts().to_dict() == {"relevance": 48, "confidence": 48}
    of_layer = series(points, "EN-RU, encoder", "layer 2", "published", quantity="confidence")
    assert of_layer[:2] == [(1, 0.8099), (2, 0.8232)]


@pytest.mark.parametrize("name", ["relevance_alpha_beta", "confidence"])
def test_an_importance_that_was_not_measured(name):
    table = importance(TWO_LAYERS).query(f"importance != '{name}'")
    other = ({"relevance_alpha_beta", "confidence"} - {name}).pop()
    message = f"head_importance has no rows with importance {name}; found importance {other}$"
    with pytest.raises(UserError, match=message):
        draw(head_importance, {"head_importance": table})


# Functions.

HELD = [
    ["lm", 2, 1, 1, "nsubj_to_head", -2, 0.62, True],
    ["lm", 2, 1, 1, "positional", -1, 0.95, True],
    ["lm", 2, 1, 1, "rarest", np.nan, 0.4, True],
    ["lm", 2, 1, 1, "two_rarest", np.nan, 0.6, True],
    ["lm", 2, 1, 2, "positional", 1, 0.91, True],
    ["lm", 2, 1, 2, "amod_from_head", 1, 0.3, False],
    ["lm", 2, 1, 3, "dobj_from_head", 1, 0.7, True],
    ["lm", 2, 2, 1, "positional", 0, 0.92, True],
    ["lm", 3, 1, 3, "positional", 1, 0.99, True],
]


def texts(axes):
    """What is written into each cell, by the place of the head and the layer."""
    found = {}
    for text in axes.texts:
        x, y = text.get_position()
        found.setdefault((round(x), round(y)), []).append(text.get_text())
    return found


def test_functions_stand_at_the_place_of_their_head():
    tables = {"head_functions": functions(HELD), "head_importance": importance(TWO_LAYERS)}
    figure, points = draw(head_functions, tables)
    ours = points[(points["source"] == "ours") & (points["quantity"] != "relevance")]
    # Of heads 1, 2, 3 the places are 3, 1, 2.
    expected = {("s-v", 3, 0.62), ("-1", 3, 0.95), ("r", 3, 0.6), ("+1", 1, 0.91), ("v-o", 2, 0.7)}
    of_layer = ours.loc[ours["series"] == "layer 1", ["quantity", "x", "y"]]
    assert set(of_layer.itertuples(index=False, name=None)) == expected
    assert series(points, "lm", "layer 2", quantity="0") == [(1, 0.92)]
    assert set(ours["panel"]) == {"lm"} and len(ours) == 6
    assert titles(figure) == ["LM", "EN-DE, Voita et al. 2019"]
    written = {(1, 1): ["+1"], (2, 1): ["v-o"], (3, 1): ["-1", "r", "s-v"], (1, 2): ["0"]}
    assert texts(figure.axes[2]) == written
    assert texts(figure.axes[3])[2, 6] == ["s-v"], "as in the published table"


def test_published_functions_are_the_data():
    tables = {"head_functions": functions(HELD), "head_importance": importance(TWO_LAYERS)}
    _, points = draw(head_functions, tables)
    curves = load_published("functions_ru_de_fr")
    curves = curves[curves["panel"].str.startswith("EN-DE")]
    published = points[points["source"] == "published"]
    assert published["quantity"].tolist() == curves["function"].fillna("relevance").tolist()
    assert published["y"].tolist() == pytest.approx(curves["y"].tolist(), nan_ok=True)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 10])
def test_all_functions_of_a_head_fill_its_cell(n):
    names = ["positional", *head_functions.LABELS][:n]
    rows = functions([["lm", 2, 1, 1, name, 1, 0.9, True] for name in names])
    tables = {"head_functions": rows, "head_importance": importance(TWO_LAYERS)}
    figure, _ = draw(head_functions, tables, published=False)
    tiles = [
        patch.get_bbox()
        for patch in figure.axes[1].patches
        if isinstance(patch, Rectangle) and patch.get_x() >= 2.5 and patch.get_y() < 1.5
    ]
    cell, *tiles = tiles
    assert len(tiles) == len(figure.axes[1].texts) == n
    assert sum(tile.width * tile.height for tile in tiles) == pytest.approx(1)
    for a, b in itertools.combinations(tiles, 2):
        overlap = (min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0))
        assert min(overlap) < 1e-9
    assert all(cell.x0 - 1e-9 <= tile.x0 and tile.x1 <= cell.x1 + 1e-9 for tile in tiles)


def test_functions_of_heads_whose_relevance_is_unknown():
    tables = {"head_functions": functions(HELD), "head_importance": importance(TWO_LAYERS)}
    tables["head_functions"] = tables["head_functions"].assign(objective="mlm")
    with pytest.raises(UserError, match=r"no relevance of the heads of mlm, .*; found lm, mt; "):
        draw(head_functions, tables)


# Relations.

SYNTACTIC = [
    # objective, seed, layer, head, function, accuracy, ci_low, ci_high, baseline_accuracy
    ["mt", 1, 1, 1, "nsubj_to_head", 0.3, 0.2, 0.4, 0.5],
    ["mt", 1, 2, 1, "nsubj_to_head", 0.6, 0.55, 0.62, 0.5],
    ["mt", 2, 1, 2, "nsubj_to_head", 0.7, 0.66, 0.75, 0.5],
    ["mt", 1, 1, 1, "amod_from_head", 0.1, 0.05, 0.2, 0.8],
    ["mt", 2, 1, 1, "amod_from_head", 0.2, np.nan, np.nan, 0.8],
    ["mt", 1, 1, 1, "positional", 0.99, 0.98, 1.0, np.nan],
    ["mt", 1, 1, 1, "two_rarest", 0.95, 0.9, 1.0, 0.2],
    ["lm", 1, 1, 1, "nsubj_to_head", np.nan, np.nan, np.nan, np.nan],
    ["lm", 1, 1, 1, "dobj_to_head", 0.0, np.nan, np.nan, 1.0],
    ["mlm", 1, 1, 1, "dobj_to_head", np.nan, np.nan, np.nan, np.nan],
]


def relations(rows):
    columns = [name for name in syntactic_heads.NEEDED if name not in ("without", "n")]
    table = pd.DataFrame(rows, columns=columns)
    # Without one of three blocks a tenth less, a tenth more, or as it is.
    without = [[value - 0.1, value, value + 0.1] for value in table["accuracy"]]
    return {"head_functions": table.assign(attention="encoder", without=without, n=1200)}


def test_the_best_head_of_each_relation_and_seed(nothing_cut_off):
    figure, points = draw(syntactic_heads, relations(SYNTACTIC))
    nothing_cut_off(figure)
    assert titles(figure) == ["MT", "LM"], "MLM was asked for nothing"
    assert series(points, "mt", "best head") == [
        ("s-v", pytest.approx(0.65)),
        ("n-a", pytest.approx(0.15)),
    ]
    assert series(points, "mt", "baseline") == [("s-v", 0.5), ("n-a", 0.8)]
    assert series(points, "mt", "threshold") == [
        ("s-v", pytest.approx(0.55)),
        ("n-a", pytest.approx(0.88)),
    ]
    spans = points[(points["series"] == "best head") & points["low"].notna()]
    # Two runs, of which the best heads have 0.6 and 0.7, and 0.1 and 0.2: variances of 0.005, and
    # half of them of their mean; of documents half of 0.01 + 0.01. That is 12.7 times 0.11.
    assert spans[["low", "high"]].to_numpy().tolist() == [[0, 1], [0, 1]]
    assert spans["runs"].tolist() == [2, 2]


def test_of_layers_with_unequal_windows_the_best_head_is_the_one_furthest_above_its_line():
    """0.5 where most pairs lie at another distance is more than 0.9 where all of them are near."""
    near = ["mt", 1, 1, 1, "nsubj_to_head", 0.9, 0.85, 0.95, 0.9]
    far = ["mt", 1, 2, 1, "nsubj_to_head", 0.5, 0.45, 0.55, 0.3]
    _, points = draw(syntactic_heads, relations([near, far]))
    assert series(points, "mt", "best head") == [("s-v", 0.5)]
    assert series(points, "mt", "baseline") == [("s-v", 0.3)]


def test_the_number_of_pairs_stands_below_each_relation():
    figure, points = draw(syntactic_heads, relations(SYNTACTIC))
    best = points[(points["series"] == "best head") & (points["source"] == "ours")]
    assert set(best["n"]) == {1200}
    counts = [[text.get_text() for text in axes.texts] for axes in figure.axes]
    some = {0: "1,200", 5: "1,200"}  # s-v and n-a
    assert counts[0] == [some.get(place, "few") for place in range(8)]
    assert counts[1].count("1,200") == 1 and counts[1][2] == "1,200"


def test_relations_without_words_keep_their_place():
    figure, points = draw(syntactic_heads, relations(SYNTACTIC))
    assert series(points, "lm", "best head") == [("o-v", 0.0)]
    for axes in figure.axes:
        labels = [label.get_text() for label in axes.get_xticklabels()]
        assert labels == ["s-v", "v-s", "o-v", "v-o", "a-n", "n-a", "a-v", "v-a"]
        names = [label.get_text() for label in axes.get_xticklabels(minor=True)]
        assert names == ["nsubj", "dobj", "amod", "advmod"]
    assert figure.axes[1].get_lines()[0].get_xydata().tolist() == [[2, 0]]


def test_no_relation_at_all():
    rows = [row for row in SYNTACTIC if row[0] == "mlm" or row[4] == "positional"]
    with pytest.raises(UserError, match=r"no accuracy of any of nsubj_to_head, .*advmod_from_head"):
        draw(syntactic_heads, relations(rows))


def test_the_published_table_stands_behind_mt():
    _, points = draw(syntactic_heads, relations(SYNTACTIC))
    published = points[points["source"] == "published"]
    assert set(published["panel"]) == {"mt"} and len(published) == 16
    best = dict(series(points, "mt", "best head", "published"))
    baseline = dict(series(points, "mt", "baseline", "published"))
    assert set(best) == set(baseline) == set(syntactic_heads.PLACES)
    assert (best["v-o"], baseline["v-o"]) == (0.78, 0.41)
    assert (best["a-n"], baseline["a-n"]) == (0.82, 0.72)
    _, points = draw(syntactic_heads, relations([row for row in SYNTACTIC if row[0] == "lm"]))
    assert set(points["source"]) == {"ours"}, "nothing was published on LM"


# Agreement.


def test_rank_correlations_and_their_range_over_seeds():
    loss = {"loss_increase": [0.1, 0.2, 0.3]}
    table = importance(
        {
            # Ranks of relevance 1, 3, 2: d = 0, 1, 1, so 1 - 6 * 2 / (3 * 8) = 0.5 with the loss.
            ("mt", 1, "decoder", 1): LAYER | loss,
            # The same order as the loss: 1.
            ("mt", 2, "decoder", 1): LAYER | loss | {"relevance_alpha_beta": [0.2, 0.3, 0.5]},
            ("mt", 1, "encoder", 1): {"confidence": [0.1, 0.2], "loss_increase": [0.3, 0.4]},
            # Confidence does not differ.
            ("mt", 1, "cross", 2): LAYER | loss | {"confidence": [0.4, 0.4, 0.4]},
        }
    )
    figure, points = draw(importance_agreement, {"head_importance": table})
    assert titles(figure) == ["MT, decoder", "MT, cross"]
    rows = {(row.panel, row.series): row for row in points.itertuples()}
    with_loss = rows["mt, decoder", "relevance_alpha_beta"]
    drawn = [with_loss.x, with_loss.y, with_loss.low, with_loss.high]
    assert drawn == pytest.approx([1, 0.75, 0.5, 1])
    # Ranks of confidence 3, 1, 2 in both seeds: d = 2, 1, 1, so 1 - 6 * 6 / 24 = -0.5.
    confidence = rows["mt, decoder", "confidence"]
    assert [confidence.y, confidence.low, confidence.high] == pytest.approx([-0.5] * 3)
    # Relevance 1, 3, 2 and 1, 2, 3 against 3, 1, 2: d = 2, 2, 0 and 2, 1, 1.
    both = rows["mt, decoder", "relevance_alpha_beta, confidence"]
    assert [both.y, both.low, both.high] == pytest.approx([-0.75, -1, -0.5])
    assert ("mt, encoder", "confidence") not in rows, "of two heads a correlation is 1 or -1"
    single = rows["mt, cross", "relevance_alpha_beta"]
    assert (single.x, single.y) == (2, pytest.approx(0.5)) and np.isnan(single.low)
    assert len(rows) == 4, "nothing of what does not differ, nor of what was not measured"


def test_all_pairs_of_the_four_importances():
    values = {"gradient": [0.1, 0.3, 0.2], "loss_increase": [0.3, 0.1, 0.2]}
    table = importance({("mt", 1, "encoder", 1): LAYER | values})
    figure, points = draw(importance_agreement, {"head_importance": table})
    found = dict(zip(points["series"], points["y"], strict=True))
    # Ranks: relevance 1, 3, 2; confidence 3, 1, 2; gradient 1, 3, 2; loss 3, 1, 2.
    assert found == pytest.approx(
        {
            "relevance_alpha_beta": -1,
            "confidence": 1,
            "gradient": -1,
            "relevance_alpha_beta, confidence": -1,
            "relevance_alpha_beta, gradient": 1,
            "confidence, gradient": -1,
        }
    )
    above, below = figure.axes
    assert above.get_ylabel().endswith("with the loss")
    assert below.get_ylabel().endswith("with one another")
    assert set(importance_agreement.LOOKS) == set(importance_agreement.PAIRS)


def test_importances_without_the_loss_are_one_row():
    table = importance({("mt", 1, "encoder", 1): LAYER})
    figure, points = draw(importance_agreement, {"head_importance": table})
    assert [axes.get_ylabel() for axes in figure.axes] == ["rank correlation\nwith one another"]
    assert points["series"].tolist() == ["relevance_alpha_beta, confidence"]


def test_no_two_importances():
    table = importance({("lm", 1, "encoder", 1): {"gradient": [0.1, 0.2]}})
    with pytest.raises(NoRowsError, match="no two importances to compare; found gradient"):
        draw(importance_agreement, {"head_importance": table})


# Pruning.

PRUNED = [
    ["mt", 1, "all", "none", None, 48, 48, 48, 27.0],
    ["mt", 2, "all", "none", None, 48, 48, 48, 28.0],
    ["mt", 1, "all", "gates", 0.1, 10, 20, 30, 26.5],
    ["mt", 2, "all", "gates", 0.1, 12, 20, 32, 27.75],
    ["mt", 1, "all", "gates", 0.0, 48, 47, 48, 27.25],
    ["mt", 1, "all", "scratch", 0.1, 10, 20, 30, 25.0],
    ["mt", 1, "encoder", "none", None, 48, 48, 48, 27.0],
    ["mt", 1, "encoder", "random", 0.1, 8, 48, 48, 17.0],
]


def with_lm():
    """The table, and an LM without BLEU, whose test loss rises from 3.0 to 3.2."""
    lm = pruning(
        [
            ["lm", 1, "encoder", "none", None, 4, 0, 0, None],
            ["lm", 1, "encoder", "gates", 0.1, 1, 0, 0, None],
        ]
    ).assign(test_loss_nats=[3.0, 3.2])
    return {"pruning": pd.concat([pruning(PRUNED), lm], ignore_index=True)}


def test_quality_is_the_difference_from_the_unpruned_model():
    figure, points = draw(quality_against_heads, with_lm())
    # Seeds 1 and 2 keep 60 and 64 heads and lose 0.5 and 0.25.
    assert series(points, "mt, all", "gates") == [(62, -0.375), (143, 0.25)]
    row = points[(points["panel"] == "mt, all") & (points["x"] == 62)].iloc[0]
    assert (row["low"], row["high"]) == (-0.5, -0.25)
    assert series(points, "mt, all", "scratch") == [(60, -2.0)]
    assert series(points, "mt, encoder", "random") == [(8, -10.0)], "of encoder heads alone"
    for panel, heads_of_all in (("mt, all", 144), ("mt, encoder", 48), ("lm, encoder", 4)):
        assert series(points, panel, "unpruned") == [(heads_of_all, 0)]
    ((kept, rise),) = series(points, "lm, encoder", "gates")
    assert (kept, rise) == (1, pytest.approx(0.2))
    assert titles(figure) == [
        "MT, encoder pruned\nunpruned: 27.0 BLEU, 48 heads",
        "MT, all attention pruned\nunpruned: 27.5 BLEU, 144 heads",
        "LM\nunpruned: 3.00 nats, 4 heads",
    ]


def test_down_is_worse_and_nothing_is_cut_off(nothing_cut_off):
    figure, _ = draw(quality_against_heads, with_lm())
    nothing_cut_off(figure)
    assert [axes.yaxis_inverted() for axes in figure.axes] == [False, False, True]
    assert all(axes.xaxis_inverted() for axes in figure.axes)
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
    for axes in figure.axes:
        right, left = sorted(axes.get_xlim())
        for line in axes.get_lines():
            assert right < min(line.get_xdata()) and max(line.get_xdata()) < left


def test_published_quality_is_a_difference_too():
    _, points = draw(quality_against_heads, with_lm())
    wmt = dict(series(points, "mt, encoder", "gates, WMT", "published"))
    assert wmt[48] == 0 and wmt[10] == pytest.approx(-0.15)
    subtitles = dict(series(points, "mt, encoder", "gates, OpenSubtitles", "published"))
    assert subtitles[4] == pytest.approx(-0.25)
    # 14 + 31 + 30 heads, 29.62 and 29.47 of 29.6.
    wmt = dict(series(points, "mt, all", "gates, WMT", "published"))
    assert wmt[75] == pytest.approx(0.02)
    scratch = dict(series(points, "mt, all", "scratch, WMT", "published"))
    assert scratch[75] == pytest.approx(-0.13)
    assert not (points[points["source"] == "published"]["panel"] == "lm, encoder").any()


def test_quality_without_the_unpruned_model():
    table = pruning(PRUNED)
    with pytest.raises(UserError, match=r"none; found method gates, random, scratch$"):
        draw(quality_against_heads, {"pruning": table[table["method"] != "none"]})
    with pytest.raises(UserError, match="no row with method none of mt, 1, encoder "):
        draw(quality_against_heads, {"pruning": table.drop(index=6)})


def pruned_to(*kept):
    """`pruning` of a model with 48 encoder heads, of which a penalty each leaves so many."""
    rows = [["mt", 1, "all", "none", None, 48, 0, 0, 20]]
    rows += [["mt", 1, "all", "gates", n, left, 0, 0, 19] for n, left in enumerate(kept)]
    return {"pruning": pruning(rows)}


@pytest.mark.parametrize(("kept", "joined"), [([4], [1, 1]), ([40, 30, 4], [3, 1])])
def test_models_far_apart_are_not_joined(kept, joined):
    figure, _ = draw(heads_kept_by_attention, pruned_to(*kept), published=False)
    lines = [line.get_xdata() for line in figure.axes[0].get_lines()]
    # The first of three kinds of attention, from the unpruned model.
    assert [len(line) for line in lines[: len(joined)]] == joined
    assert all(abs(b - a) <= 16 for line in lines for a, b in itertools.pairwise(line))


def test_a_model_of_which_a_penalty_of_0_prunes_nothing_is_no_second_one():
    figure, _ = draw(heads_kept_by_attention, pruned_to(48, 4), published=False)
    assert [len(line.get_xdata()) for line in figure.axes[0].get_lines()][:2] == [2, 1]


def test_pruned_models_far_apart_are_not_joined_in_quality():
    figure, _ = draw(quality_against_heads, pruned_to(40, 30, 4), published=False)
    lines = [[*line.get_xdata()] for line in figure.axes[0].get_lines()]
    assert [30, 40] in lines and [4] in lines


def test_heads_kept_by_attention_start_from_the_whole_model():
    _, points = draw(heads_kept_by_attention, with_lm())
    for panel in ("WMT", "OpenSubtitles"):
        # Pruned: none, 1, and the mean of 84 and 80.
        assert series(points, panel, "encoder") == [(0, 48), (1, 48), (82, 11)]
        assert series(points, panel, "decoder") == [(0, 48), (1, 47), (82, 20)]
        assert series(points, panel, "cross") == [(0, 48), (1, 48), (82, 31)]
    row = points[(points["series"] == "cross") & (points["x"] == 82)].iloc[0]
    assert (row["low"], row["high"]) == (30, 32)
    published = dict(series(points, "WMT", "encoder", "published"))
    assert published[63] == 15


def test_heads_kept_of_an_objective_that_was_not_pruned():
    message = "pruning has no rows with objective mlm, .*; found objective lm, mt$"
    with pytest.raises(UserError, match=message):
        heads_kept_by_attention.draw(with_lm(), objective="mlm")


# Gates.


def test_decoder_heads_in_thirds_of_the_layers():
    kept = {
        "encoder": {},
        # Of 2 heads in each of 6 layers, 4 + 2 + 1 of 12.
        "decoder": {1: (1, 2), 2: (1, 2), 3: (1,), 4: (2,), 6: (1,)},
        "cross": {5: (1, 2), 6: (1,)},
    }
    nothing = {kind: {} for kind in kept}
    table = pd.concat(
        [
            gates(kept, n_layers=6, penalty=0.1),
            gates(nothing, n_layers=6, penalty=0.5),
            gates(nothing, n_layers=6, penalty=0.1, method="random"),
            gates(nothing, n_layers=6, penalty=0.1, attention="encoder"),
        ]
    )
    figure, points = draw(decoder_heads_by_layers, {"gates": table})
    assert series(points, "decoder", "bottom") == [(0, 4), (5, 4), (12, 0)]
    assert series(points, "decoder", "middle") == [(0, 4), (5, 2), (12, 0)]
    assert series(points, "decoder", "top") == [(0, 4), (5, 1), (12, 0)]
    assert series(points, "cross", "top") == [(0, 4), (9, 3), (12, 0)]
    published = dict(series(points, "cross", "top", "published"))
    assert published[24] == 9
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["layers 1+2", "layers 3+4", "layers 5+6", "Voita et al. 2019"]


@pytest.mark.parametrize(
    ("layers", "labels"),
    [
        (1, ["layer 1"]),
        (2, ["layer 1", "layer 2"]),
        (4, ["layers 1+2", "layer 3", "layer 4"]),
        (12, ["layers 1–4", "layers 5–8", "layers 9–12"]),
    ],
)
def test_thirds_of_other_numbers_of_layers(layers, labels):
    table = gates({"decoder": {1: (1,)}, "cross": {1: (1,)}}, n_layers=layers, penalty=0.1)
    figure, points = draw(decoder_heads_by_layers, {"gates": table}, published=False)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == labels
    at_start = points[(points["panel"] == "cross") & (points["x"] == 0)]
    assert at_start["y"].sum() == 2 * layers


def test_thirds_are_means_over_seeds():
    table = pd.concat(
        gates({"decoder": kept, "cross": kept}, seed=seed, penalty=0.1)
        for seed, kept in ((1, {1: (1,)}), (2, {1: (1, 2), 2: (1,)}))
    )
    _, points = draw(decoder_heads_by_layers, {"gates": table}, published=False)
    # 3 and 1 of 4 heads are pruned; of the lower layer 1 and 2 are left.
    assert series(points, "cross", "bottom") == [(0, 2), (2, 1.5)]
    row = points[(points["panel"] == "cross") & (points["x"] == 2)].iloc[0]
    assert (row["low"], row["high"]) == (1, 2)


def kept_functions(rows, penalty=0.1, attention="all"):
    table = functions(rows).assign(method="gates", penalty=penalty, attention=attention)
    return table.assign(objective="mt", seed=1)


def test_kept_heads_by_what_they_do():
    table = pd.concat(
        [
            gates({"encoder": {1: (1, 2), 2: (1, 2)}, "cross": {1: (1, 2)}}, penalty=0.1),
            gates({"encoder": {}, "cross": {1: (1,)}}, penalty=0.5),
            gates({"encoder": {1: (1,)}}, penalty=0.1, attention="encoder"),
        ]
    )
    rows = [
        ["mt", 1, 1, 1, "positional", -1, 0.95, True],
        ["mt", 1, 1, 1, "nsubj_to_head", -1, 0.95, True],
        ["mt", 1, 1, 2, "positional", -1, 0.2, False],
        ["mt", 1, 2, 1, "rarest", np.nan, 0.4, True],
        ["mt", 1, 2, 1, "two_rarest", np.nan, 0.6, True],
        ["mt", 1, 2, 2, "advmod_from_head", -1, 0.6, True],
        ["mt", 1, 2, 2, "dobj_to_head", -1, 0.6, True],
    ]
    tables = {"gates": table, "pruned_functions": kept_functions(rows)}
    figure, points = draw(functions_kept, tables)
    assert set(points["panel"]) == {"mt, all"}, "functions of the other were not measured"
    held = points[points["y"] > 0]
    classes = ["positional + syntactic", "rare", "syntactic", "unknown"]
    assert sorted(held["series"]) == classes
    assert set(held["y"]) == {1} and set(held["x"]) == {4}
    assert points.loc[points["quantity"] == "heads, penalty 0.5", "y"].sum() == 0
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["4", "0"]
    bars = [bar for bar in axes.patches if bar.get_height() > 0]
    area = sum(bar.get_width() * bar.get_height() for bar in bars)
    assert area == pytest.approx(4 * functions_kept.WIDTH)
    # Two colors side by side at one height for the head that does two things.
    both = [bar for bar in bars if bar.get_width() < functions_kept.WIDTH]
    assert len({bar.get_facecolor() for bar in both}) == len(both) == 2
    assert len({bar.get_y() for bar in both}) == 1


def with_relevance(kept, seed=1, penalty=0.1):
    """Tables of a model of 2 layers of 4 heads whose gates keep these heads by layer."""
    shares = {1: [0.4, 0.3, 0.2, 0.1], 2: [0.1, 0.1, 0.2, 0.6]}
    known = {
        ("mt", seed, "encoder", layer): {heads.RELEVANCE: values, "confidence": [0.5] * 4}
        for layer, values in shares.items()
    }
    model = {"seed": seed, "attention": "encoder", "penalty": penalty}
    return {
        "gates": gates({"encoder": kept}, n_heads=4, **model),
        "head_importance": importance(known),
    }


def test_relevance_of_what_gates_keep():
    figure, points = draw(relevance_kept, with_relevance({1: (1, 4), 2: (4,)}))
    # Shares of a layer of four heads, times four.
    assert series(points, "mt, encoder", "gates") == [(3, pytest.approx((1.6 + 0.4 + 2.4) / 3))]
    most = dict(series(points, "mt, encoder", relevance_kept.MOST))
    assert most[1] == pytest.approx(2.4)
    assert most[3] == pytest.approx((2.4 + 1.6 + 1.2) / 3)
    assert most[8] == pytest.approx(1)
    chance = points[points["series"] == relevance_kept.CHANCE].set_index("x")
    assert set(chance["y"]) == {1}
    assert (chance.loc[1, "low"], chance.loc[1, "high"]) == pytest.approx((0.4, 2.4))
    assert (chance.loc[8, "low"], chance.loc[8, "high"]) == pytest.approx((1, 1))
    assert figure.axes[0].get_title(loc="left") == "MT"


def test_choices_at_random_of_several_seeds_are_their_own():
    """So the mean over two equal runs is nearer to an even share than that of one."""
    width = {}
    for seeds in [(1,), (1, 2)]:
        tables = [with_relevance({1: (1, 4)}, seed=seed) for seed in seeds]
        together = {name: pd.concat([part[name] for part in tables]) for name in tables[0]}
        _, points = draw(relevance_kept, together)
        of = points[(points["series"] == relevance_kept.CHANCE) & (points["x"] == 4)]
        width[seeds] = (of["high"] - of["low"]).item()
    assert width[1, 2] < 0.9 * width[1,]


def test_relevance_kept_over_seeds():
    tables = [with_relevance({2: (4,)}), with_relevance({1: (4,), 2: (3, 4)}, seed=2)]
    together = {name: pd.concat([part[name] for part in tables]) for name in tables[0]}
    _, points = draw(relevance_kept, together)
    (point,) = points[points["series"] == "gates"].itertuples()
    assert (point.x, point.runs) == (2, 2)
    values = (2.4, (0.4 + 0.8 + 2.4) / 3)
    assert (point.high, point.low) == pytest.approx(values)
    assert point.y == pytest.approx(np.mean(values))


def test_a_pruned_model_whose_relevance_was_not_measured():
    tables = with_relevance({2: (4,)})
    tables["gates"] = tables["gates"].assign(seed=2)
    with pytest.raises(UserError, match="no relevance of mt 2, which was pruned; measure it"):
        draw(relevance_kept, tables)


def encoder_pruned(*kept, attention="encoder"):
    """Tables of models that keep so many of 40 heads, all of them positional."""
    parts = [
        (kept_functions(rows, penalty, attention), table)
        for penalty, n in enumerate(kept)
        for rows in [[["mt", 1, 1, head, "positional", -1, 0.95, True] for head in range(1, n + 1)]]
        for size in [{"n_heads": 40, "n_layers": 1, "attention": attention}]
        for table in [gates({"encoder": {1: range(1, n + 1)}}, **size, penalty=penalty)]
    ]
    functions, tables = (pd.concat(part) for part in zip(*parts, strict=True))
    return {"pruned_functions": functions, "gates": tables}


def test_published_models_stand_at_their_heads_kept():
    figure, points = draw(functions_kept, encoder_pruned(35, 25, 5))
    published = series(points, "mt, encoder", "any function", "published")
    curve = load_published("functions_retained").set_index("x")["y"]
    assert published == [(x, curve[x]) for x in (5, 6, 7, 9, 11, 14, 17, 30)], "not below 5"
    (line,) = figure.axes[0].get_lines()
    # 30 is halfway from 35, the first bar, to 25; 5 is the last bar.
    places = dict(zip([x for x, _ in published], line.get_xdata(), strict=True))
    assert (places[30], places[5]) == (0.5, 2)
    assert places[17] == pytest.approx(1 + 8 / 20)
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["35", "25", "5"]


@pytest.mark.parametrize(
    "tables",
    [encoder_pruned(35, 5, attention="all"), encoder_pruned(40, 35)],
    ids=["all attention pruned", "more heads than any published model"],
)
def test_no_published_models_to_stand_there(tables):
    figure, points = draw(functions_kept, tables)
    assert set(points["source"]) == {"ours"}
    assert not figure.axes[0].get_lines()
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["positional", "syntactic", "rare tokens", "unknown"]


def test_a_model_that_kept_no_head_counts_as_none():
    """Of two seeds one keeps two heads, whatever the penalty."""
    one = gates({"encoder": {1: (1, 2)}}, penalty=0.1)
    none = gates({"encoder": {}}, penalty=0.1).assign(seed=2)
    rows = [["mt", 1, 1, head, "positional", -1, 0.95, True] for head in (1, 2)]
    tables = {"gates": pd.concat([one, none]), "pruned_functions": kept_functions(rows)}
    _, points = draw(functions_kept, tables)
    held = points[points["y"] > 0]
    assert held[["x", "y"]].to_numpy().tolist() == [[1, 1]]


def test_a_kept_head_whose_functions_were_not_measured():
    table = gates({"encoder": {1: (1, 2)}}, penalty=0.1)
    measured = kept_functions([["mt", 1, 1, 1, "positional", -1, 0.95, True]])
    with pytest.raises(UserError, match=r"penalty 0\.1, layer 1, head 2\); measure"):
        draw(functions_kept, {"gates": table, "pruned_functions": measured})


def test_every_class_of_heads_has_its_place_in_the_bars():
    kinds = [kind for kind in style.FUNCTIONS if kind != "unknown"]
    sets = [part for n in (1, 2, 3) for part in itertools.combinations(kinds, n)]
    expected = {" + ".join(part) for part in sets} | {"unknown"}
    assert set(functions_kept.CLASSES) == expected
    assert len(functions_kept.CLASSES) == len(expected)


def test_the_run_that_keeps_a_third_at_six_steps():
    steps = tuple(range(0, 1100, 100))
    size = {"n_heads": 3, "steps": steps}
    table = pd.concat(
        [
            gates({"encoder": {1: (1, 2, 3), 2: (1, 2)}}, **size, penalty=0.1),
            gates({"encoder": {1: (3,), 2: (2,)}}, **size, penalty=0.2),
            gates({"encoder": {}}, **size, penalty=0.4),
            gates({"encoder": {1: (1,), 2: (1,)}}, **size, penalty=0.3, seed=2),
        ]
    )
    # The second head of the first layer closes a little earlier than the first.
    early = table["penalty"].eq(0.2) & table["layer"].eq(1) & table["head"].eq(2)
    table.loc[early & table["step"].eq(1000), "open_probability"] = 0.05
    figure, points = draw(gates_over_time, {"gates": table})
    assert titles(figure)[:6] == [
        f"step {step}" for step in ("0", "200", "400", "600", "800", "1,000")
    ]
    last = {"panel": "encoder, step 1000"}
    open_ = {"quantity": "open probability"}
    assert series(points, **last, name="layer 1", **open_) == [(1, 0.9), (2, 0.1), (3, 0.05)]
    assert series(points, **last, name="layer 2", **open_) == [(1, 0.9), (2, 0.1), (3, 0.1)]
    kept = points[points["quantity"] == "kept"]
    assert set(kept["panel"]) == {"encoder, step 1000"}
    assert kept[["series", "x"]].to_numpy().tolist() == [["layer 1", 1], ["layer 2", 1]]
    assert figure.axes[5].get_xlabel() == "2 of 6 kept"
    assert figure.get_suptitle() == "MT, penalty 0.2"


def test_gates_at_fewer_evaluations_than_maps():
    table = gates({"encoder": {1: (1,)}, "cross": {}}, steps=(50, 100), penalty=0.1)
    figure, _ = draw(gates_over_time, {"gates": table})
    assert titles(figure) == ["step 50", "step 100"]
    assert figure.axes[0].get_ylabel() == "encoder\nlayer"
    assert figure.axes[3].get_xlabel() == "0 of 4 kept"
