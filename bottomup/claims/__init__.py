"""The papers' checkable sentences, the statistics that decide them, and the verdicts."""


class NotMeasuredError(Exception):
    """A statistic needs what the study has not measured; the text names it."""
