"""The explorer of a made-up study in Chromium, from disk and without a network."""

import re

import pandas as pd
import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.support.ui import Select

from bottomup.pages import explorer
from tests.browser import driver, find, resize, silent, wait, webdriver
from tests.pages import made_up_claims, made_up_study
from tests.pages.made_up_study import SENTENCES, write_explored

pytestmark = pytest.mark.long

__all__ = ["driver", "silent"]

TABLES = made_up_study.curves()
CLAIMS = made_up_claims.claims()


@pytest.fixture
def shown(driver, silent, tmp_path, corpus_files, run_script):
    """The page, open and drawn; no errors or warnings in the console when the test is done."""
    page, settings, arguments = write_explored(tmp_path, corpus_files)
    run_script("show_explorer", settings, *arguments)
    page.with_name("index.html").write_text("<!doctype html><link rel=icon href='data:,'>")
    resize(driver, 1280, 900)
    driver.get(page.as_uri())
    for chart in ("curves", "heads", "attention", "pictures"):
        wait(driver, lambda chart=chart: find(driver, f"#{chart}-chart svg"))
    return driver


def choose(driver, name, value):
    (select,) = find(driver, f"select#{name}, select[name={name}]")
    Select(select).select_by_value(str(value))


def offered(driver, name):
    (select,) = find(driver, f"select#{name}, select[name={name}]")
    return [option.get_dom_attribute("value") for option in Select(select).options]


def tick(driver, value):
    find(driver, f"input[type=checkbox][value='{value}']")[0].click()


def drawn(driver):
    """What assistive technology is told of each point: layer, value and model."""
    points = find(driver, "#curves-chart .mark-symbol path")
    return sorted(point.get_attribute("aria-label") for point in points)


def values(driver):
    """The table below the chart: by models and layer, the value and its interval."""
    script = "return [...arguments[0].rows].map(row => [...row.cells].map(c => c.textContent))"
    rows = driver.execute_script(script, find(driver, "#values tbody")[0])
    return {(runs, x): tuple(map(float, numbers)) for runs, x, *numbers in rows}


def expected(rows, value, x="layer"):
    runs = rows["objective"] + "-" + rows["seed"].astype(str)
    numbers = zip(rows[value], rows["ci_low"], rows["ci_high"], strict=True)
    return dict(zip(zip(runs, rows[x].astype(str), strict=True), numbers, strict=True))


def assert_shown(driver, wanted):
    """These values are in the table, and each is a point of the chart."""
    wait(driver, lambda: values(driver).keys() == wanted.keys())
    wait(driver, lambda: len(drawn(driver)) == len(wanted))
    found = values(driver)
    for key, numbers in wanted.items():
        assert found[key] == pytest.approx(numbers, rel=1e-3)
    labels = drawn(driver)
    for (runs, x), (value, *_) in wanted.items():
        said = [label for label in labels if f": {x};" in label and f"model: {runs}" in label]
        assert len(said) == 1 and f": {float(f'{value:.4g}')}" in said[0].replace("−", "-")


def test_nothing_is_loaded_but_its_library(shown):
    asked = [each.get_dom_attribute("src") for each in find(shown, "[src]")]
    assert asked == ["site/vega.js"]
    assert shown.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_curves_are_those_of_the_table_whatever_is_chosen(shown):
    table = TABLES["mutual_information"]
    clusters = table.query("label == 'input' and n_tokens == 100 and estimator == 'clusters'")
    assert_shown(shown, expected(clusters.query("seed == 1"), "mi_nats"))
    tick(shown, 2)
    assert_shown(shown, expected(clusters, "mi_nats"))
    tick(shown, "lm")
    assert_shown(shown, expected(clusters.query("objective == 'mt'"), "mi_nats"))
    choose(shown, "from", 1)
    some = clusters.query("objective == 'mt' and layer >= 1")
    assert_shown(shown, expected(some, "mi_nats"))
    tick(shown, "lm")
    choose(shown, "estimator", "classifier")
    some = table.query("label == 'input' and estimator == 'classifier' and layer >= 1")
    assert_shown(shown, expected(some, "mi_nats"))
    choose(shown, "n_tokens", 60)
    some = table.query("n_tokens == 60 and layer >= 1")
    assert_shown(shown, expected(some, "mi_nats"))


def bands(driver):
    """What assistive technology is told of the drawn bands."""
    return find(driver, "#curves-chart .mark-area path")


def test_one_band_is_drawn_and_the_others_are_a_click_away(shown):
    assert offered(shown, "band") == ["lm-1", "mt-1", "all", "none"]
    wait(shown, lambda: len(bands(shown)) == 1)
    [first] = {band.get_attribute("fill") for band in bands(shown)}
    choose(shown, "band", "mt-1")
    wait(shown, lambda: [band.get_attribute("fill") for band in bands(shown)] not in ([first], []))
    choose(shown, "band", "all")
    wait(shown, lambda: len(bands(shown)) == 2)
    tick(shown, 2)
    wait(shown, lambda: len(bands(shown)) == 4)
    assert offered(shown, "band") == ["lm-1", "lm-2", "mt-1", "mt-2", "all", "none"]
    choose(shown, "band", "lm-2")
    wait(shown, lambda: len(bands(shown)) == 1)
    tick(shown, 2)
    wait(shown, lambda: find(shown, "#band")[0].get_attribute("value") == "lm-1")
    choose(shown, "band", "none")
    wait(shown, lambda: not bands(shown))
    choose(shown, "measure", "change")
    wait(shown, lambda: len(drawn(shown)) == 4)
    assert not bands(shown), "what was chosen stays chosen"


def test_lines_and_bands_break_where_a_value_is_missing(driver, silent, tmp_path):
    rows = pd.DataFrame({"objective": "lm", "seed": 1, "layer": range(6)})
    rows = rows.assign(value=[0.1, 0.2, None, 0.4, 0.5, 0.6], ci_low=rows["layer"] / 10)
    rows = rows.assign(ci_low=rows["ci_low"].where(rows["value"].notna()), ci_high=rows["value"])
    # A deeper model of which nothing is missing, to be left out again.
    deep = rows.assign(objective="mt", value=0.3, ci_low=0.2, ci_high=0.4)
    deep = pd.concat([deep, deep.tail(1).assign(layer=6)])
    table = pd.concat([rows, deep])
    page = tmp_path / "explorer.html"
    page.write_text(explorer.page("made_up", {"norm": table}, None, [], [], None, None))
    (tmp_path / "site").mkdir()
    (tmp_path / "site/vega.js").write_text(explorer.library())
    driver.get(page.as_uri())
    tick(driver, "mt")
    wait(driver, lambda: len(drawn(driver)) == 5)
    parts = [
        find(driver, f"#curves-chart .mark-{kind} path")[0].get_attribute("d").count("M")
        for kind in ("line", "area")
    ]
    assert parts == [2, 2]
    assert [x for _, x in values(driver)] == ["0", "1", "3", "4", "5"]
    places = find(driver, "#curves-chart .role-axis-label text")
    assert "6" not in [text.text for text in places], "which no shown model has"


def test_no_curve_is_said(shown):
    tick(shown, 1)
    assert find(shown, "#no-curves")[0].text.startswith("None of these models") and not values(
        shown
    )
    assert not find(shown, "#curves-chart")[0].is_displayed()
    tick(shown, 1)
    wait(shown, lambda: find(shown, "#curves-chart svg")[0].is_displayed())


def test_it_is_no_fault_of_the_models_where_cases_are_too_few(driver, silent, tmp_path):
    few = TABLES["change"].assign(n=9, n_needed=10)
    page = tmp_path / "explorer.html"
    page.write_text(explorer.page("made_up", {"change": few}, None, [], [], None, None))
    (tmp_path / "site").mkdir()
    (tmp_path / "site/vega.js").write_text(explorer.library())
    driver.get(page.as_uri())
    (said,) = wait(driver, lambda: find(driver, "#no-curves"))
    wait(driver, lambda: "too few cases" in said.text)


def test_a_choice_offers_what_the_ones_before_it_leave(shown):
    assert offered(shown, "estimator") == ["clusters, 50", "classifier"]
    choose(shown, "label", "output")
    assert offered(shown, "estimator") == ["clusters, 50"]
    table = TABLES["mutual_information"].query("label == 'output' and seed == 1")
    assert_shown(shown, expected(table, "mi_nats"))


def test_steps_between_layers_and_pairs_of_models(shown):
    choose(shown, "measure", "change")
    choose(shown, "group", "10-25")
    table = TABLES["change"].query("group == '10-25' and seed == 1")
    steps = table["layer_a"].astype(str) + "-" + table["layer_b"].astype(str)
    assert_shown(shown, expected(table.assign(step=steps), "distance", "step"))
    choose(shown, "measure", "pwcca_between_runs")
    pairs = TABLES["pwcca_between_runs"].query("seed_a == 1 and seed_b == 1")
    numbers = pairs[["distance", "ci_low", "ci_high"]].to_numpy()
    places = [("lm-1 and mt-1", layer) for layer in pairs["layer"].astype(str)]
    assert_shown(shown, dict(zip(places, numbers, strict=True)))
    assert len(find(shown, "#curves-chart .mark-line path")) == 2, "striped in two colors"


def test_claims_are_those_that_rest_on_the_measure(shown):
    for measure in ("change", "mutual_information"):
        choose(shown, "measure", measure)
        links = find(shown, "#curves-claims a")
        mine = CLAIMS[CLAIMS["measure"] == measure]
        assert [link.text for link in links] == mine["statement"].tolist()
        hrefs = [link.get_attribute("href").rpartition("/")[2] for link in links]
        assert hrefs == [f"claims.html#claim-{name}" for name in mine["claim"]]


def test_a_link_may_name_a_measure(shown):
    shown.get(shown.current_url.split("#")[0] + "#change")
    shown.refresh()
    wait(shown, lambda: find(shown, "#pictures-chart svg"))
    assert Select(find(shown, "#measure")[0]).first_selected_option.text == "change"


def cell(driver, layer, head):
    wanted = f"layer: {layer}; "
    return next(
        path
        for path in find(driver, "#heads-chart .mark-rect path")
        if wanted in (label := path.get_attribute("aria-label") or "") and f"head: {head}" in label
    )


def test_a_head_under_the_pointer_says_what_it_is_and_does(shown):
    ActionChains(shown).move_to_element(cell(shown, 2, 3)).perform()
    tip = wait(shown, lambda: [t for t in find(shown, "#vg-tooltip-element") if t.is_displayed()])
    text = tip[0].text
    assert "dobj to head 0.90 (baseline 0.40)" in text and "confidence 0.23" in text


def told(driver):
    text = find(driver, "#about")[0].text
    return text.replace("\u2068", "").replace("\u2069", "")  # which words stand between


def strongest(run_weights, tokens, keys, layer, head, query):
    row = run_weights[layer - 1, head - 1, query]
    places = row.argsort()[::-1][:3]
    return ", ".join(f"{keys[k]} {round(row[k] * 255) / 255:.2f}" for k in places)


def test_a_click_on_a_head_shows_its_attention_over_the_words(shown):
    ActionChains(shown).click(cell(shown, 2, 3)).perform()
    wait(shown, lambda: told(shown).startswith("Layer 2, head 3, largest weights"))
    tokens = SENTENCES[0]
    weights = made_up_study.weights(2, 3, 4, 4, seed=0)
    choose(shown, "word", 1)
    said = f"Layer 2, head 3, from “big”: {strongest(weights, tokens, tokens, 2, 3, 1)}"
    wait(shown, lambda: told(shown) == said)
    texts = [text.text for text in find(shown, "#attention-chart .mark-text text")]
    assert texts == tokens + tokens

    def lines():
        drawn = find(shown, "#attention-chart .mark-rule line")
        return [float(line.get_attribute("opacity") or 1) for line in drawn]

    expected = [weights[1, 2, q, k] * (q == 1) for q in range(4) for k in range(4)]
    wait(shown, lambda: lines() == pytest.approx(expected, abs=0.5 / 255))


def test_a_word_under_the_pointer_is_chosen(shown):
    words = find(shown, "#attention-chart .mark-rect path")
    asking = [word for word in words if word.get_attribute("aria-label") is None] or words[-4:]
    ActionChains(shown).move_to_element(asking[-2]).perform()
    wait(shown, lambda: "from “cat”" in told(shown))
    assert find(shown, "#word")[0].get_attribute("value") == "2"


def test_other_kinds_of_attention_and_other_sentences(shown):
    choose(shown, "run", "mt-1")
    assert offered(shown, "kind") == ["encoder", "cross"]
    assert offered(shown, "importance") == ["confidence", "special"], "what is known"
    choose(shown, "kind", "cross")
    choose(shown, "sentence", 1)
    choose(shown, "word", 0)
    tokens, words = SENTENCES[1], SENTENCES[1][::-1]
    weights = made_up_study.weights(2, 3, 6, 6, seed=6)
    said = f"Layer 1, head 1, from “</s>”: {strongest(weights, words, tokens, 1, 1, 0)}"
    wait(shown, lambda: told(shown) == said)


def test_a_model_whose_attention_was_not_kept_says_so(shown):
    choose(shown, "run", "lm-2")
    wait(shown, lambda: "lm-2 was not kept; choose one of: lm-1, mt-1" in told(shown))
    assert not find(shown, "#attention-chart")[0].is_displayed()
    choose(shown, "run", "lm-1")
    wait(shown, lambda: "largest weights" in told(shown))


def test_a_study_that_keeps_no_attention_offers_none(driver, silent, tmp_path):
    """As one that leaves the table attention out, which the error of a text without short sentences
    asks for."""
    page = tmp_path / "explorer.html"
    page.write_text(explorer.page("made_up", {}, made_up_study.heads(), [], [], None, None))
    (tmp_path / "site").mkdir()
    (tmp_path / "site/vega.js").write_text(explorer.library())
    driver.get(page.as_uri())
    wait(driver, lambda: find(driver, "#heads-chart svg"))
    wait(driver, lambda: told(driver).endswith("lm-1 was not kept, nor that of another model"))
    (section,) = find(driver, "#heads")
    assert "to see what it attends to" not in section.text
    assert "keeps no attention" in section.text


def test_attention_of_a_decoder_is_asked_of_who_has_it(driver, silent, tmp_path):
    """Of checkpoints that translate the encoder's alone is kept, and their decoder has heads."""
    of_mt = made_up_study.attention("mt").query("attention == 'encoder'")
    kept = [made_up_study.attention("lm"), of_mt]
    page = tmp_path / "explorer.html"
    page.write_text(explorer.page("made_up", {}, made_up_study.heads(), kept, [], None, None))
    (tmp_path / "site").mkdir()
    (tmp_path / "site/vega.js").write_text(explorer.library())
    driver.get(page.as_uri())
    wait(driver, lambda: find(driver, "#attention-chart svg"))
    choose(driver, "run", "mt-1")
    choose(driver, "kind", "cross")
    said = "Cross attention of mt-1 was not kept, nor that of another model"
    wait(driver, lambda: told(driver) == said)


def predictions(driver):
    """The rows of the table of predictions, as lists of cells."""
    script = "return [...arguments[0].rows].map(row => [...row.cells].map(c => c.textContent))"
    return driver.execute_script(script, find(driver, "#words")[0])


def test_what_each_layer_would_predict(shown):
    assert offered(shown, "believing") == ["lm-1", "mt-1"]
    assert predictions(shown) == [
        ["reads", "a", "big", "cat"],
        ["to predict", "big", "cat", "</s>"],
        ["layer 2", "big", "cat", "</s>"],
        ["layer 1", "big", "cat", "</s>"],
        ["layer 0", "a", "a", "a"],
    ]
    assert len(find(shown, "#words td.right")) == 6
    top, *_, bottom = find(shown, "#words tbody tr td:first-of-type")
    assert top.get_attribute("title") == "\u2068big\u2069 0.75, \u2068big\u2069 0.5"
    colors = [cell.value_of_css_property("background-color") for cell in (top, bottom)]
    assert colors[0] != colors[1], "the more probable, the darker"
    choose(shown, "believed", 1)
    assert predictions(shown)[0] == ["reads", "old", "dogs", "eat", "in", "june"]


def test_an_occurrence_under_the_pointer_is_read_in_its_sentence(shown):
    points = find(shown, "#pictures-chart .mark-symbol.role-mark path")
    assert len(points) == 18, "six of a word, and of one masked, too"
    ActionChains(shown).move_to_element(points[0]).perform()
    wait(shown, lambda: find(shown, "#occurrence mark"))
    assert find(shown, "#occurrence mark")[0].text in ("dogs", "green")
    assert find(shown, "#occurrence mark")[0].text in find(shown, "#occurrence")[0].text
    assert "18 of" not in find(shown, "#sampled")[0].text


def test_a_word_written_from_the_right_turns_no_other_text(shown, tmp_path):
    override = "\u202e"  # turns what follows, to the end of what is isolated
    [page] = tmp_path.rglob("explorer.html")
    page.write_text(page.read_text().replace("big", f"{override}big").replace("dog", override))
    shown.get(page.as_uri())
    wait(shown, lambda: told(shown).startswith("Layer"))
    for select in ("#sentence", "#believed"):  # a sentence begins where its script does
        for option in find(shown, f"{select} option"):
            text = option.get_property("textContent")
            assert (text[0], text[-1]) == ("\u2068", "\u2069"), select
    choose(shown, "word", 1)
    choose(shown, "picture", "position")
    find(shown, "#pictures summary")[0].click()
    for element in ("#about", "#sentences li"):
        assert override in find(shown, element)[0].get_property("textContent")
        script = (
            "const node = document.querySelector(arguments[0]).lastChild, range = new Range();"
            "range.setStart(node, node.length - arguments[1]); range.collapse(true);"
            "return range.getBoundingClientRect().left"
        )
        before, last = (shown.execute_script(script, element, n) for n in (3, 1))
        assert before < last, element


@pytest.mark.parametrize("more", ["", "b", "bb"])
def test_the_text_beside_a_point_is_cut_between_characters(shown, tmp_path, more):
    """An emoji is two units of JavaScript's text."""
    [page] = tmp_path.rglob("explorer.html")
    before, sentences, after = re.split(
        r'("projected":{"sentences":.*?])(?=,"pictures")', page.read_text(), maxsplit=1
    )
    longer = re.sub(r'"(?=[],])', f'{more}{"b😀" * 40}"', sentences)
    page.write_text(before + longer + after)
    shown.get(page.as_uri())
    points = wait(shown, lambda: find(shown, "#pictures-chart .mark-symbol.role-mark path"))
    ActionChains(shown).move_to_element(points[0]).perform()
    tips = wait(shown, lambda: [t for t in find(shown, "#vg-tooltip-element") if t.is_displayed()])
    assert "😀" in tips[0].text and not re.search("[\ud800-\udfff\ufffd]", tips[0].text)


def first_point(driver):
    point = find(driver, "#pictures-chart .mark-symbol.role-mark path")[0]
    return point.get_attribute("aria-label")


def test_layers_of_a_picture_by_keyboard(shown):
    assert "x: 0;" in first_point(shown)
    find(shown, "#height")[0].send_keys(webdriver.Keys.ARROW_RIGHT * 2)
    wait(shown, lambda: find(shown, "#height-said")[0].text == "2")
    wait(shown, lambda: "x: 20;" in first_point(shown))
    choose(shown, "picture", "position")
    wait(shown, lambda: len(find(shown, "#pictures-chart .mark-symbol.role-mark path")) == 12)
    assert "x: 20;" in first_point(shown)
    find(shown, "#pictures summary")[0].click()
    assert len(find(shown, "#sentences li")) == 12 == len(find(shown, "#sentences mark"))


def test_choices_are_reached_and_made_by_keyboard(shown):
    (body,) = find(shown, "body")
    body.send_keys(webdriver.Keys.TAB)
    reached = []
    while (element := shown.switch_to.active_element).tag_name != "body":
        reached.append(element.get_attribute("id") or element.get_attribute("name") or "")
        element.send_keys(webdriver.Keys.TAB)
    wanted = [
        "measure",
        "from",
        "band",
        "objective",
        "seed",
        "run",
        "kind",
        "layer",
        "word",
        "believing",
        "height",
    ]
    places = [reached.index(name) for name in wanted]
    assert places == sorted(places)
    find(shown, "#head")[0].send_keys(webdriver.Keys.ARROW_DOWN)
    wait(shown, lambda: told(shown).startswith("Layer 1, head 2"))


@pytest.mark.parametrize("width", [320, 390, 768])
def test_narrow_windows_are_not_scrolled_sideways(shown, width):
    resize(shown, width, 700, mobile=True)
    shown.refresh()
    wait(shown, lambda: find(shown, "#pictures-chart svg") and find(shown, "#attention-chart svg"))
    shown.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
    assert shown.execute_script("return document.documentElement.scrollWidth") <= width
    for chart in find(shown, ".chart svg"):
        assert chart.rect["x"] >= 0 and chart.rect["x"] + chart.rect["width"] <= width


def test_on_paper_no_chart_is_cut_off(shown):
    """A page is printed as it was drawn on the screen; no chart is drawn again."""
    shown.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    script = (
        "document.body.style.width = '600px';"
        "return [...document.querySelectorAll('.chart')].map(chart => {"
        "const drawn = chart.querySelector('svg').getBoundingClientRect();"
        "return [drawn.width, drawn.height, chart.clientWidth, chart.clientHeight]; })"
    )
    try:
        charts = shown.execute_script(script)
    finally:
        shown.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert len(charts) == 4
    for width, height, room, room_down in charts:
        assert 200 < width <= room <= 600 and 50 < height <= room_down + 1
