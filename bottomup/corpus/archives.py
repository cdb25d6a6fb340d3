"""Reading compressed files and archives without writing to disk."""

import gzip
import io
import lzma
import posixpath
import re
import tarfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

import zstandard

from bottomup.errors import UserError

_GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
BROKEN = (OSError, EOFError, lzma.LZMAError, zlib.error, zstandard.ZstdError, tarfile.TarError)
_AR_MAGIC = b"!<arch>\n"


def decompressed(stream: BinaryIO) -> BinaryIO:
    """The plain bytes of a stream that holds gzip, xz, zstd or plain data, told by its magic."""
    buffered = io.BufferedReader(stream)
    head = buffered.peek(len(_XZ))
    if head.startswith(_GZIP):
        return gzip.open(buffered)
    if head.startswith(_XZ):
        return lzma.open(buffered)
    if head.startswith(_ZSTD):
        reader = zstandard.ZstdDecompressor().stream_reader(buffered, read_across_frames=True)
        return io.BufferedReader(reader)
    return buffered


def members(stream: BinaryIO, wanted: re.Pattern, name: str) -> Iterator[tuple[str, bytes]]:
    """Paths and contents of the files in an archive whose path holds the pattern `wanted`.

    The archive is a Debian package, or a tar archive (plain, gzip, xz or zstd), and Debian
    packages inside it are read too. `name` is what errors call it.

    Raises UserError for an archive that is broken, or that has a path or link leaving its folder.
    """
    try:
        head = stream.read(len(_AR_MAGIC))
        if head == _AR_MAGIC:
            stream = _package_data(stream)
        else:
            stream.seek(0)
        with tarfile.open(fileobj=decompressed(stream), mode="r|") as archive:
            for member in archive:
                _refuse_escape(member, name)
                if not member.isfile():
                    continue
                if member.name.endswith(".deb"):
                    package = io.BytesIO(archive.extractfile(member).read())
                    yield from members(package, wanted, f"{name}: {member.name}")
                elif wanted.search(member.name):
                    yield member.name, archive.extractfile(member).read()
    except (*BROKEN, ValueError) as error:
        raise UserError(f"{name} cannot be read ({error}); delete it and fetch it again") from error


def _package_data(stream: BinaryIO) -> BinaryIO:
    """data.tar.* of a Debian package: an `ar` archive of 60-byte headers and even-padded files."""
    while len(header := stream.read(60)) == 60:
        size = int(header[48:58])
        if header.startswith(b"data.tar"):
            return io.BytesIO(stream.read(size))
        stream.seek(size + size % 2, io.SEEK_CUR)
    raise tarfile.ReadError("a Debian package without data.tar")


def _refuse_escape(member: tarfile.TarInfo, name: str) -> None:
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
