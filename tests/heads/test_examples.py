import numpy as np
import pytest
import torch

from bottomup import objectives
from bottomup.corpus.specials import EOS
from bottomup.heads.examples import references, sample, translations
from bottomup.model.beam_search import translate
from bottomup.objectives import IGNORE
from tests.tiny import drawn, random_text


def test_sentences_are_drawn_once_and_follow_the_seed():
    dev = random_text(20)
    some = [sample(dev, 4, seed).tolist() for seed in (1, 1, 2)]
    assert some[0] == some[1] != some[2]
    assert len(set(some[0])) == 4 and some[0] == sorted(some[0])
    everything = list(range(len(dev.source)))
    assert set(some[0]) <= set(everything) and sample(dev, 10**6, 1).tolist() == everything


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
