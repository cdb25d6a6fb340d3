"""The papers' checkable sentences, the statistics that decide them, and the verdicts."""


class NotMeasuredError(Exception):
    """A statistic needs what the study has not measured; the text names it."""

    @property
    def until(self) -> str:
        """What would decide the claim."""
        return f"the study measures it ({self} is missing)"


class NotEnoughError(NotMeasuredError):
    """What the study has measured does not do for a statistic; the text says what would."""

    @property
    def until(self) -> str:
        return str(self)
