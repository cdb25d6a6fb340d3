"""Inverse-square-root learning rate with linear warm-up (Vaswani et al. 2017, section 5.3)."""


def learning_rate(step: int, scale: float, d_model: int, warmup_steps: int) -> float:
    """scale x d_model^-1/2 x min(step^-1/2, step x warmup_steps^-3/2), for step >= 1."""
    return scale * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)
