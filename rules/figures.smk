# Figures: tables -> PNG, PDF, and a CSV of the points. Which there are: bottomup/plan/figures.py.

from bottomup.plan.figures import HEADLINE, Figures

DRAWS = Figures(STUDY, SUBJECTS, MEASURES)
with in_one_line("the study cannot start:\n"):
    FIGURES, UNKNOWN = DRAWS.drawn()
FIRST_LOOK = DRAWS.first_look(FIGURES)
# What the first figure is drawn from.
DRAWN_FIRST = {"views", *(FIGURES[HEADLINE].tables if HEADLINE in FIGURES else [])}


for number, (name, figure) in enumerate({**FIGURES, **FIRST_LOOK}.items(), start=1):

    rule:
        name:
            f"plot_{name}"
        input:
            tables=[path for paths in figure.tables.values() for path in paths],
            published=[
                f"bottomup/published/curves/{curve}.csv" for curve in figure.published
            ],
        output:
            png=(
                f"<results>/figures/{name}.png"
                if name in FIRST_LOOK
                else report(
                    f"<results>/figures/{name}.png",
                    caption=f"../docs/captions/{figure.caption}.rst",
                    category=figure.category,
                    labels={"figure": f"{number:02} {name.replace('_', ' ')}"},
                )
            ),
            pdf=f"<results>/figures/{name}.pdf",
            csv=f"<results>/figures/{name}.csv",
        log:
            f"<logs>/plot_{name}.log",
        benchmark:
            f"<benchmarks>/plot_{name}.tsv"
        priority: FIRST if name in FIRST_LOOK else 30
        localrule: True
        conda:
            "../envs/bottomup.yaml"
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            settings=SLICES.plot(figure),
        shell:
            """
            python scripts/plot_figure.py --settings {params.settings:q} \
                --tables @<(printf '%s\\n' {input.tables:q}) --published {input.published:q} \
                --png {output.png:q} --pdf {output.pdf:q} --csv {output.csv:q} &>{log:q}
            """
