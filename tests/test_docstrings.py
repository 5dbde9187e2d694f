"""Every public callable says what it does; those of the packages named here also show it, and name their errors."""

import ast
import inspect
import textwrap

import pytest
from test_signatures import public_callables

from clew import _core
from clew.distributions.constraints import Constraint

# Packages of clew of whose callables each has an example, and a part "Raises:" if it raises.
COMPLETE = {
    "autograd",
    "distributions",
    "fft",
    "func",
    "graph",
    "linalg",
    "memory",
    "nn",
    "ops",
    "optim",
    "random",
    "special",
    "utils",
    "_tensor",
    "_tensor_conversions",
}
# Operations that are refused, and what other callables return.
WITHOUT_EXAMPLE = {"clew.imag", "clew.linalg.eig", "clew.linalg.eigvals", "clew.Node"}

pytestmark = pytest.mark.beyond

CALLABLES = [(name, value) for name, value in public_callables() if not isinstance(value, _core.Operation)]


def own_text(value):
    """The docstring that was written for it: not its base class's, nor what `dataclass` makes of the fields."""
    text = (vars(value).get("__doc__") if inspect.isclass(value) else getattr(value, "__doc__", None)) or ""
    return "" if inspect.isclass(value) and text.startswith(f"{value.__name__}(") else text


def is_complete(value):
    """It is of these packages or a method in C++; no refusal, in-place form or set of numbers, which tables define."""
    if own_text(value).endswith("` in place.") or own_text(value).startswith("Not supported: "):
        return False
    if inspect.ismethoddescriptor(value):
        return True
    if isinstance(value, Constraint) or (inspect.isclass(value) and issubclass(value, Constraint)):
        return False
    return f"{getattr(value, '__module__', None)}..".split(".")[1] in COMPLETE


def test_every_public_callable_says_what_it_does():
    assert [name for name, value in CALLABLES if not own_text(value)] == []


def test_every_public_method_says_what_it_does():
    """Itself, or the method that it overrides."""
    missing = []
    for name, value in CALLABLES:
        if inspect.isclass(value) and is_complete(value):
            methods = [key for key in vars(value) if key[0] != "_" and inspect.isfunction(getattr(value, key))]
            missing += [f"{name}.{key}" for key in methods if not inspect.getdoc(getattr(value, key))]
    assert missing == []


def test_every_public_callable_shows_it():
    missing = [
        name
        for name, value in CALLABLES
        if is_complete(value) and "Example:\n" not in own_text(value) and name not in WITHOUT_EXAMPLE
    ]
    assert missing == []


def raises(function):
    """Whether its own lines raise something."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return False
    return any(isinstance(node, ast.Raise) and node.exc for node in ast.walk(tree))


def test_every_public_function_names_its_errors():
    functions = [(name, value) for name, value in CALLABLES if inspect.isfunction(value) and is_complete(value)]
    assert [name for name, value in functions if raises(value) and "Raises:\n" not in value.__doc__] == []


def test_examples_stand_under_their_head():
    """And call the package `torch`, or `clew` for what PyTorch lacks: the names with which they are run."""
    wrong = [
        name
        for name, value in CALLABLES
        if ">>> " in own_text(value) and ("Example:\n" not in own_text(value) or ">>> import clew" in own_text(value))
    ]
    assert wrong == []
