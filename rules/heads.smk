# Attention heads: models -> models with fewer heads. What is measured of them: measures.smk.

HEADS = []  # the table of heads, if their importance and functions are measured
if MEASURES["head_importance"] and MEASURES["head_functions"]:

    rule collect_heads:
        input:
            importance="<results>/measures/head_importance.csv",
            functions="<results>/measures/head_functions.csv",
        output:
            table="<results>/measures/heads.csv",
        log:
            "<logs>/collect_heads.log",
        benchmark:
            "<benchmarks>/collect_heads.tsv"
        priority: 20
        localrule: True
        conda:
            "../envs/bottomup.yaml"
        resources:
            mem_mb=500,
            runtime=5,
        params:
            settings=code_alone("collect_heads"),
        shell:
            """
            python scripts/collect_heads.py --settings {params.settings:q} \
                --importance {input.importance:q} --functions {input.functions:q} \
                --table {output.table:q} &>{log:q}
            """

    HEADS = rules.collect_heads.output.table


# The files of a model without the heads that closed.
SMALLER = {
    "model": "model.safetensors",
    "config": "config.json",
    "tokenizer": "tokenizer.json",
}


# A checkpoint is fine-tuned by its own objective, on its own tokens.
rule prune_heads:
    input:
        **MODEL,
        text=text_of("train"),
        dev=text_of("dev"),
        chosen_by=chosen_by,
    output:
        **PRUNED_MODEL,
        metrics=f"{PRUNED}/metrics.jsonl",
        gates=f"<results>/measures/gates/{names.PRUNED}.csv",
    log:
        f"<logs>/prune_heads.{names.PRUNED}.log",
    benchmark:
        f"<benchmarks>/prune_heads.{names.PRUNED}.tsv"
    group:
        "pruned"
    conda:
        "../envs/bottomup.yaml"
    threads: training_threads
    resources:
        mem_mb=memory(1800, 4, 16),
        runtime=pruning_minutes,
        accumulate=lambda wildcards: pruning(wildcards).accumulate,
    params:
        settings=SLICES.prune_heads,
    shell:
        """
        python scripts/prune_heads.py --settings {params.settings:q} \
            --model $(dirname {input.model:q}) --text {input.text:q} --dev {input.dev:q} \
            --chosen-by {input.chosen_by:q} --folder $(dirname {output.metrics:q}) \
            --gates {output.gates:q} --accumulate {resources.accumulate} \
            --gpus {resources.gpu} --trained trained &>{log:q}
        """


# Only runs are made smaller: most families of checkpoints need equally many heads in each layer.
rule shrink_pruned:
    input:
        **{
            name: pruned_or_whole(f"{PRUNED}/model/{file}", f"{WHOLE}/model/{file}")
            for name, file in SMALLER.items()
        },
    output:
        **{name: f"{PRUNED}/smaller/{file}" for name, file in SMALLER.items()},
    log:
        f"<logs>/shrink_pruned.{names.PRUNED}.log",
    benchmark:
        f"<benchmarks>/shrink_pruned.{names.PRUNED}.tsv"
    wildcard_constraints:
        objective=OURS,
    priority: 20
    group:
        with_its_run
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(1500, 4, 8),
        runtime=30,
    params:
        settings=code_alone("shrink_pruned"),
    shell:
        """
        python scripts/shrink_pruned.py --settings {params.settings:q} \
            --model $(dirname {input.model:q}) --smaller $(dirname {output.model:q}) &>{log:q}
        """
