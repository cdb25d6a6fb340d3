"""Objectives as their models are measured: without token dropout."""

from bottomup.objectives import Objective, Question


def without_dropout(objective: Objective) -> Objective:
    """The objective without token dropout, which belongs to training as other dropout does."""
    variant = objective.variant
    if variant is None or variant.question is not Question.TOKEN_DROPOUT:
        return objective
    # What it inherits from, since a job imports nothing that it was not planned with.
    kinds = (of for of in type(objective).__mro__ if issubclass(of, Objective))
    plain = next(of for of in kinds if of.variant is None)
    return plain(**{name: value for name, value in objective if name in plain.model_fields})
