"""Training: loss, optimizers, schedule, loop, checkpoint and resume."""
