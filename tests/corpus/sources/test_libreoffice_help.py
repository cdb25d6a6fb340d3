import hashlib
import http.server
import os
import threading
import time
from html.parser import HTMLParser

import numpy as np
import pytest
from archive_forms import deb, tar
from pydantic import ValidationError

from bottomup.core.errors import UserError
from bottomup.corpus import debian
from bottomup.corpus.sources.libreoffice_help import Options, elements, fetch

EXPECTED = [
    ["hd_id1", "Saving Documents", "Dokumente speichern"],
    [
        "par_id2",
        "Click Save & wait a moment.",
        "Klicken Sie auf Speichern und warten Sie.",
    ],
]


def of_packs(folder, **more):
    """Options for help packs in a folder."""
    url = f"file://{folder}/helppack_{{language}}.tar.gz"
    return Options(**{"from": "archive", "archive_url": url, **more})


def check(table):
    assert table["document"].unique().tolist() == ["shared/01/save.html", "swriter/main.html"]
    for _, page in table.groupby("document"):
        assert page[["element", "source", "target"]].to_numpy().tolist() == EXPECTED


@pytest.mark.parametrize("depth", ["", "usr/share/libreoffice/help/"])
def test_a_folder_of_pages(tmp_path, help_pages, depth):
    for path, html in help_pages.items():
        file = tmp_path / depth / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(html)
    check(fetch(Options(**{"from": "folder", "folder": tmp_path}), tmp_path / "downloads"))


def test_help_packs_of_an_archive(help_packs, tmp_path):
    check(fetch(of_packs(help_packs), tmp_path / "downloads"))


def test_either_direction(help_packs, tmp_path):
    table = fetch(of_packs(help_packs, languages=("de", "en")), tmp_path)
    assert table[["target", "source"]].iloc[0].tolist() == EXPECTED[0][1:]


def test_one_language_alone(help_packs, tmp_path):
    table = fetch(of_packs(help_packs, languages=("de",)), tmp_path)
    assert table.columns.tolist() == ["document", "element", "source"]
    both = [[element, german] for element, _, german in EXPECTED]
    assert table[["element", "source"]].to_numpy().tolist() == both * 2


def test_of_one_language_alone_what_is_left_in_english_is_left_out(tmp_path, caplog):
    """Half of Debian's help in Japanese is English, in which a model of Japanese has no part."""
    for tag, first in {"en-US": "File", "ja": "ファイル"}.items():
        texts = [first, "Open", "Save", "Close", ""]
        (page := tmp_path / tag / "text/a.html").parent.mkdir(parents=True)
        page.write_text("".join(f'<p id="p{i}">{text}</p>' for i, text in enumerate(texts)))

    def found(language):
        own = {"from": "folder", "folder": tmp_path, "languages": (language,)}
        return fetch(Options(**own), tmp_path)["source"].tolist()

    assert found("en") == ["File", "Open", "Save", "Close", ""]
    assert found("ja") == ["ファイル", ""], "cleaning drops what is empty, and counts it"
    [said] = caplog.messages
    assert "what is not translated dropped 3 of 5 elements" in said
    (tmp_path / "en-US").rename(tmp_path / "en")
    assert found("ja") == ["ファイル", "Open", "Save", "Close", ""]
    assert caplog.messages[-1].startswith("no English pages, en-US/text/**/*.html, in ")


def test_a_help_pack_is_downloaded_once(help_packs, tmp_path):
    downloads = tmp_path / "downloads"
    fetch(of_packs(help_packs), downloads)
    for pack in help_packs.glob("*.tar.gz"):
        pack.unlink()
    check(fetch(of_packs(help_packs), downloads))


def test_packs_of_one_name_from_two_addresses_are_two(help_packs, tmp_path):
    downloads, other = tmp_path / "downloads", tmp_path / "other"
    fetch(of_packs(help_packs), downloads)
    with pytest.raises(UserError, match=f"cannot download file://{other}"):
        fetch(of_packs(other), downloads)
    # One address for all languages but for the folder.
    for tag in ("en-US", "de"):
        (other / tag).mkdir(parents=True)
        (help_packs / f"helppack_{tag}.tar.gz").rename(other / tag / "pack.tar.gz")
    check(fetch(of_packs(other, archive_url=f"file://{other}/{{language}}/pack.tar.gz"), downloads))


def test_links_in_the_folder_of_downloads_are_not_written_through(help_packs, tmp_path):
    downloads, own = tmp_path / "downloads", tmp_path / "own"
    own.write_text("mine")
    fetch(of_packs(help_packs), downloads)
    for pack in list(downloads.iterdir()):
        for name in (pack.name, pack.with_suffix(".part").name, f"{pack.name}.part", "part"):
            (downloads / name).unlink(missing_ok=True)
            (downloads / name).symlink_to(own if name != pack.name else tmp_path / "nowhere")
    check(fetch(of_packs(help_packs), downloads))
    assert own.read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize(
    "name",
    [
        "{language}",
        "x/{language}/..",
        "{language}%00",
        "x" * 300 + "{language}",
    ],
)
def test_an_address_that_is_no_file_name_is_an_error_or_right(name, tmp_path):
    with pytest.raises(UserError, match="cannot download file:") as error:
        fetch(of_packs(tmp_path, archive_url=f"file://{tmp_path}/{name}"), tmp_path / "downloads")
    assert "\n" not in str(error.value)


@pytest.fixture
def server(help_packs):
    """Serves the help packs, or what is left of them when it breaks off."""

    class Handler(http.server.BaseHTTPRequestHandler):
        left = None

        def do_GET(self):
            data = (help_packs / self.path[1:]).read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: self.left])

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/helppack_{{language}}.tar.gz", Handler
        server.shutdown()


def test_a_download_that_breaks_off_leaves_nothing(server, tmp_path):
    url, handler = server
    options = of_packs(tmp_path, archive_url=url)
    handler.left = 100
    with pytest.raises(UserError, match=r"cannot download http:.*bytes too early.*by hand as"):
        fetch(options, tmp_path / "downloads")
    assert list((tmp_path / "downloads").iterdir()) == []
    handler.left = None
    check(fetch(options, tmp_path / "downloads"))


@pytest.mark.parametrize("sha256", [{}, {"en": "0" * 64}])
def test_a_folder_where_a_download_should_be_is_an_error(help_packs, tmp_path, sha256):
    fetch(of_packs(help_packs), tmp_path / "downloads")
    for pack in list((tmp_path / "downloads").iterdir()):
        pack.unlink()
        pack.mkdir()
    with pytest.raises(UserError, match=r"Is a directory: .*helppack_en-US.*move away"):
        fetch(of_packs(help_packs, sha256=sha256), tmp_path / "downloads")


def test_a_file_where_the_folder_of_downloads_should_be_is_an_error(help_packs):
    with pytest.raises(UserError, match=r"File exists: .*helppack_de.*move away"):
        fetch(of_packs(help_packs), help_packs / "helppack_de.tar.gz")


def test_a_damaged_package_is_an_error(apt, tmp_path):
    fetch(Options(), tmp_path)
    package = next(tmp_path.glob("*-de_*.deb"))
    data = bytearray(package.read_bytes())
    data[-100] ^= 4
    package.write_bytes(data)
    with pytest.raises(UserError, match=r"help-de_.*\.deb is damaged .*delete it"):
        fetch(Options(), tmp_path)


def test_checksums(help_packs, tmp_path):
    right = hashlib.sha256((help_packs / "helppack_de.tar.gz").read_bytes()).hexdigest()
    check(fetch(of_packs(help_packs, sha256={"de": right.upper()}), tmp_path / "downloads"))
    with pytest.raises(UserError, match=f"SHA-256 {right}, expected {'0' * 64}"):
        fetch(of_packs(help_packs, sha256={"de": "0" * 64}), tmp_path / "downloads")


def test_a_help_pack_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(UserError, match=r"cannot download file:.*helppack_en-US.*from: folder"):
        fetch(of_packs(tmp_path), tmp_path / "downloads")
    assert list((tmp_path / "downloads").iterdir()) == []


def test_a_help_pack_that_leaves_its_folder_is_refused(tmp_path):
    (tmp_path / "helppack_en-US.tar.gz").write_bytes(tar({"../en-US/text/a.html": b"<p>"}))
    with pytest.raises(UserError, match="outside its folder"):
        fetch(of_packs(tmp_path), tmp_path / "downloads")


def test_no_pages_are_an_error(tmp_path):
    with pytest.raises(UserError, match=r"no help pages in .*en-US/text"):
        fetch(Options(**{"from": "folder", "folder": tmp_path}), tmp_path)


@pytest.fixture
def folder(tmp_path, help_pages):
    """A tree of pages, and the folder that it is in."""
    for path, html in help_pages.items():
        (tmp_path / "help" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "help" / path).write_bytes(html)
    return tmp_path / "help"


def of_folder(folder):
    return fetch(Options(**{"from": "folder", "folder": folder}), folder / "downloads")


@pytest.mark.parametrize("target", ["nowhere.html", "link.html"])
def test_a_link_that_leads_nowhere_is_an_error(folder, target):
    (folder / "de/text/link.html").symlink_to(target)
    with pytest.raises(UserError, match=r"de/text/link\.html is a link that leads nowhere; delete"):
        of_folder(folder)


def test_a_link_out_of_the_folder_is_refused(folder):
    page = folder / "de/text/swriter/main.html"
    page.rename(folder.parent / "else.html")
    page.symlink_to(folder.parent / "else.html")
    with pytest.raises(UserError, match=r"main\.html is a link to .*else\.html, outside .*help;"):
        of_folder(folder)


def test_a_linked_folder_counts_as_its_pages_do(folder):
    """One that leads out of the folder is refused, and no page of it is left out in silence."""
    (folder / "de/text/swriter").rename(folder / "elsewhere")
    (folder / "de/text/swriter").symlink_to(folder / "elsewhere")
    check(of_folder(folder))
    (folder / "elsewhere").rename(folder.parent / "elsewhere")
    (folder / "de/text/swriter").unlink()
    (folder / "de/text/swriter").symlink_to(folder.parent / "elsewhere")
    with pytest.raises(UserError, match=r"swriter/\w+\.html is a link to .*, outside .*help;"):
        of_folder(folder)


def test_links_within_the_folder_and_to_it_are_followed(folder):
    page = folder / "de/text/swriter/main.html"
    page.rename(folder / "else.html")
    page.symlink_to("../../../else.html")
    (folder.parent / "link").symlink_to(folder)
    check(of_folder(folder.parent / "link"))


def test_what_is_no_file_is_no_page(folder):
    os.mkfifo(folder / "de/text/pipe.html")
    (folder / "de/text/folder.html").mkdir()
    (folder / "de/text/link.html").symlink_to("swriter")
    check(of_folder(folder))


def test_a_page_that_is_no_text_is_an_error_that_names_it(folder):
    (folder / "de/text/swriter/main.html").write_bytes("<p id='a'>grün</p>".encode("latin-1"))
    with pytest.raises(
        UserError, match=r"page .*de/text/swriter/main\.html is damaged or not UTF-8"
    ):
        of_folder(folder)


@pytest.fixture
def apt(monkeypatch, tmp_path, help_pages):
    """An apt-get whose lists are empty until they are renewed."""
    calls = []

    def run(arguments, _, cwd, *__):
        command = next(name for name in ("update", "download") if name in arguments)
        calls.append(arguments[arguments.index(command) :])
        updated = ["update"] in calls
        if calls[-1][0] == "download":
            if not updated:
                return 100, "E: Unable to locate package; "
            name = f"{calls[-1][1]}_4%3a7.4.7-1+deb12u14_all.deb"
            pages = {f"./usr/share/{path}": html for path, html in help_pages.items()}
            (cwd / name).write_bytes(deb(pages))
        return 0, ""

    monkeypatch.setattr(debian, "_apt", run)
    return calls


def test_apt_renews_lists_of_its_own_where_those_of_the_system_do_not_do(apt, tmp_path):
    check(fetch(Options(), tmp_path / "downloads"))
    assert apt[:3] == [
        ["download", "libreoffice-help-en-us"],
        ["update"],
        ["download", "libreoffice-help-en-us"],
    ]
    n_calls = len(apt)
    check(fetch(Options(), tmp_path / "downloads"))
    assert len(apt) == n_calls


def test_another_version_from_apt_is_a_warning(apt, tmp_path, caplog):
    fetch(Options(), tmp_path)
    assert not caplog.messages
    fetch(Options(version="24.2.7.2"), tmp_path)
    assert "apt has version 7.4.7 " in caplog.messages[0]


def test_no_apt_is_an_error_that_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="no apt-get; set `from: archive`"):
        fetch(Options(), tmp_path / "downloads")


def test_no_network_is_an_error_that_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(debian, "_apt", lambda given, *_: (100, f"E: no {given[-1]}; "))
    expected = "help-en-us: E: no update; E: no libreoffice-help-en-us; set `from: archive`"
    with pytest.raises(UserError, match=expected):
        fetch(Options(), tmp_path / "downloads")


@pytest.mark.parametrize("languages", [("de", "fr"), ("en", "sw"), ("en", "en")])
def test_a_language_pair_that_the_help_lacks_is_an_error_of_the_options(languages):
    with pytest.raises(ValidationError, match="languages"):
        Options(languages=languages)


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"sha256": {"de": "12"}}, "sha256.de"),
        ({"sha256": {"deu": "0" * 64}}, "sha256.deu"),
        ({"archive_url": "https://example.org/help.tar.gz"}, "archive_url"),
        ({"archive_url": "https://example.org/a b/{language}.tar.gz"}, "archive_url"),
        ({"archive_url": "https://example.org/{language}\0.tar.gz"}, "archive_url"),
        ({"archive_url": "example.org/{language}.tar.gz"}, "archive_url"),
        ({"version": "latest"}, "version"),
    ],
)
def test_options_that_cannot_be_are_errors(given, where):
    with pytest.raises(ValidationError, match=where):
        Options(**given)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p id='a'>One <b>two</b>\n  three&nbsp;&amp;<br>four</p>", {"a": "One two three & four"}),
        ("<h2 id='a'>x<sub>2</sub></h2><p>no id</p>text", {"a": "x2"}),
        ("<p id='a'>open<p id='b'>next</p>", {"a": "open", "b": "next"}),
        ("<p id='a'>first</p><p id='a'>second</p>", {"a": "first"}),
        ("<div id='a'><p id='b'><img alt='icon'></p></div>", {"b": ""}),
        ("<P ID=a class='x'>1 < 2 > 0 <img alt='a > b'> &lt;p&gt;</P>", {"a": "1 < 2 > 0 <p>"}),
        ("<p id='a'><!-- <p id='b'> -->x<script>'<p id=c>'</script></p >", {"a": "x"}),
        ("<p id='a'>x <a y</p><p id='b'>z</p>", {"a": "x", "b": "z"}),
        ("<p id='a'>x</p><p id='b'>open", {"a": "x", "b": "open"}),
        ("<p id='a'>&#" + "1" * 5000 + "; x</p>", {"a": "\ufffd x"}),
        ("<b>" * 300 + "<p id='a'>deep</p>", {"a": "deep"}),
        ("", {}),
        ("<p\nid = 'a&amp;b' id2='c'>x<br/>y</p\n>", {"a&b": "x y"}),
    ],
)
def test_elements_of_a_page(html, expected):
    assert elements(html) == expected


def test_of_variants_by_system_the_last_is_kept():
    variants = "".join(
        f"<span hidden='true' class='{system}'><span>{text}</span></span>\n"
        for system, text in (("MAC", "Command"), ("UNIX", "Meta"), ("", "Ctrl"))
    )
    html = f"<p id='a'>Press <span class='switchinline'>{variants}</span><span>+A</span> now</p>"
    assert elements(html) == {"a": "Press Ctrl +A now"}


@pytest.mark.parametrize(
    "unclosed",
    [
        "<a ",
        "<p id=x ",
        "<a b='",
        "<!--",
        "<!",
        "<script ",
        "<a 'b\"",
        "<p id=x>",
        "<p id=a><span>",
    ],
)
def test_the_time_for_a_page_grows_with_its_length(unclosed):
    """Of 20,000 tags that are not closed, each would otherwise read all that follow: 20 s."""
    start = time.process_time()
    elements("<p id='a'>text</p>" + unclosed * 20_000)
    assert time.process_time() - start < 5


def test_the_elements_are_those_that_the_standard_parser_finds():
    """On markup that is put together at random, of which some is closed and some is not.
    What is closed while an element within it is open ends that here, and not there."""
    draw = np.random.default_rng(1)
    parts = ["<p id='{}'>", "</p>", "<b>bold</b>", "text ", "<br>", "&amp;", "<h2 id={}>", "</h2>"]
    parts += ["<!-- <b> -->", '<img alt="a > b\'s">', '<P ID="{}" class=x>', "5 < 6 ", "<p>"]
    for _ in range(200):
        html = "".join(draw.choice(parts, size=30))
        html = html.format(*range(html.count("{}")))
        assert elements(html) == Standard(html).texts


class Standard(HTMLParser):
    """Paragraphs and headings by `html.parser`, of pages without variants."""

    def __init__(self, html):
        super().__init__()
        self.texts, self.open = {}, None
        self.feed(html)
        self.close()
        self.handle_endtag(self.open and self.open[0])

    def handle_starttag(self, tag, attrs):
        if tag == "br":
            self.handle_data(" ")
        if tag in ("p", "h2"):
            self.handle_endtag(self.open and self.open[0])
            self.open = (tag, dict(attrs)["id"], []) if "id" in dict(attrs) else None

    def handle_data(self, data):
        if self.open:
            self.open[2].append(data)

    def handle_endtag(self, tag):
        if self.open and tag == self.open[0]:
            self.texts[self.open[1]] = " ".join("".join(self.open[2]).split())
            self.open = None
