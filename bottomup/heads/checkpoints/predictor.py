"""A checkpoint, by what it was trained to predict, on text in its own tokens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    PreTrainedModel,
)

from bottomup.core.device import device
from bottomup.core.files.tables import read_table
from bottomup.core.settings import Trained
from bottomup.corpus.batches import Text
from bottomup.corpus.specials import EOS, MASK, N_SPECIAL, PAD
from bottomup.heads.checkpoints.projections import what_reads_heads
from bottomup.heads.predictor import Predictor, closed, sentence_losses
from bottomup.objectives import IGNORE, Example, lm, mlm, mt, untrained
from bottomup.subjects import weights
from bottomup.subjects.attending import one_pass
from bottomup.subjects.batches import Batch, side_by_side
from bottomup.subjects.checkpoint import Checkpoint
from bottomup.subjects.words import Span, encode

# By our name for a checkpoint's objective; None if it is none of ours. No label is smoothed.
OBJECTIVES = {
    "mlm": mlm.Objective(),
    "lm": lm.Objective(),
    "mt": mt.Objective(label_smoothing=0.0),
    None: untrained.Objective(),
}
# The classes with the layers that predict, by the same name.
WHOLE = {"mlm": AutoModelForMaskedLM, "lm": AutoModelForCausalLM, "mt": AutoModelForSeq2SeqLM}
TRANSLATOR = "MarianMTModel"  # T5 and BART have a decoder, too, but learned to restore text


def objective_of(subject: Checkpoint) -> str | None:
    """Which of our objectives a checkpoint was trained for: "mlm", "lm", or "mt" (Marian).

    None if it predicts no tokens, like a sentence model or ELECTRA's discriminator, and if its
    objective is none of ours, or one for which transformers has no class of its family: a decoder
    of bert-generation that sees both sides, a model of sound that writes text.
    """
    if not subject.predicts_tokens:
        return None
    if subject.translates:
        objective = "mt" if TRANSLATOR in subject.model.config.architectures else None
    else:
        objective = "mlm" if subject.masks else "lm" if subject.causal else None
    known = objective and type(subject.model.config) in weights.PREDICTING[objective]
    return objective if known else None


@dataclass
class GatedHeads:
    """The heads of one attention, with gates that transformers does not know."""

    gates: Tensor


class CheckpointPredictor(Predictor):
    """A checkpoint with the layers that predict; the heads of its decoder have gates, too.

    folder: the folder that `subject` was loaded from. The layers that predict are loaded when they
    are first asked for. A checkpoint without an objective of ours has only `text`.
    """

    def __init__(self, folder: Path, subject: Checkpoint, device: torch.device | str = "cpu"):
        self.folder, self.subject, self.device = folder, subject, device
        self.name = objective_of(subject)
        self.objective = OBJECTIVES[self.name]
        self.gives_probabilities = self.name is not None

    @cached_property
    @torch.inference_mode(False)  # it may be loaded in inference mode and trained later
    def model(self) -> PreTrainedModel:
        """The model with the layers that predict."""
        assert self.name  # or there is nothing to predict
        whole = weights.trained(self.folder, WHOLE[self.name]).eval().to(self.device)
        return whole.requires_grad_(False)

    def attentions(self) -> dict[str, list[GatedHeads]]:
        return self._attentions

    @cached_property
    @torch.inference_mode(False)
    def _attentions(self) -> dict[str, list[GatedHeads]]:
        """With open gates; none if the heads of the subject cannot be changed."""
        if not self.subject.heads:
            return {}
        ids = torch.tensor([[self.subject.ordinary[0]]])
        with one_pass(keep=True) as seen, torch.no_grad():
            target = ids if self.model.config.is_encoder_decoder else None
            self._logits(ids, target, torch.tensor([1]))
        sizes = [weights.shape[1] for weights in seen.weights]
        heads = [GatedHeads(torch.ones(size, device=self.device)) for size in sizes]
        above = heads[self.subject.layers :]
        gates = {"encoder": heads[: self.subject.layers]}
        return gates | {"decoder": above[::2], "cross": above[1::2]} if above else gates

    def text(self, files: Sequence[Path]) -> Text:
        """files: a table with columns source and target."""
        [file] = files
        pairs, subject = read_table(file), self.subject
        sides = [(subject.tokenizer, pairs["source"])]
        if self.objective.predicts == "target" and "target" in pairs:
            sides.append((subject.target_tokenizer, pairs["target"]))
        no_words: list[list[Span]] = [[]] * len(pairs)
        encoded = [
            encode(tokenizer, column.tolist(), no_words, subject.max_length).tokens
            for tokenizer, column in sides
        ]
        return Text(*encoded)

    def example(self, text: Text, sentences: np.ndarray, rng: np.random.Generator) -> Example:
        """The objective reads ids that are numbered like ours, since a checkpoint may have no id
        for padding alone. Special tokens are neither masked nor replaced."""
        subject, masks = self.subject, self.objective.masked
        source = side_by_side(subject, text.source, sentences)
        ids, predicted, of_target = numbered(source), None, None
        if text.target is not None:
            target = side_by_side(subject, text.target, sentences)
            predicted, of_target = numbered(target), target.ids.numpy()
        if masks:
            ids = np.where(source.special, EOS, ids)
        # Either may know more ids: the tokenizer has added tokens, or the model's size is rounded
        # up.
        known = filter(None, (subject.tokenizer.get_vocab_size(), subject.vocab_size))
        example = self.objective.example(ids, predicted, min(known) + N_SPECIAL, rng)
        read = source.ids.numpy()
        if masks:
            assert subject.mask is not None  # or it would have another objective
            changed = np.where(example.source == MASK, subject.mask, example.source - N_SPECIAL)
            read = np.where(example.source == ids, read, changed)
        labels = np.where(example.labels == IGNORE, IGNORE, example.labels - N_SPECIAL)
        return Example(read, of_target, labels, source.lengths.numpy())

    def losses(self, example: Example) -> tuple[Tensor, Tensor]:
        source, labels = map(torch.from_numpy, (example.source, example.labels))
        target = None if example.target is None else torch.from_numpy(example.target)
        # In the order of calls: in a decoder layer, self-attention comes first. None where the
        # family does not let heads be changed.
        encoder, *decoder = (self.gates.get(kind, []) for kind in ("encoder", "decoder", "cross"))
        with one_pass([*encoder, *chain(*zip(*decoder, strict=True))] or None):
            lengths = None if example.lengths is None else torch.from_numpy(example.lengths)
            logits = self._logits(source, target, lengths)
            labels = labels.to(self.model.device)
            return sentence_losses(logits[labels != IGNORE], labels)

    def _logits(self, source: Tensor, target: Tensor | None, lengths: Tensor | None) -> Tensor:
        """Logits `[batch, length, vocab]` of the side that is predicted, from ids `[batch,
        length]`; the target is shifted here. lengths: as in `Subject.hidden_states`."""
        source = source.to(self.model.device)
        tokens = self.subject.tokens(source, lengths)
        self.subject.require_known(source[tokens], self.subject.vocab_size)
        source = self.subject.filled(source, tokens)
        read: dict[str, Tensor | bool] = {"input_ids": source, "attention_mask": tokens.long()}
        if target is not None:
            start = torch.full((len(target), 1), self.model.config.decoder_start_token_id)
            # A decoder does not see what follows, so it does not matter what fills it up.
            written = torch.cat([start, target.clamp(min=0)], dim=1)
            known = self.model.get_decoder().get_input_embeddings().num_embeddings
            self.subject.require_known(written, known)
            previous = written[:, :-1]
            read |= {"decoder_input_ids": previous.to(self.model.device), "use_cache": False}
        return self.model(**read).logits

    def learner(self, encoder_alone: bool) -> "Learner":
        """Only parameters that the checkpoint's own training changed are trained. No layer is
        dropped, since gates are those of the layers in the order of calls."""
        self._reading = what_reads_heads(self)
        for part in self.model.modules():
            if hasattr(part, "layerdrop"):
                part.layerdrop = 0.0
        learns = weights.learned(self.model)
        for name, parameter in self.model.named_parameters():
            parameter.requires_grad_(name in learns)
        if encoder_alone and self.subject.translates:
            # The decoder, or embeddings that it shares, would take over the work of the heads.
            self.model.get_decoder().requires_grad_(False)
        return Learner(self.model)

    def save(self, folder: Path, gates: pd.DataFrame) -> None:
        """The weights that read closed heads are set to 0, since transformers knows no gates."""
        for place in closed(gates):
            weight, rows = self._reading[place]
            weight[rows] = 0.0
        self.model.save_pretrained(folder)


def numbered(batch: Batch) -> np.ndarray:
    """The ids of a batch, numbered like ours."""
    return np.where(batch.tokens, batch.ids.numpy() + N_SPECIAL, PAD)


class Learner(nn.Module):
    """A checkpoint in training. Its state is what training changes; weights that layers share come
    once, as safetensors requires."""

    def __init__(self, model: PreTrainedModel):
        super().__init__()
        self.model = model

    def state_dict(self) -> dict[str, Tensor]:  # type: ignore[override]  # asked for without options
        return {name: weight.detach() for name, weight in self.named_parameters()}

    def load_state_dict(self, state_dict: Mapping[str, Any], strict=False, assign=False) -> Any:
        return super().load_state_dict(state_dict, strict, assign)


def opened(run: Trained, subject: Checkpoint, folder: Path) -> CheckpointPredictor:
    """See `bottomup.heads.tasks.opened`."""
    return CheckpointPredictor(folder, subject, device())
