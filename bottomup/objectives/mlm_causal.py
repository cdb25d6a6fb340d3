"""Masked language modeling under LM's mask: hidden tokens are predicted from the left."""

from bottomup.objectives import Question, Variant, mlm


class Objective(mlm.Objective):
    """MLM's targets with LM's mask, to separate what the two do to a representation."""

    causal = True
    variant = Variant("mlm", Question.MASK)
