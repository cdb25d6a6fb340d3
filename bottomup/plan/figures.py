"""The figures of a study: what draws each, from which tables, beside which published curves.

A figure needs only the parts of a measure that it shows, so it exists as soon as these do. A table
with a `category` has a figure of its own name besides.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bottomup.core import names
from bottomup.core.errors import UserError
from bottomup.objectives import Question
from bottomup.plan.digest import ROOT
from bottomup.plan.study import Study, tables
from bottomup.plan.subjects import Subjects

INFORMATION, DISTANCE, MOVES = "2 Information", "3 Distance", "4 Change and influence"
LAYER, HEADS = "5 What a layer represents", "6 Attention heads"
TEXT, MASK = "7 Text and training", "8 The attention mask"
# Tables that the figure `learned_over_training` shows, as far as they are measured.
LEARNED = ("probes", "structural_probe", "agreement")
# The first figure to be drawn, of the first seed alone where there are more.
HEADLINE = "mutual_information_input"

Tables = dict[str, list[str]]  # by name, the files that are read as one table


@dataclass(frozen=True)
class Figure:
    """What draws a figure, and from what.

    tables: what it is drawn from. category: where report and site list it. module: the one of
    bottomup/figures that draws it. caption: the one in docs/captions. Both are by default those of
    the figure's name. options: those of the module. published: the papers' curves behind it.
    annotation: what must be known of words, as in `measures.probes.tasks`. needs: whether the study
    has what the figure needs besides the tables.
    """

    tables: Tables
    category: str
    module: str = ""
    caption: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    published: tuple[str, ...] = ()
    annotation: str | None = None
    needs: bool = True


def require_files(figures: Mapping[str, Figure]) -> None:
    """Raise UserError if the module or the caption of a figure is missing."""
    missing = [
        f"the figure {name} has no {path}; write it, or take away what asks for the figure: "
        "`category` of its table, or its entry in bottomup/plan/figures.py"
        for name, figure in figures.items()
        for path in (f"bottomup/figures/{figure.module}.py", f"docs/captions/{figure.caption}.rst")
        if not (ROOT / path).is_file()
    ]
    if missing:
        raise UserError("\n".join(missing))


class Figures:
    """The figures of one study; parts: by table, the parts that it has, none if it is left out."""

    def __init__(self, study: Study, subjects: Subjects, parts: Mapping[str, list[str]]):
        self.study, self.subjects, self.parts = study, subjects, parts
        self.shown = {"estimate": study.measures.mutual_information.shown}
        # What the papers compare, and models from elsewhere; variants have figures of their own.
        self.compared = subjects.runs(subjects.compared)
        self.looked_at = subjects.runs(subjects.looked_at)
        with_heads = subjects.attending(subjects.compared)
        self.with_heads = with_heads + subjects.checkpoints
        self.trained = subjects.runs([name for name in subjects.trained if name in with_heads])
        # Only the first seed of each: heads of two seeds have nothing in common.
        self.first_with_heads = subjects.first_runs(self.with_heads)

    def drawn(self) -> tuple[dict[str, Figure], list[str]]:
        """The figures for which the study has everything, by name, in the order of the report; and
        the names of those that it would have if more were known of words; see `require_files`."""
        parts = [
            self._information(),
            self._distances(),
            self._groups(),
            self._neighbors(),
            self._heads(),
            self._fewer_heads(),
            self._text_and_learning(),
            self._over_training(),
            self._masks(),
            self._of_tables(),
            self._stitching(),
            self._by_depth(),
        ]
        named = Counter(name for part in parts for name in part)
        if twice := [name for name, n in named.items() if n > 1]:
            raise UserError(
                f"two figures are called {twice[0]}; allowed: each name once; rename the table "
                "that has a `category`, or the entry in bottomup/plan/figures.py"
            )
        every = {name: figure for part in parts for name, figure in part.items()}
        every = dict(sorted(every.items(), key=lambda item: item[1].category))
        drawn = {
            name: replace(figure, module=figure.module or name, caption=figure.caption or name)
            for name, figure in every.items()
            if figure.needs and figure.tables and all(figure.tables.values())
        }
        require_files(drawn)
        known = (None, *self.study.known_of_words())
        unknown = [name for name, figure in drawn.items() if figure.annotation not in known]
        return {name: figure for name, figure in drawn.items() if name not in unknown}, unknown

    def first_look(self, drawn: Mapping[str, Figure]) -> dict[str, Figure]:
        """The headline figure from first seeds alone, if there are more. It is neither in the
        report nor on the pages."""
        first = self.subjects.first_runs(self.subjects.compared)
        if HEADLINE not in drawn or len(first) == len(self.compared):
            return {}
        parts = self._of("mutual_information", [f"{run}.plain" for run in first])
        return {"first_look": replace(drawn[HEADLINE], module="first_look", tables=parts)}

    def _of(self, measure: str, parts: Iterable[str] | None = None) -> Tables:
        """The files of a measure about those of these parts that it has; by default, about all runs
        in `looked_at`. They are Parquet, with the values without each block of documents, if the
        measure writes that, else CSV."""
        known = tables().get(measure)
        ending = "parquet" if known and "parquet" in known.TABLE.writes else "csv"
        asked, present = self.looked_at if parts is None else parts, set(self.parts[measure])
        shown = [part for part in asked if part in present]
        return {measure: [f"<results>/measures/{measure}/{part}.{ending}" for part in shown]}

    def _metrics(self, runs: Iterable[str]) -> Tables:
        """The metrics of runs during training, a table for each."""
        return {run: [f"<results>/runs/{run}/metrics.jsonl"] for run in runs}

    def _information_of(self, objectives: list[str], reading: str = "plain") -> Tables:
        runs = self.subjects.runs(objectives)
        return self._of("mutual_information", [f"{run}.{reading}" for run in runs])

    def _pairs(
        self, measure: str, objectives: Iterable[str] | None = None, untrained: bool = False
    ) -> Tables:
        """The files of a measure's parts about these objectives alone. Pairs of an untrained run
        and a run of another objective count only if `untrained`."""
        subjects = self.subjects
        only = set(subjects.looked_at + subjects.halves if objectives is None else objectives)
        without_training = set(subjects.compared) - set(subjects.trained)
        shown = []
        for part in self.parts[measure]:
            about = {names.objective_and_seed(run)[0] for run in names.runs_of(part)}
            mixed = len(about) > 1 and not about.isdisjoint(without_training)
            if about <= only and (untrained or not mixed):
                shown.append(part)
        return self._of(measure, shown)

    def _information(self) -> dict[str, Figure]:
        subjects = self.subjects

        def input_and_output(objective: str, reading: str) -> Figure:
            """A figure about the token read and the token predicted, for one objective."""
            return Figure(
                self._information_of([objective], reading),
                INFORMATION,
                "mutual_information_input_output",
                f"mutual_information_{'mlm' if reading == names.AS_TRAINED else 'lm'}",
                self.shown | {"objective": objective, "reading": reading},
                ("ib_src_dst_lm_mlm",),
            )

        causal = [
            name
            for name in subjects.compared
            if name in subjects.trained and subjects.predicts_next(name)
        ]
        # One that learns both, such as LM and then MLM with its mask, has a figure of each.
        masked = {n: f"{n}_{names.AS_TRAINED}" if n in causal else n for n in subjects.masked()}
        of_input = self._information_of(subjects.looked_at)
        n_tokens = {"n_tokens": self.study.measures.mutual_information.n_tokens}
        return {
            HEADLINE: Figure(
                of_input,
                INFORMATION,
                options=self.shown,
                published=("ib_mi_tasks",),
            ),
            **{f"mutual_information_{name}": input_and_output(name, "plain") for name in causal},
            **{
                f"mutual_information_{called}": input_and_output(name, names.AS_TRAINED)
                for name, called in masked.items()
            },
            "mutual_information_estimators": Figure(of_input, INFORMATION, options=n_tokens),
        }

    def _distances(self) -> dict[str, Figure]:
        tasks, layers = self._pairs("pwcca_between_runs"), self._of("pwcca_between_layers")
        return {
            "distance_between_tasks": Figure(tasks, DISTANCE, published=("change_between_tasks",)),
            "distance_between_layers": Figure(layers, DISTANCE, published=("change_by_task",)),
        }

    def _groups(self) -> dict[str, Figure]:
        def of_groups(measure: str, grouping: str, curve: str, annotation=None) -> Figure:
            return Figure(
                self._of(measure),
                MOVES,
                f"{measure}_of_groups",
                options={"grouping": grouping},
                published=(curve,),
                annotation=annotation,
            )

        attending = [run for run in self.compared if run in self.parts["influence"]]
        matched = self._of("change", attending) | self._of("influence", attending)
        return {
            "change_frequency_rank": of_groups("change", "frequency_rank", "change_freq"),
            "influence_frequency_rank": of_groups("influence", "frequency_rank", "influence_freq"),
            "influence_with_token_dropout": self._with_token_dropout(),
            "change_pos": of_groups("change", "pos", "change_pos", "tag"),
            "influence_pos": of_groups("influence", "pos", "influence_pos", "tag"),
            "matching": Figure(matched, MOVES),
        }

    def _with_token_dropout(self) -> Figure:
        subjects = self.subjects
        # For each objective with token dropout, those without it that have the same target.
        variants = {
            variant: plain
            for variant in subjects.attending(subjects.variants(Question.TOKEN_DROPOUT))
            if (plain := subjects.attending(subjects.beside(variant)))
        }
        shown = dict.fromkeys(n for variant, plain in variants.items() for n in [*plain, variant])
        return Figure(
            self._of("influence", subjects.runs([*shown])),
            MOVES,
            options={"variants": variants},
            published=("influence_freq", "influence_freq_iwd"),
        )

    def _neighbors(self) -> dict[str, Figure]:
        def neighbors(properties: list[str], published: str, annotation=None) -> Figure:
            return Figure(
                self._of("neighbors"),
                LAYER,
                "neighbors",
                options={"properties": properties},
                published=(published,),
                annotation=annotation,
            )

        def projection(picture: str, annotation: str | None = None) -> Figure:
            of, options = self._of("projection"), {"picture": picture}
            return Figure(of, LAYER, "projection", options=options, annotation=annotation)

        return {
            "neighbors_token": neighbors(["token"], "evolution_token"),
            "projection_token": projection("token"),
            "neighbors_position": neighbors(["position"], "evolution_position"),
            "projection_position": projection("position"),
            "neighbors_left_right": neighbors(
                ["left_token", "right_token"], "same_left_right_tokens"
            ),
            "neighbors_ccg": neighbors(["ccg"], "evolution_same_ccg", "ccg"),
            "neighbors_ccg_left_right": neighbors(
                ["ccg_left", "ccg_right"], "evolution_ccg_left_right", "ccg"
            ),
            "projection_ccg": projection("ccg", "ccg"),
        }

    def _heads(self) -> dict[str, Figure]:
        initial = {name: self.subjects.initial(name) for name in self.with_heads}
        others = {name: untrained for name, untrained in initial.items() if untrained != name}
        importance = self._of("head_importance", self.trained)
        functions = self._of("head_functions", self.trained)
        first = self.first_with_heads
        ours = [names.run(name, 0) for name in self.study.checkpoints]
        return {
            "head_importance": Figure(importance, HEADS, published=("lrp_confidence",)),
            "attention_of_heads": Figure(
                self._of("head_importance", first) | self._of("head_functions", first),
                HEADS,
                options={"initial": others},
            ),
            "heads_on_plane": Figure(
                self._of("head_distances", [names.pair(run, run) for run in first]), HEADS
            ),
            "importance_agreement": Figure(self._of("head_importance", self.trained + ours), HEADS),
            "head_functions": Figure(
                functions | importance, HEADS, published=("functions_ru_de_fr",)
            ),
            "syntactic_heads": Figure(
                self._of("head_functions", self.trained + ours),
                HEADS,
                options={"threshold": self.study.heads.thresholds.syntactic},
                published=("syntactic_accuracy",),
                annotation="relation",
            ),
        }

    def _fewer_heads(self) -> dict[str, Figure]:
        def every(*measures: str) -> Tables:
            return {k: v for name in measures for k, v in self._of(name, self.parts[name]).items()}

        # Relevance is known of runs alone, and not of variants.
        known = set(self.parts["head_importance"])
        by_gates = {
            part: run
            for part in self.subjects.pruned_by_gates()
            if (run := names.run_attention_and_method(part)[0]) in known
        }
        return {
            "quality_against_heads": Figure(
                every("pruning"),
                HEADS,
                published=("heads_dying_enc_bleu_linear_x", "bleu_all_attns"),
            ),
            "functions_kept": Figure(
                every("pruned_functions", "gates"), HEADS, published=("functions_retained",)
            ),
            "relevance_kept": Figure(
                self._of("gates", by_gates)
                | self._of("head_importance", sorted({*by_gates.values()})),
                HEADS,
            ),
            **self._of_all_kinds(
                "heads_kept_by_attention", "pruning", ("heads_dying_by_attn_type_both",)
            ),
            **self._of_all_kinds("decoder_heads_by_layers", "gates", ("heads_dying_decoder",)),
            **self._of_all_kinds("gates_over_time", "gates", attention="all"),
        }

    def _of_all_kinds(
        self, name: str, measure: str, published: tuple[str, ...] = (), **options: Any
    ) -> dict[str, Figure]:
        """A figure for each objective about its models with gates on all kinds of heads, and its
        whole models; the published curves are about MT."""
        shown: dict[str, list[str]] = {}
        for part in self.parts[measure]:
            run, attention, method = names.run_attention_and_method(part)
            if attention == "all" and method in ("gates", "none"):
                shown.setdefault(names.objective_and_seed(run)[0], []).append(part)
        return {
            name if objective == "mt" else f"{name}_{objective}": Figure(
                self._of(measure, parts),
                HEADS,
                name,
                name,
                {"objective": objective, **options},
                published if objective == "mt" else (),
            )
            for objective, parts in shown.items()
        }

    def _text_and_learning(self) -> dict[str, Figure]:
        corpus = ("cleaning", "splits", "frequencies")
        trained = self.subjects.runs(self.subjects.trained)
        return {
            "corpus_overview": Figure(
                {name: [f"<results>/corpus/{name}.csv"] for name in corpus},
                TEXT,
                options={"n_tokens": self.study.measures.mutual_information.n_tokens},
            ),
            "alignment": Figure(self._of("alignment"), TEXT),
            "learning_curves": Figure(self._metrics(trained), TEXT),
        }

    def _over_training(self) -> dict[str, Figure]:
        study = self.study
        # Runs at a step, each with the same run at its end; and all of these together.
        pairs = list(self.subjects.steps_and_ends())
        runs = [*dict.fromkeys(run for pair in pairs for run in pair)]
        with_heads = [pair for pair in pairs if pair[1] in self.trained]
        of_heads = [*dict.fromkeys(run for pair in with_heads for run in pair)]
        of_learning = [self._of(name, runs) for name in LEARNED]
        learned = {name: some for of in of_learning for name, some in of.items() if some}
        thresholds = study.heads.thresholds.model_dump(exclude={"pairs", "rare_rank"})
        return {
            "over_training": Figure(
                {
                    **self._of("mutual_information", [f"{run}.plain" for run in runs]),
                    **self._of("pwcca_between_runs", [names.pair(*pair) for pair in pairs]),
                    **self._metrics(end for _, end in pairs),
                },
                TEXT,
                options=self.shown | {"variant": study.measures.pwcca.variants[0]},
            ),
            "heads_over_training": Figure(
                {
                    **self._of("head_functions", of_heads),
                    **self._of("head_importance", of_heads),
                    **self._metrics(end for _, end in with_heads),
                },
                TEXT,
                options={"thresholds": thresholds},
            ),
            "learned_over_training": Figure(
                {**learned, **self._metrics(end for _, end in pairs)},
                TEXT,
                needs=bool(learned),
            ),
        }

    def _masks(self) -> dict[str, Figure]:
        """Each target under each mask, with the models that they start from, if there are any."""
        subjects = self.subjects
        shown = sorted(name for name in subjects.by_mask if subjects.initial(name))
        options = {
            "variant": self.study.measures.pwcca.variants[0],
            "models": {name: subjects.model(name) for name in shown},
        }
        of = {
            **self._information_of(shown),
            **self._of("neighbors", subjects.runs(shown)),
            **self._pairs("pwcca_between_runs", shown, untrained=True),
        }
        variants = set(shown) & set(subjects.variants(Question.MASK))
        return {"mask": Figure(of, MASK, options=self.shown | options, needs=bool(variants))}

    def _stitching(self) -> dict[str, Figure]:
        """The figure of stitching, with the similarity of the same pairs of runs, if that is
        measured."""
        stitched = {
            frozenset((run, other))
            for run in self.parts["stitching"]
            for other in self.subjects.stitched_into(names.objective_and_seed(run)[0])
        }
        similar = self._of(
            "similarity_between_runs",
            [
                part
                for part in self.parts["similarity_between_runs"]
                if frozenset(names.runs_of(part)) in stitched
            ],
        )
        of = self._of("stitching") | {name: some for name, some in similar.items() if some}
        return {"stitching": Figure(of, DISTANCE)}

    def _of_tables(self) -> dict[str, Figure]:
        """A figure of all parts that are compared, for each table that has one of its own."""
        every = {name: module.TABLE.category for name, module in tables().items()}
        figures = {
            name: Figure(self._pairs(name), category)
            for name, category in every.items()
            if category
        }
        calibrated = replace(
            figures["similarity_between_runs"],
            module="similarity_between_runs",
            options={"calibrated": True},
        )
        in_english = self.study.source_language() == "en"
        pairs = replace(figures["minimal_pairs"], published=("blimp",) if in_english else ())
        return figures | {"similarity_calibrated": calibrated, "minimal_pairs": pairs}

    def _by_depth(self) -> dict[str, Figure]:
        """Curves of this study and of those beside it, as far as each has drawn them."""
        folders = {name: path.parent.parent for name, path in self.study.site.beside.items()}

        def of_studies(figure: str, panel: str, category: str, tables: Tables) -> Figure:
            own = {self.study.study: f"<results>/figures/{figure}.csv"}
            others = {name: path / f"figures/{figure}.csv" for name, path in folders.items()}
            drawn = own | {name: str(path) for name, path in others.items() if path.is_file()}
            return Figure(
                {f"{figure} of {name}": [path] for name, path in drawn.items()},
                category,
                "by_depth",
                options={"studies": list(drawn), "figure": figure, "panel": panel},
                needs=len(drawn) > 1 and all(tables.values()),
            )

        variant = self.study.measures.pwcca.variants[0]
        return {
            "information_by_depth": of_studies(
                HEADLINE,
                "input: change",
                INFORMATION,
                self._information_of(self.subjects.looked_at),
            ),
            "distance_by_depth": of_studies(
                "distance_between_tasks", variant, DISTANCE, self._pairs("pwcca_between_runs")
            ),
        }
