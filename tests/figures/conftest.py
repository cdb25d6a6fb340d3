"""Small made-up tables with the columns and the rough shapes of a measured study."""

import itertools
from functools import cache

import numpy as np
import pandas as pd
import pytest

from bottomup.figures.exact import ABOUT

TRAINED = ("lm", "mlm", "mt")
RANKS = ("1-10", "10-25", "25-50")
TAGS = ("NN", "PRP$", "comma")
PROPERTIES = ("token", "position", "left_token", "right_token", "ccg", "ccg_left", "ccg_right")
VERSIONS = ("raw", "centered", "standardized")
CHANCE = {"token": 0.005, "position": 9.5}
APART = np.linspace(-3, 3, 7)  # of values without a block of documents
CATEGORIES = [f"S/{place}" for place in range(9)]
END_OF_MI = {"lm": -0.5, "mlm": -0.2, "mt": -0.25, "untrained": -0.05}
# Of what is measured beside PWCCA, values of runs that are as far apart as they can be.
MEASURES = {"cka_debiased": 0, "cka": 0.2, "rsa": 0.1}
MEASURES |= {"procrustes_distance": 2, "svcca_distance": 1}
SELECTIONS = [
    ("plain", "all", "input"),
    ("plain", "all", "output"),
    ("as_trained", "replaced", "input"),
    ("as_trained", "changed", "output"),
]


def mutual_information(layers, seeds, objectives):
    """Every combination of objective, seed, layer, selection of positions, and estimator."""
    rows = []
    cells = itertools.product(objectives, seeds, range(layers + 1), SELECTIONS)
    for objective, seed, layer, (reading, positions, label) in cells:
        if reading == "as_trained" and objective != "mlm":
            continue
        depth = layer / layers
        fall = END_OF_MI.get(objective, -0.3) * depth**2 + 0.02 * seed
        clusters = 4.9 + fall if label == "input" else 2.0 + 0.4 * depth + 0.02 * seed
        for estimator, mi in (("clusters", clusters), ("classifier", 5.45 + fall / 8)):
            by_clusters = estimator == "clusters"
            rows.append(
                {
                    "objective": objective,
                    "seed": seed,
                    "layer": layer,
                    "reading": reading,
                    "positions": positions,
                    "label": label,
                    "n_tokens": 400,
                    "estimator": estimator,
                    "mi_nats": mi,
                    "ci_low": mi - 0.01,
                    "ci_high": mi + 0.015,
                    "without": mi + (0.01 + 0.004 * layer) * APART,
                    "clustering_error_nats": 0.0 if by_clusters else None,
                    "shuffled_mi_nats": 1.2 + 0.01 * seed + 0.05 * depth if by_clusters else None,
                    "entropy_nats": 5.57,
                    "n_occurrences": 100_000,
                    "n_labels": 400,
                    "n_clusters": 1000 if by_clusters else None,
                    "n_clusters_used": 998 if by_clusters else None,
                }
            )
    return pd.DataFrame(rows)


def is_task(a, b):
    """Whether two objectives are compared: models of one, or trained ones."""
    return a == b or not {a, b} & {"untrained", "untrained_causal"}


def pwcca_between_runs(layers, seeds, objectives):
    """All pairs of different runs that are compared, both variants, both weightings."""
    runs = list(itertools.product(objectives, seeds))
    rows = []
    for (a, seed_a), (b, seed_b) in itertools.combinations(runs, 2):
        if not is_task(a, b):
            continue
        apart = 0.3 if a == b else 0.4 + 0.02 * (ord(a[-2]) + ord(b[-1]) - 215)
        for layer, variant, weights in itertools.product(
            range(layers + 1), ("definition", "svcca-2019"), "xy"
        ):
            rows.append(
                {
                    "objective_a": a,
                    "seed_a": seed_a,
                    "objective_b": b,
                    "seed_b": seed_b,
                    "layer": layer,
                    "variant": variant,
                    "weights": weights,
                    "distance": apart
                    + 0.15 * layer / layers
                    + 0.01 * seed_a
                    + (0.05 if weights == "y" else 0)
                    - (0.1 if variant == "svcca-2019" else 0),
                    "n_occurrences": 100_000,
                }
            )
    return with_intervals(pd.DataFrame(rows), "distance")


def similarity_between_runs(layers, seeds, objectives):
    """Pairs of the first seed, and of one objective those of the first two; runs of different
    objectives are further apart, and all of them in higher layers."""
    first, *others = seeds
    different = [pair for pair in itertools.combinations(objectives, 2) if is_task(*pair)]
    pairs = [((a, first), (b, first)) for a, b in different]
    pairs += [((a, first), (a, second)) for a in objectives for second in others[:1]]
    rows = []
    for ((a, seed_a), (b, seed_b)), layer, (measure, unrelated) in itertools.product(
        pairs, range(layers + 1), MEASURES.items()
    ):
        apart = 0.1 if a == b else 0.4
        apart += 0.03 * (objectives.index(a) + objectives.index(b)) + 0.2 * layer / layers
        distance = measure.endswith("distance")
        rows.append(
            {
                "objective_a": a,
                "seed_a": seed_a,
                "objective_b": b,
                "seed_b": seed_b,
                "layer": layer,
                "measure": measure,
                "value": apart * unrelated if distance else 1 - apart * (1 - unrelated),
                "n_occurrences": 1000 if measure == "rsa" else 100_000,
                "null": unrelated,
                "calibrated": 1 - apart,
            }
        )
    return with_intervals(pd.DataFrame(rows), "value")


def isotropy(layers, seeds, objectives):
    """Every measure of every version, adjusted and not; a cone that grows narrower from layer to
    layer, and is gone where the mean is. Shares have no interval."""
    adjusted = ("self_similarity", "intra_sentence_similarity", "maximum_explainable_variance")
    kinds = [("anisotropy", False), ("first_component", False)]
    kinds += [(name, one) for name in adjusted for one in (False, True)]
    rows = []
    for objective, seed, layer, version, (measure, less) in itertools.product(
        objectives, seeds, range(layers + 1), VERSIONS, kinds
    ):
        depth = layer / layers
        other = 0.03 * objectives.index(objective) + 0.001 * seed
        cone = (0.1 + other + 0.3 * depth) * (version == "raw")
        values = {
            "anisotropy": cone,
            "first_component": cone + 0.05,
            "self_similarity": cone + (0.8 - other) * (1 - cone) * (1 - depth / 2),
            "intra_sentence_similarity": cone + (0.3 + other) * (1 - cone),
            "maximum_explainable_variance": cone + (0.6 - other) * (1 - cone) * (1 - depth / 2),
        }
        baseline = cone + 0.05 * (measure == "maximum_explainable_variance")
        rows.append(
            {
                "objective": objective,
                "seed": seed,
                "layer": layer,
                "version": version,
                "measure": measure,
                "adjusted": less,
                "value": values[measure] - less * baseline,
            }
        )
    table = with_intervals(pd.DataFrame(rows), "value")
    shares = table["measure"].isin(["first_component", "maximum_explainable_variance"])
    table.loc[shares, ["ci_low", "ci_high"]] = float("nan")
    table["without"] = table["without"].where(~shares)
    return table


def exact(layers, seeds, objectives):
    """Trained models have a loss 0.1 nats above the least. The classifier comes from the word alone
    to all that was read; clusters are above it by 0.2."""
    of = {"reading": "plain", "knows": None, "layer": None, "entropy_nats": 2.0, "n": 9000}
    rows = []
    for objective, seed in itertools.product(objectives, seeds):
        run = of | {"objective": objective, "seed": seed}
        if objective in TRAINED:
            told = run | {"quantity": "loss", "about": "prediction", "reading": "as_trained"}
            nats = {"model": 2.6 + 0.01 * seed, "exact": 2.5, "excess": 0.1 + 0.01 * seed}
            rows += [told | {"estimator": name, "nats": value} for name, value in nats.items()]
        run |= {"quantity": "information"}
        readings = ("plain", "as_trained") if objective == "mlm" else ("plain",)
        for reading, about in itertools.product(readings, ABOUT):
            if (reading, about) == ("as_trained", "recoded"):
                continue
            thing = run | {"reading": reading, "about": about}
            read = {"knows": "left" if objective == "lm" else "both", "nats": 1.5}
            known = [{"knows": "word", "nats": 0.5}] * (reading == "plain") + [read]
            rows += [thing | {"estimator": "exact"} | one for one in known]
            for layer in range(layers + 1):
                nats = 0.5 + layer / layers + 0.01 * seed
                by = {"classifier": nats, "clusters": nats + 0.2}
                rows += [
                    thing | {"layer": layer, "estimator": name, "nats": value}
                    for name, value in by.items()
                ]
    return with_intervals(pd.DataFrame(rows), "nats")


def senses(layers, seeds, objectives):
    """Of every seed; neighbors share more from layer to layer, and fewest beside other tokens."""
    rows = [
        {
            **{"objective": objective, "seed": seed, "layer": layer, "property": name, "k": 5},
            "value": (0.02 + 0.1 * layer / layers + 0.01 * seed) * share,
            **{"chance": 0.45, "n": 40 - at, "n_needed": 5},
        }
        for objective, seed, layer in itertools.product(objectives, seeds, range(layers + 1))
        for at, (name, share) in enumerate(
            {"translation": 1.0, "right_token": 0.8, "translation_apart": 0.5}.items()
        )
    ]
    return with_intervals(pd.DataFrame(rows), "value")


def geometry(layers, seeds, objectives):
    """Of every seed; sentences are less of a line and more of a crowd from layer to layer, and each
    null is a step beyond."""
    rows = []
    for objective, seed, layer in itertools.product(objectives, seeds, range(layers + 1)):
        depth, other = layer / layers, objectives.index(objective) + 0.1 * seed
        values = {
            "matrix_entropy": (0.9 - 0.3 * depth - 0.02 * other, 0.95, 100),
            "curvature_degrees": (118 - 4 * depth - 0.2 * other, 120.0, 90),
            "intrinsic_dimension": (2 + 8 * depth + other, 56.0, 3000),
            "effective_rank": (110 - 10 * depth - 3 * other, 127.0, 10_000),
        }
        rows += [
            {
                "objective": objective,
                "seed": seed,
                "layer": layer,
                "measure": measure,
                "value": value,
                "null": null - 0.01 * depth,
                "n": n,
                "n_needed": 1,
            }
            for measure, (value, null, n) in values.items()
        ]
    return with_intervals(pd.DataFrame(rows), "value")


def context(layers, seeds, objectives):
    """Of the first seed, every place by both estimators: what is known of the own token falls, what
    context adds falls with the distance and rises with the layer."""
    rows = []
    places = [*(f"{place:+d}" if place else "0" for place in range(-4, 5)), "anywhere"]
    quantities = ("information", "by_token", "added")
    for objective, layer, estimator, place, quantity in itertools.product(
        objectives, range(layers + 1), ("classifier", "clusters"), places, quantities
    ):
        depth = layer / layers
        far = 9 if place == "anywhere" else abs(int(place))
        by_token = 3 - 0.1 * depth if place == "0" else 0.2 / far
        added = 0.0 if place == "0" else (0.5 + depth + 0.01 * objectives.index(objective)) / far
        values = {"information": by_token + added, "by_token": by_token, "added": added}
        rows.append(
            {
                "objective": objective,
                "seed": seeds[0],
                "layer": layer,
                "estimator": estimator,
                "place": place,
                "quantity": quantity,
                "nats": values[quantity] - 0.1 * (estimator == "clusters"),
                "shuffled_nats": None if quantity == "added" else 0.05,
                "entropy_nats": 3.9,
                "n_occurrences": 16_000 if estimator == "clusters" else 8_000,
                "n_labels": 100,
            }
        )
    return with_intervals(pd.DataFrame(rows), "nats")


def attention_patterns(layers, seeds, objectives):
    """Two heads of each layer, by weight and by norm: the second has twice as much; repeated tokens
    have a baseline; causal models have no next token and no special one."""
    of_text = ["special", "punctuation", "previous", "itself", "next", "entropy_nats", "position"]
    repeated = ["duplicate", "next_of_earlier", "previous_of_earlier"]
    rows = []
    for objective, seed, layer, head, by, quantity in itertools.product(
        *(objectives, seeds, range(1, layers + 1), (1, 2), ("weight", "norm")),
        [*of_text, "sink", *repeated],
    ):
        causal = objective in ("lm", "untrained_causal")
        if causal and quantity in ("special", "next"):
            continue
        value = 0.01 * (1 + objectives.index(objective)) + 0.002 * layer + 0.0005 * seed
        rows.append(
            {
                **{"objective": objective, "seed": seed, "attention": "encoder", "layer": layer},
                **{"head": head, "by": by, "quantity": quantity},
                "value": value * head * (0.5 if by == "norm" else 1),
                "uniform": 2.5 + causal if quantity == "entropy_nats" else 0.04 + 0.08 * causal,
                "baseline": 0.01 * head if quantity in repeated else float("nan"),
                "n": 900 + head,
                "pattern": "heterogeneous",
            }
        )
    return with_intervals(pd.DataFrame(rows), "value")


def pwcca_between_layers(layers, seeds, objectives):
    """Consecutive layers, and the first with the last, which no figure shows."""
    rows = []
    steps = [(layer, layer + 1) for layer in range(layers)] + [(0, layers)] * (layers > 1)
    for objective, seed, (a, b), variant, weights in itertools.product(
        objectives, seeds, steps, ("definition", "svcca-2019"), "xy"
    ):
        rows.append(
            {
                "objective": objective,
                "seed": seed,
                "layer_a": a,
                "layer_b": b,
                "variant": variant,
                "weights": weights,
                "distance": (0.3 if a == 0 else 0.08 + 0.005 * b)
                + 0.01 * len(objective)
                + 0.004 * seed
                + (0.02 if weights == "y" else 0),
                "n_occurrences": 100_000,
            }
        )
    return with_intervals(pd.DataFrame(rows), "distance")


def of_groups(layers, seeds, objectives):
    """Each group of both groupings at each of `layers`, at an ever lower distance, and matched at
    distances half as far from each other; seven values without a block, a hundredth apart."""
    groups = [("frequency_rank", name) for name in RANKS] + [("pos", name) for name in TAGS]
    rows = [
        {
            "objective": objective,
            "seed": seed,
            "grouping": grouping,
            "group": group,
            "matching": matching,
            "layer": layer,
            "distance": (0.02 + share * len(group) + 0.0003 * seed) / layer,
        }
        for objective, seed, (grouping, group), layer, (matching, share) in itertools.product(
            objectives, seeds, groups, layers, [("published", 0.001), ("matched", 0.0005)]
        )
    ]
    return with_intervals(pd.DataFrame(rows), "distance")


def change(layers, seeds, objectives):
    """Change at every step, also the first, out of the embeddings."""
    table = of_groups(range(1, layers + 1), seeds, objectives)
    steps = {"layer_a": table["layer"] - 1, "layer_b": table["layer"]}
    return table.drop(columns="layer").assign(**steps, n_occurrences=2_000)


def influence(layers, seeds, objectives):
    """Influence at every layer, many times as much at the first."""
    table = of_groups(range(1, layers + 1), seeds, objectives)
    first = table["layer"] == 1
    for column in ("distance", "ci_low", "ci_high", "without"):
        table.loc[first, column] *= 20
    return table.assign(n_occurrences=9_000, n_sentences=300 + 100 * table["group"].str.len())


def neighbors(layers, seeds, objectives):
    """Every property at every layer; of the token, far above chance."""
    rows = [
        {
            "objective": objective,
            "seed": seed,
            "layer": layer,
            "property": name,
            "metric": "cosine",
            "k": 50,
            "value": {"token": 0.99, "position": 2.0}.get(name, 0.5)
            - 0.02 * layer
            + 0.001 * seed
            + 0.01 * PROPERTIES.index(name),
            "chance": CHANCE.get(name, 0.3),
            "n_occurrences": 10_000,
            "n_tokens": 20,
            "ccg_source": "derived",
        }
        for objective, seed, layer, name in itertools.product(
            objectives, seeds, range(layers + 1), PROPERTIES
        )
    ]
    return with_intervals(pd.DataFrame(rows), "value")


def projection(layers, seeds, objectives):
    """Every picture at every layer; MLM has masked occurrences in that of the tokens."""
    pictures = {"token": ["is", "are"], "position": ["it"], "ccg": ["is"]}
    rng = np.random.default_rng(0)
    parts = []
    for objective, seed, (picture, words), layer in itertools.product(
        objectives, seeds, pictures.items(), range(layers + 1)
    ):
        kinds = ["plain", "masked"] if (objective, picture) == ("mlm", "token") else ["plain"]
        for word, kind in itertools.product(words, kinds):
            n = 45 if kind == "plain" else 12
            occurrence = np.arange(n)
            part = {"objective": objective, "seed": seed, "picture": picture, "layer": layer}
            part |= {"x": rng.normal(size=n), "y": rng.normal(size=n), "token": word, "kind": kind}
            # Nine of the first category, eight of the second, and so on to one of the last.
            place = np.searchsorted(np.cumsum(range(9, 0, -1)), occurrence, side="right")
            part |= {"position": occurrence, "ccg": np.array(CATEGORIES)[place]}
            parts.append(pd.DataFrame(part | {"ccg_source": "derived", "sentence": occurrence}))
    return pd.concat(parts, ignore_index=True)


def word_order(layers, seeds, objectives):
    """Of every seed; a quarter moves with each layer, less in windows, and predictions follow."""
    parts = {
        **{
            (order, "all"): 1 / n for n, order in enumerate(("shuffled", "within_4", "within_2"), 1)
        },
        **{("moved", part): 0.1 for part in ("itself", "before", "between", "after")},
        **{("cut", str(left)): 1 / (1 + left) for left in (0, 1, 2, 4, 8)},
    }
    rows = [
        {
            **{"objective": objective, "seed": seed, "order": order, "part": part},
            **{"quantity": "distance", "layer": layer, "n": 9000},
            "value": share * (0.2 + layer / layers / 4 + 0.01 * seed),
        }
        for objective, seed in itertools.product(objectives, seeds)
        for (order, part), share in parts.items()
        for layer in range(layers + 1)
    ]
    rows += [
        {
            **{"objective": objective, "seed": seed, "order": order, "part": "all"},
            **{
                "quantity": "loss_nats",
                "layer": np.nan,
                "n": 8000,
                "value": 2 - n / 2 + 0.1 * seed,
            },
        }
        for objective, seed in itertools.product(objectives, seeds)
        for n, order in enumerate(("shuffled", "within_2", "within_4", "moved"))
        if objective != "untrained"
    ]
    return with_intervals(pd.DataFrame(rows), "value")


def bertscore(layers, seeds, objectives):
    """Of every seed; a layer tells the more the higher it is, centered a tenth less."""
    by_tokens = {"translation": 0.5, "replaced": 0.9, "dropped": 0.95, "reordered": np.nan}
    rows = [
        {
            **{"objective": objective, "seed": seed, "pairs": pairs, "layer": layer},
            **{"centered": centered, "by_tokens": of_tokens, "n": 1000 - at},
            "value": 0.5 + 0.05 * layer / layers + 0.01 * seed + 0.05 * at - 0.1 * centered,
        }
        for objective, seed, layer in itertools.product(objectives, seeds, range(layers + 1))
        for at, (pairs, of_tokens) in enumerate(by_tokens.items())
        for centered in (False, True)
    ]
    return with_intervals(pd.DataFrame(rows), "value")


def with_intervals(table, value):
    """`table` with an interval a tenth as wide as each value, and its values without blocks."""
    if table.empty:  # a study without two runs to compare
        return table
    without = [of * (1 + 0.01 * APART) for of in table[value]]
    some = table[value].where(table[value] > 0)  # an interval has a width
    return table.assign(ci_low=0.95 * some, ci_high=1.05 * some, without=without)


@pytest.fixture
def of_two_runs():
    """A function: the interval of the mean of two runs' values as from `with_intervals`, by run."""

    def interval(values, low=0.0, high=1.0):
        middle = np.mean(values)
        # Six of seven blocks move the mean: by a hundredth to three of it, either way.
        of_text = 5 / 6 * (1 + 4 + 9) * 2 * (0.01 * middle) ** 2
        # Student's t with the one degree of freedom of two runs.
        half = 12.706205 * np.sqrt(of_text + np.var(values, ddof=1) / 2)
        return pytest.approx((max(low, middle - half), min(high, middle + half)), rel=1e-6)

    return interval


@pytest.fixture
def require_means(of_two_runs):
    """A function: assert that the points of a panel are the means over the two runs of each
    objective by layer, of rows as from `with_intervals`, with their intervals."""

    def check(panel, rows, low, high):
        assert set(panel["series"]) == {"lm", "mlm", "mt", "untrained"}
        for objective, of in rows.groupby("objective"):
            drawn = panel[panel["series"] == objective]
            by_layer = of.groupby("layer")["value"]
            assert [*drawn["x"]] == [*range(7)] and (drawn["runs"] == 2).all()
            assert [*drawn["y"]] == pytest.approx([*by_layer.mean()])
            for (_, runs), (_, point) in zip(by_layer, drawn.iterrows(), strict=True):
                assert (point["low"], point["high"]) == of_two_runs(runs, low, high)

    return check


ALSO_UNKNOWN = ("lm", "electra", "untrained", "untrained_causal")


@pytest.fixture
def require_others():
    """A function: assert that a figure shows and names all of `ALSO_UNKNOWN`."""

    def check(figure, points, interval):
        assert set(points["series"]) == set(ALSO_UNKNOWN)
        labels = [text.get_text() for text in figure.legends[0].get_texts()]
        assert labels == ["LM", "electra", "untrained", "untrained, causal mask", interval]
        figure.draw_without_rendering()

    return check


def metrics(objective, seed):
    """Metrics of one run: train loss at every line, dev loss at every second."""
    tokens = 40_000 * np.arange(1, 61) * (3 if objective == "mlm" else 1)
    noise = np.random.default_rng(seed).normal(0, 0.08, len(tokens))
    loss = 3.2 + 5 * np.exp(-tokens / 8e5) + 0.05 * seed
    return pd.DataFrame(
        {
            "step": np.arange(1, 61) * 20,
            "tokens": tokens,
            "train_loss_nats": loss + noise,
            "dev_loss_nats": np.where(np.arange(60) % 2, loss + 0.1, np.nan),
            "learning_rate": 1e-3,
        }
    )


def corpus_tables():
    """`cleaning`, `splits` and `frequencies`."""
    steps = {"read": 0, "normalization": 0, "empty": 120, "untranslated": 900, "duplicates": 9_400}
    steps |= {"length": 2_300, "length_ratio": 210}
    dropped = pd.Series(steps, name="dropped")
    remaining = 40_000 - dropped.cumsum()
    return {
        "cleaning": pd.DataFrame(
            {
                "origin": "help",
                "step": dropped.index,
                "dropped": dropped.to_numpy(),
                "remaining": remaining.to_numpy(),
                "share_dropped": (dropped / (remaining + dropped)).to_numpy(),
            }
        ),
        "splits": pd.DataFrame(
            {
                "split": ["train", "dev", "test"],
                "origin": "help",
                "documents": [1500, 60, 300],
                "pairs": [21_800, 860, 4_300],
                "source_words": [375_000, 15_100, 75_200],
                "target_words": [352_000, 14_000, 70_300],
                "dropped_repeats": [62, 0, 0],
                "dropped_near_duplicates": [0, 32, 268],
            }
        ),
        "frequencies": pd.DataFrame(
            {
                "token_id": np.arange(4, 4004),
                "token": [f"t{rank}" for rank in range(4000)],
                "count": (30_000 / np.arange(1, 4001)).astype(int) + 1,
                "rank": np.arange(1, 4001),
            }
        ),
    }


@cache
def measured(layers, seeds, objectives):
    """All tables of a study by name."""
    size = (layers, seeds, objectives)
    made = (
        *(mutual_information, pwcca_between_runs, pwcca_between_layers, similarity_between_runs),
        *(isotropy, context, geometry, senses, exact, word_order, bertscore, attention_patterns),
        *(change, influence, neighbors, projection),
    )
    return {table.__name__: table(*size) for table in made} | corpus_tables()


@pytest.fixture(scope="session")
def study():
    """A function: the tables of a study with these layers, seeds and objectives."""

    def tables(layers=6, seeds=(1, 2), objectives=(*TRAINED, "untrained")):
        made = measured(layers, tuple(seeds), tuple(objectives))
        return {name: table.copy() for name, table in made.items()}

    return tables


@pytest.fixture(scope="session")
def points_of(study):
    """A function: the points that a function draws of this study, drawn once."""
    return cache(lambda draw: draw(study())[1])


@pytest.fixture
def nothing_cut_off():
    """A function: assert that every point of every curve of a figure lies within its axes."""

    def check(figure):
        for axes in figure.axes:
            low, high = sorted(axes.get_ylim())
            for line in axes.get_lines():
                drawn = np.asarray(line.get_ydata(), dtype=float)
                assert ((low <= drawn) & (drawn <= high)).all(), axes.get_title("left")

    return check


@pytest.fixture
def runs():
    """A function: the metrics of these trained runs, named `objective-seed`."""

    def tables(objectives=TRAINED, seeds=(1, 2)):
        return {
            f"{objective}-{seed}": metrics(objective, seed)
            for objective, seed in itertools.product(objectives, seeds)
        }

    return tables
