# Runs: token files -> a trained model for each objective and seed -> its quality.


# Snakemake gives each of the trained runs its share of the cores, so that they train side by side.
N_TRAINED = len(TRAINED) * len(STUDY.seeds)
# A model that fills less of a GPU than it waits for it trains as fast on a core.
GPUS = 1 if STUDY.model.d_model >= 256 else 0


def predicted_sides(objective):
    """The sides of the text that a run under this objective reads or predicts."""
    return (
        SIDES if STUDY.objective_options(objective).predicts == "target" else ["source"]
    )


def train_tokens(wildcards):
    return expand(
        "<results>/corpus/tokens/{split}.{side}/{array}.npy",
        split=["train", "dev"],
        side=predicted_sides(wildcards.objective),
        array=ARRAYS,
    )


def train_tokenizers(wildcards):
    sides = predicted_sides(wildcards.objective)
    return expand("<results>/corpus/tokenizer.{side}.json", side=sides)


def train_settings(wildcards):
    objective = wildcards.objective
    values = {
        "objective": objective,
        "options": STUDY.objective_options(objective).model_dump(),
        "seed": int(wildcards.seed),
        "model": STUDY.model.model_dump(),
    }
    if objective in TRAINED:
        values["training"] = STUDY.objective_training(objective).model_dump()
    return settings("train", values, f"bottomup.objectives.{objective}")


def train_threads(wildcards):
    return max(1, (workflow.cores or 1) // N_TRAINED)


def train_minutes(wildcards, attempt):
    """Budget times operations a token, at the speed of one core, with room to spare."""
    model, training = STUDY.model, STUDY.objective_training(wildcards.objective)
    parameters = (
        12 * model.layers * model.d_model**2 * len(predicted_sides(wildcards.objective))
    )
    operations = 6 * parameters * training.max_tokens
    return 30 + int(attempt * operations / (60 * (2e13 if GPUS else 5e9)))


def quality_settings(wildcards):
    objective = wildcards.objective
    values = {
        "objective": objective,
        "options": STUDY.objective_options(objective).model_dump(),
        "seed": int(wildcards.seed),
    }
    if STUDY.objective_options(objective).predicts == "target":
        values |= STUDY.quality.model_dump() | {"language": LANGUAGES["target"]}
    return settings("measure_quality", values, f"bottomup.objectives.{objective}")


def quality_tokens(wildcards):
    sides = predicted_sides(wildcards.objective)
    return expand(
        "<results>/corpus/tokens/test.{side}/{array}.npy", side=sides, array=ARRAYS
    )


def translation_inputs(wildcards):
    if STUDY.objective_options(wildcards.objective).predicts != "target":
        return []
    return ["<results>/corpus/test.parquet", "<results>/corpus/tokenizer.target.json"]


wildcard_constraints:
    objective="|".join(OBJECTIVES),
    seed=r"\d+",


rule train:
    input:
        tokens=train_tokens,
        tokenizers=train_tokenizers,
    output:
        config="<results>/runs/{objective}-{seed}/model/config.json",
        weights="<results>/runs/{objective}-{seed}/model/model.safetensors",
        tokenizer="<results>/runs/{objective}-{seed}/model/tokenizer.json",
        metrics="<results>/runs/{objective}-{seed}/metrics.jsonl",
    log:
        "<logs>/train.{objective}-{seed}.log",
    benchmark:
        "<benchmarks>/train.{objective}-{seed}.tsv"
    priority: 10
    conda:
        "../envs/bottomup.yaml"
    threads: train_threads
    resources:
        mem_mb=memory(4000, 4),
        runtime=train_minutes,
        gpu=GPUS,
    params:
        settings=train_settings,
    shell:
        """
        python scripts/train.py --settings {params.settings:q} \
            --tokens $(dirname $(dirname {input.tokens[0]:q})) --tokenizers {input.tokenizers:q} \
            --run $(dirname {output.metrics:q}) --accumulate {STUDY.training.accumulate} &>{log:q}
        """


rule measure_quality:
    input:
        model=rules.train.output.weights,
        config=rules.train.output.config,
        tokenizer=rules.train.output.tokenizer,
        tokens=quality_tokens,
        translation=translation_inputs,
    output:
        table="<results>/measures/quality/{objective}-{seed}.csv",
    log:
        "<logs>/measure_quality.{objective}-{seed}.log",
    benchmark:
        "<benchmarks>/measure_quality.{objective}-{seed}.tsv"
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(4000, 4),
        runtime=60,
        gpu=GPUS,
    params:
        settings=quality_settings,
    shell:
        """
        python scripts/measure_quality.py --settings {params.settings:q} \
            --model $(dirname {input.model:q}) --tokens $(dirname $(dirname {input.tokens[0]:q})) \
            --translation {input.translation:q} --table {output.table:q} &>{log:q}
        """
