"""How much tokens of a group influence all others: Voita et al. EMNLP 2019, section 5.2.

The influence at layer n is the PWCCA distance between two versions of the representations of all
other tokens right after layer n: encoded as usual, which carries the weights, and with what is to
be judged hidden from attention in this layer alone. Both continue one encoding of the layers
below.

What is hidden is either one token, as in the paper ("the influencing token", write the authors), or
all tokens of the group that a sentence holds. The latter grows with their number, too, so that
frequent tokens come out as influential whatever they do.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from bottomup.corpus.specials import PAD
from bottomup.corpus.tokens import TokenFile
from bottomup.errors import UserError
from bottomup.measures.blocks import distances, moments_of_blocks
from bottomup.measures.groups import Group
from bottomup.seeds import generator
from bottomup.subjects import Run
from bottomup.training.batches import Text, in_order, padded


@dataclass(frozen=True)
class Case:
    """What a group is measured on: sentences, and what is hidden in them.

    names: grouping and group; text: the sentences; tokens: where theirs stand among the tokens of
    all that is read; hidden: which are hidden; compared: which are not, but for </s>; sentences:
    that of each. The last four are `[n_tokens]`.
    """

    names: dict
    text: TokenFile
    tokens: np.ndarray
    hidden: np.ndarray
    compared: np.ndarray
    sentences: np.ndarray


def influence(
    subject: Run,
    text: TokenFile,
    occurrences: pd.DataFrame,
    groups: list[Group],
    hidden: str,
    n_sentences: int,
    n_samples: int,
    seed: int,
    batch_tokens: int,
    device: torch.device | str = "cpu",
) -> Iterator[dict]:
    """Rows of a table: grouping, group, layer, then distance, ci_low, ci_high and the counts.

    text: what the model reads; occurrences: the table of its tokens, columns `text` and `position`;
    hidden, n_sentences: what, in how many sentences, see `choose`; n_samples: of the bootstrap;
    batch_tokens: padded tokens encoded at once. Layers are counted from 1, the first that attends.
    In memory are two layers of all that is read, in float32, and one group's moments.
    """
    subject.model.to(device)
    text, cases = choose(text, occurrences, groups, hidden, n_sentences, seed)
    below = embedded(subject, text, batch_tokens, device)
    for layer in range(1, subject.layers + 1):
        usual = continued(subject, layer, below, text, batch_tokens, device)
        for case in cases:
            x = usual[case.tokens]
            y = without(subject, layer, below[case.tokens], x, case, batch_tokens, device)
            rows = case.compared
            blocks = moments_of_blocks(x[rows], y[rows], case.sentences[rows], seed, device)
            [row] = distances(blocks, [("definition", "x")], n_samples, seed)
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

    hidden "token": `n_sentences` of the group's tokens, each in a sentence of its own, which may
    come again with another token; the whole word by part of speech. hidden "group": `n_sentences`
    sentences that hold a token of the group, and all of these. Tokens, or sentences, are put in
    random order once, and each group takes the first, or all where there are fewer, so that groups
    share what they read as far as can be.
    """
    if hidden not in ("token", "group"):
        raise UserError(f"influence of hidden {hidden!r}; allowed: token, group")
    one_token = hidden == "token"
    order = generator(seed, "influence").permutation(len(occurrences) if one_token else len(text))
    numbers = occurrences["text"].to_numpy()
    places = text.offsets[numbers] + occurrences["position"].to_numpy()
    chosen = []
    for group in groups:
        if one_token:
            rows = np.sort(order[group.representatives[order]][:n_sentences])
            chosen.append((group, numbers[rows], group.units, group.units[rows]))
        else:
            holding = np.isin(order, numbers[group.members])
            sentences = np.sort(order[holding][:n_sentences])
            chosen.append((group, sentences, group.members, np.full(len(sentences), True)))
    read = np.unique(np.concatenate([sentences for _, sentences, _, _ in chosen]))
    cases = [_case(text, read, places, *choice) for choice in chosen]
    return text.select(read), [case for case in cases if case.compared.any()]


def _case(
    text: TokenFile,
    read: np.ndarray,
    places: np.ndarray,
    group: Group,
    sentences: np.ndarray,
    labels: np.ndarray,
    wanted: np.ndarray,
) -> Case:
    """The tokens of `sentences` `[n]`, those hidden whose label is that `wanted` of theirs `[n]`.

    read: the sentences that are read; places, labels: of each occurrence, its place among the
    tokens of the text, and what tells whether it is hidden.
    """
    lengths = text.lengths[sentences]
    offsets = np.cumsum(lengths) - lengths
    tokens = np.arange(lengths.sum()) + np.repeat(text.offsets[sentences] - offsets, lengths)
    counts = np.zeros(len(text.ids), dtype=bool)
    counts[places] = True
    label = np.zeros(len(text.ids), dtype=labels.dtype)
    label[places] = labels
    hidden = counts[tokens] & (label[tokens] == np.repeat(wanted, lengths))
    is_read = np.isin(np.repeat(np.arange(len(text)), text.lengths), read)
    return Case(
        {"grouping": group.grouping, "group": group.name},
        text.select(sentences),
        (np.cumsum(is_read) - 1)[tokens],
        hidden,
        counts[tokens] & ~hidden,
        np.repeat(sentences, lengths),
    )


def without(
    subject: Run,
    layer: int,
    below: Tensor,
    usual: Tensor,
    case: Case,
    batch_tokens: int,
    device: torch.device | str = "cpu",
) -> Tensor:
    """The residual stream after `layer` where its attention does not see what is hidden.

    below, usual: the streams of the case's tokens before and after the layer, `[n_tokens,
    d_model]`, and so is what is returned. Hidden tokens still see themselves. Tokens that nothing
    is hidden from are not computed anew: they keep the bits of `usual`.
    """
    states = usual.clone()
    for ids, tokens, index in batches(case.text, batch_tokens):
        ids = ids.to(device)
        hidden = torch.from_numpy(case.hidden[index] & tokens).to(device)
        itself = torch.eye(ids.shape[1], dtype=torch.bool, device=device)
        seen = subject.visible(ids)
        mask = seen & (~hidden[:, None, None, :] | itself)
        changed = (mask != seen).any(-1)[:, 0].cpu().numpy() & tokens  # [batch, length]
        above = subject.layer(layer, below[index].to(device), mask)
        states[index[changed]] = above.cpu()[changed]
    return states


def continued(
    subject: Run,
    layer: int,
    below: Tensor,
    text: TokenFile,
    batch_tokens: int,
    device: torch.device | str = "cpu",
) -> Tensor:
    """The residual stream after `layer`, from that before it: both `[n_tokens, d_model]`."""
    states = torch.empty_like(below)
    for ids, tokens, index in batches(text, batch_tokens):
        mask = subject.visible(ids.to(device))
        above = subject.layer(layer, below[index].to(device), mask)
        states[index[tokens]] = above.cpu()[tokens]
    return states


def embedded(
    subject: Run, text: TokenFile, batch_tokens: int, device: torch.device | str = "cpu"
) -> Tensor:
    """Layer 0 of a text, `[n_tokens, d_model]`."""
    states = torch.empty(len(text.ids), subject.d_model)
    for ids, tokens, index in batches(text, batch_tokens):
        states[index[tokens]] = subject.embeddings(ids.to(device)).cpu()[tokens]
    return states


def batches(text: TokenFile, batch_tokens: int) -> Iterator[tuple[Tensor, np.ndarray, np.ndarray]]:
    """Padded ids, which of them are tokens, and where these stand in the text.

    All `[batch, length]`; padding stands at 0.
    """
    for sentences in in_order(Text(text), batch_tokens):
        ids = padded(text, sentences)
        tokens = ids != PAD
        index = text.offsets[sentences][:, None] + np.arange(ids.shape[1])
        yield torch.from_numpy(ids), tokens, np.where(tokens, index, 0)
