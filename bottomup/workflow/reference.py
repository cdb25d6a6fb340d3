"""The reference of the config's keys: python -m bottomup.workflow.reference > docs/config.md"""

from collections.abc import Iterator
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from bottomup.schema import allowed, keys
from bottomup.workflow import config
from bottomup.workflow.digest import ROOT

HEADER = """# Configuration

Every key of `config.yaml`, with its value in the default study. Another study is a file with the
keys that it changes, laid over `config.yaml`:

    snakemake --cores all --configfile studies/smoke.yaml

A list replaces the list below it, a section is merged, and `null` removes an objective.
All mistakes in a config are reported at once, before any job starts.

Made by `python -m bottomup.workflow.reference > docs/config.md`.
"""
COLUMNS = "| key | default | allowed | unit | meaning |\n|---|---|---|---|---|"


def reference() -> str:
    """docs/config.md: a table for each section, and for each source's and objective's options."""
    default = yaml.safe_load((ROOT / "config.yaml").read_text())
    sections = [_section("Study", config.Study, default)]
    sections.append(_section("`objectives.*`", config.Runs, {}))
    for room, path, model in (
        ("corpus.sources", "corpus.sources", config.source_model),
        ("objectives", "objectives", config.objective_model),
    ):
        for name in config.modules(room):
            sections.append(_section(f"`{path}.{name}`", model(name), {}))
    return "\n\n".join([HEADER.strip(), *sections]) + "\n"


def _section(title: str, model: type[BaseModel], default: Any) -> str:
    rows = "\n".join(_rows(model, default, ""))
    table = f"{COLUMNS}\n{rows}" if rows else "No options."
    return f"## {title}\n\n{model.__doc__.splitlines()[0]}\n\n{table}"


def _rows(model: type[BaseModel], default: Any, path: str) -> Iterator[str]:
    for name, field in keys(model).items():
        where = f"{path}{name}"
        value = default.get(name, field.get_default(call_default_factory=True))
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield f"| **`{where}`** | | | | {_cell(field.annotation.__doc__.splitlines()[0])} |"
            yield from _rows(field.annotation, value, f"{where}.")
        else:
            yield _row(where, field, value)


def _row(where: str, field: FieldInfo, value: Any) -> str:
    unit = (field.json_schema_extra or {}).get("unit", "")
    shown = "" if value is PydanticUndefined or isinstance(value, dict) else f"`{_yaml(value)}`"
    meaning = (field.description or "").replace("<", "&lt;")
    cells = (f"`{where}`", shown, allowed(field), unit, meaning)
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _yaml(value: Any) -> str:
    plain = list(value) if isinstance(value, tuple) else value
    text = yaml.safe_dump(plain, default_flow_style=True, width=1000).removesuffix("...\n")
    return text.strip()


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    print(reference(), end="")
