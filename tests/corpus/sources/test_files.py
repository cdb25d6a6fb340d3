import lzma
import os

import pytest
from archive_forms import COMPRESSIONS
from pydantic import ValidationError

from bottomup.core.errors import UserError
from bottomup.corpus.sources import files
from bottomup.corpus.sources.files import Options, fetch, lines

SOURCE, TARGET = "One.\nTwo…\n\nFour.\n", "Eins.\r\nZwei…\r\n\r\nVier."


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def pairs(tmp_path, **paths):
    return fetch(Options(**paths), tmp_path)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_two_aligned_files(write, tmp_path, compression):
    source = write("text.en", COMPRESSIONS[compression](SOURCE.encode()))
    target = write("text.de", COMPRESSIONS[compression](TARGET.encode()))
    table = pairs(tmp_path, source=source, target=target)
    assert table["source"].tolist() == ["One.", "Two…", "", "Four."]
    assert table["target"].tolist() == ["Eins.", "Zwei…", "", "Vier."]
    assert table["document"].nunique() == 4
    assert table["element"].tolist() == ["1", "2", "3", "4"]


def test_documents_from_a_third_file(write, tmp_path):
    paths = {"source": write("a", SOURCE), "target": write("b", TARGET)}
    table = pairs(tmp_path, **paths, documents=write("c", "x\nx\ny\ny\n"))
    assert table["document"].tolist() == ["x", "x", "y", "y"]


def test_one_language_with_documents(write, tmp_path):
    paths = {"source": write("a", "One\nTwo\n"), "documents": write("c", "x\nx\n")}
    table = pairs(tmp_path, **paths, languages=("en",))
    assert table.columns.tolist() == ["document", "element", "source"]
    assert table.to_numpy().tolist() == [["x", "1", "One"], ["x", "2", "Two"]]


def test_a_line_without_a_document_is_an_error_with_its_number(write, tmp_path):
    """Else all such lines were one document; blanks around a name do not count."""
    paths = {"source": write("a", "One\nTwo\nThree\n"), "languages": ("en",)}
    named = pairs(tmp_path, **paths, documents=write("c", "x\n x\nx \n"))
    assert named["document"].tolist() == ["x"] * 3
    with pytest.raises(UserError, match="d, line 2 names no document"):
        pairs(tmp_path, **paths, documents=write("d", "x\n \nx\n"))
    with pytest.raises(UserError, match="e, line 2 names no document"):
        pairs(tmp_path, tsv=write("e", "one\teins\tx\ntwo\tzwei\t\n"))


def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="pipe is no file"):
        lines(tmp_path / "pipe")


@pytest.mark.parametrize("given", [(), ("source", "target"), ("tsv",), ("source", "tsv")])
def test_one_language_is_one_file(write, given):
    with pytest.raises(
        ValidationError, match=r"for one language, give `source` \(and `documents`\)"
    ):
        Options(languages=("en",), **{name: write(name, "text") for name in given})


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_one_file_of_columns(write, tmp_path, compression):
    tsv = write(
        "text.tsv", COMPRESSIONS[compression]("\ufeffOne\tEins\tx\nTwo\tZwei\tx\n".encode())
    )
    table = pairs(tmp_path, tsv=tsv)
    assert table.to_numpy().tolist() == [["x", "1", "One", "Eins"], ["x", "2", "Two", "Zwei"]]


def test_columns_without_documents(write, tmp_path):
    table = pairs(tmp_path, tsv=write("text.tsv", "One\tEins\nTwo\tZwei\n"))
    assert table["document"].tolist() == ["1", "2"]


@pytest.mark.parametrize("content", ["One\tEins\nTwo\n", "One\nTwo\n", "a\tb\tc\td\n", "a\tb\n\n"])
def test_a_line_with_other_columns_is_an_error(write, tmp_path, content):
    with pytest.raises(UserError, match=r"text.tsv, line \d: columns: \d;"):
        pairs(tmp_path, tsv=write("text.tsv", content))


def test_unequal_line_counts_are_an_error_with_both_counts(write, tmp_path):
    with pytest.raises(UserError, match=r"lines in .*a\.en: 4, in .*b\.de: 2;"):
        pairs(tmp_path, source=write("a.en", SOURCE), target=write("b.de", "Eins\nZwei\n"))


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_invalid_utf8_is_an_error_with_file_and_line(write, compression):
    content = "gut\ngrün\n".encode() + "grün\n".encode("latin-1")
    path = write("text.de", COMPRESSIONS[compression](content))
    with pytest.raises(UserError, match=r"text\.de, line 3 is not UTF-8"):
        lines(path)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_an_empty_file_is_an_error(write, compression):
    with pytest.raises(UserError, match=r"empty\.txt is empty"):
        lines(write("empty.txt", COMPRESSIONS[compression](b"")))


@pytest.mark.parametrize("compression", [".gz", ".bz2", ".xz", ".zst"])
def test_a_truncated_file_is_an_error(write, compression):
    content = COMPRESSIONS[compression](b"one\ntwo\n" * 99)
    with pytest.raises(UserError, match="cannot be read"):
        lines(write("text", content[:-9]))


def test_a_line_that_is_no_sentence_is_an_error_with_its_number(write, monkeypatch):
    monkeypatch.setattr(files, "MAX_LINE_BYTES", 100)
    assert lines(write("text", "a" * 98 + "\n" + "b" * 99)) == ["a" * 98, "b" * 99]
    with pytest.raises(
        UserError, match="text, line 2 has 100 bytes or more; expected one sentence"
    ):
        lines(write("text", "one\n" + "a" * 1000))


def test_an_unknown_compression_is_not_taken_for_text(write):
    """Here the form of LZMA that came before xz, which has no magic."""
    alone = lzma.compress(b"one two three", format=lzma.FORMAT_ALONE)
    with pytest.raises(UserError, match="not UTF-8"):
        lines(write("text.lzma", alone))


def test_a_missing_file_is_an_error_of_the_options(tmp_path):
    with pytest.raises(ValidationError, match="does not point to a file"):
        Options(tsv=tmp_path / "nowhere.tsv")


@pytest.mark.parametrize(
    "given", [(), ("source",), ("source", "target", "tsv"), ("tsv", "documents"), ("target", "tsv")]
)
def test_one_form_of_input_is_asked_for(write, given):
    with pytest.raises(ValidationError, match="or `tsv` alone"):
        Options(**{name: write(name, "text") for name in given})


def test_input_files_are_those_given(write):
    source, target = write("a", "x"), write("b", "y")
    assert Options(source=source, target=target).input_files() == [str(source), str(target)]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"one\rtwo\rthree", "CR alone"),
        (b"one\rtwo", "CR alone"),
        (b"\none\rtwo\rthree\rfour\n", "CR alone"),
        (b"PK\x03\x04a zip\n", "control characters"),
        (b"\x7fELF of text\n", "control characters"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n", "pointer"),
        (b"../.git/annex/objects/X/Y/SHA256E-s9--0\n", "pointer"),
        (b"\nversion https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n", "pointer"),
        (b" \n\n\0\1\2", "control characters"),
        (b"<!DOCTYPE html><html>Not found</html>\n", "markup"),
        (b"\n<html>\n", "markup"),
        (b"<!-- c -->\n<html>\n", "markup"),
        (b"<TEI>\n<p>a</p>\n", "markup"),
        (b'<doc id="1" url="a">\na\n</doc>\n', "markup"),
        (b"%!PS-Adobe-3.0\n", "markup"),
        (b'\xef\xbb\xbf<?xml version="1.0"?>\n<a/>\n', "markup"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path, content, found):
    path = tmp_path / "text"
    path.write_bytes(content)
    with pytest.raises(UserError, match=found):
        lines(path)


@pytest.mark.parametrize("text", ['{"a": 1}\n', '\n{ "text": "a b",', "{\n", "[\n"])
@pytest.mark.parametrize("name", ["source", "tsv"])
def test_json_is_no_sentence(tmp_path, text, name):
    (tmp_path / "text").write_text(text)
    languages = ("en",) if name == "source" else ("en", "de")
    with pytest.raises(UserError, match="text is JSON; expected one sentence a line"):
        fetch(Options(languages=languages, **{name: tmp_path / "text"}), tmp_path)


@pytest.mark.parametrize(
    "text",
    ["<b>No</b> one", "{a} or [b]", '"a": b', "<unk> is <unk>", " ", "<Enter>", "<s>", "<b>No</b>"],
)
def test_text_that_begins_with_a_sign_is_text(tmp_path, text):
    (tmp_path / "text").write_text(f"{text}\nb\n")
    found = fetch(Options(languages=("en",), source=tmp_path / "text"), tmp_path)
    assert found["source"].tolist() == [text, "b"]


def test_single_control_characters_and_returns_in_a_text_are_left_to_the_cleaning(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"\ra\rb <b>\r\n\x01c\rd\nversion 1")
    assert lines(path) == ["\ra\rb <b>", "\x01c\rd", "version 1"]
