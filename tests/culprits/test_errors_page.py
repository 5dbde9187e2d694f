"""docs/errors.md shows what clew says now."""

import importlib.util
from pathlib import Path

import pytest

import clew

ROOT = Path(__file__).resolve().parent.parent.parent
pytestmark = pytest.mark.beyond


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("side_by_side", ROOT / "tools" / "culprits_side_by_side.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_holds_what_clew_says_now(tool):
    page = tool.PAGE.read_text()
    assert len(tool.CASES) == 10
    for (kind, name), title in tool.CASES.items():
        outcome = tool.run(tool.load(kind, name), clew)
        row = page[page.index(f"## {title}\n") :].partition("\n## ")[0]
        assert f"| {tool.cell(outcome.message)} |" in row
        for field, value in outcome.fields.items():
            assert f"`.{field}` = {tool.cell(value)}" in row


def test_the_page_holds_what_pytorch_says(tool, oracle):
    """All of the generated part is what the tool writes, PyTorch's column included."""
    assert tool.page() == tool.PAGE.read_text()


def test_the_introduction_names_every_field(tool):
    introduction = tool.PAGE.read_text().partition(tool.MARK)[0]
    errors = clew.autograd.errors
    for kind in (errors.GraphFreedError, errors.InplaceError, errors.NoGradError, errors.NonFiniteError):
        assert f"`{kind.__name__}`" in introduction
        for field in (name for name in vars(kind)["__annotations__"] if not name.startswith("_")):
            assert f"`{field}`" in introduction, f"{kind.__name__}.{field} is not in docs/errors.md"
