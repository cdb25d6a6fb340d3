import numpy as np
import pytest
import torch

from bottomup import objectives
from bottomup.corpus.batches import Text
from bottomup.corpus.specials import EOS
from bottomup.heads import examples
from bottomup.heads.examples import sample, together
from bottomup.heads.runs.importances import translations
from bottomup.heads.runs.predictor import RunPredictor
from bottomup.model.beam_search import translate
from bottomup.objectives import IGNORE
from tests.tiny import drawn, random_text, tokens_of

MLM = objectives.load("mlm", {})


def references(model, objective, text, seed):
    return examples.references(RunPredictor(model, objective), text, seed)


def test_sentences_are_drawn_once_and_follow_the_seed():
    dev = random_text(20)
    some = [sample(dev, 4, seed).tolist() for seed in (1, 1, 2)]
    assert some[0] == some[1] != some[2]
    assert len(set(some[0])) == 4
    everything = set(range(len(dev.source)))
    assert set(some[0]) <= everything and set(sample(dev, 10**6, 1).tolist()) == everything
    assert (np.diff(dev.lengths[sample(dev, 10**6, 1)]) >= 0).all()


@pytest.mark.parametrize("objective", ["lm", "mlm", "mt"])
def test_references_are_what_is_to_be_predicted(objective):
    text = random_text(3, translated=objective == "mt")
    found = references(drawn(objective), objectives.load(objective, {}), text, seed=1)
    for sentence, example in enumerate(found):
        source = text.source.sentence(sentence)
        predicted = example.labels[0] != IGNORE
        if objective == "mt":
            assert example.labels[0].tolist() == text.target.sentence(sentence).tolist()
        else:
            following = source[1:] if objective == "lm" else source
            expected = following[predicted[: len(following)]]
            assert example.labels[0][predicted].tolist() == expected.tolist()


def test_each_sentence_has_masks_of_its_own_which_follow_the_seed():
    text = Text(tokens_of([list(range(5, 20))] * 10))
    masks = [
        [tuple(example.labels[0]) for example in references(drawn("mlm"), MLM, text, seed)]
        for seed in (1, 1, 2)
    ]
    assert masks[0] == masks[1] != masks[2] and len(set(masks[0])) == 10


@pytest.mark.parametrize("objective", ["untrained", "untrained_causal"])
def test_where_nothing_is_predicted_the_source_is_the_reference(objective):
    text = random_text(3)
    for sentence, example in enumerate(
        references(drawn("mlm"), objectives.load(objective, {}), text, seed=1)
    ):
        assert example.source[0].tolist() == text.source.sentence(sentence).tolist()
        assert example.target is None and (example.labels == IGNORE).all()


def test_translations_are_the_model_s_own():
    model, text = drawn("mt"), random_text(3, translated=True)
    for sentence, example in enumerate(translations(model, text, 2, 0.6)):
        source = text.source.sentence(sentence)
        assert example.source[0].tolist() == source.tolist()
        length = 2 * len(source) + 10
        [ids] = translate(model, torch.tensor(source[None], dtype=torch.long), 2, 0.6, length)
        assert example.target[0].tolist() == example.labels[0].tolist() == [*ids, EOS]
        assert not np.array_equal(example.target[0], text.target.sentence(sentence))


@pytest.mark.parametrize("objective", ["lm", "bilm", "mt"])
def test_sentences_together_are_what_the_objective_makes_of_a_batch(objective):
    text, loaded = random_text(7, translated=objective == "mt"), objectives.load(objective, {})
    text = text.select(sample(text, 7, 1))
    batches = list(together(references(drawn("mt"), loaded, text, seed=1), batch_tokens=24))
    assert 1 < len(batches) < 7
    start = 0
    for batch in batches:
        sentences = np.arange(start, start := start + len(batch.source))
        ids = text.batch(sentences)
        expected = loaded.example(*ids, 100, np.random.default_rng(1))
        np.testing.assert_array_equal(batch.source, expected.source)
        np.testing.assert_array_equal(batch.labels, expected.labels)
        if objective == "mt":
            np.testing.assert_array_equal(batch.target, expected.target)
    assert start == 7
