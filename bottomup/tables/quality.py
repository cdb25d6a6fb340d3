"""How good a run is on the test split."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bottomup.core.settings import Scoring, Section, Trained
from bottomup.tables import Table

if TYPE_CHECKING:
    from bottomup.subjects.seen import Seen

TABLE = Table(
    "run",
    reads=("model", "test", "translation"),
    sees="subjects",
    parts=lambda subjects: subjects.runs(subjects.trained + subjects.steps),
    options=lambda slices, of: {
        "run": slices.run(of),
        "scoring": slices.scoring(of),
        "hidden": slices.hidden(of),
    },
    modules=lambda slices, of: [
        *slices.of_objective(of),
        *slices.of_translation(of),
        *["bottomup.objectives.mlm"] * (slices.hidden(of) is not None),
    ],
    memory=(4000, 4),
    seconds=15,
)


class Settings(Section):
    """The run's objective; and the seed of masks and of the sentences to translate, how it
    translates, if it does, and the share of tokens that it predicts, if its objective has that
    option; hidden: the share of tokens to hide, to ask it as MLM, if it reads tokens hidden."""

    run: Trained
    scoring: Scoring
    hidden: float | None = None


def rows(seen: "Seen", settings: Settings) -> Iterator[dict]:
    from bottomup import objectives
    from bottomup.core.device import device
    from bottomup.corpus.batches import Text
    from bottomup.measures.quality import quality
    from bottomup.subjects.runs import OfOurs

    assert isinstance(seen.subject, OfOurs) and settings.run.module  # a run
    objective = objectives.load(settings.run.module, settings.run.options, seen.subject.tokenizer)
    as_mlm = None
    if settings.hidden is not None:
        # Each is hidden, since not every objective reads tokens replaced or kept.
        as_mlm = objectives.load("mlm", {"choose": settings.hidden, "mask": 1.0, "replace": 0.0})
    scores = quality(
        seen.subject.model.to(device()),
        objective,
        settings.scoring,
        Text.load(seen.needed("text").parents[1], "test", objective.predicts),
        seen.blocks,
        seen.paths("translation"),
        as_mlm,
    )
    for name, score in scores.items():
        estimate = score.estimate("value")
        yield {"metric": name, "split": "test", **estimate, "signature": score.signature}
