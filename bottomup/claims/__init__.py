"""The papers' checkable sentences, each with the statistic that decides it, and their verdicts."""


class NotMeasuredError(Exception):
    """What a statistic needs and a study has not measured."""
