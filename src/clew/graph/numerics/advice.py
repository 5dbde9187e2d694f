"""What to do about lost digits, where the cause is a known one."""

from __future__ import annotations

from collections.abc import Iterator

from .shadow import Origin, Result

_MOVES = {"clone", "cast", "neg"}
_ADDS = {"add", "sub", "rsub", "accumulate"}
_SOLVERS = ("linalg", "cholesky", "solve")
_MANY = 200  # additions at one line make a long sum

_LOG_OF = {
    "softmax": "use log_softmax(), which never forms the small probabilities",
    "sigmoid": "use nn.functional.logsigmoid()",
    "exp": "leave exp() out: log(exp(x)) is x",
    "prod": "sum the logarithms instead of multiplying",
    "cumprod": "sum the logarithms instead of multiplying",
    "erfc": "use special.log_ndtr(), or erfcx()",
}
_ONE_MINUS = {
    "exp": "use expm1(x) for exp(x) - 1",
    "sigmoid": "use sigmoid(-x) for 1 - sigmoid(x)",
    "softmax": "sum the other probabilities instead of subtracting from 1",
    "cos": "use 2 * sin(x / 2)**2 for 1 - cos(x)",
    "erf": "use erfc(x) for 1 - erf(x)",
    "sqrt": "use x / (sqrt(1 + x) + 1) for sqrt(1 + x) - 1",
    "tanh": "use 2 / (exp(2 * x) + 1) for 1 - tanh(x)",
}
_EXP = (
    "subtract the maximum before exp(), as softmax(), logsumexp() and logaddexp() do; softplus() is log(1 + exp(x)), "
    "expm1() exp(x) - 1"
)
_OVERFLOWS = {
    **dict.fromkeys(("exp", "exp2", "sinh", "cosh", "expm1"), _EXP),
    **dict.fromkeys(
        ("square", "pow", "mul", "product", "dot"),
        "divide by the largest value before squaring or multiplying, as hypot() and linalg.norm() do",
    ),
    **dict.fromkeys(("prod", "cumprod"), "sum the logarithms instead of multiplying"),
    **dict.fromkeys(
        ("sum", "cumsum"), "the sum is too large for this dtype: sum(dtype=float32 or float64), or scale it"
    ),
    **dict.fromkeys(
        ("div", "reciprocal", "rsqrt"), "the denominator is too small for this dtype: scale it, or add an epsilon"
    ),
    "cast": "the value is too large for the new dtype: use bfloat16 or float32 there, or scale it first",
}


def advice(result: Result, calls: int) -> str:
    """For digits that are lost.

    Args:
        result: of the operation that lost them.
        calls: how often its line has run it.
    """
    origin = result.origin
    op, parents = origin.base, list(_parents(origin))
    names = {one.base for one in parents}
    if is_long_sum(origin, calls):
        return (
            f"a long sum ({calls:,} additions, each rounded): collect the terms and sum() them once, or add in float64"
        )
    if op == "log":
        for one in parents:
            if one.base == "add" and 1.0 in one.inputs:
                return "use log1p(x) for log(1 + x)"
        return _log_advice(parents) or _in_float64("log() near 1 amplifies the error of its argument")
    if op in ("sub", "rsub", "add"):
        if 1.0 in origin.inputs or -1.0 in origin.inputs:
            for name in names & _ONE_MINUS.keys():
                return _ONE_MINUS[name]
        if _is_variance(parents):
            return "a variance by subtraction: use var(), or subtract the mean before squaring"
        return (
            "nearly equal numbers are subtracted: rewrite the difference, subtract a common offset while the numbers "
            "are exact, or compute it in float64"
        )
    if op == "pow" and any(one.base == "add" and 1.0 in one.inputs for one in parents):
        return "use exp(n * log1p(x)) for (1 + x)**n"
    if op in ("acos", "asin"):
        return "near 1 these amplify: use atan2() of the sine and the cosine"
    if op in ("sin", "cos", "tan"):
        return (
            "the rounding of its argument is a good part of a period, or of the distance to a zero: reduce it in "
            "float64 first"
        )
    if result.error == 1:
        return "the result underflows to zero: work with logarithms (slogdet() for a determinant), or scale it"
    if any(part in op for part in _SOLVERS):
        return _in_float64("the matrix is nearly singular: scale or regularize it, solve() instead of inv(), or")
    if op == "cast":
        return "the new dtype has too few digits for these values: keep the dtype, or subtract an offset first"
    if result.made > result.inherited:
        return _in_float64("the operation rounds so much by itself: split it, or")
    return _in_float64("it amplifies the error of its inputs, as where terms cancel: subtract their mean first, or")


def is_long_sum(origin: Origin, calls: int) -> bool:
    """Whether the line adds to what it has made itself, many times."""
    own = [one for one in _parents(origin) if one.where == origin.where]
    return calls >= _MANY and origin.base in _ADDS and any(one.base in _ADDS for one in own)


def overflow_advice(origin: Origin) -> str:
    """For a result that is not finite, where float64 has a number."""
    parents = list(_parents(origin))
    if origin.base in ("log", "log2", "log10"):
        return _log_advice(parents) or "the argument has underflowed to zero: work with logarithms from the beginning"
    return _OVERFLOWS.get(origin.base) or _in_float64("scale the values, or")


def _log_advice(parents: list[Origin]) -> str | None:
    for one in parents:
        if one.base in _LOG_OF:
            return _LOG_OF[one.base]
        below = {parent.base for parent in _parents(one)}
        if one.base == "div" and "exp" in below:
            return _LOG_OF["softmax"]
        if one.base in ("sum", "logsumexp") and "exp" in below:
            return "use logsumexp()"
        if one.base in {"mul", *_ADDS} and below & {"softmax", "sigmoid"}:
            return _LOG_OF["softmax" if "softmax" in below else "sigmoid"]
    return None


def _in_float64(before: str) -> str:
    return f"{before} compute this in float64".strip()


def _parents(origin: Origin) -> Iterator[Origin]:
    """What made the inputs, behind operations that only move values or change their sign."""
    for one in origin.inputs:
        while isinstance(one, Origin) and one.base in _MOVES and isinstance(one.inputs[0], Origin):
            one = one.inputs[0]
        if isinstance(one, Origin):
            yield one


def _is_variance(parents: list[Origin]) -> bool:
    """mean(x * x) - mean(x)**2, also of sums."""
    of_squares = [one for one in parents if _is_average(one) and any(map(_is_square, _deep(one)))]
    return bool(of_squares) and any(any(map(_is_average, _deep(one))) and one not in of_squares for one in parents)


def _is_square(origin: Origin) -> bool:
    return origin.base in ("square", "pow") or (origin.base == "mul" and len({*map(id, origin.inputs)}) == 1)


def _is_average(origin: Origin) -> bool:
    sums = {"mean", "sum"}
    return origin.base in sums or (origin.base in ("div", "mul") and any(one.base in sums for one in _parents(origin)))


def _deep(origin: Origin) -> list[Origin]:
    """Two steps up."""
    near = list(_parents(origin))
    return near + [further for one in near for further in _parents(one)]
