"""Why a job runs, in words.

Snakemake says that params have changed, and shows all old and new params. Ours are one dict, so we
can name what differs in it.
"""

import json

from snakemake.persistence import ParamsChange

from bottomup.core.differences import differences


def say_what_differs() -> None:
    """Make Snakemake's reasons name the values, code files and packages that changed."""
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
    # Different versions of the project may have made the outputs of one job.
    phrases = [differences(old, new) for old in before for new in now]
    return " | ".join("; ".join(part) for part in phrases) or "no record of what made it"
