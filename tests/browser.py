"""Chromium for tests of pages: from disk, and without a network.

Who imports this is skipped where these are missing: `pip install selenium`, `apt-get install
chromium chromium-driver`.
"""

import shutil

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="no selenium: pip install selenium")
ui = pytest.importorskip("selenium.webdriver.support.ui")

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if not (BROWSER and DRIVER):
    reason = "no browser: apt-get install chromium chromium-driver"
    pytest.skip(reason, allow_module_level=True)


@pytest.fixture(scope="module")
def driver():
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    driver.execute_cdp_cmd("Network.enable", {})
    offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
    yield driver
    driver.quit()


@pytest.fixture
def silent(driver):
    """The driver; no errors or warnings are in its console when the test is done."""
    yield driver
    said = driver.get_log("browser")
    driver.get("about:blank")  # before its files go
    assert said == []


def resize(driver, width, height, mobile=False):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def find(driver, selector):
    return driver.find_elements("css selector", selector)


def wait(driver, condition):
    """What the condition gives, as soon as it holds: scripts draw after a page is loaded."""
    return ui.WebDriverWait(driver, 30, poll_frequency=0.1).until(lambda _: condition())
