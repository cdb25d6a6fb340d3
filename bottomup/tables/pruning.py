"""How good a model with fewer heads is, and how many it has.

Rows: one. Of a run, quality, parameters and size are those of the smaller model that computes the
same. The quality of a checkpoint is the probability of the right token under its own objective,
also if it translates: nothing is translated.
"""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bottomup.core.kinds import KINDS
from bottomup.heads.tasks import Judging
from bottomup.tables import Table

if TYPE_CHECKING:
    from bottomup.subjects.seen import Seen

TABLE = Table(
    "pruned",
    reads=("judged_model", "test", "translation"),
    sees="subjects",
    parts=lambda subjects: (
        subjects.whole_runs() + subjects.pruned_runs() + subjects.pruned_checkpoints()
    ),
    options=lambda slices, of: {
        "run": slices.run(of),
        "pruned": slices.pruned(of),
        "scoring": slices.scoring(of),
    },
    modules=lambda slices, of: slices.of_task(of, "judging"),
    memory=(1500, 4, 8),
    minutes=(30, 1),
    seconds=20,
    judged=True,
)
Settings = Judging


def rows(seen: "Seen", settings: Judging) -> Iterator[dict]:
    from bottomup.heads import tasks
    from bottomup.measures import jackknife

    found = tasks.load(settings.run, "judging").judged(settings, seen)
    penalty = _or_nan(settings.pruned.penalty)
    yield {
        # The paper's penalty is on the sum over all heads (equation 9).
        "penalty_of_sum": penalty / found.gated_layers,
        "start": "scratch" if settings.pruned.method == "scratch" else "trained",
        **{f"heads_{kind}": found.heads.get(kind, 0) for kind in KINDS},
        **found.quality.estimate("quality"),
        "probability": found.probability.value,
        f"probability_{jackknife.WITHOUT}": found.probability.without,
        "bleu": _or_nan(found.bleu),
        "chrf": _or_nan(found.chrf),
        "test_loss_nats": found.test_loss,
        "accuracy": _or_nan(found.accuracy),
        "dev_loss_nats": _or_nan(found.dev_loss),
        "parameters": _or_nan(found.parameters),
        "megabytes": _or_nan(found.megabytes),
    }


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
