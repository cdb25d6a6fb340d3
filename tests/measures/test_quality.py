import math
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sacrebleu
import torch
import yaml
from tokenizers import Tokenizer

from bottomup import objectives, subjects
from bottomup.core.seeds import generator
from bottomup.core.settings import Scoring, Translation
from bottomup.corpus.batches import Text, in_order
from bottomup.corpus.bpe import learn
from bottomup.corpus.specials import EOS, MASK, PAD
from bottomup.corpus.tokens import TokenFile
from bottomup.measures import quality
from bottomup.measures.examples import BATCH_TOKENS
from bottomup.measures.quality import (
    Score,
    compared,
    prediction_quality,
    predictions,
    translation_quality,
    translations,
)
from bottomup.measures.token_dropout import without_dropout
from bottomup.objectives import lm_noise
from bottomup.plan.config import load
from bottomup.plan.slices import Slices
from bottomup.training.run import initial_model
from tests.tiny import ROOT, VOCAB, drawn, initial, random_text, shape_of, tokens_of

DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text())


def scores_of(model, name, text, batch_tokens):
    objective = objectives.load(name, {})
    found = predictions(model, objective, text, batch_tokens, seed=1)
    scores = prediction_quality(found, objective, np.arange(len(found)) % 2, 2)
    return {name: score.value for name, score in scores.items()}


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


def test_masks_are_drawn_anew_in_each_batch_and_by_the_seed():
    """Of one sentence 24 times, four a batch: MLM predicts other tokens of it in each."""
    text = Text(tokens_of([list(range(5, 20))] * 24))
    model, objective = drawn("mlm"), objectives.load("mlm", {})
    once, again, other = (
        predictions(model, objective, text, batch_tokens=64, seed=seed)["loss_nats"].to_numpy()
        for seed in (1, 1, 2)
    )
    assert np.array_equal(once, again) and not np.array_equal(once, other)
    batches = {tuple(batch) for batch in once.reshape(6, 4)}
    assert len(batches) == 6


def test_scores_without_a_block_are_those_of_the_other_sentences():
    """Of the third block there is no sentence."""
    model, text, objective = drawn("lm"), random_text(12), objectives.load("lm", {})
    blocks = np.array([0, 1, 3, 3, 0, 1, 1, 0, 0, 3, 1, 0])
    found = predictions(model, objective, text, 64, seed=1)
    scores = prediction_quality(found, objective, blocks, 4)
    for block in range(4):
        rest = scores_of(model, "lm", text.select(np.flatnonzero(blocks != block)), 64)
        for name, score in scores.items():
            assert score.without[block] == pytest.approx(rest[name], rel=1e-5)
    assert scores["perplexity"].without[2] == scores["perplexity"].value


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


@pytest.mark.parametrize("name", ["lm_noise", "mt_noise"])
def test_token_dropout_is_for_training_alone(name):
    """The text is read as it is, so that what token dropout cost can be told."""
    plain, text = name.removesuffix("_noise"), random_text(30, translated=name == "mt_noise")
    asked = text, np.arange(30) % 2, []
    scoring = Scoring(seed=1, translation=None, choose=None)
    noisy, usual = (
        quality.quality(drawn(plain), objectives.load(of, {}), scoring, *asked)
        for of in (name, plain)
    )
    assert noisy["perplexity"].value == usual["perplexity"].value
    assert noisy["accuracy"].value == usual["accuracy"].value


def test_what_has_token_dropout_by_itself_is_measured_as_it_is():
    """There is nothing else that it could be."""

    class Noise(objectives.Objective):
        variant = lm_noise.Objective.variant

        def example(self, source, target, vocab_size, rng):
            return lm_noise.Objective().example(source, target, vocab_size, rng)

    assert without_dropout(Noise()) == Noise()


def test_all_masked_models_predict_as_many_tokens(tmp_path, corpus_files):
    """Whatever share they were trained with."""
    text = Text.load(corpus_files.tokens, "test", objectives.load("mlm", {}).predicts)
    blocks = np.arange(len(text.source)) % 4
    model = drawn("mlm", vocab=int(text.source.ids.max()) + 1)
    scores = {
        (trained, choose): quality.quality(
            model,
            objectives.load("mlm", {"choose": trained}),
            Scoring(seed=1, translation=None, choose=choose),
            text,
            blocks,
            [],
        )["perplexity"].value
        for trained in (0.15, 0.4)
        for choose in (None, 0.15)
    }
    assert scores[0.4, 0.15] == scores[0.15, 0.15] == scores[0.15, None] != scores[0.4, None]


def hiding(share):
    """MLM that hides each of its tokens."""
    return objectives.load("mlm", {"choose": share, "mask": 1, "replace": 0})


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        *(("diffusion", True), ("tlm", True)),
        *(("mlm", True), ("mlm_causal", True)),
        # They predict at the place before, or classes, or read nothing hidden.
        *(("lm_bidirectional", False), ("replaced_token", False), ("first_letter", False)),
        ("lm", False),
    ],
)
def test_which_models_are_asked_as_those_of_mlm(name, asked):
    study = load(DEFAULT | {"objectives": DEFAULT["objectives"] | {name: {}}})
    of = SimpleNamespace(objective=name, seed="1")
    slices = Slices(study)
    scoring, share = Scoring(**slices.scoring(of)), slices.hidden(of)
    objective = objectives.load(name, {})
    objective.learn_types([f"t{i}" for i in range(VOCAB)])
    text = tokens_of([[7, 8, 9, 10, 11]] * 20)
    target = text if objective.predicts == "both" else None
    sizes = objective.vocabularies({"source": VOCAB, "target": VOCAB})
    model = initial_model(shape_of(), objective, 1, {"source": VOCAB, "target": VOCAB})
    assert model.config.vocab_size == sizes[0]
    blocks = np.arange(20) % 2
    as_mlm = share and hiding(share)
    text = Text(text, target)
    found = quality.quality(model.eval(), objective, scoring, text, blocks, [], as_mlm)
    assert ("mlm_perplexity" in found, "mlm_accuracy" in found) == (asked, asked)


def test_a_model_of_diffusion_is_asked_as_one_of_mlm():
    """By PyTorch's own loss, with each chosen token hidden; and the more is hidden, the worse."""
    text = Text(tokens_of([[4 + (i + j) % 9 for j in range(8)] for i in range(60)]))
    objective, model = objectives.load("diffusion", {}), drawn("diffusion")
    blocks = np.arange(60) % 4
    scoring = Scoring(seed=5, translation=None, choose=None)
    found = quality.quality(model, objective, scoring, text, blocks, [], hiding(0.4))
    losses, hits = [], []
    for index, sentences in enumerate(in_order(text, BATCH_TOKENS)):
        source, _ = text.batch(sentences)
        hidden = generator(5, "quality", index).random(source.shape) < 0.4
        hidden &= (source != PAD) & (source != EOS)
        read = torch.from_numpy(np.where(hidden, MASK, source))
        with torch.no_grad():
            logits = model.head(model(read, None))[torch.from_numpy(hidden)]
        right = torch.from_numpy(source[hidden])
        losses.append(torch.nn.functional.cross_entropy(logits, right, reduction="sum"))
        hits.append(logits.argmax(1) == right)
    hits = torch.cat(hits)
    assert found["mlm_perplexity"].value == pytest.approx(float((sum(losses) / len(hits)).exp()))
    assert found["mlm_accuracy"].value == pytest.approx(hits.double().mean())
    assert found["mlm_perplexity"].n == len(hits) != found["perplexity"].n


@pytest.fixture
def test_split(corpus_files):
    """The text, its references and the target side's tokenizer."""
    text = Text.load(corpus_files.tokens, "test", objectives.load("mt", {}).predicts)
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
    blocks = np.arange(len(references)) % 4
    scores = translation_quality(hypotheses, references, blocks, 4, "en", lowercase=True)
    assert scores["bleu"].value == pytest.approx(100)
    assert scores["chrf"].value == pytest.approx(100)
    assert "case:lc" in scores["bleu"].signature and "version:" in scores["bleu"].signature
    assert "case:lc" in scores["chrf"].signature


def test_bleu_of_other_sentences_is_low(monkeypatch, test_split):
    text, references, tokenizer = test_split
    others = text.target.select(np.roll(np.arange(len(references)), 1))
    monkeypatch.setattr(quality, "translate", forced(text, others))
    hypotheses = translations(initial("mt"), text, tokenizer, "en", 4, 0.6, 40)
    blocks = np.zeros(len(references), dtype=int)
    scores = translation_quality(hypotheses, references, blocks, 1, "en", lowercase=True)
    assert scores["bleu"].value < 20


def scored(monkeypatch, tmp_path, reference, said, lowercase, language):
    """Scores of a model whose translations of `reference` are all `said`."""
    references, path = [reference] * 4, tmp_path / "tokenizer.json"
    learn([references], 9, lowercase, language, spaces=True).save(str(path))
    pd.DataFrame({"source": references, "target": references}).to_parquet(
        tmp_path / "pairs.parquet"
    )
    monkeypatch.setattr(quality, "translations", lambda *_: [said] * 4)
    beam = Translation(beam_size=1, length_penalty=0.6, sentences=4, language=language)
    scoring = Scoring(seed=1, translation=beam, choose=None)
    model, text, blocks = initial("mt"), random_text(4, translated=True), np.array([0, 1, 2, 3])
    files = [tmp_path / "pairs.parquet", path]
    return quality.quality(model, objectives.load("mt", {}), scoring, text, blocks, files)


@pytest.mark.parametrize("lowercase", [True, False])
def test_case_counts_where_sub_words_have_it(monkeypatch, tmp_path, lowercase):
    """Of words that are right, but for the case of all letters."""
    reference = "Press the Enter key now to save"
    scores = scored(monkeypatch, tmp_path, reference, reference.swapcase(), lowercase, "en")
    for name in ("bleu", "chrf"):
        assert scores[name].value == pytest.approx(100) if lowercase else scores[name].value < 30
        assert f"case:{'lc' if lowercase else 'mixed'}" in scores[name].signature


def test_a_right_translation_has_100_in_the_lower_case_of_its_language(monkeypatch, tmp_path):
    reference, said = "Işık İçin KAPI açık kalsın", "ışık için kapı açık kalsın"
    scores = scored(monkeypatch, tmp_path, reference, said, True, "tr")
    assert [scores[name].value for name in ("bleu", "chrf")] == pytest.approx([100, 100])


def test_bleu_and_chrf_are_those_of_sacrebleu_on_the_sentences_left():
    """With and without each block; of the third there is no sentence."""
    references = ["The cat sat on the mat.", "A dog!", "It rains in the north today, a lot."] * 2
    hypotheses = ["the cat sat on a mat.", "A DOG!", "it rains today.", "a cat sat.", "a dog.", ""]
    blocks = np.array([0, 1, 1, 0, 3, 3])
    scores = translation_quality(hypotheses, references, blocks, 4, "en", lowercase=True)
    for name, metric in (("bleu", sacrebleu.BLEU), ("chrf", sacrebleu.CHRF)):
        expected = []
        for left in [blocks >= 0, *(blocks != block for block in range(4))]:
            sides = ([side[i] for i in np.flatnonzero(left)] for side in (hypotheses, references))
            hypothesis, reference = sides
            expected.append(metric(lowercase=True).corpus_score(hypothesis, [reference]).score)
        found = [scores[name].value, *scores[name].without]
        np.testing.assert_allclose(found, expected)
        assert len(set(expected)) == 4 and expected[0] == expected[3]


def test_pruned_models_are_compared_by_bleu_or_the_probability_of_the_right_token():
    """Of three tokens of probabilities 1/2, 1/4 and 1/8 the geometric mean is 1/4."""
    found = pd.DataFrame({"loss_nats": [math.log(64)], "correct": [1], "predicted": [3]})
    scores = prediction_quality(found, objectives.load("lm", {}), np.array([0]), 1)
    assert compared(scores).value == pytest.approx(1 / 4)
    bleu = Score(6.0, np.array([5.0, 7.0]), quality.RANGES["bleu"], 2)
    assert compared(scores | {"bleu": bleu}) is bleu


@pytest.mark.on_a_gpu("measure quality")
def test_program(tmp_path, corpus_files, measure):
    """Of an initial model, whose perplexity is near that of a uniform one."""
    corpus_files.save(initial, "mt", tmp_path / "model")
    run = {"objective": "mt", "module": "mt", "options": {}, "seed": 1}
    beam = {"beam_size": 2, "length_penalty": 0.6, "sentences": 5, "language": "en"}
    measure(
        "quality",
        {"objective": "mt", "seed": 1},
        {"run": run, "scoring": {"seed": 1, "translation": beam, "choose": None}},
        model=tmp_path / "model",
        text=corpus_files.tokens / "test.source",
        blocks=corpus_files.blocks("test"),
        translation=[corpus_files.text("test"), corpus_files.tokenizer("target")],
        table=tmp_path / "quality.csv",
    )
    table = pd.read_csv(tmp_path / "quality.csv", keep_default_na=False)
    columns = [
        "objective",
        "seed",
        "metric",
        "split",
        "value",
        "ci_low",
        "ci_high",
        "n",
        "signature",
    ]
    assert [*table] == columns
    without = pd.read_parquet(tmp_path / "quality.parquet")["without"]
    assert without.map(len).tolist() == [4] * 4
    objective = objectives.load("mt", {})
    of_text = Text.load(corpus_files.tokens, "test", objective.predicts)
    model = subjects.load(tmp_path / "model").model
    losses = predictions(model, objective, of_text, 4096, seed=1)
    rest = [losses[np.load(corpus_files.blocks("test")) != block] for block in range(4)]
    perplexities = [math.exp(some["loss_nats"].sum() / some["predicted"].sum()) for some in rest]
    assert without[0] == pytest.approx(perplexities, rel=1e-6)
    assert (table["ci_low"] <= table["value"]).all() and (table["value"] <= table["ci_high"]).all()
    assert table["metric"].tolist() == ["perplexity", "accuracy", "bleu", "chrf"]
    assert (table[["objective", "seed", "split"]] == ["mt", 1, "test"]).all(axis=None)
    assert table["value"][0] == pytest.approx(corpus_files.vocab, rel=1)
    assert (table["signature"] != "").tolist() == [False, False, True, True]


def test_the_program_draws_masks_by_the_seed_of_scoring(tmp_path, corpus_files, measure):
    corpus_files.save(drawn, "mlm", tmp_path / "model")
    model, objective = subjects.load(tmp_path / "model").model, objectives.load("mlm", {})
    text = Text.load(corpus_files.tokens, "test", objective.predicts)
    for seed in (1, 2):
        measure(
            "quality",
            {"objective": "mlm", "seed": 1},
            {
                "run": {"objective": "mlm", "module": "mlm", "options": {}, "seed": 1},
                "scoring": {"seed": seed, "translation": None, "choose": 0.3},
            },
            model=tmp_path / "model",
            text=corpus_files.tokens / "test.source",
            blocks=corpus_files.blocks("test"),
            table=tmp_path / "quality.csv",
        )
        chosen = objective.model_copy(update={"choose": 0.3})
        found = predictions(model, chosen, text, BATCH_TOKENS, seed)
        perplexity = math.exp(found["loss_nats"].sum() / found["predicted"].sum())
        assert pd.read_csv(tmp_path / "quality.csv")["value"][0] == pytest.approx(perplexity)


def test_the_sentences_that_are_drawn_are_held_against_their_own_references(
    corpus_files, monkeypatch
):
    """The target side is the source side spelt backwards, so a translator can be perfect."""
    asked = []

    def perfect(model, text, tokenizer, *others):
        source = Tokenizer.from_file(str(corpus_files.tokenizer("source")))
        offsets = text.source.offsets
        parts = [text.source.ids[a : b - 1] for a, b in pairwise(offsets)]
        sentences = [source.decode(ids.tolist()) for ids in parts]
        asked.extend(sentences)
        return [" ".join(word[::-1] for word in sentence.split()) for sentence in sentences]

    monkeypatch.setattr(quality, "translations", perfect)
    how = {"beam_size": 1, "length_penalty": 0.6, "sentences": 7, "language": "en"}

    text = Text.load(corpus_files.tokens, "test", "target")

    def scored(seed):
        return quality.quality(
            initial("mt", vocab=corpus_files.vocab).eval(),
            objectives.load("mt", {}),
            Scoring(seed=seed, choose=None, translation=how),
            text,
            np.load(corpus_files.blocks("test")),
            [corpus_files.text("test"), corpus_files.tokenizer("target")],
        )

    def asked_with(seed):
        scored(seed)
        return asked[-7:]

    scores = scored(1)
    assert scores["bleu"].value == pytest.approx(100)
    first = pd.read_parquet(corpus_files.text("test"))["source"].tolist()[:7]
    assert len(asked) == 7 and asked != first
    again, other = (asked_with(seed) for seed in (1, 2))
    assert again == asked[:7] != other
