"""What an error never shows."""

import time

import pytest

from bottomup.core.errors import UserError


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("https://me:pa'ss@host/a is not there", "https://***@host/a is not there"),
        ("https://me:se/cret@host/b", "https://***@host/b"),
        ('"https://me:se"cret@host/b"; allowed', '"https://***@host/b"; allowed'),
        ("//me:secret@host/b", "//***@host/b"),
        ("https:/me:secret@host/b", "https:/***@host/b"),
        ('"https://host/a?k=\\"secret\\""; allowed', '"https://host/a?***""; allowed'),
        ("pip: me:secret@host.org/simple", "pip: ***@host.org/simple"),
        ('pip: me:se"cret@host.org/simple', "pip: ***@host.org/simple"),
        ("'https://token@host/a?key=1' and", "'https://***@host/a?***' and"),
        ("git+https://host/x/y@v1", "git+https://host/x/y@v1"),
        ("a.py:12: found 'https://host/a', of c@d.e", "a.py:12: found 'https://host/a', of c@d.e"),
        ('of "/a/b#c.txt", "x/d@e": no', 'of "/a/b#c.txt", "x/d@e": no'),
    ],
)
def test_passwords_are_hidden_and_what_is_none_is_shown(said, shown):
    assert str(UserError(said)) == shown


def test_a_long_line_without_one_takes_no_time():
    """Such as one that quotes a text."""
    began, line = time.monotonic(), "a:" * 20_000
    assert str(UserError(line)) == line
    assert time.monotonic() - began < 5
