import pandas as pd
import pytest

from bottomup.figures import bertscore
from bottomup.figures.bertscore import PAIRS, QUANTITY


@pytest.mark.parametrize("name", [*PAIRS][1:])
def test_points_are_the_table_by_layer_not_centered(study, name, require_means):
    tables = study()
    rows = tables["bertscore"].query(f"pairs == '{name}' and not centered")
    tables["bertscore"] = tables["bertscore"].sample(frac=1, random_state=1)
    _, points = bertscore.draw(tables)
    assert (points["quantity"] == QUANTITY).all()
    panel = points[points["panel"] == name]
    require_means(panel, rows, low=-1, high=1)


def test_a_line_for_what_tokens_tell_where_they_tell_something(study, nothing_cut_off):
    figure, _ = bertscore.draw(study())
    nothing_cut_off(figure)
    texts = [[text.get_text() for text in axes.texts] for axes in figure.axes]
    assert texts[0] == ["tokens\n= 0.5"] and texts[3] == []
    assert texts[2][0].startswith("tokens\n= 0.95")
    titles = [axes.get_title(loc="left").split("\n") for axes in figure.axes]
    assert [title[0] for title in titles] == [*PAIRS.values()][1:]
    assert [title[1] for title in titles] == ["1,000 pairs", "999 pairs", "998 pairs", "997 pairs"]


def test_the_line_is_a_mean_over_models_whatever_their_depth(study):
    """A checkpoint has tokens of its own."""
    table = study(seeds=(1,), objectives=("lm",))["bertscore"]
    deeper = pd.concat([table, table.assign(layer=table["layer"] + 7)])
    deeper = deeper.assign(objective="bert", by_tokens=deeper["by_tokens"] - 0.2)
    figure, _ = bertscore.draw({"bertscore": pd.concat([table, deeper])})
    assert [text.get_text() for text in figure.axes[0].texts] == ["tokens\n= 0.4"]


def test_ratings_have_a_panel_where_there_are_some(study):
    table = study(seeds=(1,))["bertscore"]
    rated = table.query("pairs == 'dropped'").assign(pairs="rated", n=50)
    figure, points = bertscore.draw({"bertscore": pd.concat([table, rated])})
    assert figure.axes[0].get_title(loc="left") == "two sentences, as rated\n50 pairs"
    assert len(points[points["panel"] == "rated"]) == 4 * 7
    figure.draw_without_rendering()


def test_text_of_one_language_has_no_panel_of_translations(study):
    table = study(seeds=(1,))["bertscore"].query("pairs != 'translation'")
    figure, points = bertscore.draw({"bertscore": table})
    titles = [axes.get_title(loc="left").split("\n") for axes in figure.axes if axes.axison]
    assert [title[0] for title in titles] == [*PAIRS.values()][2:]
    assert "translation" not in set(points["panel"])
    figure.draw_without_rendering()
