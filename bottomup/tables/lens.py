"""What each layer of a run would predict, by the tuned and by the logit lens."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bottomup.core.settings import Section, Trained
from bottomup.tables import Table

if TYPE_CHECKING:
    from bottomup.corpus.batches import Text
    from bottomup.measures.lens import Map
    from bottomup.model.transformer import Transformer
    from bottomup.objectives import Objective
    from bottomup.plan.slices import Slices
    from bottomup.plan.subjects import Subjects
    from bottomup.subjects.seen import Seen


def predicting(subjects: "Subjects") -> list[str]:
    """The first run of each objective that is compared and predicts tokens of one side by a
    Transformer."""
    compared = [name for name in subjects.compared if name in subjects.trained]
    one_side = [name for name in compared if not subjects.of_both_sides(name)]
    of_tokens = [name for name in one_side if subjects.predicts_tokens(name)]
    return subjects.first_runs(subjects.attending(of_tokens))


def options(slices: "Slices", of: Any) -> dict:
    scoring = slices.scoring(of)
    return {"run": slices.run(of), "seed": scoring["seed"], "choose": scoring["choose"]}


TABLE = Table(
    "run",
    reads=("model", "fitted", "test", "known"),
    sees="subjects",
    parts=predicting,
    options=options,
    modules=lambda slices, of: slices.of_objective(of),
    memory=(2000, 40, 4),
    minutes=(30, 0.5),
    seconds=25,
    over_layers=True,
    category="2 Information",
)
COLUMNS = [
    *("lens", "measure", "grouping", "group", "layer"),
    *("value", "ci_low", "ci_high", "without", "n", "n_needed"),
]


class Settings(Section):
    """The run's objective; and, as quality has them, the seed of masks and the share of tokens that
    it predicts, if its objective has that option."""

    run: Trained
    seed: int
    choose: float | None


def ready(seen: "Seen", settings: Settings) -> "tuple[Transformer, Objective, Text, list[Map]]":
    """The model, its objective as quality has it, the split test, and the maps to the top from the
    split dev."""
    from bottomup.measures.lens import fitted

    model, objective, dev, test = opened(seen, settings, "dev")
    return model, objective, test, fitted(model, objective, dev, settings.seed)


def opened(
    seen: "Seen", settings: Settings, split: str
) -> "tuple[Transformer, Objective, Text, Text]":
    """The model, its objective as quality has it, a split to fit maps on, and the split test."""
    from bottomup import objectives
    from bottomup.core.device import device
    from bottomup.corpus.batches import Text
    from bottomup.measures.token_dropout import without_dropout
    from bottomup.subjects.runs import Run

    run = settings.run
    assert isinstance(seen.subject, Run) and run.module  # a Transformer of ours
    tokenizer = seen.subject.tokenizer
    objective = without_dropout(objectives.load(run.module, run.options, tokenizer))
    if settings.choose is not None:
        objective = objective.model_copy(update={"choose": settings.choose})
    fit, test = (
        Text.load(seen.needed(name).parents[1], part, objective.predicts)
        for name, part in ((split, split), ("text", "test"))
    )
    return seen.subject.model.to(device()), objective, fit, test


def rows(seen: "Seen", settings: Settings) -> Iterator[dict]:
    from bottomup.core.files.joins import require_equal_lengths
    from bottomup.core.files.tables import read_table
    from bottomup.measures.lens import known_of_tokens, lens, predicted

    model, objective, test, maps = ready(seen, settings)
    blocks = seen.blocks
    require_equal_lengths(sentences=test.source, blocks=blocks)
    predictions = predicted(model, objective, test, settings.seed, maps)
    annotation = seen.file("annotation")
    known = known_of_tokens(
        test.source,
        read_table(seen.needed("frequencies"), usecols=["token_id", "rank"]),
        annotation and read_table(annotation, columns=["sentence", "word", "tag"]),
    )
    for row in lens(predictions, maps, blocks, known):
        yield {name: row[name] for name in COLUMNS}
