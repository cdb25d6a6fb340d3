"""What a table sees of one run or two: their views, and what is known of the occurrences."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from bottomup.core.files.joins import require_equal_lengths
from bottomup.core.files.tables import read_beside, read_table
from bottomup.core.layers import layer_at_depth
from bottomup.core.settings import Label, Measured, Null
from bottomup.views.annotations import standing
from bottomup.views.draws import SEEN, there
from bottomup.views.files import load
from bottomup.views.occurrences import unknown_apart


@dataclass(frozen=True)
class Seen:
    """What was seen of one run, or of two runs on the same occurrences.

    whole: a row for each occurrence of the study, with the columns of the annotation if the table
        reads it, and those of `annotations.standing`; and `draws.SEEN`, if some are not seen.
        What is drawn is drawn from it, so that all runs share the draw.
    views: of those that are seen, `[layers + 1, n_occurrences, d_model]`, layer 0 first.
    others: the views of the second run.
    frequencies: of tokens, if the table reads them.
    translations: of words of the text, if the table reads them.
    reading: how the text was fed.
    labels: the tokens that information is measured about, and at which positions.
    null: how rows are permuted, for a table that compares its values with those of permuted rows.
    masked: the same run in the reading as_trained, if the table reads it and the run has it.
    """

    whole: pd.DataFrame
    views: np.ndarray
    others: np.ndarray | None = None
    frequencies: pd.DataFrame | None = None
    translations: pd.DataFrame | None = None
    reading: str = "plain"
    labels: tuple[Label, ...] = ()
    null: Null | None = None
    masked: "Seen | None" = None

    def __post_init__(self):
        parts = {"occurrences": self.occurrences, "views": self.views[0]}
        if self.others is not None:
            parts["others"] = self.others[0]
        require_equal_lengths(**parts)

    @property
    def there(self) -> np.ndarray:
        """Which occurrences of the study are seen, bool `[n]`."""
        return there(self.whole)

    @cached_property
    def occurrences(self) -> pd.DataFrame:
        """Those that are seen: a row for each of a view."""
        return self.whole[self.there].reset_index(drop=True) if SEEN in self.whole else self.whole

    @property
    def blocks(self) -> np.ndarray:
        """The block of documents of each occurrence."""
        return self.occurrences["block"].to_numpy()

    def pairs_of_layers(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """The number and view of each layer, and the view of the second run at the same relative
        depth, see `layer_at_depth`: the same layer, if both have equally many."""
        assert self.others is not None  # only tables of pairs ask for pairs
        depth, other_depth = len(self.views) - 1, len(self.others) - 1
        for layer, view in enumerate(self.views):
            yield layer, view, self.others[layer_at_depth(layer, depth, other_depth)]


def see(files: Mapping[str, list[Path]], measured: Measured) -> Seen:
    """What a table sees: the content of these files, by their names in `Table.reads`.

    Of occurrences that a run does not see there are no views.
    """
    beside = files["occurrences"] + files.get("annotations", [])
    whole, [views, *others] = _read(files["views"], beside, measured.unit)
    if "last_subword" in whole:
        whole = standing(whole, measured.backward)
    masked, frequencies, translations = None, None, None
    if paths := files.get("masked_views"):
        masked_occurrences, [masked_views] = _read(
            paths, files["masked_occurrences"], measured.unit
        )
        masked = Seen(masked_occurrences, masked_views)
    for path in files.get("frequencies", []):
        frequencies = read_table(path, na_filter=False)
    for path in files.get("translations", []):
        translations = read_table(path)
    return Seen(
        whole,
        views,
        others[0] if others else None,
        frequencies=frequencies,
        translations=translations,
        masked=masked,
        reading=measured.reading,
        labels=measured.labels,
        null=measured.null,
    )


def _read(
    paths: list[Path], tables: list[Path], unit: str
) -> tuple[pd.DataFrame, list[np.ndarray]]:
    occurrences = read_beside(*tables)
    if unit == "word":
        occurrences = unknown_apart(occurrences)
    return seen_by_all(occurrences, [load(path, len(occurrences), unit) for path in paths])


def seen_by_all(
    occurrences: pd.DataFrame, views: list[np.ndarray]
) -> tuple[pd.DataFrame, list[np.ndarray]]:
    """The occurrences, with the column `draws.SEEN`, and the views at those that no run lacks.

    views: `[layers + 1, n_occurrences, d_model]` of each run. Both stay as they are if no run lacks
    any.
    """
    missing = np.any([np.isnan(view[0, :, 0]) for view in views], axis=0)
    if not missing.any():
        return occurrences, views
    return occurrences.assign(**{SEEN: ~missing}), [view[:, ~missing] for view in views]
