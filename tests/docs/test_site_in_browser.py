"""The site in Chromium, from disk and without a network.

Skipped where these are missing: `pip install selenium`, `apt-get install chromium chromium-driver`.
"""

import shutil

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="no selenium: pip install selenium")
WebDriverWait = pytest.importorskip("selenium.webdriver.support.ui").WebDriverWait
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="no browser: apt-get install chromium chromium-driver"
)


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def test_search_finds_a_page_from_disk(browser, site):
    browser.get(f"file://{site}/search.html?q=Procrustes")
    summary = browser.find_element("css selector", ".search-summary")
    WebDriverWait(browser, 20).until(lambda _: "finished" in summary.text)
    found = browser.find_elements("css selector", "#search-results li a")
    assert {"Tables", "bottomup.measures.similarity.procrustes_distance"} <= {
        link.text for link in found
    }


def test_no_page_is_wider_than_a_phone(browser, site):
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    for path in site.rglob("*.html"):
        browser.get(f"file://{path}")
        width = browser.execute_script("return document.documentElement.scrollWidth")
        assert width <= 390, path.name
