"""What each layer of a run would predict in a few short held-out sentences, word by word.

There are no rows if the tuned lens is fitted on too few predictions to have values.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bottomup.tables import Table, lens

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from bottomup.subjects.seen import Seen

TABLE = Table(
    "run",
    reads=("model", "fitted", "test", "test_pairs"),
    sees="subjects",
    parts=lens.predicting,
    options=lambda slices, of: {
        **lens.options(slices, of),
        "sentences": slices.study.site.sentences,
        "drawn_by": slices.study.heads.seed,
    },
    modules=lambda slices, of: slices.of_objective(of),
    writes=("parquet",),
    memory=(2000, 40, 4),
    minutes=(30, 0.5),
    seconds=10,
)


class Settings(lens.Settings):
    """Beside the lens's: how many sentences, and the seed of their draw, as for attention."""

    sentences: int
    drawn_by: int


def rows(seen: "Seen", settings: Settings) -> Iterator[dict]:
    import numpy as np
    from tokenizers import Tokenizer

    from bottomup.core.files.tables import read_table
    from bottomup.core.files.tokenizers import load_tokenizer
    from bottomup.heads.attention import short
    from bottomup.measures.lens import beliefs

    model, objective, test, maps = lens.ready(seen, settings)
    size = maps[0].size(0)
    if size["n"] < size["n_needed"]:
        return
    tokenizer = seen.subject.tokenizer
    if objective.predicts == "target":
        tokenizer = load_tokenizer(seen.needed("target_tokenizer"))
    assert isinstance(tokenizer, Tokenizer)  # of a run
    source = read_table(seen.needed("pairs"), columns=["source"])["source"]
    for sentence in short(source, settings.sentences, settings.drawn_by):
        of_one = test.select(np.array([sentence]))
        for row in beliefs(model, objective, of_one, settings.seed, maps):
            tokens = {name: written(row[name], tokenizer) for name in ("read", "right", "believed")}
            yield {"sentence": int(sentence)} | row | tokens


def written(token: int, tokenizer: "Tokenizer") -> str:
    """A token as the tokenizer names it, so that two that begin a word and go on with it differ; or
    the number of a token that is the objective's own."""
    from bottomup.heads.attention import START
    from bottomup.measures.lens import NO_TOKEN

    if token == NO_TOKEN:
        return START
    return tokenizer.id_to_token(token) or f"<{token}>"
