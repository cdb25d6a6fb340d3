"""How important the attention heads of one subject are, in several ways.

Confidence, attention to special tokens and relevance of a run are measured on its own translations,
gradient and loss on the references. A model that predicts nothing has only the first two. A
checkpoint has no relevance, and gradient and loss under its own objective, if it has one. A model
whose attention cannot be looked at has no rows.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bottomup.heads.tasks import Examination
from bottomup.tables import Table

if TYPE_CHECKING:
    from bottomup.subjects.seen import Seen

TABLE = Table(
    "run",
    reads=("model", "dev"),
    sees="subjects",
    parts=lambda subjects: subjects.runs(
        subjects.attending(subjects.compared + subjects.steps) + subjects.checkpoints
    ),
    options=lambda slices, of: {
        "run": slices.run(of),
        "sentences": slices.study.heads.sentences,
        "seed": slices.study.heads.seed,
        "beam": slices.beam(of),
    },
    modules=lambda slices, of: slices.of_task(of, "importances"),
    of_heads="looked at",
    memory=(900, 4, 6.5),
    minutes=(60, 1),
    seconds=45,
    judged=True,
    split="dev",
    enlarge="heads.sentences",
    shown=lambda settings: {"importance": ["confidence", "relevance_alpha_beta"]},
    others=lambda settings: {
        "relevance by ratios": {"importance": ["confidence", "relevance_ratio"]}
    },
)
COLUMNS = [
    *("attention", "layer", "head", "importance", "value"),
    *("ci_low", "ci_high", "without", "n"),
]
Settings = Examination


def rows(seen: "Seen", settings: Examination) -> Iterator[dict]:
    from bottomup.core.files.joins import require_equal_lengths
    from bottomup.heads import tasks
    from bottomup.heads.examples import sample
    from bottomup.heads.importance import importances
    from bottomup.measures import jackknife

    blocks = seen.blocks
    predictor = tasks.measured(settings.run, seen.subject, seen.folder)
    dev = predictor.text(seen.paths("text"))
    require_equal_lengths(sentences=dev.source, blocks=blocks)
    some = sample(dev, settings.sentences, settings.seed)
    for name, totals, order in importances(predictor, dev.select(some), settings):
        yield from totals.rows(name, blocks[some[order]], jackknife.n_blocks(blocks))
