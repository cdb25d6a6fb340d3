"""How far apart heads are by what they attend to: of one run, and of two."""

from typing import TYPE_CHECKING

import pandas as pd

from bottomup.core import names
from bottomup.core.settings import Section, Seed, key
from bottomup.tables import Table

if TYPE_CHECKING:
    from bottomup.plan.subjects import Subjects
    from bottomup.subjects.seen import Seen


def with_heads(subjects: "Subjects") -> list[str]:
    """A run with itself, two runs of one objective, and the first runs of trained ones."""
    shown = subjects.attending(subjects.compared)
    pairs = [names.pair(run, run) for run in subjects.first_runs(shown)]
    first = set(subjects.first_pairs())
    for pair in subjects.pairs_of_runs():
        a, b = (names.objective_and_seed(run)[0] for run in names.runs_of(pair))
        trained = pair in first and {a, b} <= {*subjects.trained}
        if {a, b} <= {*shown} and (a == b or trained):
            pairs.append(pair)
    return pairs


TABLE = Table(
    "pair",
    reads=("models", "test_source"),
    sees="subjects",
    parts=with_heads,
    memory=(1200, 30, 6),
    batch_tokens=2048,
    seconds=10,
    category="6 Attention heads",
)


COLUMNS = [
    *("layer", "head", "among", "quantity", "value", "ci_low", "ci_high", "without"),
    *("to_layer", "to_head", "n"),
]


class Settings(Section):
    """How far apart heads are by what they attend to."""

    sentences: int = key(
        "held-out sentences that are drawn, all if there are fewer", "sentences", ge=1, le=10**6
    )
    seed: Seed = key("seed of the draw, and of other sentences of the same length")


def rows(seen: "Seen", settings: Settings) -> pd.DataFrame:
    import numpy as np

    from bottomup import subjects
    from bottomup.core.device import device
    from bottomup.core.seeds import generator
    from bottomup.measures import head_distances, jackknife
    from bottomup.subjects.words import held_out

    _, *second = [path.parent for path in seen.paths("model")]
    a = seen.subject
    b = subjects.load(*second) if second else a
    blocks = seen.blocks
    drawn = generator(settings.seed, "heads compared").permutation(len(blocks))
    some = np.sort(drawn[: settings.sentences])
    text, count = held_out(seen, some), jackknife.n_blocks(blocks)
    read = settings.seed, seen.batch_tokens, device()
    distances = head_distances.distances(a, b, text, blocks[some], count, *read)
    table = pd.DataFrame(head_distances.rows(distances, a, b), columns=COLUMNS)
    return table.astype(dict.fromkeys(["to_layer", "to_head"], "Int64"))
