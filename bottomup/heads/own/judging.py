"""How good a checkpoint with fewer heads is, under its own objective, in its own tokens."""

import math

from bottomup.core.files.arrays import load_array
from bottomup.core.files.tables import read_table
from bottomup.core.kinds import GATED
from bottomup.heads.judging import Judged
from bottomup.heads.pruning_checkpoints import closed, opened, right_token
from bottomup.heads.tasks import Judging
from bottomup.subjects.seen import Seen


def judged(settings: Judging, seen: Seen) -> Judged:
    """How good a pruned checkpoint is, or an unpruned one: by the probability of the right token,
    also if it translates, since nothing is translated. No smaller model is written."""
    attention = settings.pruned.attention
    predictor, objective = opened(seen.subject, seen.folder, settings.run.objective, attention)
    text, blocks = objective.text(seen.file("text")), load_array(seen.file("blocks"))
    score = right_token(predictor, objective, text, blocks, settings.scoring.seed)
    heads = {kind: sum(map(len, some)) for kind, some in predictor.gates.items()}
    gates, metrics = seen.file("gates"), seen.file("metrics")
    for kind, _, _ in closed(read_table(gates)) if gates else []:
        heads[kind] -= 1
    return Judged(
        heads,
        sum(len(predictor.gates[kind]) for kind in GATED[attention]),
        quality=score,
        probability=score,
        test_loss=-math.log(score.value),
        dev_loss=metrics and read_table(metrics)["dev_loss_nats"].iloc[-1],
    )
