"""Distances of heads: maps made by hand, another implementation, and heads that change places."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.spatial.distance import jensenshannon
from transformers import BertConfig

from bottomup import subjects
from bottomup.measures.head_distances import distances, divergences, others_of_length, rows
from bottomup.subjects.runs import Run
from tests.measures.test_attention_patterns import Given, Named
from tests.subjects import families
from tests.tiny import VOCAB, drawn, initial, tokens_of, written

QUARTER = np.log(4) - 0.75 * np.log(3)  # entropy of (3/4, 1/4)

SHORT = BertConfig(**families.BERT | {"max_position_embeddings": 5})
OF_NAME = families.FAMILIES | {
    "bloom": families.HIDDEN,
    "short": replace(families.FAMILIES["bert"], config=SHORT, max_length=5),
}


def random_text(n=12, seed=0):
    """Sentences of 3 to 6 tokens, two or more of each length, and one that is alone."""
    rng = np.random.default_rng(seed)
    lengths = [*(3 + np.arange(n) % 4), 9]
    return tokens_of([rng.integers(4, VOCAB, length).tolist() for length in lengths])


def found(a, b, text, count=3, seed=1):
    blocks = np.arange(len(text)) % count
    return distances(a, b, text, blocks, count, seed, 40)


def test_divergences_by_hand():
    """Disjoint, ln 2; (1, 0) and (1/2, 1/2), the entropy of (3/4, 1/4) less half of ln 2."""
    a = torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]]])
    b = torch.tensor([[[0.0, 1.0]], [[0.5, 0.5]]])
    half = QUARTER - np.log(2) / 2
    np.testing.assert_allclose(divergences(a, b), [[np.log(2), half], [0, half]], atol=1e-6)


def test_divergences_are_those_of_scipy():
    a, b = (torch.rand(heads, 5, 7).softmax(-1) for heads in (2, 3))
    expected = [[(jensenshannon(x, y, axis=-1) ** 2).sum() for y in b] for x in a]
    np.testing.assert_allclose(divergences(a, b), expected, rtol=1e-4)


def test_another_sentence_has_the_length_of_the_first():
    lengths = np.array([3, 5, 3, 3, 5, 4])
    others = others_of_length(lengths, seed=1)
    assert (lengths[others] == lengths).all() and sorted(others) == [*range(6)]
    assert (np.flatnonzero(others == np.arange(6)) == [5]).all(), "it alone has no other"


def on_tokens(ids):
    """Three heads: on the first token; on the one with the largest id; evenly."""
    n = len(ids)
    first, largest = np.eye(n)[0], np.eye(n)[ids[:-1].argmax()]  # </s> is no token of the text
    return np.stack([np.tile(row, (n, 1)) for row in (first, largest, np.full(n, 1 / n))])


def test_a_head_that_reads_tokens_is_nearer_on_the_same_sentence():
    """And one that reads places is as near on another. Only queries of the text count."""
    text = random_text()
    lengths = np.asarray(text.lengths)
    of = found(Given(on_tokens), Given(on_tokens), text)
    np.testing.assert_allclose(np.diagonal(of.values[0]), 0, atol=1e-6)
    np.testing.assert_allclose(np.diagonal(of.by_place[0])[[0, 2]], 0, atol=1e-6)
    assert of.by_place[0, 1, 1] > 0.2
    words = lengths - 1
    # What is place alone is as far where another sentence is read, on the same queries.
    assert of.by_place[0, 0, 2] == pytest.approx(of.values[0, 0, 2], rel=1e-6)
    lengths, words = lengths[:-1], words[:-1]  # the last is alone with its length
    assert of.n == words.sum()
    # Evenly over n against one of n: the mixture has 1/2 + 1/2n there, and 1/2n elsewhere.
    top, rest = (1 + 1 / lengths) / 2, 1 / (2 * lengths)
    mixed = -top * np.log(top) - (lengths - 1) * rest * np.log(rest)
    expected = np.average(mixed - np.log(lengths) / 2, weights=words)
    assert of.values[0, 0, 2] == pytest.approx(expected, rel=1e-5)
    held = np.arange(12) % 3 != 1
    without = np.average((mixed - np.log(lengths) / 2)[held], weights=words[held])
    assert of.values[2, 0, 2] == pytest.approx(without, rel=1e-5)
    # Another sentence is left out with its document, too.
    held &= others_of_length(lengths, 1) % 3 != 1
    assert 0 < held.sum() < 8
    without = np.average((mixed - np.log(lengths) / 2)[held], weights=words[held])
    assert of.by_place[2, 0, 2] == pytest.approx(without, rel=1e-5)


def test_what_a_head_leaves_to_no_token_is_a_place_of_its_own():
    """All on no token, half of it, none: as far apart as (1, 0), (1/2, 1/2) and (0, 1)."""

    def attend(ids):
        share = np.array([0, 0.5, 1])[:, None, None]
        return share * np.tile(np.eye(len(ids))[0], (3, len(ids), 1))

    half = QUARTER - np.log(2) / 2
    expected = [[0, half, np.log(2)], [half, 0, half], [np.log(2), half, 0]]
    values = found(Given(attend), Given(attend), random_text()).values[0]
    np.testing.assert_allclose(values, expected, atol=1e-6)


def table(a, b, text):
    return pd.DataFrame(rows(found(a, b, text), a, b))


def test_heads_that_change_places_are_found_again():
    """The same weights, with the heads of each layer in reverse, and layers as they were."""
    a, b = (Run(drawn("mlm", layers=2, heads=4), Named()) for _ in range(2))
    with torch.no_grad():
        for layer in b.model.encoder.layers:
            attention = layer.attention
            width = attention.d_head
            order = torch.arange(4 * width).view(4, width).flip(0).ravel()
            for part in (attention.query.weight, attention.query.bias):
                part.copy_(part[order])
            for part in (attention.key_value.weight, attention.key_value.bias):
                part.copy_(part.view(2, 4 * width, -1)[:, order].reshape(part.shape))
            attention.out.weight.copy_(attention.out.weight[:, order])
    every = table(a, b, random_text())
    nearest = every.query("quantity == 'nearest' and among == 'layer'")
    assert (nearest["to_layer"] == nearest["layer"]).all()
    assert (nearest["to_head"] == 5 - nearest["head"]).all()
    np.testing.assert_allclose(nearest["value"], 0, atol=1e-6)
    others = every.query("quantity == 'nearest' and among == 'other_layers'")
    assert (others["to_layer"] == 3 - others["layer"]).all() and (others["value"] > 1e-4).all()


def test_in_one_model_no_head_is_compared_with_itself():
    a = Run(drawn("mlm", layers=2, heads=3), Named())
    a.model.encoder.layers[0].attention.gates[1] = 0
    every, of = table(a, a, random_text()), found(a, a, random_text()).values[0]
    first = every.query("layer == 1 and head == 1").set_index(["among", "quantity"])
    assert first["value"]["layer", "nearest"] == first["value"]["layer", "mean"] == of[0, 1]
    assert first["to_head"]["layer", "nearest"] == 3, "the second is closed"
    assert first["value"]["other_layers", "mean"] == pytest.approx(of[0, 2:].mean())
    upper = every.query("layer == 2 and head == 2").set_index(["among", "quantity"])["value"]
    assert upper["layer", "nearest"] == of[3, [2, 4]].min()
    assert 1 not in set(every.query("layer == 1")["head"] - 1)
    each = every.query("among == 'one'")
    assert (each["quantity"] == "distance").all() and len(each) == 5 * 4 / 2
    [last] = each.query("layer == 2 and head == 1 and to_head == 3")["value"]
    assert last == of[2, 4] and "one" not in set(
        table(a, Run(a.model, Named()), random_text())["among"]
    )


def test_without_a_sentence_of_the_same_length_no_head_is_the_nearest():
    a = Run(drawn("mlm", layers=2, heads=2), Named())
    every = table(a, a, random_text().select(np.array([0])))
    nearest = every.query("quantity == 'nearest'")
    assert nearest["value"].isna().all() and nearest[["to_layer", "to_head"]].isna().all(axis=None)


def test_of_models_that_read_one_side_and_both_only_queries_of_both_count():
    """The first token sees itself alone in one of them."""
    a, b = (Run(drawn(name, layers=1, heads=2), Named()) for name in ("lm", "mlm"))
    text = random_text()
    assert found(a, b, text).n == found(b, a, text).n == (np.asarray(text.lengths)[:-1] - 2).sum()
    np.testing.assert_allclose(found(a, b, text).values[0], found(b, a, text).values[0].T)


@pytest.mark.on_a_gpu("measure head_distances")
def test_the_program(measure, tmp_path, corpus_files):
    for seed in (1, 2):
        folder = tmp_path / str(seed)
        corpus_files.save(initial, "mlm", folder, seed=seed)
    files = {"text": corpus_files.tokens / "test.source", "blocks": corpus_files.blocks("test")}

    def found(b):
        run = {"objective_a": "mlm", "seed_a": 1, "objective_b": "mlm", "seed_b": b}
        models = [tmp_path / str(seed) for seed in dict.fromkeys((1, b))]
        path = tmp_path / f"{b}.csv"
        options = {"sentences": 5, "seed": 1}
        measure("head_distances", run, options, model=models, **files, batch_tokens=40, table=path)
        return pd.read_csv(path)

    alone, two = found(1), found(2)
    assert list(alone) == [
        *("objective_a", "seed_a", "objective_b", "seed_b", "layer", "head", "among", "quantity"),
        *("value", "ci_low", "ci_high", "to_layer", "to_head", "n"),
    ]
    same = "among == 'layer' and quantity == 'nearest'"
    assert (alone.query(same)["to_head"] != alone.query(same)["head"]).all()
    assert not np.allclose(alone.query(same)["value"], two.query(same)["value"])


@pytest.fixture
def of_checkpoints(measure, tmp_path):
    """The table of two checkpoints, by their families, on sentences of six words."""
    sentences = [f"w{3 + n % 9} w1 w5 w{6 + n % 7} w8 w2" for n in range(12)]
    written(tmp_path, sentences)
    np.save(tmp_path / "blocks.npy", np.arange(12, dtype=np.int8) % 3)

    def table(*models):
        folders = [
            families.save(OF_NAME[name], tmp_path / f"{name}{seed}", seed=seed)
            for seed, name in enumerate(models)
        ]
        run = {"objective_a": models[0], "seed_a": 0, "objective_b": models[-1], "seed_b": 0}
        measure(
            "head_distances",
            run,
            {"sentences": 12, "seed": 1},
            model=folders,
            text=tmp_path / "none.npy",
            blocks=tmp_path / "blocks.npy",
            written=[tmp_path / "test.parquet", tmp_path / "words.json"],
            batch_tokens=40,
            table=tmp_path / "table.csv",
        )
        return pd.read_csv(tmp_path / "table.csv"), [subjects.load(of) for of in folders], sentences

    return table


@pytest.mark.parametrize(
    ("pair", "length"), [(("bert", "bert"), 6), (("bert", "short"), 5), (("short", "bert"), 5)]
)
def test_a_checkpoint_beside_what_it_starts_from(of_checkpoints, pair, length):
    """Against SciPy, on the ids of its own tokenizer, of which both models read as many."""
    table, models, sentences = of_checkpoints(*pair)
    ids = torch.tensor([models[0].tokenizer.encode(text).ids[:length] for text in sentences])
    a, b = (of.attentions(ids, lengths=torch.full((12,), length))[1].numpy() for of in models)
    apart = (jensenshannon(a[:, :, None], b[:, None], axis=-1) ** 2).mean(axis=(0, 3))
    rows = table.query("layer == 2 and among == 'layer'").set_index(["quantity", "head"])["value"]
    np.testing.assert_allclose(rows["nearest"], apart.min(axis=1), rtol=1e-4)
    np.testing.assert_allclose(rows["mean"], apart.mean(axis=1), rtol=1e-4)


def test_models_that_read_other_tokens_or_do_not_show_attention_are_not_compared(of_checkpoints):
    assert not of_checkpoints("bert")[0].empty
    for pair in (("bert", "gpt2"), ("bert", "bloom"), ("bloom", "bert"), ("bloom",)):
        table, models, _ = of_checkpoints(*pair)
        assert table.empty and list(table)[-3:] == ["to_layer", "to_head", "n"]
        assert all(of.layers for of in models)
