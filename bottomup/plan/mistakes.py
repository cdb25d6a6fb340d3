"""Mistakes in what a config chooses by name, and keys that are right by themselves and wrong
together. What one key may hold is said where it is declared (bottomup/core/settings.py)."""

import json
import math
import operator
import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from bottomup.core import names, settings
from bottomup.core.kinds import GATED
from bottomup.core.languages import short
from bottomup.core.names import TWIN, plain, whole
from bottomup.core.schema import nearest, problems, uncounted, validated, wrong_defaults
from bottomup.core.settings import GOLD, Corpus, Model, Training, Trunk
from bottomup.core.trunks import TRUNKS
from bottomup.corpus.bpe import normalizer
from bottomup.corpus.cleaning import cleaned
from bottomup.corpus.segmentation import base, words
from bottomup.objectives import Objective, kind
from bottomup.plan.objective_sections import (
    all_keys,
    module_of,
    options_of,
    trunk_of,
)
from bottomup.plan.study import WITH_TARGET, Study, modules, source_model
from bottomup.plan.unchecked import list_of, number, numbers, section

# Comparisons of two keys. What is no positive number counts as NaN, so comparisons are false.
LIMITS = [
    ("corpus.cleaning.max_words", ">=", "corpus.cleaning.min_words"),
    ("measures.mutual_information.n_clusters", "<=", "occurrences.n"),
    ("measures.context.n_clusters", "<=", "occurrences.n"),
    ("measures.neighbors.occurrences", ">", "measures.neighbors.k"),
    ("measures.neighbors.within_occurrences", ">", "measures.neighbors.k"),
    ("measures.senses.occurrences", ">", "measures.senses.k"),
]
# Keys of an objective that only training reads.
TRAINS = {"training", "label_smoothing", "heads_from"}
LARGEST_MODEL = 2e10  # weights
MOST_WORDS = 40  # of the one sentence, that one can read beside a panel
LARGEST_UPDATE_GB = 32
BATCHES = "training.max_tokens, training.batch_tokens"
EXCEEDS = {"<=": operator.gt, ">": operator.le, ">=": operator.lt}


def mistaken(config: dict) -> list[str]:
    """A line for each mistake: the key, what was found, what is allowed."""
    return [
        *_names(config),
        *_initials(section(config, "checkpoints")),
        *_source_choice(section(config, "corpus")),
        *_objective_choices(config),
        *_pipeline_choice(config),
        *_pruning_choices(config),
        *_contradictions(config),
    ]


def known_sources(corpus: dict) -> list[str]:
    """The sources that a corpus chooses, as far as they exist."""
    known = modules("corpus.sources")
    return [source for source in list_of(corpus, "source") if source in known]


def _names(config: dict) -> Iterator[str]:
    """Check the names of subjects: all stand in one column of tables and in names of files, where
    each is to mean one thing."""
    objectives, checkpoints = section(config, "objectives"), section(config, "checkpoints")
    known = modules("objectives")
    for name in objectives:
        module = module_of(name, section(objectives, name))
        if module in known and not re.fullmatch(names.OBJECTIVE, name):
            yield (
                f"objectives.{name}: unknown key; allowed: small letters, digits and _, at most "
                "60; nothing 20 times in a row; no _half1, _step1, _to_step, _as_trained "
                "or _untrained at the end; neither input nor estimators, which figures are called"
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


def _initials(checkpoints: dict) -> Iterator[str]:
    """Check what checkpoints start from."""
    given = {name: section(checkpoints, name).get("initial") for name in checkpoints}
    for name, initial in given.items():
        others = [
            model
            for other, its_own in given.items()
            if other != name
            for model in (other, *([] if its_own else [other + TWIN]))
        ]
        if isinstance(initial, str) and initial not in others:
            yield (
                f"checkpoints.{name}.initial: found {json.dumps(initial)}; allowed: null"
                + "".join(f", {other}" for other in others)
            )
    for name in given:
        met, start = {name}, given[name]
        while isinstance(start, str) and start not in met:
            met.add(start)
            start = given.get(start)
        if start == name and given[name] != name:
            yield (
                f"checkpoints.{name}.initial: found {json.dumps(given[name])}, which starts from "
                f"{name}; allowed: null, or one that does not"
            )


def _source_choice(corpus: dict) -> Iterator[str]:
    known = modules("corpus.sources")
    sources = section(corpus, "sources")
    for name in sorted(sources.keys() - known):
        yield f"corpus.sources.{name}: unknown key; {nearest(name, known)}"
    for source in list_of(corpus, "source"):
        if isinstance(source, str) and source not in known:
            yield f'corpus.source: found "{source}"; {nearest(source, known)}'
    for name in sources:
        if "languages" in section(sources, name):
            yield (
                f"corpus.sources.{name}.languages: unknown key; allowed: corpus.languages, which "
                "holds for all sources"
            )
    filled = {}
    if not problems(Corpus, corpus, only=["languages"]):
        filled["languages"] = corpus["languages"]
    for source in known_sources(corpus):
        path = f"corpus.sources.{source}"
        own = {key: of for key, of in section(sources, source).items() if key != "languages"}
        for line in problems(source_model(source), own | filled, path):
            yield line.replace(f"{path}.languages:", "corpus.languages:", 1)
        for line in wrong_defaults(source_model(source), path):
            yield f"bottomup/corpus/sources/{source}.py: default of {line}"
        for line in uncounted(source_model(source), path):
            yield f"bottomup/corpus/sources/{source}.py: {line}"


def _pipeline_choice(config: dict) -> Iterator[str]:
    """Check the pipeline; spaCy names it after its language."""
    corpus, annotation = section(config, "corpus"), section(config, "annotation")
    source, pipeline = list_of(corpus, "source"), annotation.get("pipeline")
    if pipeline == GOLD and source != ["conllu"]:
        yield (
            f'annotation.pipeline: found "{GOLD}" with corpus.source {json.dumps(source)}; allowed '
            "with the source conllu, whose treebank is annotated"
        )
    if pipeline == GOLD and section(corpus, "splits").get("packed_words") is not None:
        yield (
            f'corpus.splits.packed_words: found one with annotation.pipeline "{GOLD}"; allowed: '
            "null, since a treebank annotates single sentences"
        )
    if annotation.get("depccg_model") and pipeline is None:
        yield (
            "annotation.depccg_model: found one with annotation.pipeline null; allowed: null, or "
            "a pipeline that annotates the words"
        )
    for language in _source_language(config):
        if annotation.get("depccg_model") and language != "en":
            yield f"annotation.depccg_model: found one with text in {language}; allowed: null"
        if isinstance(pipeline, str) and not pipeline.startswith((GOLD, f"{language}_")):
            yield (
                f'annotation.pipeline: found "{pipeline}", with text in {language}; allowed: a '
                f"pipeline for that language, {language}_..., or null"
            )


def _objective_choices(config: dict) -> Iterator[str]:
    chosen = {
        name: options
        for name, options in section(config, "objectives").items()
        if isinstance(options, dict)
    }
    if not chosen and isinstance(config.get("objectives"), dict):
        known = ", ".join(modules("objectives"))
        yield (
            f"objectives: found none; allowed: at least one of {known}; beside checkpoints alone "
            "untrained: {}, which trains nothing"
        )
    for name, options in chosen.items():
        yield from [*_module_choice(name, options)] or _objective(name, options, config)


def _module_choice(name: str, options: dict) -> Iterator[str]:
    """A line if an objective names no module."""
    known, path, module = modules("objectives"), f"objectives.{name}", module_of(name, options)
    if not isinstance(given := options.get("objective"), str | None):
        yield f"{path}.objective: found {json.dumps(given)}; allowed: text or null"
    elif module not in known and module == name:
        removed = "; if it was removed, delete it in next_look.yaml, too"
        yield (
            f"{path}: unknown key; {nearest(name, known)}; or any, with the key objective"
            f"{removed if {*options} == {'n_seeds'} else ''}"
        )
    elif module not in known:
        yield f'{path}.objective: found "{module}"; {nearest(module, known)}'


def _objective(name: str, options: dict, config: dict) -> Iterator[str]:
    """Check an objective that names a module."""
    path, module = f"objectives.{name}", module_of(name, options)
    model, called_like = kind(module), name in modules("objectives")
    if called_like and module != name:
        yield (
            f'{path}.objective: found "{module}"; allowed: {name} or null, since figures and '
            f"claims take what is called {name} for it; give this objective another name"
        )
    if model.predicts is None:
        for idle in sorted(options.keys() & TRAINS):
            yield f"{path}.{idle}: unknown key; {module} is not trained; take it away"
        options = {key: value for key, value in options.items() if key not in TRAINS}
    sections = {"training", "model"}  # reported below
    checked = {key: value for key, value in options.items() if key not in sections}
    yield from problems(all_keys(module), checked, path)
    for line in wrong_defaults(model, path):
        yield f"bottomup/objectives/{module}.py: default of {line}"
    for line in uncounted(model, path, instead="what it is read for, such as a list of words"):
        yield f"bottomup/objectives/{module}.py: {line}"
    if number(options, "n_seeds") > (seeds := len(list_of(config, "seeds"))) > 0:
        yield (
            f"{path}.n_seeds: found {options['n_seeds']}; allowed: <= {seeds}, the number of "
            "seeds of this study"
        )
    languages = list_of(section(config, "corpus"), "languages")
    if model.predicts in WITH_TARGET and len(languages) == 1:
        yield (
            f"{path}: needs translations, but corpus.languages is {languages[0]} alone; "
            "allowed: null, or a target language there"
        )
    yield from _trunk_choice(f"{path}.trunk", called_like, model, trunk_of(options))
    yield from _made_of(path, name, options, config)
    yield from _own_shape(f"{path}.model", options, config, called_like)
    yield from _heads_from(f"{path}.heads_from", name, options, config)
    yield from _own_training(f"{path}.training", options, config)


def _own_training(path: str, options: dict, config: dict) -> Iterator[str]:
    """Check how one objective's models are trained."""
    own = options.get("training", {})
    if not isinstance(own, dict):
        yield from problems(Training, own, path)
        return
    everything = section(config, "training") | own
    yield from problems(Training, everything, path, only=own)
    if own.keys() & {"batch_tokens", "accumulate"} or "model" in options:
        yield from _too_large(
            path, everything, section(config, "model") | section(options, "model")
        )


def _own_shape(path: str, options: dict, config: dict, called_like: bool) -> Iterator[str]:
    """Check the shape of one objective's models. called_like: whether the objective has the name of
    a module."""
    own, trunk = options.get("model", {}), trunk_of(options)
    if not isinstance(own, dict):
        yield from problems(Model, own, path)
    elif own and called_like:
        yield (
            f"{path}: found one; allowed: the section model, since figures and claims compare what "
            "is called like a module at one shape; give this objective another name"
        )
    elif own:
        shape = section(config, "model") | own
        yield from problems(Model, shape, path, only=own)
        if not TRUNKS.get(trunk, True):
            of_heads = Model.model_fields.keys() - Trunk.model_fields.keys()
            for idle in sorted(own.keys() & of_heads):
                yield f"{path}.{idle}: unknown key; {trunk} has none; take it away"
            shape = {key: value for key, value in shape.items() if key not in of_heads}
        yield from _shape_choices(path, shape, number(config, "occurrences.n"))


def _heads_from(path: str, name: str, options: dict, config: dict) -> Iterator[str]:
    """Check whose heads the runs of an objective start with."""
    own = section(options, "heads_from")
    if not own or problems(settings.HeadsFrom, own):
        return  # `_objective` reports it
    if name in modules("objectives"):
        yield (
            f"{path}: found one; allowed: null, since figures and claims take what is called like "
            "a module for it; give this objective another name"
        )
    yield from _donor_choice(path, name, options, config)
    only = list_of(config, "only")
    if "head_functions" in list_of(config, "leave_out") or (only and "head_functions" not in only):
        yield f"{path}: found without the table head_functions; allowed: with it (only, leave_out)"
    if _is_trained_again(name, config):
        yield (
            f"{path}: found with a sweep of {name} in pruning.penalties, and pruning.controls."
            "scratch, which trains from initial weights; allowed: one of these"
        )
    if name in list_of(config, "training_halves"):
        yield (
            f"{path}: found with {name} in training_halves, and heads know of both halves; "
            "allowed: one of these"
        )


def _donor_choice(path: str, name: str, options: dict, config: dict) -> Iterator[str]:
    """Check the objective whose heads others start with, and its seeds."""
    own = options["heads_from"]
    of = section(section(config, "objectives"), donor := own["objective"])

    def shape(of: dict) -> dict:
        whole = section(config, "model") | section(of, "model")
        return {key: whole.get(key) for key in ("layers", "heads", "d_model")}

    if donor not in (compared := _compared(config)):
        others = [n for n in compared if n != name] or ["an objective that trains"]
        which = ", a variant" if donor in _trained(config) else ""
        yield f'{path}.objective: found "{donor}"{which}; {nearest(donor, others)}'
    elif section(of, "heads_from"):
        yield f'{path}.objective: found "{donor}", which has heads of others; allowed: one without'
    elif not (TRUNKS.get(trunk_of(of)) and TRUNKS.get(trunk_of(options))):
        yield f"{path}: found one where a trunk has no heads; allowed: two transformers"
    elif shape(of) != shape(options):
        yield (
            f'{path}.objective: found "{donor}", of another shape; allowed: one whose layers, '
            "heads and d_model are the same"
        )
    seeds = _seeds(config, of)
    asked = _seeds(config, options) if own.get("seed") is None else [own["seed"]]
    if not set(asked) <= set(seeds):
        seed, known = json.dumps(own.get("seed")), ", ".join(map(str, seeds))
        yield f"{path}.seed: found {seed}; allowed: a seed of {donor} ({known})"


def _is_trained_again(name: str, config: dict) -> bool:
    """Whether models of an objective with fewer heads are also trained from scratch."""
    pruning = section(config, "pruning")
    penalties, controls = (section(pruning, key) for key in ("penalties", "controls"))
    return bool(penalties.get(name) and controls.get("scratch"))


def _seeds(config: dict, options: dict) -> list[int]:
    """The seeds of an objective, in a config that may be wrong in any way."""
    seeds = [seed for seed in list_of(config, "seeds") if type(seed) is int]
    first = [number(options, "n_seeds"), *numbers(config, "looks"), math.nan]
    few = next((n for n in first if n > 0), len(seeds))
    return seeds[: int(few)]


def _shape_choices(path: str, shape: dict, occurrences: float) -> Iterator[str]:
    """Check that the numbers of a shape go together, and with the number of occurrences."""
    heads, d_model, d_ff, layers = (
        number(shape, key) for key in ("heads", "d_model", "d_ff", "layers")
    )
    if d_model % heads > 0:
        divisors = f"divisors of {path}.d_model ({plain(d_model)})"
        yield f"{path}.heads: found {plain(heads)}; allowed: {divisors}"
    if d_model % 2 > 0:
        yield f"{path}.d_model: found {plain(d_model)}; allowed: even (half sines, half cosines)"
    if occurrences <= d_model:
        yield (
            f"occurrences.n: found {plain(occurrences)}; allowed: > {path}.d_model "
            f"({plain(d_model)}), or every direction correlates with every other"
        )
    weights = layers * d_model * (12 * d_model + 4 * d_ff)  # an encoder and a decoder
    if weights > LARGEST_MODEL and not problems(Model, shape):
        yield (
            f"{path}: found layers {plain(layers)}, d_model {plain(d_model)} and d_ff "
            f"{plain(d_ff)}, with {weights:.0e} weights; allowed: at most {LARGEST_MODEL:.0e}"
        )


def _too_large(path: str, training: dict, shape: dict) -> Iterator[str]:
    """Check the memory that an update takes."""
    if problems(Model, shape) or problems(Training, training):
        return
    at = partial(number, training)
    batch = at("batch_tokens")
    layers, d_model, d_ff = (number(shape, key) for key in ("layers", "d_model", "d_ff"))
    # What is kept for the gradient, in float32.
    gigabytes = 4e-9 * batch / at("accumulate") * layers * (16 * d_model + 2 * d_ff)
    if gigabytes > LARGEST_UPDATE_GB:
        yield (
            f"{path}.batch_tokens: found {plain(batch)}, of which a part takes about "
            f"{gigabytes:,.0f} GB of memory; allowed: {LARGEST_UPDATE_GB} GB; lower it, or raise "
            "accumulate"
        )


def _trunk_choice(
    path: str, called_like: bool, objective: type[Objective], trunk: str
) -> Iterator[str]:
    """Check the trunk of one objective's models."""
    if trunk not in TRUNKS:
        return
    attending = [kind for kind, attends in TRUNKS.items() if attends]
    allowed, reason = [*TRUNKS], ""
    if called_like:
        allowed = attending
        reason = (
            "since figures and claims compare what is called like a module with Transformers; give "
            "this objective another name"
        )
    if objective.decodes():
        allowed, reason = attending, "which has a decoder"
    if objective.backward:
        allowed, reason = attending, "whose mask can be turned around"
    if objective.predicts == "both":
        allowed, reason = attending, "whose embeddings tell the translation"
    if objective.both_ways:
        allowed = [kind for kind in TRUNKS if kind not in attending]
        reason = "since one reads from each end"
    if trunk not in allowed:
        yield f'{path}: found "{trunk}"; allowed: {", ".join(allowed)}, {reason}'


def _made_of(path: str, name: str, options: dict, config: dict) -> Iterator[str]:
    """Check what an objective that is made of others cannot do."""
    model, own, trunk = (
        kind(module_of(name, options)),
        options_of(options),
        trunk_of(options),
    )
    if problems(model, own) or len(every := validated(model, own).all) == 1:
        return
    if not TRUNKS.get(trunk, True) and len({each.causal for each in every}) > 1:
        yield (
            f'{path}.trunk: found "{trunk}", whose mask is fixed, and parts under several masks; '
            "allowed: transformer, or parts under one mask"
        )
    if config.get("equal") == "tokens":
        tokens, batch = _budget(config, options)
        yield from _too_short(path, every[0], tokens, f"{tokens:,}", batch)
    if _is_trained_again(name, config):
        yield (
            f"{path}: found with a sweep of {name} in pruning.penalties, and pruning.controls."
            "scratch, which trains by one part alone; allowed: one of these"
        )


def _pruning_choices(config: dict) -> Iterator[str]:
    pruning, trained = section(config, "pruning"), _trained(config)
    chosen, checkpoints = section(config, "objectives"), section(config, "checkpoints")
    for name, sweep in section(pruning, "penalties").items():
        path = f"pruning.penalties.{name}"
        module = module_of(name, section(chosen, name))
        if name in checkpoints or not (trained or checkpoints):
            continue  # a checkpoint's heads and objective are known only once it is opened
        if name not in trained:
            known = nearest(name, [*trained, *checkpoints])
            yield f"{path}: unknown key; {known}; null removes the sweep of what is not trained"
        elif not TRUNKS.get(trunk := trunk_of(section(chosen, name)), True):
            yield f"{path}: {trunk} has no heads; allowed: null, or a transformer as its trunk"
        elif isinstance(sweep, dict) and not kind(module).decodes():
            for attention in sorted(sweep.keys() & GATED.keys() - {"encoder"}):
                yield f"{path}.{attention}: {name} has no decoder; allowed: encoder"
    yield from _control_choices(pruning, checkpoints, config.get("equal"))
    own = pruning.get("training")
    if isinstance(own, dict):
        everything = section(config, "training") | own
        yield from problems(Training, everything, "pruning.training", only=own)
        yield from _too_large("pruning.training", everything, section(config, "model"))


def _control_choices(pruning: dict, checkpoints: dict, equal: object) -> Iterator[str]:
    """Check the controls; only runs have them."""
    swept = {
        penalty
        for name, sweep in section(pruning, "penalties").items()
        if isinstance(sweep, dict) and name not in checkpoints
        for attention in sweep
        for penalty in numbers(sweep, attention)
        if penalty > 0
    }
    known = ", ".join(map(plain, sorted(swept)))
    controls = section(pruning, "controls")
    if "scratch" in controls and equal not in (None, "tokens"):
        yield (
            f'pruning.controls.scratch: found with equal "{equal}"; allowed: with equal "tokens", '
            "since it reads what the run and its pruning read; or null"
        )
    for name in controls:
        for penalty in numbers(controls, name):
            if penalty not in swept:
                yield (
                    f"pruning.controls.{name}: found {plain(penalty)}; "
                    f"allowed: {f'penalties of a sweep ({known})' if known else 'none'}, since "
                    "controls are of runs that gates prune"
                )


def _contradictions(config: dict) -> Iterator[str]:
    """Keys that are right by themselves and wrong together."""
    shape = section(config, "model")
    yield from _shape_choices("model", shape, number(config, "occurrences.n"))
    yield from _too_large("training", section(config, "training"), shape)
    own = config.get("study")
    if isinstance(own, str) and own in section(section(config, "site"), "beside"):
        yield f"site.beside.{own}: unknown key; allowed: another name, since this study has it"
    yield from _runs(config)
    yield from _step_choices(config)
    yield from _pictures(config)
    yield from _asked_in_vain(config)
    yield from _units(config)
    yield from _limits(config)


def _runs(config: dict) -> Iterator[str]:
    """Check the halves and the looks."""
    trained = _trained(config)
    for name in list_of(config, "training_halves"):
        if isinstance(name, str) and name not in trained:
            yield (
                f'training_halves: found "{name}"; '
                f"allowed: objectives of this study that train ({', '.join(trained)})"
            )
    looks = [n for n in numbers(config, "looks") if n > 0]
    n_seeds = len(list_of(config, "seeds"))
    if looks and looks[-1] > n_seeds:
        yield f"looks: found {plain(looks[-1])}; allowed: at most {n_seeds}, the number of seeds"
    elif looks:
        yield from _between_looks(config, looks)


def _between_looks(config: dict, looks: Sequence[float]) -> Iterator[str]:
    """Check that every number of seeds is that of a look. Of fewer or of more, a later look would
    judge the earlier one again by other runs, and what was decided might not stand."""
    objectives, pruning = section(config, "objectives"), section(config, "pruning")
    every = {f"objectives.{name}": section(objectives, name) for name in objectives}
    if any(section(pruning, "penalties").get(name) for name in objectives):
        every["pruning"] = pruning
    allowed, most = ", ".join(map(plain, looks)), len(list_of(config, "seeds"))
    for path, options in every.items():
        if 0 < (n := number(options, "n_seeds")) <= most and n not in looks:
            yield (
                f"{path}.n_seeds: found {plain(n)}; allowed: one of `looks` ({allowed}), since "
                "what is decided at a look stands, and a look has as many runs of all"
            )


def _units(config: dict) -> Iterator[str]:
    """Check what an occurrence is."""
    if section(config, "occurrences").get("unit") != "subword":
        return
    if section(config, "views").get("pooling") == "mean":
        yield (
            'views.pooling: found "mean" with occurrences.unit "subword"; allowed: last, since '
            "each occurrence is one sub-word; or set occurrences.unit to word"
        )
    if section(config, "checkpoints"):
        yield (
            'occurrences.unit: found "subword" with checkpoints; allowed: word, since they have '
            "sub-words of their own"
        )


def _limits(config: dict) -> Iterator[str]:
    """Check numbers that bound each other."""
    at = partial(number, config)
    for path, sign, other in LIMITS:
        value, limit = at(path), at(other)
        if EXCEEDS[sign](value, limit):
            yield f"{path}: found {plain(value)}; allowed: {sign} {other} ({plain(limit)})"
    active, features = at("measures.dictionary.active"), at("measures.dictionary.times")
    features *= at("model.d_model")
    if active >= features:
        yield (
            f"measures.dictionary.active: found {plain(active)}; allowed: less than "
            f"{plain(features)}, the features of a dictionary, which are measures.dictionary.times "
            "for each neuron"
        )
    mutual_information = section(section(config, "measures"), "mutual_information")
    # Of tokens there may be fewer than asked for: how many a text has is known when it is read.
    for name, most in (("n_clusters", at("occurrences.n")), ("n_tokens", math.inf)):
        path, own = f"measures.mutual_information.other_{name}", number(mutual_information, name)
        for value in numbers(mutual_information, f"other_{name}"):
            if value == own:
                yield f"{path}: found {plain(value)}; allowed: numbers other than {name}"
            if value > most:
                yield f"{path}: found {plain(value)}; allowed: <= occurrences.n ({plain(most)})"


def _asked_in_vain(config: dict) -> Iterator[str]:
    """Tables that a config asks for and cannot have."""
    only, left_out = list_of(config, "only"), list_of(config, "leave_out")
    if only and all(name in left_out for name in only):
        yield "leave_out: found all that only names; allowed: some of it, or no only"
    text = section(section(config, "measures"), "sentence").get("text")
    for language in _source_language(config):
        if not (isinstance(text, str) and re.fullmatch("[a-z]{2,3}", language)):
            continue
        if not 2 <= len(words(cleaned(text, language))) <= MOST_WORDS:
            yield f'measures.sentence.text: found "{text}"; allowed: 2 to {MOST_WORDS} words'
    folder = section(section(config, "measures"), "wordnet").get("folder")
    for language in _source_language(config):
        if folder and language != "en":
            yield (
                f"measures.wordnet.folder: found one with text in {language}; allowed: null, since "
                "its examples are English"
            )


def _source_language(config: dict) -> list[str]:
    """The language of the corpus, without its region, in a list; empty if the config names none
    that is right."""
    [first] = list_of(section(config, "corpus"), "languages")[:1] or [None]
    if not isinstance(first, str):
        return []
    with suppress(ValueError):
        return [base(short(first))]
    return []


def _trained(config: dict) -> list[str]:
    """The objectives of a study that train, as far as they are right."""
    objectives, known = section(config, "objectives"), modules("objectives")
    return [
        name
        for name in sorted(objectives)
        if (module := module_of(name, section(objectives, name))) in known and kind(module).predicts
    ]


def _compared(config: dict) -> list[str]:
    """Those that are compared: no variants, which have figures of their own."""
    chosen = section(config, "objectives")
    return [
        name
        for name in _trained(config)
        if not kind(module_of(name, section(chosen, name))).variant
    ]


def _pictures(config: dict) -> Iterator[str]:
    """Values of `measures.projection` that no text can have."""
    projection = section(section(config, "measures"), "projection")
    lowercase = section(section(config, "corpus"), "bpe").get("lowercase") is True
    languages = _source_language(config) if lowercase else []
    named = {f"words[{i}]": word for i, word in enumerate(list_of(projection, "words"))}
    named |= {name: projection.get(name) for name in ("position_word", "ccg_word")}
    for name, word in named.items():
        if not isinstance(word, str):
            continue
        found = f'measures.projection.{name}: found "{word}"; allowed'
        composed = unicodedata.normalize("NFC", word)
        lower = [normalizer(True, language).normalize_str(word) for language in languages]
        if word.split() != [word]:
            yield f"{found}: one word"
        elif word != composed:
            yield f'{found}: "{composed}", in Unicode NFC, as text is read'
        elif lower not in ([], [word]):
            yield f'{found}: "{lower[0]}", since corpus.bpe.lowercase is true'
    perplexity, occurrences = (number(projection, name) for name in ("perplexity", "occurrences"))
    if perplexity >= occurrences / 3:
        yield (
            f"measures.projection.perplexity: found {plain(perplexity)}; allowed: < a third of "
            f"measures.projection.occurrences ({plain(occurrences)})"
        )


def unreached(study: Study) -> Iterator[str]:
    """Steps and phases that runs would not reach, where their tokens hang on the text but are about
    known without it. If tokens are equal, `mistaken` has them."""
    for name in study.objectives if study.equal != "tokens" else []:
        told, training = study.tokens_told(name), study.objective_training(name)
        if told is None:
            continue
        # Of long sentences, half as many again may be read as of typical ones.
        tokens = round(1.5 * study.tokens_read(name))
        options, steps = study.objective_options(name), study.training_steps.get(name, [])
        most = f"half as many updates again as {told} tokens give"
        yield from _beyond(name, steps, tokens, most, training.batch_tokens)
        yield from _too_short(f"objectives.{name}", options, tokens, told, training.batch_tokens)


def _beyond(
    name: str, steps: Sequence[float], tokens: float, most: str, batch: float
) -> Iterator[str]:
    """Steps that a run may not reach. An update reads at most one batch, so a run has at least as
    many updates as its budget has batches. most: how many these are, in words."""
    last = -(-tokens // batch)
    for step in steps:
        if step > last:
            yield f"training_steps.{name}: found {step}; allowed: <= {last}, {most} ({BATCHES})"


def _too_short(path: str, options: Any, tokens: float, told: str, batch: float) -> Iterator[str]:
    """Phases of a schedule in which a run may begin no update. told: the tokens in words."""
    for n, part in enumerate(options.parts if options.name == "schedule" else []):
        if n and part.share * tokens < batch:  # the first one has the first update
            yield (
                f"{path}.parts[{n}].share: found {plain(part.share)}; allowed: at least an update, "
                f"{batch:,} of {told} tokens ({BATCHES})"
            )


def _budget(config: dict, options: dict) -> tuple[float, float]:
    """Of an objective, the tokens of a run and of an update."""
    training = {"training": section(config, "training") | section(options, "training")}
    return number(training, "training.max_tokens"), number(training, "training.batch_tokens")


def _step_choices(config: dict) -> Iterator[str]:
    """Check the steps. Variants have none, since most tables lack their end."""
    steps, compared = section(config, "training_steps"), _compared(config)
    for name in steps:
        path = f"training_steps.{name}"
        if name not in compared:
            yield (
                f"{path}: unknown key; allowed: objectives of this study that train, no variants "
                f"({', '.join(compared)})"
            )
        elif config.get("equal") == "tokens":
            tokens, batch = _budget(config, section(section(config, "objectives"), name))
            most = f"the updates that {tokens:,} tokens give at least"
            yield from _beyond(name, numbers(steps, name), tokens, most, batch)
