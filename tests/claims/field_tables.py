"""Tables in which the sentences of the field are true, turned round, or nothing."""

from itertools import combinations, product

import numpy as np
import pandas as pd

from bottomup.claims.published import exact

TRAINED, UNTRAINED = ("lm", "mlm", "mt"), ("untrained", "untrained_causal")
MODELS = (*TRAINED, *UNTRAINED)
LAYERS, HEADS = 6, 2
STEPS = 2 ** np.arange(8)


def frames(seeds=(1, 2, 3), size=1.0, resting=None):
    """The tables of these seeds. size: of all effects, 1 as published and -1 the other way round;
    resting: of the attention on special tokens, by default the same."""
    of_run = {
        "geometry": geometry(size),
        "attention_patterns": attention(size, size if resting is None else resting),
        "isotropy": isotropy(size),
        "probes": probes(size),
        "structural_probe": trees(size),
        "agreement": agreement(size),
        "word_order": word_order(size),
        "bertscore": bertscore(size),
        "stitching": stitching(size),
        "pwcca_between_layers": steps_of_layers(size),
    }
    found = {
        name: pd.concat([frame.assign(seed=seed) for seed in seeds], ignore_index=True)
        for name, frame in of_run.items()
    }
    found["attention_patterns"] = unstable(found["attention_patterns"], size)
    found["dictionary"] = features(size, seeds)
    found["pwcca_between_runs"] = pd.concat([switched(size, seed) for seed in seeds])
    found = {name: frame.reset_index(drop=True) for name, frame in found.items()}
    return {name: without_documents(exact(frame)) for name, frame in found.items()}


def without_documents(frame):
    """On repeated tokens nothing hangs on documents."""
    if "quantity" not in frame:
        return frame
    of_text = ~frame["quantity"].str.endswith("_of_earlier")
    nothing = [np.full(len(row), np.nan) for row in frame["without"]]
    return frame.assign(without=frame["without"].where(of_text, pd.Series(nothing)))


def over_layers(values, below, **columns):
    """A row for each layer: of the embeddings `below`, then bottom, middle and top third."""
    curve = [below, *np.repeat(values, LAYERS // 3)]
    return pd.DataFrame({"layer": range(LAYERS + 1), "value": curve}).assign(**columns)


def rising(later=0.0):
    """A share after each of `STEPS` updates: it rises from the third step on in two equal steps,
    `later` by so many doublings, and by 0.4 in all."""
    return 0.4 * np.clip((np.log2(STEPS) - 2 - later) / 2, 0, 1)


def geometry(size):
    flat = {name: (120.0, 0.8, 5.0) for name in MODELS}
    parts = []
    for name, (angle, entropy, dimension) in flat.items():
        of_lm = size * (name == "lm")
        curves = {
            "curvature_degrees": (angle, angle - 2.5 * of_lm, angle - 5 * of_lm),
            "matrix_entropy": (entropy, entropy - 0.1 * of_lm, entropy),
            "intrinsic_dimension": (dimension, dimension * 2.0**of_lm, dimension),
        }
        parts += [
            over_layers(curve, 1.0, objective=name, measure=measure, n=9, n_needed=1)
            for measure, curve in curves.items()
        ]
    return pd.concat(parts)


def attention(size, resting):
    """A row for each head of a layer, all of them alike but one that is an induction head."""
    rows = []
    for name, layer, head in product(MODELS, range(1, LAYERS + 1), range(1, HEADS + 1)):
        trained, above = name in TRAINED, layer > 2
        special = 0.6 + 0.5 * resting * (trained and above)
        best = 0.5 * size * (name == "lm" and layer == 4 and head == 2)
        by_weight = {
            "special": special,
            "entropy_nats": 3 - 0.5 * size * (name == "mlm" and above),
            "sink": 0.3 + 0.2 * size * (name == "lm"),
            "next_of_earlier": 0.3 + best * (best > 0),
            "previous_of_earlier": 0.3 - best * (best < 0),
            **dict.fromkeys(("punctuation", "previous", "itself", "position"), 0.2),
        }
        by_norm = {"special": special * 2.0 ** (-size * trained)}
        place = {"objective": name, "attention": "encoder", "layer": layer, "head": head}
        rows += [
            place | {"by": by, "quantity": quantity, "value": value, "uniform": 0.6}
            for by, values in (("weight", by_weight), ("norm", by_norm))
            for quantity, value in values.items()
        ]
    return pd.DataFrame(rows).assign(baseline=0.1, n=9)


def unstable(frame, size):
    """Each seed of LM has a quantity that is larger in the middle layers (or in all others), so
    that each two seeds are as far apart there; and, since nothing else tells of other runs, another
    induction head."""
    in_middle = frame["layer"].isin([3, 4]) == (size > 0)
    own = frame["seed"].map({1: "punctuation", 2: "previous", 3: "itself"})
    there = (frame["objective"] == "lm") & in_middle & (frame["quantity"] == own)
    repeated = frame["quantity"].str.endswith("_of_earlier")
    best = repeated & (frame["value"] > 0.3)
    moved = 0.05 / 2**0.5 * abs(size) * there + 1e-4 * (frame["seed"] - 2) * best
    return frame.assign(value=frame["value"] + moved)


def isotropy(size):
    parts = []
    for name in MODELS:
        trained = name in ("lm", "mlm")
        cone = 0.5 + size * (0.2 if trained else 0.4)
        alike = 0.6 - size * trained * np.array([0, 0.1, 0.2])
        curves = {"anisotropy": (False, (0.5, cone, cone)), "self_similarity": (True, alike)}
        parts += [
            over_layers(curve, 0.5, objective=name, measure=measure, adjusted=adjusted)
            for measure, (adjusted, curve) in curves.items()
        ]
    raw = pd.concat(parts).assign(version="raw")
    return pd.concat([raw, raw.assign(version="centered", value=0.9)])


def probes(size):
    """Accuracies with a mean of 0.887 (LM and MLM), 0.837 (MT) and 0.662 (untrained); at steps of
    LM, and later by a doubling of MLM, they rise."""
    known = {"lm": 0.887, "mlm": 0.887, "mt": 0.837} | dict.fromkeys(UNTRAINED, 0.662)
    known |= {"denoising": 0.787, "tlm": 0.887, "lm_then_mlm": 0.937}
    parts = [
        over_layers([accuracy] * 3, 0.1, objective=f"{name}_step{step}").assign(
            task="tag", metric="accuracy"
        )
        for name, later in (("lm", 0), ("mlm", size))
        for step, accuracy in zip(STEPS, 0.3 + rising(later), strict=True)
    ]
    for name, accuracy in known.items():
        mean = 0.7 + size * (accuracy - 0.7)
        falls = size * (name in ("lm", "mlm"))
        curve = mean + falls * np.array([0.013, 0.013, -0.026])
        untrained = 0.7 + size * (0.662 - 0.7)
        compression = 3 * curve / untrained * np.exp(0.25 * size * (name in TRAINED))
        of = {"objective": name, "task": "tag"}
        parts.append(over_layers(curve, 0.1, metric="accuracy", **of))
        parts.append(over_layers(compression, 0.1, metric="compression", **of))
        later = 0.6 * size * (name == "mlm")
        parts += [
            pd.DataFrame([of | {"task": task, "metric": "expected_layer", "value": layer}])
            for task, layer in (("tag", 2.0), ("relation", 2.0 + later))
        ]
    return pd.concat(parts)


def trees(size):
    curves = {name: np.full(3, 0.4 + 0.1 * size) for name in TRAINED}
    curves["mlm"] = 0.4 + size * np.array([0.05, 0.1, 0.05])
    curves |= {name: np.full(3, 0.4 - 0.1 * size) for name in UNTRAINED}
    curves |= {
        f"mlm_step{step}": np.full(3, share)
        for step, share in zip(STEPS, 0.2 + rising(), strict=True)
    }
    parts = [over_layers(curve, 0.1, objective=name) for name, curve in curves.items()]
    return pd.concat(parts).assign(metric="uuas", n=400, n_needed=100)


def agreement(size):
    rows = []
    for name in ("lm", "mlm", *UNTRAINED):
        trained = size * (name in TRAINED)
        right = {
            ("model", "verb", "0"): 0.5 + 0.2 * trained,
            ("model", "verb", "1+"): 0.5 + 0.45 * trained * (name == "mlm"),
            ("model", "sentence", "all"): 0.5 + 0.198 * trained,
            ("model", "verb", "all"): 0.5 + 0.2 * trained,
            ("5-grams", "sentence", "all"): 0.5,
        }
        rows += [
            {"objective": name, "by": by, "score": score, "attractors": between, "accuracy": value}
            for (by, score, between), value in right.items()
        ]
    others = dict.fromkeys(("lm_with_mlm", "lm_with_mlm_as_lm"), 0.5 + (0.2 + 0.05) * size)
    others |= {
        f"mlm_step{step}": share for step, share in zip(STEPS, 0.5 + rising(size), strict=True)
    }
    of_verbs = {"by": "model", "score": "verb", "attractors": "all"}
    rows += [{"objective": name, "accuracy": of, **of_verbs} for name, of in others.items()]
    return pd.DataFrame(rows).assign(number="both", n=500)


def word_order(size):
    parts = []
    for name, part in product(MODELS, ("before", "between", "after")):
        place = 0.2 * (part == "between")
        falls = size * np.array([0.05, 0.025, 0]) * (name == "mlm" and part == "between")
        parts.append(over_layers(0.01 + place + falls, 0.3, objective=name, part=part))
    moved = pd.concat(parts).assign(order="moved", quantity="distance")
    losses = {"shuffled": 0.4, "within_4": 0.2 + 0.1 * size}
    above = pd.DataFrame(losses.items(), columns=["order", "value"])
    return pd.concat([moved, above.assign(objective="lm", quantity="loss_nats", part="all")])


def bertscore(size):
    told = {name: np.full(3, 0.5) for name in MODELS}
    told["mlm"] = 0.5 + size * np.array([0, 0, 0.05])
    raw = pd.concat([over_layers(curve, 0.5, objective=name) for name, curve in told.items()])
    both = pd.concat([raw.assign(centered=False), raw.assign(centered=True, value=0.9)])
    return pd.concat([both.assign(pairs="translation"), both.assign(pairs="dropped", value=0.8)])


def stitching(size):
    """From another seed 0.5 nats; an untrained network costs 0.1 more, LM and MT 0.15 more in each
    other, and MLM the mean of 0.1 with one of these."""
    more = dict.fromkeys(product(TRAINED, UNTRAINED), 0.1) | {(name, name): 0 for name in TRAINED}
    more |= {("lm", "mt"): 0.15, ("mt", "lm"): 0.15, ("lm", "mlm"): 0.05, ("mt", "mlm"): 0.05}
    more |= {("mlm", "lm"): 0.1, ("mlm", "mt"): 0.1}
    rows = [
        {"objective": name, "from_objective": other, "layer": layer, "value": 0.5 + size * of}
        for (name, other), of in more.items()
        for layer in (2, 4, 6)
    ]
    fits = pd.DataFrame(rows).assign(fit="loss")
    return pd.concat([fits, fits.assign(fit="least_squares", value=2.0)])


def steps_of_layers(size):
    """The lowest of five steps is smaller under diffusion, by 0.03 more than the mean is."""
    names = ("lm", "diffusion", *UNTRAINED)
    rows = [
        {"objective": name, "layer_a": layer, "layer_b": layer + 1, "distance": 0.3}
        for name, layer in product(names, range(LAYERS))
    ]
    frame = pd.DataFrame(rows)
    lowest = (frame["objective"] == "diffusion") & (frame["layer_a"] == 1)
    return frame.assign(distance=frame["distance"] - lowest * size * 0.03 / 0.8)


def switched(size, seed):
    """A model that learned LM, then MLM, is nearer to LM of its seed than to MLM."""
    frame = pd.DataFrame({"layer": range(LAYERS + 1)}).assign(objective_a="lm_then_mlm")
    distances = {"mlm": 0.3 + 0.03 * size, "lm": 0.3}
    both = [frame.assign(objective_b=name, distance=of) for name, of in distances.items()]
    return pd.concat(both).assign(seed_a=seed, seed_b=seed)


def features(size, seeds):
    """Two objectives with one seed are 0.05 less equal than two seeds of one."""
    runs = combinations(product(TRAINED, seeds), 2)
    rows = [
        {"objective_a": a, "seed_a": seed_a, "objective_b": b, "seed_b": seed_b}
        | {"layer": layer, "value": 0.1 + 0.05 * size * (a != b)}
        for (a, seed_a), (b, seed_b) in runs
        for layer in (3, 6)
        if (a == b) != (seed_a == seed_b)
    ]
    unequal = pd.DataFrame(rows).assign(measure="imbalance")
    return pd.concat([unequal, unequal.assign(measure="dead", value=0.9)])
