"""A run, by the objective that it was trained under, on token files."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from torch import Tensor

from bottomup import objectives
from bottomup.core.device import device, float32_device
from bottomup.core.settings import Trained
from bottomup.corpus.batches import Text
from bottomup.heads.examples import together
from bottomup.heads.predictor import Predictor, sentence_losses
from bottomup.measures.examples import tensors
from bottomup.model.attention import Attention
from bottomup.model.folder import save
from bottomup.model.transformer import Transformer, padding_mask
from bottomup.objectives import IGNORE, Example, Objective
from bottomup.subjects.runs import Run
from bottomup.training.loss import summed_loss

BATCH_TOKENS = 512  # read at once to close heads; one sentence at a time takes twice as long


class RunPredictor(Predictor):
    """One of our models, with its own gates."""

    def __init__(self, model: Transformer, objective: Objective):
        self.model, self.objective = model, objective

    def attentions(self) -> dict[str, list[Attention]]:
        return self.model.attentions()

    def text(self, files: Sequence[Path]) -> Text:
        """files: arrays of the token files, `SPLIT.SIDE/ARRAY.npy` in one folder."""
        folder = files[0].parent
        return Text.load(folder.parent, folder.stem, self.objective.predicts)

    def example(self, text: Text, sentences: np.ndarray, rng: np.random.Generator) -> Example:
        vocab_size = self.model.config.vocab_size
        return self.objective.example(*text.batch(sentences), vocab_size, rng)

    def losses(self, example: Example) -> tuple[Tensor, Tensor]:
        source, target, labels = self._read(example)
        return self._sentence_losses(self.model(source, target), labels)

    def losses_from(self, example: Example) -> Callable[[str, int], Tensor]:
        """See `Predictor`; layers below the changed one are not computed again."""
        model, (source, target, labels) = self.model, self._read(example)
        mask, own_mask = padding_mask(source), model.encoder.mask(source)
        encoder = [
            partial(layer, mask=own_mask, causal=model.encoder.causal)
            for layer in model.encoder.layers
        ]
        read = entering(encoder, model.encoder.embed(source))
        if target is not None:
            memory = model.decoder.project_memory(model.encoder.norm(read[-1]))
            decoder = [
                partial(layer, memory=of_layer, memory_mask=mask)
                for layer, of_layer in zip(model.decoder.layers, memory, strict=True)
            ]
            written = entering(decoder, model.decoder.embed(target[:, :-1]))

        def losses(kind: str, first: int) -> Tensor:
            if kind == "encoder":
                states = model.encoder.norm(entering(encoder[first:], read[first])[-1])
                if target is not None:
                    states = model.decoder(target[:, :-1], states, mask)
            else:
                states = model.decoder.norm(entering(decoder[first:], written[first])[-1])
            return self._sentence_losses(states, labels)[0]

        return losses

    def _read(self, example: Example) -> tuple[Tensor, Tensor | None, Tensor]:
        return tensors(example, self.model.head.weight.device)

    def _sentence_losses(self, states: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """`losses` from `[sentences, length, d_model]`."""
        return sentence_losses(self.model.head(states[labels != IGNORE]), labels)

    def summed_loss(self, example: Example, smoothing: float = 0.0) -> tuple[Tensor, int]:
        return summed_loss(self.model, example, smoothing)

    def together(self, examples: Sequence[Example]) -> Iterator[Example]:
        return together(examples, BATCH_TOKENS)

    def learner(self, encoder_alone: bool) -> Transformer:
        if self.model.config.decoder_layers and encoder_alone:
            self.model.decoder.requires_grad_(False)
            self.model.head.requires_grad_(False)
        return self.model.to(float32_device())

    def save(self, folder: Path, gates: pd.DataFrame) -> None:
        """The model has its gates in it, 0 where a head is closed."""
        save(self.model, folder)


def opened(run: Trained, subject: Run, folder: Path) -> RunPredictor:
    """See `bottomup.heads.tasks.opened`."""
    assert run.module  # a run has one
    objective = objectives.load(run.module, run.options, subject.tokenizer)
    return RunPredictor(subject.model.to(device()), objective)


def entering(layers: Iterable[Callable], x: Tensor) -> list[Tensor]:
    """What each layer reads, from `x` up, and what the last one hands on."""
    inputs = [x]
    for layer in layers:
        inputs.append(layer(inputs[-1])[0])
    return inputs
