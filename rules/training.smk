# Runs: token files -> a trained model for each objective and seed -> its quality.
#
# The first seed of each objective is trained before all else, the longest first, so that the first
# headline figure comes early. Of the others quick ones go first, and all other jobs before them, so
# that figures exist as early as their runs allow.


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


def training_threads(wildcards):
    """A share of the cores for each run, so that all train side by side; 4 on a cluster."""
    if workflow.remote_exec:
        # Snakemake sees all cores of the node, not only those of the job.
        return int(os.environ.get("SLURM_CPUS_PER_TASK", 4))
    if ON_CLUSTER:
        return 4
    runs = SUBJECTS.runs(SUBJECTS.trained + SUBJECTS.halves)
    return max(1, workflow.cores // max(1, len(runs)))


def training_operations(objective, tokens):
    shape = STUDY.objective_shape(names.whole(objective))
    layers = 12 * shape.layers * shape.d_model**2
    output = STUDY.corpus.bpe.merges * shape.d_model
    passes = STUDY.objective_options(names.whole(objective)).passes
    return 6 * (layers + output) * passes * tokens


def training_minutes(objective, tokens, wildcards, attempt):
    """The time of all operations at a speed that any core or GPU reaches, plus half an hour."""
    speed = 1e13 if wide(objective) and GPUS != 0 else 2e10  # operations a second
    operations = training_operations(objective, tokens)
    return 30 + int(attempt * operations / speed / 60)


for objective in QUICKEST_FIRST:
    name, _ = names.objective_and_half(objective)
    training = STUDY.objective_training(name)
    tokens = STUDY.tokens_read(name, training.max_tokens)

    rule:
        name:
            f"train_{objective}"
        input:
            tokens=tokens_of(["train", "dev"], SUBJECTS.sides(objective)),
            tokenizers=tokenizers_of(objective),
            heads_from=heads_from(objective),
            same=same_run(objective),
        output:
            **model_in(f"<results>/runs/{objective}-{{seed}}"),
            metrics=f"<results>/runs/{objective}-{{seed}}/metrics.jsonl",
        log:
            f"<logs>/train_{objective}.{{seed}}.log",
        benchmark:
            f"<benchmarks>/train_{objective}.{{seed}}.tsv"
        priority: partial(training_in_turn, objective)
        group:
            None if tokens_to_read(objective) else "untrained"
        conda:
            "../envs/bottomup.yaml"
        threads: training_threads
        resources:
            mem_mb=memory(4000, 4),
            runtime=partial(training_minutes, objective, tokens),
            accumulate=training.accumulate,
            keep=steps_to_keep(objective),
        params:
            settings=partial(SLICES.train, objective),
        shell:
            """
            python scripts/train.py --settings {params.settings:q} \
                --tokens $(dirname $(dirname {input.tokens[0]:q})) \
                --tokenizers {input.tokenizers:q} --run $(dirname {output.metrics:q}) \
                --accumulate {resources.accumulate} --gpus {resources.gpu} \
                --trained trained --keep {resources.keep} \
                --heads-from {input.heads_from:q} &>{log:q}
            """


# A run at an earlier step is where its training kept it. If it is not there, because the run was
# trained before the step was asked for, it is trained again up to that step.
for objective in sorted(STUDY.training_steps):
    training = STUDY.objective_training(objective)
    tokens = STUDY.tokens_read(objective, training.max_tokens)

    rule:
        name:
            f"train_{objective}_to_step"
        input:
            tokens=tokens_of(["train", "dev"], SUBJECTS.sides(objective)),
            tokenizers=tokenizers_of(objective),
            heads_from=heads_from(objective),
            whole=f"<results>/runs/{objective}-{{seed}}/metrics.jsonl",
        output:
            **model_in(f"<results>/runs/{objective}_step{{step}}-{{seed}}"),
            metrics=f"<results>/runs/{objective}_step{{step}}-{{seed}}/metrics.jsonl",
        log:
            f"<logs>/train_{objective}_to_step.{{step}}.{{seed}}.log",
        benchmark:
            f"<benchmarks>/train_{objective}_to_step.{{step}}.{{seed}}.tsv"
        wildcard_constraints:
            step="|".join(map(str, STUDY.training_steps[objective])) or "(?!)",
        priority: 20
        conda:
            "../envs/bottomup.yaml"
        threads: training_threads
        resources:
            mem_mb=memory(4000, 4),
            runtime=partial(training_minutes, objective, tokens),
            accumulate=training.accumulate,
        params:
            settings=partial(SLICES.train_to_step, objective),
        shell:
            """
            python scripts/train.py --settings {params.settings:q} \
                --tokens $(dirname $(dirname {input.tokens[0]:q})) \
                --tokenizers {input.tokenizers:q} --run $(dirname {output.metrics:q}) \
                --accumulate {resources.accumulate} --gpus {resources.gpu} \
                --trained trained --whole {input.whole:q} \
                --heads-from {input.heads_from:q} &>{log:q}
            """
