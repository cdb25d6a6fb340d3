"""Neighbors that share a translation, on made-up words whose answer is known."""

import numpy as np
import pandas as pd
import pytest

from bottomup.measures import senses
from bottomup.measures.null import PERMUTED, Permutations, calibrated
from bottomup.measures.senses import Word, estimates, related, senses_of, shared, words

COUNT, K = 6, 3
RNG = np.random.default_rng()


@pytest.fixture(autouse=True)
def drawn_alike(monkeypatch):
    """Whichever tests run before."""
    monkeypatch.setitem(globals(), "RNG", np.random.default_rng(7))


def word(n: int, start: int, minority: int | None = None, by_next: float = 0.0) -> Word:
    """A word with two senses, in `COUNT` blocks; `by_next`: how often the next token tells it."""
    senses = np.arange(n) % 2 if minority is None else (np.arange(n) < minority).astype(int)
    senses = RNG.permutation(senses)
    tells = RNG.random(n) < by_next
    right = np.where(tells, senses, RNG.integers(0, 2, n)) + 2 * RNG.integers(0, 4, n)
    blocks, left = RNG.permutation(np.arange(n) % COUNT), RNG.integers(0, 8, n)
    return Word(np.arange(start, start + n), senses, blocks, left, right)


def some(n_words: int = 8, n: int = 24, **options) -> list[Word]:
    return [word(n, n * i, **options) for i in range(n_words)]


def view_of(found: list[Word], label: str, noise: float = 0.1) -> np.ndarray:
    """Vectors that tell a label of each word and nothing else."""
    vectors = RNG.standard_normal((10, 5))
    n = max(word.rows.max() for word in found) + 1
    view = noise * RNG.standard_normal((n, 5))
    for word in found:
        view[word.rows] += vectors[getattr(word, label)]
    return view


def values(view: np.ndarray, found: list[Word], **options) -> dict[str, dict]:
    rows = estimates(view, found, COUNT, K, device="cpu", **options)
    return {row["property"]: row for row in rows}


def test_senses_planted_in_one_layer_are_found_there_alone():
    found = some()
    planted, none = view_of(found, "senses"), RNG.standard_normal((8 * 24, 5))
    for name in ("translation", "translation_apart"):
        row = values(planted, found)[name]
        assert row["value"] == pytest.approx(1) and row["n"] == 8
        assert 0.4 < row["chance"] < 0.5
    row = values(none, found)["translation"]
    assert row["ci_low"] < 0 < row["ci_high"] and abs(row["value"]) < 0.1
    assert values(planted, found)["right_token"]["value"] < 0.1


def test_a_word_that_is_grouped_by_the_next_token_alone():
    """Where the next token says nothing of the sense, neighbors do not share it; where it does,
    they do, but not among those of another next token."""
    found = some()
    row = values(view_of(found, "right"), found)
    assert row["right_token"]["value"] > 0.6 and abs(row["translation"]["value"]) < 0.15
    found = some(n=48, by_next=1.0)
    row = values(view_of(found, "right"), found)
    assert row["translation"]["value"] > 0.9
    assert abs(row["translation_apart"]["value"]) < 0.2
    # A layer that holds the sense has it in both.
    assert values(view_of(found, "senses"), found)["translation_apart"]["value"] > 0.9


def test_a_frequent_translation_alone_is_no_knowledge():
    found = some(n=40, n_words=30, minority=6)
    row = values(RNG.standard_normal((30 * 40, 5)), found)["translation"]
    assert row["ci_low"] < 0 < row["ci_high"] and abs(row["value"]) < 0.06
    assert 0.4 < row["chance"] < 0.5  # the mean of about 5 of 39 and 33 of 39
    assert values(view_of(found, "senses", 0.01), found)["translation"]["value"] > 0.95


def test_what_a_block_repeats_is_no_neighbor():
    """Each block has one sense and a vector of its own: nothing to find in other blocks."""
    found = some(n_words=20, n=30)
    for of_word in found:
        of_word.senses[:] = of_word.blocks % 2
    view = np.zeros((20 * 30, 40))
    for of_word in found:
        own = RNG.standard_normal((COUNT, 40))
        view[of_word.rows] = own[of_word.blocks] + 1e-3 * RNG.standard_normal((30, 40))
    assert abs(values(view, found)["translation"]["value"]) < 0.25
    # What other blocks have, too, is.
    view = view_of(found, "senses")
    assert values(view, found)["translation"]["value"] > 0.8


def by_hand(view: np.ndarray, found: list[Word], label: str, apart: bool, without=None) -> float:
    """The value, step by step."""
    shares, chances = [], []
    for one in found:
        kept = [i for i in range(len(one.rows)) if one.blocks[i] != without]
        of_sense: dict[int, list[tuple[float, float]]] = {}
        for i in kept:
            others = [
                j
                for j in kept
                if one.blocks[j] != one.blocks[i]
                and not (apart and one.left[j] == one.left[i])
                and not (apart and one.right[j] == one.right[i])
            ]
            if not others:
                continue
            x = view[one.rows[i]]
            cosines = {
                j: x @ view[one.rows[j]] / np.linalg.norm(x) / np.linalg.norm(view[one.rows[j]])
                for j in others
            }
            near = sorted(others, key=lambda j: -cosines[j])[:K]
            labels = getattr(one, label)
            share = np.mean([labels[j] == labels[i] for j in near])
            chance = np.mean([labels[j] == labels[i] for j in others])
            of_sense.setdefault(one.senses[i], []).append((share, chance))
        if of_sense:
            share, chance = np.mean([np.mean(each, axis=0) for each in of_sense.values()], axis=0)
            shares.append(share)
            chances.append(chance)
    return (np.mean(shares) - np.mean(chances)) / (1 - np.mean(chances))


def test_values_and_those_without_a_block_are_those_worked_out_step_by_step():
    found = [word(14, 0), word(20, 14, minority=5), word(9, 34), word(12, 43), word(30, 55)]
    view = RNG.standard_normal((85, 4)) + view_of(found, "senses")[:, :4]
    rows = values(view, found)
    cases = {
        "translation": ("senses", False),
        "right_token": ("right", False),
        "translation_apart": ("senses", True),
    }
    assert [*rows] == [*cases]
    for name, case in cases.items():
        assert rows[name]["value"] == pytest.approx(by_hand(view, found, *case))
        without = [by_hand(view, found, *case, block) for block in range(COUNT)]
        assert rows[name]["without"] == pytest.approx(without)


def test_shares_of_four_occurrences_by_hand():
    """Occurrences 0 and 1 have sense 0, 2 and 3 sense 1; 1 and 2 are of one block."""
    near = np.array([[1, 2, 3], [2, 0, 3], [1, 3, 0], [2, 1, 0]])
    blocks, senses = np.array([0, 1, 1, 2]), np.array([[0], [0], [1], [1]])
    allowed = blocks[:, None] != blocks
    held = np.ones((4, 1), dtype=bool)
    share, chance, n = shared(near, allowed, senses, senses, held, 1)[:, 0]
    # The nearest in other blocks are 1, 0, 3, 2.
    assert (share, chance, n) == (1, pytest.approx((1 / 3 + 1 / 2 + 1 / 2 + 1 / 3) / 4), 1)
    share, *_ = shared(near, allowed, senses, senses, held, 2)[:, 0]
    assert share == 0.5
    # No occurrence has a neighbor.
    assert shared(near, allowed & False, senses, senses, held, 1).tolist() == [[0], [0], [0]]


def test_translations_permuted_within_the_word():
    found = some(n=20)
    many = Permutations(63, 1)

    def row_of(view):
        rows = [*estimates(view, found, COUNT, K, many, device="cpu")]
        permuted = {row["property"]: row[PERMUTED].values for row in rows}
        return {row["property"]: row for row in calibrated(rows, ("property",))}, permuted

    rows, permuted = row_of(view_of(found, "senses"))
    assert rows["translation"]["p"] == 1 / 64
    assert rows["translation"]["calibrated"] == pytest.approx(1)
    assert permuted["translation"].shape == (63,)
    assert abs(permuted["translation"].mean()) < 0.05 and np.ptp(permuted["translation"]) > 0.05
    assert 0 < rows["translation"]["null"] < 0.3
    rows, _ = row_of(RNG.standard_normal((8 * 20, 5)))
    assert rows["translation"]["p"] > 0.05
    # Of the next token, too.
    rows, permuted = row_of(view_of(found, "right"))
    assert rows["right_token"]["p"] == 1 / 64 and abs(permuted["right_token"].mean()) < 0.05


def test_less_than_at_random_has_an_interval_however_much_less():
    """Four in 48 occurrences have another next token, and these are the nearest of all: a
    twelfth shares it where at random 0.84 would."""
    found = [
        Word(
            np.arange(48 * i, 48 * (i + 1)),
            np.arange(48) % 2,
            np.arange(48) % COUNT,
            np.zeros(48, int),
            (np.arange(48) < 4).astype(int),
        )
        for i in range(8)
    ]
    of_one = np.eye(48)
    of_one[:4] = 0
    of_one[:, 0] = 1
    row = values(np.tile(of_one, (8, 1)), found)["right_token"]
    assert row["value"] < -3 and row["ci_low"] < row["value"] < row["ci_high"]


def test_of_few_words_nothing_is_said():
    few = some(senses.NEEDED - 1)
    for row in values(view_of(few, "senses"), few, permutations=Permutations(15, 1)).values():
        assert np.isnan(row["value"]) and row["n"] == senses.NEEDED - 1
        assert row["n_needed"] == senses.NEEDED
    [row, *_] = calibrated(estimates(np.zeros((0, 5)), [], COUNT, K, Permutations(15, 1)), ("n",))
    assert row["n"] == 0 and np.isnan(row["value"]) and np.isnan(row["p"])


def test_forms_of_a_translation_are_one_sense():
    assert related("zeigt", "anzeigen") and related("befehlszeile", "zeile")
    assert related("typ", "dateityp") and not related("um", "umgebung")
    assert not related("linie", "zeile") and not related("是", "是的")
    # A file with particles, a folder; a name is no file.
    assert (
        related("파일", "파일을")
        and related("文件", "文件夹")
        and related("ファイル", "ファイルを")
    )
    assert not related("文件", "文本") and not related("파일", "폴더")
    # Amharic: a file, files, windows.
    assert related("ፋይል", "ፋይሎች") and related("መስኮት", "መስኮቶች")
    assert not related("ፋይል", "መስኮት")
    forms = ["öffnen"] * 3 + ["geöffnet"] * 2 + ["offen", "auf", "auf", "auf", "auf"]
    found = senses_of(pd.Series(forms))
    assert found == {"auf": "auf", "öffnen": "öffnen", "geöffnet": "öffnen", "offen": "offen"}


def text(n_blocks: int = 4) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Occurrences, three in each sentence, and their translations: *line* has two, *file* one,
    *can* two of a modal verb, *set* is noun or verb."""
    rows, translated = [], []
    for sentence in range(16):
        block = sentence % n_blocks
        odd = sentence // n_blocks % 2
        of = [
            ("line", "NN", ["zeile", "linie"][odd]),
            ("file", "NN", ["datei", "dateien"][odd]),
            ("can", "MD", ["kann", "können"][odd]),
            ("set", ["NN", "VB"][odd], ["satz", "setzen"][odd]),
        ]
        for place, (form, tag, translation) in enumerate(of):
            for last in [False, True] if form == "line" else [True]:
                rows.append((sentence, place, last, tag, place, place + 2, block))
            translated.append((sentence, place, form, translation))
    occurrences = ["sentence", "word", "stands_for_word", "tag", "left_id", "right_id", "block"]
    return (
        pd.DataFrame(rows, columns=occurrences),
        pd.DataFrame(translated, columns=["sentence", "word", "form", "translation"]),
    )


def test_words_are_of_open_classes_with_two_senses_in_several_blocks():
    occurrences, translations = text()
    [line] = words(occurrences, translations, 3, 100, 1)
    # Its last sub-word stands for it.
    assert sorted(line.rows) == np.flatnonzero(occurrences["stands_for_word"])[::4].tolist()
    assert sorted(line.senses) == [0] * 8 + [1] * 8
    drawn = occurrences.iloc[line.rows]
    assert (line.blocks == drawn["block"]).all() and (line.right == 2).all()
    assert (line.left == 0).all()
    odd = (drawn["sentence"] // 4 % 2).to_numpy()
    assert (line.senses == line.senses[0]).tolist() == (odd == odd[0]).tolist()
    # Of each sense eight, two in each block: six without any one.
    assert len(words(occurrences, translations, 6, 100, 1)) == 1
    assert words(occurrences, translations, 7, 100, 1) == []
    assert words(occurrences, translations, 100, 100, 1) == []
    assert words(occurrences, translations[:0], 3, 100, 1) == []
    # If all of one sense is in one block, it does not count.
    occurrences["block"] = occurrences["sentence"] // 4 % 2
    assert words(occurrences, translations, 1, 100, 1) == []


def test_at_most_so_many_occurrences_of_a_sense_are_drawn():
    occurrences, translations = text()
    draws = [words(occurrences, translations, 3, 5, seed) for seed in (1, 1, 2)]
    for [line] in draws:
        assert np.bincount(line.senses).tolist() == [5, 5]
    first, again, other = (set(line.rows) for [line] in draws)
    assert first == again != other


def test_forms_of_two_classes_are_two_words():
    occurrences, translations = text()
    occurrences["tag"] = occurrences["tag"].replace("VB", "NNS")
    found = words(occurrences, translations, 3, 100, 1)
    # `set` is one noun now, of two senses.
    assert [len(one.rows) for one in found] == [16, 16]


@pytest.mark.on_a_gpu("measure senses")
def test_the_program_tells_a_layer_with_senses_from_one_without(measure, tmp_path):
    occurrences, translations = text()
    many = [occurrences] + [
        occurrences.assign(sentence=occurrences["sentence"] + 16 * i) for i in range(1, 6)
    ]
    forms = [
        translations.assign(form=translations["form"], sentence=translations["sentence"] + 16 * i)
        for i in range(6)
    ]
    forms = [of.replace({"form": {"line": f"line{'abcdef'[i]}"}}) for i, of in enumerate(forms)]
    table, translated = pd.concat(many, ignore_index=True), pd.concat(forms, ignore_index=True)
    sense = (table["sentence"] // 4 % 2).to_numpy()
    view = RNG.standard_normal((2, len(table), 4)).astype(np.float16)
    view[1, :, 0] += 60 * sense - 30
    files = {
        name: tmp_path / f"{name}.parquet"
        for name in ("occurrences", "annotations", "translations")
    }
    table = table.rename(columns={"stands_for_word": "last_subword"})
    split = ["word", "last_subword", "tag"]
    table.drop(columns=split).to_parquet(files["occurrences"])
    table[split].to_parquet(files["annotations"])
    translated.to_parquet(files["translations"])
    np.save(tmp_path / "views.npy", view)
    run, options = {"objective": "lm", "seed": 1}, {"k": 3, "occurrences": 100, "seed": 1}
    more = {"null": {"permutations": 15, "seed": 1}, "unit": "subword"}
    out = tmp_path / "lm-1.csv"
    measure("senses", run, options, more, table=out, views=tmp_path / "views.npy", **files)
    found = pd.read_csv(out)
    assert [*found] == [
        *("objective", "seed", "layer", "property", "k", "value", "ci_low", "ci_high"),
        *("chance", "n", "n_needed", "null", "calibrated", "p", "p_layers"),
    ]
    value = found.set_index(["property", "layer"])["value"]
    assert value["translation", 1] > 0.9 and abs(value["translation", 0]) < 0.2
    # Each line is a word; the tokens beside it are always the same.
    n = found.groupby("property")["n"].unique()
    assert (n["translation"], n["right_token"], n["translation_apart"]) == (6, 6, 0)
