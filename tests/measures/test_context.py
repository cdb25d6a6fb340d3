"""What views say of the tokens around them, against views and texts of which it is known."""

import numpy as np
import pandas as pd
import pytest

from bottomup.core.errors import UserError
from bottomup.measures import context
from bottomup.measures.context import PLACES, by_classifier, by_clusters, draw
from bottomup.measures.jackknife import error
from bottomup.measures.mutual_information import cluster, mutual_information

LENGTH, COUNT, WORDS = 12, 10, 16
NOWHERE = 0.03  # nats, at most, where there is nothing


def table(tokens):
    """The occurrences of sentences of equal length; tokens: `[sentences, LENGTH]`."""
    n = len(tokens)
    sentences = np.repeat(np.arange(n), tokens.shape[1])
    return pd.DataFrame(
        {
            "sentence": sentences,
            "position": np.tile(np.arange(tokens.shape[1]), n),
            "input_id": tokens.ravel(),
            "block": sentences % COUNT,
        }
    )


def independent(n=2500, seed=0):
    return np.random.default_rng(seed).integers(WORDS, size=(n, LENGTH))


def chained(n=2500, seed=0):
    """Each token is its predecessor's successor by number in 3 of 4 cases, else any."""
    rng = np.random.default_rng(seed)
    tokens, found = rng.integers(WORDS, size=n), []
    for _ in range(LENGTH):
        found.append(tokens)
        goes_on = rng.random(n) < 0.75
        tokens = np.where(goes_on, (tokens + 1) % WORDS, rng.integers(WORDS, size=n))
    return np.stack(found, axis=1)


# Of a token whose predecessor is known, in nats.
OF_CHAIN = -(p := 0.75 + 0.25 / WORDS) * np.log(p) - (1 - p) * np.log(0.25 / WORDS)


def at(tokens, offset):
    """One-hot rows of the tokens at `offset`, of none beyond the ends: `[occurrences, WORDS]`."""
    found = np.zeros((*tokens.shape, WORDS))
    ahead, behind = slice(max(offset, 0), None), slice(max(-offset, 0), None)
    here = slice(None, -offset if offset > 0 else None)
    there = slice(None, offset if offset < 0 else None)
    found[:, here][:, behind] = np.eye(WORDS)[tokens[:, ahead][:, there]]
    return found.reshape(-1, WORDS)


def measured(tokens, view, by=by_classifier, seed=1, **options):
    """The rows of one layer by place and quantity, all tokens asked about."""
    occurrences = table(tokens)
    every = np.arange(len(occurrences)), occurrences["input_id"].to_numpy()
    sample = draw(occurrences, *every, n=10_000, seed=seed)
    found = pd.DataFrame(by(view, sample, COUNT, seed=seed, device="cpu", **options))
    return found.set_index(["quantity", "place"])


def nats(found, quantity):
    return found.loc[quantity, "nats"]


def test_a_helper_puts_tokens_where_it_says():
    tokens = np.array([[3, 1, 2]])
    assert [row.argmax() if row.any() else None for row in at(tokens, 1)] == [1, 2, None]
    assert [row.argmax() if row.any() else None for row in at(tokens, -1)] == [None, 3, 1]
    assert [row.argmax() if row.any() else None for row in at(tokens, 0)] == [3, 1, 2]


@pytest.mark.long
@pytest.mark.parametrize(("offset", "place"), [(1, "+1"), (-1, "-1"), (4, "+4")])
def test_one_other_token_is_found_at_its_place_alone(offset, place):
    tokens = independent()
    found = measured(tokens, at(tokens, offset))
    assert nats(found, "information")[place] == pytest.approx(np.log(WORDS), abs=0.1)
    assert nats(found, "added")[place] == pytest.approx(np.log(WORDS), abs=0.1)
    others = nats(found, "information").drop([place, "anywhere"])
    assert (others < NOWHERE).all()
    assert (nats(found, "by_token") < NOWHERE).all()
    # A place drawn from the 11 others is this one in 1 of 11 cases.
    p = 1 / 11 + 10 / 11 / WORDS
    told = np.log(WORDS) + p * np.log(p) + (1 - p) * np.log((1 - p) / (WORDS - 1))
    assert -NOWHERE < nats(found, "information")["anywhere"] < told + 0.01


def test_the_token_itself_is_found_at_0_and_context_adds_nothing_to_it():
    tokens = independent()
    found = measured(tokens, at(tokens, 0))
    for quantity in ("information", "by_token"):
        assert nats(found, quantity)["0"] == pytest.approx(np.log(WORDS), abs=0.1)
    assert nats(found, "added")["0"] == pytest.approx(0, abs=0.01)
    assert (nats(found, "information").drop("0") < NOWHERE).all()


def test_what_the_token_itself_says_of_its_neighbors_is_not_added():
    tokens = chained()
    found = measured(tokens, at(tokens, 0))
    told = np.log(WORDS) - OF_CHAIN
    for place in ("+1", "-1"):  # the chain is as sure backwards
        assert nats(found, "information")[place] == pytest.approx(told, abs=0.15)
        assert nats(found, "by_token")[place] == pytest.approx(told, abs=0.15)
        assert nats(found, "added")[place] == pytest.approx(0, abs=0.03)


def test_of_a_neighbor_that_is_told_only_the_rest_is_added():
    tokens = chained()
    found = measured(tokens, np.concatenate([at(tokens, 0), at(tokens, 1)], axis=1))
    assert nats(found, "information")["+1"] == pytest.approx(np.log(WORDS), abs=0.15)
    assert nats(found, "added")["+1"] == pytest.approx(OF_CHAIN, abs=0.15)


def test_a_sum_of_all_tokens_says_the_same_of_every_place():
    # No token twice: a token of a bag that is known is any of its 12, else any of 24.
    bags = np.random.default_rng(0).permuted(np.tile(np.arange(24), (2500, 1)), axis=1)
    tokens = bags[:, :LENGTH]
    view = np.repeat(np.eye(24)[tokens].sum(1), LENGTH, axis=0)
    found = measured(tokens, view)
    information = nats(found, "information")
    assert information.to_numpy() == pytest.approx(np.log(24 / 12), abs=0.1)
    assert np.ptp(information) < 0.05
    # A bag that changed places holds the token itself, and of others any.
    assert nats(found, "added").drop("0").to_numpy() == pytest.approx(information["+1"], abs=0.1)
    assert abs(nats(found, "added")["0"]) < 0.05


@pytest.mark.parametrize("by", [by_classifier, by_clusters])
def test_a_view_that_says_nothing_says_nothing_anywhere(by):
    tokens = independent()
    view = np.random.default_rng(1).normal(size=(tokens.size, 8))
    options = {"n_clusters": 20} if by is by_clusters else {}
    found = measured(tokens, view, by, **options)
    assert (nats(found, "added").abs() < NOWHERE).all()
    for quantity in ("information", "by_token"):
        part = found.loc[quantity]
        assert (part["nats"] - part["shuffled_nats"]).abs().max() < NOWHERE
    assert found.loc["added", "shuffled_nats"].isna().all()


def test_clusters_see_what_varies_most_and_the_classifier_all():
    tokens = independent()
    noise = np.random.default_rng(1).normal(size=(tokens.size, WORDS))
    view = np.concatenate([10 * at(tokens, -1) + noise, 0.01 * at(tokens, 0)], axis=1)
    clusters = measured(tokens, view, by_clusters, n_clusters=60)
    classifier = measured(tokens, view)
    assert nats(clusters, "information")["-1"] > 0.9 * np.log(WORDS)
    assert nats(clusters, "information")["0"] < 0.2 * np.log(WORDS)
    assert (nats(classifier, "information")[["-1", "0"]] > 0.9 * np.log(WORDS)).all()


def test_the_seed_decides_which_half_trains_and_what_is_shuffled():
    tokens = independent(200)
    occurrences = table(tokens)
    every = np.arange(len(occurrences)), occurrences["input_id"].to_numpy()
    sample = draw(occurrences, *every, n=800, seed=1)
    found = [
        pd.DataFrame(by_classifier(at(tokens, 1), sample, COUNT, seed, "cpu")) for seed in (1, 2, 1)
    ]
    for column in ("nats", "entropy_nats", "shuffled_nats"):
        first, other, again = (one[column].dropna().to_numpy() for one in found)
        assert (first == again).all()
        assert (first != other).all()


def test_a_token_that_is_read_once_at_its_place_still_tells_itself():
    """Of 2,000 tokens most are read once at a place, and say in 2 numbers which token is next."""
    rng = np.random.default_rng(0)
    words = rng.integers(2000, size=(2500, LENGTH))
    words[:, 5] = words[:, 4] % 2  # the tokens that are asked about
    occurrences = table(words)
    asked = np.flatnonzero(occurrences["position"] == 5)
    sample = draw(occurrences, asked, words[:, 5], n=1500, seed=1)
    view = np.eye(2)[words.ravel() % 2]
    rows = pd.DataFrame(by_classifier(view, sample, COUNT, 1, "cpu"))
    nats_of = rows.set_index(["quantity", "place"])["nats"]
    assert nats_of["information", "+1"] > 0.6
    assert abs(nats_of["added", "+1"]) < 0.01


def test_rows_name_their_place_and_what_they_rest_on():
    tokens = independent(200)
    found = measured(tokens, at(tokens, 1)).reset_index()
    assert found["place"].unique().tolist() == [*PLACES]
    assert PLACES == ("-4", "-3", "-2", "-1", "0", "+1", "+2", "+3", "+4", "anywhere")
    # Of 12 tokens 4 have 4 on either side; of 10 blocks, 5 are held out.
    assert (found["n_occurrences"] == 200 * 4 / 2).all()
    assert (found["n_labels"] == WORDS).all() and (found["n_needed"] == 5 * WORDS).all()
    assert (found["entropy_nats"] < np.log(WORDS)).all()
    of_clusters = measured(tokens, at(tokens, 1), by_clusters, n_clusters=30)
    assert (of_clusters["n_occurrences"] == 200 * 4).all()
    assert (of_clusters["n_needed"] == 10 * WORDS).all()
    inside = found.dropna(subset="ci_low")
    assert len(inside) > 20
    assert (inside["ci_low"] < inside["nats"]).all()
    assert (inside["nats"] < inside["ci_high"]).all()


def test_what_is_added_varies_as_a_difference_of_pairs():
    tokens = chained()
    found = measured(tokens, at(tokens, 0)).reset_index()
    here = found[found["place"] == "+1"].set_index("quantity")
    without = here["without"]
    difference = without["information"] - without["by_token"]
    np.testing.assert_allclose(without["added"], difference)
    errors = {name: error(here["nats"][name], without[name]) for name in without.index}
    assert errors["added"] < errors["information"]


def test_a_row_that_changed_places_is_left_out_with_either_document():
    tokens = chained(400)
    occurrences = table(tokens)
    every = np.arange(len(occurrences)), occurrences["input_id"].to_numpy()
    sample = draw(occurrences, *every, n=10_000, seed=1)
    np.testing.assert_array_equal(
        sample.changed_blocks, occurrences["block"].to_numpy()[sample.changed]
    )
    view = at(tokens, 0) + at(tokens, 1)
    found = measured(tokens, view, by_clusters, n_clusters=30)["without"]
    clusters = cluster(view, 30, 1, "cpu")
    for number, place in enumerate(PLACES):
        for block in (0, COUNT - 1):
            for quantity, rows, read in (
                ("information", sample.rows[number], sample.blocks),
                ("by_token", sample.changed[number], sample.changed_blocks[number]),
            ):
                held = (sample.blocks != block) & (read != block)
                expected = mutual_information(sample.tokens[held], clusters[rows[held]])
                assert found[quantity, place][block] == pytest.approx(expected)
    # The classifier's text is half of the blocks; what a row reads may be of any.
    by_token = measured(tokens, at(tokens, 0))["without"]["by_token", "+1"]
    assert len(np.unique(by_token)) == COUNT


def test_each_token_is_read_at_its_places():
    tokens = independent(30)
    occurrences = table(tokens)
    every = np.arange(len(occurrences)), occurrences["input_id"].to_numpy()
    sample = draw(occurrences, *every, n=50, seed=1)
    assert len(sample.tokens) == 50
    places = dict(zip(PLACES, sample.rows, strict=True))
    own = places["0"]
    np.testing.assert_array_equal(sample.tokens, occurrences["input_id"].to_numpy()[own])
    np.testing.assert_array_equal(sample.blocks, own // LENGTH % COUNT)
    # Seen from the row before it, a token is the next one.
    np.testing.assert_array_equal(places["+1"], own - 1)
    np.testing.assert_array_equal(places["-4"], own + 4)
    assert set(own % LENGTH) == {4, 5, 6, 7}
    # After the change, others of the same tokens are read, nearly always from the same place.
    ids = occurrences["input_id"].to_numpy()
    np.testing.assert_array_equal(ids[sample.changed], ids[sample.rows])
    assert (sample.changed != sample.rows).all()
    for rows, changed in zip(sample.rows[:9], sample.changed[:9], strict=True):
        numbers = pd.Series(ids[rows]).value_counts()
        once = numbers[ids[rows]].to_numpy() == 1
        np.testing.assert_array_equal(np.sort(changed[~once]), np.sort(rows[~once]))
    other = draw(occurrences, *every, n=50, seed=2)
    assert (other.rows[4] != own).any()
    assert (draw(occurrences, *every, n=50, seed=1).rows == sample.rows).all()


def test_tokens_beside_one_that_was_not_seen_are_left_out():
    occurrences = table(independent(1))
    occurrences = occurrences.drop(index=0).reset_index(drop=True)
    labels = np.arange(11)
    # Of the rows at positions 1 to 11, those at 5, 6 and 7 have 4 others on either side.
    assert sorted(draw(occurrences, labels, labels, 10, 1).tokens) == [4, 5, 6]
    holed = occurrences.drop(index=5).reset_index(drop=True)
    with pytest.raises(UserError, match="of 10 tokens 0 have 4 others of their sentence"):
        draw(holed, labels[:10], labels[:10], 10, 1)


def test_anywhere_is_any_other_place_of_the_sentence():
    occurrences = table(independent(400))
    rows = np.arange(len(occurrences))
    found = context.elsewhere(occurrences, rows, seed=1)
    assert (found // LENGTH == rows // LENGTH).all()
    assert (found != rows).all()
    # Each of the 11 steps is taken by about 4,800 / 11 = 436 rows, give or take 20.
    steps = np.bincount((found - rows) % LENGTH, minlength=LENGTH)
    assert steps[0] == 0
    assert (np.abs(steps[1:] - 436) < 90).all()
    assert (context.elsewhere(occurrences, rows, seed=2) != found).any()


def test_rows_change_places_with_others_of_their_token():
    rng = np.random.default_rng(0)
    tokens = np.concatenate([rng.integers(20, size=500), [100, 101]])
    every = np.full(502, True)
    found = context.within_token(tokens, every, seed=1)
    assert sorted(found) == [*range(502)]
    np.testing.assert_array_equal(tokens[found], tokens)
    assert (found[:500] != np.arange(500)).all()
    assert (context.within_token(tokens, every, seed=2) != found).any()
    some = np.arange(502) % 3 > 0
    of_some = context.within_token(tokens, some, seed=1)
    np.testing.assert_array_equal(tokens[of_some], tokens)
    assert some[of_some[some]].all() and (of_some[~some] == np.flatnonzero(~some)).all()
    # One that is left out is passed over.
    passed = np.where(some[found], found, found[found])
    passed = np.where(some[passed], passed, found[passed])
    known = some & some[passed]
    assert (of_some[known] == passed[known]).all() and known[some].mean() > 0.9
    # Not with the next one of the text, which may be of the same sentence.
    steps = [np.flatnonzero(tokens == token) for token in range(20)]
    following = sum((found[rows] == np.roll(rows, -1)).sum() for rows in steps)
    assert following < 60
