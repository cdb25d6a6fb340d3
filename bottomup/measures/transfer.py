"""What a model knows of a task as it is, and what it learns if it is trained further: transfer.

A linear classifier tells the label of a word, or that of a sentence from the mean of its words.

- Frozen: the classifier is all that is trained, on each layer in turn.
- Fine-tuned: it reads the top layer, and all weights below are trained with it (Peters, Ruder and
  Smith 2019, "To Tune or Not to Tune? Adapting Pretrained Representations to Diverse Tasks").

One program trains both, on the same examples in the same order, so they differ only in which
weights are free. An untrained network that is fine-tuned shows what the examples of the task can
teach.

How far fine-tuning moves a layer is debiased linear CKA of its states before and after, on text
that is not the task's (Merchant et al. 2020, "What Happens To BERT Embeddings During Fine-tuning?";
Phang, Liu and Bowman 2021, "Fine-Tuned Transformers Show Clusters of Similar Representations Across
Layers"), beside its null, see `bottomup.measures.null`.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn import functional

from bottomup.core.seeds import generator
from bottomup.corpus.batches import Text, in_order
from bottomup.corpus.tokens import TokenFile
from bottomup.measures import jackknife
from bottomup.measures.jackknife import UNIT
from bottomup.measures.null import Permutations, calibrated
from bottomup.measures.similarity import LEAST_DEBIASED, debiased_cka
from bottomup.subjects.batches import side_by_side, states
from bottomup.subjects.subject import Subject
from bottomup.subjects.words import stands_for_word
from bottomup.views.values import mean_and_deviation

log = logging.getLogger(__name__)

BATCH_TOKENS = 512  # padded tokens of an update
# Peak learning rate of the classifier, whatever that of the weights below: what it reads has unit
# variance.
CLASSIFIER_RATE = 3e-2
WARMUP = 0.1  # of all updates; beneath it rates fall to 0, so they peak at 1 / 1.1 of themselves
PATIENCE = 2  # passes without a lower loss on development examples
NEEDED = 100  # examples to train, and as many to test, for a task to have values
FROZEN, FINE_TUNED = "frozen", "fine_tuned"


@dataclass(frozen=True)
class Task:
    """words: which example each word of the text is of, `[n_words]`. labels: int, parts (0 to
    train, 1 for development, 2 to test), blocks: of each example, `[n]`. n_labels: how many labels
    there are."""

    name: str
    words: np.ndarray
    labels: np.ndarray
    parts: np.ndarray
    blocks: np.ndarray
    n_labels: int


@dataclass(frozen=True)
class Batch:
    """Sentences side by side, as a subject reads them.

    ids, lengths: as in `Subject.hidden_states`. ends: where a word ends, bool `[batch, length]`.
    examples: the numbers of the examples, `[n]`; labels: theirs. places: of which of these each of
    the words is.
    """

    ids: Tensor
    lengths: Tensor
    ends: Tensor
    examples: Tensor
    places: Tensor
    labels: Tensor


@dataclass(frozen=True)
class Fit:
    """loss: on the development examples, in nats. rate: of the weights below the classifier.
    passes: over the training examples. classifier, weights: what is learned."""

    loss: float
    rate: float
    passes: int
    classifier: list[Tensor]
    weights: list[Tensor]


Features = Callable[[Batch], Tensor]  # what the classifier reads of its examples, `[n, d]`


class Classifier(nn.Module):
    """Linear, of neurons that have mean 0 and variance 1 over some rows `[n, d]`; all 0 at first,
    so that weights below it do not follow what was drawn."""

    def __init__(self, rows: np.ndarray, n_labels: int, device: torch.device | str):
        super().__init__()
        self.mean, self.deviation = (
            torch.from_numpy(of).float().to(device) for of in mean_and_deviation(rows)
        )
        self.linear = nn.Linear(rows.shape[1], n_labels, device=device)
        for parameter in self.parameters():
            nn.init.zeros_(parameter)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear((x - self.mean) / self.deviation)


def task_of(name: str, words: pd.DataFrame, of_sentences: bool) -> Task:
    """The task called `name`.

    words: as from `edge_probes.words_of`, with the label in a column of that name. If the task is
    about sentences, all words of a sentence have the same label.
    """
    examples = pd.factorize(words["sentence"])[0] if of_sentences else np.arange(len(words))
    first = np.unique(examples, return_index=True)[1]
    distinct, targets = np.unique(words[name].to_numpy()[first], return_inverse=True)
    parts, blocks = (words[of].to_numpy()[first] for of in ("part", "block"))
    return Task(name, examples, targets, parts, blocks, len(distinct))


def batches(subject: Subject, text: TokenFile, task: Task) -> list[list[Batch]]:
    """The batches of each part: to train, for development, to test."""
    ends = stands_for_word(text, subject.backward)
    word, of_token = np.cumsum(ends) - 1, text.sentences
    of_sentences = np.zeros(len(text), dtype=int)
    of_sentences[of_token[ends]] = task.parts[task.words]

    def batch(sentences: np.ndarray) -> Batch:
        read = side_by_side(subject, text, sentences)
        read_ends = read.tokens & ends[read.index]
        examples, places = np.unique(task.words[word[read.index[read_ends]]], return_inverse=True)
        arrays = read_ends, examples, places.reshape(-1), task.labels[examples]
        of_torch = read.ids, read.lengths, *map(torch.from_numpy, arrays)
        return Batch(*(array.to(subject.device) for array in of_torch))

    parts = [np.flatnonzero(of_sentences == part) for part in range(3)]
    return [
        [batch(some[places]) for places in in_order(Text(text.select(some)), BATCH_TOKENS)]
        for some in parts
    ]


def means(words: Tensor, places: Tensor, n: int) -> Tensor:
    """The mean of the words of each example, `[n, d]`."""
    summed = words.new_zeros(n, words.shape[1]).index_add(0, places, words)
    return summed / torch.bincount(places, minlength=n)[:, None]


def fitted(
    features: Features,
    weights: Sequence[nn.Parameter],
    rows: np.ndarray,
    parts: list[list[Batch]],
    n_labels: int,
    rates: Sequence[float],
    passes: int,
    seed: int,
) -> tuple[Classifier, Fit]:
    """The classifier, and weights below it, with the lowest loss on the development examples: of
    all rates, after any pass.

    rows: what the classifier reads of the training examples before. weights: they stay as learned.
    """
    classifier, start = Classifier(rows, n_labels, parts[0][0].ids.device), copies(weights)
    zeros, fits = copies([*classifier.parameters()]), []
    for rate in rates:
        restore(weights, start)
        restore([*classifier.parameters()], zeros)
        fits.append(_trained(features, weights, classifier, parts, rate, passes, seed))
    best = min(fits, key=lambda fit: fit.loss)
    restore(weights, best.weights)
    restore([*classifier.parameters()], best.classifier)
    return classifier, best


def _trained(
    features: Features,
    weights: Sequence[nn.Parameter],
    classifier: Classifier,
    parts: list[list[Batch]],
    rate: float,
    passes: int,
    seed: int,
) -> Fit:
    """Train by Adam, at one rate. Returns the state after the pass with the lowest loss."""
    (train, dev, _), on_top = parts, [*classifier.parameters()]
    groups = [{"params": on_top, "lr": CLASSIFIER_RATE}, {"params": [*weights], "lr": rate}]
    adam = torch.optim.Adam([group for group in groups if group["params"]])
    updates = passes * len(train)
    warm = WARMUP * updates

    def share(update: int) -> float:
        return min((update + 1) / warm, 1 - update / updates)

    schedule, rng = torch.optim.lr_scheduler.LambdaLR(adam, share), generator(seed, "transfer")
    best = Fit(_loss(features, classifier, dev), rate, 0, copies(on_top), copies(weights))
    for number in range(1, passes + 1):
        for place in rng.permutation(len(train)):
            batch = train[place]
            adam.zero_grad()
            functional.cross_entropy(classifier(features(batch)), batch.labels).backward()
            adam.step()
            schedule.step()
        loss = _loss(features, classifier, dev)
        log.info("rate %g, pass %d: %.4f nats on development examples", rate, number, loss)
        if loss < best.loss:
            best = Fit(loss, rate, number, copies(on_top), copies(weights))
        if number - best.passes == PATIENCE:
            break
    return best


@torch.no_grad()
def _loss(features: Features, classifier: Classifier, some: list[Batch]) -> float:
    """The mean cross-entropy of all examples, in nats."""
    logits = torch.cat([classifier(features(batch)) for batch in some])
    labels = torch.cat([batch.labels for batch in some])
    return functional.cross_entropy(logits, labels).item()


def copies(parameters: Sequence[nn.Parameter]) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in parameters]


@torch.no_grad()
def restore(parameters: Sequence[nn.Parameter], values: Sequence[Tensor]) -> None:
    for parameter, value in zip(parameters, values, strict=True):
        parameter.copy_(value)


def transfer(
    subject: Subject,
    text: TokenFile,
    tasks: Sequence[Task],
    other: TokenFile,
    blocks: np.ndarray,
    count: int,
    *,
    rates: Sequence[float],
    passes: int,
    seed: int,
    batch_tokens: int,
    permutations: Permutations | None,
) -> Iterator[dict]:
    """Rows of `transfer.csv`, see docs/tables.md.

    text: sentences as the subject reads them, whose words are those of the tasks, in order. other:
    the sentences for CKA; blocks: of each of these. count: of blocks. rates: of the weights below
    the classifier; their choice and passes: see `fitted`. batch_tokens: read at once where nothing
    is learned.

    The subject is left as it was.
    """
    of_words, of_other = (stands_for_word(each, subject.backward) for each in (text, other))
    views = states(subject, text, of_words, batch_tokens)
    before = states(subject, other, of_other, batch_tokens)
    blocks = np.repeat(blocks, other.lengths)[of_other]
    weights = subject.learned_weights
    for weight in weights:
        weight.requires_grad_(True)
    start, options = copies(weights), {"passes": passes, "seed": seed}

    def top(batch: Batch) -> Tensor:
        layers = subject.differentiable_states(batch.ids, batch.lengths)
        return means(layers[-1][batch.ends], batch.places, len(batch.examples))

    if (n_other := before.shape[1]) < LEAST_DEBIASED:
        log.info("no CKA: other sentences of these documents have %d words", n_other)
    if not subject.learns:
        log.info("nothing is fine-tuned: transformers does not train this family here")

    for task in tasks:
        train, dev, test = (np.flatnonzero(task.parts == part) for part in range(3))
        n = min(len(train), len(test))
        if n < NEEDED or not len(dev):
            yield from _without_values(task, n, subject.layers)
            continue
        parts = batches(subject, text, task)
        places = torch.from_numpy(task.words)
        layers = [means(torch.from_numpy(view), places, len(task.labels)) for view in views]
        for layer, rows in enumerate(layers):
            read = of_layer(rows.to(subject.device))
            probe = fitted(read, [], rows[train].numpy(), parts, task.n_labels, [0.0], **options)
            yield _accuracy(task, FROZEN, layer, _hits(task, read, parts[2], *probe, count))
        if not subject.learns:
            yield _accuracy(
                task, FINE_TUNED, subject.layers, {**jackknife.given(np.nan), "n": len(test)}
            )
            continue
        probe = fitted(
            top, weights, layers[-1][train].numpy(), parts, task.n_labels, rates, **options
        )
        yield _accuracy(task, FINE_TUNED, subject.layers, _hits(task, top, parts[2], *probe, count))
        after = states(subject, other, of_other, batch_tokens)
        restore(weights, start)
        yield from calibrated(_moved(task, before, after, blocks, count, permutations), ("task",))


def of_layer(rows: Tensor) -> Features:
    """Features of examples whose representations are known: rows, `[n, d]`."""
    return lambda batch: rows[batch.examples]


@torch.no_grad()
def _hits(
    task: Task,
    features: Features,
    test: list[Batch],
    classifier: Classifier,
    fit: Fit,
    count: int,
) -> dict:
    """The columns of an accuracy."""
    hits = [classifier(features(batch)).argmax(dim=1) == batch.labels for batch in test]
    blocks = task.blocks[torch.cat([batch.examples for batch in test]).cpu().numpy()]
    right = torch.cat(hits).double().cpu().numpy()
    shares = jackknife.means(right, blocks, count)
    cases = jackknife.cases_of(blocks, count)
    frequent = np.bincount(task.labels[task.parts == 0]).argmax()
    return {
        **jackknife.estimate("value", shares[0], shares[1:], UNIT, cases),
        "baseline": float((task.labels[task.parts == 2] == frequent).mean()),
        **{"rate": fit.rate, "passes": fit.passes, "n": len(right)},
    }


def _accuracy(task: Task, weights: str, layer: int, columns: dict) -> dict:
    names = {"layer": layer, "task": task.name, "weights": weights, "metric": "accuracy"}
    return names | columns | {"n_labels": task.n_labels, "n_needed": NEEDED}


def _without_values(task: Task, n: int, top: int) -> Iterator[dict]:
    empty = {**jackknife.given(np.nan), "n": n}
    for layer in range(top + 1):
        yield _accuracy(task, FROZEN, layer, empty)
    yield _accuracy(task, FINE_TUNED, top, empty)


def _moved(
    task: Task,
    before: np.ndarray,
    after: np.ndarray,
    blocks: np.ndarray,
    count: int,
    permutations: Permutations | None,
) -> Iterator[dict]:
    """The rows of CKA, as `null.calibrated` reads them."""
    names = {"task": task.name, "weights": FINE_TUNED}
    if before.shape[1] < LEAST_DEBIASED:
        return
    for layer, views in enumerate(zip(before, after, strict=True)):
        row = debiased_cka(*views, blocks, count, permutations)
        named = {"layer": layer, **names, "metric": row.pop("measure")}
        yield named | {"n": row.pop("n_occurrences")} | row
