"""What these tests share with those of modules."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "nn"))
from agreement import agreement


@pytest.fixture
def agree(torch, oracle):
    """Assert that a program gives the same on the module under test and on PyTorch."""
    return agreement(torch, oracle)
