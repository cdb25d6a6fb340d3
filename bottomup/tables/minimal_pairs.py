"""Whether one model finds the acceptable one of two sentences more probable, for pairs from a
folder.

A model that predicts no tokens of what it reads has no rows.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator

from bottomup.core.settings import Folder, Section, Seed, Trained, key
from bottomup.tables import Table, reading_alone

if TYPE_CHECKING:
    import pandas as pd

    from bottomup.plan.slices import Slices
    from bottomup.plan.subjects import Subjects
    from bottomup.subjects.seen import Seen


def if_given(subjects: "Subjects") -> list[str]:
    """The runs of `reading_alone`, if there are pairs."""
    return reading_alone(subjects) if subjects.study.measures.minimal_pairs.folder else []


def options(slices: "Slices", of: Any) -> dict:
    from bottomup.corpus.minimal_pairs import files_in

    keys = slices.study.measures.minimal_pairs
    folder = keys.folder
    assert folder is not None  # or there is no such job
    pairs = slices.content(lambda: map(str, files_in(folder)))
    language = slices.languages["source"]
    return {"run": slices.run(of), **dict(keys), "content": pairs, "language": language}


TABLE = Table(
    "run",
    reads=("model", "word_tokenizer", "training_text"),
    sees="subjects",
    parts=if_given,
    options=options,
    modules=lambda slices, of: slices.of_task(of, "predictor"),
    memory=(1500, 25, 6),
    minutes=(30, 1),
    batch_tokens=2048,
    seconds=60,
    category="9 Behavior",
)
COLUMNS = [
    *("by", "phenomenon", "set"),
    *("accuracy", "ci_low", "ci_high", "without", "n", "n_sets"),
]


def with_pairs(folder: Path) -> Path:
    """The folder, if it has files of pairs."""
    from bottomup.corpus.minimal_pairs import files_in

    if not files_in(folder):
        raise ValueError("allowed: a folder with .jsonl files, such as `data` of BLiMP")
    return folder


class Keys(Section):
    """Whether a model prefers acceptable sentences, for pairs such as BLiMP's."""

    folder: Annotated[Folder, AfterValidator(with_pairs)] | None = key(
        "folder with files of JSON Lines, each line with sentence_good, sentence_bad, UID and "
        "linguistics_term; null for none, which leaves out the table"
    )
    pairs: int = key("pairs, at most, of each set", "pairs", ge=1, le=10**6)
    seed: Seed = key("seed of the draw")


class Settings(Keys):
    """Also the model's objective, a digest of the pairs, and their language."""

    run: Trained
    content: str
    language: str


def rows(seen: "Seen", settings: Settings) -> "pd.DataFrame":
    import pandas as pd

    from bottomup.core.files.tokenizers import load_tokenizer
    from bottomup.corpus.minimal_pairs import load
    from bottomup.corpus.tokens import TokenFile
    from bottomup.heads import tasks
    from bottomup.measures import minimal_pairs
    from bottomup.measures.readers import MODEL, NGRAMS, of_model, of_ngrams

    predictor = tasks.measured(settings.run, seen.subject, seen.folder)
    model = of_model(seen.subject, predictor, seen.batch_tokens)
    if model is None:
        return pd.DataFrame(columns=COLUMNS)
    assert settings.folder is not None  # or there is no such job
    tokenizer = load_tokenizer(seen.needed("word_tokenizer"))
    train = TokenFile.load(seen.needed("train").parent)
    some = minimal_pairs.drawn(
        load(settings.folder, settings.language), settings.pairs, settings.seed
    )
    readers = {MODEL: model, NGRAMS: of_ngrams(train, tokenizer)}
    parts = [
        {"by": by, **row}
        for by, reader in readers.items()
        for row in minimal_pairs.rows(minimal_pairs.answered(some, tokenizer, reader))
    ]
    return pd.DataFrame(parts, columns=COLUMNS)
