"""The reference of the programs: python -m bottomup.workflow.commands > docs/commands.md"""

import inspect
import re
import runpy
import textwrap
from argparse import Action, ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from bottomup.workflow.digest import ROOT

HEADER = """# Command line

## Snakemake

A study is run by Snakemake, in the folder of the repository and inside the environment
(`source .venv/bin/activate`):

| command | what it does |
|---|---|
| `./study` | makes the environment, runs the default study on all cores, writes `report.html` |
| `./study smoke` | the same for a study of `studies/`, by name; `./study --help` lists them |
| `./study smoke mine.yaml -- latex` | lays a config of your own over it, and makes one target |
| `./test` | makes the environment, runs the tests |
| `snakemake --cores 8` | runs the default study, or what a change made stale |
| `snakemake --cores 8 --configfile studies/smoke.yaml` | runs another study |
| `snakemake --cores 8 --config 'objectives={mlm: {mask: 0.7}}'` | changes a key |
| `snakemake --cores 8 plot_probes` | makes one figure, `probes`, and what it needs |
| `snakemake --dry-run` | says what would run, and why; with a file, what makes that stale |
| `snakemake --report report.html` | writes a report that holds all figures and the claims |
| `snakemake --cores 8 gallery` | writes [pages](gallery.md) that need no server |
| `snakemake --profile profiles/slurm` | [sends the jobs to a cluster](slurm.md) |

## Programs

Each rule of the workflow calls one of the programs in `scripts/`. `snakemake --printshellcmds`
shows the calls; by hand they need the library on the path:

    PYTHONPATH=$PWD python scripts/train.py --help

Two arguments are common to all:

- `--settings JSON`: what the result depends on, sections of the config and names.
- `--gpus N`: how many GPUs the job was given. It waits until no other job holds them; with 0 it
  computes on the CPU.

A mistake ends in one line, with status 1. The programs follow in the order in which text flows
through them. Made by `python -m bottomup.workflow.commands > docs/commands.md`.
"""
# Stages whose names differ from their files in rules/.
TITLES = {"corpus": "Text", "training": "Runs"}
COMMON = {"help", "settings", "gpus"}


def reference() -> str:
    """docs/commands.md: every program, by the stage whose rules call it first."""
    sections, seen = [HEADER.strip()], set()
    for stage in re.findall(r'"rules/(\w+)\.smk"', (ROOT / "Snakefile").read_text()):
        called = re.findall(r"scripts/(\w+)\.py", (ROOT / f"rules/{stage}.smk").read_text())
        new = [name for name in dict.fromkeys(called) if name not in seen]
        seen.update(new)
        if new:
            sections += [f"### {TITLES.get(stage, stage.capitalize())}", *map(_section, new)]
    by_hand = sorted({path.stem for path in (ROOT / "scripts").glob("*.py")} - seen)
    sections += ["### By hand", *map(_section, by_hand)]
    return "\n\n".join(sections) + "\n"


def _section(name: str) -> str:
    path = ROOT / f"scripts/{name}.py"
    parser = _parser(path)
    paragraphs = [_markdown(each) for each in inspect.cleandoc(parser.description).split("\n\n")]
    own = [action for action in parser._actions if action.dest not in COMMON]
    settings = ["--settings JSON"] if "Settings:" in parser.description else []
    usage = [f"python scripts/{name}.py", *settings, *map(_usage, own)]
    wrapped = textwrap.wrap(" ".join(usage), 72, subsequent_indent="    ", break_long_words=False)
    told = [f"- `{_name(action)}`: {_escaped(action.help)}" for action in own if action.help]
    parts = [f"#### `{name}.py`", *paragraphs, "\n".join(["```text", *wrapped, "```"])]
    return "\n\n".join([*parts, "\n".join(told)] if told else parts)


def _parser(path: Path) -> ArgumentParser:
    """The parser with which a program calls `program.run`."""
    with mock.patch("bottomup.program.run") as run:
        runpy.run_path(str(path), run_name="__main__")
    return run.call_args.args[1]


def _markdown(paragraph: str) -> str:
    """A paragraph of a docstring; a paragraph of Settings, Inputs and Outputs as a list."""
    if not re.match(r"(Settings|Inputs|Outputs):", paragraph):
        return _escaped(" ".join(paragraph.split()))
    return "\n".join(_items(paragraph))


def _items(paragraph: str) -> Iterator[str]:
    for item in re.split(r"\n(?=\w+:)", paragraph):
        name, text = item.split(":", 1)
        yield f"- **{name}**: {_escaped(' '.join(text.split()))}"


def _escaped(text: str) -> str:
    return re.sub(r"([<*\[])", r"\\\1", text)


def _usage(action: Action) -> str:
    """An argument as in a usage line; optional ones in brackets."""
    value = action.metavar or action.dest.upper()
    value = {0: "", "*": f"[{value} ...]", "+": f"{value} [{value} ...]"}.get(action.nargs, value)
    if not action.option_strings:
        return value
    text = f"{_name(action)} {value}".strip().replace(" ", "\xa0")
    return text if action.required else f"[{text}]"


def _name(action: Action) -> str:
    return action.option_strings[0] if action.option_strings else action.dest


if __name__ == "__main__":
    print(reference(), end="")
