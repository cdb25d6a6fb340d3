"""Checkpoints whose embeddings have another width than their layers, as OPT-350m."""

import pytest
import torch
from transformers import AutoModelForCausalLM, OPTConfig, OPTForCausalLM

from bottomup import subjects
from bottomup.corpus.batches import Text
from bottomup.corpus.tokens import TokenFile
from bottomup.heads.checkpoints.predictor import CheckpointPredictor, objective_of
from tests.subjects import families
from tests.tiny import noise

LAYERS, WIDTH, NARROW, VOCAB = 2, 8, 4, families.VOCAB
SIZES = {
    "vocab_size": VOCAB,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 2,
    "hidden_size": WIDTH,
    "word_embed_proj_dim": NARROW,
    "ffn_dim": 16,
    "max_position_embeddings": 12,
    "pad_token_id": 0,
}
IDS = torch.tensor([[5, 6, 7, 8, 9], [10, 6, 11, 0, 0]])
TOKENS = IDS != 0


@pytest.fixture(scope="module", params=[False, True], ids=["as OPT-350m", "with a last norm"])
def folder(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("opt")
    model = OPTForCausalLM(OPTConfig(**SIZES, do_layer_norm_before=request.param))
    noise(model, 1, 0.3).save_pretrained(folder)
    families.save_tokenizer(folder, ("pad",))
    return folder


@pytest.fixture(scope="module")
def theirs(folder):
    """What transformers makes of a padded batch, and the model that made it."""
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        return model, model(IDS, attention_mask=TOKENS.long(), output_hidden_states=True)


def test_the_states_are_those_of_layers(folder, theirs):
    model, expected = theirs
    subject = subjects.load(folder)
    assert (subject.layers, subject.d_model, subject.causal) == (LAYERS, WIDTH, True)
    assert (subject.heads, subject.hides, subject.max_length) == (2, True, 12)
    *below, top = subject.hidden_states(IDS)
    for found, usual in zip(below, expected.hidden_states, strict=False):
        assert torch.equal(found[TOKENS], usual[TOKENS])
    # The top one is what is projected before transformers predicts from it.
    decoder = model.model.decoder
    with torch.no_grad():
        assert torch.equal(model.lm_head(decoder.project_out(top))[TOKENS], expected.logits[TOKENS])


def test_a_layer_alone_says_the_same(folder):
    subject = subjects.load(folder)
    assert subject.stack is not None
    states = subject.hidden_states(IDS)
    for layer in range(1, LAYERS + 1):
        above = subject.after(layer, states[layer - 1], IDS)
        assert torch.allclose(above[TOKENS], states[layer][TOKENS], atol=1e-6)


def test_its_loss_is_that_of_transformers(folder, theirs):
    model, _ = theirs
    subject = subjects.load(folder)
    assert objective_of(subject) == "lm"
    predictor = CheckpointPredictor(folder, subject)
    ids = IDS[0].numpy()
    text = Text(TokenFile(ids, 0 * ids, torch.tensor([0, len(ids)]).numpy()))
    losses, _ = predictor.losses(predictor.example(text, torch.tensor([0]).numpy(), None))
    with torch.no_grad():
        expected = model(IDS[:1], labels=IDS[:1]).loss
    assert float(losses.sum()) == pytest.approx(float(expected) * (len(ids) - 1), rel=1e-5)


def test_its_twin_is_written_and_read_whole(folder, tmp_path):
    twin = subjects.untrained(folder, 1)
    twin.save_model(tmp_path)
    twin.save_tokenizer(tmp_path)
    again = subjects.load(tmp_path)
    assert (again.layers, again.d_model) == (LAYERS, WIDTH)
    pairs = zip(twin.hidden_states(IDS), again.hidden_states(IDS), strict=True)
    assert all(torch.equal(one[TOKENS], other[TOKENS]) for one, other in pairs)
