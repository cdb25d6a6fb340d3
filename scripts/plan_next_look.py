"""Say what the next look of a study would train, and write the config that trains it.

Settings: planned (how many seeds each look has); seeds, tokens (by objective, how many seeds it has
          and on about how many tokens each trains); told (these numbers in words, as far as
          they are known before the text is); halves (the tokens that all models of halves of the
          text train on; no look has more of these); initial (as for judge_claims.py); pruned (how
          many runs of an objective are pruned).
Inputs:   the claims, a row each (.csv), if any are judged.
Outputs:  a config to lay over the study's, with the number of seeds of each objective that has more
          than in the first look. It includes those of earlier looks, whose file this one replaces.
"""

import argparse
import logging
from pathlib import Path

import pandas as pd
import yaml

from bottomup.plan import program
from bottomup.claims.looks import Next, next_look
from bottomup.core.files.tables import read_table
from bottomup.core.plurals import plural
from bottomup.core.settings import Section


class Settings(Section):
    planned: list[int]
    seeds: dict[str, int]
    tokens: dict[str, int]
    told: dict[str, str]
    halves: int
    initial: dict[str, str]
    pruned: int


NONE = pd.DataFrame(columns=["claim", "verdict", "rests_on", "measure", "undecided_until"])


def main(arguments: argparse.Namespace) -> None:
    settings = arguments.settings
    claims = NONE
    if arguments.claims:
        claims = read_table(arguments.claims, na_filter=False)
    upcoming = next_look(
        claims, settings.planned, settings.seeds, settings.initial, settings.pruned
    )
    text = written(upcoming, settings, arguments.look)
    arguments.look.write_text(text)
    for line in text.splitlines():
        logging.info(line.removeprefix("# "))


def written(upcoming: Next | None, settings: Settings, path: Path) -> str:
    lines = ["# Nothing is undecided that more runs would decide, or no look is left."]
    if upcoming:
        of, claims = f"{upcoming.look} of {len(settings.planned)}", ", ".join(upcoming.claims)
        lines = [
            f"# Look {of}, for {len(upcoming.claims)} undecided claims: {claims}",
            *costs(upcoming, settings),
            f"# To take it, add this file behind --configfile: {path}",
        ]
    return "\n".join(lines) + "\n" + yaml.safe_dump(overlay(upcoming, settings))


def overlay(upcoming: Next | None, settings: Settings) -> dict[str, object]:
    """The keys for all numbers of seeds that are larger than in the first look."""
    first = settings.planned[0]
    seeds = settings.seeds | (upcoming.seeds if upcoming else {})
    pruned = (upcoming and upcoming.pruned) or settings.pruned
    more = {name: {"n_seeds": n} for name, n in seeds.items() if n > first}
    keys: dict[str, object] = {"objectives": more} if more else {}
    return keys | ({"pruning": {"n_seeds": pruned}} if pruned > first else {})


def costs(upcoming: Next, settings: Settings) -> list[str]:
    """Lines on what the look trains: runs, tokens, and their share of what the study has
    trained."""
    now, tokens = settings.seeds, settings.tokens
    told = {name: f", of {of} tokens each" for name, of in settings.told.items()}
    lines = [
        f"# {name}: from {now[name]} to {n} seeds{told.get(name, '')}"
        for name, n in upcoming.seeds.items()
        if tokens[name]
    ]
    more = sum((n - now[name]) * tokens[name] for name, n in upcoming.seeds.items())
    so_far = settings.halves + sum(n * tokens[name] for name, n in now.items())
    pruned = (
        f", and prunes {upcoming.pruned} {plural('run', upcoming.pruned)} of each pruned objective"
        if upcoming.pruned
        else ""
    )
    share = more / so_far if so_far else 0
    return [*lines, f"# It trains about {share:.0%} of the tokens trained so far{pruned}."]


if __name__ == "__main__":
    parser = program.parser(__doc__, "look")
    parser.add_argument("--claims", type=Path, nargs="?")
    program.run(main, parser, Settings)
