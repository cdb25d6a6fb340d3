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
    The correlation is empty if the two share fewer than three points, or if one is constant.
    """
    common = comparison.dropna(subset=["ours", "published"])
    rows = [
        [*curve, len(part), _spearman(part)] for curve, part in common.groupby(CURVE, sort=False)
    ]
    return pd.DataFrame(rows, columns=[*CURVE, "n_points", "rank_correlation"])


def _spearman(part: pd.DataFrame) -> float:
    if len(part) < MIN_POINTS or min(part["ours"].nunique(), part["published"].nunique()) == 1:
        return float("nan")
    return float(spearmanr(part["ours"], part["published"]).statistic)
