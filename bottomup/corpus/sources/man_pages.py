"""Man pages and their translations, aligned block by block within sections.

A page has the same name in every language. `mandoc` renders both. Sections are paired in order;
within a pair of sections the paragraphs, list items and headings are paired if both sides have the
same kinds in the same order. So a difference costs a section and not the page. The pages come from
packages of Debian or Ubuntu (`apt`), or from packages or pages on disk (`folder`).
"""

import io
import logging
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from lxml import etree, html
from pydantic import Field

from bottomup.core.errors import UserError
from bottomup.core.settings import Folder
from bottomup.corpus import debian, sentences
from bottomup.corpus.archives import BROKEN, decompressed, members
from bottomup.corpus.folders import below, once
from bottomup.corpus.losses import Loss, carry, of_texts, tell
from bottomup.corpus.sources import COLUMNS

log = logging.getLogger(__name__)

ELSEWHERE = (
    "remove what apt lacks from `packages`, or set `from: folder` and the `folder` of packages "
    "(.deb) or of pages"
)
MANDOC = (
    "install it (Debian, Ubuntu: apt-get install mandoc), or put its package for this machine, a "
    ".deb, into `folder`"
)
TIMEOUT = 60  # seconds for a page, which usually takes milliseconds
# Names of packages; {language} is that of the translation.
PACKAGES = [
    "manpages-{language}", "manpages-{language}-dev", "manpages", "manpages-dev", "adduser", "apt",
    "bash", "bsdextrautils", "bsdutils", "coreutils", "cups-client", "cups-daemon", "debhelper",
    "devscripts", "dosfstools", "dpkg", "dpkg-dev", "e2fsprogs", "findutils", "grep",
    "libsane-common", "man-db", "mount", "nfs-common", "openssh-client", "passwd", "po-debconf",
    "po4a", "procps", "psmisc", "schroot", "sgt-puzzles", "systemd", "systemd-boot",
    "systemd-container", "systemd-resolved", "tar", "udev", "util-linux", "xz-utils",
]  # fmt: skip
# Sections about the page and not its subject; they are alike everywhere.
LEFT_OUT = {"AUTHOR", "AUTHORS", "COLOPHON", "COPYRIGHT", "LICENSE", "REPORTING BUGS"}


class Options(debian.PackageOptions):
    """Which pages, and where they come from."""

    packages: list[debian.Package] = Field(
        PACKAGES,
        min_length=1,
        description="apt: packages with pages in English or in the other language, which replaces "
        "{language}; of several pages with one name, that of the first package is taken",
    )
    folder: Folder | None = Field(
        None,
        description="folder: a folder with packages (.deb), or with man/man1/*, man/<language>/"
        "man1/* and so on at some depth",
    )

    def read_files(self) -> list[str]:
        return [str(path) for path in _files(self.folder)] if self.folder else []


def fetch(options: Options, download_folder: Path) -> pd.DataFrame:
    """The sentences that both languages have in the same place. A document is a page, such as ls.1;
    an element is the number of a sentence in it.

    Raises UserError if packages or pages cannot be fetched or read, and if there are none.
    """
    with debian.reading("pages"):
        download_folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=download_folder) as own:
            rows, lost = _rows(options, download_folder, Path(own))
    english = ["source", "target"] if options.languages[0] == "en" else ["target", "source"]
    table = pd.DataFrame(rows, columns=["document", "element", *english], dtype=str)
    return carry(table[COLUMNS], tell(lost))


def _rows(
    options: Options, download_folder: Path, own: Path
) -> tuple[list[tuple[str, ...]], list[Loss]]:
    """Rows of document, element, English and translation, and the losses.

    own: a folder to unpack programs to.
    """
    # Debian's names of packages have pt-br for pt_BR, and one package for Chinese.
    of_package = options.translation.replace("_", "-").lower()
    of_package = "zh" if of_package.startswith("zh") else of_package
    names = [name.replace("{language}", of_package) for name in options.packages]
    if options.folder:
        files = _files(options.folder)
    else:
        files = debian.packages(names, download_folder, ELSEWHERE)
    sides = _pages(files, options.translation)
    if not (both := sides[0].keys() & sides[1].keys()):
        raise UserError(
            f"no man page in both languages in {options.folder or ', '.join(names)}; expected "
            f"man/man1/ls.1 and man/{options.translation}/man1/ls.1 or the like, plain or .gz"
        )
    mandoc = _mandoc(options, files, own)
    rows: list[tuple[str, ...]] = []
    unaligned: list[str] = []
    n = 0
    for page in sorted(both):
        blocks = aligned(*(_rendered(mandoc, side[page], page) for side in sides))
        pairs = [pair for _, of_block in blocks for pair in of_block]
        rows += [(page, str(number), *pair) for number, pair in enumerate(pairs, start=1)]
        unaligned += [text for text, of_block in blocks if not of_block]
        n += len(blocks)
    unpaired, key = sorted(sides[1].keys() - both), "corpus.sources.man_pages"
    return rows, [
        of_texts("pairing pages with their translations", key, unpaired, len(sides[1]), "pages"),
        of_texts("aligning pages", key, unaligned, n, "paragraphs, list items and headings"),
    ]


_LANGUAGE = r"([a-z]{2,3}(?:_[A-Z]{2})?)(?:\.UTF-8)?"
_PAGE = re.compile(rf"(?:^|/)man/(?:{_LANGUAGE}/)?man\d\w*/([^/]+?\.\d\w*)(?:\.gz)?$")


def _files(folder: Path) -> list[Path]:
    """The packages and pages in a folder, without aliases: these are links and have no own text."""
    return once(
        [
            path
            for path in below(folder)
            if (path.suffix == ".deb" or _PAGE.search(path.absolute().as_posix()))
            and path.is_file()
        ]
    )


def _pages(files: list[Path], language: str) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The English and the translated pages, by name, as in the files: they may be compressed."""
    sides: dict[str, dict[str, bytes]] = {"en": {}, language: {}}
    for file in files:
        for path, data in _contents(file, _PAGE):
            match = _PAGE.search(path)
            assert match  # as in each path of `_contents`
            if (side := sides.get(match[1] or "en")) is not None:
                side.setdefault(match[2], data)
    return sides["en"], sides[language]


def _contents(file: Path, wanted: re.Pattern) -> Iterator[tuple[str, bytes]]:
    if file.suffix != ".deb":
        yield file.absolute().as_posix(), file.read_bytes()
        return
    with file.open("rb") as stream:
        yield from members(stream, wanted, file.name)


def _mandoc(options: Options, files: list[Path], own: Path) -> str:
    """The path of mandoc: the machine's, or that of its package, unpacked to the folder `own`.

    Raises UserError if there is neither, or if it does not run.
    """
    path = shutil.which("mandoc")
    if not path:
        packages = [file for file in files if file.name.startswith("mandoc_")]
        if not options.folder:
            packages = debian.packages(["mandoc"], own.parent, MANDOC)
        for package in packages:
            for _, program in _contents(package, re.compile(r"(?:^|/)usr/bin/mandoc$")):
                path = str(own / "mandoc")
                Path(path).write_bytes(program)
                Path(path).chmod(0o700)
    if not path:
        raise UserError(f"mandoc, which reads man pages, is not on this machine; {MANDOC}")
    try:
        _html(path, b"")
    except (OSError, subprocess.SubprocessError) as error:
        raise UserError(f"mandoc cannot be run ({error}); {MANDOC}") from error
    return path


def _rendered(mandoc: str, page: bytes, name: str) -> str:
    """A page, which may be compressed, as HTML; empty, with a warning, if mandoc fails on it.

    Raises UserError if the page is damaged.
    """
    try:
        plain = decompressed(io.BytesIO(page)).read()
    except BROKEN as error:
        raise UserError(f"the page {name} is damaged ({error}); get it again") from error
    try:
        return _html(mandoc, plain)
    except subprocess.SubprocessError as error:
        log.warning("mandoc fails on the page %s (%s); it is left out", name, error)
        return ""


def _html(mandoc: str, page: bytes) -> str:
    # From a pipe, where a page cannot include other files.
    command = [mandoc, "-T", "html", "-O", "fragment", "-K", "utf-8"]
    done = subprocess.run(command, input=page, capture_output=True, timeout=TIMEOUT, check=True)
    return done.stdout.decode("utf-8")


Pairs = list[tuple[str, str]]


def aligned(english: str, translated: str) -> list[tuple[str, Pairs]]:
    """The blocks of a rendered page, in order, each with the pairs of its sentences and those of
    the translation. A block has no pairs without a counterpart, or if it is code or about the page.

    Sections are paired in order if both sides have equally many, apart from one about the
    translators at the end of the translation. Blocks of paired sections are paired if their kinds
    are the same in the same order, and sentences of paired blocks if they have the same `marks`.
    """
    sides = [sections(english), sections(translated)]
    if len(sides[1]) - len(sides[0]) not in (0, 1):
        sides[1] = [[]] * len(sides[0])
    paired: list[tuple[str, Pairs]] = []
    for blocks in zip(*sides, strict=False):
        kinds = [[kind for kind, _ in side] for side in blocks]
        if kinds[0] != kinds[1] or blocks[0][0][1].upper() in LEFT_OUT:
            paired += [(text, []) for _, text in blocks[0]]
            continue
        for (kind, source), (_, target) in zip(*blocks, strict=True):
            same = kind != "pre" and marks(source) == marks(target)
            paired.append((source, sentences.aligned(source, target) if same else []))
    return paired


# Options and numbers, but no parts of words, as in "ioctl(2)-Anfragen" and "--format-Option".
_MARK = re.compile(r"(?<![\w-])(?:--[a-z][a-z0-9]*(?:-[a-z0-9]+)*|-[A-Za-z](?![\w-]))|\d+")


def marks(text: str) -> list[str]:
    """What a translation does not change: options and numbers, sorted."""
    return sorted(_MARK.findall(text))


# The block elements of mandoc's HTML.
_BLOCKS = {"p", "dt", "dd", "li", "td", "pre", "h1", "h2", "div", "section", "dl", "ul", "ol"}
_BLOCKS |= {"table", "tr"}


def sections(page: str) -> list[list[tuple[str, str]]]:
    """The blocks of each section and subsection of a rendered page, in order: kind (the name of the
    element) and text. The first block of a section is its heading, except in the first section."""
    if not page:
        return []
    by_section: list[list[tuple[str, str]]] = [[]]
    kinds = ["div"]
    text: list[str] = []

    def close() -> None:
        if joined := " ".join("".join(text).split()):
            if kinds[-1] in ("h1", "h2"):
                by_section.append([])
            by_section[-1].append((kinds[-1], joined))
        text.clear()

    [manual] = html.fromstring(f"<div>{page}</div>").find_class("manual-text")
    for event, element in etree.iterwalk(manual, events=("start", "end")):
        block = element.tag in _BLOCKS
        if block:
            close()
        if event == "start":
            if block:
                kinds.append(element.tag)
            text.append(" " if element.tag == "br" else element.text or "")
        else:
            if block:
                kinds.pop()
            text.append(element.tail or "")
    return [blocks for blocks in by_section if blocks]
