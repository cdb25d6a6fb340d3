# Attention heads: runs -> importance and functions of each head -> runs with fewer heads.


rule measure_head_importance:
    input:
        **MODEL,
        tokens=dev_tokens,
        blocks="<results>/corpus/blocks.dev.npy",
    output:
        table="<results>/measures/head_importance/{objective}-{seed}.csv",
        estimates="<results>/measures/head_importance/{objective}-{seed}.parquet",
    log:
        "<logs>/measure_head_importance.{objective}-{seed}.log",
    benchmark:
        "<benchmarks>/measure_head_importance.{objective}-{seed}.tsv"
    wildcard_constraints:
        objective=ATTENDING,
    priority: 20
    group:
        OF_ONE_RUN
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(4000, 4),
        runtime=minutes(60, 1),
    params:
        settings=SLICES.measure_head_importance,
    shell:
        """
        python scripts/measure_head_importance.py --settings {params.settings:q} \
            --model $(dirname {input.model:q}) \
            --tokens $(dirname $(dirname {input.tokens[0]:q})) --blocks {input.blocks:q} \
            --table {output.table:q} --gpus {resources.gpu} &>{log:q}
        """


rule measure_head_functions:
    input:
        **MODEL,
        tokens=expand("<results>/corpus/tokens/test.source/{array}.npy", array=ARRAYS),
        blocks="<results>/corpus/blocks.test.npy",
        annotation=ANNOTATION,
        frequencies=rules.count_tokens.output.frequencies,
    output:
        table="<results>/measures/head_functions/{objective}-{seed}.csv",
        estimates="<results>/measures/head_functions/{objective}-{seed}.parquet",
    log:
        "<logs>/measure_head_functions.{objective}-{seed}.log",
    benchmark:
        "<benchmarks>/measure_head_functions.{objective}-{seed}.tsv"
    wildcard_constraints:
        objective=ATTENDING,
    priority: 20
    group:
        OF_ONE_RUN
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(3000, 30),
        runtime=minutes(30, 1),
        batch_tokens=2048,
    params:
        settings=SLICES.measure_head_functions,
    shell:
        """
        python scripts/measure_head_functions.py --settings {params.settings:q} \
            --model $(dirname {input.model:q}) --tokens $(dirname {input.tokens[0]:q}) \
            --blocks {input.blocks:q} --annotation {input.annotation:q} \
            --frequencies {input.frequencies:q} --table {output.table:q} \
            --batch-tokens {resources.batch_tokens} --gpus {resources.gpu} &>{log:q}
        """


# Gradient and loss are those under the checkpoint's own objective, if it has one.
rule measure_checkpoint_heads:
    input:
        **model_in("<results>/runs/{objective}-0"),
        written=WRITTEN,
        words=expand("<results>/corpus/tokens/test.words/{array}.npy", array=ARRAYS),
        blocks="<results>/corpus/blocks.test.npy",
        annotation=ANNOTATION,
        frequencies=FREQUENCIES["words"],
        dev="<results>/corpus/dev.parquet",
        dev_blocks="<results>/corpus/blocks.dev.npy",
    output:
        importance="<results>/measures/head_importance/{objective}-0.csv",
        importance_estimates="<results>/measures/head_importance/{objective}-0.parquet",
        functions="<results>/measures/head_functions/{objective}-0.csv",
        functions_estimates="<results>/measures/head_functions/{objective}-0.parquet",
    log:
        "<logs>/measure_checkpoint_heads.{objective}.log",
    benchmark:
        "<benchmarks>/measure_checkpoint_heads.{objective}.tsv"
    wildcard_constraints:
        objective=CHECKPOINTS,
    priority: 20
    group:
        with_its_run
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(4000, 30),
        runtime=minutes(60, 1),
        batch_tokens=2048,
    params:
        settings=SLICES.measure_checkpoint_heads,
    shell:
        """
        python scripts/measure_checkpoint_heads.py --settings {params.settings:q} \
            --model $(dirname {input.model:q}) --written {input.written:q} \
            --words $(dirname {input.words[0]:q}) --blocks {input.blocks:q} \
            --annotation {input.annotation:q} --frequencies {input.frequencies:q} \
            --dev {input.dev:q} --dev-blocks {input.dev_blocks:q} \
            --importance {output.importance:q} --functions {output.functions:q} \
            --batch-tokens {resources.batch_tokens} --gpus {resources.gpu} &>{log:q}
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


rule prune_heads:
    input:
        **MODEL,
        tokens=training_tokens,
        chosen_by=chosen_by,
    output:
        **PRUNED_MODEL,
        metrics=f"{PRUNED}/metrics.jsonl",
        gates=f"<results>/measures/gates/{names.PRUNED}.csv",
    log:
        f"<logs>/prune_heads.{names.PRUNED}.log",
    benchmark:
        f"<benchmarks>/prune_heads.{names.PRUNED}.tsv"
    wildcard_constraints:
        objective=ATTENDING,
    group:
        "pruned"
    conda:
        "../envs/bottomup.yaml"
    threads: training_threads
    resources:
        mem_mb=memory(4000, 4),
        runtime=pruning_minutes,
        accumulate=lambda wildcards: pruning(wildcards).accumulate,
    params:
        settings=SLICES.prune_heads,
    shell:
        """
        python scripts/prune_heads.py --settings {params.settings:q} \
            --model $(dirname {input.model:q}) \
            --tokens $(dirname $(dirname {input.tokens[0]:q})) \
            --chosen-by {input.chosen_by:q} --folder $(dirname {output.metrics:q}) \
            --gates {output.gates:q} --accumulate {resources.accumulate} \
            --gpus {resources.gpu} --trained trained &>{log:q}
        """


rule measure_pruning:
    input:
        model=pruned_or_whole("model/model.safetensors"),
        config=pruned_or_whole("model/config.json"),
        tokenizer=pruned_or_whole("model/tokenizer.json"),
        metrics=pruned_or_whole("metrics.jsonl"),
        quality=quality_of_whole,
        tokens=test_tokens,
        blocks="<results>/corpus/blocks.test.npy",
        translation=translation,
    output:
        config=f"{PRUNED}/smaller/config.json",
        weights=f"{PRUNED}/smaller/model.safetensors",
        tokenizer=f"{PRUNED}/smaller/tokenizer.json",
        table=f"<results>/measures/pruning/{names.PRUNED}.csv",
        estimates=f"<results>/measures/pruning/{names.PRUNED}.parquet",
    log:
        f"<logs>/measure_pruning.{names.PRUNED}.log",
    benchmark:
        f"<benchmarks>/measure_pruning.{names.PRUNED}.tsv"
    wildcard_constraints:
        objective=ATTENDING,
    priority: 20
    group:
        with_its_run
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(4000, 4),
        runtime=minutes(30, 1),
    params:
        settings=SLICES.measure_pruning,
    shell:
        """
        python scripts/measure_pruning.py --settings {params.settings:q} \
            --model $(dirname {input.model:q}) --metrics {input.metrics:q} \
            --quality {input.quality:q} \
            --tokens $(dirname $(dirname {input.tokens[0]:q})) --blocks {input.blocks:q} \
            --translation {input.translation:q} --smaller $(dirname {output.config:q}) \
            --table {output.table:q} --gpus {resources.gpu} &>{log:q}
        """


# With its own objective and its own tokens.
rule prune_checkpoint:
    input:
        **MODEL,
        train="<results>/corpus/train.parquet",
        dev="<results>/corpus/dev.parquet",
    output:
        **PRUNED_MODEL,
        metrics=f"{PRUNED}/metrics.jsonl",
        gates=f"<results>/measures/gates/{names.PRUNED}.csv",
    log:
        f"<logs>/prune_checkpoint.{names.PRUNED}.log",
    benchmark:
        f"<benchmarks>/prune_checkpoint.{names.PRUNED}.tsv"
    wildcard_constraints:
        objective=CHECKPOINTS,
        method="gates",
    group:
        "pruned"
    conda:
        "../envs/bottomup.yaml"
    threads: training_threads
    resources:
        mem_mb=memory(4000, 30),
        # Its width is unknown until it is there.
        runtime=minutes(24 * 60, 1),
        accumulate=lambda wildcards: pruning(wildcards).accumulate,
    params:
        settings=SLICES.prune_checkpoint,
    shell:
        """
        python scripts/prune_checkpoint.py --settings {params.settings:q} \
            --model $(dirname {input.model:q}) --train {input.train:q} --dev {input.dev:q} \
            --folder $(dirname {output.metrics:q}) --gates {output.gates:q} \
            --accumulate {resources.accumulate} --gpus {resources.gpu} \
            --trained trained &>{log:q}
        """


rule measure_checkpoint_pruning:
    input:
        model=pruned_or_whole("model/model.safetensors"),
        config=pruned_or_whole("model/config.json"),
        tokenizer=pruned_or_whole("model/tokenizer.json"),
        pruned=training_and_gates,
        test="<results>/corpus/test.parquet",
        blocks="<results>/corpus/blocks.test.npy",
    output:
        table=f"<results>/measures/pruning/{names.PRUNED}.csv",
        estimates=f"<results>/measures/pruning/{names.PRUNED}.parquet",
    log:
        f"<logs>/measure_checkpoint_pruning.{names.PRUNED}.log",
    benchmark:
        f"<benchmarks>/measure_checkpoint_pruning.{names.PRUNED}.tsv"
    wildcard_constraints:
        objective=CHECKPOINTS,
    priority: 20
    group:
        with_its_run
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(4000, 30),
        runtime=minutes(60, 1),
    params:
        settings=SLICES.measure_checkpoint_pruning,
    shell:
        """
        python scripts/measure_checkpoint_pruning.py --settings {params.settings:q} \
            --model $(dirname {input.model:q}) --pruned {input.pruned:q} \
            --test {input.test:q} --blocks {input.blocks:q} --table {output.table:q} \
            --gpus {resources.gpu} &>{log:q}
        """


use rule measure_head_functions as measure_pruned_functions with:
    input:
        **PRUNED_MODEL,
        tokens=expand("<results>/corpus/tokens/test.source/{array}.npy", array=ARRAYS),
        blocks="<results>/corpus/blocks.test.npy",
        annotation=ANNOTATION,
        frequencies=rules.count_tokens.output.frequencies,
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
