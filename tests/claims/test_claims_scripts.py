"""The programs of the claims, as the rules call them; and the claims for readers."""

import json
import logging
import re
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from bottomup.claims import calibration, catalog, published
from bottomup.claims.catalog import CLAIMS
from bottomup.claims.claim import MARGIN
from bottomup.claims.curves import rows
from bottomup.claims.finding import find_all
from bottomup.claims.inference import MOST_RUNS
from bottomup.claims.readiness import FLOORS, STILL_FALLING
from bottomup.claims.tables import LEARNING, table
from bottomup.claims.words import LEVEL, MEANING
from bottomup.corpus.blocks import N_BLOCKS
from bottomup.measures.over_runs import MOST_DF
from bottomup.plan.config import load
from bottomup.plan.reading import read
from bottomup.plan.slices import Slices
from scripts import compare_with_published
from tests.claims.made_up import INITIAL, claim, moved, value_of
from tests.claims.null_studies import ASKED, KINDS, RUNS
from tests.tiny import ROOT

pytestmark = pytest.mark.long

ESTIMATORS = {
    "pwcca_between_runs": {"variant": "definition", "weights": "x"},
    "head_importance": {"importance": ["confidence", "relevance"]},
}
OTHERS = {
    "svcca": ["pwcca_between_runs", {"variant": "svcca-2019", "weights": "x"}],
    # Of a table that this study does not have.
    "classifier": ["no_such_table", {"estimator": "classifier"}],
}
SETTINGS = {"estimators": ESTIMATORS, "texts": {}, "others": OTHERS, "initial": INITIAL}
SETTINGS |= {"looks": {"seeds": [1, 2], "planned": [2]}, "lacking": {}}
# As is told of no paper.
# What the curves of the two papers do not tell.
BEYOND = [claim.name for claim in CLAIMS if claim.paper in ("beyond", "field")]


def figure(panel, series, source, ys):
    columns = {"panel": panel, "series": series, "quantity": "change", "source": source}
    return pd.DataFrame({"x": range(len(ys)), "y": ys, "low": None, "high": None}).assign(**columns)


@pytest.fixture
def study(two_seeds, tmp_path):
    """The tables and figures of a study in files."""
    frames = dict(two_seeds)
    runs = frames["pwcca_between_runs"].assign(variant="definition")
    # All runs equally far apart.
    other = runs.assign(distance=0.9, variant="svcca-2019", without=[[0.9] * 20] * len(runs))
    frames["pwcca_between_runs"] = pd.concat([runs, other])
    paths = []
    for name, frame in frames.items():
        paths.append(tmp_path / (f"{name}.parquet" if value_of(frame) else f"{name}.csv"))
        write = frame.to_parquet if value_of(frame) else frame.to_csv
        write(paths[-1], index=False)
    parts = [
        figure("input: change", "lm", "ours", [0, -1, -2, -4]),
        figure("input: change", "lm", "published", [0, -1, -3, -2]),
        figure("input: clusters", None, "ours", [5.0]),
    ]
    pd.concat(parts).to_csv(tmp_path / "mutual_information_input.csv", index=False)
    return tmp_path, paths


def judge(run_script, folder, tables, correlations=(), settings=SETTINGS):
    run_script(
        "judge_claims",
        settings,
        *("--tables", *tables, "--correlations", *(folder / name for name in correlations)),
        *("--table", folder / "claims.csv"),
        *("--specifications", folder / "specifications.csv"),
    )
    return pd.read_csv(folder / "claims.csv").set_index("claim")


def specified(folder, claim):
    """The verdicts of a claim by estimator and layers."""
    rows = pd.read_csv(folder / "specifications.csv").set_index("claim").loc[[claim]]
    return rows.set_index(["estimator", "layers"])["verdict"].to_dict()


def test_from_figures_and_tables_to_verdicts(study, run_script, caplog):
    folder, tables = study
    # The table that has other estimates is not the last one.
    tables = sorted(tables, key=lambda path: path.stem != "pwcca_between_runs")
    with caplog.at_level(logging.INFO):
        run_script(
            "compare_with_published",
            {},
            *("--figures", folder / "mutual_information_input.csv"),
            *("--table", folder / "comparison.csv", "--correlations", folder / "correlations.csv"),
        )
        claims = judge(run_script, folder, tables, ["correlations.csv"])
    reproduced = claims["verdict"] == "reproduced"
    once = claims["verdict"][claims["same_number_as"].isna()]
    assert len(once) < len(claims)
    assert caplog.messages == [
        "1 curves, median rank correlation 0.80",
        ", ".join(f"{n} {word}" for word, n in once.value_counts().items()),
    ]
    # Their objectives are of no paper, or their initial models both as if they forgot nothing; or
    # they rest on counts of heads or of evaluations, which two runs are too few for. Of the
    # paper's own decoder the upper third keeps more heads than the lower one, the highest layer
    # fewer than the lowest.
    counts = {"functions_stay", "lm_functions_stay", "mlm_functions_stay", "mlm_learns_slower"}
    counts |= {"first_layer_is_the_exception", "heads_take_over_second_function"}
    upper = "upper_decoder_keeps_cross_attention"
    # Of two seeds there is one pair.
    pair = {"seeds_closer_than_objectives", "seeds_closer_without_shared_weights"}
    assert set(claims.index[~reproduced]) <= {*BEYOND, *counts, *pair, upper}
    assert claims.loc[upper, "verdict"] == "depends on the estimator"
    missing = claims["undecided_until"][claims["verdict"] == "not measured"]
    assert len(missing) and missing.str.startswith("the study measures it").all()
    assert specified(folder, "mt_and_mlm_closest") == {
        ("as judged", "thirds"): "reproduced",
        ("svcca", "thirds"): "undecided",
    }
    of_it = claims.loc["mt_and_mlm_closest", ["specifications", "specifications_agree"]]
    assert of_it.tolist() == [2, 1]
    comparison = pd.read_csv(folder / "comparison.csv")
    assert ",".join(comparison) == "figure,panel,series,quantity,x,ours,low,high,published"
    assert comparison["ours"].tolist() == [0, -1, -2, -4]
    # 1 - 6 (0 + 0 + 1 + 1) / (4 * 15), for each claim about this curve.
    known = claims["rank_correlation"].dropna()
    assert known.to_dict() == pytest.approx({"lm_forgets_input": 0.8, "lm_forgets_most": 0.8})


def test_points_without_a_value_have_none_and_names_stay_as_they_are(tmp_path):
    lines = ["panel,series,quantity,x,y,low,high", "a,null,share,1,0.5,,", ",NA,share,2,,0.1,0.2"]
    (tmp_path / "some_figure.csv").write_text("\n".join([*lines, ""]))
    points = compare_with_published.read(tmp_path / "some_figure.csv")
    assert points["series"].tolist() == ["null", "NA"] and points["panel"].tolist() == ["a", ""]
    assert points[["y", "low", "high"]].isna().to_numpy().tolist() == [
        [False, True, True],
        [True, False, False],
    ]
    assert points["y"][0] == 0.5 and set(points["figure"]) == {"some_figure"}


def test_a_study_with_one_table_has_not_measured_all_other_claims(study, run_script):
    folder, tables = study
    claims = judge(run_script, folder, [path for path in tables if path.stem == "change"])
    of_change = claims["measure"] == "change"
    assert set(claims["verdict"][of_change]) == {"reproduced"}
    assert set(claims["verdict"][~of_change]) == {"not measured"}


def test_an_estimator_that_no_row_has_is_named_and_decides_nothing(study, run_script, caplog):
    folder, tables = study
    tables = [path for path in tables if path.stem == "pwcca_between_runs"]
    wrong = {"variant": "cca"}
    message = (
        "left out: no rows with variant cca in pwcca_between_runs, found definition, svcca-2019"
    )
    others = {"cca": ["pwcca_between_runs", wrong]}
    with caplog.at_level(logging.INFO):
        claims = judge(run_script, folder, tables, settings=SETTINGS | {"others": others})
    assert message in caplog.messages
    assert claims.loc["mt_and_mlm_closest", "verdict"] == "reproduced"
    assert specified(folder, "mt_and_mlm_closest") == {("as judged", "thirds"): "reproduced"}
    settings = SETTINGS | {"estimators": {"pwcca_between_runs": wrong}, "others": {}}
    claims = judge(run_script, folder, tables, settings=settings)
    assert set(claims["verdict"]) == {"not measured"} and claims["value"].isna().all()


def test_another_number_of_tokens_is_a_specification(study, run_script, monkeypatch):
    """As the default study judges: 400 tokens, and beside them 500, on which LM keeps all."""
    monkeypatch.chdir(ROOT)
    asked = Slices(load(*read([ROOT / "config.yaml"], {}))).judge_claims()
    settings = SETTINGS | {name: asked[name] for name in ("estimators", "others")}
    folder, tables = study
    (path,) = [path for path in tables if path.stem == "mutual_information"]
    frame = pd.read_parquet(path).assign(estimator="clusters", n_clusters=1000, n_tokens=400)
    frame.to_parquet(path)
    alone = judge(run_script, folder, [path], settings=settings)
    assert {name for name, _ in specified(folder, "lm_forgets_input")} == {"as judged"}
    nothing = frame.assign(n_tokens=500, mi_nats=5.0, without=[[5.0] * 20] * len(frame))
    pd.concat([nothing, frame]).to_parquet(path)
    both = judge(run_script, folder, [path], settings=settings)
    assert both["value"].equals(alone["value"]), "rows of both are not mixed up"
    verdicts = specified(folder, "lm_forgets_input")
    assert verdicts["as judged", "thirds"] == "reproduced"
    assert verdicts["500 tokens", "thirds"] != "reproduced"


def test_a_study_is_calibrated_from_its_tables(study, run_script):
    folder, tables = study
    run_script(
        "calibrate_claims",
        {"estimators": ESTIMATORS, "texts": {}, "initial": INITIAL, "studies": 40, "seed": 1},
        *("--tables", *(path for path in tables if path.stem == "change")),
        *("--table", folder / "calibration.csv"),
    )
    found = pd.read_csv(folder / "calibration.csv").set_index("claim")
    assert [found.index.name, *found] == [*calibration.COLUMNS, "as_if"]
    assert not found["as_if"].any()
    assert set(found.index) == {claim.name for claim in CLAIMS if claim.measure == "change"}
    # Nothing is blurred, so that all is seen as it is.
    assert (found["reproduced_if_as_published"] == 1).all()
    assert (found["contradicted_if_reversed"] == 1).all()
    assert (found["decided_if_nothing_is_true"] <= 0.2).all() and (found["runs"] == 2).all()


def test_the_judge_knows_the_initial_models(study, run_script):
    folder, tables = study
    some = [path for path in tables if path.stem == "mutual_information"]
    known = judge(run_script, folder, some)
    unknown = judge(run_script, folder, some, settings=SETTINGS | {"initial": {}})
    assert known["added"].notna().sum() >= 4 and unknown["added"].isna().all()


def test_the_judge_asks_whether_models_are_ready_by_their_metrics_and_quality(
    study, run_script, monkeypatch
):
    folder, tables = study
    asked = []

    def noting(curves, quality):
        asked.append(({name: curve["step"].tolist() for name, curve in curves.items()}, quality))
        return {}

    monkeypatch.setattr("bottomup.claims.readiness.not_ready", noting)
    for run, step in (("lm-1", 3), ("mt-1", 5)):
        (folder / run).mkdir()
        line = {"step": step, "tokens": 9, "dev_loss_nats": 4.0}
        (folder / run / "metrics.jsonl").write_text(json.dumps(line) + "\n")
    quality = pd.DataFrame({"objective": ["mt"], "metric": ["bleu"], "value": [9.0]})
    quality.to_csv(folder / "quality.csv", index=False)
    run_script(
        "judge_claims",
        SETTINGS | {"others": {}},
        *("--tables", *(path for path in tables if path.stem == "change")),
        *("--table", folder / "claims.csv"),
        *("--specifications", folder / "specifications.csv"),
        *("--metrics", *(folder / run / "metrics.jsonl" for run in ("lm-1", "mt-1"))),
        *("--quality", folder / "quality.csv"),
    )
    [(curves, found)] = asked
    assert curves == {"lm-1": [3], "mt-1": [5]} and found.equals(quality)


def test_the_judge_reads_from_metrics_how_fast_objectives_learn(study, run_script):
    folder, tables = study
    paths = []
    for seed in (1, 2, 3):
        for name, behind in (("lm", 0), ("mlm", 1.5)):
            paths.append(folder / f"{name}-{seed}" / "metrics.jsonl")
            paths[-1].parent.mkdir()
            doublings = np.arange(0, 5, 1 / 8)
            lines = pd.DataFrame(
                {"tokens": 2.0**doublings, "dev_loss_nats": 9 + behind - doublings}
            )
            lines.to_json(paths[-1], orient="records", lines=True)
    run_script(
        "judge_claims",
        SETTINGS | {"others": {}, "looks": {"seeds": [1, 2, 3], "planned": [3]}},
        *("--tables", *(path for path in tables if path.stem == "change")),
        *("--table", folder / "claims.csv"),
        *("--specifications", folder / "specifications.csv", "--metrics", *paths),
    )
    row = pd.read_csv(folder / "claims.csv").set_index("claim").loc["mlm_learns_slower"]
    # The middle of one and two doublings.
    assert row["value"] == pytest.approx(0.5) and row["rests_on"] == "lm mlm"
    # Both still learn, but nothing is lacking.
    assert row["verdict"] == "reproduced" and row["not_ready"].startswith("lm: dev loss fell")


def test_calibration_holds_the_study_against_the_published_curves(study, run_script, monkeypatch):
    """Without them each part is as large as the sentence says, whatever the study measured."""
    folder, tables = study
    [change] = [path for path in tables if path.stem == "change"]
    frame = pd.read_parquet(change)
    moved(frame, frame["distance"] ** 2).to_parquet(change)
    monkeypatch.setattr(calibration, "calibrate", handed := Handed())
    run_script(
        "calibrate_claims",
        {"estimators": ESTIMATORS, "texts": {}, "initial": INITIAL, "studies": 40, "seed": 1},
        *("--tables", change, "--table", folder / "calibration.csv"),
    )
    [(findings, theirs, _, n_studies, seed)] = handed.calls
    assert (n_studies, seed) == (40, 1) and not {*BEYOND} & {*theirs}
    both = [name for name in findings if name in theirs]
    papers, _ = find_all(
        [claim for claim in CLAIMS if claim.name in both],
        {"change": table("change", published.frames()["change"])},
        INITIAL,
    )
    for name in both:
        np.testing.assert_array_equal(theirs[name].replicates.whole, papers[name].replicates.whole)
    wholes = [
        (findings[name].replicates.whole[:, 0], theirs[name].replicates.whole[:, 0])
        for name in both
    ]
    assert not all(np.allclose(*whole) for whole in wholes)


def test_a_claim_of_the_field_may_read_what_the_published_curves_lack(
    study, run_script, monkeypatch
):
    folder, tables = study
    [change] = [path for path in tables if path.stem == "change"]
    pd.read_parquet(change).assign(metric="cosine").to_parquet(change)
    own = claim(lambda tables: [rows(tables, "change", metric="cosine").values("distance")[0]])
    monkeypatch.setattr(catalog, "CLAIMS", [*CLAIMS, replace(own, paper="field")])
    monkeypatch.setattr(calibration, "calibrate", handed := Handed())
    run_script(
        "calibrate_claims",
        {"estimators": ESTIMATORS, "texts": {}, "initial": INITIAL, "studies": 40, "seed": 1},
        *("--tables", change, "--table", folder / "calibration.csv"),
    )
    [(findings, theirs, *_)] = handed.calls
    assert own.name in findings and own.name not in theirs


class Handed:
    """A calibration that only notes what it is handed."""

    def __init__(self):
        self.calls = []

    def __call__(self, *arguments):
        self.calls.append(arguments)
        return pd.DataFrame(columns=calibration.COLUMNS)


def test_claims_about_heads_that_are_not_there_are_calibrated_as_if_they_were(study, run_script):
    folder, tables = study
    [functions] = [path for path in tables if path.stem == "head_functions"]
    frame = pd.read_parquet(functions)
    moved(frame, frame["accuracy"] / 10).to_parquet(functions)
    run_script(
        "calibrate_claims",
        {"estimators": ESTIMATORS, "texts": {}, "initial": INITIAL, "studies": 40, "seed": 1},
        *("--tables", functions, *(path for path in tables if path.stem == "head_importance")),
        *("--table", folder / "calibration.csv"),
    )
    found = pd.read_csv(folder / "calibration.csv").set_index("claim")
    as_if = {name.removeprefix("lm_").removeprefix("mlm_") for name in found.index[found["as_if"]]}
    assert as_if == {
        *("positional_heads_are_relevant", "specialized_heads_are_relevant"),
        "rare_token_head_is_most_relevant",
    }
    assert (found.loc[found["as_if"], "decided_if_nothing_is_true"] <= 0.2).all()


def test_the_page_has_the_meaning_of_each_verdict():
    page = (ROOT / "docs/claims.md").read_text()
    meanings = [f"- **{word}**: {meaning}" for word, meaning in MEANING.items()]
    assert re.findall(r"^- \*\*[a-z, ]+\*\*: .*", page, re.MULTILINE) == meanings


def test_the_page_has_the_numbers_of_the_code():
    page = " ".join((ROOT / "docs/claims.md").read_text().split())
    floors = [f"{name.replace('_', ' ')} below {floor:g}" for name, floor in FLOORS.items()]
    for said in (
        f"The margin is {100 * MARGIN:g} % of the statistic's value",
        f"are weak ({', '.join(floors)}) or where their dev loss fell by more than",
        f"{STILL_FALLING:g} nats over the second half",
        f"dealt into {N_BLOCKS} blocks",
        f"at most {MOST_DF} degrees of freedom",
        f"wrong ones is at most {100 * LEVEL:g} % each",
        f"if {MOST_RUNS} are not enough",
    ):
        assert said in page, said


def test_null_studies_on_the_page_keep_its_promise():
    found = pd.read_csv(ROOT / "docs/null_studies.csv")
    cells = found[["claims", "runs", "variances"]].itertuples(index=False, name=None)
    assert {*cells} == {*product(ASKED, RUNS, KINDS)}
    assert found["decided"].max() <= LEVEL


def test_every_claim_that_the_default_study_measures_is_calibrated():
    known = pd.read_csv(ROOT / "docs/calibration.csv").set_index("claim")
    controlled = {"pruned_better_than_from_scratch", "gates_beat_importance"}
    controlled |= {"lm_gates_beat_importance", "mlm_gates_beat_importance"}
    mixed = {"next_token_forgets_more", "causal_mask_forgets_more_when_trained"}
    mixed |= {"mask_parts_more_than_target", "causal_mask_keeps_token_worse"}
    dropout = {"token_dropout_ends_extreme_influence", "token_dropout_removes_rare_token_head"}
    learning = {claim.name for claim in CLAIMS if claim.measure == LEARNING}  # of no table
    field = {"parts_of_speech_before_relations", "trees_before_agreement", "lm_learns_earlier"}
    field |= {"translation_beats_denoising", "translations_help_two_stacks_more"}
    field |= {"lm_first_helps_mlm", "both_are_better_than_either", "mlm_stays_like_lm"}
    field.add("diffusion_changes_less_below")
    without = controlled | mixed | dropout | learning | field
    assert set(known.index) == {claim.name for claim in CLAIMS} - without
    # By the noise of two or three runs, more of these is decided than is meant: decisions.md.
    rate = known["decided_if_nothing_is_true"]
    often = {"gates_keep_relevant_heads", "first_layer_is_the_exception", "mlm_adjective_heads"}
    often |= {"lm_most_encoder_heads_can_go", "rare_token_head_is_most_relevant"}
    assert rate.mean() <= 0.02 and set(rate[rate > 0.05].index) == often and rate.max() <= 0.1
    reached = known["reproduced_there"].dropna()  # empty where no number of runs would do
    assert (reached >= 0.8).all() and len(reached) >= len(known) - 5
