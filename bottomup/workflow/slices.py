"""Slices of the config: for each rule, exactly what its result depends on.

A slice holds sections of the config, as they are or in part, and `code`, the digest of the rule's
program and of the modules chosen by name. The program makes its `Settings` from it again.
"""

import json
from collections.abc import Iterator
from itertools import combinations

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from bottomup import names
from bottomup.kinds import GATED
from bottomup.names import TWIN
from bottomup.objectives import Question
from bottomup.workflow.config import Study
from bottomup.workflow.digest import content, digest

SIDES = ["source", "target"]
PAPER_ORDER = ["lm", "mt", "mlm"]  # in which the evolution paper names what it compares
# By table, its section of `measures`, where that has another name.
SECTION = {
    "pwcca_between_layers": "pwcca",
    "pwcca_between_runs": "pwcca",
    "similarity_between_runs": "similarity",
}
READINGS = ["plain", names.AS_TRAINED]


class Slice(dict):
    """Plain values that read as JSON, which Snakemake compares and puts on the command line."""

    def __repr__(self) -> str:
        return json.dumps(self, sort_keys=True)


def settings(script: str, values: BaseModel | dict, *modules: str) -> Slice:
    """The slice `values` of the program scripts/`script`.py that chooses `modules` by name."""
    code = digest(f"scripts/{script}.py", *modules)
    return Slice(to_jsonable_python(values), code=code)


def named(wildcards) -> dict:
    """The run that a job is about, or both."""
    if hasattr(wildcards, "objective"):
        return {"objective": wildcards.objective, "seed": int(wildcards.seed)}
    return {
        f"{name}_{side}": kind(getattr(wildcards, f"{name}_{side}"))
        for side in "ab"
        for name, kind in (("objective", str), ("seed", int))
    }


class Slices:
    """The slices of one study, a method for each rule that has one.

    The methods of rules with wildcards take Snakemake's wildcards.
    """

    def __init__(self, study: Study):
        self.study = study
        self.objectives = sorted(
            study.objective_names(), key=lambda name: [*PAPER_ORDER, name].index(name)
        )
        self.trained = [name for name in self.objectives if study.objective_options(name).predicts]
        self.compared = [
            name for name in self.objectives if not study.objective_options(name).variant
        ]
        # And the variants, each where its question is asked.
        self.by_mask = self.compared + self.variants(Question.MASK)
        self.by_noise = self.compared + self.variants(Question.TOKEN_DROPOUT)
        # Models from elsewhere, each followed by its untrained twin.
        self.checkpoints = [
            name for checkpoint in study.checkpoints for name in (checkpoint, checkpoint + TWIN)
        ]
        self.looked_at = self.compared + self.checkpoints
        self.steps = [
            names.at_step(name, step)
            for name, steps in study.training_steps.items()
            for step in steps
        ]
        self.halves = [names.half(name, n) for name in study.training_halves for n in (1, 2)]
        self.source_options = study.source_options()
        self.languages = dict(zip(SIDES, self.source_options.languages, strict=True))

    # What there is.

    def attending(self, objectives: list[str]) -> list[str]:
        """Those whose models have heads, which tokens can be hidden from, too."""
        return [name for name in objectives if self.study.attends(names.whole(name))]

    def variants(self, question: Question) -> list[str]:
        """The objectives that are variants of others for this question."""
        of = {name: self.study.objective_options(name).variant for name in self.objectives}
        return [name for name, variant in of.items() if variant and variant.question is question]

    def target(self, objective: str) -> str | None:
        """The module of the objective that this one is, or is a variant of; None if it predicts
        nothing."""
        variant = self.study.objective_options(objective).variant
        if objective not in self.trained:
            return None
        return variant.of if variant else self.study.objective_module(objective)

    def beside(self, variant: str) -> list[str]:
        """What has the target of a variant and is compared with all."""
        return [name for name in self.compared if self.target(name) == self.target(variant)]

    def initial(self, model: str) -> str | None:
        """The untrained model that one starts from, of an untrained one itself; None if the study
        has none: a checkpoint's twin, or of the objectives without training the first whose
        encoder is the same."""
        if model in self.checkpoints:
            return model.removesuffix(TWIN) + TWIN
        if model not in self.trained:
            return model

        def encoder(name: str) -> tuple[str, bool]:
            return self.study.objective_trunk(name), self.study.objective_options(name).causal

        untrained = (name for name in self.objectives if name not in self.trained)
        return next((name for name in untrained if encoder(name) == encoder(model)), None)

    def model(self, objective: str) -> dict:
        """What is known of an objective's models, for a figure that asks what they differ in."""
        options = self.study.objective_options(objective)
        return {
            "causal": options.causal,
            "initial": self.initial(objective),
            "target": self.target(objective),
            "variant": options.variant is not None,
        }

    def runs(self, objectives: list[str]) -> list[str]:
        """Names of runs, objective x seed."""
        return [names.run(name, seed) for name in objectives for seed in self.seeds(name)]

    def seeds(self, objective: str) -> list[int]:
        """The seeds under which an objective runs, on the whole text or on a half, to its end or
        to a step."""
        if objective in self.checkpoints:
            return [0]
        return self.study.objective_seeds(names.whole(objective))

    def masked(self) -> list[str]:
        """Objectives that are looked at as they were trained, too; not by words, of which only some
        sub-words would be masked."""
        if self.study.occurrences.unit == "word":
            return []
        return [name for name in self.compared if self.study.objective_options(name).masked]

    def readings(self) -> list[str]:
        """Each run with each reading under which it is looked at, `run.reading`."""
        runs = {
            "plain": self.runs(self.by_mask + self.checkpoints + self.steps),
            names.AS_TRAINED: self.runs(self.masked()),
        }
        return [f"{run}.{reading}" for reading, some in runs.items() for run in some]

    def first_runs(self, objectives: list[str]) -> list[str]:
        """The run of the first seed of each objective: for what needs no spread over seeds."""
        return [names.run(name, self.seeds(name)[0]) for name in objectives]

    def first_pairs(self) -> list[str]:
        """Of the pairs of runs, those of the first seed, and of one objective those of the first
        two."""
        first, *others = self.study.seeds
        shown = {first, *others[:1]}
        return [
            pair
            for pair in self.pairs_of_runs()
            for (a, seed_a), (b, seed_b) in [map(names.objective_and_seed, names.runs_of(pair))]
            if {seed_a, seed_b} <= {first, 0} or (a == b and {seed_a, seed_b} == shown)
        ]

    def pairs_of_runs(self) -> Iterator[str]:
        """Pairs of runs, `run.run`, that a claim or a figure compares.

        A checkpoint with the runs of the first seed, and with its twin; of trained objectives all;
        of initial models those of one objective or one seed; of the variants in mask or target
        those of one seed with what predicts tokens of the same side; of halves; a run at a step
        with itself at the end.
        """
        first = self.study.seeds[0]
        for name in self.study.checkpoints:
            others = [names.run(other, first) for other in self.compared]
            for run in [*others, names.run(name + TWIN, 0)]:
                yield names.pair(run, names.run(name, 0))
        runs = [(name, seed) for name in self.compared for seed in self.seeds(name)]
        for (a, seed_a), (b, seed_b) in combinations(runs, 2):
            n_trained = len({a, b} & set(self.trained))
            initial = n_trained == 0 and (a == b or seed_a == seed_b)
            if n_trained == len({a, b}) or initial:
                yield names.pair(names.run(a, seed_a), names.run(b, seed_b))
        options = {name: self.study.objective_options(name) for name in self.by_mask}
        # Causal ones first, as LM is.
        variants = sorted(self.variants(Question.MASK), key=lambda name: not options[name].causal)
        for a, b in combinations(self.compared + variants, 2):
            if b in variants and options[a].predicts == options[b].predicts:
                for seed in sorted({*self.seeds(a)} & {*self.seeds(b)}):
                    yield names.pair(names.run(a, seed), names.run(b, seed))
        for name in self.study.training_halves:
            for seed in self.seeds(name):
                yield names.pair(*(names.run(names.half(name, n), seed) for n in (1, 2)))
        for at_step, whole in self.steps_and_ends():
            yield names.pair(at_step, whole)

    def steps_and_ends(self) -> Iterator[tuple[str, str]]:
        """Each run at a step, with the same run at its end."""
        for name in self.steps:
            objective, _ = names.objective_and_step(name)
            for seed in self.seeds(name):
                yield names.run(name, seed), names.run(objective, seed)

    def sides(self, objective: str) -> list[str]:
        """The sides of the text that a run under this objective reads or predicts."""
        name, _ = names.objective_and_half(objective)
        translates = self.study.objective_options(name).predicts == "target"
        return SIDES if translates else ["source"]

    def pruned_runs(self) -> list[str]:
        """Each pruned run, `run.attention.method_penalty`."""
        pruning = self.study.pruning
        return [
            names.pruned(names.run(objective, seed), attention, method, penalty)
            for objective in self.trained
            for seed in self.seeds(objective)[: pruning.n_seeds]
            for attention, penalties in pruning.penalties.get(objective, {}).items()
            for penalty in penalties
            for method in ["gates", *pruning.controls]
            if method == "gates" or penalty in pruning.controls[method]
        ]

    def pruned_checkpoints(self) -> list[str]:
        """Each pruned checkpoint, named as the runs are; by gates alone."""
        pruning = self.study.pruning
        return [
            names.pruned(run, attention, "gates", penalty)
            for name in self.study.checkpoints
            for run in self.runs([name])[: pruning.n_seeds]
            for attention, penalties in pruning.penalties.get(name, {}).items()
            for penalty in penalties
        ]

    def whole_runs(self) -> list[str]:
        """What these are compared with, `run.attention.none_0`."""
        every = self.pruned_runs() + self.pruned_checkpoints()
        pruned = [names.run_attention_and_method(name)[:2] for name in every]
        return [names.pruned(*run, "none", 0) for run in dict.fromkeys(pruned)]

    # What each rule depends on.

    def fetch_corpus(self, wildcards) -> Slice:
        source = self.study.corpus.source
        options = self.source_options.model_dump(mode="json", by_alias=True)
        values = {"source": source, "options": options}
        # Snakemake looks into a file that is newer, and into no folder.
        if files := self.source_options.read_files():
            values["content"] = content(*files)
        return settings("fetch_corpus", values, f"bottomup.corpus.sources.{source}")

    def clean_corpus(self) -> Slice:
        return settings("clean_corpus", self.study.corpus.cleaning)

    def split_corpus(self) -> Slice:
        return settings("split_corpus", self.study.corpus.splits)

    def deal_blocks(self) -> Slice:
        return settings("deal_blocks", {"seed": self.study.corpus.splits.seed})

    def learn_bpe(self, wildcards) -> Slice:
        language = {"language": self.languages[wildcards.side]}
        return settings("learn_bpe", dict(self.study.corpus.bpe) | language)

    def encode_text(self) -> Slice:
        return settings("encode_text", {})

    def count_tokens(self) -> Slice:
        return settings("count_tokens", {})

    def train(self, objective: str, wildcards) -> Slice:
        name, half = names.objective_and_half(objective)
        values = self._run(name, wildcards.seed) | {"model": self.study.objective_shape(name)}
        if name in self.trained:
            values["training"] = self.study.objective_training(name)
        if half:
            values["half"] = {"number": half, "seed": self.study.corpus.splits.seed}
        return settings("train", values, self._module(name), *self._trunk(name))

    def train_to_step(self, objective: str, wildcards) -> Slice:
        return Slice(self.train(objective, wildcards), step=int(wildcards.step))

    def checkpoint_files(self, name: str) -> list[str]:
        """What a checkpoint in a folder of the user's is read from."""
        folder = self.study.checkpoints[name.removesuffix(TWIN)].folder
        files = ("config.json", "model.safetensors")
        return [str(folder / file) for file in files] if folder else []

    def open_checkpoint(self, wildcards) -> Slice:
        name = wildcards.objective.removesuffix(TWIN)
        checkpoint, twin = self.study.checkpoints[name], wildcards.objective != name
        seed = self.study.seeds[0] if twin else None
        return settings("open_checkpoint", {"source": checkpoint, "twin_seed": seed})

    def learn_words(self) -> Slice:
        return settings("learn_words", {})

    def measure_quality(self, wildcards) -> Slice:
        objective = wildcards.objective
        values = {"run": self._named_run(wildcards), "scoring": self._scoring(wildcards)}
        modules = [self._module(objective), *self._trunk(objective)]
        return settings("measure_quality", values, *modules)

    def measure_head_importance(self, wildcards) -> Slice:
        heads, beam = self.study.heads, None
        if "target" in self.sides(wildcards.objective):
            beam = self.study.quality.model_dump(include={"beam_size", "length_penalty"})
        values = {
            "run": self._named_run(wildcards),
            "sentences": heads.sentences,
            "seed": heads.seed,
            "beam": beam,
        }
        return settings("measure_head_importance", values, self._module(wildcards.objective))

    def measure_head_functions(self, wildcards) -> Slice:
        return settings("measure_head_functions", {"run": named(wildcards)} | self._functions())

    def measure_checkpoint_heads(self, wildcards) -> Slice:
        run, heads = {"objective": wildcards.objective, "seed": 0}, self.study.heads
        values = {"run": run, "sentences": heads.sentences, "seed": heads.seed}
        return settings("measure_checkpoint_heads", values | self._functions())

    def measure_pruned_functions(self, wildcards) -> Slice:
        run = named(wildcards) | self._pruned(wildcards)
        return settings("measure_head_functions", {"run": run} | self._functions())

    def collect_heads(self) -> Slice:
        return settings("collect_heads", {})

    def prune_heads(self, wildcards) -> Slice:
        objective, pruning = wildcards.objective, self.study.pruning
        values = self._named_run(wildcards) | {"pruned": self._pruned(wildcards)}
        if wildcards.method == "scratch":
            values["training"] = self.study.scratch_training(objective)
        else:
            values["training"] = self.study.pruning_training(objective)
        if wildcards.method == "gates":
            values["gates"] = pruning.gates
        return settings("prune_heads", values, self._module(objective))

    def measure_pruning(self, wildcards) -> Slice:
        values = {
            "run": self._named_run(wildcards),
            "pruned": self._pruned(wildcards),
            "scoring": self._scoring(wildcards),
            "gated_layers": len(GATED[wildcards.attention]) * self.study.model.layers,
        }
        return settings("measure_pruning", values, self._module(wildcards.objective))

    def prune_checkpoint(self, wildcards) -> Slice:
        values = named(wildcards) | {
            "pruned": self._pruned(wildcards),
            "training": self.study.pruning_training(wildcards.objective),
            "gates": self.study.pruning.gates,
        }
        return settings("prune_checkpoint", values)

    def measure_checkpoint_pruning(self, wildcards) -> Slice:
        values = {
            "run": named(wildcards),
            "pruned": self._pruned(wildcards),
            "seed": self.study.quality.seed,
        }
        return settings("measure_checkpoint_pruning", values)

    def annotate_words(self) -> Slice:
        annotation = self.study.annotation
        return settings("annotate_words", annotation, annotation.pipeline)

    def annotate_occurrences(self) -> Slice:
        return settings("annotate_occurrences", {})

    def draw_occurrences(self, wildcards) -> Slice:
        study, objective = self.study, names.masked_for(wildcards.drawn)
        values = {"n": study.occurrences.n, "seed": study.occurrences.seed, "masked": None}
        if objective is None:
            return settings("draw_occurrences", values)
        values["masked"] = {
            "draws": study.occurrences.as_trained_draws,
            "n_tokens": study.measures.mutual_information.n_tokens,
            "module": study.objective_module(objective),
            "options": study.objective_options(objective),
        }
        return settings("draw_occurrences", values, self._module(objective))

    def extract_views(self, wildcards) -> Slice:
        return settings("extract_views", self.study.views, *self._trunk(wildcards.objective))

    def measure_alignment(self, wildcards) -> Slice:
        return settings("measure_alignment", named(wildcards))

    def measure_views(self, table: str, wildcards) -> Slice:
        options = getattr(self.study.measures, SECTION.get(table, table))
        values = {"table": table, "run": named(wildcards), "options": options}
        if table == "mutual_information":
            reading = wildcards.reading
            values |= {"reading": reading, "labels": self.labels(wildcards.objective, reading)}
        return settings("measure_views", values, f"bottomup.tables.{table}")

    def labels(self, objective: str, reading: str) -> list[dict]:
        """Which tokens a layer's information is about, and at which positions (evolution, 4)."""
        if reading == "as_trained":
            return [{"label": "input", "positions": "replaced"}] + [
                {"label": "output", "positions": positions}
                for positions in ("changed", "masked", "replaced")
            ]
        # Only a model that reads from left to right is to predict the next token.
        name, _ = names.objective_and_step(objective)
        predicts_next = (
            objective not in self.checkpoints and self.study.objective_options(name).causal
        )
        return [
            {"label": label, "positions": "all"}
            for label in (["input", "output"] if predicts_next else ["input"])
        ]

    def measure_influence(self, wildcards) -> Slice:
        values = {"run": named(wildcards), "influence": self.study.measures.influence}
        return settings("measure_influence", values)

    def project_views(self, wildcards) -> Slice:
        values = {"run": named(wildcards), "projection": self.study.measures.projection}
        return settings("project_views", values)

    def collect_tables(self) -> Slice:
        return settings("collect_tables", {})

    def plot(self, figure: str, options: dict, tables: list[str]) -> Slice:
        """`figure` is a module of bottomup/figures, `tables` a name for each of its tables."""
        values = {"figure": figure, "options": options, "tables": tables}
        return settings("plot_figure", values, f"bottomup.figures.{figure}")

    def compare_with_published(self) -> Slice:
        return settings("compare_with_published", {})

    def judge_claims(self) -> Slice:
        values = {
            "estimators": self._estimators(),
            "others": self._other_estimators(),
            "initial": self._initial(),
        }
        return settings("judge_claims", values)

    def calibrate_claims(self) -> Slice:
        values = {
            "estimators": self._estimators(),
            "initial": self._initial(),
            "studies": 1000,
            "seed": 1,
        }
        return settings("calibrate_claims", values)

    def _initial(self) -> dict[str, str]:
        initial = {name: self.initial(name) for name in self.objectives}
        return {name: untrained for name, untrained in initial.items() if untrained}

    def _estimators(self) -> dict:
        """Claims are about the estimates that the figures show, and groups that can be compared."""
        information, pwcca = self.study.measures.mutual_information, self.study.measures.pwcca
        return {
            "mutual_information": {"n_clusters": information.n_clusters},
            "pwcca_between_runs": {"variant": pwcca.variants[0], "weights": "x"},
            "pwcca_between_layers": {"variant": pwcca.variants[0], "weights": "x"},
            "change": {"matching": "matched"},
            "influence": {"matching": "matched"},
            "neighbours": {"metric": "cosine"},
            "head_importance": {"importance": ["confidence", "relevance_alpha_beta"]},
        }

    def _other_estimators(self) -> dict:
        """Under which the verdicts are to be the same."""
        information, pwcca = self.study.measures.mutual_information, self.study.measures.pwcca
        others = {
            "classifier": ["mutual_information", {"estimator": "classifier"}],
            "groups as published": ["change", {"matching": "published"}],
            "ten types a group": ["change", {"matching": "ten_types"}],
            "groups as published, hidden": ["influence", {"matching": "published"}],
            "Euclidean": ["neighbours", {"metric": "euclidean"}],
            "relevance by ratios": [
                "head_importance",
                {"importance": ["confidence", "relevance_ratio"]},
            ],
        }
        for n_clusters in information.other_n_clusters:
            others[f"{n_clusters} clusters"] = ["mutual_information", {"n_clusters": n_clusters}]
        if "definition" in pwcca.variants:
            upper = {"variant": "definition", "weights": "y"}
            others["weighted by the upper layer"] = ["pwcca_between_layers", upper]
        for variant in pwcca.variants[1:]:
            for between in ("runs", "layers"):
                name = f"{variant}, {between}"
                others[name] = [f"pwcca_between_{between}", {"variant": variant, "weights": "x"}]
        return others

    def show_claims(self) -> Slice:
        return settings("show_claims", {})

    def _scoring(self, wildcards) -> dict:
        translation, quality = None, self.study.quality
        if "target" in self.sides(wildcards.objective):
            language = {"language": self.languages["target"]}
            translation = quality.model_dump(exclude={"seed"}) | language
        return {"seed": quality.seed, "translation": translation}

    def _functions(self) -> dict:
        return {"thresholds": self.study.heads.thresholds}

    def _pruned(self, wildcards) -> dict:
        penalty = float(wildcards.penalty)
        return {
            "attention": wildcards.attention,
            "method": wildcards.method,
            "penalty": None if wildcards.method == "none" else penalty,
        }

    def _named_run(self, wildcards) -> dict:
        return self._run(wildcards.objective, wildcards.seed)

    def _run(self, objective: str, seed: str) -> dict:
        module = self.study.objective_module(objective)
        options = self.study.objective_options(objective)
        return {"objective": objective, "module": module, "options": options, "seed": int(seed)}

    def _module(self, objective: str) -> str:
        return f"bottomup.objectives.{self.study.objective_module(objective)}"

    def _trunk(self, objective: str) -> list[str]:
        """The module of a trunk that is chosen by name."""
        name = names.whole(objective)
        if name in self.checkpoints or self.study.attends(name):
            return []
        return [f"bottomup.model.trunks.{self.study.objective_trunk(name)}"]
