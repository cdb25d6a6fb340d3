# Claims: tables and figures -> what the papers say, with a verdict on each sentence; and the main
# tables in LaTeX.

# The tables that claims read. Parquet also has the values without each block of documents; gates
# need none, since they do not depend on held-out text.
JUDGED = [
    f"{name}.parquet"
    for name, table in TABLES.items()
    if table.judged and MEASURES[name]
]
JUDGED += ["gates.csv"] if MEASURES["gates"] else []
# Figures with published curves.
BESIDE_PUBLISHED = [
    f"<results>/figures/{name}.csv"
    for name, figure in FIGURES.items()
    if figure.published
]
CORRELATIONS = []  # the table of our correlations with published curves, if any
CLAIMS = []  # the table of claims, if some are judged
BESIDE = []  # the page that has other studies beside this one, if any are named
TRAINED_RUNS = SUBJECTS.runs(SUBJECTS.trained)
# Tables that the papers' curves can fill.
CALIBRATING = [
    *("ib_mi_tasks", "ib_src_dst_lm_mlm", "change_between_tasks", "change_by_task"),
    *("change_freq", "change_pos"),
    *("influence_freq", "influence_freq_iwd", "influence_pos"),
    *("evolution_token", "evolution_position", "same_left_right_tokens"),
    *("evolution_same_ccg", "evolution_ccg_left_right"),
    *("lrp_confidence", "functions_ru_de_fr", "heads_dying_enc_bleu_linear_x"),
    *("bleu_all_attns", "heads_dying_by_attn_type_both", "heads_dying_decoder"),
]


if JUDGED and BESIDE_PUBLISHED:

    rule compare_with_published:
        input:
            figures=BESIDE_PUBLISHED,
        output:
            table="<results>/measures/comparison.csv",
            correlations="<results>/measures/rank_correlations.csv",
        log:
            "<logs>/compare_with_published.log",
        benchmark:
            "<benchmarks>/compare_with_published.tsv"
        priority: 30
        localrule: True
        conda:
            "../envs/bottomup.yaml"
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            settings=code_alone("compare_with_published"),
        shell:
            """
            python scripts/compare_with_published.py --settings {params.settings:q} \
                --figures {input.figures:q} --table {output.table:q} \
                --correlations {output.correlations:q} &>{log:q}
            """

    CORRELATIONS = rules.compare_with_published.output.correlations


if JUDGED:

    rule judge_claims:
        input:
            tables=[f"<results>/measures/{name}" for name in JUDGED],
            correlations=CORRELATIONS,
            quality=["<results>/measures/quality.csv"] if MEASURES["quality"] else [],
            metrics=expand("<results>/runs/{run}/metrics.jsonl", run=TRAINED_RUNS),
        output:
            table="<results>/measures/claims.csv",
            specifications="<results>/measures/specifications.csv",
        log:
            "<logs>/judge_claims.log",
        benchmark:
            "<benchmarks>/judge_claims.tsv"
        priority: 30
        localrule: True
        conda:
            "../envs/bottomup.yaml"
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            settings=SLICES.judge_claims(),
        shell:
            """
            python scripts/judge_claims.py --settings {params.settings:q} \
                --tables {input.tables:q} --correlations {input.correlations:q} \
                --quality {input.quality:q} --metrics {input.metrics:q} \
                --table {output.table:q} --specifications {output.specifications:q} &>{log:q}
            """

    CLAIMS = rules.judge_claims.output.table

    rule calibrate_claims:
        input:
            tables=rules.judge_claims.input.tables,
            published=expand("bottomup/published/curves/{name}.csv", name=CALIBRATING),
        output:
            table="<results>/measures/calibration.csv",
        log:
            "<logs>/calibrate_claims.log",
        benchmark:
            "<benchmarks>/calibrate_claims.tsv"
        priority: 30
        localrule: True
        conda:
            "../envs/bottomup.yaml"
        resources:
            mem_mb=2000,
            runtime=15,
        params:
            settings=SLICES.calibrate_claims(),
        shell:
            """
            python scripts/calibrate_claims.py --settings {params.settings:q} \
                --tables {input.tables:q} --table {output.table:q} &>{log:q}
            """

    # What a claim's row links to: the figures of the tables that claims rest on, and that of
    # trainings, whose metrics are no table.
    SHOWN = [
        {"name": name, "tables": tables, "published": list(figure.published)}
        for name, figure in FIGURES.items()
        if (
            tables := [
                f"measures/{table}.csv"
                for table in figure.tables
                if {f"{table}.parquet", f"{table}.csv"} & set(JUDGED)
            ]
        )
        or name == "learning_curves"
    ]

    rule show_claims:
        input:
            claims=rules.judge_claims.output.table,
            specifications=rules.judge_claims.output.specifications,
            between_runs=(
                "<results>/measures/pwcca_between_runs.parquet"
                if STUDY.training_halves and MEASURES["pwcca_between_runs"]
                else []
            ),
            templates=template_files("claims.html"),
        output:
            page=report(
                "<results>/claims.html",
                caption="../docs/captions/claims.rst",
                category="1 Claims",
                labels={"figure": "claims"},
            ),
        log:
            "<logs>/show_claims.log",
        benchmark:
            "<benchmarks>/show_claims.tsv"
        priority: 30
        localrule: True
        conda:
            "../envs/bottomup.yaml"
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            settings=SLICES.show_claims(SHOWN, [Path(name).stem for name in JUDGED]),
        shell:
            """
            python scripts/show_claims.py --settings {params.settings:q} \
                --claims {input.claims:q} --specifications {input.specifications:q} \
                --between-runs {input.between_runs:q} --page {output.page:q} &>{log:q}
            """


if CLAIMS and STUDY.site.beside:

    rule show_studies:
        input:
            claims=[CLAIMS, *map(str, STUDY.site.beside.values())],
            templates=template_files("studies.html"),
        output:
            page="<results>/studies.html",
        log:
            "<logs>/show_studies.log",
        benchmark:
            "<benchmarks>/show_studies.tsv"
        priority: 30
        localrule: True
        conda:
            "../envs/bottomup.yaml"
        resources:
            mem_mb=500,
            runtime=5,
        params:
            settings=SLICES.show_studies(),
        shell:
            """
            python scripts/show_studies.py --settings {params.settings:q} \
                --claims {input.claims:q} --page {output.page:q} &>{log:q}
            """

    BESIDE = [rules.show_studies.output.page]


rule plan_next_look:
    input:
        claims=CLAIMS,
    output:
        # The config of the look before, which the command may name: kept until this one is written.
        look=update("<results>/next_look.yaml"),
    log:
        "<logs>/plan_next_look.log",
    benchmark:
        "<benchmarks>/plan_next_look.tsv"
    priority: 30
    localrule: True
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=500,
        runtime=5,
    params:
        settings=SLICES.plan_next_look(),
    shell:
        """
        python scripts/plan_next_look.py --settings {params.settings:q} \
            --claims {input.claims:q} --look {output.look:q} &>{log:q}
        """


# For each LaTeX table, the table of measures that it is made from.
LATEX = {
    **({"claims": "claims", "verdicts": "claims"} if CLAIMS else {}),
    **{
        name: name
        for name in ("quality", "head_functions", "pruning", "mutual_information")
        if MEASURES[name]
    },
}
# They are made on demand. Those that are there may be in a paper, so a study keeps them as all else.
LATEX_MADE = [
    file
    for file in expand(f"{RESULTS}/latex/{{table}}.tex", table=LATEX)
    if os.path.exists(file)
]


rule write_latex:
    input:
        measured=lambda wildcards: f"<results>/measures/{LATEX[wildcards.table]}.csv",
    output:
        latex="<results>/latex/{table}.tex",
    log:
        "<logs>/write_latex.{table}.log",
    benchmark:
        "<benchmarks>/write_latex.{table}.tsv"
    wildcard_constraints:
        table=exactly(LATEX),
    priority: 30
    localrule: True
    conda:
        "../envs/bottomup.yaml"
    resources:
        mem_mb=500,
        runtime=5,
    params:
        settings=SLICES.write_latex,
    shell:
        """
        python scripts/write_latex.py --settings {params.settings:q} \
            --measured {input.measured:q} --latex {output.latex:q} &>{log:q}
        """
