"""Our curves beside the published ones, from the points that the figures draw."""

import pandas as pd
from scipy.stats import spearmanr

CURVE = ["figure", "panel", "series", "quantity"]
COLUMNS = [*CURVE, "x", "ours", "low", "high", "published"]
# With two points the correlation is always +1 or -1.
MIN_POINTS = 3


def beside(points: pd.DataFrame) -> pd.DataFrame:
    """A row, with `COLUMNS`, for each point of the curves that both we and the paper have.

    points: those of figures (`figure` and the columns of `bottomup.figures.points`), whose order
    rows have. If only one of the two has a point, the other value is empty.
    """
    point = [*CURVE, "x"]
    ours = points[points["source"] == "ours"].rename(columns={"y": "ours"})
    theirs = points[points["source"] == "published"].rename(columns={"y": "published"})
    both = ours.drop(columns="source").merge(theirs[[*point, "published"]], "outer", on=point)
    common = ours[CURVE].drop_duplicates().merge(theirs[CURVE].drop_duplicates())
    # An outer merge sorts its keys, as text.
    places = pd.concat([ours[point], theirs[point]]).drop_duplicates()
    return common.merge(places).merge(both)[COLUMNS]


def correlate(comparison: pd.DataFrame) -> pd.DataFrame:
    """Spearman's rank correlation of our curve and the published one over x: a row for each curve.

    comparison: as from `beside`. Columns are `CURVE`, n_points, rank_correlation.
    The correlation is empty if the two share fewer than three points, if one is constant, or if
    they end at different layers: one would be compared with a part of the other.
    """
    rows = []
    for curve, part in comparison.groupby(CURVE, sort=False):
        common = part.dropna(subset=["ours", "published"])
        if len(common):
            ends = {_last(part[part[of].notna()]["x"]) for of in ("ours", "published")}
            correlation = _spearman(common) if len(ends) == 1 else float("nan")
            rows.append([*curve, len(common), correlation])
    return pd.DataFrame(rows, columns=[*CURVE, "n_points", "rank_correlation"])


def _last(places: pd.Series) -> float | None:
    """The last of places that are whole numbers, also read as 6.0, or steps from one to the next;
    None for others."""
    numbers = places.astype(str).str.extract(r"^(?:\d+-)?(\d+)(?:\.0)?$")[0]
    return None if numbers.isna().any() else float(numbers.astype(float).max())


def _spearman(part: pd.DataFrame) -> float:
    if len(part) < MIN_POINTS or min(part["ours"].nunique(), part["published"].nunique()) == 1:
        return float("nan")
    return float(spearmanr(part["ours"], part["published"]).statistic)
