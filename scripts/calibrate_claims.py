"""Simulate how often each claim would be decided, wrongly or as in the papers.

Settings: estimators, texts and initial (see judge_claims.py); studies (to simulate for each claim);
          seed.
Inputs:   tables of measures, as for judge_claims.py.
Outputs:  a row for each claim that was measured, see bottomup.claims.calibration.calibrate. These
          include claims about heads that the study lacks, as if it had such heads.
"""

import argparse
from pathlib import Path
from typing import Any

from bottomup.plan import program
from bottomup.claims import published
from bottomup.claims.calibration import calibrate
from bottomup.claims.catalog import CLAIMS
from bottomup.claims.finding import find_all, priors
from bottomup.claims.heads import as_if_there
from bottomup.claims.tables import load, table
from bottomup.core.files.tables import write_table
from bottomup.core.settings import Section


class Settings(Section):
    estimators: dict[str, dict[str, Any]]
    texts: dict[str, dict[str, str | None]]
    initial: dict[str, str]
    studies: int
    seed: int


def main(arguments: argparse.Namespace) -> None:
    settings = arguments.settings
    tables = load(arguments.tables, settings.estimators, settings.texts)
    findings, missing = find_all(CLAIMS, tables, settings.initial)
    lacking = [claim for claim in CLAIMS if claim.name in missing]
    as_if, _ = find_all(lacking, as_if_there(tables), settings.initial)
    papers = {
        name: table(name, frame, **settings.texts.get(name, {}))
        for name, frame in published.frames().items()
    }
    # Claims beyond the papers have no published curves, only a size of the effect; what they read
    # these curves may lack.
    shown = [claim for claim in CLAIMS if claim.paper not in ("beyond", "field")]
    theirs, _ = find_all(shown, papers, settings.initial)
    prior_of = priors(findings | as_if) | priors(findings)
    calibration = calibrate(findings | as_if, theirs, prior_of, settings.studies, settings.seed)
    write_table(calibration.assign(as_if=calibration["claim"].isin(as_if)), arguments.table)


if __name__ == "__main__":
    parser = program.parser(__doc__, "table")
    parser.add_argument("--tables", required=True, nargs="+", type=Path)
    program.run(main, parser, Settings)
