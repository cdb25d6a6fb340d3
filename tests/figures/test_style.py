import itertools

import matplotlib
import numpy as np
import pandas as pd
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib.backends.backend_agg import FigureCanvasAgg as Agg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontEntry, fontManager
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import NullLocator
from PIL import Image

from bottomup.core.kinds import WITH_A_LOOK
from bottomup.figures import (
    bertscore,
    distance_between_tasks,
    fonts,
    isotropy,
    page,
    pairs,
    style,
    word_order,
)
from bottomup.figures.points import NoRowsError


def test_objectives_differ_in_color_and_marker():
    names = ("mt", "lm", "mlm", "untrained", "untrained_causal")
    looks = [style.objective(name) for name in names]
    for a, b in itertools.combinations(looks, 2):
        assert a.color != b.color and a.marker != b.marker


@pytest.mark.parametrize(
    "name, variant",
    [("mt", "mt_noise"), ("lm", "lm_noise"), ("lm", "lm_bidirectional"), ("mlm", "mlm_causal")],
)
def test_a_variant_has_the_color_of_its_objective_alone(name, variant):
    plain, noisy = style.objective(name), style.objective(variant)
    assert plain.color == noisy.color
    assert plain.marker != noisy.marker and plain.linestyle != noisy.linestyle


def test_pairs_of_one_objective_differ_in_their_lines():
    seeds, halves = style.pair("lm", "lm"), style.pair("lm_half1", "lm_half2")
    assert seeds.color == halves.color == style.objective("lm").color
    assert seeds.linestyle != halves.linestyle
    assert halves.label == "LM, two halves of the text"


@pytest.mark.parametrize(
    "pair", [("lm", "lm"), ("lm_half1", "mt_half2"), ("lm_half1", "lm_half1"), ("lm_half1", "lm")]
)
def test_what_is_no_pair_of_halves(pair):
    assert not style.halves_of_one(*pair)


@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("value", [0.5, -1.2, 2.4, -9.0, 9.0])
def test_a_level_is_in_sight_or_named_at_the_edge(value, inverted):
    axes = Figure().subplots()
    axes.set_ylim(0, 1)
    if inverted:
        axes.invert_yaxis()
    style.level(axes, value, "chance")
    low, high = sorted(axes.get_ylim())
    Agg(axes.figure).draw()
    assert axes.texts[0].get_window_extent().x0 > axes.bbox.x1, "it covers nothing"
    lines = [line.get_ydata()[0] for line in axes.get_lines()]
    far = abs(value) > 3
    assert lines == ([] if far else [value])
    assert axes.yaxis_inverted() == inverted
    assert low <= 0 and high >= 1, "the curves stay in sight"
    assert far or low < value < high
    assert axes.texts[0].get_window_extent().y1 <= axes.bbox.y1 + 5, "nor the end of a title"
    text = axes.texts[0].get_text()
    beyond = "above" if (value > 0) != inverted else "below"
    assert text == f"chance\n= {value:.3g}" + (f"\n({beyond})" if far else "")


@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("values", [(0.5, 0.52), (0.52, 0.5), (0.3, 0.7)])
def test_the_numbers_of_two_levels_do_not_cover_each_other(values, inverted):
    axes = Figure().subplots()
    axes.set_ylim(*((1, 0) if inverted else (0, 1)))
    for value, name in zip(values, ("chain", "other tree"), strict=True):
        style.level(axes, value, name)
    Agg(axes.figure).draw()
    boxes = [text.get_window_extent() for text in axes.texts]
    upper = values.index(min(values) if inverted else max(values))
    assert boxes[upper].y0 >= boxes[1 - upper].y1


def test_a_new_objective_has_a_look_of_its_own_in_every_figure():
    look = style.objective("electra")
    assert look == style.objective("electra")
    assert look.color not in {known.color for known in style.OBJECTIVES.values()}


def test_new_objectives_are_told_apart():
    with style.paper():
        looks = {name: style.objective(name) for name in [f"mlm_{n}" for n in range(20)]}
        first = [*looks.values()][: len(style.SPARE_COLORS)]
        for part in ("color", "marker"):
            assert len({getattr(look, part) for look in first}) == len(first)
        assert len({(look.color, look.marker) for look in looks.values()}) == 20
        assert looks == {name: style.objective(name) for name in reversed(looks)}
    # A figure is the same whatever was drawn before.
    with style.paper():
        assert style.objective("mlm_0") == looks["mlm_0"]


def surface(marker):
    """Which places of a square a marker covers."""
    of = MarkerStyle(marker)
    places = np.stack(np.meshgrid(*2 * [np.linspace(-0.7, 0.7, 101)]), axis=-1).reshape(-1, 2)
    return of.get_path().transformed(of.get_transform()).contains_points(places)


def test_markers_of_new_models_have_shapes_of_their_own():
    """Where points alone are drawn, nothing else tells models of one color apart."""
    for a, b in itertools.combinations(map(surface, style.SPARE_MARKERS), 2):
        assert (a & b).sum() < 0.8 * (a | b).sum()


def test_a_legend_shows_that_a_line_is_dashed():
    with style.paper():
        of = matplotlib.rcParams
        beside = (of["legend.handlelength"] * of["font.size"] - of["lines.markersize"]) / 2
        for _, (line, gap, *_) in style.SPARE_DASHES[1:]:
            assert of["lines.linewidth"] * (line + gap) < beside


@pytest.mark.parametrize("layers", [[1], [0, 1], [1, 2, 3], [*range(25)]])
def test_layers_are_whole_numbers_also_where_there_is_one(layers):
    axes = Figure().subplots()
    axes.plot(layers, layers, "o")
    style.layer_axis(axes)
    low, high = axes.get_xlim()
    shown = [tick for tick in axes.get_xticks() if low <= tick <= high]
    assert shown and {*shown} <= {*layers}


def curve(x, runs=3, **columns):
    points = pd.DataFrame({"x": x, "y": 0.5, "low": 0.4, "high": 0.6, "runs": runs})
    return points.assign(series="lm", source="ours", **columns)


@pytest.mark.parametrize(
    ("x", "reach", "parts"),
    [
        ([0, 1, 3, 4], style.NEXT, [[0, 1], [3, 4]]),
        ([0, 2, 3], style.NEXT, [[0], [2, 3]]),
        ([48, 4], 16, [[4], [48]]),
        ([48, 35, 19, 4], 16, [[4, 19, 35, 48]]),
        # As of two runs, the first of which lacks a layer.
        ([0, 2, 3, 1], style.NEXT, [[0, 1, 2, 3]]),
        ([0, 6, 3], float("inf"), [[0, 3, 6]]),
    ],
)
def test_no_line_is_joined_across_a_range_without_points(x, reach, parts):
    axes = Figure().subplots()
    style.curves(axes, curve(x), style.objective, reach)
    assert [line.get_xdata().tolist() for line in axes.get_lines()] == parts
    bars = [bar.get_segments() for bar in axes.collections]
    expected = [[[[x, 0.4], [x, 0.6]] for x in part] for part in parts]
    assert [[bar.tolist() for bar in part] for part in bars] == expected, "a bar at each point"


def test_long_names_are_broken_and_cover_no_others(tmp_path):
    name = "bert base multilingual cased finetuned untrained"
    with style.paper():
        figure = Figure(figsize=(7, 4), layout="constrained")
        grid = figure.subplots(2, 4)
        for axes in grid[0]:
            axes.set_title(f"{name}\nlayer 0")
        for axes in grid[:, 0]:
            axes.set_ylabel(name)
        short = figure.axes[-1].set_title("short")
    page.save(figure, tmp_path / "a.png", tmp_path / "a.pdf")
    titles = [axes.get_title("left") for axes in grid[0]]
    assert {" ".join(title.split()) for title in titles} == {f"{name} layer 0"}
    assert all(title.endswith("\nlayer 0") for title in titles) and short.get_text() == "short"
    texts = [text for axes in grid[0] for text in axes.get_children() if isinstance(text, Text)]
    across = [text.get_window_extent() for text in texts if text.get_text()]
    assert all(a.x1 < b.x0 for a, b in itertools.pairwise(across))
    assert across[-1].x1 <= figure.bbox.x1 and across[0].y1 <= figure.bbox.y1
    upper, lower = (axes.yaxis.label.get_window_extent() for axes in grid[:, 0])
    assert upper.y0 > lower.y1 and upper.y1 <= figure.bbox.y1 and lower.y0 >= 0


def test_a_figure_grows_with_its_legend_and_words_longer_than_it_are_broken():
    name = "bert base multilingual cased–bert base multilingual cased finetuned, two seeds"
    figures = []
    for n in (3, 60):
        with style.paper():
            figure = Figure(figsize=(4, 3), layout="constrained")
            axes = figure.subplots()
            style.legend(figure, [Line2D([], [], label=f"{name} {n}") for n in range(n)])
            figure.draw_without_rendering()
        figures.append(figure)
        box = figure.legends[0].get_window_extent()
        assert box.x0 >= 0 and box.x1 <= figure.bbox.width
        assert box.y0 > axes.bbox.y1 and box.y1 <= figure.bbox.height
        assert axes.bbox.height > 1.5 * figure.dpi
    assert figures[0].get_figheight() < 4 < figures[1].get_figheight()


@pytest.mark.parametrize("figure", [bertscore, isotropy, word_order])
def test_a_figure_of_which_no_value_is_known_says_so(study, figure):
    name = figure.__name__.rpartition(".")[2]
    with pytest.raises(NoRowsError, match="no value is known"):
        figure.draw({name: study(layers=1)[name].assign(value=np.nan)})


def test_a_legend_names_what_begins_with_a_line():
    figure = Figure(layout="constrained")
    style.legend(figure, [Line2D([], [], label="_ (12)"), Line2D([], [], label="is (3)")])
    found = [text.get_text().strip() for text in figure.legends[0].get_texts()]
    assert found == ["_ (12)", "is (3)"]


@pytest.mark.parametrize("word", ["$x$", "$\\frac$", "$(A)$"])
def test_no_word_is_read_as_a_formula(word, tmp_path):
    with style.paper():
        figure = Figure()
        text = figure.text(0, 0, word)
    page.save(figure, tmp_path / "a.png", tmp_path / "a.pdf")
    assert not text.get_parse_math()


def pixels(artist, points):
    return artist.get_transform().transform(points)


@pytest.mark.parametrize("names", [["lm", "mt"], ["lm", "mt", "mlm"], list("abcdefghijklm")])
@pytest.mark.parametrize("places", [[3], [0, 1], [*range(13)]])
@pytest.mark.parametrize("scale", ["linear", "symlog"])
def test_series_at_one_place_stand_side_by_side_each_with_its_bars(names, places, scale):
    figure = Figure(figsize=(2.4, 2))
    axes = figure.subplots()
    shown = pd.concat([curve(places).assign(series=name) for name in names])
    style.curves(axes, shown, style.objective)
    axes.set_xscale(scale)
    Agg(figure).draw()
    lines, bars = axes.get_lines(), axes.collections
    found = np.array([pixels(line, line.get_xydata())[:, 0] for line in lines])
    order = style.ordered(names) if len(names) < 9 else names
    by_name = dict(zip(names, found, strict=True))
    across = np.array([by_name[name] for name in order])
    assert (np.diff(across, axis=0) > 0.3).all(), "none behind another, in the legend's order"
    for line, bar in zip(found, bars, strict=True):
        ends = np.array([pixels(bar, segment)[0, 0] for segment in bar.get_segments()])
        assert ends == pytest.approx(line)
    assert found.min() > axes.bbox.x0 and found.max() < axes.bbox.x1, "all in sight"
    if scale == "linear" and len(places) > 1:
        apart = np.diff(axes.transData.transform([(x, 0) for x in places])[:, 0]).min()
        assert across.max(axis=0)[0] - across.min(axis=0)[0] < 0.8 * apart, "near their place"


def test_series_that_share_no_place_and_published_ones_stay_there():
    axes = Figure().subplots()
    apart = pd.concat([curve([12]), curve([0]).assign(series="mt")])
    behind = curve([0, 12], low=float("nan"), high=float("nan")).assign(source="published")
    style.curves(axes, pd.concat([apart, behind]), style.objective)
    assert axes.margins() == Figure().subplots().margins(), "and need no more room"
    for line in axes.get_lines():
        places = axes.transData.transform(line.get_xydata())
        assert pixels(line, line.get_xydata()) == pytest.approx(places)


@pytest.mark.parametrize("others", [[], ["lm"]], ids=["none", "one"])
def test_a_panel_with_fewer_series_cuts_none_of_those_that_share_its_places(others):
    """Whichever of the panels comes last."""
    names = ["mt", "lm", "mlm", "untrained", "untrained_causal"]
    for order in ((names, others), (others, names)):
        figure = Figure(figsize=(4, 2))
        panels = figure.subplots(1, 2, sharex=True)
        for axes, some in zip(panels, order, strict=True):
            parts = [curve([1, 2, 3]).assign(series=name) for name in some]
            style.curves(axes, pd.concat([curve([]), *parts]), style.objective)
        Agg(figure).draw()
        for axes in panels:
            found = [pixels(line, line.get_xydata())[:, 0] for line in axes.get_lines()]
            assert all(axes.bbox.x0 < x < axes.bbox.x1 for line in found for x in line)


def test_axes_without_a_point_say_so():
    axes = Figure().subplots()
    style.curves(axes, curve([0, 1]).head(0), style.objective)
    assert [text.get_text() for text in axes.texts] == [style.NO_VALUES]
    assert not len(axes.get_xticks()), "and have no places"
    other, beside = Figure().subplots(1, 2, sharex=True)
    style.curves(other, curve([0, 1]), style.objective)
    style.curves(beside, curve([0, 1]).head(0), style.objective)
    assert not other.texts and len(other.get_xticks())


def test_the_legend_shows_published_curves_as_they_are_drawn():
    names = ["mt", "lm", "mlm", "untrained"]
    looks = {name: style.objective(name) for name in names}
    behind = [curve([0]).assign(series=name, source="published") for name in names[1:3]]
    handles = style.key(pd.concat([curve([0, 1]), *behind]), looks)
    labels = [handle.get_label() for handle in handles]
    assert labels[-2:] == [style.PUBLISHED, "95 % interval, runs and documents"]
    shown = [(line.get_color(), line.get_marker()) for line in handles[-2]]
    assert shown == [(style.light(looks[name].color), looks[name].marker) for name in names[1:3]]
    figure = Figure(figsize=(8, 2), layout="constrained")
    style.legend(figure, handles)
    [legend] = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == labels
    drawn = {line.get_color() for line in legend.findobj(Line2D)}
    assert drawn >= {color for color, _ in shown}


@pytest.mark.parametrize(
    ("limits", "steps", "wanted"),
    [
        ((0.9, 11), (1, 2, 5), [1, 2, 5, 10]),
        ((1e-6, 1e6), (1, 2, 5), None),
        ((0.8, 1.6), (1, 1.2, 1.5, 7, 8.5), [0.85, 1, 1.2, 1.5]),
        ((0.08, 12), (1, 1.2, 1.5, 7, 8.5), [0.1, 0.2, 0.5, 1, 2, 5, 10]),
        ((0.975, 1.025), (1, 2, 5), [0.98, 1, 1.02]),
    ],
)
def test_ticks_of_a_logarithmic_axis_have_room(limits, steps, wanted):
    axes = Figure(figsize=(3, 1.5)).subplots()
    axes.set(yscale="log", ylim=limits)
    style.log_ticks(axes, steps)
    axes.yaxis.set_minor_locator(NullLocator())
    Agg(axes.figure).draw()
    low, high = limits
    ticks = [tick for tick in axes.get_yticks() if low <= tick <= high]
    if wanted:
        assert ticks == pytest.approx(wanted)
    else:
        assert len(ticks) > 2 and np.log10(ticks) == pytest.approx(np.log10(ticks).round())
    places = np.sort(axes.transData.transform([(0, tick) for tick in ticks])[:, 1])
    assert (np.diff(places) * 72 / 100 > style.LABEL).all()


def test_the_legend_says_what_the_intervals_are_about():
    several, one = curve([0, 1]), curve([0, 1], runs=1)
    unknown = one.assign(low=float("nan"), high=float("nan"))
    assert style.intervals(several) == "95 % interval, runs and documents"
    assert style.intervals(one) == "95 % interval, documents (one run)"
    assert style.intervals(pd.concat([several, unknown])) == style.intervals(several)
    both = style.intervals(pd.concat([several, one]))
    assert "runs and documents" in both and "of one run, documents" in both
    labels = [handle.get_label() for handle in style.key(several, {}, "a range")]
    assert labels == ["a range"]


def test_order_of_objectives():
    names = ["untrained_causal", "untrained", "zz", "mlm", "aa", "lm", "mt", "lm"]
    last = ["untrained", "untrained_causal"]
    assert style.ordered(names) == ["mt", "lm", "mlm", "aa", "zz", *last]


def test_steps_of_one_training_stand_in_their_order():
    """Those of a run, revisions of a checkpoint, and their pairs."""
    names = [
        "a_step1000",
        "a_step512",
        "a",
        "a_step512_untrained",
        "lm_step16",
        "lm_step4",
        "a_step0",
    ]
    of_a = ["a", "a_step0", "a_step512", "a_step512_untrained", "a_step1000"]
    assert style.ordered(names) == [*of_a, "lm_step4", "lm_step16"]
    series = pd.Series([f"b-{name}" for name in names])
    assert [*pairs.looks(series)] == [f"b-{name}" for name in style.ordered(names)]


def test_of_the_papers_models_those_are_compared_else_the_first_that_are_trained():
    papers = ["untrained", "lm_noise", "mlm", "bert", "lm"]
    assert style.compared(papers) == ["lm", "mlm"]
    others = ["untrained", "opt", "bert_untrained", "bert", "gpt2", "bloom"]
    assert style.compared(others) == ["bert", "bloom", "gpt2"]


def files(figure, folder):
    folder.mkdir()
    page.save(figure, folder / "a.png", folder / "a.pdf")
    return [(folder / name).read_bytes() for name in ("a.png", "a.pdf")]


def test_question_and_notes_have_room_on_the_page_and_cover_nothing(tmp_path):
    figure = Figure(figsize=(4, 2), layout="constrained")
    figure.subplots().set(xticks=[], yticks=[], xlabel="layer")
    style.legend(figure, [Patch(color="#ff0000", label="a")])
    plain = inches(figure, tmp_path / "plain")
    page.title(figure, "How much each layer still knows of the token that it read and of others")
    page.note(figure, "A first line.")
    page.note(figure, "some values are left out, which rest on too few cases " * 4)
    above, *notes = figure.texts
    assert "\n" in above.get_text() and "\n" in notes[1].get_text()
    wide, high = inches(figure, tmp_path / "said")
    assert wide == plain[0] == 4 and high > plain[1] + 0.5
    ink = np.asarray(Image.open(tmp_path / "said" / "a.png").convert("RGB")).astype(int)
    red = np.flatnonzero(((ink[..., 0] > 240) & (ink[..., 1] < 15)).any(axis=1))
    written = np.flatnonzero((ink.max(axis=2) < 80).any(axis=1))
    # From the top: two lines, the legend, the panel, and three lines or more.
    assert written.min() > 0 and (written < red.min()).any()
    rows = np.split(written, np.flatnonzero(np.diff(written) > 1) + 1)
    assert all(row[-1] < red.min() for row in rows[:2]), "the question is above the legend"
    boxes = [note.get_window_extent() for note in notes]
    assert boxes[0].y1 <= 0 and boxes[1].y1 <= boxes[0].y0
    assert max(box.x1 for box in boxes) <= figure.bbox.x1


def inches(figure, folder):
    files(figure, folder)
    width, height = Image.open(folder / "a.png").size
    return width / 200, height / 200


def test_the_users_matplotlib_settings_change_nothing(study, tmp_path):
    plain, _ = distance_between_tasks.draw(study(layers=2))
    own = {"font.size": 20, "lines.linewidth": 9, "savefig.dpi": 30, "pdf.fonttype": 3}
    with matplotlib.rc_context(own):
        again, _ = distance_between_tasks.draw(study(layers=2))
        assert files(again, tmp_path / "again") == files(plain, tmp_path / "plain")


@pytest.mark.parametrize("color", ["#000000", "#0072B2"])
def test_what_stands_behind_is_lighter(color):
    behind = style.stroke(style.Look("", color), behind=True)
    brightness = sum(matplotlib.colors.to_rgb(behind["color"]))
    assert sum(matplotlib.colors.to_rgb(color)) < brightness < 3


def test_no_file_is_laid_out_by_the_ticks_of_another(tmp_path):
    """Its own resolution would bring other sizes; a label of the mask figure was cut off so."""

    def drawn():
        figure = Figure(figsize=(4, 3), layout="constrained")
        axes = figure.subplots()
        axes.plot([0, 1], [0.872, 1])
        axes.set_ylabel("share of neighbors, same token")
        return figure

    expected, saved = drawn(), drawn()
    with style.paper():
        for _ in range(2):
            expected.draw_without_rendering()
    page.save(saved, tmp_path / "figure.png", tmp_path / "figure.pdf")
    place, other = (figure.axes[0].get_position().get_points() for figure in (saved, expected))
    assert place == pytest.approx(other, abs=1e-6)
    # The solver's last digits differ from one process to the next.
    assert (place == place.round(6)).all()


def test_characters_come_from_any_font_that_has_them_and_a_line_names_those_of_none(
    tmp_path, monkeypatch, caplog, recwarn
):
    """With a font of one character, a square in the place of a Chinese word. It is installed after
    Matplotlib made its list of fonts, which has one that draws a box for any character."""
    own = [font for font in fontManager.ttflist if font.name.startswith(("DejaVu Sans", "Last"))]
    assert len({font.name for font in own}) > 1
    gone = FontEntry(fname=str(tmp_path / "gone.ttf"), name="Gone")
    monkeypatch.setattr(fontManager, "ttflist", [*own, gone])
    monkeypatch.setattr(fonts, "findSystemFonts", lambda: [])
    figure = Figure()
    text = figure.text(0, 0, "a 文件")
    with style.paper():
        style.legend(figure, [Line2D([], [], label="文件")])
    page.save(figure, tmp_path / "a.png", tmp_path / "a.pdf")
    assert [str(one.message) for one in recwarn] == []  # of Matplotlib, one for each character
    message = next(line for line in caplog.messages if line.startswith("no font"))
    assert "characters 件文, which are drawn as boxes" in message
    assert "fonts-noto-cjk" in message and "for emoji fonts-symbola" in message
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for corner in [(0, 500), (500, 500), (500, 0)]:
        pen.lineTo(corner)
    pen.closePath()
    font = FontBuilder(1000)
    font.setupGlyphOrder([".notdef", "square"])
    font.setupCharacterMap({ord("文"): "square", ord("件"): "square"})
    font.setupGlyf({".notdef": TTGlyphPen(None).glyph(), "square": pen.glyph()})
    font.setupHorizontalMetrics({".notdef": (600, 0), "square": (600, 0)})
    font.setupHorizontalHeader(ascent=800, descent=-200)
    font.setupNameTable({"familyName": "Square", "styleName": "Regular"})
    font.setupOS2()
    font.setupPost()
    font.save(tmp_path / "square.ttf")
    (tmp_path / "damaged.ttf").write_text("no font")
    found = [str(tmp_path / name) for name in ("damaged.ttf", "square.ttf")]
    monkeypatch.setattr(fonts, "findSystemFonts", lambda: found)
    caplog.clear()
    page.save(figure, tmp_path / "a.png", tmp_path / "a.pdf")
    assert text.get_fontfamily()[-1] == "Square"
    assert not any(line.startswith("no font") for line in caplog.messages)


def test_objectives_without_a_look_of_their_own_have_places():
    assert {*style.OBJECTIVES} == {*WITH_A_LOOK}


def test_a_model_has_one_color_by_its_place_in_the_study_and_its_twin_the_same_dashed():
    names = [f"model_{n}" for n in range(16)]
    places = {name: place for place, name in enumerate(names)}
    looks = []
    for order in (names, names[::-1], names[3:5]):  # as figures may ask
        with style.paper(), style.placed(places):
            looks.append({name: style.objective(name) for name in order})
            twins = {name: style.objective(f"{name}_untrained") for name in order}
        for name, twin in twins.items():
            assert looks[-1][name] == looks[0][name]
            assert twin.color == looks[0][name].color and twin.linestyle == style.TWIN_DASHES
    drawn = {(look.color, look.marker, look.linestyle) for look in looks[0].values()}
    assert len(drawn) == len(names)
    # Without a study the name decides, and twins still follow their models.
    with style.paper():
        assert style.objective("bert_untrained").color == style.objective("bert").color
        assert style.pair("bert_untrained", "bert").second_color is None


def test_a_model_without_a_place_has_the_look_of_none_that_has_one():
    places = {f"model_{n}": n for n in range(7)}
    with style.paper(), style.placed(places):
        looks = [style.objective(name) for name in [*places, *(f"lm_step{n}" for n in range(20))]]
    found = [(look.color, look.marker) for look in looks]
    given, others = {*found[:7]}, found[7:]
    assert given.isdisjoint(others) and len({*others}) == 20


def test_untrained_models_of_any_name_come_last_and_stand_for_none():
    names = ["untrained_2", "zlm", "mlm_conv", "start", "untrained", "lm_lstm"]
    with style.placed({}, untrained=["untrained_2", "start"]):
        assert style.ordered(names)[-3:] == ["untrained", "start", "untrained_2"]
        assert style.compared(names) == ["lm_lstm", "mlm_conv", "zlm"]


def test_steps_of_no_point_are_no_axis():
    style.step_axis(Figure().subplots(), pd.Series([], dtype=str))


@pytest.mark.parametrize("names", [3, 14, 30])
@pytest.mark.parametrize("width", [2.8, 4.0, 8.0])
def test_a_legend_is_no_wider_than_its_figure(names, width):
    figure = Figure(figsize=(width, 3), layout="constrained")
    figure.subplots()
    handles = [Line2D([], [], label=f"a model, untrained {number}") for number in range(names)]
    style.legend(figure, handles)
    figure.canvas.draw()
    [legend] = figure.legends
    found = legend.get_window_extent()
    assert found.x0 >= 0 and found.x1 <= figure.bbox.width
    # As few rows as that leaves: of 8 inches, more than one column.
    assert width < 8 or legend._ncols > 1
