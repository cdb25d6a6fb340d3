# Views: held-out text as the models read it -> the representations of its tokens, layer by layer.


# The text as written, and its words, for aligning other tokenizers than ours.
WRITTEN = []
if ROWS == "words":
    WRITTEN = ["<results>/corpus/test.parquet", "<results>/corpus/tokenizer.words.json"]


rule draw_occurrences:
    input:
        tokens=lambda wildcards: tokens_of(
            ["test"], ["words" if wildcards.drawn == "words" else "source"]
        ),
        blocks="<results>/corpus/blocks.test.npy",
        frequencies=lambda wildcards: FREQUENCIES.get(
            wildcards.drawn, FREQUENCIES["plain"]
        ),
    output:
        table="<results>/occurrences/{drawn}/occurrences.parquet",
        text=expand(
            "<results>/occurrences/{drawn}/{array}.npy",
            array=ARRAYS,
            allow_missing=True,
        ),
    log:
        "<logs>/draw_occurrences.{drawn}.log",
    benchmark:
        "<benchmarks>/draw_occurrences.{drawn}.tsv"
    priority: lambda wildcards: FIRST if wildcards.drawn == ROWS else 20
    group:
        "corpus"
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(2000, 100),
        runtime=minutes(5, 0.1),
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
        annotation=ANNOTATION,
        occurrences="<results>/occurrences/{drawn}/occurrences.parquet",
        text=expand(
            "<results>/occurrences/{drawn}/{array}.npy",
            array=ARRAYS,
            allow_missing=True,
        ),
    output:
        annotations="<results>/occurrences/{drawn}/annotations.parquet",
    log:
        "<logs>/annotate_occurrences.{drawn}.log",
    benchmark:
        "<benchmarks>/annotate_occurrences.{drawn}.tsv"
    wildcard_constraints:
        drawn="plain|words",
    priority: 20
    group:
        "corpus"
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(2000, 100),
        runtime=minutes(5, 0.1),
    params:
        settings=code_alone("annotate_occurrences"),
    shell:
        """
        python scripts/annotate_occurrences.py --settings {params.settings:q} \
            --annotation {input.annotation:q} --occurrences {input.occurrences:q} \
            --text $(dirname {input.text[0]:q}) --annotations {output.annotations:q} &>{log:q}
        """


rule open_checkpoint:
    input:
        lambda wildcards: SUBJECTS.checkpoint_files(wildcards.objective),
    output:
        **model_in("<results>/runs/{objective}-0"),
    log:
        "<logs>/open_checkpoint.{objective}.log",
    benchmark:
        "<benchmarks>/open_checkpoint.{objective}.tsv"
    wildcard_constraints:
        objective=CHECKPOINTS,
    priority: 20
    localrule: True
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=opening_mb,
        runtime=60,
    params:
        settings=SLICES.open_checkpoint,
    shell:
        """
        python scripts/open_checkpoint.py --settings {params.settings:q} \
            --model $(dirname {output.config:q}) --downloads downloads &>{log:q}
        """


rule extract_views:
    input:
        **MODEL,
        occurrences=drawn("occurrences.parquet"),
        text=drawn(*(f"{array}.npy" for array in ARRAYS)),
        written=WRITTEN,
    output:
        views="<results>/views/{objective}-{seed}/{reading}.npy",
    log:
        "<logs>/extract_views.{objective}-{seed}.{reading}.log",
    benchmark:
        "<benchmarks>/extract_views.{objective}-{seed}.{reading}.tsv"
    priority: partial(in_turn, "views")
    group:
        OF_ONE_RUN
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(900, 30, 6),
        runtime=minutes(30, 0.1),
        batch_tokens=4096,
    params:
        settings=SLICES.extract_views,
    shell:
        """
        python scripts/extract_views.py --settings {params.settings:q} \
            --model $(dirname {input.model:q}) --text $(dirname {input.text[0]:q}) \
            --occurrences {input.occurrences:q} --written {input.written:q} \
            --views {output.views:q} --batch-tokens {resources.batch_tokens} \
            --gpus {resources.gpu} &>{log:q}
        """
