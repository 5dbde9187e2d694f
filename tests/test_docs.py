"""The examples in the documentation run."""

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.beyond
@pytest.mark.parametrize("page", ["seeing.md", "extending.md"])
def test_examples(page):
    ran = doctest.testfile(str(ROOT / "docs" / page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert ran.attempted > 0
    assert ran.failed == 0
