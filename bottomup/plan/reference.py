"""The reference of the config's keys: python -m bottomup.plan.reference > docs/config.md"""

import argparse
from collections.abc import Iterator, Set
from typing import Any, get_args, get_origin

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from bottomup.plan import objective_sections, study
from bottomup.core.schema import allowed, extra, keys, section
from bottomup.objectives import kind
from bottomup.plan.digest import ROOT
from bottomup.plan.mistakes import TRAINS

HEADER = """# Configuration

Every key of `config.yaml`, with its value in the default study. Another study is a file with the
keys that it changes, laid over `config.yaml`:

    snakemake --cores all --configfile studies/smoke.yaml

A list replaces the list below it, a section is merged, and `null` removes an objective, a
checkpoint, steps or a sweep. Keys stand in the section that the heading names: `min_words` under
`corpus.cleaning`.
All mistakes in a config are reported at once, before any job starts.

Made by `python -m bottomup.plan.reference > docs/config.md`.
"""
COLUMNS = "| key | default | allowed | unit | meaning |\n|---|---|---|---|---|"


def reference() -> str:
    """docs/config.md: a table for each section, and for each source's and objective's options."""
    default = yaml.safe_load((ROOT / "config.yaml").read_text())
    parts = [HEADER.strip(), *_sections(2, "Study", "", study.Study, default)]
    parts += _sections(2, "`objectives.*`", "objectives.*.", objective_sections.Runs, {})
    for path, model, given in (
        ("corpus.sources", study.source_model, default["corpus"]["sources"]),
        ("objectives", kind, default["objectives"]),
    ):
        for name in study.modules(path):
            of, shared = given.get(name, {}), path == "corpus.sources"
            idle = TRAINS if getattr(model(name), "predicts", "") is None else set()
            parts += _sections(2, f"`{path}.{name}`", "", model(name), of, shared, idle)
    return "\n\n".join(parts) + "\n"


def _sections(
    level: int,
    title: str,
    path: str,
    model: type[BaseModel],
    default: Any,
    shared: bool = True,
    idle: Set[str] = frozenset(),
) -> Iterator[str]:
    """A table of the keys that a section holds itself, then those of its own sections.

    shared: whether what config.yaml has is the default of all, and not of this section's name.
    idle: keys that this section may not have.
    """
    if isinstance(default, BaseModel):  # a section that config.yaml leaves out
        default = default.model_dump()
    own = {
        name: (field, default.get(name, field.get_default(call_default_factory=True)))
        for name, field in keys(model).items()
        if name not in idle
    }
    inner = {name: of for name, (field, _) in own.items() if (of := section(field.annotation))}
    each = {name: of for name, (field, _) in own.items() if (of := _of_each(field.annotation))}
    # A section that may be null has a row as well as a table.
    rows = [
        _row(name, *own[name], shared)
        for name in own
        if inner.get(name) is not own[name][0].annotation
    ]
    [about, *_] = (model.__doc__ or "").splitlines() or [""]
    yield f"{'#' * level} {title}\n\n{about}"
    if rows:
        yield "\n".join([COLUMNS, *rows])
    elif not inner:
        yield "No options."
    for name, of in inner.items():
        where = f"{path}{name}"
        yield from _sections(3, f"`{where}`", f"{where}.", of, own[name][1] or {})
    for name, of in each.items():
        where = f"{path}{name}.*"
        yield from _sections(3, f"`{where}`", f"{where}.", of, {})


def _of_each(annotation: Any) -> type[BaseModel] | None:
    """The model of what a section holds under names of the user's choice; None for any other."""
    return section(get_args(annotation)[-1]) if get_origin(annotation) is dict else None


def _row(name: str, field: FieldInfo, value: Any, shared: bool) -> str:
    unit = extra(field).get("unit", "")
    shown = "" if value is PydanticUndefined else f"`{_yaml(value)}`"
    if shown and not shared and value != field.get_default(call_default_factory=True):
        shown += f", under other names `{_yaml(field.default)}`"
    fits = allowed(field)
    meaning = (field.description or "").replace("<", "&lt;")
    cells = (f"`{name}`", shown, fits, unit, meaning)
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _yaml(value: Any) -> str:
    plain = list(value) if isinstance(value, tuple) else value
    text = yaml.safe_dump(plain, default_flow_style=True, width=1000).removesuffix("...\n")
    return text.strip()


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(reference(), end="")
