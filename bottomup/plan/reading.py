"""How the workflow is started: from where, and with which files of a config.

Snakemake reads the files, too. But if a key occurs twice it silently takes the last, it runs Python
in a template, and no later file can bring back what one file removes.
"""

import argparse
import json
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from snakemake.cli import get_argument_parser, parse_config
from snakemake.settings.types import PersistenceBackend, RerunTrigger
from snakemake_interface_executor_plugins.settings import ExecMode

from bottomup.core.errors import UserError
from bottomup.core.schema import OTHER_BASE
from bottomup.plan.digest import ROOT
from bottomup.plan.unchecked import each_value, section

if TYPE_CHECKING:
    from snakemake.workflow import Workflow

KINDS = ("null", "bool", "int", "float", "str", "seq", "map", "merge")
MOST_VALUES = 100_000
TEMPLATE = "__use_yte__"  # the key of a file that is a template
PAIR = re.compile(r"(?i)(?<!\\)((?:\\\\)*)(\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})")
ALL_SIZES = 10**12  # bytes, as in profiles/default
# Options that make Snakemake's records wrong, and what each would do.
MISLEADING = {
    "--keep-incomplete": "what a failed job has written would count as whole",
    "--ignore-incomplete": "what a killed job has written would count as whole",
    "--drop-metadata": "nothing would tell later what a result was made from",
    "--cleanup-metadata": "nothing would tell later what a result was made from",
    "--no-hooks": "two of them could run the same study at once",
    "--immediate-submit": "jobs would count as done before they have run",
    "--rerun-triggers": "some of the changes that make a result stale would not count",
    "--trust-io-cache": "files that changed since an earlier plan would not count",
    "--max-checksum-file-size": "larger inputs would count by time; allowed: that of "
    "profiles/default, which Snakemake reads unless --workflow-profile names another",
    "--consider-ancient": "changes of some inputs would not count",
    "--persistence-backend": "scripts/find_damaged.py would find no records; allowed: file",
    "--all-temp": "results would be deleted once no job needs them",
    "--omit-flags": "what a rule says of its files would not count",
    "--cache": "results would come from elsewhere; finished runs are kept in trained/",
}


# Options of which Snakemake takes the last alone, where they are given several times.
ONCE = {"configfile", "config"}


def typed(arguments: list[str]) -> argparse.Namespace:
    """What a command line asks of Snakemake, as Snakemake itself reads it: options may be
    abbreviated, or stand together as in `-nt`, or come from profiles that it names. Each of `ONCE`
    has a list for each time it is given.

    Raises UserError if Snakemake does not understand something.
    """
    parser = get_argument_parser()
    for action in parser._actions:
        if action.dest in ONCE:
            action.__class__, action.default = argparse._AppendAction, []
    with understood(arguments):
        given = parser.parse_known_args(arguments)[0]
        # One that Snakemake starts for a job reads no profile.
        if given.profile not in (None, ["none"]) and given.mode == ExecMode.DEFAULT:
            given = _with_profiles(given, arguments)
        parse_config([entry for entries in given.config for entry in entries])
    for entries in given.config:
        if twice := [path for path, n in Counter(_set_by(entries)).items() if n > 1]:
            raise UserError(f"--config: {twice[0]} is given twice; allowed: each key once")
    return given


def _with_profiles(given: argparse.Namespace, arguments: list[str]) -> argparse.Namespace:
    """What a command line asks together with the profiles that it names."""
    # What stands in profiles is read as if it stood at the end.
    end = arguments.index("--") if "--" in arguments else len(arguments)
    whole = get_argument_parser(profiles=given.profile).parse_known_args(arguments[:end])[0]
    whole.targets = [*whole.targets, *arguments[end + 1 :]]
    for option in ONCE:
        of_profiles = getattr(whole, option) or []
        setattr(whole, option, getattr(given, option) or [[*of_profiles]] * bool(of_profiles))
    return whole


def _set_by(entries: list[str]) -> Iterator[str]:
    """The paths of the keys that entries such as `study=a` set, each as often as it is set."""
    for entry in entries:
        name, _, text = entry.partition("=")
        with suppress(yaml.YAMLError):  # then it is text
            yield from _leaves(yaml.compose(text, Loader=yaml.SafeLoader), name)


def _leaves(node: yaml.Node | None, path: str) -> Iterator[str]:
    """The paths of what is no section; a key that stands twice in one is a path of its own."""
    if not isinstance(node, yaml.MappingNode) or not node.value:
        yield path
        return
    keys = Counter(str(key.value) for key, _ in node.value)
    for key, value in node.value:
        where = f"{path}.{key.value}"
        yield from [where] if keys[str(key.value)] > 1 else _leaves(value, where)


@contextmanager
def understood(arguments: list[str]) -> Iterator[None]:
    """A context in which Snakemake reads these arguments; UserError if it does not understand one.

    Snakemake reads our profile on the way. If the profile exits with a text that says what is
    wrong, this exit is passed on.
    """
    with redirect_stderr(StringIO()) as stderr:
        try:
            yield
        except SystemExit as error:  # what is wrong stands behind its thousand lines of usage
            if not error.code or isinstance(error.code, str):
                raise
            said = re.split(r"(?im)^(?:\S+: )?error: ", stderr.getvalue(), maxsplit=1)[-1]
            what = " ".join(said.split()).removesuffix(".")
            raise UserError(f"{what}; allowed: what snakemake --help says") from error
        except Exception as error:  # for a wrong value, any error, which does not name the option
            what = f"{shlex.join(arguments)}: {' '.join(str(error).split())}"
            raise UserError(f"{what}; allowed: what snakemake --help says") from error


def started(workflow: "Workflow", given: argparse.Namespace) -> tuple[dict, list[str]]:
    """The config of Snakemake's `workflow`, and lines about mistakes in its files, as from `read`.

    given: the command line, from `typed`.

    Raises UserError if the workflow cannot run as it was started.
    """
    home, settings = Path(workflow.basedir), workflow.config_settings
    if not home.samefile(Path.cwd()):
        raise UserError(f"started in {Path.cwd()}; allowed: the repository's folder: cd {home}")
    if re.search("[:{}]", str(home)):
        raise UserError(
            f"the repository is in {home}; allowed: a folder without : {{ }} in its path, where "
            "Python and Snakemake would read something else; move it"
        )
    if not home.samefile(ROOT):
        raise UserError(
            f"planned by the library in {ROOT}, not by that of this repository, which jobs run; "
            "unset PYTHONPATH, or start by ./study"
        )
    if (encoding := sys.getfilesystemencoding()) != "utf-8":
        raise UserError(
            f"started where names of files are in {encoding}, as the locale says; allowed: UTF-8, "
            "in which jobs read them: export PYTHONUTF8=1, or start by ./study"
        )
    for option in sorted(ONCE):
        if len(getattr(given, option)) > 1:
            raise UserError(
                f"--{option}: given twice, but Snakemake takes the last alone; allowed: "
                f"once, with all its values: --{option} ONE ANOTHER"
            )
    if 0 in (workflow.resource_settings.cores, workflow.resource_settings.nodes):
        raise UserError("--cores or --jobs: found 0, with which no job starts; allowed: >= 1, all")
    own = [] if settings.replace_workflow_config else [Path("config.yaml")]
    return read([*own, *settings.configfiles], settings.config)


def misleading(workflow: "Workflow", given: argparse.Namespace) -> Iterator[str]:
    """A line for each given option that makes Snakemake's records wrong, now or at a later start.

    given: the command line, from `typed`.

    There are no lines for a Snakemake that another one started for one job, which needs some of
    these options. Settings for planning and running are None while a workflow is read.
    """
    if not workflow.is_main_process:
        return
    execution, dag = workflow.execution_settings, workflow.dag_settings
    settings, remote = workflow.workflow_settings, workflow.remote_execution_settings
    storage = workflow.storage_settings
    files = PersistenceBackend.FILE
    asked = {
        "--keep-incomplete": execution and execution.keep_incomplete,
        "--ignore-incomplete": execution and execution.ignore_incomplete,
        "--drop-metadata": execution and not execution.keep_metadata,
        "--no-hooks": execution and execution.no_hooks,
        "--immediate-submit": remote and remote.immediate_submit,
        "--rerun-triggers": dag and {*dag.rerun_triggers} != {*RerunTrigger.all()},
        "--trust-io-cache": dag and dag.trust_io_cache,
        "--max-checksum-file-size": dag and dag.max_checksum_file_size < ALL_SIZES,
        "--consider-ancient": settings and settings.consider_ancient,
        "--persistence-backend": settings and settings.persistence_backend != files,
        "--all-temp": storage and storage.all_temp,
        "--omit-flags": storage and storage.omit_flags,
        "--cache": settings and settings.cache,
        "--cleanup-metadata": given.cleanup_metadata,  # a mode of its own
    }
    yield from (f"{name}: {MISLEADING[name]}; start without it" for name in asked if asked[name])


def read(files: list[Path], command_line: dict) -> tuple[dict, list[str]]:
    """The config from `files`, each laid over those before it, and then the values from the command
    line; with a line for every mistake in how it is written.

    A list replaces the list below it, and null replaces anything: a section over null starts empty.

    Raises UserError if a file cannot be read at all.
    """
    config: dict = {}
    lines: list[str] = []
    for file in files:
        content, mistakes = _content(file)
        lines += [*mistakes, *_flattened(config, content, str(file))]
        lines += _brought_back(config, content, str(file))
        config = _laid(config, content)
    # There Snakemake leaves a nested null as text, quoted or not. So only a file can ask for the
    # word "null".
    command_line = each_value(command_line, lambda value: None if value == "null" else value)
    lines += _flattened(config, command_line, "--config")
    return _laid(config, command_line), lines


def _brought_back(under: dict, over: dict, file: str) -> Iterator[str]:
    """A line for each objective that `under` removes and of which `over` says the number of seeds
    alone, as the file of a look does: it would be trained again, with default options."""
    below, objectives = section(under, "objectives"), section(over, "objectives")
    for name, options in objectives.items():
        if isinstance(options, dict) and {*options} == {"n_seeds"} and below.get(name, {}) is None:
            yield (
                f"{file}: objectives.{name}: found n_seeds alone, where a file before it removes "
                f"{name}; delete it here, or say more of it, as objective: {name}"
            )


def _content(file: Path) -> tuple[dict, list[str]]:
    try:
        text = file.read_text(encoding="utf-8")
        loader = yaml.SafeLoader(_json_as_yaml(text) if file.suffix == ".json" else text)
        node = loader.get_single_node()
        mistakes = [f"{file}, line {line}: {text}" for line, text in _mistakes(node, "", set())]
        content = loader.construct_document(node) if node else None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1
        raise UserError(f"{file}, line {line}: is not YAML ({error.problem}); mend it") from error
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{file}: cannot be read ({reason}); allowed: YAML in UTF-8") from error
    if not isinstance(content, dict):
        raise UserError(f"{file}: has no keys; allowed: keys and values, as in config.yaml")
    if TEMPLATE in content:
        raise UserError(
            f"{file}: found {TEMPLATE}, by which Snakemake would run Python in the file; allowed: "
            "keys of docs/config.md; delete it"
        )
    if _has_more_than(MOST_VALUES, content):
        raise UserError(
            f"{file}: has more than {MOST_VALUES:,} values, counting what its aliases stand for; "
            "write out what is meant"
        )
    return content, mistakes


def _json_as_yaml(text: str) -> str:
    """JSON is YAML but for tabs, and for characters that it writes as a pair of surrogates."""
    written = PAIR.sub(lambda pair: pair[1] + json.loads(f'"{pair[2]}"'), text)
    return written.replace("\t", " ")


def _mistakes(node: yaml.Node | None, path: str, seen: set[int]) -> Iterator[tuple[int, str]]:
    """The lines of values that YAML reads differently from how they look, and how it reads them."""
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    line, kind = node.start_mark.line + 1, node.tag.rpartition(":")[2]
    if kind not in KINDS:
        yield line, f"{path}: found a {kind}; allowed: text (in quotes), numbers, lists, sections"
    elif kind in ("int", "float") and OTHER_BASE.fullmatch(node.value):
        problem = f"found {node.value}, which YAML reads to the base 8 or 60"
        yield line, f"{path}: {problem}; allowed: numbers to the base 10"
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _mistakes(value, f"{path}[{index}]", seen)
    elif isinstance(node, yaml.MappingNode):
        lines: dict[str, int] = {}
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            where = f"{path}.{name}" if path else name
            if (of_key := key.tag.rpartition(":")[2]) in ("bool", "null"):
                yield line, f"{where}: YAML reads this key as {of_key}; put it in quotes"
            elif of_key in ("int", "float") and str(number := yaml.safe_load(name)) != name:
                yield line, f"{where}: YAML reads this key as {number}; put it in quotes"
            elif of_key not in KINDS:
                yield line, f"{where}: found a {of_key} as a key; allowed: text (in quotes)"
            if name in lines:
                yield line, f"{where}: stands in line {lines[name]} already; allowed: each key once"
            lines[name] = line
            yield from _mistakes(value, where, seen)


def _has_more_than(most: int, value: Any) -> bool:
    """Whether writing this out takes more than `most` values; a list that contains itself does."""
    waiting, count = [value], 0
    while waiting and count <= most:
        value = waiting.pop()
        count += 1
        waiting += value.values() if isinstance(value, dict) else []
        waiting += value if isinstance(value, list) else []
    return count > most


def _laid(under: Any, over: Any) -> Any:
    if isinstance(under, dict) and isinstance(over, dict):
        return under | {key: _laid(under.get(key), value) for key, value in over.items()}
    # A section stays a section: `_flattened` reports the mistake.
    return under if isinstance(under, dict) and over is not None else over


def _flattened(under: dict, over: dict, file: str, path: str = "") -> Iterator[str]:
    """A line for each section of `under` that `over` replaces by a plain value or a list."""
    for key, value in over.items():
        where, below = f"{path}{key}", under.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            yield from _flattened(below, value, file, f"{where}.")
        elif isinstance(below, dict) and value is not None:
            replacement = json.dumps(value, ensure_ascii=False, default=str)
            keys = f" of {', '.join(map(str, below))}" if below else " (keys and values)"
            yield f"{file}: {where}: found {replacement}; allowed: section{keys}"
