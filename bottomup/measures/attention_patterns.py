"""What each encoder head attends to by place and kind of token, by weight and by norm.

By weight, a token has the share of attention that the softmax gives it. By norm (Kobayashi et al.
2020, "Attention is Not Only a Weight") it has its share of the sum of |a f(x)|, with the weight a
and the vector f(x) = (x W_V + b_V) W_O that the head weights: a token with a short vector adds
little, however much it is attended to.

Queries are tokens of the text, but for those that see nothing besides themselves. A share is the
mean over the queries that see such a token at all:

- `special` (Clark et al. 2019): what the tokenizer puts around the text, such as [CLS] or </s>;
- `punctuation`; `previous`, `itself` and `next`, by place.

A model that reads from left to right has no `next`, and no `special` where that comes at the end.
Then there is no row. One that reads from the end is its mirror image: what it reads first is the
end, and what it read earlier stands further right. `uniform` is the share that attention would have
if it were spread evenly over all that is seen. A layer with a sliding window sees no further.

On random tokens that are repeated (Olsson et al. 2022, 25 tokens 4 times), the queries are those
from the second time on. A share is that on all earlier times together:

- `duplicate`: on the same token;
- `next_of_earlier`: on the token after it. In a model that predicts the next token this is the
  prefix matching of an induction head, since what follows there will follow here. A model that sees
  both sides has no such use for it, and sees the same tokens later, too, which do not count;
- `previous_of_earlier`: on the token before it, the mirror image; for a model that reads from left
  to right of no use.

Much of attention is a matter of distance. So `baseline` is the share on the same places of as many
random tokens that do not repeat. A model that was trained on single sentences has hardly seen text
repeat itself, so `next_of_earlier` is expected near its `baseline`.
"""

import logging
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from bottomup.core.seeds import generator
from bottomup.corpus.tokens import NO_WORD, TokenFile
from bottomup.measures import jackknife
from bottomup.subjects import Subject
from bottomup.subjects.batches import Batch, batches

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from bottomup.subjects.slow import SlowTokenizer

TOKENS, TIMES, SEQUENCES = 25, 4, 50  # of random tokens
ROUNDING = 1e-5  # by how much weights that sum to 1 may miss it
FIRST = 4  # positions, in the order of reading, among which a sink is looked for
# A sink has a larger mean weight than this in a sentence (Gu et al. 2025).
SINK = 0.3
# The fewest tokens of a sentence in which a sink is looked for. In much shorter ones, a model that
# reads from left to right gives the first token nearly as much if it attends evenly.
SINK_LENGTH = 16
BY = ("weight", "norm")
PLACES = ("previous", "itself", "next")
ON_TEXT = ("special", "punctuation", *PLACES)
ON_REPEATED = ("duplicate", "next_of_earlier", "previous_of_earlier")
ENTROPY, POSITION, HAS_SINK = "entropy_nats", "position", "sink"
# The least share in the mean map of a pattern alone, of each of two, and of two together.
ALONE, EACH, BOTH = 0.5, 0.25, 0.6

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Asked:
    """What is asked of the attention in a batch.

    seen: which keys the queries that count see, bool `[batch, queries, keys]`. targets: by name,
    those of them whose share is asked for.
    """

    seen: Tensor
    targets: dict[str, Tensor]

    @property
    def uniform(self) -> Tensor:
        """Attention that is spread evenly, `[batch, 1, queries, keys]`."""
        return (self.seen / self.seen.sum(dim=-1, keepdim=True).clamp(min=1))[:, None]


def seen_by(batch: Batch, visible: Tensor) -> Tensor:
    """Which keys each query sees, bool `[batch, queries, keys]`; none for what is no query.

    visible: which it sees in sentences of the batch's length or longer, see `Subject.visible`.
    """
    length = batch.ids.shape[1]
    tokens, special = torch.from_numpy(batch.tokens), torch.from_numpy(batch.special)
    seen = visible[:length, :length] & tokens[:, :, None] & tokens[:, None, :]
    return seen & (~special & (seen.sum(dim=-1) > 1))[..., None]


def reading_order(batch: Batch, subject: Subject) -> Tensor:
    """When the subject reads each token of a sentence, from 0, `[batch, length]`."""
    places = torch.arange(batch.ids.shape[1])
    from_end = batch.lengths[:, None] - 1 - places
    return from_end if subject.backward else places.expand_as(from_end)


def of_text(batch: Batch, seen: Tensor, subject: Subject, punctuation: np.ndarray) -> Asked:
    """The shares that are asked for in a text; seen: as from `seen_by`; punctuation: which ids are
    punctuation, bool `[n_ids]`."""
    special = torch.from_numpy(batch.special)
    marks = torch.from_numpy(batch.tokens & ~batch.special & punctuation[batch.ids.numpy()])
    places, read = torch.arange(seen.shape[-1]), reading_order(batch, subject)
    offsets = places - places[:, None]
    targets = {
        "special": special[:, None, :],
        "punctuation": marks[:, None, :],
        "previous": offsets == -1,
        "itself": offsets == 0,
        "next": offsets == 1,
        **{f"{POSITION} {number}": (read == number)[:, None, :] for number in range(FIRST)},
    }
    return Asked(seen, {name: seen & target for name, target in targets.items()})


def of_repeated(batch: Batch, seen: Tensor, subject: Subject) -> Asked:
    """The shares that are asked for in a text that repeats itself every `TOKENS` tokens; seen: as
    from `seen_by`."""
    text = torch.from_numpy(batch.tokens & ~batch.special)[:, None, :]
    read, right = reading_order(batch, subject), -1 if subject.backward else 1
    offsets = read[:, None, :] - read[:, :, None]
    earlier = (offsets < 0) & (offsets % TOKENS == 0) & text
    targets = {
        "duplicate": earlier,
        "next_of_earlier": functional.pad(earlier, (right, -right)),
        "previous_of_earlier": functional.pad(earlier, (-right, right)),
    }
    return Asked(seen, {name: seen & text & target for name, target in targets.items()})


def by_norm(weights: Tensor, norms: Tensor) -> Tensor:
    """The share of each key in the sum of |a f(x)|, `[batch, heads, queries, keys]`.

    weights: a, of that shape. norms: |f(x)|, `[batch, heads, keys]`. 0 where all vectors are 0.
    """
    parts = weights * norms[:, :, None, :]
    return parts / parts.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(parts.dtype).tiny)


def left_over(weights: Tensor, seen: Tensor) -> Tensor:
    """What each query that counts leaves to no key, as heads of GPT-OSS do, `[batch, heads,
    queries]`.

    weights: of the keys that are seen, `[batch, heads, queries, keys]`. seen: as from `seen_by`.
    """
    left = seen.any(dim=-1)[:, None].to(weights.dtype) - weights.sum(dim=-1)
    return left.where(left > ROUNDING, 0)


def shares(attention: Tensor, asked: Asked) -> tuple[Tensor, Tensor]:
    """The sum over queries of the share of each target, `[batch, heads, targets]`, and how many
    queries see one, `[batch, targets]`."""
    targets = torch.stack([*asked.targets.values()], dim=1)  # [batch, targets, queries, keys]
    sums = torch.einsum("bhqk,btqk->bht", attention, targets.to(attention.dtype))
    return sums, targets.any(dim=-1).sum(dim=-1)


def all_of_text(attention: Tensor, asked: Asked) -> tuple[Tensor, Tensor]:
    """What `shares` finds in a text, then how attention is spread: sums and numbers of cases.

    The columns that follow are the entropy, over queries, to which what is left to no token adds as
    one token more, and whether each of the `FIRST` positions is a sink, once for a sentence.
    """
    sums, counts = shares(attention, asked)
    left = left_over(attention, asked.seen)
    entropy = (torch.special.entr(attention).sum(dim=-1) + torch.special.entr(left)).sum(dim=-1)
    queries, seeing = asked.seen.any(dim=-1).sum(dim=-1), counts[:, -FIRST:]
    long = (asked.seen.sum(dim=-1).amax(dim=-1) >= SINK_LENGTH)[:, None] & (seeing > 0)
    sinks = (sums[..., -FIRST:] / seeing[:, None].clamp(min=1) > SINK) & long[:, None]
    return (
        torch.cat([sums, entropy[..., None], sinks], dim=-1),
        torch.cat([counts, queries[:, None], long], dim=-1),
    )


def pattern(mean_shares: dict[str, float]) -> str:
    """The class of a head by the shares of its mean map (after Kovaleva et al. 2019).

    Its vertical part is the share on special tokens or, if larger, on one of the first positions;
    its diagonal part the largest of the shares on the previous token, itself and the next one.
    `vertical` or `diagonal` has half of the attention there; `both` at least a quarter in each
    part and .6 together; any other head is `heterogeneous`. The paper's blocks, one for each of two
    sentences, need pairs of sentences. The thresholds are ours: the paper has a classifier, trained
    on maps that people had sorted.
    """
    vertical = max(mean_shares.get(name, 0.0) for name in ("special", POSITION))
    diagonal = max(mean_shares.get(name, 0.0) for name in PLACES)
    if min(vertical, diagonal) >= EACH and vertical + diagonal >= BOTH:
        return "both"
    if max(vertical, diagonal) >= ALONE:
        return "vertical" if vertical > diagonal else "diagonal"
    return "heterogeneous"


@dataclass(frozen=True)
class Totals:
    """Sums over sentences, with all blocks of documents, then without each of `count`.

    sums: `[1 + count, layers, heads, by, columns]`, by weight and, if it is known, by norm.
    uniform: the same of attention that is spread evenly, `[1 + count, layers, columns]`. counts:
    the number of cases, `[1 + count, layers, columns]`.
    """

    sums: np.ndarray
    uniform: np.ndarray
    counts: np.ndarray


def totals(
    subject: Subject,
    text: TokenFile,
    ask: Callable[[Batch, Tensor], Asked],
    gather: Callable[[Tensor, Asked], tuple[Tensor, Tensor]],
    over: Callable[[np.ndarray], np.ndarray],
    batch_tokens: int,
) -> Totals:
    """What a model attends to in a text.

    ask: what is asked of a batch, by what its queries see in a layer. gather: sums for each
    sentence and the number of cases, such as `shares`. over: sums over sentences, from
    `[sentences, ...]` to `[1 + count, ...]`.
    """
    parts, order = [], []
    visible = subject.visible(int(text.lengths.max()))
    for batch in batches(subject, text, batch_tokens):
        kinds = {of: ask(batch, seen_by(batch, of)) for of in dict.fromkeys(visible)}
        evenly = {of: gather(asked.uniform, asked) for of, asked in kinds.items()}
        asked = [kinds[of] for of in visible]
        layers = [
            torch.stack([gather(one, of)[0] for one in maps], dim=2)
            for of, maps in zip(asked, _maps(subject, batch, asked), strict=True)
        ]
        uniform, counts = zip(*(evenly[of] for of in visible), strict=True)
        of_batch = layers, [of[:, 0] for of in uniform], counts
        parts.append([torch.stack([*of], dim=1) for of in of_batch])
        order.append(batch.sentences)
    back = np.argsort(np.concatenate(order))
    joined = (torch.cat(part).double().numpy()[back] for part in zip(*parts, strict=True))
    return Totals(*map(over, joined))


def _maps(subject: Subject, batch: Batch, asked: Sequence[Asked]) -> Iterator[list[Tensor]]:
    """For each layer, attention by weight and, if the model's family allows it, by norm; asked: of
    each layer."""
    norms = subject.value_norms(batch.ids, lengths=batch.lengths)
    for layer, weights in enumerate(subject.attentions(batch.ids, lengths=batch.lengths)):
        by_weight = weights.float().cpu().masked_fill(~asked[layer].seen[:, None], 0)
        of_layer = [] if norms is None else [by_norm(by_weight, norms[layer].float().cpu())]
        yield [by_weight, *of_layer]


def patterns(
    subject: Subject,
    text: TokenFile,
    blocks: np.ndarray,
    count: int,
    seed: int,
    batch_tokens: int,
) -> Iterator[dict]:
    """Rows of `attention_patterns.csv`, see docs/tables.md; layers and heads count from 1.

    text: sentences as the model reads them. blocks: the block of documents of each sentence, below
    `count`. seed: draws the random tokens; there are none if the text has too few types of middle
    frequency, or the model reads too few tokens at once. batch_tokens: padded tokens to read at
    once.
    """
    read = partial(totals, subject, batch_tokens=batch_tokens)
    asked = partial(of_text, subject=subject, punctuation=punctuation(subject.tokenizer, text))
    of_sentences = read(
        text, asked, all_of_text, partial(jackknife.sums, blocks=blocks, count=count)
    )
    asked = partial(of_repeated, subject=subject)
    of_random = [
        read(tokens, asked, shares, partial(_without_documents, count=count))
        for tokens in random_tokens(subject, text, seed)
    ]
    bys = BY[: of_sentences.sums.shape[3]]
    if len(bys) < len(BY):
        log.info("by weight alone: the model's family does more with values than to project them")
    for layer, heads in enumerate(subject.open_heads):
        for head, (number, by) in product(heads.tolist(), enumerate(bys)):
            place = layer, head, number
            rows = [*_rows(of_sentences, TEXT, place), *_on_random(of_random, place)]
            named = {"attention": "encoder", "layer": layer + 1, "head": head + 1, "by": by}
            named["pattern"] = pattern({row["quantity"]: row["value"] for row in rows})
            yield from (named | row for row in rows)


def _without_documents(rows: np.ndarray, count: int) -> np.ndarray:
    """The sum over all rows. They are of no document, so it stays the same without any block."""
    return np.repeat(rows.sum(axis=0, keepdims=True), 1 + count, axis=0)


def _columns(names: tuple[str, ...]) -> dict[str, slice]:
    return {name: slice(place, place + 1) for place, name in enumerate(names)}


# The columns of `Totals` that each quantity is about; of several the largest mean counts.
N_SHARES = len(ON_TEXT) + FIRST
TEXT = _columns(ON_TEXT) | {
    ENTROPY: slice(N_SHARES, N_SHARES + 1),
    POSITION: slice(len(ON_TEXT), N_SHARES),
    HAS_SINK: slice(N_SHARES + 1, None),
}
REPEATED = _columns(ON_REPEATED)


def _rows(
    measured: Totals, quantities: dict[str, slice], place: tuple[int, int, int]
) -> Iterator[dict]:
    """The quantities of a layer and head, by weight or by norm. None for a quantity of which no
    query sees anything."""
    sums, layer = measured.sums[(slice(None), *place)], place[0]
    for name, columns in quantities.items():
        counts = measured.counts[:, layer, columns]
        if not counts[0].any():
            continue
        means = jackknife.ratio(sums[:, columns], counts)
        value, *without = np.fmax.reduce(means, axis=-1)
        of_best = counts[:, np.nan_to_num(means[0], nan=-1).argmax()]
        within = jackknife.NOT_NEGATIVE if name == ENTROPY else jackknife.UNIT
        cases = of_best[0] - of_best[1:] if name == HAS_SINK else None
        uniform = jackknife.ratio(measured.uniform[0, layer, columns], counts[0])
        yield {
            "quantity": name,
            **jackknife.estimate("value", value, np.array(without), within, cases),
            "uniform": float(np.fmax.reduce(uniform)),
            "baseline": np.nan,
            "n": int(of_best[0]),
        }


def _on_random(measured: list[Totals], place: tuple[int, int, int]) -> Iterator[dict]:
    """The same on repeated random tokens; their baseline is the value on tokens that do not
    repeat."""
    repeated, others = ([*_rows(of, REPEATED, place)] for of in measured) if measured else ([], [])
    for row, other in zip(repeated, others, strict=True):
        yield row | {"baseline": other["value"]}


def punctuation(tokenizer: "Tokenizer | SlowTokenizer", text: TokenFile) -> np.ndarray:
    """Which ids of a text are punctuation marks alone (Unicode category P), bool `[n_ids]`.

    Where a tokenizer of bytes has a mark in several tokens, none of them is.
    """
    is_mark = np.zeros(1 + text.ids.max(initial=0), dtype=bool)
    for i in np.unique(text.ids).tolist():
        token = tokenizer.decode([i], skip_special_tokens=False).strip()
        is_mark[i] = bool(token) and all(unicodedata.category(mark)[0] == "P" for mark in token)
    return is_mark


def random_tokens(subject: Subject, text: TokenFile, seed: int) -> list[TokenFile]:
    """`SEQUENCES` sentences of `TOKENS` random tokens, `TIMES` times, with what stands around a
    text; and as many of other tokens each time. Neither if the text has too few types, or the
    model reads fewer tokens at once.

    The types are of middle frequency: a quarter of those of the text is more frequent, and a
    quarter less. All tokens of a sentence that does not repeat are different.
    """
    types, counts = np.unique(text.ids[~text.special], return_counts=True)
    by_count = types[np.argsort(-counts, kind="stable")]
    middle = by_count[len(types) // 4 : len(types) - len(types) // 4]
    inside = np.flatnonzero(~text.special)[:1]  # of the first sentence that is not empty
    first = text.select(np.searchsorted(text.offsets, inside, side="right") - 1)
    before = first.special.cumprod().astype(bool)
    start, end = first.ids[before], first.ids[first.special & ~before]
    n = TOKENS * TIMES
    length = len(start) + n + len(end)
    readable = subject.max_length or length
    if len(middle) < n or readable < length:
        log.info(
            "no random tokens: the text has %d types of middle frequency, where %d are needed, and "
            "the model reads %d tokens at once, where %d are needed",
            *(len(middle), n, readable, length),
        )
        return []
    drawing = generator(seed, "random tokens")
    others = [drawing.permutation(middle)[:n] for _ in range(SEQUENCES)]
    repeated = [np.tile(tokens[:TOKENS], TIMES) for tokens in others]
    special = np.repeat([True, False, True], [len(start), n, len(end)])
    return [
        TokenFile(
            np.concatenate([part for tokens in some for part in (start, tokens, end)]),
            np.full(SEQUENCES * length, NO_WORD),
            length * np.arange(1 + SEQUENCES),
            np.tile(special, SEQUENCES),
        )
        for some in (repeated, others)
    ]
