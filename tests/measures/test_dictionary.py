"""Dictionaries of two runs: made-up views of planted features, some in one of both alone."""

import numpy as np
import pandas as pd
import pytest
import torch

from bottomup.core.errors import UserError
from bottomup.measures import dictionary
from bottomup.measures.dictionary import (
    TOP,
    Dictionary,
    alikeness,
    best_decoder,
    kinds,
    relative_norms,
    scaled,
)

VALUE = ["value", "ci_low", "ci_high", "n", "n_needed"]
ACTIVE = 2  # features of an occurrence, on average


def planted(only, both, n=4000, widths=(32, 24)):
    """Two views of 2 * `only` + `both` sparse features, `only` of them in each alone."""
    rng = np.random.default_rng(1)
    size = 2 * only + both
    code = (rng.random((n, size)) < ACTIVE / size) * (1 + rng.random((n, size)))
    has = np.ones((2, size))
    has[0, :only] = has[1, only : 2 * only] = 0
    views = []
    for held, width in zip(has, widths, strict=True):
        directions = rng.standard_normal((size, width))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        views.append(3 + code * held @ directions + 0.02 * rng.standard_normal((n, width)))
    return views


def occurrences(n):
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "block": rng.integers(0, 6, n),
            "input_id": rng.integers(0, 9, n),
            "right_id": 5,
            "position": np.arange(n) % 50,
        }
    )


def found(x, y, steps=600, **keys):
    how = {"times": 2, "active": ACTIVE, "steps": steps, "seed": 1} | keys
    rows = pd.DataFrame(dictionary.dictionary(x, y, occurrences(len(x)), **how))
    return rows.set_index(["measure", "of"])


def test_the_share_that_one_run_alone_has_is_that_which_was_planted():
    values = found(*planted(6, 12))["value"]
    assert values["explained"].min() > 0.97
    assert values["share"].to_dict() == pytest.approx(
        {"only_a": 0.25, "only_b": 0.25, "both": 0.5}, abs=0.05
    )
    assert values["imbalance", "all"] == pytest.approx(0.5, abs=0.08)


def test_a_run_and_itself_have_everything_in_common():
    """Also as another basis would have it: turned, stretched and shifted, or in more neurons."""
    x, _ = planted(0, 24)
    turned, _ = np.linalg.qr(np.random.default_rng(3).standard_normal((32, 32)))
    wider, _ = np.linalg.qr(np.random.default_rng(4).standard_normal((64, 64)))
    for other in (x, 7 + 5 * x @ turned, x @ wider[:32]):
        values = found(x, other, steps=100)["value"]
        assert values["share", "both"] > 0.99 and values["imbalance", "all"] < 0.02


def test_rows_say_how_alike_occurrences_are_and_intervals_are_within_documents():
    rows = found(*planted(6, 12, n=3000), steps=150)
    explained = rows.loc["explained"]
    assert explained["value"].between(explained["ci_low"], explained["ci_high"]).all()
    assert (explained["n"] < 1700).all(), "half of the documents measure"
    assert rows.loc[("next_token", "both"), "value"] == 1
    assert rows.loc[("token", "both"), "value"] < 0.5
    assert rows.loc["share", "value"].sum() == pytest.approx(1)
    # Also without each block; those with even numbers fit the dictionary and measure nothing.
    without = np.stack([*rows.loc["share", "without"]])
    assert without.sum(axis=0) == pytest.approx(1)
    unequal = rows.loc[("imbalance", "all")]
    assert unequal["ci_low"] < unequal["value"] < unequal["ci_high"]
    assert unequal["without"][::2] == pytest.approx(unequal["value"])
    assert (np.abs(unequal["without"][1::2] - unequal["value"]) > 1e-6).all()
    assert rows.loc[["dead", "token"], ["ci_low", "ci_high"]].isna().all(axis=None)


def test_views_that_no_dictionary_can_explain():
    x, y = planted(6, 12, n=400)
    for views in ((np.full_like(x, np.nan), y), (x, np.full_like(y, np.nan))):
        with pytest.raises(UserError, match="holds NaN or infinity"):
            found(*views, steps=1)


def test_a_collapsed_layer_has_no_features(caplog):
    """All that is active is then of the other run; of two, nothing is."""
    x, y = planted(6, 12)
    one = found(x, np.full_like(y, 0.1), steps=50)["value"]
    assert np.isnan(one["explained", "b"]) and one["explained", "a"] > 0
    assert one["share", "only_a"] == one["imbalance", "all"] == 1
    both = found(np.full_like(x, 3.0), np.full_like(y, 0.1), steps=50)["value"]
    assert both["dead", "all"] == 1 and both.drop("dead").isna().all()
    assert "the same at all occurrences" in caplog.text


@pytest.mark.parametrize("block", [0, 1])
def test_one_document_is_no_two_halves(block, caplog):
    x, y = planted(6, 12, n=400)
    options = {"times": 1, "active": ACTIVE, "steps": 1, "seed": 1}
    usual = pd.DataFrame(dictionary.dictionary(x, y, occurrences(400), **options))
    known = occurrences(400).assign(block=block)
    rows = pd.DataFrame(dictionary.dictionary(x, y, known, **options))
    names = ["measure", "of"]
    pd.testing.assert_frame_equal(rows[names], usual[names])
    assert rows[["value", "ci_low", "ci_high"]].isna().all(axis=None)
    # Ten occurrences for each feature, of which there are 32.
    assert (rows["n"] == 0).all() and (rows["n_needed"] == 320).all()
    assert "in blocks of one half of the documents" in caplog.text


def test_a_batch_keeps_its_largest_activations_whatever_row_they_are_of():
    decoder = torch.tensor([[1.0, 0.0], [0.0, 10.0]])
    of = Dictionary(torch.eye(2), torch.zeros(2), decoder, split=1, active=1)
    # Sizes, with norms 1 and 10: 5 and 10, 2 and 20, 0 and 0; three are kept of three rows.
    code = of.code(torch.tensor([[5.0, 1.0], [2.0, 2.0], [-1.0, 0.0]]))
    assert code.tolist() == [[5, 1], [0, 2], [0, 0]]


def test_the_code_of_an_occurrence_does_not_depend_on_the_others():
    decoder = torch.tensor([[1.0, 0.0], [0.0, 10.0]])
    of = Dictionary(torch.eye(2), torch.zeros(2), decoder, split=1, active=1)
    rows = torch.tensor([[5.0, 1.0], [2.0, 2.0], [-1.0, 0.0]])
    least = of.least(rows)
    assert least == 5 and torch.equal(of.code(rows, least), of.code(rows))
    for some in ([0], [1], [2, 1]):
        assert torch.equal(of.code(rows[some], least), of.code(rows)[some])


def test_the_order_of_occurrences_that_measure_does_not_matter():
    x, y = planted(6, 12, n=3000)
    known = occurrences(3000)
    order = np.arange(3000)
    held = np.flatnonzero(known["block"] % 2 == 1)
    order[held] = np.random.default_rng(5).permutation(held)
    how = {"times": 2, "active": ACTIVE, "steps": 50, "seed": 1}
    first, second = (
        pd.DataFrame(dictionary.dictionary(x[of], y[of], known.iloc[of], **how))["value"]
        for of in (np.arange(3000), order)
    )
    np.testing.assert_allclose(first, second, rtol=1e-4)


def test_occurrences_without_a_feature_leave_the_others_their_code():
    """As many again, of which nothing is active: no threshold falls for them."""
    x, y = planted(6, 12, n=3000)
    known = occurrences(3000)
    both = torch.from_numpy(np.concatenate([scaled(x, x.shape[1]), scaled(y, y.shape[1])], axis=1))
    held = known["block"].to_numpy() % 2 == 1
    learned = dictionary.fitted(both[~held], x.shape[1], 64, ACTIVE, 100, 1)
    silent = known[held].reset_index(drop=True)
    nothing = torch.zeros(len(silent), both.shape[1])
    found = []
    for rows, of_rows, which in (
        (both, known, held),
        (
            torch.cat([both, nothing]),
            pd.concat([known, silent], ignore_index=True),
            np.append(held, np.full(len(silent), True)),
        ),
    ):
        values = dictionary._values(learned, rows, which, of_rows)
        found.append({(measure, of): value[0] for measure, of, value, *_ in values})
    first, second = found
    for name in ("imbalance", "all"), ("share", "both"), ("share", "only_a"), ("dead", "all"):
        assert second[name] == pytest.approx(first[name], rel=1e-6)


def test_too_few_occurrences_give_no_value():
    """64 features need 640 that fit them; of 1,200 half do."""
    rows = found(*planted(6, 12, n=1200), steps=5)
    assert rows[["value", "ci_low", "ci_high"]].isna().all(axis=None)
    assert (rows["n"] < 640).all() and (rows["n_needed"] == 640).all()


def test_the_best_decoder_is_least_squares():
    rng = np.random.default_rng(1)
    code, decoder = rng.random((50, 3)), rng.standard_normal((3, 4))
    fit, offset = best_decoder(torch.from_numpy(code), torch.from_numpy(code @ decoder + 2))
    np.testing.assert_allclose(fit, decoder, atol=1e-4)
    np.testing.assert_allclose(offset, 2, atol=1e-4)


def test_kinds_by_hand():
    decoder = torch.tensor([[1.0, 0, 0.1], [0.6, 0.8, 0.2], [0, 0, 3.0], [2.0, 0, -2.0]])
    relative = relative_norms(decoder, split=2)
    assert relative.tolist() == pytest.approx([1 / 11, 1 / 6, 1, 0.5])
    assert kinds(relative).tolist() == ["only_a", "both", "only_b", "both"]


def test_views_count_alike_whatever_their_size():
    view = np.array([[1.0, 10.0], [3.0, 14.0]])
    np.testing.assert_allclose(scaled(view, 2), scaled(100 * view + 7, 2))
    assert np.square(scaled(view, 2)).mean() == pytest.approx(1)
    assert np.square(scaled(view, 6)).sum(axis=1).mean() == pytest.approx(6)


def test_alikeness_by_hand():
    code = np.zeros((2 * TOP, 1))
    code[:TOP] = 1
    known = pd.DataFrame({"input_id": 1, "right_id": np.arange(2 * TOP)}, index=range(2 * TOP))
    known["position"] = np.arange(2 * TOP) % 2
    assert alikeness(code, known) == {"token": 1, "next_token": 1 / TOP, "position": 0.5}
    assert np.isnan(alikeness(code[:, 1:], known)["token"])


def test_only_features_that_enough_occurrences_have_say_how_alike_these_are():
    """Of two that both runs have, one is in 20 occurrences that measure, the other in 19."""
    known = pd.DataFrame({"input_id": 1, "right_id": 1, "position": 1, "block": [0, 1] * 50})
    held = known["block"].to_numpy() == 1
    rows = torch.zeros(100, 4)  # two neurons of each run, and a feature of both for each
    rows[::4, ::2] = rows[::6, 1::2] = 1  # those that fit decoders
    for feature, n in ((0, TOP), (1, TOP - 1)):
        rows[np.flatnonzero(held)[:n], feature::2] = 1
    encoder = torch.tensor([[1.0, 0], [0, 1], [0, 0], [0, 0]])
    decoder = torch.tensor([[1.0, 0, 1, 0], [0, 1, 0, 1]])
    learned = Dictionary(encoder, torch.zeros(2), decoder, split=2, active=2)
    found = {(of, kind): n for of, kind, _, n, _ in dictionary._values(learned, rows, held, known)}
    assert found["share", "both"] == 2
    assert found["token", "both"] == found["position", "both"] == 1


@pytest.mark.on_a_gpu("measure dictionary")
def test_the_program(measure, tmp_path):
    x, y = planted(2, 4, n=1400)
    occurrences(1400).to_parquet(tmp_path / "occurrences.parquet")
    for name, view in (("a", x), ("b", y)):
        np.save(tmp_path / f"{name}.npy", np.stack([view, view, view]).astype(np.float16))
    run = {"objective_a": "lm", "seed_a": 1, "objective_b": "mlm", "seed_b": 1}
    measure(
        *("dictionary", run, {"layers": 1, "times": 2, "active": 2, "steps": 20, "seed": 1}),
        views=[tmp_path / "a.npy", tmp_path / "b.npy"],
        occurrences=tmp_path / "occurrences.parquet",
        table=tmp_path / "dictionary.csv",
    )
    table = pd.read_csv(tmp_path / "dictionary.csv")
    assert list(table) == [*run, "layer", "measure", "of", *VALUE]
    assert (table["layer"] == 2).all() and len(table) == 4 + 3 * 4
