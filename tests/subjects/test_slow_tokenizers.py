"""Tokenizers that transformers has in Python alone: Marian as it is published, and others."""

import json
import re
from itertools import chain

import numpy as np
import pandas as pd
import pytest
import sentencepiece
import torch
from transformers import (
    AutoTokenizer,
    BertConfig,
    ByT5Tokenizer,
    EsmConfig,
    EsmForMaskedLM,
    M2M100Config,
    M2M100ForConditionalGeneration,
    MarianConfig,
    MarianMTModel,
    MyT5Tokenizer,
    PreTrainedTokenizerBase,
    ProphetNetTokenizer,
    RobertaConfig,
    RobertaForMaskedLM,
)

from bottomup import subjects
from bottomup.core.errors import UserError
from bottomup.core.files import digest
from bottomup.core.names import OF_CHECKPOINTS
from bottomup.core.settings import Checkpoint
from bottomup.corpus.segmentation import MARK
from bottomup.corpus.tokens import NO_WORD
from bottomup.heads.attention import attention
from bottomup.heads.checkpoints.predictor import CheckpointPredictor, objective_of
from bottomup.heads.examples import references
from bottomup.measures.attention_patterns import punctuation
from bottomup.subjects import tokenizer
from bottomup.subjects.admission import admitted
from bottomup.subjects.opening import open_checkpoint
from bottomup.subjects.slow import SlowTokenizer, places
from bottomup.subjects.words import encode
from tests.subjects import every_family, families
from tests.tiny import noise

ENGLISH = ["the small dog eats a bone .", "click the green button .", "a big house is near ."]
GERMAN = ["der kleine Hund frisst .", "klicken Sie auf den Knopf !", "ein großes Haus ist nah ."]


def pieces(sentences, path):
    """A SentencePiece model of the sentences; returns its pieces."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences * 10),
        model_prefix=str(path.with_suffix("")),
        vocab_size=45,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    path.with_suffix(".model").rename(path)
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return [model.id_to_piece(i) for i in range(model.get_piece_size())]


@pytest.fixture
def marian(tmp_path):
    """As on the hub: two SentencePiece models, and one vocabulary in an order of its own."""
    folder = tmp_path / "marian"
    folder.mkdir()
    both = [pieces(ENGLISH, folder / "source.spm"), pieces(GERMAN, folder / "target.spm")]
    words = sorted({*both[0], *both[1]} - {"<unk>", "<s>", "</s>"})
    words = ["</s>", "<unk>", *words, "<pad>"]
    # What is in no vocabulary is unknown, though SentencePiece has a number for it.
    words.remove(next(word for word in both[0] if word.startswith("▁") and len(word) > 1))
    (folder / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(words)}))
    shape = families.BART | {"vocab_size": len(words), "max_position_embeddings": 40}
    special = {"pad_token_id": len(words) - 1, "decoder_start_token_id": len(words) - 1}
    config = MarianConfig(**shape | special, eos_token_id=0)
    noise(MarianMTModel(config), 1, 0.3).save_pretrained(folder)
    (folder / "tokenizer_config.json").write_text('{"source_lang": "en", "target_lang": "de"}')
    return folder


@pytest.fixture
def m2m(tmp_path):
    folder = tmp_path / "m2m"
    folder.mkdir()
    words = ["<s>", "<pad>", "</s>", "<unk>"]
    words += sorted({*pieces(ENGLISH, folder / "sentencepiece.bpe.model")} - {*words})
    (folder / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(words)}))
    shape = families.BART | {"vocab_size": len(words) + 110, "max_position_embeddings": 40}
    model = M2M100ForConditionalGeneration(M2M100Config(**shape | {"pad_token_id": 1}))
    noise(model, 1, 0.3).save_pretrained(folder)
    (folder / "tokenizer_config.json").write_text('{"src_lang": "en"}')
    return folder


@pytest.fixture
def phobert(tmp_path):
    """Its class copies its files when it is saved."""
    folder = tmp_path / "phobert"
    folder.mkdir()
    letters = sorted({*"".join(ENGLISH)} - {" "})
    words = [*letters, *(f"{letter}@@" for letter in letters)]
    (folder / "vocab.txt").write_text("".join(f"{word} 1\n" for word in words))
    (folder / "bpe.codes").write_text("#version\nt h 3\n")
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "PhobertTokenizer"}')
    shape = {"vocab_size": len(words) + 5, "pad_token_id": 1, "max_position_embeddings": 60}
    model = RobertaForMaskedLM(RobertaConfig(**families.BERT | shape))
    noise(model, 1, 0.3).save_pretrained(folder)
    return folder


def read(subject, sentences):
    spans = [[m.span() for m in re.finditer(r"\S+", sentence)] for sentence in sentences]
    return encode(subject.tokenizer, sentences, spans, subject.max_length)


@pytest.mark.parametrize("name", ["marian", "m2m"])
def test_opens_and_reads_as_its_own_tokenizer(name, request):
    folder = request.getfixturevalue(name)
    subject, usual = subjects.load(folder), AutoTokenizer.from_pretrained(folder)
    assert not usual.is_fast
    found = read(subject, ENGLISH)
    for i, sentence in enumerate(ENGLISH):
        assert found.tokens.sentence(i).tolist() == usual(sentence).input_ids
    # Each word is of its pieces, and nothing but what was added is special.
    assert sum(found.unaligned.values()) == 0
    around = {"marian": (0, 1), "m2m": (1, 1)}[name]
    for i, sentence in enumerate(ENGLISH):
        words = found.tokens.select(np.array([i]))
        expected = [True] * around[0] + [False] * (len(words.ids) - sum(around)) + [True]
        assert words.special.tolist() == expected
        of_words = set(words.words[~words.special].tolist()) - {NO_WORD}  # a mark of its own
        assert of_words == set(range(len(sentence.split(" "))))
        assert (words.words[words.special] == NO_WORD).all()
    if name == "m2m":
        assert usual.get_lang_id("en") in subject.special


def test_each_side_of_marian_has_its_own_pieces(marian, tmp_path):
    subject, usual = subjects.load(marian), AutoTokenizer.from_pretrained(marian)
    pd.DataFrame({"source": ENGLISH, "target": GERMAN}).to_parquet(tmp_path / "pairs.parquet")
    assert objective_of(subject) == "mt"
    predictor = CheckpointPredictor(marian, subject)
    text = predictor.text([tmp_path / "pairs.parquet"])
    model = MarianMTModel.from_pretrained(marian).eval()
    examples = references(predictor, text, 1)
    for i, (source, target, example) in enumerate(zip(ENGLISH, GERMAN, examples, strict=True)):
        own = usual(source, text_target=target, return_tensors="pt")
        assert text.source.sentence(i).tolist() == own.input_ids[0].tolist()
        assert text.target.sentence(i).tolist() == own.labels[0].tolist()
        losses, counts = predictor.losses(example)
        with torch.no_grad():
            expected = model(**own).loss.item()
        assert losses.item() / counts.item() == pytest.approx(expected, rel=1e-4)


def test_each_side_of_marian_may_have_a_vocabulary_of_its_own(tmp_path):
    """transformers spells ids of both by the target's, which has fewer pieces here."""
    first = ["</s>", "<unk>", "<pad>"]
    sides = {"vocab": (ENGLISH, "source.spm"), "target_vocab": (GERMAN[:1], "target.spm")}
    known = {}
    for name, (text, model) in sides.items():
        known[name] = [*first, *(pieces(text, tmp_path / model)[3:])]
        vocabulary = {piece: i for i, piece in enumerate(known[name])}
        (tmp_path / f"{name}.json").write_text(json.dumps(vocabulary))
    assert len(known["target_vocab"]) < len(known["vocab"])
    shape = families.BART | {"vocab_size": len(known["vocab"]), "max_position_embeddings": 40}
    shape |= {"decoder_vocab_size": len(known["target_vocab"]), "decoder_start_token_id": 2}
    shape |= {"share_encoder_decoder_embeddings": False, "pad_token_id": 2, "eos_token_id": 0}
    noise(MarianMTModel(MarianConfig(**shape)), 1, 0.3).save_pretrained(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(
        '{"source_lang": "en", "target_lang": "de", "separate_vocabs": true}'
    )

    subject, usual = subjects.load(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    found = read(subject, ENGLISH)
    assert sum(found.unaligned.values()) == 0
    ids, other = found.tokens.sentence(0).tolist(), usual(text_target=GERMAN[0]).input_ids
    assert ids == usual(ENGLISH[0]).input_ids
    for side, spelled, text in (
        (subject.tokenizer, ids, ENGLISH[0]),
        (subject.target_tokenizer, other, GERMAN[0]),
    ):
        assert side.decode(spelled).strip() == text
    pd.DataFrame({"source": ENGLISH[:1], "target": GERMAN[:1]}).to_parquet(
        tmp_path / "pairs.parquet"
    )
    predictor = CheckpointPredictor(tmp_path, subject)
    [example] = references(predictor, predictor.text([tmp_path / "pairs.parquet"]), 1)
    losses, counts = predictor.losses(example)
    model = MarianMTModel.from_pretrained(tmp_path).eval()
    with torch.no_grad():
        expected = model(**usual(ENGLISH[0], text_target=GERMAN[0], return_tensors="pt")).loss
    assert losses.item() / counts.item() == pytest.approx(expected.item(), rel=1e-4)


@pytest.mark.parametrize("name", ["marian", "m2m"])
def test_its_attention_is_shown_between_its_own_pieces(name, request):
    """Of the text as it was written, without the marks between words that only ours read."""
    folder = request.getfixturevalue(name)
    subject, usual = subjects.load(folder), AutoTokenizer.from_pretrained(folder)
    text = f"{ENGLISH[1][:2]}{MARK}{ENGLISH[1][2:]}"
    [(kind, queries, keys, weights)] = attention(subject, text, None, None)
    ids = usual(ENGLISH[1]).input_ids
    spelled = usual.convert_ids_to_tokens(ids)
    pieces = [piece.replace("▁", " ").strip() or "▁" for piece in spelled]
    assert kind == "encoder" and queries == keys == pieces
    expected = [layer[0].numpy() for layer in subject.attentions(torch.tensor([ids]))]
    np.testing.assert_array_equal(weights, expected)


@pytest.mark.parametrize("name", ["marian", "m2m"])
def test_a_text_is_cut_each_time_in_the_same_way(name, request):
    """Also with a tokenizer that draws how, as for training."""
    folder = request.getfixturevalue(name)
    expected = subjects.load(folder).tokenizer.encode(ENGLISH[0]).ids
    config = json.loads((folder / "tokenizer_config.json").read_text())
    drawing = {"enable_sampling": True, "alpha": 0.1, "nbest_size": -1}
    written = json.dumps(config | {"sp_model_kwargs": drawing})
    (folder / "tokenizer_config.json").write_text(written)
    found = subjects.load(folder).tokenizer
    assert all(found.encode(ENGLISH[0]).ids == expected for _ in range(5))


@pytest.mark.parametrize(
    ("name", "file"), [("marian", "vocab.json"), ("m2m", "vocab.json"), ("phobert", "bpe.codes")]
)
@pytest.mark.parametrize("twin", [None, 1])
def test_goes_into_a_study(name, file, twin, request, tmp_path):
    folder = request.getfixturevalue(name)
    open_checkpoint(tmp_path / "model", tmp_path, Checkpoint(folder=str(folder)), twin)
    # The rule promises the file, on which results depend.
    named = json.loads((tmp_path / "model/tokenizer.json").read_text())["in_python"]
    assert named[file] == digest(tmp_path / "model" / file)
    opened, given = subjects.load(tmp_path / "model"), subjects.load(folder)
    np.testing.assert_array_equal(read(opened, ENGLISH).tokens.ids, read(given, ENGLISH).tokens.ids)
    ids = torch.tensor([read(given, ENGLISH).tokens.sentence(0).tolist()])
    same = torch.equal(opened.hidden_states(ids)[-1], given.hidden_states(ids)[-1])
    assert same == (twin is None)


def test_a_tokenizer_of_letters(tmp_path):
    """ESM reads proteins; it is read like any other."""
    shape = {**families.BERT, "vocab_size": 8, "pad_token_id": 1}
    EsmForMaskedLM(EsmConfig(**shape, position_embedding_type="rotary")).save_pretrained(tmp_path)
    (tmp_path / "vocab.txt").write_text("<cls>\n<pad>\n<eos>\n<unk>\nL\nA\nG\n<mask>\n")
    subject = subjects.load(tmp_path)
    found = encode(subject.tokenizer, ["LAG L"], [[(0, 3), (4, 5)]], None)
    assert found.tokens.ids.tolist() == [0, 4, 5, 6, 4, 2]
    assert found.first.tolist() == [1, 4] and found.last.tolist() == [3, 4]
    assert subject.masks


@pytest.mark.parametrize(
    ("text", "parts", "expected"),
    [
        ("a bone", ["▁a", "▁bo", "ne"], [(0, 1), (2, 4), (4, 6)]),
        ("Der Fluß", ["der</w>", "flu", "ss</w>"], [(0, 3), (4, 7), (7, 8)]),
        ("naïve ﬁt", ["naive</w>", "f", "it</w>"], [(0, 5), (6, 7), (6, 8)]),
        ("un@ded x", ["un@@", "@", "ded", "x"], [(0, 2), (2, 3), (3, 6), (7, 8)]),
        # An unknown piece is what its neighbors leave.
        ("say 你好 now", ["▁say", "<unk>", "▁now"], [(0, 3), (4, 6), (7, 10)]),
        ("你 x", ["<unk>", "x"], [(0, 1), (2, 3)]),
        ("x 你", ["x", "▁", "<unk>"], [(0, 1), (0, 0), (2, 3)]),
    ],
)
def test_pieces_are_found_in_the_text(text, parts, expected):
    assert places(text, parts) == expected


@pytest.mark.parametrize("sentence", ["see theβ the cat", "catβ at", "at βat βat at"])
def test_no_piece_is_found_inside_of_an_unknown_word(sentence, tmp_path):
    """Nor is a word that does have pieces given those of another."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[X_SEP]", "[MASK]", "the", "cat", "at", "see"]
    (tmp_path / "prophetnet.tokenizer").write_text("\n".join(words))
    tokenizer = SlowTokenizer(ProphetNetTokenizer(str(tmp_path / "prophetnet.tokenizer")))
    ids = [1 if "β" in word else words.index(word) for word in sentence.split()]
    spans = [word.span() for word in re.finditer(r"\S+", sentence)]
    found = encode(tokenizer, [sentence], [spans], None)
    assert found.tokens.ids.tolist() == [*ids, 3]
    assert found.first.tolist() == found.last.tolist() == [*range(len(spans))]
    assert found.unknown == sentence.count("β")


def of_codes(folder):
    """MyT5's tokenizer, with a code of two bytes for one word, and one before capital letters."""
    maps = {"merge_map": {"68 75 6e 64": "fa 81"}, "decompose_map": {"48": "fb 68"}}
    (folder / "byte_maps.json").write_text(json.dumps(maps))
    return MyT5Tokenizer(folder / "byte_maps.json")


@pytest.mark.parametrize(
    ("kind", "n_tokens"),
    [(lambda _: ByT5Tokenizer(), [6, 7, 6, 4]), (of_codes, [6, 7, 6, 3])],
    ids=["ByT5", "MyT5"],
)
def test_words_of_bytes(kind, n_tokens, tmp_path):
    """Bytes look like letters, marks and white space of another alphabet: à has that of a space
    that does not break."""
    tokenizer = SlowTokenizer(kind(tmp_path))
    sentence = "naïve «là» 你好 Hund"
    words = [m.span() for m in re.finditer(r"\S+", sentence)]
    found = encode(tokenizer, [sentence], [words], None)
    assert (found.last - found.first + 1).tolist() == n_tokens
    assert found.tokens.words.tolist() == [
        *(0, 0, 0, 0, 0, 0, NO_WORD, 1, 1, 1, 1, 1, 1, 1, NO_WORD, *[2] * 6, NO_WORD),
        *([3] * n_tokens[3] + [NO_WORD]),
    ]
    assert not punctuation(tokenizer, found.tokens).any()
    assert tokenizer.decode(found.tokens.ids.tolist()) == sentence


def test_each_file_of_a_tokenizer_is_seen_and_counts_as_content(tmp_path):
    """Of all classes in transformers as it is installed."""
    kinds = every_family.classes(PreTrainedTokenizerBase, "tokenization_")
    named = [flat(kind.vocab_files_names) for kind in kinds]
    files = {*chain.from_iterable(named)}
    assert {"vocab.txt", "entity_vocab.json", "prophetnet.tokenizer"} <= files
    for name in files:
        (tmp_path / name).write_text("{}")
    with admitted(tmp_path) as there:
        assert {path.name for path in there.iterdir()} == files
    assert {path.name for kind in OF_CHECKPOINTS for path in tmp_path.glob(kind)} == files


def flat(names):
    """What is at the leaves; some classes have more than one name for a file."""
    if isinstance(names, str):
        return [names]
    return chain.from_iterable(map(flat, names.values() if isinstance(names, dict) else names))


def test_what_a_tokenizer_lacks_is_named(marian, tmp_path):
    (marian / "target.spm").unlink()
    with pytest.raises(UserError, match=r"no tokenizer in .*source.spm and target.spm") as error:
        subjects.load(marian)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("file", ["spm.model", "tokenizer.model"])
def test_what_reads_a_tokenizer_of_sentencepiece_is_named(tmp_path, monkeypatch, file):
    """transformers asks for tiktoken, which would not read it."""
    monkeypatch.setattr(tokenizer, "is_protobuf_available", lambda: False)
    pieces(ENGLISH, tmp_path / file)
    BertConfig().save_pretrained(tmp_path)
    kind = {"spm.model": "DebertaV2Tokenizer", "tokenizer.model": "LlamaTokenizer"}[file]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind}))
    with pytest.raises(UserError, match=f"reads {file} with the package protobuf") as error:
        tokenizer.load(tmp_path)
    assert "tiktoken" not in str(error.value) and "\n" not in str(error.value)
