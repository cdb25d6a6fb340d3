"""Tokenizers in files, .json."""

from pathlib import Path

from tokenizers import Tokenizer

from bottomup.core.files import opening


def load_tokenizer(path: Path | str) -> Tokenizer:
    """The tokenizer in a file; UserError if the file is damaged."""
    with opening(path):
        return Tokenizer.from_file(str(path))
