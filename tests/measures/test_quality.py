import math

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers import Tokenizer

from bottomup import objectives
from bottomup.corpus.tokens import TokenFile
from bottomup.measures import quality
from bottomup.measures.quality import (
    bleu_of_samples,
    prediction_quality,
    predictions,
    translation_quality,
    translations,
    with_samples,
)
from bottomup.training.batches import Text
from bottomup.training.run import load_text, save
from tests.tiny import VOCAB, drawn, initial, random_text, tokens_of


def scores_of(model, name, text, batch_tokens):
    objective = objectives.load(name, {})
    found = predictions(model, objective, text, batch_tokens, seed=1)
    return prediction_quality(found, objective)


@pytest.mark.parametrize("objective", ["lm", "mlm", "mt"])
def test_a_uniform_model_is_as_perplexed_as_its_vocabulary_is_large(objective):
    model = initial(objective).eval()
    torch.nn.init.zeros_(model.head.weight)
    text = random_text(30, translated=objective == "mt")
    scores = scores_of(model, objective, text, 64)
    assert scores["perplexity"] == pytest.approx(VOCAB, rel=1e-5)
    name = "masked_accuracy" if objective == "mlm" else "accuracy"
    # Of equal logits the first is taken: padding, which is never predicted.
    assert scores == {"perplexity": scores["perplexity"], name: 0.0}


def test_by_hand():
    """Two sentences, a batch each, so that the mean is over tokens and not over batches."""
    model = drawn("lm")
    sentences = [[5, 6, 7, 8, 9, 10], [11, 12]]
    scores = scores_of(model, "lm", Text(tokens_of(sentences)), batch_tokens=7)
    logs, hits = [], []
    for sentence in sentences:
        with torch.no_grad():
            log_p = model.head(model(torch.tensor([[*sentence, 1]])))[0].log_softmax(dim=1)
        following = [*sentence[1:], 1]
        logs += [log_p[i, token].item() for i, token in enumerate(following)]
        hits += [log_p[i].argmax().item() == token for i, token in enumerate(following)]
    assert scores["perplexity"] == pytest.approx(math.exp(-np.mean(logs)), rel=1e-5)
    assert scores["accuracy"] == pytest.approx(np.mean(hits))


def test_sentences_keep_their_place_whatever_the_batches():
    model, text = drawn("mt"), random_text(30, translated=True)
    objective = objectives.load("mt", {})
    alone = [
        predictions(model, objective, text.select(np.array([sentence])), 64, seed=1)
        for sentence in range(30)
    ]
    together = predictions(model, objective, text, 100, seed=1)
    pd.testing.assert_frame_equal(together, pd.concat(alone, ignore_index=True), rtol=1e-4)
    assert together["predicted"].tolist() == text.target.lengths.tolist()


def test_samples_are_sums_over_as_many_sentences():
    """Values 1, 10 and 100: a sum shows how often each of three sentences was drawn."""
    sums = with_samples(np.array([[1], [10], [100]]), 50, seed=1)[:, 0]
    assert sums[0] == 111
    drawn = {tuple(int(digit) for digit in f"{total:03d}") for total in sums[1:]}
    assert len(drawn) > 3 and all(sum(digits) == 3 for digits in drawn)


def test_masked_accuracy_is_over_the_chosen():
    """All tokens of the text are one and the model always says that one."""
    model = initial("mlm").eval()
    with torch.no_grad():
        model.head.weight.zero_()
        model.encoder.norm.weight.zero_()
        model.encoder.norm.bias.fill_(1.0)
        model.head.weight[7] = 1.0
    scores = scores_of(model, "mlm", Text(tokens_of([[7] * 9] * 20)), 64)
    assert scores["masked_accuracy"] == 1.0


@pytest.fixture
def test_split(corpus_files):
    """The text, its references and the target side's tokenizer."""
    text = load_text(corpus_files.tokens, "test", objectives.load("mt", {}))
    references = pd.read_parquet(corpus_files.text("test"))["target"].tolist()
    return text, references, Tokenizer.from_file(str(corpus_files.tokenizer("target")))


def forced(text: Text, translation: TokenFile):
    """A `translate` that gives each source sentence a translation."""
    known = {
        tuple(text.source.sentence(i)): translation.sentence(i)[:-1].tolist()
        for i in range(len(text.source))
    }

    def translate(model, source, beam_size, length_penalty, max_length):
        return [known[tuple(i for i in row if i)] for row in source.tolist()]

    return translate


def test_bleu_of_the_references_is_100(monkeypatch, test_split):
    """Through sorting into batches, decoding and detokenizing; capitals do not count."""
    text, references, tokenizer = test_split
    monkeypatch.setattr(quality, "translate", forced(text, text.target))
    model = initial("mt")
    hypotheses = translations(model, text, tokenizer, "en", 4, 0.6, 40)
    scores = translation_quality(hypotheses, references)
    assert scores["bleu"][0] == pytest.approx(100)
    assert scores["chrf"][0] == pytest.approx(100)
    assert "case:lc" in scores["bleu"][1] and "version:" in scores["bleu"][1]
    assert "case:lc" in scores["chrf"][1]


def test_bleu_of_other_sentences_is_low(monkeypatch, test_split):
    text, references, tokenizer = test_split
    others = text.target.select(np.roll(np.arange(len(references)), 1))
    monkeypatch.setattr(quality, "translate", forced(text, others))
    hypotheses = translations(initial("mt"), text, tokenizer, "en", 4, 0.6, 40)
    assert translation_quality(hypotheses, references)["bleu"][0] < 20


def test_bleu_of_samples_is_that_of_the_sentences_drawn():
    references = ["The cat sat on the mat.", "A dog!", "It rains in the north today, a lot."]
    hypotheses = ["the cat sat on a mat.", "A DOG!", "it rains today."]
    found = bleu_of_samples(hypotheses, references, 20, seed=3)
    expected = [
        translation_quality(
            *(
                [text for text, n in zip(texts, times, strict=True) for _ in range(n)]
                for texts in (hypotheses, references)
            )
        )["bleu"][0]
        for times in with_samples(np.eye(3, dtype=int), 20, seed=3)
    ]
    np.testing.assert_allclose(found, expected)
    assert len(set(found)) > 3


def test_program(tmp_path, corpus_files, run_script):
    """Of an initial model, whose perplexity is near that of a uniform one."""
    size = Tokenizer.from_file(str(corpus_files.tokenizer("target"))).get_vocab_size()
    source = Tokenizer.from_file(str(corpus_files.tokenizer("source"))).get_vocab_size()
    assert size == source
    save(initial("mt", vocab=size), corpus_files.tokenizers("mt"), tmp_path / "model")
    settings = {"objective": "mt", "options": {}, "seed": 1, "code": "digest"}
    settings |= {"beam_size": 2, "length_penalty": 0.6, "sentences": 5, "language": "en"}
    settings["sampling_seed"] = 1
    arguments = {
        "--model": tmp_path / "model",
        "--tokens": corpus_files.tokens,
        "--table": tmp_path / "quality.csv",
    }
    run_script(
        "measure_quality",
        settings,
        *(part for pair in arguments.items() for part in pair),
        *("--translation", corpus_files.text("test"), corpus_files.tokenizer("target")),
    )
    table = pd.read_csv(tmp_path / "quality.csv", keep_default_na=False)
    assert [*table] == ["objective", "seed", "metric", "split", "value", "signature"]
    assert table["metric"].tolist() == ["perplexity", "accuracy", "bleu", "chrf"]
    assert (table[["objective", "seed", "split"]] == ["mt", 1, "test"]).all(axis=None)
    assert table["value"][0] == pytest.approx(size, rel=1)
    assert (table["signature"] != "").tolist() == [False, False, True, True]
