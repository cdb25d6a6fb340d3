import numpy as np
import pytest

from bottomup.corpus.bpe import learn
from bottomup.corpus.encoding import NO_WORD, encode
from bottomup.corpus.specials import EOS
from bottomup.corpus.tokens import TokenFile

TEXTS = ["Open the files, please.", "Save.", "Don't close the unopened file!", "the menu"]


@pytest.fixture(scope="module")
def tokenizer():
    return learn([TEXTS], merges=20, lowercase=True, language="en")


@pytest.fixture
def write(tmp_path, tokenizer):
    def write(batches, name="dev.source"):
        folder = tmp_path / name
        folder.mkdir()
        parts = {part: folder / f"{part}.npy" for part in ("ids", "words", "offsets")}
        encode(tokenizer, batches, **parts)
        return TokenFile.load(folder)

    return write


def test_sentences_come_back(write, tokenizer):
    tokens = write([TEXTS])
    assert len(tokens) == len(TEXTS)
    for i, text in enumerate(TEXTS):
        assert tokens.sentence(i).tolist() == tokenizer.encode(text).ids
        assert tokens.sentence(i)[-1] == EOS


def test_arrays_are_flat_and_mapped(write):
    tokens = write([TEXTS])
    assert tokens.ids.dtype == tokens.words.dtype == np.int32
    assert tokens.offsets.dtype == np.int64
    assert isinstance(tokens.ids, np.memmap)
    assert tokens.ids.shape == tokens.words.shape == (tokens.offsets[-1],)
    assert tokens.lengths.tolist() == [len(tokens.sentence(i)) for i in range(len(tokens))]


def test_sub_words_are_linked_to_words(write, tokenizer):
    tokens = write([TEXTS])
    for i, words in enumerate(["open the files , please .", "save ."]):
        span = slice(*tokens.offsets[i : i + 2])
        places = tokens.words[span]
        assert places[-1] == NO_WORD
        for place, word in enumerate(words.split()):
            assert tokenizer.decode(tokens.ids[span][places == place].tolist()) == word


def test_batches_do_not_matter(write):
    whole, parts = write([TEXTS]), write([TEXTS[:1], [], TEXTS[1:]], name="parts")
    for name in ("ids", "words", "offsets"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name))


def test_selected_sentences_are_a_token_file_of_their_own(write, tmp_path):
    tokens = write([TEXTS])
    selected = tokens.select(np.array([3, 0]))
    selected.save(tmp_path)
    for part in (selected, TokenFile.load(tmp_path)):
        assert len(part) == 2
        assert part.sentence(0).tolist() == tokens.sentence(3).tolist()
        assert part.sentence(1).tolist() == tokens.sentence(0).tolist()
        assert part.words[: part.offsets[1]].tolist() == tokens.words[tokens.offsets[3] :].tolist()


def test_no_sentences(write):
    tokens = write([])
    assert len(tokens) == 0 and tokens.lengths.size == 0
