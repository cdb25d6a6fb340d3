"""Digests of files are those of their bytes, whatever is kept and whatever times files have."""

import hashlib
import os
import time

import pytest

from bottomup.plan import contents
from bottomup.plan.kept import Kept


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """A file of digests of its own; files count as settled at once."""
    (tmp_path / ".snakemake").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(contents, "_known", Kept(tmp_path / ".snakemake/contents.json"))
    monkeypatch.setattr(contents, "SETTLED_NS", -(10**9))
    return contents._known


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def written(path, text, seconds):
    """A file with a time of modification, as `cp -p` leaves it."""
    path.write_text(text)
    os.utime(path, (seconds, seconds))


def test_a_file_is_read_again_only_if_it_was_written(tmp_path, kept, monkeypatch):
    path = tmp_path / "a"
    written(path, "one", 1000)
    assert contents.digest(path) == sha("one")
    monkeypatch.setattr(hashlib, "file_digest", None)  # nothing is read
    assert contents.digest(path) == sha("one")
    kept._write()
    monkeypatch.setattr(contents, "_known", Kept(kept.file))
    assert contents.digest(path) == sha("one")


@pytest.mark.parametrize("how", ["in place", "another file", "a link pointed elsewhere"])
def test_other_bytes_of_the_same_size_and_time_are_seen(tmp_path, how):
    path, other = tmp_path / "a", tmp_path / "b"
    written(path if how != "a link pointed elsewhere" else tmp_path / "c", "one", 1000)
    if how == "a link pointed elsewhere":
        path.symlink_to("c")
    assert contents.digest(path) == sha("one")
    time.sleep(0.02)  # a tick of the file system's clock
    written(path if how == "in place" else other, "two", 1000)
    if how == "another file":
        os.replace(other, path)
    if how == "a link pointed elsewhere":
        path.unlink()
        path.symlink_to("b")
    assert contents.digest(path) == sha("two")


def test_a_file_that_may_still_change_is_not_kept(tmp_path, kept, monkeypatch):
    monkeypatch.setattr(contents, "SETTLED_NS", 10**12)
    (tmp_path / "a").write_text("one")
    assert contents.digest("a") == sha("one") and "a" not in kept


@pytest.mark.parametrize(
    "damage",
    ["", "[]", '{"a": 1}', '{"a": [[1], "x"]}', "\x00", "[" * 100_000],
    ids=lambda d: d[:20],
)
def test_a_damaged_file_of_digests_counts_as_none(tmp_path, kept, damage):
    (tmp_path / "a").write_text("one")
    kept.file.write_text(damage)
    assert contents.digest("a") == sha("one")


@pytest.mark.parametrize("more", [[], [1], ["x", "y"]])
def test_an_entry_with_less_or_more_than_a_digest_counts_as_none(tmp_path, kept, more):
    (tmp_path / "a").write_text("one")
    kept["a"] = [contents.stamp("a"), *more]
    assert contents.digest("a") == sha("one")


def test_what_is_missing_or_a_folder_has_no_digest(tmp_path):
    assert contents.digest("none") is None is contents.digest(tmp_path)


def test_content_is_the_names_and_bytes_of_files(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    digests = set()
    for texts in (("x", ""), ("", "x"), ("xx", ""), ("x", "y")):
        a.write_text(texts[0])
        b.write_text(texts[1])
        time.sleep(0.02)
        contents.first_content.cache_clear()
        digests |= {contents.content(lambda: [str(a), str(b)]), contents.content(lambda: [str(a)])}
        assert contents.content(lambda: [str(b), str(a)]) in digests
    assert len(digests) == 4 + len({"x", "", "xx"})
    # Another name is another content.
    b.write_bytes(a.read_bytes())
    contents.first_content.cache_clear()
    assert contents.content(lambda: [str(a)]) != contents.content(lambda: [str(b)])
    # Who reads it for its text says that it is not there.
    assert contents.content(lambda: [str(tmp_path / "none")]) not in digests
