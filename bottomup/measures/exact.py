"""What a run makes of a text whose language is known, beside what can be known of it exactly.

    loss          the loss of the run, the least loss that a model can have on the same predictions,
                  and how far the run is above it
    information   what a layer's representations say of the state, the word read, its translation,
                  the next word and the previous one, by the estimators of other tables; and what
                  can be known of these from all that the run has read, or from the word alone

No function of what is read says more than what is read. So the exact value for all that a run reads
is above the true one of every layer, and an estimate above it is wrong. The exact value is a mean
over the same sentences: the logarithm of how much more probable the truth becomes, for a reader who
knows the language, by what is read.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from bottomup.core.errors import UserError
from bottomup.core.seeds import generator
from bottomup.corpus import drawn
from bottomup.corpus.batches import Text, padded
from bottomup.corpus.drawn import Language
from bottomup.corpus.specials import MASK, N_SPECIAL
from bottomup.measures import hidden_markov, jackknife
from bottomup.measures.classifier_bound import bounds
from bottomup.measures.examples import BATCH_TOKENS, examples
from bottomup.measures.hidden_markov import OTHER, Channel
from bottomup.measures.mutual_information import (
    cluster,
    mutual_information,
    possible,
    shuffled,
    without_blocks,
)
from bottomup.measures.quality import predictions
from bottomup.objectives import IGNORE, Example, Objective
from bottomup.objectives.mlm import Objective as Mlm
from bottomup.subjects.runs import OfOurs

log = logging.getLogger(__name__)

MOST_LOST = 0.001  # share of held-out sentences that may be missing
LEAST_WHOLE = 0.99  # share of them that must be read word by word


@dataclass(frozen=True)
class Sentences:
    """Held-out sentences, each word of them one token, and how they were made.

    states, words: `[n, longest]`, with anything beyond their `lengths` `[n]`. blocks: `[n]`, of
    `count` blocks of documents. numbers: the word of each token, `OTHER` of one that is none,
    `[vocab_size]`.
    """

    language: Language
    text: Text
    states: np.ndarray
    words: np.ndarray
    lengths: np.ndarray
    blocks: np.ndarray
    count: int
    numbers: np.ndarray

    def some(self, rows: np.ndarray) -> "Sentences":
        """These of the sentences, by their places, in this order."""
        parts = (self.states, self.words, self.lengths, self.blocks)
        states, words, lengths, blocks = (part[rows] for part in parts)
        text = self.text.select(rows)
        language, numbers = self.language, self.numbers
        return Sentences(language, text, states, words, lengths, blocks, self.count, numbers)


def sentences(
    options: drawn.Options,
    elements: np.ndarray,
    text: Text,
    blocks: np.ndarray,
    encode: Callable[[str], list[int]],
    vocab_size: int,
) -> Sentences:
    """The held-out sentences as they were drawn; those with a word of several tokens, which the
    training text does not have, are left out.

    elements: their numbers in the source. encode: from a word to its tokens and </s>.

    Raises UserError if sentences were dropped on the way, since those that are left are then other
    ones than the language makes, or if few are read word by word.
    """
    states, words, lengths = drawn.draw(options)
    documents = np.arange(options.sentences) // drawn.OF_A_DOCUMENT
    n_expected = int(np.isin(documents, documents[elements]).sum())
    if n_expected - len(elements) > MOST_LOST * n_expected:
        raise UserError(
            f"exact: {n_expected - len(elements)} of {n_expected} held-out sentences of the source "
            "were dropped or joined, but exact values hold only if all are kept as they are; set "
            "corpus.cleaning.min_words to at most its `shortest`, max_words to at least its "
            "`longest`, corpus.splits.near_duplicates to keep and packed_words null, or take "
            "longer sentences, of which fewer are equal"
        )
    numbers = np.full(vocab_size, OTHER)
    for number, form in enumerate(drawn.forms(options.words)):
        if len(ids := encode(form)) == 2:
            numbers[ids[0]] = number
    words, lengths = words[elements], lengths[elements]
    read = numbers[padded(text.source, np.arange(len(elements)))][:, : options.longest]
    inside = np.arange(options.longest) < lengths[:, None]
    whole = text.source.lengths == lengths + 1
    whole &= ((read == words[:, : read.shape[1]]) | ~inside[:, : read.shape[1]]).all(1)
    if whole.mean() < LEAST_WHOLE:
        raise UserError(
            f"exact: {whole.sum()} of {len(whole)} held-out sentences have one token for each word "
            "as it was drawn; allowed: 99 %; raise corpus.bpe.merges or the `sentences` of the "
            "source, or make the corpus again"
        )
    held_out = Sentences(
        options.language,
        text,
        states[elements],
        words,
        lengths,
        blocks,
        jackknife.n_blocks(blocks),
        numbers,
    )
    log.info("%d of %d sentences are read word by word", whole.sum(), len(whole))
    return held_out.some(np.flatnonzero(whole))


def losses(of: Sentences, model, objective: Objective, seed: int) -> Iterator[dict]:
    """The rows of the loss; none for an objective whose least loss is not known."""
    if objective.name not in ("lm", "mlm", "mt"):
        return
    by_sentence = predictions(model, objective, of.text, BATCH_TOKENS, seed)
    least, vocab_size = np.zeros(len(by_sentence)), model.config.vocab_size
    # By batch, since memory holds a number for each place and state.
    for rows, example in examples(objective, of.text, vocab_size, BATCH_TOKENS, seed):
        least[rows] = least_losses(of.some(rows), objective, example, vocab_size)
    sums = np.stack([by_sentence["loss_nats"], least, by_sentence["predicted"]], axis=1)
    reached, best, predicted = jackknife.sums(sums, of.blocks, of.count).T
    for estimator, nats in {"model": reached, "exact": best, "excess": reached - best}.items():
        values = jackknife.ratio(nats, predicted)
        within = jackknife.ANY if estimator == "excess" else jackknife.NOT_NEGATIVE
        estimate = jackknife.estimate("nats", values[0], values[1:], within)
        yield row("loss", "as_trained", "prediction", estimator, estimate, int(predicted[0]))
    if estimate["ci_high"] < 0:
        log.warning(
            "the loss is %.4f nats below the least that is possible: the text is not as declared, "
            "or the model reads what it predicts",
            -estimate["nats"],
        )


def least_losses(
    of: Sentences, objective: Objective, example: Example, vocab_size: int
) -> np.ndarray:
    """The least loss of each sentence, summed over what `example` asks, `[n]`.

    That of translation is 0: each word of the target depends on one word of the source alone, and
    all of these are read.
    """
    if isinstance(objective, Mlm):
        width = example.source.shape[1]
        return hidden_markov.hidden_word_losses(
            of.language,
            np.pad(of.words, ((0, 0), (0, 1)))[:, :width],
            of.numbers[example.source],
            example.labels != IGNORE,
            *channels(objective, vocab_size),
        )
    if objective.decodes():
        return np.zeros(len(of.words))
    return hidden_markov.next_word_losses(of.language, of.words, of.lengths)


def channels(objective: Mlm, vocab_size: int) -> tuple[Channel, Channel]:
    """How MLM reads words: at any place where it reads a word, and at the places that are
    chosen."""
    chosen, kept = objective.choose, 1 - objective.mask - objective.replace
    other = objective.replace / (vocab_size - N_SPECIAL)
    where_chosen = Channel(kept, other)
    return Channel(1 - chosen + chosen * kept, chosen * other), where_chosen


def row(
    quantity: str,
    reading: str,
    about: str,
    estimator: str,
    estimate: dict,
    n: int,
    knows: str | None = None,
    layer: int | None = None,
    entropy_nats: float = np.nan,
    shuffled_nats: float = np.nan,
) -> dict:
    """A row of the table."""
    of = {"quantity": quantity, "reading": reading, "about": about, "estimator": estimator}
    beside = {"shuffled_nats": shuffled_nats, "entropy_nats": entropy_nats, "n": n}
    return of | {"knows": knows, "layer": layer} | estimate | beside


@dataclass(frozen=True)
class Places:
    """Places in sentences, and the true values of variables there (such as the state, or the word).

    reading: how they are read. views: `[layers + 1, n, d_model]`. blocks: `[n]`. values: by
    variable, its true value `[n]`, and how probable each value is in general. known: by reader,
    then by variable, how probable the true value is for this reader, `[n]`.
    """

    reading: str
    views: np.ndarray
    blocks: np.ndarray
    values: dict[str, tuple[np.ndarray, np.ndarray]]
    known: dict[str, dict[str, np.ndarray]]


def places(
    of: Sentences, subject: OfOurs, masking: Mlm | None, seed: int, batch_tokens: int
) -> Places:
    """All places but the first and the last of each sentence, read as they are. With `masking`,
    only the places that it chooses and replaces by a mask."""
    ids = padded(of.text.source, np.arange(len(of.words)))
    words, states = (np.pad(some, ((0, 0), (0, 1))) for some in (of.words, of.states))
    words, states = words[:, : ids.shape[1]], states[:, : ids.shape[1]]
    columns = np.arange(1, ids.shape[1] - 1)
    asked = columns < of.lengths[:, None] - 1
    read, channel, reading = ids, Channel(), "plain"
    readers = ["word", "left" if subject.causal else "both"]
    if masking:
        example = masking.example(ids, None, subject.vocab_size, generator(seed, "masks"))
        read, reading, readers = example.source, "as_trained", ["both"]
        asked &= (read == MASK)[:, 1:-1]
        channel, _ = channels(masking, subject.vocab_size)
    inside = np.arange(ids.shape[1]) < of.lengths[:, None]
    seen = np.where(inside, of.numbers[read], OTHER)
    known = {
        knows: hidden_markov.known(of.language, states, words, seen, channel, knows)
        for knows in readers
    }
    values = hidden_markov.things(of.language, states, words)
    return Places(
        reading,
        representations(subject, read, asked, batch_tokens),
        np.broadcast_to(of.blocks[:, None], asked.shape)[asked],
        {name: (labels[asked], prior) for name, (labels, prior) in values.items()},
        {
            knows: {name: some[asked] for name, some in by_thing.items()}
            for knows, by_thing in known.items()
        },
    )


def representations(
    subject: OfOurs, ids: np.ndarray, asked: np.ndarray, batch_tokens: int
) -> np.ndarray:
    """The representations of the places that are asked for, float32 `[layers + 1, n, d_model]`.

    ids: padded, `[n_sentences, length]`. asked: bool `[n_sentences, length - 2]`, without the first
    and the last.
    """
    parts = []
    size = max(1, batch_tokens // ids.shape[1])
    for start in range(0, len(ids), size):
        rows = slice(start, start + size)
        layers = subject.hidden_states(torch.from_numpy(ids[rows]))
        chosen = torch.from_numpy(asked[rows]).to(subject.device)
        parts.append(torch.stack([layer[:, 1:-1][chosen] for layer in layers]).float().cpu())
    return torch.cat(parts, dim=1).numpy()


def information(at: Places, count: int, n_clusters: int, seed: int) -> Iterator[dict]:
    """The rows of information: what is exact, then each layer by each estimator. None for places
    in fewer than two blocks of documents, as of MLM that masks hardly a word of a small text."""
    if (n_blocks := len(np.unique(at.blocks))) < 2:
        n = len(at.blocks)
        log.info(
            f"{at.reading}: places: {n}, blocks of documents: {n_blocks}; a classifier needs 2 of "
            "these"
        )
        return
    clusters = [cluster(view, min(n_clusters, len(view)), seed) for view in at.views]
    for about in next(iter(at.known.values())):
        labels, prior = at.values[about]
        of, total = ("information", at.reading, about), hidden_markov.entropy(prior)
        for knows, probabilities in at.known.items():
            gained = np.log(probabilities[about] / prior[labels])
            sums = np.stack([gained, np.ones(len(labels))], axis=1)
            values = jackknife.ratio(*jackknife.sums(sums, at.blocks, count).T)
            # A mean over some places may be below 0, though that over all is not.
            exact = jackknife.estimate("nats", values[0], values[1:], jackknife.ANY)
            yield row(*of, "exact", exact, len(labels), knows=knows, entropy_nats=total)
        every = bounds([*at.views], labels, at.blocks, count, seed)
        for layer, (of_layer, bound) in enumerate(zip(clusters, every, strict=True)):
            value = mutual_information(labels, of_layer)
            without = without_blocks(labels, of_layer, at.blocks, count)
            plug_in = jackknife.estimate("nats", value, without, possible(labels, n_clusters))
            chance = shuffled(labels, of_layer, seed)
            yield row(*of, "clusters", plug_in, len(labels), None, layer, total, chance)
            least: dict = {"nats": bound.mi_nats, jackknife.WITHOUT: bound.without}
            least |= {"ci_low": bound.ci_low, "ci_high": bound.ci_high}
            yield row(*of, "classifier", least, bound.n_occurrences, None, layer, total)
