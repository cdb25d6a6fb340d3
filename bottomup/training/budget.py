"""How many source tokens a run reads, so that objectives are equal in what the study's key `equal`
names.

A budget is the number of source tokens that LM reads, whatever `equal` is. Any other objective
reads as many ("tokens"), or as many as give it the number of predictions ("predictions") or of
operations ("operations") that LM has within its budget.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy as np
from torch import nn

from bottomup.core.errors import UserError
from bottomup.corpus.batches import Text
from bottomup.model.transformer import Transformer
from bottomup.model.trunks import TrunkModel
from bottomup.objectives import Objective, load

Equal = Literal["tokens", "predictions", "operations"]


def source_tokens(
    equal: Equal,
    budget: int,
    objective: Objective,
    model: Transformer | TrunkModel,
    text: Text,
    model_of: Callable[[Objective], Transformer | TrunkModel],
    short_first: Sequence[tuple[int, float]] = (),
) -> int:
    """How many source tokens a run reads, for a budget in tokens that LM reads.

    model_of: the model before training of another objective, in the same shape. short_first: the
    setting of training; what is done for each token depends on the length of sentences.
    """
    if equal == "tokens":
        return budget
    lm = load("lm", {})  # by its name, so that it counts only where budgets are measured by it
    source = Text(text.source, None)  # all that LM reads
    of_lm = own = predictions
    if equal == "operations":
        of_lm, own = partial(operations, model=model_of(lm)), partial(operations, model=model)
    of_budget = in_training(of_lm, lm, source, short_first)
    of_own = in_training(own, objective, text, short_first)
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
    shortest, longest = int(text.lengths.min()), int(text.lengths.max())
    stages = [stage for stage in short_first if stage[0] >= shortest] + [(longest, 1.0)]
    whole, before = 0.0, 0.0
    for until in sorted({*objective.turns, *(end for _, end in stages)}):
        length = next(length for length, end in stages if end >= until)
        some = text.select(np.flatnonzero(text.lengths <= length))
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


def operations(objective: Objective, text: Text, model: Transformer | TrunkModel) -> float:
    """Multiplications by a weight for each source token; training needs six operations for each.

    Products of attention are left out: under a thirtieth at these lengths and widths.
    """
    output = model.head.weight.numel() * predictions(objective, text)
    of_source = matrices(model.encoder) * read(objective, text)
    if not objective.decodes() or not isinstance(model, Transformer):
        return of_source + output
    memory = sum(matrices(layer.cross.key_value) for layer in model.decoder.layers)
    of_target = (matrices(model.decoder) - memory) * predictions(objective, text)
    return of_source + memory * read(objective, text) + of_target + output


def matrices(module: nn.Module) -> int:
    """Numbers in a module's matrices, without its embedding."""
    return sum(
        p.numel()
        for name, p in module.named_parameters()
        if p.dim() > 1 and not name.startswith("embedding.")
    )
