"""What is drawn does not depend on what a model sees: one word less changes no other draw.

In every view the first neuron is the number of the occurrence in the study, by which a draw is told
whichever rows the view has.
"""

import importlib

import numpy as np
import pandas as pd
import pytest

from bottomup.measures import context, edge_probes, geometry, isotropy, neighbors, probes, senses
from bottomup.measures import similarity as of_similarity
from bottomup.measures.jackknife import WITHOUT
from bottomup.measures.wordnet import asked
from bottomup.views.draws import SEEN
from bottomup.views.seen import Seen, seen_by_all
from tests.measures.test_edge_probes import of_sentences, random_heads
from tests.measures.test_wordnet_senses import table_of

LENGTH, N = 20, 2000
MISSING = 1007  # in the middle of a sentence


@pytest.fixture
def whole():
    rng = np.random.default_rng(0)
    tokens, sentences = rng.integers(10, 20, N), np.arange(N) // LENGTH
    places, tags = np.arange(N) % LENGTH, np.array(["NN", "VB", "DT"])
    return pd.DataFrame(
        {
            **{"input_id": tokens, "output_id": tokens, "rank": tokens, "kind": "plain"},
            **{"sentence": sentences, "position": places, "word": places, "block": sentences // 10},
            **{"left_id": np.roll(tokens, 1), "right_id": np.roll(tokens, -1)},
            **{"stands_for_word": rng.random(N) < 0.9, "tag": tags[rng.integers(3, size=N)]},
            **{name: rng.integers(3, size=N).astype(str) for name in ("ccg", "ccg_left")},
            **{"ccg_right": "N", "ccg_source": "a parser"},
        }
    ).assign(stands_for_word=lambda table: table["stands_for_word"] | (table.index == MISSING))


def both(whole, missing=(MISSING,), translations=None, layers=1):
    """What is seen by a model that sees all, and by one that lacks some."""
    view = np.random.default_rng(1).normal(size=(layers, N, 4))
    view[:, :, 0] = np.arange(N)
    less = view.copy()
    less[:, [*missing]] = np.nan
    frequencies = pd.DataFrame({"token_id": np.arange(10, 20), "rank": np.arange(10)})
    for views in (view, less):
        table, [views] = seen_by_all(whole, [views])
        known = {"frequencies": frequencies, "translations": translations}
        yield Seen(table, views, others=views**2, **known)


def recorded(monkeypatch, module, name, told, result=()):
    """What `told` says of each call of a function of a module."""
    found = []

    def record(*of, **options):
        found.append(told(*of, **options))
        return result

    monkeypatch.setattr(module, name, record)
    return found


def rows_of(table, seen, **settings):
    module = importlib.import_module(f"bottomup.tables.{table}")
    return list(module.rows(seen, module.Settings(**settings)))


def without(numbers, missing=MISSING):
    return [number for number in np.ravel(numbers).tolist() if number != missing]


def test_a_table_has_the_rows_of_a_view_and_the_whole(whole):
    every, less = both(whole)
    pd.testing.assert_frame_equal(every.occurrences, whole)
    assert less.views.shape[1] == len(less.occurrences) == len(less.blocks) == N - 1
    assert less.views[0, :, 0].tolist() == without(np.arange(N))
    pd.testing.assert_frame_equal(less.whole.drop(columns=SEEN), whole)
    assert np.flatnonzero(~less.there).tolist() == [MISSING]


def test_neighbors_come_from_one_set(whole, monkeypatch):
    def told(view, sample, *of, **options):
        return view[sample.rows, 0], sample.tokens

    drawn = recorded(monkeypatch, neighbors, "estimates", told)
    sizes = {"tokens": 5, "occurrences": 60, "within_tokens": 10, "within_occurrences": 50}
    rows_of("neighbors", next(both(whole)), k=3, seed=1, **sizes)
    (among_tokens, _), _, (within, _), _, *_ = drawn
    for missing in (among_tokens[0, 3], within[4, 7], within[9, 49]):
        drawn.clear()
        every, less = both(whole, [int(missing)])
        for seen in (every, less):
            rows_of("neighbors", seen, k=3, seed=1, **sizes)
        for (rows, tokens), (of_less, of_tokens) in zip(drawn[:6], drawn[6:], strict=True):
            assert sorted(tokens.ravel()) == sorted(of_tokens.ravel())
            assert len({*rows.ravel()} - {*of_less.ravel()} - {missing}) == 0
            if len(rows) > 1:  # within a token, in the same order; another one takes its place
                for some, others in zip(rows, of_less, strict=True):
                    assert others.tolist()[: len(without(some, missing))] == without(some, missing)


@pytest.mark.parametrize(
    "table, module, settings",
    [
        ("isotropy", isotropy, {"n": 300}),
        ("similarity_between_runs", of_similarity, {"variance": 1, "rsa_rows": 300}),
    ],
)
def test_those_drawn_at_random_are_the_same(whole, monkeypatch, table, module, settings):
    function, found = module._drawn, []
    monkeypatch.setattr(module, "_drawn", lambda *of: found.append(function(*of)) or found[-1])
    rows_of(table, next(both(whole, layers=2)), seed=1, **settings)
    missing = int(found[0][17])
    for seen in both(whole, [missing], layers=2):
        rows_of(table, seen, seed=1, **settings)
    drawn, of_less = found[0], np.delete(np.arange(N), missing)[found[-1]]
    assert len(drawn) == 300 and of_less.tolist() == without(drawn, missing)


def test_points_and_shuffled_sentences_are_the_same(whole, monkeypatch):
    nothing = np.full(11, np.nan), 0
    of_points, of_texts = lambda points, *of: points[:, 0], lambda _, view, *of: view[:, 0]
    points = recorded(monkeypatch, geometry, "intrinsic_dimensions", of_points, nothing)
    texts = recorded(monkeypatch, geometry, "_of_sentences", of_texts, nothing)
    for seen in both(whole):
        rows_of("geometry", seen, points=300, seed=1)
    _, drawn, _, of_less = points  # the first of each is of the null
    assert drawn.tolist() == sorted(drawn) and {*without(drawn)} <= {*of_less}
    assert len(of_less) == len(drawn) == 300
    assert without(texts[0]) == texts[4].tolist() != sorted(texts[4])


def test_tokens_and_what_takes_their_place_are_the_same(whole, monkeypatch):
    def told(view, sample, *of):
        return sample.tokens, view[sample.rows, 0], view[sample.changed, 0]

    found = recorded(monkeypatch, context, "by_classifier", told)
    monkeypatch.setattr(context, "by_clusters", lambda *of: ())
    for seen in both(whole):
        rows_of("context", seen, n_tokens=10, occurrences=500, n_clusters=5, seed=1)
    (tokens, rows, changed), (of_less, rows_of_less, changed_of_less) = found
    kept = (rows != MISSING).all(axis=0)
    assert 0 < (~kept).sum() < 20
    np.testing.assert_array_equal(of_less, tokens[kept])
    np.testing.assert_array_equal(rows_of_less, rows[:, kept])
    # What would change places with one that is left out does so with the next of the token.
    np.testing.assert_array_equal(whole["input_id"][changed_of_less[4]], of_less)
    assert (changed_of_less == changed[:, kept]).mean() > 0.95


def test_words_with_senses_are_the_same(whole, monkeypatch):
    def told(view, some, *of):
        return [view[word.rows, 0].tolist() for word in some]

    rng = np.random.default_rng(2)
    forms, others = np.array(["house", "line"]), np.array(["haus", "zeile", "linie"])
    aligned = whole[["sentence", "word"]].assign(
        form=forms[rng.integers(2, size=N)], translation=others[rng.integers(3, size=N)]
    )
    aligned = aligned.assign(translation=aligned["translation"].where(rng.random(N) < 0.9, "satz"))
    tagged = whole.assign(tag=whole["tag"].where(whole.index != MISSING, "NN"))
    found = recorded(monkeypatch, senses, "estimates", told)
    for seen in both(tagged, translations=aligned):
        rows_of("senses", seen, k=5, occurrences=1000, seed=1)
    assert any(MISSING in rows for rows in found[0])
    assert [*map(without, found[0])] == found[1]


def test_words_of_a_dictionary_keep_their_block_and_order():
    table = table_of(60, 2, 3)
    every = asked(table, 1)
    # A sense of the second word has one example left, and so the word goes; the tenth loses one.
    less = asked(table.assign(**{SEEN: ~table.index.isin([6, 7, 60])}), 1)
    lost = every["text"].eq("the w10 is 0") & every["sense"].eq("10.0")
    gone = every["word"].eq("w1") | lost
    expected = every[~gone].reset_index(drop=True)
    pd.testing.assert_frame_equal(less.drop(columns=SEEN), expected)


def test_edge_probes_share_pairs_and_controls(monkeypatch):
    rng = np.random.default_rng(0)
    words = of_sentences([random_heads(rng, rng.integers(8, 15)) for _ in range(100)])
    texts, tags = np.array(["a", "b", "c"]), np.array(["NN", "VB", "JJ"])
    words = words.assign(
        text=texts[rng.integers(3, size=len(words))],
        tag=tags[rng.integers(3, size=len(words))],
        relation=np.array(["nsubj", "obj"])[rng.integers(2, size=len(words))],
    )
    seen = ~words["sentence"].isin([7, 80]).to_numpy()
    found = []

    def accuracies(view, labels, control, *of):
        found.append((view.astype(int), labels, control))
        yield {"metric": "accuracy", "value": 0.5, WITHOUT: np.full(20, 0.5)}

    monkeypatch.setattr(edge_probes, "accuracies", accuracies)
    list(edge_probes.edge_probes(np.arange(len(words))[None, :, None], words, 20, 1))
    view = np.flatnonzero(seen)[None, :, None]
    list(edge_probes.edge_probes(view, words.assign(**{SEEN: seen}), 20, 1))
    assert len(found) == 2 * len(edge_probes.TASKS)
    for every, less in zip(found[:5], found[5:], strict=True):
        kept = seen[every[0][:, 0]]
        assert 0 < (~kept).sum() < len(kept) / 10
        for of, of_less in zip(every, less, strict=True):
            np.testing.assert_array_equal(of[kept], of_less)


def test_probes_share_sentences_and_controls(whole, monkeypatch):
    def told(task, view, labels, control, sentences, *of):
        return view[:, 0], labels, control, sentences

    found = recorded(monkeypatch, probes, "probe", told)
    monkeypatch.setattr(probes, "scalar_mix", lambda *of: ())
    for seen in both(whole):
        rows_of("probes", seen, tasks=["tag"], occurrences=N, seed=1)
    every, less = found
    kept = every[0] != MISSING
    assert (~kept).sum() == 1 and len({*every[2]}) == 3
    for of, of_less in zip(every, less, strict=True):
        np.testing.assert_array_equal(of[kept], of_less)


def test_a_label_that_is_not_seen_may_be_one_of_the_control():
    rng = np.random.default_rng(3)
    view, labels = rng.normal(size=(400, 3)), rng.integers(2, size=400)
    sentences = np.arange(400) // 4
    control = np.where(labels == 0, 7, labels)
    rows = probes.probe("tag", view, labels, control, sentences, sentences % 5, 5)
    found = {row["metric"]: row for row in rows}
    assert {row["n_labels"] for row in found.values()} == {2}
    assert found["accuracy"]["value"] == pytest.approx(0.5, abs=0.2)
