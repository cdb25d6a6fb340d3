import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers import Tokenizer

from bottomup.corpus.tokens import TokenFile
from bottomup.errors import UserError
from bottomup.subjects import Run
from bottomup.training.run import save
from bottomup.views.extraction import extract
from bottomup.views.occurrences import plain
from tests.tiny import drawn, initial, random_tokens

CPU = torch.device("cpu")
TOKENS = random_tokens(25, high=12)
READING = plain(TOKENS, np.arange(25), np.zeros(20, dtype=int))


@pytest.fixture
def views(tmp_path):
    """Extract the views of a model at the rows of a table."""

    def views(model, table=READING.table, dtype="float32", batch_tokens=40):
        subject = Run(model, tokenizer=None)
        extract(subject, READING.text, table, tmp_path / "a.npy", dtype, batch_tokens, CPU)
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


def test_what_is_not_seen_is_nan(views):
    model, table = drawn("mlm"), READING.table
    hidden = table.index % 7 == 3
    found = views(model, table.assign(position=table["position"].mask(hidden, -1)))
    assert found.shape[:2] == (3, len(table)) and np.isnan(found[:, hidden]).all()
    np.testing.assert_array_equal(found[:, ~hidden], views(model)[:, ~hidden])


def test_program(tmp_path, corpus_files, run_script):
    size = Tokenizer.from_file(str(corpus_files.tokenizer("source"))).get_vocab_size()
    model = initial("lm", vocab=size)
    save(model, corpus_files.tokenizers("lm"), tmp_path / "model")
    tokens = TokenFile.load(corpus_files.tokens / "test.source")
    reading = plain(tokens, np.arange(len(tokens)), np.zeros(size, dtype=int))
    reading.table.to_parquet(tmp_path / "occurrences.parquet")
    run_script(
        "extract_views",
        {"dtype": "float16", "code": "digest"},
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
