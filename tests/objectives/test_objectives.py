import numpy as np
import pytest
from pydantic import ValidationError

from bottomup import objectives
from bottomup.corpus.specials import EOS, N_SPECIAL, PAD
from bottomup.objectives import IGNORE, Example, Question, Variant
from bottomup.plan.study import modules

SOURCE = np.arange(12).reshape(4, 3)
TARGET = np.arange(8).reshape(4, 2)


def test_each_has_a_file_and_loads():
    names = modules("objectives")
    assert {"lm", "mlm", "mt", "untrained", "untrained_causal"} <= set(names)
    assert {"lm_noise", "mt_noise", "mlm_causal", "lm_bidirectional", "bilm"} <= set(names)
    for name in names:
        assert isinstance(objectives.load(name, {}), objectives.Objective)


def test_mask_and_target_of_each():
    loaded = {name: objectives.load(name, {}) for name in modules("objectives")}
    causal = {name for name, objective in loaded.items() if objective.causal}
    backward = {name for name, objective in loaded.items() if objective.backward}
    assert backward == {"lm_backward", "untrained_backward"}
    assert causal == {"lm", "lm_noise", "mlm_causal", "untrained_causal"} | backward
    assert {name for name, objective in loaded.items() if objective.both_ways} == {"bilm"}
    predicts = {name: objective.predicts for name, objective in loaded.items()}
    assert {name for name, side in predicts.items() if side == "target"} == {"mt", "mt_noise"}
    decoders = {name for name, objective in loaded.items() if objective.decodes()}
    assert decoders == {"mt", "mt_noise", "denoising", "span_corruption", "prefix_lm"}
    untrained = {name for name, side in predicts.items() if side is None}
    assert untrained == {name for name in loaded if name.startswith("untrained")}


def test_variants_are_those_of_another_objective_for_one_question():
    loaded = {name: objectives.load(name, {}) for name in modules("objectives")}
    variants = {name: objective.variant for name, objective in loaded.items() if objective.variant}
    assert variants == {
        "lm_noise": Variant("lm", Question.TOKEN_DROPOUT),
        "mt_noise": Variant("mt", Question.TOKEN_DROPOUT),
        "mlm_causal": Variant("mlm", Question.MASK),
        "lm_bidirectional": Variant("lm", Question.MASK),
    }


def test_only_mt_smooths_by_default():
    names = modules("objectives")
    smoothing = {name: objectives.load(name, {}).label_smoothing for name in names}
    assert smoothing == dict.fromkeys(names, 0.0) | {"mt": 0.1, "mt_noise": 0.1}


@pytest.mark.parametrize("options", [{"chose": 0.2}, {"choose": 0}, {"mask": 1.1}, {"mask": "x"}])
def test_wrong_options(options):
    with pytest.raises(ValidationError):
        objectives.load("mlm", options)


@pytest.mark.parametrize("parts", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("target", [TARGET, None])
def test_split_loses_nothing_and_keeps_the_order(parts, target):
    labels = SOURCE if target is None else target
    pieces = list(Example(SOURCE, target, labels).split(parts))
    assert len(pieces) == min(parts, 4)
    assert all(len(piece.source) for piece in pieces)
    assert np.array_equal(np.concatenate([piece.source for piece in pieces]), SOURCE)
    assert np.array_equal(np.concatenate([piece.labels for piece in pieces]), labels)
    if target is None:
        assert all(piece.target is None for piece in pieces)
    else:
        assert np.array_equal(np.concatenate([piece.target for piece in pieces]), target)


def test_ignored_labels_are_no_token():
    assert IGNORE < 0


LOADED = [objectives.load(name, {}) for name in modules("objectives")]
MASKED = [each.name for each in LOADED if each.masked and each.seen is each]


@pytest.mark.parametrize("name", MASKED)
def test_sentences_are_masked_alike_in_a_batch_and_one_after_another(name):
    """As training and the reading as trained have them: by place, and sentence by sentence."""
    objective, vocab = objectives.load(name, {}), 50
    words = np.random.default_rng(0).integers(N_SPECIAL, vocab, (4000, 20))
    batch = np.concatenate([words, np.array([[EOS, PAD]]).repeat(4000, axis=0)], axis=1)

    def hidden(source):
        rng = np.random.default_rng(1)
        chosen = objective.chosen(source, rng)
        read = objective.corrupt(source, chosen, vocab, rng)
        assert chosen.shape == read.shape == source.shape
        assert np.array_equal(read[~chosen], source[~chosen])
        return chosen[source != PAD].reshape(4000, 21).sum(1)

    of_batch, of_text = hidden(batch), hidden(batch[batch != PAD])
    assert of_text.mean() == pytest.approx(of_batch.mean(), rel=0.1)
    assert of_text.std() == pytest.approx(of_batch.std(), rel=0.1)
