import io
import re
import tarfile

import pytest
from archive_forms import COMPRESSIONS, deb, tar

from bottomup.corpus.archives import decompressed, members
from bottomup.errors import UserError

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
    with pytest.raises(UserError, match="pack cannot be read") as error:
        read(archive)
    assert "\n" not in str(error.value)


def test_a_package_with_a_broken_header_is_an_error():
    with pytest.raises(UserError, match="pack cannot be read"):
        read(b"!<arch>\n" + b"x" * 60)


def test_a_package_without_data_is_an_error():
    with pytest.raises(UserError, match=r"without data\.tar"):
        read(b"!<arch>\n")
