"""Whether one model prefers the form of a verb that agrees with its subject.

Rows: by whom (the model, or 5-grams of the training text, which stand beside every model), score,
attractors and number, see `bottomup.measures.agreement.rows`; what the scores are, in
`bottomup.measures.log_probability`. A model that predicts no tokens of what it reads has no rows.
"""

from itertools import product
from typing import TYPE_CHECKING, Any

from bottomup.core import names
from bottomup.core.settings import Section, Seed, Trained, key
from bottomup.corpus.segmentation import base
from bottomup.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import pandas as pd

    from bottomup.corpus.tokens import TokenFile
    from bottomup.measures.agreement import Reader
    from bottomup.measures.log_probability import Questions
    from bottomup.plan.slices import Slices
    from bottomup.plan.subjects import Subjects
    from bottomup.subjects.seen import Seen


def reading_alone(subjects: "Subjects") -> list[str]:
    """The runs of each objective that is compared and neither translates nor reads the text twice,
    once from each end, of those at earlier steps the first seed's; and checkpoints. None of a text
    that is not English."""
    if base(subjects.study.corpus.languages[0]) != "en":
        return []

    def alone(name: str) -> bool:
        objective = subjects.study.objective_options(names.whole(name))
        return objective.predicts != "target" and not objective.both_ways

    steps = [name for name in subjects.steps if alone(name)]
    ours = [name for name in subjects.compared if alone(name)]
    return [
        *subjects.runs(ours),
        *subjects.first_runs([*steps, *subjects.checkpoints]),
    ]


def options(slices: "Slices", of: Any) -> dict:
    return {"run": slices.run(of), **dict(slices.study.measures.agreement)}


TABLE = Table(
    "run",
    reads=("model", "written_test", "training_text"),
    sees="subjects",
    parts=reading_alone,
    options=options,
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
MODEL, NGRAMS = "model", "5-grams"
LEAST = 10  # of fewer verbs of one number nothing is said


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
        "of these, those whose whole sentences a model scores that sees both sides, and so reads "
        "once for each token",
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

    from bottomup.core.files.arrays import load_array
    from bottomup.core.files.tables import read_table
    from bottomup.core.files.tokenizers import load_tokenizer
    from bottomup.corpus.tokens import TokenFile
    from bottomup.corpus.words import spans
    from bottomup.measures import agreement

    model = of_model(seen, settings.run)
    if model is None:
        return pd.DataFrame(columns=COLUMNS)
    train = TokenFile.load(seen.needed("train").parent)
    tokenizer = load_tokenizer(seen.needed("word_tokenizer"))
    annotation = read_table(seen.needed("annotation"), columns=agreement.NEEDED)
    known = agreement.frequent_words(train, tokenizer, settings.seen)
    found = agreement.items(annotation, known)
    texts = [*spans(read_table(seen.needed("pairs"))["source"].tolist(), tokenizer)]
    blocks = load_array(seen.needed("blocks"))
    readers = {MODEL: model, NGRAMS: agreement.of_ngrams(train, tokenizer)}
    parts = []
    for (by, reader), score in product(readers.items(), agreement.SCORES):
        whole = score == agreement.SENTENCE and not reader.causal
        most = settings.whole_items if whole else settings.items
        some = agreement.drawn(found, most, settings.seed)
        rows = agreement.rows(agreement.answered(some, texts, reader, score), blocks, LEAST)
        parts += [{"by": by, "score": score, **row} for row in rows]
    return pd.DataFrame(parts, columns=COLUMNS)


def of_model(seen: "Seen", run: Trained) -> "Reader | None":
    """The model as a reader; None if it does not predict tokens of what it reads."""
    import torch

    from bottomup.corpus.specials import MASK
    from bottomup.heads import tasks
    from bottomup.measures.agreement import Reader
    from bottomup.measures.log_probability import log_probabilities

    subject, mask = seen.subject, MASK
    predictor = tasks.opened(run, subject, seen.folder)
    if run.module is None:
        from bottomup.subjects.checkpoint import Checkpoint

        assert isinstance(subject, Checkpoint)
        if predictor.objective.predicts != "source":
            return None
        mask = subject.pretrained.mask_token_id

    @torch.inference_mode()
    def scores(text: "TokenFile", questions: "Sequence[Questions]") -> "np.ndarray":
        return log_probabilities(
            lambda example: predictor.losses(example)[0],
            text,
            questions,
            subject.causal,
            mask,
            subject.padding,
            seen.batch_tokens,
        )

    return Reader(subject.tokenizer, subject.max_length, subject.causal, scores)
