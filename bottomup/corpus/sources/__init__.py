"""Sources of text, one module for each; a new source is one new file in this folder.

A source module holds

- `Options`, a subclass of `SourceOptions`: what the config says about it, with units and defaults.
  A language pair that the source lacks fails its validation.
- `fetch(options, download_folder) -> pandas.DataFrame` with the columns `options.columns`, all str:
  the document (page, file, talk, ...) and the element in it that a pair comes from, and the text of
  both sides. A source whose `Options` are `monolingual` also gives the text of one language alone.
"""

import difflib
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from bottomup.core.errors import UserError
from bottomup.core.settings import Language
from bottomup.corpus.folders import below
from bottomup.corpus.losses import carried, carry

COLUMNS = ["document", "element", "source", "target"]


class SourceOptions(BaseModel):
    """Options that every source has."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)

    languages: tuple[Language, ...] = Field(
        ("en", "de"),
        min_length=1,
        max_length=2,
        description="source and target language, codes such as en, de, zh, pt_BR, or one alone",
        json_schema_extra={"key": "corpus.languages"},  # of the config, for all sources
    )

    @field_validator("languages")
    @classmethod
    def languages_are_there(cls, languages: tuple[str, ...]) -> tuple[str, ...]:
        if len(languages) == 1 and not cls.monolingual:
            name = cls.__module__.rpartition(".")[2]
            raise ValueError(f"the source {name} has only sentence pairs; allowed: two languages")
        if len(set(languages)) < len(languages):
            raise ValueError("source and target must be different languages")
        return languages

    package: ClassVar[str | None] = None  # an optional package that fetching needs
    monolingual: ClassVar[bool] = False  # whether it also has text of one language

    @property
    def columns(self) -> list[str]:
        """The columns of the pairs, without `target` if there is one language."""
        return COLUMNS[: 2 + len(self.languages)]

    def input_files(self) -> list[str]:
        """The files on disk that the options name."""
        return [str(path) for path in _paths_in(self) if path.is_file()]

    def read_files(self) -> list[str]:
        """The files on disk that the pairs depend on: `input_files`, and all files in folders that
        the options name, unless a source says which of them it reads."""
        folders = (path for path in _paths_in(self) if path.is_dir())
        return [*self.input_files(), *(str(file) for folder in folders for file in below(folder))]


def _paths_in(value: Any) -> Iterator[Path]:
    """The paths that options hold, at any depth."""
    if isinstance(value, Path):
        yield value
    elif isinstance(value, BaseModel | dict):
        for of in dict(value).values():
            yield from _paths_in(of)
    elif isinstance(value, list | tuple):
        for of in value:
            yield from _paths_in(of)


def names() -> list[str]:
    """The names of all sources."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def module(name: str) -> ModuleType:
    """The module of the source `name`.

    Raises UserError, naming the known sources, if there is none.
    """
    if name not in names():
        nearest = difflib.get_close_matches(name, names(), n=1)
        guess = f"; did you mean {nearest[0]}?" if nearest else ""
        raise UserError(f"corpus source: found {name!r}; allowed: {', '.join(names())}{guess}")
    return importlib.import_module(f"{__name__}.{name}")


def fetch(name: str, options: dict, download_folder: Path) -> pd.DataFrame:
    """The pairs of the source `name`; downloads stay in the folder.

    Raises UserError for options that the source does not have, and if it gives no pairs.
    """
    source = module(name)
    try:
        checked = source.Options.model_validate(options)
    except ValidationError as error:
        problems = "; ".join(_problem(problem) for problem in error.errors())
        raise UserError(f"options of the corpus source {name}: {problems}") from error
    pairs = source.fetch(checked, Path(download_folder))
    if pairs.empty:
        raise UserError(f"the corpus source {name} gave no pairs; check its options: {options}")
    require_text(name, pairs, checked.columns)
    return carry(pairs[checked.columns], carried(pairs))


def require_text(name: str, pairs: pd.DataFrame, columns: list[str]) -> None:
    """Raise UserError if a source gives none of these columns, or something else than text."""
    for column in columns:
        if column not in pairs:
            raise UserError(
                f"the corpus source {name} gives no column {column}; allowed: all of "
                f"{', '.join(columns)}; without documents, let each pair be its own"
            )
        is_text = [isinstance(text, str) for text in pairs[column]]
        if not all(is_text):
            place = is_text.index(False)
            raise UserError(
                f"the corpus source {name} gives {pairs[column].iloc[place]} as {column} of pair "
                f"{place + 1}; allowed: text; give it, or leave the pair out"
            )


def _problem(problem: Mapping[str, Any]) -> str:
    where = ".".join(str(part) for part in problem["loc"])
    message = problem["msg"].removeprefix("Value error, ")
    found = "" if problem["type"] == "secret" else f", found {problem['input']!r}"
    return f"{where}: {message}{found}" if where else message
