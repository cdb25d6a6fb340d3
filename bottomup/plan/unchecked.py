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
    """The numbers in a list of a config that may be wrong in any way."""
    return [value for value in list_of(config, name) if type(value) in (int, float)]


def number(config: dict, path: str) -> float:
    """A positive number in a config that may be wrong in any way; NaN if there is none."""
    *sections, last = path.split(".")
    for name in sections:
        config = section(config, name)
    value = config.get(last)
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return value
    return math.nan
