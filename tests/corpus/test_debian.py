from concurrent.futures import ThreadPoolExecutor

import pytest

from bottomup.core.errors import UserError
from bottomup.corpus import debian

# Has what `offers` lists, once the lists are its own; notes how it was called, and its settings.
APT_GET = """#!/bin/bash
[[ $PWD == */apt/parts ]] && root=../.. || root=.
echo "$@" >>$root/calls
while [[ $1 == -* ]]; do
    [[ $1 == -c ]] && shift && cp "$1" $root/settings
    [[ $1 == -oDir::State::lists=*/downloads/apt/lists ]] && own=1
    shift
done
[[ $1 == update ]] && exit
shift
for name; do
    [[ $own ]] && grep -qx "$name" $root/offers && continue
    echo "E: Unable to locate $name" >&2
    exit 100
done
for name; do touch "${name}_1%3a2.0-1_all.deb"; done
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/apt-get").write_text(APT_GET)
    (tmp_path / "bin/apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    folder = tmp_path / "downloads"
    folder.mkdir()
    (folder / "offers").write_text("one\ntwo\none-more\n")
    return folder


def calls(folder):
    return [line.split() for line in (folder / "calls").read_text().splitlines()]


def test_packages_are_downloaded_with_lists_of_their_own_and_once(folder):
    (folder / "one_1.0_all.deb").touch()  # which is not one-more
    found = debian.packages(["two", "one", "one-more"], folder, "do it otherwise")
    expected = ["two_1%3a2.0-1_all.deb", "one_1.0_all.deb", "one-more_1%3a2.0-1_all.deb"]
    assert [path.name for path in found] == expected
    assert [call[-3:] for call in calls(folder)[::2]] == [["download", "two", "one-more"]] * 2
    assert calls(folder)[1][-1] == "update"
    assert debian.packages(["two", "one", "one-more"], folder, "") == found
    assert len(calls(folder)) == 3


def test_complaints_are_read_whatever_the_locale(folder, monkeypatch):
    """In German and Latin-1, apt-get writes an ü that is no UTF-8."""
    monkeypatch.setenv("LC_ALL", "de_DE.ISO-8859-1")
    monkeypatch.setenv("LANGUAGE", "de")
    says = r'[[ $LC_ALL == C.UTF-8 ]] && echo "E: none for one" || printf "E: keine f\374r one\n"'
    (folder.parent / "bin/apt-get").write_text(f"#!/bin/bash\n{{ {says}; }} >&2; exit 100\n")
    with pytest.raises(UserError, match="cannot download one: E: none for one; E: none for one; "):
        debian.packages(["one"], folder, "do it otherwise")


def test_no_call_writes_to_the_folders_of_the_system(folder):
    debian.packages(["one"], folder, "")
    debian.renew_lists(folder, ["en", "de"], "")
    for call in calls(folder):
        assert f"-oDir::Cache={folder}/apt/cache" in call
        assert "update" not in call or f"-oDir::State::lists={folder}/apt/lists" in call
    assert (folder / "apt/cache/archives/partial").is_dir()
    assert (folder / "apt/lists/partial").is_dir()


@pytest.mark.parametrize(
    ("languages", "expected"), [(["en", "de"], '{ "en"; "de"; }'), ([], '{ "none"; }')]
)
def test_the_languages_asked_for_replace_those_of_the_system(folder, languages, expected):
    assert debian.renew_lists(folder, languages, "") == ""
    settings = (folder / "settings").read_text().splitlines()
    assert settings == ["#clear Acquire::Languages;", f"Acquire::Languages {expected};"]


def test_packages_that_apt_lacks_are_an_error_with_its_complaint(folder):
    expected = r"^apt-get cannot download three, four: E: Unable to locate three; do it otherwise$"
    with pytest.raises(UserError, match=expected):
        debian.packages(["three", "four"], folder, "do it otherwise")


def test_no_apt_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"^this machine has no apt-get; do it otherwise$"):
        debian.packages(["one"], tmp_path, "do it otherwise")


def test_sources_that_are_fetched_side_by_side_wait_for_each_other(folder, tmp_path):
    """apt fails where another one holds its lists."""
    held = '#!/bin/bash\nmkdir held || { echo "E: held" >&2; exit 100; }\nsleep 0.2\nrmdir held\n'
    (tmp_path / "bin/apt-get").write_text(held)
    with ThreadPoolExecutor() as several:
        renewed = [several.submit(debian.renew_lists, folder, ["en"], "") for _ in range(3)]
    assert [each.result() for each in renewed] == [""] * 3


@pytest.mark.parametrize(
    ("status", "says", "warned"),
    [
        (0, "", False),
        (0, "W: Key is stored in legacy trusted.gpg keyring", False),
        (0, "W: Some index files failed to download. They have been ignored.", True),
        (100, "E: The repository 'http://gone' does not have a Release file.", True),
    ],
)
def test_indices_that_apt_does_not_get_are_told(folder, tmp_path, caplog, status, says, warned):
    """A text without them is another one."""
    (tmp_path / "bin/apt-get").write_text(f'#!/bin/bash\necho "{says}" >&2; exit {status}\n')
    assert debian.renew_lists(folder, ["en"], "") == (f"{says}; " if says else "")
    assert not debian.has_part(folder)
    told = [f"apt-get has not got all of its indices ({says})"] if warned else []
    assert [line.partition(": what only")[0] for line in caplog.messages] == told


def test_a_password_in_apts_list_of_sources_is_not_told(folder, tmp_path, caplog):
    says = "E: Failed to fetch http://me:hunter2@host/dists/a/InRelease  401"
    (tmp_path / "bin/apt-get").write_text(f'#!/bin/bash\necho "{says}" >&2; exit 100\n')
    told = debian.renew_lists(folder, ["en"], "") + caplog.text
    assert "hunter2" not in told and told.count("http://***@host/dists/a/InRelease  401") == 2


# Writes what is asked for, or a part of it where the disk is full; goes on with a part.
SLOW_APT_GET = """#!/bin/bash
[[ $* == *update* ]] && exit
while [[ $1 != download ]]; do shift; done
for name in "${@:2}"; do
    part="${name}_2_all.deb"
    printf first >"$part"
    [[ -e ../../full ]] && { echo "E: disk full" >&2; exit 100; }
    printf whole >"$part"
done
"""


def test_a_part_of_a_package_counts_for_none(folder, tmp_path):
    """As a kill of apt-get leaves it, or a full disk: the same call goes on."""
    (tmp_path / "bin/apt-get").write_text(SLOW_APT_GET)
    (folder / "full").touch()
    (folder / "apt/parts").mkdir(parents=True)
    (folder / "apt/parts/one_1_all.deb").write_text("of last month, and not whole")
    with pytest.raises(UserError, match="cannot download one: E: disk full"):
        debian.packages(["one"], folder, "")
    assert (folder / "apt/parts/one_2_all.deb").read_text() == "first"
    (folder / "full").unlink()
    [one] = debian.packages(["one"], folder, "")
    assert (one.name, one.read_text()) == ("one_2_all.deb", "whole")


def test_what_another_study_has_downloaded_meanwhile_is_taken(folder):
    with ThreadPoolExecutor() as several:
        found = [several.submit(debian.packages, ["one"], folder, "") for _ in range(3)]
    assert len({tuple(each.result()) for each in found}) == 1
    assert [call[-1] for call in calls(folder)] == ["one", "update", "one"]


def test_what_is_there_is_taken_from_a_folder_that_cannot_be_written(folder):
    """Nothing is made in it, not even a lock."""
    (folder / "one_1_all.deb").touch()
    before = {*folder.rglob("*")}
    assert [path.name for path in debian.packages(["one"], folder, "")] == ["one_1_all.deb"]
    assert {*folder.rglob("*")} == before
