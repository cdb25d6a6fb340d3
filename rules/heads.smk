# Attention heads: models -> importance and functions of each head -> models with fewer heads.


# The held-out text of heads' functions, in sub-words of ours or, for a checkpoint, in words.
READ_BY_HEADS = {
    "tokens": held_out_tokens,
    "blocks": "<results>/corpus/blocks.test.npy",
    "annotation": ANNOTATION,
    "frequencies": frequencies_of,
    "written": lambda wildcards: WRITTEN if of_checkpoint(wildcards) else [],
}


# Of a checkpoint, gradient and loss are those under its own objective, if it has one.
rule measure_head_importance:
    input:
        **MODEL,
        text=text_of("dev"),
        blocks="<results>/corpus/blocks.dev.npy",
    output:
        table="<results>/measures/head_importance/{objective}-{seed}.csv",
        estimates="<results>/measures/head_importance/{objective}-{seed}.parquet",
    log:
        "<logs>/measure_head_importance.{objective}-{seed}.log",
    benchmark:
        "<benchmarks>/measure_head_importance.{objective}-{seed}.tsv"
    priority: 20
    group:
        OF_ONE_RUN
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(900, 4, 6.5),
        runtime=minutes(60, 1),
    params:
        settings=SLICES.measure_head_importance,
    shell:
        """
        python scripts/measure_head_importance.py --settings {params.settings:q} \
            --model $(dirname {input.model:q}) --text {input.text:q} \
            --blocks {input.blocks:q} --table {output.table:q} --gpus {resources.gpu} &>{log:q}
        """


rule measure_head_functions:
    input:
        **MODEL,
        **READ_BY_HEADS,
    output:
        table="<results>/measures/head_functions/{objective}-{seed}.csv",
        estimates="<results>/measures/head_functions/{objective}-{seed}.parquet",
    log:
        "<logs>/measure_head_functions.{objective}-{seed}.log",
    benchmark:
        "<benchmarks>/measure_head_functions.{objective}-{seed}.tsv"
    priority: 20
    group:
        OF_ONE_RUN
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(900, 30, 6),
        runtime=minutes(30, 1),
        batch_tokens=2048,
    params:
        settings=SLICES.measure_head_functions,
    shell:
        """
        python scripts/measure_head_functions.py --settings {params.settings:q} \
            --model $(dirname {input.model:q}) --tokens $(dirname {input.tokens[0]:q}) \
            --blocks {input.blocks:q} --annotation {input.annotation:q} \
            --frequencies {input.frequencies:q} --written {input.written:q} \
            --table {output.table:q} --batch-tokens {resources.batch_tokens} \
            --gpus {resources.gpu} &>{log:q}
        """


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
        settings=SLICES.collect_heads(),
    shell:
        """
        python scripts/collect_heads.py --settings {params.settings:q} \
            --importance {input.importance:q} --functions {input.functions:q} \
            --table {output.table:q} &>{log:q}
        """


# A checkpoint with its own objective, in its own tokens.
rule prune_heads:
    input:
        **MODEL,
        text=text_of("train", "dev"),
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
            --model $(dirname {input.model:q}) --text {input.text:q} \
            --chosen-by {input.chosen_by:q} --folder $(dirname {output.metrics:q}) \
            --gates {output.gates:q} --accumulate {resources.accumulate} \
            --gpus {resources.gpu} --trained trained &>{log:q}
        """


rule measure_pruning:
    input:
        model=pruned_or_whole("model/model.safetensors"),
        config=pruned_or_whole("model/config.json"),
        tokenizer=pruned_or_whole("model/tokenizer.json"),
        metrics=metrics_of,
        gates=[],
        quality=quality_of_whole,
        text=text_of("test"),
        blocks="<results>/corpus/blocks.test.npy",
        translation=translation,
    output:
        smaller=expand(
            f"{PRUNED}/smaller/{{file}}",
            file=["config.json", "model.safetensors", "tokenizer.json"],
            allow_missing=True,
        ),
        table=f"<results>/measures/pruning/{names.PRUNED}.csv",
        estimates=f"<results>/measures/pruning/{names.PRUNED}.parquet",
    log:
        f"<logs>/measure_pruning.{names.PRUNED}.log",
    benchmark:
        f"<benchmarks>/measure_pruning.{names.PRUNED}.tsv"
    wildcard_constraints:
        objective=OURS,
    priority: 20
    group:
        with_its_run
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(1500, 4, 8),
        runtime=minutes(30, 1),
    params:
        settings=SLICES.measure_pruning,
    shell:
        """
        python scripts/measure_pruning.py --settings {params.settings:q} \
            --model $(dirname {input.model:q}) --metrics {input.metrics:q} \
            --gates {input.gates:q} --quality {input.quality:q} --text {input.text:q} \
            --blocks {input.blocks:q} --translation {input.translation:q} \
            --smaller {output.smaller:q} --table {output.table:q} --gpus {resources.gpu} &>{log:q}
        """


# No smaller model is written: most families want as many heads in each layer.
use rule measure_pruning as measure_pruning_of_checkpoint with:
    input:
        model=pruned_or_whole("model/model.safetensors"),
        config=pruned_or_whole("model/config.json"),
        tokenizer=pruned_or_whole("model/tokenizer.json"),
        metrics=metrics_of,
        gates=gates_of_checkpoint,
        quality=[],
        text=text_of("test"),
        blocks="<results>/corpus/blocks.test.npy",
        translation=[],
    output:
        smaller=[],
        table=f"<results>/measures/pruning/{names.PRUNED}.csv",
        estimates=f"<results>/measures/pruning/{names.PRUNED}.parquet",
    log:
        f"<logs>/measure_pruning_of_checkpoint.{names.PRUNED}.log",
    benchmark:
        f"<benchmarks>/measure_pruning_of_checkpoint.{names.PRUNED}.tsv"
    wildcard_constraints:
        objective=CHECKPOINTS,


use rule measure_head_functions as measure_pruned_functions with:
    input:
        **PRUNED_MODEL,
        **READ_BY_HEADS,
    output:
        table=f"<results>/measures/pruned_functions/{names.PRUNED}.csv",
        estimates=f"<results>/measures/pruned_functions/{names.PRUNED}.parquet",
    log:
        f"<logs>/measure_pruned_functions.{names.PRUNED}.log",
    benchmark:
        f"<benchmarks>/measure_pruned_functions.{names.PRUNED}.tsv"
    group:
        "pruned"
    params:
        settings=SLICES.measure_pruned_functions,
