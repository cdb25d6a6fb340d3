# Measures: views -> tidy tables, a part for each run or pair of runs, then one table a measure.


rule measure_mutual_information:
    input:
        views=rules.extract_views.output.views,
        occurrences=rules.draw_occurrences.output.table,
        frequencies=rules.count_tokens.output.frequencies,
    output:
        table="<results>/measures/mutual_information/{objective}-{seed}.{reading}.csv",
        estimates="<results>/measures/mutual_information/{objective}-{seed}.{reading}.parquet",
    log:
        "<logs>/measure_mutual_information.{objective}-{seed}.{reading}.log",
    benchmark:
        "<benchmarks>/measure_mutual_information.{objective}-{seed}.{reading}.tsv"
    priority: 20
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(2000, 2),
        runtime=minutes(240, 0.02),
        gpu=GPUS,
    params:
        settings=SLICES.measure_mutual_information,
    shell:
        """
        python scripts/measure_mutual_information.py --settings {params.settings:q} \
            --occurrences {input.occurrences:q} --frequencies {input.frequencies:q} \
            --views {input.views:q} --table {output.table:q} &>{log:q}
        """


rule measure_pwcca_between_layers:
    input:
        views=plain_views("{objective}-{seed}"),
        occurrences="<results>/occurrences/plain/occurrences.parquet",
    output:
        table="<results>/measures/pwcca_between_layers/{objective}-{seed}.csv",
        estimates="<results>/measures/pwcca_between_layers/{objective}-{seed}.parquet",
    log:
        "<logs>/measure_pwcca_between_layers.{objective}-{seed}.log",
    benchmark:
        "<benchmarks>/measure_pwcca_between_layers.{objective}-{seed}.tsv"
    priority: 20
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(3000, 0),
        runtime=minutes(60, 0.02),
    params:
        settings=SLICES.measure_pwcca_between_layers,
    shell:
        """
        python scripts/measure_pwcca_between_layers.py --settings {params.settings:q} \
            --occurrences {input.occurrences:q} \
            --views {input.views:q} --table {output.table:q} &>{log:q}
        """


rule measure_pwcca_between_runs:
    input:
        a=plain_views("{objective_a}-{seed_a}"),
        b=plain_views("{objective_b}-{seed_b}"),
        occurrences="<results>/occurrences/plain/occurrences.parquet",
    output:
        table="<results>/measures/pwcca_between_runs/{objective_a}-{seed_a}.{objective_b}-{seed_b}.csv",
        estimates="<results>/measures/pwcca_between_runs/{objective_a}-{seed_a}.{objective_b}-{seed_b}.parquet",
    log:
        "<logs>/measure_pwcca_between_runs.{objective_a}-{seed_a}.{objective_b}-{seed_b}.log",
    benchmark:
        "<benchmarks>/measure_pwcca_between_runs.{objective_a}-{seed_a}.{objective_b}-{seed_b}.tsv"
    wildcard_constraints:
        objective_a="|".join(SLICES.objectives + SLICES.halves),
        objective_b="|".join(SLICES.objectives + SLICES.halves),
        seed_a=r"\d+",
        seed_b=r"\d+",
    priority: 20
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(3000, 0),
        runtime=minutes(60, 0.02),
    params:
        settings=SLICES.measure_pwcca_between_runs,
    shell:
        """
        python scripts/measure_pwcca_between_runs.py --settings {params.settings:q} \
            --occurrences {input.occurrences:q} \
            --views-a {input.a:q} --views-b {input.b:q} --table {output.table:q} &>{log:q}
        """


rule measure_change:
    input:
        views=plain_views("{objective}-{seed}"),
        occurrences="<results>/occurrences/plain/occurrences.parquet",
        annotations=rules.annotate_occurrences.output.annotations,
    output:
        table="<results>/measures/change/{objective}-{seed}.csv",
        estimates="<results>/measures/change/{objective}-{seed}.parquet",
    log:
        "<logs>/measure_change.{objective}-{seed}.log",
    benchmark:
        "<benchmarks>/measure_change.{objective}-{seed}.tsv"
    priority: 20
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(2000, 2),
        runtime=minutes(60, 0.02),
    params:
        settings=SLICES.measure_change,
    shell:
        """
        python scripts/measure_change.py --settings {params.settings:q} \
            --views {input.views:q} \
            --occurrences {input.occurrences:q} --annotations {input.annotations:q} \
            --table {output.table:q} &>{log:q}
        """


rule measure_influence:
    input:
        model="<results>/runs/{objective}-{seed}/model/model.safetensors",
        config="<results>/runs/{objective}-{seed}/model/config.json",
        tokenizer="<results>/runs/{objective}-{seed}/model/tokenizer.json",
        text=expand("<results>/occurrences/plain/{array}.npy", array=ARRAYS),
        occurrences="<results>/occurrences/plain/occurrences.parquet",
        annotations=rules.annotate_occurrences.output.annotations,
    output:
        table="<results>/measures/influence/{objective}-{seed}.csv",
        estimates="<results>/measures/influence/{objective}-{seed}.parquet",
    log:
        "<logs>/measure_influence.{objective}-{seed}.log",
    benchmark:
        "<benchmarks>/measure_influence.{objective}-{seed}.tsv"
    priority: 20
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(3000, 30),
        runtime=minutes(60, 0.02),
        gpu=GPUS,
    params:
        settings=SLICES.measure_influence,
    shell:
        """
        python scripts/measure_influence.py --settings {params.settings:q} \
            --model $(dirname {input.model:q}) --text $(dirname {input.text[0]:q}) \
            --occurrences {input.occurrences:q} --annotations {input.annotations:q} \
            --table {output.table:q} &>{log:q}
        """


rule measure_neighbours:
    input:
        views=plain_views("{objective}-{seed}"),
        occurrences="<results>/occurrences/plain/occurrences.parquet",
        annotations=rules.annotate_occurrences.output.annotations,
    output:
        table="<results>/measures/neighbours/{objective}-{seed}.csv",
        estimates="<results>/measures/neighbours/{objective}-{seed}.parquet",
    log:
        "<logs>/measure_neighbours.{objective}-{seed}.log",
    benchmark:
        "<benchmarks>/measure_neighbours.{objective}-{seed}.tsv"
    priority: 20
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(2000, 2),
        runtime=minutes(60, 0.02),
        gpu=GPUS,
    params:
        settings=SLICES.measure_neighbours,
    shell:
        """
        python scripts/measure_neighbours.py --settings {params.settings:q} \
            --views {input.views:q} \
            --occurrences {input.occurrences:q} --annotations {input.annotations:q} \
            --table {output.table:q} &>{log:q}
        """


rule project_views:
    input:
        views=plain_views("{objective}-{seed}"),
        masked_views=masked_views,
        masked_occurrences=masked_occurrences,
        occurrences="<results>/occurrences/plain/occurrences.parquet",
        annotations=rules.annotate_occurrences.output.annotations,
        frequencies=rules.count_tokens.output.frequencies,
    output:
        table="<results>/measures/projection/{objective}-{seed}.csv",
    log:
        "<logs>/project_views.{objective}-{seed}.log",
    benchmark:
        "<benchmarks>/project_views.{objective}-{seed}.tsv"
    priority: 20
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(2000, 2),
        runtime=minutes(60, 0.02),
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
