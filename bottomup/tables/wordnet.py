"""Whether each layer of one subject tells the senses of WordNet's examples apart."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator

from bottomup.core.settings import Folder, Section, Seed, key
from bottomup.tables import Table, looked_at

if TYPE_CHECKING:
    from bottomup.plan.slices import Slices
    from bottomup.plan.subjects import Subjects
    from bottomup.subjects.seen import Seen


def if_given(subjects: "Subjects") -> list[str]:
    """The runs of all that is compared, if there are examples."""
    return looked_at(subjects) if subjects.study.measures.wordnet.folder else []


def options(slices: "Slices", of: Any) -> dict:
    from bottomup.corpus.wordnet import FILES

    keys = slices.study.measures.wordnet
    folder = keys.folder
    assert folder is not None  # or there is no such job
    return {**dict(keys), "content": slices.content(lambda: [str(folder / name) for name in FILES])}


TABLE = Table(
    "run",
    reads=("model", "word_tokenizer", "training_text"),
    sees="subjects",
    parts=if_given,
    options=options,
    memory=(900, 30, 8),
    minutes=(30, 1),
    batch_tokens=2048,
    seconds=20,
    over_layers=True,
    category="5 What a layer represents",
)


def with_examples(folder: Path) -> Path:
    """The folder, if it has the files of WordNet's database."""
    from bottomup.corpus.wordnet import FILES

    if missing := [name for name in FILES if not (folder / name).is_file()]:
        raise ValueError(
            f"allowed: a folder with WordNet's {', '.join(FILES)}; missing: {', '.join(missing)}"
        )
    return folder


class Keys(Section):
    """Whether a layer tells the senses of a word apart, by WordNet's examples."""

    folder: Annotated[Folder, AfterValidator(with_examples)] | None = key(
        "folder of WordNet's database, with data.noun and the like; null for none, which leaves "
        "out the table"
    )
    seen: int = key(
        "how often the training text must have a word in the form that an example has it",
        "times",
        ge=0,
        le=10**9,
    )
    seed: Seed = key("seed with which words are dealt to blocks, for intervals")


class Settings(Keys):
    """Also a digest of the examples."""

    content: str


def rows(seen: "Seen", settings: Settings) -> Iterator[dict]:
    import numpy as np

    from bottomup.core.device import device
    from bottomup.core.files.tokenizers import load_tokenizer
    from bottomup.corpus.tokens import NO_WORD, TokenFile
    from bottomup.corpus.wordnet import examples
    from bottomup.measures import wordnet
    from bottomup.measures.agreement import frequent_words
    from bottomup.subjects.batches import states
    from bottomup.subjects.words import encode
    from bottomup.views.draws import SEEN

    assert settings.folder is not None  # or there is no such job
    table, subject = examples(settings.folder), seen.subject
    if settings.seen:
        train = TokenFile.load(seen.needed("train").parent)
        tokenizer = load_tokenizer(seen.needed("word_tokenizer"))
        table = wordnet.known(table, frequent_words(train, tokenizer, settings.seen))
    places = [[place] for place in zip(table["start"], table["end"], strict=True)]
    read = encode(subject.tokenizer, table["text"].tolist(), places, subject.max_length)
    stands = read.standing(subject.backward)
    table = table.assign(number=np.arange(len(table)), **{SEEN: stands != NO_WORD})
    some = wordnet.asked(table, settings.seed)
    text = read.tokens.select(some["number"].to_numpy())
    shown = np.zeros(len(text.ids), dtype=bool)
    shown[text.offsets[:-1] + stands[some["number"]]] = True
    return wordnet.rows(states(subject.on(device()), text, shown, seen.batch_tokens), some)
