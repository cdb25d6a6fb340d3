"""What a run makes of a text whose language is known, beside what can be known of it exactly.

There are no rows unless one source alone makes the text, and its language is known.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bottomup.core.settings import Section, Seed, Trained, key
from bottomup.tables import Table

if TYPE_CHECKING:
    from bottomup.plan.slices import Slices
    from bottomup.plan.subjects import Subjects
    from bottomup.subjects.seen import Seen


def of_known_text(subjects: "Subjects") -> list[str]:
    """The runs that are compared and do not read from the end, of a text whose language is known;
    else none."""
    from bottomup.corpus.drawn import Options

    study = subjects.study
    source, *others = study.corpus.source
    if others or not isinstance(study.source_options(source), Options):
        return []
    return subjects.runs([name for name in subjects.compared if not subjects.from_end(name)])


def options(slices: "Slices", of: Any) -> dict:
    scoring, [source] = slices.scoring(of), slices.study.corpus.source
    return {
        **dict(slices.study.measures.exact),
        "run": slices.run(of),
        "choose": scoring["choose"],
        "scored_by": scoring["seed"],
        "source": source,
        "language": slices.study.source_options(source),
    }


def modules(slices: "Slices", of: Any) -> list[str]:
    """The modules of the run's objective and trunk, and of the source."""
    [source] = slices.study.corpus.source
    return [*slices.of_objective(of), f"bottomup.corpus.sources.{source}"]


TABLE = Table(
    "run",
    reads=("model", "test", "test_pairs"),
    sees="subjects",
    parts=of_known_text,
    options=options,
    modules=modules,
    memory=(2000, 40, 4),
    minutes=(30, 1),
    batch_tokens=2048,
    seconds=30,
    category="2 Information",
)


class Keys(Section):
    """What can be known of a text whose language is known, beside what runs make of it."""

    sentences: int = key(
        "held-out sentences, at most, for information", "sentences", ge=10, le=10**6
    )
    n_clusters: int = key("clusters of representations", ge=2, le=10**6)
    seed: Seed = key("seed of their draw, of masks, of clusters and of halves for the classifier")


class Settings(Keys):
    """Also the run's objective; the share of tokens that it predicts and the seed of masks, as
    quality has them; and the source, and its options."""

    run: Trained
    choose: float | None
    scored_by: int
    source: str
    language: dict[str, Any]


def rows(seen: "Seen", settings: Settings) -> Iterator[dict]:
    import numpy as np

    from bottomup import objectives
    from bottomup.core.device import device
    from bottomup.core.files.tables import read_table
    from bottomup.core.seeds import generator
    from bottomup.corpus import sources
    from bottomup.corpus.batches import Text
    from bottomup.measures import exact
    from bottomup.objectives.mlm import Objective as Mlm
    from bottomup.subjects.runs import OfOurs

    subject = seen.subject
    assert isinstance(subject, OfOurs) and settings.run.module  # a run
    objective = objectives.load(settings.run.module, settings.run.options)
    if settings.choose is not None:
        objective = objective.model_copy(update={"choose": settings.choose})
    elements = read_table(seen.needed("pairs"), columns=["element"])["element"].astype(int)
    every = exact.sentences(
        sources.module(settings.source).Options.model_validate(settings.language),
        elements.to_numpy(),
        Text.load(seen.needed("text").parents[1], "test", objective.predicts),
        seen.blocks,
        lambda word: subject.tokenizer.encode(word).ids,
        subject.vocab_size,
    )
    model = subject.model.to(device())
    yield from exact.losses(every, model, objective, settings.scored_by)
    order = generator(settings.seed, "exact").permutation(len(every.words))
    some = every.some(np.sort(order[: settings.sentences]))
    maskings = [None, objective] if type(objective) is Mlm else [None]  # no variant of MLM
    for masking in maskings:
        at = exact.places(some, subject, masking, settings.seed, seen.batch_tokens)
        yield from exact.information(at, every.count, settings.n_clusters, settings.seed)
