import re
from itertools import chain

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.spatial.distance import cdist
from transformers import ByT5Tokenizer

from bottomup import objectives, subjects
from bottomup.core.errors import UserError
from bottomup.corpus.batches import Text
from bottomup.corpus.specials import EOS
from bottomup.corpus.tokens import NO_WORD, TokenFile
from bottomup.measures import word_order as order
from bottomup.measures.quality import predictions
from bottomup.subjects.slow import SlowTokenizer
from bottomup.subjects.words import encode
from bottomup.training.run import save
from tests import tiny
from tests.subjects import families

D = 3


def text_of(n_sentences, n_words=9, seed=0, types=5):
    """Sentences of words of one sub-word or two; the second is 20, the first one below 20."""
    rng = np.random.default_rng(seed)
    ids, words, lengths = [], [], []
    for _ in range(n_sentences):
        first = 4 + rng.integers(types, size=n_words)
        some = [[i, 20] if i == 4 else [i] for i in first]
        ids += [*chain(*some), EOS]
        words += [*np.repeat(np.arange(n_words), [*map(len, some)]), NO_WORD]
        lengths.append(1 + sum(map(len, some)))
    arrays = (np.array(of, dtype=np.int32) for of in (ids, words))
    return TokenFile(*arrays, np.cumsum([0, *lengths]))


class Made:
    """A subject of made-up layers: a function of ids, padded, and of lengths for each."""

    d_model, padding, max_length, backward = D, 0, None, False

    def __init__(self, *layers):
        self.made, self.layers = layers, len(layers) - 1

    def hidden_states(self, ids, lengths):
        return tuple(torch.as_tensor(of(ids.numpy(), lengths.numpy())) for of in self.made)


def embedded(ids, lengths=None):
    return np.random.default_rng(1).normal(size=(30, D)).astype(np.float32)[ids]


def with_places(ids, lengths):
    return embedded(ids) + np.arange(ids.shape[1], dtype=np.float32)[:, None]


def of_bag(ids, lengths):
    """Each word with the mean of its sentence."""
    inside = (np.arange(ids.shape[1]) < lengths[:, None])[..., None]
    mean = (embedded(ids) * inside).sum(1, keepdims=True) / lengths[:, None, None]
    return (embedded(ids) + mean).astype(np.float32)


def measured(subject, text, count=4, losses=None):
    blocks = np.arange(len(text)) % count
    rows = order.word_order(subject, text, blocks, count, 1, 200, losses=losses)
    return pd.DataFrame(rows).set_index(["order", "part", "quantity", "layer"])


def test_a_bag_of_words_does_not_move_until_words_go():
    text = text_of(40)
    text.ids[0] = 25  # which no other token is, so that it has no other occurrence
    rows = measured(Made(embedded, of_bag), text)
    assert rows.loc["shuffled", "all", "distance", 0]["n"] == (~text.special).sum() - 1
    found = rows["value"].xs("distance", level="quantity")
    assert all((found[name] < 1e-10).all() for name in order.ORDERS if name != "cut")
    assert (found["cut"].xs(0, level="layer") == 0).all()
    assert (found["cut"].xs(1, level="layer") > 0.01).all()


def test_what_is_new_at_each_reading_is_as_far_as_another_occurrence():
    noise = np.random.default_rng(3)
    fresh = Made(lambda ids, lengths: noise.normal(size=(*ids.shape, D)).astype(np.float32))
    found = measured(fresh, text_of(200))["value"]
    assert found["shuffled", "all", "distance", 0] == pytest.approx(1, abs=0.05)
    assert found["within_2", "all", "distance", 0] == pytest.approx(1, abs=0.05)


def test_places_alone_move_as_far_as_they_do():
    """The same word of two sub-words, nine times, where a state is nothing but the place."""
    text = text_of(60, types=1)
    rows = measured(Made(with_places), text)
    found = rows["value"].xs("distance", level="quantity")
    places = np.arange(18)
    squares = D * (places[:, None] - places) ** 2 * (places[:, None] % 2 == places % 2)
    apart = 60 * squares.sum(axis=1) / (60 * 9 - 1)  # of a place from others of its sub-word
    two, eight = D * 2**2, D * 8**2
    # All but the last word change places with a neighbor, of two sub-words.
    assert found["within_2", "all", 0] == pytest.approx(8 * two / apart[::2].sum(), rel=1e-5)
    # The first half goes, four words: the second word that is left was the sixth.
    assert found["cut", "1", 0] == pytest.approx(eight / apart[10:12].mean(), rel=1e-5)
    assert [*found["cut"].xs(0, level="layer").index] == ["0", "1", "2", "4"]
    changed = order.rearranged(text, order.moved, order.generator(1, "word order", "moved"))
    sentence, place = np.divmod(changed.tokens[changed.parts == "between"], 19)
    assert found["moved", "between", 0] == pytest.approx(two / apart[place].mean(), rel=1e-5)
    without = rows.loc["moved", "between", "distance", 0]["without"]
    # The sentences that are left out are no others, either.
    others = apart[place[sentence % 4 != 2]] * (60 * 9 - 1) / 60 * 45 / (45 * 9 - 1)
    assert without[2] == pytest.approx(two / others.mean(), rel=1e-5)
    assert found["moved", "before", 0] == found["moved", "after", 0] == 0


def test_what_is_before_a_moved_word_stays_for_a_model_that_reads_from_left_to_right():
    text = text_of(30)
    for objective, causal in (("lm", True), ("mlm", False)):
        subject = subjects.runs.Run(tiny.drawn(objective, vocab=30), None)
        found = measured(subject, text)["value"]["moved"].xs("distance", level="quantity")
        assert (found["before"] == 0).all() == causal
        assert (found["after"].drop(0) > 0).all() and found["after", 0] == 0
        assert (found["itself"] > 0).all()


def test_a_model_that_reads_from_the_end_loses_the_half_that_it_reads_first():
    text = text_of(30)
    for objective in ("lm", "lm_backward"):
        subject = subjects.runs.Run(tiny.drawn(objective, vocab=30), None)
        found = measured(subject, text)["value"].xs("distance", level="quantity").sort_index()
        cut = found["cut"].drop(0, level="layer")
        assert {*cut.index.get_level_values("part")} == {"0", "1", "2", "4"} and (cut > 0).all()
        stays = "before" if objective == "lm" else "after"
        assert (found["moved", stays] == 0).all()
    order_of, parts = order.cut(9, None, backward=True)
    assert order_of.tolist() == [0, 1, 2, 3, 4] and [*parts] == ["4", "", "2", "1", "0"]


def test_distances_from_others_of_a_type_are_means_over_all_of_them():
    rng = np.random.default_rng(0)
    view, types = 5 + rng.normal(size=(40, D)).astype(np.float32), rng.integers(6, size=40)
    types[types == 5] = 0
    types[7] = 5
    squares = cdist(view, view, "sqeuclidean")
    wanted = [
        np.delete(squares[i], i)[np.delete(types, i) == types[i]].mean() if i != 7 else np.nan
        for i in range(40)
    ]
    np.testing.assert_allclose(order.from_others(view, types), wanted, rtol=1e-5)


def test_what_is_the_same_is_not_apart_by_rounding():
    """Seven vectors, each some 60 times: sums of products leave 1e-14."""
    rng = np.random.default_rng(0)
    drawn, types = rng.normal(size=(7, 64)).astype(np.float32), rng.integers(7, size=400)
    assert (order.from_others(drawn[types], types) == 0).all()
    apart = np.zeros((2, 3, 1))
    assert [row["value"] for row in order._shares(np.zeros((3, 1)), apart)] == [0]
    [moved] = order._shares(np.ones((3, 1)), apart)
    assert np.isnan(moved["value"])


def test_without_a_block_its_rows_are_no_others_either():
    rng = np.random.default_rng(0)
    view, types = rng.normal(size=(40, D)).astype(np.float32), rng.integers(6, size=40)
    blocks = np.arange(40) % 4
    found = order.apart_without(view, types, blocks, 4)
    np.testing.assert_array_equal(found[0], order.from_others(view, types))
    for block in range(4):
        held = blocks != block
        np.testing.assert_array_equal(
            found[1 + block, held], order.from_others(view[held], types[held])
        )
        assert np.isnan(found[1 + block, ~held]).all()


@pytest.mark.parametrize("name", ["shuffled", "within_4", "within_2"])
def test_every_word_moves_within_its_window(name):
    size = {"shuffled": 9, "within_4": 4, "within_2": 2}[name]
    found = [order.ORDERS[name](9, np.random.default_rng(seed))[0] for seed in range(20)]
    for one in found:
        assert sorted(one) == [*range(9)]
        assert (one // size == np.arange(9) // size).all()
        assert ((one == np.arange(9)) == (np.arange(9) >= 9 - 9 % size)).all()
    assert len({tuple(one) for one in found}) > 1 or size == 2


def test_one_word_moves_and_the_parts_say_where_it_was():
    for seed in range(30):
        found, parts = order.moved(6, np.random.default_rng(seed))
        [word] = found[parts == "itself"]
        assert [*np.delete(found, np.flatnonzero(found == word))] == [
            *np.delete(np.arange(6), word)
        ]
        ends = sorted([word, int(np.flatnonzero(found == word)[0])])
        assert ends[0] < ends[1]
        assert set(found[parts == "before"]) == {*range(ends[0])}
        assert set(found[parts == "after"]) == {*range(ends[1] + 1, 6)}
        assert (parts == "between").sum() == ends[1] - ends[0]


def test_words_keep_their_subwords_and_what_is_special_its_place():
    text = text_of(20)
    added = text.ids == EOS
    added[text.offsets[:-1]] = True  # as [CLS], and so no word
    text = TokenFile(text.ids, text.words, text.offsets, added)
    for arrange in order.ORDERS.values():
        changed = order.rearranged(text, arrange, np.random.default_rng(1))
        assert (changed.text.ids == text.ids[changed.tokens]).all()
        starts, ends = changed.text.offsets[:-1], changed.text.offsets[1:] - 1
        assert (changed.tokens[starts] == text.offsets[:-1]).all()
        assert (changed.tokens[ends] == text.offsets[1:] - 1).all()
        assert (
            changed.text.special.sum() == 40 and (changed.parts[changed.text.special] == "").all()
        )
        second = np.flatnonzero((changed.text.ids == 20) & (changed.text.words >= 0))
        inside = second[text.words[changed.tokens[second]] > 0]
        assert len(inside) and (changed.tokens[inside - 1] == changed.tokens[inside] - 1).all()


def test_tokens_of_no_word_go_with_the_word_after_them():
    of_words = np.array([NO_WORD, 0, 0, NO_WORD, NO_WORD, 1, 3, NO_WORD, NO_WORD, NO_WORD])
    text = TokenFile(np.array([*range(4, 13), EOS]), of_words, np.array([0, 10]))
    [(before, words, after)] = order.words_of(text)
    assert [[*word] for word in words] == [[0, 1, 2], [3, 4, 5], [6], [7, 8]]
    assert [*before, *after] == [9]


def test_in_a_tokenizer_of_bytes_a_space_keeps_its_word():
    sentence = "one two three four five six"
    spans = [(word.start(), word.end()) for word in re.finditer(r"\w+", sentence)]
    text = encode(SlowTokenizer(ByT5Tokenizer()), [sentence], [spans], None).tokens
    assert [len(words) for _, words, _ in order.words_of(text)] == [6]
    [space] = ByT5Tokenizer()(" ", add_special_tokens=False).input_ids
    for arrange in order.ORDERS.values():
        changed = order.rearranged(text, arrange, np.random.default_rng(1))
        spaces = np.flatnonzero(changed.text.ids == space)
        assert (changed.tokens[spaces + 1] == changed.tokens[spaces] + 1).all()


def test_short_sentences_are_not_drawn():
    short, long = text_of(10, order.LEAST - 1), text_of(10, order.LEAST)
    both = short.joined(long)
    assert [*order.drawn(both, 100, 1)] == [*range(10, 20)]
    assert len(order.drawn(both, 4, 1)) == 4
    with pytest.raises(UserError, match="none of 10 test sentences has 5 words") as raised:
        order.drawn(short, 100, 1)
    assert "\n" not in str(raised.value)


def test_a_loss_is_of_a_prediction_and_its_interval_over_documents():
    text, calls = text_of(12), []

    def losses(source):
        calls.append(source)
        first = len(calls) == 1
        n = np.arange(1, 13)
        return np.stack([n * (1.0 if first else 3.0 + 0.01 * n), n], axis=1)

    blocks = np.arange(12) % 4
    rows = order.word_order(Made(embedded), text, blocks, 4, 1, 200, losses=losses)
    found = pd.DataFrame(rows).query("quantity == 'loss_nats'").set_index("order")
    assert [*found.index] == ["shuffled", "within_4", "within_2", "moved"] and len(calls) == 5
    n = np.arange(1, 13)
    assert found["value"].tolist() == pytest.approx([2 + 0.01 * (n * n).sum() / n.sum()] * 4)
    kept = n[blocks != 2]
    assert found["without"].iloc[0][2] == pytest.approx(2 + 0.01 * (kept * kept).sum() / kept.sum())
    assert (found["n"] == n.sum()).all() and (found["ci_low"] < found["value"]).all()


COLUMNS = [
    *("objective", "seed", "order", "part", "quantity", "layer"),
    *("value", "ci_low", "ci_high", "n"),
]


@pytest.mark.on_a_gpu("measure word_order")
@pytest.mark.parametrize("objective", ["mt", "untrained"])
def test_the_program_measures_a_run(measure, corpus_files, tmp_path, objective):
    vocab = len(pd.read_csv(corpus_files.frequencies)) + 4
    model = tiny.drawn(objective, vocab=vocab)
    save(model, corpus_files.tokenizers(objective), tmp_path / "model")
    sides = ["source", "target"] if objective == "mt" else ["source"]
    run = {"objective": objective, "seed": 1}
    measure(
        "word_order",
        run,
        {"run": run | {"module": objective, "options": {}}, "sentences": 100, "seed": 1},
        model=tmp_path / "model",
        text=[corpus_files.tokens / f"test.{side}" for side in sides],
        blocks=corpus_files.blocks("test"),
        table=tmp_path / "table.csv",
        batch_tokens=40,
    )
    table = pd.read_csv(tmp_path / "table.csv")
    assert list(table) == COLUMNS
    losses = table[table["quantity"] == "loss_nats"]
    assert losses["layer"].isna().all() and len(losses) == (0 if objective == "untrained" else 4)
    distances = table[table["quantity"] == "distance"]
    assert set(distances["layer"]) == {0, 1, 2} and (distances["value"] >= 0).all()
    if objective == "untrained":
        return
    # Of the program itself: the loss of the same sentences, by what measures quality.
    whole = Text.load(corpus_files.tokens, "test", objectives.load(objective, {}).predicts)
    some = whole.select(order.drawn(whole.source, 100, 1))
    changed = order.rearranged(
        some.source, order.moved, order.generator(1, "word order", "moved")
    ).text
    means = []
    for source in (changed, some.source):
        found = predictions(
            model, objectives.load(objective, {}), Text(source, some.target), 2048, 1
        )
        means.append(found["loss_nats"].sum() / found["predicted"].sum())
    of_moved = losses.set_index("order")["value"]["moved"]
    assert of_moved == pytest.approx(means[0] - means[1], abs=1e-5) and abs(of_moved) > 1e-3


def test_predictions_are_of_text_without_token_dropout(measure, corpus_files, tmp_path):
    """That of training, as a schedule may end with."""
    corpus_files.save(tiny.drawn, "lm", tmp_path / "model")
    run, found = {"objective": "lm", "seed": 1}, []
    for module, options in (("lm", {}), ("lm_noise", {"replace": 0.9})):
        measure(
            "word_order",
            run,
            {"run": run | {"module": module, "options": options}, "sentences": 20, "seed": 1},
            model=tmp_path / "model",
            text=[corpus_files.tokens / "test.source"],
            blocks=corpus_files.blocks("test"),
            table=tmp_path / f"{module}.csv",
        )
        found.append(pd.read_csv(tmp_path / f"{module}.csv"))
    pd.testing.assert_frame_equal(*found)


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_a_checkpoint_reads_words_in_its_own_tokens(measure, tmp_path, family):
    texts = ["w3 w4 w5 w6 w7", "w6 w7 w8 w9 w3 w4"] * 6 + ["w3 w4"]
    tiny.written(tmp_path, texts, target=texts)
    np.save(tmp_path / "blocks.npy", (np.arange(13) % 4).astype(np.int8))
    run = {"objective": family, "seed": 0}
    measure(
        "word_order",
        run,
        {"run": run | {"module": None, "options": {}}, "sentences": 100, "seed": 1},
        model=families.save(families.FAMILIES[family], tmp_path / "model"),
        text=tmp_path / "test.parquet",
        blocks=tmp_path / "blocks.npy",
        written=[tmp_path / "test.parquet", tmp_path / "words.json"],
        table=tmp_path / "table.csv",
    )
    table = pd.read_csv(tmp_path / "table.csv")
    assert list(table) == COLUMNS and (table["quantity"] == "loss_nats").sum() == 4
    top = table[(table["layer"] == families.LAYERS) & (table["part"] == "before")]
    assert (top["value"] < 1e-9).all() == (family == "gpt2")
    assert table.query("order == 'shuffled' and layer == 1")["n"].item() == 66, "12 sentences"
