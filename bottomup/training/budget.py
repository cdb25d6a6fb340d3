"""How many source tokens a run reads, so that objectives are equal in what the study's key `equal`
names.

A budget is in source tokens that LM reads, and LM reads as many under each key. Every other
objective reads so many that it makes as many predictions, or needs as many operations, as LM does
in its budget.
"""

from typing import Literal

from torch import nn

from bottomup.corpus.batches import Text
from bottomup.model.transformer import Transformer
from bottomup.model.trunks import TrunkModel
from bottomup.objectives import Objective

Equal = Literal["tokens", "predictions", "operations"]


def source_tokens(
    equal: Equal, budget: int, objective: Objective, model: Transformer | TrunkModel, text: Text
) -> int:
    """What a run reads of a text, for a budget in tokens that LM reads."""
    if equal == "tokens":
        return budget
    if equal == "predictions":
        share = predictions_of_lm(text) / predictions(objective, text)
    else:
        share = operations_of_lm(model, text) / operations(objective, model, text)
    return max(1, round(budget * share))


def predictions_of_lm(text: Text) -> float:
    """Predictions for each source token: all but the first of a sentence, </s> included."""
    return 1 - len(text.source) / text.source.lengths.sum()


def predictions(objective: Objective, text: Text) -> float:
    """Predictions of an objective for each source token of a text."""
    if objective.decodes() and objective.predicts:
        written = getattr(text, objective.predicts).lengths
        predicted = objective.predictions_a_token * (written - 1).sum() + len(written)  # and </s>
        return predicted / text.source.lengths.sum()
    return objective.predictions_a_token * predictions_of_lm(text) * read(objective, text)


def read(objective: Objective, text: Text) -> float:
    """Tokens that the encoder reads for each source token of a text."""
    n_target = 0 if text.target is None else text.target.lengths.sum()
    return objective.reads(n_target / text.source.lengths.sum())


def operations_of_lm(model: Transformer | TrunkModel, text: Text) -> float:
    """As `operations`, of LM with an encoder of the same shape."""
    output = model.encoder.embedding.tokens.weight.numel()
    return matrices(model.encoder) + output * predictions_of_lm(text)


def operations(objective: Objective, model: Transformer | TrunkModel, text: Text) -> float:
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
