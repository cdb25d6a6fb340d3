"""The first page of a made-up study in Chromium, from disk and without a network."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.browser import driver, find, resize, silent, webdriver
from tests.pages.made_up_study import FIGURES, write_study
from tests.tiny import ROOT

pytestmark = pytest.mark.long

__all__ = ["driver", "silent"]

NAMES = [figure["name"] for figure in FIGURES]


@pytest.fixture
def shown(driver, silent, tmp_path, monkeypatch, run_script):
    """The page, open; no errors or warnings in the console when the test is done."""
    monkeypatch.chdir(ROOT)
    folder, settings, arguments = write_study(tmp_path)
    run_script("show_index", settings, *arguments)
    for other in ("explorer.html", "claims.html"):  # by programs of their own
        (folder / other).write_text("<!doctype html>")
    resize(driver, 1280, 900)
    driver.get((folder / "index.html").as_uri())
    return driver


def figures(driver):
    return [each.get_attribute("id")[7:] for each in find(driver, "article") if each.is_displayed()]


def look_for(driver, words):
    (box,) = find(driver, "input[type=search]")
    box.clear()
    box.send_keys(words)
    return find(driver, ".found")[0].text


def test_every_image_is_there(shown):
    for image in find(shown, "img"):
        shown.execute_script("arguments[0].scrollIntoView()", image)
        loaded = "return arguments[0].decode().then(() => arguments[0].naturalWidth)"
        assert shown.execute_script(loaded, image) == int(image.get_dom_attribute("width"))
        assert image.get_attribute("alt")


def test_every_link_leads_somewhere(shown):
    here = shown.current_url
    links = {link.get_attribute("href") for link in find(shown, "a")}
    assert len(links) > 2 * len(NAMES)
    for link in links:
        parts = urlsplit(link)
        assert parts.scheme == "file" and Path(unquote(parts.path)).is_file()
        if link.startswith(f"{here}#"):
            assert shown.execute_script(
                "return document.getElementById(arguments[0])", parts.fragment
            )


def test_nothing_is_loaded_but_its_images(shown):
    loaded = shown.execute_script(
        "return performance.getEntriesByType('resource').map(r => r.name)"
    )
    assert all("/site/" in name for name in loaded)


def test_words_are_found_in_figures_and_in_their_claims(shown):
    assert figures(shown) == NAMES
    assert look_for(shown, "MASK neighbors") == "1 figure"
    assert figures(shown) == ["mask"]
    parts = [each for each in find(shown, ".category") if each.is_displayed()]
    assert [part.get_attribute("id") for part in parts] == ["category-3"], "those with a figure"
    # A claim is found in the figure that shows it.
    assert look_for(shown, "Cross-attention heads") == "1 figure"
    assert figures(shown) == ["mutual_information_input"]
    assert look_for(shown, " ") == "" and figures(shown) == NAMES


def test_a_figure_leads_to_its_claims(shown):
    article = find(shown, "#figure-mutual_information_input")[0]
    article.find_elements("css selector", "summary")[1].click()
    link = article.find_elements("css selector", ".seen a")[0]
    link.click()
    assert "/claims.html#claim-" in shown.current_url


def test_a_link_to_a_figure_finds_it_whatever_was_looked_for(shown):
    look_for(shown, "projection")
    assert figures(shown) == ["projection_token"]
    shown.execute_script("location.hash = 'figure-mask'")
    (article,) = find(shown, "#figure-mask")
    assert article.is_displayed() and figures(shown) == NAMES
    assert shown.execute_script("return arguments[0].getBoundingClientRect().top", article) < 900


def test_everything_is_reached_by_keyboard(shown):
    look_for(shown, "mask")
    reached = []
    for _ in range(40):
        shown.switch_to.active_element.send_keys(webdriver.Keys.TAB)
        element = shown.switch_to.active_element
        outline = element.value_of_css_property("outline-style")
        label = shown.execute_script("return arguments[0].closest('label')", element)
        outline = label.value_of_css_property("outline-style") if label else outline
        reached.append((element.tag_name, element.get_attribute("class"), outline))
        if element.tag_name == "body":
            break
    assert {"summary", "a"} <= {tag for tag, _, _ in reached}
    assert all(outline != "none" for tag, _, outline in reached if tag != "body")


@pytest.mark.parametrize("width", [320, 390, 768, 1024, 1280])
def test_narrow_windows_are_not_scrolled_sideways(shown, width):
    resize(shown, width, 700, mobile=True)
    shown.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
    assert shown.execute_script("return document.documentElement.scrollWidth") <= width


CONTRAST = """
const rgb = color => color.match(/[\\d.]+/g).slice(0, 3).map(Number);
const light = color => rgb(color).map(v => v / 255)
  .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
const paper = light(getComputedStyle(document.body).backgroundColor);
const parts = 'h1, h3, p, a, summary, td, th, .made, .found, legend, label, dt, dd';
return [...document.querySelectorAll(parts)].map(e => light(getComputedStyle(e).color))
  .map(v => (Math.max(v, paper) + .05) / (Math.min(v, paper) + .05))
  .reduce((a, b) => Math.min(a, b));
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_by_day_and_by_night(shown, scheme):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    shown.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    try:
        paper = find(shown, "body")[0].value_of_css_property("background-color")
        assert ("255, 255, 255" in paper) == (scheme == "light")
        assert shown.execute_script(CONTRAST) >= 4.5  # WCAG 2, AA
    finally:
        shown.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_it_is_printed_on_white_paper_without_what_one_clicks(shown):
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    shown.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": features})
    try:
        (body,) = find(shown, "body")
        assert body.value_of_css_property("background-color") == "rgba(255, 255, 255, 1)"
        assert not any(each.is_displayed() for each in find(shown, ".find, nav, .made"))
        assert figures(shown) == NAMES
        width = shown.execute_script("return document.documentElement.clientWidth")
        assert all(image.rect["width"] <= width for image in find(shown, "img"))
    finally:
        shown.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def test_without_javascript_all_is_there(shown):
    shown.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        shown.refresh()
        assert figures(shown) == NAMES
        assert not find(shown, ".find")[0].is_displayed(), "what would do nothing"
    finally:
        shown.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
