"""A checkpoint's own objective: what it was trained to predict, and its loss."""

from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from transformers import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
)

from bottomup.core.errors import UserError
from bottomup.core.seeds import generator
from bottomup.corpus.batches import Text
from bottomup.corpus.segmentation import unmarked
from bottomup.corpus.specials import EOS, MASK, N_SPECIAL
from bottomup.heads.importance import Predictor, sentence_losses
from bottomup.objectives import IGNORE, Example, mlm
from bottomup.subjects import Subject, checkpoint
from bottomup.subjects.attending import one_pass
from bottomup.subjects.checkpoint import Checkpoint
from bottomup.subjects.words import encode

# The classes with the layers that predict, by our name for a checkpoint's objective.
WHOLE = {"mlm": AutoModelForMaskedLM, "lm": AutoModelForCausalLM, "mt": AutoModelForSeq2SeqLM}
# The configs that these classes know.
KNOWN = {
    "mlm": MODEL_FOR_MASKED_LM_MAPPING,
    "lm": MODEL_FOR_CAUSAL_LM_MAPPING,
    "mt": MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING,
}
TRANSLATOR = "MarianMTModel"  # T5 and BART have a decoder, too, but learned to restore text


def objective_of(subject: Subject) -> str | None:
    """Which of our objectives a checkpoint was trained for: "mlm", "lm", or "mt" (Marian).

    None if it predicts no tokens, like a sentence model or ELECTRA's discriminator, and if its
    objective is none of ours, or one for which transformers has no class of its family: a decoder
    of bert-generation that sees both sides, a model of sound that writes text.
    """
    if not subject.predicts_tokens:
        return None
    if subject.translates:
        found = "mt" if TRANSLATOR in subject.model.config.architectures else None
    else:
        found = "mlm" if subject.masks else "lm" if subject.causal else None
    return found if found and type(subject.model.config) in KNOWN[found] else None


class CheckpointPredictor(Predictor):
    """A checkpoint with the layers that predict; the heads of its decoder have gates, too.

    folder: the folder that `subject` was loaded from. objective: as from `objective_of`. Raises
    UserError if the heads of the subject cannot be changed.
    """

    def __init__(
        self, folder: Path, subject: Checkpoint, objective: str, device: torch.device | str = "cpu"
    ):
        self.subject = subject
        if not subject.heads:
            raise UserError(subject.without_heads("changed"))
        self.model = checkpoint.trained(folder, WHOLE[objective]).eval().to(device)
        self.model.requires_grad_(False)
        self.gates = self._open_gates()

    def losses(self, example: Example) -> tuple[Tensor, Tensor]:
        source, labels = map(torch.from_numpy, (example.source, example.labels))
        target = None if example.target is None else torch.from_numpy(example.target)
        # In the order of calls: in a decoder layer, self-attention comes first.
        decoders = zip(*(self.gates.get(kind, []) for kind in ("decoder", "cross")), strict=True)
        with one_pass([*self.gates["encoder"], *chain(*decoders)]):
            lengths = None if example.lengths is None else torch.from_numpy(example.lengths)
            logits = self._logits(source, target, lengths)
            labels = labels.to(self.model.device)
            return sentence_losses(logits[labels != IGNORE], labels)

    def _open_gates(self) -> dict[str, list[Tensor]]:
        ids = torch.tensor([[self.subject.ordinary[0]]])
        with one_pass(keep=True) as seen, torch.no_grad():
            target = ids if self.model.config.is_encoder_decoder else None
            self._logits(ids, target, torch.tensor([1]))
        gates = [torch.ones(weights.shape[1], device=self.model.device) for weights in seen.weights]
        above = gates[self.subject.layers :]
        found = {"encoder": gates[: self.subject.layers]}
        return found | {"decoder": above[::2], "cross": above[1::2]} if above else found

    def _logits(self, source: Tensor, target: Tensor | None, lengths: Tensor | None) -> Tensor:
        """Logits `[batch, length, vocab]` of the side that is predicted, from ids `[batch,
        length]`; those of the target are yet to be shifted. lengths: as in
        `Subject.hidden_states`."""
        source = source.to(self.model.device)
        tokens = self.subject.tokens(source, lengths)
        source = self.subject.filled(source, tokens)
        read = {"input_ids": source, "attention_mask": tokens.long()}
        if target is not None:
            start = torch.full((len(target), 1), self.model.config.decoder_start_token_id)
            # A decoder does not see what follows, so it does not matter what fills it up.
            previous = torch.cat([start, target[:, :-1].clamp(min=0)], dim=1)
            read |= {"decoder_input_ids": previous.to(self.model.device), "use_cache": False}
        return self.model(**read).logits


def text_of(subject: Checkpoint, pairs: pd.DataFrame, objective: str) -> Text:
    """Sentences as a checkpoint reads and predicts them; `pairs` has columns source and target.

    Raises UserError if a translator has no target to predict.
    """
    if objective == "mt" and "target" not in pairs:
        raise UserError(
            "the checkpoint translates, but the study's text has no target side; remove its "
            "pruning.penalties, or add a target language to corpus.languages"
        )
    sides = [(subject.tokenizer, pairs["source"])]
    if objective == "mt":
        sides.append((subject.target_tokenizer, pairs["target"]))
    no_words = [[]] * len(pairs)
    encoded = [
        encode(tokenizer, [*map(unmarked, column)], no_words, subject.max_length).tokens
        for tokenizer, column in sides
    ]
    return Text(*encoded)


def references(subject: Checkpoint, objective: str, text: Text, seed: int) -> list[Example]:
    """What a checkpoint was trained to predict in each sentence; `seed` draws masks.

    Masks are drawn as for our MLM, never at special tokens. Under "lm" each token predicts the next
    one, and under "mt" the whole target is predicted.
    """
    found = []
    for sentence in range(len(text.source)):
        source, target = text.batch(np.array([sentence]))
        lengths = np.array([source.shape[1]])
        if objective == "mlm":
            special = text.source.select(np.array([sentence])).special[None]
            found.append(masked(subject, source, special, generator(seed, "heads", sentence)))
        elif objective == "lm":
            labels = np.pad(source[:, 1:], [(0, 0), (0, 1)], constant_values=IGNORE)
            found.append(Example(source, None, labels, lengths))
        else:
            found.append(Example(source, target, target, lengths))
    return found


def masked(
    subject: Checkpoint, ids: np.ndarray, special: np.ndarray, rng: np.random.Generator
) -> Example:
    """What our MLM makes of ids `[batch, length]`, with the checkpoint's mask.

    special: which of them are no tokens of the text, bool; these stay, and are not predicted.
    """
    # Numbered like our ids; for us every token around a text is </s>.
    ours = np.where(special, EOS, ids + N_SPECIAL)
    # Either may know more: a tokenizer of added tokens, a model of a rounded size.
    vocab_size = min(subject.tokenizer.get_vocab_size(), subject.vocab_size) + N_SPECIAL
    example = mlm.Objective().example(ours, None, vocab_size, rng)
    mask = subject.pretrained.mask_token_id
    source = np.where(example.source == MASK, mask, example.source - N_SPECIAL)
    labels = np.where(example.labels == IGNORE, IGNORE, ids)
    return Example(np.where(special, ids, source), None, labels, np.full(len(ids), ids.shape[1]))
