"""The programs of the documents that this project grew from, each with the outcome that they document.

Lines that the documents left out (`a = torch.randn(...)`) are filled in; what a comment or an answer claims is checked.
"""

import pytest


@pytest.fixture(autouse=True)
def nothing_is_left_behind(no_leak):
    """Each program ends with the bytes and the nodes that it began with."""
