"""A study: the sections of its config (bottomup/core/settings.py) and what follows from them.

Objectives and corpus sources are modules with their own options, which their own models check.
"""

import importlib
import json
import pkgutil
from collections.abc import Iterator, Sequence
from functools import cache, partial
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, Field, create_model

from bottomup.core import settings
from bottomup.core.schema import validated
from bottomup.core.settings import (
    Annotation,
    Checkpoint,
    Corpus,
    Heads,
    Model,
    Occurrences,
    Pruning,
    Quality,
    Section,
    SeedOfRun,
    Site,
    Step,
    Training,
    Trunk,
    Views,
    key,
    rising,
    unique,
)
from bottomup.core.trunks import OF_LAYER, TRUNKS
from bottomup.corpus import drawn
from bottomup.corpus.batches import Text
from bottomup.corpus.reference import settings_of
from bottomup.corpus.segmentation import base
from bottomup.corpus.tokens import TokenFile
from bottomup.objectives import Objective, kind
from bottomup.plan.objective_sections import (
    module_of,
    options_of,
    trunk_of,
)
from bottomup.plan.unchecked import section
from bottomup.training.budget import in_training, operations, source_tokens

if TYPE_CHECKING:
    from bottomup.corpus.sources import SourceOptions

WITH_TARGET = ("target", "both")  # an objective that predicts one of these needs the target side
# Sentences as long as the nine that cut those of the default study into ten equal parts.
LENGTHS = np.array([9, 11, 14, 16, 19, 23, 27, 33, 43])
NO_TOKENS = np.zeros(LENGTHS.sum(), dtype=np.int32)
TYPICAL = TokenFile(ids=NO_TOKENS, words=NO_TOKENS, offsets=np.cumsum([0, *LENGTHS]))


def modules(room: str) -> list[str]:
    """The modules of a package of the library from which the config chooses by name; not those that
    these share, whose names begin with _."""
    path = importlib.import_module(f"bottomup.{room}").__path__
    every = (module.name for module in pkgutil.iter_modules(path))
    return sorted(name for name in every if not name.startswith("_"))


@cache
def tables() -> dict[str, ModuleType]:
    """The modules of the tables that are measured, by name."""
    return {name: importlib.import_module(f"bottomup.tables.{name}") for name in modules("tables")}


def sections() -> dict[str, Any]:
    """The sections of `measures` for these tables, as fields of a model. A section may be missing
    if all its keys have defaults."""
    return {
        name: (model, ... if any(f.is_required() for f in model.model_fields.values()) else model())
        for _, name, model, _ in declared_sections()
    }


def declared_sections() -> Iterator[tuple[str, str, type[BaseModel], bool]]:
    """The tables that declare a section of `measures`: their name, that of the section, its model,
    and whether `options` say more than the section."""
    for name, module in tables().items():
        section, more = module.TABLE.section or name, module.TABLE.options is not None
        if not more or hasattr(module, "Keys"):
            yield name, section, getattr(module, "Keys", module.Settings), more


if TYPE_CHECKING:

    class Measures(settings.Measures):
        """The sections of all tables."""

        def __getattr__(self, section: str) -> Any: ...

else:
    Measures = create_model(
        "Measures", __base__=settings.Measures, __doc__=settings.Measures.__doc__, **sections()
    )
# Tables that a study may choose or leave out: those of `tables`, and `gates`, which pruning writes.
TABLE_NAMES = (*tables(), "gates")
ENGLISH = "en_"  # the start of the names of spaCy's English pipelines
# What may be known of a word, as in `measures.probes.tasks`, and its name in messages.
ANNOTATED = {"tag": "parts of speech", "relation": "relations", "ccg": "CCG categories"}


class StudyCheckpoint(Checkpoint):
    """A model that the study did not train: one of folder, package and hub."""

    initial: str | None = key(
        "the checkpoint that its training started from, or the untrained twin of another, to which "
        "it is compared; it has no twin of its own then",
        default=None,
    )


class Study(Section):
    """One config: corpus, model, objectives, seeds, what to measure."""

    study: str = key(
        "name; results live under results/<study>", pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$"
    )
    corpus: Corpus
    model: Model
    training: Training
    equal: Literal["tokens", "predictions", "operations"] = key(
        "what objectives of one training.max_tokens have in common: source tokens that they read; "
        "or predictions or operations, as many as LM's of their own shape for max_tokens"
    )
    objectives: dict[str, dict[str, Any]] = key(
        "options by objective; the name is that of a module of bottomup/objectives, or any name "
        "for other options of the module in the key objective; null removes one"
    )
    seeds: Annotated[list[SeedOfRun], AfterValidator(rising)] = key(
        "one run for each seed and objective; they rise, so the first is the lowest; models from "
        "elsewhere have seed 0",
        min_length=1,
        max_length=100,
    )
    looks: Annotated[list[Annotated[int, Field(ge=1, le=100)]], AfterValidator(rising)] = key(
        "how many seeds each look has, rising; an objective has those of the first unless n_seeds "
        "says otherwise, and the target plan_next_look asks for more where a claim is undecided; "
        "empty for one look of all seeds",
        "seeds",
        max_length=10,
    )
    checkpoints: dict[str, StudyCheckpoint] = key(
        "models from elsewhere, by name, to look at beside the runs, each with its untrained twin "
        "unless it has an `initial`; null removes one"
    )
    training_halves: Annotated[list[str], AfterValidator(unique)] = key(
        "objectives for which to train two more models, each on one half of the text"
    )
    training_steps: dict[str, Annotated[list[Step], AfterValidator(unique)]] = key(
        "by objective that is no variant, a list of steps, in updates, at which to look also at "
        "its runs; 0 is the initial model; null removes one",
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

    def source_values(self, name: str) -> dict[str, Any]:
        """The same as plain values."""
        return self.source_options(name).model_dump(mode="json", by_alias=True)

    def of_text(self) -> str:
        """The digest of the settings that decide the text."""
        return settings_of(self.corpus, {n: self.source_values(n) for n in self.corpus.source})

    def source_language(self) -> str | None:
        """The language of the source side, without its region; None if it is made up, as what
        sources draw is."""
        sources = map(self.source_options, self.corpus.source)
        made_up = all(isinstance(source, drawn.Options) for source in sources)
        return None if made_up else base(self.corpus.languages[0])

    def known_of_words(self) -> list[str]:
        """What is known of each held-out word, as in `measures.probes.tasks`; categories come from
        the trees of English pipelines, or from a supertagger."""
        pipeline = self.annotation.pipeline
        if pipeline is None:
            return []
        categories = pipeline.startswith(ENGLISH) or self.annotation.depccg_model
        return ["tag", "relation", *(["ccg"] if categories else [])]

    def left_out(self) -> list[str]:
        """The tables that are not made: those that the config leaves out or does not name, and
        those whose annotation is missing."""
        return [*self._not_asked(), *self._unprobed(), *self.unannotated()]

    def _unprobed(self) -> list[str]:
        """The table of probes, if nothing is known of what it asks for."""
        known = set(self.measures.probes.tasks) & set(self.known_of_words())
        return [] if known else ["probes"]

    def lacking(self) -> dict[str, str]:
        """By table, why it is left out, or has no rows about annotated words."""
        known = self.known_of_words()
        asked = {name: module.TABLE.of_words for name, module in tables().items()}
        why = {
            name: self._gives_no([task])
            for name, task in asked.items()
            if task and task not in known
        }
        why |= dict.fromkeys(self.unannotated(), self._gives_no([*ANNOTATED]))
        why |= dict.fromkeys(self._unprobed(), self._gives_no(self.measures.probes.tasks))
        why |= dict.fromkeys(self._not_asked(), "`only` does not name it")
        return why | dict.fromkeys(self.leave_out, "`leave_out` names it")

    def _gives_no(self, tasks: Sequence[str]) -> str:
        """That the pipeline does not tell these of a word."""
        unknown = ", ".join(ANNOTATED[task] for task in tasks)
        return f"annotation.pipeline {json.dumps(self.annotation.pipeline)} gives no {unknown}"

    def _not_asked(self) -> list[str]:
        """The tables that the config leaves out or does not name."""
        others = [name for name in TABLE_NAMES if self.only and name not in self.only]
        return [*self.leave_out, *others]

    def unannotated(self) -> list[str]:
        """The tables about annotated words alone that are asked for, if nothing is known of
        words."""
        if self.known_of_words():
            return []
        annotated = [name for name, module in tables().items() if module.TABLE.annotated]
        return [name for name in annotated if name not in self._not_asked()]

    def without_annotation(self, figures: list[str], unannotated: list[str]) -> str | None:
        """One line about what is left out for lack of annotation, if anything.

        figures: the figures left out. unannotated: of the tables of this name, those that the study
        would have with annotation.
        """
        known = self.known_of_words()
        unknown = [task for task in ANNOTATED if task not in known]
        if not unknown:
            return None
        probes = [task for task in self.measures.probes.tasks if task not in known]
        parts = [f"figures {', '.join(figures)}"] * bool(figures)
        parts += [f"tables {', '.join(unannotated)}"] * bool(unannotated)
        parts += [f"probes for {', '.join(probes)}"] * bool(probes)
        parts += ["rows about them in other tables"]
        return (
            f"left out, since {self._gives_no(unknown)}: {'; '.join(parts)}; claims about them are "
            "not measured"
        )

    def objective_module(self, objective: str) -> str:
        """The module of bottomup/objectives of an objective."""
        return module_of(objective, self.objectives[objective])

    def objective_options(self, objective: str) -> Objective:
        """An objective's own options, with its defaults."""
        model = kind(self.objective_module(objective))
        return validated(model, options_of(self.objectives[objective]))

    def objective_seeds(self, objective: str) -> list[int]:
        """The seeds under which an objective runs; none if it is not one of this study."""
        if objective not in self.objectives:
            return []
        first = self.looks[0] if self.looks else None
        return self.seeds[: self.objectives[objective].get("n_seeds") or first]

    def objective_trunk(self, objective: str) -> str:
        """The trunk of an objective's model."""
        return trunk_of(self.objectives[objective])

    def attends(self, objective: str) -> bool:
        """Whether an objective's model has attention, and so heads."""
        return TRUNKS[self.objective_trunk(objective)]

    def objective_shape(self, objective: str) -> Model | Trunk:
        """The shape of an objective's model: the section `model` with the objective's own values,
        as far as its trunk has them."""
        shape = validated(Model, dict(self.model) | section(self.objectives[objective], "model"))
        if self.attends(objective):
            return shape
        of_trunk = shape.model_dump(include={*Trunk.model_fields})
        trunk = self.objective_trunk(objective)
        return Trunk(trunk=trunk, of_layer=OF_LAYER[trunk], **of_trunk)

    def own_shape(self, objective: str) -> dict:
        """The keys and values in which the shape of an objective's model differs from the section
        `model`."""
        own = self.objective_shape(objective).model_dump(exclude={"of_layer"})
        return {name: of for name, of in own.items() if of != getattr(self.model, name, None)}

    def objective_training(self, objective: str) -> Training:
        """The `training` section with the objective's own values."""
        own = self.objectives[objective].get("training", {})
        return validated(Training, dict(self.training) | own)

    def objective_heads_from(self, objective: str) -> settings.HeadsFrom | None:
        """The heads that an objective's runs start with, if these are of other runs."""
        own = self.objectives[objective].get("heads_from")
        return validated(settings.HeadsFrom, own) if own else None

    def tokens_read(self, objective: str) -> int:
        """About how many source tokens a run of an objective reads: what it counts from its text
        (see `training.budget`), from typical sentences whose translations are as long."""
        own, typical = self.objective_training(objective), self._typical(objective)
        return source_tokens(self.equal, own.max_tokens, *typical, own.short_first)

    def tokens_told(self, objective: str) -> str | None:
        """How many source tokens each run of an objective reads, in words; None if that is not
        known before its text is, since it depends on how long translations are."""
        options = self.objective_options(objective)
        if self.equal == "tokens" or options.name == "lm":
            return f"{self.objective_training(objective).max_tokens:,}"
        if options.predicts in WITH_TARGET:
            return None
        return f"about {float(f'{self.tokens_read(objective):.2g}'):,.0f}"

    def operations(self, objective: str) -> float:
        """About how many operations an objective's training needs for each source token."""
        options, text, shape, sizes = self._typical(objective)
        done = partial(operations, shape=shape, vocab_sizes=sizes)
        return 6 * in_training(done, options, text, short_first=[])

    def _typical(self, objective: str) -> tuple[Objective, Text, Model | Trunk, dict[str, int]]:
        """An objective, the text that its runs read if sentences are typical, and their size."""
        options = self.objective_options(objective)
        target = TYPICAL if options.predicts in WITH_TARGET else None
        sizes = dict.fromkeys(("source", "target"), self.corpus.bpe.merges)
        text = Text(TYPICAL, target, joined=options.predicts == "both")
        return options, text, self.objective_shape(objective), sizes

    def pruning_training(self, objective: str) -> Training:
        """How the objective's runs, or a checkpoint, are fine-tuned with fewer heads."""
        own = self.training
        if objective in self.objectives:
            own = self.objective_training(objective)
        return validated(Training, dict(own) | self.pruning.training)

    def scratch_training(self, objective: str) -> Training:
        """How a model with fewer heads is trained from scratch: at most as long as its run and
        pruning may take."""
        whole, after = self.objective_training(objective), self.pruning_training(objective)
        return whole.model_copy(update={"max_tokens": whole.max_tokens + after.max_tokens})


def source_model(name: str) -> "type[SourceOptions]":
    """The options of a corpus source."""
    return importlib.import_module(f"bottomup.corpus.sources.{name}").Options
