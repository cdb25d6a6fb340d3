"""How well each layer of one subject tells how alike two sentences are, by BERTScore.

The sentences are those of the table `word_order`, if as many are asked for with the same seed.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bottomup.core.settings import File, Section, Seed, key
from bottomup.tables import Table, with_first_steps

if TYPE_CHECKING:
    from bottomup.subjects.seen import Seen


TABLE = Table(
    "run",
    reads=("model", "held_out", "pairs", "ratings"),
    sees="subjects",
    parts=with_first_steps,
    options=lambda slices, of: {
        **dict(slices.study.measures.bertscore),
        "language": slices.languages["source"],
    },
    memory=(1500, 30, 8),
    minutes=(30, 1),
    batch_tokens=2048,
    seconds=15,
    over_layers=True,
    judged=True,
    enlarge="measures.bertscore.sentences",
    category="5 What a layer represents",
)


class Keys(Section):
    """How well BERTScore by a layer tells how alike two sentences are."""

    sentences: int = key(
        "held-out sentences of 5 words or more that are drawn, all if there are fewer",
        "sentences",
        ge=2,
        le=20_000,
    )
    seed: Seed = key("seed of their draw and of changed words")
    ratings: File | None = key(
        "file of sentences whose likeness people rated: two sentences and a number in each line, "
        "with tabs between them",
        default=None,
    )


class Settings(Keys):
    """Also the language of what people rated."""

    language: str


def rows(seen: "Seen", settings: Settings) -> Iterator[dict]:
    import numpy as np

    from bottomup.core.device import device
    from bottomup.core.files.tables import read_table
    from bottomup.corpus.segmentation import unmarked
    from bottomup.measures.bertscore import bertscore, ratings
    from bottomup.measures.jackknife import n_blocks
    from bottomup.measures.word_order import drawn
    from bottomup.subjects.words import held_out

    blocks, pairs = seen.blocks, read_table(seen.needed("pairs"))
    text = held_out(seen, np.arange(len(blocks)))
    some = drawn(text, settings.sentences, settings.seed)
    translations = [*map(unmarked, pairs["target"].iloc[some])] if "target" in pairs else None
    read = blocks[some], n_blocks(blocks), settings.seed, seen.batch_tokens
    of_people = [
        pair for file in seen.paths("ratings") for pair in ratings(file, settings.language)
    ]
    subject = seen.subject.on(device())
    return bertscore(subject, text.select(some), translations, *read, of_people)
