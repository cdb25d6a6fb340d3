import io
import re
import tarfile

import numpy as np
import pytest
import zstandard
from archive_forms import COMPRESSIONS, deb, tar

from bottomup.core.errors import UserError
from bottomup.corpus import archives
from bottomup.corpus.archives import BROKEN, decompressed, members

HTML = re.compile(r"\.html$")


def read(archive):
    return dict(members(io.BytesIO(archive), HTML, "pack"))


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_each_compression_is_told_by_its_content(compression):
    text = b"eins\nzwei\n" * 1000
    assert decompressed(io.BytesIO(COMPRESSIONS[compression](text))).read() == text


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("form", [tar, deb])
def test_the_wanted_files_of_an_archive_are_read(form, compression):
    files = {"./help/a.html": b"<p>", "./help/b.html": b"<p>" * 9, "./help/c.css": b"p"}
    found = read(form(files, compression))
    assert found == {"./help/a.html": b"<p>", "./help/b.html": b"<p>" * 9}


def test_packages_inside_an_archive_are_read():
    assert read(tar({"x/DEBS/y.deb": deb({"./a.html": b"<p>"})})) == {"./a.html": b"<p>"}


@pytest.mark.parametrize("path", ["/etc/a.html", "../a.html", "help/../../a.html"])
def test_a_path_that_leaves_the_folder_is_refused(path):
    with pytest.raises(UserError, match=re.escape(path)):
        read(tar({path: b"<p>"}))


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("/etc/passwd", tarfile.SYMTYPE),
        ("../../passwd", tarfile.SYMTYPE),
        ("../passwd", tarfile.LNKTYPE),
    ],
)
def test_a_link_that_leaves_the_folder_is_refused(target, kind):
    with pytest.raises(UserError, match="outside its folder"):
        read(tar({}, links=[("help/a.html", target, kind)]))


def test_a_link_inside_the_folder_is_passed_over():
    links = [("help/de/b.html", "../en/a.html", tarfile.SYMTYPE)]
    assert read(tar({"help/en/a.html": b"<p>"}, links=links)) == {"help/en/a.html": b"<p>"}


@pytest.mark.parametrize("archive", [b"no archive", tar({"a.html": b"x" * 99999})[:-90], b""])
def test_a_broken_archive_is_an_error_in_one_line(archive):
    with pytest.raises(UserError, match="pack is damaged") as error:
        read(archive)
    assert "\n" not in str(error.value)


def test_a_package_with_a_broken_header_is_an_error():
    with pytest.raises(UserError, match="pack is damaged"):
        read(b"!<arch>\n" + b"x" * 60)


def test_a_package_without_data_is_an_error():
    with pytest.raises(UserError, match=r"without data\.tar"):
        read(b"!<arch>\n")


def test_a_package_with_a_member_of_negative_size_is_an_error():
    """Which would lead back to the header itself, without end."""
    header = f"{'control':<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{-60:<10}`\n".encode()
    with pytest.raises(UserError, match="pack is damaged"):
        read(b"!<arch>\n" + header)


def checked(data):
    """Compressed by zstd as Debian's packages are, with a checksum."""
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


@pytest.mark.parametrize("form", ["tar.gz", "tar.xz", "tar.zst", "deb", "tar of a deb"])
def test_one_flipped_bit_loses_no_page_in_silence(form):
    draw = np.random.default_rng(1)
    files = {f"./{i}.html": draw.bytes(300) for i in range(30)}
    archive = {
        "tar.gz": lambda: tar(files),
        "tar.xz": lambda: tar(files, ".xz"),
        "tar.zst": lambda: checked(tar(files, "")),
        "deb": lambda: deb(files),
        "tar of a deb": lambda: tar({"x.deb": deb(files, "")}),
    }[form]()
    n_refused = 0
    for place in draw.integers(len(archive), size=150):
        damaged = bytearray(archive)
        damaged[place] ^= 1 << draw.integers(8)
        try:
            assert read(bytes(damaged)) == files
        except UserError as error:
            n_refused += "pack" in str(error) and "is damaged" in str(error)
    # What is not is in fields that nobody reads, such as times.
    assert n_refused > 130


def test_a_tar_archive_whose_header_is_broken_or_missing_is_not_at_its_end():
    archive = tar({"a.html": b"one", "b.html": b"two"}, "")
    for damaged in (archive[:1024] + b"x" + archive[1025:], archive[:1024], archive[:1200]):
        with pytest.raises(UserError, match="pack is damaged"):
            read(damaged)


def test_frames_to_skip_before_each_stream():
    """As pzstd writes them: how large the stream is that follows (RFC 8878, 3.1.2)."""
    parts = [b"eins\n" * 99, b"zwei\n"]
    streams = [zstandard.ZstdCompressor().compress(part) for part in parts]
    sizes = [len(stream).to_bytes(4, "little") for stream in streams]
    skipped = [b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + size for size in sizes]
    packed = b"".join(frame for pair in zip(skipped, streams, strict=True) for frame in pair)
    assert decompressed(io.BytesIO(packed)).read() == b"".join(parts)


@pytest.mark.parametrize("compression", [".gz", ".bz2", ".xz", ".zst"])
def test_streams_one_after_the_other_are_one(compression):
    """As pigz, pzstd and `cat` make them; a cut or an end that is none is an error."""
    one, two = (COMPRESSIONS[compression](text * 3000) for text in (b"eins\n", b"zwei\n"))
    whole = decompressed(io.BytesIO(one + bytes(8) + two + bytes(9000)))
    assert whole.read() == b"eins\n" * 3000 + b"zwei\n" * 3000
    for damaged in (one + two[:-1], one + b"more", one[:-1]):
        with pytest.raises(BROKEN):
            decompressed(io.BytesIO(damaged)).read()


@pytest.mark.parametrize("compression", [".gz", ".bz2", ".xz", ".zst"])
def test_a_small_file_that_unpacks_to_a_large_one_is_an_error(compression, monkeypatch):
    monkeypatch.setattr(archives, "FREE_BYTES", 2**16)
    bomb = COMPRESSIONS[compression](bytes(2**22))
    with pytest.raises(OSError, match="unpacks to more than 200 times its size"):
        decompressed(io.BytesIO(bomb)).read()
    text = np.random.default_rng(1).integers(97, 123, 2**17, dtype=np.uint8).tobytes()
    assert decompressed(io.BytesIO(COMPRESSIONS[compression](text))).read() == text


def sparse():
    """A file of one byte that says that it has 2^40, as GNU's tar writes those with holes."""
    header = tarfile.TarInfo("a.html")
    header.type = tarfile.GNUTYPE_SPARSE
    block = bytearray(header.tobuf(tarfile.GNU_FORMAT))
    block[483:495] = b"\x80" + (2**40).to_bytes(11, "big")
    return bytes(summed(block)) + bytes(1024)


def long_name(size):
    """A header that a name of this many bytes follows."""
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, size
    return header.tobuf(tarfile.GNU_FORMAT) + bytes(1024)


def summed(block):
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return block


@pytest.mark.parametrize("archive", [sparse(), long_name(2**33), long_name(-512)])
def test_a_member_that_says_to_be_huge_is_an_error(archive):
    with pytest.raises(UserError, match=r"pack is damaged .*bytes"):
        read(archive)


def test_packages_inside_packages_are_not_read():
    package = deb({"./a.html": b"<p>"})
    assert read(tar({"y.deb": deb({"./x.deb": package})})) == {}
