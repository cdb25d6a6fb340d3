"""Pictures of the occurrences of a few words in two dimensions, layer by layer, by t-SNE.

A picture of too few occurrences is left out.
"""

import logging
from collections.abc import Iterator
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import AfterValidator

from bottomup.core.settings import Section, Seed, key, unique
from bottomup.tables import Table
from bottomup.views.seen import Seen

TABLE = Table(
    "run",
    reads=("views", "masked_views", "annotations", "frequencies"),
    parts=lambda subjects: subjects.first_runs(subjects.looked_at + subjects.steps),
    writes=("csv",),
    memory=(2000, 2),
    minutes=(30, 0.02),
    seconds=31,
)
COLUMNS = [
    *("picture", "layer", "x", "y"),
    *("token", "kind", "position", "ccg", "ccg_source", "sentence"),
]

log = logging.getLogger(__name__)


class Settings(Section):
    """Pictures of the views in two dimensions, by t-SNE, for the first seed."""

    words: Annotated[list[str], AfterValidator(unique)] = key(
        "words of the picture colored by token", min_length=2
    )
    position_word: str = key("word of the picture colored by position")
    ccg_word: str = key("word of the picture colored by CCG category")
    occurrences: int = key("most occurrences of each word", "occurrences", ge=2, le=10_000)
    perplexity: float = key("of t-SNE: about how many neighbors a point has", gt=1, le=3000)
    seed: Seed = key("seed of the draw of occurrences, and of t-SNE")


def rows(seen: Seen, settings: Settings) -> pd.DataFrame:
    parts = [pd.DataFrame(columns=COLUMNS), *_pictures(seen, settings)]
    return pd.concat(parts[1:] or parts).reindex(columns=COLUMNS)


def _pictures(seen: Seen, settings: Settings) -> Iterator[pd.DataFrame]:
    from bottomup.measures.projection import pictures, word_ids

    named = {  # by picture: the words, and the key of the config that names them
        "token": (settings.words, "words"),
        "position": ([settings.position_word], "position_word"),
        "ccg": ([settings.ccg_word], "ccg_word"),
    }
    if "ccg" not in seen.occurrences:
        del named["ccg"]
    for picture, (words, name) in named.items():
        if not (ids := word_ids(words, name, seen.whole, seen.frequencies)):
            continue
        shown = [seen, seen.masked] if picture == "token" and seen.masked else [seen]
        chosen = [_chosen(each, ids, seen.frequencies, settings) for each in shown]
        points = pd.concat(chosen)
        if points.empty:
            log.warning("%s: the model sees none of %s; left out", picture, ", ".join(ids))
            continue
        log.info("%s: %d occurrences of %s", picture, len(points), ", ".join(ids))
        views = (
            np.concatenate([view[rows.index] for view, rows in zip(layer, chosen, strict=True)])
            for layer in zip(*(each.views for each in shown), strict=True)
        )
        for layer, xy in enumerate(pictures(views, settings.perplexity)):
            yield points.assign(picture=picture, layer=layer, x=xy[:, 0], y=xy[:, 1])


def _chosen(
    seen: Seen, ids: dict[str, int], frequencies: pd.DataFrame, settings: Settings
) -> pd.DataFrame:
    """Rows of the words, at most `occurrences` of each; plain or masked ones, as in the table."""
    from bottomup.measures.projection import draw, ends_word

    whole = seen.whole
    plain = whole["kind"] == "plain"
    kept = ends_word(whole, frequencies) & (plain | (whole["kind"] == "masked"))
    tokens = whole["input_id"].where(plain, whole["output_id"])
    parts = []
    for word, token_id in ids.items():
        of_word = np.flatnonzero(kept & (tokens == token_id))
        some = draw(of_word, seen.there, settings.occurrences, settings.seed, word)
        parts.append(seen.occurrences.iloc[some].assign(token=word))
    return pd.concat(parts)
