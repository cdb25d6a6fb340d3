"""No training: the initial model of a seed, with the encoder that backward LM starts from."""

from bottomup.objectives import untrained_causal


class Objective(untrained_causal.Objective):
    """Predicts nothing and sees no earlier token."""

    backward = True
