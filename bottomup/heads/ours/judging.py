"""How good a run with fewer heads is, under its objective, on token files."""

import math
import shutil

from bottomup import objectives, subjects
from bottomup.device import device
from bottomup.files.arrays import load_array
from bottomup.files.tables import read_table
from bottomup.heads.judging import Held, Judged, Settings
from bottomup.heads.removal import without_closed_heads
from bottomup.kinds import GATED
from bottomup.measures.quality import as_written, compared, quality, right_token
from bottomup.model.folder import WEIGHTS, save


def judged(settings: Settings, held: Held) -> Judged:
    """How good the smaller model is that computes the same; it is written to its folder."""
    objective = objectives.load(settings.run.module, settings.run.options)
    model = without_closed_heads(subjects.load(held.model).model.to(device()))
    if held.quality:
        scores = as_written(*held.quality)
    else:
        scores = quality(
            model,
            objective,
            settings.scoring,
            held.text[0].parents[1],
            load_array(held.blocks),
            held.translation,
        )
    shutil.copytree(held.model, held.smaller, dirs_exist_ok=True)  # tokenizers, too
    save(model, held.smaller)
    dev_losses = read_table(held.metrics)["dev_loss_nats"]
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
        megabytes=(held.smaller / WEIGHTS).stat().st_size / 1e6,
    )
