"""Folders of one's own, with links as people have them."""

import logging
from pathlib import Path

import pytest

from bottomup.corpus import folders, minimal_pairs, treebank
from bottomup.corpus.folders import below, once


@pytest.fixture
def folder(tmp_path):
    """own.txt, a/first.txt, a file and a folder elsewhere that links lead to, and a loop."""
    folder = tmp_path / "own"
    for path in (folder / "own.txt", folder / "a/first.txt", tmp_path / "other/deep/far.txt"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.stem)
    (folder / "b.txt").symlink_to(tmp_path / "other/deep/far.txt")
    (folder / "linked").symlink_to(tmp_path / "other")
    (folder / "a/up").symlink_to(folder)
    (folder / "gone.txt").symlink_to(tmp_path / "nowhere")
    (folder / "itself").symlink_to("itself")
    return folder


def names(files, folder):
    return [file.relative_to(folder).as_posix() for file in files]


def test_links_to_files_and_folders_are_followed_but_in_no_circle(folder):
    assert names(below(folder, "*.txt"), folder) == [
        *("a/first.txt", "b.txt", "gone.txt", "linked/deep/far.txt", "own.txt"),
    ]
    assert names(below(folder, "f*"), folder) == ["a/first.txt", "linked/deep/far.txt"]


def test_a_folder_that_is_a_link_itself(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    assert names(below(tmp_path / "link"), tmp_path / "link") == names(below(folder), folder)


def test_the_order_is_that_of_paths(tmp_path):
    for name in ("b/x", "a/z", "a-b/y", "c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    plain = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert below(tmp_path) == plain


def test_a_file_counts_once_and_by_a_path_that_is_no_link_if_it_has_one(folder, tmp_path):
    (folder / "again").symlink_to(folder / "a")
    (folder / "a/alias.txt").symlink_to(folder / "own.txt")
    (folder / "c.txt").symlink_to(tmp_path / "other/deep/far.txt")
    (tmp_path / "outside.txt").write_text("")
    (folder / "x.txt").symlink_to(tmp_path / "outside.txt")
    files = [path for path in below(folder, "*.txt") if path.is_file()]
    assert names(once(files), folder) == [
        *("a/first.txt", "linked/deep/far.txt", "own.txt", "x.txt"),
    ]


def test_hidden_files_and_folders_are_none_of_ones_own(folder):
    """What editors, notebooks and systems leave beside a file; a linked one may be anywhere."""
    before = below(folder, "*.txt")
    for path in (folder / "._own.txt", folder / "a/.~first.txt", folder / ".checkpoints/own.txt"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"\0\5\x16\7")
    assert below(folder, "*.txt") == before
    assert below(folder / ".checkpoints") == [folder / ".checkpoints/own.txt"], "if it is named"


def test_what_may_not_be_read_is_said(folder, monkeypatch, caplog):
    """Folders that cannot be listed, or entered, and names in another encoding."""
    monkeypatch.setattr(folders.os, "access", lambda path, mode: Path(path).name != "a")
    (folder / "m\udce4n.txt").write_text("")
    with caplog.at_level(logging.WARNING):
        found = names(below(folder, "*.txt"), folder)
    assert found == ["b.txt", "gone.txt", "linked/deep/far.txt", "own.txt"]
    assert f"{folder / 'a'} may not be read, and its files are left out" in caplog.text
    assert "n.txt' is left out, since its name is not UTF-8" in caplog.text


@pytest.mark.parametrize(
    ("files_in", "kind"), [(treebank.files_in, "conllu"), (minimal_pairs.files_in, "jsonl")]
)
def test_what_is_read_of_folders_is_in_linked_ones_too(folder, tmp_path, files_in, kind):
    (tmp_path / f"other/deep/far.{kind}").write_text("")
    assert names(files_in(folder), folder) == [f"linked/deep/far.{kind}"]
