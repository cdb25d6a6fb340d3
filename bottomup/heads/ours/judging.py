"""How good a run with fewer heads is, under its objective, on token files."""

import math

from bottomup import objectives
from bottomup.core.device import device
from bottomup.core.files.arrays import load_array
from bottomup.core.files.tables import read_table
from bottomup.core.kinds import GATED
from bottomup.corpus.batches import Text
from bottomup.heads.judging import Judged
from bottomup.heads.tasks import Judging
from bottomup.measures.quality import as_written, compared, quality, right_token
from bottomup.model.folder import WEIGHTS
from bottomup.subjects.seen import Seen


def judged(settings: Judging, seen: Seen) -> Judged:
    """How good the smaller model is that computes the same as one with closed heads."""
    objective = objectives.load(settings.run.module, settings.run.options)
    model = seen.subject.model.to(device())
    if known := seen.file("quality"):
        scores = as_written(known)
    else:
        scores = quality(
            model,
            objective,
            settings.scoring,
            Text.load(seen.file("text").parents[1], "test", objective.predicts),
            load_array(seen.file("blocks")),
            seen.paths("translation"),
        )
    dev_losses = read_table(seen.file("metrics"))["dev_loss_nats"]
    whole = settings.pruned.method == "none"  # the run itself, at its lowest dev loss
    return Judged(
        {kind: sum(counts) for kind, counts in model.config.kept_heads.items()},
        len(GATED[settings.pruned.attention]) * model.config.encoder_layers,
        compared(scores),
        right_token(scores),
        test_loss=math.log(scores["perplexity"].value),
        dev_loss=dev_losses.min() if whole else dev_losses.iloc[-1],
        **{name: scores[name].value for name in ("bleu", "chrf") if name in scores},
        accuracy=scores[objective.accuracy].value,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        megabytes=(seen.folder / WEIGHTS).stat().st_size / 1e6,
    )
