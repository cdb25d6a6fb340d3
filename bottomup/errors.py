"""The one exception for mistakes that a user can correct."""


class UserError(Exception):
    """Bad input: one line that says what was found, what is allowed, where, and what to do."""
