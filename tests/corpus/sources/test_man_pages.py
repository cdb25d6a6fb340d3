import gzip
import shutil
import subprocess

import pytest
from archive_forms import deb

from bottomup.core.errors import UserError
from bottomup.corpus import debian
from bottomup.corpus.losses import carried
from bottomup.corpus.sources import man_pages
from bottomup.corpus.sources.man_pages import Options, aligned, fetch, marks, sections

ENGLISH = """
<div class="manual-text">
<section class="Sh"><h1 class="Sh">NAME</h1><p class="Pp">ls - list files</p></section>
<section class="Sh"><h1 class="Sh">OPTIONS</h1>
<p class="Pp">The <b>options</b> are few. They
   come first.<br/>All of them.</p>
<dl class="Bl-tag">
<dt><b>-a</b>, <b>--all</b></dt><dd>all files<p class="Pp">hidden ones too</p></dd>
</dl><pre>ls -a</pre></section>
<section class="Sh"><h1 class="Sh">COPYRIGHT</h1><p class="Pp">This is free.</p></section>
<section class="Sh"><h1 class="Sh">NOTES</h1><section class="Ss"><h2 class="Ss">Speed</h2>
<p class="Pp">It takes 3 seconds</p></section></section>
</div><table class="foot"><tr><td>date</td></tr></table>
"""
GERMAN = """
<div class="manual-text">
<section class="Sh"><h1 class="Sh">BEZEICHNUNG</h1>
<p class="Pp">ls - Dateien auflisten</p></section>
<section class="Sh"><h1 class="Sh">OPTIONEN</h1>
<p class="Pp">Es gibt wenige <b>Optionen</b>. Sie stehen vorne. Alle.</p>
<dl class="Bl-tag">
<dt><b>-a</b>, <b>--all</b></dt><dd>alle Dateien<p class="Pp">auch verborgene</p></dd>
</dl><pre>ls -a</pre></section>
<section class="Sh"><h1 class="Sh">COPYRIGHT</h1><p class="Pp">Dies ist frei.</p></section>
<section class="Sh"><h1 class="Sh">ANMERKUNGEN</h1><section class="Ss"><h2 class="Ss">Tempo</h2>
<p class="Pp">Es braucht 3 Sekunden</p></section></section>
<section class="Sh"><h1 class="Sh">ÜBERSETZUNG</h1><p class="Pp">von jemandem</p></section>
</div>
"""
OPTIONS = [
    ("OPTIONS", "OPTIONEN"),
    ("The options are few.", "Es gibt wenige Optionen."),
    ("They come first.", "Sie stehen vorne."),
    ("All of them.", "Alle."),
    ("-a, --all", "-a, --all"),
    ("all files", "alle Dateien"),
    ("hidden ones too", "auch verborgene"),
]
NAME = [("NAME", "BEZEICHNUNG"), ("ls - list files", "ls - Dateien auflisten")]
NOTES = [
    ("NOTES", "ANMERKUNGEN"),
    ("Speed", "Tempo"),
    ("It takes 3 seconds", "Es braucht 3 Sekunden"),
]


def test_sections_of_a_page_and_their_blocks():
    assert sections(ENGLISH) == [
        [("h1", "NAME"), ("p", "ls - list files")],
        [
            ("h1", "OPTIONS"),
            ("p", "The options are few. They come first. All of them."),
            ("dt", "-a, --all"),
            ("dd", "all files"),
            ("p", "hidden ones too"),
            ("pre", "ls -a"),
        ],
        [("h1", "COPYRIGHT"), ("p", "This is free.")],
        [("h1", "NOTES")],
        [("h2", "Speed"), ("p", "It takes 3 seconds")],
    ]
    assert sections("") == []


def pairs(english, translated):
    return [pair for _, of_block in aligned(english, translated) for pair in of_block]


def test_a_page_is_aligned_without_code_copyright_and_translators():
    assert pairs(ENGLISH, GERMAN) == [*NAME, *OPTIONS, *NOTES]
    without = [text for text, of_block in aligned(ENGLISH, GERMAN) if not of_block]
    assert without == ["ls -a", "COPYRIGHT", "This is free."]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("<dd>alle Dateien", "<dd>alle<p>Dateien", NAME + NOTES),  # a section of other kinds
        (
            "-a</b>, <b>--all</b></dt>",
            "-a</b>, <b>--alle</b></dt>",
            NAME + OPTIONS[:4] + OPTIONS[5:] + NOTES,
        ),
        ("3 Sekunden", "30 Sekunden", NAME + OPTIONS + NOTES[:2]),
        ('<section class="Ss"><h2 class="Ss">Tempo</h2>', "<h1>A</h1><h1>B</h1><h1>C</h1>", []),
    ],
)
def test_what_the_sides_do_not_agree_in_is_left_out(old, new, expected):
    assert old in GERMAN
    assert pairs(ENGLISH, GERMAN.replace(old, new)) == expected
    blocks = [text for section in sections(ENGLISH) for _, text in section]
    assert [text for text, _ in aligned(ENGLISH, GERMAN.replace(old, new))] == blocks


def test_marks_are_options_and_numbers():
    assert marks("With -l, --sort=size (-S) and a well-known 2-1, 1.5") == [
        *("--sort", "-S", "-l", "1", "1", "2", "5")
    ]
    assert marks("mit «-l» oder »--sort«-Option und ioctl(2)-Anfragen") == ["--sort", "-l", "2"]
    assert marks("Lese- und -Schreibrechte, --sort-Option, »x«-fähig") == ["--sort"]


# Renders no roff: a page is the HTML that it stands for, but for one that it fails on.
MANDOC = """#!/bin/sh
page=$(cat)
[ "$page" = unreadable ] && exit 3
printf '%s' "$page"
"""
PAGES = {
    "usr/share/man/man1/ls.1.gz": gzip.compress(ENGLISH.encode()),
    "usr/share/man/de/man1/ls.1.gz": gzip.compress(GERMAN.encode()),
    "usr/share/man/man3/bad.3": b"unreadable",
    "usr/share/man/de/man3/bad.3": b"unreadable",
    "usr/share/man/man1/only.1": b"",
    "usr/share/man/fr/man1/only.1": b"",
    "usr/share/doc/man/copyright": b"",
}


@pytest.fixture
def mandoc(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/mandoc").write_text(MANDOC)
    (tmp_path / "bin/mandoc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return tmp_path / "bin/mandoc"


@pytest.fixture
def folder(tmp_path, mandoc):
    for path, data in PAGES.items():
        (tmp_path / "pages" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "pages" / path).write_bytes(data)
    return tmp_path / "pages"


def of_folder(folder, **more):
    return fetch(Options(**{"from": "folder", "folder": folder, **more}), folder.parent / "own")


def check(table, source="source", target="target"):
    assert set(table["document"]) == {"ls.1"}
    assert table["element"].tolist() == [str(number) for number in range(1, 13)]
    assert list(table[[source, target]].itertuples(index=False, name=None)) == [
        *NAME,
        *OPTIONS,
        *NOTES,
    ]


def test_pages_of_a_folder(folder, caplog):
    (folder / "usr/share/man/man1/dir.1.gz").symlink_to("ls.1.gz")
    (folder / "usr/share/man/de/man1/dir.1.gz").symlink_to("ls.1.gz")
    check(of_folder(folder))
    assert "mandoc fails on the page bad.3" in caplog.text
    check(of_folder(folder, languages=("de", "en")), "target", "source")


def test_what_was_lost_is_counted_and_said(folder, caplog):
    lonely = folder / "usr/share/man/de/man1/lonely.1"
    lonely.write_bytes(b"")
    found = carried(of_folder(folder))
    assert [(loss.dropped, loss.of, loss.unit) for loss in found] == [
        (1, 3, "pages"),
        (3, 13, "paragraphs, list items and headings"),
    ]
    assert [*found[0].examples] == ["lonely.1"] and [*found[1].examples] == ["ls -a", "COPYRIGHT"]
    assert not any("dropped" in message for message in caplog.messages)
    german = GERMAN.replace("<dd>alle Dateien", "<dd>alle<p>Dateien")
    (folder / "usr/share/man/de/man1/ls.1.gz").write_bytes(gzip.compress(german.encode()))
    of_folder(folder)
    assert "aligning pages dropped 8 of 13 paragraphs, list items and headings" in caplog.text


def test_packages_of_a_folder_with_mandoc_among_them(folder, mandoc, monkeypatch):
    packages = folder.parent / "packages"
    packages.mkdir()
    (packages / "pages_1_all.deb").write_bytes(deb({f"./{path}": PAGES[path] for path in PAGES}))
    (packages / "mandoc_1_x.deb").write_bytes(deb({"./usr/bin/mandoc": mandoc.read_bytes()}))
    mandoc.unlink()
    monkeypatch.setattr(shutil, "which", lambda _: None)
    check(of_folder(packages))
    assert list((folder.parent / "own").iterdir()) == []
    (packages / "mandoc_1_x.deb").write_bytes(deb({"./usr/bin/mandoc": b"#!/no/such/program"}))
    with pytest.raises(UserError, match=r"^mandoc cannot be run .*; install it"):
        of_folder(packages)
    (packages / "mandoc_1_x.deb").unlink()
    with pytest.raises(UserError, match=r"mandoc.* is not on this machine; install it"):
        of_folder(packages)


def test_packages_of_apt_have_the_language_in_their_names(mandoc, monkeypatch, tmp_path):
    def packages(names, folder, _):
        (folder / "all_1.deb").write_bytes(deb({f"./{path}": PAGES[path] for path in PAGES}))
        asked.extend(names)
        return [folder / "all_1.deb"]

    asked = []
    monkeypatch.setattr(debian, "packages", packages)
    check(fetch(Options(packages=["manpages-{language}-dev", "coreutils"]), tmp_path / "own"))
    assert asked == ["manpages-de-dev", "coreutils"]


def test_pages_of_a_language_with_a_region(folder):
    (folder / "usr/share/man/de").rename(folder / "usr/share/man/pt_BR")
    check(of_folder(folder, languages=("en", "pt_BR")))


def test_chinese_is_that_of_the_mainland_as_in_other_sources(folder):
    (folder / "usr/share/man/de").rename(folder / "usr/share/man/zh_CN")
    check(of_folder(folder, languages=("en", "zh")))


def test_no_page_in_both_languages_is_an_error(folder):
    with pytest.raises(UserError, match=r"^no man page in both languages in .*man/fr/man1/ls\.1"):
        of_folder(folder / "usr/share/man/man1", languages=("en", "fr"))


def test_a_page_that_is_damaged_is_an_error(folder):
    page = folder / "usr/share/man/de/man1/ls.1.gz"
    page.write_bytes(page.read_bytes()[:-9])
    with pytest.raises(UserError, match=r"^the page ls\.1 is damaged \(.*\); get it again$"):
        of_folder(folder)


def test_a_page_that_takes_too_long_is_left_out(folder, monkeypatch, caplog):
    def slow(command, **more):
        raise subprocess.TimeoutExpired(command, more["timeout"])

    monkeypatch.setattr(man_pages, "_mandoc", lambda *_: "mandoc")
    monkeypatch.setattr(subprocess, "run", slow)
    assert of_folder(folder).empty
    assert "mandoc fails on the page ls.1" in caplog.text


def test_files_on_disk_are_what_the_pairs_depend_on(folder):
    read = Options(**{"from": "folder", "folder": folder}).read_files()
    assert read == sorted(str(folder / path) for path in PAGES if "copyright" not in path)


@pytest.mark.skipif(not shutil.which("mandoc"), reason="mandoc renders real pages")
def test_mandoc_renders_what_is_expected_of_it():
    page = b".TH X 1\n.SH NAME\nx \\- y\n.SH B\n.SS C\none\n.PP\ntwo\n"
    page += b".TP\n\\fB\\-a\\fR\nthree\n.nf\nz\n.fi\n"
    assert sections(man_pages._html(shutil.which("mandoc"), page)) == [
        [("h1", "NAME"), ("p", "x - y")],
        [("h1", "B")],
        [("h2", "C"), ("p", "one"), ("p", "two"), ("dt", "-a"), ("dd", "three"), ("pre", "z")],
    ]
