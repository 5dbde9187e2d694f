"""What distributions share: broadcasting of parameters, probabilities and log-odds, properties computed once."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import update_wrapper, wraps
from operator import attrgetter
from types import FunctionType
from typing import Any, ClassVar, Generic, TypeVar, overload

import clew
import clew.nn.functional as F
from clew import Tensor
from clew.overrides import is_tensor_like

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060
_Result = TypeVar("_Result")


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors of one common shape. Numbers take the dtype of the first tensor, or the default dtype if there is none.

    Raises:
        ValueError: a value is neither a number nor a tensor.

    Example:
        >>> torch.distributions.utils.broadcast_all(1, torch.zeros(2))
        (tensor([1., 1.]), tensor([0., 0.]))
    """
    if not all(is_tensor_like(value) or is_number(value) for value in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__; "
            f"got {', '.join(type(value).__name__ for value in values)}"
        )
    first = next((value for value in values if isinstance(value, Tensor)), None)
    dtype = clew.get_default_dtype() if first is None else first.dtype
    tensors = [value if is_tensor_like(value) else clew.tensor(value, dtype=dtype) for value in values]
    return tuple(clew.broadcast_tensors(*tensors))


def is_number(value: Any) -> bool:
    """Whether it is a number of Python's."""
    return isinstance(value, int | float | complex)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities from log-odds (binary), or from unnormalised log-probabilities along the last axis.

    Example:
        >>> torch.distributions.utils.logits_to_probs(torch.zeros(2))
        tensor([0.5000, 0.5000])
    """
    return clew.sigmoid(logits) if is_binary else clew.softmax(logits, -1)


def clamp_probs(probs: Tensor) -> Tensor:
    """`probs` kept away from 0 and 1 by the dtype's epsilon.

    Example:
        >>> bool(torch.distributions.utils.clamp_probs(torch.tensor(0.0)) > 0)
        True
    """
    eps = clew.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log-odds (binary), or log-probabilities; finite, since `probs` are clamped first.

    Example:
        >>> torch.distributions.utils.probs_to_logits(torch.tensor(0.5), is_binary=True)
        tensor(0.)
    """
    inside = clamp_probs(probs)
    return inside.log() - (-inside).log1p() if is_binary else inside.log()


def sum_rightmost(value: Tensor, dims: int) -> Tensor:
    """The sum over the last `dims` axes."""
    return value if dims == 0 else value.reshape((*value.shape[:-dims], -1)).sum(-1)


def standard_normal(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Draws from N(0, 1), of the dtype of `like`."""
    return clew.empty(shape, dtype=like.dtype).normal_()


_sum_rightmost = sum_rightmost  # PyTorch's names of these, which libraries import


def _standard_normal(shape: tuple[int, ...], dtype: Any, device: Any) -> Tensor:
    return clew.empty(shape, dtype=dtype, device=device).normal_()


def uniform(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Draws from [0, 1), of the dtype of `like`."""
    return clew.rand(shape, dtype=like.dtype)


def full_of(number: float, shape: tuple[int, ...], like: Tensor) -> Tensor:
    """One number everywhere, of the dtype of `like`."""
    return clew.full(shape, number, dtype=like.dtype)


class lazy_property(Generic[_Result]):
    """A property that is computed when it is first read, with gradients recorded, and kept from then on.

    Example:
        >>> class Square:
        ...     side = 3
        ...     @torch.distributions.utils.lazy_property
        ...     def area(self):
        ...         return self.side**2
        >>> one = Square()
        >>> one.area, "area" in one.__dict__
        (9, True)
    """

    def __init__(self, wrapped: Callable[[Any], _Result]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    @overload
    def __get__(self, instance: None, owner: Any = None) -> lazy_property[_Result]: ...
    @overload
    def __get__(self, instance: Any, owner: Any = None) -> _Result: ...
    def __get__(self, instance: Any, owner: Any = None) -> _Result | lazy_property[_Result]:
        if instance is None:
            return self
        with clew.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class Formulas:
    """Members of a class as a table of expressions in its attributes.

    An expression is a function whose arguments are named after the attributes (`self` is the object itself), or the
    path of one attribute. What is a method of a base class stays one, and its arguments come first; anything else is a
    property.

    Example:
        >>> class Rectangle(clew.distributions.utils.Formulas):
        ...     width, height = 2, 3
        ...     _formulas = {"area": lambda width, height: width * height, "length": "height"}
        >>> Rectangle().area, Rectangle().length
        (6, 3)
    """

    _formulas: ClassVar[Any] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, formula in cls.__dict__.get("_formulas", {}).items():
            setattr(cls, name, _member(getattr(cls, name, None), formula))


def _path_getter(names: list[str]) -> Callable[[Any], Any]:
    """As `attrgetter` of names with dots, but in Python, so that a compiled function sees what it reads."""

    def get(owner: Any) -> Any:
        for name in names:
            owner = getattr(owner, name)
        return owner

    return get


def _member(inherited: Any, formula: Any) -> Any:
    if isinstance(formula, str):
        get = _path_getter(formula.split(".")) if "." in formula else attrgetter(formula)
        return property(get, doc=inherited.__doc__ if inherited else None)
    names = formula.__code__.co_varnames[: formula.__code__.co_argcount]

    def evaluate(self: Any, *args: Any, **given: Any) -> Any:
        for name in names[len(args) :]:
            if name not in given:
                given[name] = self if name == "self" else getattr(self, name)
        return formula(*args, **given)

    is_method = isinstance(inherited, FunctionType)
    return wraps(inherited)(evaluate) if is_method else property(evaluate, doc=inherited.__doc__ if inherited else None)


def _lower_mask(size: int, diag: int) -> Tensor:
    place = clew.arange(size)
    return place < place.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements on and below a diagonal of matrices (..., D, D), row by row: (..., N).

    Raises:
        ValueError: no such diagonal.

    Example:
        >>> torch.distributions.utils.tril_matrix_to_vec(torch.tensor([[1, 2], [3, 4]]))
        tensor([1, 3, 4])
    """
    size = mat.shape[-1]
    if not -size <= diag < size:
        raise ValueError(f"diag ({diag}) provided is outside [{-size}, {size - 1}].")
    return mat[..., _lower_mask(size, diag)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The inverse of `tril_matrix_to_vec`: matrices (..., D, D) that are 0 above the diagonal.

    Raises:
        ValueError: the vector has not as many elements as a triangle.

    Example:
        >>> torch.distributions.utils.vec_to_tril_matrix(torch.tensor([1.0, 3.0, 4.0]))
        tensor([[1., 0.],
                [3., 4.]])
    """
    # N = sum over the rows of how much of them is filled; solved for D.
    odd = 1 + 2 * diag
    size = (math.sqrt(odd**2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) - odd) / 2
    if round(size) - size > clew.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as "
            "the lower triangular part of a square D x D matrix."
        )
    side = round(size)
    matrix = vec.new_zeros((*vec.shape[:-1], side, side))
    matrix[..., _lower_mask(side, diag)] = vec
    return matrix


def probs_or_logits(probs: Any, logits: Any) -> dict[str, Any]:
    """The one of the two that was given, under its name."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return {"logits": logits} if probs is None else {"probs": probs}


def cross_entropy(logits: Tensor, value: Tensor) -> Tensor:
    """-log of the probability of 0 or 1, from log-odds."""
    result: Tensor = F.binary_cross_entropy_with_logits(logits, value, reduction="none")
    return result
