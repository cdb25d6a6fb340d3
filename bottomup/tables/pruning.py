"""How good a model with fewer heads is, and how many it has.

For a run, quality, parameters and size are those of the smaller model that computes the same. The
quality of a checkpoint is the probability of the right token under its own objective, also if it
translates: nothing is translated.
"""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bottomup.core.kinds import GATED, KINDS
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
    modules=lambda slices, of: [*slices.of_task(of, "judging"), *slices.of_translation(of)],
    memory=(1500, 4, 8),
    minutes=(30, 1),
    seconds=20,
    judged=True,
)
Settings = Judging
# Columns that are empty where they are not known.
OTHERS = [
    *("bleu", "chrf", "test_loss_nats", "accuracy", "dev_loss_nats", "parameters", "megabytes")
]


def rows(seen: "Seen", settings: Judging) -> Iterator[dict]:
    from bottomup.core.files.joins import require_equal_lengths
    from bottomup.core.files.tables import read_table
    from bottomup.heads import tasks
    from bottomup.heads.predictor import closed, require_prunable
    from bottomup.measures import jackknife
    from bottomup.training.metrics import candidates

    run, pruned = settings.run, settings.pruned
    predictor = tasks.opened(run, seen.subject, seen.folder)
    text, blocks = predictor.text(seen.paths("text")), seen.blocks
    require_equal_lengths(sentences=text.source, blocks=blocks)
    require_prunable(predictor, text, run.objective, pruned.attention)
    quality, probability, others = tasks.load(run, "judging").judged(
        predictor, text, blocks, settings.scoring, seen
    )
    gates, metrics, all_gates = seen.file("gates"), seen.file("metrics"), predictor.gates
    gone = [kind for kind, _, _ in closed(read_table(gates))] if gates else []
    heads = {kind: sum(map(len, all_gates.get(kind, []))) - gone.count(kind) for kind in KINDS}
    dev_loss = math.nan
    if metrics:
        evaluations = read_table(metrics)
        # A run, and a model from scratch, have the weights of their lowest dev loss, all others
        # those of the last step.
        lowest = pruned.method in ("none", "scratch")
        kept = candidates(evaluations) if lowest else evaluations.tail(1)
        dev_loss = float(kept["dev_loss_nats"].min())
    penalty = math.nan if pruned.penalty is None else pruned.penalty
    yield {
        # The paper's penalty is on the sum over all heads (equation 9).
        "penalty_of_sum": penalty / sum(len(all_gates[kind]) for kind in GATED[pruned.attention]),
        "start": "scratch" if pruned.method == "scratch" else "trained",
        **{f"heads_{kind}": n for kind, n in heads.items()},
        **quality.estimate("quality"),
        "probability": probability.value,
        f"probability_{jackknife.WITHOUT}": probability.without,
        **dict.fromkeys(OTHERS, math.nan) | {"dev_loss_nats": dev_loss} | others,
    }
