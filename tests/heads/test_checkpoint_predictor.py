"""Checkpoints' own losses, against what transformers makes of them and weights set by hand."""

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from bottomup import subjects
from bottomup.core.errors import UserError
from bottomup.core.seeds import generator
from bottomup.corpus.batches import Text
from bottomup.corpus.specials import EOS, N_SPECIAL
from bottomup.corpus.tokens import TokenFile
from bottomup.heads.checkpoints.predictor import CheckpointPredictor, objective_of
from bottomup.heads.examples import references
from bottomup.heads.importance import gate_gradient, loss_increase
from bottomup.objectives import IGNORE, Example, mlm
from tests.subjects import every_family, families
from tests.subjects.families import FAMILIES, HEADS, LAYERS, VOCAB, WIDTH
from tests.subjects.test_checkpoint_folders import edit
from tests.tiny import plausible

pytestmark = pytest.mark.long

OBJECTIVES = {
    **dict.fromkeys(["bert", "roberta", "distilbert"], "mlm"),
    **dict.fromkeys(["gpt2", "gpt_neox", "llama"], "lm"),
    "marian": "mt",
}
# By kind of attention where the output projection of a layer is, in the model without its head.
DECODER = {
    "decoder": "decoder.layers.{}.self_attn.out_proj",
    "cross": "decoder.layers.{}.encoder_attn.out_proj",
}
TOKENS = [[5, 6, 7, 8, 9], [10, 6, 11]]
TARGETS = [[12, 4, 13], [14, 5, 6, 7]]


def padded(rows, padding):
    longest = max(map(len, rows))
    return np.array([row + [padding] * (longest - len(row)) for row in rows])


@pytest.fixture(params=OBJECTIVES)
def name(request):
    return request.param


@pytest.fixture
def folder(name, tmp_path):
    return families.save(FAMILIES[name], tmp_path)


@pytest.fixture
def subject(folder):
    return subjects.load(folder)


@pytest.fixture
def predictor(folder, subject):
    return CheckpointPredictor(folder, subject)


@pytest.fixture
def example(name, subject):
    """Two sentences, the second one padded; of a masked model two and one tokens are predicted."""
    source = padded(TOKENS, subject.padding)
    if OBJECTIVES[name] == "mt":
        target = padded(TARGETS, subject.padding)
        return Example(source, target, padded(TARGETS, IGNORE))
    if OBJECTIVES[name] == "lm":
        return Example(source, None, padded([[*row[1:], IGNORE] for row in TOKENS], IGNORE))
    read = source.copy()
    read[0, 1] = read[1, 2] = subject.pretrained.mask_token_id
    labels = np.full_like(source, IGNORE)
    labels[0, [1, 3]], labels[1, 2] = [6, 8], 11
    return Example(read, None, labels)


@pytest.fixture
def usual(name, folder):
    """What was saved, as transformers opens it."""
    return FAMILIES[name].trained.from_pretrained(folder).double().eval()


def usual_losses(model, example, objective):
    """Of each sentence alone, by the loss that transformers computes, a mean, and how many count.

    It shifts the labels of a language model, and makes the decoder's input, by itself.
    """
    found = []
    for row, tokens in enumerate(TOKENS):
        ids = torch.from_numpy(example.source[row : row + 1, : len(tokens)])
        labels = {
            "mlm": example.labels[row, : len(tokens)],
            "lm": np.array(tokens),
            "mt": np.array(TARGETS[row]),
        }[objective]
        count = (labels != IGNORE).sum() - (objective == "lm")
        with torch.no_grad():
            loss = model(input_ids=ids, labels=torch.from_numpy(labels)[None]).loss
        found.append((loss.item() * count, count))
    return np.array(found).T


def scale(model, family, kind, layer, head, factor):
    """Multiply the columns of a head in its output projection, as a gate does."""
    path = DECODER.get(kind, family.projection).format(layer)
    projection = model.base_model.get_submodule(path)
    # GPT-2 keeps its matrices transposed.
    weight = projection.weight.mT if path.endswith("c_proj") else projection.weight
    width = WIDTH // HEADS
    with torch.no_grad():
        weight[:, head * width : (head + 1) * width] *= factor


def every_head(predictor):
    kinds = ["encoder", "decoder", "cross"] if predictor.subject.translates else ["encoder"]
    assert list(predictor.gates) == kinds
    assert all(len(of_kind) == LAYERS for of_kind in predictor.gates.values())
    for kind, of_kind in predictor.gates.items():
        for layer, gates in enumerate(of_kind):
            assert gates.tolist() == [1.0] * HEADS
            for head in range(HEADS):
                yield kind, layer, head


def test_the_loss_is_that_of_transformers(name, predictor, usual, example):
    losses, counts = predictor.losses(example)
    expected, expected_counts = usual_losses(usual, example, OBJECTIVES[name])
    assert counts.tolist() == expected_counts.tolist()
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    summed, predicted = predictor.summed_loss(example)
    assert summed.item() == pytest.approx(expected.sum(), rel=1e-5)
    assert predicted == expected_counts.sum()


def test_the_increase_is_that_of_the_loss_without_the_heads_columns(
    name, folder, predictor, usual, example
):
    found = loss_increase(predictor, [example]).mean()
    whole, counts = usual_losses(usual, example, OBJECTIVES[name])
    for kind, layer, head in every_head(predictor):
        model = FAMILIES[name].trained.from_pretrained(folder).double().eval()
        scale(model, FAMILIES[name], kind, layer, head, 0)
        without, _ = usual_losses(model, example, OBJECTIVES[name])
        expected = (without - whole).sum() / counts.sum()
        assert found[kind][layer, head] == pytest.approx(expected, abs=1e-5)
        assert abs(expected) > 1e-4


def test_the_gradient_is_the_slope_of_each_sentences_loss(name, predictor, usual, example):
    """By differences over a head's columns times 1 +- 0.005: transformers has some losses in single
    precision, so that smaller ones would be lost."""
    found = gate_gradient(predictor, [example]).mean()
    _, counts = usual_losses(usual, example, OBJECTIVES[name])
    for kind, layer, head in every_head(predictor):
        losses = []
        for factor in (0.995, 1.005):
            scale(usual, FAMILIES[name], kind, layer, head, factor)
            losses.append(usual_losses(usual, example, OBJECTIVES[name])[0])
            scale(usual, FAMILIES[name], kind, layer, head, 1 / factor)
        expected = np.abs(losses[1] - losses[0]).sum() / 0.01 / counts.sum()
        assert found[kind][layer, head] == pytest.approx(expected, rel=1e-2)


def test_gates_are_left_open_and_weights_without_gradient(predictor, example):
    gate_gradient(predictor, [example])
    loss_increase(predictor, [example])
    assert len(list(every_head(predictor))) > 0
    assert not any(gate.requires_grad for gates in predictor.gates.values() for gate in gates)
    assert all(weight.grad is None for weight in predictor.model.parameters())


@pytest.mark.parametrize("family", FAMILIES)
def test_which_objective_is_a_checkpoints_own(family, tmp_path):
    """ELECTRA tells replaced tokens; T5 and BART restore spans: none of these is an objective of
    ours."""
    subject = subjects.load(families.save(FAMILIES[family], tmp_path))
    assert objective_of(subject) == OBJECTIVES.get(family)


@pytest.mark.parametrize("kind", ["BertModel", "GPT2Model", "MarianModel"])
def test_a_model_without_a_head_has_no_objective(kind, tmp_path):
    family = FAMILIES[kind.removesuffix("Model").lower()]
    getattr(transformers, kind)(family.config).save_pretrained(tmp_path)
    families.save_tokenizer(tmp_path, family.tokens)
    assert objective_of(subjects.load(tmp_path)) is None


@pytest.mark.parametrize(
    ("kind", "objective"),
    [("BertModel", None), ("RobertaModel", None), ("GPT2Model", "lm"), ("MarianModel", "mt")],
)
@pytest.mark.parametrize("other", [False, True])
def test_a_config_may_name_a_head_without_its_weights(kind, objective, other, tmp_path):
    """What is tied to the embeddings is there: it predicts. Weights for another end do not."""
    family = FAMILIES[kind.removesuffix("Model").lower()]
    getattr(transformers, kind)(family.config).save_pretrained(tmp_path)
    if other:
        weights = load_file(tmp_path / "model.safetensors")
        weights["classifier.weight"] = torch.ones(2, WIDTH)
        save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
    edit(tmp_path / "config.json", architectures=[family.trained.__name__])
    families.save_tokenizer(tmp_path, family.tokens)
    subject = subjects.load(tmp_path)
    assert objective_of(subject) == objective
    if objective:
        assert CheckpointPredictor(tmp_path, subject).model


@pytest.mark.parametrize(
    ("kind", "objective"),
    [
        *(("BertForMaskedLM", "mlm"), ("BertForPreTraining", "mlm"), ("BertModel", None)),
        *(("BertForSequenceClassification", None), ("ElectraForPreTraining", None)),
        *(("GPT2LMHeadModel", "lm"), ("GPT2Model", None), ("GPT2ForSequenceClassification", None)),
        *(("LlamaForCausalLM", "lm"), ("MarianMTModel", "mt"), ("MarianModel", None)),
    ],
)
def test_where_a_config_names_no_head_its_weights_tell(kind, objective, tmp_path, caplog):
    family = next(of for name, of in FAMILIES.items() if kind.lower().startswith(name))
    getattr(transformers, kind)(family.config).save_pretrained(tmp_path)
    families.save_tokenizer(tmp_path, family.tokens)
    named = objective_of(subjects.load(tmp_path))
    edit(tmp_path / "config.json", architectures=None)
    with caplog.at_level("INFO"):
        subject = subjects.load(tmp_path)
    assert objective_of(subject) == objective
    said = f"those of {kind if objective else 'no class that predicts tokens'}"
    [line] = (line for line in caplog.messages if "names no class" in line)
    assert line.endswith(said) or objective == "mlm"  # BERT has two classes that predict
    # Of a head that is tied to the embeddings, a name in the config is believed.
    assert named == objective or not objective
    if objective:
        assert CheckpointPredictor(tmp_path, subject).model


def test_weights_may_have_the_names_of_older_versions(tmp_path):
    """As BERT is published; transformers renames them."""
    folder = families.save(FAMILIES["bert"], tmp_path)
    weights = load_file(folder / "model.safetensors")
    older = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    for name, old in older.items():
        weights = {key.replace(name, old): weight for key, weight in weights.items()}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    assert objective_of(subjects.load(folder)) == "mlm"


@pytest.mark.parametrize("name", ["bert-generation", "glmasr"])
def test_a_family_without_a_class_for_what_it_seems_to_predict_has_no_objective(name, tmp_path):
    """It has a layer that predicts tokens; transformers cannot open it as a model of masked tokens,
    or as one of the next token."""
    every_family.save(name, tmp_path, ("pad", "mask"))
    subject = subjects.load(tmp_path)
    assert subject.predicts_tokens and (subject.masks or subject.causal)
    assert objective_of(subject) is None


def test_nothing_special_is_masked_and_what_is_replaced_is_drawn_as_ours_is(tmp_path):
    folder = families.save(FAMILIES["bert"], tmp_path)
    predictor = CheckpointPredictor(folder, subjects.load(folder))
    ids = np.random.default_rng(1).integers(2, VOCAB, (1, 50_000))
    ids[0, :20], ids[0, -20:] = 2, 3  # there they are special, and elsewhere words like others
    special = np.zeros(ids.shape, dtype=bool)
    special[0, :20] = special[0, -20:] = True
    offsets = np.array([0, ids.size])
    text = Text(TokenFile(ids[0], np.zeros_like(ids[0]), offsets, special[0]))
    example = predictor.example(text, np.array([0]), generator(1, "heads", 0))
    chosen = example.labels != IGNORE
    assert not chosen[special].any() and plausible(chosen.sum(), chosen.size - 40, 0.15)
    assert (example.labels[chosen] == ids[chosen]).all()
    assert (example.source[~chosen] == ids[~chosen]).all()
    read = example.source[chosen]
    mask = predictor.subject.pretrained.mask_token_id
    # Of the tenth that any token replaces, one in twenty is a mask, and one what stood there.
    replaced = 0.1 / VOCAB
    assert plausible((read == mask).sum(), len(read), 0.8 + replaced)
    assert plausible((read == ids[chosen]).sum(), len(read), 0.1 + replaced)
    assert set(read) == set(range(VOCAB))
    ours = ids + N_SPECIAL
    ours[special] = EOS
    same = mlm.Objective().chosen(ours, generator(1, "heads", 0))
    assert (same == chosen).all()


PAIRS = pd.DataFrame({"source": ["w3 w4 w5", "w6 w7"], "target": ["w8 w9", "w4 w5 w6 " * 5]})


def saved(pairs, folder):
    """Its file."""
    pairs.to_parquet(folder / "pairs.parquet")
    return [folder / "pairs.parquet"]


def test_what_is_read_and_predicted(name, predictor, tmp_path):
    """Nothing is added by this tokenizer; the model reads at most twelve tokens."""
    objective = OBJECTIVES[name]
    found = references(predictor, predictor.text(saved(PAIRS, tmp_path)), seed=1)
    assert [len(example.source) for example in found] == [1, 1]
    if objective == "mlm":
        assert [example.source.shape[1] for example in found] == [3, 2]
        for example in found:
            kept = example.labels == IGNORE
            assert (kept | (example.labels >= 3)).all()
        return
    assert [example.source[0].tolist() for example in found] == [[3, 4, 5], [6, 7]]
    if objective == "lm":
        assert [example.labels[0].tolist() for example in found] == [[4, 5, IGNORE], [7, IGNORE]]
        return
    targets = [[8, 9], [4, 5, 6] * 4]
    assert [example.target[0].tolist() for example in found] == targets
    assert [example.labels[0].tolist() for example in found] == targets


def test_a_mask_that_the_tokenizer_alone_knows_hides_nothing(tmp_path):
    """It was added later, and the model has no embedding of it."""
    folder = families.save(FAMILIES["bert"], tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"mask_token": "<hidden>"})
    tokenizer.save_pretrained(folder)
    subject = subjects.load(folder)
    assert subject.pretrained.mask_token_id == VOCAB and subject.mask is None
    assert objective_of(subject) is None


@pytest.mark.parametrize(
    ("name", "side"),
    [*((name, "source") for name in OBJECTIVES), ("marian", "target"), ("marian", "start")],
)
def test_ids_that_the_model_does_not_know_are_refused_in_a_line(name, side, predictor, example):
    if side == "start":
        predictor.model.config.decoder_start_token_id = VOCAB + 3
    else:
        getattr(example, side)[0, 0] = VOCAB + 3
    with pytest.raises(UserError, match=f"a sentence has ids from .* to {VOCAB + 3}; .* knows 0"):
        predictor.losses(example)


@pytest.mark.parametrize("there", [True, False])
def test_a_translator_predicts_a_target(there, tmp_path):
    folder = families.save(FAMILIES["marian"], tmp_path)
    predictor = CheckpointPredictor(folder, subjects.load(folder))
    pairs = PAIRS if there else PAIRS.drop(columns="target")
    assert predictor.predicts(predictor.text(saved(pairs, tmp_path))) == there


def test_masks_are_drawn_by_the_seed(tmp_path):
    folder = families.save(FAMILIES["bert"], tmp_path)
    predictor = CheckpointPredictor(folder, subjects.load(folder))
    pairs = pd.DataFrame({"source": ["w3 w4 w5 w6 w7 w8 w9 w10"] * 20})
    text = predictor.text(saved(pairs, tmp_path))
    once, again, other = (references(predictor, text, seed) for seed in (1, 1, 2))
    assert all((a.source == b.source).all() for a, b in zip(once, again, strict=True))
    assert any((a.source != b.source).any() for a, b in zip(once, other, strict=True))
    # Each sentence has masks of its own.
    assert len({tuple(example.labels[0]) for example in once}) > 1
