import numpy as np
import pytest
import torch

from bottomup import objectives
from bottomup.core.errors import UserError
from bottomup.corpus.batches import Text, epoch, forever
from bottomup.corpus.specials import EOS, MASK, N_SPECIAL, PAD
from bottomup.heads.runs.predictor import RunPredictor
from bottomup.measures.quality import prediction_quality, predictions
from bottomup.objectives import IGNORE
from bottomup.training import budget
from tests.tiny import (
    VOCAB,
    drawn,
    initial,
    learned,
    plausible,
    random_text,
    random_tokens,
    shape_of,
)

JOINT = 2 * VOCAB - N_SPECIAL
SOURCE = np.array([[5, 6, EOS], [7, EOS, PAD]])
TARGET = np.array([[5, EOS, PAD, PAD], [6, 7, 8, EOS]])


def loaded(**options):
    objective = objectives.load("tlm", options)
    objective.learn_types(["a"] * VOCAB)
    return objective


def example(source, target, seed=0, **options):
    return loaded(**options).example(source, target, JOINT, np.random.default_rng(seed))


def test_pairs_by_hand():
    """The first token of the target side that is not special is 20, the size of the source's."""
    pairs = [[5, 6, EOS, 21, EOS, PAD], [7, EOS, 22, 23, 24, EOS]]
    read = example(SOURCE, TARGET, alone=0, choose=0.99, mask=1.0, replace=0.0)
    hidden = [[MASK, MASK, EOS, MASK, EOS, PAD], [MASK, EOS, MASK, MASK, MASK, EOS]]
    assert read.source.tolist() == hidden and read.target is None
    labels = np.where(np.array(hidden) == MASK, pairs, IGNORE)
    assert np.array_equal(read.labels, labels)


def test_some_sentences_stand_alone():
    source, target = (np.tile(side[:1], (2000, 1)) for side in (SOURCE, TARGET))
    read = example(source, target, choose=0.01, alone=0.25)
    assert plausible(int((read.source[:, 3] == PAD).sum()), 2000, 0.25)


def test_positions_of_the_translation_count_anew():
    """And each of its tokens has the embedding of its side."""
    encoder = drawn("tlm").encoder
    pairs = torch.tensor([[5, 6, EOS, 21, 5, EOS], [7, EOS, 5, EOS, PAD, PAD]])
    found = encoder.embed(pairs)
    for row, begin, end in ((0, 3, 6), (1, 2, 4)):
        alone = encoder.embed(pairs[row : row + 1, begin:end])[0]
        torch.testing.assert_close(found[row, begin:end], alone + encoder.translation)
        before = encoder.embed(pairs[row : row + 1, :begin])[0]
        torch.testing.assert_close(found[row, :begin], before)
    assert encoder.translation.abs().min() > 0


def test_a_batch_holds_both_sides(tmp_path):
    """By its size with padding, of the one sequence that the encoder reads; and no less."""
    for side, seed in (("source", 1), ("target", 2)):
        (tmp_path / f"train.{side}").mkdir()
        random_tokens(600, seed, low=15, high=30).save(tmp_path / f"train.{side}")
    text = Text.load(tmp_path, "train", "both")
    parts = epoch(text, 1024, 1, 0)
    sizes = [example(*text.batch(part), alone=0).source.size for part in parts]
    assert max(sizes) <= 1024 and np.mean(sizes) > 900
    assert sorted(np.concatenate(parts)) == list(range(600))
    some = text.select(np.arange(9)).lengths
    assert np.array_equal(some, text.source.lengths[:9] + text.target.lengths[:9])
    with pytest.raises(
        UserError, match=r"^a sentence with its translation, of \d\d tokens does not"
    ):
        next(forever(text, 40, 1))
    # As for MT, a sentence is short if both its sides are.
    short = next(forever(text, 1024, 1, [(20, 0.5)]))
    assert max(side.lengths[short].max() for side in (text.source, text.target)) == 20


def test_a_sentence_alone_is_read_as_mlm_reads_it():
    """Before training, from the same bytes, so that MLM and TLM have one untrained model."""
    ids = torch.from_numpy(SOURCE)
    models = [initial(name).eval() for name in ("tlm", "mlm")]
    ours, mlms = (model.encoder(ids, output_hidden_states=True) for model in models)
    for a, b in zip(ours.hidden_states, mlms.hidden_states, strict=True):
        assert torch.equal(a[ids != PAD], b[ids != PAD])


def test_budgets_know_what_it_reads_and_predicts():
    text = random_text(4000, 1, translated=True, low=3)
    objective = loaded(choose=0.3, alone=0.25)
    made = objective.example(*text.batch(np.arange(4000)), JOINT, np.random.default_rng(1))
    n = text.source.lengths.sum()
    assert made.predicted / n == pytest.approx(budget.predictions(objective, text), rel=0.03)
    assert (made.source != PAD).sum() / n == pytest.approx(budget.read(objective, text), rel=0.03)
    of_encoder = 2 * (4 * 16 * 16 + 2 * 16 * 32)
    expected = of_encoder * budget.read(objective, text)
    expected += JOINT * 16 * budget.predictions(objective, text)
    sizes = {"source": VOCAB, "target": VOCAB}
    assert budget.operations(objective, text, shape_of(), sizes) == pytest.approx(expected)


def test_quality_is_over_both_sides():
    text, model = random_text(200, translated=True), initial("tlm").eval()
    torch.nn.init.zeros_(model.head.weight)
    objective = loaded(choose=0.9, alone=0)
    found = predictions(model, objective, text, 64, seed=1)
    scores = prediction_quality(found, objective, np.arange(200) % 2, 2)
    assert scores["perplexity"].value == pytest.approx(JOINT, rel=1e-5)
    total = (text.source.lengths - 1).sum() + (text.target.lengths - 1).sum()
    assert plausible(scores["masked_accuracy"].n, int(total), 0.9)
    predictor = RunPredictor(model, objective)
    assert predictor.predicts(text) and not predictor.predicts(Text(text.source))


def test_it_learns_a_word_from_its_translation():
    """Of one word each, a hidden one is known from the other side, and unknown alone."""
    source = np.tile(np.stack([np.arange(N_SPECIAL, 20), np.full(16, EOS)], axis=1), (8, 1))
    read = example(source, source, alone=0, choose=0.5, mask=1.0, replace=0.0)
    one = (read.labels != IGNORE).sum(axis=1) == 1
    [pairs] = type(read)(read.source[one], None, read.labels[one]).split(1)
    assert learned(initial("tlm"), pairs) < 0.05
    lone = example(source, source, alone=0.99, choose=0.99, mask=1.0, replace=0.0)
    rows = lone.source[:, 2] == PAD
    lone = type(lone)(lone.source[rows], None, lone.labels[rows])
    shares = np.bincount(lone.labels[lone.labels != IGNORE]) / lone.predicted
    shares = shares[shares > 0]
    expected = -(shares * np.log(shares)).sum()
    assert learned(initial("tlm"), lone) == pytest.approx(expected, abs=0.02)
