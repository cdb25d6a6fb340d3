import numpy as np
import pytest

from bottomup.core.errors import UserError
from bottomup.corpus.bpe import learn
from bottomup.corpus.encoding import encode
from bottomup.corpus.specials import EOS
from bottomup.corpus.tokens import NO_WORD, TokenFile

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


def float_ids(files):
    np.save(files["ids"], np.load(files["ids"]).astype(np.float32))


def longer_ids(files):
    np.save(files["ids"], np.append(np.load(files["ids"]), np.int32(EOS)))


def shorter_words(files):
    np.save(files["words"], np.load(files["words"])[:-1])


def other_offsets(files):
    offsets = np.load(files["offsets"])
    np.save(files["offsets"], np.append(offsets[:-2] - [0, *[1] * (len(offsets) - 3)], offsets[-1]))


def falling_offsets(files):
    np.save(files["offsets"], np.load(files["offsets"])[[0, 2, 1, 3, 4]])


def no_offsets(files):
    np.save(files["offsets"], np.zeros(0, np.int64))


def a_negative_id(files):
    ids = np.load(files["ids"])
    ids[0] = -5
    np.save(files["ids"], ids)


def a_column(files):
    np.save(files["words"], np.load(files["words"])[:, None])


def a_pickle(files):
    np.save(files["ids"], np.array([print], dtype=object), allow_pickle=True)


def no_array(files):
    files["words"].write_bytes(b"PK\3\4 no array")


def broken_header(files):
    files["words"].write_bytes(files["words"].read_bytes().replace(b"(", b" "))


def cut_off(files):
    files["words"].write_bytes(files["words"].read_bytes()[:-1])


def empty(files):
    files["offsets"].write_bytes(b"")


def missing(files):
    files["offsets"].unlink()


DAMAGES = {
    float_ids: r"ids\.npy is damaged: float32",
    longer_ids: r"tokens in ids\.npy and .* in words\.npy",
    shorter_words: r"tokens in ids\.npy and .* in words\.npy",
    other_offsets: r"the 4 of offsets\.npy do not cut",
    falling_offsets: r"the 5 of offsets\.npy do not cut",
    no_offsets: r"the 0 of offsets\.npy do not cut",
    a_negative_id: r"do not cut",
    a_column: r"words\.npy is damaged: int32 of shape \(\d+, 1\)",
    a_pickle: r"ids\.npy is damaged",
    no_array: r"words\.npy is damaged",
    broken_header: r"words\.npy is damaged",
    cut_off: r"words\.npy is damaged",
    empty: r"offsets\.npy is damaged",
    missing: r"offsets\.npy cannot be opened",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_files_that_are_damaged_or_do_not_fit_are_an_error_that_names_them(write, damage, tmp_path):
    write([TEXTS])
    damage({part: tmp_path / f"dev.source/{part}.npy" for part in ("ids", "words", "offsets")})
    with pytest.raises(UserError, match=DAMAGES[damage]) as error:
        TokenFile.load(tmp_path / "dev.source")
    assert "\n" not in str(error.value) and str(tmp_path / "dev.source") in str(error.value)


def test_no_sentences(write):
    tokens = write([])
    assert len(tokens) == 0 and tokens.lengths.size == 0
