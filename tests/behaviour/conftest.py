"""The tests of this folder are named after the rows of the behaviour table: section 1 makes the graph, 2 frees it,
3 runs it, 4 writes in place, 5 names the culprit, 7 trains."""

import pytest


@pytest.fixture(autouse=True)
def nothing_is_left_behind(no_leak):
    """Each test ends with the bytes and the nodes that it began with."""
