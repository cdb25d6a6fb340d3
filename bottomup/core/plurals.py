"""Nouns beside numbers."""


def plural(noun: str, n: float) -> str:
    """The noun, as it stands beside a number: `job` beside 1, `jobs` beside any other."""
    return noun if n == 1 else f"{noun}s"
