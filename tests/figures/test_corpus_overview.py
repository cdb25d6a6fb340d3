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
        drawn = values(points, "cleaning", series, "pairs")
        assert drawn == cleaning[series].to_dict()
    for side in ("source", "target"):
        words = splits[f"{side}_words"]
        assert values(points, "words", side, "words") == words.to_dict()
        lengths = (words / splits["pairs"]).to_dict()
        assert values(points, "lengths", side, "words per sentence") == lengths


def test_frequencies_from_first_to_last_rank(study):
    tables = study()
    _, points = corpus_overview.draw(tables, n_tokens=400)
    counts = tables["frequencies"].set_index("rank")["count"]
    drawn = values(points, "frequencies", None, "occurrences")
    assert set(drawn.items()) <= set(counts.items())
    assert (min(drawn), max(drawn)) == (1, 4000)
    share = values(points, "frequencies", None, "share of occurrences")
    assert share == {400: counts[:400].sum() / counts.sum()}


def test_a_vocabulary_smaller_than_the_measured_range(study):
    tables = study()
    tables["frequencies"] = tables["frequencies"].head(20)
    _, points = corpus_overview.draw(tables, n_tokens=400)
    assert values(points, "frequencies", None, "share of occurrences") == {400: 1.0}
