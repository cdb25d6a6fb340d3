"""Named data sets (WMT, OpenSubtitles, ...) through the package `mtdata`, an optional dependency.

Its data sets do not say where a document begins, so every pair is its own document.
"""

import random
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated

import pandas as pd
from pydantic import Field, model_validator

from bottomup.core.errors import UserError
from bottomup.core.languages import canonical
from bottomup.core.settings import Seed
from bottomup.corpus.archives import BROKEN
from bottomup.corpus.losses import Loss, carry
from bottomup.corpus.sources import COLUMNS, SourceOptions

DatasetId = Annotated[str, Field(pattern=r"^[^-\s]+-[^-\s]+-[^-\s]+-[^-\s]+-[^-\s]+$")]


class Options(SourceOptions):
    """Which data sets, and how much of them."""

    package = "mtdata"

    datasets: list[DatasetId] = Field(
        min_length=1,
        description="ids as `mtdata list` prints them, for example Statmt-europarl-10-deu-eng",
    )
    max_pairs: int | None = Field(
        None,
        gt=0,
        le=10**10,
        description="pairs to keep, drawn at random from all data sets; null keeps all",
    )
    seed: Seed = Field(1, description="seed of the draw; goes with `max_pairs`")

    @model_validator(mode="after")
    def options_fit(self) -> "Options":
        if self.max_pairs is None and self.seed != type(self).model_fields["seed"].default:
            raise ValueError("`seed` goes with `max_pairs`, and only with it")
        wanted = {language.split("_")[0] for language in self.languages}
        for dataset in self.datasets:
            # mtdata names languages by ISO 639-3.
            languages = {canonical(tag.split("_")[0]) for tag in dataset.split("-")[3:]}
            if languages != wanted:
                raise ValueError(
                    f"the data set {dataset} has {' and '.join(sorted(languages))}, "
                    f"the corpus {' and '.join(sorted(wanted))}; allowed: the same languages"
                )
        return self


def fetch(options: Options, download_folder: Path) -> pd.DataFrame:
    """The pairs of all data sets, or a sample of them, in their order.

    Raises UserError if mtdata is missing, does not know a data set, or cannot get it.
    """
    records = chain.from_iterable(
        _records(dataset, options.languages, download_folder) for dataset in options.datasets
    )
    rows, n = _sample(records, options)
    # Carried, but without a warning: the config asks for this loss.
    drawing = Loss("drawing", "corpus.sources.mtdata.max_pairs", n - len(rows), n, "pairs")
    return carry(pd.DataFrame(rows, columns=COLUMNS, dtype=str), [drawing])


def _records(name: str, languages: tuple[str, ...], folder: Path) -> Iterator[tuple[str, ...]]:
    try:
        from mtdata.cache import Cache
        from mtdata.entry import BCP47Tag, DatasetId, bcp47
        from mtdata.index import INDEX
        from mtdata.parser import Parser
    except ImportError as error:
        raise UserError(
            f"the corpus source mtdata needs a package that is not installed ({error}); "
            "run: pip install mtdata"
        ) from error
    try:
        entry = INDEX[DatasetId.parse(name)]
    except KeyError as error:
        raise UserError(f"mtdata knows no data set {name}; `mtdata list` prints them") from error
    wanted = tuple(bcp47(language) for language in languages)
    compatible, swapped = BCP47Tag.check_compat_swap(wanted, entry.did.langs)
    if not compatible:
        raise UserError(
            f"the data set {name} has {' and '.join(map(str, entry.did.langs))}, the corpus "
            f"{' and '.join(map(str, wanted))}; allowed: the same languages"
        )
    try:
        parser = Parser(Cache(folder).get_entry(entry), ext=entry.in_ext or None, ent=entry)
        for number, fields in enumerate(parser.read_segs(), start=1):
            # Segments without a translation stay, so that cleaning counts them.
            texts = [text or "" for text in (*fields, "")[:2]]
            source, target = reversed(texts) if swapped else texts
            yield f"{name}:{number}", str(number), source, target
    except (*BROKEN, AssertionError, ValueError) as error:
        raise UserError(
            f"mtdata cannot get {name} ({error}); check the network, or download it elsewhere "
            "and use the corpus source files"
        ) from error


def _sample(records: Iterable[tuple[str, ...]], options: Options) -> tuple[list, int]:
    """All records, or a uniform sample of `max_pairs` of them (reservoir sampling), in order; and
    the number of all records."""
    draw, n = random.Random(options.seed), 0
    kept: list[tuple[int, tuple[str, ...]]] = []
    for n, record in enumerate(records, start=1):
        if options.max_pairs is None or n <= options.max_pairs:
            kept.append((n, record))
        elif (place := draw.randrange(n)) < options.max_pairs:
            kept[place] = (n, record)
    return [record for _, record in sorted(kept)], n
