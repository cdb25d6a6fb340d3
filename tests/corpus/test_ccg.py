"""Trees are written word/tag/relation/head, with the head's index; a root's is its own."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from ccg_chart import phrases

from bottomup.core.errors import UserError
from bottomup.corpus.ccg import categories, derived, parts, supertagged

# Worked out by hand after CCGbank's manual; what the whole combines to comes last.
SENTENCES = {
    "object": (
        "You/PRP/nsubj/1 open/VBP/ROOT/1 the/DT/det/3 file/NN/dobj/1 ././punct/1",
        r"NP (S[dcl]\NP)/NP NP/N N .",
        "S[dcl]",
    ),
    "imperative": (
        "Choose/VB/ROOT/0 Tools/NNPS/dobj/0 -/:/punct/1 Options/NNPS/appos/1 ././punct/0",
        r"(S[b]\NP)/NP N : N .",
        r"S[b]\NP",
    ),
    "two objects, a pronoun and a possessive": (
        "Give/VB/ROOT/0 him/PRP/dative/0 the/DT/det/3 user/NN/poss/5 's/POS/case/3 file/NN/dobj/0",
        r"((S[b]\NP)/NP)/NP NP NP/N N (NP/N)\NP N",
        r"S[b]\NP",
    ),
    "to whom": (
        "Send/VB/ROOT/0 your/PRP$/poss/2 files/NNS/dobj/0 to/IN/dative/0 them/PRP/pobj/3",
        r"((S[b]\NP)/PP)/NP NP/N N PP/NP NP",
        r"S[b]\NP",
    ),
    "modal, passive and adverbs on both sides": (
        "It/PRP/nsubjpass/4 can/MD/aux/4 also/RB/advmod/4 be/VB/auxpass/4 saved/VBN/ROOT/4 "
        "very/RB/advmod/6 easily/RB/advmod/4 by/IN/agent/4 you/PRP/pobj/7",
        r"NP (S[dcl]\NP)/(S[b]\NP) (S\NP)/(S\NP) (S[b]\NP)/(S[pss]\NP) S[pss]\NP "
        r"((S\NP)\(S\NP))/((S\NP)\(S\NP)) (S\NP)\(S\NP) ((S\NP)\(S\NP))/NP NP",
        "S[dcl]",
    ),
    "perfect": (
        "It/PRP/nsubj/4 has/VBZ/aux/4 not/RB/neg/4 been/VBN/aux/4 opening/VBG/ROOT/4",
        r"NP (S[dcl]\NP)/(S[pt]\NP) (S\NP)\(S\NP) (S[pt]\NP)/(S[ng]\NP) S[ng]\NP",
        "S[dcl]",
    ),
    "copula and noun": (
        "This/DT/nsubj/1 is/VBZ/ROOT/1 the/DT/det/5 second/JJ/amod/5 help/NN/compound/5 "
        "page/NN/attr/1",
        r"NP (S[dcl]\NP)/NP NP/N N/N N/N N",
        "S[dcl]",
    ),
    "copula and adjective with its complement": (
        "It/PRP/nsubj/1 is/VBZ/ROOT/1 not/RB/neg/1 available/JJ/acomp/1 in/IN/prep/3 "
        "Writer/NNP/pobj/4",
        r"NP (S[dcl]\NP)/(S[adj]\NP) (S\NP)\(S\NP) (S[adj]\NP)/PP PP/NP N",
        "S[dcl]",
    ),
    "copula and place": (
        "Only/RB/advmod/2 the/DT/det/2 icon/NN/nsubj/3 is/VBZ/ROOT/3 in/IN/prep/3 it/PRP/pobj/4",
        r"NP/NP NP/N N (S[dcl]\NP)/PP PP/NP NP",
        "S[dcl]",
    ),
    "existence": (
        "There/EX/expl/1 is/VBZ/ROOT/1 a/DT/det/3 file/NN/attr/1 in/IN/prep/3 it/PRP/pobj/4",
        r"NP[thr] (S[dcl]\NP[thr])/NP NP/N N (NP\NP)/NP NP",
        "S[dcl]",
    ),
    "prepositions after a noun and a verb, and a number": (
        "Click/VB/ROOT/0 on/IN/prep/0 the/DT/det/3 list/NN/pobj/1 of/IN/prep/3 files/NNS/pobj/4 "
        "in/IN/prep/0 Step/NNP/pobj/6 3/CD/nummod/7",
        r"S[b]\NP ((S\NP)\(S\NP))/NP NP/N N (NP\NP)/NP N ((S\NP)\(S\NP))/NP N/N[num] N[num]",
        r"S[b]\NP",
    ),
    "what precedes the subject": (
        "In/IN/prep/5 Writer/NNP/pobj/0 ,/,/punct/5 you/PRP/nsubj/5 then/RB/advmod/5 "
        "click/VBP/ROOT/5 OK/NNP/dobj/5",
        r"(S/S)/NP N , NP (S\NP)/(S\NP) (S[dcl]\NP)/NP N",
        "S[dcl]",
    ),
    "relative clause on the subject": (
        "files/NNS/ROOT/0 which/WDT/nsubjpass/3 are/VBP/auxpass/3 opened/VBN/relcl/0",
        r"N (NP\NP)/(S[dcl]\NP) (S[dcl]\NP)/(S[pss]\NP) S[pss]\NP",
        "NP",
    ),
    "relative clause on the object, of a clause within": (
        "files/NNS/ROOT/0 that/WDT/dobj/5 you/PRP/nsubj/3 want/VBP/relcl/0 to/TO/aux/5 "
        "open/VB/xcomp/3",
        r"N (NP\NP)/(S[dcl]/NP) NP (S[dcl]\NP)/(S[to]\NP) (S[to]\NP)/(S[b]\NP) (S[b]\NP)/NP",
        "NP",
    ),
    "relative clause without a word, and a participle": (
        "files/NNS/ROOT/0 you/PRP/nsubj/2 opened/VBD/relcl/0 ,/,/punct/0 saved/VBN/acl/0 "
        "here/RB/advmod/4",
        r"N NP (S[dcl]\NP)/NP , S[pss]\NP (S\NP)\(S\NP)",
        "NP",
    ),
    "relative clause after a preposition": (
        "a/DT/det/1 page/NN/ROOT/1 in/IN/prep/5 which/WDT/pobj/2 you/PRP/nsubj/5 type/VBP/relcl/1",
        r"NP/N N (NP\NP)/NP ((NP\NP)/S[dcl])\((NP\NP)/NP) NP S[dcl]\NP",
        "NP",
    ),
    "coordination": (
        "Open/VB/ROOT/0 or/CC/cc/0 save/VB/conj/0 big/JJ/amod/6 and/CC/cc/3 old/JJ/conj/3 "
        "files/NNS/dobj/2 and/CC/cc/6 tables/NNS/conj/6 quickly/RB/advmod/2",
        r"S[b]\NP conj (S[b]\NP)/NP N/N conj N/N N conj N (S\NP)\(S\NP)",
        r"S[b]\NP",
    ),
    "infinitive of purpose": (
        "Click/VB/ROOT/0 to/TO/aux/2 save/VB/advcl/0 it/PRP/dobj/2",
        r"S[b]\NP (S[to]\NP)/(S[b]\NP) (S[b]\NP)/NP NP",
        r"S[b]\NP",
    ),
    "infinitive whose subject is an object": (
        "It/PRP/nsubj/1 allows/VBZ/ROOT/1 you/PRP/nsubj/4 to/TO/aux/4 type/VB/ccomp/1",
        r"NP ((S[dcl]\NP)/(S[to]\NP))/NP NP (S[to]\NP)/(S[b]\NP) S[b]\NP",
        "S[dcl]",
    ),
    "clause before, and clause as object": (
        "If/IN/mark/2 you/PRP/nsubj/2 type/VBP/advcl/4 it/PRP/nsubj/4 shows/VBZ/ROOT/4 "
        "that/IN/mark/8 files/NNS/nsubj/8 can/MD/aux/8 open/VB/ccomp/4",
        r"(S/S)/S[dcl] NP S[dcl]\NP NP (S[dcl]\NP)/S[em] S[em]/S[dcl] N (S[dcl]\NP)/(S[b]\NP) "
        r"S[b]\NP",
        "S[dcl]",
    ),
    "clause after, with two subordinators": (
        "Wait/VB/ROOT/0 so/IN/mark/4 that/IN/mark/4 it/PRP/nsubj/4 opens/VBZ/advcl/0",
        r"S[b]\NP ((S\NP)\(S\NP))/S[em] S[em]/S[dcl] NP S[dcl]\NP",
        r"S[b]\NP",
    ),
    "gerund after a preposition": (
        "Leave/VB/ROOT/0 by/IN/prep/0 pressing/VBG/pcomp/1 Esc/NNP/dobj/2",
        r"S[b]\NP ((S\NP)\(S\NP))/(S[ng]\NP) (S[ng]\NP)/NP N",
        r"S[b]\NP",
    ),
    "adverbs of adjectives": (
        "newly/RB/advmod/1 created/VBN/amod/2 files/NNS/nsubj/3 are/VBP/ROOT/3 "
        "too/RB/advmod/5 big/JJ/acomp/3",
        r"(N/N)/(N/N) N/N N (S[dcl]\NP)/(S[adj]\NP) (S[adj]\NP)/(S[adj]\NP) S[adj]\NP",
        "S[dcl]",
    ),
    "yes or no": (
        "Is/VBZ/ROOT/0 the/DT/det/2 file/NN/nsubj/0 open/JJ/acomp/0 ?/./punct/0",
        r"(S[q]/(S[adj]\NP))/NP NP/N N S[adj]\NP .",
        "S[q]",
    ),
    "question for the object": (
        "What/WP/dobj/3 does/VBZ/aux/3 it/PRP/nsubj/3 do/VB/ROOT/3 ?/./punct/3",
        r"S[wq]/(S[q]/NP) (S[q]/(S[b]\NP))/NP NP (S[b]\NP)/NP .",
        "S[wq]",
    ),
    "questions within": (
        "Explains/VBZ/ROOT/0 how/WRB/advmod/3 to/TO/aux/3 start/VB/xcomp/0 and/CC/cc/0 "
        "asks/VBZ/conj/0 whether/IN/mark/8 it/PRP/nsubj/8 works/VBZ/ccomp/5",
        r"(S[dcl]\NP)/S[qem] S[qem]/(S[to]\NP) (S[to]\NP)/(S[b]\NP) S[b]\NP conj "
        r"(S[dcl]\NP)/S[qem] S[qem]/S[dcl] NP S[dcl]\NP",
        r"S[dcl]\NP",
    ),
    "brackets and quotation marks": (
        "(/-LRB-/punct/2 \"/``/punct/2 Menu/NN/ROOT/2 \"/''/punct/2 )/-RRB-/punct/2",
        "LRB `` N '' RRB",
        "N",
    ),
    "a verb taken for a plural": (
        "Opens/NNS/ROOT/0 the/DT/det/2 file/NN/dobj/0",
        r"(S[dcl]\NP)/NP NP/N N",
        r"S[dcl]\NP",
    ),
    "an adjective used as a noun": (
        "Do/VB/ROOT/0 the/DT/det/2 following/VBG/dobj/0 :/:/punct/0",
        r"(S[b]\NP)/NP NP/N N :",
        r"S[b]\NP",
    ),
}


def tree(text):
    """Texts, tags, relations and heads."""
    *columns, heads = zip(*(word.rsplit("/", 3) for word in text.split()), strict=True)
    return [*map(list, columns), list(map(int, heads))]


@pytest.mark.parametrize("case", SENTENCES)
def test_sentences_worked_out_by_hand(case):
    text, expected, _ = SENTENCES[case]
    assert derived(*tree(text)) == expected.split()


@pytest.mark.parametrize("case", SENTENCES)
def test_categories_of_a_sentence_combine_to_one(case):
    text, _, whole = SENTENCES[case]
    assert whole in phrases(derived(*tree(text)))


def test_categories_that_do_not_fit_do_not_combine():
    """The chart rejects: an object too many, a passive after a modal, an adverb with no verb."""
    for wrong in (r"NP S[dcl]\NP NP", r"NP (S[dcl]\NP)/(S[b]\NP) S[pss]\NP", r"NP (S\NP)\(S\NP)"):
        assert not {"S[dcl]", "S"} & phrases(wrong.split())


def test_is_has_many_categories():
    found = {
        derived(*tree(text))[position]
        for text, position in [
            (SENTENCES["copula and noun"][0], 1),
            (SENTENCES["copula and adjective with its complement"][0], 1),
            (SENTENCES["copula and place"][0], 3),
            (SENTENCES["existence"][0], 1),
            (SENTENCES["yes or no"][0], 0),
            ("It/PRP/nsubjpass/2 is/VBZ/auxpass/2 opened/VBN/ROOT/2", 1),
            ("It/PRP/nsubj/2 is/VBZ/aux/2 opening/VBG/ROOT/2", 1),
        ]
    }
    assert len(found) == 7


def test_any_tree_has_categories():
    """Trees that no parser should give, too: each word has one, and its parts."""
    rng = np.random.default_rng(1)
    words = [word for text, _, _ in SENTENCES.values() for word in text.split()]
    tags, relations = (sorted({word.rsplit("/", 3)[k] for word in words}) for k in (1, 2))
    for n in rng.integers(1, 12, 300):
        # A head that was placed before, in an order of its own, makes a tree.
        order = rng.permutation(n)
        heads = np.empty(n, int)
        heads[order] = [order[rng.integers(0, max(k, 1))] for k in range(n)]
        columns = [rng.choice(values, n).tolist() for values in (tags, relations)]
        columns[1] = [
            "ROOT" if i == head else relation
            for i, (head, relation) in enumerate(zip(heads, columns[1], strict=True))
        ]
        found = derived(["is"] * n, *columns, heads.tolist())
        assert len(found) == n
        assert all(parts(category)[0] for category in found)


# Left and right parts


@pytest.mark.parametrize(
    ("category", "left", "right"),
    [
        ("N", "N", ""),
        (",", ",", ""),
        ("NP/N", "NP", "/N"),
        (r"S[dcl]\NP", r"S[dcl]\NP", ""),
        (r"(S\NP)/NP", r"S\NP", "/NP"),
        (r"((S[b]\NP)/PP)/NP", r"S[b]\NP", "/PP/NP"),
        (r"(S[dcl]\NP)/(S[pss]\NP)", r"S[dcl]\NP", r"/(S[pss]\NP)"),
        (r"(S\NP)\(S\NP)", r"(S\NP)\(S\NP)", ""),
        (r"((S\NP)\(S\NP))/NP", r"(S\NP)\(S\NP)", "/NP"),
        ("(N/N)/(N/N)", "N", "/N/(N/N)"),
        (r"((NP\NP)/S[dcl])\((NP\NP)/NP)", r"(NP\NP)\((NP\NP)/NP)", "/S[dcl]"),
    ],
)
def test_parts_by_hand(category, left, right):
    assert parts(category) == (left, right)


# The table


def table_of(*texts):
    columns = ["text", "tag", "relation", "head"]
    trees = [dict(zip(columns, tree(text), strict=True)) for text in texts]
    return pd.concat([pd.DataFrame({"sentence": i} | rows) for i, rows in enumerate(trees)])


def test_table_of_derived_categories():
    cases = list(SENTENCES.values())
    table = categories(table_of(*(text for text, _, _ in cases)), None)
    assert list(table.columns) == ["ccg", "ccg_left", "ccg_right", "ccg_source"]
    assert table["ccg"].tolist() == " ".join(expected for _, expected, _ in cases).split()
    assert list(zip(table["ccg_left"], table["ccg_right"], strict=True)) == list(
        map(parts, table["ccg"])
    )
    assert set(table["ccg_source"]) == {"derived"}


def test_table_of_no_words():
    assert categories(table_of(SENTENCES["perfect"][0])[:0], None).empty


# depccg, of which a stand-in has the calls that are made, as version 3.0.0 has them


@pytest.fixture
def depccg(monkeypatch):
    """A supertagger for which every word is a noun, but the last one a verb."""
    names = ["N", r"S[dcl]\NP", "NP/N"]

    def predict_doc(doc, batchsize=32):
        scores = []
        for words in doc:
            tag_scores = np.full((len(words), len(names)), -5.0, dtype=np.float32)
            tag_scores[:, 0], tag_scores[-1, 1] = -1.0, -0.1
            dep_scores = np.zeros((len(words), len(words) + 1), dtype=np.float32)
            scores.append(SimpleNamespace(tag_scores=tag_scores, dep_scores=dep_scores))
        return scores, names

    def load_model(model, device=-1):
        if model != "here":
            raise RuntimeError("model is not available; run 'depccg_en download'")
        return SimpleNamespace(predict_doc=predict_doc), None

    module = ModuleType("depccg.instance_models")
    module.load_model = load_model
    monkeypatch.setitem(sys.modules, "depccg", ModuleType("depccg"))
    monkeypatch.setitem(sys.modules, "depccg.instance_models", module)


def test_supertags_are_the_likeliest(depccg):
    assert supertagged([["a", "file", "opens"], ["Wait"]], "here") == [
        ["N", "N", r"S[dcl]\NP"],
        [r"S[dcl]\NP"],
    ]


def test_table_says_that_depccg_was_used(depccg):
    table = categories(table_of("a/DT/det/1 file/NN/ROOT/1", "Wait/VB/ROOT/0"), "here")
    assert table["ccg"].tolist() == ["N", r"S[dcl]\NP", r"S[dcl]\NP"]
    assert set(table["ccg_source"]) == {"depccg"}


def test_a_model_that_is_missing(depccg):
    with pytest.raises(UserError, match=r"depccg_model: found nowhere; allowed: .* null"):
        supertagged([["a"]], "nowhere")


def test_a_package_that_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "depccg", None)
    with pytest.raises(UserError, match=r"pip install depccg==3\.0\.0"):
        supertagged([["a"]], "here")
