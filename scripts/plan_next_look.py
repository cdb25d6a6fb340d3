"""Say what the next look of a study would train, and write the config that trains it.

Settings: planned (how many seeds each look has); seeds, tokens (by objective, how many seeds it has
          and on how many tokens each trains); initial (as for judge_claims.py); pruned (how many
          runs of an objective are pruned).
Inputs:   the claims, a row each (.csv), if any are judged.
Outputs:  a config to lay over the study's, which holds what changes; empty if nothing does.
"""

import argparse
import logging
from pathlib import Path

import pandas as pd
import yaml

from bottomup.plan import program
from bottomup.claims.looks import Next, next_look
from bottomup.core.files.tables import read_table
from bottomup.core.settings import Section


class Settings(Section):
    planned: list[int]
    seeds: dict[str, int]
    tokens: dict[str, int]
    initial: dict[str, str]
    pruned: int


NONE = pd.DataFrame(columns=["claim", "verdict", "rests_on", "measure", "undecided_until"])


def main(arguments: argparse.Namespace) -> None:
    settings = arguments.settings
    claims = NONE
    if arguments.claims:
        claims = read_table(arguments.claims, keep_default_na=False)
    upcoming = next_look(
        claims, settings.planned, settings.seeds, settings.initial, settings.pruned
    )
    text = written(upcoming, settings, arguments.look)
    arguments.look.write_text(text)
    for line in text.splitlines():
        logging.info(line.removeprefix("# "))


def written(upcoming: Next | None, settings: Settings, path: Path) -> str:
    if not upcoming:
        return "# Nothing is undecided that more runs would decide, or no look is left.\n{}\n"
    overlay: dict[str, object] = {
        "objectives": {name: {"n_seeds": n} for name, n in upcoming.seeds.items()}
    }
    if upcoming.pruned:
        overlay["pruning"] = {"n_seeds": upcoming.pruned}
    of = f"{upcoming.look} of {len(settings.planned)}"
    lines = [
        f"# Look {of}, for {len(upcoming.claims)} undecided claims: {', '.join(upcoming.claims)}",
        *costs(upcoming, settings),
        f"# To take it, add this file behind --configfile: {path}",
    ]
    return "\n".join(lines) + "\n" + yaml.safe_dump(overlay)


def costs(upcoming: Next, settings: Settings) -> list[str]:
    """What the look trains: runs, tokens, and how much that is of what the study has trained."""
    extra = {name: n - settings.seeds[name] for name, n in upcoming.seeds.items()}
    lines = [
        f"# {name}: {n} more seeds of {settings.tokens[name]:,} tokens"
        for name, n in extra.items()
        if settings.tokens[name]
    ]
    more = sum(n * settings.tokens[name] for name, n in extra.items())
    so_far = sum(n * settings.tokens[name] for name, n in settings.seeds.items())
    pruned = (
        f", and prunes {upcoming.pruned} runs of each pruned objective" if upcoming.pruned else ""
    )
    share = more / so_far if so_far else 0
    return [*lines, f"# It trains {share:.0%} of the tokens trained so far{pruned}."]


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--claims", type=Path, nargs="?")
    parser.add_argument("--look", required=True, type=Path)
    program.run(main, parser, Settings)
