# Shared by the rules: names, inputs that depend on wildcards, and the resources of jobs.

import os
from contextlib import suppress
from functools import partial

from bottomup.core import names
from bottomup.core.names import PAIR, READING, RUN
from bottomup.corpus.reference import said, settings_of
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
# first seed, then what is measured of them for it.
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
MODEL, PRUNED_MODEL = model_in(f"<results>/runs/{RUN}"), model_in(PRUNED)


def files_of_source(wildcards):
    return STUDY.source_options(wildcards.origin).input_files()


def tokens_of(splits, objective):
    """Token files of the sides that the objective reads or predicts."""
    return expand(
        "<results>/corpus/tokens/{split}.{side}/{array}.npy",
        split=splits,
        side=SUBJECTS.sides(objective),
        array=ARRAYS,
    )


def tokenizers_of(objective):
    return expand(
        "<results>/corpus/tokenizer.{side}.json", side=SUBJECTS.sides(objective)
    )


def of_checkpoint(wildcards):
    """Whether a job is about a model that the study did not train, which has its own tokens."""
    return wildcards.objective in SUBJECTS.checkpoints


def text_of(split):
    """A split as a model reads and predicts it: token files, or text for a checkpoint."""

    def files(wildcards):
        if of_checkpoint(wildcards):
            return f"<results>/corpus/{split}.parquet"
        return tokens_of([split], wildcards.objective)

    return files


def stitched_into(wildcards):
    """The files of the models whose states a run goes on from."""
    others = SUBJECTS.stitched_into(wildcards.objective)
    folders = [f"<results>/runs/{other}" for other in others]
    return [path for folder in folders for path in model_in(folder).values()]


def of_pair(path):
    """A file of a run, for both runs of a pair; once for a run with itself."""

    def paths(wildcards):
        runs = [
            (wildcards[f"objective_{side}"], wildcards[f"seed_{side}"]) for side in "ab"
        ]
        return [
            path.format(objective=name, seed=seed) for name, seed in dict.fromkeys(runs)
        ]

    return paths


def held_out_tokens(wildcards):
    """The test split, source side, in sub-words of ours or, for a checkpoint, in words."""
    side = "words" if of_checkpoint(wildcards) else "source"
    return expand(
        "<results>/corpus/tokens/test.{side}/{array}.npy", side=side, array=ARRAYS
    )


def frequencies_of(wildcards):
    """How frequent the units of `held_out_tokens` are."""
    return FREQUENCIES["words" if of_checkpoint(wildcards) else "plain"]


def translation(wildcards):
    """Inputs to compare translations with, if a run translates."""
    tokenizer = target_tokenizer(wildcards)
    if not tokenizer:
        return []
    return ["<results>/corpus/test.parquet", *tokenizer]


def masked_views(wildcards):
    """The views of a run under the reading as_trained, if it was trained with masks."""
    if wildcards.objective not in SUBJECTS.masked():
        return []
    run = names.run(wildcards.objective, wildcards.seed)
    return [f"<results>/views/{run}/{names.AS_TRAINED}.npy"]


def masked_occurrences(wildcards):
    if not masked_views(wildcards):
        return []
    return ["<results>/occurrences/as_trained_{objective}/occurrences.parquet"]


def views_of(wildcards):
    """The views that a part of a table is about: those of one run or of two."""
    if pair := wildcards.get("objective_a"):
        runs = [(pair, wildcards.seed_a), (wildcards.objective_b, wildcards.seed_b)]
    else:
        runs = [(wildcards.objective, wildcards.seed)]
    reading = wildcards.get("reading", "plain")
    return [f"<results>/views/{names.run(*run)}/{reading}.npy" for run in runs]


def drawn(*files):
    """The occurrences of a reading: each objective with masks has its own draw."""

    def paths(wildcards):
        masked = wildcards.get("reading") == "as_trained"
        folder = f"as_trained_{wildcards.objective}" if masked else ROWS
        return [f"<results>/occurrences/{folder}/{file}" for file in files]

    return paths


def chosen_by(wildcards):
    """Inputs that decide how many heads to keep, and which, for every method except gates."""
    if wildcards.method == "gates":
        return []
    gates = (
        "<results>/measures/gates/{objective}-{seed}.{attention}.gates_{penalty}.csv"
    )
    if wildcards.method in ("scratch", "random"):
        return [gates]
    return [gates, "<results>/measures/head_importance/{objective}-{seed}.csv"]


def pruned_or_whole(file):
    """A file of a pruned run, or for the method none of the run itself."""

    def path(wildcards):
        run = "<results>/runs/{objective}-{seed}"
        return f"{run if wildcards.method == 'none' else PRUNED}/{file}"

    return path


def judged(file):
    """A file of the model that stands for one with fewer heads: of a run the smaller one."""

    def path(wildcards):
        if of_checkpoint(wildcards):
            return pruned_or_whole(f"model/{file}")(wildcards)
        return f"{PRUNED}/smaller/{file}"

    return path


def quality_of_whole(wildcards):
    """For the method none, what was measured of the run itself; not measured of checkpoints."""
    whole = wildcards.method == "none" and not of_checkpoint(wildcards)
    return "<results>/measures/quality/{objective}-{seed}.parquet" if whole else []


def metrics_of(wildcards):
    """The metrics of a training: that of the run itself, or of the model with fewer heads."""
    if wildcards.method == "none" and of_checkpoint(wildcards):
        return []
    return pruned_or_whole("metrics.jsonl")(wildcards)


def gates_of_checkpoint(wildcards):
    """Which heads of a checkpoint closed, if it was pruned; the model of a run tells it."""
    if wildcards.method == "none" or not of_checkpoint(wildcards):
        return []
    return f"<results>/measures/gates/{names.PRUNED}.csv"


def parts_ending(ending):
    """The parts from which a table is collected."""

    def paths(wildcards):
        return [
            f"<results>/measures/{wildcards.measure}/{part}{ending}"
            for part in MEASURES[wildcards.measure]
        ]

    return paths


def in_turn(table, wildcards):
    """The priority of a job that measures a part of a table, or makes the views for it."""
    if table not in DRAWN_FIRST or wildcards.get("reading") != "plain":
        return 20
    run = names.run(wildcards.objective, wildcards.seed)
    return FIRST if run in FIRST_RUNS else 20


def with_its_run(wildcards):
    """The group of a job about a whole run, or about a run with fewer heads."""
    if wildcards.get("method", "none") != "none":
        return "pruned"
    return f"look_at_{names.run(wildcards.objective, wildcards.get('seed', 0))}"


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


def opening_mb(wildcards, input, attempt):
    """Memory in MB to open a checkpoint; that of one of a billion weights before it is fetched."""
    return memory(600, 3.3)(wildcards, input, attempt) if input else 8000 * attempt


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


def training_threads(wildcards):
    """A share of the cores for each run, so that all train side by side; 4 on a cluster."""
    if workflow.remote_exec:
        # Snakemake sees all cores of the node, not only those of the job.
        return int(os.environ.get("SLURM_CPUS_PER_TASK", 4))
    if ON_CLUSTER:
        return 4
    runs = SUBJECTS.runs(SUBJECTS.trained + SUBJECTS.halves)
    return max(1, workflow.cores // max(1, len(runs)))


def heads_from(objective):
    """The model whose heads a run starts with, and their functions; none for most objectives."""

    def files(wildcards):
        name, _ = names.objective_and_half(objective)
        taken = STUDY.objective_heads_from(name)
        if taken is None:
            return []
        seed = wildcards.seed if taken.seed is None else taken.seed
        run = names.run(taken.objective, seed)
        return [
            f"<results>/runs/{run}/model/model.safetensors",
            f"<results>/measures/head_functions/{run}.csv",
        ]

    return files


def written_for_checkpoint(wildcards):
    """The split test as it was written, in which a checkpoint finds its words."""
    return WRITTEN if of_checkpoint(wildcards) else []


def same_run(objective):
    """The metrics of the same run under another name, after which this one is in `trained/`; none
    for most objectives."""
    same = SUBJECTS.same_training(objective)
    return [f"<results>/runs/{same}-{{seed}}/metrics.jsonl"] if same else []


def steps_to_keep(objective):
    """The steps, as words of a command."""
    return " ".join(map(str, STUDY.training_steps.get(objective, [])))


def tokens_to_read(objective):
    """The length of a run, in tokens of all stacks of layers."""
    name, _ = names.objective_and_half(objective)
    if name not in SUBJECTS.trained:
        return 0
    budget = STUDY.objective_training(name).max_tokens
    return STUDY.tokens_read(name, budget) * STUDY.objective_options(name).passes


QUICKEST_FIRST = sorted([*SUBJECTS.objectives, *SUBJECTS.halves], key=tokens_to_read)


def training_in_turn(objective, wildcards):
    """The priority of a training."""
    place = QUICKEST_FIRST.index(objective)
    if names.run(objective, wildcards.seed) in FIRST_RUNS:
        return FIRST + 1 + place
    return len(QUICKEST_FIRST) - place


def pruning(wildcards):
    """The training of a run with fewer heads."""
    if wildcards.method == "scratch":
        return STUDY.scratch_training(wildcards.objective)
    return STUDY.pruning_training(wildcards.objective)


def pruning_minutes(wildcards, input, attempt):
    if of_checkpoint(wildcards):
        return minutes(24 * 60, 1)(
            wildcards, input, attempt
        )  # its width is not known yet
    tokens = pruning(wildcards).max_tokens
    return training_minutes(wildcards.objective, tokens, wildcards, attempt)


def training_minutes(objective, tokens, wildcards, attempt):
    """The time of all operations at a speed that any core or GPU reaches, plus half an hour."""
    speed = 1e13 if wide(objective) and GPUS != 0 else 2e10  # operations a second
    operations = training_operations(objective, tokens)
    return 30 + int(attempt * operations / speed / 60)


def training_operations(objective, tokens):
    shape = STUDY.objective_shape(names.whole(objective))
    layers = 12 * shape.layers * shape.d_model**2
    output = STUDY.corpus.bpe.merges * shape.d_model
    passes = STUDY.objective_options(names.whole(objective)).passes
    return 6 * (layers + output) * passes * tokens


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


def told_of_text():
    """Whether the text is that of the findings, once it is there."""
    splits = Path(f"results/{STUDY.study}/corpus/splits.csv")
    with suppress(UserError):  # who reads it as a result tells of damage
        return splits.exists() and said(settings_of(STUDY.corpus), splits)


def told_of_only():
    """What the config asks for in vain, in a line."""
    return IN_VAIN and (
        f"only: found {', '.join(IN_VAIN)}, of which this study has nothing to measure: left out; "
        "docs/tables.md says what each is about"
    )


def files_of_table(table, paths):
    """Where a reader finds a table that a figure is drawn from, in the study's folder."""
    found = [f"measures/{table}.csv"] if table in MEASURES else paths
    return [path.removeprefix("<results>/") for path in found]


def target_tokenizer(wildcards):
    """That of the side which a run of ours translates to, where it does."""
    ours = not of_checkpoint(wildcards)
    translates = ours and SUBJECTS.translates(wildcards.objective)
    return ["<results>/corpus/tokenizer.target.json"] if translates else []


def read_by(table):
    """The inputs of a part of a table, by its names in `READS` (measures.smk)."""
    return {k: v for name in table.reads for k, v in READS[name].items()}


def as_arguments(wildcards, input):
    """The inputs of a job, NAME=FILE."""
    return [
        f"{name}={path}"
        for name, paths in input.items()
        for path in ([paths] if isinstance(paths, str) else paths)
    ]


def in_batches(wildcards, resources):
    """How much text a model reads at once, where one reads text."""
    n = resources.get("batch_tokens")
    return f"--batch-tokens {n}" if n else ""


def group_of(table):
    """With what a part of a table is sent to a cluster."""
    if table.part == "pruned":
        return with_its_run
    return "pairs" if table.part == "pair" else OF_ONE_RUN
