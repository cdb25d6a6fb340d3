"""Pictures of views by t-SNE: what they keep, how they are aligned, and which words they show."""

import numpy as np
import pandas as pd
import pytest

from bottomup.corpus.specials import EOS, MASK, N_SPECIAL
from bottomup.measures.projection import (
    align,
    draw,
    ends_word,
    is_word,
    pictures,
    standardize,
    word_ids,
)

TOKENS = ["▁is", "▁are", "▁can", "▁it", "▁1", "n", "▁rare"]
FREQUENCIES = pd.DataFrame({"token_id": range(N_SPECIAL, N_SPECIAL + 7), "token": TOKENS})
IS, ARE, CAN, IT, ONE, N, RARE = FREQUENCIES["token_id"]


def blobs(n=40, d=10, n_blobs=3, seed=0):
    """Points `[n_blobs * n, d]` in separate blobs, and the blob of each."""
    generator = np.random.default_rng(seed)
    blob = np.repeat(np.arange(n_blobs), n)
    return 8 * generator.normal(size=(n_blobs, d))[blob] + generator.normal(
        size=(len(blob), d)
    ), blob


def text(n=1200, seed=0):
    """A plain table of tokens; `n` is always the end of a word that another token begins."""
    generator = np.random.default_rng(seed)
    ids = generator.choice([IS, ARE, CAN, IT, ONE, N], n)
    ids[: 9 * 20 : 20] = RARE
    return pd.DataFrame(
        {
            "sentence": np.arange(n) // 20,
            "position": np.arange(n) % 20,
            "input_id": ids,
            "output_id": np.append(ids[1:], EOS),
            "right_id": np.append(ids[1:], EOS),
            "kind": "plain",
        }
    )


def test_groups_that_are_apart_stay_apart():
    view, blob = blobs()
    [picture] = pictures([view.astype(np.float16)], perplexity=10)
    distances = np.linalg.norm(picture[:, None] - picture, axis=2)
    np.fill_diagonal(distances, np.inf)
    assert (blob[distances.argmin(1)] == blob).all()


def test_groups_lie_to_each_other_as_their_principal_components_do():
    # Seven groups in a ring, too far from each other for t-SNE to see which are next to which:
    # that is where they start from.
    generator = np.random.default_rng(0)
    group = np.repeat(generator.permutation(7), 20)
    angle = 2 * np.pi * group / 7
    view = generator.normal(size=(len(group), 8))
    view[:, :2] += 100 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    [picture] = pictures([view], perplexity=5)
    centers = np.stack([picture[group == i].mean(0) for i in range(7)])
    steps = np.linalg.norm(centers[:, None] - centers, axis=2)
    for i in range(7):
        assert set(steps[i].argsort()[1:3]) == {(i - 1) % 7, (i + 1) % 7}


def test_pictures_have_no_place_and_size_of_their_own():
    for picture in pictures([blobs()[0], 50 + 9 * blobs(seed=1)[0]], perplexity=10):
        assert picture.mean(0) == pytest.approx(0, abs=1e-6)
        assert np.square(picture).sum(1).mean() == pytest.approx(1)


def test_equal_representations_share_a_place_and_disturb_no_other():
    # As one token at layer 0: 30 positions in a row, at each of which it stands 4 times.
    position = np.repeat(np.random.default_rng(0).permutation(30), 4)
    [picture] = pictures([position[:, None] * np.ones(5)], perplexity=8)
    places = np.stack([picture[position == i].mean(0) for i in range(30)])
    assert picture == pytest.approx(places[position], abs=1e-12)
    steps = np.linalg.norm(places[:, None] - places, axis=2)
    np.fill_diagonal(steps, np.inf)
    assert (np.abs(steps.argmin(1) - np.arange(30)) <= 2).all()


def test_few_different_representations_still_give_a_picture_and_fewer_a_line(caplog):
    view = np.repeat(np.random.default_rng(0).normal(size=(4, 5)), 10, axis=0)
    assert np.isfinite(pictures([view], perplexity=1)).all() and not caplog.messages
    assert pictures([view[10:], view[:30]], perplexity=9) == []
    said = (
        "the 30 occurrences of a picture have less than 4 different representations at layer 0, 1"
    )
    assert f"{said}: it is left out" in caplog.text


def test_a_layer_of_one_point_costs_no_other_its_picture(caplog):
    """As layer 0 of a model without positions."""
    view = np.random.default_rng(0).normal(size=(30, 5))
    first, *others = pictures([np.ones((30, 5)), view, view], perplexity=5)
    assert (first == 0).all() and all(map(np.array_equal, others, pictures([view] * 2, 5)))
    assert "at layer 0: drawn there as one point" in caplog.text


def test_the_same_views_give_the_same_bits():
    views = [blobs()[0], blobs(seed=1)[0]]
    first, again = pictures(views, perplexity=10), pictures(views, perplexity=10)
    assert all((a == b).all() for a, b in zip(first, again, strict=True))


def test_alignment_undoes_a_turn_and_a_mirror():
    other = standardize(np.random.default_rng(0).normal(size=(30, 2)))
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    for change in (turn, turn @ np.diag([1, -1])):
        assert align(other @ change, other) == pytest.approx(other, abs=1e-12)


def test_no_other_turn_or_mirror_lies_nearer():
    picture, other = (
        standardize(np.random.default_rng(seed).normal(size=(30, 2))) for seed in (0, 1)
    )
    aligned = align(picture, other)
    assert np.linalg.norm(aligned, axis=1) == pytest.approx(np.linalg.norm(picture, axis=1))
    for angle in np.linspace(0, 2 * np.pi, 100):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        for mirror in (1, -1):
            turned = picture @ turn @ np.diag([1, mirror])
            assert np.square(aligned - other).sum() <= np.square(turned - other).sum() + 1e-9


def test_each_picture_is_aligned_with_the_one_before():
    first, second = pictures([blobs()[0], blobs()[0][:, ::-1] + 1], perplexity=10)
    assert align(second, first) == pytest.approx(second, abs=1e-9)


def test_too_few_points_lower_the_perplexity_which_is_said_once(caplog):
    views = [np.random.default_rng(seed).normal(size=(31, 5)) for seed in range(3)]
    lowered = pictures([view[:30] for view in views], perplexity=20)
    [message] = caplog.messages
    assert "30 different points for measures.projection.perplexity 20;" in message
    caplog.clear()
    same = pictures([view[:30] for view in views], perplexity=29 / 3)
    assert all((a == b).all() for a, b in zip(lowered, same, strict=True))
    pictures(views, perplexity=10)
    assert not caplog.messages


def test_words_are_tokens_that_are_whole_words():
    table = pd.DataFrame({"input_id": [IS, N, ARE, CAN, IT], "right_id": [N, ARE, CAN, EOS, IS]})
    assert ends_word(table, FREQUENCIES).tolist() == [False, True, True, True, True]
    assert word_ids(["can", "is"], "words", text(), FREQUENCIES) == {"can": CAN, "is": IS}
    # As annotated, where the words that models read have unknown words beside them.
    annotated = table.assign(right_id=N, last_subword=[False, True, True, True, True])
    assert ends_word(annotated, FREQUENCIES).tolist() == [False, True, True, True, True]
    # Ten occurrences are enough.
    table = pd.DataFrame({"input_id": [RARE] * 10, "right_id": EOS})
    assert word_ids(["rare"], "words", table, FREQUENCIES) == {"rare": RARE}


@pytest.mark.parametrize(("word", "n"), [("was", 0), ("n", 0), ("rare", 9)])
def test_a_word_that_the_text_lacks_is_replaced_and_frequent_ones_named(word, n, caplog):
    # `rare` is followed by a token that begins a word in all 9 places.
    table = text()
    table.loc[table["input_id"] == RARE, "right_id"] = IS
    found = word_ids(["is", word], "ccg_word", table, FREQUENCIES)
    [message] = caplog.messages
    assert f'measures.projection.ccg_word: found "{word}", which occurs {n} times' in message
    whole = table["input_id"][ends_word(table, FREQUENCIES)].value_counts()
    other = next(i for i in whole.index if i not in (ONE, N, IS))
    assert [*found.values()] == [IS, other] and len(found) == 2
    assert message.endswith(f'"{[*found][1]}" is drawn in its place')
    # Not the number, and not the end of a word.
    most = [f"{TOKENS[i - N_SPECIAL][1:]} ({c})" for i, c in whole.items() if i not in (ONE, N)]
    assert f"the most frequent are {', '.join(most)}" in message and "\n" not in message


def test_a_text_without_frequent_words_has_no_picture(caplog):
    table = pd.DataFrame({"input_id": [RARE] * 9, "right_id": EOS})
    assert word_ids(["rare"], "words", table, FREQUENCIES) == {}
    [message] = caplog.messages
    assert "at least 10 occurrences; the most frequent are rare (9)" in message
    assert message.endswith("; it is left out")


@pytest.mark.parametrize("token", ["is", "是", "の", "कि", "ไม่", "İş"])
def test_words_of_any_script_may_be_shown(token):
    assert is_word(token) and not is_word(token + "1") and not is_word(token + ".")


@pytest.mark.parametrize("token", ["", "a", "ж", "1", "x_y", "。", "\u0301"])
def test_letters_numbers_and_signs_are_no_words(token):
    assert not is_word(token)


def test_at_most_as_many_occurrences_as_asked_are_drawn():
    rows, every = np.arange(100, 200), np.full(300, True)
    assert draw(rows, every, 100, 1, "is").tolist() == rows.tolist()
    some = draw(rows, every, 10, 1, "is")
    assert len(set(some)) == 10 and (np.diff(some) > 0).all() and set(some) <= set(rows)
    assert (some == draw(rows, every, 10, 1, "is")).all()
    assert (some != draw(rows, every, 10, 1, "are")).any()
    # One that is not seen leaves its place to another; those after it are one row further up.
    less = draw(rows, np.arange(300) != some[4], 10, 1, "is")
    in_text = less + (less >= some[4])
    assert {*some} - {*in_text} == {some[4]} and len(in_text) == 10


@pytest.fixture
def files(tmp_path):
    """Two layers of both readings; the third neuron of a row is its number."""
    plain = text()
    masked = text(seed=1).rename(columns={"input_id": "output_id", "output_id": "input_id"})
    masked["kind"] = np.where(np.arange(len(masked)) % 2, "masked", "drawn")
    masked["input_id"] = np.where(masked["kind"] == "masked", MASK, IS)
    for name, table in (("plain", plain), ("masked", masked)):
        table.to_parquet(tmp_path / f"{name}.parquet")
        view = np.random.default_rng(0).normal(size=(len(table), 4))
        np.save(tmp_path / f"{name}.npy", np.stack([view, view[:, ::-1]]))
    annotations = pd.DataFrame({"ccg": "N" + plain["position"].map(str), "ccg_source": "derived"})
    annotations.to_parquet(tmp_path / "annotations.parquet")
    FREQUENCIES.to_csv(tmp_path / "frequencies.csv", index=False)
    return tmp_path


PROJECTION = {"words": ["is", "can"], "position_word": "it", "ccg_word": "is"}
PROJECTION |= {"occurrences": 30, "perplexity": 5, "seed": 1}


def run(measure, files, table, masked, settings=PROJECTION, unit="subword"):
    measure(
        "projection",
        {"objective": "mlm", "seed": 1},
        settings,
        {"unit": unit},
        views=files / "plain.npy",
        masked_views=[files / "masked.npy"] if masked else [],
        masked_occurrences=[files / "masked.parquet"] if masked else [],
        occurrences=files / "plain.parquet",
        annotations=files / "annotations.parquet",
        frequencies=files / "frequencies.csv",
        table=files / table,
    )
    return pd.read_csv(files / table)


def test_the_program_shows_the_same_occurrences_at_each_layer(measure, files):
    table = run(measure, files, "table.csv", masked=False)
    assert ",".join(table) == (
        "objective,seed,picture,layer,x,y,token,kind,position,ccg,ccg_source,sentence"
    )
    counts = table.value_counts(["picture", "token", "layer"])
    words = [("token", "is"), ("token", "can"), ("position", "it"), ("ccg", "is")]
    assert {(*word, layer) for word in words for layer in range(2)} == set(counts.index)
    assert (counts == 30).all() and (table["kind"] == "plain").all()
    assert (table["ccg"] == "N" + table["position"].map(str)).all()
    assert (table["ccg_source"] == "derived").all()
    layers = [part.drop(columns=["layer", "x", "y"]) for _, part in table.groupby("layer")]
    pd.testing.assert_frame_equal(*(part.reset_index(drop=True) for part in layers))
    # Two occurrences of a word in a sentence are told apart by position.
    places = ["picture", "layer", "sentence", "position"]
    assert not table.duplicated(places).any()
    assert np.isfinite(table[["x", "y"]]).all(axis=None)
    # The sub-word `n` would go on with the word.
    rows = text().set_index(["sentence", "position"])["right_id"]
    assert (rows == N).any()
    assert (rows.loc[list(zip(table["sentence"], table["position"], strict=True))] != N).all()


def test_the_program_goes_by_seed_and_perplexity_and_each_point_is_of_its_occurrence(
    measure, files
):
    """Occurrences at one position are represented alike here, so they share a place."""
    plain = text()
    vectors = np.random.default_rng(0).normal(size=(plain["position"].max() + 1, 4))
    np.save(files / "plain.npy", np.stack([vectors[plain["position"]]] * 2))
    drawn = {}
    for name, change in ((1, {}), (2, {"seed": 2}), ("wider", {"perplexity": 9})):
        settings = PROJECTION | change
        drawn[name] = run(measure, files, "table.csv", masked=False, settings=settings)
    wider = drawn.pop("wider")
    assert wider["position"].equals(drawn[1]["position"]) and not wider["x"].equals(drawn[1]["x"])
    places = drawn[1].groupby(["picture", "layer", "position"])[["x", "y"]]
    assert (places.nunique() == 1).all(axis=None)
    of_all = drawn[1].groupby(["picture", "layer"])
    assert (of_all["x"].nunique() == of_all["position"].nunique()).all()
    first, other = ({*zip(t["sentence"], t["position"], strict=True)} for t in drawn.values())
    assert first != other


def test_without_categories_there_is_no_picture_of_them(measure, files):
    of_words = pd.DataFrame({"last_subword": [True] * len(text())})
    of_words.to_parquet(files / "annotations.parquet")
    table = run(measure, files, "table.csv", masked=False)
    assert set(table["picture"]) == {"token", "position"}
    assert table[["ccg", "ccg_source"]].isna().all(axis=None)


def test_a_picture_of_too_few_occurrences_is_left_out_and_ends_no_study(measure, files, caplog):
    settings = PROJECTION | {"occurrences": 3}
    table = run(measure, files, "table.csv", masked=False, settings=settings)
    assert {*table["picture"]} == {"token"}  # of two words, with six points
    assert caplog.text.count("less than 4 different representations") == 2
    text(9).to_parquet(files / "plain.parquet")
    pd.read_parquet(files / "annotations.parquet")[:9].to_parquet(files / "annotations.parquet")
    np.save(files / "plain.npy", np.load(files / "plain.npy")[:, :9])
    table = run(measure, files, "table.csv", masked=False)
    assert table.empty and len(table.columns) == 12


def test_words_of_which_a_model_sees_none_have_no_picture(measure, files, caplog):
    """As a checkpoint that reads no sentence to its end."""
    lacks = (text()["input_id"] == IT).to_numpy()
    np.save(files / "plain.npy", np.where(lacks[:, None], np.nan, np.load(files / "plain.npy")))
    table = run(measure, files, "table.csv", masked=False, unit="word")
    assert set(table["picture"]) == {"token", "ccg"}
    assert "position: the model sees none of it" in caplog.text


def test_masked_occurrences_join_the_picture_of_words_only(measure, files):
    plain = run(measure, files, "plain.csv", masked=False)
    table = run(measure, files, "table.csv", masked=True)
    counts = table.value_counts(["picture", "kind"]) / 2
    expected = {("token", "plain"): 60, ("token", "masked"): 60, ("position", "plain"): 30}
    assert counts.to_dict() == expected | {("ccg", "plain"): 30}
    others = ["position", "ccg"]
    pd.testing.assert_frame_equal(
        *(t[t["picture"].isin(others)].reset_index(drop=True) for t in (plain, table))
    )
    shown = ["kind", "token", "sentence", "position"]
    same = table[(table["picture"] == "token") & (table["kind"] == "plain")][shown]
    assert same.to_numpy().tolist() == plain[plain["picture"] == "token"][shown].to_numpy().tolist()
    of_masked = table[table["kind"] == "masked"]
    places = pd.read_parquet(files / "masked.parquet").set_index(["sentence", "position"])
    source = places.loc[list(zip(of_masked["sentence"], of_masked["position"], strict=True))]
    assert (source["kind"] == "masked").all() and of_masked["ccg"].isna().all()
    assert (source["output_id"].to_numpy() == np.where(of_masked["token"] == "is", IS, CAN)).all()
