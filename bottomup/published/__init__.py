"""What the papers published: their figures, read off as numbers, one copy for figures and claims.

`curves/README.md` has the source and units of each.
"""

from pathlib import Path

import pandas as pd

from bottomup.core.errors import UserError

CURVES = Path(__file__).parent / "curves"
# The figure and panel of each property of nearest neighbors.
NEIGHBORS = {
    "token": ("evolution_token", "Accuracy for top-50 neighbors"),
    "position": ("evolution_position", "Position distance"),
    "left_token": ("same_left_right_tokens", "Same left token"),
    "right_token": ("same_left_right_tokens", "Same right token"),
    "ccg": ("evolution_same_ccg", "Same CCG supertag"),
    "ccg_left": ("evolution_ccg_left_right", "Same CCG (left)"),
    "ccg_right": ("evolution_ccg_left_right", "Same CCG (right)"),
}


def load_published(name: str, folder: Path = CURVES) -> pd.DataFrame:
    """A published figure as numbers: `panel, series, x, y`, and `y_uncertainty`.

    Raises UserError for a name that `folder` does not hold.
    """
    path = folder / f"{name}.csv"
    if not path.exists():
        known = ", ".join(sorted(file.stem for file in folder.glob("*.csv"))) or "none"
        raise UserError(f"no published curves {name!r} in {folder}; found {known}; choose one")
    return pd.read_csv(path)
