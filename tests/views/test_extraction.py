import errno
import os

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import BertProcessing
from transformers import AutoModel, AutoTokenizer, PreTrainedTokenizerFast

from bottomup.core.errors import UserError
from bottomup.corpus.encoding import encode
from bottomup.corpus.tokens import TokenFile
from bottomup.subjects.runs import Run
from bottomup.views.extraction import Lost, extract, reserve
from bottomup.views.occurrences import plain
from tests import tiny
from tests.subjects import families
from tests.tiny import drawn, initial, random_tokens

TOKENS = random_tokens(25, high=12)
READING = plain(TOKENS, np.arange(25), np.zeros(20, dtype=int))


@pytest.fixture
def views(tmp_path):
    """Extract the views of a model at the rows of a table."""

    def views(model, table=READING.table, dtype="float32", batch_tokens=40):
        subject = Run(model, tokenizer=None)
        extract(subject, READING.text, table, tmp_path / "a.npy", dtype, batch_tokens)
        return np.load(tmp_path / "a.npy")

    return views


def alone(model, table):
    """The same from each sentence by itself."""
    rows = []
    for text, position in table[["text", "position"]].to_numpy():
        ids = torch.tensor(TOKENS.sentence(text), dtype=torch.int64)[None]
        with torch.no_grad():
            hidden_states = model.eval().encoder(ids, output_hidden_states=True).hidden_states
        rows.append([h[0, position].numpy() for h in hidden_states])
    return [np.stack(layer) for layer in zip(*rows, strict=True)]


@pytest.mark.long
@pytest.mark.parametrize("objective", ["lm", "mlm", "mt"])
@pytest.mark.parametrize("batch_tokens", [13, 40, 10_000])
def test_rows_are_those_of_each_sentence_alone(views, objective, batch_tokens):
    model = drawn(objective, dropout=0.5)
    found = views(model, batch_tokens=batch_tokens)
    for view, expected in zip(found, alone(model, READING.table), strict=True):
        assert view.shape == (len(READING.table), 16) and view.dtype == np.float32
        np.testing.assert_allclose(view, expected, rtol=1e-4, atol=1e-5)


def test_some_rows_alone(views):
    """Sentences without an occurrence, first and last ones among them, leave no gap."""
    model = drawn("mlm")
    table = READING.table
    some = table[table["text"].between(2, 20) & (table.index % 3 == 0)].reset_index(drop=True)
    assert some["text"].nunique() < 19
    for view, expected in zip(views(model, some), alone(model, some), strict=True):
        np.testing.assert_allclose(view, expected, rtol=1e-4, atol=1e-5)


def test_float16_is_float32_rounded(views):
    model = drawn("mlm")
    exact = views(model)
    for low, high in zip(views(model, dtype="float16"), exact, strict=True):
        assert low.dtype == np.float16
        assert np.array_equal(low, high.astype(np.float16))


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_too_large_for_float16(views):
    model = drawn("mlm")
    with torch.no_grad():
        model.encoder.layers[0].feed_forward.outer.bias[3] = 1e5  # float16 ends at 65,504
    with pytest.raises(UserError, match=r"layer 1 .*float16; set views.dtype to float32"):
        views(model, dtype="float16")
    assert views(model)[1][:, 3].min() > 65_504


@pytest.mark.parametrize(
    ("value", "spread", "told"),
    [
        (0.0, 1.0, False),
        (50.0, 1.0, False),
        (1e4, 1.0, True),  # float16 steps by 8 there
        (0.0, 1e-8, True),  # below its least number
        (0.0, 3e4, False),
        (7.0, 0.0, False),  # a constant neuron says nothing that could be lost
    ],
)
def test_what_float16_loses_of_a_neuron_is_told(value, spread, told, caplog):
    exact = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
    exact[:, 1] = value + spread * exact[:, 1].clip(-2, 2)
    lost = Lost(3)
    for rows in np.split(exact, [1, 8, 100]):
        lost.add(rows, rows.astype(np.float16))
    lost.warn(4, np.dtype(np.float16))
    assert ("layer 4: 1 of 3 neurons lose more than 1% of their variance" in caplog.text) == told
    variance = exact.astype(float).var(0)
    errors = np.square(exact.astype(np.float16) - exact.astype(float)).mean(0)
    shares = np.divide(errors, variance, out=np.zeros(3), where=variance > 0)
    np.testing.assert_allclose(lost.shares(), shares, rtol=1e-6)


def test_extraction_tells_what_it_loses(views, caplog):
    model = drawn("lm")
    with torch.no_grad():
        model.encoder.layers[0].feed_forward.outer.bias[3] = 3e4
    views(model, dtype="float32")
    assert "lose" not in caplog.text
    views(model, dtype="float16")
    assert "layer 1: 1 of" in caplog.text and "neuron 3 the most" in caplog.text


def test_what_is_not_seen_is_nan(views):
    model, table = drawn("mlm"), READING.table
    hidden = table.index % 7 == 3
    found = views(model, table.assign(position=table["position"].mask(hidden, -1)))
    assert found.shape[:2] == (3, len(table)) and np.isnan(found[:, hidden]).all()
    np.testing.assert_array_equal(found[:, ~hidden], views(model)[:, ~hidden])


def test_an_occurrence_may_be_the_mean_of_several_tokens(views):
    """Of all, of the last two, or of the last token up to its own."""
    model, table = drawn("mlm"), READING.table
    position = table["position"].to_numpy()
    first = np.select([table.index % 3 == 0, table.index % 3 == 1], [0, position - 1], position)
    hidden = table.index % 7 == 3
    first = np.where(hidden, -1, np.maximum(first, 0))
    found = views(model, table.assign(first=first, position=table["position"].mask(hidden, -1)))
    start = table.index - position
    for view, of_tokens in zip(found, alone(model, table), strict=True):
        for row in np.flatnonzero(~hidden):
            expected = of_tokens[start[row] + first[row] : row + 1].mean(axis=0)
            np.testing.assert_allclose(view[row], expected, rtol=1e-4, atol=1e-5)
        assert np.isnan(view[hidden]).all()


PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "##1", "##2", "##3"]
# A sentence, and where the sub-words of each of its words stand; none where it has none of its own.
SPLIT = [
    ("a12 a a3", [(1, 2, 3), (4,), (5, 6)]),
    # Read as one unknown word: a1, the comma and a2 cannot be told from each other.
    ("a1,a2 a33", [(), (), (), (2, 3, 4)]),
    # Twelve tokens are read, of which the last is [SEP]: the end of the last word is cut off.
    ("a1 a1 a1 a1 a a12", [(1, 2), (3, 4), (5, 6), (7, 8), (9,), ()]),
]


@pytest.fixture(params=["[PAD]", None])
def checkpoint(request, tmp_path):
    """A checkpoint whose tokenizer splits words, and the words of `SPLIT` as occurrences.

    Where the tokenizer names no padding, its token 0 is one that each sentence has.
    """
    folder = families.save(families.FAMILIES["bert"], tmp_path / "model")
    pieces = PIECES if request.param else ["[CLS]", "[UNK]", "[PAD]", *PIECES[3:]]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.post_processor = BertProcessing(("[SEP]", 3), ("[CLS]", vocabulary["[CLS]"]))
    named = {"tokenizer_object": tokenizer, "pad_token": request.param}
    PreTrainedTokenizerFast(**named).save_pretrained(folder)
    texts = [text for text, _ in SPLIT]
    words = tiny.written(tmp_path, texts)
    files = {name: tmp_path / f"{name}.npy" for name in ("ids", "words", "offsets")}
    encode(words, [texts], **files)
    ranks = np.zeros(words.get_vocab_size(), dtype=int)
    table = plain(TokenFile.load(tmp_path), np.arange(len(SPLIT)), ranks).table
    table.to_parquet(tmp_path / "occurrences.parquet")
    assert len(table) == sum(len(places) for _, places in SPLIT)
    return tmp_path


@pytest.mark.parametrize("pooling", ["last", "mean"])
def test_a_word_is_seen_through_its_last_sub_word_or_their_mean(checkpoint, run_script, pooling):
    run_script(
        "extract_views",
        {"dtype": "float32", "pooling": pooling, "code": "digest"},
        *("--model", checkpoint / "model", "--text", checkpoint),
        *("--written", checkpoint / "test.parquet", checkpoint / "words.json"),
        *("--occurrences", checkpoint / "occurrences.parquet"),
        *("--views", checkpoint / "views.npy", "--batch-tokens", 40),
    )
    found = np.load(checkpoint / "views.npy")
    tokenizer = AutoTokenizer.from_pretrained(checkpoint / "model")
    model = AutoModel.from_pretrained(checkpoint / "model").eval()
    expected = []
    for text, places in SPLIT:
        ids = tokenizer(text)["input_ids"]
        ids = torch.tensor([[*ids[:11], ids[-1]] if len(ids) > 12 else ids])
        with torch.no_grad():
            states = model(ids, output_hidden_states=True).hidden_states
        states = torch.cat(states).numpy()
        for some in places:
            some = some if pooling == "mean" else some[-1:]
            nothing = np.full_like(states[:, 0], np.nan)
            expected.append(np.mean([states[:, i] for i in some], axis=0) if some else nothing)
    np.testing.assert_allclose(found, np.stack(expected, axis=1), rtol=1e-4, atol=1e-5)
    assert np.isnan(found[0, :, 0]).sum() == 4


def test_words_that_are_not_seen_are_counted_by_reason(checkpoint, measure):
    """Of the three sentences, occurrences are in the first two; in the last one a word is cut."""
    table = pd.read_parquet(checkpoint / "occurrences.parquet")
    table[table["text"] < 2].to_parquet(checkpoint / "occurrences.parquet")
    measure(
        "alignment",
        {"objective": "bert", "seed": 0},
        {},
        model=checkpoint / "model",
        occurrences=checkpoint / "occurrences.parquet",
        written=[checkpoint / "test.parquet", checkpoint / "words.json"],
        table=checkpoint / "alignment.csv",
    )
    found = pd.read_csv(checkpoint / "alignment.csv")
    assert (found["objective"] == "bert").all() and (found["seed"] == 0).all()
    rows = found.set_index(["text", "unit", "reason"])[["n", "total"]]
    assert {of: tuple(row) for of, row in zip(rows.index, rows.to_numpy(), strict=True)} == {
        ("occurrences", "word", "vanished"): (0, 7),
        ("occurrences", "word", "cut off"): (0, 7),
        ("occurrences", "word", "shared"): (3, 7),
        ("occurrences", "word", "unknown"): (0, 7),
        ("occurrences", "sentence", "cut off"): (0, 2),
        ("test", "word", "vanished"): (0, 13),
        ("test", "word", "cut off"): (1, 13),
        ("test", "word", "shared"): (3, 13),
        ("test", "word", "unknown"): (0, 13),
        ("test", "sentence", "cut off"): (1, 3),
    }


@pytest.mark.on_a_gpu("extract_views")
def test_program(tmp_path, corpus_files, run_script):
    corpus_files.save(initial, "lm", tmp_path / "model")
    tokens = TokenFile.load(corpus_files.tokens / "test.source")
    reading = plain(tokens, np.arange(len(tokens)), np.zeros(corpus_files.vocab, dtype=int))
    reading.table.to_parquet(tmp_path / "occurrences.parquet")
    run_script(
        "extract_views",
        {"dtype": "float16", "pooling": "last", "code": "digest"},
        *("--model", tmp_path / "model", "--text", corpus_files.tokens / "test.source"),
        *("--occurrences", tmp_path / "occurrences.parquet", "--views", tmp_path / "views.npy"),
        *("--batch-tokens", 40),
    )
    table = pd.read_parquet(tmp_path / "occurrences.parquet")
    first, *_ = np.load(tmp_path / "views.npy", mmap_mode="r")
    assert first.dtype == np.float16 and len(first) == len(table)
    # Layer 0 is the same wherever a token stands at the same position.
    for _, rows in table.groupby(["input_id", "position"]).indices.items():
        assert (first[rows] == first[rows[0]]).all()


def test_a_file_that_finds_no_room_is_an_error_with_its_name(monkeypatch, tmp_path):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    (tmp_path / "views.npy").write_bytes(b"0")
    with pytest.raises(OSError, match=r"No space left on device: .*views\.npy"):
        reserve(tmp_path / "views.npy")
