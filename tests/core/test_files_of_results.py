"""Files of every kind, whole and damaged: one line with the path and what to do."""

import hashlib
import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import save_file

from bottomup.core.errors import UserError
from bottomup.core.files import digest
from bottomup.core.files.arrays import load_array
from bottomup.core.files.tables import read_beside, read_table, write_table
from bottomup.core.files.tokenizers import load_tokenizer
from bottomup.core.files.weights import load_weights
from bottomup.corpus.tables import Column
from bottomup.views import files as views
from tests.tiny import same_bytes

TABLE = pd.DataFrame({"token": ["null", "b"], "value": [0.125, 12345.5]})
ARRAY = np.arange(1000, dtype=np.int32)
WEIGHTS = {"a": torch.arange(1000.0), "b": torch.ones(3, 2)}


def column(path):
    return list(Column(path, "token"))


READERS = {
    "array.npy": load_array,
    "mapped.npy": lambda path: load_array(path, mapped=True),
    "table.csv": read_table,
    "table.jsonl": read_table,
    "table.parquet": read_table,
    "column.parquet": column,
    "tokenizer.json": load_tokenizer,
    "model.safetensors": load_weights,
}
EITHER = pytest.mark.parametrize("name", READERS)


@pytest.fixture
def files(tmp_path, corpus_files):
    """A whole file of each kind."""
    for name in ("array.npy", "mapped.npy"):
        np.save(tmp_path / name, ARRAY)
    TABLE.to_csv(tmp_path / "table.csv", index=False)
    TABLE.to_json(tmp_path / "table.jsonl", orient="records", lines=True)
    for name in ("table.parquet", "column.parquet"):
        TABLE.to_parquet(tmp_path / name)
    shutil.copy(corpus_files.tokenizer("source"), tmp_path / "tokenizer.json")
    save_file(WEIGHTS, tmp_path / "model.safetensors")
    return tmp_path


def refused(path, name, words):
    with pytest.raises(UserError, match=words) as error:
        READERS[name](path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_what_was_written_is_read(files):
    for name in ("array.npy", "mapped.npy"):
        np.testing.assert_array_equal(READERS[name](files / name), ARRAY)
    for name in ("table.jsonl", "table.parquet"):
        pd.testing.assert_frame_equal(READERS[name](files / name), TABLE)
    table = read_table(files / "table.csv")
    pd.testing.assert_frame_equal(table, TABLE)
    assert column(files / "column.parquet") == [["null", "b"]]
    assert load_tokenizer(str(files / "tokenizer.json")).get_vocab_size() > 4
    assert same_bytes(load_weights(files / "model.safetensors"), WEIGHTS)


def test_names_and_words_are_text_whatever_they_are(tmp_path):
    (tmp_path / "a.csv").write_text("objective,word_a,layer\ntrue,10,1\ninf,20,2\nnull,nan,3\n")
    table = read_table(tmp_path / "a.csv")
    assert table.to_dict("list") == {
        **{"objective": ["true", "inf", "null"], "word_a": ["10", "20", "nan"]},
        "layer": [1, 2, 3],
    }


@EITHER
def test_cut_off(files, name):
    """As by a full disk or a killed copy: at half of the file, and before its last bytes."""
    path = files / name
    whole = path.read_bytes()
    for kept in (len(whole) // 2, len(whole) - 4):
        path.write_bytes(whole[:kept])
        refused(path, name, "is damaged: .*; delete it and run the same command again")


@EITHER
def test_emptied(files, name):
    path = files / name
    path.write_bytes(b"")
    if name == "table.jsonl":  # what was measured on the way of a model that is not trained
        assert read_table(path).empty
    else:
        refused(path, name, "is damaged: .*; delete it and run the same command again")


@EITHER
def test_of_another_kind(files, name):
    """A page that says that the disk is away, say; and nothing pickled is run."""
    path = files / name
    path.write_bytes(b"\x80\x04<html>no such file</html>")
    refused(path, name, "is damaged: .*; delete it and run the same command again")


@EITHER
def test_missing(files, name):
    (files / name).unlink()
    refused(files / name, name, "cannot be opened: No such file or directory; run again")


def test_columns_that_are_not_there(files):
    with pytest.raises(UserError, match=r"table.parquet is damaged: .*rank"):
        read_table(files / "table.parquet", columns=["rank"])


@pytest.mark.parametrize("value", [torch.nan, -torch.inf])
def test_weights_that_are_no_numbers(files, value):
    weights = {**WEIGHTS, "b": torch.tensor([[1.0, value]])}
    save_file(weights, files / "model.safetensors")
    refused(files / "model.safetensors", "model.safetensors", "damaged: b has numbers that are not")


def test_a_digest_is_that_of_sha256sum(files):
    path = files / "array.npy"
    assert digest(path) == hashlib.sha256(path.read_bytes()).hexdigest()


def test_tables_side_by_side_have_a_row_for_the_same_things(tmp_path):
    for name, column, n in (("first", "a", 3), ("same", "b", 3), ("shorter", "c", 2)):
        pd.DataFrame({column: range(n)}).to_parquet(tmp_path / f"{name}.parquet")
    first, same, shorter = (tmp_path / f"{n}.parquet" for n in ("first", "same", "shorter"))
    both = pd.DataFrame({"a": range(3), "b": range(3)})
    pd.testing.assert_frame_equal(read_beside(first, same), both)
    with pytest.raises(UserError, match=f"{shorter} is damaged: it has 2 rows, and {first} has 3"):
        read_beside(first, same, shorter)


def test_arrays_that_torch_cannot_read(tmp_path):
    np.save(tmp_path / "swapped.npy", np.zeros((1, 2, 3), np.dtype("float32").newbyteorder()))
    with pytest.raises(UserError, match=r"swapped.npy is damaged: .* of another order of bytes"):
        load_array(tmp_path / "swapped.npy", mapped=True)


@pytest.mark.parametrize("other", [np.zeros((2, 3)), np.zeros((1, 2, 3), int), np.zeros(())])
def test_views_of_no_views(tmp_path, other):
    np.save(tmp_path / "views.npy", other)
    with pytest.raises(UserError, match=r"views.npy is damaged: .* expected floats"):
        views.load(tmp_path / "views.npy", 2)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_neither_written_nor_read(tmp_path, ending, value):
    """Empty cells are."""
    path = tmp_path / f"table.{ending}"
    table = TABLE.assign(value=[np.nan, 0.5])
    write_table(table, path)
    pd.testing.assert_frame_equal(read_table(path), table)
    table.loc[1, "value"] = value
    with pytest.raises(UserError, match=r"table.* would have infinity in the column value, row 1"):
        write_table(table, path)
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path, index=False)
    with pytest.raises(UserError, match="is damaged: it has infinity in the column value, row 1"):
        read_table(path)


def test_infinity_among_values_without_blocks_is_not_written(tmp_path):
    table = pd.DataFrame({"without": [np.array([1.0, 2.0]), np.array([1.0, np.inf]), None]})
    with pytest.raises(UserError, match="infinity in the column without, row 1"):
        write_table(table, tmp_path / "table.parquet")
