"""What a run reads, so that objectives are equal in predictions or operations."""

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from bottomup import objectives
from bottomup.core.errors import UserError
from bottomup.corpus.batches import Text, forever
from bottomup.corpus.specials import PAD
from bottomup.plan.study import modules
from bottomup.training.budget import (
    in_training,
    lengths,
    matrices,
    operations,
    predictions,
    read,
    source_tokens,
)
from tests.tiny import VOCAB, initial, random_text, random_tokens, shape_of, tokens_of

# Two sentences: 4 + 2 source tokens and 5 + 4 target tokens, with </s>.
TEXT = Text(tokens_of([[5, 6, 7], [8]]), tokens_of([[5, 6, 7, 8], [9, 4, 5]]))
SOURCE = Text(TEXT.source)
MT, MLM = objectives.load("mt", {}), objectives.load("mlm", {"choose": 0.25})
LM, BILM = objectives.load("lm", {}), objectives.load("bilm", {})
TRAINED = [name for name in modules("objectives") if objectives.kind(name).predicts]
MADE_OF_OTHERS = {"schedule", "mix"}


SIZES = {"source": VOCAB, "target": VOCAB}
SIZE = shape_of(), SIZES


def text_of(objective):
    return TEXT if objective.predicts == "target" else SOURCE


@pytest.mark.parametrize(
    ("objective", "share"),
    [(LM, 4 / 6), (MT, 9 / 6), (MLM, 0.25 * 4 / 6), (BILM, 2 * 4 / 6)],
)
def test_predictions_for_each_source_token(objective, share):
    assert predictions(objective, text_of(objective)) == pytest.approx(share)


@pytest.mark.long
@pytest.mark.parametrize("longest", [4, 30])
@pytest.mark.parametrize("name", sorted({*TRAINED} - MADE_OF_OTHERS))
def test_what_is_expected_is_what_examples_have(name, longest):
    """Also of sentences so short that shares of them are rounded.

    Within five deviations, or 2 %: how many spans of random lengths hide one token is not exact.
    """
    objective, text = objectives.load(name, {}), random_text(200, 1, True, high=longest)
    objective.learn_types(["a"] * VOCAB)
    if objective.predicts not in ("target", "both"):
        text = Text(text.source)
    rng, sides = np.random.default_rng(1), text.batch(np.arange(200))
    made = [objective.example(*sides, VOCAB, rng) for _ in range(40)]
    n = text.source.lengths.sum()
    for expected, found in (
        (predictions(objective, text), [example.predicted / n for example in made]),
        (read(objective, text), [(example.source != PAD).sum() / n for example in made]),
    ):
        error = np.std(found) / len(found) ** 0.5
        assert abs(np.mean(found) - expected) <= max(5 * error, 0.02 * expected)


@pytest.mark.parametrize("name", sorted(MADE_OF_OTHERS))
def test_what_is_made_of_others_predicts_as_they_do(name):
    parts = [{"objective": "lm", "share": 0.25}, {"objective": "lm_bidirectional", "share": 0.75}]
    whole, part = objectives.load(name, {"parts": parts}), objectives.load("lm_bidirectional", {})
    expected = 0.25 * predictions(LM, SOURCE) + 0.75 * predictions(part, SOURCE)
    assert in_training(predictions, whole, SOURCE, []) == pytest.approx(expected)


def test_equal_predictions():
    """LM makes 2/3 of a prediction for each token."""
    for objective, tokens in ((LM, 900), (MT, 400), (MLM, 3600)):
        arguments = (900, objective, text_of(objective), *SIZE)
        assert source_tokens("predictions", *arguments) == tokens
        assert source_tokens("tokens", *arguments) == 900


def test_no_number_of_tokens_gives_predictions_to_what_has_none():
    """Each sentence has one sub-word, and nothing stands on both sides of what is predicted."""
    objective, text = objectives.load("lm_bidirectional", {}), Text(tokens_of([[5], [6], [7]]))
    with pytest.raises(UserError, match="lm_bidirectional predicts no token of the training split"):
        source_tokens("predictions", 1000, objective, text, *SIZE)


def test_predictions_are_equal_where_short_sentences_come_first():
    """Of short sentences more tokens are the last, and a span is a larger share. One part of a
    schedule reads the short ones."""
    source, target = (random_tokens(400, low=3, high=40, vocab=VOCAB) for _ in range(2))
    short_first = [(15, 0.2), (30, 0.5)]
    budget, made = 60_000, {}
    for name in ("lm", "mt", "span_corruption", "denoising", "schedule", "mix"):
        objective = objectives.load(name, {})
        text = Text(source, target if objective.predicts == "target" else None)
        given = ("predictions", budget, objective, text, *SIZE, short_first)
        tokens, read, made[name] = source_tokens(*given), 0, 0
        until = [(length, share * tokens) for length, share in short_first]
        for sentences in forever(text, 1000, 1, until):
            if read >= tokens:
                break
            of_batch = lengths(text.select(sentences))
            parts = objective.at(read / tokens)
            made[name] += sum(share * part.predicts_of(*of_batch) for share, part in parts)
            read += int(text.source.lengths[sentences].sum())
    for name, n in made.items():
        assert n == pytest.approx(made["lm"], rel=0.01), name


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
    assert operations(objective, one, *SIZE) * 6 == pytest.approx(expected)


def test_equal_operations():
    """MT, with a decoder, reads less; LM what it is given."""
    assert source_tokens("operations", 900, LM, SOURCE, *SIZE) == 900
    share = operations(LM, SOURCE, *SIZE) / operations(MT, TEXT, *SIZE)
    assert 0 < share < 0.5
    assert source_tokens("operations", 900, MT, TEXT, *SIZE) == round(900 * share)


@pytest.mark.parametrize(("name", "trunk"), [("tlm", None), ("bilm", "lstm"), ("mlm", "lstm")])
def test_operations_are_equal_to_those_of_the_model_that_lm_has(name, trunk):
    """Its output layer has the words of one side, and a trunk from one side has other matrices."""
    objective, size = objectives.load(name, {}), (shape_of(trunk), SIZES)
    text = TEXT if objective.predicts == "both" else SOURCE
    share = operations(LM, text, *size) / operations(objective, text, *size)
    assert source_tokens("operations", 9000, objective, text, *size) == round(9000 * share)


@pytest.mark.parametrize("trunk", [None, "lstm", "convolution"])
@pytest.mark.parametrize("name", TRAINED)
def test_matrices_are_those_of_the_model(name, trunk):
    """All that a model has in two dimensions or more, but for its embeddings."""
    objective = objectives.load(name, {})
    if trunk and (objective.decodes() or objective.predicts == "both"):
        return  # no trunk has a decoder, nor embeddings of both sides
    model, found = initial(name, trunk=trunk), matrices(objective, shape_of(trunk), SIZES)
    sizes = {n: p.numel() for n, p in model.named_parameters() if p.dim() > 1}
    of = {
        part: sum(size for n, size in sizes.items() if n.startswith(f"{part}."))
        for part in ("encoder", "decoder", "head")
    }
    embeddings = [size for n, size in sizes.items() if ".embedding." in n]
    memory = [size for n, size in sizes.items() if "cross.key_value" in n]
    assert found.encoder + found.memory + found.decoder + found.output == (
        sum(sizes.values()) - sum(embeddings)
    )
    assert found.encoder == of["encoder"] - embeddings[0]
    assert (found.memory, found.output) == (sum(memory), of["head"])
