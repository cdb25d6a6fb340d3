# Shared by the rules: names, inputs that depend on wildcards, and the resources of jobs.

import os
from contextlib import suppress
from functools import partial

from bottomup.core import names
from bottomup.core.names import PAIR, READING, RUN
from bottomup.corpus.reference import notice, settings_of
from bottomup.plan import progress
from bottomup.plan.study import tables
from bottomup.plan.slices import Slices
from bottomup.plan.subjects import READINGS, SIDES, exactly

SLICES = Slices(STUDY)
SUBJECTS = SLICES.subjects
SPLITS = ["train", "dev", "test"]
ARRAYS = ["ids", "offsets", "words"]  # of a token file
# The unit of an occurrence, and the frequencies of these units.
ROWS = "words" if STUDY.occurrences.unit == "word" else "plain"
FREQUENCIES = {
    "words": "<results>/corpus/word_frequencies.csv",
    "plain": "<results>/corpus/frequencies.csv",
}
# What is measured, a table for each module of bottomup/tables; and, by table, the parts from which
# it is collected. Pruning writes its gates by itself.
TABLES = {name: module.TABLE for name, module in tables().items()}
MEASURES = {name: table.parts(SUBJECTS) for name, table in TABLES.items()}
MEASURES["gates"] = SUBJECTS.pruned_runs() + SUBJECTS.pruned_checkpoints()
WHOLE = f"<results>/runs/{RUN}"
PRUNED = f"<results>/pruned/{RUN}/{{attention}}/{{method}}_{{penalty}}"
# Those that the config names, and of which the study has nothing.
IN_VAIN = [name for name in STUDY.only if not MEASURES[name]]
MEASURES |= dict.fromkeys(STUDY.left_out(), [])
# Those that are collected to one table.
COLLECTED = [
    name
    for name, parts in MEASURES.items()
    if parts and (name == "gates" or "csv" in TABLES[name].writes)
]
# What is known of the words of the test split.
KNOWN = STUDY.known_of_words()
ANNOTATION = ["<results>/corpus/annotation.parquet"] if KNOWN else []
# The size of the views under one reading, of the largest model, in float16 or more.
VIEWS_MB = (
    STUDY.occurrences.n
    * max(
        (shape.layers + 1) * shape.d_model for shape in [STUDY.model, *STUDY.shapes()]
    )
    * int(STUDY.views.dtype.removeprefix("float"))
    / 8e6
)
WIDE = 256  # dimensions; a narrower model does not keep a GPU busy
# What `default-resources` says: 0, there are none; 1, also narrow models have one; None, nothing.
GPUS = getattr(
    (workflow.resource_settings.default_resources or {}).get("gpu"), "value", None
)
OF_RUNS = SUBJECTS.wildcards()
CHECKPOINTS = exactly(SUBJECTS.checkpoints)
OURS = exactly(SUBJECTS.objectives)
# What leads to the first headline figure goes first, whatever else is ready: the trainings of the
# first seed, then the text and what is measured of it for that figure.
FIRST = 1000
FIRST_RUNS = SUBJECTS.first_runs(SUBJECTS.compared)


ON_CLUSTER = workflow.nodes is not None or workflow.remote_exec
# On a cluster, small jobs are grouped: all that prepare the text; all that look at one run; and as
# many of those that compare two runs as the profile says.
OF_ONE_RUN = f"look_at_{RUN}"


wildcard_constraints:
    **OF_RUNS,
    objective_a=OF_RUNS["objective"],
    objective_b=OF_RUNS["objective"],
    seed_a=OF_RUNS["seed"],
    seed_b=OF_RUNS["seed"],
    reading=exactly(READINGS),
    drawn=exactly(
        ["plain", "words", *(f"as_trained_{name}" for name in SUBJECTS.masked())]
    ),
    side=exactly([*SIDES, "words"]),
    split=exactly(SPLITS),


def model_in(folder):
    """The files of a model; the first tells where they are."""
    return {
        "model": f"{folder}/model/model.safetensors",
        "config": f"{folder}/model/config.json",
        "tokenizer": f"{folder}/model/tokenizer.json",
        "tokenizer_config": f"{folder}/model/tokenizer_config.json",
    }


# The files of a run, and of a run with fewer heads.
MODEL, PRUNED_MODEL = model_in(WHOLE), model_in(PRUNED)


def tokens_of(splits, sides):
    return expand(
        "<results>/corpus/tokens/{split}.{side}/{array}.npy",
        split=splits,
        side=sides,
        array=ARRAYS,
    )


def of_subject(ours, theirs):
    """The inputs of a job about a run of ours, or about a model that others trained, which has
    tokens of its own: paths, or a function that gives them."""

    def paths(wildcards):
        is_theirs = wildcards.objective in SUBJECTS.checkpoints
        chosen = theirs if is_theirs else ours
        return chosen(wildcards) if callable(chosen) else chosen

    return paths


def pruned_or_whole(pruned, whole):
    """The inputs of a job about a model with fewer heads or, for the method none, with all."""
    return lambda wildcards: whole if wildcards.method == "none" else pruned


def text_of(split):
    """A split as a model reads and predicts it: token files, or text for a checkpoint."""
    return of_subject(
        ours=lambda wildcards: tokens_of([split], SUBJECTS.sides(wildcards.objective)),
        theirs=f"<results>/corpus/{split}.parquet",
    )


def drawn(*files):
    """The occurrences of a reading: each objective with masks has its own draw."""

    def paths(wildcards):
        masked = wildcards.get("reading") == "as_trained"
        folder = f"as_trained_{wildcards.objective}" if masked else ROWS
        return [f"<results>/occurrences/{folder}/{file}" for file in files]

    return paths


def in_turn(table, wildcards):
    """The priority of a job that measures a part of a table, or makes the views for it."""
    if table not in DRAWN_FIRST or wildcards.get("reading") != "plain":
        return 20
    run = names.run(wildcards.objective, wildcards.seed)
    return FIRST if run in FIRST_RUNS else 20


def size_mb(files):
    """The size of files; for views that the same group makes first, the size they will have."""
    there = sum(os.path.getsize(path) for path in files if os.path.exists(path))
    views = sum("/views/" in path for path in files if not os.path.exists(path))
    return there / 1e6 + views * VIEWS_MB


def memory(base_mb, per_input_mb, per_weight_mb=None):
    """Memory in MB for a job that holds its input; more at each new attempt.

    per_weight_mb: for each MB of a model's weights, if these count otherwise than the rest. A model
    in half precision takes three times its file, in float32 and mapped; docs/storage.md has what
    was measured.
    """

    def mem_mb(wildcards, input, attempt):
        weights = [path for path in input if path.endswith(".safetensors")]
        others = [path for path in input if path not in weights]
        per_weight = per_input_mb if per_weight_mb is None else per_weight_mb
        held = per_weight * size_mb(weights) + per_input_mb * size_mb(others)
        return int(attempt * (base_mb + held))

    return mem_mb


def minutes(base, per_input_mb):
    """Minutes for a job that goes through its input; more at each new attempt."""

    def runtime(wildcards, input, attempt):
        return int(attempt * (base + per_input_mb * size_mb(input)))

    return runtime


def gpus(settings, wildcards):
    """One GPU if a job's program can use one and its models are wide enough to keep it busy, or as
    `GPUS` has it.

    All checkpoints count as wide: their width is unknown until they are there, and few published
    ones are narrow.
    """
    known = settings(wildcards) if callable(settings) else settings
    if "bottomup/core/device.py" not in known["code"]:
        return 0
    if GPUS is not None:
        return GPUS
    # The rule of a training is about one objective.
    of_pair = [
        wildcards.get(name) for name in ("objective", "objective_a", "objective_b")
    ]
    subjects = [*of_pair, known.get("objective")]
    return int(any(wide(name) for name in subjects if name))


def wide(subject):
    """Whether the models of a subject keep a GPU busy."""
    if subject in SUBJECTS.checkpoints:
        return True
    return STUDY.objective_shape(names.whole(subject)).d_model >= WIDE


def seconds_and_threads(job):
    """Of a job before any like it has run; a run at a step is kept where its training was."""
    # Asked in a thread: Snakemake may be about to expand them anew.
    settings, rule = (job.params or {}).get("settings", {}), job.rule.name
    of_ours = settings.get("objective") not in SUBJECTS.checkpoints
    if "training" not in settings or rule.endswith("_to_step") or not of_ours:
        return progress.guess(rule, 0, VIEWS_MB), 1
    objective, tokens = settings["objective"], settings["training"]["max_tokens"]
    if "equal" in settings:
        tokens = STUDY.tokens_read(objective, tokens)
    operations = training_operations(objective, tokens)
    threads = training_threads(job.wildcards)
    return progress.guess(rule, operations / threads, VIEWS_MB), threads


def notice_of_text():
    """Whether the text is that of the findings, once it is there."""
    splits = Path(f"results/{STUDY.study}/corpus/splits.csv")
    with suppress(UserError):  # who reads it as a result tells of damage
        return splits.exists() and notice(settings_of(STUDY.corpus), splits)


def notice_of_only():
    """What the config asks for in vain, in a line."""
    return IN_VAIN and (
        f"only: found {', '.join(IN_VAIN)}, of which this study has nothing to measure: left out; "
        "docs/tables.md says what each is about"
    )
