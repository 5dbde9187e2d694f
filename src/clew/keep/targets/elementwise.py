"""Elementwise operations: the element of the result as an expression of the operands' elements.

The arguments of a formula are the operation's tensors, cast to the dtype in which it computes, and its attributes by
their names in the schema.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .errors import Unsupported
from .functions import FUNCTIONS
from .kernels import greater_of, smaller_of
from .scalar import FLOATS, Expr, Number, call, constant, is_nan, where

Formula = Callable[..., Any]


def sigmoid(x: Expr) -> Expr:
    return 1 / (1 + call("exp", -x))


def softplus(x: Expr) -> Expr:
    """log(1 + exp(x)), where exp(x) would overflow, too."""
    return greater_of(x, constant(0, x.dtype)) + call("log1p", call("exp", -call("abs", x)))


def sign(x: Expr) -> Expr:
    """0 of NaN, as in eager runs."""
    return (x > 0).cast(x.dtype) - (x < 0).cast(x.dtype)


def clamp(x: Expr, low: Expr | Number | None = None, high: Expr | Number | None = None) -> Expr:
    """A bound that is NaN is the result."""
    if low is not None:
        x = where((x < low) | _is_nan(low), low, x)
    return x if high is None else where((x > high) | _is_nan(high), high, x)


def _is_nan(bound: Expr | Number) -> Expr:
    return is_nan(bound) if isinstance(bound, Expr) else constant(math.isnan(bound), "bool")


def power(x: Expr, exponent: Expr | Number) -> Expr:
    if not isinstance(exponent, Expr) or exponent.op == "constant":
        number = exponent.value if isinstance(exponent, Expr) else exponent
        if number in (0, 1, 2, 3):
            return [constant(1, x.dtype), x, x * x, x * x * x][int(number)]
        if x.dtype in FLOATS and number in (-1, 0.5, -0.5):
            root = x if number == -1 else call("sqrt", x)
            return root if number == 0.5 else 1 / root
    if x.dtype not in FLOATS:
        raise Unsupported("of integers")
    return call("pow", x, exponent)


def raised(x: Expr, exponent: Expr | Number | None, base: Number | None) -> Expr:
    """x ** exponent, or base ** x."""
    if base is not None:
        return call("pow", constant(base, x.dtype), x)
    assert exponent is not None
    return power(x, exponent)


def power_slope(g: Expr, x: Expr, exponent: Number) -> Expr:
    return constant(0, g.dtype) if exponent == 0 else g * (power(x, exponent - 1) * exponent)


def remainder(x: Expr, y: Expr) -> Expr:
    """With the sign of y."""
    rest = call("fmod" if x.dtype in FLOATS else "int_rem", x, y)
    return where(rest.differs(0) & ((rest < 0) ^ (y < 0)), rest + y, rest)


def floor_divide(x: Expr, y: Expr) -> Expr:
    if x.dtype not in FLOATS:
        quotient = call("int_div", x, y)
        rest = x - quotient * y
        return where(rest.differs(0) & ((rest < 0) ^ (y < 0)), quotient - 1, quotient)
    rest = call("fmod", x, y)
    quotient = (x - rest) / y
    quotient = where(rest.differs(0) & ((rest < 0) ^ (y < 0)), quotient - 1, quotient)
    nearest = call("floor", quotient)
    return where(y.equals(0), x / y, where(quotient - nearest > 0.5, nearest + 1, nearest))


def divide(x: Expr, y: Expr, rounding_mode: str | None = None) -> Expr:
    if rounding_mode == "floor":
        return floor_divide(x, y)
    if rounding_mode == "trunc":
        return call("trunc", x / y) if x.dtype in FLOATS else call("int_div", x, y)
    return x / y


def gelu(x: Expr, approximate: str = "none") -> Expr:
    if approximate == "tanh":
        return 0.5 * x * (1 + call("tanh", _gelu_inner(x)))
    return 0.5 * x * (1 + call("erf", x * math.sqrt(0.5)))


def gelu_backward(g: Expr, x: Expr, approximate: str = "none") -> Expr:
    if approximate == "tanh":
        t = call("tanh", _gelu_inner(x))
        slope = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * (x * x))
        return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope)
    density = call("exp", -0.5 * (x * x)) * (1 / math.sqrt(2 * math.pi))
    return g * (0.5 * (1 + call("erf", x * math.sqrt(0.5))) + x * density)


def _gelu_inner(x: Expr) -> Expr:
    return math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))


def silu_backward(g: Expr, x: Expr) -> Expr:
    s = sigmoid(x)
    return g * (s * (1 + x * (1 - s)))


def mish_backward(g: Expr, x: Expr) -> Expr:
    t = call("tanh", softplus(x))
    return g * (t + x * (1 - t * t) * sigmoid(x))


def elu(x: Expr, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Expr:
    return where(x > 0, x * scale, call("expm1", x * input_scale) * (alpha * scale))


def elu_backward(g: Expr, x: Expr, alpha: float, scale: float, input_scale: float) -> Expr:
    return g * where(x > 0, constant(scale, x.dtype), call("exp", x * input_scale) * (alpha * scale * input_scale))


def softplus_with(x: Expr, beta: float = 1.0, threshold: float = 20.0) -> Expr:
    return where(x * beta > threshold, x, softplus(x * beta) / beta)


def lerp(x: Expr, end: Expr, weight: Expr | Number) -> Expr:
    return x + (end - x) * weight


def nan_to_num(x: Expr, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Expr:
    largest = 3.4028234663852886e38 if x.dtype == "float32" else 1.7976931348623157e308
    x = where(is_nan(x), 0.0 if nan is None else nan, x)
    x = where(x.equals(math.inf), largest if posinf is None else posinf, x)
    return where(x.equals(-math.inf), -largest if neginf is None else neginf, x)


def logit(x: Expr, eps: float | None = None) -> Expr:
    if eps is not None:
        x = clamp(x, eps, 1 - eps)
    return call("log", x / (1 - x))


def xlogy(x: Expr, y: Expr) -> Expr:
    return where(x.equals(0) & ~is_nan(y), constant(0, x.dtype), x * call("log", y))


def absolute(x: Expr) -> Expr:
    return call("abs", x) if x.dtype in FLOATS else where(x < 0, -x, x)


def _or_nan(x: Expr, value: Expr) -> Expr:
    """`value`, but NaN where x is."""
    return where(is_nan(x), x, value)


def _scaled(x: Expr, alpha: Number) -> Expr:
    return x * alpha


def _function(name: str) -> Formula:
    return lambda x: call(name, x)


def _rounding(name: str) -> Formula:
    return lambda x: call(name, x) if x.dtype in FLOATS else x


ARITHMETIC: dict[str, Formula] = {
    name: _function(name) for name, one in FUNCTIONS.items() if one.c == f"{name}{{f}}({{0}})"
} | {
    "add": lambda x, y, alpha=1: x + _scaled(y, alpha),
    "accumulate": lambda x, y: x + y,
    "sub": lambda x, y, alpha=1: x - _scaled(y, alpha),
    "_rsub": lambda x, y, alpha=1: y - _scaled(x, alpha),
    "rsub": lambda x, y, alpha=1: y - _scaled(x, alpha),
    "mul": lambda x, y: x * y,
    "div": divide,
    "_rdiv": lambda x, y: y / x,
    "neg": lambda x: -x,
    "reciprocal": lambda x: 1 / x,
    "square": lambda x: x * x,
    "rsqrt": lambda x: 1 / call("sqrt", x),
    "pow": lambda x, *y, exponent=None, self=None: raised(x, y[0] if y else exponent, self),
    "power_slope": power_slope,
    "_pow_by_base": lambda g, x, y: where(y.equals(0), 0, g * y * call("pow", x, y - 1)),
    "_pow_by_exponent": lambda g, x, y, result: g * where(x.equals(0) & (y >= 0), 0, result * call("log", x)),
    "remainder": remainder,
    "fmod": lambda x, y: call("fmod" if x.dtype in FLOATS else "int_rem", x, y),
    "floor_divide": floor_divide,
    "maximum": greater_of,
    "minimum": smaller_of,
    "atan2": lambda x, y: call("atan2", x, y),
    "xlogy": xlogy,
    "abs": absolute,
    "sign": sign,
    "sgn": sign,
    "floor": _rounding("floor"),
    "ceil": _rounding("ceil"),
    "trunc": _rounding("trunc"),
    "round": lambda x, decimals=0: (
        call("round", x) if decimals == 0 else call("round", x * 10.0**decimals) / 10.0**decimals
    ),
    "clamp": lambda x, *bounds, min=None, max=None: clamp(x, *bounds) if bounds else clamp(x, min, max),
    "clamp_min": lambda x, *low, min=None: clamp(x, *low or (min,)),
    "clamp_max": lambda x, *high, max=None: clamp(x, None, *high or (max,)),
    "where": where,
    "masked_fill": lambda x, mask, *values, value=None: where(mask, values[0] if values else value, x),
    "lerp": lerp,
    "addcmul": lambda x, y, z, value=1: x + y * z * value,
    "_div_mul": lambda x, y, z: x / y * z,
    "addcdiv": lambda x, y, z, value=1: x + y / z * value,
    "nan_to_num": nan_to_num,
    "sigmoid": sigmoid,
    "_sigmoid_backward": lambda g, y: g * (1 - y) * y,
    "_tanh_backward": lambda g, y: g * (1 - y * y),
    "relu": lambda x: where(x < 0, constant(0, x.dtype), x),
    "threshold": lambda x, threshold, value: where(x <= threshold, value, x),
    "_threshold_backward": lambda g, x, threshold: where(x <= threshold, 0, g),
    "hardtanh": lambda x, min_val=-1, max_val=1: clamp(x, min_val, max_val),
    "_hardtanh_backward": lambda g, x, min_val, max_val: _or_nan(x, where((x > min_val) & (x < max_val), g, 0)),
    "hardsigmoid": lambda x: clamp(x + 3, 0, 6) / 6,
    "_hardsigmoid_backward": lambda g, x: _or_nan(x, where((x > -3) & (x < 3), g / 6, 0)),
    "hardswish": lambda x: x * clamp(x + 3, 0, 6) / 6,
    "_hardswish_backward": lambda g, x: _or_nan(x, where(x <= -3, 0, where(x < 3, g * (x / 3 + 0.5), g))),
    "_prelu_kernel": lambda x, weight: where(x > 0, x, x * weight),
    "leaky_relu": lambda x, negative_slope=0.01: where(x > 0, x, x * negative_slope),
    "_leaky_relu_backward": lambda g, x, negative_slope: where(x > 0, g, g * negative_slope),
    "elu": elu,
    "_elu_backward": elu_backward,
    "celu": lambda x, alpha=1.0: elu(x, alpha, 1.0, 1 / alpha),
    "silu": lambda x: x * sigmoid(x),
    "_silu_backward": silu_backward,
    "mish": lambda x: x * call("tanh", softplus(x)),
    "_mish_backward": mish_backward,
    "gelu": gelu,
    "_gelu_backward": gelu_backward,
    "logsigmoid": lambda x: -softplus(-x),
    "_logsigmoid_backward": lambda g, x: g * sigmoid(-x),
    "softplus": softplus_with,
    "_softplus_backward": lambda g, x, beta, threshold: where(x * beta > threshold, g, g * sigmoid(x * beta)),
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
    "bitwise_not": lambda x: ~x,
    "fill": lambda x, *values, value=None: values[0] if values else value,
    "zero": lambda x: 0,
    "clone": lambda x, memory_format=None: x,
    "_contiguous": lambda x: x,
    "_cast": lambda x: x,
    "constant": lambda x: x,
    "copy": lambda x, source: source,
    "_copy_laid_as": lambda x, like: x,
    "_full_like": lambda x, fill_value, dtype=None: fill_value,
    "_empty_like": lambda x, dtype=None: 0,
}

COMPARING: dict[str, Formula] = {
    "eq": lambda x, y: x.equals(y),
    "ne": lambda x, y: x.differs(y),
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "isnan": is_nan,
    "isinf": lambda x: absolute(x).equals(math.inf) if x.dtype in FLOATS else x.differs(x),
    "isfinite": lambda x: absolute(x) < math.inf if x.dtype in FLOATS else x.equals(x),
}

LOGICAL: dict[str, Formula] = {
    "logical_and": lambda x, y: x & y,
    "logical_or": lambda x, y: x | y,
    "logical_xor": lambda x, y: x ^ y,
    "logical_not": lambda x: ~x,
}

MASKS = {"where": (0,), "masked_fill": (1,)}
"""Operands that stay bool."""
