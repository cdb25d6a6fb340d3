import numpy as np
import pandas as pd
import pytest

from bottomup import objectives
from bottomup.corpus.specials import EOS, MASK, N_SPECIAL, UNK
from bottomup.corpus.tokens import TokenFile
from bottomup.views.occurrences import as_trained, plain, sample_sentences, unknown_apart
from tests.tiny import plausible, random_tokens, tokens_of

HAND = tokens_of([[5, 6, 7], [8], [9, 5]])
COLUMNS = ["text", "sentence", "position", "input_id", "output_id", "kind"]
COLUMNS += ["rank", "left_id", "right_id"]
# Ids 4 to 49 are in the text; 50 to 99 are not, and the last two of them are labels.
VOCAB, LABELS = 100, np.array([98, 99])
RANKS = np.arange(VOCAB) * 10
MLM = objectives.load("mlm", {"choose": 0.15, "mask": 0.8, "replace": 0.1})


@pytest.fixture(scope="module")
def tokens():
    return random_tokens(3000, low=2, high=20, vocab=50)


@pytest.fixture(scope="module")
def reading(tokens):
    return corrupted(tokens)


def corrupted(tokens, draws=2, seed=1, objective=MLM, labels=LABELS):
    sentences = np.arange(len(tokens))
    return as_trained(tokens, sentences, RANKS, objective, len(RANKS), draws, labels, seed)


# The sample


@pytest.mark.parametrize("n", [1, 17, 1000, 20_000])
def test_whole_sentences_until_there_are_enough(tokens, n):
    sentences = sample_sentences(tokens, n, seed=1)
    assert len(set(sentences)) == len(sentences)
    assert (np.diff(sentences) > 0).all()
    sizes = tokens.lengths[sentences] - 1
    # One sentence fewer, whichever came last, would not do.
    assert n <= sizes.sum() < n + 20
    table = plain(tokens, sentences, RANKS).table
    assert len(table) == sizes.sum()


def test_sample_is_of_all_the_text(tokens):
    """Not of its beginning: a third is drawn, evenly from the three thirds."""
    sentences = sample_sentences(tokens, 11_000, seed=1)
    thirds = np.bincount(sentences // 1000, minlength=3)
    assert all(plausible(count, len(sentences), 1 / 3) for count in thirds)


def test_positions_in_a_passage_however_long():
    passage = tokens_of([[5] * 40_000])
    positions = plain(passage, np.array([0]), RANKS).table["position"]
    assert positions.tolist() == [*range(40_000)]


def test_too_little_text_is_taken_whole():
    assert sample_sentences(HAND, 6, seed=1).tolist() == [0, 1, 2]
    assert sample_sentences(HAND, 1000, seed=1).tolist() == [0, 1, 2]


def test_seed_decides_the_sample(tokens):
    first, again, other = (sample_sentences(tokens, 1000, seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


# Plain


def test_plain_by_hand():
    ranks = np.zeros(10, dtype=np.int32)
    ranks[[5, 6, 7, 8, 9]] = [1, 2, 3, 4, 5]
    reading = plain(HAND, np.array([0, 1, 2]), ranks)
    rows = [
        [0, 0, 0, 5, 6, "plain", 1, EOS, 6],
        [0, 0, 1, 6, 7, "plain", 2, 5, 7],
        [0, 0, 2, 7, EOS, "plain", 3, 6, EOS],
        [1, 1, 0, 8, EOS, "plain", 4, EOS, EOS],
        [2, 2, 0, 9, 5, "plain", 5, EOS, 5],
        [2, 2, 1, 5, EOS, "plain", 1, 9, EOS],
    ]
    assert [*reading.table] == COLUMNS
    assert reading.table.to_numpy().tolist() == rows
    assert np.array_equal(reading.text.ids, HAND.ids)


def test_plain_of_some_sentences():
    """`sentence` counts in the split, `text` in what is read."""
    reading = plain(HAND, np.array([0, 2]), np.zeros(10, dtype=int))
    assert reading.table["sentence"].tolist() == [0, 0, 0, 2, 2]
    assert reading.table["text"].tolist() == [0, 0, 0, 1, 1]
    assert reading.table["left_id"].tolist() == [EOS, 5, 6, EOS, 9]
    assert reading.text.ids.tolist() == [5, 6, 7, EOS, 9, 5, EOS]


def test_the_end_of_a_sentence_is_no_occurrence(tokens, reading):
    for table in (plain(tokens, np.arange(3000), RANKS).table, reading.table):
        assert (table["input_id"] != EOS).all()
        assert (table["position"] < 20).all()


# As trained


def natural(reading):
    """The passes of which all is as in training: the first two over the 3,000 sentences."""
    return reading.table[reading.table["text"] < 2 * 3000]


def test_rows_are_the_positions_read_as_another_token(tokens, reading):
    table = reading.table
    assert [*table] == COLUMNS
    index = reading.text.offsets[table["text"]] + table["position"]
    original = tokens.ids[tokens.offsets[table["sentence"]] + table["position"]]
    assert np.array_equal(table["input_id"], reading.text.ids[index])
    assert np.array_equal(table["output_id"], original)
    assert np.array_equal(table["rank"], RANKS[original])
    assert (table["input_id"] != table["output_id"]).all()
    # In passes of their own kind, every such position is a row.
    end = reading.text.offsets[2 * 3000]
    whole = tokens.select(np.tile(np.arange(3000), 2)).ids
    changed = np.flatnonzero(reading.text.ids[:end] != whole)
    assert np.array_equal(index[: len(changed)], changed)


def test_neighbors_are_those_of_the_original_text(tokens, reading):
    table = reading.table
    index = tokens.offsets[table["sentence"]] + table["position"]
    assert np.array_equal(
        table["left_id"][table["position"] > 0], tokens.ids[index - 1][table["position"] > 0]
    )
    assert (table["left_id"][table["position"] == 0] == EOS).all()
    assert np.array_equal(table["right_id"], tokens.ids[index + 1])


def test_kinds_are_what_is_read(reading):
    table = reading.table
    assert set(table["kind"]) == {"masked", "replaced", "drawn"}
    assert ((table["kind"] == "masked") == (table["input_id"] == MASK)).all()
    assert (table["input_id"][table["kind"] == "replaced"] >= N_SPECIAL).all()
    assert table["input_id"][table["kind"] == "drawn"].isin(LABELS).all()
    assert ((table["kind"] == "drawn") == (table["text"] >= 2 * 3000)).all()


def test_shares_are_those_of_training(tokens, reading):
    inputs = natural(reading)["input_id"]
    n = 2 * int((tokens.lengths - 1).sum())
    assert plausible(int((inputs == MASK).sum()), n, 0.15 * 0.8)
    # A replacement is one of the 96 words, of which one is the token itself.
    assert plausible(int((inputs != MASK).sum()), n, 0.15 * 0.1 * 95 / 96)


def test_a_position_drawn_is_the_one_occurrence_of_its_sentence(reading, tokens):
    drawn = reading.table[reading.table["kind"] == "drawn"]
    assert len(drawn) == 2 * 3000 == drawn["text"].nunique()
    assert plausible(int((drawn["input_id"] == 98).sum()), len(drawn), 0.5)
    # Each of all positions is as likely, so a sentence is as likely as it is long.
    sizes = tokens.lengths - 1
    assert plausible(int((drawn["position"] == 0).sum()), len(drawn), 3000 / sizes.sum())
    long = sizes > 10
    expected = sizes[long].sum() / sizes.sum()
    assert plausible(int(long[drawn["sentence"]].sum()), len(drawn), expected)


def test_around_a_position_drawn_all_is_as_in_training(reading, tokens):
    drawn = reading.table[reading.table["kind"] == "drawn"]
    start = reading.text.offsets[2 * 3000]
    others = np.ones(len(reading.text.ids) - start, dtype=bool)
    others[reading.text.offsets[drawn["text"]] + drawn["position"] - start] = False
    others &= reading.text.ids[start:] != EOS
    masks = (reading.text.ids[start:] == MASK) & others
    assert plausible(int(masks.sum()), int(others.sum()), 0.15 * 0.8)


def test_a_label_drawn_where_it_stands_is_no_change():
    """In a text of one word, which is one of the two labels."""
    masks_only = objectives.load("mlm", {"mask": 1.0, "replace": 0.0})
    table = corrupted(tokens_of([[98] * 5] * 400), objective=masks_only).table
    drawn = table["input_id"][table["kind"] == "drawn"]
    assert (drawn == 99).all()
    assert plausible(len(drawn), 2 * 400, 0.5)


def test_draws_differ(reading):
    table = natural(reading)
    first, second = (table[table["text"] // 3000 == draw] for draw in (0, 1))
    places = [set(zip(t["sentence"], t["position"], strict=True)) for t in (first, second)]
    assert 0 < len(places[0] & places[1]) < 0.3 * len(places[0])


def test_seed_decides_the_corruption(tokens, reading):
    again, other = corrupted(tokens), corrupted(tokens, seed=2)
    pd.testing.assert_frame_equal(again.table, reading.table)
    assert np.array_equal(again.text.ids, reading.text.ids)
    assert not np.array_equal(other.text.ids, reading.text.ids)


# The program


@pytest.mark.parametrize("name", ["plain", "as_trained"])
def test_program(tmp_path, corpus_files, run_script, name):
    settings = {"n": 60, "seed": 1, "masked": None, "code": "digest"}
    if name == "as_trained":
        masked = {"draws": 3, "n_tokens": 5, "module": "mlm", "options": MLM.model_dump()}
        settings["masked"] = masked
    run_script(
        "draw_occurrences",
        settings,
        *("--tokens", corpus_files.tokens / "test.source"),
        *("--blocks", corpus_files.blocks("test"), "--frequencies", corpus_files.frequencies),
        *("--table", tmp_path / "occurrences.parquet", "--text", tmp_path),
    )
    table, text = pd.read_parquet(tmp_path / "occurrences.parquet"), TokenFile.load(tmp_path)
    assert [*table] == [*COLUMNS, "block"]
    blocks = np.load(corpus_files.blocks("test"))
    assert np.array_equal(table["block"], blocks[table["sentence"]])
    index = text.offsets[table["text"]] + table["position"]
    assert np.array_equal(text.ids[index], table["input_id"])
    ranks = pd.read_csv(corpus_files.frequencies).set_index("token_id")["rank"]
    original = table["input_id"] if name == "plain" else table["output_id"]
    assert np.array_equal(table["rank"], ranks[original])
    if name == "plain":
        assert 60 <= len(table) < 70
    else:
        drawn = table[table["kind"] == "drawn"]
        assert len(drawn) and (ranks[drawn["input_id"]] <= 5).all()


def test_the_program_draws_by_its_seed_as_often_as_it_is_told(tmp_path, corpus_files, run_script):
    tokens = TokenFile.load(corpus_files.tokens / "test.source")
    frequencies = pd.read_csv(corpus_files.frequencies, keep_default_na=False)
    ranks = np.full(N_SPECIAL + len(frequencies), len(frequencies) + 1)
    ranks[frequencies["token_id"]] = frequencies["rank"]
    most = frequencies["token_id"].to_numpy()[:5]
    for seed, draws in ((1, 3), (2, 1)):
        masked = {"draws": draws, "n_tokens": 5, "module": "mlm", "options": MLM.model_dump()}
        run_script(
            "draw_occurrences",
            {"n": 60, "seed": seed, "masked": masked},
            *("--tokens", corpus_files.tokens / "test.source"),
            *("--blocks", corpus_files.blocks("test"), "--frequencies", corpus_files.frequencies),
            *("--table", tmp_path / "occurrences.parquet", "--text", tmp_path),
        )
        found = pd.read_parquet(tmp_path / "occurrences.parquet").drop(columns="block")
        sentences = sample_sentences(tokens, 60, seed)
        expected = as_trained(
            *(tokens, sentences, ranks, MLM, len(ranks), draws), label_ids=most, seed=seed
        )
        pd.testing.assert_frame_equal(found, expected.table, check_dtype=False)


def test_in_the_program_unknown_tokens_are_rarer_than_all(tmp_path, corpus_files, run_script):
    tokens_of([[UNK, N_SPECIAL, N_SPECIAL]]).save(tmp_path)
    np.save(tmp_path / "blocks.npy", np.zeros(1, np.int8))
    run_script(
        "draw_occurrences",
        {"n": 3, "seed": 1, "masked": None},
        *("--tokens", tmp_path, "--blocks", tmp_path / "blocks.npy"),
        *("--frequencies", corpus_files.frequencies),
        *("--table", tmp_path / "occurrences.parquet", "--text", tmp_path),
    )
    ranks = pd.read_parquet(tmp_path / "occurrences.parquet")["rank"]
    assert ranks[0] == pd.read_csv(corpus_files.frequencies)["rank"].size + 1 > ranks[1]


def test_unknown_words_are_not_one_another():
    words = pd.DataFrame({"input_id": [5, UNK, UNK, 5], "left_id": [EOS, 5, UNK, UNK]})
    found = unknown_apart(words.assign(kind="plain"))
    assert found["input_id"].tolist() == [5, -2, -3, 5]
    assert found["left_id"].tolist() == [EOS, 5, -3, -4]
    assert [*found] == [*words, "kind"]


def test_a_mark_of_an_objectives_own_hides_a_token(tmp_path, corpus_files, run_script, marked):
    masked = {"draws": 3, "n_tokens": 5, "module": marked, "options": {}}
    run_script(
        "draw_occurrences",
        {"n": 60, "seed": 1, "masked": masked},
        *("--tokens", corpus_files.tokens / "test.source"),
        *("--blocks", corpus_files.blocks("test"), "--frequencies", corpus_files.frequencies),
        *("--table", tmp_path / "occurrences.parquet", "--text", tmp_path),
    )
    found = pd.read_parquet(tmp_path / "occurrences.parquet").groupby("kind")["input_id"]
    assert set(found.groups) == {"masked", "drawn"}
    assert set(found.get_group("masked")) == {corpus_files.vocab}
