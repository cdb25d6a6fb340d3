import warnings

import pytest
import torch

from bottomup.heads.removal import without_closed_heads
from bottomup.model import folder
from bottomup.model.beam_search import translate
from bottomup.model.transformer import Transformer
from tests.tiny import drawn, ids_of

SOURCE = ids_of([[5, 6, 7, 8], [9, 4], [4, 4, 10, 6, 12]])
TARGET = ids_of([[7, 8], [5, 6, 4, 9], [10]])
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


def gated(objective: str = "mt") -> Transformer:
    """Three layers of four heads; some gates closed, one half open, and one layer without any."""
    model = drawn(objective, heads=4, layers=3)
    attentions = model.attentions()
    attentions["encoder"][0].gates[1] = 0.0
    attentions["encoder"][1].gates[:] = 0.0
    attentions["encoder"][2].gates[3] = 0.4
    if objective == "mt":
        attentions["decoder"][0].gates[:] = 0.0
        attentions["decoder"][2].gates[::2] = 0.0
        attentions["cross"][1].gates[:] = 0.0
        attentions["cross"][2].gates[1:] = 0.0
    return model


def outputs(model: Transformer) -> torch.Tensor:
    with torch.no_grad():
        translates = model.config.decoder_layers > 0
        return model.head(model(SOURCE, TARGET if translates else None))


@pytest.mark.parametrize("objective", ["lm", "mlm", "mt"])
def test_it_computes_the_same(objective):
    """To 1e-5: sums over heads are taken in another order."""
    model = gated(objective)
    torch.testing.assert_close(outputs(without_closed_heads(model)), outputs(model), **CLOSE)


def test_gates_matter_at_all():
    assert (outputs(gated()) - outputs(drawn("mt", heads=4, layers=3))).abs().max() > 0.01


def test_it_translates_the_same():
    model = gated()
    found, expected = (
        translate(each, SOURCE, beam_size=3, length_penalty=0.6, max_length=8)
        for each in (without_closed_heads(model), model)
    )
    assert found == expected


def test_what_is_left():
    """A head of width 4 has 3 x 4 rows of 16 weights and a bias, and 4 columns of 16 weights:
    268 numbers; 1 + 4 + 4 + 2 + 4 + 3 of them are closed."""
    model = gated()
    small = without_closed_heads(model)
    assert small.config.kept_heads == {
        "encoder": [3, 0, 4],
        "decoder": [0, 4, 2],
        "cross": [4, 0, 1],
    }
    sizes = [sum(p.numel() for p in each.parameters()) for each in (model, small)]
    assert sizes[0] - sizes[1] == 18 * 268
    assert model.config.kept_heads is None


def test_it_is_saved_and_loaded(tmp_path):
    small = without_closed_heads(gated())
    folder.save(small, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = folder.load(tmp_path).eval()
    assert torch.equal(outputs(loaded), outputs(small))


def test_weights_of_each_layer_are_handed_out():
    small = without_closed_heads(gated("mlm"))
    weights = small.encoder(SOURCE, output_attentions=True).attentions
    assert [layer.shape[1] for layer in weights] == [3, 0, 4]


def test_open_gates_leave_everything():
    model = drawn("mlm")
    small = without_closed_heads(model)
    assert torch.equal(outputs(small), outputs(model))
    assert small.config.kept_heads == {"encoder": [2, 2]}
