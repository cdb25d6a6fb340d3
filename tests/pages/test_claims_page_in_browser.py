"""The page of claims in Chromium, from disk and without a network."""

import base64

import pandas as pd
import pytest

from bottomup.claims.words import PAPERS
from bottomup.pages import claims as claims_page
from bottomup.pages.signs import VERDICTS
from tests.browser import driver, find, resize, webdriver
from tests.pages import made_up_claims
from tests.pages.test_claims_page import STUDY

pytestmark = pytest.mark.long

__all__ = ["driver"]


@pytest.fixture(scope="module")
def claims():
    return made_up_claims.claims()


def written(claims):
    study = claims_page.Study(**STUDY)
    return claims_page.page(claims, made_up_claims.specifications(), study)


@pytest.fixture
def shown(driver, claims, tmp_path):
    """The page, open; no errors or warnings in the console when the test is done."""
    path = tmp_path / "claims.html"
    path.write_text(written(claims), encoding="utf-8")
    resize(driver, 1280, 900)
    driver.get(path.as_uri())
    yield driver
    assert driver.get_log("browser") == []


def header(driver, name):
    (button,) = find(driver, f"th[data-key={name}] button")
    return button


def statements(driver):
    return [row.text for row in find(driver, ".evidence summary") if row.is_displayed()]


def sorted_by(claims, column, descending=False):
    orders = {"paper": list(PAPERS), "verdict": list(VERDICTS), "measure": None}
    places = orders[column] or sorted(set(claims["measure"]))
    rows = sorted(claims.to_dict("records"), key=lambda row: places.index(row[column]))
    if descending:  # equal ones stay in the papers' order
        rows = sorted(rows, key=lambda row: -places.index(row[column]))
    return [row["statement"] for row in rows]


def test_the_page_needs_nothing_else(shown, claims):
    assert statements(shown) == sorted_by(claims, "paper")
    assert shown.execute_script("return performance.getEntriesByType('resource').length") == 0


@pytest.mark.parametrize("column", ["verdict", "measure", "paper"])
def test_headers_sort_up_then_down(shown, claims, column):
    head = header(shown, column).find_element("xpath", "..")
    orders = [(False, "ascending"), (True, "descending")]
    for descending, name in orders[::-1] if column == "paper" else orders:
        header(shown, column).click()
        assert statements(shown) == sorted_by(claims, column, descending)
        assert head.get_attribute("aria-sort") == name
        assert len(find(shown, "[aria-sort]")) == 1


@pytest.mark.parametrize("key", [webdriver.Keys.ENTER, webdriver.Keys.SPACE])
def test_headers_sort_by_keyboard(shown, claims, key):
    header(shown, "verdict").send_keys(key)
    assert statements(shown) == sorted_by(claims, "verdict")


@pytest.mark.parametrize("verdict", VERDICTS)
def test_filter_by_verdict(shown, claims, verdict):
    next(box for box in find(shown, "label") if box.text == verdict).click()
    header(shown, "measure").click()
    chosen = claims[claims["verdict"] == verdict]
    assert statements(shown) == sorted_by(chosen, "measure")
    find(shown, "label")[0].click()
    assert len(statements(shown)) == len(claims)


def test_filter_by_keyboard(shown, claims):
    find(shown, "label input")[0].send_keys(webdriver.Keys.ARROW_RIGHT)
    assert len(statements(shown)) == (claims["verdict"] == next(iter(VERDICTS))).sum()


@pytest.mark.parametrize("way", ["click", webdriver.Keys.ENTER, webdriver.Keys.SPACE])
def test_details_open_and_close(shown, way):
    summary, details = find(shown, ".evidence summary")[3], find(shown, ".evidence dl")[3]
    for opened in (True, False):
        summary.click() if way == "click" else summary.send_keys(way)
        assert details.is_displayed() == opened
    assert not any(other.is_displayed() for other in find(shown, ".evidence dl"))


def test_tab_reaches_links_filter_headers_and_claims_in_this_order(shown):
    reached = []
    for _ in range(7):
        shown.switch_to.active_element.send_keys(webdriver.Keys.TAB)
        reached.append(shown.switch_to.active_element.tag_name)
    assert reached == ["a", "a", "input", "button", "button", "button", "summary"]


def test_marks_lie_where_their_numbers_are(shown, claims):
    row = claims.iloc[3]
    tr = find(shown, ".evidence tbody tr")[3]
    zero, unit = middle(tr, "zero"), 140 / max(row["published"], -row["ci_low"])
    for mark in ("value", "published", "untrained"):
        assert middle(tr, mark) - zero == pytest.approx(unit * row[mark], abs=0.2)
    assert box(tr, "interval")["width"] == pytest.approx(
        unit * (row["ci_high"] - row["ci_low"]), abs=0.2
    )
    assert box(tr, "margin")["width"] == pytest.approx(2 * unit * row["margin"], abs=0.2)


def middle(row, mark):
    return box(row, mark)["x"] + box(row, mark)["width"] / 2


def box(row, mark):
    """Where a mark is drawn, without the width of its outline."""
    (found,) = row.find_elements("css selector", f".picture .{mark}")
    assert found.is_displayed()
    return row.parent.execute_script("return arguments[0].getBoundingClientRect().toJSON()", found)


def test_zero_is_at_one_place_in_every_row(shown):
    places = {round(middle(row, "zero")) for row in find(shown, ".evidence tbody tr")}
    assert len(places) == 1


def test_provisional_verdicts_are_hollow_and_say_why(shown, claims):
    for row, given in zip(
        find(shown, ".evidence tbody tr"), claims.to_dict("records"), strict=True
    ):
        sign = row.find_element("css selector", ".sign .shape")
        white = sign.value_of_css_property("fill") == "rgb(255, 255, 255)"
        assert white == pd.notna(given["provisional"])
        verdict = row.find_element("css selector", "td.verdict").text
        assert verdict == given["verdict"] + f"\n{given['provisional']}" * white


@pytest.mark.parametrize(
    ("scheme", "paper", "ink"),
    [("light", "255, 255, 255", "26, 26, 26"), ("dark", "22, 24, 28", "233, 231, 226")],
)
def test_the_page_is_dark_where_the_system_is(shown, scheme, paper, ink):
    media = [{"name": "prefers-color-scheme", "value": scheme}]
    shown.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    try:
        (body,) = find(shown, "body")
        assert body.value_of_css_property("background-color") == f"rgba({paper}, 1)"
        assert body.value_of_css_property("color") == f"rgba({ink}, 1)"
        level = find(shown, ".curve .at-published")[0]
        assert level.value_of_css_property("stroke") == f"rgb({ink})"
    finally:
        shown.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_link_leads_to_a_claim_whatever_was_chosen_and_opens_it(shown, claims):
    find(shown, "label")[2].click()
    assert statements(shown) and "claim_0" not in shown.current_url
    last = claims.iloc[-1]
    assert last["statement"] not in statements(shown)
    shown.get(f"{shown.current_url}#claim-{last['claim']}")
    row = find(shown, f"#claim-{last['claim']}")[0]
    assert row.find_element("css selector", "dl").is_displayed()
    top = shown.execute_script("return arguments[0].getBoundingClientRect().top", row)
    assert 0 <= top < 900


@pytest.mark.parametrize("width", [320, 390, 768, 1024, 1280])
def test_narrow_windows_are_not_scrolled_sideways(shown, width):
    resize(shown, width, 700, mobile=True)
    for summary in find(shown, ".evidence summary")[:3]:
        summary.click()
    assert shown.execute_script("return document.documentElement.scrollWidth") <= width
    for element in find(shown, ".evidence td, .evidence svg, .evidence dl, label, th button"):
        rect = element.rect
        assert rect["x"] >= 0 and rect["x"] + rect["width"] <= width


def test_without_javascript_all_is_there_and_the_filter_works(driver, shown, claims):
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        driver.refresh()
        assert statements(driver) == sorted_by(claims, "paper")
        summary, details = find(driver, ".evidence summary")[0], find(driver, ".evidence dl")[0]
        summary.click()
        assert details.is_displayed()
        find(driver, "label")[1].click()
        assert len(statements(driver)) == (claims["verdict"] == "reproduced").sum()
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_in_a_frame_of_the_report_it_works_too(driver, claims, tmp_path):
    """Snakemake's report shows the page in a frame, from its bytes in base64."""
    path = tmp_path / "frame.html"
    path.write_text("<!doctype html><link rel=icon href='data:,'><iframe width=1200 height=800>")
    driver.get(path.as_uri())
    written_in = base64.b64encode(written(claims).encode()).decode()
    script = "document.querySelector('iframe').src = arguments[0]"
    driver.execute_script(script, f"data:text/html;charset=utf8;base64,{written_in}")
    driver.switch_to.frame(0)
    driver.implicitly_wait(5)
    header(driver, "verdict").click()
    assert statements(driver) == sorted_by(claims, "verdict")
    driver.switch_to.default_content()
    assert driver.get_log("browser") == []
