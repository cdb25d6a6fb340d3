"""The papers' checkable sentences, the statistics that decide them, and the verdicts."""


class NotMeasuredError(Exception):
    """A statistic needs what the study has not measured; the text names it.

    table: the table that is missing, or that lacks rows about models which it has; else empty.
    """

    def __init__(self, text: str, table: str = ""):
        super().__init__(text)
        self.table = table

    def until(self, why: str) -> str:
        """What would decide the claim. why: the reason why it is missing, if that is known."""
        since = f", since {why}" if why else ""
        return f"the study measures it ({self} is missing{since})"


class NotEnoughError(NotMeasuredError):
    """What the study has measured does not do for a statistic; the text says what would."""

    def until(self, why: str) -> str:
        return str(self)
