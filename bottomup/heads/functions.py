"""Functions of encoder heads: position, syntax, rare tokens (Voita et al. ACL 2019, section 5).

What a head does is judged by where its largest weight rests. As in the paper, </s> is left out:
nothing is asked of it, and a head that rests on it is judged by its next largest weight. All other
tokens may be rested on, the asking one, too.

Maxima count only where the head had a choice: where what is looked for can be seen, and something
else, too. Otherwise the first token, which has none before it, would spoil a head that looks to the
left, and a causal model would fail at what it has not read yet.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from scipy import sparse
from torch import Tensor

from bottomup.corpus.encoding import NO_WORD
from bottomup.corpus.specials import EOS, PAD
from bottomup.corpus.tokens import TokenFile
from bottomup.errors import UserError
from bottomup.measures import bootstrap
from bottomup.subjects import Run
from bottomup.training.batches import Text, in_order, padded

RELATIONS = ("nsubj", "dobj", "amod", "advmod")
COLUMNS = [
    *("attention", "layer", "head", "function", "offset"),
    *("accuracy", "ci_low", "ci_high", "baseline_accuracy", "n", "held"),
]


@dataclass(frozen=True)
class Thresholds:
    """From where on a head has a function; the defaults are the paper's.

    positional: share of maxima at one relative position; syntactic: accuracy above the baseline,
    as a share of the baseline; rare: share of maxima on one of the two rarest tokens; rare_rank:
    sentences of which every token is among so many most frequent ones do not count for the last.
    """

    positional: float = 0.9
    syntactic: float = 0.1
    rare: float = 0.5
    rare_rank: int = 500


@dataclass(frozen=True)
class Units:
    """The tokens of a text without </s>, or its words, sentence by sentence.

    offsets: where each sentence begins, and where the last one ends, `[n_sentences + 1]`;
    sentence, place: of each unit its sentence and where it stands there, from 0, both `[n]`;
    seen: how many units of its sentence each sees, from the first one on, `[n]`.
    """

    offsets: np.ndarray
    sentence: np.ndarray
    place: np.ndarray
    seen: np.ndarray

    def of_batch(self, sentences: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
        """Which cells of a batch hold a unit, bool `[batch, width]`, and which units these are."""
        columns = np.arange(width)
        there = columns < np.diff(self.offsets)[sentences, None]
        return there, (self.offsets[sentences, None] + columns)[there]


@dataclass(frozen=True)
class Related:
    """Words that are asked for another one.

    sentence, query, key: of each pair its sentence, which word of the text is asked, and where the
    other one stands in the sentence, all `[n]`; offset, baseline: at which relative position (key -
    query, in words) the other stands most often, and in what share of the pairs.
    """

    function: str
    sentence: np.ndarray
    query: np.ndarray
    key: np.ndarray
    offset: int | None
    baseline: float


@dataclass(frozen=True)
class Rare:
    """Tokens that are asked for a rare one.

    sentence, query: of each its sentence, and which token of the text it is, both `[n]`; rare:
    which tokens of the text would be right, bool `[n_tokens]`; baseline: their share among the
    tokens that are seen, mean over queries.
    """

    function: str
    sentence: np.ndarray
    query: np.ndarray
    rare: np.ndarray
    baseline: float


def head_functions(
    subject: Run,
    tokens: TokenFile,
    annotation: pd.DataFrame,
    ranks: np.ndarray,
    thresholds: Thresholds,
    n_samples: int,
    seed: int,
    batch_tokens: int,
    device: torch.device | str = "cpu",
) -> pd.DataFrame:
    """How well each encoder head whose gate is open fulfills each function.

    tokens: the text; annotation: of its words, columns sentence, word, relation and head; ranks:
    frequency rank of each token id, 1 for the most frequent, `[vocab]`, where equally frequent
    tokens may share one; n_samples: of the bootstrap; batch_tokens: padded tokens encoded at once.

    Columns are `COLUMNS`; layers and heads count from 1. accuracy: the share of maxima that are
    right, 0 to 1, with its 95 % interval over sentences; n: how many were looked at; held: whether
    accuracy reaches the threshold. offset is key - query: for `positional` that of the accuracy, in
    tokens, for a relation that of the baseline, in words. Where n is 0, these are empty.

    In memory are one batch's weights; two bytes for each head and token, and for each head and
    word; and some arrays of eight bytes for those of one layer. Raises UserError where the
    annotation is of another text.
    """
    subject.model.to(device)
    causal = subject.model.config.causal
    is_token = np.asarray(tokens.ids) != EOS
    in_tokens = units(tokens, is_token, causal)
    in_words = units(tokens, first_subwords(tokens), causal)
    require_words_of(in_words, annotation)
    related = related_words(annotation, in_words, causal)
    rare = rare_tokens(tokens.ids[is_token], ranks, in_tokens, thresholds.rare_rank)
    samples = bootstrap.resamples(np.arange(len(tokens)), n_samples, seed)[1].astype(float)

    heads = [layer.attention.gates.nonzero()[:, 0] for layer in subject.model.encoder.layers]
    found = maxima(subject, tokens, heads, in_tokens, in_words, batch_tokens, device)
    rows = []
    for layer, (of_tokens, of_words) in enumerate(found):
        functions = [
            positional(of_tokens, in_tokens, samples, thresholds.positional),
            *(syntactic(of_words, pairs, samples, thresholds.syntactic) for pairs in related),
            *on_rare(of_tokens, in_tokens, rare, samples, thresholds.rare),
        ]
        for head, of_head in zip(heads[layer].tolist(), zip(*functions, strict=True), strict=True):
            names = {"attention": "encoder", "layer": layer + 1, "head": head + 1}
            rows += [names | row for row in of_head]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"offset": "Int64"})


def units(tokens: TokenFile, begins: np.ndarray, causal: bool) -> Units:
    """The units of a text whose first sub-words are where `begins` `[n_tokens]` is True."""
    sentence = np.repeat(np.arange(len(tokens)), tokens.lengths)[begins]
    lengths = np.bincount(sentence, minlength=len(tokens))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    place = np.arange(len(sentence)) - offsets[sentence]
    return Units(offsets, sentence, place, place + 1 if causal else lengths[sentence])


def first_subwords(tokens: TokenFile) -> np.ndarray:
    """Which tokens begin a word, bool `[n_tokens]`."""
    words = np.asarray(tokens.words)
    return (words != NO_WORD) & (words != np.roll(words, 1))


def require_words_of(in_words: Units, annotation: pd.DataFrame) -> None:
    """Raise UserError unless the annotated words are those of the text, in order."""
    places = np.stack([in_words.sentence, in_words.place], axis=1)
    if not np.array_equal(annotation[["sentence", "word"]], places):
        raise UserError(
            f"the token file has {len(places)} words, the annotation {len(annotation)} other ones; "
            "both must be of the same split: annotate its words again"
        )


def maxima(
    subject: Run,
    tokens: TokenFile,
    heads: list[Tensor],
    in_tokens: Units,
    in_words: Units,
    batch_tokens: int,
    device: torch.device | str = "cpu",
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Where in its sentence the largest weight of each token rests, and of each word.

    heads: those to look at, from 0, by layer. Returns int16 `[heads, n_tokens]` and
    `[heads, n_words]` for each layer.
    """
    sizes = len(in_tokens.place), len(in_words.place)
    found = [tuple(np.zeros((len(some), n), np.int16) for n in sizes) for some in heads]
    for sentences in in_order(Text(tokens), batch_tokens):
        ids = padded(tokens, sentences)
        words = np.full(ids.shape, NO_WORD)
        words[ids != PAD] = tokens.select(sentences).words
        n_words = max(1, words.max() + 1)
        token_cells, batch_of_tokens = in_tokens.of_batch(sentences, ids.shape[1])
        word_cells, batch_of_words = in_words.of_batch(sentences, n_words)
        attentions = subject.attentions(torch.from_numpy(ids).to(device))
        words = torch.from_numpy(words).to(device)
        for weights, some, (of_tokens, of_words) in zip(attentions, heads, found, strict=True):
            weights = weights[:, some]
            of_tokens[:, batch_of_tokens] = largest(weights, token_cells)
            weights = word_attention(weights, words, n_words)
            of_words[:, batch_of_words] = largest(weights, word_cells)
    return found


def largest(weights: Tensor, there: np.ndarray) -> np.ndarray:
    """The column of each row's largest weight, the first of equal ones: `[heads, n]`.

    weights: `[batch, heads, length, length]`; there: which rows and columns count, bool
    `[batch, length]`; n of them do.
    """
    cells = torch.from_numpy(there).to(weights.device)
    columns = weights.masked_fill(~cells[:, None, None, :], -1).argmax(dim=-1)
    return columns.transpose(0, 1)[:, cells].cpu().numpy()


def word_attention(weights: Tensor, words: Tensor, n_words: int) -> Tensor:
    """Attention between words, from that between their sub-words (Clark et al. 2019, section 4.1).

    To a word it is the sum over its sub-words, from a word the mean over its sub-words. What is no
    part of a word is left out, so that rows need not sum to 1.

    weights: `[batch, heads, length, length]`; words: the word of each sub-word, NO_WORD for none,
    `[batch, length]`. Returns `[batch, heads, n_words, n_words]`.
    """
    parts = (words[..., None] == torch.arange(n_words, device=words.device)).to(weights.dtype)
    shares = parts / parts.sum(dim=1, keepdim=True).clamp(min=1)
    to_words = torch.einsum("bhqk,bkw->bhqw", weights, parts)
    return torch.einsum("bhqw,bqv->bhvw", to_words, shares)


def positional(
    maxima: np.ndarray, tokens: Units, samples: np.ndarray, threshold: float
) -> list[dict]:
    """The relative position with the most maxima, and its share: a row for each head.

    maxima: `[heads, n_tokens]`; samples: see `accuracies`. The share is among the tokens that see
    one at this position, and any other than themselves.
    """
    offsets = maxima - tokens.place
    asked = tokens.seen > 1
    longest = int(tokens.seen.max(initial=1))
    width = 2 * longest + 1
    cells = offsets[:, asked] + longest + width * np.arange(len(maxima))[:, None]
    counts = np.bincount(cells.ravel(), minlength=len(maxima) * width)
    best = counts.reshape(-1, width).argmax(axis=1)[:, None] - longest
    keys = tokens.place + best
    asked = asked & (keys >= 0) & (keys < tokens.seen)
    rows = accuracies(offsets == best, asked, tokens.sentence, samples)
    return [
        {
            **row,
            "function": "positional",
            "offset": int(offset) if row["n"] else None,
            "held": row["accuracy"] >= threshold,
        }
        for row, offset in zip(rows, best[:, 0], strict=True)
    ]


def related_words(annotation: pd.DataFrame, words: Units, causal: bool) -> list[Related]:
    """The pairs of each relation, in both directions.

    A pair counts where the query sees the other word; in a causal model, where that comes first.
    """
    word = np.arange(len(annotation))
    head = words.offsets[words.sentence] + annotation["head"].to_numpy()
    found = []
    for relation in RELATIONS:
        dependents = np.flatnonzero(annotation["relation"] == relation)
        directions = {"to_head": (word, head), "from_head": (head, word)}
        for direction, (queries, keys) in directions.items():
            query, key = queries[dependents], words.place[keys[dependents]]
            visible = key < words.seen[query]
            query, key = query[visible], key[visible]
            best = best_offset(key - words.place[query])
            found.append(
                Related(f"{relation}_{direction}", words.sentence[query], query, key, *best)
            )
    return found


def best_offset(offsets: np.ndarray) -> tuple[int | None, float]:
    """The most frequent of `offsets` `[n]`, of equally frequent ones the leftmost; its share."""
    if not len(offsets):
        return None, np.nan
    values, counts = np.unique(offsets, return_counts=True)
    return int(values[counts.argmax()]), counts.max() / len(offsets)


def syntactic(
    maxima: np.ndarray, pairs: Related, samples: np.ndarray, threshold: float
) -> list[dict]:
    """How often the largest weight of a word is on the one it is asked for: a row for each head.

    maxima: `[heads, n_words]`; samples: see `accuracies`.
    """
    right = maxima[:, pairs.query] == pairs.key
    return [
        {
            **row,
            "function": pairs.function,
            "offset": pairs.offset,
            "baseline_accuracy": pairs.baseline,
            "held": row["accuracy"] >= (1 + threshold) * pairs.baseline,
        }
        for row in accuracies(right, np.ones_like(right), pairs.sentence, samples)
    ]


def rare_tokens(ids: np.ndarray, ranks: np.ndarray, tokens: Units, rare_rank: int) -> list[Rare]:
    """What `rarest` and `two_rarest` ask, of sentences whose rarest token is outside the top ranks.

    ids: those of the text without </s>, `[n_tokens]`; ranks: by token id. A token is one of the two
    rarest of a sentence if at most one other is rarer, however often they occur in it. Asked are
    the tokens that see a right one and a wrong one.
    """
    rank = pd.Series(ranks[ids])
    outside = (rank.groupby(tokens.sentence).transform("max") > rare_rank).to_numpy()
    order = rarity(ids, rank.to_numpy(), tokens.sentence)
    first = tokens.offsets[tokens.sentence]
    found = []
    for function, n_rarest in (("rarest", 1), ("two_rarest", 2)):
        rare = order <= n_rarest
        before = np.concatenate([[0], np.cumsum(rare)])
        seen = before[first + tokens.seen] - before[first]
        query = np.flatnonzero(outside & (seen > 0) & (seen < tokens.seen))
        baseline = (seen / tokens.seen)[query].mean() if len(query) else np.nan
        found.append(Rare(function, tokens.sentence[query], query, rare, baseline))
    return found


def rarity(ids: np.ndarray, rank: np.ndarray, sentence: np.ndarray) -> np.ndarray:
    """1 + how many different tokens of its sentence are rarer than each token; all are `[n]`."""
    keys = sentence * (1 + ids.max(initial=0).astype(np.int64)) + ids
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    different = pd.Series(rank[first]).groupby(sentence[first])
    return different.rank(method="min", ascending=False).to_numpy(int)[number]


def on_rare(
    maxima: np.ndarray, tokens: Units, both: list[Rare], samples: np.ndarray, threshold: float
) -> list[list[dict]]:
    """How often the largest weight is on a rare token: for each question, a row for each head.

    maxima: `[heads, n_tokens]`; both: `rarest` and `two_rarest`, which decides whether a head
    points to rare tokens; samples: see `accuracies`.
    """
    rows = []
    for question in both:
        key = tokens.offsets[question.sentence] + maxima[:, question.query]
        right = question.rare[key]
        names = {"function": question.function, "baseline_accuracy": question.baseline}
        found = accuracies(right, np.ones_like(right), question.sentence, samples)
        rows.append([row | names for row in found])
    held = [row["accuracy"] >= threshold for row in rows[-1]]
    return [
        [row | {"held": reached} for row, reached in zip(some, held, strict=True)] for some in rows
    ]


def accuracies(
    right: np.ndarray, asked: np.ndarray, sentence: np.ndarray, samples: np.ndarray
) -> list[dict]:
    """The share of right maxima among those asked, for each head: accuracy, ci_low, ci_high, n.

    right, asked: bool `[heads, n]`; sentence: of each, `[n]`; samples: how often each sentence is
    in each bootstrap sample, `[n_sentences, n_samples]`. NaN where nothing is asked.
    """
    of_sentence = sparse.csr_array(
        (np.ones(len(sentence)), (sentence, np.arange(len(sentence)))),
        shape=(len(samples), len(sentence)),
    )
    hits, sizes = ((of_sentence @ part.T).T for part in (right & asked, asked))
    with np.errstate(invalid="ignore"):
        values = hits.sum(axis=1) / sizes.sum(axis=1)
        resampled = (hits @ samples) / (sizes @ samples)
    rows = []
    for value, of_head, n in zip(values, resampled, sizes.sum(axis=1), strict=True):
        low, high = interval(value, of_head)
        rows.append({"accuracy": float(value), "ci_low": low, "ci_high": high, "n": int(n)})
    return rows


def interval(value: float, samples: np.ndarray) -> tuple[float, float]:
    """The 95 % interval of a share, within 0 to 1.

    Samples of sentences in which nothing is asked are NaN, and say nothing.
    """
    samples = samples[np.isfinite(samples)]
    if len(samples) < 2:
        return np.nan, np.nan
    low, high = bootstrap.interval(value, samples)
    return max(low, 0.0), min(high, 1.0)
