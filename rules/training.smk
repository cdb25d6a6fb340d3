# Runs: token files -> a trained model for each objective and seed -> its quality.
#
# The first seed of each objective is trained before all else, the longest first, so that the first
# headline figure comes early. Then come all jobs that train nothing, then the other trainings, the
# quickest first: so figures exist as early as their runs allow.


for objective in QUICKEST_FIRST:
    name, _ = names.objective_and_half(objective)
    training = STUDY.objective_training(name)
    tokens = STUDY.tokens_read(name)

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
            None if run_operations(objective) else "untrained"
        conda:
            "../envs/bottomup.yaml"
        threads: training_threads
        resources:
            mem_mb=training_mb(objective),
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
    tokens = STUDY.tokens_read(objective)

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
            step=exactly(STUDY.training_steps[objective]),
        priority: 20
        conda:
            "../envs/bottomup.yaml"
        threads: training_threads
        resources:
            mem_mb=training_mb(objective),
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
