import itertools
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from bottomup import objectives
from bottomup.core.errors import UserError
from bottomup.core.seeds import generator
from bottomup.core.settings import Training
from bottomup.corpus.batches import Text, epoch, forever, in_order
from bottomup.corpus.specials import UNK
from bottomup.model import folder
from bottomup.objectives import IGNORE
from bottomup.plan.study import modules
from bottomup.training.checkpoint import Finished, Progress
from bottomup.training.loop import Trainer
from bottomup.training.stopping import listening
from tests.tiny import DROPOUT, VOCAB, initial, same_bytes, tokens_of

pytestmark = pytest.mark.long

TRAINED = ["lm", "mlm", "mt"]
SETTINGS = Training(
    batch_tokens=64,
    max_tokens=550,
    warmup_steps=4,
    learning_rate=0.0125,
    schedule="inverse_sqrt",
    optimizer="adam",
    evaluate_every_steps=3,
    patience=100,
    dev_seed=1,
    precision="float32",
)


def changed(**values) -> Training:
    return SETTINGS.model_copy(update=values)


def stop_before(trainer: Trainer, step: int) -> None:
    """Train until an update is begun that is never done, as if killed there."""
    update = trainer.update

    def stopping(sentences, now):
        if now == step:
            raise KeyboardInterrupt
        return update(sentences, now)

    trainer.update = stopping
    with pytest.raises(KeyboardInterrupt):
        trainer.train()


# Accumulation


def weights_that_matter(model):
    """All but the keys' bias: it moves all scores of a query alike, which softmax takes back.

    So its gradient is 0 but for rounding, which Adam, blind to scale, makes steps of.
    """
    weights = {name: weight.clone() for name, weight in model.state_dict().items()}
    for name, weight in weights.items():
        if name.endswith("key_value.bias"):
            weight[: len(weight) // 2] = 0.0
    return weights


@pytest.mark.parametrize("objective", TRAINED)
def test_accumulating_is_the_large_batch(trainer, objective):
    runs = [trainer(objective, f"in {n}", accumulate=n) for n in (1, 2, 4)]
    metrics = [run.train().metrics for run in runs]
    whole = weights_that_matter(runs[0].model)
    for run, lines in zip(runs[1:], metrics[1:], strict=True):
        torch.testing.assert_close(weights_that_matter(run.model), whole, rtol=1e-3, atol=1e-4)
        for line, expected in zip(lines, metrics[0], strict=True):
            assert line == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("accumulate", [1, 3])
def test_gradient_is_that_of_the_mean_over_all_predicted_tokens(trainer, accumulate, monkeypatch):
    """Of parts with unequal numbers of them."""
    run = trainer("mt", accumulate=accumulate, options={"label_smoothing": 0.0})
    sentences = epoch(run.text, 64, 1, 0)[0]
    source, target = (torch.from_numpy(ids) for ids in run.text.batch(sentences))
    logits = run.model.head(run.model(source, target)).flatten(0, 1)
    loss = torch.nn.functional.cross_entropy(logits, target.flatten(), ignore_index=0)
    expected = torch.autograd.grad(loss, tuple(run.model.parameters()))
    found = []
    monkeypatch.setattr(
        run.optimizers[0],
        "step",
        lambda: found.extend(p.grad.clone() for p in run.model.parameters()),
    )
    assert run.update(sentences, 1).item() == pytest.approx(loss.item())
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


# Stopping and going on


@pytest.mark.parametrize(
    ("objective", "optimizer"), [*((name, "adam") for name in TRAINED), ("mt", "muon")]
)
def test_going_on_is_never_having_stopped(trainer, objective, optimizer):
    """Bit for bit, with dropout and corruption, wherever it is stopped."""
    settings = changed(optimizer=optimizer, short_first=[(4, 0.2), (6, 0.5)])
    trainer = partial(trainer, settings=settings, **DROPOUT)
    whole = trainer(objective)
    expected = whole.train()
    assert expected.step > 10
    for step in range(1, expected.step + 1, 1 if optimizer == "muon" else 3):
        folder = f"stopped before {step}"
        stop_before(trainer(objective, folder), step)
        resumed = trainer(objective, folder)
        assert resumed.train() == expected
        assert same_bytes(resumed.model.state_dict(), whole.model.state_dict())


def test_stopping_again_and_again_is_never_having_stopped(trainer):
    whole = trainer("mlm", **DROPOUT)
    expected = whole.train()
    for step in (2, 5, 5, 8, 11):
        stop_before(trainer("mlm", "stopped", **DROPOUT), step)
    resumed = trainer("mlm", "stopped", **DROPOUT)
    assert resumed.train() == expected
    assert same_bytes(resumed.model.state_dict(), whole.model.state_dict())


def test_what_is_done_is_not_done_again(trainer):
    stop_before(trainer(), 8)
    resumed = trainer()
    steps, update = [], resumed.update
    resumed.update = lambda sentences, step: steps.append(step) or update(sentences, step)
    last = resumed.train().step
    assert steps == list(range(7, last + 1))
    finished = trainer()
    finished.update = None
    assert finished.train().step == last
    assert same_bytes(finished.model.state_dict(), resumed.model.state_dict())


def test_the_callers_random_state_does_not_matter(trainer):
    torch.manual_seed(5)
    a, b = trainer("mlm", "a", **DROPOUT), trainer("mlm", "b", **DROPOUT)
    a.train()
    torch.manual_seed(6)
    np.random.seed(6)
    b.train()
    assert same_bytes(a.model.state_dict(), b.model.state_dict())


def test_every_update_draws_anew(trainer, monkeypatch):
    """Dropout and corruption of the same sentences differ from step to step and seed to seed."""
    run, drawn = trainer("mlm"), []

    def record(example, smoothing):
        drawn.append((torch.initial_seed(), example.source.tobytes()))
        return 0 * run.model.head.weight.sum(), 1

    monkeypatch.setattr(run, "summed_loss", record)
    for run.seed, step in ((1, 1), (1, 2), (2, 1), (1, 1)):
        run.update(np.arange(60), step)
    assert all(len(set(draws[:3])) == 3 for draws in zip(*drawn, strict=True))
    assert drawn[3] == drawn[0]


def test_each_batch_of_the_dev_split_has_masks_of_its_own_which_follow_the_dev_seed(trainer):
    """Of one sentence 12 times, two a batch; at every evaluation the same."""
    run = trainer("mlm", settings=changed(batch_tokens=32))
    run.dev = Text(tokens_of([list(range(5, 20))] * 12))
    masks = []

    def noting(example, smoothing):
        masks[-1].append(example.labels.tobytes())
        return run.model.head.weight.sum(), 1

    run.summed_loss = noting
    for seed in (1, 1, 2):
        run.settings = changed(batch_tokens=32, dev_seed=seed)
        masks.append([])
        run.dev_loss()
    assert masks[0] == masks[1] and not {*masks[0]} & {*masks[2]} and len({*masks[0]}) == 6


# When it ends, and what is kept


@pytest.mark.parametrize("objective", ["lm", "mt"])
@pytest.mark.parametrize("max_tokens", [1, 100, 550])
def test_budget_of_tokens_is_kept(trainer, objective, max_tokens):
    """The update that reaches it is the last; neither padding nor the target side counts."""
    run = trainer(objective, settings=changed(max_tokens=max_tokens, evaluate_every_steps=1))
    progress = run.train()
    tokens = [line["tokens"] for line in progress.metrics]
    assert tokens[-1] >= max_tokens and all(n < max_tokens for n in tokens[:-1])
    first_epoch = epoch(run.text, 64, 1, 0)[: len(tokens)]
    sizes = [int(run.text.source.lengths[sentences].sum()) for sentences in first_epoch]
    assert tokens[: len(sizes)] == np.cumsum(sizes).tolist()


def test_shares_of_the_budget_decide_how_long_short_sentences_come_first(trainer):
    """A fifth of 550 tokens, then half; in between the longest sentence is as long as allowed."""
    run = trainer("mt", settings=changed(short_first=[(4, 0.2), (6, 0.5)]))
    seen, update = [], run.update

    def noting(sentences, step):
        seen.append((run.text.source.lengths[sentences].sum(), run.text.lengths[sentences].max()))
        return update(sentences, step)

    run.update = noting
    run.train()
    before = np.cumsum([0, *(tokens for tokens, _ in seen)])[:-1]
    longest = np.array([length for _, length in seen])
    phases = np.searchsorted([110, 275], before, side="right")
    assert [longest[phases == phase].max() for phase in range(3)] == [4, 6, run.text.lengths.max()]


def test_metrics_are_measured_at_intervals_and_at_the_end(trainer):
    progress = trainer(settings=changed(evaluate_every_steps=5)).train()
    steps = [line["step"] for line in progress.metrics]
    assert steps[:2] == [5, 10] and steps[-1] == progress.step
    for line in progress.metrics:
        assert line.keys() == {
            "step",
            "tokens",
            "train_loss_nats",
            "dev_loss_nats",
            "learning_rate",
        }
        assert line["learning_rate"] == pytest.approx(0.0125 * (4 / line["step"]) ** 0.5)


def test_train_loss_is_the_mean_since_the_last_line(trainer):
    run = trainer()
    losses, update = [], run.update

    def recording(sentences, step):
        loss = update(sentences, step)
        losses.append(loss.item())
        return loss

    run.update = recording
    metrics = run.train().metrics
    assert metrics[0]["train_loss_nats"] == pytest.approx(np.mean(losses[:3]))
    assert metrics[1]["train_loss_nats"] == pytest.approx(np.mean(losses[3:6]))


def test_an_update_that_predicts_nothing_is_in_no_train_loss(trainer, monkeypatch):
    """Of two sentences a batch, hardly a token is chosen."""
    settings = changed(batch_tokens=16, evaluate_every_steps=2)
    run = trainer("mlm", settings=settings, options={"choose": 0.05})
    seen, summed_loss = [], run.summed_loss

    def recording(example, smoothing):
        loss, predicted = summed_loss(example, smoothing)
        if run.model.training:
            seen.append((loss.item(), predicted))
        return loss, predicted

    monkeypatch.setattr(run, "summed_loss", recording)
    found = [line["train_loss_nats"] for line in run.train().metrics]
    lines = [[loss / n for loss, n in seen[i : i + 2] if n] for i in range(0, len(seen), 2)]
    assert {len(line) for line in lines} == {0, 1, 2}
    expected = [sum(line) / len(line) if line else float("nan") for line in lines]
    assert found == pytest.approx(expected, nan_ok=True)


def test_a_stalled_dev_loss_ends_it_and_the_best_weights_are_kept(trainer, monkeypatch):
    run = trainer(settings=changed(max_tokens=10**9, patience=3))
    dev_losses, weights = iter([3.0, 2.0, 2.5, 2.0, 2.1, 0.0]), []

    def dev_loss():
        weights.append({name: w.clone() for name, w in run.model.state_dict().items()})
        return next(dev_losses)

    monkeypatch.setattr(run, "dev_loss", dev_loss)
    progress = run.train()
    # Evaluations 3, 4 and 5 are no better than the second.
    assert [line["dev_loss_nats"] for line in progress.metrics] == [3.0, 2.0, 2.5, 2.0, 2.1]
    assert same_bytes(run.model.state_dict(), weights[1])
    assert not same_bytes(run.model.state_dict(), weights[4])


def test_an_improvement_starts_the_patience_anew(trainer, monkeypatch):
    run = trainer(settings=changed(max_tokens=10**9, patience=2))
    dev_losses = iter([3.0, 3.1, 2.9, 3.0, 2.8, 2.9, 2.9])
    monkeypatch.setattr(run, "dev_loss", lambda: next(dev_losses))
    assert len(run.train().metrics) == 7


def test_patience_waits_for_sentences_of_all_lengths(trainer, monkeypatch):
    """With a dev loss that never falls: where half is read, not at the second evaluation."""
    settings = changed(patience=1, evaluate_every_steps=1, short_first=[(4, 0.2), (6, 0.5)])
    run = trainer(settings=settings)
    monkeypatch.setattr(run, "dev_loss", lambda: 3.0)
    tokens = [line["tokens"] for line in run.train().metrics]
    assert len(tokens) > 2 and tokens[-2] < 275 <= tokens[-1]


@pytest.mark.parametrize("objective", TRAINED)
def test_dev_loss_is_the_mean_over_tokens_whatever_the_batches(trainer, objective):
    """Without smoothing and dropout. MLM draws its choice a batch at a time."""
    run = trainer(objective, dropout=0.5)
    assert run.dev_loss() == run.dev_loss()
    small = trainer(objective, dropout=0.5, settings=changed(batch_tokens=9))
    if objective != "mlm":
        assert small.dev_loss() == pytest.approx(run.dev_loss(), rel=1e-5)
    if objective == "mt":
        source, target = (torch.from_numpy(ids) for ids in run.dev.batch(np.arange(20)))
        with torch.no_grad():
            logits = run.model.eval().head(run.model(source, target)).flatten(0, 1)
        expected = torch.nn.functional.cross_entropy(logits, target.flatten(), ignore_index=0)
        assert run.dev_loss() == pytest.approx(expected.item(), rel=1e-5)


# What goes wrong


OURS = [name for name in modules("objectives") if objectives.kind(name).predicts]


@pytest.mark.parametrize("name", sorted({*OURS} - {"mix"}))
def test_the_dev_loss_is_that_of_the_model_that_is_written(trainer, tmp_path, name):
    """What sees what is the same in training and in whatever opens the model later."""
    run = trainer(name, trunk="lstm" if objectives.kind(name).both_ways else None)
    best = min(line["dev_loss_nats"] for line in run.train().metrics if not line.get("early"))
    folder.save(run.model, tmp_path / "model")
    model, sums, objective = folder.load(tmp_path / "model").eval(), [0.0, 0], run.objective.seen
    for number, sentences in enumerate(in_order(run.dev, SETTINGS.batch_tokens)):
        rng = generator(SETTINGS.dev_seed, "dev", number)
        read = objective.example(*run.dev.batch(sentences), model.config.vocab_size, rng)
        sides = [torch.from_numpy(x) for x in (read.source, read.target) if x is not None]
        logits = model.head(model(*sides)).flatten(0, 1)
        labels = torch.from_numpy(read.labels).flatten()
        sums[0] += cross_entropy(logits, labels, ignore_index=IGNORE, reduction="sum").item()
        sums[1] += read.predicted
    assert best == pytest.approx(sums[0] / sums[1], rel=1e-5)


def test_training_that_diverges(trainer):
    """One line; the checkpoint before is kept."""
    stop_before(trainer(), 8)
    run = trainer(settings=changed(learning_rate=1e30))
    with pytest.raises(UserError) as error:
        run.train()
    message = str(error.value)
    assert "nan at step 8" in message and "\n" not in message
    assert (
        str(run.checkpoint.folder) in message
        and "training.learning_rate, which is 1e+30" in message
    )
    assert trainer().checkpoint.load(initial("lm"), run.optimizers).step == 6


def test_a_dev_loss_of_nothing(trainer, monkeypatch):
    run = trainer()
    monkeypatch.setattr(run, "summed_loss", lambda *_, smoothing: (torch.zeros(()), 0))
    with pytest.raises(UserError, match="predicts no token of the dev split"):
        run.dev_loss()


@pytest.mark.parametrize(
    ("objective", "wrong", "line"),
    [
        ("mlm", {"source": lambda ids: np.where(ids == 5, VOCAB, ids)}, f"source with {VOCAB};"),
        ("mlm", {"labels": lambda ids: np.where(ids > 5, VOCAB, ids)}, f"labels with {VOCAB};"),
        ("lm", {"labels": lambda ids: ids - 1}, f"labels with {IGNORE - 1};"),
        ("lm", {"labels": lambda ids: ids[:, 1:]}, "labels of shape"),
        ("lm", {"labels": lambda ids: ids.astype(np.int32)}, "labels of int32; allowed: int64"),
        ("mt", {"target": lambda ids: ids + VOCAB}, "target with"),
        ("denoising", {"target": lambda ids: None}, "no target;"),
        ("lm", {"target": lambda _: np.ones([1, 1], int)}, "a target;"),
    ],
)
def test_an_objective_whose_example_does_not_fit_its_models(
    trainer, monkeypatch, objective, wrong, line
):
    """Labels that are one too short would be learned at other positions, without a word."""
    kind = objectives.kind(objective)
    right = kind.example

    def example(*given):
        made = right(*given)
        return replace(made, **{name: of(getattr(made, name)) for name, of in wrong.items()})

    monkeypatch.setattr(kind, "example", example)
    with pytest.raises(UserError, match=f"objectives/{objective}.py: example gives {line}"):
        trainer(objective).train()


def test_a_dev_loss_that_diverges(trainer):
    """No weights are kept that cannot be gone on with."""
    run = trainer(settings=changed(learning_rate=1e30, evaluate_every_steps=1))
    with pytest.raises(UserError, match="the dev loss is nan at step 1;"):
        run.train()
    assert run.checkpoint.load(run.model, run.optimizers) == Progress()


@pytest.mark.parametrize("saving", ["evaluation", "signal", "step"])
def test_weights_that_diverge_are_never_saved(trainer, signal_in_call, tmp_path, saving):
    """Even where no loss shows it, as of a token that no text has."""
    run = trainer()
    run.model.encoder.embedding.tokens.weight.data[UNK] = torch.inf
    run.kept = {2: Finished(tmp_path, {})} if saving == "step" else {}
    if saving == "signal":
        signal_in_call(run, "update", 2)
    step = 3 if saving == "evaluation" else 2
    with pytest.raises(UserError, match=f"^weights are not finite at step {step};"), listening():
        run.train()
    assert not list(tmp_path.iterdir())


def test_the_optimizer_is_the_papers(trainer):
    """Adam with the authors' constants."""
    (adam,) = trainer().optimizers
    assert (adam.defaults["betas"], adam.defaults["eps"]) == ((0.9, 0.998), 1e-9)


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_every_optimizer_steps_at_the_rate_of_the_schedule(trainer, optimizer):
    """0.0125 x 3 / 4 at the third of four updates of warm-up; half of it where half is spent."""
    run = trainer(settings=changed(optimizer=optimizer, schedule="linear", max_tokens=1000))
    for step, tokens, expected in ((3, 0, 0.009375), (40, 500, 0.00625)):
        run.set_rate(Progress(step=step, tokens=tokens))
        rates = [optimizer.param_groups[0]["lr"] for optimizer in run.optimizers]
        assert rates == [pytest.approx(expected)] * (1 if optimizer == "adam" else 2)


def test_a_linear_schedule_ends_near_zero(trainer):
    run = trainer(settings=changed(schedule="linear"))
    progress = run.train()
    lengths = run.text.source.lengths
    *_, last = itertools.islice(forever(run.text, 64, 1), progress.step)
    before = progress.tokens - int(lengths[last].sum())
    assert progress.metrics[-1]["learning_rate"] == pytest.approx(0.0125 * (1 - before / 550))


# What it is for


@pytest.mark.parametrize("trunk", [None, "lstm", "convolution"])
def test_lm_learns_what_follows_what(trainer, trunk):
    """Below the unigram entropy, hence from context, and near what context cannot tell."""
    sentences = [[4, 5, 6, 7, 8], [9, 5, 10, 7, 11], [12, 5, 13, 7, 14], [15, 6, 16, 17, 18]]
    run = trainer(settings=changed(max_tokens=7000, warmup_steps=30), trunk=trunk)
    run.text = run.dev = Text(tokens_of(sentences * 3))
    first, last = run.dev_loss(), run.train().metrics[-1]["dev_loss_nats"]
    predicted = np.array([[*s[1:], 1] for s in sentences]).ravel()
    shares = np.unique(predicted, return_counts=True)[1] / len(predicted)
    unigram = -(shares * np.log(shares)).sum()
    assert first > unigram
    # The first token of a sentence tells all the others.
    assert last < 0.1 < unigram


def test_smoothing_counts_in_training_and_not_in_dev_losses(trainer):
    plain, smooth = (trainer("mt", options={"label_smoothing": s}) for s in (0.0, 0.1))
    assert plain.dev_loss() == smooth.dev_loss()
    sentences = np.arange(5)
    losses = [run.update(sentences, 1).item() for run in (plain, smooth)]
    assert losses[0] != pytest.approx(losses[1], rel=1e-3)


@pytest.mark.parametrize("trunk", [None, "lstm", "convolution"])
def test_bfloat16_stays_close(trainer, trunk):
    exact = trainer("lm", "float32", trunk=trunk).train().metrics[-1]["dev_loss_nats"]
    low = trainer("lm", "bfloat16", changed(precision="bfloat16"), trunk=trunk)
    assert low.train().metrics[-1]["dev_loss_nats"] == pytest.approx(exact, rel=0.02)
    assert all(p.dtype == torch.float32 for p in low.model.parameters())
