"""A study that another user of a shared folder has made, and kept to himself."""

import os

import pytest

from bottomup.core.errors import UserError
from bottomup.plan.shared import require_readable


@pytest.mark.parametrize("closed", ["measures", "measures/quality.csv"])
def test_what_another_user_keeps_closed_is_one_line(tmp_path, monkeypatch, closed):
    study, records = tmp_path / "study", tmp_path / "records"
    (study / "measures").mkdir(parents=True)
    (study / "measures/quality.csv").touch()
    (study / "nowhere").symlink_to("gone")
    require_readable(study, records)
    allowed = os.access  # the tests may be root's, who may read all
    monkeypatch.setattr(
        os, "access", lambda path, how: path != study / closed and allowed(path, how)
    )
    owner = (study / closed).owner()
    with pytest.raises(
        UserError, match=f"{closed} cannot be read; allowed: .*: {owner} runs chmod"
    ):
        require_readable(records, study)


def test_the_owner_may_have_no_name(tmp_path, monkeypatch):
    (tmp_path / "a").touch()
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    with pytest.raises(UserError, match=f"user {os.getuid()} runs chmod"):
        require_readable(tmp_path)
