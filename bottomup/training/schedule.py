"""Learning rates over a training: a linear rise, then a fall."""


def share_of_peak(schedule: str, step: int, warmup_steps: int, spent: float) -> float:
    """The learning rate of a step, counted from 1, as a share of its peak.

    It rises linearly until `warmup_steps`. Then "inverse_sqrt" falls with the square root of the
    step (Vaswani et al. 2017, equation 3; its d_model^-1/2 is part of the peak), and "linear" with
    the rest of the token budget, of which a share `spent` is read.
    """
    fallen = (warmup_steps / step) ** 0.5 if schedule == "inverse_sqrt" else 1 - spent
    return min(step / warmup_steps, fallen)
