import bz2
import gzip

import pytest

from bottomup.core.errors import UserError
from bottomup.corpus import debian
from bottomup.corpus.losses import carried
from bottomup.corpus.sources.package_descriptions import Options, aligned, blocks, fetch

PACKAGES = """\
Package: chess
Version: 1.0
Depends: libc6

Package: chess-data
Source: chess (1.0-2)
Filename: pool/c.deb

Package: draughts
Source: boards
"""
ENGLISH = """\
Package: chess
Description-md5: 11
Description-en: game of chess
 Play against the machine. It is
 strong.
 .
 Features:
  * many levels,
    even hard ones
  * sound

Package: chess-data
Description-md5: 22
Description-en: data for chess

Package: chess-data-old
Description-md5: 22
Description-en: data for chess

Package: draughts
Description-md5: 33
Description-en: game of draughts

Package: elsewhere
Description-md5: 44
Description-en: not in the index of packages
"""
GERMAN = """\
Package: elsewhere
Description-md5: 44
Description-de: nicht im Index der Pakete

Package: draughts
Description-md5: 99
Description-de: an older description

Package: chess-data
Description-md5: 22
Description-de: Daten für Schach

Package: chess
Description-md5: 11
Description-de: Schachspiel
 Spielen Sie gegen die Maschine. Sie
 ist stark.
 .
 Merkmale:
  - viele Stufen,
    auch schwere
  - Ton
"""
EXPECTED = [
    ["chess", "chess:1", "game of chess", "Schachspiel"],
    ["chess", "chess:2", "Play against the machine.", "Spielen Sie gegen die Maschine."],
    ["chess", "chess:3", "It is strong.", "Sie ist stark."],
    ["chess", "chess:4", "Features:", "Merkmale:"],
    ["chess", "chess:5", "many levels, even hard ones", "viele Stufen, auch schwere"],
    ["chess", "chess:6", "sound", "Ton"],
    ["chess", "chess-data:1", "data for chess", "Daten für Schach"],
]


@pytest.fixture
def folder(tmp_path):
    """Indices named as by apt and by a mirror, of which one is fit for another purpose."""
    lists, mirror = tmp_path / "indices/lists", tmp_path / "indices/main/i18n"
    lists.mkdir(parents=True)
    mirror.mkdir(parents=True)
    (lists / "host_dists_main_binary-amd64_Packages").write_text(PACKAGES)
    (lists / "host_dists_main_Packages.diff").write_text("not an index")
    (mirror / "Translation-en.bz2").write_bytes(bz2.compress(ENGLISH.encode()))
    (mirror / "Translation-de.gz").write_bytes(gzip.compress(GERMAN.encode()))
    return tmp_path / "indices"


def of_folder(folder, **more):
    return fetch(Options(**{"from": "folder", "folder": folder, **more}), folder / "downloads")


def test_descriptions_of_a_folder(folder):
    assert of_folder(folder).to_numpy().tolist() == EXPECTED


def test_either_direction(folder):
    table = of_folder(folder, languages=("de", "en"))
    assert table[["document", "element", "target", "source"]].to_numpy().tolist() == EXPECTED


def test_indices_on_disk_are_what_the_pairs_depend_on(folder):
    read = Options(**{"from": "folder", "folder": folder}).read_files()
    assert [path.rpartition("/")[2] for path in read] == [
        "host_dists_main_binary-amd64_Packages",
        "Translation-en.bz2",
        "Translation-de.gz",
    ]


def test_apt_is_asked_once_for_both_languages(monkeypatch, tmp_path):
    asked = []

    def renew(folder, languages, _):
        asked.append(languages)
        for name, text in (("Packages", PACKAGES), ("T-en", ENGLISH), ("T-de", GERMAN)):
            (folder / f"host_{name.replace('T-', 'Translation-')}").write_text(text)
        return ""

    monkeypatch.setattr(debian, "renew_lists", renew)
    for _ in range(2):
        assert fetch(Options(), tmp_path).to_numpy().tolist() == EXPECTED
    assert asked == [["de", "en"]]


def test_indices_of_a_renewal_that_was_stopped_are_fetched_again(monkeypatch, tmp_path):
    """apt-get has moved some of them into place, and begun to fetch others."""

    def apt(arguments, folder, *_):
        calls.append(arguments[-1])
        for name, text in (("Packages", PACKAGES), ("T-en", ENGLISH), ("T-de", GERMAN)):
            place = "apt/lists" if len(calls) > 1 or name == "T-de" else "apt/lists/partial"
            whole = folder / place / f"host_{name.replace('T-', 'Translation-')}"
            whole.write_text(text if place == "apt/lists" else text[:30])
        if len(calls) == 1:
            raise KeyboardInterrupt
        return 0, ""

    calls = []
    monkeypatch.setattr(debian, "_apt", apt)
    with pytest.raises(KeyboardInterrupt):
        fetch(Options(), tmp_path)
    for _ in range(2):
        assert fetch(Options(), tmp_path).to_numpy().tolist() == EXPECTED
    assert calls == ["update", "update"]


def test_a_language_that_apt_lacks_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(debian, "renew_lists", lambda *_: "E: no network; ")
    expected = r"^apt-get has no package descriptions in 'sw': E: no network; set `from: folder`"
    with pytest.raises(UserError, match=expected):
        fetch(Options(languages=("en", "sw")), tmp_path)


@pytest.mark.parametrize("name", ["Packages", "Translation-en", "Translation-de"])
def test_an_index_that_is_missing_is_an_error(folder, name):
    next(folder.rglob(f"*{name}*")).unlink()
    for path in folder.rglob("*.diff"):
        path.unlink()
    with pytest.raises(UserError, match=f"^no index {name} in .*indices or below"):
        of_folder(folder)


@pytest.mark.parametrize(
    "data",
    [
        b"<html>no such page</html>\n\nPackage: chess\n",
        b"Package: a\n\n\n\nVersion: 1\n\nPackage: b\n",
        "Package: a\nDescription-de: für".encode("latin-1"),
        b"BZh9" + bytes(100),
        gzip.compress(GERMAN.encode())[:-9],
    ],
)
def test_an_index_that_is_damaged_is_an_error_of_one_line(folder, data):
    next(folder.rglob("Translation-de*")).write_bytes(data)
    with pytest.raises(UserError, match=r"^the index .*Translation-de\.gz is damaged .*") as error:
        of_folder(folder)
    assert "\n" not in str(error.value)


def test_parts_of_a_description():
    description = (
        "short\n one\n  shown as it is\n two\n .\n * an item\n goes on\n    and on\n .\n"
        "    code\n \tcode\n three\n  + item"
    )
    assert blocks(description) == [
        ("short", "short"),
        ("text", "one"),
        ("text", "two"),
        ("item", "an item goes on and on"),
        ("text", "three"),
        ("item", "item"),
    ]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("kurz\n eins\n  * zwei\n drei", "short kurz|one eins|two zwei|three drei"),
        ("kurz\n eins\n  * zwei\n  * mehr\n drei", "short kurz|one eins|three drei"),
        ("kurz\n  * zwei\n drei", "short kurz"),
    ],
)
def test_what_the_sides_do_not_agree_in_is_left_out(target, expected):
    found = aligned("short\n one\n  * two\n three", target)
    assert [text for text, _ in found] == ["short", "one", "two", "three"]
    pairs = [pair for _, of_block in found for pair in of_block]
    assert "|".join(map(" ".join, pairs)) == expected


def test_what_was_lost_is_counted_and_said(folder, caplog):
    """The translation has one item less; two translations are of nothing that is there."""
    index = folder / "main/i18n/Translation-de.gz"
    text = GERMAN.replace("  - Ton\n", "")
    index.write_bytes(gzip.compress(text.encode()))
    found = carried(of_folder(folder))
    assert [(loss.dropped, loss.of, loss.unit) for loss in found] == [
        (2, 4, "translations"),
        (2, 6, "paragraphs and list items"),
    ]
    assert [[*loss.examples] for loss in found] == [
        ["nicht im Index der Pakete", "an older description"],
        ["many levels, even hard ones", "sound"],
    ]
    assert not caplog.messages
    index.write_bytes(gzip.compress(text.replace("Merkmale:", " x").encode()))
    of_folder(folder)
    assert "aligning their paragraphs dropped 4 of 6 paragraphs and list items" in caplog.text
