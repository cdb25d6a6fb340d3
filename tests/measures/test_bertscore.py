import gzip
import tracemalloc
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import sacrebleu
from scipy.stats import spearmanr
from tokenizers import Tokenizer, models, pre_tokenizers

from bottomup.core.errors import UserError
from bottomup.corpus.segmentation import MARK, marked
from bottomup.corpus.specials import EOS
from bottomup.corpus.tokens import NO_WORD, TokenFile
from bottomup.measures import bertscore as measure_of
from bottomup.training.run import save
from tests import tiny
from tests.measures.test_word_order import Made
from tests.subjects import families

TYPES = 40


def text_of(n_sentences, n_words=8, seed=0):
    """Sentences of different words of one sub-word."""
    rng = np.random.default_rng(seed)
    ids = [[*4 + rng.permutation(TYPES)[:n_words], EOS] for _ in range(n_sentences)]
    words = np.tile([*range(n_words), NO_WORD], n_sentences)
    offsets = (n_words + 1) * np.arange(n_sentences + 1)
    return TokenFile(np.concatenate(ids).astype(np.int32), words.astype(np.int32), offsets)


class OfTokens(Made):
    d_model = TYPES + 4


def one_hot(ids, lengths=None):
    return np.eye(TYPES + 4, dtype=np.float32)[ids]


def shifted(ids, lengths=None):
    return one_hot(ids) + 100


def longer(ids, lengths=None):
    return one_hot(ids) * (1 + ids[..., None])


def measured(subject, text, translations=None, count=4):
    blocks = np.arange(len(text)) % count
    rows = measure_of.bertscore(subject, text, translations, blocks, count, 1, 200)
    return pd.DataFrame(rows).set_index(["pairs", "layer", "centered"])


def test_a_layer_that_counts_words_ranks_what_is_dropped_without_error():
    """Of n words the other sentence has m: precision is 1, recall m / n."""
    text = text_of(40)
    found = measured(OfTokens(one_hot), text)
    assert found.loc["dropped", 0, False]["value"] == pytest.approx(1)
    assert found.loc["dropped", 0, False]["by_tokens"] == pytest.approx(1)
    assert found.loc["replaced", 0, False]["value"] > 0.8
    assert np.isnan(found.loc["reordered", 0, False]["value"]), "it sees no difference"
    assert (found["n"] == 40).all()


def test_lengths_do_not_count_nor_a_common_mean_that_is_taken_off():
    text = text_of(40)
    found = measured(OfTokens(one_hot, shifted, longer), text)["value"]
    [replaced] = [pairs for pairs in measure_of.graded(text, 1) if pairs.kind == "replaced"]
    mean, fs = one_hot(text.ids[~text.special]).mean(axis=0), []
    for n in range(40):
        both = [one_hot(of.sentence(n)[:-1]) - mean for of in (text, replaced.others)]
        a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in both)
        recall, precision = ((a @ b.T).max(axis=axis).mean() for axis in (1, 0))
        fs.append(2 / (1 / recall + 1 / precision))
    wanted = spearmanr(fs, replaced.scores).statistic
    assert found["replaced", 0, True] == pytest.approx(wanted)
    assert found["replaced", 1, True] == pytest.approx(wanted, abs=1e-3)
    assert found["replaced", 1, False] != pytest.approx(wanted, abs=1e-3)
    assert found["replaced", 2, False] == pytest.approx(found["replaced", 0, False])


def test_the_mean_that_is_taken_off_has_no_rounding_of_its_own():
    """A neuron that is the same everywhere is nothing once it is centered, however large it is."""

    def beside(constant):
        return lambda ids, lengths=None: np.insert(one_hot(ids), 0, constant, axis=-1)

    subject = OfTokens(beside(0), beside(1e6 + 0.3))
    subject.d_model += 1
    found = measured(subject, text_of(40))["value"]
    for kind in ("replaced", "dropped"):
        assert found[kind, 1, True] == found[kind, 0, True]


def test_what_is_new_at_each_reading_tells_nothing():
    noise = np.random.default_rng(0)
    fresh = OfTokens(lambda ids, lengths: noise.normal(size=(*ids.shape, 44)).astype(np.float32))
    found = measured(fresh, text_of(200))
    assert found.loc[["replaced", "reordered"], "value"].abs().max() < 0.25


def test_intervals_are_over_the_documents():
    text = text_of(40)
    row = measured(OfTokens(one_hot), text).loc["replaced", 0, False]
    [pairs] = [one for one in measure_of.graded(text, 1) if one.kind == "replaced"]
    alike = measure_of.overlaps(text, pairs.others).diagonal()
    kept = np.arange(40) % 4 != 2
    # The tokens of a sentence are all different; only what replaces one may come twice.
    wanted = spearmanr(alike[kept], pairs.scores[kept]).statistic
    assert row["without"][2] == pytest.approx(wanted, abs=0.03)
    assert row["without"][2] != row["value"] and row["ci_low"] < row["value"] < row["ci_high"]


def test_the_score_of_two_sentences_by_hand():
    a = np.array([[1, 0], [0, 1]], float)
    b = np.array([[1, 0], [0.6, 0.8], [-1, 0]])
    # Best for either's rows: 1 and .8; 1, .8 and 0.
    recall, precision = 0.9, 0.6
    f = 2 * recall * precision / 1.5
    assert measure_of.short_of_1(a, b) == pytest.approx(1 - f)
    assert measure_of.short_of_1(a, b) == pytest.approx(measure_of.short_of_1(b, a))
    assert measure_of.short_of_1(a, a) == 0
    assert measure_of.short_of_1(a, -b[:2]) == 1
    # A row without a direction has a cosine of 0 with all rows: recall 1/2, precision 1.
    assert measure_of.short_of_1(a * [1, 0], a[:1]) == pytest.approx(1 - 2 / 3)


def test_words_are_replaced_by_others_about_as_frequent():
    rng = np.random.default_rng(0)
    frequent = rng.choice(TYPES, p=np.arange(1, TYPES + 1) / (TYPES * (TYPES + 1) / 2), size=2000)
    ids = np.append(frequent + 4, EOS).astype(np.int32)
    words = np.append(np.arange(2000), NO_WORD)
    text = TokenFile(ids, words, np.array([0, 2001]))
    like = measure_of.LikeWords(text, rng)
    counts = Counter(ids[:-1].tolist())
    rank = {i: at for at, i in enumerate(sorted(counts, key=lambda i: (-counts[i], i)))}
    apart = [rank[ids[like(np.array([at]))[0]]] - rank[ids[at]] for at in range(2000)]
    assert 0 not in apart and {*map(abs, apart)} == {*range(1, measure_of.LIKE + 1)}


def test_the_only_word_of_a_text_stays():
    text = TokenFile(np.array([7, 7, EOS], np.int32), np.array([0, 1, NO_WORD]), np.array([0, 3]))
    like = measure_of.LikeWords(text, np.random.default_rng(0))
    assert like(np.array([1])).tolist() == [1]


def test_what_is_changed_in_a_sentence():
    words = [np.array([0, 1]), np.array([2]), np.array([3]), np.array([4])]
    some = np.array([0, 2, 3])

    def of(kind):
        found = measure_of.changed(kind, words, some, lambda word: word + 10)
        return [part.tolist() for part in found]

    assert of("replaced") == [[10, 11], [2], [13], [14]]
    assert of("dropped") == [[], [2], [], []]
    assert of("reordered") == [[4], [2], [0, 1], [3]]
    text = text_of(30)
    for pairs in measure_of.graded(text, 1):
        same = [
            np.mean([i in pairs.others.sentence(n) for i in text.sentence(n)[:-1]])
            for n in range(30)
        ]
        assert pairs.scores.min() == 1 / 8 and pairs.scores.max() == 6 / 8
        if pairs.kind == "dropped":
            assert same == pytest.approx([*pairs.scores])
            assert [*pairs.others.lengths - 1] == pytest.approx([*8 * pairs.scores])
        else:
            assert (pairs.others.lengths == 9).all()


def test_what_has_more_tokens_than_a_model_reads_is_cut_before_its_end():
    text = text_of(30)
    most = int(text.lengths.max()) - 2
    whole = {pairs.kind: pairs.others for pairs in measure_of.graded(text, 1)}
    for pairs in measure_of.graded(text, 1, most):
        for n in range(len(text)):
            cut, before = pairs.others.sentence(n), whole[pairs.kind].sentence(n)
            assert len(cut) == min(most, len(before))
            assert cut[-1] == before[-1] == EOS and (cut[:-1] == before[: len(cut) - 1]).all()


def test_sentences_with_most_tokens_in_common_and_how_alike_their_translations_are():
    sentences = [[4, 5, 6, 7], [4, 5, 6, 8], [9, 10, 11, 12, 8], [9, 10, 8, 8, 8]]
    ids = np.concatenate([[*some, EOS] for some in sentences])
    text = TokenFile(ids, np.zeros(len(ids)), np.cumsum([0, *(len(s) + 1 for s in sentences)]))
    shared = [
        [2 * len({*a} & {*b}) / (len({*a}) + len({*b})) for b in sentences] for a in sentences
    ]
    np.testing.assert_allclose(measure_of.overlaps(text, text), shared, rtol=1e-6)
    said = ["Eine Zeile", "eine zeile", "Zwei Wörter", "zwei andere Wörter"]
    found = measure_of.translated(text, said, 1)
    # Each is the nearest of the other, so their pair counts once.
    assert found.numbers.tolist() == [[0, 1], [2, 3]]
    for side, wanted in ((found.text, (0, 2)), (found.others, (1, 3))):
        assert [side.sentence(n).tolist()[:-1] for n in (0, 1)] == [sentences[n] for n in wanted]
    both = [(said[2], said[3]), (said[3], said[2])]
    chrf = [sacrebleu.sentence_chrf(a.lower(), [b.lower()]).score for a, b in both]
    assert found.scores.tolist() == pytest.approx([100, np.mean(chrf)])


def test_tokens_in_common_take_no_room_for_those_that_no_sentence_has():
    """As of a vocabulary of 250,000, of which a text has a few."""
    text = text_of(40)
    rare = TokenFile(text.ids * 5000, text.words, text.offsets, text.special)
    tracemalloc.start()
    assert (measure_of.overlaps(rare, rare) == measure_of.overlaps(text, text)).all()
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def test_of_sentences_that_are_as_near_one_is_drawn():
    ids = np.tile([4, 5, 6, EOS], 30)
    text = TokenFile(ids, np.zeros(120), np.arange(0, 121, 4))
    first, again, other = (
        measure_of.translated(text, ["Wort"] * 30, seed).numbers.tolist() for seed in (1, 1, 2)
    )
    assert first == again != other


def test_a_pair_of_two_documents_is_left_out_with_either():
    text, rng = text_of(30), np.random.default_rng(5)
    said = ["".join(rng.choice([*"abcdef "], 20)) for _ in range(30)]
    row = measured(OfTokens(longer), text, said).loc["translation", 0, False]
    pairs = measure_of.translated(text, said, 1)
    fs = [
        -measure_of.short_of_1(
            *(measure_of._unit(longer(side.sentence(n)[:-1])) for side in pairs[1:3])
        )
        for n in range(len(pairs.scores))
    ]
    blocks = pairs.numbers % 4
    assert row["n"] == len(fs) < 30 and (blocks[:, 0] != blocks[:, 1]).any()
    for block, value in enumerate(row["without"]):
        held = (blocks != block).all(axis=1)
        expected = spearmanr(np.array(fs)[held], pairs.scores[held]).statistic
        assert value == pytest.approx(expected)


def test_one_large_neuron_costs_no_digits():
    rng = np.random.default_rng(1)
    a, b = (rng.normal(size=(6, 64)).astype(np.float32) for _ in range(2))
    large = np.zeros(64, dtype=np.float32)
    large[3] = 3e4
    # The cosine is short of 1 by half the squared distance of the other neurons, over the large
    # square: these are angles.
    x, y = (np.delete(some, 3, axis=1).astype(float) for some in (a, b))
    apart = np.square(x[:, None] - y).sum(2) / 2 / 3e4**2
    expected = (apart.min(axis=1).mean() + apart.min(axis=0).mean()) / 2
    found = measure_of.short_of_1(*map(measure_of._unit, (a + large, b + large)))
    assert found == pytest.approx(expected, rel=1e-2)


def test_a_sentence_of_which_a_tokenizer_leaves_nothing_is_like_none():
    rows = np.ones((3, 4))
    assert measure_of.short_of_1(rows, rows[:0]) == measure_of.short_of_1(rows[:0], rows) == 1


def test_what_differs_by_rounding_alone_has_no_ranks():
    """A model that is told no order gives the same words in another order."""
    rng = np.random.default_rng(1)
    rows = measure_of._unit(rng.normal(size=(30, 64)))
    orders = [rng.permutation(30) for _ in range(50)]
    assert {measure_of.short_of_1(rows, rows[order]) for order in orders} == {0.0}


def test_what_a_model_without_positions_reads_in_another_order_has_no_ranks():
    """States of the same words differ by rounding in float32, as matrix products have it."""
    noise = np.random.default_rng(0)

    def rounded(ids, lengths=None):
        states = one_hot(ids)
        return (states * (1 + 1e-7 * noise.normal(size=states.shape))).astype(np.float32)

    found = measured(OfTokens(rounded), text_of(60))["value"]
    assert found["reordered"].isna().all() and found["replaced"].notna().all()


def test_rank_correlation_with_ties_and_without_spread():
    rng = np.random.default_rng(0)
    a, b = rng.integers(6, size=(2, 50))
    assert measure_of.spearman(a, b) == pytest.approx(spearmanr(a, b).statistic)
    assert np.isnan(measure_of.spearman(a, np.ones(50)))


def test_two_pairs_have_no_rank_correlation():
    """It would be -1 or 1 whatever they are; of three it can be others."""
    assert np.isnan(measure_of.spearman(np.array([1, 2]), np.array([3, 5])))
    assert measure_of.spearman(np.array([1, 2, 3]), np.array([3, 5, 4])) == 0.5


def test_rated_pairs_are_read_and_dealt_to_blocks_in_turn(tmp_path):
    tokenizer = Tokenizer(models.WordLevel({f"w{i}": i for i in range(44)}, "w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    subject = OfTokens(one_hot)
    subject.tokenizer, subject.max_length = tokenizer, None
    lines = []
    for i in range(12):
        a, b = f"w{10 + i} w9 w8 w7", f"w{10 + i} w9 w{30 + i} {'w7' if i % 3 else 'w5'}"
        lines.append(f"{a}\t{b}\t{i % 3}.5")
    (tmp_path / "rated.tsv").write_text("\n".join(lines))
    of_people = measure_of.ratings(tmp_path / "rated.tsv", "en")
    assert of_people[4] == ("w14 w9 w8 w7", "w14 w9 w34 w7", 1.5)
    text, blocks = text_of(4), np.zeros(4, dtype=int)
    rows = measure_of.bertscore(subject, text, None, blocks, 5, 1, 200, of_people=of_people)
    row = next(row for row in rows if row["pairs"] == "rated")
    assert row["n"] == 12
    alike, scores = np.arange(12) % 3 > 0, np.arange(12) % 3
    assert row["value"] == row["by_tokens"] == pytest.approx(spearmanr(alike, scores).statistic)
    kept = np.arange(12) % 5 != 1
    assert row["without"][1] == pytest.approx(spearmanr(alike[kept], scores[kept]).statistic)


@pytest.mark.parametrize(
    "line", ["one\ttwo", "one\ttwo\tthree", "a\tb\t1\t2", "", "a\tb\tnan", "a\t \t1"]
)
def test_a_line_that_is_no_rating(tmp_path, line):
    (tmp_path / "rated.tsv").write_text(f"a\tb\t3\n{line}\n")
    with pytest.raises(UserError, match="allowed: two sentences and a number") as raised:
        measure_of.ratings(tmp_path / "rated.tsv", "en")
    (tmp_path / "nothing.tsv").touch()
    with pytest.raises(UserError, match=r"nothing\.tsv is empty"):
        measure_of.ratings(tmp_path / "nothing.tsv", "en")
    assert "line 2: found" in str(raised.value) and "\n" not in str(raised.value)


COLUMNS = [
    *("objective", "seed", "pairs", "layer", "centered", "value", "ci_low", "ci_high"),
    *("by_tokens", "n"),
]


@pytest.mark.parametrize("languages", [1, 2])
def test_the_program_measures_a_run(measure, corpus_files, tmp_path, languages):
    vocab = len(pd.read_csv(corpus_files.frequencies)) + 4
    save(tiny.drawn("lm", vocab=vocab), corpus_files.tokenizers("lm"), tmp_path / "model")
    lines = ("a big cat\told kings eat\t1", "five cats\tfive dogs\t3", "old kings\tkings\t2")
    (tmp_path / "rated.tsv").write_text("\n".join(lines))
    rated = {"ratings": tmp_path / "rated.tsv"} if languages == 2 else {}
    columns = ["source", "target"][:languages]
    pairs = pd.read_parquet(corpus_files.text("test"))[columns]
    pairs.to_parquet(tmp_path / "test.parquet")
    measure(
        "bertscore",
        {"objective": "lm", "seed": 1},
        {"sentences": 100, "seed": 1, "language": "en"},
        model=tmp_path / "model",
        text=corpus_files.tokens / "test.source",
        blocks=corpus_files.blocks("test"),
        pairs=tmp_path / "test.parquet",
        **rated,
        table=tmp_path / "table.csv",
        batch_tokens=40,
    )
    table = pd.read_csv(tmp_path / "table.csv")
    assert list(table) == COLUMNS
    kinds = ["rated", "translation"] if languages == 2 else []
    kinds += ["replaced", "dropped", "reordered"]
    assert [*dict.fromkeys(table["pairs"])] == kinds and len(table) == len(kinds) * 3 * 2
    assert table["value"].between(-1, 1).all()
    assert table.query("pairs == 'dropped'")["value"].min() > 0.5


@pytest.mark.on_a_gpu("measure bertscore")
def test_a_checkpoint_reads_its_own_tokens(measure, tmp_path):
    texts = ["w3 w4 w5 w6 w7", "w6 w7 w8 w9 w3 w4", "w8 w9 w3 w4 w5 w6"] * 4 + ["w3 w4"]
    tiny.written(tmp_path, texts, target=texts)
    np.save(tmp_path / "blocks.npy", (np.arange(13) % 4).astype(np.int8))
    measure(
        "bertscore",
        {"objective": "bert", "seed": 0},
        {"sentences": 100, "seed": 1, "language": "en"},
        model=families.save(families.FAMILIES["bert"], tmp_path / "model"),
        text=tmp_path / "test.parquet",
        blocks=tmp_path / "blocks.npy",
        pairs=tmp_path / "test.parquet",
        written=[tmp_path / "test.parquet", tmp_path / "words.json"],
        table=tmp_path / "table.csv",
    )
    table = pd.read_csv(tmp_path / "table.csv")
    assert list(table) == COLUMNS
    # The thirteenth is too short; of the nearest of each, some are the same pair.
    graded = table["pairs"] != "translation"
    assert (table.loc[graded, "n"] == 12).all() and table.loc[~graded, "n"].between(6, 12).all()
    assert set(table["layer"]) == {*range(families.LAYERS + 1)}


def test_rated_sentences_are_lines_as_elsewhere(tmp_path):
    """A file with a mark of its encoding; compressed; with a line break that ends no line; and in
    words where these have no spaces between them."""
    text = "\ufeff请单击“文件”\u2028菜单。\t菜单\t2\r\n".encode()
    (tmp_path / "rated.tsv").write_bytes(gzip.compress(text))
    [(a, b, score)] = measure_of.ratings(tmp_path / "rated.tsv", "zh")
    assert (a, b, score) == (marked("请单击“文件” 菜单。", "zh"), "菜单", 2)
    assert MARK in a
    (tmp_path / "rated.tsv").write_bytes("é\tb\t1\n".encode("latin-1"))
    with pytest.raises(UserError, match="line 1 is not UTF-8"):
        measure_of.ratings(tmp_path / "rated.tsv", "en")
