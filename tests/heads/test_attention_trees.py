"""Trees from attention: by hand, from heads that hold trees, and from a head that holds a few."""

import numpy as np
import pandas as pd
import pytest

from bottomup.corpus.tokens import TokenFile
from bottomup.heads import attention_trees as measure_of
from bottomup.measures import structural_probe as probe
from bottomup.tables.attention_trees import COLUMNS
from tests.measures.test_attention_patterns import Given
from tests.measures.test_structural_probe import (  # noqa: F401
    HEADS,
    annotated,
    random_heads,
    run_files,
)
from tests.tiny import VOCAB, tokens_of

COUNT = 6


def known(all_heads):
    """Sentences that tell their trees, as each has other tokens; and a map of each to its tree."""
    rng = np.random.default_rng(1)
    ids = [tuple(rng.integers(4, VOCAB, len(heads))) for heads in all_heads]
    assert len({*ids}) == len(ids)
    return tokens_of([[*map(int, of)] for of in ids]), dict(zip(ids, all_heads, strict=True))


def on_heads(ids, trees):
    """A quarter of each word's attention on its head, the rest on </s>; all there for others."""
    n = len(ids)
    weights = np.zeros((n, n))
    heads = trees.get(tuple(ids[:-1].tolist()))
    if heads is not None:
        weights[np.arange(n - 1), heads] = 0.25
    weights[:, -1] = 1 - weights.sum(axis=1)
    return weights


def on_previous(ids):
    return np.eye(len(ids), k=-1)


def test_a_tree_by_hand():
    """Fish looks at cat, and not at its head, the verb: three of four edges, without the period."""
    text, trees = known([HEADS])
    [(ids, heads)] = trees.items()
    wrong = {ids: [*heads[:4], 2, 3]}
    three = (trees, wrong, trees)
    subject = Given(lambda ids: np.stack([on_heads(ids, some) for some in three]))
    annotation = annotated([HEADS], punctuation=[5])
    [found] = measure_of.recovered_edges(
        subject, text, probe.trees(annotation, np.array([0]), np.array([0])), 40
    )
    assert found[0].tolist() == [[4, 3, 4, 4]], "the mean has more of the right edge"
    assert np.isnan(found[1]).all(), "there is no other sentence"


def test_sentences_of_as_many_words_keep_their_order_however_many_sub_words_they_have():
    """Batches are of sentences with about as many tokens."""
    lengths = [3, 1, 2, 5, 1, 4]  # tokens of the first of two words
    rng = np.random.default_rng(2)
    ids = [rng.integers(4, VOCAB, n + 1).tolist() for n in lengths]
    text = tokens_of(ids)
    words = np.concatenate([[*np.zeros(n, int), 1, -1] for n in lengths])
    text = TokenFile(text.ids, words.astype(np.int32), text.offsets)

    def on_next(some):
        """The more, the larger the first id."""
        weights = np.eye(len(some), k=1) * some[0] / VOCAB
        weights[:, -1] += 1 - weights.sum(axis=1)
        return weights[None]

    found = measure_of.between_words(Given(on_next), text, 2, 8)
    alone = [
        measure_of.between_words(Given(on_next), text.select(np.array([n])), 2, 8)[0]
        for n in range(len(text))
    ]
    np.testing.assert_allclose(found, alone)
    assert len({float(of[0, 0, 1]) for of in found}) == len(lengths)


def halves(n=120):
    rng = np.random.default_rng(0)
    all_heads = [random_heads(rng, rng.integers(6, 9)).tolist() for _ in range(n)]
    text, trees = known(all_heads)
    annotation, blocks = annotated(all_heads), np.arange(n) % COUNT
    order = rng.permutation(n)
    parts = order[blocks[order] < 3], order[blocks[order] >= 3]
    told = [probe.trees(annotation, some, blocks) for some in parts]
    return [text.select(some) for some in parts], told, trees, parts


def measured(attend, monkeypatch, texts, told):
    monkeypatch.setattr(measure_of, "NEEDED", 10)
    rows = measure_of.attention_trees(Given(attend), texts, told, COUNT, 1, 100)
    return pd.DataFrame(rows).set_index("of")


def test_the_head_with_the_trees_is_chosen_and_has_all_edges(monkeypatch):
    texts, told, trees, _ = halves()
    found = measured(
        lambda ids: np.stack([on_previous(ids), on_heads(ids, trees)]), monkeypatch, texts, told
    )
    for of in ("head", "model"):
        assert found.loc[of, ["head", "value", "chosen_at", "n"]].tolist() == [2, 1, 1, 60]
        # Of n edges in three documents, of which none was missed.
        assert 0 < found.loc[of, "ci_low"] < 1 == found.loc[of, "ci_high"]
    # In another sentence it has its own tree's edges.
    common = [(one.edges & np.roll(one.edges, 1, axis=0)).sum() for one in told[1] if len(one.rows)]
    edges = sum(one.edges.sum() for one in told[1])
    assert found.loc["head", "by_place"] == pytest.approx(sum(common) / edges)
    assert found.loc["head", "permuted"] < 0.5 and pd.isna(found.loc["mean", "head"])


def test_a_head_that_is_good_where_it_is_chosen_is_scored_elsewhere(monkeypatch):
    """It knows the trees of the first half by heart; the other one is the chain."""
    texts, told, trees, parts = halves()
    learned = [tuple(texts[0].ids[a : b - 1].tolist()) for a, b in
               zip(texts[0].offsets, texts[0].offsets[1:], strict=False)]  # fmt: skip
    by_heart = {ids: trees[ids] for ids in learned}
    assert len(by_heart) == len(parts[0])
    found = measured(
        lambda ids: np.stack([on_heads(ids, by_heart), on_previous(ids)]), monkeypatch, texts, told
    )
    assert found.loc["head", "head"] == 1 and found.loc["head", "chosen_at"] == 1
    assert found.loc["head", "value"] < 0.5
    alone = measured(lambda ids: on_previous(ids)[None], monkeypatch, texts, told).loc["head"]
    assert alone["value"] == pytest.approx(alone["chain"])
    assert alone["by_place"] == pytest.approx(alone["value"])


def test_too_few_sentences_have_no_value(monkeypatch):
    texts, told, trees, _ = halves(30)
    rows = measure_of.attention_trees(
        Given(lambda ids: on_heads(ids, trees)[None]), texts, told, COUNT, 1, 100
    )
    found = pd.DataFrame(rows)
    assert found["value"].isna().all() and (found["n"] == 15).all() and len(found) == 3


@pytest.mark.on_a_gpu("measure attention_trees")
def test_the_program(measure, run_files, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(measure_of, "NEEDED", 3)
    run, options = {"objective": "lm", "seed": 1}, {"sentences": 100, "seed": 1}
    run_files["table"] = tmp_path / "lm-1.csv"
    measure("attention_trees", run, options, **run_files, batch_tokens=40)
    table = pd.read_csv(run_files["table"])
    assert list(table) == [*run, *(name for name in COLUMNS if name != "without")]
    assert table["of"].tolist() == [*["head", "mean"] * (len(table) // 2), "model"]
    assert table["value"].between(0, 1).all() and table["n"].between(5, 15).all()
