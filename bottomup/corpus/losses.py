"""What the steps of the corpus drop: more than half gets a warning, and an error names the largest.

A table of pairs carries the losses of the steps before it in `attrs`, which Parquet files keep.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import pandas as pd

log = logging.getLogger(__name__)

KEY = "losses"  # of DataFrame.attrs
UNIT = {1: "sentences", 2: "pairs"}  # by the number of sides
SHOWN = 2  # lines
WIDTH = 60  # characters of each


@dataclass(frozen=True)
class Loss:
    """What a step dropped.

    step: its name. key: the key of the config that decides how much. dropped, of: how many units,
    out of how many. unit: what is counted. examples: some dropped texts.
    """

    step: str
    key: str
    dropped: int
    of: int
    unit: str
    examples: Sequence[str] = ()

    def __str__(self) -> str:
        return f"{self.step} dropped {self.dropped} of {self.of} {self.unit} ({self.key})"


def of_texts(step: str, key: str, dropped: Sequence[str], of: int, unit: str) -> Loss:
    """The loss of a step that dropped these texts, out of so many."""
    return Loss(step, key, len(dropped), of, unit, tuple(dropped[:SHOWN]))


def tell(losses: Sequence[Loss]) -> Sequence[Loss]:
    """Warn of each step that dropped more than half of what it had. Returns the losses."""
    for loss in losses:
        if 2 * loss.dropped > loss.of:
            shown = "; ".join(f'"{_short(text)}"' for text in loss.examples[:SHOWN])
            log.warning("%s%s", loss, f", such as {shown}" if shown else "")
    return losses


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= WIDTH else f"{line[:WIDTH]}…"


def carry(pairs: pd.DataFrame, losses: Iterable[Loss]) -> pd.DataFrame:
    """`pairs`, which from now on carry these losses only, without steps that dropped nothing."""
    pairs.attrs[KEY] = [asdict(loss) for loss in losses if loss.dropped]
    return pairs


def carried(pairs: pd.DataFrame) -> list[Loss]:
    """The losses that a table carries."""
    return [Loss(**loss) for loss in pairs.attrs.get(KEY, [])]


def worst(losses: Iterable[Loss]) -> str:
    """The end of an error line: the step that dropped most; empty if none did."""
    most = max(losses, key=lambda loss: loss.dropped, default=None)
    return f"; the largest loss: {most}" if most else ""
