"""The command ./study: what it hands to Snakemake, and what it says of mistakes."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

from bottomup.plan import start, terminal
from bottomup.core.errors import UserError
from bottomup.plan.reading import typed
from tests.plan.checkouts import ROOT

SAYS = '#!/usr/bin/env bash\nprintf "%s\\n" "$@"\n'
MOST_OF_HELP = 15  # lines


@pytest.fixture(scope="module", autouse=True)
def plugin():
    LoggerPluginRegistry().register_plugin(start.MODULE, terminal)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder like the repository's, with two studies and a config of one's own."""
    (tmp_path / "studies").mkdir()
    (tmp_path / "profiles/default").mkdir(parents=True)
    for name in ("studies/smoke.yaml", "studies/gpu.yaml", "mine.yaml"):
        (tmp_path / name).write_text("# What it is for.\n# And more.\nstudy: a\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], []),
        (["default"], []),
        (["-n"], ["-n"]),
        (["smoke"], ["--configfile", "studies/smoke.yaml"]),
        (["smoke", "-n"], ["--configfile", "studies/smoke.yaml", "-n"]),
        (["studies/smoke.yaml", "-F"], ["--configfile", "studies/smoke.yaml", "-F"]),
        (["smoke", "./mine.yaml"], ["--configfile", "studies/smoke.yaml", "mine.yaml"]),
        (["gpu", "--", "latex"], ["--configfile", "studies/gpu.yaml", "--", "latex"]),
        (["--configfile", "mine.yaml"], ["--configfile", "mine.yaml"]),
    ],
    ids=str,
)
def test_studies_and_config_files_come_first_and_all_else_is_snakemakes(folder, given, expected):
    assert start.snakemake_arguments(given) == ["--cores", "all", *expected]


@pytest.mark.parametrize("given", [["-c", "3"], ["--jobs", "2", "-n"], ["--profile", "mine"]])
def test_cores_that_are_given_are_not_all(folder, given):
    (folder / "mine").mkdir()
    # The files of the command count, not those of the profile, as in Snakemake.
    (folder / "mine/config.yaml").write_text("cores: 4\nconfigfile: mine.yaml\n")
    assert start.snakemake_arguments(["gpu", *given])[0] == "--configfile"


def test_a_report_after_the_run_is_no_report_before_it(folder):
    given = typed(["--report", "report.html", "--report-after-run", "--cores", "1"])
    start.require_report(folder, given)


def test_jobs_without_a_limit_are_no_number_of_cores(folder):
    assert start.snakemake_arguments(["gpu", "-j", "unlimited"])[:2] == ["--cores", "all"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], (False, 1)),
        (["--cores", "8", "-j", "4"], (False, 8)),
        (["-n", "-j", "4"], (False, 4)),
        (["-e", "slurm", "-j", "50"], (True, 50)),
        (["--profile", str(ROOT / "profiles/slurm")], (True, 400)),
        (["--profile", str(ROOT / "profiles/slurm"), "-n", "-e", "local"], (False, 4)),
    ],
    ids=str,
)
def test_the_executor_decides_whether_there_is_a_cluster(folder, arguments, expected):
    assert start.where_jobs_run(arguments) == expected


@pytest.mark.parametrize(
    ("given", "found", "advice"),
    [
        (["smok"], "found smok, no study", "did you mean smoke?"),
        (["a" * 300], "found a{300}, no study", "a config file"),
        (["smoke", "latex"], "found latex, no study", "./study STUDY -- latex"),
        (["gpu", "no.yaml"], "found no.yaml, and there is no such file in ", "a config file"),
        (["gpu", "--configfile", "mine.yaml"], "--configfile: found it behind gpu", "first"),
        (["gpu", "-n", "--configfiles=mine.yaml"], "--configfile: found it behind gpu", "first"),
        (["gpu", "--cores"], "argument --cores/-c: expected one argument", "--help says"),
    ],
    ids=str,
)
def test_what_is_no_study_is_one_line(folder, given, found, advice):
    with pytest.raises(UserError, match=f"^{found}") as error:
        start.snakemake_arguments(given)
    assert advice in str(error.value) and "\n" not in str(error.value)


def test_all_studies_are_named_where_one_is_unknown(folder):
    with pytest.raises(UserError, match="allowed: default, gpu, smoke;"):
        start.config_file("other")


@pytest.mark.parametrize(
    ("arguments", "logger"),
    [
        *(([], ["terminal"]), (["-F"], ["terminal"]), (["-k"], ["terminal"])),
        *((["--configfile", "n"], ["terminal"]), (["--config", "study=-n"], ["terminal"])),
        *((["--until", "train_lm"], ["terminal"]), (["--", "latex"], ["terminal"])),
        *((["-n"], []), (["-Fn"], []), (["-nF"], []), (["-pn"], []), (["-npk"], [])),
        *((["--dry-run"], []), (["--dryrun"], []), (["-t"], []), (["--touch"], [])),
        *((["--executor", "dryrun"], []), (["--unlock"], []), (["--lint"], [])),
        *((["--report"], []), (["--report", "a.zip", "--report-after-run"], ["terminal"])),
    ],
    ids=str,
)
def test_our_lines_are_those_of_a_run(folder, arguments, logger):
    known, _ = start.parsed(["--cores", "1", *arguments])
    assert known.logger == logger


def test_what_snakemake_does_not_understand_is_one_line(folder):
    with pytest.raises(UserError, match=r"^unrecognized arguments: --dryrunn; .*--help says$"):
        start.parsed(["--cores", "1", "--dryrunn"])


def test_a_profile_that_is_not_there_is_named(folder):
    """Snakemake begins that line otherwise than those about its arguments."""
    with pytest.raises(UserError, match=r"^profile directory given \(none_here\), but no profile"):
        start.parsed(["--cores", "1", "--profile", "none_here"])


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--cores", "abc"], "--cores abc: .* must be integer or 'all'"),
        (["--set-threads", "train_lm"], "--set-threads train_lm: .* RULE=THREADS pairs"),
        (["--resources", "gpu=one"], "--resources gpu=one: Resource 'gpu' .* not an integer"),
        (["-n", "--config", "a.b=1"], "-n --config a.b=1: Invalid config definition: "),
        (["--config", "seeds"], "--config seeds: Invalid config definition: "),
    ],
    ids=str,
)
def test_a_value_that_snakemake_cannot_read_is_one_line(folder, arguments, line):
    with pytest.raises(SystemExit, match=f"^error: {line}.*; allowed: what snakemake --help says$"):
        start.require_config_files(arguments)


def test_what_the_profile_says_is_said(unbuilt, monkeypatch):
    """Snakemake reads it among its arguments."""
    monkeypatch.chdir(unbuilt)
    monkeypatch.setattr(sys, "argv", arguments := ["study", "--configfile", "no.yaml"])
    with pytest.raises(SystemExit, match=r"^error: found no.yaml, and there is no such file in "):
        start.parsed(arguments[1:])


@pytest.mark.parametrize(
    ("files", "line"),
    [
        (["mine.yaml", "latex"], "found latex, no file; .* --configfile mine.yaml -- latex$"),
        (["no.yaml"], "found no.yaml, and there is no such file in "),
        (["mine.yaml", "no.yaml"], "found no.yaml, and there is no such file in "),
        (["a" * 300], "found a{300}, and there is no such file in "),
        (["mine.yaml", "a" * 300], "found a{300}, no file; "),
    ],
    ids=str,
)
def test_a_config_file_that_is_not_there_is_one_line(folder, files, line):
    with pytest.raises(SystemExit, match=f"^error: .*{line}"):
        start.require_config_files(["--cores", "1", "--configfile", *files])


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"seeds:\t[1]\n", "line 1: is not YAML"),
        (b"", "has no keys"),
        (b"study: \xe4\n", "cannot be read"),
        (b"__use_yte__: true\n?study: open('ran', 'w')\n", "found __use_yte__, by which "),
        (b"<<: {__use_yte__: true}\n?study: open('ran', 'w')\n", "found __use_yte__, by which "),
    ],
    ids=str,
)
def test_a_config_file_that_is_not_read_or_runs_code_is_one_line(folder, content, line):
    (folder / "bad.yaml").write_bytes(content)
    with pytest.raises(SystemExit, match=f"^error: bad.yaml(: |, ){line}"):
        start.require_config_files(["--configfile", "mine.yaml", "bad.yaml"])
    with pytest.raises(UserError, match=f"^bad.yaml(: |, ){line}"):
        start.snakemake_arguments(["mine.yaml", "bad.yaml"])


def test_a_study_over_another_is_refused_alone(folder):
    (folder / "studies/deep.yaml").write_text("# What it is for.\n# over: smoke\n\nstudy: deep\n")
    line = "found deep without smoke before it, which it changes; allowed: ./study smoke deep"
    for files in (["deep"], ["deep", "smoke"], ["gpu", "deep", "mine.yaml"]):
        with pytest.raises(UserError, match=f"^{line}$"):
            start.snakemake_arguments(files)
    with pytest.raises(SystemExit, match=f"^error: {line}$"):
        start.require_config_files(["--configfile", "studies/deep.yaml"])
    start.require_config_files(["--configfile", "studies/smoke.yaml", "studies/deep.yaml"])
    assert start.snakemake_arguments(["smoke", "gpu", "deep"])[-1] == "studies/deep.yaml"


def test_a_study_that_says_so_is_over_one_that_is_here():
    over = {
        file.stem: re.findall("^# over: (.*)$", file.read_text(), re.M)
        for file in (ROOT / "studies").glob("*.yaml")
    }
    assert {name: of for name, of in over.items() if of} == {
        "brackets": ["known"],
        "paper_enfr": ["paper_ende"],
        "paper_enru": ["paper_ende"],
    }


class OneRule:
    """A rule of Snakemake's, as far as it is asked."""

    name = "plot_probes"

    def is_producer(self, path):
        return path == "results/a/figures/probes.png"


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("plot_wordnet", "this study has no figure wordnet; docs/tables.md says what "),
        ("plot_probe", "this study has no figure probe; .*; did you mean plot_probes\\?$"),
        (
            "mine.yaml",
            "found mine.yaml among .*; allowed: .* first, .*: ./study mine.yaml --dry-run$",
        ),
        ("smoke", "found smoke among .*; allowed: studies .* first, .*: ./study smoke --dry-run$"),
        ("results/a/b.png", "found results/a/b.png, which this study does not make; allowed: "),
    ],
)
def test_what_no_rule_makes_is_one_line(target, line):
    with pytest.raises(UserError, match=f"^{line}") as error:
        start.require_known(["plot_probes", target], [OneRule()])
    assert "\n" not in str(error.value)


def test_what_a_rule_makes_passes():
    start.require_known([], [OneRule()])
    start.require_known(["plot_probes", "./results/a/figures/probes.png"], [OneRule()])


def test_what_options_name_is_asked_for_as_what_is_to_be_made():
    """Of what no rule makes, Snakemake speaks of input functions, or not at all."""
    options = ["--forcerun", "--until", "--omit-from", "--prioritize"]
    words = [word for option in options for word in (option, option.strip("-"))]
    assert start.named(typed([*words, "--", "all"])) == ["all", *(o.strip("-") for o in options)]
    assert start.named(typed(["-n"])) == []


@pytest.mark.long
@pytest.mark.parametrize("before", ["--", "--forcerun"])
def test_snakemake_asks_for_what_is_named_once_it_knows_its_rules(unbuilt, before):
    command = [sys.executable, "-m", "snakemake", "-n", "--configfile", "study.yaml", before, "al"]
    done = subprocess.run(command, cwd=unbuilt, capture_output=True, text=True)
    *_, line = done.stderr.splitlines()
    assert done.returncode == 1 and "Exception" not in done.stderr
    assert line.startswith("found al, which this study does not make")


def test_a_report_of_what_was_not_run_or_into_no_folder_is_one_line(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/index.html").touch()
    report = ["--report", str(tmp_path / "r.html")]
    with pytest.raises(UserError, match=f"^--report: found no {tmp_path}/new/index.html; allowed"):
        start.require_report(tmp_path / "new", typed(report))
    start.require_report(tmp_path / "run", typed(report))
    elsewhere = typed(["--report", str(tmp_path / "no/r.html")])
    with pytest.raises(UserError, match=f"^--report: found no folder {tmp_path}/no; make it"):
        start.require_report(tmp_path / "run", elsewhere)
    start.require_report(tmp_path / "new", typed([*report, "--", "plot_mask"]))


def test_config_files_that_are_there_pass(folder):
    start.require_config_files(["--configfile", "mine.yaml", "studies/gpu.yaml", "--", "latex"])
    start.require_config_files(["-n"])


@pytest.mark.long
def test_snakemake_asks_before_it_reads_them(unbuilt, tmp_path):
    """By its own command, from the profile that it always reads."""
    template, ran = tmp_path / "template.yaml", tmp_path / "ran"
    template.write_text(f"__use_yte__: true\n__definitions__: [\"open('{ran}', 'w')\"]\n")
    for file, line in (("latex", "--configfile: found latex, no file"), (template, template)):
        command = [sys.executable, "-m", "snakemake", "-n", "--configfile", "study.yaml", file]
        done = subprocess.run(command, cwd=unbuilt, capture_output=True, text=True)
        assert done.returncode == 1 and "Traceback" not in done.stderr
        assert done.stderr.splitlines()[-1].startswith(f"error: {line}")
    assert not ran.exists()


@pytest.mark.long
@pytest.mark.parametrize("file", ["template.yaml", "nowhere.yaml"])
def test_files_that_a_profile_names_are_asked_for_too(unbuilt, tmp_path, file):
    ran, profile = tmp_path / "ran", tmp_path / "profile"
    template = f"__use_yte__: true\n__definitions__: [\"open('{ran}', 'w')\"]\n"
    (tmp_path / "template.yaml").write_text(template)
    profile.mkdir()
    (profile / "config.yaml").write_text(f"configfile: [study.yaml, {tmp_path / file}]\n")
    command = [sys.executable, "-m", "snakemake", "-n", "--profile", str(profile), "--", "all"]
    done = subprocess.run(command, cwd=unbuilt, capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert str(tmp_path / file) in done.stderr.splitlines()[-1] and not ran.exists()


def test_a_home_that_cannot_be_written_is_one_line(unbuilt, tmp_path):
    """Snakemake keeps files there, whatever it is asked for."""
    (tmp_path / "home").touch()
    home = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": ""}
    command = [sys.executable, "-m", "snakemake", "-n", "--configfile", "study.yaml"]
    done = subprocess.run(
        command, cwd=unbuilt, env=os.environ | home, capture_output=True, text=True
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr
    line = done.stderr.splitlines()[-1]
    assert line.startswith(f"error: {tmp_path}/home/") and "set XDG_CACHE_HOME to" in line


@pytest.mark.long
def test_a_user_without_a_home_is_one_line(unbuilt):
    """As in a container that runs under a number alone."""
    done = numbered(unbuilt, HOME=None)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"error: HOME is not set, and user {os.getuid()} has no other home; set HOME to a folder "
        "that can be written, for Snakemake's own files"
    ]


@pytest.mark.long
def test_a_user_without_a_name_has_a_number(unbuilt, tmp_path):
    done = numbered(unbuilt, HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr


def numbered(folder, **variables):
    """A dry run by ./study of a user whom the machine knows by a number alone."""
    names = dict.fromkeys(["LOGNAME", "USER", "LNAME", "USERNAME"])
    given = os.environ | {"PYTHONPATH": str(folder)} | names | variables
    given = {name: value for name, value in given.items() if value is not None}
    unknown = "import pwd; pwd.getpwuid = {}.__getitem__"
    by_study = f"{unknown}; from bottomup.plan.__main__ import main"
    command = [sys.executable, "-c", by_study, "study.yaml", "-n"]
    return subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True)


def test_a_folder_that_is_full_or_read_only_is_one_line(folder, monkeypatch):
    """Snakemake would end in a traceback, and on a full disk its log in one for each line."""
    kept = start.TemporaryFile

    def opened(dir):
        return Path("/dev/full").open("wb", 0) if dir == start.SNAKEMAKE else kept(dir=dir)

    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    start.require_room()
    monkeypatch.setattr(start, "TemporaryFile", opened)
    line = r"error: \.snakemake cannot be written: No space left on device; free some space, "
    with pytest.raises(SystemExit, match=f"^{line}"):
        start.require_room()


@pytest.fixture
def study(folder):
    """The command itself, with programs that only say how they were called."""
    shutil.copy2(ROOT / "study", folder)
    for name in ("envs/make", ".venv/bin/python"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(SAYS)
        (folder / name).chmod(0o755)

    def call(*arguments):
        command = [folder / "study", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    return call


def test_the_environment_is_made_first(study):
    assert study("smoke", "-n") == "\n-m\nbottomup.plan\nsmoke\n-n\n"


def test_a_link_to_it_runs_it_in_its_own_folder(study, folder, tmp_path):
    link = tmp_path / "bin/study"
    link.parent.mkdir()
    link.symlink_to(folder / "study")
    done = subprocess.run([link, "--help"], capture_output=True, text=True, check=True)
    assert done.stdout == study("--help")


def test_what_stands_behind_two_dashes_is_no_wish_for_help(study):
    assert study("smoke", "--", "-h") == "\n-m\nbottomup.plan\nsmoke\n--\n-h\n"


def test_the_library_is_that_of_the_folder(study, folder, monkeypatch):
    """Whatever PYTHONPATH says, and where Python does not look into its folder by itself."""
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    (folder / ".venv/bin/python").write_text('#!/usr/bin/env bash\nprintf "%s" "$PYTHONPATH"\n')
    assert study() == f"\n{folder}"


def test_names_of_files_are_in_utf_8_whatever_the_locale(study, folder, monkeypatch):
    monkeypatch.setenv("PYTHONUTF8", "0")
    (folder / ".venv/bin/python").write_text('#!/usr/bin/env bash\nprintf "%s" "$PYTHONUTF8"\n')
    assert study() == "\n1"


@pytest.mark.parametrize("given", [["--help"], ["-h"], ["smoke", "--help"], ["gpu", "-n", "-h"]])
def test_help_needs_no_environment_and_lists_the_studies(study, given):
    usage, *studies, last = study(*given).splitlines()
    assert usage.startswith("usage: ./study ") and "snakemake --help" in last
    assert [line.strip() for line in studies] == ["gpu, smoke       What it is for."]


def test_a_study_of_another_purpose_has_a_line_of_its_own(study, folder):
    (folder / "studies/large.yaml").write_text("# Another purpose.\nstudy: a\n")
    assert study("--help").splitlines()[1:-1] == [
        "  gpu, smoke       What it is for.",
        "  large            Another purpose.",
    ]


def test_help_of_this_repository_is_short():
    done = subprocess.run([ROOT / "study", "--help"], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) <= MOST_OF_HELP
    assert set(re.findall(r"[a-z_]+", " ".join(line[:80] for line in lines))) >= {
        file.stem for file in (ROOT / "studies").glob("*.yaml")
    }
    assert all(len(line) <= 110 and len(line.split()) > 2 for line in lines)
