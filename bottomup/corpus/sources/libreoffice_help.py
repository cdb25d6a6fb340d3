"""LibreOffice's help: professionally translated pages, aligned exactly by element ids.

A page has the same path in every language, and its paragraphs and headings carry the same `id`.
The pages come from the packages of Debian or Ubuntu (`apt`), from the help packs of The Document
Foundation (`archive`), or from a tree on disk (`folder`). Packages are read, never unpacked.
"""

import base64
import hashlib
import logging
import netrc
import re
import shutil
import tempfile
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from typing import Annotated, ClassVar, Literal
from urllib.parse import urlsplit

import pandas as pd
from lxml import etree
from pydantic import Field, field_validator

from bottomup.core.errors import UserError
from bottomup.core.files import digest
from bottomup.core.settings import Address, Folder
from bottomup.corpus import debian
from bottomup.corpus.archives import members
from bottomup.corpus.folders import below
from bottomup.corpus.losses import carry, of_texts, tell

log = logging.getLogger(__name__)

# The help's own tags, which name its folders and help packs, by language.
LANGUAGES = (
    *("ca", "cs", "da", "de", "dz", "el", "es", "et", "eu", "fi", "fr", "gl", "hi", "hu", "id"),
    *("it", "ja", "km", "ko", "nl", "om", "pl", "pt", "pt_BR", "ru", "sk", "sl", "sv", "tr", "vi"),
    *("zh_CN", "zh_TW"),
)
TAGS = {"en": "en-US", "zh": "zh-CN"} | {name: name.replace("_", "-") for name in LANGUAGES}
Checksum = Annotated[str, Field(pattern="^[0-9a-fA-F]{64}$")]
ELSEWHERE = (
    "set `from: archive` to download help packs instead, or `from: folder` and the `folder` "
    "of a help tree"
)


class Options(debian.DebianOptions):
    """Which pages, and where they come from."""

    monolingual = True
    read_from: ClassVar = {"archive_url": "archive", "sha256": "archive"}

    origin: Literal["apt", "archive", "folder"] = Field(
        "apt",
        alias="from",
        description="apt: packages of Debian or Ubuntu, no root needed; "
        "archive: help packs from `archive_url`; folder: an unpacked tree",
    )
    version: str = Field(
        "7.4.7.2",
        pattern=r"^\d+(\.\d+)+$",
        description="version of the help packs; apt has the version of its distribution, and warns "
        "if that differs",
    )
    archive_url: Address = Field(
        "https://downloadarchive.documentfoundation.org/libreoffice/old/{version}/deb/x86_64/"
        "LibreOffice_{version}_Linux_x86-64_deb_helppack_{language}.tar.gz",
        pattern=r"^[a-z]+://[!-Z^-~]*\{language\}[!-Z^-~]*$",
        description="archive: address of a help pack; {version} and {language} are filled in; a "
        "password for its host is taken from ~/.netrc",
    )
    # mypy reads no Literal of computed values.
    sha256: dict[Literal[*TAGS], Checksum] = Field(  # type: ignore[valid-type]
        default_factory=dict,
        description="archive: expected SHA-256 of the help packs by language, in hexadecimal; "
        "a language left out is not checked",
    )
    folder: Folder | None = Field(
        None, description="folder: a folder with <language>/text/**/*.html at some depth"
    )

    @field_validator("languages")
    @classmethod
    def pair_exists(cls, languages: tuple[str, ...]) -> tuple[str, ...]:
        if not TAGS.keys() >= {*languages} or (len(languages) > 1 and "en" not in languages):
            raise ValueError(
                f"LibreOffice's help has the languages {', '.join(TAGS)}; allowed: one of these, "
                "or English and another"
            )
        return languages

    def read_files(self) -> list[str]:
        return [str(path) for path in below(self.folder, "*.html")] if self.folder else []


def fetch(options: Options, download_folder: Path) -> pd.DataFrame:
    """The elements that both languages have on the same page, or those of one language. A document
    is a page.

    What a language has not translated is in English in its pages. Beside text of that language
    alone it is left out; of pairs, cleaning drops it.

    Raises UserError if packages cannot be fetched or read, and if there are no pages.
    """
    with debian.reading("pages of the help"):
        download_folder.mkdir(parents=True, exist_ok=True)
        source, *target = (
            _required(options, language, download_folder) for language in options.languages
        )
        english = _in_english(options, download_folder)
    rows, unpaired, untranslated = [], [], []
    for page in sorted(source):
        for element, text in source[page].items():
            if text and english.get(page, {}).get(element) == text:
                untranslated.append(text)
            elif all(element in pages.get(page, {}) for pages in target):
                rows.append((page, element, text, *(pages[page][element] for pages in target)))
            else:
                unpaired.append(text)
    key, unit = "corpus.sources.libreoffice_help", "elements"
    lost = [
        of_texts(step, key, texts, len(rows) + len(texts), unit)
        for step, texts in (
            ("pairing elements of both languages", unpaired),
            ("leaving out what is not translated", untranslated),
        )
    ]
    return carry(pd.DataFrame(rows, columns=options.columns, dtype=str), tell(lost))


def _in_english(options: Options, folder: Path) -> dict[str, dict[str, str]]:
    """The elements in English as from `_pages`, if the text is of another language alone.

    None, with a warning, where there are no English pages, as in a folder of one's own.
    """
    if len(options.languages) > 1 or options.languages == ("en",):
        return {}
    pages = _pages(options, "en", folder)
    if not pages:
        log.warning(
            "no English pages, %s/text/**/*.html, in %s: sentences that are not translated, which "
            "help pages have in English, cannot be told and stay; put these pages there",
            *(TAGS["en"], _where(options)),
        )
    return pages


def _required(options: Options, language: str, folder: Path) -> dict[str, dict[str, str]]:
    """The elements of all pages of a language, see `_pages`. Raises UserError if there is none."""
    if pages := _pages(options, language, folder):
        return pages
    raise UserError(
        f"no help pages in {_where(options)}; expected {TAGS[language]}/text/**/*.html at some "
        "depth"
    )


def _where(options: Options) -> str:
    return str(options.folder or f"what {options.origin} gave")


def _pages(options: Options, language: str, folder: Path) -> dict[str, dict[str, str]]:
    """The elements of all pages of a language: page -> element id -> text.

    Raises UserError if a page is not text.
    """
    is_page = re.compile(rf"(?:^|/){TAGS[language]}/text/(.+\.html)$")
    pages = {}
    for path, html in _files(options, language, is_page, folder):
        try:
            match = is_page.search(path)
            assert match  # as in each path of `_files`
            pages[match[1]] = elements(html.decode("utf-8"))
        except ValueError as error:
            raise UserError(
                f"the page {path} is damaged or not UTF-8 ({error}); get it again, or convert it, "
                "for example with iconv"
            ) from error
    return pages


def _files(
    options: Options, language: str, is_page: re.Pattern, folder: Path
) -> Iterator[tuple[str, bytes]]:
    if options.folder:
        yield from _in_folder(options.folder, is_page)
        return
    get = _apt_package if options.origin == "apt" else _help_pack
    package = get(options, language, folder)
    with package.open("rb") as stream:
        yield from members(stream, is_page, package.name)


def _in_folder(folder: Path, is_page: re.Pattern) -> Iterator[tuple[str, bytes]]:
    for path in below(folder, "*.html"):
        if not is_page.search(path.as_posix()):
            continue
        try:
            target = path.resolve(strict=True)
        # The error for a link that leads to itself depends on Python's version.
        except (OSError, RuntimeError) as error:
            raise UserError(f"{path} is a link that leads nowhere; delete it") from error
        if not target.is_relative_to(folder.resolve()):
            raise UserError(
                f"{path} is a link to {target}, outside {folder}; refused: if you trust the page, "
                "put a copy in place of the link"
            )
        if target.is_file():
            yield path.as_posix(), target.read_bytes()


def _apt_package(options: Options, language: str, folder: Path) -> Path:
    """The Debian package of a language, downloaded unless the folder has it."""
    name = f"libreoffice-help-{TAGS[language].lower()}"
    [package] = debian.packages([name], folder, ELSEWHERE)
    _warn_of_other_version(package, options.version)
    return package


def _warn_of_other_version(package: Path, asked: str) -> None:
    # As in libreoffice-help-de_4%3a7.4.7-1+deb12u14_all.deb, where 4%3a is the epoch.
    _, version, _ = re.split(r"_(?:\d+%3a)?([\d.]+)", package.name, maxsplit=1)
    if version.split(".")[:3] != asked.split(".")[:3]:
        log.warning(
            "apt has version %s of the LibreOffice help, the options say %s", version, asked
        )


def _help_pack(options: Options, language: str, folder: Path) -> Path:
    """The help pack of a language, downloaded unless the folder has it, and checked."""
    url = options.archive_url.replace("{version}", options.version)
    url = url.replace("{language}", TAGS[language])
    # Other hosts and versions have packs of the same name.
    of_url = hashlib.sha256(url.encode()).hexdigest()[:12]
    path = folder / f"{of_url}-{PurePosixPath(url).name[-100:]}"
    if not path.exists():
        _download(url, path)
    _check_sha256(path, options.sha256.get(language))
    return path


def _download(url: str, path: Path) -> None:
    log.info("downloading %s", url)
    # In a new folder, since somebody could have put a link at the path of the file.
    with tempfile.TemporaryDirectory(dir=path.parent) as own:
        part = Path(own) / "part"
        try:
            request = _request(url)
            with urllib.request.urlopen(request, timeout=60) as reply, part.open("wb") as file:
                shutil.copyfileobj(reply, file)
                if missing := getattr(reply, "length", None):
                    raise OSError(f"it ended {missing} bytes too early")
        except (OSError, ValueError, HTTPException) as error:
            raise UserError(
                f"cannot download {url} ({error}); free some space if there is none, save it by "
                f"hand as {path}, or set `from: folder` with the `folder` of a help tree"
            ) from error
        part.rename(path)


def _request(url: str) -> urllib.request.Request:
    """A request with the user and password that ~/.netrc has for the host."""
    request = urllib.request.Request(url)
    try:
        known = netrc.netrc().authenticators(urlsplit(url).hostname or "")
    except FileNotFoundError:
        known = None
    except (OSError, netrc.NetrcParseError):  # whose message may quote the secret
        raise UserError("~/.netrc cannot be read; mend it, or move it away") from None
    if known:
        secret = base64.b64encode(f"{known[0]}:{known[2]}".encode()).decode()
        # Not for another host, to which this one may send us.
        request.add_unredirected_header("Authorization", f"Basic {secret}")
    return request


def _check_sha256(path: Path, expected: str | None) -> None:
    if expected is not None and (actual := digest(path)) != expected.lower():
        raise UserError(
            f"{path} has SHA-256 {actual}, expected {expected}; "
            "delete the file to fetch it again, or correct sha256 in the options"
        )


def elements(page: str) -> dict[str, str]:
    """The paragraphs and headings of a page that have an id, in order: id -> text."""
    parser = etree.HTMLParser(target=_Elements(), huge_tree=True)
    parser.feed(page)
    return parser.close()


class _Elements:
    """Collects the text of elements; of variants by system or application, it keeps the last.

    A span of class `switchinline` holds a span for each variant. The last is the default, if there
    is one: what a reader on any other system sees.
    """

    BLOCKS = frozenset(["p", "h1", "h2", "h3", "h4", "h5", "h6"])
    RAW = frozenset(["script", "style"])

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self._block: tuple[str, str] | None = None
        self._text: list[str] = []
        # For each open span: whether its children are variants, and where in the text it began.
        self._spans: list[tuple[bool, int]] = []
        self._raw = False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in self.BLOCKS:
            self._close()
            element = attributes.get("id")
            self._block = (tag, element) if element else None
        elif tag == "br":
            self._text.append(" ")
        elif tag in self.RAW:
            self._raw = True
        elif tag == "span" and self._block:
            self._open_span(attributes.get("class") == "switchinline")

    def end(self, tag: str) -> None:
        if self._block and tag == self._block[0]:
            self._close()
        elif tag == "span" and self._spans:
            self._spans.pop()
        elif tag in self.RAW:
            self._raw = False

    def data(self, text: str) -> None:
        if self._block and not self._raw:
            self._text.append(text)

    def close(self) -> dict[str, str]:
        self._close()
        return self.texts

    def _open_span(self, is_switch: bool) -> None:
        if self._spans and self._spans[-1][0]:
            # A further variant replaces the one before it.
            del self._text[self._spans[-1][1] :]
        self._spans.append((is_switch, len(self._text)))

    def _close(self) -> None:
        if self._block:
            self.texts.setdefault(self._block[1], " ".join("".join(self._text).split()))
        self._block, self._text, self._spans = None, [], []
