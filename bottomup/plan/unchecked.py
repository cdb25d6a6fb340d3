"""A config that may be wrong in any way: its parts, as far as they are right."""

import math
from collections.abc import Callable
from typing import Any


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


def each_value(config: Any, change: Callable[[Any], Any]) -> Any:
    """A config with each of its plain values changed, at any depth."""
    if isinstance(config, dict):
        return {name: each_value(value, change) for name, value in config.items()}
    if isinstance(config, list):
        return [each_value(value, change) for value in config]
    return change(config)
