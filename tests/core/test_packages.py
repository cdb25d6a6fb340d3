import sys

import pytest

from bottomup.core.packages import is_installed


@pytest.mark.parametrize(("name", "installed"), [("yaml", True), ("os", False), ("no_such", False)])
def test_packages_that_are_installed(name, installed):
    assert is_installed(name) == installed


def test_a_folder_that_is_found_first_is_no_installed_package(tmp_path, monkeypatch):
    (tmp_path / "yaml").mkdir()
    (tmp_path / "yaml/__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "yaml")
    assert not is_installed("yaml")


def test_a_folder_without_code_is_no_package(tmp_path, monkeypatch):
    (tmp_path / "site-packages/empty").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    assert not is_installed("empty")
