"""How often each sub-word occurs, and its frequency rank."""

import numpy as np
import pandas as pd

from bottomup.core.errors import UserError
from bottomup.corpus.specials import N_SPECIAL

CHUNK_TOKENS = 2**24


def frequencies(ids: np.ndarray, vocabulary: dict[str, int]) -> pd.DataFrame:
    """Counts and ranks of all tokens except special ones, in order of rank.

    ids: token ids `[n_tokens]`, memory-mapped or not. vocabulary: token -> id.

    Returns columns token_id, token, count, rank. Rank 1 is the most frequent; ties are ranked by
    id.
    """
    counts = np.zeros(len(vocabulary), dtype=np.int64)
    for start in range(0, len(ids), CHUNK_TOKENS):
        counts += np.bincount(ids[start : start + CHUNK_TOKENS], minlength=len(vocabulary))
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    order = N_SPECIAL + np.argsort(-counts[N_SPECIAL:], kind="stable")
    return pd.DataFrame(
        {
            "token_id": order,
            "token": [tokens[i] for i in order],
            "count": counts[order],
            "rank": np.arange(1, len(order) + 1),
        }
    )


def ranks(table: pd.DataFrame) -> np.ndarray:
    """Ranks by token id, `[vocab]`, from a table of `frequencies`. <unk>, which is not a token of
    the training text, is rarer than all.

    Raises UserError if a token between others is missing, or stands twice.
    """
    return _by_token(table, table["rank"])


def shared_ranks(table: pd.DataFrame) -> np.ndarray:
    """The same, but equally frequent tokens share their best rank."""
    return _by_token(table, table["count"].rank(method="min", ascending=False).astype(int))


def _by_token(table: pd.DataFrame, of_rows: pd.Series) -> np.ndarray:
    ids = np.sort(table["token_id"])
    if (ids != N_SPECIAL + np.arange(len(ids))).any():
        raise UserError(
            f"the table of frequencies has {len(ids)} rows, which are not those of the tokens "
            f"{N_SPECIAL} to {N_SPECIAL - 1 + len(ids)}; delete corpus/frequencies.csv or "
            "corpus/word_frequencies.csv of the study and run again"
        )
    by_token = np.full(N_SPECIAL + len(table), len(table) + 1)
    by_token[table["token_id"]] = of_rows
    return by_token
