"""Which heads a checkpoint can do without: by gates that fine-tuning closes.

It is pruned like a run (see `pruning`), but with its own tokens, its own objective, and the layers
that predict. Closed heads are then taken out of the weights that read them.
"""

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from bottomup import subjects
from bottomup.core.device import device
from bottomup.core.errors import UserError
from bottomup.core.files.joins import require_equal_lengths
from bottomup.core.files.tables import read_table
from bottomup.core.kinds import GATED
from bottomup.core.precision import autocast
from bottomup.core.seeds import generator
from bottomup.corpus.batches import Text, in_order
from bottomup.heads.own_objective import CheckpointPredictor, masked, objective_of, text_of
from bottomup.heads.pruning import PLACE, FineTuner, Pruner, Settings, gates_over_time, save
from bottomup.measures import jackknife
from bottomup.measures.quality import BATCH_TOKENS, Score
from bottomup.objectives import IGNORE, Example
from bottomup.subjects import Subject, checkpoint
from bottomup.subjects.batches import Batch, side_by_side
from bottomup.training.checkpoint import Checkpoint, Finished

Place = tuple[str, int, int]  # a head's kind of attention, layer and number, from 1


@dataclass(frozen=True)
class OwnText(Text):
    """Sentences in a checkpoint's tokens, which need not include one for padding alone."""

    subject: checkpoint.Checkpoint | None = None

    def batch(self, sentences: np.ndarray) -> tuple[Batch, Batch | None]:
        """As for any text, with the lengths of the sentences and what in them is special."""
        sides = (self.source, self.target)
        source, target = (side and side_by_side(self.subject, side, sentences) for side in sides)
        return source, target


@dataclass(frozen=True)
class OwnObjective:
    """A checkpoint's own objective, as training calls it; name: as from `objective_of`."""

    subject: checkpoint.Checkpoint
    name: str
    label_smoothing: float = 0.0

    def text(self, file: Path) -> OwnText:
        """A split's parquet file as the checkpoint reads it."""
        text = text_of(self.subject, read_table(file), self.name)
        return OwnText(text.source, text.target, self.subject)

    def example(
        self,
        source: Batch,
        target: Batch | None,
        vocab_size: int,
        rng: np.random.Generator,
    ) -> Example:
        """The example of a batch of an `OwnText`, in the checkpoint's own vocabulary."""
        ids, lengths = source.ids.numpy(), source.lengths.numpy()
        if self.name == "mt":
            labels = np.where(target.tokens, target.ids.numpy(), IGNORE)
            return Example(ids, target.ids.numpy(), labels, lengths)
        if self.name == "lm":
            labels = np.where(source.tokens, ids, IGNORE)[:, 1:]
            following = np.pad(labels, [(0, 0), (0, 1)], constant_values=IGNORE)
            return Example(ids, None, following, lengths)
        found = masked(self.subject, ids, source.special | ~source.tokens, rng)
        return Example(found.source, None, found.labels, lengths)


class Heads(nn.Module):
    """The heads of one attention; gates: the factors of their outputs, `[heads]`."""

    def __init__(self, gates: Tensor):
        super().__init__()
        self.heads = len(gates)
        self.register_buffer("gates", gates)


class GatedCheckpoint(nn.Module):
    """A checkpoint with the layers that predict, as a `Pruner` trains it: the parameters that its
    own training changed keep learning."""

    def __init__(self, predictor: CheckpointPredictor):
        super().__init__()
        self.predictor, self.whole = predictor, predictor.model
        learns = checkpoint.learned(self.whole)
        for name, parameter in self.whole.named_parameters():
            parameter.requires_grad_(name in learns)
        gates = predictor.gates.items()
        self.heads = nn.ModuleDict({kind: nn.ModuleList(map(Heads, some)) for kind, some in gates})
        # What training reads from the config of one of our models.
        config = self.whole.config
        self.config = SimpleNamespace(vocab_size=config.vocab_size, d_model=config.hidden_size)

    def attentions(self) -> dict[str, nn.ModuleList]:
        """The attention modules of each kind, from the bottom up."""
        return dict(self.heads.items())

    def summed_loss(self, example: Example) -> tuple[Tensor, int]:
        """See `Predictor.summed_loss`."""
        self.predictor.gates = {
            kind: [module.gates for module in modules] for kind, modules in self.heads.items()
        }
        return self.predictor.summed_loss(example)

    def state_dict(self) -> dict[str, Tensor]:
        """What training changes; weights that layers share come once, as safetensors requires."""
        parameters = {name: weight.detach() for name, weight in self.named_parameters()}
        return parameters | dict(self.heads.named_buffers(prefix="heads"))

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        super().load_state_dict(state, strict=False)


class OwnFineTuner(FineTuner):
    """Fine-tunes a checkpoint with its own loss."""

    model: GatedCheckpoint

    def summed_loss(self, example: Example, smoothing: float) -> tuple[Tensor, int]:
        """The loss of the predicted tokens in nats, and their number; nothing is smoothed."""
        with autocast(self.device, self.settings.precision):
            return self.model.summed_loss(example)


class CheckpointPruner(Pruner, OwnFineTuner):
    """A `Pruner` whose training loss is the checkpoint's own."""


def opened(
    subject: Subject, folder: Path, name: str, attention: str
) -> tuple[CheckpointPredictor, OwnObjective]:
    """A checkpoint with the layers that predict, and its own objective.

    folder: that it was loaded from. name: the study's name for it. attention: whose heads may go, a
    key of GATED.

    Raises UserError if it has no objective of its own, or no such heads.
    """
    objective = objective_of(subject)
    if objective is None:
        raise UserError(
            f"{name} cannot be pruned: it predicts neither masked tokens, nor the next one, nor, "
            "as Marian, a translation, so no loss tells which heads it needs; remove "
            f"pruning.penalties.{name}, or take a checkpoint with the layers that predict (see "
            "`architectures` in its config.json)"
        )
    if not subject.heads:
        raise UserError(
            f"{name} cannot be pruned: {subject.without_heads('changed')}; remove "
            f"pruning.penalties.{name}"
        )
    predictor = CheckpointPredictor(folder, subject, objective, device())
    there = [kind for kind, gates in predictor.gates.items() if gates]
    if not set(GATED[attention]) <= set(there):
        raise UserError(
            f"pruning.penalties.{name}.{attention}: {name} has no such heads that can be closed; "
            f"allowed: {', '.join(there) or 'null, as it has none'}"
        )
    return predictor, OwnObjective(subject, objective)


def prune(
    settings: Settings,
    code: dict[str, str] | None,
    start: Path,
    train: Path,
    dev: Path,
    folder: Path,
    table: Path,
    accumulate: int,
    trained: Path,
) -> None:
    """Fine-tune a checkpoint with gates on its heads.

    Like `pruning.prune`, it writes `model/` (without closed heads) and `metrics.jsonl` to `folder`,
    and the gates at each evaluation, by `step`, to `table`.

    start: the checkpoint's folder. train, dev: parquet files of the splits. code, trained: see
    `training.run.train`.
    """
    pruned = settings.pruned
    predictor, objective = opened(subjects.load(start), start, settings.objective, pruned.attention)
    reading = what_reads_heads(predictor)
    text, dev_text = objective.text(train), objective.text(dev)
    weights = hashlib.sha256((start / "model.safetensors").read_bytes()).hexdigest()
    read = {"model": weights, "text": text.digest(), "dev_text": dev_text.digest()}
    identity = settings.model_dump(mode="json") | read | {"code": code}
    model = GatedCheckpoint(predictor)
    if predictor.subject.translates and pruned.attention == "encoder":
        # The decoder, or embeddings that it shares, would take over the work of the heads.
        model.whole.get_decoder().requires_grad_(False)
    progress = CheckpointPruner(
        model,
        objective,
        text,
        dev_text,
        settings.training,
        settings.seed,
        Checkpoint(folder / "checkpoint", identity),
        accumulate,
        Finished(trained, identity) if code else None,
        kinds=GATED[pruned.attention],
        penalty=pruned.penalty,
        **dict(settings.gates),
    ).train()
    gates = gates_over_time(progress)
    take_out(gates, reading)
    save(model.whole.save_pretrained, start, progress, settings, gates, folder, table)


@torch.no_grad()
def what_reads_heads(predictor: CheckpointPredictor) -> dict[Place, tuple[Tensor, Tensor]]:
    """By head, the weight of the projection that reads its output, with a row for each input, and
    which of these rows read this head, bool.

    Families name and place these projections differently. So each is found by what reaches it when
    a head's gate is NaN.

    Raises UserError if this is not a projection that reads the heads of one layer, side by side;
    then heads cannot be taken out of it.
    """
    found, calls = [], Counter()

    def note(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        calls[module] += 1
        rows = inputs[0].isnan().flatten(0, -2).any(0)
        if not found and rows.any():
            found.append((module, rows))

    hooks = [
        module.register_forward_pre_hook(note)
        for module in predictor.model.modules()
        if isinstance(module, nn.Linear | Conv1D)
    ]
    ids = np.array([predictor.subject.ordinary[:1]])
    target = ids if predictor.subject.translates else None
    example = Example(ids, target, ids, np.array([1]))
    reading = {}
    for kind, gates in predictor.gates.items():
        for layer, gate in enumerate(gates, 1):
            for head in range(len(gate)):
                found.clear()
                calls.clear()
                gate[head] = torch.nan
                predictor.losses(example)
                gate[head] = 1.0
                module, rows = found[0] if found else (None, gate)
                if calls[module] != 1 or rows.sum() * len(gate) != len(rows):
                    raise UserError(
                        f"heads cannot be taken out of a {predictor.model.config.model_type}: no "
                        f"weights read the heads of layer {layer} ({kind}) alone; remove its "
                        "penalties from pruning.penalties"
                    )
                weight = module.weight if isinstance(module, Conv1D) else module.weight.mT
                reading[kind, layer, head + 1] = weight.detach(), rows
    for hook in hooks:
        hook.remove()
    return reading


def take_out(gates: pd.DataFrame, reading: dict[Place, tuple[Tensor, Tensor]]) -> None:
    """Set to 0 the weights that read heads closed at the last step of a table of gates."""
    for place in closed(gates):
        weight, rows = reading[place]
        weight[rows] = 0.0


def closed(gates: pd.DataFrame) -> list[Place]:
    """The heads closed at the last step of a table of gates."""
    last = gates[(gates["step"] == gates["step"].max()) & ~gates["kept"]]
    return list(last[PLACE].itertuples(index=False, name=None))


@torch.inference_mode()
def right_token(
    predictor: CheckpointPredictor,
    objective: OwnObjective,
    text: OwnText,
    blocks: np.ndarray,
    seed: int,
) -> Score:
    """The geometric mean probability of the right token, 0 to 1.

    blocks: the block of each sentence of `text`, `[n_sentences]`. seed: for the masks.
    """
    require_equal_lengths(sentences=text.source, blocks=blocks)
    found = np.zeros((len(text.source), 2))
    for index, sentences in enumerate(in_order(text, BATCH_TOKENS)):
        rng = generator(seed, "quality", index)
        vocab_size = predictor.model.config.vocab_size
        example = objective.example(*text.batch(sentences), vocab_size, rng)
        losses, predicted = predictor.losses(example)
        found[sentences] = torch.stack([losses, predicted.double()], dim=1).cpu().numpy()
    losses, predicted = jackknife.sums(found, blocks, jackknife.n_blocks(blocks)).T
    value, *without = np.exp(-jackknife.ratio(losses, predicted))
    return Score(value, np.array(without), jackknife.UNIT, int(predicted[0]))
