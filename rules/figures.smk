# Figures: tables -> PNG, PDF, and the CSV of the points that are drawn.
#
# A figure takes the parts of a measure that it shows, and so exists as soon as these do.


plain = [name for name in MEASURES["mutual_information"] if name.endswith(".plain")]
as_trained = [name for name in MEASURES["mutual_information"] if name not in plain]


def parts_of(measure, names):
    """Tables of the parts of a measure, all of them read as one."""
    return {measure: [f"<results>/measures/{measure}/{name}.csv" for name in names]}


# By figure: the module that draws it (its own name where none is given) and its options; its
# tables; the published curve behind it; and where the report lists it.
FIGURES = {
    "corpus_overview": {
        "options": {"n_tokens": STUDY.measures.mutual_information.n_tokens},
        "tables": {
            name: [f"<results>/corpus/{name}.csv"]
            for name in ("cleaning", "splits", "frequencies")
        },
        "category": "Text and training",
    },
    "learning_curves": {
        "tables": {
            name: [f"<results>/runs/{name}/metrics.jsonl"]
            for name in SLICES.runs(SLICES.trained)
        },
        "category": "Text and training",
    },
    "mutual_information_input": {
        "tables": parts_of("mutual_information", plain),
        "published": "ib_mi_tasks",
        "category": "Information",
    },
    "mutual_information_lm": {
        "module": "mutual_information_input_output",
        "options": {"objective": "lm"},
        "tables": parts_of(
            "mutual_information", [run for run in plain if run.startswith("lm-")]
        ),
        "published": "ib_src_dst_lm_mlm",
        "category": "Information",
        "needs": ["lm"],
    },
    "mutual_information_mlm": {
        "module": "mutual_information_input_output",
        "options": {"objective": "mlm"},
        "tables": parts_of("mutual_information", as_trained),
        "published": "ib_src_dst_lm_mlm",
        "category": "Information",
        "needs": ["mlm"],
    },
    "distance_between_tasks": {
        "tables": parts_of("pwcca_between_runs", MEASURES["pwcca_between_runs"]),
        "published": "change_between_tasks",
        "category": "Distance",
    },
    "distance_between_layers": {
        "tables": parts_of("pwcca_between_layers", MEASURES["pwcca_between_layers"]),
        "published": "change_by_task",
        "category": "Distance",
    },
}
FIGURES = {
    name: figure
    for name, figure in FIGURES.items()
    if set(figure.get("needs", [])) <= set(SLICES.trained)
}
if len(SLICES.trained) < 2 and len(STUDY.seeds) < 2:
    del FIGURES["distance_between_tasks"]


for name, figure in FIGURES.items():

    rule:
        name:
            f"plot_{name}"
        input:
            tables=[path for paths in figure["tables"].values() for path in paths],
            published=(
                f"bottomup/figures/paper_curves/{figure['published']}.csv"
                if "published" in figure
                else []
            ),
        output:
            png=report(
                f"<results>/figures/{name}.png",
                caption=f"../docs/captions/{name}.rst",
                category=figure["category"],
                labels={"figure": name.replace("_", " ")},
            ),
            pdf=f"<results>/figures/{name}.pdf",
            csv=f"<results>/figures/{name}.csv",
        log:
            f"<logs>/plot_{name}.log",
        benchmark:
            f"<benchmarks>/plot_{name}.tsv"
        priority: 30
        localrule: True
        conda:
            "../envs/bottomup.yaml"
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            settings=SLICES.plot(
                figure.get("module", name),
                figure.get("options", {}),
                [key for key, paths in figure["tables"].items() for _ in paths],
            ),
        shell:
            """
            python scripts/plot_figure.py --settings {params.settings:q} \
                --tables {input.tables:q} --published {input.published:q} \
                --png {output.png:q} --pdf {output.pdf:q} --csv {output.csv:q} &>{log:q}
            """
