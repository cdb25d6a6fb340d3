import time

import pytest
from tokenizers import Tokenizer

from bottomup.corpus import bpe
from bottomup.corpus.specials import EOS, SPECIALS, UNK
from bottomup.corpus.words import learn, spans

SENTENCES = ["Open the file menu, then open it.", "The file-name isn't one."]


def tokenizers():
    sub_words = bpe.learn([SENTENCES], 5, lowercase=True, language="en")
    return sub_words, learn([SENTENCES], sub_words)


def test_each_word_is_a_token_of_its_own():
    sub_words, words = tokenizers()
    for sentence in SENTENCES:
        one, other = words.encode(sentence), sub_words.encode(sentence)
        # The words are those that the sub-words are of; both end in </s>.
        assert one.ids[-1] == EOS == other.ids[-1]
        assert one.word_ids[:-1] == list(range(1 + max(other.word_ids[:-1])))
        assert UNK not in one.ids
    assert words.encode("OPEN").ids == words.encode("open").ids
    assert words.encode("nowhere").ids == [UNK, EOS]
    names = sorted(words.get_vocab(), key=words.get_vocab().get)
    assert names[: len(SPECIALS)] == SPECIALS and "▁file-name" in names and "▁'t" in names


def test_the_same_text_gives_the_same_tokenizer():
    assert tokenizers()[1].to_str() == tokenizers()[1].to_str()
    assert Tokenizer.from_str(tokenizers()[1].to_str()).get_vocab_size() > len(SPECIALS)


@pytest.mark.parametrize(
    "text", ["!" * 40_000, "a" * 10**5, "a'" * 20_000, "U." * 20_000, "1," * 20_000]
)
def test_the_time_to_cut_words_grows_with_the_length(text):
    """A look through all tokens for each word would take 12 s for the first."""
    start = time.process_time()
    [(_, of_words)] = spans([text], tokenizers()[0])
    assert "".join(text[first:last] for first, last in of_words) == text
    assert time.process_time() - start < 5


def test_spans_are_the_words_of_the_text_as_it_is_composed():
    found = list(spans(["Cafe\u0301, open!", ""], tokenizers()[1]))
    [(text, of_words), (_, none)] = found
    assert [text[start:end] for start, end in of_words] == ["Café", ",", "open", "!"]
    assert none == []
