# What the rules share: names, inputs that depend on wildcards, and what jobs need to run.

import re

from bottomup.heads import GATED
from bottomup.workflow.slices import READINGS, SIDES, Slices, objective_and_half

SLICES = Slices(STUDY)
SPLITS = ["train", "dev", "test"]
ARRAYS = ["ids", "offsets", "words"]  # of a token file
LAYERS = range(STUDY.model.layers + 1)  # 0 is token embedding + position
MEASURES = {  # by table, the parts that it is collected from
    "quality": SLICES.runs(SLICES.trained),
    "mutual_information": SLICES.readings(),
    "pwcca_between_layers": SLICES.runs(SLICES.compared),
    "pwcca_between_runs": list(SLICES.pairs_of_runs()),
    "change": SLICES.runs(SLICES.compared),
    "influence": SLICES.runs(SLICES.by_noise),
    "neighbours": SLICES.runs(SLICES.by_mask),
    "projection": [f"{name}-{STUDY.seeds[0]}" for name in SLICES.compared],
    "head_importance": SLICES.runs(SLICES.compared),
    "head_functions": SLICES.runs(SLICES.by_noise),
    "gates": SLICES.pruned_runs(),
    "pruning": SLICES.whole_runs() + SLICES.pruned_runs(),
    "pruned_functions": [run for run in SLICES.pruned_runs() if ".gates_" in run],
}
PRUNED = "<results>/pruned/{objective}-{seed}/{attention}/{method}_{penalty}"
PRUNED_RUN = "{objective}-{seed}.{attention}.{method}_{penalty}"
# A narrow model waits for a GPU longer than it fills it.
GPUS = 1 if STUDY.model.d_model >= 256 else 0


wildcard_constraints:
    objective="|".join(SLICES.objectives + SLICES.halves),
    seed=r"\d+",
    reading="|".join(READINGS),
    side="|".join(SIDES),
    split="|".join(SPLITS),
    attention="|".join(map(re.escape, GATED)),
    method="none|gates|scratch|random|confidence|relevance|gradient",
    penalty=r"\d[\d.e+-]*",


def tokens_of(splits, objective):
    """Token files of the sides that the objective reads or predicts."""
    return expand(
        "<results>/corpus/tokens/{split}.{side}/{array}.npy",
        split=splits,
        side=SLICES.sides(objective),
        array=ARRAYS,
    )


def tokenizers_of(objective):
    return expand(
        "<results>/corpus/tokenizer.{side}.json", side=SLICES.sides(objective)
    )


def training_tokens(wildcards):
    return tokens_of(["train", "dev"], wildcards.objective)


def dev_tokens(wildcards):
    return tokens_of(["dev"], wildcards.objective)


def test_tokens(wildcards):
    return tokens_of(["test"], wildcards.objective)


def translation(wildcards):
    """What translations are compared with, where the objective makes any."""
    if "target" not in SLICES.sides(wildcards.objective):
        return []
    return ["<results>/corpus/test.parquet", "<results>/corpus/tokenizer.target.json"]


def plain_views(run):
    """The layers of a run, read without corruption."""
    return expand(
        "<results>/views/{run}/plain/layer_{layer}.npy",
        run=run,
        layer=LAYERS,
        allow_missing=True,
    )


def masked_views(wildcards):
    """The layers of a run as it read masked words, where it was trained to."""
    run = f"{wildcards.objective}-{wildcards.seed}"
    if f"{run}.as_trained" not in SLICES.readings():
        return []
    return expand(f"<results>/views/{run}/as_trained/layer_{{layer}}.npy", layer=LAYERS)


def masked_occurrences(wildcards):
    return (
        ["<results>/occurrences/as_trained/occurrences.parquet"]
        if masked_views(wildcards)
        else []
    )


def chosen_by(wildcards):
    """What tells how many heads to keep, and which, where gates are not to find out."""
    if wildcards.method == "gates":
        return []
    gates = (
        "<results>/measures/gates/{objective}-{seed}.{attention}.gates_{penalty}.csv"
    )
    if wildcards.method in ("scratch", "random"):
        return [gates]
    return [gates, "<results>/measures/head_importance/{objective}-{seed}.csv"]


def pruned_or_whole(file):
    """A file of a pruned run, or of the run itself under the method none."""

    def path(wildcards):
        run = "<results>/runs/{objective}-{seed}"
        return f"{run if wildcards.method == 'none' else PRUNED}/{file}"

    return path


def parts_ending(ending):
    """The parts that a table is collected from."""

    def paths(wildcards):
        return [
            f"<results>/measures/{wildcards.measure}/{part}{ending}"
            for part in MEASURES[wildcards.measure]
        ]

    return paths


def memory(base_mb, per_input_mb):
    """Memory in MB of a job that holds its input, more at each new attempt."""

    def mem_mb(wildcards, input, attempt):
        return int(attempt * (base_mb + per_input_mb * input.size_mb))

    return mem_mb


def minutes(base, per_input_mb):
    """Minutes of a job that goes through its input, more at each new attempt."""

    def runtime(wildcards, input, attempt):
        return int(attempt * (base + per_input_mb * input.size_mb))

    return runtime


def training_threads(wildcards):
    """A share of the cores for each run, so that all train side by side; 4 on a cluster."""
    if workflow.nodes is not None or workflow.remote_exec:
        return 4
    return max(1, workflow.cores // len(SLICES.runs(SLICES.trained + SLICES.halves)))


def pruning(wildcards):
    """How a run with fewer heads is trained."""
    if wildcards.method == "scratch":
        return STUDY.scratch_training(wildcards.objective)
    return STUDY.pruning_training(wildcards.objective)


def pruning_minutes(wildcards, attempt):
    return training_minutes(wildcards.objective, pruning(wildcards), wildcards, attempt)


def training_minutes(objective, training, wildcards, attempt):
    """Operations of the whole budget at a speed that any core or GPU reaches, and half an hour."""
    model, budget = STUDY.model, training.max_tokens
    layers = 12 * model.layers * model.d_model**2
    output = STUDY.corpus.bpe.merges * model.d_model
    parameters = (layers + output) * len(SLICES.sides(objective))
    speed = 1e13 if GPUS else 5e9  # operations a second
    return 30 + int(attempt * 6 * parameters * budget / speed / 60)
