"""Words in sub-words, in tokenizers of every kind and in text that is hard on them."""

import json
import re
import unicodedata
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tokenizers import (
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import BertConfig, GPTNeoXConfig, PreTrainedTokenizerFast

from bottomup import subjects
from bottomup.corpus import bpe, segmentation
from bottomup.corpus.tokens import NO_WORD
from bottomup.corpus.words import learn, spans
from bottomup.heads.attention import attention
from bottomup.subjects import words
from bottomup.subjects.batches import batches
from bottomup.subjects.tokenizer import load
from bottomup.subjects.words import CUT, SHARED, VANISHED
from tests.subjects import families

CHARACTERS = "aabcdeinorst.,'-AEÉéïöﬁ½…“漢字🙂"
INVISIBLE = "\u0301\u2060\u200d"
SPACES = [" ", " ", " ", "  ", "\t", "\u00a0", "\u3000"]


def texts(n, seed):
    """Sentences, and the spans of words: runs between white space, often cut in two at random."""
    rng = np.random.default_rng(seed)
    sentences, spans = [], []
    for _ in range(n):
        sentence, found = rng.choice(["", " "]), []
        for _ in range(rng.integers(1, 8)):
            start = len(sentence)
            sentence += "".join(rng.choice(list(CHARACTERS + INVISIBLE), rng.integers(1, 7)))
            cut = rng.integers(start, len(sentence))
            found += [(a, b) for a, b in [(start, cut), (cut, len(sentence))] if a < b]
            sentence += rng.choice(SPACES)
        sentences.append(sentence)
        spans.append(found)
    return sentences, spans


TRAINING = texts(200, seed=0)[0] + list(CHARACTERS) * 3


def word_pieces():
    """As BERT's: lower case, no accents."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    trainer = trainers.WordPieceTrainer(
        vocab_size=120, special_tokens=specials, show_progress=False
    )
    tokenizer.train_from_iterator(TRAINING, trainer)
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    # As a published tokenizer.json may say, for what a sentence model needs.
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=16)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]")


def bytes_like_gpt2(prefix=False, trimmed=False):
    """As GPT-2's, whose offsets hold the space before a word; or RoBERTa's, whose do not."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(TRAINING, trainer)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=trimmed)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def pieces_like_t5():
    """As T5's and Marian's: compatible characters made one, a mark before each word."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=150,
        special_tokens=["<pad>", "</s>", "<unk>"],
        unk_token="<unk>",
        show_progress=False,
    )
    tokenizer.train_from_iterator(TRAINING, trainer)
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>")


def pieces_like_llama():
    """As Llama's: words are not kept apart, and unknown characters are bytes."""
    specials = ["<unk>", "<s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=specials, limit_alphabet=15, show_progress=False
    )
    tokenizer.train_from_iterator(TRAINING, trainer)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 1)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>")


def pieces_of_a_run():
    tokenizer = bpe.learn([TRAINING], 60, True, "en")
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>")


TOKENIZERS = {
    "bert": word_pieces,
    "gpt2": bytes_like_gpt2,
    "roberta": lambda: bytes_like_gpt2(prefix=True, trimmed=True),
    "t5": pieces_like_t5,
    "llama": pieces_like_llama,
    "run": pieces_of_a_run,
}


@pytest.fixture(scope="module", params=TOKENIZERS)
def tokenizer(request):
    return TOKENIZERS[request.param]()


def encode(tokenizer, *arguments):
    return words.encode(tokenizer.backend_tokenizer, *arguments)


def aligned(found, spans):
    """Sentence, span, first and last sub-word of each word that is aligned."""
    sentences = [row for row, some in enumerate(spans) for _ in some]
    flat = [span for some in spans for span in some]
    all_words = zip(sentences, flat, found.first.tolist(), found.last.tolist(), strict=True)
    return [word for word in all_words if word[2] != NO_WORD]


def test_each_character_of_an_aligned_word_is_in_its_sub_words(tokenizer):
    """And none of another word, as the tokenizer itself tells it, a character at a time."""
    sentences, spans = texts(300, seed=1)
    found = encode(tokenizer, sentences, spans, None)
    encoded = tokenizer(sentences, truncation=False, padding=False)
    for row, (start, end), first, last in aligned(found, spans):
        characters = range(len(sentences[row]))
        tokens = [encoded.char_to_token(row, character) for character in characters]
        own = {token for token in tokens[start:end] if token is not None}
        others = [
            token
            for place, token in enumerate(tokens)
            if not start <= place < end and not sentences[row][place].isspace()
        ]
        assert own
        assert max(own) <= last
        assert not set(range(first, last + 1)) & set(others)
    count = len(aligned(found, spans))
    assert count > 300
    assert len(found.first) - count == sum(found.unaligned.values())
    assert found.unaligned[CUT] == found.cut.sum() == 0
    assert found.tokens.ids.tolist() == [i for ids in encoded.input_ids for i in ids]


def test_the_text_of_the_sub_words_is_the_word(tokenizer):
    """Of words between white space, once both are normalized; unknown ones have no text."""
    sentences, _ = texts(200, seed=2)
    spans = [runs(sentence) for sentence in sentences]
    found = encode(tokenizer, sentences, spans, None)
    normalizer = tokenizer.backend_tokenizer.normalizer
    unknown, compared = tokenizer.unk_token or "<unk>", 0
    for row, (start, end), first, last in aligned(found, spans):
        word = sentences[row][start:end]
        text = tokenizer.decode(found.tokens.sentence(row)[first : last + 1])
        if unknown not in text:
            compared += 1
            expected = normalizer.normalize_str(word) if normalizer else word
            assert bare(text) == bare(expected)
    assert compared > 200
    assert found.unaligned[VANISHED] < 100


def runs(sentence):
    """Spans between white space."""
    ends = [place for place, c in enumerate(sentence + " ") if (c + " ").isspace()]
    starts = [0, *(end + 1 for end in ends)]
    return [(a, b) for a, b in zip(starts, ends, strict=False) if a < b]


def bare(text):
    """Without spaces and marks between pieces, composed."""
    text = unicodedata.normalize("NFC", text)
    return "".join(c for c in text if not c.isspace() and c not in "▁#")


@pytest.mark.parametrize("max_length", [3, 6, 10])
def test_the_end_of_a_long_sentence_is_cut_off(tokenizer, max_length):
    sentences, spans = texts(100, seed=3)
    whole, cut = (encode(tokenizer, sentences, spans, n) for n in (None, max_length))
    long = whole.tokens.lengths > max_length
    assert cut.cut.tolist() == long.tolist() and long.any()
    assert cut.tokens.lengths.tolist() == np.minimum(whole.tokens.lengths, max_length).tolist()
    of_word = np.repeat(long, [len(some) for some in spans])
    assert (cut.first[~of_word] == whole.first[~of_word]).all()
    kept = cut.first != NO_WORD
    assert (cut.first[kept] == whole.first[kept]).all()
    assert (cut.last[kept] == whole.last[kept]).all()
    lost = np.flatnonzero(~kept & (whole.first != NO_WORD))
    assert 0 < len(lost) <= cut.unaligned[CUT]
    ends = tokenizer("").input_ids[-1:]
    for row in np.flatnonzero(long):
        if ends and ends[0] == whole.tokens.sentence(row)[-1]:
            assert cut.tokens.sentence(row)[-1] == ends[0]


def test_each_sub_word_is_told_its_word(tokenizer):
    sentences, spans = texts(50, seed=4)
    found = encode(tokenizer, sentences, spans, 10)
    for row, some in enumerate(spans):
        begin, end = found.tokens.offsets[row : row + 2]
        told = found.tokens.words[begin:end].tolist()
        offset = sum(map(len, spans[:row]))
        for number in range(len(some)):
            first, last = found.first[offset + number], found.last[offset + number]
            places = [place for place, word in enumerate(told) if word == number]
            expected = [] if first == NO_WORD else list(range(first, last + 1))
            assert places == expected


def test_nothing_to_encode(tokenizer):
    found = encode(tokenizer, ["", " "], [[], []], 8)
    assert len(found.tokens) == 2 and (found.tokens.lengths > 0).all()
    assert len(found.first) == sum(found.unaligned.values()) == found.cut.sum() == 0


def test_a_sentence_of_which_nothing_is_left_is_read(tmp_path):
    """No letter of it is known, nor a token for unknown ones: the words of others are as usual."""
    folder = families.save(families.FAMILIES["gpt2"], tmp_path)
    letters = Tokenizer(models.BPE({"a": 3, "b": 4}, []))
    PreTrainedTokenizerFast(tokenizer_object=letters).save_pretrained(folder)
    subject = subjects.load(folder)
    assert letters.encode("猫").ids == []
    found = words.encode(subject.tokenizer, ["ab", "猫", "a"], [[(0, 2)], [(0, 1)], [(0, 1)]], 8)
    assert found.first.tolist() == [0, NO_WORD, 0] and found.unaligned[VANISHED] == 1
    assert found.tokens.special.tolist() == [False, False, True, False]
    [batch] = batches(subject, found.tokens, 100)
    states = subject.hidden_states(batch.ids, lengths=batch.lengths)
    usual = subject.hidden_states(torch.tensor([[3, 4]]))
    row = batch.sentences.tolist().index(0)
    torch.testing.assert_close(states[-1][row, :2], usual[-1][0])
    [(_, queries, _, weights)] = attention(subject, "猫", None, None)
    assert len(queries) == 1 and (weights == 1).all()


CASES = {
    "the space before a word is not a part of it": ("gpt2", "a sad  toad", ["a", "sad", "toad"], 0),
    "of a character's bytes none is lost": ("gpt2", "ﬀ 漢", ["ﬀ", "漢"], 0),
    "an accent that is stripped": ("bert", "É e\u0301", ["É", "e\u0301"], 0),
    "a letter that is two when normalized": ("t5", "ﬁne ½", ["ﬁne", "½"], 0),
    "an invisible character": ("bert", "a \u2060 b", ["a", "\u2060", "b"], 1),
}


@pytest.mark.parametrize(("kind", "sentence", "parts", "lost"), CASES.values(), ids=CASES)
def test_cases(kind, sentence, parts, lost):
    tokenizer, spans, end = TOKENIZERS[kind](), [], 0
    for part in parts:
        start = sentence.index(part, end)
        end = start + len(part)
        spans.append((start, end))
    found = encode(tokenizer, [sentence], [spans], None)
    assert sum(found.unaligned.values()) == found.unaligned[VANISHED] == lost
    normalizer = tokenizer.backend_tokenizer.normalizer
    for part, first, last in zip(parts, found.first, found.last, strict=True):
        if first != NO_WORD:
            text = tokenizer.decode(found.tokens.ids[first : last + 1])
            assert bare(text) == bare(normalizer.normalize_str(part) if normalizer else part)


def test_a_sub_word_of_two_words():
    """Neither has it: GPT-2 reads don and 't where a treebank has do and n't."""
    tokenizer = bytes_like_gpt2()
    tokenizer.add_tokens(["don"])
    found = words.encode(
        tokenizer.backend_tokenizer, ["don't at"], [[(0, 2), (2, 5), (6, 8)]], None
    )
    assert tokenizer.convert_ids_to_tokens(found.tokens.ids)[0] == "don"
    assert (found.first[:2] == NO_WORD).all() and (found.last[:2] == NO_WORD).all()
    assert found.unaligned == {VANISHED: 0, CUT: 0, SHARED: 2}
    assert found.first[2] != NO_WORD


UNSEEN = {  # by tokenizer, what it knows no part of, and what it leaves out
    "bert": ({"☂", "ab☂"}, {"\u2060"}),  # a word of which a part is unknown is unknown as a whole
    "gpt2": (set(), set()),
    "t5": ({"☂"}, set()),
    "llama": (set(), set()),
    "run": ({"☂"}, set()),
}


@pytest.mark.parametrize("kind", UNSEEN)
def test_words_that_are_read_as_unknown_are_counted_and_kept(kind):
    tokenizer, (unknown, vanished) = TOKENIZERS[kind](), UNSEEN[kind]
    parts = ["toad", "☂", "ab☂", "\u2060"] if vanished else ["toad", "☂", "ab☂"]
    sentence = " ".join(parts)
    places = [match.span() for match in re.finditer(r"\S+", sentence)]
    found = encode(tokenizer, [sentence], [places], None)
    assert found.unknown == len(unknown)
    assert sum(found.unaligned.values()) == len(vanished)


def test_the_mark_before_a_word_is_no_part_of_it():
    """Not before the first either, where it has the place of the first letter."""
    pieces = [("<unk>", 0.0), ("▁", -1.0), ("a", -1.0), ("b", -1.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    found = encode(tokenizer, ["ab a"], [[(0, 2), (3, 4)]], None)
    assert tokenizer.convert_ids_to_tokens(found.tokens.ids) == ["▁", "a", "b", "▁", "a"]
    assert (found.first.tolist(), found.last.tolist()) == ([1, 4], [2, 4])


@pytest.mark.parametrize(
    ("language", "text"), [("zh", "请单击“文件”菜单。"), ("th", "ภาษาไทย 5 คน")]
)
def test_where_words_have_no_spaces_a_run_reads_what_it_was_trained_on(language, text, tmp_path):
    """And other models the text as it was written."""
    written = segmentation.marked(text, language)
    own = bpe.learn([[written] * 3], 50, lowercase=True, language=language)
    learn([[written]], own).save(str(tmp_path / "words.json"))
    for tokenizer, read in ((own, written), (word_pieces().backend_tokenizer, text)):
        subject = SimpleNamespace(tokenizer=tokenizer, max_length=None)
        found, [n_words] = words.of_text(subject, [written], tmp_path / "words.json")
        tokenizer.no_truncation()
        tokenizer.no_padding()
        assert found.tokens.ids.tolist() == tokenizer.encode(read).ids
        assert n_words == len(found.first) > 3
    [(_, places)] = spans([written], own)
    found = words.encode(own, [written], [places], None)
    assert found.tokens.ids.tolist() != own.encode(text).ids
    for (start, end), first, last in zip(places, found.first, found.last, strict=True):
        assert own.decode(found.tokens.ids[first : last + 1]) == text[start:end]


def test_text_is_cut_as_tokenizer_json_says_whatever_its_class_would_do(tmp_path):
    """GPT-NeoX's class normalizes by NFC and sets no token at either end."""
    made = bytes_like_gpt2().backend_tokenizer
    made.normalizer = normalizers.NFKC()
    made.add_special_tokens(["<s>", "</s>"])
    ends = [(name, made.token_to_id(name)) for name in ("<s>", "</s>")]
    made.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=ends)
    made.save(str(tmp_path / "tokenizer.json"))
    named = {"tokenizer_class": "GPTNeoXTokenizer", "bos_token": "<s>", "eos_token": "</s>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(named))
    GPTNeoXConfig(hidden_size=8, num_attention_heads=2).save_pretrained(tmp_path)
    opened = load(tmp_path)
    text = "ﬁne… ½"
    expected = made.encode(text).ids
    assert made.decode(expected) == "fine... 1⁄2", "compatible characters are made one"
    assert opened(text)["input_ids"] == expected


def test_a_long_word_is_cut_as_tokenizer_json_says(tmp_path):
    """BERT's class cuts no word of more than 100 characters, but the file may have it cut."""
    vocab = {sign: i for i, sign in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "##a"])}
    made = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=1000))
    made.normalizer, made.pre_tokenizer = (
        normalizers.BertNormalizer(),
        pre_tokenizers.BertPreTokenizer(),
    )
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer"}')
    BertConfig().save_pretrained(tmp_path)
    assert load(tmp_path)("a" * 120)["input_ids"] == [2, 4, *[5] * 119, 3]
