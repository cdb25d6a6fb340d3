"""How evenly representations are spread over directions, in each layer of one run.

Rows: one for each layer, version of the view and measure, see
`bottomup.measures.isotropy.isotropy`. Words are the tokens that are read.
"""

from collections.abc import Iterator

from bottomup.measures.isotropy import isotropy
from bottomup.settings import Isotropy as Settings
from bottomup.tables import Seen


def rows(seen: Seen, settings: Settings) -> Iterator[dict]:
    words, sentences = (seen.occurrences[name].to_numpy() for name in ("input_id", "sentence"))
    return isotropy(seen.views, words, sentences, seen.blocks, **dict(settings))
