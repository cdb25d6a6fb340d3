# Measures: views -> tidy tables, a part for each run or pair of runs -> one table for each measure.


ANNOTATIONS = f"<results>/occurrences/{ROWS}/annotations.parquet"
BESIDE = {"annotations": ANNOTATIONS, "frequencies": FREQUENCIES[ROWS]}
PATTERNS = {"run": RUN, "reading": READING, "pair": PAIR}

for table, about in TABLES.items():
    part = PATTERNS[about.part]

    rule:
        name:
            f"measure_{table}"
        input:
            **{name: BESIDE[name] if name in about.reads else [] for name in BESIDE},
            views=views_of(part),
            occurrences=drawn("occurrences.parquet"),
        output:
            table=f"<results>/measures/{table}/{part}.csv",
            estimates=f"<results>/measures/{table}/{part}.parquet",
        log:
            f"<logs>/measure_{table}.{part}.log",
        benchmark:
            f"<benchmarks>/measure_{table}.{part}.tsv"
        priority: in_turn if table == "mutual_information" else 20
        group:
            "pairs" if part == PAIR else OF_ONE_RUN
        conda:
            "../envs/bottomup.yaml"
        resources:
            mem_mb=memory(3000, 2),
            runtime=minutes(30, 0.1),
        params:
            settings=partial(SLICES.measure_views, table),
        shell:
            """
            python scripts/measure_views.py --settings {params.settings:q} \
                --views {input.views:q} \
                --occurrences {input.occurrences:q} --annotations {input.annotations:q} \
                --frequencies {input.frequencies:q} --table {output.table:q} \
                --gpus {resources.gpu} &>{log:q}
            """


rule measure_influence:
    input:
        **MODEL,
        text=drawn(*(f"{array}.npy" for array in ARRAYS)),
        occurrences=drawn("occurrences.parquet"),
        annotations=ANNOTATIONS,
        written=WRITTEN,
    output:
        table="<results>/measures/influence/{objective}-{seed}.csv",
        estimates="<results>/measures/influence/{objective}-{seed}.parquet",
    log:
        "<logs>/measure_influence.{objective}-{seed}.log",
    benchmark:
        "<benchmarks>/measure_influence.{objective}-{seed}.tsv"
    priority: 20
    group:
        OF_ONE_RUN
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(900, 30, 7),
        runtime=minutes(60, 0.6),
        batch_tokens=2048,
    params:
        settings=SLICES.measure_influence,
    shell:
        """
        python scripts/measure_influence.py --settings {params.settings:q} \
            --model $(dirname {input.model:q}) --text $(dirname {input.text[0]:q}) \
            --occurrences {input.occurrences:q} --annotations {input.annotations:q} \
            --written {input.written:q} --table {output.table:q} \
            --batch-tokens {resources.batch_tokens} --gpus {resources.gpu} &>{log:q}
        """


rule project_views:
    input:
        views=views_of(RUN),
        masked_views=masked_views,
        masked_occurrences=masked_occurrences,
        occurrences=f"<results>/occurrences/{ROWS}/occurrences.parquet",
        annotations=ANNOTATIONS,
        frequencies=FREQUENCIES[ROWS],
    output:
        table="<results>/measures/projection/{objective}-{seed}.csv",
    log:
        "<logs>/project_views.{objective}-{seed}.log",
    benchmark:
        "<benchmarks>/project_views.{objective}-{seed}.tsv"
    priority: 20
    group:
        OF_ONE_RUN
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(2000, 2),
        runtime=minutes(30, 0.02),
    params:
        settings=SLICES.project_views,
    shell:
        """
        python scripts/project_views.py --settings {params.settings:q} \
            --views {input.views:q} --masked-views {input.masked_views:q} \
            --masked-occurrences {input.masked_occurrences:q} \
            --occurrences {input.occurrences:q} --annotations {input.annotations:q} \
            --frequencies {input.frequencies:q} \
            --table {output.table:q} &>{log:q}
        """


rule collect_tables:
    input:
        tables=parts_ending(".csv"),
    output:
        table="<results>/measures/{measure}.csv",
    log:
        "<logs>/collect_tables.{measure}.log",
    benchmark:
        "<benchmarks>/collect_tables.{measure}.tsv"
    wildcard_constraints:
        measure="|".join(MEASURES),
    priority: 20
    localrule: True
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=500,
        runtime=5,
    params:
        settings=SLICES.collect_tables(),
    shell:
        """
        python scripts/collect_tables.py --settings {params.settings:q} \
            --tables {input.tables:q} --table {output.table:q} &>{log:q}
        """


use rule collect_tables as collect_estimates with:
    input:
        tables=parts_ending(".parquet"),
    output:
        table="<results>/measures/{measure}.parquet",
    log:
        "<logs>/collect_estimates.{measure}.log",
    benchmark:
        "<benchmarks>/collect_estimates.{measure}.tsv"
    localrule: True
