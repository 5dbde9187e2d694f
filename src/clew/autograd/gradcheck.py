"""Is the derivative right? Compare the gradients that backward gives with differences of the function itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from ._gradcheck_error import GradcheckError

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check the gradients of `func` against differences of its values.

    Args:
        func: takes the inputs, returns a tensor or a sequence of tensors.
        inputs: a tensor or a tuple; tensors in it that require a gradient are checked. They should be float64 or
            complex128 (checked in their real and imaginary parts).
        eps: the step of the differences.
        atol, rtol: gradients may differ by atol + rtol * |difference|.
        raise_exception: raise, or return False.
        nondet_tol: how much gradients of two backward passes may differ.
        check_undefined_grad: whether backward copes with gradients that are None.
        check_grad_dtypes: whether gradients must have the dtype of their inputs.
        check_batched_grad, check_batched_forward_grad: not supported yet.
        check_forward_ad: check the derivatives of forward mode, too.
        check_backward_ad: check those of backward.
        fast_mode: compare one random direction of each Jacobian instead of all of its entries.
        masked: for sparse tensors, which are not there; only None and False.

    Returns:
        True, or False if a check failed and `raise_exception` is False.

    Raises:
        GradcheckError: a check failed.
        ValueError: no input requires a gradient.

    Example:
        >>> x = torch.tensor([0.3, 0.7], dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradcheck(lambda x: x.sin() * 2, x)
        True
    """
    _refuse(
        "gradcheck",
        check_batched_grad=check_batched_grad,
        check_batched_forward_grad=check_batched_forward_grad,
        masked=masked,
    )
    from .gradient_checks import Checks

    if not check_backward_ad and not check_forward_ad:
        raise ValueError("gradcheck: expected at least one of check_forward_ad or check_backward_ad to be True")
    func, inputs = _in_real_numbers(func, _tuple(inputs))
    checks = Checks(func, inputs, eps, atol, rtol, nondet_tol, check_grad_dtypes, fast_mode)
    try:
        checks.run(check_undefined_grad, check_forward_ad, check_backward_ad)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check the gradients of the gradients of `func`: `gradcheck` of its backward, also in the outputs' gradients.

    Args:
        grad_outputs: gradients of the outputs to check at; by default drawn from the default generator, from -1 to 1.
        gen_non_contig_grad_outputs: random ones with gaps in memory.
        check_fwd_over_rev, check_rev_over_rev: the backward's derivatives in forward mode, and by another backward.

    The other arguments are those of `gradcheck`.

    Raises:
        GradcheckError: a check failed.
        ValueError: no input requires a gradient, or nothing is to be checked.

    Example:
        >>> x = torch.tensor([0.3, 0.7], dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradgradcheck(lambda x: x**3, x)
        True
    """
    _refuse(
        "gradgradcheck",
        check_batched_grad=check_batched_grad,
        masked=masked,
    )
    from .gradient_checks import backward_of

    if not check_rev_over_rev and not check_fwd_over_rev:
        raise ValueError("gradgradcheck: expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    func, given = _in_real_numbers(func, _tuple(inputs))
    gradients = None if grad_outputs is None else tuple(map(_parts, _tuple(grad_outputs)))
    grad_func, grad_inputs = backward_of(func, given, gradients, gen_non_contig_grad_outputs)
    return gradcheck(
        grad_func,
        grad_inputs,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )


def _parts(value: Any) -> Any:
    """Complex tensors as real ones; all else as it is."""
    if not isinstance(value, Tensor) or not value.is_complex():
        return value
    if value.requires_grad and value.is_leaf:
        return _core.ops.view_as_real(value.detach()).requires_grad_()
    return _core.ops.view_as_real(value)


def _in_real_numbers(func: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The function of the parts of complex inputs, with the parts of its complex results."""
    complex_ones = [isinstance(value, Tensor) and value.is_complex() for value in inputs]

    def by_parts(*given: Any) -> Any:
        whole = (_core.ops.view_as_complex(x) if joins else x for x, joins in zip(given, complex_ones, strict=True))
        result = func(*whole)
        return _parts(result) if isinstance(result, Tensor) else [_parts(each) for each in result]

    return by_parts, tuple(map(_parts, inputs))


def _refuse(function: str, **options: Any) -> None:
    for name, value in options.items():
        if value:
            raise NotImplementedError(f"{function}: {name}={value!r} is not supported yet")


def _tuple(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Tensor):
        return (value,)
    if isinstance(value, Sequence):
        return tuple(value)
    return (value,)
