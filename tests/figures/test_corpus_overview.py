import pandas as pd

from bottomup.figures import corpus_overview


def values(points, panel, series, quantity):
    of = points["panel"].eq(panel) & points["quantity"].eq(quantity)
    rows = points[of & (points["series"].eq(series) | points["series"].isna())]
    return dict(rows[["x", "y"]].itertuples(index=False))


def test_points_are_the_tables(study):
    tables = study()
    _, points = corpus_overview.draw(tables, n_tokens=400)
    cleaning, splits = tables["cleaning"].set_index("step"), tables["splits"].set_index("split")
    for series in ("dropped", "remaining"):
        drawn = values(points, "cleaning", f"{series}, help", "pairs")
        assert drawn == cleaning[series].to_dict()
    for side in ("source", "target"):
        words = splits[f"{side}_words"]
        assert values(points, "words", f"{side}, help", "words") == words.to_dict()
        lengths = (words / splits["pairs"]).to_dict()
        assert values(points, "lengths", side, "words per sentence") == lengths


def test_sources_stand_on_one_another(study):
    tables = study()
    for name in ("cleaning", "splits"):
        other = tables[name].assign(origin="manuals")
        counts = other.columns.intersection(["dropped", "remaining", "pairs", "source_words"])
        other[counts] *= 2
        tables[name] = pd.concat([tables[name], other])
    figure, points = corpus_overview.draw(tables, n_tokens=400)
    cleaning, words, *_ = figure.axes
    assert {text.get_text() for text in cleaning.get_legend().get_texts()} == {
        *("help", "manuals", "dropped at this step")
    }
    assert cleaning.get_yticklabels()[3].get_text() == "untranslated, −2,700"  # 900 and 1,800
    ends = [max(bar.get_x() + bar.get_width() for bar in bars) for bars in cleaning.containers]
    assert ends == [40_000, 120_000, 120_000, 120_000]
    tops = [bar.get_y() + bar.get_height() for bars in words.containers for bar in bars]
    one = tables["splits"]["source_words"].head(3)
    assert tops[:6] == [*one, *3 * one]
    lengths = values(points, "lengths", "target", "words per sentence")
    assert lengths["dev"] == 14_000 * 2 / (860 * 3)


def test_frequencies_from_first_to_last_rank(study):
    tables = study()
    _, points = corpus_overview.draw(tables, n_tokens=400)
    counts = tables["frequencies"].set_index("rank")["count"]
    drawn = values(points, "frequencies", None, "occurrences")
    assert set(drawn.items()) <= set(counts.items())
    assert (min(drawn), max(drawn)) == (1, 4000)
    share = values(points, "frequencies", None, "share of occurrences")
    assert share == {400: counts[:400].sum() / counts.sum()}


def test_tokens_that_the_text_lacks_are_not_said_to_be_measured(study):
    """Ten of the 30 tokens never occur, since longer ones have taken them in."""
    tables = study()
    tables["frequencies"] = tables["frequencies"].head(30).copy()
    tables["frequencies"].loc[20:, "count"] = 0
    figure, points = corpus_overview.draw(tables, n_tokens=400)
    assert values(points, "frequencies", None, "share of occurrences") == {20: 1.0}
    [said] = figure.axes[3].texts
    assert said.get_text() == "the 20 most frequent tokens,\n100% of the occurrences"
