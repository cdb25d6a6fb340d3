"""How good a checkpoint with fewer heads is, under its own objective, in its own tokens."""

import math

from bottomup.files.arrays import load_array
from bottomup.files.tables import read_table
from bottomup.heads.judging import Held, Judged, Settings
from bottomup.heads.pruning_checkpoints import closed, opened, right_token
from bottomup.kinds import GATED


def judged(settings: Settings, held: Held) -> Judged:
    """How good a pruned checkpoint is, or an unpruned one: by the probability of the right token,
    also if it translates, since nothing is translated. No smaller model is written."""
    attention = settings.pruned.attention
    predictor, objective = opened(held.model, settings.run.objective, attention)
    text, blocks = objective.text(*held.text), load_array(held.blocks)
    score = right_token(predictor, objective, text, blocks, settings.scoring.seed)
    heads = {kind: sum(map(len, gates)) for kind, gates in predictor.gates.items()}
    for kind, _, _ in closed(read_table(held.gates)) if held.gates else []:
        heads[kind] -= 1
    return Judged(
        heads,
        sum(len(predictor.gates[kind]) for kind in GATED[attention]),
        quality=score,
        probability=score,
        test_loss=-math.log(score.value),
        dev_loss=held.metrics and read_table(held.metrics)["dev_loss_nats"].iloc[-1],
    )
