"""The programs of the corpus, one after the other, as the rules call them."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tokenizers import Tokenizer

from bottomup.corpus import bpe
from bottomup.corpus.specials import EOS, UNK
from bottomup.corpus.splits import SPLITS
from bottomup.corpus.tokens import TokenFile

ROOT = Path(__file__).parents[2]
VERBS = [("Open", "Öffnen"), ("Save", "Speichern"), ("Print", "Drucken"), ("Close", "Schließen")]
SIZES = json.dumps(
    {
        "seed": 1,
        "test_words": 600,
        "dev_words": 300,
        "near_duplicates": "drop",
        "packed_words": None,
    }
)
# Numbers written with letters: those with digits are all alike.
LETTERS = str.maketrans("0123456789", "abcdefghij")


def call(program, *arguments, **files):
    command = [sys.executable, ROOT / "scripts" / f"{program}.py", *arguments]
    command += [part for name, path in files.items() for part in (f"--{name}", path)]
    environment = {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def must(*arguments, **files):
    done = call(*arguments, **files)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    rows = [
        f"{en} the {i} file {i} now.\t{de} Sie die Datei {i} jetzt.\tpage{i % 40}"
        for i in range(400)
        for en, de in VERBS[: 1 + i % 4]
    ]
    alike = [
        f"Find the {i} file {i} now.\tFinden Sie die Datei {i}.\tpage{(i + 1) % 40}"
        for i in range(40)
    ]
    rows = [row.translate(LETTERS) for row in rows + alike]
    text = folder / "text.tsv"
    text.write_text("\n".join([*rows, rows[0], "Too short\tZu kurz\tpage0"]) + "\n")
    options = {"languages": ["en", "de"], "tsv": str(text)}
    settings = json.dumps({"source": "files", "options": options, "code": "any"})
    must("fetch_corpus", "--settings", settings, pairs=folder / "pairs.parquet")
    limits = {"min_words": 4, "max_words": 100, "max_length_ratio": 3.0}
    limits |= {"origins": ["files"], "languages": ["en", "de"]}
    must(
        "clean_corpus",
        "--settings",
        json.dumps(limits),
        pairs=folder / "pairs.parquet",
        clean=folder / "clean.parquet",
        counts=folder / "cleaning.csv",
        examples=folder / "cleaning_examples.csv",
    )
    splits = {name: folder / f"{name}.parquet" for name in SPLITS}
    must(
        "split_corpus",
        "--settings",
        SIZES,
        pairs=folder / "clean.parquet",
        counts=folder / "splits.csv",
        **splits,
    )
    bpe = json.dumps({"merges": 30, "lowercase": True, "language": "en", "spaces": False})
    source = ["--side", "source"]
    tokenizer = folder / "tokenizer.json"
    must("learn_bpe", "--settings", bpe, *source, text=splits["train"], tokenizer=tokenizer)
    for name in SPLITS:
        (folder / name).mkdir()
        arrays = {part: folder / name / f"{part}.npy" for part in ("ids", "offsets", "words")}
        must("encode_text", *source, text=splits[name], tokenizer=tokenizer, **arrays)
    ids = ["--tokens-ids", folder / "train" / "ids.npy"]
    must("count_tokens", *ids, tokenizer=tokenizer, frequencies=folder / "frequencies.csv")
    return folder


def test_tables_have_the_columns_that_others_read(corpus):
    columns = {
        "cleaning.csv": "origin step changed dropped remaining share_dropped",
        "cleaning_examples.csv": "origin step source target",
        "splits.csv": "split origin documents pairs source_words target_words dropped_repeats "
        "dropped_near_duplicates digest",
        "frequencies.csv": "token_id token count rank",
    }
    for name, expected in columns.items():
        assert list(pd.read_csv(corpus / name).columns) == expected.split()
    of_text = ["document", "element", "source", "target"]
    assert list(pd.read_parquet(corpus / "pairs.parquet").columns) == of_text
    for name in ("clean", *SPLITS):
        table = pd.read_parquet(corpus / f"{name}.parquet")
        raw_row = ["raw_row"] * (name == "clean")
        assert list(table.columns) == [*raw_row, "origin", *of_text]
        assert set(table["origin"]) == {"files"} == set(table["document"].str.split("/").str[0])


def test_counts_agree_from_file_to_file(corpus):
    cleaning = pd.read_csv(corpus / "cleaning.csv").set_index("step")
    assert cleaning.loc[["too_short", "duplicate"], "dropped"].tolist() == [1, 1]
    splits = pd.read_csv(corpus / "splits.csv").set_index("split")
    dropped = splits["dropped_near_duplicates"]
    assert dropped["train"] == 0 < dropped[["dev", "test"]].min()
    assert splits["pairs"].sum() + dropped.sum() == cleaning["remaining"].iloc[-1] == 1040
    for name in SPLITS:
        assert len(TokenFile.load(corpus / name)) == splits.loc[name, "pairs"]
    train = TokenFile.load(corpus / "train")
    frequencies = pd.read_csv(corpus / "frequencies.csv")
    assert frequencies["count"].sum() == (np.asarray(train.ids) != EOS).sum()


def test_a_mistake_ends_in_one_line(tmp_path):
    settings = json.dumps({"source": "file", "options": {}})
    done = call("fetch_corpus", "--settings", settings, pairs=tmp_path / "pairs.parquet")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "error: corpus source: found 'file'; allowed: brackets, conllu, files, "
        "hidden_markov, libreoffice_help, man_pages, mtdata, package_descriptions, "
        "program_messages; did you mean files?"
    ]


def test_the_same_text_gives_the_same_bytes(corpus, tmp_path):
    again = {name: tmp_path / f"{name}.parquet" for name in SPLITS}
    files = {"pairs": corpus / "clean.parquet", "counts": tmp_path / "splits.csv", **again}
    must("split_corpus", "--settings", SIZES, **files)
    for name in SPLITS:
        assert again[name].read_bytes() == (corpus / f"{name}.parquet").read_bytes()


def test_blocks_follow_the_documents_in_their_order_and_the_seed(tmp_path, run_script):
    text = tmp_path / "text.parquet"

    def dealt(documents, seed):
        pd.DataFrame({"document": documents}).to_parquet(text)
        run_script("deal_blocks", {"seed": seed}, "--text", text, "--blocks", tmp_path / "b.npy")
        return np.load(tmp_path / "b.npy").tolist()

    first, *rest = dealt(["a", "a", "a", "b"], 1)
    assert rest[:2] == [first, first] != rest[1:]
    pages = [f"page{i // 2}" for i in range(90)]
    assert dealt(pages, 1) == dealt(pages, 1) != dealt(pages, 2)


def test_words_as_tokens_are_those_of_the_source_side(tmp_path, run_script):
    text, sub_words = tmp_path / "text.parquet", tmp_path / "tokenizer.source.json"
    words = tmp_path / "tokenizer.words.json"
    pairs = {"source": ["Open the files.", "Open it."], "target": ["Öffnen Sie die Dateien."] * 2}
    pd.DataFrame(pairs).to_parquet(text)
    bpe.learn([pairs["source"]], 0, True, "en").save(str(sub_words))
    run_script("learn_words", {}, "--text", text, "--tokenizer", sub_words, "--words", words)
    learned = Tokenizer.from_file(str(words)).get_vocab()
    assert "▁files" in learned and not [word for word in learned if "datei" in word]
    arrays = {part: tmp_path / f"{part}.npy" for part in ("ids", "offsets", "words")}
    files = [part for name, path in arrays.items() for part in (f"--{name}", path)]
    files += ["--text", text, "--tokenizer", words]
    run_script("encode_text", {}, "--side", "words", *files)
    # Open, the, files and the period; Open, it and the period; each sentence with its end.
    assert np.load(arrays["offsets"]).tolist() == [0, 5, 9]
    assert np.load(arrays["words"]).tolist() == [0, 1, 2, 3, -1, 0, 1, 2, -1]
    ids = np.load(arrays["ids"]).tolist()
    assert UNK not in ids and (ids[0], ids[3:5]) == (ids[5], ids[7:])


def test_cleaning_keeps_the_order_the_names_and_the_limits_that_it_is_given(tmp_path, run_script):
    """Of a pair that two sources have, the first source's stays."""
    same = ("Open the next file now.", "Die nächste Datei jetzt öffnen.")
    rows = {
        "b": [same],
        "a": [same, ("Save all of these files.", "Alles jetzt."), ("a b c d", "x")],
    }
    for name, pairs in rows.items():
        table = pd.DataFrame(pairs, columns=["source", "target"])
        table = table.assign(document=f"{name}/page", element="1")
        table[["document", "element", "source", "target"]].to_parquet(tmp_path / f"{name}.parquet")
    kept = {}
    for ratio in (2.0, 3.0):
        limits = {"min_words": 1, "max_words": 9, "max_length_ratio": ratio}
        run_script(
            "clean_corpus",
            limits | {"origins": ["b", "a"], "languages": ["en", "de"]},
            *("--pairs", tmp_path / "b.parquet", tmp_path / "a.parquet"),
            *("--clean", tmp_path / "clean.parquet", "--counts", tmp_path / "counts.csv"),
            *("--examples", tmp_path / "examples.csv"),
        )
        table = pd.read_parquet(tmp_path / "clean.parquet")
        kept[ratio] = [*zip(table["origin"], table["source"], strict=True)]
    assert kept[2.0] == [("b", same[0])]
    assert kept[3.0] == [("b", same[0]), ("a", "Save all of these files.")]


def test_a_carriage_return_in_raw_text_ends_no_row_of_the_examples(tmp_path, run_script):
    raw = "Click the\rFile menu."
    pair = {"document": "page", "element": "1", "source": raw}
    pd.DataFrame([pair]).to_parquet(tmp_path / "pairs.parquet")
    limits = {"min_words": 1, "max_words": 9, "max_length_ratio": 3.0}
    files = [("pairs", "pairs.parquet"), ("clean", "clean.parquet")]
    files += [("counts", "counts.csv"), ("examples", "examples.csv")]
    arguments = [part for name, file in files for part in (f"--{name}", tmp_path / file)]
    run_script("clean_corpus", limits | {"origins": ["a"], "languages": ["en"]}, *arguments)
    assert pd.read_csv(tmp_path / "examples.csv")["source"].tolist() == [raw]
    assert pd.read_parquet(tmp_path / "clean.parquet")["source"].tolist() == [
        "Click the File menu."
    ]


def test_each_side_has_sub_words_of_its_own(tmp_path, run_script):
    text = {"source": ["see sea seen"] * 9, "target": ["tun tut tust"] * 9}
    pd.DataFrame(text).to_parquet(tmp_path / "text.parquet")
    learned = {}
    for side in ("source", "target"):
        settings = {"merges": 4, "lowercase": True, "language": "en", "spaces": False}
        files = ["--text", tmp_path / "text.parquet", "--tokenizer", tmp_path / "t.json"]
        run_script("learn_bpe", settings, "--side", side, *files)
        vocabulary = Tokenizer.from_file(str(tmp_path / "t.json")).get_vocab()
        learned[side] = {letter for token in vocabulary for letter in token if token.isalpha()}
    assert "s" in learned["source"] - {"t"} and "u" not in learned["source"]
    assert "u" in learned["target"] and "e" not in learned["target"]


def test_words_are_counted_as_the_language_of_each_side_has_them(tmp_path, run_script):
    """The Chinese side has four words, and no spaces."""
    pair = {"document": "page", "element": "1", "source": "Click the File menu."}
    pd.DataFrame([pair | {"target": "请单击“文件”菜单。"}]).to_parquet(tmp_path / "pairs.parquet")
    limits = {"min_words": 4, "max_words": 9, "max_length_ratio": 3.0, "origins": ["a"]}
    files = [("pairs", "pairs.parquet"), ("clean", "clean.parquet")]
    files += [("counts", "counts.csv"), ("examples", "examples.csv")]
    arguments = [part for name, file in files for part in (f"--{name}", tmp_path / file)]
    run_script("clean_corpus", limits | {"languages": ["en", "zh"]}, *arguments)
    assert len(pd.read_parquet(tmp_path / "clean.parquet")) == 1
