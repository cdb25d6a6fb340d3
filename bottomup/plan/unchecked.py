"""A config that may be wrong in any way: its parts, as far as they are right."""

import math


def section(config: dict, name: str) -> dict:
    """A section of a config that may be wrong in any way."""
    value = config.get(name)
    return value if isinstance(value, dict) else {}


def list_of(config: dict, name: str) -> list:
    """A list in a config that may be wrong in any way."""
    values = config.get(name)
    return values if isinstance(values, list) else []


def numbers(config: dict, name: str) -> list[float]:
    """The finite numbers in a list of a config that may be wrong in any way."""
    values = list_of(config, name)
    return [value for value in values if type(value) in (int, float) and abs(value) < math.inf]


def number(config: dict, path: str) -> float:
    """A positive, finite number in a config that may be wrong in any way; NaN if there is none."""
    *sections, last = path.split(".")
    for name in sections:
        config = section(config, name)
    value = config.get(last)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf:
        return value
    return math.nan
