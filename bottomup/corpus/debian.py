"""Packages and indices of Debian or Ubuntu by apt-get, without root and without touching any system
file.

Mirrors and keys are those that the machine's apt knows; our own files are in the folder `apt`.
"""

import fcntl
import logging
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, ClassVar, Literal, TextIO

from pydantic import Field, field_validator, model_validator

from bottomup.core.errors import UserError, hidden
from bottomup.core.settings import Folder
from bottomup.corpus.sources import SourceOptions

log = logging.getLogger(__name__)

Package = Annotated[str, Field(pattern=r"^[a-z0-9{][a-z0-9+.{}-]*$")]  # {language} is replaced
FAILED = "failed to download"  # what apt-get says of indices, though its status may be 0


class DebianOptions(SourceOptions):
    """Options of a source that comes from packages or, without apt, from a folder."""

    # By option, the only value of `from` that it goes with.
    read_from: ClassVar[dict[str, str]] = {}

    origin: str = Field("apt", alias="from")  # each source says which are allowed
    folder: Folder | None = None

    @model_validator(mode="after")
    def folder_is_named(self) -> "DebianOptions":
        if (self.origin == "folder") != (self.folder is not None):
            raise ValueError("`folder` goes with `from: folder`, and only with it")
        for option, origin in self.read_from.items():
            default = type(self).model_fields[option].get_default(call_default_factory=True)
            if self.origin != origin and getattr(self, option) != default:
                raise ValueError(f"`{option}` goes with `from: {origin}`, and only with it")
        return self


class TranslatedOptions(DebianOptions):
    """Options of a source that Debian's translators translated from English."""

    @field_validator("languages")
    @classmethod
    def one_is_english(cls, languages: tuple[str, ...]) -> tuple[str, ...]:
        if "en" not in languages:
            raise ValueError(
                f"the source {cls.__module__.rpartition('.')[2]} is translated from English; "
                "allowed: English and another language, or corpus.source without it"
            )
        return languages

    @property
    def translation(self) -> str:
        """The language that is not English, as Debian calls it."""
        [other] = set(self.languages) - {"en"}
        return name_of(other)


class PackageOptions(TranslatedOptions):
    """Options of such a source that comes in packages."""

    read_from: ClassVar = {"packages": "apt"}

    origin: Literal["apt", "folder"] = Field(
        "apt",
        alias="from",
        description="apt: `packages` of Debian or Ubuntu, no root needed; folder: all in `folder`",
    )


def name_of(language: str) -> str:
    """A language as Debian calls it; zh is zh_CN there."""
    return "zh_CN" if language == "zh" else language


@contextmanager
def reading(what: str) -> Iterator[None]:
    """A context in which `what`, such as pages, is read; errors of the disk are UserErrors."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"the {what} cannot be read or written ({error}); free some space, move away what is "
            "in their place, or mend their permissions"
        ) from error


def packages(names: Sequence[str], folder: Path, otherwise: str) -> list[Path]:
    """The packages of these names, in order; missing ones are downloaded to the folder.

    Raises UserError if apt-get cannot get one; it ends in `otherwise`, what to do instead.
    """
    if _missing(names, folder):
        with _alone(folder) as lock:
            complaint = _download(names, [], folder, lock, otherwise)
            if _missing(names, folder):
                # The system's lists are empty or old, and we may not be allowed to renew them.
                complaint = _renew(folder, [], lock, otherwise)[1]
                complaint += _download(names, _own_lists(folder), folder, lock, otherwise)
        if missing := _missing(names, folder):
            raise UserError(f"apt-get cannot download {', '.join(missing)}: {complaint}{otherwise}")
    return [max(folder.glob(f"{name}_*.deb")) for name in names]


def _download(
    names: Sequence[str], options: list[str], folder: Path, lock: TextIO, otherwise: str
) -> str:
    """Download those packages that the folder lacks, each into it once it is whole. Returns
    apt-get's last complaint.

    apt-get writes to a file of the final name, of which a kill or a full disk leaves a part; called
    again, it goes on with that part.
    """
    if not (missing := _missing(names, folder)):
        return ""  # since another program had the lock
    (parts := folder / "apt/parts").mkdir(parents=True, exist_ok=True)
    status, complaint = _apt([*options, "download", *missing], folder, parts, lock, otherwise)
    for name in missing if status == 0 else []:
        # Of an earlier version there may be a part, which was begun earlier.
        if found := sorted(parts.glob(f"{name}_*.deb"), key=lambda path: path.stat().st_ctime_ns):
            os.replace(found[-1], folder / found[-1].name)
    return complaint


def renew_lists(folder: Path, languages: Sequence[str], otherwise: str) -> str:
    """Fetch apt's indices, uncompressed, to apt/lists in the folder, with the descriptions in these
    languages. Returns apt-get's last complaint, if any, as the start of a sentence.

    Raises UserError, ending in `otherwise`, if there is no apt-get.
    """
    with _alone(folder) as lock:
        status, complaint = _renew(folder, languages, lock, otherwise)
    if status or FAILED in complaint:
        log.warning(
            "apt-get has not got all of its indices (%s): what only the others have is no part of "
            "the text; when that is mended, delete %s/apt/lists, and run again with --forcerun "
            "fetch_corpus",
            *(complaint.removesuffix("; "), folder),
        )
    return complaint


def has_part(folder: Path) -> bool:
    """Whether a renewal of the folder's indices goes on, or was stopped: then some may be there and
    others not, since apt-get moves those of each suite into place as it gets them."""
    return _renewing(folder).exists()


def _renewing(folder: Path) -> Path:
    return folder / "apt/renewing"


def _renew(folder: Path, languages: Sequence[str], lock: TextIO, otherwise: str) -> tuple[int, str]:
    own_lists = _own_lists(folder)
    # No command line option removes the languages that the system's files name.
    own_file = folder / "apt/apt.conf"
    wanted = " ".join(f'"{language}";' for language in languages or ["none"])
    own_file.write_text(f"#clear Acquire::Languages;\nAcquire::Languages {{ {wanted} }};\n")
    options = ["-c", str(own_file), "-oAcquire::GzipIndexes=false", *own_lists]
    _renewing(folder).touch()
    done = _apt([*options, "update"], folder, folder, lock, otherwise)
    _renewing(folder).unlink(missing_ok=True)
    return done


def _missing(names: Sequence[str], folder: Path) -> list[str]:
    return [name for name in names if not any(folder.glob(f"{name}_*.deb"))]


def _own_lists(folder: Path) -> list[str]:
    (folder / "apt/lists/partial").mkdir(parents=True, exist_ok=True)
    return [f"-oDir::State::lists={folder}/apt/lists"]


@contextmanager
def _alone(folder: Path) -> Iterator[TextIO]:
    """A context in which no other program has apt-get write to the folder; it waits for one that
    does. Sources, and studies, are fetched in parallel, and one apt does not wait for another."""
    (folder / "apt").mkdir(parents=True, exist_ok=True)
    with (folder / "apt/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock


def _apt(
    arguments: list[str], folder: Path, cwd: Path, lock: TextIO, otherwise: str
) -> tuple[int, str]:
    """Run apt-get in `cwd`, with its cache in the folder. Returns its status, and its last
    complaint, if any, as the start of a sentence."""
    (folder / "apt/cache/archives/partial").mkdir(parents=True, exist_ok=True)
    # As root, apt would change to a user who may not write to the folder.
    command = ["apt-get", "-oAPT::Sandbox::User=root", "-oAcquire::http::Timeout=30"]
    command += [f"-oDir::Cache={folder}/apt/cache", *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=os.environ | {"LC_ALL": "C.UTF-8"},  # of another locale we may not read a word
            pass_fds=[lock.fileno()],  # so that one which outlives us is waited for, too
        )
    except FileNotFoundError as error:
        raise UserError(f"this machine has no apt-get; {otherwise}") from error
    lines = done.stderr.strip().splitlines()[-1:]
    return done.returncode, "".join(f"{hidden(line)}; " for line in lines)
