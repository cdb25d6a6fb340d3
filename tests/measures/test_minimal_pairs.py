"""Pairs of which it is known who is right, from a folder to the table."""

import json

import numpy as np
import pandas as pd
import pytest
import torch

from bottomup import subjects
from bottomup.core.errors import UserError
from bottomup.corpus import bpe
from bottomup.corpus.minimal_pairs import load
from bottomup.corpus.segmentation import marked
from bottomup.measures.minimal_pairs import answered, drawn, rows
from bottomup.tables.minimal_pairs import COLUMNS
from bottomup.training.run import save
from tests import tiny
from tests.measures.test_agreement import fake, learned, trained_on

SETS = {"number": ["verbs", "nouns"], "order": ["words"]}


def write(folder, **n):
    """A file for each set, with n pairs: the good sentence is the longer one."""
    for phenomenon, names in SETS.items():
        for name in names:
            pairs = [
                {
                    "sentence_good": f"the file {name} {'x ' * (i % 3)}is open {i}",
                    "sentence_bad": f"the file {name} open {i}",
                    "UID": name,
                    "linguistics_term": phenomenon,
                    "field": "not asked for",
                }
                for i in range(n.get(name, 30))
            ]
            (folder / f"{name}.jsonl").write_text("".join(json.dumps(p) + "\n" for p in pairs))
    return folder


def test_all_files_of_a_folder_are_read(tmp_path):
    found = load(write(tmp_path), "en")
    assert list(found) == ["phenomenon", "set", "good", "bad"] and len(found) == 90
    assert found.iloc[1].tolist() == [
        *("number", "nouns", "the file nouns x is open 1", "the file nouns open 1"),
    ]


def test_blanks_around_a_name_make_no_other_name(tmp_path):
    pair = {"UID": " a", "linguistics_term": "b ", "sentence_good": "c", "sentence_bad": "d"}
    (tmp_path / "a.jsonl").write_text(json.dumps(pair))
    assert load(tmp_path, "en").to_numpy().tolist() == [["b", "a", "c", "d"]]


def test_a_copy_of_a_pair_is_no_more_evidence(tmp_path, caplog):
    folder = write(tmp_path)
    found = load(folder, "en")
    for path in [*folder.glob("*.jsonl")]:
        path.with_stem(f"{path.stem}_copy").write_text(path.read_text())
    assert load(folder, "en").equals(found)
    assert f"pairs left out, since their set has them twice: {len(found)}" in caplog.text


def test_sets_of_one_name_in_two_phenomena_are_two():
    both = pd.DataFrame({"phenomenon": np.repeat(["a", "b"], 50), "set": "easy", "good": "x"})
    some = drawn(both, 30, 1)
    assert some.groupby("phenomenon").size().tolist() == [30, 30]
    assert some.groupby(["phenomenon", "block"]).size().between(1, 2).all()


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("{", "is not JSON"),
        ("[1]", "needs text for each of linguistics_term, UID, sentence_good, sentence_bad"),
        ('{"UID": "a", "linguistics_term": "b", "sentence_good": "c"}', "needs text for each of"),
        (
            '{"UID": "a", "linguistics_term": "b", "sentence_good": "c", "sentence_bad": " "}',
            "needs text for each of",
        ),
        (
            '{"UID": "a", "linguistics_term": "b", "sentence_good": "c", "sentence_bad": "\u200b"}',
            "needs text for each of",
        ),
        (
            '{"UID": "a", "linguistics_term": "b", "sentence_good": "c", "sentence_bad":"\\ud83d"}',
            "surrogates not allowed",
        ),
        ("[" * 10**5, "is not JSON"),
        (
            '{"UID": "all", "linguistics_term": "b", "sentence_good": "c", "sentence_bad": "d"}',
            "UID or linguistics_term is all; allowed: any other name",
        ),
        (
            '{"UID": "a", "linguistics_term": " all", "sentence_good": "c", "sentence_bad": "d"}',
            "UID or linguistics_term is all; allowed: any other name",
        ),
        (
            '{"UID": "a", "linguistics_term": "b", "sentence_good": "c d", "sentence_bad": "c  d"}',
            'both sentences are "c d"; take the pair away',
        ),
    ],
    ids=lambda value: value[:60],
)
def test_what_is_no_pair_is_named(tmp_path, line, wrong):
    path = write(tmp_path) / "verbs.jsonl"
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(UserError, match=r"verbs\.jsonl, line 31: ") as raised:
        load(tmp_path, "en")
    assert wrong in str(raised.value)


def test_fewer_pairs_are_some_of_more(tmp_path):
    pairs = load(write(tmp_path, words=5), "en").reset_index(names="row")
    few, many = (drawn(pairs, most, 1) for most in (8, 20))
    assert few["set"].value_counts().to_dict() == {"verbs": 8, "nouns": 8, "words": 5}
    assert set(few["row"]) < set(many["row"])
    assert set(few["row"]) != set(drawn(pairs, 8, 2)["row"])
    # Each set is spread over the blocks.
    assert (many[many["set"] == "verbs"]["block"].nunique(), many["block"].max()) == (20, 19)


def test_who_prefers_long_sentences_is_right_and_ties_count_half(tmp_path):
    pairs = drawn(load(write(tmp_path), "en"), 30, 1)
    tokenizer = learned(["the file verbs nouns words x is open"])
    for score, expected in ((len, 1), (lambda text: -len(text), 0), (lambda text: 0.0, 0.5)):
        reader, _ = fake(tokenizer, score)
        assert (answered(pairs, tokenizer, reader)["is_right"] == expected).all()


def test_pairs_that_are_not_read_whole_are_left_out(tmp_path):
    pairs = drawn(load(write(tmp_path), "en"), 30, 1)
    tokenizer = learned(["the file verbs nouns words x is open"])
    sides = [
        [len(one.ids) for one in tokenizer.encode_batch([*pairs[side]])] for side in ("good", "bad")
    ]
    longest = np.max(sides, axis=0)
    for most in (longest.min() - 1, longest.min(), longest.max()):
        reader, _ = fake(tokenizer, len, max_length=int(most))
        found = answered(pairs, tokenizer, reader)
        assert found.index.tolist() == np.flatnonzero(longest <= most).tolist()
        assert sum(row["n"] for row in rows(found) if row["set"] == row["phenomenon"]) == len(found)


def test_accuracy_is_the_mean_over_sets():
    found = pd.DataFrame(
        {
            "phenomenon": ["a"] * 6 + ["b"] * 2,
            "set": ["s"] * 4 + ["t"] * 2 + ["u"] * 2,
            "block": [0, 1, 2, 3, 0, 1, 0, 1],
            "is_right": [1, 1, 1, 0, 0, 0, 1, 0.5],
        }
    )
    of = pd.DataFrame(rows(found)).set_index(["phenomenon", "set"])
    assert of["accuracy"].to_dict() == pytest.approx(
        {
            ("a", "s"): 3 / 4,
            ("a", "t"): 0,
            ("b", "u"): 3 / 4,
            ("a", "all"): 3 / 8,
            ("b", "all"): 3 / 4,
            ("all", "all"): 1 / 2,
        }
    )
    assert of[["n", "n_sets"]].loc[("a", "all")].tolist() == [6, 2]
    # Without block 0: set s has 2 of 3, t 0 of 1, u half of 1.
    assert of.loc[("all", "all"), "without"][0] == pytest.approx((2 / 3 + 0 + 1 / 2) / 3)
    assert (of["ci_low"] < of["accuracy"]).sum() == 5 and of.loc[("a", "t"), "ci_high"] > 0


@pytest.mark.parametrize("name", ["lm", "mlm"])
def test_the_program(name, measure, tmp_path):
    """Brute force for LM: each sentence alone through the model. MLM cannot know what it hid."""
    texts = ["the file verbs nouns words x is open"] * 9
    tokenizer, files = trained_on(texts, tmp_path)
    model = tiny.drawn(name, vocab=tokenizer.get_vocab_size())
    save(model, {"source": files["word_tokenizer"]}, tmp_path / "model")
    (tmp_path / "pairs").mkdir()
    folder, table = write(tmp_path / "pairs"), tmp_path / "minimal_pairs.csv"
    run = {"objective": name, "seed": 1}
    options = {"folder": str(folder), "pairs": 7, "seed": 2, "content": "", "language": "en"}
    options |= {"run": run | {"module": name, "options": {}}}
    measure("minimal_pairs", run, options, model=tmp_path / "model", table=table, **files)
    found = pd.read_csv(table)
    assert list(found) == ["objective", "seed", *(c for c in COLUMNS if c != "without")]
    assert len(found) == 2 * (3 + 2 + 1)
    by = found[found["set"] == "all"].set_index(["by", "phenomenon"])["accuracy"]
    if name == "mlm":
        assert by.between(0, 1).all()
        return
    read = subjects.load(tmp_path / "model").model

    def log_probability(text):
        ids = torch.tensor([tokenizer.encode(text).ids])
        with torch.no_grad():
            logits = read.head(read(ids))[0, :-1].log_softmax(-1)
        return logits[torch.arange(len(logits)), ids[0, 1:]].double().sum()

    some = drawn(load(folder, "en"), 7, 2)
    right = [log_probability(a) > log_probability(b) for a, b in some[["good", "bad"]].to_numpy()]
    expected = some.assign(right=np.array(right, dtype=float)).groupby("set")["right"].mean()
    assert by["model", "order"] == pytest.approx(expected["words"])
    assert by["model", "all"] == pytest.approx(expected.mean())


def test_pairs_are_read_as_the_text_of_training_is(tmp_path):
    """Without what cleaning takes out, and in words where these have no spaces between them."""
    good, bad = "请单击“文件”菜单。", "请文件“单击”菜单。"
    record = {"sentence_good": f"\ufeff {good}\r", "sentence_bad": bad, "UID": "a"}
    (tmp_path / "a.jsonl").write_text(json.dumps(record | {"linguistics_term": "b"}) + "\n")
    [(_, _, *texts)] = load(tmp_path, "zh").to_numpy()
    assert texts == [marked(good, "zh"), marked(bad, "zh")]
    tokenizer = bpe.learn([texts], 20, True, "zh")
    reader, read = fake(tokenizer, len)
    answered(drawn(load(tmp_path, "zh"), 9, 1), tokenizer, reader)
    assert [ids.tolist() for ids, _ in read] == [tokenizer.encode(t).ids for t in texts]
