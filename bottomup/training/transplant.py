"""Heads that a run starts with: encoder heads of another run, in their own places."""

import pandas as pd
import torch
from torch import Tensor

from bottomup.core.errors import UserError
from bottomup.core.seeds import generator
from bottomup.core.settings import HeadsFrom
from bottomup.model.transformer import Transformer
from bottomup.training.loop import Trainer

Place = tuple[int, int]  # layer and head, from 1


def chosen(functions: pd.DataFrame, settings: HeadsFrom, seed: int) -> list[Place]:
    """The heads to take, by `settings.choose`: those with a function, or as many others of each
    layer, drawn by `seed` (all of these if there are fewer).

    functions: `head_functions` of the run that they are taken from.

    Raises UserError if none has a function, or if there are no others.
    """
    held, name = functions.groupby(["layer", "head"])["held"].any(), functions["objective"].iloc[0]
    functional = [place for place, has in held.items() if has]
    if not functional:
        raise UserError(
            f"no encoder head of {name} has a function, so there is none to start with; take heads "
            "of a run that has one (head_functions.csv), or lower heads.thresholds"
        )
    if settings.choose == "functional":
        return functional
    rng, drawn = generator(seed, "heads_from"), []
    for _, of_layer in held.groupby(level="layer"):
        others = [place for place, has in of_layer.items() if not has]
        rng.shuffle(others)
        drawn += sorted(others[: int(of_layer.sum())])
    if not drawn:
        raise UserError(
            f"in each layer of {name} where a head has a function all have one, so there are no "
            "others to start with; take heads of another run, or raise heads.thresholds"
        )
    return drawn


def parts(model: Transformer, place: Place) -> list[Tensor]:
    """The weights and biases that give one encoder head's queries, keys and values, and its columns
    of the output projection, as views."""
    layer, head = place
    attention = [*model.encoder.layers][layer - 1].attention
    width, every = attention.d_head, attention.heads * attention.d_head
    start = (head - 1) * width
    views = []
    for projection, first in (
        (attention.query, start),
        (attention.key_value, start),
        (attention.key_value, every + start),
    ):
        views += [part[first : first + width] for part in (projection.weight, projection.bias)]
    return [*views, attention.out.weight[:, start : start + width]]


@torch.no_grad()
def transplant(model: Transformer, donor: Transformer, places: list[Place]) -> None:
    """Give a model these heads of another one of the same shape."""
    for place in places:
        for mine, its in zip(parts(model, place), parts(donor, place), strict=True):
            mine.copy_(its)


class WithFrozenHeads(Trainer):
    """A Trainer that leaves the heads in these `places` as they were at the start.

    Whatever the optimizer: an orthogonalized momentum would move them even without a gradient.
    """

    def __init__(self, places: list[Place], *arguments):
        super().__init__(*arguments)
        assert isinstance(self.model, Transformer)
        self.frozen = [part for place in places for part in parts(self.model, place)]
        self.as_given = [part.detach().clone() for part in self.frozen]

    def update(self, sentences, step):
        loss = super().update(sentences, step)
        with torch.no_grad():
            torch._foreach_copy_([part.detach() for part in self.frozen], self.as_given)
        return loss
