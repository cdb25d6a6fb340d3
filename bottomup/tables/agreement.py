"""Whether one model prefers the form of a verb that agrees with its subject.

A model that predicts no tokens of what it reads has no rows.
"""

from itertools import product
from typing import TYPE_CHECKING

from bottomup.core.settings import Section, Seed, Trained, key
from bottomup.tables import Table, reading_alone

if TYPE_CHECKING:
    import pandas as pd

    from bottomup.plan.subjects import Subjects
    from bottomup.subjects.seen import Seen


def of_english(subjects: "Subjects") -> list[str]:
    """The runs of `reading_alone` if the text is English, else none."""
    return reading_alone(subjects) if subjects.study.source_language() == "en" else []


TABLE = Table(
    "run",
    reads=("model", "written_test", "training_text"),
    sees="subjects",
    parts=of_english,
    options=lambda slices, of: {"run": slices.run(of), **dict(slices.study.measures.agreement)},
    modules=lambda slices, of: slices.of_task(of, "predictor"),
    annotated=True,
    memory=(1500, 25, 6),
    minutes=(30, 1),
    batch_tokens=2048,
    seconds=20,
    judged=True,
    enlarge="measures.agreement.items",
    category="9 Behavior",
)
COLUMNS = [
    *("by", "score", "attractors", "number"),
    *("accuracy", "ci_low", "ci_high", "without", "permuted", "n", "n_verbs"),
]
LEAST = 10  # verbs of one number; with fewer there is no value


class Keys(Section):
    """Whether a model prefers the form of a verb that agrees with its subject."""

    items: int = key(
        "verbs, at most, of each number with, and without, nouns of the other number between "
        "subject and verb",
        "verbs",
        ge=LEAST,
        le=10**6,
    )
    whole_items: int = key(
        "the same where a model that predicts hidden tokens scores whole sentences, and so reads "
        "each once for each token",
        "verbs",
        ge=LEAST,
        le=10**6,
    )
    seen: int = key(
        "how often the training text must have each of the two forms", "times", ge=1, le=10**9
    )
    seed: Seed = key("seed of the draw")


class Settings(Keys):
    """Also the model's objective."""

    run: Trained


def rows(seen: "Seen", settings: Settings) -> "pd.DataFrame":
    import pandas as pd

    from bottomup.core.files.tables import read_table
    from bottomup.core.files.tokenizers import load_tokenizer
    from bottomup.corpus.tokens import TokenFile
    from bottomup.corpus.words import spans
    from bottomup.heads import tasks
    from bottomup.measures import agreement
    from bottomup.measures.readers import MODEL, NGRAMS, of_model, of_ngrams

    predictor = tasks.measured(settings.run, seen.subject, seen.folder)
    model = of_model(seen.subject, predictor, seen.batch_tokens)
    if model is None:
        return pd.DataFrame(columns=COLUMNS)
    train = TokenFile.load(seen.needed("train").parent)
    tokenizer = load_tokenizer(seen.needed("word_tokenizer"))
    annotation = seen.annotation(agreement.NEEDED)
    known = agreement.frequent_words(train, tokenizer, settings.seen)
    items = agreement.items(annotation, known)
    texts = [*spans(read_table(seen.needed("pairs"))["source"].tolist(), tokenizer)]
    blocks = seen.blocks
    readers = {MODEL: model, NGRAMS: of_ngrams(train, tokenizer)}
    parts = []
    for (by, reader), score in product(readers.items(), agreement.SCORES):
        whole = score == agreement.SENTENCE and reader.mode.hides
        most = settings.whole_items if whole else settings.items
        some = agreement.drawn(items, most, settings.seed)
        rows = agreement.rows(agreement.answered(some, texts, reader, score), blocks, LEAST)
        parts += [{"by": by, "score": score, **row} for row in rows]
    return pd.DataFrame(parts, columns=COLUMNS)
