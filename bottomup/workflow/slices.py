"""Slices of the config: for each rule, exactly what its result depends on.

A slice holds whole sections of the config, or parts of them, and `code`, the digest of the rule's
program and of the modules chosen by name. The program turns it back into its `Settings`.
"""

import json
import re

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from bottomup import names
from bottomup.corpus.detokenization import keeps_spaces
from bottomup.names import TWIN
from bottomup.settings import GOLD
from bottomup.workflow.config import Study, tables
from bottomup.workflow.contents import content
from bottomup.workflow.digest import digest
from bottomup.workflow.subjects import SIDES, Subjects

ANNOTATORS = "bottomup.corpus.annotation"


class Slice(dict):
    """Plain values whose repr is JSON, which Snakemake compares and puts on the command line."""

    def __repr__(self) -> str:
        return json.dumps(self, sort_keys=True)


def settings(script: str, values: BaseModel | dict, *modules: str) -> Slice:
    """The slice `values` for the program scripts/`script`.py, which chooses `modules` by name."""
    code = digest(f"scripts/{script}.py", *modules)
    return Slice(to_jsonable_python(values), code=code)


def named(wildcards) -> dict:
    """The run, or the two runs, that a job is about."""
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
        self.study, self.subjects = study, Subjects(study)
        self.languages = dict(zip(SIDES, study.corpus.languages, strict=False))

    def fetch_corpus(self, wildcards) -> Slice:
        source, options = wildcards.origin, self.study.source_options(wildcards.origin)
        values = {"source": source, "options": options.model_dump(mode="json", by_alias=True)}
        # Snakemake compares the content of a newer file, but not of a folder.
        if files := options.read_files():
            values["content"] = content(*files)
        return settings("fetch_corpus", values, f"bottomup.corpus.sources.{source}")

    def clean_corpus(self) -> Slice:
        # Snakemake compares inputs as a set, but their order decides which duplicate stays.
        corpus = self.study.corpus
        of_text = {"origins": corpus.source, "languages": corpus.languages}
        return settings("clean_corpus", dict(corpus.cleaning) | of_text)

    def split_corpus(self) -> Slice:
        return settings("split_corpus", self.study.corpus.splits)

    def deal_blocks(self) -> Slice:
        return settings("deal_blocks", {"seed": self.study.corpus.splits.seed})

    def learn_bpe(self, wildcards) -> Slice:
        language = self.languages[wildcards.side]
        of_side = {"language": language, "spaces": keeps_spaces(wildcards.side, language)}
        return settings("learn_bpe", dict(self.study.corpus.bpe) | of_side)

    def encode_text(self) -> Slice:
        return settings("encode_text", {})

    def count_tokens(self) -> Slice:
        return settings("count_tokens", {})

    def train(self, objective: str, wildcards) -> Slice:
        name, half = names.objective_and_half(objective)
        values = self._run(name, wildcards.seed) | {"model": self.study.objective_shape(name)}
        if name in self.subjects.trained:
            values["training"] = self.study.objective_training(name)
        if half:
            values["half"] = {"number": half, "seed": self.study.corpus.splits.seed}
        return settings("train", values, self._module(name), *self._trunk(name))

    def train_to_step(self, objective: str, wildcards) -> Slice:
        return Slice(self.train(objective, wildcards), step=int(wildcards.step))

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
        if self._translated(wildcards.objective):
            beam = self.study.quality.model_dump(include={"beam_size", "length_penalty"})
        values = {
            "run": self._named_run(wildcards),
            "sentences": heads.sentences,
            "seed": heads.seed,
            "beam": beam,
        }
        modules = self._task(wildcards, "importances")
        return settings("measure_head_importance", values, *modules)

    def measure_head_functions(self, wildcards) -> Slice:
        return settings("measure_head_functions", {"run": named(wildcards)} | self._functions())

    def measure_attention(self, wildcards) -> Slice:
        sample = {"sentences": self.study.site.sentences, "seed": self.study.heads.seed}
        return settings("measure_attention", {"run": named(wildcards)} | sample)

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
        return settings("prune_heads", values, *self._task(wildcards, "pruning"))

    def measure_pruning(self, wildcards) -> Slice:
        values = {
            "run": self._named_run(wildcards),
            "pruned": self._pruned(wildcards),
            "scoring": self._scoring(wildcards),
        }
        return settings("measure_pruning", values, *self._task(wildcards, "judging"))

    def annotate_words(self, wildcards) -> Slice:
        annotation = self.study.annotation
        values = {
            "annotator": "pipeline",
            "told_by": annotation.pipeline,
            "categories": "ccg" in self.study.known_of_words(),
            "depccg_model": annotation.depccg_model,
        }
        files = []
        if annotation.depccg_model:
            model = annotation.depccg_model.rglob("*")
            files += [str(path) for path in model if path.is_file()]
        modules = [f"{ANNOTATORS}.pipeline", annotation.pipeline]
        if annotation.pipeline == GOLD:
            treebank = self.study.source_options("conllu")
            values |= {"annotator": GOLD, "told_by": treebank.folder}
            files += treebank.read_files()
            modules = [f"{ANNOTATORS}.{GOLD}"]
        if files:
            values["content"] = content(*files)
        return settings("annotate_words", values, *modules)

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
        about = tables()[table].TABLE
        options = getattr(self.study.measures, about.section or table)
        values = {"table": table, "run": named(wildcards), "options": options}
        values["unit"] = self.study.occurrences.unit
        if about.null:
            values["null"] = self.study.measures.chance
        if about.part == "reading":
            labels = self.subjects.labels(wildcards.objective, wildcards.reading)
            values |= {"reading": wildcards.reading, "labels": labels}
        return settings("measure_views", values, f"bottomup.tables.{table}")

    def measure_influence(self, wildcards) -> Slice:
        values = {"run": named(wildcards), "influence": self.study.measures.influence}
        return settings("measure_influence", values)

    def project_views(self, wildcards) -> Slice:
        values = {"run": named(wildcards), "projection": self.study.measures.projection}
        values["unit"] = self.study.occurrences.unit
        return settings("project_views", values)

    def collect_tables(self) -> Slice:
        return settings("collect_tables", {})

    def plot(self, figure: str, options: dict, tables: list[str], paths: list[str]) -> Slice:
        """`figure` is a module of bottomup/figures, `tables` a name for each of its tables, whose
        `paths` say whom it shows."""
        parts = {part for path in paths for part in re.split("[/.]", path) if "-" in part}
        shown = {part.rpartition("-")[0].removesuffix(TWIN) for part in parts}
        places = {name: at for name, at in self.subjects.places().items() if name in shown}
        values = {"figure": figure, "options": options, "tables": tables, "places": places}
        return settings("plot_figure", values, f"bottomup.figures.{figure}")

    def compare_with_published(self) -> Slice:
        return settings("compare_with_published", {})

    def judge_claims(self) -> Slice:
        values = {
            "estimators": self._estimators(),
            "others": self._other_estimators(),
            "initial": self._initial(),
            "looks": self._looks(),
        }
        return settings("judge_claims", values)

    def plan_next_look(self) -> Slice:
        study, objectives = self.study, self.subjects.objectives
        tokens = dict.fromkeys(objectives, 0)
        for name in self.subjects.trained:
            of_seed = 3 if name in study.training_halves else 1  # on the text, and on each half
            tokens[name] = of_seed * study.objective_training(name).max_tokens
        values = {
            "planned": self._looks()["planned"],
            "seeds": {name: len(self.subjects.seeds(name)) for name in objectives},
            "tokens": tokens,
            "initial": self._initial(),
            "pruned": self.study.pruning.n_seeds,
        }
        return settings("plan_next_look", values)

    def _looks(self) -> dict[str, list[int]]:
        seeds = self.study.seeds
        return {"seeds": seeds, "planned": self.study.looks or [len(seeds)]}

    def calibrate_claims(self) -> Slice:
        values = {
            "estimators": self._estimators(),
            "initial": self._initial(),
            "studies": 1000,
            "seed": 1,
        }
        return settings("calibrate_claims", values)

    def _initial(self) -> dict[str, str]:
        initial = {name: self.subjects.initial(name) for name in self.subjects.objectives}
        return {name: untrained for name, untrained in initial.items() if untrained}

    def _estimators(self) -> dict:
        """The estimates that claims use: those that the figures show, of groups that compare."""
        information, pwcca = self.study.measures.mutual_information, self.study.measures.pwcca
        return {
            "mutual_information": {"estimator": "clusters"} | information.shown,
            "pwcca_between_runs": {"variant": pwcca.variants[0], "weights": "x"},
            "pwcca_between_layers": {"variant": pwcca.variants[0], "weights": "x"},
            "change": {"matching": "matched"},
            "influence": {"matching": "matched"},
            "neighbors": {"metric": "cosine"},
            "head_importance": {"importance": ["confidence", "relevance_alpha_beta"]},
        }

    def _other_estimators(self) -> dict:
        """The other estimators, under which verdicts should be the same."""
        information, pwcca = self.study.measures.mutual_information, self.study.measures.pwcca
        others = {
            "classifier": ["mutual_information", {"estimator": "classifier"}],
            "groups as published": ["change", {"matching": "published"}],
            "ten types a group": ["change", {"matching": "ten_types"}],
            "groups as published, hidden": ["influence", {"matching": "published"}],
            "Euclidean": ["neighbors", {"metric": "euclidean"}],
            "relevance by ratios": [
                "head_importance",
                {"importance": ["confidence", "relevance_ratio"]},
            ],
        }
        of = self._estimators()["mutual_information"]
        for n in information.other_n_clusters:
            others[f"{n} clusters"] = ["mutual_information", of | {"n_clusters": n}]
        for n in information.other_n_tokens:
            others[f"{n} tokens"] = ["mutual_information", of | {"n_tokens": n}]
        if information.scikit_learn:
            others["scikit-learn"] = ["mutual_information", {"estimator": "scikit-learn"}]
        if "definition" in pwcca.variants:
            upper = {"variant": "definition", "weights": "y"}
            others["weighted by the upper layer"] = ["pwcca_between_layers", upper]
            others["weighted by the second run"] = ["pwcca_between_runs", upper]
        for variant in pwcca.variants[1:]:
            for between in ("runs", "layers"):
                name = f"{variant}, {between}"
                others[name] = [f"pwcca_between_{between}", {"variant": variant, "weights": "x"}]
        return others

    def show_claims(self, figures: list[dict]) -> Slice:
        """`figures`: each as `bottomup.pages.claims.Figure` has it."""
        study = self.study
        values = self._size() | {
            "test_words": study.corpus.splits.test_words,
            "figures": figures,
            "halves": study.training_halves,
            "pwcca": self._estimators()["pwcca_between_runs"],
        }
        return settings("show_claims", values)

    def _size(self) -> dict:
        """What a page says of how large its study is."""
        study = self.study
        return {
            "study": study.study,
            "model": study.model.model_dump(include={"layers", "heads", "d_model"}),
            "objectives": {name: self._runs_of(name) for name in self.subjects.objectives},
            "checkpoints": list(study.checkpoints),
        }

    def _runs_of(self, objective: str) -> dict:
        trained = objective in self.subjects.trained
        tokens = self.study.objective_training(objective).max_tokens if trained else None
        return {"seeds": self.subjects.seeds(objective), "tokens": tokens}

    def write_latex(self, wildcards) -> Slice:
        options = {}
        if wildcards.table == "mutual_information":
            options = {"estimate": self.study.measures.mutual_information.shown}
        return settings("write_latex", {"table": wildcards.table, "options": options})

    def show_index(self, figures: list[dict]) -> Slice:
        """`figures`: each as `bottomup.pages.index.Figure` has it."""
        study = self.study
        said = dict.fromkeys(("study", "seeds", "model", "heads", "measures", "views"), True)
        said["corpus"] = {"source", "languages"}
        values = self._size() | {
            "languages": study.corpus.languages,
            "figures": figures,
            "config": study.model_dump(mode="json", include=said),
            "repository": study.site.repository,
        }
        return settings("show_index", values)

    def show_explorer(self) -> Slice:
        return settings("show_explorer", {"study": self.study.study})

    def _scoring(self, wildcards) -> dict:
        translation, quality = None, self.study.quality
        if self._translated(wildcards.objective):
            language = {"language": self.languages["target"]}
            translation = quality.model_dump(exclude={"seed", "choose"}) | language
        options = self._named_run(wildcards)["options"]
        choose = quality.choose if hasattr(options, "choose") else None
        return {"seed": quality.seed, "translation": translation, "choose": choose}

    def _translated(self, objective: str) -> bool:
        """Whether it is judged by what it translates: runs alone."""
        of_ours = objective not in self.subjects.checkpoints
        return of_ours and "target" in self.subjects.sides(objective)

    def _task(self, wildcards, module: str) -> list[str]:
        """The modules by which heads are judged or pruned, see `bottomup.heads.tasks`."""
        if wildcards.objective in self.subjects.checkpoints:
            return [f"bottomup.heads.own.{module}"]
        return [f"bottomup.heads.ours.{module}", self._module(wildcards.objective)]

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
        if objective in self.subjects.checkpoints:
            return {"objective": objective, "module": None, "options": {}, "seed": int(seed)}
        module = self.study.objective_module(names.whole(objective))
        options = self.study.objective_options(names.whole(objective))
        return {"objective": objective, "module": module, "options": options, "seed": int(seed)}

    def _module(self, objective: str) -> str:
        return f"bottomup.objectives.{self.study.objective_module(names.whole(objective))}"

    def _trunk(self, objective: str) -> list[str]:
        """The module of a trunk, chosen by name."""
        name = names.whole(objective)
        if objective in self.subjects.checkpoints or self.study.attends(name):
            return []
        return [f"bottomup.model.trunks.{self.study.objective_trunk(name)}"]
