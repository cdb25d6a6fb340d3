"""What a run makes of a text whose language is known, beside what can be known of it exactly.

Rows: of its loss, and for each reading, thing to know, layer and estimator of information, see
`bottomup.measures.exact`. Only of text that the source hidden_markov alone makes.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bottomup.core.settings import Section, Seed, Trained, key
from bottomup.tables import Table

if TYPE_CHECKING:
    from bottomup.plan.slices import Slices
    from bottomup.plan.subjects import Subjects
    from bottomup.subjects.seen import Seen

SOURCE = "hidden_markov"


def of_known_text(subjects: "Subjects") -> list[str]:
    """The runs that are compared and do not read from the end, of a text whose language is known;
    else none."""
    if subjects.study.corpus.source != [SOURCE]:
        return []
    return subjects.runs([name for name in subjects.compared if not subjects.from_end(name)])


def options(slices: "Slices", of: Any) -> dict:
    scoring = slices.scoring(of)
    return {
        **dict(slices.study.measures.exact),
        "run": slices.run(of),
        "choose": scoring["choose"],
        "scored_by": scoring["seed"],
        "language": slices.study.source_options(SOURCE),
    }


TABLE = Table(
    "run",
    reads=("model", "test", "test_pairs"),
    sees="subjects",
    parts=of_known_text,
    options=options,
    modules=lambda slices, of: slices.of_objective(of),
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
    quality has them; and the options of the source."""

    run: Trained
    choose: float | None
    scored_by: int
    language: dict[str, Any]


def rows(seen: "Seen", settings: Settings) -> Iterator[dict]:
    import numpy as np

    from bottomup import objectives
    from bottomup.core.device import device
    from bottomup.core.files.arrays import load_array
    from bottomup.core.files.tables import read_table
    from bottomup.core.seeds import generator
    from bottomup.corpus.batches import Text
    from bottomup.corpus.sources.hidden_markov import Options
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
        Options.model_validate(settings.language),
        elements.to_numpy(),
        Text.load(seen.needed("text").parents[1], "test", objective.predicts),
        load_array(seen.needed("blocks")),
        lambda word: subject.tokenizer.encode(word).ids,
        subject.vocab_size,
    )
    model = subject.model.to(device())
    yield from exact.losses(every, model, objective, settings.run.module, settings.scored_by)
    order = generator(settings.seed, "exact").permutation(len(every.words))
    some = every.some(np.sort(order[: settings.sentences]))
    maskings = [None, objective] if type(objective) is Mlm else [None]  # no kind that reads more
    for masking in maskings:
        at = exact.places(some, subject, masking, settings.seed, seen.batch_tokens, device())
        yield from exact.information(at, every.count, settings.n_clusters, settings.seed)
