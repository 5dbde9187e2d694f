"""`inspect.signature` works on whatever a program may call."""

import inspect
import types
import warnings

import pytest

import clew
from clew import _core


def public_callables():
    """(name, object), each object once, by its shortest name."""
    seen = set()
    modules = [("clew", clew)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, module in modules:  # which grows
            for attribute in sorted(getattr(module, "__all__", None) or [one for one in dir(module) if one[0] != "_"]):
                try:
                    value = getattr(module, attribute)
                except (AttributeError, ImportError):  # what is missing says so; extras may be
                    continue
                if id(value) in seen:
                    continue
                seen.add(id(value))
                if isinstance(value, types.ModuleType):
                    if value.__name__.startswith("clew."):
                        modules.append((f"{name}.{attribute}", value))
                elif callable(value) and (getattr(value, "__module__", None) or "clew").startswith("clew"):
                    yield f"{name}.{attribute}", value
    for attribute in dir(clew.Tensor):
        value = getattr(clew.Tensor, attribute)
        if callable(value) and not attribute.startswith("_") and id(value) not in seen:
            yield f"clew.Tensor.{attribute}", value


def test_every_public_callable_has_one():
    missing = []
    for name, value in public_callables():
        if inspect.isclass(value) and issubclass(value, BaseException):
            continue  # those of Python have none, either
        try:
            inspect.signature(value)
        except (TypeError, ValueError):
            missing.append(name)
    assert missing == []


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        (clew.exp, "(self, *, out=None)"),
        (clew.exp_, "(self)"),
        (clew.cumsum, "(self, dim, *, dtype=None, out=None)"),
        (clew.add, "(self, other, *, alpha=1, out=None)"),
        (
            clew.Tensor.backward,
            "(self, /, gradient=None, retain_graph=None, create_graph=False, inputs=None, *, keep=None)",
        ),
        (clew.set_num_threads, "(count, /)"),
    ],
)
def test_it_is_that_of_the_schema(operation, text):
    assert str(inspect.signature(operation)) == text


def test_a_method_of_a_tensor_leaves_out_the_tensor():
    assert str(inspect.signature(clew.ones(2).exp_)) == "()"
    assert str(inspect.signature(clew.ones(2).cumsum)) == "(dim, *, dtype=None, out=None)"


def test_calls_by_it_are_calls_of_the_operation():
    bound = inspect.signature(clew.cumsum).bind(clew.ones(3), dim=0)
    assert clew.cumsum(*bound.args, **bound.kwargs).tolist() == [1.0, 2.0, 3.0]


def test_operations_of_several_overloads_are_open():
    several = [one for one in vars(_core.ops).values() if len(one.overloads) > 1]
    assert several
    for operation in several:
        kinds = {parameter.kind for parameter in inspect.signature(operation).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD in kinds
