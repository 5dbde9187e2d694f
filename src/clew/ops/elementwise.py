"""Operations on one element, or on pairs of them, whose loops are NumPy's.

Each is one entry of a table: schema, loop, derivatives, what dtype it is computed in, where it is sampled, what it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from .. import _core
from .._core import Tensor
from .._numeric import array_of, result_type
from .._operation import ELEMENT_BY_ELEMENT, FUNCTION, IN_PLACE, METHOD, OUT, OUT_ALIKE, Rule, operation
from .._size import broadcast_shapes
from . import _elementwise_derivatives as derivatives

_ops: Any = _core.ops
_NUMPY = {kind: _core.dtype_name(kind) for kind in _core.dtypes.values()}
_FLAGS = METHOD | FUNCTION | IN_PLACE | OUT | ELEMENT_BY_ELEMENT
_OUT_ALIKE = ("frac", "heaviside")
_OWN_NODE_IN_PLACE = ("acosh", "asinh", "atanh")
# What dtype an operation is computed in: that of its operands, with integers as floats, or refused for those.
SAME, FLOAT, FLOATS_ONLY, INTEGERS_ONLY, ONE_DTYPE = "same", "float", "floats", "integers", "one dtype"
COMPLEX = "float or complex"  # the others refuse complex numbers


def common_dtype(name: str, tensors: list[Tensor], kind: str) -> Any:
    """The NumPy dtype that all operands are cast to."""
    dtype = result_type(*tensors) if len(tensors) == 2 else tensors[0].dtype
    if kind == ONE_DTYPE and any(one.dtype != dtype for one in tensors):
        kinds = " and ".join(str(one.dtype) for one in tensors)
        raise RuntimeError(f"{name}: expected two tensors of one dtype, got {kinds}; cast one")
    if dtype.is_complex and kind != COMPLEX:
        raise NotImplementedError(f"{name}: not implemented for dtype {dtype}; take the real parts first")
    if kind in (FLOAT, COMPLEX) and not (dtype.is_floating_point or dtype.is_complex):
        dtype = _core.get_default_dtype()
    if (kind == FLOATS_ONLY and not dtype.is_floating_point) or (
        kind == INTEGERS_ONLY and (dtype.is_floating_point or dtype == _core.dtypes["bool"])
    ):
        raise NotImplementedError(f"{name}: not implemented for dtype {dtype}; expected {kind}, cast the input first")
    return _NUMPY[dtype]


def _define(
    schema: str, loop: Callable[..., Any], kind: str, rules: tuple[Rule | None, ...], where: str, doc: str
) -> None:
    name = schema.partition("(")[0]

    def forward(*arguments: Any) -> Any:
        tensors = [one for one in arguments if isinstance(one, Tensor)]
        dtype = common_dtype(name, tensors, kind)
        broadcast_shapes(*(one.shape for one in tensors))
        return loop(*(array_of(one).astype(dtype) if isinstance(one, Tensor) else one for one in arguments))

    forward.__doc__ = doc
    # PyTorch's name of a node without a derivative is that.
    node = "torch::autograd::NotImplemented" if derivatives.no_slope in rules else f"{name.title()}Backward0"
    written = f"{name.title()}Backward1" if name in _OWN_NODE_IN_PLACE else ""
    flags = _FLAGS | OUT_ALIKE if name in _OUT_ALIKE else _FLAGS
    operation(schema, rules=rules, node=node, in_place_node=written, flags=flags, domain=where, arrays=False)(forward)


# --------------------------------------------------------------------------------------------------------------- loops
def _logit(x: Any, eps: float | None) -> Any:
    if eps is not None:
        x = numpy.where(x < eps, x.dtype.type(eps), numpy.where(x > 1 - eps, x.dtype.type(1 - eps), x))
    return numpy.log(x / (1 - x))


def _heaviside(x: Any, values: Any) -> Any:
    return numpy.where(x == 0, values, x > 0).astype(x.dtype)


_TABLE: list[tuple[str, Callable[..., Any], str, tuple[Rule | None, ...], str, str]] = [
    (
        "acosh(Tensor self)", numpy.arccosh, COMPLEX,
        (derivatives.acosh_slope,),
        "self=1 + positive(a, b)",
        """The inverse of cosh, at least 0; NaN below 1.

        Example:
            >>> torch.acosh(torch.tensor([1.0, 2.0]))
            tensor([0.0000, 1.3170])
        """,
    ),
    (
        "asinh(Tensor self)", numpy.arcsinh, COMPLEX, (lambda g, self: g * (self * self + 1).rsqrt().conj(),), "real",
        """The inverse of sinh.

        Example:
            >>> torch.asinh(torch.tensor([0.0, 1.0]))
            tensor([0.0000, 0.8814])
        """,
    ),
    (
        "atanh(Tensor self)", numpy.arctanh, COMPLEX, (lambda g, self: g / (1 - self * self).conj(),), "unit",
        """The inverse of tanh; NaN beyond -1 and 1.

        Example:
            >>> torch.atanh(torch.tensor([0.0, 0.5]))
            tensor([0.0000, 0.5493])
        """,
    ),
    (
        "deg2rad(Tensor self)", lambda x: x * x.dtype.type(math.pi / 180), FLOAT, (lambda g: g * (math.pi / 180),),
        "real",
        """self * pi / 180: degrees in radians.

        Example:
            >>> torch.deg2rad(torch.tensor([0.0, 180.0]))
            tensor([0.0000, 3.1416])
        """,
    ),
    (
        "rad2deg(Tensor self)", lambda x: x * x.dtype.type(180 / math.pi), FLOAT, (lambda g: g * (180 / math.pi),),
        "real",
        """self * 180 / pi: radians in degrees.

        Example:
            >>> torch.rad2deg(torch.tensor([0.0, 3.0]))
            tensor([  0.0000, 171.8873])
        """,
    ),
    (
        "frac(Tensor self)", lambda x: x - numpy.trunc(x), FLOATS_ONLY, (lambda g: g,), "nonzero",
        """The fractional part self - trunc(self), with the sign of the number.

        Example:
            >>> torch.frac(torch.tensor([1.5, -2.25]))
            tensor([ 0.5000, -0.2500])
        """,
    ),
    (
        "sinc(Tensor self)", numpy.sinc, FLOAT, (derivatives.sinc_slope,), "nonzero",
        """sin(pi x) / (pi x), and 1 at 0.

        Example:
            >>> torch.sinc(torch.tensor([0.0, 0.5]))
            tensor([1.0000, 0.6366])
        """,
    ),
    (
        "logit(Tensor self, float? eps=None)", _logit, FLOAT, (derivatives.logit_slope,), "fraction; fraction, eps=0.3",
        """log(x / (1 - x)), the inverse of sigmoid; with eps, x is first clamped to [eps, 1 - eps].

        Example:
            >>> torch.logit(torch.tensor([0.5, 0.75]))
            tensor([0.0000, 1.0986])
        """,
    ),
    (
        "hypot(Tensor self, Tensor other)", numpy.hypot, FLOATS_ONLY,
        (lambda g, self, result: g * (self / result), lambda g, other, result: g * (other / result)), "real",
        """sqrt(self² + other²) without overflow in between.

        Example:
            >>> torch.hypot(torch.tensor([3.0]), torch.tensor([4.0]))
            tensor([5.])
        """,
    ),
    (
        "logaddexp(Tensor self, Tensor other)", numpy.logaddexp, FLOATS_ONLY,
        (lambda g, self, other: g * (self - other).sigmoid(), lambda g, self, other: g * (other - self).sigmoid()),
        "real",
        """log(exp(self) + exp(other)) without overflow in between.

        Example:
            >>> torch.logaddexp(torch.tensor([0.0]), torch.tensor([0.0]))
            tensor([0.6931])
        """,
    ),
    (
        "logaddexp2(Tensor self, Tensor other)", numpy.logaddexp2, FLOATS_ONLY,
        (
            lambda g, self, other: g * ((self - other) * math.log(2)).sigmoid(),
            lambda g, self, other: g * ((other - self) * math.log(2)).sigmoid(),
        ),
        "real",
        """log2(2 ** self + 2 ** other) without overflow in between.

        Example:
            >>> torch.logaddexp2(torch.tensor([1.0]), torch.tensor([1.0]))
            tensor([2.])
        """,
    ),
    (
        "copysign(Tensor self, Operand other)", numpy.copysign, FLOAT,
        (derivatives.copysign_slope, lambda g: g.new_zeros(g.shape)), "nonzero",
        """The magnitude of self with the sign of other; zeros have signs, too.

        Example:
            >>> torch.copysign(torch.tensor([1.0, 2.0]), torch.tensor([-0.0, 3.0]))
            tensor([-1.,  2.])
        """,
    ),
    (
        "fmax(Tensor self, Tensor other)", numpy.fmax, SAME,
        (
            lambda g, self, other: derivatives.part(g, derivatives.larger(self, other)),
            lambda g, self, other: derivatives.part(g, ~derivatives.larger(self, other)),
        ),
        "real",
        """The larger of two; where one is NaN, the other.

        Example:
            >>> torch.fmax(torch.tensor([1.0, torch.nan]), torch.tensor([2.0, 3.0]))
            tensor([2., 3.])
        """,
    ),
    (
        "fmin(Tensor self, Tensor other)", numpy.fmin, SAME,
        (
            lambda g, self, other: derivatives.part(g, derivatives.smaller(self, other)),
            lambda g, self, other: derivatives.part(g, ~derivatives.smaller(self, other)),
        ),
        "real",
        """The smaller of two; where one is NaN, the other.

        Example:
            >>> torch.fmin(torch.tensor([1.0, torch.nan]), torch.tensor([2.0, 3.0]))
            tensor([1., 3.])
        """,
    ),
    (
        "nextafter(Tensor self, Tensor other)", numpy.nextafter, FLOATS_ONLY,
        (lambda g, self, other: g.masked_fill(self == other, 0), lambda g: g.new_zeros(g.shape)), "real",
        """The next number of the dtype after self toward other.

        Example:
            >>> torch.nextafter(torch.tensor([1.0]), torch.tensor([2.0])).item()
            1.0000001192092896
        """,
    ),
    (
        "gcd(Tensor self, Tensor other)", numpy.gcd, INTEGERS_ONLY, (), "integer",
        """The greatest common divisor of integers.

        Example:
            >>> torch.gcd(torch.tensor([12, 5]), torch.tensor([18, 10]))
            tensor([6, 5])
        """,
    ),
    (
        "lcm(Tensor self, Tensor other)", numpy.lcm, INTEGERS_ONLY, (), "integer",
        """The least common multiple of integers.

        Example:
            >>> torch.lcm(torch.tensor([4, 5]), torch.tensor([6, 10]))
            tensor([12, 10])
        """,
    ),
    (
        "heaviside(Tensor self, Tensor values)", _heaviside, ONE_DTYPE,
        (derivatives.no_slope, derivatives.no_slope), "real",
        """The step function: 0 below 0, 1 above it, and `values` at 0.

        Example:
            >>> torch.heaviside(torch.tensor([-1.5, 0.0, 2.0]), torch.tensor([0.5]))
            tensor([0.0000, 0.5000, 1.0000])
        """,
    ),
]  # fmt: skip
for _entry in _TABLE:
    _define(*_entry)
