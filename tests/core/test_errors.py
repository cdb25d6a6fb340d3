"""What an error never shows."""

import pytest

from bottomup.core.errors import UserError


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("https://me:pa'ss@host/a is not there", "https://***@host/a is not there"),
        ("https://me:se/cret@host/b", "https://***@host/b"),
        ("pip: me:secret@host.org/simple", "pip: ***@host.org/simple"),
        ("'https://token@host/a?key=1' and", "'https://***@host/a?***' and"),
        ("git+https://host/x/y@v1", "git+https://host/x/y@v1"),
        ("a.py:12: found 'https://host/a', of c@d.e", "a.py:12: found 'https://host/a', of c@d.e"),
    ],
)
def test_passwords_are_hidden_and_what_is_none_is_shown(said, shown):
    assert str(UserError(said)) == shown
