"""The figures: one module a figure, drawn from tables only; see `style` and `points`."""
