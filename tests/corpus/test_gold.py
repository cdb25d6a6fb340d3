"""By hand where words are cut differently, and against what is written into a file."""

import numpy as np
import pandas as pd
import pytest
from made_up_treebank import FRENCH, GUIDE, treebank_in

from bottomup.core.errors import UserError
from bottomup.corpus.annotation import COLUMNS
from bottomup.corpus.annotation.gold import annotate, annotated, has_penn
from bottomup.corpus.bpe import learn
from bottomup.corpus.encoding import encode
from bottomup.corpus.treebank import files_in, sentences
from bottomup.corpus.words import spans

TEXTS = ["Don't close the (x_y)/z file, e.g. in Writer 7.3.", "It's the user's file, isn't it?"]
FOUND = ["sentence", "text", "tag", "relation", "head"]


def table(folder, language):
    known, _ = sentences(files_in(folder))
    tokenizer = learn([[one.text for one in known]], 10, lowercase=True, language=language)
    return annotate(known, [one.text for one in known], tokenizer, has_penn(known))


def test_words_that_are_cut_differently(tmp_path):
    found = table(treebank_in(tmp_path, a=GUIDE), "en")
    assert found["sentence"].value_counts(sort=False).tolist() == [8, 8, 2]
    assert found[FOUND[1:]][:16].to_numpy().tolist() == [
        ["You", "PRP", "nsubj", 3],
        ["don", "VBP", "aux", 3],
        ["'t", "RB", "advmod", 3],
        ["open", "VB", "root", 3],
        ["the", "DT", "det", 6],
        ["well-known", "VBN", "amod", 6],
        ["file", "NN", "obj", 3],
        [".", ".", "punct", 3],
        ["Files", "NNS", "nsubj:pass", 6],
        ["and", "CC", "cc", 4],
        ["/", "CC", "goeswith", 1],
        ["or", "CC", "goeswith", 1],
        ["folders", "NNS", "conj", 0],
        ["are", "VBP", "aux:pass", 6],
        ["shown", "VBN", "root", 6],
        [".", ".", "punct", 6],
    ]


def test_a_token_of_several_words_and_tags_that_are_not_penns(tmp_path):
    found = table(treebank_in(tmp_path, a=FRENCH), "fr")
    assert found[FOUND[1:]].to_numpy().tolist() == [
        ["Il", "PRON", "nsubj", 1],
        ["va", "VERB", "root", 1],
        ["au", "ADP", "case", 3],
        ["marché", "NOUN", "obl", 1],
        [".", "PUNCT", "punct", 1],
    ]


def given(tokenizer, rng):
    """Words of `TEXTS` with random tags and trees, and a treebank that says the same."""
    rows, lines = [], []
    for number, (text, ours) in enumerate(spans(TEXTS, tokenizer)):
        order = rng.permutation(len(ours)).tolist()
        heads = {word: order[int(rng.integers(max(1, i)))] for i, word in enumerate(order)}
        lines += ["", f"# sent_id = {number}"]
        for place, (start, end) in enumerate(ours):
            relation, tag = rng.choice(["nsubj", "obj", "amod"]), rng.choice(["NN", "VB"])
            rows.append((number, place, text[start:end], tag, relation, heads[place]))
            head = 0 if heads[place] == place else heads[place] + 1
            after = "_" if text[end : end + 1] in ("", " ") else "SpaceAfter=No"
            word = text[start:end]
            lines.append(f"{place + 1} {word} _ X {tag} _ {head} {relation} _ {after}")
    return pd.DataFrame(rows, columns=COLUMNS), "\n".join(lines)


@pytest.fixture
def split(tmp_path):
    """A tokenizer, what is to be found, the treebank's folder, and the text read from it."""
    tokenizer = learn([TEXTS], 10, lowercase=True, language="en")
    expected, text = given(tokenizer, np.random.default_rng(0))
    folder = treebank_in(tmp_path / "treebank", a=text)
    rows = pd.DataFrame({"element": ["1", "0"], "source": TEXTS[::-1]})
    rows.to_parquet(tmp_path / "test.parquet")
    order = pd.concat([expected[expected["sentence"] == number] for number in (1, 0)])
    expected = order.assign(sentence=1 - order["sentence"]).reset_index(drop=True)
    return tokenizer, expected, folder, tmp_path / "test.parquet"


def test_the_program_finds_what_the_treebank_says(split, run_script, tmp_path):
    tokenizer, expected, folder, text = split
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    parts = {part: tmp_path / f"{part}.npy" for part in ("ids", "words", "offsets")}
    encode(tokenizer, [TEXTS[::-1]], **parts)
    settings = {"annotator": "gold", "told_by": str(folder), "categories": False}
    job = [
        *("annotate_words", settings | {"depccg_model": None, "content": "any"}),
        *("--text", text, "--tokenizer", tmp_path / "tokenizer.json", "--tokens", tmp_path),
        *("--annotation", tmp_path / "annotation.parquet"),
    ]
    run_script(*job)
    found = pd.read_parquet(tmp_path / "annotation.parquet")
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    encode(tokenizer, [TEXTS], **parts)  # the sentences in another order
    with pytest.raises(SystemExit):
        run_script(*job)


@pytest.mark.parametrize(
    ("old", "new", "name"), [("# sent_id = 1", "# sent_id = 2", "1"), ("close", "shut", "0")]
)
def test_text_of_another_treebank(split, old, new, name):
    tokenizer, _, folder, text = split
    file = folder / "a.conllu"
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(
        UserError, match=f"sentences of the text .* there: 1, such as {name}; fetch"
    ):
        annotated(text, tokenizer, str(folder))
