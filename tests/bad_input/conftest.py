"""Bad input gives a clear error of the right Python type, with nothing changed."""

import pytest


@pytest.fixture(autouse=True)
def nothing_is_left_behind(no_leak):
    """A refused operation leaves no tensor and no node."""
