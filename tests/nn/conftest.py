"""What the tests of modules share."""

import pytest
from agreement import agreement


@pytest.fixture
def agree(torch, oracle):
    """Assert that a program gives the same on the module under test and on PyTorch."""
    return agreement(torch, oracle)
