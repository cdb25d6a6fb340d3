# Measures: views -> tidy tables, a part for each run or pair of runs, then one table a measure.

from itertools import combinations


def labels(objective, reading):
    """Which tokens a layer's information is about, and at which positions (evolution paper, 4)."""
    if reading == "as_trained":
        output = [
            {"label": "output", "positions": p}
            for p in ("changed", "masked", "replaced")
        ]
        return [{"label": "input", "positions": "replaced"}, *output]
    # Only a model that reads from left to right is to predict the next token.
    predicted = (
        [{"label": "output", "positions": "all"}]
        if STUDY.objective_options(objective).causal
        else []
    )
    return [{"label": "input", "positions": "all"}, *predicted]


def views_of(run):
    """The layers of one run, read without corruption."""
    return expand(
        "<results>/views/" + run + "/plain/layer_{layer}.npy",
        layer=LAYERS,
        allow_missing=True,
    )


def mutual_information_settings(wildcards):
    values = STUDY.measures.mutual_information.model_dump()
    return settings(
        "measure_mutual_information",
        {
            "objective": wildcards.objective,
            "seed": int(wildcards.seed),
            "reading": wildcards.reading,
            "labels": labels(wildcards.objective, wildcards.reading),
            "sampling_seed": values.pop("seed"),
            **values,
        },
    )


def pwcca_between_layers_settings(wildcards):
    run = {"objective": wildcards.objective, "seed": int(wildcards.seed)}
    return settings(
        "measure_pwcca_between_layers", run | STUDY.measures.pwcca.model_dump()
    )


def pwcca_between_runs_settings(wildcards):
    runs = {
        "objective_a": wildcards.objective_a,
        "seed_a": int(wildcards.seed_a),
        "objective_b": wildcards.objective_b,
        "seed_b": int(wildcards.seed_b),
    }
    return settings(
        "measure_pwcca_between_runs", runs | STUDY.measures.pwcca.model_dump()
    )


def pairs_of_runs():
    """Objectives are compared at one seed, from the same initial weights; seeds within an objective."""
    for seed in STUDY.seeds:
        for a, b in combinations(OBJECTIVES, 2):
            yield f"{a}-{seed}.{b}-{seed}"
    for objective in OBJECTIVES:
        for a, b in combinations(STUDY.seeds, 2):
            yield f"{objective}-{a}.{objective}-{b}"


def runs(objectives):
    return expand("{objective}-{seed}", objective=objectives, seed=STUDY.seeds)


def collected_parts(wildcards):
    return [
        f"<results>/measures/{wildcards.measure}/{part}.csv"
        for part in PARTS[wildcards.measure]
    ]


PARTS = {
    "quality": runs(TRAINED),
    "mutual_information": [f"{run}.plain" for run in runs(OBJECTIVES)]
    + [f"{run}.as_trained" for run in runs(OBJECTIVES) if run.startswith("mlm-")],
    "pwcca_between_layers": runs(OBJECTIVES),
    "pwcca_between_runs": list(pairs_of_runs()),
}


rule measure_mutual_information:
    input:
        views=rules.extract_views.output.views,
        occurrences=rules.draw_occurrences.output.table,
        frequencies=rules.count_tokens.output.frequencies,
    output:
        table="<results>/measures/mutual_information/{objective}-{seed}.{reading}.csv",
    log:
        "<logs>/measure_mutual_information.{objective}-{seed}.{reading}.log",
    benchmark:
        "<benchmarks>/measure_mutual_information.{objective}-{seed}.{reading}.tsv"
    priority: 20
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=memory(2000, 2),
        runtime=240,
        gpu=GPUS,
    params:
        settings=mutual_information_settings,
    shell:
        """
        python scripts/measure_mutual_information.py --settings {params.settings:q} \
            --occurrences {input.occurrences:q} --frequencies {input.frequencies:q} \
            --views {input.views:q} --table {output.table:q} &>{log:q}
        """


rule measure_pwcca_between_layers:
    input:
        views=views_of("{objective}-{seed}"),
    output:
        table="<results>/measures/pwcca_between_layers/{objective}-{seed}.csv",
    log:
        "<logs>/measure_pwcca_between_layers.{objective}-{seed}.log",
    benchmark:
        "<benchmarks>/measure_pwcca_between_layers.{objective}-{seed}.tsv"
    priority: 20
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
        gpu=GPUS,
    params:
        settings=pwcca_between_layers_settings,
    shell:
        """
        python scripts/measure_pwcca_between_layers.py --settings {params.settings:q} \
            --views {input.views:q} --table {output.table:q} &>{log:q}
        """


rule measure_pwcca_between_runs:
    input:
        a=views_of("{objective_a}-{seed_a}"),
        b=views_of("{objective_b}-{seed_b}"),
    output:
        table="<results>/measures/pwcca_between_runs/{objective_a}-{seed_a}.{objective_b}-{seed_b}.csv",
    log:
        "<logs>/measure_pwcca_between_runs.{objective_a}-{seed_a}.{objective_b}-{seed_b}.log",
    benchmark:
        "<benchmarks>/measure_pwcca_between_runs.{objective_a}-{seed_a}.{objective_b}-{seed_b}.tsv"
    wildcard_constraints:
        objective_a="|".join(OBJECTIVES),
        objective_b="|".join(OBJECTIVES),
        seed_a=r"\d+",
        seed_b=r"\d+",
    priority: 20
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
        gpu=GPUS,
    params:
        settings=pwcca_between_runs_settings,
    shell:
        """
        python scripts/measure_pwcca_between_runs.py --settings {params.settings:q} \
            --views-a {input.a:q} --views-b {input.b:q} --table {output.table:q} &>{log:q}
        """


rule collect_tables:
    input:
        tables=collected_parts,
    output:
        table="<results>/measures/{measure}.csv",
    log:
        "<logs>/collect_tables.{measure}.log",
    benchmark:
        "<benchmarks>/collect_tables.{measure}.tsv"
    wildcard_constraints:
        measure="|".join(PARTS),
    priority: 20
    localrule: True
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=500,
        runtime=5,
    params:
        settings=settings("collect_tables", {}),
    shell:
        """
        python scripts/collect_tables.py --settings {params.settings:q} \
            --tables {input.tables:q} --table {output.table:q} &>{log:q}
        """
