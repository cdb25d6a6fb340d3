"""Learning rates over a training: a linear rise and a fall."""


def share_of_peak(schedule: str, step: int, warmup_steps: int, spent: float) -> float:
    """The learning rate of a step, counted from 1, as a share of the config's `learning_rate`.

    It is the lower of two curves. One rises in a line to 1 at `warmup_steps`. The other falls:
    "inverse_sqrt" with the square root of the step, from 1 at `warmup_steps` (Vaswani et al. 2017,
    equation 3; its d_model^-1/2 is part of `learning_rate`); "linear" with the rest of the token
    budget, of which a share `spent` is read, from 1 at the first step. So "linear" peaks where its
    lines meet: in n updates at n / (n + warmup_steps), which is below 1.
    """
    fallen = (warmup_steps / step) ** 0.5 if schedule == "inverse_sqrt" else 1 - spent
    return min(step / warmup_steps, fallen)
