"""The training loop, the same for every objective."""

import math
import signal
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import islice
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import torch
from torch import Tensor

from bottomup.core.errors import UserError
from bottomup.core.precision import autocast, sums_dtype
from bottomup.core.running import alone
from bottomup.core.seeds import derive, generator
from bottomup.core.settings import Training
from bottomup.corpus import batches
from bottomup.corpus.batches import Text
from bottomup.model.transformer import Transformer
from bottomup.objectives import Example, Objective, require_learnable
from bottomup.training import distributed, stopping
from bottomup.training.checkpoint import Checkpoint, Finished, Progress
from bottomup.training.loss import summed_loss
from bottomup.training.optimizers import optimizers
from bottomup.training.progress import Meter
from bottomup.training.schedule import share_of_peak

if TYPE_CHECKING:
    from bottomup.model.trunks import TrunkModel


class Trainer:
    """One run: trains `model` under `objective` from where `checkpoint` left it.

    A run that was stopped and resumed ends with the same bytes as one that was not, on one type of
    CPU with one thread count, since all randomness comes from the seed and the step. To save
    memory, each update is computed in `accumulate` parts; what `settings` say about that does not
    count. With several processes (see `distributed`) each computes a share of the update, and all
    decide alike; only the first one saves and returns from `train`.

    stop: the step to stop at, None for the end of the run. kept: for some steps, where to keep the
    run as it is then.
    """

    def __init__(
        self,
        model: "Transformer | TrunkModel",
        objective: Objective,
        text: Text,
        dev: Text,
        settings: Training,
        seed: int,
        checkpoint: Checkpoint,
        accumulate: int = 1,
        finished: Finished | None = None,
        stop: int | None = None,
        kept: dict[int, Finished] | None = None,
    ):
        self.model, self.objective = model, objective
        self.text, self.dev = text, dev
        self.settings, self.seed = settings, seed
        self.checkpoint, self.accumulate = checkpoint, accumulate
        self.finished, self.stop, self.kept = finished, stop, kept or {}
        self.device = next(model.parameters()).device
        self.unread: dict[int, Tensor] = {}  # losses that are still on the device, by step
        self.optimizers = optimizers(model, settings.optimizer)
        self.rate = 0.0  # the learning rate of the last update
        self.spent = 0.0  # the share of `max_tokens` that was read before it
        self.whole_from = 1  # the first step by which all its parts have had an update
        self.current = objective  # the part of it that is trained now, see `Objective.at`

    def train(self) -> Progress:
        """Train until `max_tokens` source tokens are read or the dev loss stalls.

        The model ends with the weights of its lowest dev loss, or of the step `stop`. A finished
        run is taken from where it is kept.

        Raises UserError if the run ends before `stop`, or would not train a part of its objective,
        and SystemExit on a signal, see `stopping`.
        """
        lock = self.checkpoint.folder.with_suffix(".lock")
        with alone(lock) if distributed.rank() == 0 else nullcontext():
            return self._train()

    def _train(self) -> Progress:
        if done := self.done():
            return done
        self.require_updates()
        with distributed.first_before_others():
            progress = self.checkpoint.load(self.model, self.optimizers)
        meter = Meter(progress.tokens, self.settings.max_tokens)
        began = saved = progress.step
        for sentences in islice(self.batches(), progress.step, None):
            if progress.step in self.kept:
                self.read_losses(progress)
                if distributed.rank() == 0:
                    self.kept[progress.step].save(self.model, progress)
            if self.ends(progress) or progress.step == self.stop:
                break
            if number := distributed.largest(stopping.heard() or 0):
                if progress.step > saved:
                    self.read_losses(progress)
                    self.save(progress, best=False)
                meter.close()
                distributed.leave(signal.Signals(number), progress.step, began)
            progress.step += 1
            self.set_rate(progress)
            progress.tokens += int(self.text.source.lengths[sentences].sum())
            loss = self.update(sentences, progress.step)
            if loss is not None:
                self.unread[progress.step] = loss
            meter.show(progress.tokens)
            if progress.step % self.settings.evaluate_every_steps == 0 or self.ends(progress):
                self.read_losses(progress)
                train_loss = float(np.mean(progress.losses)) if progress.losses else math.nan
                progress.losses = []
                self.evaluate(progress, train_loss)
                saved = progress.step
                meter.evaluated(progress.metrics[-1])
        meter.close()
        self.read_losses(progress)
        distributed.others_leave()
        if self.stop is None:
            self.checkpoint.load_best(self.model)
        elif progress.step < self.stop:
            raise not_reached(self.stop, progress.step)
        if self.finished:
            self.finished.save(self.model, progress)
        return progress

    def done(self) -> Progress | None:
        """If the run is already finished, load its weights into the model and return its
        progress; a checkpoint of another run is set aside."""
        done = self.finished.load(self.model) if self.finished and distributed.rank() == 0 else None
        if distributed.largest(done is not None):
            distributed.others_leave()
            self.checkpoint.set_aside()  # one of another run would be deleted with ours
        return done

    def require_updates(self) -> None:
        """Raise UserError if a part of the objective has no update in all that the run may read."""
        parts = [part for part in self.objective.all if len(part.all) == 1]
        if len(parts) == 1:  # has the first update
            return
        idle = {id(part): f"{part.name} (part {n})" for n, part in enumerate(parts, start=1)}
        tokens = 0
        for step, sentences in enumerate(self.batches(), start=1):
            if not idle:
                self.whole_from = step - 1
                return
            if tokens >= self.settings.max_tokens:
                break
            idle.pop(id(self.drawn(step, tokens / self.settings.max_tokens)), None)
            tokens += int(self.text.source.lengths[sentences].sum())
        if idle:
            names = ", ".join(idle.values())
            raise UserError(
                f"{self.objective.name}: no update is of {names} among the {step - 1:,} that "
                f"{self.settings.max_tokens:,} tokens give; raise its share or "
                "training.max_tokens, or lower training.batch_tokens"
            )

    def ends(self, progress: Progress) -> bool:
        """Whether the budget is spent or the dev loss has stalled."""
        return (
            progress.tokens >= self.settings.max_tokens
            or progress.stale_evaluations >= self.settings.patience
        )

    def batches(self) -> Iterator[np.ndarray]:
        """The sentences of each update from the first on."""
        return batches.forever(self.text, self.settings.batch_tokens, self.seed, self.short_first())

    def short_first(self) -> list[tuple[int, float]]:
        """Lengths, each with the source tokens until which no longer sentence is read."""
        whole = self.settings.max_tokens
        return [(length, share * whole) for length, share in self.settings.short_first]

    def update(self, sentences: np.ndarray, step: int) -> Tensor | None:
        """One step, at the current rate, on the mean loss over all predicted tokens of a batch.

        Returns that loss, a scalar in nats; with several processes, this process's share of it.
        None if the batch has no predicted token, so that momentum alone makes the step.
        Nothing here waits for a GPU, so it computes while the next batches are made.
        """
        self.model.train()
        others = [distributed.rank()] if distributed.rank() else []
        torch.manual_seed(derive(self.seed, "dropout", step, *others))
        self.turn_to(self.drawn(step, self.spent))
        rng = generator(self.seed, "corruption", step)
        example = self.example(self.text, sentences, rng)
        total = torch.zeros((), dtype=sums_dtype(self.device), device=self.device)
        for part in distributed.share(example).split(self.accumulate):
            loss, _ = self.summed_loss(part, self.current.label_smoothing)
            loss.backward()
            total += loss.detach()
        count = max(example.predicted, 1)
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        distributed.add_up(gradients)
        torch._foreach_div_(gradients, count)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad()
        return total / count if example.predicted else None

    def drawn(self, step: int, spent: float) -> Objective:
        """The objective of a step; where there are several, each has its share of the steps.

        spent: the share of `max_tokens` that was read before it.
        """
        shares, parts = zip(*self.objective.at(spent), strict=True)
        if len(parts) == 1:
            return parts[0]
        return parts[generator(self.seed, "part", step).choice(len(parts), p=shares)]

    def turn_to(self, part: Objective) -> None:
        """Make one part of the objective the current one, and give the model its attention mask."""
        self.current = part
        if isinstance(self.model, Transformer):
            self.model.encoder.see(part.causal, part.backward)

    def read_losses(self, progress: Progress) -> None:
        """Wait for the device and add its losses to `progress`.

        Call it before anything is saved: it raises UserError if a loss or a weight is not finite.
        """
        if not self.unread:
            return
        read = torch.stack([*self.unread.values()])
        distributed.add_up([read])
        losses = dict(zip(self.unread, read.tolist(), strict=True))
        self.unread.clear()
        for step, loss in losses.items():
            if not math.isfinite(loss):
                self.diverge(f"the training loss is {loss}", step)
        finite = [parameter.isfinite().all() for parameter in self.model.parameters()]
        if not torch.stack(finite).all():
            self.diverge("weights are not finite", progress.step)
        progress.losses += losses.values()

    def diverge(self, what: str, step: int) -> NoReturn:
        """Raise UserError for numbers that are not finite."""
        has_state = self.checkpoint.state() is not None
        raise UserError(
            f"{what} at step {step}; "
            + f"the last good checkpoint is kept in {self.checkpoint.folder}; " * has_state
            + f"lower training.learning_rate, which is {self.settings.learning_rate:g}, or raise "
            "training.warmup_steps; for a pruned model, the same keys of pruning.training"
        )

    def set_rate(self, progress: Progress) -> None:
        """Set the learning rate for `progress.step`, by the tokens read before it."""
        self.spent = progress.tokens / self.settings.max_tokens
        self.rate = self.settings.learning_rate * share_of_peak(
            self.settings.schedule,
            progress.step,
            self.settings.warmup_steps,
            self.spent,
        )
        for optimizer in self.optimizers:
            optimizer.param_groups[0]["lr"] = self.rate

    def example(self, text: Text, sentences: np.ndarray, rng: np.random.Generator) -> Example:
        """What the objective makes of sentences of a text, by their numbers; UserError if nothing
        can be learned of it."""
        n_read, n_predicted = self.model.config.vocab_size, len(self.model.head.weight)
        example = self.current.example(*text.batch(sentences), n_read, rng)
        require_learnable(example, self.current, n_read, n_predicted)
        return example

    def summed_loss(self, example: Example, smoothing: float) -> tuple[Tensor, int]:
        """See `loss.summed_loss`; matrix products have the run's precision."""
        with autocast(self.device, self.settings.precision):
            return summed_loss(self.model, example, smoothing)

    def evaluate(self, progress: Progress, train_loss: float) -> None:
        """Measure the dev loss, log it, and save a checkpoint; UserError if it is not finite."""
        loss = self.dev_loss()
        if not math.isfinite(loss):
            self.diverge(f"the dev loss is {loss}", progress.step)
        # A run must not end with weights from before its last phase, whatever their dev loss.
        early = self.spent < self.objective.last_from or progress.step < self.whole_from
        line = self.measured(progress, train_loss, loss)
        told = self.objective.last_from or self.whole_from > self.settings.evaluate_every_steps
        progress.metrics.append(line | ({"early": early} if told else {}))
        improved = self.improves(loss, progress)
        if not early:
            progress.best_dev_loss = min(loss, progress.best_dev_loss)
        all_lengths = all(progress.tokens >= until for _, until in self.short_first())
        progress.stale_evaluations += 1
        if improved or not all_lengths:  # short sentences say little about long ones
            progress.stale_evaluations = 0
        self.save(progress, best=improved)

    def save(self, progress: Progress, best: bool) -> None:
        """Replace the checkpoint; only the first process does."""
        if distributed.rank() == 0:
            self.checkpoint.save(self.model, self.optimizers, progress, best)

    def measured(self, progress: Progress, train_loss: float, dev_loss: float) -> dict:
        """What an evaluation adds to metrics.jsonl."""
        return {
            "step": progress.step,
            "tokens": progress.tokens,
            "train_loss_nats": train_loss,
            "dev_loss_nats": dev_loss,
            "learning_rate": self.rate,
        }

    def improves(self, dev_loss: float, progress: Progress) -> bool:
        """Whether the current weights are the best so far."""
        return dev_loss < progress.best_dev_loss

    @torch.no_grad()
    def dev_loss(self) -> float:
        """Mean cross-entropy of the dev split in nats per predicted token, without smoothing.

        For an objective made of others, the mean over the parts that it ends with, weighted by
        their shares.
        """
        self.model.eval()
        losses = []
        for share, part in self.objective.at(1.0):
            self.turn_to(part)
            losses.append(share * self.dev_loss_of_part())
        return sum(losses)

    def dev_loss_of_part(self) -> float:
        """The dev loss of the current part of the objective.

        It draws the same random numbers at every evaluation and for every seed.
        """
        total, count = torch.zeros((), dtype=sums_dtype(self.device), device=self.device), 0
        for index, sentences in enumerate(batches.in_order(self.dev, self.settings.batch_tokens)):
            if index % distributed.size() != distributed.rank():
                continue
            rng = generator(self.settings.dev_seed, "dev", index)
            example = self.example(self.dev, sentences, rng)
            loss, predicted = self.summed_loss(example, smoothing=0.0)
            total, count = total + loss, count + predicted
        sums = torch.stack([total, total.new_full((), count)])
        distributed.add_up([sums])
        total, count = sums.tolist()
        if not count:
            raise UserError(
                "the objective predicts no token of the dev split; let it predict more, or raise "
                "corpus.splits.dev_words"
            )
        return total / count


def not_reached(step: int, last: int) -> UserError:
    """The error for a step that a run has not reached."""
    return UserError(
        f"training ended at step {last}, before step {step} of training_steps: its budget was "
        "spent or its dev loss stalled; the run itself is whole; take an earlier step, or raise "
        "training.max_tokens or training.patience"
    )
