"""Which places are padding is a matter of lengths, whatever the tokenizer calls its padding."""

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers import Tokenizer, models
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from transformers import AutoModel, AutoTokenizer, PreTrainedTokenizerFast

from bottomup import subjects
from bottomup.core.errors import UserError
from bottomup.corpus.tokens import TokenFile
from bottomup.heads.confidence import encoder_attention
from bottomup.measures.influence import continued, embedded
from bottomup.subjects.batches import batches
from bottomup.subjects.words import encode
from bottomup.views.extraction import extract
from tests.subjects import families
from tests.subjects.families import FAMILIES, LAYERS, VOCAB, WIDTH
from tests.tiny import ids_of

pytestmark = pytest.mark.long

# w0 is the first token of the vocabulary where none is special, and w19 the unknown word.
SENTENCES = ["w5 w0 w7 w8 w9", "w6 w0", "w0 w4 nobody", "nobody w0"]
PADDING = {"none": None, "a word": "w0", "the unknown word": "w19", "one more": "<pad>"}


@pytest.fixture(params=["bert", "roberta", "t5", "gpt2"])
def family(request):
    return FAMILIES[request.param]


@pytest.fixture(params=PADDING)
def padding(request):
    return PADDING[request.param]


@pytest.fixture
def folder(family, padding, tmp_path):
    """`<pad>` is one more than the model's vocabulary, as where a model was not resized."""
    families.save(family, tmp_path)
    families.save_tokenizer(tmp_path, ())
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    if padding == "<pad>":
        tokenizer.add_special_tokens({"pad_token": "<pad>"})
        assert tokenizer.pad_token_id == VOCAB
    elif padding:
        tokenizer.pad_token = padding
    tokenizer.save_pretrained(tmp_path)
    return tmp_path


@pytest.fixture
def text(folder):
    return encode(subjects.load(folder).tokenizer, SENTENCES, [[]] * len(SENTENCES), None).tokens


@pytest.fixture
def alone(folder, text):
    """Each sentence, read alone by transformers: states and attentions."""
    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    encoder = model.encoder if model.config.is_encoder_decoder else model
    kept = {"output_hidden_states": True, "output_attentions": True}
    with torch.no_grad():
        return [
            encoder(torch.tensor(text.sentence(i)[None], dtype=torch.long), **kept)
            for i in range(len(text))
        ]


def test_what_is_read_side_by_side_is_what_is_read_alone(folder, text, alone):
    subject = subjects.load(folder)
    [batch] = batches(subject, text, 1000)
    states = subject.hidden_states(batch.ids, lengths=batch.lengths)
    attentions = subject.attentions(batch.ids, lengths=batch.lengths)
    for row, sentence in enumerate(batch.sentences):
        length, usual = int(batch.lengths[row]), alone[sentence]
        for found, expected in zip(states, usual.hidden_states, strict=True):
            torch.testing.assert_close(found[row, :length], expected[0], rtol=1e-5, atol=1e-5)
        for found, expected in zip(attentions, usual.attentions, strict=True):
            found = found[row, :, :length, :length]
            torch.testing.assert_close(found, expected[0], rtol=1e-5, atol=1e-5)


def test_whatever_fills_a_batch_up(folder, text):
    """Also with what is no id at all."""
    subject = subjects.load(folder)
    [batch] = batches(subject, text, 1000)
    tokens = torch.from_numpy(batch.tokens)
    usual = subject.hidden_states(batch.ids, lengths=batch.lengths)[-1][tokens]
    for filler in (0, 7, VOCAB, -100):
        ids = batch.ids.masked_fill(~tokens, filler)
        assert torch.equal(subject.hidden_states(ids, lengths=batch.lengths)[-1][tokens], usual)


def test_views_influence_and_heads_read_it_so(folder, text, alone, tmp_path):
    subject = subjects.load(folder)
    sentence = np.repeat(np.arange(len(text)), text.lengths)
    place = np.arange(len(text.ids)) - text.offsets[sentence]
    table = pd.DataFrame({"text": sentence, "position": place})
    extract(subject, text, table, tmp_path / "views.npy", "float32", 1000)
    views = np.load(tmp_path / "views.npy")
    assert views.shape == (LAYERS + 1, len(text.ids), WIDTH)
    below = embedded(subject, text, 1000)
    for layer in range(LAYERS + 1):
        expected = torch.cat([usual.hidden_states[layer][0] for usual in alone])
        np.testing.assert_allclose(views[layer], expected, rtol=1e-5, atol=1e-5)
        if layer:
            below = continued(subject, layer, below, text, 1000)
        np.testing.assert_allclose(below, expected, rtol=1e-5, atol=1e-5)
    found, _ = encoder_attention(subject, text, 1000)
    asked = slice(1, None) if subject.causal else slice(None)  # the first sees only itself
    for layer in range(LAYERS):
        weights = [usual.attentions[layer][0][:, asked].amax(dim=-1) for usual in alone]
        expected = torch.cat(weights, dim=1).mean(dim=1)
        np.testing.assert_allclose(
            found["confidence"].mean()["encoder"][layer], expected, rtol=1e-4
        )


def test_without_lengths_nothing_is_guessed(folder, padding):
    """A token that is for padding alone tells where a sentence ends; a word that is named so does
    not, since a sentence may end in it."""
    subject = subjects.load(folder)
    ids = torch.tensor([[5, 6, 7], [8, subject.padding, subject.padding]])
    alone = padding == "<pad>"
    if alone or subject.causal:
        tokens = subject.tokens(ids).tolist()
        expected = 1 if alone else 3
        assert tokens == [[True] * 3, [True] * expected + [False] * (3 - expected)]
    else:
        with pytest.raises(UserError, match=r"ends in \d+, and \S+ has no token for padding alone"):
            subject.hidden_states(ids)
    assert subject.tokens(ids, torch.tensor([3, 2])).tolist() == [[True] * 3, [True, True, False]]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    "model",
    [
        models.WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]"),
        models.Unigram([("[UNK]", 0.0), ("a", -1.0)], unk_id=0),
    ],
    ids=["WordPiece", "Unigram"],
)
def test_the_unknown_word_is_no_padding_alone(model, named, tmp_path):
    """Where a normalizer drops characters that are no letters, too, and whoever names it."""
    families.save(FAMILIES["bert"], tmp_path)
    made = Tokenizer(model)
    made.normalizer = BertNormalizer()
    made.pre_tokenizer = BertPreTokenizer()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[UNK]", unk_token="[UNK]" if named else None
    )
    tokenizer.save_pretrained(tmp_path)
    subject = subjects.load(tmp_path)
    ids = torch.tensor([subject.tokenizer.encode("a zz").ids])
    assert ids.tolist()[0][:2] == [1, 0] and not subject.pads_alone
    expected = AutoModel.from_pretrained(tmp_path, attn_implementation="eager")(ids)
    found = subject.hidden_states(ids)[-1]
    torch.testing.assert_close(found, expected.last_hidden_state, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("lengths", [[3], [3, 0], [4, 1], [[3, 1]]])
def test_lengths_that_cannot_be(lengths, tmp_path):
    subject = subjects.load(families.save(FAMILIES["bert"], tmp_path))
    with pytest.raises(UserError, match=r"for ids of shape \(2, 3\); allowed: one for each sent"):
        subject.hidden_states(torch.tensor([[5, 6, 7], [8, 9, 5]]), lengths=torch.tensor(lengths))


@pytest.mark.parametrize("name", ["llama", "bert"])
def test_its_own_tokenizer_pads_on_the_right(name, tmp_path):
    """Whatever side it names; padding on the left by hand is refused where it can be told."""
    families.save(FAMILIES[name], tmp_path)
    families.save_tokenizer(tmp_path, ("pad", "mask"))
    tokenizer = AutoTokenizer.from_pretrained(tmp_path, padding_side="left")
    tokenizer.save_pretrained(tmp_path)
    assert AutoTokenizer.from_pretrained(tmp_path).padding_side == "left"
    subject = subjects.load(tmp_path)
    ids = subject.pretrained(["w5 w6 w7", "w8"], padding=True, return_tensors="pt").input_ids
    assert ids.tolist() == [[5, 6, 7], [8, 0, 0]]
    states, [alone] = subject.hidden_states(ids)[-1], subject.hidden_states(ids[1:, :1])[-1]
    torch.testing.assert_close(states[1, :1], alone, rtol=1e-5, atol=1e-5)
    with pytest.raises(UserError, match="padding before its end; pad on the right"):
        subject.hidden_states(ids.flip(1))


def test_what_a_template_adds_is_special(tmp_path):
    """A language code, which no name tells, and by its place: the same word in the text is not."""
    families.save(FAMILIES["bart"], tmp_path)
    families.save_tokenizer(tmp_path, ("pad", "mask"))
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    assert isinstance(tokenizer, PreTrainedTokenizerFast)
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="w15 $A w16", special_tokens=[("w15", 15), ("w16", 16)]
    )
    tokenizer.save_pretrained(tmp_path)
    subject = subjects.load(tmp_path)
    assert subject.special == [0, 15, 16]
    sentences, words = ["w5 w6", "w15 w6"], [[(0, 2), (3, 5)], [(0, 3), (4, 6)]]
    tokens = encode(subject.tokenizer, sentences, words, subject.max_length).tokens
    assert tokens.ids.tolist() == [15, 5, 6, 16, 15, 15, 6, 16]
    assert tokens.special.tolist() == [True, False, False, True] * 2
    found, _ = encoder_attention(subject, tokens, 1000)
    weights = torch.stack(subject.attentions(torch.tensor(tokens.ids.reshape(2, 4)).long()))
    expected = 1 - weights[..., 1:3, 1:3].sum(dim=-1).mean(dim=(1, 3))
    np.testing.assert_allclose(found["special"].mean()["encoder"], expected, rtol=1e-4)


def test_our_own_text_is_special_where_it_ends():
    tokens = TokenFile(ids_of([[5, 6], [7]]).numpy()[[0, 0, 0, 1, 1], [0, 1, 2, 0, 1]], None, None)
    assert tokens.special.tolist() == [False, False, True, False, True]
