"""The descriptions of Debian's packages, translated by the Debian Description Translation Project.

A description and its translation have the same `Description-md5`. The first line is a summary of
the package; paragraphs and lists follow. Both come from indices, which apt gets without any package
(`apt`), or which are on disk (`folder`), for example in a mirror or below /var/lib/apt/lists.
"""

import io
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pandas as pd
from debian.deb822 import Deb822
from pydantic import Field

from bottomup.core.errors import UserError
from bottomup.core.settings import Folder
from bottomup.corpus import debian, sentences
from bottomup.corpus.archives import BROKEN, decompressed
from bottomup.corpus.folders import below, once
from bottomup.corpus.losses import carry, of_texts, tell
from bottomup.corpus.sources import COLUMNS

log = logging.getLogger(__name__)

ELSEWHERE = (
    "set `from: folder` and the `folder` of the indices of a mirror: Packages, Translation-en and "
    "that of the other language"
)


class Options(debian.TranslatedOptions):
    """Where the indices come from."""

    origin: Literal["apt", "folder"] = Field(
        "apt",
        alias="from",
        description="apt: the indices of the suites from which this machine has its packages, no "
        "root needed; folder: those in `folder`",
    )
    folder: Folder | None = Field(
        None,
        description="folder: a folder with Packages, Translation-en and the Translation of the "
        "other language at some depth, under names of apt or a mirror, plain or compressed by "
        "gzip, bzip2, xz or zstd",
    )

    @property
    def names(self) -> list[str]:
        """The languages as Debian calls them."""
        return [*map(debian.name_of, self.languages)]

    def read_files(self) -> list[str]:
        if not self.folder:
            return []
        kinds = ["Packages", *(f"Translation-{name}" for name in self.names)]
        return [str(path) for kind in kinds for path in _indices(self.folder, kind)]


def fetch(options: Options, download_folder: Path) -> pd.DataFrame:
    """The sentences of descriptions that both languages have. A document is a source package, an
    element the binary package and the number of the sentence.

    Raises UserError if indices cannot be fetched or read, or if one is missing.
    """
    with debian.reading("indices"):
        folder = options.folder or _from_apt(options.names, download_folder)
        sources = _source_packages(folder)
        sides = [_descriptions(folder, name) for name in options.names]
    rows, md5s, parts, unaligned = [], set(), 0, []
    for md5, (package, source) in sorted(sides[0].items(), key=lambda item: (item[1][0], item[0])):
        # If no index has a package, its source package is not known.
        if md5 in sides[1] and package in sources:
            md5s.add(md5)
            paragraphs = aligned(source, sides[1][md5][1])
            pairs = [pair for _, of_block in paragraphs for pair in of_block]
            rows += [(sources[package], f"{package}:{i}", *pair) for i, pair in enumerate(pairs, 1)]
            parts += len(paragraphs)
            unaligned += [text for text, of_block in paragraphs if not of_block]
    translated = sides[options.languages.index("en") - 1]
    unpaired = [text for md5, (_, text) in translated.items() if md5 not in md5s]
    key = "corpus.sources.package_descriptions"
    pairing, aligning = "pairing descriptions with their translations", "aligning their paragraphs"
    lost = [
        of_texts(pairing, key, unpaired, len(translated), "translations"),
        of_texts(aligning, key, unaligned, parts, "paragraphs and list items"),
    ]
    return carry(pd.DataFrame(rows, columns=COLUMNS, dtype=str), tell(lost))


def _from_apt(languages: list[str], download_folder: Path) -> Path:
    """The folder of the indices for these languages, fetched unless it has them."""
    folder = download_folder / f"package-descriptions-{'-'.join(sorted(languages))}"
    folder.mkdir(parents=True, exist_ok=True)
    [other] = set(languages) - {"en"}
    if debian.has_part(folder) or not _indices(folder, f"Translation-{other}"):
        complaint = debian.renew_lists(folder, sorted(languages), ELSEWHERE)
        if not _indices(folder, f"Translation-{other}"):
            raise UserError(
                f"apt-get has no package descriptions in {other!r}: {complaint}{ELSEWHERE}"
            )
    return folder


def _indices(folder: Path, kind: str) -> list[Path]:
    """The indices of one kind in a folder and below, in the order of their paths; none of those
    that apt has only begun to fetch, to its folder `partial`."""
    name = re.compile(rf"(?:.*_)?{kind}(?:\.(?:gz|bz2|xz|zst))?")
    files = (path for path in below(folder) if name.fullmatch(path.name))
    return once([path for path in files if path.parent.name != "partial"])


def _source_packages(folder: Path) -> dict[str, str]:
    """The source package of each binary package."""
    return {
        # As in "Source: gcc-12 (12.2.0-14)".
        entry["Package"]: entry.get("Source", entry["Package"]).partition(" ")[0]
        for entry in _entries(folder, "Packages", ["Package", "Source"])
    }


def _descriptions(folder: Path, language: str) -> dict[str, tuple[str, str]]:
    """For each description, the first package that has it, and the text in `language`; by the MD5
    of the English text."""
    kind, field = f"Translation-{language}", f"Description-{language}"
    descriptions: dict[str, tuple[str, str]] = {}
    for entry in _entries(folder, kind, ["Package", "Description-md5", field]):
        if field in entry and "Description-md5" in entry:
            descriptions.setdefault(entry["Description-md5"], (entry["Package"], entry[field]))
    return descriptions


def _entries(folder: Path, kind: str, fields: list[str]) -> Iterator[Deb822]:
    """The entries of all indices of one kind, each with `Package` and those of `fields` it has.

    Raises UserError if there is no such index, or if one is damaged.
    """
    paths = _indices(folder, kind)
    if not paths:
        raise UserError(f"no index {kind} in {folder} or below; check what is there")
    for path in paths:
        try:
            with path.open("rb") as file:
                # All at once: the reader would take a cut-off archive for a whole one.
                text = decompressed(file).read().decode("utf-8")
                lines = iter(io.StringIO(text, newline="\n"))
                for entry in Deb822.iter_paragraphs(lines, fields, use_apt_pkg=False):
                    if "Package" not in entry:
                        raise ValueError("an entry without Package")
                    yield entry
                # The reader ends where an entry has none of the fields.
                if next(lines, None) is not None:
                    raise ValueError("an entry without Package")
        except (*BROKEN, ValueError) as error:
            raise UserError(
                f"the index {path} is damaged ({error}); delete it and fetch it again"
            ) from error


_ITEM = re.compile(r"\s*[*+•·o–-]\s+(?=\S)")


Pairs = list[tuple[str, str]]


def aligned(source: str, target: str) -> list[tuple[str, Pairs]]:
    """The parts of a description, in order, each with the pairs of its sentences and those of the
    translation; without pairs if it has no counterpart.

    If both sides have the same sequence of paragraphs and list items, all parts are paired. If they
    have equally many paragraphs, these and the summary are. Otherwise the summary alone is.
    """
    sides = [blocks(source), blocks(target)]
    for kinds in (["short", "text", "item"], ["short", "text"], ["short"]):
        kept = [[block for block in side if block[0] in kinds] for side in sides]
        if [kind for kind, _ in kept[0]] == [kind for kind, _ in kept[1]]:
            break
    counterparts = iter(kept[1])
    return [
        (text, sentences.aligned(text, next(counterparts)[1]) if kind in kinds else [])
        for kind, text in sides[0]
    ]


def blocks(description: str) -> list[tuple[str, str]]:
    """The parts of a description, in order: kind (short, text or item) and text.

    Following Debian Policy 5.6.13, every line but the first begins with a blank, and a lone full
    stop separates paragraphs. Lines with two blanks are verbatim; they are left out unless they
    belong to a list item.
    """
    short, *lines = description.split("\n")
    parts = [("short", [short])]
    # Kind of the part that the next line may continue, and if verbatim.
    goes_on: tuple[str | None, bool] = (None, False)
    for line in (line[1:] for line in lines):
        verbatim = line[:1].isspace()
        if not line.strip(" ."):
            goes_on = (None, False)
        elif bullet := _ITEM.match(line):
            goes_on = ("item", verbatim)
            parts.append(("item", [line[bullet.end() :]]))
        elif goes_on in [("item", False), ("item" if verbatim else "text", verbatim)]:
            parts[-1][1].append(line.strip())
        elif verbatim:
            goes_on = (None, False)
        else:
            goes_on = ("text", False)
            parts.append(("text", [line]))
    return [(kind, " ".join(texts).strip()) for kind, texts in parts]
