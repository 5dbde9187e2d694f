"""The scalar functions of expressions, and what each target calls them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .scalar import Expr, call, constant, where


@dataclass(frozen=True)
class Function:
    c: str
    """With {0}, {1}, ... for the arguments and {f} for "f" where they are float32."""
    onnx: str | Callable[..., Expr] | None
    """The operator, or what it is made of; None: there is none."""
    jax: str
    """In jax.numpy, or with its module."""
    wraps: bool = False
    """Whether integers that are too large wrap around; they must not overflow in C."""


def _expm1(x: Expr) -> Expr:
    half = call("tanh", x / 2)
    return where(call("abs", x) > 1, call("exp", x) - 1, 2 * half / (1 - half))


def _log1p(x: Expr) -> Expr:
    sum_ = x + 1
    exact = sum_.equals(1)
    return where(exact, x, call("log", sum_) * x / where(exact, constant(1, x.dtype), sum_ - 1))


def _atan2(y: Expr, x: Expr) -> Expr:
    angle = call("atan", y / x)
    half_turn = where(y < 0, constant(-3.141592653589793, y.dtype), 3.141592653589793)
    upright = where(
        y > 0, constant(1.5707963267948966, y.dtype), where(y < 0, constant(-1.5707963267948966, y.dtype), 0.0)
    )
    return where(x > 0, angle, where(x < 0, angle + half_turn, upright))


FUNCTIONS = {
    "add": Function("{0} + {1}", "Add", "add", wraps=True),
    "sub": Function("{0} - {1}", "Sub", "subtract", wraps=True),
    "mul": Function("{0} * {1}", "Mul", "multiply", wraps=True),
    "div": Function("{0} / {1}", "Div", "divide"),
    "neg": Function("-{0}", "Neg", "negative", wraps=True),
    "fmod": Function("fmod{f}({0}, {1})", "Mod", "fmod"),
    "int_div": Function("quotient({0}, {1})", "Div", "lax.div"),
    "int_rem": Function("rest({0}, {1})", "Mod", "lax.rem"),
    "pow": Function("pow{f}({0}, {1})", "Pow", "power"),
    "atan2": Function("atan2{f}({0}, {1})", _atan2, "arctan2"),
    "hypot": Function("hypot{f}({0}, {1})", lambda x, y: call("sqrt", x * x + y * y), "hypot"),
    "copysign": Function("copysign{f}({0}, {1})", None, "copysign"),
    "less": Function("{0} < {1}", "Less", "less"),
    "greater": Function("{0} > {1}", "Greater", "greater"),
    "less_equal": Function("{0} <= {1}", "LessOrEqual", "less_equal"),
    "greater_equal": Function("{0} >= {1}", "GreaterOrEqual", "greater_equal"),
    "equal": Function("{0} == {1}", "Equal", "equal"),
    "and": Function("{0} && {1}", "And", "logical_and"),
    "or": Function("{0} || {1}", "Or", "logical_or"),
    "not": Function("!{0}", "Not", "logical_not"),
    "bit_and": Function("{0} & {1}", "BitwiseAnd", "bitwise_and"),
    "bit_or": Function("{0} | {1}", "BitwiseOr", "bitwise_or"),
    "bit_xor": Function("{0} ^ {1}", "BitwiseXor", "bitwise_xor"),
    "bit_not": Function("~{0}", "BitwiseNot", "bitwise_not"),
    "where": Function("{0} ? {1} : {2}", "Where", "where"),
    "abs": Function("fabs{f}({0})", "Abs", "abs"),
    "floor": Function("floor{f}({0})", "Floor", "floor"),
    "ceil": Function("ceil{f}({0})", "Ceil", "ceil"),
    "trunc": Function("trunc{f}({0})", lambda x: where(x < 0, call("ceil", x), call("floor", x)), "trunc"),
    "round": Function("nearbyint{f}({0})", "Round", "round"),
    "sqrt": Function("sqrt{f}({0})", "Sqrt", "sqrt"),
    "exp": Function("exp{f}({0})", "Exp", "exp"),
    "exp2": Function("exp2{f}({0})", lambda x: call("pow", constant(2, x.dtype), x), "exp2"),
    "expm1": Function("expm1{f}({0})", _expm1, "expm1"),
    "log": Function("log{f}({0})", "Log", "log"),
    "log2": Function("log2{f}({0})", lambda x: call("log", x) / 0.6931471805599453, "log2"),
    "log10": Function("log10{f}({0})", lambda x: call("log", x) / 2.302585092994046, "log10"),
    "log1p": Function("log1p{f}({0})", _log1p, "log1p"),
    "sin": Function("sin{f}({0})", "Sin", "sin"),
    "cos": Function("cos{f}({0})", "Cos", "cos"),
    "tan": Function("tan{f}({0})", "Tan", "tan"),
    "asin": Function("asin{f}({0})", "Asin", "arcsin"),
    "acos": Function("acos{f}({0})", "Acos", "arccos"),
    "atan": Function("atan{f}({0})", "Atan", "arctan"),
    "sinh": Function("sinh{f}({0})", "Sinh", "sinh"),
    "cosh": Function("cosh{f}({0})", "Cosh", "cosh"),
    "tanh": Function("tanh{f}({0})", "Tanh", "tanh"),
    "asinh": Function("asinh{f}({0})", "Asinh", "arcsinh"),
    "acosh": Function("acosh{f}({0})", "Acosh", "arccosh"),
    "atanh": Function("atanh{f}({0})", "Atanh", "arctanh"),
    "erf": Function("erf{f}({0})", "Erf", "jax.scipy.special.erf"),
    "erfc": Function("erfc{f}({0})", None, "jax.scipy.special.erfc"),
    "lgamma": Function("lgamma{f}({0})", None, "jax.scipy.special.gammaln"),
}
"""All that the three targets know of a scalar function is one line here."""
