"""Which heads a model can do without: by gates that training closes, or by their importance.

Voita et al. ACL 2019, section 6. Training continues from the converged model. If only encoder heads
may go, the decoder is frozen, or it would take over their work.

A table of gates has a row for each head that may go: `kind` of attention, `layer` and `head`, both
counted from 1, `open_probability`, and `kept`.
"""

import hashlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from bottomup import subjects
from bottomup.core.errors import UserError
from bottomup.core.files import by_umask, digest
from bottomup.core.kinds import GATED
from bottomup.core.names import OF_CHECKPOINTS
from bottomup.core.precision import autocast
from bottomup.core.seeds import derive, generator
from bottomup.core.settings import Gates, Pruned, Trained, Training
from bottomup.corpus.batches import Text
from bottomup.heads import tasks
from bottomup.heads.gates import HardConcrete, penalty
from bottomup.heads.predictor import PLACE, Predictor, require_prunable
from bottomup.model.transformer import Layers, Transformer
from bottomup.objectives import Example
from bottomup.training.checkpoint import Checkpoint, Finished, Progress, writing
from bottomup.training.loop import Trainer

# The importance by which a method keeps the highest heads.
IMPORTANCES = {
    "confidence": "confidence",
    "relevance": "relevance_alpha_beta",
    "gradient": "gradient",
}


class FineTuner(Trainer):
    """Trains a model for its objective; from scratch as a run is trained.

    learner: what `Predictor.learner` returned. arguments: those of a `Trainer` from its text on.
    """

    def __init__(self, predictor: Predictor, learner: nn.Module, *arguments):
        # With `example` and `summed_loss` below, any module will do.
        super().__init__(learner, predictor.objective, *arguments)  # type: ignore[arg-type]
        self.predictor = predictor

    def example(self, text: Text, sentences: np.ndarray, rng: np.random.Generator) -> Example:
        return self.predictor.example(text, sentences, rng)

    def summed_loss(self, example: Example, smoothing: float) -> tuple[Tensor, int]:
        with autocast(self.device, self.settings.precision):
            return self.predictor.summed_loss(example, smoothing)


class ToTheEnd(FineTuner):
    """Trains until the budget is spent and ends with the last weights, whatever the dev loss.

    All models that lose heads train like this, so that they can be compared. Under gates the lowest
    dev loss is that of the model with most heads.
    """

    def improves(self, dev_loss: float, progress: Progress) -> bool:
        """Always: training ends with the newest weights."""
        return True


class Pruner(ToTheEnd):
    """Fine-tunes a model with a Hard-Concrete gate on each head of some kinds of attention.

    The loss is the training loss plus `penalty` x the expected number of open heads, mean over
    gated layers. The model ends with gates of 0 and 1.

    learning_rate: that of the gates; it is constant, since gates have further to go than weights.
    initial_log_alpha: where the gates start.
    """

    def __init__(
        self,
        *arguments,
        kinds: tuple[str, ...],
        penalty: float,
        learning_rate: float,
        initial_log_alpha: float,
    ):
        super().__init__(*arguments)
        self.penalty = penalty
        attentions = self.predictor.attentions()
        self.attentions = [heads for kind in kinds for heads in attentions[kind]]
        self.places = [(kind, n + 1) for kind in kinds for n in range(len(attentions[kind]))]
        self.gates: Layers[HardConcrete] = Layers(
            HardConcrete(len(heads.gates), initial_log_alpha) for heads in self.attentions
        ).to(self.device)
        # Gates belong to the model while it trains, and so to its checkpoints.
        self.model.hard_concrete = self.gates
        group = {"params": list(self.gates.parameters()), "lr": learning_rate}
        self.optimizers[0].add_param_group(group)
        self.noise: list[Tensor] = []

    def diverge(self, what: str, step: int) -> NoReturn:
        """As in training, with another remedy: a high penalty can be the cause."""
        try:
            super().diverge(what, step)
        except UserError as error:
            raise UserError(f"{error}; or lower the penalty, which is {self.penalty:g}") from error

    def train(self) -> Progress:
        progress = super().train()
        del self.model.hard_concrete
        return progress

    def update(self, sentences: np.ndarray, step: int) -> Tensor | None:
        """As in training; all parts of the batch share one draw of the gates."""
        torch.manual_seed(derive(self.seed, "gates", step))
        self.noise = [torch.rand(gate.log_alpha.shape, device=self.device) for gate in self.gates]
        return super().update(sentences, step)

    def summed_loss(self, example: Example, smoothing: float) -> tuple[Tensor, int]:
        if not self.model.training:
            return super().summed_loss(example, smoothing)
        for heads, gate, noise in zip(self.attentions, self.gates, self.noise, strict=True):
            heads.gates = gate.sample(noise)
        loss, predicted = super().summed_loss(example, smoothing)
        # An update divides by the number of predictions.
        return loss + predicted * self.penalty * penalty(self.gates), predicted

    def evaluate(self, progress: Progress, train_loss: float) -> None:
        """As in training, with gates of 0 and 1."""
        for heads, gate in zip(self.attentions, self.gates, strict=True):
            heads.gates = gate.kept()
        super().evaluate(progress, train_loss)

    def measured(self, progress: Progress, train_loss: float, dev_loss: float) -> dict:
        """As in training, with the rows of the table of gates."""
        rows = [
            [*place, head, probability, kept]
            for place, gate in zip(self.places, self.gates, strict=True)
            for head, (probability, kept) in enumerate(
                zip(gate.open_probability().tolist(), gate.kept().bool().tolist(), strict=True), 1
            )
        ]
        return super().measured(progress, train_loss, dev_loss) | {"gates": rows}


class Settings(Trained):
    """What a model with fewer heads depends on, besides the run or checkpoint and its text.

    pruned: whose heads may go (a key of GATED), by which method, at which penalty. gates: for the
    method "gates" only.
    """

    pruned: Pruned
    training: Training
    gates: Gates | None = None


def prune(
    settings: Settings,
    code: dict[str, str] | None,
    text: Sequence[Path],
    dev: Sequence[Path],
    start: Path,
    gates: pd.DataFrame | None,
    folder: Path,
    table: Path,
    accumulate: int,
    trained: Path,
) -> None:
    """Train a model with fewer heads.

    Writes `model/` and `metrics.jsonl` to `folder`, and the gates to `table`. The method "scratch"
    starts from the model's initial weights, any other from the model.

    code, trained: see `training.run.train`. text, dev: files of the splits train and dev. start:
    the model's folder. gates: the heads to keep; None for the method "gates", which chooses them.

    The table has the model's `objective`, `seed`, `attention`, `method` and `penalty`. For the
    method "gates" it has the gates at each evaluation, by `step`.
    """
    pruned, scratch = settings.pruned, settings.pruned.method == "scratch"
    subject = subjects.untrained(start, settings.seed) if scratch else subjects.load(start)
    predictor = tasks.opened(settings, subject, start)
    train_text, dev_text = predictor.text(text), predictor.text(dev)
    require_prunable(predictor, train_text, settings.objective, pruned.attention)
    files = {path for pattern in OF_CHECKPOINTS for path in start.glob(pattern)}
    model = {path.name: digest(path) for path in sorted(files)}
    kept = None if gates is None else hashlib.sha256(gates.to_csv().encode()).hexdigest()
    texts = {"text": train_text.digest(), "dev_text": dev_text.digest()}
    read = texts | {"model": model, "heads": kept}
    identity = settings.model_dump(mode="json") | read | {"code": code}
    arguments = (
        predictor,
        # A decoder would take over the work of heads that go.
        predictor.learner(encoder_alone=pruned.attention == "encoder" and not scratch),
        train_text,
        dev_text,
        settings.training,
        settings.seed,
        Checkpoint(folder / "checkpoint", identity),
        accumulate,
        Finished(trained, identity) if code else None,
    )
    if settings.gates is not None:
        kinds = GATED[pruned.attention]
        penalized = {"kinds": kinds, "penalty": pruned.penalty, **dict(settings.gates)}
        progress = Pruner(*arguments, **penalized).train()
        gates = gates_over_time(progress)
    else:
        close(predictor, gates)
        progress = (FineTuner if scratch else ToTheEnd)(*arguments).train()
    save(predictor, start, progress, settings, gates, folder, table)


def save(
    predictor: Predictor,
    start: Path,
    progress: Progress,
    settings: Settings,
    gates: pd.DataFrame,
    folder: Path,
    table: Path,
) -> None:
    """Write the results of pruning (see `prune`) and remove its checkpoints.

    gates: the table, without the columns that name the model.
    """
    named = {"objective": settings.objective, "seed": settings.seed} | dict(settings.pruned)
    curve = [
        {name: value for name, value in line.items() if name != "gates"}
        for line in progress.metrics
    ]
    with writing("the model", folder / "checkpoint"):
        shutil.copytree(start, folder / "model", dirs_exist_ok=True)  # the tokenizers, too
        predictor.save(folder / "model", gates)
        by_umask(folder / "model")
        (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in curve))
        pd.DataFrame(named, index=gates.index).join(gates).to_csv(table, index=False)
    shutil.rmtree(folder / "checkpoint", ignore_errors=True)


def close(model: Transformer | Predictor, gates: pd.DataFrame) -> None:
    """Set the gates of a model to 0 and 1, as a table of gates says.

    Parameters
    ----------
    model : Transformer
        The model of a run: `subjects.load(folder).model`.
    gates : DataFrame
        A row for each head that may go: `kind` (encoder, decoder or cross), `layer` and `head`
        (both counted from 1), and `kept`; for example `measures/gates.csv` of one model at its
        last step.

    Examples
    --------
    >>> import pandas as pd
    >>> from bottomup.model.transformer import Transformer, TransformerConfig
    >>> model = Transformer(TransformerConfig(encoder_layers=1, heads=2, d_model=8, d_ff=8))
    >>> columns = ["kind", "layer", "head", "kept"]
    >>> close(model, pd.DataFrame([("encoder", 1, 2, False)], columns=columns))
    >>> model.encoder.layers[0].attention.gates.tolist()
    [1.0, 0.0]
    """
    attentions = model.attentions()
    require_once_each(gates, "gates")
    rows = [*gates[[*PLACE, "kept"]].itertuples(index=False)]
    sizes = {
        (kind, layer): len(heads.gates)
        for kind, layers in attentions.items()
        for layer, heads in enumerate(layers, start=1)
    }
    for kind, layer, head, kept in rows:
        if not (1 <= head <= sizes.get((kind, layer), 0) and kept in (True, False)):
            raise UserError(
                f"gates: found {kind}, layer {layer}, head {head}, kept {kept}; allowed: heads of "
                "the model, counted from 1, and whether each is kept"
            )
    for kind, layer, head, kept in rows:
        attentions[kind][layer - 1].gates[head - 1] = float(kept)


def gates_over_time(progress: Progress) -> pd.DataFrame:
    """The table of gates at each evaluation, with its `step`."""
    rows = [[line["step"], *row] for line in progress.metrics for row in line["gates"]]
    return pd.DataFrame(rows, columns=["step", *PLACE, "open_probability", "kept"])


def as_many(
    method: str, gates: pd.DataFrame, importance: pd.DataFrame | None = None, *, draw: int
) -> pd.DataFrame:
    """A table of gates that keeps as many heads as another does at its last step.

    Parameters
    ----------
    method : {"scratch", "random", "confidence", "relevance", "gradient"}
        `scratch` keeps the same heads, `random` any, the others those of the highest importance,
        whatever their kind and layer.
    gates : DataFrame
        Gates by `step`: columns `step`, `kind`, `layer`, `head` and `kept`.
    importance : DataFrame, optional
        As in `measures/head_importance.csv`, of the same run; for methods that go by it.
    draw : int
        Seed of the random choice.

    Returns
    -------
    DataFrame
        `step` (0), `kind`, `layer`, `head`, `open_probability` (0 or 1) and `kept`.

    Examples
    --------
    >>> import pandas as pd
    >>> heads = [("encoder", 1, head) for head in (1, 2, 3, 4)]
    >>> gates = pd.DataFrame(heads, columns=["kind", "layer", "head"])
    >>> gates = gates.assign(step=10, kept=[True, False, True, False])
    >>> int(as_many("random", gates, draw=1)["kept"].sum())
    2
    """
    last = gates[gates["step"] == gates["step"].max()].sort_values(PLACE).reset_index(drop=True)
    require_once_each(last, "gates at the last step")
    if method not in ("scratch", "random", *IMPORTANCES):
        raise UserError(f"method {method}; allowed: scratch, random, {', '.join(IMPORTANCES)}")
    if method == "scratch":
        kept = last["kept"]
    else:
        order = generator(draw, "pruning", "random").permutation(len(last))
        if method != "random":
            order = np.argsort(-values_of(importance, IMPORTANCES[method], last), kind="stable")
        kept = pd.Series(False, index=last.index)
        kept[order[: last["kept"].sum()]] = True
    # The same columns, in the same order, as gates over time: both are parts of one table.
    return last[["step", *PLACE]].assign(step=0, open_probability=kept.astype(float), kept=kept)


def values_of(importance: pd.DataFrame | None, name: str, heads: pd.DataFrame) -> np.ndarray:
    """The importance `name` of each of `heads`, in their order.

    Raises UserError if one of them has none, or several.
    """
    if importance is None:
        raise UserError(f"no table of importance; needed: one with {name} of each head")
    rows = importance[importance["importance"] == name].rename(columns={"attention": "kind"})
    require_once_each(rows, f"{name} in the table of importance")
    values = heads[PLACE].merge(rows, on=PLACE, how="left", validate="1:1")["value"].to_numpy()
    if np.isnan(values).any():
        kind, layer, head = heads[PLACE].iloc[int(np.isnan(values).argmax())]
        raise UserError(
            f"{name} has no value for head {head} of layer {layer} ({kind}); needed: one of each "
            "head that may go; or go by another importance"
        )
    return values


def require_once_each(heads: pd.DataFrame, what: str) -> None:
    """Raise UserError if a head has several rows."""
    if heads.duplicated(PLACE).any():
        kind, layer, head = heads[PLACE][heads.duplicated(PLACE)].iloc[0]
        raise UserError(
            f"{what}: head {head} of layer {layer} ({kind}) has several rows; allowed: those of "
            "one model, one for each head"
        )
