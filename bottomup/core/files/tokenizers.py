"""Tokenizers in files, .json."""

from contextlib import suppress
from pathlib import Path
from typing import Any

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


def around(tokenizer: Any) -> list[int]:
    """The ids that a tokenizer, of any package, adds to a text, such as </s>."""
    try:
        one = tokenizer.encode("a")
    except Exception:  # neither this letter nor a token for the unknown
        one = tokenizer.encode("")
    return [i for i, added in zip(one.ids, one.special_tokens_mask, strict=True) if added]
