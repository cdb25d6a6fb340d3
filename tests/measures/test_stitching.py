"""Stitching: models whose states are another's, mapped; and what may not be seen."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
import yaml

from bottomup import objectives
from bottomup.core.errors import UserError
from bottomup.core.layers import depths
from bottomup.corpus.specials import MASK, PAD
from bottomup.measures import stitching
from bottomup.measures.quality import predictions
from bottomup.measures.stitching import batches, by_loss, losses, read
from bottomup.model.transformer import Encoding
from bottomup.plan.config import load
from bottomup.plan.study import Study
from bottomup.plan.subjects import Subjects
from bottomup.tables.stitching import predicting
from tests.tiny import ROOT, drawn, random_text

OBJECTIVES = ["lm", "mlm", "mt"]
DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text())
BLOCKS = np.arange(60) % 6


def texts(name, n=60):
    return [random_text(n, seed, name == "mt") for seed in (1, 2)]


def rows_of(name, others, **keys):
    model, objective = drawn(name), objectives.load(name, {})
    named = [({"from": place}, other) for place, other in enumerate(others)]
    how = {"layers": [1, 2], "sentences": 60, "seed": 3} | keys
    return pd.DataFrame(
        stitching.stitching(model, objective, named, *texts(name), BLOCKS, **how)
    ).set_index(["from", "layer", "fit"])


class Moved(torch.nn.Module):
    """The encoder of a model, with the states of each layer rotated, stretched and shifted."""

    def __init__(self, model):
        super().__init__()
        self.of, self.causal = model.encoder, model.encoder.causal
        self.by = 0.1 * torch.randn(16, 16, generator=torch.Generator().manual_seed(1))
        self.by += 2 * torch.eye(16)

    def forward(self, ids, output_hidden_states):
        layers = self.of(ids, output_hidden_states=True).hidden_states
        return Encoding(layers[-1], tuple(3 + x @ self.by for x in layers))


def moved(model):
    return SimpleNamespace(encoder=Moved(model), config=model.config)


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_from_its_own_states_a_model_has_its_own_loss(name, layer):
    model, objective, (text, _) = drawn(name), objectives.load(name, {}), texts(name, 40)
    if name == "mlm":  # masks are drawn by another name than for quality
        objective = objective.model_copy(update={"choose": 0.999, "mask": 1.0, "replace": 0.0})
    [batch] = batches(model, objective, text, 40, 3)
    causal = model.encoder.causal
    found = losses(model, batch, read(model.encoder, batch.source, [layer], causal)[0], layer)
    expected = predictions(model, objective, text, 10**6, 3)
    tolerance = {"rtol": 2e-3 if name == "mlm" else 1e-5}
    np.testing.assert_allclose(found.sum().item(), expected["loss_nats"].sum(), **tolerance)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_states_that_one_map_makes_its_own_cost_nothing(name):
    found = rows_of(name, [moved(drawn(name)), drawn("untrained", seed=9)])
    same, other = (found["value"][place].unstack() for place in (0, 1))
    assert same["least_squares"].abs().max() < 1e-4
    # A network that was never trained can still gain from a map that follows its loss.
    assert same["loss"].max() < 0.01
    assert (other["least_squares"].abs() > 1e-3).all(), "another's are no map of its own"
    assert found["own_nats"].nunique() == 1 and (found["n"] == found["n"].iloc[0]).all()


def test_a_model_that_sees_no_later_token_is_given_no_state_that_saw_one():
    encoder = drawn("mlm").encoder
    ids = torch.tensor([[5, 6, 7, 8, 9], [9, 8, 7, PAD, PAD]])
    states = read(encoder, ids, [1, 2], causal=True)
    for end in (1, 3, 5):
        hidden = encoder(ids[:1, :end], output_hidden_states=True).hidden_states
        torch.testing.assert_close(states[:, 0, end - 1], torch.stack(hidden)[1:, 0, -1])
    # A padded sentence is read as if it were alone.
    alone = read(encoder, ids[1:, :3], [1, 2], causal=True)
    torch.testing.assert_close(states[:, 1:, :3], alone)
    whole = read(encoder, ids, [1, 2], causal=False)
    assert not torch.allclose(whole[:, 0, 0], states[:, 0, 0], atol=1e-3)


def test_both_models_read_the_masked_text():
    """States of the unmasked text would hold what is to be predicted."""
    seen = []

    class Reads(Moved):
        def forward(self, ids, output_hidden_states):
            seen.append(ids)
            return super().forward(ids, output_hidden_states)

    other = drawn("mlm", seed=2)
    rows_of("mlm", [SimpleNamespace(encoder=Reads(other), config=other.config)])
    model, objective = drawn("mlm"), objectives.load("mlm", {})
    expected = [b for text in texts("mlm") for b in batches(model, objective, text, 60, 3)]
    assert all(torch.equal(a, b.source) for a, b in zip(seen, expected, strict=True))
    assert any((b.source == MASK).any() for b in expected)


def test_a_fit_by_loss_lowers_it_and_leaves_the_model_alone(monkeypatch):
    monkeypatch.setattr(stitching, "PASSES", 20)
    model, objective, (text, _) = drawn("mlm"), objectives.load("mlm", {}), texts("mlm", 200)
    before = [parameter.clone() for parameter in model.requires_grad_(False).parameters()]
    some = batches(model, objective, text, 200, 1)
    y, x = (
        [read(encoder, batch.source, [1], False)[0] for batch in some]
        for encoder in (model.encoder, drawn("untrained", seed=9).encoder)
    )
    first, moments = stitching.least_squares_and_scale(some, x, y)
    second = by_loss(model, some, x, 1, first, moments, 1)
    of_first, of_second = (
        sum(losses(model, b, by.of(s), 1).sum() for b, s in zip(some, x, strict=True))
        for by in (first, second)
    )
    assert of_second < 0.98 * of_first
    for parameter, same in zip(model.parameters(), before, strict=True):
        assert torch.equal(parameter, same)
    again = by_loss(model, some, x, 1, first, moments, 1)
    assert torch.equal(second.weight, again.weight) and torch.equal(second.bias, again.bias)


def test_a_fit_by_loss_adds_nothing_to_a_constant_neuron_and_knows_no_unit():
    model, objective, (text, _) = drawn("lm"), objectives.load("lm", {}), texts("lm")
    some = batches(model, objective, text, 60, 1)
    y, x = (
        [read(encoder, batch.source, [1], True)[0] for batch in some]
        for encoder in (model.encoder, drawn("untrained", seed=9).encoder)
    )
    for states in x:
        states[..., 3] = 0.1
    units = torch.ones(16)
    units[5] = 1e-8
    found = []
    for given in (x, [states * units for states in x]):
        first, moments = stitching.least_squares_and_scale(some, given, y)
        found.append(by_loss(model, some, given, 1, first, moments, 1).weight)
    assert not found[0][3].any() and found[0][5].any()
    torch.testing.assert_close(found[1] * units[:, None], found[0], rtol=1e-2, atol=1e-4)


def test_a_map_of_too_few_tokens_costs_nothing_that_is_known():
    found = rows_of("lm", [drawn("untrained", seed=9)], sentences=10)
    assert found["value"].isna().all() and (found["n_needed"] == 160).all()
    assert (found["n"] < 160).all() and found["own_nats"].notna().all()


def test_padding_fits_no_map():
    objective, model = objectives.load("lm", {}), drawn("lm")
    [*text] = batches(model, objective, random_text(60, 1, low=3, high=9), 60, 1)
    rng = np.random.default_rng(0)
    x, y = (
        [torch.from_numpy(rng.standard_normal((*b.source.shape, 4))) for b in text] for _ in "xy"
    )
    padding = [batch.source == PAD for batch in text]
    assert any(of.any() for of in padding)
    first, _ = stitching.least_squares_and_scale(text, x, y)
    for states, of in zip(y, padding, strict=True):
        states[of] = 1e3
    second, _ = stitching.least_squares_and_scale(text, x, y)
    assert torch.equal(first.weight, second.weight) and torch.equal(first.bias, second.bias)


def test_layers_are_those_at_the_same_share_of_the_depth():
    assert depths(6, 3) == [2, 4, 6] and depths(3, 1) == [3] and depths(2, 5) == [1, 2]
    found = rows_of("lm", [drawn("untrained", seed=9, layers=4)]).reset_index()
    assert set(zip(found["from_layer"], found["layer"], strict=True)) == {(2, 1), (4, 2)}


def test_of_two_equally_near_layers_it_is_the_upper():
    """As in tables of pairs, which figures draw beside: `pairs_of_layers`."""
    found = rows_of("lm", [drawn("untrained", seed=9, layers=3)], layers=[1]).reset_index()
    assert set(found["from_layer"]) == {2}
    assert depths(5, 2) == [3, 5]


def test_intervals_leave_out_blocks_of_documents():
    """What two sentences add to the cost, by hand."""
    model, other = drawn("lm"), drawn("lm", seed=2)
    train, _ = texts("lm")
    test = random_text(3, 5, low=4, high=4)
    rows = stitching.stitching(
        *(model, objectives.load("lm", {}), [({}, other)], train, test, np.array([0, 0, 1])),
        **{"layers": [2], "sentences": 60, "seed": 3},
    )
    row = next(rows)
    # Four predictions a sentence: the mean is that of the blocks, one of two sentences.
    of_second, of_first = row["without"]
    assert row["value"] == pytest.approx((2 * of_first + of_second) / 3)
    assert row["n"] == 12


def test_into_what_reads_tokens_of_its_own_nothing_is_stitched(marked, monkeypatch):
    """Other models do not know these tokens."""
    subjects = Subjects(load(DEFAULT))
    assert predicting(subjects) == ["lm-1", "mt-1", "mlm-1"]
    usual, own = Study.objective_options, objectives.load(marked, {})
    monkeypatch.setattr(
        Study, "objective_options", lambda study, name: own if name == "mlm" else usual(study, name)
    )
    assert predicting(subjects) == ["lm-1", "mt-1"]


def test_without_short_sentences_one_line():
    text = random_text(5, 1, low=60, high=60)
    with pytest.raises(UserError, match="no sentence has 50 tokens or fewer"):
        batches(drawn("lm"), objectives.load("lm", {}), text, 5, 1)


@pytest.mark.on_a_gpu("measure stitching")
@pytest.mark.parametrize("name", ["lm", "mt"])
def test_the_program(name, measure, corpus_files, tmp_path):
    others = [("mlm", 3), ("untrained", 4), (name, 2)]
    for objective, seed in [(name, 1), *others]:
        corpus_files.save(drawn, objective, tmp_path / f"{objective}-{seed}", seed=seed)
    run = {"objective": name, "seed": 1}
    settings = {
        "run": run | {"module": name, "options": {}},
        **{"choose": None, "layers": 1, "sentences": 20, "seed": 3},
        "others": [{"objective": objective, "seed": seed} for objective, seed in others],
    }
    files = {
        "model": tmp_path / f"{name}-1",
        "stitched": [
            tmp_path / f"{objective}-{seed}" / file
            for objective, seed in others
            for file in ("model.safetensors", "config.json")
        ],
        "train": corpus_files.tokens / "train.source",
        "text": corpus_files.tokens / "test.source",
        "blocks": corpus_files.blocks("test"),
    }
    measure("stitching", run, settings, **files, table=tmp_path / "stitching.csv")
    table = pd.read_csv(tmp_path / "stitching.csv")
    assert list(table) == [
        *("objective", "seed", "from_objective", "from_seed", "from_layer", "layer", "fit"),
        *("value", "ci_low", "ci_high", "own_nats", "n", "n_needed"),
    ]
    named = list(zip(table["from_objective"], table["from_seed"], strict=True))
    assert named[::2] == named[1::2] == others
    assert (table["layer"] == 2).all() and set(table["fit"]) == {"least_squares", "loss"}
    assert table["value"].between(table["ci_low"], table["ci_high"]).all()
