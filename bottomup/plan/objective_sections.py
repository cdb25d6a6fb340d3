"""The sections of objectives: keys that all of them have, and the options of each module."""

from typing import Any, Literal

from pydantic import BaseModel, create_model

from bottomup.core import settings
from bottomup.core.settings import Section, key
from bottomup.core.trunks import TRUNKS
from bottomup.objectives import kind


class Runs(Section):
    """Keys that every objective's section may have besides the objective's own options."""

    objective: str | None = key(
        "a module of bottomup/objectives, with the defaults of its own and nothing of the section "
        "that is called like it; null is the one of the section's name",
        default=None,
    )
    trunk: Literal[*TRUNKS] = key(  # type: ignore[valid-type]  # mypy reads no computed values
        "kind of model; only a transformer has heads and a decoder; not of what is called like a "
        "module, except bilm, which needs it",
        default="transformer",
    )
    model: dict[str, Any] = key(
        "keys that override the section `model`; not of what is called like a module, since "
        "figures and claims compare these at one shape",
        default={},
    )
    training: dict[str, Any] = key(
        "keys that override the section `training`; not of untrained ones", default={}
    )
    heads_from: settings.HeadsFrom | None = key(
        "encoder heads of another run to start with; not of what is called like a module, nor of "
        "untrained ones",
        default=None,
    )
    n_seeds: int | None = key(
        "number of seeds, from the first, to run; null for all; with `looks`, one of these, and "
        "null for the first",
        "seeds",
        default=None,
        ge=1,
    )


def all_keys(objective: str) -> type[BaseModel]:
    """All keys that an objective's section may hold."""
    return create_model(objective, __base__=(Runs, kind(objective)))


def module_of(name: str, section: dict) -> str:
    """The module that an objective's section names; the objective's own name if it names none, or
    is wrong."""
    module = section.get("objective")
    return module if module and isinstance(module, str) else name


def trunk_of(section: dict) -> str:
    """The trunk in an objective's section; "" if it is not text."""
    trunk = section.get("trunk", Runs.model_fields["trunk"].default)
    return trunk if isinstance(trunk, str) else ""


def options_of(objective: dict) -> dict:
    """The objective's own options in its section."""
    return {name: value for name, value in objective.items() if name not in Runs.model_fields}
