import pandas as pd
import pytest

from bottomup.figures import alignment
from bottomup.subjects.words import REASONS, UNKNOWN

# Of 200 words and 20 sentences: vanished, cut off, shared, unknown; and sentences cut off.
COUNTS = {"bert": (2, 10, 4, 20, 3), "lm": (0, 0, 0, 0, 0)}


def table():
    rows = []
    for objective, counts in COUNTS.items():
        units: list = [
            *(("word", reason, 200) for reason in (*REASONS, UNKNOWN)),
            ("sentence", "cut off", 20),
        ]
        for (unit, reason, total), n in zip(units, counts, strict=True):
            row = {"objective": objective, "unit": unit, "reason": reason}
            rows.append({**row, "text": "occurrences", "n": n, "total": total})
            # Not shown: all of the text, of which ten times as much is not seen.
            rows.append({**row, "text": "test", "n": 10 * n, "total": 2 * total})
    return pd.DataFrame(rows)


def test_each_subject_says_what_it_does_not_see():
    figure, drawn = alignment.draw({"alignment": table()})
    [axes] = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "LM\n0 of 200 words, 0 of 20 sentences cut off",
        "bert\n16 of 200 words, 3 of 20 sentences cut off",
    ]
    shares = drawn[drawn["x"] == "bert"].set_index("series")["y"]
    assert shares.to_dict() == pytest.approx(
        {"vanished": 0.01, "cut off": 0.05, "shared": 0.02, "unknown": 0.1}
    )
    ends = {bar.get_x() + bar.get_width() for bars in axes.containers for bar in bars}
    assert sorted(ends) == pytest.approx([0, 0.01, 0.06, 0.08, 0.18])
    assert axes.get_xlim()[1] > 0.18


def test_where_all_is_seen_there_is_still_an_axis():
    figure, drawn = alignment.draw({"alignment": table().assign(n=0)})
    assert (drawn["y"] == 0).all() and figure.axes[0].get_xlim() == (0, 0.01)


def test_every_reason_has_a_color():
    assert tuple(alignment.REASONS) == (*REASONS, UNKNOWN)
