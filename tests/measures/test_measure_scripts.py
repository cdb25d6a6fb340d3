"""The programs of the measures, as the rules call them."""

import logging
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mutual_info_score
from transformers import FalconH1ForCausalLM

from bottomup.core.seeds import derive
from bottomup.corpus import encoding
from bottomup.corpus.specials import N_SPECIAL
from bottomup.corpus.tokens import TokenFile
from bottomup.measures import groups
from bottomup.measures.isotropy import self_similarity
from bottomup.measures.jackknife import WITHOUT
from bottomup.measures.mutual_information import cluster
from bottomup.measures.pwcca import pwcca_distance
from bottomup.measures.similarity import linear_cka
from bottomup.views.occurrences import plain
from tests import tiny
from tests.subjects import every_family, families
from tests.tiny import initial

pytestmark = pytest.mark.long

N, LAYERS = 1200, 3
DISTANCES = ["variant", "weights", "distance", "ci_low", "ci_high", "n_occurrences", "n_needed"]
NULL = {"null": {"permutations": 15, "seed": 1}}
OF_NULL = ["null", "calibrated", "p", "p_layers"]
CLUSTERS = {"n_clusters": 20, "other_n_clusters": [10]}
TOKENS = {"n_tokens": 5, "other_n_tokens": [3]}
SAMPLING = {**TOKENS, **CLUSTERS, "clusterings": 2, "scikit_learn": True, "seed": 1}


@pytest.fixture
def call(run_script):
    def call(name, settings, **files):
        arguments = []
        for option, paths in files.items():
            arguments += [f"--{option.replace('_', '-')}"]
            arguments += paths if isinstance(paths, list) else [paths]
        run_script(name, settings | {"code": "any"}, *arguments)

    return call


@pytest.fixture
def run(tmp_path):
    """Occurrences, frequencies and the views of two runs, in files."""
    generator = np.random.default_rng(0)
    input_id, output_id = generator.integers(4, 12, size=(2, N))
    occurrences = pd.DataFrame(
        {
            "sentence": np.arange(N) // 12,
            "block": (np.arange(N) // 12 % 8).astype(np.int8),
            "kind": np.where(generator.random(N) < 0.5, "masked", "replaced"),
            "input_id": input_id,
            "output_id": output_id,
            "rank": input_id - 3,
        }
    )
    occurrences.to_parquet(tmp_path / "occurrences.parquet")
    annotated(occurrences).to_parquet(tmp_path / "annotations.parquet")
    tokens = ["a", "null", "c,d", "e", '"', "g", "h", "i"]
    frequencies = pd.DataFrame({"token_id": range(4, 12), "token": tokens, "rank": range(1, 9)})
    frequencies.to_csv(tmp_path / "frequencies.csv", index=False)
    for name in ("a", "b"):
        view = np.eye(16)[output_id] + 0.3 * generator.normal(size=(LAYERS, N, 16))
        np.save(tmp_path / f"{name}.npy", view.astype(np.float16))
    return tmp_path


@pytest.fixture(autouse=True)
def fewer_layers(gpu, monkeypatch):
    """Two, of those that tests look at, on a pretended GPU, which is slow."""
    if gpu:
        monkeypatch.setattr(sys.modules[__name__], "LAYERS", 2)


@pytest.fixture
def measured(measure, run):
    """Measure a table of the views of `run`, called by their letters, and read it."""

    def measured(name, about, options, more=None, views="a", **files):
        files |= {"views": [run / f"{view}.npy" for view in views]}
        files |= {"occurrences": run / "occurrences.parquet", "table": run / "table.csv"}
        measure(name, about, options, more, **files)
        return pd.read_csv(run / "table.csv")

    return measured


def annotated(occurrences):
    """Words of two sub-words each, nouns and verbs by turns."""
    place = np.arange(len(occurrences))
    tags = np.where(place // 2 % 2, "VB", "NN")
    parts = {"first_subword": place % 2 == 0, "last_subword": place % 2 == 1}
    return pd.DataFrame({**parts, "tag": tags})


@pytest.mark.on_a_gpu("measure mutual_information")
def test_mutual_information_of_each_layer_label_and_estimator(measure, run, caplog):
    labels = [
        {"label": "input", "positions": "replaced"},
        {"label": "output", "positions": "changed"},
    ]
    model, settings = {"objective": "mlm", "seed": 2}, SAMPLING
    asked = {"reading": "as_trained", "labels": labels}
    files = {
        "occurrences": run / "occurrences.parquet",
        "frequencies": run / "frequencies.csv",
        "views": run / "a.npy",
    }
    with caplog.at_level(logging.INFO):
        measure("mutual_information", model, settings, asked, **files, table=run / "mi.csv")
    table = pd.read_csv(run / "mi.csv")
    assert ",".join(table) == (
        "objective,seed,layer,reading,positions,label,n_tokens,estimator,mi_nats,ci_low,ci_high,"
        "clustering_error_nats,shuffled_mi_nats,entropy_nats,n_occurrences,n_labels,n_clusters,n_clusters_used"
    )
    lines = [line for line in caplog.messages if line.startswith("layer ")]
    assert len(table) == len(lines) == LAYERS * len(labels) * 5
    assert set(table["layer"]) == set(range(LAYERS))
    assert (table["objective"] == "mlm").all() and (table["seed"] == 2).all()
    assert (table["n_labels"] == table["n_tokens"]).all()
    fewer = table["n_tokens"] == 3
    assert table.loc[fewer, "estimator"].tolist() == ["clusters"] * LAYERS * len(labels)
    assert (table.loc[~fewer, "n_tokens"] == 5).all()
    assert (table.loc[fewer, "n_clusters"] == 20).all()
    asked_for = table[["reading", "positions", "label"]].drop_duplicates().to_numpy().tolist()
    assert asked_for == [["as_trained", "replaced", "input"], ["as_trained", "changed", "output"]]
    assert table["mi_nats"].between(table["ci_low"], table["ci_high"]).all()
    # The views show the output token, one of 5 about equally frequent ones, and nothing else.
    output = table[(table["label"] == "output") & ~fewer]
    assert output["mi_nats"].to_numpy() == pytest.approx(np.log(5), abs=0.25)
    unknown = table[(table["label"] == "input") & (table["estimator"] == "clusters")]
    assert unknown["mi_nats"].to_numpy() == pytest.approx(unknown["shuffled_mi_nats"], abs=0.1)
    clusters = table[(table["estimator"] == "clusters") & ~fewer]
    assert clusters["n_clusters"].tolist() == ([20] * LAYERS + [10] * LAYERS) * len(labels)
    assert (clusters["n_clusters_used"] <= clusters["n_clusters"]).all()
    assert (clusters["clustering_error_nats"] >= 0).all()
    assert table.loc[table["estimator"] == "classifier", "n_clusters_used"].isna().all()
    theirs = table[table["estimator"] == "scikit-learn"]
    assert theirs["n_clusters"].tolist() == [20] * LAYERS * len(labels)
    assert not theirs["mi_nats"].isin(clusters["mi_nats"]).any()
    estimates = pd.read_parquet(run / "mi.parquet")
    assert estimates["mi_nats"].to_numpy() == pytest.approx(table["mi_nats"])
    assert {len(without) for without in estimates[WITHOUT]} == {8}

    measure("mutual_information", model, settings, asked, **files, table=run / "again.csv")
    assert (run / "again.csv").read_bytes() == (run / "mi.csv").read_bytes()


def test_mutual_information_on_fewer_tokens_is_theirs_alone(measured, run):
    table = (
        measured(
            "mutual_information",
            {"objective": "mlm", "seed": 2},
            SAMPLING | {"scikit_learn": False},
            {"labels": [{"label": "output", "positions": "changed"}], "reading": "as_trained"},
            frequencies=run / "frequencies.csv",
        )
        .query("n_tokens == 3")
        .set_index("layer")
    )
    tokens = pd.read_parquet(run / "occurrences.parquet")["output_id"].to_numpy()
    some = np.isin(tokens, [4, 5, 6])  # of ranks 1 to 3
    assert (table["n_occurrences"] == some.sum()).all() and len(table) == LAYERS
    for layer, view in enumerate(np.load(run / "a.npy")):
        found = [cluster(view[some], 20, derive(1, draw)) for draw in range(2)]
        values = [mutual_info_score(tokens[some], clusters) for clusters in found]
        assert table["mi_nats"][layer] == pytest.approx(np.mean(values))


@pytest.mark.parametrize(
    ("changed", "rows", "message"),
    [
        ({"n_clusters": N + 1}, N, "occurrences for n_clusters 1201"),
        ({}, N - 1, f"has {N - 1} rows; allowed: one for each of the {N} rows"),
    ],
)
def test_what_does_not_fit_ends_in_one_line(measured, run, changed, rows, message):
    np.save(run / "a.npy", np.load(run / "a.npy")[:, :rows])
    with pytest.raises(SystemExit) as ended:
        measured(
            "mutual_information",
            {"objective": "lm", "seed": 1},
            SAMPLING | changed,
            {"labels": [{"label": "input", "positions": "all"}]},
            frequencies=run / "frequencies.csv",
        )
    assert message in ended.value.code and "\n" not in ended.value.code
    assert not (run / "table.csv").exists()


def test_distances_between_runs(measured, run):
    runs = {"objective_a": "lm", "seed_a": 1, "objective_b": "mt", "seed_b": 2}
    table = measured(
        "pwcca_between_runs", runs, {"variants": ["definition", "svcca-2019"]}, NULL, views="ab"
    )
    assert list(table) == [*runs, "layer", *DISTANCES, *OF_NULL]
    assert (table["calibrated"] < 1 - table["distance"]).all()
    assert ((table["p"] <= table["p_layers"]) & (table["p"] >= 1 / 16)).all()
    assert len(table) == LAYERS * 3
    assert ((table["ci_low"] < table["distance"]) & (table["distance"] < table["ci_high"])).all()
    for row in table.itertuples():
        x, y = (np.load(run / f"{name}.npy")[row.layer] for name in "ab")
        assert row.distance == pytest.approx(pwcca_distance(x, y, row.variant, row.weights))


def test_distances_between_layers(measured, run):
    model = {"objective": "lm", "seed": 1}
    table = measured("pwcca_between_layers", model, {"variants": ["definition"]}, NULL)
    assert list(table) == [*model, "layer_a", "layer_b", *DISTANCES, *OF_NULL]
    assert table[OF_NULL].notna().all(axis=None)
    assert table[["layer_a", "layer_b"]].drop_duplicates().to_numpy().tolist() == [[0, 1], [1, 2]]
    for row in table.itertuples():
        x, y = (np.load(run / "a.npy")[layer] for layer in (row.layer_a, row.layer_b))
        assert row.distance == pytest.approx(pwcca_distance(x, y, weights=row.weights))


def test_similarity_of_runs(measured, run):
    runs = {"objective_a": "lm", "seed_a": 1, "objective_b": "mt", "seed_b": 2}
    table = measured(
        "similarity_between_runs",
        runs,
        {"variance": 0.99, "rsa_rows": 50, "seed": 1},
        NULL,
        views="ab",
    )
    assert list(table) == [
        *runs,
        "layer",
        "measure",
        "value",
        "ci_low",
        "ci_high",
        "n_occurrences",
        "n_needed",
        *OF_NULL,
    ]
    assert len(table) == LAYERS * 5 and table[OF_NULL].notna().all(axis=None)
    cka = table[table["measure"] == "cka_debiased"].set_index("layer")["value"]
    for layer in range(LAYERS):
        x, y = (np.load(run / f"{name}.npy")[layer] for name in "ab")
        assert cka[layer] == pytest.approx(linear_cka(x, y), rel=1e-6)


def test_words_that_a_run_does_not_see_are_left_out(measured, run):
    a, b = (np.load(run / f"{name}.npy") for name in "ab")
    a[:, 5], b[:, [5, 90]] = np.nan, np.nan
    for name, views in (("a", a), ("b", b[[0, 1, 1, 2, 2]])):  # and one with more layers
        np.save(run / f"{name}.npy", views)
    table = measured(
        "pwcca_between_runs", {}, {"variants": ["definition"]}, {"unit": "word"}, views="ab"
    )
    assert (table["n_occurrences"] == N - 2).all() and table["layer"].max() == LAYERS - 1
    seen = np.delete(np.arange(N), [5, 90])
    for row in table.itertuples():  # layers at the same share of the depth
        x, y = a[row.layer, seen], b[row.layer, seen]
        assert row.distance == pytest.approx(pwcca_distance(x, y, weights=row.weights))


@pytest.mark.parametrize(
    ("unit", "layers", "rows", "value"),
    [
        ("subword", slice(None), [5, 90], np.nan),  # as of words that are not seen
        ("word", slice(1, None), [5], np.nan),
        ("word", slice(None), [5], np.inf),
        ("subword", 2, [7], -np.inf),
    ],
)
def test_views_that_are_not_finite_are_refused(measured, run, unit, layers, rows, value):
    a = np.load(run / "a.npy")
    a[layers, rows, 1 if value == -np.inf else slice(None)] = value
    np.save(run / "a.npy", a)
    with pytest.raises(SystemExit) as ended:
        measured("isotropy", {"objective": "lm", "seed": 1}, {"n": 100, "seed": 1}, {"unit": unit})
    said = f"a.npy holds NaN or infinity at {len(rows)} of {N} occurrences, first in row {rows[0]} "
    assert said in ended.value.code and "\n" not in ended.value.code
    assert not (run / "table.csv").exists()


def test_geometry_of_each_layer(measured, run):
    table = measured("geometry", {"objective": "lm", "seed": 1}, {"points": 200, "seed": 1})
    assert table.groupby("measure", sort=False)["layer"].apply(list).to_dict() == {
        measure: [*range(LAYERS)]
        for measure in (
            *("matrix_entropy", "curvature_degrees", "intrinsic_dimension", "effective_rank"),
        )
    }
    assert table["value"].notna().all() and table["null"].notna().all()
    assert (table.loc[table["measure"] == "intrinsic_dimension", "n"] == 200).all()


def test_isotropy_of_each_layer(measured, run):
    table = measured("isotropy", {"objective": "lm", "seed": 1}, {"n": 100, "seed": 1})
    assert len(table) == LAYERS * 24 and set(table["layer"]) == set(range(LAYERS))
    found = table[(table["measure"] == "self_similarity") & ~table["adjusted"]]
    words = pd.read_parquet(run / "occurrences.parquet")["input_id"].to_numpy()
    raw = found[found["version"] == "raw"].set_index("layer")["value"]
    assert raw[0] == pytest.approx(self_similarity(np.load(run / "a.npy")[0], words), rel=1e-6)


@pytest.mark.on_a_gpu("measure probes")
def test_probes_of_each_layer(measured, run):
    table = measured(
        "probes",
        {"objective": "lm", "seed": 1},
        {"tasks": ["tag"], "occurrences": 300, "seed": 1},
        annotations=run / "annotations.parquet",
    )
    # Of each layer five and two of the mixes, and two of all together.
    assert len(table) == LAYERS * (5 + 2) + 2 and (table["n_labels"] == 2).all()
    of_all = table[table["layer"].isna()]
    assert of_all["metric"].tolist() == ["center_of_gravity", "expected_layer"]
    # Whole numbers, in a column that has empty cells.
    assert "lm,1,0,tag,accuracy," in (run / "table.csv").read_text()
    # Whole sentences, of each of which six sub-words end words.
    assert (table.loc[table["metric"] == "compression", "n"] == 300).all()
    # Tags go by turns, whatever the view.
    accuracy = table[table["metric"] == "accuracy"]
    assert accuracy["value"].between(0.25, 0.75).all()


@pytest.mark.on_a_gpu("measure context")
def test_what_each_layer_says_of_the_tokens_around(measured, run):
    """Of a view that is the token before, and of layers that are noise."""
    occurrences = pd.read_parquet(run / "occurrences.parquet")
    occurrences = occurrences.assign(position=np.arange(N) % 12, kind="plain")
    occurrences.to_parquet(run / "occurrences.parquet")
    before = np.roll(occurrences["input_id"], 1)
    views = np.load(run / "a.npy").astype(np.float32)
    views[1] = np.eye(views.shape[2], dtype=np.float32)[before % views.shape[2]]
    np.save(run / "b.npy", views)
    table = measured(
        "context",
        {"objective": "lm", "seed": 1},
        {"n_tokens": 8, "occurrences": 1000, "n_clusters": 20, "seed": 1},
        views="b",
        frequencies=run / "frequencies.csv",
    )
    places = ["-4", "-3", "-2", "-1", "0", "+1", "+2", "+3", "+4", "anywhere"]
    assert len(table) == LAYERS * 2 * len(places) * 3
    said = table[table["quantity"] == "information"].set_index(["estimator", "layer", "place"])
    for estimator in ("classifier", "clusters"):
        of_layer = said.loc[estimator, 1]["nats"]
        assert of_layer.idxmax() == "-1"
        assert of_layer["-1"] == pytest.approx(np.log(8), rel=0.15)
        assert of_layer.drop("-1").max() < 0.2


def test_change_of_groups(measure, run, caplog):
    model, settings = {"objective": "lm", "seed": 1}, {"occurrences": 200, "seed": 1}
    files = {
        "views": run / "a.npy",
        "occurrences": run / "occurrences.parquet",
        "annotations": run / "annotations.parquet",
    }
    with caplog.at_level(logging.INFO):
        measure("change", model, settings, **files, table=run / "table.csv")
    table = pd.read_csv(run / "table.csv")
    columns = ["objective", "seed", "grouping", "group", "matching", "layer_a", "layer_b"]
    assert list(table) == [*columns, "distance", "ci_low", "ci_high", "n_occurrences", "n_needed"]
    # Ranks are 1 to 8, that is, of eight types; of the two tags, half of the sub-words end words.
    assert len(table) == 2 * 3 * (LAYERS - 1)
    assert set(table["matching"]) == {"published", "matched"}
    assert table.groupby("grouping")["group"].unique().map(list).to_dict() == {
        "frequency_rank": ["1-10"],
        "pos": ["NN", "VB"],
    }
    n = table["matching"].map({"published": 200, "matched": 208})
    assert (table["n_occurrences"] == n).all() and (table["objective"] == "lm").all()
    estimates = pd.read_parquet(run / "table.parquet")
    assert np.stack(estimates.pop(WITHOUT)).shape == (len(table), 8)
    assert list(estimates) == list(table)
    assert "group NN, matching matched, layer_a 1, layer_b 2, distance " in caplog.text
    measure("change", model, settings, **files, table=run / "again.csv")
    assert (run / "again.csv").read_bytes() == (run / "table.csv").read_bytes()
    with caplog.at_level(logging.INFO):
        measure("change", model, settings | {"occurrences": N + 1}, **files, table=run / "few.csv")
    few = pd.read_csv(run / "few.csv")
    assert few["distance"].isna().all() and (few["n_needed"] == N + 1).all()
    assert f"NN has too few occurrences for {N + 1}: no value of published" in caplog.text


@pytest.mark.parametrize("hidden", ["token", "group"])
def test_influence_of_groups(measure, tmp_path, corpus_files, caplog, hidden):
    tokens = TokenFile.load(corpus_files.tokens / "test.source")
    corpus_files.save(initial, "lm", tmp_path / "model")
    ranks = np.arange(corpus_files.vocab) - N_SPECIAL + 1
    table = plain(tokens, np.arange(len(tokens)), ranks).table
    table = table.assign(block=table["text"] % 8)
    table.to_parquet(tmp_path / "occurrences.parquet")
    annotated(table).to_parquet(tmp_path / "annotations.parquet")
    run, influence = {"objective": "lm", "seed": 1}, {"hidden": hidden, "sentences": 12, "seed": 1}
    files = {
        "model": tmp_path / "model",
        "text": corpus_files.tokens / "test.source",
        "occurrences": tmp_path / "occurrences.parquet",
        "annotations": tmp_path / "annotations.parquet",
        "batch_tokens": 40,
    }
    with caplog.at_level(logging.INFO):
        measure("influence", run, influence, **files, table=tmp_path / "table.csv")
    found = pd.read_csv(tmp_path / "table.csv")
    columns = ["objective", "seed", "grouping", "group", "matching", "layer", "distance"]
    assert list(found) == [
        *columns,
        "ci_low",
        "ci_high",
        "n_occurrences",
        "n_needed",
        "n_sentences",
    ]
    assert set(found["layer"]) == {1, 2}
    as_published = found[found["matching"] == "published"]
    assert set(as_published["group"]) == {"1-10", "10-25", "25-50", "NN", "VB"}
    assert found["n_sentences"].max() == 12
    # No word is of one sub-word.
    assert set(found["matching"]) == {"published"}
    assert "left out of matched" in caplog.text
    assert (found["distance"] > 0).all()
    assert "group 10-25, matching published, layer 2, distance " in caplog.text
    measure("influence", run, influence, **files, table=tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "table.csv").read_bytes()
    measure("influence", run, influence | {"seed": 2}, **files, table=tmp_path / "other.csv")
    assert pd.read_csv(tmp_path / "other.csv")["distance"].tolist() != found["distance"].tolist()
    # How much is encoded at once makes no other table.
    at_once = files | {"batch_tokens": 10_000}
    measure("influence", run, influence, **at_once, table=tmp_path / "at_once.csv")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "at_once.csv"), found, rtol=1e-4)


@pytest.fixture
def influence_of(measure, tmp_path):
    """Measure influence in a checkpoint, on sentences of nine words."""
    rng, n = np.random.default_rng(0), 40
    texts = [" ".join(f"w{word}" for word in rng.integers(3, 19, 9)) + "," for _ in range(n)]
    tokenizer = tiny.written(tmp_path, texts)
    files = {name: tmp_path / f"{name}.npy" for name in ("ids", "words", "offsets")}
    encoding.encode(tokenizer, [texts], **files)
    ranks = np.arange(tokenizer.get_vocab_size()) - N_SPECIAL + 1
    table = plain(TokenFile.load(tmp_path), np.arange(n), ranks).table
    table.assign(block=table["text"] % 8).to_parquet(tmp_path / "occurrences.parquet")
    tags = np.where(table["input_id"] % 2, "NN", "VB")
    annotations = pd.DataFrame({"tag": tags, "first_subword": True, "last_subword": True})
    annotations.to_parquet(tmp_path / "annotations.parquet")

    def influence_of(family):
        measure(
            "influence",
            {"objective": "other", "seed": 0},
            {"hidden": "token", "sentences": 20, "seed": 1},
            model=families.save(family, tmp_path / family.config.model_type),
            text=tmp_path,
            occurrences=tmp_path / "occurrences.parquet",
            annotations=tmp_path / "annotations.parquet",
            written=[tmp_path / "test.parquet", tmp_path / "words.json"],
            batch_tokens=40,
            table=tmp_path / "table.csv",
        )
        return [pd.read_csv(tmp_path / "table.csv"), pd.read_parquet(tmp_path / "table.parquet")]

    return influence_of


@pytest.mark.on_a_gpu("measure influence")
def test_influence_in_a_checkpoint_is_by_word(influence_of, monkeypatch):
    """Of nine words the last, at which a comma stands, cannot be told from it: eight are read.
    Ranks are those of words, however many sub-words they have."""
    by_words, of_text = [], groups.groups

    def noting(*given, ranks_of_words):
        by_words.append(ranks_of_words)
        return of_text(*given, ranks_of_words=ranks_of_words)

    monkeypatch.setattr(groups, "groups", noting)
    found, _ = influence_of(families.FAMILIES["bert"])
    assert by_words == [True]
    assert set(found["group"]) == {"1-10", "10-25", "NN", "VB"} and set(found["layer"]) == {1, 2}
    published = found[found["matching"] == "published"]
    # What is compared are the seven others of each sentence.
    assert (published["n_occurrences"] == 7 * published["n_sentences"]).all()
    assert found["distance"].between(0, 1, inclusive="neither").all()


@pytest.mark.parametrize("family", ["bloom", "falcon_h1"])
def test_influence_where_no_token_can_be_hidden_has_no_rows_and_a_line(
    influence_of, caplog, family
):
    """As transformers hands out no attention, or as a recurrence beside it sees all tokens."""
    beside = families.Family(every_family.tiny("falcon_h1"), FalconH1ForCausalLM, projection="")
    usual = influence_of(families.FAMILIES["bert"])
    with caplog.at_level(logging.INFO):
        found = influence_of({"bloom": families.HIDDEN, "falcon_h1": beside}[family])
    for table, with_rows in zip(found, usual, strict=True):
        assert table.empty and list(table) == list(with_rows)
    assert f"left out: {family} has no attention that can be changed" in caplog.text


def test_views_of_another_table_end_in_one_line(measure, run):
    np.save(run / "a.npy", np.load(run / "a.npy")[:, :-1])
    files = {"occurrences": run / "occurrences.parquet", "views": run / "a.npy"}
    options = {"variants": ["definition"]}
    with pytest.raises(SystemExit) as ended:
        measure("pwcca_between_layers", {}, options, **files, table=run / "table.csv")
    assert f"has {N - 1} rows; allowed: one for each of the {N} rows" in ended.value.code
    assert "\n" not in ended.value.code and not (run / "table.csv").exists()


def test_collected_estimates_keep_their_blocks(call, tmp_path):
    for i in range(2):
        part = pd.DataFrame({"value": [i + 0.5], WITHOUT: [[1.0, 2.0 + i]]})
        part.to_parquet(tmp_path / f"{i}.parquet")
    parts = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    call("collect_tables", {}, tables=parts, table=tmp_path / "table.parquet")
    table = pd.read_parquet(tmp_path / "table.parquet")
    assert table["value"].tolist() == [0.5, 1.5]
    assert [list(without) for without in table[WITHOUT]] == [[1, 2], [1, 3]]


def test_collected_tables_keep_every_digit_and_word(call, tmp_path):
    header, rows = "token,value,n\n", ["null,0.1234567890123456789,7\n", ",1e-05,\n"]
    for i, row in enumerate(rows):
        (tmp_path / f"{i}.csv").write_text(header + row)
    parts = [tmp_path / "0.csv", tmp_path / "1.csv"]
    call("collect_tables", {}, tables=parts, table=tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text() == header + "".join(rows)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_parts_with_other_columns_are_not_joined(call, tmp_path, ending):
    """They would be, with empty cells."""
    parts = [tmp_path / f"{i}{ending}" for i in range(3)]
    for part, name in zip(parts, ["value", "value", "distance"], strict=True):
        frame = pd.DataFrame({"layer": [1], name: [0.5]})
        frame.to_parquet(part) if ending == ".parquet" else frame.to_csv(part, index=False)
    with pytest.raises(SystemExit) as ended:
        call("collect_tables", {}, tables=parts, table=tmp_path / f"table{ending}")
    expected = f"{parts[2]} has the columns layer, distance; allowed: those of {parts[0]}, layer, v"
    assert expected in ended.value.code and "\n" not in ended.value.code
    assert not (tmp_path / f"table{ending}").exists()
