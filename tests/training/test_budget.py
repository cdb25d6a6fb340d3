"""What a run reads, so that objectives are equal in predictions or operations."""

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from bottomup import objectives
from bottomup.corpus.batches import Text
from bottomup.training.budget import operations, predictions, predictions_of_lm, source_tokens
from tests.tiny import VOCAB, initial, random_text, tokens_of

# Two sentences: 4 + 2 source tokens and 5 + 4 target tokens, with </s>.
TEXT = Text(tokens_of([[5, 6, 7], [8]]), tokens_of([[5, 6, 7, 8], [9, 4, 5]]))
SOURCE = Text(TEXT.source)
MT, MLM = objectives.load("mt", {}), objectives.load("mlm", {"choose": 0.25})
LM, BILM = objectives.load("lm", {}), objectives.load("bilm", {})


def text_of(objective):
    return TEXT if objective.predicts == "target" else SOURCE


@pytest.mark.parametrize(
    ("objective", "share"),
    [(LM, 4 / 6), (MT, 9 / 6), (MLM, 0.25 * 4 / 6), (BILM, 2 * 4 / 6)],
)
def test_predictions_for_each_source_token(objective, share):
    assert predictions(objective, text_of(objective)) == pytest.approx(share)


@pytest.mark.parametrize("name", ["lm", "mt", "mlm", "lm_noise", "mt_noise", "mlm_causal"])
def test_they_are_those_of_examples(name):
    objective = objectives.load(name, {})
    translates = objective.predicts == "target"
    text = random_text(400, 1, translates)
    source, target = text.batch(np.arange(400))
    made = objective.example(source, target, VOCAB, np.random.default_rng(1)).predicted
    expected = predictions(objective, text) * text.source.lengths.sum()
    assert made == pytest.approx(expected, rel=0.1 if objective.masked else 1e-9)


def test_equal_predictions():
    """LM makes 2/3 of a prediction for each token."""
    for objective, tokens in ((LM, 900), (MT, 400), (MLM, 3600)):
        model = initial({LM: "lm", MT: "mt", MLM: "mlm"}[objective])
        assert source_tokens("predictions", 900, objective, model, text_of(objective)) == tokens
        assert source_tokens("tokens", 900, objective, model, text_of(objective)) == 900


def counted(objective, model, text):
    """Multiplications by a matrix of weights in a forward pass, as PyTorch counts them."""
    source, target = text.batch(np.arange(1))
    labels = objective.example(source, target, VOCAB, np.random.default_rng(1)).labels
    ids = [torch.from_numpy(side) for side in (source, target) if side is not None]
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model.head(model(*ids)[torch.from_numpy(labels) != objectives.IGNORE])
    kinds = {str(kind): n for kind, n in counter.get_flop_counts()["Global"].items()}
    return sum(n for kind, n in kinds.items() if "mm" in kind and "bmm" not in kind) / 2


@pytest.mark.parametrize("name", ["lm", "mt"])
def test_operations_are_what_pytorch_counts(name):
    """Of one sentence, which needs no padding; attention's own products left out."""
    objective, model = objectives.load(name, {}), initial(name)
    one = Text(tokens_of([[5, 6, 7, 8, 9]]), tokens_of([[5, 6, 7]]) if name == "mt" else None)
    expected = counted(objective, model, one)
    assert operations(objective, model, one) * 6 == pytest.approx(expected)


def test_equal_operations():
    """MT, with a decoder, reads less; LM what it is given."""
    lm, mt = initial("lm"), initial("mt")
    assert source_tokens("operations", 900, LM, lm, SOURCE) == 900
    share = operations(LM, lm, SOURCE) / operations(MT, mt, TEXT)
    assert 0 < share < 0.5
    assert source_tokens("operations", 900, MT, mt, TEXT) == round(900 * share)


def test_predictions_of_lm_need_no_first_token():
    assert predictions_of_lm(SOURCE) == pytest.approx(4 / 6)
