"""Which occurrences a measure of information uses, and which token labels each of them."""

import numpy as np
import pandas as pd

from bottomup.core.errors import UserError

# The kinds of occurrences in each set of positions. Positions whose replacement was drawn on
# purpose are not a fair sample of those that training changes.
KINDS = {
    "all": ["plain"],
    "changed": ["masked", "replaced"],
    "masked": ["masked"],
    "replaced": ["replaced", "drawn"],
}


def choose(
    occurrences: pd.DataFrame,
    frequencies: pd.DataFrame,
    n_tokens: int,
    label: str,
    positions: str,
) -> tuple[np.ndarray, np.ndarray]:
    """The rows at `positions` with one of the `n_tokens` most frequent tokens, and their tokens.

    occurrences: the occurrence table. frequencies: token_id and rank in the training text, without
    special tokens. label: "input", the token that the model reads, or "output", the token that it
    is to predict. positions: a name in `KINDS`.

    Of the tokens that label one of the positions, those of lowest rank in the training text count
    as most frequent. Special tokens (end of sentence, mask) have no rank and label nothing; their
    positions are left out.

    Returns the rows `[n]`, ascending, and their token ids `[n]`.
    """
    if label not in ("input", "output") or positions not in KINDS:
        raise UserError(
            f"label {label!r} at positions {positions!r}; allowed: label input or output, "
            f"positions {', '.join(KINDS)}"
        )
    rows = np.flatnonzero(occurrences["kind"].isin(KINDS[positions]))
    tokens = occurrences[f"{label}_id"].to_numpy()[rows]
    ranked = frequencies.sort_values("rank")["token_id"].to_numpy()
    frequent = ranked[np.isin(ranked, tokens)][:n_tokens]
    kept = np.isin(tokens, frequent)
    return rows[kept], tokens[kept]
