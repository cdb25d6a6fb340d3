# Figures: tables -> PNG, PDF, and a CSV of the points.
#
# A figure needs only the parts of a measure that it shows, so it exists as soon as these do.

from bottomup.objectives import Question

MI_OPTIONS = {"estimate": STUDY.measures.mutual_information.shown}
# What the papers compare; variants of an objective have their own figures.
COMPARED = SUBJECTS.runs(SUBJECTS.compared)
LOOKED_AT = SUBJECTS.runs(SUBJECTS.looked_at)  # and models from elsewhere
WITH_HEADS = SUBJECTS.attending(SUBJECTS.compared) + SUBJECTS.checkpoints
# Only the first seed of each: heads of two seeds have nothing in common.
HEADS_OF = SUBJECTS.first_runs(WITH_HEADS)
TRAINED = SUBJECTS.runs([name for name in SUBJECTS.trained if name in WITH_HEADS])
# Runs at a step, each with the same run at its end; and all of these together.
STEPS_AND_ENDS = list(SUBJECTS.steps_and_ends())
OVER_TRAINING = dict.fromkeys(run for pair in STEPS_AND_ENDS for run in pair)
HEADS_OVER_TRAINING = dict.fromkeys(
    run for pair in STEPS_AND_ENDS if pair[1] in TRAINED for run in pair
)
# Figures draw intervals of these over runs and documents, or of their differences.
MEANS_OF = [name for name, table in TABLES.items() if "parquet" in table.writes]
UNTRAINED = set(SUBJECTS.compared) - set(SUBJECTS.trained)
# Each target under each mask, with the models that they start from, if there are any.
OF_MASKS = sorted(name for name in SUBJECTS.by_mask if SUBJECTS.initial(name))
# By objective with token dropout, the objectives without it that have its target.
WITHOUT_DROPOUT = {
    variant: plain
    for variant in SUBJECTS.attending(SUBJECTS.variants(Question.TOKEN_DROPOUT))
    if (plain := SUBJECTS.attending(SUBJECTS.beside(variant)))
}


def parts_of(measure, names=LOOKED_AT):
    """The tables of the parts of a measure, to be read as one table: where means are drawn, with
    the values without each block of documents."""
    ending = "parquet" if measure in MEANS_OF else "csv"
    return {
        measure: [f"<results>/measures/{measure}/{name}.{ending}" for name in names]
    }


def metrics_during(runs):
    """The metrics of runs during training, a table for each."""
    return {run: [f"<results>/runs/{run}/metrics.jsonl"] for run in runs}


def information(objectives, reading="plain"):
    """The same for mutual information, for runs of these objectives."""
    return parts_of(
        "mutual_information", [f"{run}.{reading}" for run in SUBJECTS.runs(objectives)]
    )


def input_and_output(objective, reading):
    """Information of the layers about the token read and the token predicted, for one objective."""
    return {
        "module": "mutual_information_input_output",
        "options": MI_OPTIONS | {"objective": objective, "reading": reading},
        "tables": information([objective], reading),
        "published": ["ib_src_dst_lm_mlm"],
        "caption": f"mutual_information_{'mlm' if reading == 'as_trained' else 'lm'}",
        "category": "2 Information",
    }


def compared_in(
    measure, objectives=SUBJECTS.looked_at + SUBJECTS.halves, untrained=False
):
    """The same for parts about only these objectives; pairs with untrained runs must be of one
    kind, unless `untrained`."""
    shown = []
    for part in MEASURES[measure]:
        about = {names.objective_and_seed(run)[0] for run in names.runs_of(part)}
        mixed = len(about) > 1 and not about.isdisjoint(UNTRAINED)
        if about <= set(objectives) and (untrained or not mixed):
            shown.append(part)
    return parts_of(measure, shown)


def by_group(measure, grouping, published, text):
    return {
        "module": f"{measure}_of_groups",
        "options": {"grouping": grouping},
        "tables": parts_of(
            measure, [name for name in LOOKED_AT if name in MEASURES[measure]]
        ),
        "published": [published],
        "category": text,
    }


def neighbors(properties, published):
    return {
        "module": "neighbors",
        "options": {"properties": properties},
        "tables": parts_of("neighbors"),
        "published": [published],
        "category": "5 What a layer represents",
    }


def heads(published, *measures):
    """A figure about the heads of trained models, or of models with fewer heads."""
    parts = {
        "head_importance": TRAINED,
        "head_functions": TRAINED,
        **{name: MEASURES[name] for name in ("gates", "pruning", "pruned_functions")},
    }
    return {
        "tables": {k: v for m in measures for k, v in parts_of(m, parts[m]).items()},
        "published": published,
        "category": "6 Attention heads",
    }


def all_kinds(name, measure, published=(), **options):
    """A figure for each objective about its models with gates on all kinds of heads, and its whole
    models; the published figures are about MT."""
    shown = {}
    for part in MEASURES[measure]:
        run, attention, method = names.run_attention_and_method(part)
        if attention == "all" and method in ("gates", "none"):
            shown.setdefault(names.objective_and_seed(run)[0], []).append(part)
    return {
        name if objective == "mt" else f"{name}_{objective}": {
            "module": name,
            "options": {"objective": objective, **options},
            "tables": parts_of(measure, parts),
            "published": published if objective == "mt" else [],
            "caption": name,
            "category": "6 Attention heads",
        }
        for objective, parts in shown.items()
    }


def projection(picture):
    shown = [run for run in MEASURES["projection"] if run in LOOKED_AT]
    return {
        "module": "projection",
        "options": {"picture": picture},
        "tables": parts_of("projection", shown),
        "category": "5 What a layer represents",
    }


# By figure, in the order of the report: the module that draws it (by default the one of its name)
# and its options; its tables; the published curves behind it; what it needs of the study or of the
# annotation of words; and where the report lists it.
FIGURES = {
    "mutual_information_input": {
        "options": MI_OPTIONS,
        "tables": information(SUBJECTS.looked_at),
        "published": ["ib_mi_tasks"],
        "category": "2 Information",
    },
    **{
        f"mutual_information_{objective}": input_and_output(objective, "plain")
        for objective in SUBJECTS.compared
        if objective in SUBJECTS.trained and STUDY.objective_options(objective).causal
    },
    **{
        f"mutual_information_{objective}": input_and_output(objective, "as_trained")
        for objective in SUBJECTS.masked()
    },
    "mutual_information_estimators": {
        "options": {"n_tokens": STUDY.measures.mutual_information.n_tokens},
        "tables": information(SUBJECTS.compared),
        "category": "2 Information",
    },
    "distance_between_tasks": {
        "tables": compared_in("pwcca_between_runs"),
        "published": ["change_between_tasks"],
        "category": "3 Distance",
    },
    "distance_between_layers": {
        "tables": parts_of("pwcca_between_layers"),
        "published": ["change_by_task"],
        "category": "3 Distance",
    },
    "change_frequency_rank": by_group(
        "change", "frequency_rank", "change_freq", "4 Change and influence"
    ),
    "influence_frequency_rank": by_group(
        "influence", "frequency_rank", "influence_freq", "4 Change and influence"
    ),
    "influence_with_token_dropout": {
        "tables": parts_of(
            "influence",
            SUBJECTS.runs(
                dict.fromkeys(
                    name
                    for variant, plain in WITHOUT_DROPOUT.items()
                    for name in [*plain, variant]
                )
            ),
        ),
        "options": {"variants": WITHOUT_DROPOUT},
        "published": ["influence_freq", "influence_freq_iwd"],
        "category": "4 Change and influence",
    },
    "change_pos": by_group("change", "pos", "change_pos", "4 Change and influence")
    | {"annotation": "tag"},
    "influence_pos": by_group(
        "influence", "pos", "influence_pos", "4 Change and influence"
    )
    | {"annotation": "tag"},
    "matching": {
        "tables": {
            k: v
            for measure in ("change", "influence")
            for k, v in parts_of(
                measure, [name for name in COMPARED if name in MEASURES["influence"]]
            ).items()
        },
        "category": "4 Change and influence",
    },
    "neighbors_token": neighbors(["token"], "evolution_token"),
    "projection_token": projection("token"),
    "neighbors_position": neighbors(["position"], "evolution_position"),
    "projection_position": projection("position"),
    "neighbors_left_right": neighbors(
        ["left_token", "right_token"], "same_left_right_tokens"
    ),
    "neighbors_ccg": neighbors(["ccg"], "evolution_same_ccg") | {"annotation": "ccg"},
    "neighbors_ccg_left_right": neighbors(
        ["ccg_left", "ccg_right"], "evolution_ccg_left_right"
    )
    | {"annotation": "ccg"},
    "projection_ccg": projection("ccg") | {"annotation": "ccg"},
    "head_importance": heads(["lrp_confidence"], "head_importance"),
    "attention_of_heads": {
        "tables": {
            **parts_of("head_importance", HEADS_OF),
            **parts_of("head_functions", HEADS_OF),
        },
        "options": {
            "initial": {
                name: SUBJECTS.initial(name)
                for name in WITH_HEADS
                if SUBJECTS.initial(name) != name
            }
        },
        "category": "6 Attention heads",
    },
    "importance_agreement": {
        "tables": parts_of(
            "head_importance",
            TRAINED + [names.run(name, 0) for name in STUDY.checkpoints],
        ),
        "category": "6 Attention heads",
    },
    "head_functions": heads(
        ["functions_ru_de_fr"], "head_functions", "head_importance"
    ),
    "syntactic_heads": heads(["syntactic_accuracy"], "head_functions")
    | {"options": {"threshold": STUDY.heads.thresholds.syntactic}}
    | {"annotation": "relation"},
    "quality_against_heads": heads(
        ["heads_dying_enc_bleu_linear_x", "bleu_all_attns"], "pruning"
    ),
    "functions_kept": heads(["functions_retained"], "pruned_functions", "gates"),
    **all_kinds(
        "heads_kept_by_attention", "pruning", ["heads_dying_by_attn_type_both"]
    ),
    **all_kinds("decoder_heads_by_layers", "gates", ["heads_dying_decoder"]),
    **all_kinds("gates_over_time", "gates", attention="all"),
    "corpus_overview": {
        "options": {"n_tokens": STUDY.measures.mutual_information.n_tokens},
        "tables": {
            name: [f"<results>/corpus/{name}.csv"]
            for name in ("cleaning", "splits", "frequencies")
        },
        "category": "7 Text and training",
    },
    "alignment": {
        "tables": parts_of("alignment", MEASURES["alignment"]),
        "category": "7 Text and training",
    },
    "learning_curves": {
        "tables": metrics_during(SUBJECTS.runs(SUBJECTS.trained)),
        "category": "7 Text and training",
    },
    "over_training": {
        "options": MI_OPTIONS | {"variant": STUDY.measures.pwcca.variants[0]},
        "tables": {
            **parts_of("mutual_information", [f"{run}.plain" for run in OVER_TRAINING]),
            **parts_of(
                "pwcca_between_runs", [names.pair(*pair) for pair in STEPS_AND_ENDS]
            ),
            **metrics_during(end for _, end in STEPS_AND_ENDS),
        },
        "category": "7 Text and training",
    },
    "heads_over_training": {
        "options": {
            "thresholds": STUDY.heads.thresholds.model_dump(
                exclude={"pairs", "rare_rank"}
            )
        },
        "tables": {
            **parts_of("head_functions", HEADS_OVER_TRAINING),
            **parts_of("head_importance", HEADS_OVER_TRAINING),
            **metrics_during(end for _, end in STEPS_AND_ENDS if end in TRAINED),
        },
        "category": "7 Text and training",
    },
    "mask": {
        "options": MI_OPTIONS
        | {"variant": STUDY.measures.pwcca.variants[0]}
        | {"models": {name: SUBJECTS.model(name) for name in OF_MASKS}},
        "tables": {
            **information(OF_MASKS),
            **parts_of("neighbors", SUBJECTS.runs(OF_MASKS)),
            **compared_in("pwcca_between_runs", OF_MASKS, untrained=True),
        },
        "needs": [set(OF_MASKS) & set(SUBJECTS.variants(Question.MASK))],
        "category": "8 The attention mask",
    },
}
# Each table with its own figure adds one of all parts that are compared.
FIGURES |= {
    name: {
        "tables": compared_in(name),
        "category": table.category,
    }
    for name, table in TABLES.items()
    if table.category
}
FIGURES["similarity_calibrated"] = FIGURES["similarity_between_runs"] | {
    "module": "similarity_between_runs",
    "options": {"calibrated": True},
}
FIGURES = dict(sorted(FIGURES.items(), key=lambda figure: figure[1]["category"]))
LEFT_OUT = tuple(f"<results>/measures/{name}/" for name in STUDY.left_out())


def can_be_drawn(figure):
    """Whether the study has everything that a figure shows."""
    tables = figure["tables"].values()
    return (
        all(figure.get("needs", []))
        and tables
        and all(tables)
        and not any(path.startswith(LEFT_OUT) for paths in tables for path in paths)
    )


FIGURES = {name: figure for name, figure in FIGURES.items() if can_be_drawn(figure)}
UNKNOWN = [
    name
    for name, figure in FIGURES.items()
    if figure.get("annotation") not in (None, *KNOWN)
]
FIGURES = {name: figure for name, figure in FIGURES.items() if name not in UNKNOWN}

# The first figure to be drawn, and what its jobs are about.
HEADLINE = "mutual_information_input"
DRAWN_FIRST = {"views", *(FIGURES[HEADLINE]["tables"] if HEADLINE in FIGURES else [])}
# Drawn of the first seed alone, where there are more; neither in the report nor on the pages.
FIRST_LOOK = {}
if HEADLINE in FIGURES and len(FIRST_RUNS) < len(COMPARED):
    FIRST_LOOK["first_look"] = FIGURES[HEADLINE] | {
        "module": "first_look",
        "tables": parts_of(
            "mutual_information", [f"{run}.plain" for run in FIRST_RUNS]
        ),
    }


for number, (name, figure) in enumerate({**FIGURES, **FIRST_LOOK}.items(), start=1):

    rule:
        name:
            f"plot_{name}"
        input:
            tables=[path for paths in figure["tables"].values() for path in paths],
            published=[
                f"bottomup/published/curves/{published}.csv"
                for published in figure.get("published", [])
            ],
        output:
            png=(
                f"<results>/figures/{name}.png"
                if name in FIRST_LOOK
                else report(
                    f"<results>/figures/{name}.png",
                    caption=f"../docs/captions/{figure.get('caption', name)}.rst",
                    category=figure["category"],
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
            settings=SLICES.plot(
                figure.get("module", name),
                figure.get("options", {}),
                [key for key, paths in figure["tables"].items() for _ in paths],
                [path for paths in figure["tables"].values() for path in paths],
            ),
        shell:
            """
            python scripts/plot_figure.py --settings {params.settings:q} \
                --tables {input.tables:q} --published {input.published:q} \
                --png {output.png:q} --pdf {output.pdf:q} --csv {output.csv:q} &>{log:q}
            """
