"""Functions of encoder heads: position, syntax, rare tokens (Voita et al. ACL 2019, section 5).

A head is judged by where its largest weight (its maximum) falls. As in the paper, </s> is left out,
and so are the other special tokens of a checkpoint: they are no queries, and a head that attends to
one is judged by its next largest weight. Any other token may have the maximum, even the query.

Maxima count only where the head has a choice: where it can see a right token and a wrong one.
Otherwise the first token, which has none before it, would spoil a head that looks to the left, a
causal model would fail at what it has not read yet, and a layer with a sliding window at what is
beyond it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from bottomup.core.errors import UserError
from bottomup.core.files.joins import require_equal_lengths
from bottomup.core.settings import Thresholds
from bottomup.corpus.tokens import NO_WORD, TokenFile
from bottomup.measures import jackknife
from bottomup.subjects import Subject
from bottomup.subjects.batches import batches

# The labels of the paper's relations in spaCy's English pipelines, in Universal Dependencies, and
# in TIGER (spaCy's German pipelines), whose labels do not tell the last two from other relations.
RELATIONS = {
    "nsubj": ("nsubj", "sb"),
    "dobj": ("dobj", "obj", "oa"),
    "amod": ("amod",),
    "advmod": ("advmod",),
}
BASELINE_WITHOUT = "baseline_without"
COLUMNS = [
    *("attention", "layer", "head", "function", "offset"),
    *("accuracy", "ci_low", "ci_high", jackknife.WITHOUT),
    *("baseline_accuracy", BASELINE_WITHOUT, "n", "n_needed", "held"),
]


@dataclass(frozen=True)
class Units:
    """The tokens of a text without special ones, or its words, sentence by sentence.

    offsets: where each sentence begins and the last one ends, `[n_sentences + 1]`. sentence, place:
    the sentence of each unit and its place there, from 0, both `[n]`. first, end: the place of the
    first unit of its sentence that each sees in a layer, and the one after the last, both `[n]`;
    see `seeing`.
    """

    offsets: np.ndarray
    sentence: np.ndarray
    place: np.ndarray
    first: np.ndarray
    end: np.ndarray

    @property
    def seen(self) -> np.ndarray:
        """How many units each sees, `[n]`."""
        return self.end - self.first

    @property
    def lengths(self) -> np.ndarray:
        """The number of units of each sentence."""
        return np.diff(self.offsets)

    def of_batch(self, sentences: np.ndarray) -> np.ndarray:
        """The units of these sentences, sentence by sentence."""
        return np.concatenate([np.arange(*self.offsets[[s, s + 1]]) for s in sentences])

    @property
    def longest(self) -> int:
        """The most units that any unit sees; no offset is larger."""
        return int(self.seen.max(initial=1))


@dataclass(frozen=True)
class Related:
    """Pairs of related words: for the query, the head should find the key.

    block, query, key: the block of each pair, the number of the query in the text, and the place of
    the key in the sentence, all `[n]`. offset: the most frequent relative position (key - query, in
    words). baseline: the share of pairs at the most frequent relative position, with all blocks,
    then without each, `[1 + n_blocks]`.
    """

    function: str
    block: np.ndarray
    query: np.ndarray
    key: np.ndarray
    offset: int | None
    baseline: np.ndarray


@dataclass(frozen=True)
class Rare:
    """Tokens for which the head should find a rare one.

    block, query: the block of each query and its number in the text, both `[n]`. rare: which tokens
    of the text are right, bool `[n_tokens]`. baseline: their share among the tokens that a query
    sees, mean over queries, with all blocks, then without each, `[1 + n_blocks]`.
    """

    function: str
    block: np.ndarray
    query: np.ndarray
    rare: np.ndarray
    baseline: np.ndarray


def head_functions(
    subject: Subject,
    tokens: TokenFile,
    annotation: pd.DataFrame | None,
    types: np.ndarray,
    ranks: np.ndarray,
    thresholds: Thresholds,
    blocks: np.ndarray,
    batch_tokens: int,
    unaligned: int = 0,
) -> pd.DataFrame:
    """How well each encoder head with an open gate fulfills each function.

    tokens: the text.
    annotation: columns sentence, word, relation and head of its words; None if nothing is known of
        them, and then there are no relations.
    types: the type of each token for rarity, its own id or that of its word, `[n_tokens]`.
    ranks: the frequency rank of each type, 1 for the most frequent, `[n_types]`; equally frequent
        types may share one.
    blocks: the block of each sentence, `[n_sentences]`.
    batch_tokens: padded tokens to encode at once.
    unaligned: how many words have no tokens of their own; these are neither queries nor keys.

    Columns are `COLUMNS`; layers and heads count from 1. accuracy: the share of maxima that are
    right, 0 to 1, with its 95 % interval. n: the number of maxima that count. held: whether
    accuracy reaches the threshold on at least `n_needed` maxima, `thresholds.pairs`. offset: key -
    query; for `positional` the relative position with the largest share of maxima, in tokens; for a
    relation that of the baseline, in words. All are empty if n is 0. without and baseline_without:
    accuracy and baseline_accuracy without each block, `[n_blocks]`, with the offset of the largest
    share and that of the baseline found anew.

    Memory holds the weights of one batch; two bytes for each head and token, and for each head and
    word; and a few arrays of eight bytes for those of one layer.

    Raises UserError if the annotation is of another text.
    """
    require_equal_lengths(sentences=tokens, blocks=blocks)
    is_token = ~tokens.special
    in_tokens = units(tokens.sentences[is_token], len(tokens))
    numbers = np.full(len(tokens.ids), NO_WORD)
    numbers[is_token] = in_tokens.place
    in_words, related = units(np.array([], dtype=int), len(tokens)), []
    if annotation is not None:
        in_words = units(annotation["sentence"].to_numpy(), len(tokens))
        read = words_read(tokens, annotation["word"].to_numpy(), in_words, unaligned)

    heads, visible = subject.open_heads, subject.visible(int(tokens.lengths.max(initial=1)))
    places = maxima(subject, tokens, heads, visible, in_tokens, in_words, batch_tokens)
    rows: list[dict] = []
    for _, alike in groupby(range(len(places)), lambda layer: id(visible[layer])):
        layers = [*alike]
        seen = visible[layers[0]].numpy()
        in_tokens = seeing(in_tokens, numbers, tokens, seen)
        if annotation is not None:
            in_words = seeing(in_words, np.asarray(tokens.words), tokens, seen)
            related = related_words(annotation, in_words, read, blocks)
        rare = rare_tokens(types[is_token], ranks, in_tokens, thresholds.rare_rank, blocks)
        for layer in layers:
            of_tokens, of_words = places[layer]
            functions = [
                positional(of_tokens, in_tokens, blocks, thresholds.positional),
                *(syntactic(of_words, pairs, thresholds) for pairs in related),
                *on_rare(of_tokens, in_tokens, rare, thresholds.rare),
            ]
            rows += _of_layer(layer, heads[layer].tolist(), functions, thresholds.pairs)
    return pd.DataFrame(rows, columns=COLUMNS).astype({"offset": "Int64"})


def _of_layer(
    layer: int, heads: list[int], functions: list[list[dict]], needed: int
) -> Iterator[dict]:
    """The rows of a layer, head by head; functions: of each, a row for each head."""
    for head, of_head in zip(heads, zip(*functions, strict=True), strict=True):
        names = {"attention": "encoder", "layer": layer + 1, "head": head + 1, "n_needed": needed}
        for row in of_head:
            yield names | row | {"held": row["held"] and row["n"] >= needed}


def units(sentence: np.ndarray, n_sentences: int) -> Units:
    """Units, from the sentence of each, `[n]`, in order, of which each sees itself alone."""
    lengths = np.bincount(sentence, minlength=n_sentences)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    place = np.arange(len(sentence)) - offsets[sentence]
    return Units(offsets, sentence, place, place, place + 1)


def seeing(of: Units, numbers: np.ndarray, tokens: TokenFile, visible: np.ndarray) -> Units:
    """The units, with what each sees in a layer: all that any of its tokens sees.

    numbers: the unit of each token in its sentence, NO_WORD for none, `[n_tokens]`; a unit without
    tokens sees itself alone. visible: see `Subject.visible`; what a token sees is one run of
    places.
    """
    sentence = tokens.sentences
    start, place = tokens.offsets[sentence], np.arange(len(numbers)) - tokens.offsets[sentence]
    from_, to = visible.argmax(axis=1), len(visible) - visible[:, ::-1].argmax(axis=1)
    in_unit, at = numbers != NO_WORD, np.arange(len(numbers))
    following = np.minimum.accumulate(np.where(in_unit, at, len(at))[::-1])[::-1]
    latest = np.maximum.accumulate(np.where(in_unit, at, -1))
    first, end = of.place.copy(), of.place + 1
    unit = (of.offsets[sentence] + numbers)[in_unit]
    of_first = following[(start + from_[place])[in_unit]]
    of_last = latest[(start + np.minimum(to[place], tokens.lengths[sentence]) - 1)[in_unit]]
    np.minimum.at(first, unit, numbers[of_first])
    np.maximum.at(end, unit, numbers[of_last] + 1)
    return replace(of, first=first, end=end)


def words_read(tokens: TokenFile, numbers: np.ndarray, words: Units, unaligned: int) -> np.ndarray:
    """Which annotated words have tokens of their own, bool `[n_words]`.

    numbers: the number of each annotated word in its sentence. unaligned: how many have no tokens.

    Raises UserError unless every word of the tokens is annotated, in the same order.
    """
    begins = tokens.begins
    sentence, place = tokens.sentences[begins], np.asarray(tokens.words)[begins]
    ordered = len(words.offsets) == len(tokens) + 1 and np.array_equal(numbers, words.place)
    whole = len(place) + unaligned == len(numbers)
    if not (ordered and whole and (place < words.lengths[sentence]).all()):
        raise UserError(
            f"the token file has {len(place)} words, the annotation {len(numbers)}, not all the "
            "same; both must be of the same split: annotate its words again"
        )
    read = np.zeros(len(numbers), dtype=bool)
    read[words.offsets[sentence] + place] = True
    return read


def maxima(
    subject: Subject,
    tokens: TokenFile,
    heads: list[Tensor],
    visible: list[Tensor],
    in_tokens: Units,
    in_words: Units,
    batch_tokens: int,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The place in the sentence of each token's largest weight, and of each word's.

    heads: the heads to look at, from 0, by layer; visible: see `Subject.visible`. Returns int16
    `[heads, n_tokens]` and `[heads, n_words]` for each layer.
    """
    n, m = len(in_tokens.place), len(in_words.place)
    places = [(np.zeros((h, n), np.int16), np.zeros((h, m), np.int16)) for h in map(len, heads)]
    for batch in batches(subject, tokens, batch_tokens):
        sentences = batch.sentences
        numbers = np.where(batch.tokens, tokens.words[batch.index], NO_WORD)
        lengths = in_words.lengths[sentences, None]
        n_words = max(1, lengths.max())
        token_cells = batch.tokens & ~batch.special
        word_cells = np.arange(n_words) < lengths
        batch_of_tokens, batch_of_words = map(
            Units.of_batch, (in_tokens, in_words), 2 * [sentences]
        )
        attentions = subject.attentions(batch.ids, lengths=batch.lengths)
        words = torch.from_numpy(numbers).to(subject.device)
        of_layers = zip(attentions, heads, visible, places, strict=True)
        for weights, some, seen, (of_tokens, of_words) in of_layers:
            weights, length = weights[:, some], weights.shape[-1]
            unseen = ~seen[:length, :length].to(weights.device)
            of_tokens[:, batch_of_tokens] = largest(weights.masked_fill(unseen, -1), token_cells)
            weights = word_attention(weights, words, n_words)
            of_words[:, batch_of_words] = largest(weights, word_cells)
    return places


def largest(weights: Tensor, valid: np.ndarray) -> np.ndarray:
    """The place of each row's largest weight among the columns that count, `[heads, n]`; of equal
    weights the first.

    weights: `[batch, heads, length, length]`. valid: which rows and columns count, bool
    `[batch, length]`; n of them do.
    """
    cells = torch.from_numpy(valid).to(weights.device)
    columns = weights.masked_fill(~cells[:, None, None, :], -1).argmax(dim=-1)
    places = (cells.cumsum(dim=-1) - 1)[:, None, :].take_along_dim(columns, dim=-1)
    return places.transpose(0, 1)[:, cells].cpu().numpy()


def word_attention(weights: Tensor, words: Tensor, n_words: int) -> Tensor:
    """Attention between words, from attention between sub-words (Clark et al. 2019, section 4.1).

    Attention to a word is the sum over its sub-words; attention from a word is the mean over its
    sub-words. Tokens outside words are left out, so rows need not sum to 1.

    weights: `[batch, heads, length, length]`. words: the word of each sub-word, NO_WORD for none,
    `[batch, length]`. Returns `[batch, heads, n_words, n_words]`.
    """
    parts = (words[..., None] == torch.arange(n_words, device=words.device)).to(weights.dtype)
    shares = parts / parts.sum(dim=1, keepdim=True).clamp(min=1)
    to_words = torch.einsum("bhqk,bkw->bhqw", weights, parts)
    return torch.einsum("bhqw,bqv->bhvw", to_words, shares)


def positional(
    maxima: np.ndarray, tokens: Units, blocks: np.ndarray, threshold: float
) -> list[dict]:
    """The relative position with the largest share of maxima, and the share: a row for each head.

    maxima: `[heads, n_tokens]`; blocks: `[n_sentences]`. The share is among the tokens that see
    something at this position, and anything besides themselves. Positions at which less than half
    of these tokens see something are left out.
    """
    asked, count = tokens.seen > 1, jackknife.n_blocks(blocks)
    place, block = tokens.place[asked], blocks[tokens.sentence[asked]]
    first, end = tokens.first[asked] - place, tokens.end[asked] - place

    def counts(offsets):
        return offset_counts(offsets, block, count, tokens.longest)

    # A token sees all offsets from that of the first token it sees to that of the last.
    possible = (counts(first) - counts(end)).cumsum(axis=1)
    often = 2 * possible >= possible.max(axis=1, keepdims=True)  # each token sees itself
    rows = []
    for offsets in maxima[:, asked] - place:
        hits = counts(offsets)
        shares = np.where(often, hits / np.maximum(possible, 1), -1)
        best = np.arange(1 + count), shares.argmax(axis=1)
        # Blocks without queries at the best offset hold nothing of its share.
        cases = possible[0, best[1][0]] - possible[1:, best[1][0]]
        row = accuracy(hits[best], possible[best], cases)
        offset = int(best[1][0]) - tokens.longest if row["n"] else None
        held = row["accuracy"] >= threshold
        rows.append({**row, "function": "positional", "offset": offset, "held": held})
    return rows


def offset_counts(offsets: np.ndarray, block: np.ndarray, count: int, longest: int) -> np.ndarray:
    """How often each offset from -longest to longest is among `offsets` `[n]`: with all blocks,
    then without each of `count`, `[1 + count, 2 * longest + 1]`. block: the block of each."""
    by_block = np.zeros((count, 2 * longest + 1))
    np.add.at(by_block, (block, offsets + longest), 1)
    return jackknife.sums(by_block, np.arange(count), count)


def related_words(
    annotation: pd.DataFrame, words: Units, read: np.ndarray, blocks: np.ndarray
) -> list[Related]:
    """The pairs of each relation, in both directions; blocks: `[n_sentences]`.

    A pair counts if both words are `read`, bool `[n_words]`, and the query sees the key: in a
    causal model, if the key comes first (last, if it reads backward), and within a sliding window,
    if the layer has one. Among equally frequent positions the baseline takes the leftmost.
    """
    word = np.arange(len(annotation))
    head = words.offsets[words.sentence] + annotation["head"].to_numpy()
    related = []
    for relation, labels in RELATIONS.items():
        dependents = np.flatnonzero(annotation["relation"].isin(labels))
        directions = {"to_head": (word, head), "from_head": (head, word)}
        for direction, (queries, keys) in directions.items():
            query, key = queries[dependents], words.place[keys[dependents]]
            visible = (words.first[query] <= key) & (key < words.end[query])
            visible &= read[query] & read[keys[dependents]]
            query, key = query[visible], key[visible]
            block, count = blocks[words.sentence[query]], jackknife.n_blocks(blocks)
            counts = offset_counts(key - words.place[query], block, count, words.longest)
            offset = int(counts[0].argmax()) - words.longest if len(query) else None
            baseline = jackknife.ratio(counts.max(axis=1), counts.sum(axis=1))
            related.append(Related(f"{relation}_{direction}", block, query, key, offset, baseline))
    return related


def syntactic(maxima: np.ndarray, pairs: Related, thresholds: Thresholds) -> list[dict]:
    """How often the largest weight of a query is on its key: a row for each head.

    maxima: `[heads, n_words]`.
    """
    rows = accuracies(maxima[:, pairs.query] == pairs.key, pairs)
    needed = (1 + thresholds.syntactic) * pairs.baseline[0]
    names = {"function": pairs.function, "offset": pairs.offset}
    return [row | names | {"held": row["accuracy"] >= needed} for row in rows]


def rare_tokens(
    types: np.ndarray, ranks: np.ndarray, tokens: Units, rare_rank: int, blocks: np.ndarray
) -> list[Rare]:
    """The queries of `rarest` and `two_rarest`, in sentences whose rarest token is not a top rank.

    types: the types of the text without special tokens, `[n_tokens]`, NO_WORD for what is never
    rare. ranks: by type. blocks: `[n_sentences]`. A token is one of the two rarest of a sentence if
    at most one other type is rarer, however often both occur in it. Queries are the tokens that see
    a right token and a wrong one.
    """
    rank = pd.Series(np.where(types == NO_WORD, 0, ranks[types]))
    outside = (rank.groupby(tokens.sentence).transform("max") > rare_rank).to_numpy()
    order = rarity(types, rank.to_numpy(), tokens.sentence)
    begin = tokens.offsets[tokens.sentence]
    questions = []
    for function, n_rarest in (("rarest", 1), ("two_rarest", 2)):
        rare = (order <= n_rarest) & (types != NO_WORD)
        before = np.concatenate([[0], np.cumsum(rare)])
        seen = before[begin + tokens.end] - before[begin + tokens.first]
        query = np.flatnonzero(outside & (seen > 0) & (seen < tokens.seen))
        block, count = blocks[tokens.sentence[query]], jackknife.n_blocks(blocks)
        baseline = jackknife.means((seen / tokens.seen)[query], block, count)
        questions.append(Rare(function, block, query, rare, baseline))
    return questions


def rarity(types: np.ndarray, rank: np.ndarray, sentence: np.ndarray) -> np.ndarray:
    """1 + the number of types in its sentence that are rarer than each token; all are `[n]`."""
    keys = sentence * (2 + types.max(initial=0).astype(np.int64)) + types
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    different = pd.Series(rank[first]).groupby(sentence[first])
    return different.rank(method="min", ascending=False).to_numpy(int)[number]


def on_rare(
    maxima: np.ndarray, tokens: Units, both: list[Rare], threshold: float
) -> list[list[dict]]:
    """How often the largest weight is on a rare token: for each question, a row for each head.

    maxima: `[heads, n_tokens]`. both: `rarest` and `two_rarest`; the latter decides whether a head
    points to rare tokens.
    """
    rows = []
    for question in both:
        first = tokens.offsets[tokens.sentence[question.query]]
        right = question.rare[first + maxima[:, question.query]]
        scores = accuracies(right, question)
        rows.append([row | {"function": question.function} for row in scores])
    held = [row["accuracy"] >= threshold for row in rows[-1]]
    return [
        [row | {"held": reached} for row, reached in zip(some, held, strict=True)] for some in rows
    ]


def accuracies(right: np.ndarray, asked: Related | Rare) -> list[dict]:
    """`accuracy` of each head, beside the baseline of its queries.

    right: which maxima are right, bool `[heads, n]`.
    """
    count = len(asked.baseline) - 1
    hits = jackknife.sums(right.T, asked.block, count)
    sizes = jackknife.sums(np.ones(len(asked.query)), asked.block, count)
    value, without = asked.baseline[0], asked.baseline[1:]
    baseline = {"baseline_accuracy": float(value), BASELINE_WITHOUT: without}
    return [accuracy(of_head, sizes, sizes[0] - sizes[1:]) | baseline for of_head in hits.T]


def accuracy(hits: np.ndarray, asked: np.ndarray, cases: np.ndarray) -> dict:
    """The share of maxima that are right, as columns of an estimate, and n, the number of queries.

    hits, asked: with all blocks, then without each, `[1 + n_blocks]`. cases: the queries of each
    block, `[n_blocks]`.
    """
    shares = jackknife.ratio(hits, asked)
    estimate = jackknife.estimate("accuracy", shares[0], shares[1:], jackknife.UNIT, cases)
    return estimate | {"n": int(asked[0])}
