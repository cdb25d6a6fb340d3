"""Objectives one after another, such as LM and then MLM (arXiv 2507.00994; AntLM, 2412.03275).

One model goes through all phases. Data, optimizer and learning rate do not depend on the phase; the
mask does. A phase draws the same random numbers as a run of its objective alone. So the first phase
is the beginning of such a run of the same seed.
"""

import math
from functools import cached_property
from importlib.util import find_spec
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from bottomup import objectives
from bottomup.core.schema import problems
from bottomup.objectives import Example

FITS = (
    "one that is trained to predict tokens of the source side, without a decoder and not from the "
    "end, and reads no tokens of its own, such as lm or mlm"
)
# An objective with another of these predicts no tokens, or reads some of its own.
TOKENS, TYPES = objectives.Objective.n_classes, objectives.Objective.vocabularies


class Part(BaseModel):
    """An objective and its share."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    objective: str = Field(description="a module of bottomup/objectives")
    share: float = Field(gt=0, le=1, description="its share")
    options: dict[str, Any] = Field({}, validate_default=True, description="options of that module")

    @field_validator("objective")
    @classmethod
    def fits(cls, name: str) -> str:
        """One model must serve all parts."""
        if not name.isidentifier() or not find_spec(f"bottomup.objectives.{name}"):
            raise ValueError(f"allowed: a module of bottomup/objectives, {FITS}")
        kind = objectives.kind(name)
        from_end, of_classes = kind.both_ways or kind.backward, kind.n_classes is not TOKENS
        own = kind.vocabularies is not TYPES
        if kind.predicts != "source" or kind.decodes() or from_end or of_classes or own:
            raise ValueError(f"allowed: {FITS}")
        return name

    @field_validator("options")
    @classmethod
    def whole(cls, options: dict, info: ValidationInfo) -> dict:
        """The options, with defaults for those that are not given."""
        name = info.data.get("objective")
        if name is None:
            return options  # `fits` has said what is wrong with it
        if mistakes := problems(objectives.kind(name), options):
            raise ValueError("; ".join(mistakes))
        return objectives.load(name, options).model_dump(mode="json")


class Objective(objectives.Objective):
    """Predict as one objective after another; each reads a share of the run's tokens."""

    looks = frozenset({"looked_at"})
    label_smoothing: ClassVar[float] = 0.0  # type: ignore[misc]  # that of each part counts

    parts: list[Part] = Field(
        [
            {"objective": "lm", "share": 0.4},
            {"objective": "mlm", "share": 0.6},
        ],
        validate_default=True,
        min_length=1,
        max_length=100,
        description="modules of bottomup/objectives, each with its share, together 1, and options",
    )
    looked_at: str | None = Field(
        None,
        description="which of them, by its module, gives the mask and the reading under which "
        "models are looked at; null is the last; trainings do not depend on it",
    )

    @model_validator(mode="after")
    def of_one(self) -> "Objective":
        if not math.isclose(whole := sum(part.share for part in self.parts), 1):
            raise ValueError(f"the shares are {whole:.12g} together; allowed: 1")
        names = [part.objective for part in self.parts]
        if self.looked_at not in (None, *names):
            raise ValueError(f"looked_at is {self.looked_at}; allowed: {', '.join(names)}, or null")
        return self

    @cached_property
    def made_of(self) -> list[objectives.Objective]:
        """The objectives in their order."""
        return [objectives.load(part.objective, part.options) for part in self.parts]

    def learn_types(self, types: list[str]) -> None:
        for objective in self.made_of:
            objective.learn_types(types)

    @property
    def begins(self) -> list[float]:
        """For each objective, the share of the run's tokens after which it begins."""
        return [0.0, *accumulate(part.share for part in self.parts[:-1])]

    def at(self, spent):
        n = int(np.searchsorted(self.begins, spent, side="right")) - 1
        within = (spent - self.begins[n]) / self.parts[n].share
        return self.made_of[n].at(min(within, 1.0))

    @property
    def turns(self):
        made = zip(self.begins, self.parts, self.made_of, strict=True)
        within = [(begin, part.share, [0.0, *of.turns]) for begin, part, of in made]
        return [begin + share * turn for begin, share, turns in within for turn in turns][1:]

    @property
    def seen(self):
        last = {part.objective: n for n, part in enumerate(self.parts)}
        return self.made_of[last[self.looked_at] if self.looked_at else -1].seen

    @property
    def all(self):
        return [self, *(each for part in self.made_of for each in part.all)]

    @property
    def causal(self):  # type: ignore[override]
        return self.seen.causal

    @property
    def masked(self):  # type: ignore[override]
        return self.seen.masked

    @property
    def read_as(self):
        return self.seen.read_as

    def example(self, source, target, vocab_size, rng) -> Example:
        """The example on which its models are measured; training follows `at` instead."""
        return self.seen.example(source, target, vocab_size, rng)
