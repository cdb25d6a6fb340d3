"""Data that belong together by position: the n-th of one to the n-th of the other."""

from collections.abc import Sized

from bottomup.core.errors import UserError


def require_equal_lengths(**parts: Sized) -> None:
    """Raise UserError unless all parts have equally many rows; it names them by their keywords."""
    lengths = {name.replace("_", " "): len(part) for name, part in parts.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise UserError(
            f"rows that belong together by position: found {counts}; allowed: as many of each; "
            "make them again from the same text"
        )
