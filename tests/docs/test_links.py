"""Links lead somewhere: those of the site, and those of its sources as a reader of the repository
follows them."""

import re
import subprocess
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.tiny import ROOT

PAGES = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md", "*.ipynb"],
    cwd=ROOT,
    capture_output=True,
    text=True,
    check=True,
).stdout.split()


class Page(HTMLParser):
    """What a page of the site links to, what it loads, and its anchors."""

    def __init__(self, path: Path):
        super().__init__()
        self.links, self.loaded, self.anchors = set(), set(), {""}
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors.add(values.get("id"))
        if tag == "a" and "href" in values:
            self.links.add(values["href"])
        if tag in ("script", "img", "iframe") and "src" in values:
            self.loaded.add(values["src"])
        if tag == "link" and values["rel"] in ("stylesheet", "icon"):
            self.loaded.add(values["href"])


@cache
def page(path):
    return Page(path)


def test_links_of_the_site_lead_somewhere(site):
    pages = [*site.rglob("*.html")]
    assert len(pages) > 20
    broken = []
    for path in pages:
        for link in page(path).links:
            scheme, host, target, _, anchor = urlsplit(link)
            if scheme or host:
                continue
            to = path if not target else (path.parent / unquote(target)).resolve()
            there = to.is_file() and (to.suffix != ".html" or unquote(anchor) in page(to).anchors)
            if not there:
                broken.append(f"{path.relative_to(site)}: {link}")
    assert not broken


def test_the_site_loads_nothing_from_elsewhere(site):
    for path in site.rglob("*.html"):
        for name in page(path).loaded:
            scheme, host, target, _, _ = urlsplit(name)
            assert not (scheme or host) and (path.parent / target).is_file(), (path, name)


@pytest.mark.parametrize("name", PAGES)
def test_links_of_a_markdown_file_lead_somewhere(name):
    path = ROOT / name
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(path)):
        target, _, anchor = link.partition("#")
        if urlsplit(link).scheme:
            continue
        to = (path.parent / target).resolve() if target else path
        assert to.exists(), (name, link)
        assert not anchor or anchor in headings(to), (name, link)


def without_code(path):
    """The text of a page without code, in which brackets are no links."""
    return re.sub(r"^```.*?^```|`[^`\n]*`", "`", path.read_text(), flags=re.MULTILINE | re.DOTALL)


def headings(path):
    """The anchors that GitHub and MyST give to headings."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
