from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from bottomup import objectives
from bottomup.core.settings import Thresholds
from bottomup.corpus.batches import Text
from bottomup.corpus.specials import EOS, N_SPECIAL, PAD
from bottomup.corpus.tokens import TokenFile
from bottomup.heads.confidence import encoder_attention
from bottomup.heads.functions import head_functions
from bottomup.heads.runs.predictor import RunPredictor
from bottomup.heads.trace import trace
from bottomup.measures.influence import continued, embedded, without
from bottomup.objectives import IGNORE
from bottomup.subjects.runs import Run
from bottomup.training.loss import summed_loss
from tests.tiny import drawn, initial, learned, random_tokens
from tests.training.conftest import made

SOURCE = np.array([[5, 6, 7, EOS], [8, EOS, PAD, PAD]])


def example(source=SOURCE):
    return objectives.load("lm_backward", {}).example(source, None, 20, np.random.default_rng(0))


def mirrored(x, lengths, axis):
    """Each sentence reversed along an axis, padding where it was; x: `[batch, ...]`."""
    return torch.stack(
        [
            torch.cat([row[:n].flip(0), row[n:]])
            for row, n in zip(x.movedim(axis, 1), lengths, strict=True)
        ]
    ).movedim(1, axis)


def test_each_token_predicts_the_one_before():
    assert np.array_equal(example().source, SOURCE) and example().target is None
    assert example().labels.tolist() == [[IGNORE, 5, 6, 7], [IGNORE, 8, IGNORE, IGNORE]]


def test_it_is_lm_on_reversed_text():
    """Layer by layer and head by head, in a batch with padding, whoever computes it."""
    ids, lengths = torch.from_numpy(SOURCE), [4, 2]
    backward, forward = drawn("lm_backward"), drawn("lm")
    found = backward.encoder(ids, output_hidden_states=True, output_attentions=True)
    expected = forward.encoder(
        mirrored(ids, lengths, 1), output_hidden_states=True, output_attentions=True
    )
    inside = ids != PAD
    for a, b in zip(found.hidden_states, expected.hidden_states, strict=True):
        torch.testing.assert_close(a[inside], mirrored(b, lengths, 1)[inside])
    pairs = inside[:, :, None] & inside[:, None, :]
    for a, b in zip(found.attentions, expected.attentions, strict=True):
        b = mirrored(mirrored(b, lengths, 2), lengths, 3)
        torch.testing.assert_close(a.movedim(1, 3)[pairs], b.movedim(1, 3)[pairs])
    traced = trace(backward, ids)
    torch.testing.assert_close(traced.states[inside], found.states[inside])
    losses = RunPredictor(backward, objectives.load("lm_backward", {})).losses_from(example())
    total, _ = summed_loss(backward, example(), 0.0)
    torch.testing.assert_close(losses("encoder", 1).sum().float(), total)


@pytest.fixture(scope="module")
def texts():
    """A text, and the same with each sentence reversed."""
    text = random_tokens(40, low=3, high=9)
    spans = zip(text.offsets, text.offsets[1:], strict=False)
    order = np.concatenate([np.arange(*span)[::-1] for span in spans])
    return text, TokenFile(text.ids[order], text.words[order], text.offsets), order


SUBJECTS = [Run(drawn(name), None) for name in ("lm_backward", "lm")]


def test_heads_do_in_it_what_they_do_in_lm_on_reversed_text(texts):
    """Relative positions change sign; shares, and which queries count, stay."""
    tables, confidence = [], []
    thresholds = Thresholds(positional=0.4, syntactic=0.1, rare=0.4, rare_rank=5, pairs=1)
    for subject, text in zip(SUBJECTS, texts, strict=False):
        blocks, ranks = np.arange(len(text)) % 4, np.arange(20)
        tables.append(head_functions(subject, text, None, text.ids, ranks, thresholds, blocks, 100))
        confidence.append(encoder_attention(subject, text, 100)[0]["confidence"].mean()["encoder"])
    there, mirror = tables
    there["offset"] = -there["offset"]
    pd.testing.assert_frame_equal(there, mirror)
    assert (there["n"] > 0).all() and {"rarest", "positional"} <= {*there["function"]}
    np.testing.assert_allclose(*confidence, rtol=1e-5)


def test_a_hidden_token_is_missed_where_lm_s_mirror_image_misses_it(texts):
    *both, order = texts
    hidden, found = np.random.default_rng(0).random(len(order)) < 0.3, []
    for subject, text, place in zip(SUBJECTS, both, (slice(None), order), strict=True):
        below = embedded(subject, text, 100)
        usual = continued(subject, 1, below, text, 100)
        case = SimpleNamespace(text=text, hidden=hidden[place])
        found.append((usual, without(subject, 1, below, usual, case, 100)))
    (usual, changed), (usual_mirror, changed_mirror) = found
    torch.testing.assert_close(usual[order], usual_mirror)
    torch.testing.assert_close(changed[order], changed_mirror)
    assert (changed != usual).any(dim=1).float().mean() > 0.5


def test_its_training_is_that_of_lm_on_reversed_text(texts, tmp_path):
    losses = []
    for objective, text in zip(("lm_backward", "lm"), texts, strict=False):
        run = made(tmp_path, objective, folder=objective)
        run.text = run.dev = Text(text)
        lines = run.train().metrics
        losses.append([[line["train_loss_nats"], line["dev_loss_nats"]] for line in lines])
    np.testing.assert_allclose(*losses, rtol=1e-4)


@pytest.mark.parametrize(
    ("objective", "expected"), [("lm_backward", np.log(16) / 4), ("lm", 3 * np.log(2) / 4)]
)
def test_it_learns_what_follows_from_the_token_after(objective, expected):
    """Each token says all before it, and one bit less than the next one has.

    So from the end the last of four tokens is unknown and nothing else; from the start one bit of
    each but the first, which LM does not predict.
    """
    last = np.arange(16)
    words = np.stack([last // 8, 2 + last // 4, 6 + last // 2, 14 + last], axis=1) + N_SPECIAL
    source = np.pad(words, ((0, 0), (0, 1)), constant_values=EOS)
    read = objectives.load(objective, {}).example(source, None, 40, np.random.default_rng(0))
    model = initial(objective, vocab=40)
    assert learned(model, read) == pytest.approx(expected, abs=0.02)
