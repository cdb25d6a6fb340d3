"""The published curves as the tables of a study, once for all tests."""

import pytest

from bottomup.claims import published
from tests.claims.made_up import blurred


@pytest.fixture(scope="session")
def as_published():
    """Frames of three seeds, hardly blurred."""
    return blurred(published.frames(), 1e-4)


@pytest.fixture(scope="session")
def two_seeds():
    return blurred(published.frames((1, 2)), 1e-4)
