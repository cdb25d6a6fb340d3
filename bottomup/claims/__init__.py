"""The papers' checkable sentences, each with the statistic that decides it, and their verdicts."""
