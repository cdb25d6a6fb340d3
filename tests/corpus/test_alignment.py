"""Word alignment of parallel text."""

import numpy as np
import pandas as pd
import pytest
from tokenizers import Tokenizer

from bottomup.corpus import alignment, bpe
from bottomup.corpus.alignment import links, translations
from bottomup.corpus.tokens import TokenFile
from bottomup.corpus.word_types import Words, words_of
from tests.conftest import WORDS
from tests.tiny import tokens_of

N_TYPES = 60


def words(sentences: list[list[int]], n_types: int = N_TYPES) -> Words:
    return Words(
        np.repeat(np.arange(len(sentences)), [len(s) for s in sentences]),
        np.concatenate([np.arange(len(s)) for s in sentences]),
        np.concatenate(sentences).astype(np.int32),
        np.array([f"w{i}" for i in range(n_types)], dtype=object),
    )


@pytest.fixture(scope="module")
def parallel():
    """Sentences whose translations are known: each word by its number of another order, neighbors
    swapped at places, and some words of both sides by none. Returns both sides and the pairs of
    word numbers."""
    rng = np.random.default_rng(1)
    dictionary, pairs, before = rng.permutation(N_TYPES - 2), [], [0, 0]
    sides: list[list[list[int]]] = [[], []]
    for _ in range(600):
        source = rng.choice(N_TYPES - 2, rng.integers(3, 9), replace=False)
        order = np.arange(len(source))
        if len(order) > 4:
            order[[1, 2]] = order[[2, 1]]
        target = dictionary[source[order]].tolist()
        read, links_of = source.tolist(), {int(at): place for place, at in enumerate(order)}
        if rng.random() < 0.3:  # a word of the source that has no translation
            read = [*read, N_TYPES - 1]
        if rng.random() < 0.3:  # one of the target that translates none
            target = [N_TYPES - 2, *target]
            links_of = {at: place + 1 for at, place in links_of.items()}
        pairs += [(before[0] + at, before[1] + place) for at, place in sorted(links_of.items())]
        for side, of in enumerate((read, target)):
            sides[side].append(of)
            before[side] += len(of)
    return words(sides[0]), words(sides[1]), np.array(pairs).T


def test_links_are_those_of_a_text_whose_alignment_is_known(parallel):
    source, target, known = parallel
    found = links(source, target, 600)
    ours, right = set(map(tuple, found.T.tolist())), set(map(tuple, known.T.tolist()))
    assert len(ours & right) > 0.98 * len(ours) and len(ours & right) > 0.97 * len(right)
    # Not more than one link of a word.
    assert all(len(set(side)) == found.shape[1] for side in found)
    assert (np.diff(found[0]) > 0).all()


def test_what_does_not_come_together_has_no_frequent_translation():
    """A third word may look like a translation by chance, but not the same one again and again."""
    rng = np.random.default_rng(2)
    source, target = (
        words([rng.integers(0, N_TYPES, 6).tolist() for _ in range(400)]) for _ in range(2)
    )
    found = links(source, target, 400)
    pairs = pd.DataFrame({"of": source.types[found[0]], "by": target.types[found[1]]})
    most = pairs.value_counts().groupby("of").max()
    assert (most / np.bincount(source.types)[most.index]).mean() < 0.2


def test_the_wanted_sentences_are_linked_and_learned_from_with_the_shortest_others(
    parallel, monkeypatch
):
    source, target, known = parallel
    all_links = links(source, target, 600)
    monkeypatch.setattr(alignment, "CELLS", 4000)
    cells = alignment.cells_of(source, target, 50)
    sentences = source.sentences[cells.words[0]]
    lengths = np.bincount(source.sentences) * np.bincount(target.sentences)
    kept = np.unique(sentences)
    assert (kept[:50] == np.arange(50)).all() and len(kept) < 300
    assert len(sentences) == lengths[kept].sum() <= 4000
    left = np.setdiff1d(np.arange(600), kept)
    assert lengths[kept[50:]].max() <= lengths[left].min()
    few = links(source, target, 50)
    assert (source.sentences[few[0]] < 50).all()
    right = set(map(tuple, known.T.tolist()))
    assert np.mean([tuple(link) in right for link in few.T.tolist()]) > 0.9
    # However large the wanted part is, all of it counts.
    monkeypatch.setattr(alignment, "CELLS", 10)
    assert set(source.sentences[alignment.cells_of(source, target, 50).words[0]]) == set(range(50))
    assert few.shape[1] < all_links.shape[1]


def test_of_long_passages_words_near_the_diagonal_are_paired(monkeypatch):
    """A hundred times more pairs than are learned from; words and translations in one order."""
    read = np.random.default_rng(4).integers(0, N_TYPES, 1500).tolist()
    both = words([read, read[:700]])
    monkeypatch.setattr(alignment, "CELLS", 27_000)
    cells = alignment.cells_of(both, both, 2)
    assert 0.9 * alignment.CELLS < cells.words.shape[1] <= alignment.CELLS
    found = links(both, both, 2)
    assert (found[0] == found[1]).mean() > 0.95 and found.shape[1] > 0.9 * 2200


@pytest.mark.parametrize("lengths", [(7, 100), (100, 7), (3, 3), (1, 50), (2, 5)])
def test_however_few_pairs_there_are_each_word_is_in_one(lengths, monkeypatch):
    monkeypatch.setattr(alignment, "CELLS", 1)
    source, target = (words([[0] * length]) for length in lengths)
    read, written = alignment.cells_of(source, target, 1).words
    assert set(read) == set(range(lengths[0])) and set(written) == set(range(lengths[1]))
    assert len(read) < 2 * sum(lengths)


def test_a_diagonal_tells_apart_what_always_comes_together():
    """Two words that are only seen together, in one order, in sentences of both."""
    both = words([[0, 1, 2 + i % 5] for i in range(40)], 7)
    assert links(both, both, 40).tolist() == [[*range(120)]] * 2


def test_each_side_is_made_by_words_of_the_other(parallel):
    """Probabilities of what makes a word, and of none, add up to one."""
    source, target, _ = parallel
    cells = alignment.cells_of(source, target, 600)
    for made, side in enumerate((source, target)):
        total = np.bincount(cells.words[made], alignment.posteriors(cells, (source, target), made))
        assert len(total) == len(side.types) and (total > 0).all() and (total <= 1 + 1e-9).all()
    swapped = alignment.cells_of(target, source, 600)
    ours = alignment.posteriors(cells, (source, target), 1).sum()
    assert ours == pytest.approx(alignment.posteriors(swapped, (target, source), 0).sum())


def encoded(texts: list[str], lowercase: bool = True) -> tuple[Tokenizer, TokenFile]:
    """A tokenizer learned on texts, and these in its sub-words."""
    tokenizer = bpe.learn([texts], 4, lowercase, language="en")
    found = tokenizer.encode_batch(texts)
    words = [-1 if word is None else word for of in found for word in of.word_ids]
    offsets = np.cumsum([0, *map(len, found)])
    return tokenizer, TokenFile(np.concatenate([of.ids for of in found]), np.array(words), offsets)


def test_words_are_told_by_what_is_written():
    texts = ["open files , open doors", "files close"]
    tokenizer, text = encoded(texts)
    found = words_of(text, tokenizer)
    assert found.forms[found.types].tolist() == [*texts[0].split(), *texts[1].split()]
    assert found.sentences.tolist() == [0] * 5 + [1] * 2
    assert found.places.tolist() == [0, 1, 2, 3, 4, 0, 1]


def test_a_text_joined_to_another_is_both_in_turn():
    a, b = tokens_of([[5, 6], [7]]), tokens_of([[8], [9, 10, 11]])
    both = a.joined(b)
    assert [both.sentence(i).tolist() for i in range(4)] == [
        *(a.sentence(i).tolist() for i in range(2)),
        *(b.sentence(i).tolist() for i in range(2)),
    ]
    assert both.words.tolist() == [*a.words, *b.words]


def test_the_program_aligns_words_spelt_backwards(run_script, corpus_files, tmp_path):
    """Of the tiny corpus each word is translated by itself, spelt backwards."""
    sides = ("source", "target")
    path = tmp_path / "translations.parquet"
    arguments = [
        part
        for split in ("test", "train")
        for part in (f"--{split}", *(corpus_files.tokens / f"{split}.{side}" for side in sides))
    ]
    tokenizers = [corpus_files.tokenizer(side) for side in sides]
    settings = {"code": "any", "languages": ["en", "en"]}
    run_script(
        "align_words", settings, *arguments, "--tokenizers", *tokenizers, "--translations", path
    )  # fmt: skip
    found = pd.read_parquet(path)
    assert [*found] == ["sentence", "word", "form", "translation"]
    assert (found["translation"] == found["form"].str[::-1]).mean() > 0.95
    sentences = pd.read_parquet(corpus_files.text("test"))["source"].str.split()
    assert len(found) > 0.9 * sentences.map(len).sum()
    read = [sentences[row.sentence][row.word] for row in found.itertuples()]
    assert read == found["form"].tolist()


def test_words_and_translations_stand_side_by_side():
    """Of each sentence the target has a word more, at its start."""
    rng = np.random.default_rng(3)
    read = [rng.choice(WORDS, rng.integers(3, 7), replace=False).tolist() for _ in range(200)]
    source = encoded([" ".join(of) for of in read])
    target = encoded([" ".join(["so", *(word[::-1] for word in of)]) for of in read])
    tokenizers, texts = zip(source, target, strict=True)
    test, train = (tuple(of.select(some) for of in texts) for some in np.split(np.arange(200), [9]))
    found = translations(test, train, tokenizers, ["en", "en"])
    expected = [(i, at, word) for i, of in enumerate(read[:9]) for at, word in enumerate(of)]
    rows = [*found[["sentence", "word", "form"]].itertuples(index=False, name=None)]
    assert set(rows) <= set(expected) and len(rows) > 0.9 * len(expected)
    assert (found["translation"] == found["form"].str[::-1]).mean() > 0.95


def test_words_stand_in_the_lower_case_of_their_language():
    """Turkish has ı for I and i for İ; to English each pair is one letter, or two."""
    tokenizer, text = encoded(["IŞIK İPTAL", "İPTAL IŞIK YOK"] * 20, lowercase=False)
    found = translations((text, text), (text, text), (tokenizer, tokenizer), ["tr", "en"])
    assert set(found["form"]) == {"ışık", "iptal", "yok"}
    assert set(found["translation"]) == {"işik", "i̇ptal", "yok"}
