"""Whether a linear map of each layer of one subject holds the syntax trees of held-out sentences.

All words of a sentence count, not only drawn occurrences, each through its last sub-word (its
first, where a model reads from the end).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bottomup.core.settings import Section, Seed, key
from bottomup.tables import Table

if TYPE_CHECKING:
    from bottomup.subjects.seen import Seen

TABLE = Table(
    "run",
    reads=("model", "held_out", "known"),
    sees="subjects",
    annotated=True,
    memory=(900, 30, 8),
    minutes=(30, 1),
    batch_tokens=2048,
    seconds=20,
    over_layers=True,
    judged=True,
    enlarge="measures.structural_probe.sentences",
    category="5 What a layer represents",
)


class Sentences(Section):
    """The sentences of a probe."""

    sentences: int = key(
        "sentences of 5 to 50 words that train it, and as many that test it, of other documents; "
        "fewer where the test split has not so many",
        "sentences",
        ge=100,
        le=10**6,
    )


class Settings(Sentences):
    """Whether a linear map of a layer holds the syntax tree."""

    seed: Seed = key("seed of their draw, and of whose trees change places as a control")


def rows(seen: "Seen", settings: Settings) -> Iterator[dict]:
    from bottomup.measures import jackknife
    from bottomup.measures import structural_probe as probe

    columns = ["sentence", "word", "relation", "head"]
    annotation = seen.annotation(columns)
    blocks, seed = seen.blocks, settings.seed
    views, (train, test) = probe.read(seen, annotation, blocks, settings.sentences, seed)
    to_train = probe.trees(annotation, train, blocks)
    to_test = probe.trees(annotation, test, blocks, first=sum(one.rows.size for one in to_train))
    count = jackknife.n_blocks(blocks)
    return probe.structural_probe(views, to_train, to_test, count, seed)
