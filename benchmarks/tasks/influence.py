"""Influence of groups of tokens at all layers, against encoding the text once for each of them."""

import time
from itertools import product

import numpy as np
import torch
from models import encoder, encoder_flop
from synthetic import annotate, draw_lengths, draw_text, occurrences_of
from task import Contender, Task, Work

from bottomup.corpus.tokens import TokenFile
from bottomup.measures.blocks import distances, moments_of_blocks
from bottomup.measures.groups import Group, groups
from bottomup.measures.influence import batches, choose, influence
from bottomup.subjects import Subject

N_TOKENS, BATCH_TOKENS, TEXT_SENTENCES = 5000, 4096, 3000


def drawn(sentences: int, d: int, layers: int) -> tuple[Subject, tuple]:
    """A model that sees both sides, and the arguments of `choose`: one token is hidden in each
    sentence."""
    rng = np.random.default_rng(1)
    text = draw_text(draw_lengths(TEXT_SENTENCES, rng), N_TOKENS, rng)
    table = occurrences_of(text, N_TOKENS)
    found = groups(table, annotate(table, rng))
    subject = encoder(N_TOKENS, d, layers)
    return subject, (text, table, of_ranks(found), "token", sentences, 1)


def of_ranks(found: list[Group]) -> list[Group]:
    return [group for group in found if group.grouping == "frequency_rank"]


def work(sentences: int, d: int, layers: int) -> Work:
    """Two encodings: the text as usual, and each layer again with the hidden tokens."""
    text, cases = choose(*drawn(sentences, d, layers)[1])
    flop = [encoder_flop(part, d, layers) for part in (text, *(case.text for case in cases))]
    return Work(items=len(cases) * layers, flop=sum(flop))


def ours(sentences: int, d: int, layers: int) -> tuple[float, float]:
    subject, chosen = drawn(sentences, d, layers)
    start = time.process_time()
    found = [row["distance"] for row in influence(subject, *chosen, BATCH_TOKENS)]
    return time.process_time() - start, float(np.mean(found))


def for_each(sentences: int, d: int, layers: int) -> tuple[float, float]:
    """Each case is encoded as a whole for each layer, and the text once."""
    subject, (text, table, *rest) = drawn(sentences, d, layers)
    start = time.process_time()
    block_of = table.groupby("text")["block"].first()
    text, cases = choose(text, table, *rest)
    usual, found = encoded(subject, text), []
    for layer, case in product(range(1, layers + 1), cases):
        rows = case.compared
        y = encoded(subject, case.text, case.hidden, layer)[layer][rows]
        blocks = block_of[case.sentences[rows]].to_numpy()
        parts = moments_of_blocks(
            usual[layer][case.tokens[rows]], y, blocks, table["block"].max() + 1
        )
        found += [row["distance"] for row in distances(parts, [("definition", "x")])]
    return time.process_time() - start, float(np.mean(found))


def encodings(sentences: int, d: int, layers: int) -> tuple[float, float]:
    """The encoder's part of `ours` at the cost of usual encoding: the text and all cases."""
    subject, chosen = drawn(sentences, d, layers)
    text, cases = choose(*chosen)
    start = time.process_time()
    for part in (text, *(case.text for case in cases)):
        encoded(subject, part)
    return time.process_time() - start, np.nan


def encoded(
    subject: Subject, text: TokenFile, hidden: np.ndarray | None = None, layer: int = 0
) -> torch.Tensor:
    """The stream after each layer, `[layers + 1, n_tokens, d_model]`; hidden: tokens `[n_tokens]`
    that `layer` does not see."""
    states = torch.empty(subject.layers + 1, len(text.ids), subject.d_model)
    for batch in batches(subject, text, BATCH_TOKENS):
        ids, tokens, index = batch.ids, batch.tokens, batch.index
        unseen = None
        if hidden is not None:
            unseen = torch.zeros(subject.layers, *ids.shape, dtype=torch.bool)
            unseen[layer - 1] = torch.from_numpy(hidden[index] & tokens)
        found = torch.stack(subject.hidden_states(ids, hidden=unseen, lengths=batch.lengths))
        states[:, index[tokens]] = found[:, tokens]
    return states


TASKS = {
    "influence": Task(
        target="near two encodings a layer",
        item="distances",
        value="mean distance",
        work=work,
        contenders={
            "bottomup": Contender(ours),
            "encoding for each layer and bin": Contender(for_each),
            "two encodings a layer": Contender(encodings),
        },
        sizes=[{"sentences": n, "d": 128, "layers": 6} for n in (50, 100, 200)],
        small=[{"sentences": n, "d": 16, "layers": 2} for n in (20, 40, 80)],
    )
}
