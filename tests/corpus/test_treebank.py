import pytest
from made_up_treebank import FRENCH, GUIDE, treebank_in

from bottomup.core.errors import UserError
from bottomup.corpus.treebank import files_in, sentences

LONG = "9" * 5000  # digits, which Python takes for no number


def read(folder, **files):
    return sentences(files_in(treebank_in(folder, **files)))[0]


def test_documents_names_and_texts(tmp_path):
    found = read(tmp_path, b=FRENCH, a=GUIDE)
    assert [(one.document, one.name, one.text) for one in found] == [
        ("guide", "guide-1", "You don't open the well-known file."),
        ("guide", "guide-2", "Files and/or folders are shown."),
        ("a-1", "a-1", "Wait."),
        ("b.conllu", "f-1", "Il va au marché."),
    ]


def test_words_their_places_and_their_tree(tmp_path):
    guide, _, _, french = read(tmp_path, b=FRENCH, a=GUIDE)
    words = [guide.text[start:end] for start, end in guide.spans]
    assert words == ["You", "do", "n't", "open", "the", "well", "-", "known", "file", "."]
    assert guide.heads == [3, 3, 3, 3, 8, 7, 7, 8, 3, 3]
    assert guide.depths == [1, 1, 1, 0, 2, 3, 3, 2, 1, 1]
    assert (guide.upos[5:9], guide.xpos[5:9]) == (
        ["ADV", "PUNCT", "ADJ", "NOUN"],
        ["RB", "HYPH", "VBN", "NN"],
    )
    assert french.relations[2:5] == ["case", "det", "obl:arg"] and set(french.xpos) == {None}
    written = [french.text[start:end] for start, end in french.spans]
    assert written == ["Il", "va", "au", "au", "marché", "."]


def test_a_sentence_that_the_cleaning_would_change_is_left_out(tmp_path):
    mask = "1 < < SYM , _ 0 root _ SpaceAfter=No\n2 mask mask SYM , _ 1 dep _ SpaceAfter=No\n"
    mask += "3 > > SYM , _ 1 dep _ _\n"
    unseen = "1 \u200b _ SYM , _ 0 root _ _\n"
    files = {"a": f"# sent_id = 1\n{mask}\n# sent_id = 2\n{unseen}\n{GUIDE}"}
    assert [one.name for one in read(tmp_path, **files)] == ["guide-1", "guide-2", "a-1"]


def test_blanks_in_a_field_end_no_field(tmp_path):
    """Fields of CoNLL-U stand between tabs, whatever is in them."""
    plain = treebank_in(tmp_path / "plain", a=GUIDE)
    odd = treebank_in(tmp_path / "odd", a=GUIDE)
    text = (odd / "a.conllu").read_text()
    for old, new in (
        ("\t4:obj\tSpaceAfter=No", "\t4:obj\tGloss=a  b|SpaceAfter=No"),
        ("well\twell", "well\ta   b"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    (odd / "a.conllu").write_text(text)
    assert sentences(files_in(odd))[0] == sentences(files_in(plain))[0]


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("4 open open", "4 open", 1, "has 9 fields, 0 of them empty; CoNLL-U has 10"),
        ("root _ _\n5 the", "root _ \n5 the", 1, "has 10 fields, 1 of them empty; CoNLL-U has 10"),
        ("5 the the DET DT _ 9", "5 the the DET DT _ x", 1, "number 5 and the head x; allowed"),
        ("DET DT _ 9", f"DET DT _ {LONG}", 1, "the head 9{20}; allowed: numbers such as 1"),
        ("5 the the", f"{LONG} the the", 1, "number 9{20} and the head 9; allowed: numbers"),
        ("5 the the", "_ the the", 1, "number _ and the head 9; allowed: numbers such as 1"),
        ("5 the the", "05 the the", 1, "is not CoNLL-U .*'05'"),
        ("4:obj", f"{LONG}:obj", 1, "is not CoNLL-U "),
        ("VB _ 0 root _ _\n5", "VB _ 4 root _ _\n5", 1, "word 4 .* the head 4; allowed: 0 to 10"),
        ("4 nsubj", "0 nsubj", 1, "2 words of this sentence have the head 0; allowed: one"),
        ("VB _ 0 root _ _\n5", "VB _ 9 root _ _\n5", 1, "0 words of this sentence have the"),
        ("4 obj 4:obj", "4 _ 4:obj", 1, "word 9 of this sentence has no tag .*or no relation"),
        ("DET DT", "_ DT", 1, "word 5 of this sentence has no tag .*or no relation"),
        ("2-3", "2-11", 1, "tokens of several words of this sentence, .* beyond its 10 words"),
        ("3 n't", "3-4 n't _ _ _ _ _ _ _ _\n3 n't", 1, "tokens of several words .* overlap"),
        ("3 n't", "2-3 n't _ _ _ _ _ _ _ _\n3 n't", 1, "tokens of several words .* overlap"),
        ("3 folders", "7 folders", 16, "words of this sentence are not numbered from 1;"),
        ("VBP _ 5 aux:pass", "VBP _ 9 aux:pass", 16, "word 4 .* has the head 9; allowed: 0 to 6"),
        ("VB _ 0 root _ _", "VB _ _ root _ _", 1, "word 4 .* has the head None"),
        ("NOUN NNS _ 1 conj", "NOUN NNS _ 2 conj", 16, "heads of this sentence do not form a tree"),
        ("# sent_id = a-1", "# sent_id = guide-2", 26, "sent_id guide-2 stands in .*line 16, too"),
        ("# sent_id = a-1\n", "", 26, "has no sent_id"),
        ("# sent_id = a-1", "# newdoc id = b\n\n# sent_id = a-1", 26, "begins without a sentence"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_wrong_in_a_file_is_said_with_its_line(tmp_path, old, new, line, said):
    assert GUIDE.count(old) == 1
    with pytest.raises(UserError, match=rf"a\.conllu, line {line}: .*{said}") as raised:
        read(tmp_path, a=GUIDE.replace(old, new))
    assert "\n" not in str(raised.value)
