"""How many source tokens a run reads, so that objectives are equal in what the study's key `equal`
names.

A budget is the number of source tokens that LM reads, whatever `equal` is. Any other objective
reads as many ("tokens"), or as many as give it the number of predictions ("predictions") or of
operations ("operations") that LM of its own shape has within its budget.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from bottomup.core.errors import UserError
from bottomup.core.settings import Model, Trunk
from bottomup.corpus.batches import Text
from bottomup.objectives import Objective, load

Equal = Literal["tokens", "predictions", "operations"]


def source_tokens(
    equal: Equal,
    budget: int,
    objective: Objective,
    text: Text,
    shape: Model | Trunk,
    vocab_sizes: dict[str, int],
    short_first: Sequence[tuple[int, float]] = (),
) -> int:
    """How many source tokens a run reads, for a budget in tokens that LM, of the same shape, reads.

    vocab_sizes: of each side. short_first: the setting of training; what is done for each token
    depends on the length of sentences.
    """
    if equal == "tokens":
        return budget
    lm = load("lm", {})  # by its name, so that it counts only where budgets are measured by it
    source = Text(text.source, None)  # all that LM reads
    done: Callable[[Objective, Text], float] = predictions
    if equal == "operations":
        done = partial(operations, shape=shape, vocab_sizes=vocab_sizes)
    of_budget = in_training(done, lm, source, short_first)
    of_own = in_training(done, objective, text, short_first)
    if not of_own:
        raise UserError(
            f"equal: {equal}: {objective.name} predicts no token of the training split, so no "
            "number of tokens is enough; take equal: tokens, or raise corpus.cleaning.min_words"
        )
    return max(1, round(budget * (of_budget / of_own)))


def in_training(
    done: Callable[[Objective, Text], float],
    objective: Objective,
    text: Text,
    short_first: Sequence[tuple[int, float]],
) -> float:
    """The mean, over the tokens that a run reads, of what is done for each source token of a text:
    first of its short sentences, then of all; by one part of the objective after the other."""
    shortest, longest = int(text.longer.min()), int(text.longer.max())
    stages = [stage for stage in short_first if stage[0] >= shortest] + [(longest, 1.0)]
    whole, before = 0.0, 0.0
    for until in sorted({*objective.turns, *(end for _, end in stages)}):
        length = next(length for length, end in stages if end >= until)
        some = text.select(np.flatnonzero(text.longer <= length))
        parts = objective.at((before + until) / 2)
        whole += (until - before) * sum(share * done(part, some) for share, part in parts)
        before = until
    return whole


def predictions(objective: Objective, text: Text) -> float:
    """Predictions of an objective for each source token of a text."""
    return objective.predicts_of(*lengths(text)) / text.source.lengths.sum()


def read(objective: Objective, text: Text) -> float:
    """Tokens that the encoder reads for each source token of a text."""
    return objective.reads_of(*lengths(text)) / text.source.lengths.sum()


def lengths(text: Text) -> tuple[np.ndarray, np.ndarray | None]:
    """The sentence lengths of both sides."""
    return text.source.lengths, None if text.target is None else text.target.lengths


def operations(
    objective: Objective, text: Text, shape: Model | Trunk, vocab_sizes: dict[str, int]
) -> float:
    """Multiplications by a weight for each source token; training needs six operations for each.

    Products of attention are left out: under a thirtieth at these lengths and widths.
    """
    of = matrices(objective, shape, vocab_sizes)
    of_source = (of.encoder + of.memory) * read(objective, text)
    return of_source + (of.decoder + of.output) * predictions(objective, text)


class Matrices(NamedTuple):
    """How many weights the matrices of a model have, embeddings apart.

    memory: those by which a decoder reads what the encoder has made of a token.
    """

    encoder: int
    memory: int
    decoder: int
    output: int


def matrices(objective: Objective, shape: Model | Trunk, vocab_sizes: dict[str, int]) -> Matrices:
    """The matrices of a model of this shape, as the objective needs it."""
    _, n_outputs = objective.vocabularies(vocab_sizes)
    if isinstance(shape, Trunk):
        stacks = 2 if objective.both_ways else 1  # each as wide as its share of d_model
        width = shape.d_model // stacks
        one_side, both_sides = shape.of_layer
        of_layer = one_side if objective.causal or objective.both_ways else both_sides
        return Matrices(stacks * shape.layers * of_layer * width**2, 0, 0, n_outputs * width)
    map_, feed_forward = shape.d_model**2, 2 * shape.d_model * shape.d_ff
    layers = shape.layers if objective.decodes() else 0
    return Matrices(
        encoder=shape.layers * (4 * map_ + feed_forward),
        memory=layers * 2 * map_,  # keys and values
        decoder=layers * (6 * map_ + feed_forward),
        output=n_outputs * shape.d_model,
    )
