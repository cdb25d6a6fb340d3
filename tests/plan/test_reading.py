"""Files of a config: what they are together, and what is said of them before anything is read."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.settings.types import (
    DAGSettings,
    ExecutionSettings,
    PersistenceBackend,
    RemoteExecutionSettings,
    RerunTrigger,
    StorageSettings,
    WorkflowSettings,
)

from bottomup.plan import reading
from bottomup.core.errors import UserError
from bottomup.plan.config import load
from bottomup.plan.reading import MISLEADING, misleading, read, started, typed
from tests.plan.checkouts import ROOT

pytestmark = pytest.mark.long


def files(folder, *texts):
    """Files with these texts, by number."""
    paths = [folder / f"{number}.yaml" for number, _ in enumerate(texts, start=1)]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return paths


def config_of(folder, *texts, **command_line):
    config, mistakes = read(files(folder, *texts), command_line)
    assert mistakes == []
    return config


def mistakes_in(folder, *texts, **command_line):
    """What `read` says, by the names of the files alone."""
    try:
        lines = read(files(folder, *texts), command_line)[1]
    except UserError as error:
        lines = str(error).splitlines()
    return [line.replace(f"{folder}/", "") for line in lines]


def test_each_file_is_laid_over_those_before_it(tmp_path):
    assert config_of(tmp_path, "a: {b: 1, c: [1, 2]}\nd: 1", "a: {c: [3]}", a={"e": 5}) == {
        "a": {"b": 1, "c": [3], "e": 5},
        "d": 1,
    }


def test_json_may_have_tabs(tmp_path):
    file = tmp_path / "a.json"
    file.write_text('{\n\t"seeds":\t[5],\n\t"study": "a\\tb"\n}\n')
    assert read([file], {}) == ({"seeds": [5], "study": "a\tb"}, [])


def test_json_may_have_any_character_escaped(tmp_path):
    """As json.dumps writes it; after an escaped \\, it is no escape."""
    given = {
        "a": {"\U0001f600": "x\U0001f600\U0001d11e"},
        "b": "\\ud83d\\ude00",
        "c": "\\\U0001f600",
    }
    file = tmp_path / "a.json"
    file.write_text(json.dumps(given))
    assert "ud83d" in file.read_text() and read([file], {}) == (given, [])


def test_what_one_file_removes_a_later_one_brings_back(tmp_path):
    """With nothing of what it had."""
    texts = ("lm: {training: {patience: 9}}", "lm: null", "lm: {}")
    assert [config_of(tmp_path, *texts[:n])["lm"] for n in (2, 3)] == [None, {}]
    assert config_of(tmp_path, *texts[:2], lm={"n_seeds": "1"})["lm"] == {"n_seeds": "1"}


def test_the_file_of_a_look_brings_no_objective_back(tmp_path):
    """It would be trained with default options."""
    study, look = (
        "objectives: {mt: null, lm: {}}",
        "objectives: {mt: {n_seeds: 3}, lm: {n_seeds: 3}}",
    )
    assert mistakes_in(tmp_path, study, look) == [
        "2.yaml: objectives.mt: found n_seeds alone, where a file before it removes mt; delete it "
        "here, or say more of it, as objective: mt"
    ]
    wanted = "objectives: {mt: {objective: mt, n_seeds: 3}}"
    assert mistakes_in(tmp_path, study, wanted) == mistakes_in(tmp_path, look) == []


def test_an_alias_of_one_file_is_a_value_of_its_own(tmp_path):
    found = config_of(tmp_path, "lm: &same {a: {b: 1}}\nmlm: *same", "lm: {a: {b: 2}}")
    assert found == {"lm": {"a": {"b": 2}}, "mlm": {"a": {"b": 1}}}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "model: {layers: 2}\nseeds: [1]\nmodel:\n  layers: 3\n",
            "1.yaml, line 3: model: stands in line 1 already; allowed: each key once",
        ),
        (
            "model:\n  layers: 3\n  heads: 2\n  'layers': 4\n",
            "1.yaml, line 4: model.layers: stands in line 2 already; allowed: each key once",
        ),
        ('{"a": {"b": 1,\n"b": 1}}', "1.yaml, line 2: a.b: stands in line 1 already; allowed: "),
        ("a: [{b: 1, b: 2}]", "1.yaml, line 1: a[0].b: stands in line 1 already; allowed: "),
        (
            "a: 1\nlayers: 010",
            "1.yaml, line 2: layers: found 010, which YAML reads to the base 8 or 60; allowed: ",
        ),
        ("a: [1, 1:30]", "1.yaml, line 1: a[1]: found 1:30, which YAML reads to the base 8 or 60"),
        ("study: 2026-01-02", "1.yaml, line 1: study: found a timestamp; allowed: text (in quo"),
        ("a: 1\nb: !!set {x}", "1.yaml, line 2: b: found a set; allowed: text (in quotes), "),
        ("a: {on: 1}", "1.yaml, line 1: a.on: YAML reads this key as bool; put it in quotes"),
        ("a: 1\n~: 2", "1.yaml, line 2: ~: YAML reads this key as null; put it in quotes"),
        ("a: {010: 1}", "1.yaml, line 1: a.010: YAML reads this key as 8; put it in quotes"),
        ("a: {1: 1, 1.50: 2}", "1.yaml, line 1: a.1.50: YAML reads this key as 1.5; put it in"),
        ("a: 1\n b: 2", "1.yaml, line 2: is not YAML (mapping values are not allowed here); mend"),
        ("a: 1\n\tb: 2", "1.yaml, line 2: is not YAML (found character '\\t' that cannot start "),
        ("a: !!python/tuple [1]", "1.yaml, line 1: is not YAML (could not determine a constructor"),
        ("a: !!python/object/apply:os.system [id]", "1.yaml, line 1: is not YAML (could not det"),
        ("{[1]: 2}", "1.yaml, line 1: is not YAML (found unhashable key); mend it"),
        ("a: *b", "1.yaml, line 1: is not YAML (found undefined alias 'b'); mend it"),
        (
            "a: 2026-13-01",
            "1.yaml: cannot be read (month must be in 1..12); allowed: YAML in ",
        ),
        ("a: \x07", "1.yaml: cannot be read (unacceptable character #x0007: special characters "),
        ("- a", "1.yaml: has no keys; allowed: keys and values, as in config.yaml"),
        ("", "1.yaml: has no keys; allowed: keys and values, as in config.yaml"),
        ("a: &a [*a]", "1.yaml: has more than 100,000 values, counting what its aliases stand for"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path, text, line):
    [found] = mistakes_in(tmp_path, text)
    assert found.startswith(line)


def test_numbers_and_text_that_only_look_odd_are_right(tmp_path):
    text = "a: [0, 0.5, -1, 1_000, 0x10]\nb: '010'\nc: '1:30'\nd: {a: 1}\ne: &x {a: 1}"
    text += "\nf: {<<: *x}\n1: {'01': 1}"
    assert config_of(tmp_path, text) == {
        **{"a": [0, 0.5, -1, 1000, 16], "b": "010", "c": "1:30"},
        **{"d": {"a": 1}, "e": {"a": 1}, "f": {"a": 1}},
        1: {"01": 1},
    }


def test_null_on_the_command_line_is_no_text(tmp_path):
    """Where Snakemake leaves it as text: within a section or a list."""
    given = {"a": {"b": "null", "c": ["null", 1]}}
    assert config_of(tmp_path, "a: {b: {d: 1}, c: [2]}", **given) == {
        "a": {"b": None, "c": [None, 1]}
    }


def test_a_file_that_is_missing_or_in_another_encoding(tmp_path):
    (tmp_path / "latin.yaml").write_bytes("a: ü".encode("latin-1"))
    for name, reason in (("latin.yaml", "'utf-8' codec can't"), ("none.yaml", "[Errno 2] No such")):
        with pytest.raises(UserError, match="cannot be read") as raised:
            read([tmp_path / name], {})
        assert reason in str(raised.value) and name in str(raised.value)


@pytest.mark.parametrize("form", ["[{}]", "{{x: {}}}"])
def test_aliases_of_aliases_end_in_one_line(tmp_path, form):
    """A billion values in ten lines."""
    lines = ["a0: &a0 1"]
    for n in range(9):
        many = ", ".join(f"*a{n}" if form[0] == "[" else f"k{i}: *a{n}" for i in range(10))
        lines.append(f"a{n + 1}: &a{n + 1} " + (f"[{many}]" if form[0] == "[" else f"{{{many}}}"))
    [found] = mistakes_in(tmp_path, "\n".join(lines))
    assert found.startswith("1.yaml: has more than 100,000 values")


def test_a_plain_value_over_a_section_names_its_file(tmp_path):
    """Even where a later file has the section again."""
    texts = ("model: {layers: 6, heads: 8}", "model: 3", "model: {layers: 2}")
    found = mistakes_in(tmp_path, *texts, model="x")
    assert found == [
        "2.yaml: model: found 3; allowed: section of layers, heads",
        '--config: model: found "x"; allowed: section of layers, heads',
    ]
    assert read(files(tmp_path, *texts), {})[0] == {"model": {"layers": 2, "heads": 8}}


def test_mistakes_of_all_files_and_of_all_values_stand_together(tmp_path):
    text = (ROOT / "config.yaml").read_text().replace("  layers: 6\n", "  layers: 0\n")
    given = read(files(tmp_path, text, "seeds: [1]\nseeds: [2]", "quality: {seed: 07}"), {})
    with pytest.raises(UserError) as raised:
        load(*given)
    found = [line.replace(f"{tmp_path}/", "") for line in str(raised.value).splitlines()]
    assert [line[: line.index(": ")] for line in found] == [
        *("2.yaml, line 2", "3.yaml, line 1", "model.layers"),
    ]


def a_start(cores=1, nodes=None, configfiles=(), replaced=False, **command_line):
    """Of Snakemake's workflow what is looked at."""
    return SimpleNamespace(
        basedir=str(ROOT),
        resource_settings=SimpleNamespace(cores=cores, nodes=nodes),
        config_settings=SimpleNamespace(
            config=command_line, configfiles=configfiles, replace_workflow_config=replaced
        ),
    )


def test_the_config_is_that_of_the_repository_below_all_else(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    [over] = files(tmp_path, "seeds: [7]")
    config, _ = started(a_start(configfiles=[over], study="mine"), typed([]))
    assert (config["study"], config["seeds"]) == ("mine", [7]) and config["model"]["layers"]
    assert started(a_start(configfiles=[over], replaced=True), typed([]))[0] == {"seeds": [7]}


@pytest.mark.parametrize(
    ("start", "arguments", "line"),
    [
        ({}, "--configfile a.yaml --configfile b.yaml", "--configfile: given twice, but "),
        ({}, "--configfile=a.yaml --configfiles b.yaml", "--configfile: given twice, but "),
        ({}, "--configfile=a.yaml --configfiles=b.yaml", "--configfile: given twice, but "),
        ({}, "-C seeds=[1] --config study=x", "--config: given twice, but Snakemake takes "),
        ({}, "-Caa=1 -Cbb=2", "--config: given twice, but Snakemake takes the last alone; "),
        ({}, "-nCaa=1 --config=bb=2", "--config: given twice, but Snakemake takes the last "),
        ({}, "-C study=a study=b", "--config: study is given twice; allowed: each key once"),
        ({}, '-C lm={"b":{"c":1},"b":{"d":2}}', "--config: lm.b is given twice; allowed: each "),
        ({}, '-C lm={"b":{"c":1}} lm={"b":{"c":2}}', "--config: lm.b.c is given twice; allow"),
        ({"cores": 0}, "--cores 0", "--cores or --jobs: found 0, with which no job starts; "),
        ({"cores": None, "nodes": 0}, "--jobs 0", "--cores or --jobs: found 0, with which no "),
    ],
)
def test_a_start_that_leads_nowhere_is_one_line(monkeypatch, start, arguments, line):
    monkeypatch.chdir(ROOT)
    with pytest.raises(UserError) as raised:
        started(a_start(**start), typed(arguments.split()))
    assert str(raised.value).startswith(line)


@pytest.mark.parametrize("name", ["a:b", "a {x}", "a}"])
def test_a_repository_whose_path_would_be_read_as_something_else(tmp_path, monkeypatch, name):
    """Its jobs would not find the library, or Snakemake would fill in what is in braces."""
    (tmp_path / name).symlink_to(ROOT)
    monkeypatch.chdir(tmp_path / name)
    start = a_start()
    start.basedir = str(tmp_path / name)
    with pytest.raises(UserError, match=r"allowed: a folder without : { } in its path, .* move"):
        started(start, typed([]))


def test_a_start_where_names_of_files_are_in_another_encoding(monkeypatch):
    """As with LANG=en_US: a file called текст.ru would be said not to be there."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("sys.getfilesystemencoding", lambda: "iso8859-1")
    with pytest.raises(UserError, match=r"in iso8859-1, .* allowed: UTF-8, .* PYTHONUTF8=1"):
        started(a_start(), typed([]))


def test_a_start_in_another_folder_says_where_to_go(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as raised:
        started(a_start(), typed([]))
    assert str(raised.value).endswith(f"allowed: the repository's folder: cd {ROOT}")


# By option, what Snakemake makes of it.
ASKED = {
    "--keep-incomplete": {"execution_settings": ExecutionSettings(keep_incomplete=True)},
    "--ignore-incomplete": {"execution_settings": ExecutionSettings(ignore_incomplete=True)},
    "--drop-metadata": {"execution_settings": ExecutionSettings(keep_metadata=False)},
    "--no-hooks": {"execution_settings": ExecutionSettings(no_hooks=True)},
    "--immediate-submit": {
        "remote_execution_settings": RemoteExecutionSettings(immediate_submit=True)
    },
    "--rerun-triggers": {
        "dag_settings": DAGSettings(
            rerun_triggers={RerunTrigger.MTIME}, max_checksum_file_size=10**12
        )
    },
    "--trust-io-cache": {
        "dag_settings": DAGSettings(trust_io_cache=True, max_checksum_file_size=10**12)
    },
    "--max-checksum-file-size": {"dag_settings": DAGSettings()},
    "--consider-ancient": {"workflow_settings": WorkflowSettings(consider_ancient={"a": {"b"}})},
    "--persistence-backend": {
        "workflow_settings": WorkflowSettings(persistence_backend=PersistenceBackend.DB)
    },
    "--all-temp": {"storage_settings": StorageSettings(all_temp=True)},
    "--omit-flags": {"storage_settings": StorageSettings(omit_flags={"ensure"})},
    "--cache": {"workflow_settings": WorkflowSettings(cache=["a"])},
}


def asked(is_main_process=True, **settings):
    """A workflow as the profile has it, but for these settings."""
    usual = {
        "execution_settings": ExecutionSettings(),
        "dag_settings": DAGSettings(max_checksum_file_size=10**12),
        "workflow_settings": WorkflowSettings(),
        "remote_execution_settings": RemoteExecutionSettings(),
        "storage_settings": StorageSettings(),
    }
    return SimpleNamespace(is_main_process=is_main_process, **usual | settings)


def test_every_option_that_misleads_is_named_alone():
    assert [*misleading(asked(), typed(["--cores", "1"]))] == []
    for name, settings in ASKED.items():
        [line] = misleading(asked(**settings), typed([]))
        assert line.startswith(f"{name}: ") and line.endswith("; start without it")
        assert [*misleading(asked(is_main_process=False, **settings), typed([]))] == []
    for argument in ("--cm", "--cleanup-metadata", "--cleanup-meta"):
        [line] = misleading(asked(), typed([argument, "a"]))
        assert line.startswith("--cleanup-metadata: ")
    assert ASKED.keys() | {"--cleanup-metadata"} == MISLEADING.keys()


def test_what_is_written_once_may_have_several_values():
    given = typed(["-nC", "aa=1", "bb=2", "--configfile", "a.yaml", "b.yaml", "-d.", "--", "-C"])
    assert given.config == [["aa=1", "bb=2"]] and [*map(len, given.configfile)] == [2]
    assert given.dryrun and given.directory == Path() and given.targets == ["-C"]


def test_what_a_profile_says_is_read_as_snakemake_reads_it(tmp_path):
    (tmp_path / "config.yaml").write_text("configfile: [a.yaml, b.yaml]\nconfig: [seed=1]\n")
    given = typed(["-n", "--profile", str(tmp_path), "--", "-C"])
    assert [[*map(str, files)] for files in given.configfile] == [["a.yaml", "b.yaml"]]
    assert (given.config, given.dryrun, given.targets) == ([["seed=1"]], True, ["-C"])
    given = typed(["--profile", str(tmp_path), "--configfile", "c.yaml"])
    assert [[*map(str, files)] for files in given.configfile] == [["c.yaml"]]
    assert typed(["--profile", str(tmp_path), "--mode", "subprocess"]).configfile == []
    (tmp_path / "config.yaml").write_text("cores: [\n")
    with pytest.raises(UserError, match=r"^Couldn't parse config file: .*line 2, column 1; allow"):
        typed(["--profile", str(tmp_path)])


def test_touching_is_said_however_it_is_asked_for(checkout):
    profile = checkout.path / "quick" / "config.yaml"
    profile.parent.mkdir()
    profile.write_text("touch: true\n")
    one = ("--configfile", "study.yaml", "--forcerun", "fetch_corpus", "--until", "fetch_corpus")
    ways = ("-tc1", 1), ("-c1 --executor=touch", 1), ("-c1 --profile quick", 1), ("-ntc1", 0)
    for asked, said in ways:
        done = checkout.snakemake(*asked.split(), *one)
        assert done.stderr.count("--touch: results will count as made with ") == said, asked


def test_options_that_mislead_are_refused_before_anything_is_planned(checkout):
    options = ("--keep-incomplete", "--rerun-triggers", "mtime", "--configfile", "study.yaml")
    done = checkout.snakemake("--cores", "1", *options, check=False)
    assert done.returncode == 1
    assert [line.split(":")[0] for line in done.stderr.splitlines()[-3:]] == [
        *("error", "--keep-incomplete", "--rerun-triggers"),
    ]


def test_another_library_than_that_of_the_repository_is_one_line(tmp_path, monkeypatch):
    """Its code would be planned with, and other code would run."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(reading, "ROOT", tmp_path)
    with pytest.raises(UserError, match=r"^planned by the library in .*; unset PYTHONPATH, or sta"):
        started(a_start(), typed([]))


def test_a_library_that_is_installed_or_on_the_path_is_not_read(unbuilt, tmp_path):
    (tmp_path / "bottomup").mkdir()
    (tmp_path / "bottomup/__init__.py").write_text("raise SystemExit('another library')")
    for path in (tmp_path, f"{tmp_path}:{unbuilt}"):
        done = subprocess.run(
            [Path(sys.executable).with_name("snakemake"), "--list-rules"],
            cwd=unbuilt,
            env=os.environ | {"PYTHONPATH": str(path)},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, "another library" in done.stderr) == (0, False)


@pytest.mark.parametrize(
    ("key", "kind"), [("2026-11-25", "timestamp"), ('!!binary "AA=="', "binary")]
)
def test_keys_that_json_has_no_text_for(tmp_path, key, kind):
    text = (ROOT / "config.yaml").read_text()
    with pytest.raises(UserError) as raised:
        load(*read(files(tmp_path, text, f"corpus:\n  {key}: note\n"), {}))
    assert f"found a {kind} as a key; allowed: text (in quotes)" in str(raised.value)


def test_keys_that_are_no_text_are_unknown_keys(tmp_path):
    text = (ROOT / "config.yaml").read_text()
    odd = "objectives: {1: {}, 4: {}}\ncorpus: {sources: {2: {}}}\n3: x"
    with pytest.raises(UserError) as raised:
        load(*read(files(tmp_path, text, odd), {}))
    keys = [line.split(": unknown key; ")[0] for line in str(raised.value).splitlines()]
    assert sorted(keys) == [
        *("3", "corpus.sources.2", "objectives.1", "objectives.4"),
    ]
