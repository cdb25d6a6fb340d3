"""No training: the initial model of a seed, with the encoder that LM starts from."""

from bottomup.objectives import untrained


class Objective(untrained.Objective):
    """Predicts nothing and sees no later token: what the mask alone does."""

    causal = True
