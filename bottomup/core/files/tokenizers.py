"""Tokenizers in files, .json."""

from contextlib import suppress
from pathlib import Path

from tokenizers import Tokenizer

from bottomup.core.files import opening

NO_CHARACTER = "\U0010fffd"  # of private use


def load_tokenizer(path: Path | str) -> Tokenizer:
    """The tokenizer in a file; UserError if the file is damaged."""
    with opening(path):
        return Tokenizer.from_file(str(path))


def unknown(tokenizer: Tokenizer) -> set[int]:
    """The ids of what a tokenizer does not know; those of a character's bytes if it reads bytes."""
    # Not each names it; a normalizer may drop what the model does not know.
    with suppress(Exception):  # it has none
        return {token.id for token in tokenizer.model.tokenize(NO_CHARACTER)}
    return set()
