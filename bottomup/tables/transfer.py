"""What a subject knows of a task by its layers as they are, and what it learns if fine-tuned."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field

from bottomup.core.settings import Section, Seed, key, unique
from bottomup.tables import Table

if TYPE_CHECKING:
    from bottomup.plan.subjects import Subjects
    from bottomup.subjects.seen import Seen

# Tasks about sentences; the others are about words.
OF_SENTENCES = ("origin",)


def if_asked(subjects: "Subjects") -> list[str]:
    """The runs of all that is compared, if there are tasks."""
    asked = subjects.study.measures.transfer.tasks
    return subjects.runs(subjects.looked_at) if asked else []


TABLE = Table(
    "run",
    reads=("model", "held_out", "known", "pairs"),
    sees="subjects",
    annotated=True,
    null=True,
    parts=if_asked,
    memory=(1500, 30, 20),
    minutes=(60, 5),
    batch_tokens=2048,
    seconds=160,
    category="5 What a layer represents",
)


class Settings(Section):
    """What models learn of a task by fine-tuning, and what their frozen layers tell."""

    tasks: Annotated[list[Literal["tag", "relation", "origin"]], AfterValidator(unique)] = key(
        "what to learn: part of speech of a word, relation of a word to its head, source of a "
        "sentence; with an empty list there is no table, and a task that has one label in all of "
        "the text is left out"
    )
    sentences: int = key(
        "sentences of 5 to 50 words to learn from, and as many that test it, of other documents; "
        "fewer where the test split has not so many",
        "sentences",
        ge=1,
        le=10**6,
    )
    rates: list[Annotated[float, Field(ge=0, le=0.1)]] = key(
        "learning rates of the weights below the classifier (peaks are a tenth lower), of which a "
        "fifth of the sentences to learn from, kept for it, choose one",
        min_length=1,
    )
    passes: int = key(
        "over these sentences, of which the same fifth choose the last", "passes", ge=1, le=1000
    )
    seed: Seed = key("seed of the draw of sentences and of the order of updates")


def rows(seen: "Seen", settings: Settings) -> Iterator[dict]:
    import numpy as np

    from bottomup.core.device import device
    from bottomup.core.files.tables import read_table
    from bottomup.core.seeds import generator
    from bottomup.measures import jackknife
    from bottomup.measures.edge_probes import words_of
    from bottomup.measures.null import permutations
    from bottomup.measures.structural_probe import drawn, read_of
    from bottomup.measures.transfer import task_of, transfer
    from bottomup.subjects.words import held_out

    columns = ["sentence", "word", "text", "tag", "relation", "head"]
    annotation = seen.annotation(columns)
    origins = read_table(seen.needed("pairs"), columns=["origin"])["origin"].to_numpy()
    blocks, n, seed = seen.blocks, settings.sentences, settings.seed
    # All models share the draws, also one that does not read some of the sentences.
    train, test = drawn(annotation, blocks, n, seed)
    text, parts = read_of(seen, annotation, blocks, n, seed)
    words = words_of(annotation, train, test, blocks)
    words = words[words["sentence"].isin(np.concatenate(parts))].reset_index(drop=True)
    words["origin"] = origins[words["sentence"]]
    tasks = [task_of(name, words, name in OF_SENTENCES) for name in settings.tasks]
    others = np.setdiff1d(np.flatnonzero(np.isin(blocks, blocks[test])), test)
    others = np.sort(generator(seed, "transfer", "others").permutation(others)[:n])
    return transfer(
        *(seen.subject.on(device()), text, [task for task in tasks if task.n_labels > 1]),
        *(held_out(seen, others), blocks[others], jackknife.n_blocks(blocks)),
        rates=settings.rates,
        passes=settings.passes,
        seed=seed,
        batch_tokens=seen.batch_tokens,
        permutations=permutations(seen.null),
    )
