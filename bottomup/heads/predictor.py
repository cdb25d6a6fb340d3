"""What importance, judging and pruning ask of a model, be it a run or a checkpoint."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn import functional

from bottomup.core.errors import UserError
from bottomup.core.kinds import GATED
from bottomup.core.seeds import generator
from bottomup.corpus.batches import Text, in_order
from bottomup.objectives import IGNORE, Example, Objective

PLACE = ["kind", "layer", "head"]
Place = tuple[str, int, int]  # a head's kind of attention, layer and number, from 1


class Heads(Protocol):
    """The heads of one attention; gates: the factors of their outputs, `[heads]`."""

    gates: Tensor


class Predictor(ABC):
    """A model with the objective that it was trained under, and its loss as a function of the gates
    of its heads.

    objective: one of ours; if the model was trained under none of ours, one that predicts nothing.
    gives_probabilities: whether the model has layers, trained or not, that give tokens
    probabilities.
    """

    objective: Objective
    gives_probabilities = True

    @abstractmethod
    def attentions(self) -> Mapping[str, Sequence[Heads]]:
        """The heads of each layer, from the bottom up, by kind of attention ("encoder", "decoder",
        "cross"). The next loss uses the gates that they have then."""

    @property
    def gates(self) -> dict[str, list[Tensor]]:
        """The gates of `attentions`."""
        attentions = self.attentions().items()
        return {kind: [heads.gates for heads in of_kind] for kind, of_kind in attentions}

    @abstractmethod
    def text(self, files: Sequence[Path]) -> Text:
        """One split, from its files, as the model reads and predicts it."""

    def predicts(self, text: Text) -> bool:
        """Whether a text has something that the model was trained to predict."""
        side = self.objective.predicts
        return side == "source" or (side is not None and text.target is not None)

    @abstractmethod
    def example(self, text: Text, sentences: np.ndarray, rng: np.random.Generator) -> Example:
        """What the objective makes of sentences of a `text`, by their numbers."""

    @abstractmethod
    def losses(self, example: Example) -> tuple[Tensor, Tensor]:
        """The cross-entropy of each sentence in nats, and its number of predicted tokens, both
        `[sentences]`."""

    @torch.inference_mode()
    def losses_of_text(self, text: Text, batch_tokens: int, seed: int, draw: str) -> np.ndarray:
        """The same of each sentence of a `text`, `[n_sentences, 2]`; seed and draw: of masks."""
        by_sentence = np.zeros((len(text.source), 2))
        for index, sentences in enumerate(in_order(text, batch_tokens)):
            example = self.example(text, sentences, generator(seed, draw, index))
            by_sentence[sentences] = torch.stack(self.losses(example), dim=1).cpu().numpy()
        return by_sentence

    def losses_from(self, example: Example) -> Callable[[str, int], Tensor]:
        """The losses `[sentences]` as a function of the kind and the layer, from 0, of the
        attention whose gates have changed since this call. All other gates must be as they were."""
        return lambda kind, layer: self.losses(example)[0]

    def summed_loss(self, example: Example, smoothing: float = 0.0) -> tuple[Tensor, int]:
        """The same summed over sentences, with a gradient. smoothing: that of the objective, in
        training."""
        return self.losses(example)[0].sum(), example.predicted

    def together(self, examples: Sequence[Example]) -> Iterable[Example]:
        """The same sentences, several in one example where that is faster."""
        return examples

    @abstractmethod
    def learner(self, encoder_alone: bool) -> nn.Module:
        """The module that training changes, ready for it. encoder_alone: what a decoder does is
        left as it is."""

    @abstractmethod
    def save(self, folder: Path, gates: pd.DataFrame) -> None:
        """Write the model to a folder: without the heads that a table of gates closes at the last
        step, or with gates that close them."""


def require_prunable(predictor: Predictor, text: Text, name: str, attention: str) -> None:
    """Raise UserError if no loss on `text` tells which heads of an `attention` (a key of GATED) may
    go, or if the model has no such heads. name: the study's name for the model."""
    if predictor.objective.predicts is None:
        raise UserError(
            f"{name} cannot be pruned: it predicts neither masked tokens, nor the next one, nor, "
            "as Marian, a translation, so no loss tells which heads it needs; remove "
            f"pruning.penalties.{name}, or take a checkpoint with the layers that predict (see "
            "`architectures` in its config.json)"
        )
    if not predictor.predicts(text):
        raise UserError(
            f"{name} translates, but the study's text has no target side; remove "
            f"pruning.penalties.{name}, or add a target language to corpus.languages"
        )
    present = [kind for kind, gates in predictor.gates.items() if gates]
    if not set(GATED[attention]) <= set(present):
        raise UserError(
            f"pruning.penalties.{name}.{attention}: {name} has no such heads that can be closed; "
            f"allowed: {', '.join(present) or 'null, as it has none'}"
        )


def closed(gates: pd.DataFrame) -> list[Place]:
    """The heads closed at the last step of a table of gates."""
    last = gates[(gates["step"] == gates["step"].max()) & ~gates["kept"]]
    return list(last[PLACE].itertuples(index=False, name=None))


def sentence_losses(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """`Predictor.losses` from labels `[sentences, length]` and logits `[predicted, vocab]` where
    they are not IGNORE."""
    predicted = labels != IGNORE
    token_losses = functional.cross_entropy(logits, labels[predicted], reduction="none")
    losses = token_losses.new_zeros(labels.shape)  # under autocast in a wider format than logits
    losses[predicted] = token_losses
    return losses.double().sum(dim=1), predicted.sum(dim=1)
