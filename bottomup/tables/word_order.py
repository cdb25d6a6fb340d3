"""How far each layer of one subject, and its predictions, follow the order of words.

A model that predicts nothing has no loss.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from bottomup.core.settings import Section, Seed, Trained, key
from bottomup.tables import Table, with_first_steps

if TYPE_CHECKING:
    import numpy as np

    from bottomup.corpus.tokens import TokenFile
    from bottomup.subjects.seen import Seen


TABLE = Table(
    "run",
    reads=("model", "test", "words"),
    sees="subjects",
    parts=with_first_steps,
    options=lambda slices, of: {"run": slices.run(of), **dict(slices.study.measures.word_order)},
    modules=lambda slices, of: slices.of_task(of, "predictor"),
    memory=(900, 30, 8),
    minutes=(30, 1),
    batch_tokens=2048,
    seconds=15,
    over_layers=True,
    judged=True,
    enlarge="measures.word_order.sentences",
    category="5 What a layer represents",
)
BATCH_TOKENS = 2048  # it affects results: masks are drawn by batch


class Keys(Section):
    """How far layers and predictions follow the order of words."""

    sentences: int = key(
        "held-out sentences of 5 words or more that are drawn, all if there are fewer",
        "sentences",
        ge=1,
        le=10**6,
    )
    seed: Seed = key("seed of their draw, of orders and of masks")


class Settings(Keys):
    """Also the model's objective."""

    run: Trained


def rows(seen: "Seen", settings: Settings) -> Iterator[dict]:
    import numpy as np

    from bottomup.core.device import device
    from bottomup.heads import tasks
    from bottomup.measures.jackknife import n_blocks
    from bottomup.measures.word_order import drawn, word_order
    from bottomup.subjects.words import held_out

    predictor = tasks.measured(settings.run, seen.subject, seen.folder)
    text, blocks = predictor.text(seen.paths("text")), seen.blocks
    source = held_out(seen, np.arange(len(blocks)))
    some = drawn(source, settings.sentences, settings.seed)
    asked = text.select(some)

    def losses(moved: "TokenFile") -> "np.ndarray":
        """A translator is to write the same, whatever it reads."""
        changed = replace(asked, source=moved)
        return predictor.losses_of_text(changed, BATCH_TOKENS, settings.seed, "masks")

    read = blocks[some], n_blocks(blocks), settings.seed, seen.batch_tokens
    known = losses if predictor.predicts(text) else None
    return word_order(seen.subject.on(device()), source.select(some), *read, known)
