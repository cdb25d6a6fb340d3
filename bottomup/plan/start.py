"""How a study is started: by ./study, or by Snakemake itself.

    ./study smoke --dry-run

is `snakemake --cores all --configfile studies/smoke.yaml --dry-run`. Cores or jobs that the command
line or a profile has stay as they are.
"""

import getpass
import os
import shlex
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from snakemake.cli import parse_args
from snakemake.common import get_appdirs
from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry
from snakemake_interface_logger_plugins.common import logger_plugin_module_prefix

from bottomup.core import running
from bottomup.core.errors import UserError, in_one_line
from bottomup.core.running import require_idle
from bottomup.core.schema import guess, nearest
from bottomup.plan.reading import read, typed, understood

if TYPE_CHECKING:
    from snakemake.rules import Rule
    from snakemake.workflow import Workflow

STUDIES = Path("studies")
SNAKEMAKE = Path(".snakemake")  # where it keeps its records and logs
ROOM = 2**16  # bytes that its log and what it notes of a plan take at least
DEFAULT = "default"  # config.yaml alone
SUFFIXES = (".yaml", ".yml", ".json")
PLOT = "plot_"  # the start of the names of rules that draw figures
OVER = "# over: "  # a line of a study that changes another and is nothing without it

TERMINAL = "terminal"  # the plugin by which Snakemake prints
MODULE = f"{logger_plugin_module_prefix}{TERMINAL}"
# Modes in which Snakemake runs no jobs, and prints its own lines.
SPEAKS = (
    *("dryrun", "touch", "lint", "unlock", "delete_all_output", "delete_temp_output", "archive"),
    *("generate_unit_tests", "conda_create_envs_only"),
)

_typed: list[str] = []  # the command, if it was ./study
_folders: list[Path] = []
_workflows: list["Workflow"] = []


def require_home() -> None:
    """Raise UserError if HOME is not set and the machine knows none of this user, as in a container
    that runs under a number alone. Snakemake asks for it even to read its command line."""
    try:
        Path.home()
    except RuntimeError as error:
        raise UserError(
            f"HOME is not set, and user {os.getuid()} has no other home; set HOME to a folder that "
            "can be written, for Snakemake's own files"
        ) from error


def name_the_user() -> None:
    """Give a user whom the machine does not know a name, which Snakemake asks for; jobs have it,
    too."""
    try:
        getpass.getuser()
    except (KeyError, OSError):  # since Python 3.13 the latter
        os.environ["USER"] = str(os.getuid())


def require_none_at_work(study: Path, given: Namespace) -> None:
    """Raise UserError if the command would delete results of a study that is running.

    given: the command, from `reading.typed`. It is checked here, since Snakemake calls no hook
    before it deletes.
    """
    if (given.delete_all_output or given.delete_temp_output) and not given.dryrun:
        require_idle(study)


def require_report(study: Path, given: Namespace) -> None:
    """Raise UserError if the command would write a report through a link, into no folder, or of a
    study that was not run. given: the command, from `reading.typed`."""
    if not given.report:
        return
    report, page = Path(given.report), study / "index.html"
    if report.is_symlink():
        raise UserError(
            f"{report} is a link to {report.readlink()}, which would be written over; delete the "
            "link"
        )
    if not report.parent.is_dir():
        raise UserError(f"--report: found no folder {report.parent}; make it, or name another")
    alone = not given.report_after_run and not given.targets
    if alone and not page.exists():
        raise UserError(
            f"--report: found no {page}; allowed: a study that was run; run the same command "
            "without --report first"
        )


def require_known_targets(workflow: "Workflow", targets: Sequence[str]) -> None:
    """Have Snakemake's `workflow` check that something makes these, beside what it checks itself.

    It does so once all rules are there, also those of a file that includes ours. It has no hook.
    """
    check = workflow.check

    def also_targets() -> None:
        check()
        with in_one_line("the study cannot start:\n"):
            require_known(targets, [*workflow.rules])

    workflow.check = also_targets


def named(given: Namespace) -> list[str]:
    """The rules and files that a command names: what is to be made, and by options that choose
    among jobs. given: the command, from `reading.typed`."""
    return [*given.targets, *given.forcerun, *given.until, *given.omit_from, *given.prioritize]


def require_known(targets: Sequence[str], rules: Sequence["Rule"]) -> None:
    """Raise UserError if one of the targets is neither a rule nor a file of one."""
    names = [rule.name for rule in rules]
    for target in targets:
        if target in names or any(rule.is_producer(os.path.normpath(target)) for rule in rules):
            continue
        own = target.endswith(SUFFIXES) and not target.startswith("results/")
        if own or os.path.isfile(STUDIES / f"{target}.yaml"):
            raise UserError(
                f"found {target} among what is to be made; allowed: studies and config files "
                f"first, then options: ./study {target} --dry-run"
            )
        if target.startswith(PLOT):
            raise UserError(
                f"this study has no figure {target.removeprefix(PLOT)}; docs/tables.md says what "
                f"tables need{guess(target, names)}"
            )
        raise UserError(
            f"found {target}, which this study does not make; allowed: rules, listed by snakemake "
            f"--list-rules, and their files{guess(target, names)}"
        )


def by_study(given: list[str]) -> None:
    """Note that ./study was typed, with these arguments."""
    _typed[:] = ["./study", *given]


def is_by_study() -> bool:
    """Whether ./study was typed."""
    return bool(_typed)


def run_in(folder: Path, workflow: "Workflow") -> None:
    """Note where the results of the study are, and Snakemake's `workflow` that makes them."""
    _folders[:], _workflows[:] = [folder], [workflow]


def folder() -> Path:
    """Where the results of the study are."""
    (path,) = _folders
    return path


def is_part() -> bool:
    """Whether the command asks for a part of the study, so that the rest may be stale."""
    (workflow,) = _workflows
    asked = workflow.dag_settings
    fewer = asked.until or asked.omit_from or asked.batch or asked.allowed_rules
    return bool({*asked.targets} - {"all"} or fewer)


def makes(path: Path) -> bool:
    """Whether the study makes a file. Others in its folder are of an earlier config."""
    (workflow,) = _workflows
    return any(rule.is_producer(str(path)) for rule in workflow.rules)


def command() -> str:
    """The command that started this process, to be typed again."""
    return shlex.join(_typed or ["snakemake", *sys.argv[1:]])


def stopped_early() -> str:
    """What a stop before any job leaves."""
    return f"stopped before any job: {command()}"


def expect_an_early_stop() -> None:
    """From now on, a Ctrl-C that Snakemake does not expect, as it plans, is told in one line. It
    expects one only once jobs run."""
    sys.excepthook = _in_one_line


def _in_one_line(kind: type[BaseException], error: BaseException, trace) -> None:
    if issubclass(kind, KeyboardInterrupt) and not running.stopped.is_set():
        print(stopped_early(), file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


def snakemake_arguments(given: list[str]) -> list[str]:
    """Snakemake's arguments from those of ./study: studies and config files come first.

    Raises UserError if one of them is neither, or if Snakemake does not understand its own.
    """
    n = next((i for i, argument in enumerate(given) if argument.startswith("-")), len(given))
    names, others = given[:n], given[n:]
    files = [str(config_file(name)) for name in names if name != DEFAULT]
    _require_sound(files)
    arguments = [*(["--configfile", *files] if files else []), *others]
    if names and len(typed(arguments).configfile) > bool(files):
        raise UserError(
            f"--configfile: found it behind {' '.join(names)}; allowed: all files of a config "
            "first, without --configfile: ./study ONE ANOTHER"
        )
    known, _ = parsed(arguments)
    unlimited = known.jobs == sys.maxsize  # which is no number of cores
    are_given = known.cores or (known.jobs and not unlimited)
    return arguments if are_given else ["--cores", "all", *arguments]


def config_file(name: str) -> Path:
    """The file of a study by its name, or the file itself."""
    study, file = STUDIES / f"{name}.yaml", Path(name)
    if os.path.isfile(study):
        return study
    if file.suffix in SUFFIXES:
        _require_file(file)
        return file
    known = nearest(name, [DEFAULT, *(path.stem for path in STUDIES.glob("*.yaml"))])
    raise UserError(
        f"found {name}, no study; {known}; or a config file (.yaml); what else is to be made "
        f"stands behind --: ./study STUDY -- {name}"
    )


def parsed(arguments: list[str]) -> tuple[Namespace, object]:
    """Snakemake's arguments, parsed, with our plugin for the terminal if jobs will run; and the
    parser.

    Raises UserError if Snakemake does not understand something.
    """
    with understood(arguments):
        parser, known = parse_args(arguments)
    speaks = known.executor in SPEAKS or any(getattr(known, mode) for mode in SPEAKS)
    if not speaks and (known.report_after_run or not known.report):
        known.logger = known.logger or [TERMINAL]
    return known, parser


def where_jobs_run(arguments: list[str]) -> tuple[bool, int]:
    """Whether Snakemake, with these arguments and its profiles, sends jobs to a cluster; and on how
    many cores all of them run."""
    known, _ = parsed(arguments)
    executor = ExecutorPluginRegistry().get_plugin(known.executor or "local")
    if executor.common_settings.local_exec:
        return False, known.cores or known.jobs or 1
    return True, (known.cores or 1) * (known.jobs or 1)  # on a cluster, cores are of a job


def require_config_files(arguments: list[str]) -> None:
    """Exit in one line if one of Snakemake's arguments names a config file that is not there, that
    cannot be read, or that is a template, whose Python Snakemake would run.

    Snakemake takes all that follows `--configfile` for such files, up to the next option. Called by
    profiles/default, which Snakemake reads before them.
    """
    with in_one_line():
        files = [file for some in typed(arguments).configfile for file in some]
        for number, file in enumerate(files):
            if number and file.suffix not in SUFFIXES and not os.path.isfile(file):
                before = " ".join(map(str, files[:number]))
                raise UserError(
                    f"--configfile: found {file}, no file; what is to be made stands behind --: "
                    f"--configfile {before} -- {file}"
                )
            _require_file(file)
        _require_sound(files)


def require_room() -> None:
    """Exit in one line if Snakemake cannot write to its cache, or to its folder here, as it does at
    every start."""
    cache = Path(get_appdirs().user_cache_dir, "snakemake/source-cache")
    _require_room(cache, "set XDG_CACHE_HOME to a folder that can be, for Snakemake")
    if not os.path.lexists(SNAKEMAKE) or SNAKEMAKE.is_dir():  # else a later line says so
        remedy = "free some space, change its permissions, or copy the whole folder first"
        _require_room(SNAKEMAKE, remedy)


def _require_room(folder: Path, remedy: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder) as file:
            file.write(bytes(ROOM))
    except OSError as error:
        sys.exit(f"error: {folder} cannot be written: {error.strerror}; {remedy}")


def _require_sound(files: Sequence[Path | str]) -> None:
    """Raise UserError if a file of a config cannot be read, is a template, or is a study that lacks
    the one which it changes."""
    read([*map(Path, files)], {})
    for n, file in enumerate(map(Path, files)):
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            under = line.removeprefix(OVER).strip()
            before = {DEFAULT, *(Path(one).stem for one in files[:n])}
            if line.startswith(OVER) and under not in before:
                name = file.stem if file.parent == STUDIES else file
                raise UserError(
                    f"found {name} without {under} before it, which it changes; allowed: "
                    f"./study {under} {name}"
                )


def _require_file(file: Path) -> None:
    if not os.path.isfile(file):
        raise UserError(
            f"found {file}, and there is no such file in {Path.cwd()}; allowed: a config file, "
            f"such as {STUDIES}/smoke.yaml"
        )
