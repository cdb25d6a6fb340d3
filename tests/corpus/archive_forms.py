"""Small archives of the forms in which the LibreOffice help is published."""

import bz2
import gzip
import io
import lzma
import tarfile

import zstandard

COMPRESSIONS = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


def tar(files, compression=".gz", links=()):
    """A tar archive of the files, path -> bytes, and of links: (path, target, type)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, data in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        for path, target, kind in links:
            member = tarfile.TarInfo(path)
            member.linkname, member.type = target, kind
            archive.addfile(member)
    return COMPRESSIONS[compression](buffer.getvalue())


def deb(files, compression=".xz"):
    """A Debian package of the files: an `ar` archive whose files are padded to even sizes."""
    parts = {
        "debian-binary": b"2.0\n",
        "control.tar.gz": tar({"./control": b"Package: help"}) + b"\n",
        f"data.tar{compression}": tar(files, compression),
    }
    package = b"!<arch>\n"
    for name, data in parts.items():
        package += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode()
        package += data + b"\n" * (len(data) % 2)
    return package
