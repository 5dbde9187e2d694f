"""What to do about a gradient: by what cut it off, or by the operation that made it zero, infinite, large or small."""

from __future__ import annotations

import math
from collections.abc import Iterable

_CUTS = {
    "detach": "leave detach() out, if the gradient is to pass",
    "data": "use the tensor instead of its .data",
    "no_grad": "compute it outside of no_grad()",
    "inference_mode": "compute it outside of inference_mode()",
    "tensor": "clew.tensor() copies values only: use the tensor itself, or clone()",
    "another leaf": "ask for the gradient of that leaf, or leave out what made it one (requires_grad_(), Parameter())",
}
_CHOICE = "it chooses or compares, and has no derivative: use a smooth form, such as softmax() or sigmoid()"
TO_PYTHON = {
    **dict.fromkeys(
        ("item", "tolist", "numpy", "buffer", "float"),
        "keep it a tensor: numbers of Python's and NumPy's arrays have no history",
    ),
    **dict.fromkeys(("int", "bool", "index"), _CHOICE),
}
"""Ways of values into Python."""

_DEAD = (
    "no input is in the part where it has a slope",
    "look at the scale and the bias of its inputs, or use leaky_relu()",
)
_FLAT = ("it is flat", "it has no slope anywhere: use a smooth form, or a straight-through gradient")
_SATURATED = (
    "it is saturated",
    "scale its inputs down; binary_cross_entropy_with_logits() and cross_entropy() take them before it",
)
_CLAMPED = ("all its inputs are outside of the limits", "widen the limits, or clamp later")
_MASKED = ("the mask takes the other values", "look at the mask")
_FACTOR = ("the other factor is zero", "look at the other factor")

_ZERO = {
    **dict.fromkeys(("relu", "threshold", "relu6", "celu"), _DEAD),
    **dict.fromkeys(("clamp", "clamp_min", "clamp_max", "hardtanh", "hardsigmoid"), _CLAMPED),
    **dict.fromkeys(("sigmoid", "tanh", "softmax", "log_softmax", "log_sigmoid", "softplus", "erf"), _SATURATED),
    **dict.fromkeys(("round", "floor", "ceil", "trunc", "sign", "heaviside"), _FLAT),
    **dict.fromkeys(("where", "masked_fill", "masked_scatter", "masked_select"), _MASKED),
    **dict.fromkeys(("mul", "mm", "addmm", "bmm", "matmul", "product", "convolution", "div"), _FACTOR),
    "exp": ("its result underflows to zero", "work with logarithms"),
    "bernoulli": ("it draws", "a draw has no slope: use distributions with rsample(), or gumbel_softmax()"),
    **dict.fromkeys(
        ("zero", "fill", "copy", "copy_slices"), ("it writes over the values", "write a new tensor instead")
    ),
    "pow": ("its slope is zero here", "look at its inputs: the slope of x**n at 0 is 0"),
    "abs": ("its slope at 0 is taken as 0", "start elsewhere, or add a small number"),
}
_NOT_FINITE = {
    **dict.fromkeys(
        ("sqrt", "pow", "rsqrt", "norm", "linalg_vector_norm", "cdist", "std"),
        "the slope at 0 is infinite: add a small number under the root, or replace zeros before it by torch.where()",
    ),
    **dict.fromkeys(
        ("log", "log2", "log10", "div", "reciprocal", "xlogy", "atan2"),
        "keep its input away from 0: clamp(min=eps) before it, or use log_softmax(), logsumexp(), log1p()",
    ),
    **dict.fromkeys(("acos", "asin", "acosh", "atanh"), "keep its input away from the ends of its domain"),
    **dict.fromkeys(
        ("exp", "sinh", "cosh", "square", "mul"), "it overflows: scale its inputs, or work with logarithms"
    ),
    "softmax": "every value of a row is -inf, as where all is masked: leave one unmasked",
    "where": "a branch that is not taken still has a derivative: make its input harmless by a torch.where() before it",
}
_SMALL = {
    **dict.fromkeys(("sigmoid", "tanh"), "nearly saturated: scale its inputs down, normalize them, or use relu()"),
    **dict.fromkeys(
        ("softmax", "log_softmax", "native_layer_norm", "native_batch_norm"),
        "saturated, or what follows hardly depends on it, as the sum of probabilities or the mean of normalized values",
    ),
    **dict.fromkeys(
        ("mul", "mm", "addmm", "bmm", "matmul", "t"),
        "factors below 1 multiply: scale the weights up, or add residual connections or normalization",
    ),
}
_LARGE = {
    **dict.fromkeys(
        ("mul", "mm", "addmm", "bmm", "matmul", "t"),
        "factors above 1 multiply: scale the weights down, normalize, or clip",
    ),
    **dict.fromkeys(
        ("div", "log", "reciprocal", "sqrt", "rsqrt"), "its input is near 0, where it is steep: add a small number"
    ),
    "exp": "its result is large: scale its input, or work with logarithms",
}


def cut_remedy(cause: str) -> str:
    """For what has ended a history."""
    if cause in _CUTS:
        return _CUTS[cause]
    if cause.startswith("cast to"):
        return "keep it floating-point: whole numbers and truths have no gradient"
    if cause.endswith("without history"):
        return "look between these lines for detach(), .data, no_grad() or a cast to whole numbers"
    if cause.endswith("create_graph"):
        return "pass create_graph=True to the backward that made this gradient"
    return TO_PYTHON.get(cause, _CHOICE)


def rule_remedy(verdict: str, op: str, values: Iterable[float] = ()) -> tuple[str, str]:
    """Why a node does that to a gradient, and what to do; empty where it is not known.

    Args:
        verdict: of :class:`WhyGrad`.
        op: the operation.
        values: that it has read.
    """
    op = op.partition(".")[0].strip("_")
    if verdict == "zero":
        return _ZERO.get(op, ("", "look at its inputs"))
    if verdict == "not finite" and "softmax" not in op and any(map(math.isinf, values)):
        return "", "it combines infinities: look at where they come from"
    table = {"not finite": _NOT_FINITE, "small": _SMALL, "large": _LARGE}[verdict]
    return "", table.get(op, "look at its inputs, or rescale them")
