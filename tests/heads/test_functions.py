"""Functions of heads: weights made by hand, and random ones against plain loops."""

from collections import Counter
from itertools import chain

import numpy as np
import pandas as pd
import pytest
import torch

from bottomup import subjects
from bottomup.core.errors import UserError
from bottomup.core.settings import Thresholds
from bottomup.corpus.frequencies import shared_ranks
from bottomup.corpus.specials import EOS, N_SPECIAL, PAD
from bottomup.corpus.tokens import TokenFile
from bottomup.heads.functions import COLUMNS, head_functions, word_attention
from bottomup.subjects.runs import Run
from tests.tiny import VOCAB, drawn, initial, model_of, tokens_of

RELATIONS = ["nsubj", "dobj", "amod", "advmod"]
SYNTACTIC = [f"{relation}_{way}" for relation in RELATIONS for way in ("to_head", "from_head")]
PAPER = {"positional": 0.9, "syntactic": 0.1, "pairs": 1, "rare": 0.5, "rare_rank": 500}
FUNCTIONS = ["positional", *SYNTACTIC, "rarest", "two_rarest"]
# Equally frequent are 9 and 10.
RANKS = np.array([9, 9, 9, 9, 1, 2, 3, 4, 5, 6, 6, 8, 8, 8, 8, 8, 8, 8, 8, 8])

# Big cats often eat small green fish: sub-words, then relation and head of each word.
WORDS = [[10], [11, 12], [13], [14], [15], [16], [17, 18]]
TREE = [
    *[("amod", 1), ("nsubj", 3), ("advmod", 3), ("ROOT", 3)],
    *[("amod", 6), ("amod", 6), ("dobj", 3)],
]


class Given(Run):
    """A model of one layer with the weights that it is given, by sentence `[heads, n, n]`."""

    def __init__(self, tokens, weights, causal=False):
        heads = weights[0].shape[0]
        super().__init__(
            model_of(heads=heads, d_model=2 * heads, causal=causal, vocab_size=VOCAB), None
        )
        sentences = [tuple(tokens.sentence(i)) for i in range(len(tokens))]
        assert len(set(sentences)) == len(sentences)
        self.weights = dict(zip(sentences, weights, strict=True))

    def attentions(self, ids, lengths=None):
        found = []
        for row in ids.tolist():
            weights = self.weights[tuple(i for i in row if i != PAD)]
            room = len(row) - weights.shape[-1]
            # Padding that looks at, and is looked at, as if it were the best there is.
            found.append(np.pad(weights, ((0, 0), (0, room), (0, room)), constant_values=2))
        return (torch.tensor(np.stack(found)),)


class Windowed(Given):
    """A model whose tokens see the ones beside them and no others."""

    def visible(self, length):
        places = torch.arange(length)
        return [(places - places[:, None]).abs() <= 1]


def flat(lists):
    return list(chain.from_iterable(lists))


def text_of(sentences):
    """A token file of sentences, each a list of words, each a list of sub-words."""
    ids = [[*flat(words), EOS] for words in sentences]
    numbers = [[*np.repeat(range(len(words)), list(map(len, words))), -1] for words in sentences]
    return TokenFile(
        ids=np.array(flat(ids), dtype=np.int32),
        words=np.array(flat(numbers), dtype=np.int32),
        offsets=np.cumsum([0, *map(len, ids)], dtype=np.int64),
    )


def annotation_of(trees):
    """A row for each word of trees, each a list of relation and head."""
    rows = [
        (sentence, word, relation, head)
        for sentence, tree in enumerate(trees)
        for word, (relation, head) in enumerate(tree)
    ]
    table = pd.DataFrame(rows, columns=["sentence", "word", "relation", "head"])
    return table.astype({"sentence": np.int32, "word": np.int32, "head": np.int32})


def unparsed(tokens):
    """Words without relations that are looked at, one for each token."""
    return annotation_of([[("dep", 0)] * (length - 1) for length in tokens.lengths])


def looking(keys, weight=0.6):
    """One head whose tokens have most weight at these places, the rest spread: `[1, n, n]`."""
    n = len(keys)
    weights = np.full((n, n), (1 - weight) / n)
    weights[np.arange(n), keys] += weight
    return weights[None]


def measure(
    subject, tokens, annotation=None, blocks=None, batch_tokens=40, unaligned=0, **thresholds
):
    """Where no blocks are given, each sentence is one."""
    annotation = unparsed(tokens) if annotation is None else annotation
    blocks = np.arange(len(tokens), dtype=np.int8) if blocks is None else blocks
    return head_functions(
        subject,
        tokens,
        annotation,
        tokens.ids,
        RANKS,
        Thresholds(**PAPER | thresholds),
        blocks,
        batch_tokens,
        unaligned=unaligned,
    )


def function(table, name):
    """The rows of one function, by head."""
    return table[table["function"] == name].reset_index(drop=True)


THREE_AND_FIVE = tokens_of([[4, 5, 6], [7, 8, 9, 10, 11]])


def heads_of(looks, lengths=(3, 5)):
    """Heads that look where functions of a token's place and the last place say, by sentence."""
    return [
        np.concatenate([looking([look(i, n - 1) for i in range(n)] + [0]) for look in looks])
        for n in lengths
    ]


def with_end(weights):
    """The same `[heads, n, n]` where </s>, the last, is looked at most by far."""
    weights = 0.1 * weights
    weights[:, :, -1] += 0.9
    return weights


LOOKS = [
    lambda i, last: i - 1 if i else last,
    lambda i, last: i + 1 if i < last else 0,
    lambda i, last: i,
    lambda i, last: 0,
]


@pytest.mark.parametrize("end", [lambda weights: weights, with_end])
def test_tokens_that_have_none_at_the_position_do_not_count(end):
    """The last head has as many maxima at 0, -1 and -2, and 4 tokens have one at -2."""
    subject = Given(THREE_AND_FIVE, [end(weights) for weights in heads_of(LOOKS)])
    table = measure(subject, THREE_AND_FIVE)
    found = function(table, "positional")
    assert found["head"].tolist() == [1, 2, 3, 4]
    assert found["offset"].tolist() == [-1, 1, 0, -2]
    assert found["accuracy"].tolist() == [1, 1, 1, 0.5]
    assert found["n"].tolist() == [6, 6, 8, 4]
    assert found["held"].tolist() == [True, True, True, False]
    assert (found["ci_low"][:3] < 1).all() and found["ci_high"].tolist()[:3] == [1, 1, 1]
    assert found["baseline_accuracy"].isna().all()


def test_the_position_is_that_of_the_largest_share():
    """Every token can look at itself, all but the first of a sentence at the one before."""
    tokens = tokens_of([[*range(4, 9)], [*range(9, 14)]])
    looks = [looking([0, 0, 1, 3, 4, 0]), looking([0, 0, 2, 3, 4, 0])]
    [row] = function(measure(Given(tokens, looks), tokens), "positional").itertuples()
    assert (row.offset, row.accuracy, row.n) == (0, 7 / 10, 10)
    looks = [looking([0, 0, 1, 3, 4, 0]), looking([0, 0, 1, 3, 3, 0])]
    [row] = function(measure(Given(tokens, looks), tokens), "positional").itertuples()
    assert (row.offset, row.accuracy, row.n) == (-1, 5 / 8, 8), "as many maxima, of fewer tokens"


@pytest.mark.parametrize(("misses", "held"), [(1, True), (2, False)])
def test_a_positional_head_looks_to_one_position_nine_times_of_ten(misses, held):
    tokens = tokens_of([[*range(4, 15)]])
    keys = [0, *range(10), 0]
    keys[10 - misses : 10] = [10] * misses
    [row] = function(measure(Given(tokens, [looking(keys)]), tokens), "positional").itertuples()
    assert row.accuracy == (10 - misses) / 10 and row.n == 10 and row.offset == -1
    assert row.held == held


def test_what_has_no_choice_is_not_asked():
    """A token alone, and the first one of a causal model, can only look at themselves."""
    tokens = tokens_of([[4, 5, 6], [7], [], [7, 8, 9, 10, 11]])
    first, last = heads_of(LOOKS)
    alone = [np.stack([np.eye(n)] * len(LOOKS)) for n in (2, 1)]
    found = function(measure(Given(tokens, [first, *alone, last]), tokens), "positional")
    assert found["n"].tolist() == [6, 6, 8, 4]

    looks = [lambda i, last: max(i - 1, 0), lambda i, last: i]
    weights = [np.tril(of_sentence) for of_sentence in heads_of(looks)]
    found = function(
        measure(Given(THREE_AND_FIVE, weights, causal=True), THREE_AND_FIVE), "positional"
    )
    assert found["offset"].tolist() == [-1, 0]
    assert found["accuracy"].tolist() == [1, 1]
    assert found["n"].tolist() == [6, 6]

    single = tokens_of([[4], []])
    [row] = function(measure(Given(single, alone), single), "positional")[:1].itertuples()
    assert row.n == 0 and np.isnan(row.accuracy) and row.offset is pd.NA and not row.held


def test_attention_to_words_is_a_sum_and_from_words_a_mean():
    """The first sentence has a word of one sub-word and one of two; the second one word."""
    first = [[0.4, 0.25, 0.3, 0.05], [0.5, 0.1, 0.2, 0.2], [0.1, 0.6, 0.1, 0.2], [1, 0, 0, 0]]
    second = [[0.7, 0.3, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]
    weights = torch.tensor([[first, second], [second, first]]).transpose(0, 1)
    words = torch.tensor([[0, 1, 1, -1], [0, -1, -1, -1]])
    found = word_attention(weights[:, :1], words, 2)
    expected = torch.tensor([[[0.4, 0.55], [0.3, 0.5]], [[0.7, 0.0], [0.0, 0.0]]])
    torch.testing.assert_close(found[:, 0], expected)
    # Both heads of both sentences, each by itself.
    found = word_attention(weights, words, 2)
    assert found.shape == (2, 2, 2, 2)
    torch.testing.assert_close(found[0, 1], word_attention(weights[:1, 1:], words[:1], 2)[0, 0])


def on_words(keys):
    """One head whose words have most weight on these words, in equal parts on their sub-words.

    On any one sub-word of a word of two it has less weight than on another word.
    """
    word_of = np.repeat(np.arange(len(WORDS)), list(map(len, WORDS)))
    n = len(word_of)
    weights = np.zeros((n + 1, n + 1))
    for query in range(n):
        others = [key for key in range(n) if word_of[key] != keys[word_of[query]]]
        best = [key for key in range(n) if word_of[key] == keys[word_of[query]]]
        weights[query, best] = 0.6 / len(best)
        weights[query, others[query % len(others)]] = 0.4
    weights[n, n] = 1
    return weights[None]


def relations(heads, causal=False, end=lambda weights: weights, **thresholds):
    tokens = text_of([WORDS])
    weights = end(np.concatenate([on_words(keys) for keys in heads]))
    weights = np.tril(weights) if causal else weights
    return measure(Given(tokens, [weights], causal), tokens, annotation_of([TREE]), **thresholds)


TO_HEADS = [head for _, head in TREE]
# Cats look at big, eat at cats, and fish at small; the others at the first word.
FROM_HEADS = [0, 0, 0, 1, 0, 0, 4]


@pytest.mark.parametrize("end", [lambda weights: weights, with_end])
def test_each_relation_in_each_direction(end):
    table = relations([TO_HEADS, FROM_HEADS], end=end).set_index("function").loc[SYNTACTIC]
    first, second = (table[table["head"] == head] for head in (1, 2))
    assert first["accuracy"].tolist() == [1, 0, 1, 0, 1, 0, 1, 0]
    # Of three adjectives, fish can look at one of its two only.
    assert second["accuracy"].tolist() == [0, 1, 0, 0, 0, 2 / 3, 0, 0]
    for head in (first, second):
        assert head["n"].tolist() == [1, 1, 1, 1, 3, 3, 1, 1]
        assert head["offset"].tolist() == [2, -2, -3, 3, 1, -1, 1, -1]
        assert head["baseline_accuracy"].tolist() == [1, 1, 1, 1, 2 / 3, 2 / 3, 1, 1]
    # Where the baseline is always right, no head can exceed it.
    assert first["held"].tolist() == [False, False, False, False, True, False, False, False]
    assert not second["held"].any()


@pytest.mark.parametrize(("pairs", "held"), [(3, True), (4, False)])
def test_too_few_pairs_judge_no_head(pairs, held):
    [found] = function(relations([TO_HEADS], pairs=pairs), "amod_to_head").itertuples()
    assert found.n == 3 and found.accuracy == 1
    assert found.held == held


def test_a_causal_model_is_asked_for_words_that_it_has_read():
    """The object sees its verb; verb and nouns see subject, adverb and adjectives."""
    before = [min(word, head) for word, head in enumerate(TO_HEADS)]
    table = relations([before], causal=True).set_index("function").loc[SYNTACTIC]
    assert table["n"].tolist() == [0, 1, 1, 0, 0, 3, 0, 1]
    assert table["accuracy"].dropna().tolist() == [0, 1, 0, 0]
    assert table["offset"].dropna().tolist() == [-2, -3, -1, -1]


def test_a_relation_that_never_occurs():
    tokens = tokens_of([[4, 5, 6]])
    table = measure(Given(tokens, [looking([0, 0, 0, 0])]), tokens)
    rows = table[table["function"].isin(SYNTACTIC)]
    assert len(rows) == len(SYNTACTIC)
    assert (rows["n"] == 0).all() and not rows["held"].any()
    empty = ["offset", "accuracy", "ci_low", "ci_high", "baseline_accuracy"]
    assert rows[empty].isna().all(axis=None)


def test_an_object_exceeds_its_baseline_by_a_tenth_of_it():
    """Objects stand 1, 1 and 2 words after the verb: the baseline finds 2 of 3, the head all."""
    trees = [
        [("ROOT", 0), ("dobj", 0)],
        [("ROOT", 0), ("dobj", 0), ("dep", 0)],
        [("ROOT", 0), ("det", 2), ("dobj", 0)],
    ]
    tokens = tokens_of([[4, 5], [4, 5, 6], [4, 6, 5]])
    weights = [looking([1, 0, 0]), looking([1, 0, 0, 0]), looking([2, 2, 0, 0])]
    for syntactic, held in ((0.49, True), (0.51, False)):
        table = measure(Given(tokens, weights), tokens, annotation_of(trees), syntactic=syntactic)
        [row] = function(table, "dobj_from_head").itertuples()
        assert (row.accuracy, row.baseline_accuracy, row.offset, row.n) == (1, 2 / 3, 1, 3)
        assert row.held == held


def test_of_equally_frequent_positions_the_baseline_is_the_leftmost():
    trees = [[("ROOT", 0), ("dobj", 0)], [("ROOT", 0), ("det", 2), ("dobj", 0)]]
    tokens = tokens_of([[4, 5], [4, 6, 5]])
    weights = [looking([1, 0, 0]), looking([2, 2, 0, 0])]
    table = measure(Given(tokens, weights), tokens, annotation_of(trees)).set_index("function")
    assert table.loc["dobj_from_head", ["offset", "baseline_accuracy"]].tolist() == [1, 0.5]
    assert table.loc["dobj_to_head", ["offset", "baseline_accuracy"]].tolist() == [-2, 0.5]


def test_what_one_block_alone_holds_has_no_interval():
    """Of three sentences the first has a relation, or the first two: the third makes no odds."""
    tokens = tokens_of([[4, 5], [4, 6], [6, 4]])
    subject = Given(tokens, [looking([1, 0, 0]), looking([0, 0, 0]), looking([1, 0, 0])])
    has, lacks = [("ROOT", 0), ("dobj", 0)], [("ROOT", 0), ("dep", 0)]
    for trees, accuracy, without in (
        ([has, lacks, lacks], 1, [np.nan, 1, 1]),
        ([has, has, lacks], 1 / 2, [0, 1, 1 / 2]),
    ):
        table = measure(subject, tokens, annotation_of(trees))
        [row] = function(table, "dobj_from_head").itertuples()
        assert row.accuracy == accuracy
        np.testing.assert_array_equal(row.without, without)
        assert np.isnan([row.ci_low, row.ci_high]).all() == np.isnan(without).any()


def test_a_baseline_without_a_block_may_be_of_another_offset():
    """Objects stand 1, 1, 2, 2 and 2 words after the verb; without the last three, 1."""
    near = [("ROOT", 0), ("dobj", 0), ("dep", 0)]
    far = [("ROOT", 0), ("dep", 0), ("dobj", 0)]
    tokens = tokens_of([[4, 5, 6], [4, 6, 5], [5, 4, 6], [5, 6, 4], [6, 5, 4]])
    subject = Given(tokens, [looking([2, 2, 0, 0])] * 5)
    blocks = np.array([0, 0, 1, 1, 1])
    table = measure(subject, tokens, annotation_of([near, near, far, far, far]), blocks)
    [row] = function(table, "dobj_from_head").itertuples()
    assert (row.offset, row.baseline_accuracy, row.accuracy) == (2, 3 / 5, 3 / 5)
    assert row.baseline_without.tolist() == [1, 1] and row.without.tolist() == [1, 0]


def test_the_position_without_a_block_may_be_another_one():
    """Of the first block all maxima are at +1, of the second more are at -1."""
    tokens = tokens_of([[4, 5, 6], [7, 8, 9, 10, 11]])
    subject = Given(tokens, [looking([1, 2, 0, 0]), looking([1, 0, 1, 2, 3, 0])])
    [row] = function(measure(subject, tokens), "positional").itertuples()
    assert (row.offset, row.accuracy) == (-1, 4 / 6)
    assert row.without.tolist() == [4 / 4, 2 / 2]


# Rarest is 9, twice, then 6; in the second 9 and 10 are the two rarest; the third has none.
RARE = tokens_of([[4, 9, 5, 9, 6], [9, 4, 10, 7], [4, 5, 6]])


def rare(looks, causal=False, end=lambda weights: weights, rare_rank=5):
    weights = [end(of_sentence) for of_sentence in heads_of(looks, lengths=(5, 4, 3))]
    weights = [np.tril(of_sentence) for of_sentence in weights] if causal else weights
    table = measure(Given(RARE, weights, causal), RARE, rare_rank=rare_rank)
    return function(table, "rarest"), function(table, "two_rarest")


@pytest.mark.parametrize("end", [lambda weights: weights, with_end])
def test_rare_tokens_with_repeated_and_equally_frequent_ones(end):
    looks = [lambda i, last: min(3, last), lambda i, last: last, lambda i, last: 2]
    rarest, two_rarest = rare(looks, end=end)
    assert rarest["n"].tolist() == two_rarest["n"].tolist() == [9, 9, 9]
    assert rarest["accuracy"].tolist() == pytest.approx([5 / 9, 0, 4 / 9])
    assert two_rarest["accuracy"].tolist() == pytest.approx([5 / 9, 5 / 9, 4 / 9])
    assert rarest["baseline_accuracy"].tolist() == pytest.approx([(5 * 2 / 5 + 4 / 2) / 9] * 3)
    assert two_rarest["baseline_accuracy"].tolist() == pytest.approx([(5 * 3 / 5 + 4 / 2) / 9] * 3)
    assert rarest["held"].tolist() == two_rarest["held"].tolist() == [True, True, False]
    assert rarest["offset"].isna().all()


def test_a_causal_model_is_asked_where_it_sees_rare_and_other_tokens():
    rarest, two_rarest = rare([lambda i, last: i], causal=True)
    assert rarest["n"].tolist() == two_rarest["n"].tolist() == [7]
    assert rarest["accuracy"].tolist() == pytest.approx([3 / 7])
    assert two_rarest["accuracy"].tolist() == pytest.approx([4 / 7])
    shares = [1 / 2, 1 / 3, 2 / 4, 2 / 5, 1 / 2, 2 / 3, 2 / 4]
    assert rarest["baseline_accuracy"].tolist() == pytest.approx([np.mean(shares)])
    shares[3] = 3 / 5
    assert two_rarest["baseline_accuracy"].tolist() == pytest.approx([np.mean(shares)])
    assert rarest["held"].tolist() == two_rarest["held"].tolist() == [True]


def test_no_sentence_has_a_rare_token():
    for rows in rare([lambda i, last: i], rare_rank=6):
        assert rows["n"].tolist() == [0] and rows["held"].tolist() == [False]
        assert rows[["accuracy", "ci_low", "ci_high", "baseline_accuracy"]].isna().all(axis=None)


def test_closed_heads_have_no_rows():
    subject = Given(THREE_AND_FIVE, heads_of(LOOKS))
    whole = measure(subject, THREE_AND_FIVE)
    gates = subject.model.encoder.layers[0].attention.gates
    gates[0], gates[1], gates[2] = 0, 0.5, 0
    table = measure(subject, THREE_AND_FIVE)
    expected = whole[whole["head"].isin([2, 4])].reset_index(drop=True)
    pd.testing.assert_frame_equal(table, expected)
    gates.zero_()
    assert measure(subject, THREE_AND_FIVE).empty


def slow_functions(weights, words, tree, causal):
    """What one head does in one sentence, by plain loops over its weights `[n + 1, n + 1]`.

    By function, a list of (query, right, chance) of all that is asked; for positions, of
    (query, offset, whether each offset can be seen).
    """
    ids = flat(words)
    n = len(ids)
    found = {name: [] for name in FUNCTIONS}
    for query in range(n):
        seen = range(query + 1) if causal else range(n)
        best = max(seen, key=lambda key: weights[query, key])
        if len(seen) > 1:
            found["positional"].append((best - query, [key - query for key in seen]))
        for function, k in (("rarest", 1), ("two_rarest", 2)):
            right = [
                len({other for other in ids if RANKS[other] > RANKS[token]}) < k for token in ids
            ]
            chance = sum(right[key] for key in seen) / len(seen)
            if max(RANKS[token] for token in ids) > 5 and 0 < chance < 1:
                found[function].append((right[best], chance))
    ends = np.cumsum([0, *map(len, words)])
    for dependent, (relation, head) in enumerate(tree):
        for way, query, key in (("to", dependent, head), ("from", head, dependent)):
            if relation in RELATIONS and not (causal and key > query):
                attention = [
                    np.mean(
                        [
                            sum(weights[part, ends[to] : ends[to + 1]])
                            for part in range(ends[query], ends[query + 1])
                        ]
                    )
                    for to in range(len(words))
                ]
                right = max(range(len(words)), key=attention.__getitem__) == key
                found[f"{relation}_{way}_head"].append((right, key - query))
    return found


def slow_value(asked, function):
    """Of what is asked of one head in some sentences, one after the other."""
    row = {"n": len(asked), "accuracy": np.nan, "baseline_accuracy": np.nan}
    if not asked:
        return row
    if function == "positional":
        votes = Counter(offset for offset, _ in asked)
        able = Counter(offset for _, seen in asked for offset in seen)
        often = [offset for offset in able if 2 * able[offset] >= len(asked)]
        row["offset"] = min(often, key=lambda offset: (-votes[offset] / able[offset], offset))
        asked = [(offset == row["offset"],) for offset, seen in asked if row["offset"] in seen]
    elif function in SYNTACTIC:
        votes = Counter(offset for _, offset in asked)
        row["offset"] = min(o for o in votes if votes[o] == max(votes.values()))
        row["baseline_accuracy"] = max(votes.values()) / len(asked)
    else:
        row["baseline_accuracy"] = np.mean([chance for _, chance in asked])
    return row | {"n": len(asked), "accuracy": np.mean([each[0] for each in asked])}


def slow_row(found, function, blocks):
    """The row of one head and function: found, by sentence."""
    asked = [sentence[function] for sentence in found]
    without = []
    for block in range(max(blocks) + 1):
        rest = [some for some, number in zip(asked, blocks, strict=True) if number != block]
        without.append(slow_value(flat(rest), function))
    row = slow_value(flat(asked), function)
    accuracies = [value["accuracy"] for value in without]
    return row | {
        "without": accuracies,
        "baseline_without": [value["baseline_accuracy"] for value in without],
    }


def random_text(n, seed):
    """Sentences of 0 to 7 words of 1 to 3 sub-words, in random trees of frequent relations."""
    rng = np.random.default_rng(seed)
    sentences, trees = [], []
    for _ in range(n):
        n_words = rng.integers(8)
        sizes = rng.choice([1, 1, 2, 3], n_words)
        sentences.append([rng.integers(N_SPECIAL, VOCAB - 6, size).tolist() for size in sizes])
        heads = [rng.integers(n_words) for _ in range(n_words)]
        labels = rng.choice([*RELATIONS[:3], "nsubjpass"], n_words)
        trees.append(
            [
                ("ROOT", word) if head == word else (label, int(head))
                for word, (label, head) in enumerate(zip(labels, heads, strict=True))
            ]
        )
    return sentences, trees


@pytest.mark.parametrize("objective", ["mlm", "lm"])
@pytest.mark.parametrize("batch_tokens", [25, 400])
def test_random_heads_against_plain_loops(objective, batch_tokens):
    sentences, trees = random_text(40, seed=3)
    tokens = text_of(sentences)
    subject = Run(drawn(objective, layers=2, heads=3, d_model=12, scale=1.0), None)
    blocks = np.random.default_rng(4).integers(7, size=40)
    table = measure(subject, tokens, annotation_of(trees), blocks, batch_tokens, rare_rank=5)
    found = [
        [[slow_functions(w, words, tree, objective == "lm") for w in layer[0]] for layer in layers]
        for words, tree in zip(sentences, trees, strict=True)
        for layers in [attentions(subject, words)]
    ]
    names = [(layer, head, name) for layer in (1, 2) for head in (1, 2, 3) for name in FUNCTIONS]
    assert list(table[["layer", "head", "function"]].itertuples(index=False, name=None)) == names
    assert list(table) == COLUMNS and (table["attention"] == "encoder").all()
    rows = [
        slow_row([sentence[layer - 1][head - 1] for sentence in found], name, blocks.tolist())
        for layer, head, name in names
    ]
    expected = pd.DataFrame(rows)
    for column in ("offset", "accuracy", "baseline_accuracy", "n"):
        np.testing.assert_allclose(
            table[column].astype(float), expected[column].astype(float), atol=1e-12, err_msg=column
        )
    for column in ("without", "baseline_without"):
        some = table["baseline_without"].notna() if column == "baseline_without" else table.index
        found = (np.stack(rows.loc[some, column]) for rows in (table, expected))
        np.testing.assert_allclose(*found, atol=1e-12, err_msg=column)
    assert (table["baseline_without"].isna() == (table["function"] == "positional")).all()
    asked = table[table["n"] > 0]
    assert set(FUNCTIONS) - set(asked["function"]) == {"advmod_to_head", "advmod_from_head"}
    assert asked["accuracy"].between(asked["ci_low"], asked["ci_high"]).all()


def attentions(subject, words):
    ids = torch.tensor([[*flat(words), EOS]])
    return [weights.double().numpy() for weights in subject.attentions(ids)]


@pytest.mark.parametrize("change", ["fewer", "others"])
def test_the_annotation_of_another_text(change):
    annotation = unparsed(THREE_AND_FIVE)
    if change == "fewer":
        annotation = annotation[:-1]
    else:
        annotation.loc[3, ["sentence", "word"]] = [0, 3]
    with pytest.raises(UserError, match=f"8 words, the annotation {len(annotation)}, not"):
        measure(Given(THREE_AND_FIVE, heads_of(LOOKS)), THREE_AND_FIVE, annotation)


def test_words_of_which_nothing_is_known_are_not_asked_for_relations():
    tokens = THREE_AND_FIVE
    known = measure(Given(tokens, heads_of(LOOKS)), tokens)
    found = head_functions(
        Given(tokens, heads_of(LOOKS)),
        *(tokens, None, tokens.ids, RANKS, Thresholds(**PAPER)),
        *(np.arange(2, dtype=np.int8), 40),
    )
    others = known[~known["function"].isin(SYNTACTIC)].reset_index(drop=True)
    pd.testing.assert_frame_equal(found, others)


@pytest.mark.parametrize(
    "labels", [("sb", "oa", "nk", "mo"), ("nsubj", "obj", "amod", "advmod")], ids=["TIGER", "UD"]
)
def test_relations_by_the_labels_of_other_schemes(labels):
    """TIGER has no labels of their own for adjectives and adverbs."""
    named = dict(zip(labels, RELATIONS, strict=True))
    rng = np.random.default_rng(0)
    tokens = text_of([WORDS])
    subject = Given(tokens, [rng.random((2, tokens.lengths[0], tokens.lengths[0]))])
    tree = [(labels[place % 4], head) for place, (_, head) in enumerate(TREE)]
    found = measure(subject, tokens, annotation_of([tree]))
    if "nk" in labels:
        named |= {"nk": "dep", "mo": "dep"}
    ours = [(named[label], head) for label, head in tree]
    pd.testing.assert_frame_equal(found, measure(subject, tokens, annotation_of([ours])))


CLS = 3


class Around(Given):
    """The same for text with a special token before it, too, which is looked at most."""

    def attentions(self, ids, lengths=None):
        [weights] = super().attentions(ids[:, 1:])
        return (torch.nn.functional.pad(weights, (1, 0, 1, 0), value=2),)


def test_special_tokens_before_the_text_change_nothing():
    rng = np.random.default_rng(0)
    tokens = text_of([WORDS, WORDS[1:3]])
    annotation = annotation_of([TREE, [("amod", 1), ("ROOT", 1)]])
    weights = [rng.random((2, n, n)) for n in tokens.lengths]
    usual = measure(Given(tokens, weights), tokens, annotation)
    starts = tokens.offsets[:-1]
    around = TokenFile(
        np.insert(tokens.ids, starts, CLS),
        np.insert(tokens.words, starts, -1),
        tokens.offsets + np.arange(3),
        np.insert(tokens.special, starts, True),
    )
    pd.testing.assert_frame_equal(measure(Around(tokens, weights), around, annotation), usual)


def test_a_word_begins_where_its_sentence_does():
    """Also after a sentence of one word, where no special token is between them."""
    tokens = TokenFile(*map(np.array, ([7, 8, 9, 7], [0, 0, 1, 0], [0, 1, 3, 4])))
    assert tokens.begins.all()


def test_words_that_have_no_tokens_of_their_own():
    """Nothing is asked of the fourth, the verb, nor where it is; as if it were related to none."""
    rng = np.random.default_rng(0)
    tokens = text_of([WORDS])
    weights = rng.random((2, tokens.lengths[0], tokens.lengths[0]))
    weights[:, :, tokens.words == 3] = 0
    words = np.where(tokens.words == 3, -1, tokens.words)
    subject = Given(tokens, [weights])
    apart = TokenFile(tokens.ids, words, tokens.offsets)
    found = measure(subject, apart, annotation_of([TREE]), unaligned=1)
    others = [pair if pair[1] != 3 else ("dep", 3) for pair in TREE]
    usual = measure(subject, tokens, annotation_of([others]))
    pd.testing.assert_frame_equal(found, usual)
    assert function(found, "nsubj_to_head")["n"].eq(0).all()
    with pytest.raises(UserError, match="6 words, the annotation 7, not"):
        measure(subject, apart, annotation_of([TREE]))


def test_what_is_of_no_type_is_not_rare():
    """The rarest token has no type of its own: the next one is looked for."""
    tokens, looks = THREE_AND_FIVE, heads_of([lambda i, last: 0, lambda i, last: last])
    types = np.where(tokens.ids == 11, -1, tokens.ids)
    thresholds, blocks = Thresholds(**PAPER | {"rare_rank": 0}), np.arange(2, dtype=np.int8)
    found = head_functions(
        Given(tokens, looks), tokens, unparsed(tokens), types, RANKS, thresholds, blocks, 40
    )
    usual = measure(Given(tokens, looks), tokens, rare_rank=0)
    hits, before = (function(table, "rarest")["accuracy"].tolist() for table in (found, usual))
    assert before == [0, 1]  # the last token of each sentence is its rarest
    # Of the second sentence the last but one is now, where no head looks: three of eight tokens.
    assert hits == [0, 3 / 8]


@pytest.mark.on_a_gpu("measure head_functions", "measure pruned_functions")
def test_the_program(measure, tmp_path, corpus_files):
    tokens = TokenFile.load(corpus_files.tokens / "test.source")
    corpus_files.save(initial, "lm", tmp_path / "model")
    trees = [
        [("nsubj", n - 1)] * (n - 1) + [("ROOT", n - 1)]
        for n in 1 + np.maximum.reduceat(tokens.words, tokens.offsets[:-1])
    ]
    annotation_of(trees).to_parquet(tmp_path / "annotation.parquet")
    about = {"objective": "lm", "seed": 2}
    thresholds = {"positional": 0.9, "syntactic": 0.1, "pairs": 1, "rare": 0.0, "rare_rank": 10}
    files = {
        "model": tmp_path / "model",
        "text": corpus_files.tokens / "test.source",
        "blocks": corpus_files.blocks("test"),
        "frequencies": corpus_files.frequencies,
        "annotation": tmp_path / "annotation.parquet",
    }

    def of_heads(name, about=about, batch_tokens=40):
        table = tmp_path / f"{name}.csv"
        of = "pruned_functions" if "method" in about else "head_functions"
        measure(of, about, thresholds, **files, batch_tokens=batch_tokens, table=table)

    for name in ("table", "again"):
        of_heads(name)
    assert (tmp_path / "table.csv").read_bytes() == (tmp_path / "again.csv").read_bytes()
    of_heads("at_once", batch_tokens=10_000)
    at_once = pd.read_csv(tmp_path / "at_once.csv")
    pd.testing.assert_frame_equal(at_once, pd.read_csv(tmp_path / "table.csv"), rtol=1e-4)
    about |= {"attention": "all", "method": "gates", "penalty": 0.5}
    of_heads("pruned", about)
    table, pruned = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("table", "pruned"))
    estimates = pd.read_parquet(tmp_path / "table.parquet")
    of_csv = [name for name in COLUMNS if name not in ("without", "baseline_without")]
    assert list(pruned) == [*about, *of_csv[1:]]
    assert set(pruned["attention"]) == {"all"}
    pd.testing.assert_frame_equal(pruned[of_csv[1:]], table[of_csv[1:]])
    assert list(table) == ["objective", "seed", *of_csv]
    assert list(estimates) == ["objective", "seed", *COLUMNS]
    text = TokenFile.load(corpus_files.tokens / "test.source")
    direct = head_functions(
        subjects.load(tmp_path / "model"),
        text,
        pd.read_parquet(tmp_path / "annotation.parquet"),
        text.ids,
        shared_ranks(pd.read_csv(corpus_files.frequencies)),
        Thresholds(**thresholds),
        np.load(corpus_files.blocks("test")),
        10_000,
        0,
    )
    found, expected = (np.stack(each["without"]) for each in (estimates, direct))
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    assert estimates["held"].tolist() == direct["held"].tolist()
    assert found.shape[1] == 4 and (np.nan_to_num(found - found[:, :1]) != 0).any()
    assert (estimates["baseline_without"].isna() == (table["function"] == "positional")).all()
    assert len(table) == 2 * 2 * len(FUNCTIONS)
    assert set(table["objective"]) == {"lm"} and set(table["seed"]) == {2}
    rare = table["function"].isin(["rarest", "two_rarest"])
    assert (table.loc[rare, "n"] > 0).all() and table.loc[rare, "held"].all()
    # A causal subject sees no verb at the end of the sentence.
    n = table.set_index("function")["n"]
    assert (n["nsubj_to_head"] == 0).all()
    assert (n["nsubj_from_head"] == sum(map(len, trees)) - len(trees)).all()


def test_what_is_beyond_a_window_is_not_asked():
    """Of the words, cats sees often and not eat, small sees green and not fish."""
    tokens = text_of([WORDS])
    # All look at </s> alone; of what else they see, which is all the same to them, at the first.
    weights = [np.eye(10)[[9] * 10][None]]
    found = measure(Windowed(tokens, weights), tokens, annotation_of([TREE]))
    n = found.set_index("function")["n"]
    asked = {name: n[f"{name}_to_head"] for name in RELATIONS}
    assert asked == {"nsubj": 0, "dobj": 0, "amod": 2, "advmod": 1}
    position = function(found, "positional").iloc[0]
    assert (position["offset"], position["accuracy"], position["n"]) == (-1, 1, 8)


def test_a_rare_token_beyond_a_window_is_not_asked_for():
    """The rarest is the last of six: the one before it sees it and two others, itself one other."""
    tokens = text_of([[[4], [5], [6], [7], [8], [9]]])
    found = measure(Windowed(tokens, [np.full((1, 7, 7), 1 / 7)]), tokens, rare_rank=3)
    rarest = function(found, "rarest").iloc[0]
    assert rarest["n"] == 2 and rarest["baseline_accuracy"] == pytest.approx((1 / 3 + 1 / 2) / 2)
