import numpy as np
import pytest
import torch

from bottomup import objectives
from bottomup.corpus.specials import EOS
from bottomup.heads.examples import references, sample, translations
from bottomup.model.beam_search import translate
from bottomup.objectives import IGNORE
from bottomup.training.run import load_text
from tests.tiny import drawn, random_text


def test_sentences_are_of_the_dev_split_and_follow_the_seed(corpus_files):
    mt = objectives.load("mt", {})
    dev = load_text(corpus_files.tokens, "dev", mt)
    some = [sample(corpus_files.tokens, mt, 4, seed) for seed in (1, 1, 2)]
    assert [len(text.source) for text in some] == [4, 4, 4]
    known = {tuple(dev.source.sentence(i)) for i in range(len(dev.source))}
    assert {tuple(some[0].source.sentence(i)) for i in range(4)} <= known
    assert some[0].digest() == some[1].digest() != some[2].digest()
    assert sample(corpus_files.tokens, mt, 10**6, 1).digest() == dev.digest()


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


def test_translations_are_the_model_s_own():
    model, text = drawn("mt"), random_text(3, translated=True)
    for sentence, example in enumerate(translations(model, text, 2, 0.6)):
        source = text.source.sentence(sentence)
        assert example.source[0].tolist() == source.tolist()
        length = 2 * len(source) + 10
        [ids] = translate(model, torch.tensor(source[None], dtype=torch.long), 2, 0.6, length)
        assert example.target[0].tolist() == example.labels[0].tolist() == [*ids, EOS]
        assert not np.array_equal(example.target[0], text.target.sentence(sentence))
