"""What each layer would predict: the objective's own loss, read off each layer.

The tuned lens (Belrose et al. 2023, arXiv 2303.08112) maps a layer affinely to where the output
layer reads, and the model's own output layer predicts from there; nothing of the model changes. The
logit lens (nostalgebraist 2020) maps nothing. Both read what the model's last norm makes of a
layer:

    tuned   output(A norm(h) + b)
    logit   output(norm(h))

A and b are least squares from norm(h) to norm(h_top), over other text than is measured. That is a
closed form without a seed, and the best map whatever the output layer weighs: under any quadratic
norm of the error it is the same. Belrose et al. map before the norm, and minimize the divergence
from the model's prediction by gradients; docs/decisions.md has what that would change.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional

from bottomup.core.seeds import generator
from bottomup.corpus.annotation import require_words_of
from bottomup.corpus.batches import Text
from bottomup.corpus.frequencies import ranks
from bottomup.corpus.tokens import NO_WORD, TokenFile
from bottomup.measures import jackknife
from bottomup.measures.examples import BATCH_TOKENS, examples, tensors
from bottomup.measures.groups import groups
from bottomup.measures.least_squares import Map, least_squares
from bottomup.model.transformer import Transformer, padding_mask
from bottomup.objectives import IGNORE, Example, Objective
from bottomup.views.moments import Moments

log = logging.getLogger(__name__)

# The most predictions that are read off each layer: to read one layer costs as much as to compute
# several.
MOST = 20_000
TUNED, LOGIT = "tuned", "logit"
ALL = ("all", "all")  # the grouping and the group of all predicted tokens
# Copies of one sentence for a model that reads masks, each with other tokens masked. If 15 % are
# masked, 99 in 100 tokens are masked in one of them.
COPIES = 32
NO_TOKEN = -1  # what a decoder reads first


@dataclass(frozen=True)
class Predicted:
    """Where a model predicts something, and what each layer would.

    sentence: of each prediction, `[n]`. token: the right one, `[n]`. place: where that stands in
        the source side, counted over all of its tokens, `[n]`; None if it stands elsewhere.
    losses: the cross-entropy by lens, `[layers + 1, n]`, nats. words: the most probable token, the
        same.
    """

    sentence: np.ndarray
    token: np.ndarray
    place: np.ndarray | None
    losses: dict[str, np.ndarray]
    words: dict[str, np.ndarray]


@torch.inference_mode()
def states(model: Transformer, example: Example) -> Tensor:
    """What the output layer would read after each layer of the part that it reads, the decoder
    where there is one, and where something is predicted: `[layers + 1, n, d_model]`.

    The top is what it does read.
    """
    source, target, labels = tensors(example, model.head.weight.device)
    read = model.encoder(source, output_hidden_states=True)
    layers, norm = [*read.hidden_states], model.encoder.norm
    if target is not None:
        decoder, mask = model.decoder, padding_mask(source)
        x, norm = decoder.embed(target[:, :-1]), decoder.norm
        layers = [x]
        for layer, memory in zip(decoder.layers, decoder.project_memory(read.states), strict=True):
            x, _ = layer(x, memory, mask)
            layers.append(x)
    chosen = labels != IGNORE
    return torch.stack([norm(layer[chosen]) for layer in layers])


def some_examples(
    model: Transformer, objective: Objective, text: Text, seed: int, most: int | None = None
) -> Iterator[tuple[np.ndarray, Example]]:
    """The sentences of each batch, by their numbers, and what the objective makes of them.

    If more than `most` tokens are predicted in the text, `most` of them are drawn at random. Every
    second or third would not do: sentences stand side by side by length, so some positions would be
    preferred.
    """
    vocab_size = model.config.vocab_size
    batches = list(examples(objective, text, vocab_size, BATCH_TOKENS, seed))
    total = sum(example.predicted for _, example in batches)
    kept = np.full(total, most is None or total <= most)
    if not kept.all():
        kept[generator(seed, "lens").permutation(total)[:most]] = True
    for (sentences, example), some in zip(batches, np.split(kept, _ends(batches)), strict=True):
        labels = example.labels.copy()
        labels[labels != IGNORE] = np.where(some, labels[labels != IGNORE], IGNORE)
        yield sentences, replace(example, labels=labels)


def _ends(batches: list[tuple[np.ndarray, Example]]) -> np.ndarray:
    """Where each example but the last ends among all that is predicted."""
    return np.cumsum([example.predicted for _, example in batches])[:-1]


def fitted(model: Transformer, objective: Objective, text: Text, seed: int) -> list[Map]:
    """The map of each layer to the top, by least squares over what is predicted in a text. If that
    is too little, the log has a warning."""
    moments: list[Moments] = []
    for _, example in some_examples(model, objective, text, seed):
        *_, top = layers = states(model, example)
        moments = moments or [Moments(*top.shape[-1:] * 2) for _ in layers]
        for layer, of_layer in zip(layers, moments, strict=True):
            of_layer.update(layer.cpu(), top.cpu())
    maps = [least_squares(of_layer) for of_layer in moments]
    size = maps[0].size(moments[0].n)
    if size["n"] < size["n_needed"]:
        log.warning(
            f"the tuned lens is fitted on {size['n']:,} predictions; {size['n_needed']:,} would do"
        )
    return maps


@torch.inference_mode()
def predicted(
    model: Transformer, objective: Objective, text: Text, seed: int, maps: list[Map]
) -> Predicted:
    """What each layer would predict of a text, by both lenses, at `MOST` places at most; maps: from
    `fitted`."""
    parts = []
    for sentences, example in some_examples(model, objective, text, seed, MOST):
        rows, columns = np.nonzero(example.labels != IGNORE)
        tokens = example.labels[rows, columns]
        hidden = states(model, example)
        lenses = {TUNED: tuned(hidden, maps), LOGIT: hidden}
        of_lenses = {name: _read(model, layers, tokens) for name, layers in lenses.items()}
        places = _places(text, sentences, rows, columns, tokens)
        parts.append((sentences[rows], tokens, places, of_lenses))
    sentence, token = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    placed = [part[2] for part in parts if part[2] is not None]
    known = np.concatenate(placed) if len(placed) == len(parts) else None
    losses, words = (
        {name: np.concatenate([part[3][name][i] for part in parts], axis=1) for name in lenses}
        for i in (0, 1)
    )
    return Predicted(sentence, token, known, losses, words)


def tuned(layers: Tensor, maps: list[Map]) -> Tensor:
    """States `[layers + 1, n, d_model]`, as `states` has them, as the output layer would read them.

    The top is read as it is: there the map is the identity, but for rounding.
    """
    below = [one.of(x) for x, one in zip(layers[:-1], maps[:-1], strict=True)]
    return torch.stack([*below, layers[-1]])


@torch.inference_mode()
def beliefs(
    model: Transformer, objective: Objective, sentence: Text, seed: int, maps: list[Map]
) -> Iterator[dict]:
    """What each layer would predict of one sentence, by the tuned lens: a row for each place at
    which something is predicted, and layer.

    place: from 0, of the side that is predicted. read: the token that the model reads there,
    NO_TOKEN at the start of a decoder. right: the one to predict. believed: the most probable one.
    probability, right_probability: of these two.
    """
    # Any other model reads it once: if it writes another part of it each time, places are others.
    copies = sentence.batch(np.zeros(COPIES if objective.masked else 1, dtype=np.int64))
    example = objective.example(*copies, model.config.vocab_size, generator(seed, "beliefs"))
    rows, columns = np.nonzero(example.labels != IGNORE)
    places, first = np.unique(columns, return_index=True)  # where it is predicted first
    inputs = example.source
    if example.target is not None:
        before = example.target[:, :-1]
        inputs = np.pad(before, ((0, 0), (1, 0)), constant_values=NO_TOKEN)
    read, right = inputs[rows, columns][first], example.labels[rows, columns][first]
    for layer, of_layer in enumerate(tuned(states(model, example)[:, first], maps)):
        probabilities = model.head(of_layer).softmax(dim=1).cpu().numpy()
        believed = probabilities.argmax(axis=1)
        for n, place in enumerate(places):
            yield {
                "place": int(place),
                "layer": layer,
                "read": int(read[n]),
                "right": int(right[n]),
                "believed": int(believed[n]),
                "probability": float(probabilities[n, believed[n]]),
                "right_probability": float(probabilities[n, right[n]]),
            }


def _read(model: Transformer, layers: Tensor, tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The loss and the most probable token at each layer: two `[layers + 1, n]`."""
    labels = torch.from_numpy(tokens).to(layers.device)
    losses, words = [], []
    for layer in layers:
        logits = model.head(layer)
        losses.append(functional.cross_entropy(logits, labels, reduction="none").cpu().numpy())
        words.append(logits.argmax(dim=1).int().cpu().numpy())
    return np.stack(losses), np.stack(words)


def _places(
    text: Text, sentences: np.ndarray, rows: np.ndarray, columns: np.ndarray, tokens: np.ndarray
) -> np.ndarray | None:
    """Where the tokens that are predicted at these rows and columns of a batch stand in the source
    side: where they are predicted, or one place beside; None for tokens of the other side."""
    if text.target is not None:
        return None
    starts, lengths = text.source.offsets[sentences][rows], text.source.lengths[sentences][rows]
    for ahead in (0, 1, -1):
        places = starts + np.clip(columns + ahead, 0, lengths - 1)
        if (text.source.ids[places] == tokens).all():
            return places
    return None


def known_of_tokens(
    tokens: TokenFile, frequencies: pd.DataFrame, annotation: pd.DataFrame | None
) -> pd.DataFrame:
    """The rank of each token of a text and, if words are annotated, the tag of its word.

    frequencies: columns token_id and rank. annotation: of the words of this text, in its order,
    with the column tag.

    Raises UserError if the annotation is of other words.
    """
    known = pd.DataFrame({"rank": ranks(frequencies)[tokens.ids]})
    if annotation is None:
        return known
    require_words_of(tokens, annotation)
    tags = annotation["tag"].to_numpy(dtype=object)[np.cumsum(tokens.begins) - 1]
    return known.assign(tag=np.where(tokens.words == NO_WORD, None, tags))


def turned(words: np.ndarray) -> np.ndarray:
    """Whether the most probable token is another than one layer below, `[layers, n]`, of words
    `[layers + 1, n]`."""
    return words[1:] != words[:-1]


def of_tokens(
    predictions: Predicted, known: pd.DataFrame | None
) -> list[tuple[str, str, np.ndarray]]:
    """The groups of predicted tokens: grouping, group, and which belong to it, bool `[n]`.

    known: what is known of each token of the source side: rank and, if known, tag. Without it, or
    if predicted tokens are of the other side, there is just the group of all.
    """
    every = [(*ALL, np.full(len(predictions.token), True))]
    if known is None or predictions.place is None:
        return every
    whole = dict.fromkeys(("first_subword", "last_subword", "stands_for_word"), True)
    tokens = known.iloc[predictions.place].assign(input_id=predictions.token, **whole)
    return every + [(g.grouping, g.name, g.members) for g in groups(tokens, tokens)]


def lens(
    predictions: Predicted, maps: list[Map], blocks: np.ndarray, known: pd.DataFrame | None = None
) -> Iterator[dict]:
    """Rows of `lens.csv`, see docs/tables.md.

    blocks: the block of each sentence of the text. known: as in `of_tokens`.
    """
    block_of, count = blocks[predictions.sentence], jackknife.n_blocks(blocks)
    for grouping, group, members in of_tokens(predictions, known):
        within = block_of[members]
        cases = jackknife.cases_of(within, count)
        for name in (TUNED, LOGIT) if (grouping, group) == ALL else (TUNED,):
            n = int(members.sum())
            size = maps[0].size(n) if name == TUNED else {"n": n, "n_needed": 1}
            about = {"lens": name, "grouping": grouping, "group": group, **size}
            or_nan = 1.0 if size["n"] >= size["n_needed"] else np.nan
            changes = turned(predictions.words[name][:, members]) * or_nan
            for measure, first, values in (
                ("loss_nats", 0, predictions.losses[name][:, members] * or_nan),
                ("turned", 1, changes),
            ):
                shares = cases if measure == "turned" else None
                range_ = jackknife.UNIT if measure == "turned" else jackknife.NOT_NEGATIVE
                for layer, of_layer in enumerate(values, first):
                    place = about | {"measure": measure, "layer": layer}
                    yield place | _mean(of_layer, within, count, range_, shares)
            most = jackknife.Range(0, len(changes))
            place = about | {"measure": "turns", "layer": np.nan}
            yield place | _mean(changes.sum(axis=0), within, count, most)


def _mean(
    values: np.ndarray,
    blocks: np.ndarray,
    count: int,
    within: jackknife.Range,
    cases: np.ndarray | None = None,
) -> dict:
    """The estimate of a mean of values `[n]`; blocks: the block of each value."""
    mean = jackknife.means(values.astype(float), blocks, count)
    return jackknife.estimate("value", mean[0], mean[1:], within, cases)
