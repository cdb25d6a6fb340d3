# Memory, time, GPUs, threads, priorities and groups of jobs.


def size_mb(files):
    """The size of files; for views that the same group makes first, the size they will have."""
    there = sum(os.path.getsize(path) for path in files if os.path.exists(path))
    folder = f"{RESULTS}/views/"
    views = sum(path.startswith(folder) for path in files if not os.path.exists(path))
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


def training_mb(objective):
    """Memory in MB to train an objective's models. docs/storage.md has what was measured."""
    whole = names.whole(objective)
    shape, training = STUDY.objective_shape(whole), STUDY.objective_training(whole)
    inner = getattr(shape, "d_ff", 4 * shape.d_model)
    sides = 2 if STUDY.objective_options(whole).decodes() else 1
    inside = shape.layers * shape.d_model * (6 * shape.d_model + 2 * inner)
    weights = sides * (inside + 2 * STUDY.corpus.bpe.merges * shape.d_model)
    # In float32 weights, gradient and two moments; and what is kept for the gradient.
    kept = shape.layers * (16 * shape.d_model + 2 * inner)
    part = training.batch_tokens / training.accumulate
    return memory(4000 + 16e-6 * weights + 4e-6 * part * kept, 4)


def opening_mb(wildcards, input, attempt):
    """Memory in MB to open a checkpoint. Until it is fetched, it counts as one of a billion
    weights."""
    return memory(600, 3.3)(wildcards, input, attempt) if input else 8000 * attempt


def minutes(base, per_input_mb):
    """Minutes for a job that reads all its input; more at each new attempt."""

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
    return max(1, CORES // max(1, len(runs)))


def training_minutes(objective, tokens, wildcards, attempt):
    """The time of all operations at a speed that any core or GPU reaches, plus half an hour."""
    speed = 1e13 if wide(objective) and GPUS != 0 else 2e10  # operations a second
    operations = STUDY.operations(names.whole(objective)) * tokens
    return 30 + int(attempt * operations / speed / 60)


def pruning(wildcards):
    """The training of a run with fewer heads."""
    if wildcards.method == "scratch":
        return STUDY.scratch_training(wildcards.objective)
    return STUDY.pruning_training(wildcards.objective)


def pruning_minutes(wildcards, input, attempt):
    if wildcards.objective in SUBJECTS.checkpoints:  # whose width is not known yet
        return minutes(24 * 60, 1)(wildcards, input, attempt)
    tokens = pruning(wildcards).max_tokens
    return training_minutes(wildcards.objective, tokens, wildcards, attempt)


def in_batches(wildcards, resources):
    """The argument that says how much text a model reads at once; "" if no model reads text."""
    n = resources.get("batch_tokens")
    return f"--batch-tokens {n}" if n else ""


def run_operations(objective):
    """The operations of a run, by which trainings take turns; 0 if it is not trained."""
    name, _ = names.objective_and_half(objective)
    if name not in SUBJECTS.trained:
        return 0
    return STUDY.operations(name) * STUDY.tokens_read(name)


QUICKEST_FIRST = sorted([*SUBJECTS.objectives, *SUBJECTS.halves], key=run_operations)


def training_in_turn(objective, wildcards):
    """The priority of a training."""
    place = QUICKEST_FIRST.index(objective)
    if names.run(objective, wildcards.seed) in FIRST_RUNS:
        return FIRST + 1 + place
    return len(QUICKEST_FIRST) - place


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


def group_of(table):
    """The group of jobs with which a part of a table is sent to a cluster."""
    if table.part == "pruned":
        return with_its_run
    return "pairs" if table.part == "pair" else OF_ONE_RUN


def seconds_and_threads(job):
    """The estimated seconds of a job before any like it has run, and its threads. A run at a step
    counts as untrained, since its training has kept it."""
    # This runs in a thread of its own: Snakemake may be about to expand params anew.
    params, rule = job.params or {}, job.rule.name
    settings = params["settings"] if is_ours(params) else {}
    of_ours = settings.get("objective") not in SUBJECTS.checkpoints
    if "training" not in settings or rule.endswith("_to_step") or not of_ours:
        return progress.guess(rule, 0, VIEWS_MB), 1
    objective, tokens = settings["objective"], settings["training"]["max_tokens"]
    if "equal" in settings:
        tokens = STUDY.tokens_read(objective)
    operations = STUDY.operations(names.whole(objective)) * tokens
    threads = training_threads(job.wildcards)
    return progress.guess(rule, operations / threads, VIEWS_MB), threads
