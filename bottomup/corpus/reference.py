"""Whether a study's text is the one that docs/findings.md rests on.

Debian's packages change, and with them the text. Another text by the same settings gives other
numbers.
"""

import csv
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from bottomup.core.files import opening
from bottomup.core.settings import Corpus

# The digests of a text's parts, as in `corpus/splits.csv`, by the digest of its settings: of the
# default study at commit 435c291a.
KNOWN = {
    "8f3d32edec93": {
        "train of libreoffice_help": "c343acd6b442",
        "train of package_descriptions": "e4b03fb5900f",
        "train of man_pages": "e0b21484b2a9",
        "dev of libreoffice_help": "9f126a3f2b38",
        "dev of package_descriptions": "7dcc7f146793",
        "dev of man_pages": "ea4d29ebe8d0",
        "test of libreoffice_help": "1a4c5a7f1cc6",
        "test of package_descriptions": "5349e2b0c2b9",
        "test of man_pages": "6322e76ca17d",
    }
}


def settings_of(corpus: Corpus, sources: Mapping[str, dict]) -> str:
    """The digest of the settings that decide a text, without those of its sub-words.

    sources: the options of each source, with its defaults, as plain values.
    """
    values = corpus.model_dump(mode="json", exclude={"bpe", "sources"}) | {"sources": {**sources}}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:12]


def notice(settings: str, splits: Path) -> str | None:
    """A sentence on whether the text is that of the findings; None if no finding rests on a text
    with these settings.

    settings: from `settings_of`. splits: the study's `corpus/splits.csv`.
    """
    if settings not in KNOWN:
        return None
    with opening(splits), splits.open(newline="") as lines:
        digests = {
            f"{row['split']} of {row['origin']}": row["digest"] for row in csv.DictReader(lines)
        }
    other = [part for part, digest in KNOWN[settings].items() if digests.get(part) != digest]
    if not other:
        return "The text is that of docs/findings.md."
    return (
        "The text is not that of docs/findings.md, since packages change. What differs, "
        f"and numbers with it: {', '.join(other)}."
    )
