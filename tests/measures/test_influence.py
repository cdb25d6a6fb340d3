"""Influence against a slow, plain implementation, and what hiding must not touch."""

import logging

import numpy as np
import pandas as pd
import pytest
import torch

from bottomup import subjects
from bottomup.core.errors import UserError
from bottomup.corpus.specials import EOS, N_SPECIAL
from bottomup.measures.blocks import distances, moments_of_blocks
from bottomup.measures.groups import Group
from bottomup.measures.influence import (
    choose,
    continued,
    embedded,
    influence,
    matched,
    without,
)
from bottomup.measures.jackknife import WITHOUT
from bottomup.measures.pwcca import pwcca_distance
from bottomup.subjects.runs import Run
from bottomup.views.occurrences import plain
from tests.model import by_hand
from tests.subjects.families import FAMILIES, save
from tests.tiny import VOCAB, drawn, initial, random_tokens, tokens_of

LAYERS, D = 3, 8
TEXT = random_tokens(60, low=1, high=9)
READING = plain(TEXT, np.arange(60), np.zeros(VOCAB, dtype=int))
BLOCKS = np.arange(60) % 6
TABLE = READING.table.assign(block=BLOCKS[READING.table["text"]])
N = len(TABLE)
IDS = TABLE["input_id"].to_numpy()
# Tokens 4 to 6 of 4 to 19: there are sentences with none of them, and some of nothing else.
MEMBERS = IDS < N_SPECIAL + 3
EVERYTHING = 1000  # sentences, more than there are
BATCH = 40
MODES = ["token", "group"]


def group(members, name="some", **columns):
    default = {"representatives": members, "whole": members, "units": np.arange(len(members))}
    return Group("pos", name, members, **default | columns)


def subject(objective):
    return Run(drawn(objective, layers=LAYERS, d_model=D), tokenizer=None)


def influences(subject, groups, hidden, n_sentences=EVERYTHING, seed=1, batch_tokens=BATCH):
    call = influence(subject, TEXT, TABLE, groups, hidden, n_sentences, seed, batch_tokens)
    return [row for row in call if row["matching"] == "published"]


def published(groups, hidden, n_sentences=EVERYTHING, seed=1):
    """What is read, and the cases as published."""
    text, cases = choose(TEXT, TABLE, groups, hidden, n_sentences, seed)
    return text, [case for case in cases if case.names["matching"] == "published"]


def slowly(model, ids, hidden, at):
    """One sentence, all layers, `hidden` tokens out of sight in layer `at`: `[L + 1, n, d]`."""
    n = len(ids)
    x = model.encoder.embedding(torch.from_numpy(ids).long())
    x = x + torch.stack([by_hand.position(i, x.shape[1]) for i in range(n)])
    states = [x]
    for number, layer in enumerate(model.encoder.layers, start=1):
        allowed = torch.ones(n, n, dtype=torch.bool)
        for query in range(n):
            for key in range(n):
                if model.config.causal and key > query:
                    allowed[query, key] = False
                if number == at and hidden[key] and key != query:
                    allowed[query, key] = False
        x = by_hand.encoder_layer(layer, x, allowed)
        states.append(x)
    return torch.stack(states).detach()


def slow_versions(model, mode, at):
    """Rows `[n, d]` as usual and without what is hidden, their sentences, how many were read."""
    usual, changed, sentences, n_read = [], [], [], 0
    for number in range(len(TEXT)):
        ids = TEXT.sentence(number)
        members = np.isin(ids, IDS[MEMBERS])
        if mode == "token":
            cases = [np.arange(len(ids)) == place for place in np.flatnonzero(members)]
        else:
            cases = [members] if members.any() else []
        for hidden in cases:
            others = ~hidden & (ids != EOS)
            usual.append(slowly(model, ids, np.zeros_like(hidden), at)[at][others])
            changed.append(slowly(model, ids, hidden, at)[at][others])
            sentences += [number] * int(others.sum())
            n_read += 1
    return torch.cat(usual), torch.cat(changed), np.array(sentences), n_read


def versions(subject, layer, mode, members=MEMBERS):
    """The case of one group, and its tokens before and after a layer, as usual and without it."""
    text, [case] = published([group(members)], mode)
    usual = embedded(subject, text, BATCH)
    for number in range(1, layer + 1):
        below, usual = usual, continued(subject, number, usual, text, BATCH)
    below, usual = below[case.tokens], usual[case.tokens]
    return case, below, usual, without(subject, layer, below, usual, case, BATCH)


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("objective", ["lm", "mlm", "mt"])
def test_equals_the_slow_way(objective, mode):
    tried = subject(objective)
    rows = influences(tried, [group(MEMBERS)], mode)
    assert [row["layer"] for row in rows] == [1, 2, 3]
    for row in rows:
        usual, changed, sentences, n_read = slow_versions(tried.model, mode, row["layer"])
        case, _, x, y = versions(tried, row["layer"], mode)
        # float32 in another order of sums.
        torch.testing.assert_close(x[case.compared], usual, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(y[case.compared], changed, rtol=1e-4, atol=1e-4)
        distance = pwcca_distance(usual.numpy(), changed.numpy())
        assert distance > 0.001
        assert row["distance"] == pytest.approx(distance, rel=1e-3)
        assert row["n_occurrences"] == len(usual)
        assert row["n_sentences"] == n_read
        parts = moments_of_blocks(usual, changed, BLOCKS[sentences], 6)
        [expected] = distances(parts, [("definition", "x")])
        assert row[WITHOUT] == pytest.approx(expected[WITHOUT], rel=1e-3)
        assert row["ci_low"] == pytest.approx(expected["ci_low"], rel=1e-3)
        assert row["ci_high"] == pytest.approx(expected["ci_high"], rel=1e-3)


@pytest.mark.parametrize("objective", ["lm", "mlm"])
def test_as_usual_is_what_the_model_makes_of_the_text(objective):
    tried = subject(objective)
    ids = torch.from_numpy(TEXT.sentence(7)).long()[None]
    expected = tried.hidden_states(ids)
    some = TEXT.select(np.array([7]))
    states = embedded(tried, some, BATCH)
    assert torch.equal(states, expected[0][0])
    for layer in range(1, LAYERS + 1):
        states = continued(tried, layer, states, some, BATCH)
        torch.testing.assert_close(states, expected[layer][0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("objective", ["lm", "mlm"])
@pytest.mark.parametrize("layer", [1, 3])
def test_hiding_nothing_changes_nothing(objective, layer, mode):
    tried = subject(objective)
    case, below, usual, _ = versions(tried, layer, mode)
    case.hidden[:] = False
    same = without(tried, layer, below, usual, case, BATCH)
    assert torch.equal(same, usual)
    # Other batches round otherwise: what is not changed is not computed again.
    assert torch.equal(without(tried, layer, below, usual + 1, case, BATCH), usual + 1)
    assert pwcca_distance(usual.numpy(), same.numpy()) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("objective", ["lm", "mlm"])
def test_hiding_what_nothing_else_sees_changes_nothing(objective, mode):
    """None but </s> reads the last token in an LM, and </s> does not count."""
    last = TABLE["right_id"].to_numpy() == EOS
    rows = influences(subject(objective), [group(last)], mode)
    found = np.array([row["distance"] for row in rows])
    if objective == "lm":
        assert found == pytest.approx(0, abs=1e-9)
    else:
        assert (found > 1e-3).all()


def test_layers_below_are_left_as_they_are():
    """What a layer is computed from is that of the model, whatever was hidden in those before."""
    tried = subject("mlm")
    for layer in (1, 2, 3):
        case, below, usual, _ = versions(tried, layer, "group")
        before = below.clone(), usual.clone()
        assert not torch.equal(without(tried, layer, below, usual, case, BATCH), usual)
        assert torch.equal(below, before[0]) and torch.equal(usual, before[1])
        for number in range(len(case.text)):
            ids = torch.from_numpy(case.text.sentence(number)).long()[None]
            expected = tried.hidden_states(ids)
            rows = slice(*case.text.offsets[number : number + 2])
            for found, states in ((below, expected[layer - 1]), (usual, expected[layer])):
                torch.testing.assert_close(found[rows], states[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("objective", ["lm", "mlm"])
@pytest.mark.parametrize("layer", [1, 3])
def test_an_lm_changes_after_a_hidden_token_only_and_others_on_both_sides(objective, layer, mode):
    case, _, usual, changed = versions(subject(objective), layer, mode)
    same = (usual == changed).all(dim=1).numpy()
    after, before = np.zeros((2, len(same)), dtype=bool)
    for start, end in zip(case.text.offsets[:-1], case.text.offsets[1:], strict=True):
        hidden = case.hidden[start:end]
        for place in range(end - start):
            after[start + place] = hidden[:place].any()
            before[start + place] = hidden[place + 1 :].any()
    seen = after if objective == "lm" else after | before
    assert (same == ~seen).all()
    assert (~after & before).any() and after.any()


def test_of_a_group_all_that_a_sentence_holds_is_hidden():
    text, [case] = published([group(MEMBERS)], "group")
    ids = text.ids[case.tokens]
    assert np.array_equal(ids, case.text.ids)
    assert np.array_equal(case.hidden, np.isin(ids, [4, 5, 6]))
    assert np.array_equal(case.compared, ~case.hidden & (ids != EOS))
    assert len(case.text) == TABLE["text"][MEMBERS].nunique()


def test_of_tokens_each_is_hidden_once_in_a_copy_of_its_sentence():
    text, [case] = published([group(MEMBERS)], "token")
    assert np.array_equal(text.ids[case.tokens], case.text.ids)
    assert np.array_equal(case.compared, ~case.hidden & (case.text.ids != EOS))
    copies = np.repeat(np.arange(len(case.text)), case.text.lengths)
    assert np.array_equal(copies[case.hidden], np.arange(MEMBERS.sum()))
    assert len(text) == TABLE["text"][MEMBERS].nunique()
    places = np.flatnonzero(case.hidden) - case.text.offsets[:-1]
    found = set(zip(case.sentences[case.hidden], places, strict=True))
    rows = TABLE[MEMBERS]
    assert found == set(zip(rows["text"], rows["position"], strict=True))


def test_all_sub_words_of_a_word_are_hidden_together():
    """Words are pairs of tokens; a group of some of them is chosen by the second token of each."""
    second = (TABLE["position"] % 2 == 1).to_numpy()
    units = np.cumsum(TABLE["position"] % 2 == 0).to_numpy()
    members = np.isin(units, units[second & MEMBERS])
    words = group(members, representatives=members & second, units=units)
    _, [case] = published([words], "token")
    for start, end in zip(case.text.offsets[:-1], case.text.offsets[1:], strict=True):
        first, last = np.flatnonzero(case.hidden[start:end])
        assert last == first + 1 and first % 2 == 0
        assert case.text.ids[start + last] in (4, 5, 6)
    assert len(case.text) == (second & MEMBERS).sum()


@pytest.mark.parametrize("mode", MODES)
def test_sentences_are_shared_between_groups(mode):
    some = [group(MEMBERS, "a"), group(IDS < N_SPECIAL + 4, "b")]
    text, cases = published(some, mode, 10)
    assert [len(case.text) for case in cases] == [10, 10]
    assert len(text) < 17
    for case, limit in zip(cases, [7, 8], strict=True):
        hidden = case.text.ids[case.hidden]
        assert ((hidden >= N_SPECIAL) & (hidden < limit)).all()
    again, other = (published(some, mode, 10, seed)[1][0].text.ids for seed in (1, 2))
    assert np.array_equal(again, cases[0].text.ids)
    assert not np.array_equal(other, cases[0].text.ids)


def test_a_group_without_others_beside_it_is_left_out():
    everything = group(np.full(N, True), "all")
    rows = influences(subject("mlm"), [everything, group(MEMBERS)], "group")
    assert {row["group"] for row in rows} == {"some"}


@pytest.mark.parametrize("mode", MODES)
def test_batches_make_no_difference(mode):
    tried = subject("mlm")
    for one, other in zip(
        influences(tried, [group(MEMBERS)], mode),
        influences(tried, [group(MEMBERS)], mode, batch_tokens=10),
        strict=True,
    ):
        assert one["distance"] == pytest.approx(other["distance"], rel=1e-4)


@pytest.mark.parametrize("mode", MODES)
def test_seeds_decide(mode):
    tried = subject("mlm")
    first, again, other = (
        [row["distance"] for row in influences(tried, [group(MEMBERS)], mode, 20, seed)]
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_what_cannot_be_hidden_is_refused():
    with pytest.raises(UserError, match=r"hidden 'word'; allowed: token, group"):
        choose(TEXT, TABLE, [group(MEMBERS)], "word", 10, seed=1)


def test_without_training_any_token_influences_as_much_as_any_other():
    """What all of a group do, on the other hand, grows with how many there are.

    Tokens are drawn alike, so groups differ by their share alone: a fourth and a sixteenth of all.
    """
    tried = Run(initial("mlm", layers=1, d_model=8).eval(), tokenizer=None)
    some = [group(IDS < N_SPECIAL + 4, "many"), group(IDS < N_SPECIAL + 1, "few")]
    many, few = (row["distance"] for row in influences(tried, some, "token"))
    assert 0.5 < many / few < 2
    many, few = (row["distance"] for row in influences(tried, some, "group"))
    assert many / few > 1.5


def words_of_groups():
    """Whole words of three groups in sentences of other lengths: `a` in short ones, `b` in long
    ones, `few` everywhere, but seldom; types, lengths, and an order."""
    generator = np.random.default_rng(0)
    lengths = generator.integers(1, 41, size=6000)
    short = generator.random(6000) < 1 / lengths**0.5
    types = np.where(short, generator.integers(3, size=6000), 3 + generator.integers(50, size=6000))
    few = generator.random(6000) < 0.02
    names = {"a": short & ~few, "b": ~short & ~few, "few": few}
    some = [group(members, name) for name, members in names.items()]
    return some, lengths, types, generator.permutation(6000)


def test_matched_groups_have_like_numbers_of_words_in_sentences_of_each_length(caplog):
    some, lengths, types, order = words_of_groups()
    edges = np.quantile(lengths, [0.2, 0.4, 0.6, 0.8])
    strata = np.searchsorted(edges, lengths)
    scarcest = np.bincount(strata[some[2].members]).min()
    found = dict((of.name, rows) for of, rows in matched(some, lengths, types, order, 150))
    assert list(found) == ["a", "b", "few"] and 10 < scarcest < 30
    for of in some:
        rows = found[of.name]
        assert of.members[rows].all() and len(set(rows)) == len(rows)
        assert np.bincount(strata[rows]).tolist() == [scarcest] * 5
    of_all = [lengths[found[name]].mean() for name in "ab"]
    as_published = [lengths[some[place].members].mean() for place in (0, 1)]
    assert as_published[1] - as_published[0] > 5
    assert of_all[1] - of_all[0] < 1
    # Types take turns: of three types seven or eight in a stratum, of fifty none comes twice.
    for place in range(5):
        counts = {
            name: np.unique(types[rows[strata[rows] == place]], return_counts=True)[1]
            for name, rows in found.items()
        }
        assert len(counts["a"]) == 3 and np.ptp(counts["a"]) <= 1
        assert counts["b"].max() == 1

    with caplog.at_level(logging.INFO):
        left = [of.name for of, _ in matched(some, lengths, types, order, 600)]
    assert left == ["a", "b"]
    assert f"few has {scarcest} words in sentences of some length" in caplog.text


def test_matched_words_are_hidden_alone_whatever_the_setting():
    """Every second member is a word by itself."""
    whole = MEMBERS & (np.arange(N) % 2 == 0)
    some = [group(MEMBERS, whole=whole)]
    for mode in MODES:
        _, cases = choose(TEXT, TABLE, some, mode, 10, seed=1)
        assert [case.names["matching"] for case in cases] == ["published", "matched"]
        case = cases[1]
        assert len(case.text) == case.hidden.sum() == 10
        places = np.flatnonzero(case.hidden) - case.text.offsets[:-1]
        hidden = set(zip(case.sentences[case.hidden], places, strict=True))
        rows = TABLE[whole]
        assert hidden <= set(zip(rows["text"], rows["position"], strict=True))


def test_words_of_one_influence_in_sentences_of_unequal_lengths_are_alike_where_matched():
    """Without training a token tells the less, the more others there are. Tokens 4 to 6 stand in
    short sentences mostly, 7 to 9 in long ones, and none means more than another."""
    generator = np.random.default_rng(0)
    sentences = []
    for length, share in zip((3, 6, 12, 20, 30), (0.9, 0.7, 0.5, 0.3, 0.1), strict=True):
        for _ in range(1200 // length):
            short = generator.random(length) < share
            ids = np.where(short, *generator.integers([[4], [7]], [[7], [10]], (2, length)))
            sentences.append(ids.tolist())
    text = tokens_of(sentences)
    table = plain(text, np.arange(len(text)), np.zeros(VOCAB, dtype=int)).table
    table = table.assign(block=table["text"] % 8)
    some = [
        group(table["input_id"].isin(ids).to_numpy(), name)
        for name, ids in (("short", [4, 5, 6]), ("long", [7, 8, 9]))
    ]
    tried = Run(initial("mlm", layers=1, d_model=8).eval(), tokenizer=None)
    rows = pd.DataFrame(influence(tried, text, table, some, "token", 500, 1, 2000))
    found = rows.pivot(index="matching", columns="group", values="distance")
    ratio = found["short"] / found["long"]
    assert ratio["published"] > 1.4
    assert ratio["matched"] == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
def test_of_a_checkpoint_it_is_the_distance_to_what_it_makes_without_the_token(family, tmp_path):
    """A token of each kind in turn, in sentences of 9 tokens at most, with no ends."""
    checkpoint = subjects.load(save(FAMILIES[family], tmp_path))
    text = random_tokens(60, low=1, high=9)
    reading = plain(text, np.arange(60), np.zeros(VOCAB, dtype=int)).table
    members = reading["input_id"].to_numpy() == N_SPECIAL
    table = reading.assign(block=(reading["text"] % 6).astype(np.int8))
    found = influence(checkpoint, text, table, [group(members)], "token", EVERYTHING, 1, BATCH)
    found = [row for row in found if row["matching"] == "published"]
    assert [row["layer"] for row in found] == [1, 2]
    usual, without = ([[] for _ in found] for _ in range(2))
    for sentence, position in reading.loc[members, ["text", "position"]].itertuples(index=False):
        ids = torch.from_numpy(text.sentence(sentence)[None].astype(np.int64))
        others = (torch.arange(ids.shape[1]) != position) & (ids[0] != EOS)
        states = checkpoint.hidden_states(ids)
        for place, layer in enumerate((1, 2)):
            hidden = torch.zeros(2, *ids.shape, dtype=torch.bool)
            hidden[layer - 1, 0, position] = True
            usual[place].append(states[layer][0, others])
            without[place].append(checkpoint.hidden_states(ids, hidden=hidden)[layer][0, others])
    for row, *versions in zip(found, usual, without, strict=True):
        x, y = (torch.cat(parts).double().numpy() for parts in versions)
        assert row["distance"] == pytest.approx(pwcca_distance(x, y), abs=1e-4)
