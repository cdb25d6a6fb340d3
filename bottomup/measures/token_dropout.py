"""Objectives as their models are measured: without token dropout."""

from inspect import isabstract

from bottomup.objectives import Objective, Question


def without_dropout(objective: Objective) -> Objective:
    """The objective without token dropout, which belongs to training as other dropout does.

    That is the one that it inherits from; if it inherits from none that is whole, it stays.
    """
    variant, own = objective.variant, type(objective)
    if variant is None or variant.question is not Question.TOKEN_DROPOUT:
        return objective
    # Not by the variant's name, since a job imports nothing that it was not planned with.
    kinds = (of for of in own.__mro__ if issubclass(of, Objective) and not isabstract(of))
    plain = next((of for of in kinds if of.variant is None), own)
    return plain(**{name: value for name, value in objective if name in plain.model_fields})
