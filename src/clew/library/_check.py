"""Tests of an operation at given arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core import Tensor
from ..testing import assert_close
from ._definition import CustomOpDef
from ._library import _find

_DEFAULT = ("test_schema", "test_autograd_registration", "test_faketensor")


class OpCheckError(Exception):
    """An operation is not what its registrations say."""


def _mapped(function: Callable[[Tensor], Any], value: Any) -> Any:
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, list | tuple):
        return type(value)(_mapped(function, one) for one in value)
    if isinstance(value, dict):
        return {name: _mapped(function, one) for name, one in value.items()}
    return value


def _copied(value: Any) -> Any:
    return _mapped(lambda one: one.detach().clone().requires_grad_(one.requires_grad), value)


def _tuple(results: Any) -> tuple[Any, ...]:
    return () if results is None else results if isinstance(results, tuple) else (results,)


def _test_schema(op: CustomOpDef, args: Any, kwargs: Any, **tolerance: Any) -> None:
    """It writes what the schema says, and nothing else."""
    places, named = op._arranged(_mapped(Tensor.detach, _copied(args)), _mapped(Tensor.detach, _copied(kwargs)))
    before = _copied((places, named))
    with _core_no_grad():
        op(*places, **named)
    for place, argument in enumerate(op._schema.arguments):
        now = named.get(argument.name) if argument.keyword_only else places[place]
        was = before[1].get(argument.name) if argument.keyword_only else before[0][place]
        if argument.mutated or not isinstance(now, Tensor | list):
            continue
        try:
            assert_close(now, was, rtol=0, atol=0, equal_nan=True)
        except AssertionError:
            raise OpCheckError(
                f"Argument {argument.name} is not defined as mutable but was mutated; name it in mutates_args"
            ) from None


def _core_no_grad() -> Any:
    from ..autograd import no_grad

    return no_grad()


def _test_autograd_registration(op: CustomOpDef, args: Any, kwargs: Any, **tolerance: Any) -> None:
    """Where a gradient is asked for, it has a derivative."""
    if not op._records(args, kwargs) or op._function is not None:
        return
    results = _tuple(op(*_copied(args), **_copied(kwargs)))
    if not op._composite or not any(one.requires_grad for one in results):
        raise OpCheckError(f"{op!r} has no autograd formula, but inputs require grad; use register_autograd")


def _test_faketensor(op: CustomOpDef, args: Any, kwargs: Any, **tolerance: Any) -> None:
    """On meta it gives the shapes, strides and dtypes that it gives with values."""
    with _core_no_grad():
        real = _tuple(op(*_copied(args), **_copied(kwargs)))
        fake = _tuple(op(*_mapped(lambda one: one.to("meta"), args), **_mapped(lambda one: one.to("meta"), kwargs)))
    for place, (ours, wanted) in enumerate(zip(fake, real, strict=True)):
        for what, found, expected in (
            ("Shapes", ours.shape, wanted.shape),
            ("Dtypes", ours.dtype, wanted.dtype),
            ("Strides", ours.stride(), wanted.stride()),
        ):
            if found != expected:
                raise OpCheckError(
                    f"When comparing the output of {op!r} on meta and on the CPU, found mismatched tensor metadata in "
                    f"result {place}: {what} {expected} and {found} are not equal!"
                )


def _test_gradients(op: CustomOpDef, args: Any, kwargs: Any, *, atol: Any = None, rtol: Any = None) -> None:
    """The gradients of first order are those of differences of values."""
    from ..autograd import gradcheck

    leaves: list[Tensor] = []
    _mapped(lambda one: leaves.append(one.detach().clone().requires_grad_()) if one.requires_grad else None,
            (args, kwargs))  # fmt: skip
    if not leaves:
        return

    def call(*given: Tensor) -> Any:
        rest = iter(given)
        places, named = _mapped(lambda one: next(rest) if one.requires_grad else one, (args, kwargs))
        return op(*places, **named)

    if not gradcheck(call, tuple(leaves), atol=atol or 1e-5, rtol=rtol or 1e-3, raise_exception=False):
        raise OpCheckError(f"the gradients of {op!r} are not those of differences of its values")


_TESTS: dict[str, Callable[..., None]] = {
    "test_schema": _test_schema,
    "test_autograd_registration": _test_autograd_registration,
    "test_faketensor": _test_faketensor,
    "test_gradients": _test_gradients,
}


def opcheck(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = _DEFAULT,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Test what is registered for an operation, at these arguments.

    Args:
        test_utils: "test_schema" (it writes what the schema says), "test_autograd_registration" (it has a derivative),
            "test_faketensor" (its fake gives the shapes of its results), and beyond PyTorch "test_gradients" (the
            derivative is that of the values, by `gradcheck`; give tensors of float64).
        raise_exception: raise the first failure; else it is in the result.

    Returns:
        For each test "SUCCESS", or the exception.

    Raises:
        OpCheckError: a test fails.
        NotImplementedError: a test for PyTorch's compiler.
    """
    definition = _find(op, "opcheck")
    names = [test_utils] if isinstance(test_utils, str) else list(test_utils)
    results: dict[str, Any] = {}
    for name in names:
        if name not in _TESTS:
            raise NotImplementedError(f"opcheck: {name} is not supported; expected some of {', '.join(_TESTS)}")
        try:
            _TESTS[name](definition, args, kwargs or {}, atol=atol, rtol=rtol)
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error}") from error
            results[name] = error
    return results
