"""Minimal pairs in the form of BLiMP (Warstadt et al. 2020, arXiv 1912.00582): two sentences, of
which one is acceptable.

A folder has files of JSON Lines, in BLiMP one for each set of pairs. From each line we read
`sentence_good`, `sentence_bad`, `UID` (the name of the set) and `linguistics_term` (the name of the
phenomenon).
"""

import json
import logging
from pathlib import Path

import pandas as pd

from bottomup.core.errors import UserError
from bottomup.corpus.cleaning import cleaned
from bottomup.corpus.folders import below, once
from bottomup.corpus.sources.files import lines

log = logging.getLogger(__name__)

ALL = "all"  # in tables, what all phenomena or all sets have together
KEYS = {
    "linguistics_term": "phenomenon",
    "UID": "set",
    "sentence_good": "good",
    "sentence_bad": "bad",
}


def files_in(folder: Path) -> list[Path]:
    """The files of pairs, in the order of their names."""
    return once(below(folder, "*.jsonl"))


def load(folder: Path, language: str) -> pd.DataFrame:
    """All pairs of a folder: columns phenomenon, set, good, bad; texts as from
    `corpus.cleaning.cleaned`.

    A pair that its set has twice counts once: a copy is no more evidence. Raises UserError, with
    file and line, for what is not a pair.
    """
    rows = [
        _pair(line, language, f"{path}, line {number}")
        for path in files_in(folder)
        for number, line in enumerate(lines(path), start=1)
    ]
    pairs = pd.DataFrame(rows, columns=list(KEYS.values())).drop_duplicates(ignore_index=True)
    if len(pairs) < len(rows):
        log.warning(
            f"{folder}: pairs left out, since their set has them twice: {len(rows) - len(pairs):,}"
        )
    return pairs


def _pair(line: str, language: str, where: str) -> list[str]:
    try:
        record = json.loads(line)
        json.dumps(record, ensure_ascii=False).encode()  # a lone surrogate is no text
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: is not JSON ({error}); mend it") from error
    values = [record.get(key) for key in KEYS] if isinstance(record, dict) else []
    texts = [value.strip() for value in values if isinstance(value, str)]
    texts[2:] = [cleaned(text, language) for text in texts[2:]]
    pair = [text for text in texts if text]
    if len(pair) < len(KEYS):
        raise UserError(f"{where}: needs text for each of {', '.join(KEYS)}; mend it")
    if ALL in pair[:2]:
        raise UserError(f"{where}: UID or linguistics_term is {ALL}; allowed: any other name")
    if pair[2] == pair[3]:
        raise UserError(f'{where}: both sentences are "{pair[2]}"; take the pair away')
    return pair
