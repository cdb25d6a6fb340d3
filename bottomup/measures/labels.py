"""Which occurrences a measure of information looks at, and which token labels each."""

import numpy as np
import pandas as pd

from bottomup.errors import UserError

# What each name of a set of positions holds, by the kind of an occurrence. Positions whose
# replacement was drawn on purpose are no fair share of those that training changes.
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
    """The rows at `positions` that carry one of the `n_tokens` most frequent tokens, and those.

    occurrences: the occurrence table; frequencies: token_id and rank, from the training text,
    special tokens excluded. label: "input", the token that the model reads, or "output", the
    token that it is to predict. positions: a name in `KINDS`.

    The most frequent tokens are those of lowest rank in the training text among those that
    label one of the positions. Special tokens (end of sentence, mask) have no rank and label
    nothing: their positions are left out.

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
