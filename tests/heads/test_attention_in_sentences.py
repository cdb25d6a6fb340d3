import logging

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers import Tokenizer

from bottomup import subjects
from bottomup.core.errors import UserError
from bottomup.corpus.bpe import learn
from bottomup.corpus.segmentation import marked
from bottomup.heads.attention import START, attention, short, shown, weight_rows
from bottomup.tables.attention import COLUMNS
from bottomup.training.run import save
from tests import tiny
from tests.subjects import families

SENTENCES = pd.Series(
    ["too short", "these words are enough , surely", "these words are enough , surely"]
    + [" ".join("abcdefghijk"), "a second one that fits ."]
    + ["one of the many that fit"] * 2
)

# Counted by hand; of 5 to 10 words and signs a sentence is short.
COUNTED = {
    "marks: six words and a sign": ["हिन्दी में लिखिए और पढ़िए भी।", True],
    "marks: three and a sign": ["हिन्दी में लिखिए।", False],
    "points: five": ["בְּרֵאשִׁית בָּרָא אֱלֹהִים אֵת הַשָּׁמַיִם", True],
    "points: two": ["בְּרֵאשִׁית בָּרָא", False],
    "joiners: four": ["من می\u200cروم خانه\u200cی آن\u200cها", False],
    "no spaces: four and three": [marked("请单击“文件”菜单。", "zh"), True],
    "no spaces: six and five": [marked("请单击“文件”菜单的“保存”。", "zh"), False],
    "no spaces: two": [marked("文件菜单", "zh"), False],
    "no spaces: three": [marked("文件菜单按钮", "zh"), False],
}


@pytest.mark.parametrize(("sentence", "fits"), COUNTED.values(), ids=COUNTED)
def test_marks_and_joiners_are_no_words(sentence, fits):
    sentences = pd.Series([SENTENCES[1], sentence])
    assert short(sentences, 2, seed=1).tolist() == ([0, 1] if fits else [0])


def test_short_sentences_are_different_and_of_some_words():
    assert short(SENTENCES, 9, seed=1).tolist() == [1, 4, 5]
    assert len(short(SENTENCES, 2, seed=1)) == 2
    drawn = {tuple(short(SENTENCES, 2, seed=seed)) for seed in range(20)}
    assert drawn == {(1, 4), (1, 5), (4, 5)}, "any of them, in their order"


def test_text_without_short_sentences_is_one_line():
    with pytest.raises(UserError, match="5 to 10 words"):
        short(pd.Series(["too short", "too"]), 3, seed=1)


@pytest.fixture
def opened(tmp_path, corpus_files):
    """A function: a subject of an objective, with the tokenizer of the source side."""

    def opened(objective):
        model = tiny.drawn(objective, vocab=corpus_files.vocab)
        save(model, corpus_files.tokenizers("lm"), tmp_path / "model")
        return subjects.load(tmp_path / "model")

    return opened


def test_an_encoder_alone(opened):
    subject = opened("mlm")
    [(kind, queries, keys, weights)] = attention(subject, "a big cat", None, None)
    assert (kind, queries) == ("encoder", keys) and "".join(keys[:-1]).replace("▁", "") == "abigcat"
    ids = torch.tensor([subject.tokenizer.encode("a big cat").ids])
    expected = torch.stack([layer[0] for layer in subject.attentions(ids)])
    assert weights.shape == (2, 2, len(keys), len(keys)) and keys[-1] == "</s>"
    np.testing.assert_array_equal(weights, expected.numpy())


def test_a_decoder_asks_for_what_it_predicts_and_sees_what_came_before(opened, corpus_files):
    tokenizer = Tokenizer.from_file(str(corpus_files.tokenizer("target")))
    found = {kind: each for kind, *each in attention(opened("mt"), "a cat", "A Tac", tokenizer)}
    assert list(found) == ["encoder", "decoder", "cross"]
    for queries, keys, weights in found.values():
        assert weights.shape == (2, 2, len(queries), len(keys))
        np.testing.assert_allclose(weights.sum(axis=-1), 1, rtol=1e-5)
    predicted, before, weights = found["decoder"]
    assert before == [START, *predicted[:-1]] and predicted[-1] == "</s>"
    assert (np.triu(weights, k=1) == 0).all() and weights[0, 0, 0, 0] == 1
    assert found["cross"][0] == predicted and found["cross"][1] == found["encoder"][0]


def test_the_mark_of_a_word_is_seen_where_it_is_a_token():
    tokenizer = learn([["aa aa ba"]], 2, lowercase=True, language="en")
    tokens = [shown(i, tokenizer) for i in tokenizer.encode("aa ba").ids]
    assert tokens == ["aa", "▁", "b", "a", "</s>"]


def test_of_a_long_sentence_a_checkpoint_shows_what_it_reads_at_once(tmp_path):
    subject = subjects.load(families.save(families.FAMILIES["gpt2"], tmp_path))
    words = [f"w{number}" for number in range(3, 18)]
    [(_, queries, keys, _)] = attention(subject, " ".join(words), None, None)
    assert queries == keys == words[: families.POSITIONS]


def test_rows_are_one_for_each_weight():
    weights = np.arange(24).reshape(1, 2, 3, 4)
    table = weight_rows("cross", ["x", "y", "z"], ["a", "b", "c", "d"], weights)
    assert set(table) == set(COLUMNS) - {"sentence"} and len(table) == 24
    one = table.query("layer == 1 and head == 2 and query == 2 and key == 1").iloc[0]
    assert (one["query_token"], one["key_token"], one["weight"]) == ("z", "b", weights[0, 1, 2, 1])


def test_the_program(opened, corpus_files, measure, tmp_path):
    opened("mt")
    about = {"objective": "mt", "seed": 1}
    settings, table = {"sentences": 3, "seed": 1}, tmp_path / "mt-1.parquet"
    files = {"model": tmp_path / "model", "pairs": corpus_files.text("test"), "table": table}
    tokenizer = {"target_tokenizer": corpus_files.tokenizer("target")}
    measure("attention", about, settings, **files, **tokenizer)
    found = pd.read_parquet(table)
    assert list(found) == ["objective", "seed", *COLUMNS] and set(found["objective"]) == {"mt"}
    assert set(found["attention"]) == {"encoder", "decoder", "cross"}
    assert found["sentence"].nunique() == 3
    place = ["attention", "layer", "head", "sentence", "query"]
    np.testing.assert_allclose(found.groupby(place)["weight"].sum(), 1, rtol=1e-5)
    # The decoder predicts the sentence's own translation.
    text = pd.read_parquet(corpus_files.text("test"))
    asked = found.query("attention == 'decoder' and layer == 1 and head == 1 and key == 0")
    for sentence, of_sentence in asked.groupby("sentence"):
        *predicted, end = of_sentence.sort_values("query")["query_token"]
        target = text["target"][sentence]
        written = "".join(predicted).replace("▁", "")
        assert (written, end) == (target.lower().replace(" ", ""), "</s>")
    other = settings | {"seed": 2}
    measure("attention", about, other, **files, **tokenizer)
    others = pd.read_parquet(table)["sentence"].unique().tolist()
    assert others == short(text["source"], 3, seed=2).tolist() != [*asked["sentence"].unique()]
    measure("attention", about, settings, **files)
    assert set(pd.read_parquet(table)["attention"]) == {"encoder"}


def test_a_checkpoint_that_hides_its_attention_has_no_rows_and_a_line(
    corpus_files, measure, tmp_path, caplog
):
    columns = []
    for family in (families.HIDDEN, families.FAMILIES["gpt2"]):
        folder = families.save(family, tmp_path / family.config.model_type)
        about, settings = {"objective": "other", "seed": 0}, {"sentences": 1, "seed": 1}
        files = {"model": folder, "pairs": corpus_files.text("test")}
        with caplog.at_level(logging.INFO):
            measure("attention", about, settings, **files, table=tmp_path / "table.parquet")
        table = pd.read_parquet(tmp_path / "table.parquet")
        assert table.empty == (family is families.HIDDEN)
        columns.append(list(table))
    assert columns[0] == columns[1]
    assert caplog.text.count("left out: bloom has no attention that can be looked at") == 1
