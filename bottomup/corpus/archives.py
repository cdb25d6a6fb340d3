"""Reading compressed files and archives without writing to disk.

A damaged file is refused as a whole: everything is read to its end, where the checksums are.
"""

import bz2
import io
import lzma
import posixpath
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator
from io import BufferedIOBase
from typing import Protocol

import zstandard

from bottomup.core.errors import UserError


class _Decompressor(Protocol):
    """What the decompressors of all formats have."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


# The decompressor of a stream, by its first bytes.
_COMPRESSIONS: dict[bytes, Callable[[], _Decompressor]] = {
    b"\x1f\x8b": lambda: zlib.decompressobj(wbits=zlib.MAX_WBITS + 16),
    b"\xfd7zXZ\x00": lzma.LZMADecompressor,
    b"BZh": bz2.BZ2Decompressor,
    b"\x28\xb5\x2f\xfd": lambda: zstandard.ZstdDecompressor().decompressobj(),
    # A frame to skip, with which pzstd begins.
    b"\x50\x2a\x4d\x18": lambda: zstandard.ZstdDecompressor().decompressobj(),
}
BROKEN = (OSError, EOFError, lzma.LZMAError, zlib.error, zstandard.ZstdError, tarfile.TarError)
_AR_MAGIC = b"!<arch>\n"
_AR_HEADER = re.compile(rb".{48}(\d{1,10}) *`\n", re.DOTALL)

# Compression makes text at most 10 times smaller, and a bomb 1,000 times or more.
MAX_RATIO = 200
FREE_BYTES = 2**26  # unpacked bytes up to which no ratio is checked
MAX_MEMBER_BYTES = 2**28
MAX_HEADER_BYTES = 2**13
_PIECE_BYTES = 2**12


def decompressed(stream: BufferedIOBase) -> BufferedIOBase:
    """The plain bytes of a stream of gzip, bzip2, xz, zstd or plain data, known by its first bytes.

    Reading it raises one of `BROKEN` if the data are damaged, cut off, or unpack to more than
    `MAX_RATIO` times their size.
    """
    buffered = io.BufferedReader(stream)
    head = buffered.peek(max(map(len, _COMPRESSIONS)))
    for magic, decompressor in _COMPRESSIONS.items():
        if head.startswith(magic):
            return io.BufferedReader(_Unpacked(_unpacked(buffered, decompressor)))
    return buffered


def _unpacked(packed: BufferedIOBase, decompressor: Callable[[], _Decompressor]) -> Iterator[bytes]:
    """The data of all streams in `packed`, one after the other."""
    n_bytes = 0
    piece = packed.read(_PIECE_BYTES)
    while piece:
        stream = decompressor()
        while not stream.eof:
            if not piece:
                raise EOFError("it ends too early")
            data = stream.decompress(piece)
            n_bytes += len(data)
            if n_bytes > FREE_BYTES + MAX_RATIO * packed.tell():
                raise OSError(f"it unpacks to more than {MAX_RATIO} times its size: no text does")
            yield data
            piece = b"" if stream.eof else packed.read(_PIECE_BYTES)
        # Zeros may pad the end of a stream.
        piece = stream.unused_data.lstrip(b"\0")
        while not piece and (more := packed.read(_PIECE_BYTES)):
            piece = more.lstrip(b"\0")


class _Unpacked(io.RawIOBase):
    """A stream of the bytes that an iterator gives."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        super().__init__()
        self._pieces = pieces
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    # Only a BufferedReader calls it, with a memoryview.
    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self._rest:
            self._rest = memoryview(next(filter(None, self._pieces), b""))
        n = min(len(buffer), len(self._rest))
        buffer[:n] = self._rest[:n]
        self._rest = self._rest[n:]
        return n


def members(
    stream: BufferedIOBase, wanted: re.Pattern, name: str, packages: bool = True
) -> Iterator[tuple[str, bytes]]:
    """Paths and contents of the files in an archive whose path matches `wanted` at some place.

    The archive is a Debian package or a tar archive (plain, gzip, bzip2, xz or zstd). With
    `packages`, Debian packages inside it are read, too. Errors call it `name`.

    Raises UserError if the archive is damaged or unpacks to more than text does, or if a wanted
    path, or the link at a wanted path, leads out of the archive's folder.
    """
    try:
        head = stream.read(len(_AR_MAGIC))
        if head == _AR_MAGIC:
            stream = _package_data(stream)
        else:
            stream.seek(0)
        plain = decompressed(stream)
        with tarfile.open(fileobj=plain, mode="r|", tarinfo=_Header) as archive:
            for member in archive:
                is_package = packages and member.name.endswith(".deb")
                if not is_package and not wanted.search(member.name):
                    continue
                _refuse_escape(member, name)
                if not member.isfile():
                    continue
                if is_package:
                    package = io.BytesIO(_content(archive, member))
                    yield from members(package, wanted, f"{name}: {member.name}", packages=False)
                else:
                    yield member.name, _content(archive, member)
        while plain.read(2**20):
            pass
    except (*BROKEN, ValueError, ArithmeticError, RecursionError) as error:
        raise UserError(f"{name} is damaged ({error}); delete it and fetch it again") from error


class _Header(tarfile.TarInfo):
    """A header of a tar archive. A damaged or missing one is an error, not the archive's end."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_Header":
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]  # typeshed lacks it
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from error
        if header.size < 0 or (header.size > MAX_HEADER_BYTES and not header.isreg()):
            raise tarfile.ReadError(f"a header of {header.size} bytes")
        return header


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    if member.size > MAX_MEMBER_BYTES:
        raise tarfile.ReadError(
            f"{member.name} has {member.size} bytes, and at most {MAX_MEMBER_BYTES} are read"
        )
    file = archive.extractfile(member)
    assert file is not None  # `members` asks only for files
    return file.read()


def _package_data(stream: BufferedIOBase) -> BufferedIOBase:
    """data.tar.* of a Debian package, an `ar` archive of 60-byte headers and even-padded files."""
    while header := stream.read(60):
        fields = _AR_HEADER.fullmatch(header)
        if not fields:
            raise tarfile.ReadError("a header in the Debian package is damaged")
        size = int(fields[1])
        if header.startswith(b"data.tar"):
            return io.BytesIO(stream.read(size))
        stream.seek(size + size % 2, io.SEEK_CUR)
    raise tarfile.ReadError("a Debian package without data.tar")


def _refuse_escape(member: tarfile.TarInfo, name: str) -> None:
    """Raise UserError if a member's path or link leads out of the folder of the archive `name`."""
    paths = [member.name]
    if member.issym():
        paths.append(posixpath.join(posixpath.dirname(member.name), member.linkname))
    if member.islnk():
        paths.append(member.linkname)
    for path in paths:
        if posixpath.isabs(path) or posixpath.normpath(path).split("/")[0] == "..":
            raise UserError(
                f"{name} holds {member.name!r}, which leads to {path!r}, outside its folder; "
                "refused: get the archive from a source that you trust"
            )
