"""The site in Chromium."""

from tests.browser import driver, find, resize, wait

__all__ = ["driver"]


def test_search_finds_a_page_from_disk(driver, site):
    driver.get(f"file://{site}/search.html?q=Procrustes")
    (summary,) = wait(driver, lambda: find(driver, ".search-summary"))
    wait(driver, lambda: "finished" in summary.text)
    assert {"Tables", "bottomup.measures.similarity.procrustes_distance"} <= {
        link.text for link in find(driver, "#search-results li a")
    }


def test_no_page_is_wider_than_a_phone(driver, site):
    resize(driver, 390, 844, mobile=True)
    for path in site.rglob("*.html"):
        driver.get(f"file://{path}")
        width = driver.execute_script("return document.documentElement.scrollWidth")
        assert width <= 390, path.name
