"""How much tokens of a group influence all others: Voita et al. EMNLP 2019, section 5.2.

The influence at layer n is the PWCCA distance between two versions of the representations of all
other tokens right after layer n. One is encoded as usual and carries the weights; for the other,
the tokens to be judged are hidden from attention in this layer alone. Both continue the same
encoding of the layers below.

What is hidden is either one token, as in the paper ("the influencing token", write the authors), or
all tokens of the group in a sentence. The second distance also grows with their number, so frequent
tokens come out as influential whatever they do.

Tokens are hidden and compared one by one, whatever `views.pooling` says: a mean over a word would
mix a sub-word that something is hidden from with sub-words that still see it.

Groups differ in more than what they mean: in the number of sub-words of a word, and in the length
of its sentences. So there are two distances, which the column `matching` tells apart:

published: tokens, or sentences, drawn uniformly, as in the paper.
matched: one token at a time, a word of one sub-word, in sentences of the same lengths for all
    groups of a grouping. Types give equal shares as far as they can.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from bottomup.core.errors import UserError
from bottomup.core.seeds import generator
from bottomup.corpus.tokens import TokenFile
from bottomup.measures import jackknife
from bottomup.measures.blocks import distances, moments_of_blocks
from bottomup.measures.groups import Group, in_turns
from bottomup.subjects import Subject
from bottomup.subjects.batches import batches
from bottomup.subjects.subject import from_others

# Strata of sentence length, for matched groups; each holds about as many of all occurrences.
STRATA = 5

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Draw:
    """Sentences `[n]` for one group, and what to hide in them: occurrences whose label
    `[n_occurrences]` is the one `wanted` `[n]` in their sentence."""

    group: Group
    matching: str
    sentences: np.ndarray
    labels: np.ndarray
    wanted: np.ndarray


@dataclass(frozen=True)
class Case:
    """What a group is measured on: sentences, and what is hidden in them.

    names: grouping, group and matching. text: the sentences. The others are `[n_tokens]`:
    tokens: the place of each token in everything that is read; hidden: whether it is hidden;
    compared: whether it is an occurrence (</s> is none) and not hidden; sentences: its sentence.
    """

    names: dict
    text: TokenFile
    tokens: np.ndarray
    hidden: np.ndarray
    compared: np.ndarray
    sentences: np.ndarray


def influence(
    subject: Subject,
    text: TokenFile,
    occurrences: pd.DataFrame,
    groups: list[Group],
    hidden: str,
    n_sentences: int,
    seed: int,
    batch_tokens: int,
) -> Iterator[dict]:
    """Rows of a table: grouping, group, matching, layer, columns of `distances`, and n_sentences.

    text: what the model reads. occurrences: the table of its tokens, with columns `text`,
    `position`, `input_id` and `block`. hidden, n_sentences: what to hide and in how many sentences,
    see `choose`. batch_tokens: padded tokens to encode at once. Layers count from 1, the first that
    attends.

    Memory holds two layers of everything that is read, in float32, and the moments of one group. A
    model goes on from the layer below, see `Subject.after`, which says where that is not possible.
    """
    text, cases = choose(text, occurrences, groups, hidden, n_sentences, seed)
    block_of = occurrences.groupby("text")["block"].first()
    count = jackknife.n_blocks(occurrences["block"])
    below = embedded(subject, text, batch_tokens)
    for layer in range(1, subject.layers + 1):
        usual = continued(subject, layer, below, text, batch_tokens)
        for case in cases:
            x = usual[case.tokens]
            y = without(subject, layer, below[case.tokens], x, case, batch_tokens)
            rows = case.compared
            blocks = block_of[case.sentences[rows]].to_numpy()
            parts = moments_of_blocks(x[rows], y[rows], blocks, count, subject.device)
            [row] = distances(parts, [("definition", "x")])
            yield {**case.names, "layer": layer, **row, "n_sentences": len(case.text)}
        below = usual


def choose(
    text: TokenFile,
    occurrences: pd.DataFrame,
    groups: list[Group],
    hidden: str,
    n_sentences: int,
    seed: int,
) -> tuple[TokenFile, list[Case]]:
    """The sentences that are read, as one text, and what each group is measured on.

    hidden "token": `n_sentences` tokens of the group, one hidden in each sentence; a sentence may
    come again with another token. By part of speech the whole word is hidden. hidden "group":
    `n_sentences` sentences with a token of the group, all of which are hidden. Tokens, or
    sentences, are put in random order once; each group takes the first ones, or all if there are
    fewer, so that groups share sentences as far as possible. Matched groups come in addition, with
    at most `n_sentences`, whatever `hidden` says: see `matched`.
    """
    if hidden not in ("token", "group"):
        raise UserError(f"influence: found hidden {hidden!r}; allowed: token, group")
    numbers = occurrences["text"].to_numpy()
    order = generator(seed, "influence").permutation(len(occurrences))
    if hidden == "token":
        firsts = [(group, order[group.representatives[order]][:n_sentences]) for group in groups]
        draws = [_of_tokens(group, "published", numbers, rows) for group, rows in firsts]
    else:
        sentences = generator(seed, "influence").permutation(len(text))
        draws = [_of_group(group, numbers, sentences, n_sentences) for group in groups]
    lengths, types = text.lengths[numbers], occurrences["input_id"].to_numpy()
    for grouping in dict.fromkeys(group.grouping for group in groups):
        some = [group for group in groups if group.grouping == grouping]
        draws += [
            _of_tokens(group, "matched", numbers, rows)
            for group, rows in matched(some, lengths, types, order, n_sentences)
        ]
    read = np.unique(np.concatenate([draw.sentences for draw in draws]))
    places = text.offsets[numbers] + occurrences["position"].to_numpy()
    cases = [_case(text, read, places, draw) for draw in draws]
    return text.select(read), [case for case in cases if case.compared.any()]


def matched(
    groups: list[Group], lengths: np.ndarray, types: np.ndarray, order: np.ndarray, n: int
) -> Iterator[tuple[Group, np.ndarray]]:
    """Groups with the occurrences that stand for them, matched for sentence length.

    lengths: the length of each occurrence's sentence; types: its type; order: all occurrences in
    random order. Each group gives equally many words of one sub-word from each stratum of lengths:
    a share of `n`, or what the scarcest group has in its scarcest stratum. A group with less than
    half a share in a stratum is left out, so that it does not shrink the others. Within a stratum,
    types take turns.
    """
    edges = np.quantile(lengths, np.arange(1, STRATA) / STRATA)
    # Where many sentences have one length, edges coincide and leave strata empty.
    used, strata = np.unique(np.searchsorted(edges, lengths)[order], return_inverse=True)
    candidates, share = [], n // len(used)
    for group in groups:
        whole = group.whole[order]
        rows = [in_turns(order[whole & (strata == place)], types) for place in range(len(used))]
        scarcest = min(map(len, rows))
        if 2 * scarcest < share:
            log.info(
                f"{group.name} has {scarcest} words in sentences of some length, fewer than half "
                f"of {share}: left out of matched"
            )
        else:
            candidates.append((group, rows))
    share = min([share, *(len(part) for _, rows in candidates for part in rows)])
    for group, rows in candidates:
        yield group, np.concatenate([part[:share] for part in rows])


def _of_tokens(group: Group, matching: str, numbers: np.ndarray, rows: np.ndarray) -> Draw:
    """Sentences for `rows` of the occurrences, with one occurrence hidden in each.

    numbers: the sentence of each occurrence.
    """
    rows = np.sort(rows)
    return Draw(group, matching, numbers[rows], group.units, group.units[rows])


def _of_group(group: Group, numbers: np.ndarray, order: np.ndarray, n: int) -> Draw:
    """The first `n` sentences in `order` that hold the group, with all of the group hidden."""
    sentences = np.sort(order[np.isin(order, numbers[group.members])][:n])
    return Draw(group, "published", sentences, group.members, np.full(len(sentences), True))


def _case(text: TokenFile, read: np.ndarray, places: np.ndarray, draw: Draw) -> Case:
    """The tokens of the drawn sentences.

    read: the sentences that are read; places: the place of each occurrence in the text.
    """
    lengths = text.lengths[draw.sentences]
    offsets = np.cumsum(lengths) - lengths
    tokens = np.arange(lengths.sum()) + np.repeat(text.offsets[draw.sentences] - offsets, lengths)
    counts = np.zeros(len(text.ids), dtype=bool)
    counts[places] = True
    label = np.zeros(len(text.ids), dtype=draw.labels.dtype)
    label[places] = draw.labels
    hidden = counts[tokens] & (label[tokens] == np.repeat(draw.wanted, lengths))
    is_read = np.isin(text.sentences, read)
    names = {"grouping": draw.group.grouping, "group": draw.group.name, "matching": draw.matching}
    return Case(
        names,
        text.select(draw.sentences),
        (np.cumsum(is_read) - 1)[tokens],
        hidden,
        counts[tokens] & ~hidden,
        np.repeat(draw.sentences, lengths),
    )


def without(
    subject: Subject, layer: int, below: Tensor, usual: Tensor, case: Case, batch_tokens: int
) -> Tensor:
    """The residual stream after `layer`, with the hidden tokens hidden from its attention.

    below, usual: the streams of the case's tokens before and after the layer; these and the result
    are `[n_tokens, d_model]`. Hidden tokens still see themselves. Tokens that nothing is hidden
    from are not computed again: they keep the bits of `usual`.
    """
    states, device = usual.clone(), subject.device
    for batch in batches(subject, case.text, batch_tokens):
        ids, tokens, index = batch.ids, batch.tokens, batch.index
        hidden = torch.from_numpy(case.hidden[index] & tokens)
        unseen = from_others(hidden)[:, 0]  # [batch, queries, keys]
        changed = subject.seen(unseen).any(-1).numpy() & tokens
        above = subject.after(layer, below[index].to(device), ids, hidden.to(device), batch.lengths)
        states[index[changed]] = above.cpu()[changed]
    return states


def continued(
    subject: Subject, layer: int, below: Tensor, text: TokenFile, batch_tokens: int
) -> Tensor:
    """The residual stream after `layer`, from the one before it: both `[n_tokens, d_model]`."""
    states = torch.empty_like(below)
    for batch in batches(subject, text, batch_tokens):
        tokens, index = batch.tokens, batch.index
        x = below[index].to(subject.device)
        above = subject.after(layer, x, batch.ids, lengths=batch.lengths)
        states[index[tokens]] = above.cpu()[tokens]
    return states


def embedded(subject: Subject, text: TokenFile, batch_tokens: int) -> Tensor:
    """Layer 0 of a text, `[n_tokens, d_model]`."""
    states = torch.empty(len(text.ids), subject.d_model)
    for batch in batches(subject, text, batch_tokens):
        embeddings = subject.embeddings(batch.ids, batch.lengths)
        states[batch.index[batch.tokens]] = embeddings.cpu()[batch.tokens]
    return states
