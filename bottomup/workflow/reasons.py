"""Why a job runs, in words.

Snakemake says that params have changed, and shows all of the old and the new ones. Ours are one
dict, so that what differs in it can be said.
"""

import json

from snakemake.persistence import ParamsChange

from bottomup.differences import differences


def say_what_differs() -> None:
    """Have Snakemake's reasons name the values, files of code and packages that changed."""
    ParamsChange.__str__ = words


def words(change: ParamsChange) -> str:
    """`options.choose 0.15 -> 0.4; code: bottomup/measures/kmeans.py`."""
    try:
        before, now = (
            [json.loads(text) for text in sorted(some)]
            for some in (change.only_old, change.only_new)
        )
    except ValueError:
        return "made by an older version of the project"
    if len(before) == len(now) == 1:
        return "; ".join(differences(*before, *now))
    # Outputs of one job that other versions of the project have made.
    found = [differences(old, new) for old in before for new in now]
    return " | ".join("; ".join(part) for part in found) or "there were none"
