# Inputs of jobs that depend on wildcards, in the order of the stages.


def files_of_source(wildcards):
    return STUDY.source_options(wildcards.origin).input_files()


def tokens_of(splits, sides):
    return expand(
        "<results>/corpus/tokens/{split}.{side}/{array}.npy",
        split=splits,
        side=sides,
        array=ARRAYS,
    )


def tokenizers_of(objective):
    return expand(
        "<results>/corpus/tokenizer.{side}.json", side=SUBJECTS.sides(objective)
    )


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


def same_run(objective):
    """The metrics of the same run under another name; none for most objectives. Once they exist,
    this run need not be trained, since it is in `trained/`. It waits for them, and reads nothing of
    them (bottomup/plan/records.py)."""
    same = SUBJECTS.same_training(objective)
    return [f"<results>/runs/{same}-{{seed}}/metrics.jsonl"] if same else []


def steps_to_keep(objective):
    """The steps, as words of a command."""
    return " ".join(map(str, STUDY.training_steps.get(objective, [])))


def of_subject(ours, theirs):
    """The inputs of a job: `ours` if it is about a run or two, `theirs` if it is about checkpoints,
    which have tokens of their own. Each is paths, or a function that gives them."""

    def paths(wildcards):
        name = wildcards.get("objective") or wildcards.objective_a
        is_theirs = name in SUBJECTS.checkpoints
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
    """Files of the occurrences of a reading. Each objective with masks has its own draw."""

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


def views_of(wildcards):
    """The views that a part of a table is about: those of one run or of two."""
    if pair := wildcards.get("objective_a"):
        runs = [(pair, wildcards.seed_a), (wildcards.objective_b, wildcards.seed_b)]
    else:
        runs = [(wildcards.objective, wildcards.seed)]
    reading = wildcards.get("reading", "plain")
    return [f"<results>/views/{names.run(*run)}/{reading}.npy" for run in runs]


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


def stitched_into(wildcards):
    """The files of the models whose states are stitched into a run."""
    others = SUBJECTS.stitched_into(wildcards.objective)
    folders = [f"<results>/runs/{other}" for other in others]
    return [path for folder in folders for path in model_in(folder).values()]


def trained_with_masks(objective):
    return objective in SUBJECTS.masked()


def where(asked, *files):
    """These files if `asked` is true of the job's objective, else none."""
    return lambda wildcards: [*files] if asked(wildcards.objective) else []


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


def parts_ending(ending):
    """The parts from which a table is collected."""

    def paths(wildcards):
        return [
            f"<results>/measures/{wildcards.measure}/{part}{ending}"
            for part in MEASURES[wildcards.measure]
        ]

    return paths


def files_of_table(table, paths):
    """Where a reader finds a table that a figure is drawn from, in the study's folder; nowhere if it
    is another study's."""
    files = [f"<results>/measures/{table}.csv"] if table in MEASURES else paths
    here = "<results>/"
    return [path.removeprefix(here) for path in files if path.startswith(here)]
