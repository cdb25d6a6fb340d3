"""How many words a subject does not see, or reads as unknown."""

from typing import TYPE_CHECKING

from bottomup.core.settings import Section
from bottomup.tables import Table

if TYPE_CHECKING:
    from bottomup.subjects.seen import Seen

TABLE = Table(
    "run",
    reads=("model", "occurrences", "written"),
    sees="subjects",
    parts=lambda subjects: subjects.first_runs(subjects.looked_at if subjects.of_words else []),
    options=lambda slices, of: {},
    writes=("csv",),
    memory=(900, 10, 4),
    minutes=(5, 0.1),
)

Settings = Section  # there is nothing to choose


def rows(seen: "Seen", settings: Settings) -> list[dict]:
    from bottomup.core.files.tables import read_table
    from bottomup.corpus.losses import Loss, tell
    from bottomup.subjects.words import UNKNOWN, of_occurrences, of_text

    text, tokenizer = seen.paths("written")
    table = read_table(seen.needed("occurrences"), columns=["text", "sentence", "position"])
    sentences = read_table(text, columns=["source"])["source"].tolist()
    texts = {
        "occurrences": of_occurrences(seen.subject, table, text, tokenizer)[0],
        "test": of_text(seen.subject, sentences, tokenizer)[0],
    }
    unread = [{"text": name} | row for name, words in texts.items() for row in words.not_read()]
    key = f"checkpoints.{seen.run['objective']}"
    losses = [
        Loss(f"reading {row['text']}, {row['reason']}", key, row["n"], row["total"], row["unit"])
        for row in unread
        if row["reason"] != UNKNOWN  # which is read, and stays
    ]
    tell(losses)
    return unread
