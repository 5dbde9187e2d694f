"""No layer uses one above it, and the tool that says so sees how."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def tool():
    spec = importlib.util.spec_from_file_location("check_layers", ROOT / "tools" / "check_layers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def source(tool, tmp_path, monkeypatch):
    """Writes modules of a package that the tool then looks at."""
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "SOURCE", tmp_path)

    def write(**modules):
        for name, text in modules.items():
            path = tmp_path.joinpath("clew", *name.split("__")).with_suffix(".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return write


def test_layers_hold(tool):
    assert tool.check_core() == tool.check_python() == tool.circles() == []


@pytest.mark.parametrize(
    "line", ["from clew import optim", "import clew.optim.sgd", "from ..optim import SGD", "from .. import optim"]
)
def test_what_lies_above_is_seen(tool, source, line):
    source(nn__loss=line, nn__linear="from . import loss\nfrom ..autograd import grad")
    wrong = tool.check_python()
    assert wrong
    assert all(one.startswith("clew/nn/loss.py: clew/nn may not import clew.optim") for one in wrong)


def test_circles_are_seen(tool, source):
    source(
        graph__a="from .b import x",
        graph__b="from . import c",
        graph__c="import clew.graph.a",
        graph__d="from . import a",
    )
    assert tool.circles() == ["import circle: clew.graph.a, clew.graph.b, clew.graph.c"]


def test_headers_define_each_class_once():
    """Two classes of one name in one namespace are one to the linker, which takes the functions of either."""
    defined: dict[tuple[str, str], set[str]] = {}
    for folder in ("core", "bind"):
        for path in sorted((ROOT / folder).rglob("*.h")):
            text = re.sub(r"^namespace \{$.*?^\}  // namespace$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
            (namespace,) = re.findall(r"^namespace ([\w:]+) \{", text, re.MULTILINE)[:1] or [""]
            for name in re.findall(r"^(?:struct|class) (\w+)(?: final)?(?: : [^;{]*)? \{", text, re.MULTILINE):
                defined.setdefault((namespace, name), set()).add(str(path.relative_to(ROOT)))
    assert len(defined) > 200
    assert {name: paths for name, paths in defined.items() if len(paths) > 1} == {}
