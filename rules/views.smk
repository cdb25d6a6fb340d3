# Views: held-out text as the models read it -> the representations of its tokens, layer by layer.


rule draw_occurrences:
    input:
        tokens=expand("<results>/corpus/tokens/test.source/{array}.npy", array=ARRAYS),
        blocks="<results>/corpus/blocks.test.npy",
        frequencies=rules.count_tokens.output.frequencies,
    output:
        table="<results>/occurrences/{reading}/occurrences.parquet",
        text=expand(
            "<results>/occurrences/{reading}/{array}.npy",
            array=ARRAYS,
            allow_missing=True,
        ),
    log:
        "<logs>/draw_occurrences.{reading}.log",
    benchmark:
        "<benchmarks>/draw_occurrences.{reading}.tsv"
    priority: 20
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(2000, 100),
        runtime=minutes(15, 0.1),
    params:
        settings=SLICES.draw_occurrences,
    shell:
        """
        python scripts/draw_occurrences.py --settings {params.settings:q} \
            --tokens $(dirname {input.tokens[0]:q}) --blocks {input.blocks:q} \
            --frequencies {input.frequencies:q} \
            --table {output.table:q} --text $(dirname {output.table:q}) &>{log:q}
        """


rule annotate_occurrences:
    input:
        annotation=rules.annotate_words.output.annotation,
        occurrences="<results>/occurrences/plain/occurrences.parquet",
        text=expand("<results>/occurrences/plain/{array}.npy", array=ARRAYS),
    output:
        annotations="<results>/occurrences/plain/annotations.parquet",
    log:
        "<logs>/annotate_occurrences.log",
    benchmark:
        "<benchmarks>/annotate_occurrences.tsv"
    priority: 20
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(2000, 100),
        runtime=minutes(15, 0.1),
    params:
        settings=SLICES.annotate_occurrences(),
    shell:
        """
        python scripts/annotate_occurrences.py --settings {params.settings:q} \
            --annotation {input.annotation:q} --occurrences {input.occurrences:q} \
            --text $(dirname {input.text[0]:q}) --annotations {output.annotations:q} &>{log:q}
        """


rule extract_views:
    input:
        model="<results>/runs/{objective}-{seed}/model/model.safetensors",
        config="<results>/runs/{objective}-{seed}/model/config.json",
        tokenizer="<results>/runs/{objective}-{seed}/model/tokenizer.json",
        occurrences=rules.draw_occurrences.output.table,
        text=rules.draw_occurrences.output.text,
    output:
        views=expand(
            "<results>/views/{objective}-{seed}/{reading}/layer_{layer}.npy",
            layer=LAYERS,
            allow_missing=True,
        ),
    log:
        "<logs>/extract_views.{objective}-{seed}.{reading}.log",
    benchmark:
        "<benchmarks>/extract_views.{objective}-{seed}.{reading}.tsv"
    priority: 20
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(3000, 30),
        runtime=minutes(60, 0.1),
        gpu=GPUS,
    params:
        settings=SLICES.extract_views(),
    shell:
        """
        python scripts/extract_views.py --settings {params.settings:q} \
            --model $(dirname {input.model:q}) --text $(dirname {input.text[0]:q}) \
            --occurrences {input.occurrences:q} --views {output.views:q} &>{log:q}
        """
