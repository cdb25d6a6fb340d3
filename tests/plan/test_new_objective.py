"""An objective that nobody knows takes its place by what its class says of it: those of
docs/tutorials/add_objective.md, and one more."""

import importlib.util
import json
import shlex
import subprocess
import sys

import numpy as np

from bottomup.corpus.specials import EOS, MASK, N_SPECIAL
from bottomup.corpus.tokens import TokenFile
from bottomup.views import occurrences
from tests.tutorials import files_in

PAGE = files_in("add_objective")
SPANS, CAUSAL = (PAGE[f"bottomup/objectives/{name}.py"] for name in ("spans", "spans_causal"))
DROPOUT = '''\
"""MLM after random tokens."""

from bottomup.objectives import Question, Variant, mlm


class Objective(mlm.Objective):
    masked = False
    variant = Variant("mlm", Question.TOKEN_DROPOUT)
'''
NEW = """\
  untrained_causal: {}
  mlm_40: {objective: mlm, choose: 0.4}
  spans: {}
  spans_causal: {n_seeds: 1}
  spans_causal_10: {objective: spans_causal, share: 0.1, n_seeds: 1}
  mlm_hidden: {n_seeds: 1}
"""


def with_new_objectives(checkout):
    folder = checkout.path / "bottomup/objectives"
    for name, text in {"spans": SPANS, "spans_causal": CAUSAL, "mlm_hidden": DROPOUT}.items():
        (folder / f"{name}.py").write_text(text)
    checkout.edit("study.yaml", "  untrained_causal: null\n", NEW)


def drawn(checkout):
    """Of every figure that would be drawn, its options and its tables."""
    arguments = ("--dry-run", "--forceall", "--printshellcmds", "--configfile", "study.yaml")
    figures = {}
    for line in checkout.snakemake(*arguments).stdout.splitlines():
        if "scripts/plot_figure.py" in line:
            words = shlex.split(line)
            settings = json.loads(words[words.index("--settings") + 1])
            tables = words[words.index("--tables") + 1 : words.index("--published")]
            name = words[words.index("--png") + 1].rpartition("/")[2].removesuffix(".png")
            parts = {path.rpartition("/")[2].rpartition(".")[0] for path in tables}
            figures[name] = settings["options"], parts
    return figures


def test_new_objectives_are_read_measured_and_drawn_as_others_are(checkout):
    with_new_objectives(checkout)
    outputs = checkout.summary().keys()
    for name in ("mlm_40", "spans"):
        assert f"occurrences/as_trained_{name}/occurrences.parquet" in outputs
        assert f"views/{name}-2/as_trained.npy" in outputs
    pairs = {output.split("/")[-1] for output in outputs if "pwcca_between_runs/" in output}
    assert {"mlm-1.spans_causal-1.csv", "spans_causal-1.spans_causal_10-1.csv"} <= pairs
    figures = drawn(checkout)
    compared = (
        "mutual_information_input",
        "neighbors_token",
        "change_pos",
        "isotropy",
        "geometry",
        "probes",
        "context",
        "structural_probe",
        "edge_probes",
        "senses",
        "word_order",
        "bertscore",
        "agreement",
    )
    for figure in (*compared, "projection_token", "distance_between_layers", "attention_of_heads"):
        runs = {part.partition(".")[0] for part in figures[figure][1]}
        assert {"mlm-1", "mlm_40-1", "spans-1"} <= runs, figure
        assert not {"spans_causal-1", "mlm_hidden-1"} & runs, figure
    assert figures["mutual_information_spans"][0]["reading"] == "as_trained"
    assert figures["attention_of_heads"][0]["initial"] == {
        **{"lm": "untrained_causal", "mt": "untrained", "mlm": "untrained"},
        **{"mlm_40": "untrained", "spans": "untrained"},
    }
    models = figures["mask"][0]["models"]
    both, causal = {"causal": False, "initial": "untrained"}, {"causal": True}
    assert models["mlm_40"] == both | {"target": "mlm", "variant": False}
    assert models["spans"] == both | {"target": "spans", "variant": False}
    causal |= {"initial": "untrained_causal", "target": "spans", "variant": True}
    assert models["spans_causal"] == models["spans_causal_10"] == causal
    assert "mlm_hidden" not in models
    variants = {"mlm_hidden": ["mlm", "mlm_40"]}
    options, parts = figures["influence_with_token_dropout"]
    assert options == {"variants": variants} and "mlm_hidden-1" in parts
    assert not any(
        "untrained-1.untrained_causal" in part for part in figures["distance_between_tasks"][1]
    )


def test_as_it_was_trained_it_is_read_with_its_spans(tmp_path):
    (tmp_path / "spans.py").write_text(SPANS)
    spec = importlib.util.spec_from_file_location("spans", tmp_path / "spans.py")
    spans = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(spans)
    lengths = np.full(200, 30)
    ids = np.random.default_rng(1).integers(N_SPECIAL, 50, lengths.sum()).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    ids[offsets[1:] - 1] = EOS
    tokens = TokenFile(ids=ids, words=np.ones_like(ids), offsets=offsets)
    labels, ranks = np.arange(N_SPECIAL, 20), np.arange(50)
    reading = occurrences.as_trained(
        tokens, np.arange(200), ranks, spans.Objective(), 50, 2, labels, seed=1
    )
    masked = reading.table.query("kind == 'masked'")
    assert set(reading.table["kind"]) == {"masked", "drawn"} and set(masked["input_id"]) == {MASK}
    # 1 - 0.95^3 of the tokens, less at the first two; and beside most of them another.
    assert abs(len(masked) / (2 * 200 * 29) - 0.138) < 0.01
    following = masked.groupby("text")["position"].diff() == 1
    assert following.mean() > 0.6


def test_what_objectives_share_may_stand_beside_them(checkout):
    (checkout.path / "bottomup/objectives/_shared.py").write_text("SPAN = 3\n")
    said = checkout.snakemake("--summary", "--config", "objectives={_shared: {}}", check=False)
    assert "objectives._shared: unknown key; allowed: bilm, " in said.stderr
    assert "_shared, " not in said.stderr
    made = [sys.executable, "-m", "bottomup.plan.reference"]
    subprocess.run(made, cwd=checkout.path, check=True, capture_output=True)
