"""How much groups of tokens influence all others, at each layer of one subject.

A model from whose attention no token can be hidden has no rows.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from bottomup.core.settings import Section, Seed, key
from bottomup.tables import Table

if TYPE_CHECKING:
    from bottomup.subjects.seen import Seen

TABLE = Table(
    "run",
    reads=("model", "sentences", "annotations", "written"),
    sees="subjects",
    parts=lambda subjects: subjects.runs(
        subjects.attending(subjects.by_noise + subjects.steps) + subjects.checkpoints
    ),
    of_heads="changed",
    of_words="tag",
    memory=(900, 30, 7),
    minutes=(60, 0.6),
    batch_tokens=2048,
    seconds=45,
    over_layers=True,
    judged=True,
    enlarge="measures.influence.sentences",
    shown=lambda settings: {"matching": "matched"},
    others=lambda settings: {"groups as published, hidden": {"matching": "published"}},
)
COLUMNS = [
    *("grouping", "group", "matching", "layer", "distance", "ci_low", "ci_high"),
    *("n_occurrences", "n_needed", "without", "n_sentences"),
]
READ = ["text", "sentence", "position", "input_id", "rank", "block"]


class Settings(Section):
    """Distance between other tokens' representations with and without a group's tokens hidden."""

    hidden: Literal["token", "group"] = key(
        "what is hidden in a sentence: one token of the group, or all of them; for matched groups "
        "always one token"
    )
    sentences: int = key(
        "sentences with a token of a group to read for each group; up to as many more for matched "
        "groups, a fifth from each stratum of lengths",
        "sentences",
        ge=10,
        le=10**6,
    )
    seed: Seed = key("seed of their draw")


def rows(seen: "Seen", settings: Settings) -> Iterator[dict]:
    from bottomup.core.device import device
    from bottomup.core.files.tables import read_beside
    from bottomup.corpus.tokens import TokenFile
    from bottomup.measures.groups import groups
    from bottomup.measures.influence import influence
    from bottomup.subjects.words import of_occurrences, of_subwords
    from bottomup.views.annotations import standing
    from bottomup.views.occurrences import unknown_apart

    occurrences = read_beside(seen.needed("occurrences"), seen.needed("annotations"), columns=READ)
    # Only words are aligned with the text as written.
    if written := seen.paths("written"):
        words, _ = of_occurrences(seen.subject, occurrences, *written)
        text = words.tokens
        occurrences = of_subwords(text, unknown_apart(occurrences))
    else:
        text = TokenFile.load(seen.needed("text").parent)
    occurrences = standing(occurrences, seen.subject.backward)
    return influence(
        seen.subject.on(device()),
        text,
        occurrences,
        groups(occurrences, occurrences, ranks_of_words=bool(written)),
        settings.hidden,
        settings.sentences,
        settings.seed,
        seen.batch_tokens,
    )
