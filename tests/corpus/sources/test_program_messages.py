import pytest
from archive_forms import deb
from catalog_forms import mo

from bottomup.core.errors import UserError
from bottomup.corpus import debian
from bottomup.corpus.losses import carried
from bottomup.corpus.sources.program_messages import Options, fetch

EDITOR = mo(
    {
        "The page is new. Save it?": "Die Seite ist neu. Speichern?",
        "Close %s": "%s schließen",
        "Lost %d": "Verloren",
    }
)
PLAYER = mo({"Play the next song": "Das nächste Stück spielen"})
FILES = {
    "usr/share/locale/de/LC_MESSAGES/editor.mo": EDITOR,
    "usr/share/locale/fr/LC_MESSAGES/editor.mo": mo({"Close %s": "Fermer %s"}),
    "usr/share/locale/de/LC_TIME/editor.mo": PLAYER,
    "usr/lib/player/locale/de_DE/LC_MESSAGES/django.mo": PLAYER,
    "usr/share/doc/editor/copyright": b"",
}
EXPECTED = [
    ["editor", "1", "Close %s", "%s schließen"],
    ["editor", "2", "The page is new.", "Die Seite ist neu."],
    ["editor", "3", "Save it?", "Speichern?"],
    ["usr/lib/player/locale/django", "1", "Play the next song", "Das nächste Stück spielen"],
]


@pytest.fixture
def folder(tmp_path):
    for path, data in FILES.items():
        (tmp_path / "root" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / path).write_bytes(data)
    return tmp_path / "root"


def of_folder(folder, **more):
    return fetch(Options(**{"from": "folder", "folder": folder, **more}), folder.parent / "own")


def test_catalogs_of_a_folder(folder):
    (folder / "usr/share/locale/de/LC_MESSAGES/alias.mo").symlink_to("editor.mo")
    assert of_folder(folder).to_numpy().tolist() == EXPECTED


def test_either_direction(folder):
    table = of_folder(folder, languages=("de", "en"))
    assert table[["document", "element", "target", "source"]].to_numpy().tolist() == EXPECTED


def test_packages_in_a_folder(folder, tmp_path):
    (tmp_path / "debs").mkdir()
    (tmp_path / "debs/all_1_all.deb").write_bytes(deb({f"./{path}": FILES[path] for path in FILES}))
    assert of_folder(tmp_path / "debs").to_numpy().tolist() == EXPECTED


def test_packages_of_apt_have_the_language_in_their_names(monkeypatch, tmp_path):
    def packages(names, folder, _):
        asked.extend(names)
        path = "./usr/share/locale/pt_BR/LC_MESSAGES/editor.mo"
        (folder / "all_1.deb").write_bytes(deb({path: mo({"Close %s": "Fechar %s"})}))
        return [folder / "all_1.deb"]

    asked = []
    monkeypatch.setattr(debian, "packages", packages)
    monkeypatch.setattr(debian, "renew_lists", lambda *_: "")
    options = Options(packages=["office-l10n-{language}", "editor"], languages=("en", "pt_BR"))
    table = fetch(options, tmp_path / "own")
    assert table.to_numpy().tolist() == [["editor", "1", "Close %s", "Fechar %s"]]
    assert asked == ["office-l10n-pt-br", "editor"]


def test_packages_that_apt_lacks_are_left_out_and_said(monkeypatch, tmp_path, caplog):
    def renew(folder, languages, _):
        (folder / "apt/lists").mkdir(parents=True)
        (folder / "apt/lists/host_Packages").write_text("Package: editor\nSource: old\n")
        return ""

    def packages(names, folder, _):
        [name] = names
        (folder / f"{name}_1.2_all.deb").write_bytes(
            deb({f"./{path}": FILES[path] for path in FILES})
        )
        return [folder / f"{name}_1.2_all.deb"]

    monkeypatch.setattr(debian, "renew_lists", renew)
    monkeypatch.setattr(debian, "packages", packages)
    caplog.set_level("INFO")
    table = fetch(Options(packages=["old", "editor"]), tmp_path / "own")
    assert table.to_numpy().tolist() == EXPECTED
    assert "left out of the text, since apt lacks them: old" in caplog.text
    assert "packages: editor_1.2_all.deb" in caplog.text


def test_apt_is_asked_for_nothing_that_is_there(monkeypatch, tmp_path):
    monkeypatch.delattr(debian, "renew_lists")
    monkeypatch.setattr(debian, "_apt", None)
    (tmp_path / "editor_1_all.deb").write_bytes(deb({f"./{path}": FILES[path] for path in FILES}))
    assert fetch(Options(packages=["editor"]), tmp_path).to_numpy().tolist() == EXPECTED


def test_chinese_is_that_of_china(folder):
    catalog = folder / "usr/share/locale/zh_CN/LC_MESSAGES/editor.mo"
    catalog.parent.mkdir(parents=True)
    catalog.write_bytes(mo({"Close %s": "关闭 %s"}))
    assert of_folder(folder, languages=("en", "zh"))["target"].tolist() == ["关闭 %s"]


def test_what_was_lost_is_counted_and_said(folder, caplog):
    [lost] = carried(of_folder(folder))
    assert (lost.dropped, lost.of, lost.unit, [*lost.examples]) == (1, 4, "messages", ["Lost %d"])
    assert not caplog.messages
    catalog = folder / "usr/share/locale/de/LC_MESSAGES/editor.mo"
    catalog.write_bytes(mo({"Lost %d": "Verloren", "%d lines": "Zeilen"}))
    of_folder(folder)
    assert "pairing the sentences of messages dropped 2 of 3 messages" in caplog.text


def test_no_catalog_in_the_language_is_an_error(folder):
    with pytest.raises(UserError, match=r"^no catalog of messages in 'ru' in .*ru/LC_MESSAGES"):
        of_folder(folder, languages=("en", "ru"))


def test_a_catalog_that_is_damaged_is_left_out_and_said(folder, caplog):
    (folder / "usr/share/locale/de/LC_MESSAGES/editor.mo").write_bytes(EDITOR[:-9])
    assert of_folder(folder).to_numpy().tolist() == EXPECTED[3:]
    assert "the catalog editor.mo is damaged" in caplog.text


def test_files_on_disk_are_what_the_pairs_depend_on(folder):
    read = Options(**{"from": "folder", "folder": folder}).read_files()
    assert read == sorted(str(folder / path) for path in FILES if path.endswith(".mo"))


def test_packages_are_named_once():
    names = Options().packages
    assert len(names) > 100 and names == sorted(set(names))
