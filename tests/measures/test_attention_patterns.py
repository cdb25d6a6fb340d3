"""What heads attend to: maps made by hand, planted heads, and random maps against plain loops."""

import logging
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import (
    BitNetConfig,
    BitNetForCausalLM,
    LlamaConfig,
    MistralConfig,
    MistralForCausalLM,
)

from bottomup import subjects
from bottomup.core.seeds import generator
from bottomup.corpus import bpe
from bottomup.corpus.specials import EOS, N_SPECIAL
from bottomup.corpus.tokens import TokenFile
from bottomup.corpus.words import learn
from bottomup.measures.attention_patterns import (
    ON_REPEATED,
    SEQUENCES,
    by_norm,
    pattern,
    patterns,
    punctuation,
    random_tokens,
)
from bottomup.subjects.batches import batches
from bottomup.subjects.runs import Run
from bottomup.tables.attention_patterns import COLUMNS
from tests.subjects import families
from tests.tiny import VOCAB, drawn, initial, model_of, tokens_of

COMMA, PERIOD, START = 9, 10, 15  # the last one is of marks, too
PLENTY = 250  # types: enough for random tokens


MARKS = {COMMA: ",", PERIOD: " .", 11: "w,", 12: "", 13: "\ufffd", 14: "+", 15: "..."}


class Named:
    """A tokenizer in which a few tokens have marks."""

    def decode(self, ids, skip_special_tokens):
        assert not skip_special_tokens
        return "".join(MARKS.get(i, f"w{i}") for i in ids)


class Given(Run):
    """A model of one layer that attends as a function says, from a sentence to `[heads, n, n]`."""

    def __init__(self, attend, norm=None, causal=False, backward=False):
        heads = len(attend(np.array([5, 6])))
        config = {"heads": heads, "d_model": 2 * heads, "causal": causal, "vocab_size": VOCAB}
        config["backward"] = backward
        super().__init__(model_of(**config), Named())
        self.attend, self.norm = attend, norm

    def attentions(self, ids, lengths):
        found = []
        for row, n in zip(ids.numpy(), lengths.tolist(), strict=True):
            room = len(row) - n
            # Padding that looks at, and is looked at, as if it were the best there is.
            pad = ((0, 0), (0, room), (0, room))
            found.append(np.pad(self.attend(row[:n]), pad, constant_values=np.nan))
        return (torch.tensor(np.stack(found), dtype=torch.float32),)

    def value_norms(self, ids, lengths):
        if self.norm is None:
            return None
        one = np.vectorize(self.norm)(ids.numpy()).astype(np.float32)
        return (torch.from_numpy(one)[:, None].expand(-1, self.heads, -1),)


def measured(subject, text, blocks=None, seed=1, batch_tokens=300):
    """Rows by head, weight or norm, and quantity."""
    blocks = np.arange(len(text)) % 4 if blocks is None else np.array(blocks)
    rows = patterns(subject, text, blocks, 1 + max(blocks), seed, batch_tokens)
    return pd.DataFrame(rows).set_index(["head", "by", "quantity"]).sort_index()


def close(found, expected):
    assert found.to_dict() == pytest.approx(expected, rel=1e-5, nan_ok=True)


SENTENCE = tokens_of([[5, COMMA, 6]])  # and </s>
SEEN = [[0.1, 0.2, 0.3, 0.4], [0.25] * 4, [0, 0.5, 0.4, 0.1], [0.7, 0.1, 0.1, 0.1]]


def test_a_map_by_hand():
    """Of the queries, </s> does not count, nor do those that see no such token."""
    found = measured(Given(lambda ids: np.array([SEEN])), SENTENCE).loc[1, "weight"]
    entropy = -sum(w * np.log(w) for row in SEEN[:3] for w in row if w) / 3
    expected = {
        "special": (0.4 + 0.25 + 0.1) / 3,
        "punctuation": (0.2 + 0.25 + 0.5) / 3,
        "previous": (0.25 + 0.5) / 2,
        "itself": (0.1 + 0.25 + 0.4) / 3,
        "next": (0.2 + 0.25 + 0.1) / 3,
        "entropy_nats": entropy,
        "position": (0.2 + 0.25 + 0.5) / 3,
    }
    close(found["value"], expected)
    close(found["uniform"], dict.fromkeys(expected, 0.25) | {"entropy_nats": np.log(4)})
    assert found["n"].to_dict() == dict.fromkeys(expected, 3) | {"previous": 2}
    assert found["baseline"].isna().all(), "that is of random tokens"


def test_a_map_from_left_to_right_by_hand():
    """The first token sees itself alone and does not count; none sees a next one, or </s>."""
    rows = np.array([[[1, 0, 0, 0], [0.7, 0.3, 0, 0], [0.2, 0.3, 0.5, 0], [0, 0, 0, 1]]])
    found = measured(Given(lambda ids: rows, causal=True), SENTENCE).loc[1, "weight"]
    expected = {
        "punctuation": 0.3,
        "previous": (0.7 + 0.3) / 2,
        "itself": (0.3 + 0.5) / 2,
        "entropy_nats": -sum(w * np.log(w) for w in (0.7, 0.3, 0.2, 0.3, 0.5)) / 2,
        "position": 0.5,  # the third, which one query sees
    }
    close(found["value"], expected)
    uniform = dict.fromkeys(["punctuation", "previous", "itself", "position"], (1 / 2 + 1 / 3) / 2)
    close(found["uniform"], uniform | {"entropy_nats": np.log(6) / 2})
    assert found.loc["position", "n"] == 1


def test_what_a_head_leaves_to_no_token_is_spread_over_one_token_more():
    """By hand: a quarter for each of the two tokens, and half for none."""
    halves = np.array([[[0.25, 0.25, 0]] * 3])
    found = measured(Given(lambda ids: halves), tokens_of([[5, 6]])).loc[1, "weight"]["value"]
    assert found["entropy_nats"] == pytest.approx(1.5 * np.log(2))
    assert found["itself"] == 0.25 and found["special"] == 0


def test_by_norm_a_token_with_a_short_vector_gets_little():
    """By hand: weights .4 and .6 times lengths 3 and 1."""
    weights, norms = torch.tensor([[[[0.4, 0.6]]]]), torch.tensor([[[3.0, 1.0]]])
    np.testing.assert_allclose(by_norm(weights, norms)[0, 0, 0], [1.2 / 1.8, 0.6 / 1.8])
    assert by_norm(weights, 0 * norms).sum() == 0


@pytest.fixture
def no_operation():
    """A real model of one layer and head that attends to </s>, whose value there is zero."""
    model = model_of(heads=1, d_model=4, vocab_size=VOCAB)
    embedded = torch.tensor([2.0, -1.0, -1.0, 0.0]).repeat(VOCAB, 1)
    embedded[EOS] = torch.tensor([0.0, 3.0, -3.0, 0.0])  # a norm leaves 0 where it is
    model.encoder.embed = lambda ids: embedded[ids]
    attention = model.encoder.layers[0].attention
    with torch.no_grad():
        attention.query.weight.zero_()
        attention.query.bias.copy_(torch.tensor([8.0, 0, 0, 0]))
        attention.key_value.weight.zero_()
        attention.key_value.bias.zero_()
        attention.key_value.weight[0, 1] = 1.0  # keys read the second number
        attention.key_value.weight[4, 0] = 1.0  # values read the first
        attention.out.weight.copy_(torch.eye(4))
    return Run(model, Named())


def test_a_head_that_rests_where_its_value_is_zero(no_operation):
    """By weight nearly all of it is on </s>, by norm nothing (Kobayashi et al. 2020)."""
    found = measured(no_operation, tokens_of([[5, 6, 7, 5] * 5, [6, 7] * 8])).loc[1]
    assert found.loc[("weight", "special"), "value"] > 0.95
    assert found.loc[("norm", "special"), "value"] == 0
    assert found.loc[("norm", "itself"), "value"] == pytest.approx(
        (20 / 20 + 16 / 16) / 36, rel=1e-4
    )
    patterns_of = found.reset_index().groupby("by")["pattern"].unique()
    assert [*patterns_of["weight"]] == ["vertical"] and "vertical" not in patterns_of["norm"]


def test_by_weight_alone_says_so(caplog):
    with caplog.at_level(logging.INFO):
        found = measured(
            Given(lambda ids: np.full((1, len(ids), len(ids)), 1 / len(ids))), SENTENCE
        )
    assert {*found.index.get_level_values("by")} == {"weight"}
    assert any(message.startswith("by weight alone") for message in caplog.messages)


# Random maps against plain loops.


def random_maps(causal, seed=0):
    """A function from a sentence to maps of two heads that hang on its tokens alone."""

    def attend(ids):
        rng = np.random.default_rng([seed, *ids.tolist()])
        scores = np.exp(2 * rng.normal(size=(2, len(ids), len(ids))))
        scores[:, :, 1] *= 3 * np.array([[1], [20]])  # the second head has a sink
        scores = np.tril(scores) if causal else scores
        return scores / scores.sum(axis=-1, keepdims=True)

    return attend


def some_text(n=24, seed=0):
    """Sentences between a start and an end, of which one is a comma alone."""
    rng = np.random.default_rng(seed)
    lengths = [1, *rng.integers(2, 30, n - 1)]
    inner = [rng.integers(N_SPECIAL, VOCAB, length) for length in lengths]
    inner = [[COMMA], *inner[1:]]
    ids = [[START, *sentence, EOS] for sentence in inner]
    return TokenFile(
        np.concatenate(ids).astype(np.int32),
        np.zeros(sum(map(len, ids)), np.int32),
        np.cumsum([0, *map(len, ids)]),
        np.concatenate([[True, *[False] * (len(s) - 2), True] for s in ids]),
    )


def by_loops(attend, norm, text, sentences, causal):
    """Each quantity of each head, by weight and by norm, from its definition."""
    cells, sinks, first = defaultdict(list), defaultdict(list), defaultdict(list)
    for number in sentences:
        ids, n = text.sentence(number), text.lengths[number]
        weights = attend(ids)
        by = {"weight": weights, "norm": weights * [norm(i) for i in ids]}
        for (name, maps), head in ((x, h) for x in by.items() for h in range(len(weights))):
            on = defaultdict(list)
            for query in range(1, n - 1):
                end = query + 1 if causal else n
                row = maps[head, query] / maps[head, query, :end].sum()
                targets = {
                    "special": [0] if causal else [0, n - 1],
                    "punctuation": [k for k in range(1, n - 1) if ids[k] in (COMMA, PERIOD, 15)],
                    **{"previous": [query - 1], "itself": [query], "next": [query + 1]},
                }
                for target, keys in targets.items():
                    if keys := [key for key in keys if key < end]:
                        cells[head + 1, name, target].append(sum(row[key] for key in keys))
                entropy = -sum(w * np.log(w) for w in row[:end] if w > 0)
                cells[head + 1, name, "entropy_nats"].append(entropy)
                for key in range(min(4, end)):
                    on[key].append(row[key])
                    first[head + 1, name, key].append(row[key])
            if (n - 1 if causal else n) >= 16:
                for key in on:
                    sinks[head + 1, name, key].append(np.mean(on[key]) > 0.3)
    found = {key: np.mean(values) for key, values in cells.items()}
    for quantity, of in (("position", first), ("sink", sinks)):
        for head, name, _ in of:
            values = [np.mean(of[head, name, key]) for key in range(4) if (head, name, key) in of]
            found[head, name, quantity] = max(values)
    return found


@pytest.mark.parametrize("causal", [False, True])
def test_random_maps_against_loops_and_without_each_block(causal):
    """A start, an end, padding, sentences of all lengths; blocks left out are as if never read."""
    attend, text = random_maps(causal), some_text()
    blocks = np.arange(len(text)) % 3

    def norm(i):
        return 0.5 + i / 10

    found = measured(Given(attend, norm, causal), text, blocks)
    close(found["value"], by_loops(attend, norm, text, range(len(text)), causal))
    for block in range(3):
        kept = np.flatnonzero(blocks != block)
        expected = by_loops(attend, norm, text, kept, causal)
        close(pd.Series([*np.stack(found["without"])[:, block]], found.index), expected)
    uniform = Given(lambda ids: uniform_map(ids, causal)[None], causal=causal)
    spread = measured(uniform, text, blocks).loc[1, "weight"]
    close(spread["value"], found.loc[1, "weight"]["uniform"].to_dict())
    [no_sink] = spread.loc[["sink"], ["value", "ci_low", "ci_high"]].to_numpy()
    assert [*no_sink[:2]] == [0, 0] and 0 < no_sink[2] < 1, "a share of counted sentences"
    one_by_one = measured(Given(attend, norm, causal), text, blocks, batch_tokens=1)
    close(one_by_one["value"], found["value"].to_dict())
    assert found.loc[(2, "weight", "sink"), "value"] > 0.5
    low, high = found["ci_low"], found["ci_high"]
    assert ((low <= found["value"]) & (found["value"] <= high)).mean() > 0.9


def uniform_map(ids, causal):
    n = len(ids)
    seen = np.tril(np.ones((n, n))) if causal else np.ones((n, n))
    return seen / seen.sum(axis=-1, keepdims=True)


def test_a_sink_is_looked_for_in_sentences_of_16_tokens_that_are_seen():
    def on_third(ids):
        return np.eye(len(ids))[[2 % len(ids)] * len(ids)][None]

    short, long = tokens_of([[5, 6] * 7]), tokens_of([[5, 6] * 7, [5, 6, 7] * 5, [6, 7, 8] * 5])
    assert "sink" not in measured(Given(on_third), short).loc[1, "weight"].index
    row = measured(Given(on_third), long).loc[1, "weight", "sink"]
    assert (row["value"], row["n"], row["uniform"]) == (1, 2, 0)


# A model that reads from the end.


def mirrored(text):
    """The same sentences from their end."""
    of_sentences = range(len(text))
    spans = [slice(*text.offsets[[i, i + 1]]) for i in of_sentences]
    ids, words, special = (
        np.concatenate([of[span][::-1] for span in spans])
        for of in (text.ids, text.words, text.special)
    )
    return TokenFile(ids, words, text.offsets, special)


def from_end(attend):
    """The maps of a mirrored sentence."""
    return lambda ids: attend(ids[::-1])[:, ::-1, ::-1]


def test_what_reads_from_the_end_is_the_mirror_image_of_what_reads_from_the_left():
    """Its first positions are the last of the sentence; only there is a sink to be found."""
    attend, text = random_maps(causal=True), some_text()
    left = measured(Given(attend, float, causal=True), text)
    other = Given(from_end(attend), float, causal=True, backward=True)
    found = measured(other, mirrored(text)).rename(index={"next": "previous"})
    pd.testing.assert_frame_equal(found, left, rtol=1e-5, check_like=True)
    assert found.loc[(2, "weight", "sink"), "value"] > 0.5


# Where tokens repeat.


def many_types(n=600, seed=0):
    """A text whose types i occur the more often the smaller i is."""
    rng = np.random.default_rng(seed)
    ids = N_SPECIAL + np.sort(rng.zipf(1.3, 12_000) % PLENTY)
    ids = np.concatenate([ids, N_SPECIAL + np.arange(PLENTY)])
    return tokens_of(np.array_split(rng.permutation(ids), n))


def planted(beside, causal):
    """A head that attends to the last earlier occurrence of its token, or to what is beside it;
    evenly to all it sees where there is none."""

    def attend(ids):
        found = uniform_map(ids, causal)
        for query, token in enumerate(ids[:-1]):
            earlier = [k + beside for k in range(query) if ids[k] == token and k + beside >= 0]
            if earlier:
                found[query] = 0
                found[query, earlier[-1]] = 1
        return found[None]

    return attend


@pytest.mark.long
@pytest.mark.parametrize("reads", ["from both sides", "from the left", "from the end"])
@pytest.mark.parametrize(("quantity", "beside"), [*zip(ON_REPEATED, (0, 1, -1), strict=True)])
def test_a_planted_head_has_all_of_it(quantity, beside, reads):
    """One that attends beside the earlier token, such as an induction head, scores 1 there and 0 at
    the other places; where nothing repeats, as much as there is by chance."""
    attend, text = planted(beside, reads != "from both sides"), many_types()
    if reads == "from the end":
        subject = Given(from_end(attend), causal=True, backward=True)
        found = measured(subject, mirrored(text))
    else:
        found = measured(Given(attend, causal=reads == "from the left"), text)
    found = found.loc[1, "weight"].loc[[*ON_REPEATED]]
    expected = dict.fromkeys(ON_REPEATED, 0.0) | {quantity: 1.0}
    assert found["value"].to_dict() == pytest.approx(expected, abs=0.02 * (beside == -1))
    np.testing.assert_allclose(found["baseline"], found["uniform"], rtol=1e-5)
    assert (found["uniform"] < 0.05).all()
    assert found[["ci_low", "ci_high"]].isna().all(axis=None)
    assert (np.stack(found["without"]) == found["value"].to_numpy()[:, None]).all()
    assert found["without"].map(len).eq(4).all(), "as many as blocks"
    assert found["n"].between(SEQUENCES * 74, SEQUENCES * 75).all()


def test_uniform_where_tokens_repeat_by_hand():
    """Both sides: 1, 2 or 3 earlier ones among 101 that are seen; from the left, of as many as
    there are."""
    text = many_types()
    both = measured(Given(lambda ids: uniform_map(ids, False)[None]), text)
    left = measured(Given(lambda ids: uniform_map(ids, True)[None], causal=True), text)
    earlier = np.repeat([1, 2, 3], 25)
    expected = (earlier / 101).mean(), (earlier / np.arange(26, 101)).mean()
    for found, value in zip((both, left), expected, strict=True):
        row = found.loc[1, "weight", "duplicate"]
        assert row["uniform"] == pytest.approx(value, rel=1e-5)
        assert row["value"] == pytest.approx(value, rel=1e-5)


def test_random_tokens_are_of_middle_frequency_between_what_stands_around_a_text():
    text = many_types()
    around = TokenFile(
        *(text.ids, text.words, text.offsets), np.isin(np.arange(len(text.ids)), text.offsets[:-1])
    )
    subject = Given(lambda ids: np.ones((1, 1, 1)))
    repeated, others = random_tokens(subject, around, seed=1)
    types, counts = np.unique(around.ids[~around.special], return_counts=True)
    order = types[np.argsort(-counts, kind="stable")].tolist()
    for tokens, n_types in ((repeated, 25), (others, 100)):
        assert (tokens.lengths == 101).all() and len(tokens) == SEQUENCES
        assert tokens.special.reshape(-1, 101).sum(axis=0).tolist() == [SEQUENCES] + [0] * 100
        for sentence in map(tokens.sentence, range(SEQUENCES)):
            assert sentence[0] == around.ids[0]
            assert len({*sentence[1:].tolist()}) == n_types
            ranks = [order.index(token) for token in sentence[1:]]
            assert len(order) // 4 <= min(ranks) and max(ranks) < len(order) - len(order) // 4
    assert (repeated.sentence(0)[1:76] == repeated.sentence(0)[26:]).all()
    assert (repeated.sentence(0) != repeated.sentence(1)).any()
    again, other = (random_tokens(subject, around, seed)[0].ids for seed in (1, 2))
    assert (again == repeated.ids).all() and (other != repeated.ids).any()


def test_too_few_types_or_positions_leave_random_tokens_out_with_a_line(caplog, monkeypatch):
    subject = Given(lambda ids: uniform_map(ids, False)[None])
    with caplog.at_level(logging.INFO):
        assert random_tokens(subject, some_text(), seed=1) == []
        monkeypatch.setattr(Given, "max_length", 100)
        assert random_tokens(subject, many_types(), seed=1) == []
    first, second = caplog.messages
    assert first.startswith("no random tokens: the text has 8 types of middle frequency, where 100")
    assert second.endswith("the model reads 100 tokens at once, where 101 are needed")
    assert not {*measured(subject, some_text()).loc[1, "weight"].index} & {*ON_REPEATED}
    monkeypatch.setattr(Given, "max_length", 101)
    assert len(random_tokens(subject, many_types(), seed=1)) == 2


@pytest.mark.long
def test_an_untrained_model_is_near_what_is_even():
    """Its attention is weak, and says nothing of place or kind."""
    for objective in ("lm", "mlm"):
        model = initial(objective, vocab=N_SPECIAL + PLENTY, heads=4, d_model=64).eval()
        found = measured(Run(model, Named()), many_types())
        shares = found.drop(index=["entropy_nats", "sink"], level="quantity")
        apart = (shares["value"] - shares["uniform"]).abs()
        assert apart.max() < 0.06 and found["pattern"].eq("heterogeneous").all()
        of_random = found.loc[(slice(None), slice(None), [*ON_REPEATED]), :]
        assert (of_random["value"] - of_random["baseline"]).abs().max() < 0.01


# Classes, and marks.


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"special": 0.5, "position": 0.1, "itself": 0.2}, "vertical"),
        ({"position": 0.5, "itself": 0.2}, "vertical"),
        ({"special": 0.1, "position": 0.1, "next": 0.5}, "diagonal"),
        ({"position": 0.1, "previous": 0.9}, "diagonal"),
        ({"special": 0.3, "position": 0.1, "previous": 0.31}, "both"),
        ({"special": 0.5, "position": 0.1, "itself": 0.25}, "both"),
        ({"special": 0.3, "position": 0.1, "itself": 0.29}, "heterogeneous"),
        ({"special": 0.49, "position": 0.1, "itself": 0.2}, "heterogeneous"),
        # Shares on two diagonals are of two maps, and punctuation stands anywhere.
        ({"position": 0.1, "previous": 0.4, "next": 0.4, "punctuation": 0.9}, "heterogeneous"),
    ],
)
def test_classes_by_rule(found, expected):
    assert pattern(found) == expected


def test_punctuation_is_marks_alone():
    text = tokens_of([[COMMA, PERIOD, 11, 12, 13, 14, 15, 16]])
    assert np.flatnonzero(punctuation(Named(), text)).tolist() == [COMMA, PERIOD, 15]


# Lengths of what heads weight.


@torch.no_grad()
@pytest.mark.parametrize("objective", ["lm", "mlm", "mt"])
def test_lengths_in_head_width_are_those_in_model_width(objective):
    """Of each head the vector that it adds for a token, in the width of the model."""
    model = drawn(objective, layers=3, heads=4)
    model.encoder.layers[1].attention.gates[2] = 0
    subject = Run(model, Named())
    text = tokens_of([[5, 6, 7, 8, 9], [10, 6]])
    [batch] = batches(subject, text, 100)
    states = subject.hidden_states(batch.ids, lengths=batch.lengths)
    found = subject.value_norms(batch.ids, lengths=batch.lengths)
    assert len(found) == 3
    for layer, x, norms in zip(model.encoder.layers, states[:-1], found, strict=True):
        attention, width = layer.attention, layer.attention.d_head
        weight, bias = (part.chunk(2)[1] for part in attention.key_value.parameters())
        values = layer.attention_norm(x) @ weight.T + bias
        for head in range(4):
            cells = slice(head * width, (head + 1) * width)
            vectors = values[..., cells] @ attention.out.weight[:, cells].T
            expected = vectors.norm(dim=-1) * attention.gates[head]
            torch.testing.assert_close(norms[:, head], expected, rtol=1e-3, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("family", families.FAMILIES)
def test_lengths_in_every_family(family, tmp_path):
    """One token alone has all of the weight, so what each head puts out is its value."""
    known = families.FAMILIES[family]
    subject = subjects.load(families.save(known, tmp_path))
    ids, read = torch.tensor([[7], [9]]), []
    modules = [
        subject.encoder.get_submodule(known.projection.format(layer).removeprefix("encoder."))
        if subject.translates
        else subject.model.get_submodule(known.projection.format(layer))
        for layer in range(families.LAYERS)
    ]
    hooks = [one.register_forward_pre_hook(lambda _, x: read.append(x[0])) for one in modules]
    found = subject.value_norms(ids, lengths=torch.tensor([1, 1]))
    for hook in hooks:
        hook.remove()
    assert len(found) == len(read) == families.LAYERS
    for module, values, norms in zip(modules, read, found, strict=True):
        weight = module.weight.T if family == "gpt2" else module.weight
        width = weight.shape[1] // families.HEADS
        for head in range(families.HEADS):
            cells = slice(head * width, (head + 1) * width)
            expected = (values.view(2, -1)[:, cells] @ weight[:, cells].T).norm(dim=-1)
            torch.testing.assert_close(norms[:, head, 0], expected, rtol=1e-3, atol=1e-6)
    longer = torch.tensor([[7, 8, 9], [9, 7, 0]])
    beside = subject.value_norms(longer, lengths=torch.tensor([3, 2]))
    torch.testing.assert_close(beside[0][:, :, :1], found[0], rtol=1e-3, atol=1e-6)


def test_lengths_where_several_heads_share_a_value(tmp_path):
    config = LlamaConfig(**families.BERT | {"num_attention_heads": 4}, num_key_value_heads=2)
    family = replace(families.FAMILIES["llama"], config=config)
    subject = subjects.load(families.save(family, tmp_path))
    [first, *_] = subject.value_norms(torch.tensor([[5, 6, 7]]), lengths=torch.tensor([3]))
    layer = subject.model.layers[0]
    with torch.no_grad():
        x = layer.input_layernorm(subject.model.embed_tokens(torch.tensor([5, 6, 7])))
        values = layer.self_attn.v_proj(x).unflatten(1, (2, 2))  # [tokens, values, width]
        for head in range(4):
            projection = layer.self_attn.o_proj.weight[:, 2 * head : 2 * head + 2]
            expected = (values[:, head // 2] @ projection.T).norm(dim=-1)
            torch.testing.assert_close(first[0, head], expected, rtol=1e-3, atol=1e-6)


def test_a_family_that_does_more_with_values_has_no_lengths(tmp_path):
    """BitNet puts a norm between the heads and their projection."""
    config = BitNetConfig(**families.BERT, num_key_value_heads=2)
    family = replace(families.FAMILIES["llama"], config=config, trained=BitNetForCausalLM)
    subject = subjects.load(families.save(family, tmp_path))
    ids = torch.tensor([[5, 6, 7]])
    assert len(subject.attentions(ids, lengths=torch.tensor([3]))) == families.LAYERS
    assert subject.value_norms(ids, lengths=torch.tensor([3])) is None


def test_attention_that_is_even_over_a_sliding_window_is_even(tmp_path):
    """Of 12 tokens each sees itself and up to three before it. The first sees itself alone; the
    others see 2, 3, and 9 times 4."""
    size = families.BERT | {"num_hidden_layers": 1}
    config = MistralConfig(**size, num_key_value_heads=2, sliding_window=4)
    family = replace(families.FAMILIES["llama"], config=config, trained=MistralForCausalLM)
    subject = subjects.load(families.save(family, tmp_path))
    with torch.no_grad():
        subject.model.layers[0].self_attn.q_proj.weight.zero_()
    ids = np.random.default_rng(0).integers(5, 20, size=96).astype(np.int32)
    nothing = np.zeros(96, dtype=bool)
    text = TokenFile(ids, np.tile(np.arange(12), 8), 12 * np.arange(9), nothing)
    found = measured(subject, text).loc[1, "weight"]
    even = (1 / 2 + 1 / 3 + 9 / 4) / 11
    close(found["value"][["previous", "itself"]], {"previous": even, "itself": even})
    assert found["value"]["entropy_nats"] == pytest.approx((np.log(6) + 9 * np.log(4)) / 11)
    assert found["value"]["position"] == pytest.approx((1 / 2 + 1 / 3 + 1 / 4) / 3)
    close(found["uniform"], found["value"].to_dict())
    assert found["n"]["position"] == 8 * 3


# The program.


@pytest.mark.on_a_gpu("measure attention_patterns")
def test_the_program(measure, tmp_path, corpus_files):
    corpus_files.save(initial, "mlm", tmp_path / "model")
    about, files = {"objective": "mlm", "seed": 2}, {"model": tmp_path / "model"}
    files |= {"text": corpus_files.tokens / "test.source", "blocks": corpus_files.blocks("test")}

    def found(name, n, batch_tokens=40, seed=1):
        settings, table = {"sentences": n, "seed": seed}, tmp_path / f"{name}.csv"
        measure(
            "attention_patterns", about, settings, **files, batch_tokens=batch_tokens, table=table
        )
        return pd.read_csv(table), pd.read_parquet(table.with_suffix(".parquet"))

    (table, estimates), (again, _) = found("table", 5), found("again", 5)
    pd.testing.assert_frame_equal(table, again)
    assert list(estimates) == ["objective", "seed", *COLUMNS]
    assert list(table) == [name for name in estimates if name != "without"]
    text, blocks = TokenFile.load(files["text"]), np.load(files["blocks"])
    every, _ = found("every", len(text) + 5, batch_tokens=10_000)
    subject = subjects.load(tmp_path / "model")
    direct = pd.DataFrame(patterns(subject, text, blocks, 4, 1, 300))[list(table)[2:]]
    pd.testing.assert_frame_equal(every.iloc[:, 2:], direct, rtol=1e-4)
    some = np.sort(generator(1, "attention patterns").permutation(len(text))[:5])
    direct = patterns(subject, text.select(some), blocks[some], 4, 1, 300)
    expected = np.stack([row["without"] for row in direct])
    np.testing.assert_allclose(np.stack(estimates["without"]), expected, rtol=1e-4)
    assert not table["value"].equals(every["value"])
    assert not table["value"].equals(found("other", 5, seed=2)[0]["value"])


def test_a_checkpoint_reads_the_same_sentences_in_its_own_tokens(measure, tmp_path):
    sentences = [f"w{3 + n % 9} w{4 + n % 11} w5 w{6 + n % 7}" for n in range(12)]
    pd.DataFrame({"source": sentences}).to_parquet(tmp_path / "test.parquet")
    words = learn([sentences], bpe.learn([sentences], 5, lowercase=True, language="en"))
    words.save(str(tmp_path / "words.json"))
    np.save(tmp_path / "blocks.npy", np.arange(12, dtype=np.int8) % 3)
    folder = families.save(families.FAMILIES["bert"], tmp_path / "model")
    measure(
        "attention_patterns",
        {"objective": "bert", "seed": 0},
        {"sentences": 12, "seed": 1},
        model=folder,
        text=tmp_path / "none.npy",
        blocks=tmp_path / "blocks.npy",
        written=[tmp_path / "test.parquet", tmp_path / "words.json"],
        table=tmp_path / "table.csv",
    )
    table = pd.read_csv(tmp_path / "table.csv")
    subject = subjects.load(folder)
    expected = []
    for sentence in sentences:
        ids = torch.tensor([subject.tokenizer.encode(sentence).ids])
        [maps, *_] = subject.attentions(ids, lengths=torch.tensor([4]))
        expected.append(maps[0].diagonal(dim1=1, dim2=2).mean(dim=1))
    rows = table.query("layer == 1 and by == 'weight' and quantity == 'itself'")
    np.testing.assert_allclose(rows["value"], torch.stack(expected).mean(dim=0), rtol=1e-4)
    assert {*table["by"]} == {"weight", "norm"} and (rows["n"] == 48).all()
