import pytest


@pytest.fixture(autouse=True)
def nothing_is_left_behind(no_leak):
    """Each test ends with the bytes and the nodes that it began with."""
