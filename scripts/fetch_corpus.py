"""Fetch the pairs of a corpus source.

Settings: source (a module of bottomup/corpus/sources), options (of that source), content (a digest
          of the files on disk that it reads, if any).
Outputs: its pairs (.parquet) with document, element, source, target.
"""

import tempfile
from pathlib import Path
from typing import Any

from bottomup.plan import program
from bottomup.core.settings import Section
from bottomup.corpus import sources


class Settings(Section):
    source: str
    options: dict[str, Any]
    content: str | None = None


def main(arguments):
    with tempfile.TemporaryDirectory() as temporary:
        pairs = sources.fetch(
            arguments.settings.source,
            arguments.settings.options,
            Path(arguments.downloads or temporary).resolve(),
        )
    pairs.to_parquet(arguments.pairs, index=False)


if __name__ == "__main__":
    parser = program.parser(__doc__, "pairs")
    parser.add_argument("--downloads", help="folder that keeps what is downloaded")
    program.run(main, parser, Settings)
