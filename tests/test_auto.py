"""transformers' Auto classes open runs, and compute what they compute."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    DynamicCache,
    GenerationConfig,
)

import bottomup.auto
from bottomup import objectives
from bottomup.core.errors import UserError
from bottomup.corpus.specials import PAD
from bottomup.heads.removal import without_closed_heads
from bottomup.model import folder
from bottomup.model.beam_search import translate
from bottomup.model.transformer import Transformer
from bottomup.objectives import IGNORE
from bottomup.training.loss import summed_loss
from tests.tiny import drawn, ids_of, same_bytes

IDS = ids_of([[5, 6, 7, 8, 1], [9, 4, 1]])
TARGET = ids_of([[7, 8, 1], [5, 6, 4, 9, 1]])
MASK = (IDS != PAD).long()
KINDS = {"lm": AutoModelForCausalLM, "mlm": AutoModelForMaskedLM, "mt": AutoModelForSeq2SeqLM}


@pytest.fixture
def run(tmp_path):
    """A model of an objective, and its folder."""

    def saved(objective, model=None):
        model = model or drawn(objective, heads=4)
        folder.save(model, tmp_path / objective)
        return model, tmp_path / objective

    return saved


@pytest.mark.parametrize("objective", ["lm", "mlm"])
def test_logits_and_layers_are_those_of_the_run(run, objective):
    model, path = run(objective)
    opened = KINDS[objective].from_pretrained(path)
    with torch.no_grad():
        found = opened(IDS, attention_mask=MASK, output_hidden_states=True, output_attentions=True)
        read = model.encoder(IDS, output_hidden_states=True, output_attentions=True)
        torch.testing.assert_close(found.logits, model.head(model(IDS)))
        torch.testing.assert_close(found.hidden_states, read.hidden_states)
        torch.testing.assert_close(found.attentions, read.attentions)
        without_mask = opened(IDS)
    torch.testing.assert_close(without_mask.logits, found.logits)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.bfloat16, 0.1), (torch.float16, 0.02), (torch.float64, 1e-4)]
)
@pytest.mark.parametrize("objective", KINDS)
def test_other_formats_of_numbers_give_the_same_but_for_rounding(run, objective, dtype, tolerance):
    """Of three tokens and of sixty, which go two ways through attention."""
    _, path = run(objective)
    for ids in (torch.arange(4, 7)[None], torch.arange(60)[None] % 16 + 4):
        sides = {"decoder_input_ids": ids} if objective == "mt" else {}
        usual, other = (
            KINDS[objective].from_pretrained(path, dtype=each).eval()(ids, **sides).logits
            for each in (torch.float32, dtype)
        )
        assert other.dtype == dtype
        torch.testing.assert_close(other.float(), usual, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("objective", KINDS)
def test_the_base_model_is_the_encoder(run, objective):
    model, path = run(objective)
    with torch.no_grad():
        found = AutoModel.from_pretrained(path)(IDS, attention_mask=MASK).last_hidden_state
        torch.testing.assert_close(found, model.encoder(IDS).states)


@pytest.mark.parametrize("objective", KINDS)
def test_the_loss_is_that_of_training(run, objective):
    """Without label smoothing; what a masked one predicts is told by its labels."""
    model, path = run(objective)
    source, target = IDS.numpy(), TARGET.numpy()
    options = {"label_smoothing": 0.0}
    loaded = objectives.load(objective, options if objective == "mt" else {})
    example = loaded.example(source, target, 20, np.random.default_rng(4))
    total, count = summed_loss(model, example, 0.0)
    labels = torch.from_numpy(example.labels)
    assert 0 < count == (labels != IGNORE).sum()
    if objective == "lm":  # transformers shifts
        labels = torch.where(IDS == PAD, IGNORE, IDS)
    found = KINDS[objective].from_pretrained(path)(
        torch.from_numpy(example.source), attention_mask=MASK, labels=labels
    )
    torch.testing.assert_close(found.loss, total / count)


def test_it_translates_as_a_beam_of_one(run):
    model, path = run("mt")
    opened = AutoModelForSeq2SeqLM.from_pretrained(path)
    found = opened.generate(input_ids=IDS, attention_mask=MASK, max_new_tokens=6, do_sample=False)
    # Of seven, the last of which is </s>.
    expected = translate(model, IDS, beam_size=1, length_penalty=0.0, max_length=7)
    assert [[i for i in row if i > 1] for row in found.tolist()] == expected
    assert any(expected)


def test_it_goes_on_with_a_text(run):
    model, path = run("lm")
    found = AutoModelForCausalLM.from_pretrained(path).generate(
        IDS[:1, :3], attention_mask=MASK[:1, :3], max_new_tokens=1, do_sample=False
    )
    logits = model.head(model(IDS[:1, :3]))[0, -1]
    logits[[0, 2, 3]] = -torch.inf
    assert found.tolist() == [[5, 6, 7, int(logits.argmax())]]


def test_a_pruned_model_opens(run):
    model = drawn("mt", heads=4)
    model.attentions()["encoder"][1].gates[:] = 0.0
    model.attentions()["cross"][0].gates[1] = 0.0
    small, path = run("mt", without_closed_heads(model))
    with torch.no_grad():
        found = AutoModelForSeq2SeqLM.from_pretrained(path)(IDS, MASK, labels=TARGET).logits
        expected = small.head(small(IDS, TARGET))
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(
    ("objective", "kind", "named"),
    [
        ("mlm", AutoModelForCausalLM, "AutoModelForMaskedLM"),
        ("mt", AutoModelForCausalLM, "AutoModelForSeq2SeqLM"),
        ("lm", AutoModelForSeq2SeqLM, "AutoModelForMaskedLM"),
    ],
)
def test_the_wrong_class_names_the_right_one(run, objective, kind, named):
    with pytest.raises(ValueError, match=named):
        kind.from_pretrained(run(objective)[1])


def test_classes_from_the_left_are_no_next_tokens(run):
    """`generate` would take a class for the token of its number."""
    _, path = run("lm", Transformer(replace(drawn("lm").config, target_vocab_size=5), seed=1))
    with pytest.raises(ValueError, match=r"predicts one of 5 classes; .* AutoModelForMaskedLM"):
        AutoModelForCausalLM.from_pretrained(path)
    assert AutoModelForMaskedLM.from_pretrained(path)(IDS).logits.shape[-1] == 5


@pytest.mark.parametrize("mask", [MASK.flip(1), None])
def test_padding_on_the_left_is_refused(run, mask):
    opened = AutoModelForCausalLM.from_pretrained(run("lm")[1])
    with pytest.raises(ValueError, match="allowed: padding on the right"):
        opened(IDS.flip(1), attention_mask=mask)


WEIGHTS = torch.zeros(2, 5, 8)
OTHERS = {
    "position_ids": (torch.arange(5).expand(2, 5), torch.arange(5).expand(2, 5) + 1),
    "token_type_ids": (torch.zeros_like(IDS), MASK),
    "decoder_attention_mask": (MASK, MASK.flip(1)),
    "inputs_embeds": (None, WEIGHTS),
    "past_key_values": (None, DynamicCache()),
}


@pytest.mark.parametrize("objective", ["lm", "mt"])
@pytest.mark.parametrize("name", OTHERS)
def test_an_input_that_would_change_what_is_read_is_refused(run, objective, name):
    opened = KINDS[objective].from_pretrained(run(objective)[1])
    given = {"input_ids": IDS, "attention_mask": MASK, "labels": TARGET}
    same, other = OTHERS[name]
    with torch.no_grad():
        assert torch.equal(opened(**given, **{name: same}).logits, opened(**given).logits)
    with pytest.raises(ValueError, match=f"{name}: runs read input_ids and attention_mask alone"):
        opened(**given, **{name: other})


@pytest.mark.parametrize("objective", KINDS)
def test_a_tuple_is_returned_where_one_is_asked_for(run, objective):
    opened = KINDS[objective].from_pretrained(run(objective)[1])
    named = opened(IDS, labels=IDS)
    plain = opened(IDS, labels=IDS, return_dict=False)
    assert isinstance(plain, tuple)
    assert torch.equal(plain[0], named.loss) and torch.equal(plain[1], named.logits)


def test_going_on_with_texts_of_several_lengths_is_refused(run):
    opened = AutoModelForCausalLM.from_pretrained(run("lm")[1])
    texts = torch.tensor([[5, 6, 7], [9, 4, PAD]])
    with pytest.raises(ValueError, match="take texts of equal length"):
        opened.generate(texts, attention_mask=(texts != PAD).long(), max_new_tokens=2)


@pytest.mark.parametrize("named", [False, True])
def test_going_on_with_a_text_that_has_ended_is_refused(run, named):
    """As a tokenizer ends it; what a model writes after </s> is no text."""
    opened = AutoModelForCausalLM.from_pretrained(run("lm")[1])
    given = ([], {"input_ids": IDS[:1]}) if named else ([IDS[:1]], {})
    with pytest.raises(ValueError, match=r"ends in </s>.* add_special_tokens=False"):
        opened.generate(*given[0], **given[1], max_new_tokens=2)


@pytest.mark.parametrize("kind", [AutoModel, AutoModelForMaskedLM])
def test_layers_and_attention_may_be_asked_for_when_it_is_opened(run, kind):
    model, path = run("mlm")
    asked = {"output_hidden_states": True, "output_attentions": True}
    opened = kind.from_pretrained(path, **asked)
    with torch.no_grad():
        found, read = opened(IDS), model.encoder(IDS, **asked)
        torch.testing.assert_close(found.hidden_states, read.hidden_states)
        torch.testing.assert_close(found.attentions, read.attentions)
        assert opened(IDS, output_attentions=False).attentions is None


@pytest.mark.parametrize("objective", KINDS)
def test_what_transformers_has_saved_opens_in_both(run, tmp_path, objective):
    """As after a fine-tuning there; its config.json says more than ours."""
    model, path = run(objective)
    KINDS[objective].from_pretrained(path).save_pretrained(tmp_path / "saved")
    ours, theirs = folder.load(tmp_path / "saved"), KINDS[objective]
    assert ours.config == model.config
    for opened in (ours, theirs.from_pretrained(tmp_path / "saved")):
        assert same_bytes(opened.state_dict(), model.state_dict())


@pytest.mark.parametrize(
    ("kind", "dtype", "named"),
    [(AutoModel, torch.float32, "head.weight"), (KINDS["lm"], torch.bfloat16, "encoder.")],
)
def test_what_it_has_saved_otherwise_says_what_opens(run, tmp_path, kind, dtype, named):
    """And does not tell a user to delete what was fine-tuned."""
    _, path = run("lm")
    kind.from_pretrained(path, dtype=dtype).save_pretrained(tmp_path / "saved")
    said = (
        rf"weights that are not as config.json has them: \d+, {named}.*, in float32 and by a class"
    )
    with pytest.raises(UserError, match=said):
        folder.load(tmp_path / "saved")


@pytest.mark.parametrize("objective", ["mlm", "mt"])
def test_what_a_file_lacks_is_drawn(run, tmp_path, objective):
    """Of a model that was saved as an encoder alone, the rest is as in a new one."""
    model, path = run(objective)
    AutoModel.from_pretrained(path).save_pretrained(tmp_path / "encoder")
    found = KINDS[objective].from_pretrained(tmp_path / "encoder")
    fresh = KINDS[objective].from_config(found.config)
    assert same_bytes(found.encoder.state_dict(), model.encoder.state_dict())
    rest = {n: w for n, w in fresh.state_dict().items() if not n.startswith("encoder.")}
    assert rest and same_bytes({n: found.state_dict()[n] for n in rest}, rest)
    assert fresh.head.weight.std() > 0


def test_a_trainer_divides_the_loss_by_its_steps():
    """It does not for models that take its `num_items_in_batch`."""
    assert not KINDS["lm"].from_config(bottomup.auto.Config(causal=True)).accepts_loss_kwargs


def test_a_config_of_generation_holds(run):
    _, path = run("lm")
    model = AutoModelForCausalLM.from_pretrained(path)
    usual = model.generate(IDS[:1, :3], max_new_tokens=1)[0, -1]
    other = GenerationConfig(max_new_tokens=1, suppress_tokens=[int(usual)])
    assert model.generate(IDS[:1, :3], generation_config=other)[0, -1] != usual


def test_the_tokenizer_opens_with_the_model(run, corpus_files):
    _, path = run("lm")
    own = Tokenizer.from_file(str(corpus_files.tokenizer("source")))
    folder.save_tokenizer(own, path)
    opened = AutoTokenizer.from_pretrained(path)
    assert opened("the file")["input_ids"] == own.encode("the file").ids
    assert (opened.pad_token_id, opened.eos_token_id) == (PAD, 1)
