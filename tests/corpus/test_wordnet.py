"""The examples of a dictionary, from a folder made by hand."""

import pytest

from bottomup.core.errors import UserError
from bottomup.corpus.wordnet import FILES, bases_of, examples, exceptions

LICENSE = '  1 This software is free; "a license has words in it"  \n'
NOUNS = """\
00000001 14 n 02 key 0 winder 1 000 | opens doors; "the keys open many doors"; "keys of brass"
00000002 10 n 02 key 0 sound_pitch 1 001 @ 0 n 0 | "in the key of C"; "the key of a key"
00000003 10 n 01 man 0 000 | "two men read the book", "said the man to them"
"""
ADJECTIVES = """\
00000004 00 s 01 key(a) 0 000 | "it was the key fact"; "the key fact is that"
00000005 00 a 01 large 0 000 | "the larger file is open here"
00000006 00 a 01 key 0 000 | "it was the key fact"
"""


def folder_of(folder, nouns=NOUNS, adjectives=ADJECTIVES):
    folder.mkdir(exist_ok=True)
    for name in FILES:
        (folder / name).write_text(LICENSE if name.startswith("data") else "went go\n")
    (folder / "data.noun").write_text(LICENSE + nouns)
    (folder / "noun.exc").write_text("men man\n")
    (folder / "data.adj").write_text(LICENSE + adjectives)
    return folder


def test_examples_that_have_their_word_once(tmp_path):
    """No short ones, none with the word twice, none of two senses; irregular forms and endings."""
    found = examples(folder_of(tmp_path / "dict"))
    forms = [t[a:b] for t, a, b in found[["text", "start", "end"]].to_numpy()]
    assert [*zip(found["word"], found["class"], found["sense"], forms, strict=True)] == [
        ("key", "noun", "00000001", "keys"),
        ("key", "noun", "00000002", "key"),
        ("man", "noun", "00000003", "men"),
        ("man", "noun", "00000003", "man"),
        ("key", "adj", "00000004", "key"),
        ("large", "adj", "00000005", "larger"),
    ]


@pytest.mark.parametrize(
    ("form", "name", "base"),
    [
        *(("boxes", "noun", "box"), ("women", "noun", "woman"), ("tries", "verb", "try")),
        *(("making", "verb", "make"), ("opened", "verb", "open"), ("nicest", "adj", "nice")),
    ],
)
def test_bases(form, name, base):
    assert {form, base} <= bases_of(form, name, {})
    assert bases_of(form, "adv", {}) == {form}


@pytest.mark.parametrize("line", ["00000001 14 n 01 key 0 no gloss", "a | b", "1 2 n zz key | b"])
def test_what_is_no_line_is_named(tmp_path, line):
    folder = folder_of(tmp_path / "dict", nouns=f"{NOUNS}{line}\n")
    with pytest.raises(UserError, match=r"data\.noun, line 5: is no line of WordNet's database"):
        examples(folder)


def test_exceptions_may_be_none_blank_or_repeated(tmp_path):
    path = tmp_path / "noun.exc"
    path.write_text("axes axe\n\naxes axis\nmice mouse\n")
    assert exceptions(path) == {"axes": {"axe", "axis"}, "mice": {"mouse"}}
    path.write_text("")
    assert exceptions(path) == {}
