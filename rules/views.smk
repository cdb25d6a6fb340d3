# Views: held-out text as the models read it -> the representations of its tokens, layer by layer.


def occurrences_settings(wildcards):
    n_tokens = STUDY.measures.mutual_information.n_tokens
    values = {
        "reading": wildcards.reading,
        "n": STUDY.occurrences.n,
        "seed": STUDY.occurrences.seed,
    }
    if wildcards.reading == "as_trained":
        values |= {
            "draws": STUDY.occurrences.as_trained_draws,
            "n_tokens": n_tokens,
            "options": STUDY.objective_options("mlm").model_dump(),
        }
    return settings("draw_occurrences", values, "bottomup.objectives.mlm")


wildcard_constraints:
    reading="|".join(READINGS),


rule draw_occurrences:
    input:
        tokens=expand("<results>/corpus/tokens/test.source/{array}.npy", array=ARRAYS),
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
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(2000, 100),
        runtime=15,
    params:
        settings=occurrences_settings,
    shell:
        """
        python scripts/draw_occurrences.py --settings {params.settings:q} \
            --tokens $(dirname {input.tokens[0]:q}) --frequencies {input.frequencies:q} \
            --table {output.table:q} --text $(dirname {output.table:q}) &>{log:q}
        """


rule extract_views:
    input:
        model=rules.train.output.weights,
        config=rules.train.output.config,
        tokenizer=rules.train.output.tokenizer,
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
        runtime=60,
        gpu=GPUS,
    params:
        settings=settings("extract_views", STUDY.views.model_dump()),
    shell:
        """
        python scripts/extract_views.py --settings {params.settings:q} \
            --model $(dirname {input.model:q}) --text $(dirname {input.text[0]:q}) \
            --occurrences {input.occurrences:q} --views {output.views:q} &>{log:q}
        """
