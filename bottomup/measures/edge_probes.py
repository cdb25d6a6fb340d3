"""What a linear classifier reads of the syntax of a sentence, from one of its words or from two.

Edge probing (Tenney et al. 2019, "What do you learn from context? Probing for sentence structure in
contextualized word representations") asks the same of every task: what is the label of this word,
or of these two? A task is one of `TASKS`:

- relation: the dependency relation of a word to its head, from both;
- arc: whether one of two words is the head of the other. At each distance in each sentence there
  are as many pairs with an arc as without, so neither tells anything;
- parent, grandparent, great_grandparent: the categories of the phrases around a word, from this
  word alone (Blevins, Levy and Zettlemoyer 2018, "Deep RNNs Encode Soft Hierarchical Syntax"). A
  phrase is a word with all that depends on it: its maximal projection. The parent of a word is the
  smallest phrase that holds it and another word, the grandparent the next larger one. The category
  of a phrase is the part of speech of its head. Words that have all three are asked for, so that
  the tasks compare.

Punctuation (the relation `punct`) is left out of trees, as by the structural probe. The classifier
is that of `bottomup.measures.probes`; of two words it sees the representations side by side, so it
weighs what each of them says, and not how one fits the other (docs/decisions.md).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
import torch

from bottomup.core.seeds import generator
from bottomup.measures import jackknife
from bottomup.measures.groups import TAGS
from bottomup.measures.jackknife import ANY, WITHOUT, Range
from bottomup.measures.probes import accuracies, control_labels, expected_layer
from bottomup.measures.structural_probe import PUNCTUATION
from bottomup.views.draws import places, there
from bottomup.views.values import require_finite

CONSTITUENTS = ("parent", "grandparent", "great_grandparent")
TASKS = ("relation", "arc", *CONSTITUENTS)
METRICS = ("accuracy", "control_accuracy", "selectivity")
DEVELOPMENT = 0.2  # of the sentences to train; they choose the penalty
NEEDED = 100  # examples to train, and as many to test, for a task to have values
NONE = -1  # above a root, which has no head
CATEGORIES = {tag: name for name, tags in TAGS.items() for tag in tags}


@dataclass(frozen=True)
class Task:
    """rows: those of the word, or of the two words, in the table of words, `[n, 1]` or `[n, 2]`.
    labels: `[n]`."""

    name: str
    rows: np.ndarray
    labels: np.ndarray


def words_of(
    annotation: pd.DataFrame, train: np.ndarray, test: np.ndarray, blocks: np.ndarray
) -> pd.DataFrame:
    """The words of sentences: those to train on, then those to test on, in the order of a view.

    annotation: columns sentence, text, tag, relation and head, in order of the text. train, test:
    numbers of sentences. blocks: of each sentence of the text.

    Columns: those of the annotation, but `head` is the row of the head here; block; and part, 0 to
    train, 1 for development (the last of those to train), 2 to test.
    """
    sentences = np.concatenate([train, test])
    starts, ends = (
        np.searchsorted(annotation["sentence"], sentences, side) for side in ("left", "right")
    )
    sizes = ends - starts
    moved = np.repeat(np.cumsum(sizes) - sizes - starts, sizes)
    words = annotation.iloc[np.arange(sizes.sum()) - moved].reset_index(drop=True)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    n_dev = round(DEVELOPMENT * len(train))
    part = np.repeat([0, 1, 2], [len(train) - n_dev, n_dev, len(test)])
    return words.assign(
        head=first + words["head"],
        block=np.repeat(blocks[sentences], sizes),
        part=np.repeat(part, sizes),
    )


def tasks(words: pd.DataFrame, seed: int) -> list[Task]:
    """The tasks of `TASKS`. words: as from `words_of`. seed: draws the pairs without an arc."""
    pairs = arcs(words)
    rows, labels = phrases(words, pairs)
    return [
        Task("relation", pairs, words["relation"].to_numpy()[pairs[:, 0]]),
        Task("arc", *arcs_and_others(words, pairs, seed)),
        *(Task(name, rows, of) for name, of in zip(CONSTITUENTS, labels.T, strict=True)),
    ]


def arcs(words: pd.DataFrame) -> np.ndarray:
    """The rows of each word and its head, `[n, 2]`, without roots and punctuation."""
    counted, heads = _counted(words), words["head"].to_numpy()
    rows = np.arange(len(words))
    kept = counted & counted[heads] & (heads != rows)
    return np.stack([rows[kept], heads[kept]], axis=1)


def arcs_and_others(
    words: pd.DataFrame, of_arcs: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of words of one sentence, in order of the text, `[n, 2]`, and whether there is an arc
    between them, bool `[n]`.

    Of each distance in each sentence there are as many pairs with an arc as without, drawn where
    there are more.
    """
    places = words.loc[_counted(words), ["sentence"]].rename_axis("row").reset_index()
    both = places.merge(places, on="sentence", suffixes=("", "_other")).query("row < row_other")
    pairs = both[["row", "row_other"]].to_numpy()
    pairs = pairs[generator(seed, "edge probes").permutation(len(pairs))]
    numbers = np.sort(of_arcs, axis=1) @ [len(words), 1]
    is_arc = np.isin(pairs @ [len(words), 1], numbers)
    sentences, apart = words["sentence"].to_numpy()[pairs[:, 0]], pairs[:, 1] - pairs[:, 0]
    table = pd.DataFrame({"sentence": sentences, "apart": apart, "arc": is_arc})
    turn = table.groupby(["sentence", "apart", "arc"]).cumcount()
    alike = table.groupby(["sentence", "apart"])["arc"]
    with_arc, n = alike.transform("sum"), alike.transform("size")
    kept = (turn < np.minimum(with_arc, n - with_arc)).to_numpy()
    return pairs[kept], is_arc[kept]


def phrases(words: pd.DataFrame, of_arcs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows of words that are in at least three phrases of several words, `[n, 1]`; and the
    categories of the smallest three, smallest first, `[n, 3]`."""
    rows = np.arange(len(words))
    above = np.full(len(words) + 1, NONE)  # the last one is that of NONE
    above[of_arcs[:, 0]] = of_arcs[:, 1]
    heads = [np.where(np.isin(rows, of_arcs[:, 1]), rows, above[rows])]
    while len(heads) < len(CONSTITUENTS):
        heads.append(above[heads[-1]])
    kept = heads[-1] != NONE
    categories = words["tag"].map(lambda tag: CATEGORIES.get(tag, tag)).to_numpy()
    return rows[kept, None], categories[np.stack(heads, axis=1)[kept]]


def edge_probes(
    views: np.ndarray | Sequence[np.ndarray],
    words: pd.DataFrame,
    count: int,
    seed: int,
    device: torch.device | str | None = None,
) -> Iterator[dict]:
    """Rows of `edge_probes.csv`, see docs/tables.md.

    words: as from `words_of`, with blocks below `count`; also of sentences that are not seen, see
    `views.draws`. views: of the words that are, `[layers, n_words, d]`, layer 0 first. device:
    the first GPU by default.

    expected_layer is sum_l l d_l / sum_l d_l, where d_l is how much the accuracy of layer l is
    above that of all layers below, or 0; 1 to the top layer.
    """
    for task in tasks(words, seed):
        for layer, row in _of_task(task, views, words, count, seed, device):
            yield {"layer": layer, "task": task.name, **row, "n_needed": NEEDED}


def _of_task(
    task: Task,
    views: np.ndarray | Sequence[np.ndarray],
    words: pd.DataFrame,
    count: int,
    seed: int,
    device: torch.device | str | None,
) -> Iterator[tuple[int, dict]]:
    """For one task, each row with its layer."""
    seen = there(words)
    of_seen = seen[task.rows[:, 0]]
    rows, labels = task.rows[of_seen], task.labels[of_seen]
    blocks, part = (words[name].to_numpy()[rows[:, 0]] for name in ("block", "part"))
    parts = [np.flatnonzero(part == number) for number in range(3)]
    n, n_labels = min(len(parts[0]), len(parts[-1])), len(np.unique(labels))
    empty = {"baseline": np.nan, "by_tags": np.nan, "n_labels": n_labels}
    if n < NEEDED or not len(parts[1]) or n_labels < 2:
        for layer, metric in product(range(len(views)), METRICS):
            yield layer, {"metric": metric, **jackknife.given(np.nan), **empty, "n": n}
        return
    types = joint(words["text"].str.lower(), task.rows)
    control = control_labels(task.labels, types, seed)[of_seen]
    by_tags = of_most_frequent(labels, joint(words["tag"], rows), parts)
    in_view, scores = places(seen, rows), []
    for layer, view in enumerate(views):
        require_finite(view, "a probe")
        examples = view[in_view].reshape(len(rows), -1)
        for row in accuracies(examples, labels, control, parts, blocks, count, device):
            is_accuracy = row["metric"] == "accuracy"
            yield layer, {**row, "by_tags": by_tags if is_accuracy else np.nan}
            if is_accuracy:
                scores.append([row["value"], *row[WITHOUT]])
    value = _of_gains(np.maximum.accumulate(scores))
    yield pd.NA, {"metric": "expected_layer", **value, **empty, "n": len(parts[-1])}


def _of_gains(best: np.ndarray) -> dict:
    """The columns of the expected layer; best: the accuracy of the best of layers 0 to l, with all
    blocks, then without each, `[layers, 1 + count]`."""
    gain = best[-1] - best[0]
    if not jackknife.interval(gain[0], gain[1:], ANY)[0] > 0:
        return jackknife.given(np.nan)
    expected = expected_layer(best)
    return jackknife.estimate("value", expected[0], expected[1:], Range(1, len(best) - 1))


def joint(values: pd.Series, rows: np.ndarray) -> np.ndarray:
    """A number for the values at each row of `rows` `[n, k]`: int `[n]`, equal for equal values."""
    numbers = pd.factorize(values, sort=True)[0]
    return np.unique(numbers[rows], axis=0, return_inverse=True)[1].reshape(-1)


def of_most_frequent(labels: np.ndarray, keys: np.ndarray, parts: Sequence[np.ndarray]) -> float:
    """The accuracy in test if each key is given the label that it has most often in training.

    At a tie, and for a new key, that is the label most frequent in training.

    labels: `[n]`; keys: int `[n]`.
    """
    train, _, test = parts
    targets = np.unique(labels, return_inverse=True)[1]
    counts = np.zeros((keys.max() + 1, targets.max() + 1))
    np.add.at(counts, (keys[train], targets[train]), 1)
    counts += counts.sum(0) / (len(train) + 1)
    return float((counts.argmax(1)[keys[test]] == targets[test]).mean())


def _counted(words: pd.DataFrame) -> np.ndarray:
    return (words["relation"] != PUNCTUATION).to_numpy()
