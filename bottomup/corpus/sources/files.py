"""Your own text: two aligned files, one file with tab-separated columns, or one file of one
language.

Files are UTF-8 with one sentence a line, plain or compressed by gzip, bzip2, xz or zstd. If
documents are not known, every line is its own document, so that splits are by sentence.
"""

import re
import unicodedata
from itertools import islice
from pathlib import Path

import pandas as pd
from pydantic import Field, model_validator

from bottomup.core.errors import UserError
from bottomup.core.settings import File
from bottomup.corpus.archives import BROKEN, decompressed
from bottomup.corpus.sources import SourceOptions

MAX_LINE_BYTES = 2**24
HEAD = 200  # characters of the first line that is not blank, which tell what a file is
POINTER = re.compile(r"^version https://\S+/spec/v\d+$|/annex/objects/")
# The last: a line that is a tag with attributes.
MARKUP = re.compile(
    r"\s*(<!doctype\b|<html\b|<\?xml\b|<!--|\{\\rtf|%PDF-|%!PS|<[a-z][^<>]*=[^<>]*>\s*$)",
    re.IGNORECASE,
)
# A line from tag to tag. Text may begin with one, as <Enter>, but hardly with two.
TAGS = re.compile(r"\s*<[a-z/][^<>]*>(.*<[^<>]*>)?\s*", re.IGNORECASE)
JSON = re.compile(r'\s*[{\[]\s*("[^"]*"\s*:.*)?$')


class Options(SourceOptions):
    """Which files; relative paths start from the folder in which the workflow runs."""

    monolingual = True

    source: File | None = Field(None, description="source text, one sentence a line")
    target: File | None = Field(None, description="its translation, line by line")
    documents: File | None = Field(
        None, description="names of the documents that the lines of `source` come from"
    )
    tsv: File | None = Field(
        None,
        description="instead of these three, for two languages: lines of source, target and, "
        "optionally, document, separated by tabs and not quoted",
    )

    @model_validator(mode="after")
    def one_form(self) -> "Options":
        given = {name for name in ("source", "target", "tsv") if getattr(self, name) is not None}
        if len(self.languages) == 1:
            if given != {"source"}:
                raise ValueError("for one language, give `source` (and `documents`) alone")
        elif given != {"source", "target"} and (given != {"tsv"} or self.documents is not None):
            raise ValueError("give `source` and `target` (and `documents`), or `tsv` alone")
        return self


def fetch(options: Options, download_folder: Path) -> pd.DataFrame:
    """The pairs in the order of the lines; an element is named by its line number.

    Raises UserError for files that are empty, not UTF-8, broken or not aligned.
    """
    columns = _tsv(options.tsv) if options.tsv else _aligned(options)
    n_sides = len(options.languages)
    sides, documents = columns[:n_sides], [_names(column, options) for column in columns[n_sides:]]
    numbers = [str(number) for number in range(1, len(sides[0]) + 1)]
    rows = zip(documents[0] if documents else numbers, numbers, *sides, strict=True)
    return pd.DataFrame(rows, columns=options.columns, dtype=str)


def _aligned(options: Options) -> list[list[str]]:
    paths = [path for path in (options.source, options.target, options.documents) if path]
    columns = [_texts(path) for path in paths]
    for path, column in zip(paths, columns, strict=True):
        if len(column) != len(columns[0]):
            raise UserError(
                f"lines in {paths[0]}: {len(columns[0])}, in {path}: {len(column)}; "
                "aligned files must have the same number of lines: look for a missing line"
            )
    return columns


def _tsv(path: Path) -> list[list[str]]:
    rows = [line.split("\t") for line in _texts(path)]
    width = len(rows[0])
    for number, row in enumerate(rows, start=1):
        if len(row) != width or width not in (2, 3):
            raise UserError(
                f"{path}, line {number}: columns: {len(row)}; expected source, target and, "
                "if the first line has it, document, separated by tabs"
            )
    return [list(column) for column in zip(*rows, strict=True)]


def _names(documents: list[str], options: Options) -> list[str]:
    """The names of documents without blanks around them; UserError if there is none in a line."""
    names = [name.strip() for name in documents]
    if "" in names:
        raise UserError(
            f"{options.documents or options.tsv}, line {names.index('') + 1} names no document; "
            "lines of one name stay in one split, so give each line the name of its own, or none "
            "any"
        )
    return names


def _texts(path: Path) -> list[str]:
    """The lines of a file, none of which is JSON, as that of pairs is."""
    texts = lines(path)
    if JSON.match(_first(texts)):
        raise UserError(f"{path} is JSON; expected one sentence a line: take the texts out of it")
    return texts


def _first(lines: list[str]) -> str:
    """The first line that is not blank; empty if all are."""
    return next(filter(str.strip, lines), "")


def lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file, plain or compressed, without their ends.

    Raises UserError if the file is none, as a pipe, empty, damaged or not text (see `not_text`), or
    if a line is not UTF-8 or is longer than `MAX_LINE_BYTES`; the error has the line's number.
    """
    if path.exists() and not path.is_file():
        raise UserError(f"{path} is no file, but a folder, a pipe or a device; take it away")
    texts: list[str] = []
    try:
        with path.open("rb") as file:
            plain = decompressed(file)
            while line := plain.readline(MAX_LINE_BYTES):
                if len(line) == MAX_LINE_BYTES:
                    raise UserError(
                        f"{path}, line {len(texts) + 1} has {MAX_LINE_BYTES} bytes or more; "
                        "expected one sentence a line"
                    )
                texts.append(line.decode("utf-8").rstrip("\r\n"))
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}, line {len(texts) + 1} is not UTF-8 ({error.reason} at byte {error.start}); "
            "convert the file, for example with iconv"
        ) from error
    except BROKEN as error:
        raise UserError(f"{path} cannot be read ({error}); get the whole file again") from error
    if not texts:
        raise UserError(f"{path} is empty; expected one sentence a line")
    texts[0] = texts[0].removeprefix("\ufeff")
    if reason := not_text(texts):
        raise UserError(f"{path} is {reason}; expected UTF-8 with one sentence a line")
    return texts


def not_text(lines: list[str]) -> str | None:
    """What is wrong with a file that is UTF-8 but has no sentences in its lines, and what to do;
    None if nothing is.

    Data of any kind have control characters at their start, where formats have their headers.
    Single control characters further on are left to the cleaning, also CR while lines end in LF.
    """
    first = _first(lines)
    most = len(lines) if len(lines) > 1 else 0
    if sum(line.strip("\r").count("\r") for line in lines) > most:
        return "of lines that end in CR alone; convert it, for example with tr '\\r' '\\n'"
    if any(unicodedata.category(c) == "Cc" and not c.isspace() for c in first[:HEAD]):
        return "data with control characters, not text; unpack or convert it"
    if POINTER.search(first[:HEAD]):
        return "a pointer to a file that is kept elsewhere; get the file (git lfs pull, annex get)"
    two = [*islice(filter(str.strip, lines), 2)]
    if MARKUP.match(first) or (len(two) == 2 and all(map(TAGS.fullmatch, two))):
        return "a page or document with markup, not plain text; get the file itself"
    return None
