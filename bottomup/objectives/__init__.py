"""Training objectives: from a batch of text to what the model reads and what it predicts.

Each has one file. An objective is a class `Objective` whose fields are its options; the training
loop and the config know it only through this interface.
"""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from bottomup.core.errors import UserError
from bottomup.corpus.specials import EOS, N_SPECIAL, PAD

if TYPE_CHECKING:
    from tokenizers import Tokenizer

IGNORE = -100  # a label at which nothing is predicted


@dataclass(frozen=True)
class Example:
    """A batch as one objective sees it; ids are int64, padded on the right.

    source: what the encoder reads, `[batch, length]`.
    target: what the decoder reads shifted, `[batch, target_length]`; None without a decoder.
    labels: the token, or its class, to predict from each position of the predicted side; IGNORE
        where nothing is predicted. With two directions, the labels of the one from the left come
        first.
    lengths: the number of source tokens of each sentence, `[batch]`; None for our own models, which
        have a token for padding alone.
    """

    source: np.ndarray
    target: np.ndarray | None
    labels: np.ndarray
    lengths: np.ndarray | None = None

    @property
    def predicted(self) -> int:
        """The number of positions at which something is predicted."""
        return int(np.count_nonzero(self.labels != IGNORE))

    def split(self, parts: int) -> Iterator["Example"]:
        """The same batch in at most `parts` parts of whole sentences."""
        for rows in np.array_split(np.arange(len(self.source)), min(parts, len(self.source))):
            target = None if self.target is None else self.target[rows]
            lengths = None if self.lengths is None else self.lengths[rows]
            yield Example(self.source[rows], target, self.labels[rows], lengths)


class Question(Enum):
    """The question that a variant is trained for."""

    MASK = "what the attention mask does, and what the target"
    TOKEN_DROPOUT = "whether a model relies on single tokens"


@dataclass(frozen=True)
class Variant:
    """For a variant: the objective whose targets it has, and the question that it is trained for.

    Only figures about that question show it.
    """

    of: str
    question: Question


class Objective(BaseModel, ABC):
    """What a model reads, what it predicts and where, and whether its encoder is causal."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    causal: ClassVar[bool] = False
    backward: ClassVar[bool] = False  # read from the end, so that each token sees those after it
    both_ways: ClassVar[bool] = False  # read by two models, one from each end, side by side
    # The side of the text whose tokens are predicted. "both": one encoder reads them in turn.
    predicts: ClassVar[Literal["source", "target", "both"] | None] = "source"
    rewrites: ClassVar[bool] = False  # a decoder writes the source side
    # Whether it reads some tokens masked or replaced (see `Masking` and `read_as`). Its models are
    # then also measured on text that is read like this.
    masked: ClassVar[bool] = False
    accuracy: ClassVar[str] = "accuracy"  # its name in the table of quality
    variant: ClassVar[Variant | None] = None
    # Options for how its models are measured; training does not depend on them.
    looks: ClassVar[frozenset[str]] = frozenset()

    label_smoothing: float = Field(
        0.0, ge=0, lt=1, description="probability spread over the other tokens of the vocabulary"
    )

    @classmethod
    def decodes(cls) -> bool:
        """Whether a decoder predicts, from what the encoder makes: it writes the target side or
        `rewrites`."""
        return cls.rewrites or cls.predicts == "target"

    @property
    def name(self) -> str:
        """The name of its module in this package."""
        return type(self).__module__.rpartition(".")[2]

    def at(self, spent: float) -> list[tuple[float, "Objective"]]:
        """The objectives that take part at this point of a run, each with its share of the batches.

        spent: the share of the run's tokens read so far. Only objectives made of others
        (`schedule`, `mix`) return others than themselves.
        """
        return [(1.0, self)]

    @property
    def turns(self) -> list[float]:
        """The shares of the run's tokens at which `at` changes, rising."""
        return []

    @property
    def last_from(self) -> float:
        """The share of the run's tokens after which `at` no longer changes."""
        return self.turns[-1] if self.turns else 0.0

    @property
    def seen(self) -> "Objective":
        """The objective under which its models are measured and fine-tuned; it has no parts."""
        return self

    @property
    def all(self) -> list["Objective"]:
        """Itself and all its parts."""
        return [self]

    @property
    def predictions_a_token(self) -> float:
        """How many predictions a token of the predicted side has on average, if not at an end; see
        `predicts_of`."""
        return 1.0

    def predicts_of(self, source: np.ndarray, target: np.ndarray | None) -> float:
        """The expected number of predictions in some sentences.

        source, target: how many tokens each sentence has on either side, </s> included; target is
        None if it is not needed. Without a decoder, one token of each sentence, the first or </s>,
        is never predicted.
        """
        lengths = target if target is not None and self.predicts == "target" else source
        of_ends = len(lengths) if self.decodes() else 0
        return float(self.predictions_a_token * (lengths - 1).sum() + of_ends)

    def reads_of(self, source: np.ndarray, target: np.ndarray | None) -> float:
        """The expected number of tokens that its encoder reads of these sentences."""
        return float(source.sum())

    @property
    def n_classes(self) -> int | None:
        """How many classes a prediction chooses from; None for the tokens of the predicted side."""
        return None

    def vocabularies(self, sizes: dict[str, int]) -> tuple[int, int]:
        """How many types of tokens its models read, and how many, or classes, they choose from.

        sizes: of the vocabulary of each side. Tokens of an objective's own come after these; where
        they begin, `learn_types` tells.
        """
        sizes = sizes | {"both": sum(sizes.values()) - N_SPECIAL}
        read = sizes["both" if self.predicts == "both" else "source"]
        return read, self.n_classes or sizes[self.predicts or "source"]

    def learn_types(self, types: list[str]) -> None:
        """Learn the vocabulary of the source side; called before any example is asked for."""

    @property
    def read_as(self) -> list[str]:
        """If `masked`, what the model reads in place of chosen tokens: "masked", "replaced" or
        both."""
        return ["masked"]

    @abstractmethod
    def example(
        self,
        source: np.ndarray,
        target: np.ndarray | None,
        vocab_size: int,
        rng: np.random.Generator,
    ) -> Example:
        """Turn padded ids of both sides, `[batch, length]`, into an example.

        vocab_size: how many types of tokens its models read, with those of its own, see
        `vocabularies`; all randomness comes from `rng`.
        """


class Masking(Protocol):
    """An objective that is `masked`.

    source: sentences that end in </s>, padded, `[batch, length]`, or one after another, `[n]`.
    """

    def chosen(self, source: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Which tokens are to be predicted; never </s> or padding."""

    def corrupt(
        self, source: np.ndarray, chosen: np.ndarray, vocab_size: int, rng: np.random.Generator
    ) -> np.ndarray:
        """`source` with the chosen tokens as the model reads them."""


def require_learnable(
    example: Example, objective: Objective, n_read: int, n_predicted: int
) -> None:
    """Raise UserError unless the models of an objective can learn what its `example` gave.

    n_read, n_predicted: as from `Objective.vocabularies`.
    """
    for line in _unlearnable(example, objective, n_read, n_predicted):
        raise UserError(f"bottomup/objectives/{objective.name}.py: example gives {line}")


def _unlearnable(
    example: Example, objective: Objective, n_read: int, n_predicted: int
) -> Iterator[str]:
    source, target, labels = example.source, example.target, example.labels
    if (target is not None) != objective.decodes():
        found = "no target" if target is None else "a target"
        yield f"{found}; allowed: one if it has a decoder (predicts, rewrites), else None"
    written = source if target is None else target
    places = (len(source), written.shape[1] * (2 if objective.both_ways else 1))
    if labels.shape != places:
        yield f"labels of shape {labels.shape}; allowed: {places}, {IGNORE} where none is predicted"
    sides = {"source": (source, n_read), "target": (target, n_predicted)}
    sides["labels"] = (labels[labels != IGNORE], n_predicted)
    for name, (ids, n) in sides.items():
        if ids is None or not ids.size:
            continue
        if ids.dtype != np.int64:
            yield f"{name} of {ids.dtype}; allowed: int64"
        if wrong := [number for number in (ids.min(), ids.max()) if not 0 <= number < n]:
            yield (
                f"{name} with {wrong[0]}; allowed: 0 to {n - 1}; if it has types or classes of its "
                "own, vocabularies and n_classes count them"
            )


def with_random_tokens(
    source: np.ndarray, share: float, vocab_size: int, rng: np.random.Generator
) -> np.ndarray:
    """`source` with each token replaced by a uniformly drawn one with probability `share`.

    Never </s> or padding, and never by a special token.
    """
    replaced = (source != PAD) & (source != EOS) & (rng.random(source.shape) < share)
    return np.where(replaced, rng.integers(N_SPECIAL, vocab_size, source.shape), source)


def kind(name: str) -> type[Objective]:
    """The class of the objective `name`."""
    return importlib.import_module(f"bottomup.objectives.{name}").Objective


def load(name: str, options: dict, tokenizer: "Tokenizer | None" = None) -> Objective:
    """The objective `name` with its options; pydantic's ValidationError if these are wrong.

    tokenizer: of the source side; some objectives make no example without it.
    """
    objective = kind(name)(**options)
    if tokenizer:
        vocabulary = tokenizer.get_vocab()
        objective.learn_types(sorted(vocabulary, key=vocabulary.__getitem__))
    return objective
