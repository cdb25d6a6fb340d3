"""Whether neighbors of a word's occurrences share its translation, at each layer of one run."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bottomup.core.settings import Section, Seed, key
from bottomup.tables import Table, looked_at
from bottomup.views.seen import Seen

if TYPE_CHECKING:
    from bottomup.plan.subjects import Subjects


def of_parallel_text(subjects: "Subjects") -> list[str]:
    """The runs of all that is compared, if the text has translations; else none."""
    return looked_at(subjects) if len(subjects.study.corpus.languages) == 2 else []


TABLE = Table(
    "run",
    reads=("views", "annotations", "translations"),
    parts=of_parallel_text,
    annotated=True,
    null=True,
    seconds=8,
    over_layers=True,
    category="5 What a layer represents",
)


class Settings(Section):
    """Whether a layer tells the senses of a word apart, where a sense is its translation."""

    k: int = key(
        "nearest neighbors in other documents; a translation counts if a word has it at least so "
        "often in others",
        "neighbors",
        ge=1,
        le=1000,
    )
    occurrences: int = key(
        "occurrences, at most, of a word with one translation; more than k",
        "occurrences",
        ge=2,
        le=1000,
    )
    seed: Seed = key("seed of their draw")


def rows(seen: Seen, settings: Settings) -> Iterator[dict]:
    from bottomup.measures.null import calibrated

    yield from calibrated(_measured(seen, settings), ("property",))


def _measured(seen: Seen, settings: Settings) -> Iterator[dict]:
    from bottomup.measures import jackknife, senses
    from bottomup.measures.null import permutations

    assert seen.translations is not None
    k, most, seed = settings.k, settings.occurrences, settings.seed
    some = senses.words(seen.whole, seen.translations, k, most, seed)
    count, permuted = jackknife.n_blocks(seen.blocks), permutations(seen.null)
    for layer, view in enumerate(seen.views):
        for row in senses.estimates(view, some, count, k, permuted):
            yield {"layer": layer, "property": row["property"], "k": k, **row}
