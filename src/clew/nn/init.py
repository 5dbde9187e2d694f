"""Initial values: each function fills a tensor in place and returns it.

The random ones draw from the generator in PyTorch's order, so the same seed gives the same weights.
"""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import clew
from clew import Tensor

from .._methods import publish as _publish
from .._unsupported import missing_from as _missing_from
from ._init_matrices import dirac_ as dirac_
from ._init_matrices import eye_ as eye_
from ._init_matrices import orthogonal_ as orthogonal_
from ._init_matrices import sparse_ as sparse_

__all__ = [
    "calculate_gain",
    "constant",
    "constant_",
    "dirac",
    "dirac_",
    "eye",
    "eye_",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal",
    "normal_",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "sparse",
    "sparse_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zeros_",
]

_GAINS = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
_NO_GAIN = (
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "sigmoid",
)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which weights before `nonlinearity` are scaled so that variances are kept from layer to layer.

    Args:
        param: the slope of `"leaky_relu"`, 0.01 by default.

    Raises:
        ValueError: another nonlinearity, or a slope that is no number.

    Example:
        >>> torch.nn.init.calculate_gain("tanh")
        1.6666666666666667
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity in _NO_GAIN:
        return 1.0
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill the tensor, in place and without history, with draws from U(a, b).

    Example:
        >>> weight = torch.nn.init.uniform_(torch.empty(100), -1.0, 1.0)
        >>> bool((weight.abs() <= 1).all())
        True
    """
    with clew.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill the tensor with draws from N(mean, std²).

    Example:
        >>> _ = torch.manual_seed(0)
        >>> torch.nn.init.normal_(torch.empty(2))
        tensor([ 1.5410, -0.2934])
    """
    with clew.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Fill the tensor with draws from N(mean, std²) restricted to [a, b].

    Example:
        >>> weight = torch.nn.init.trunc_normal_(torch.empty(100), a=-1.0, b=1.0)
        >>> bool((weight.abs() <= 1).all())
        True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=2,
        )
    below = (math.erf((bound - mean) / std / math.sqrt(2.0)) for bound in (a, b))
    inside = -(next(below) - next(below)) / 2
    draw = _normal_inside if inside > 0.3 else _uniform_accepted
    with clew.no_grad():
        return draw(tensor, mean, std, a, b, generator)


def _normal_inside(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> Tensor:
    """Draw normals, and again for all, keeping those that were inside, until all are."""
    bounds = tensor.new_tensor([a, b])
    tensor.normal_(mean, std, generator=generator)
    while bool((outside := (tensor < bounds[0]) | (tensor > bounds[1])).any()):
        again = clew.empty_like(tensor).normal_(mean, std, generator=generator)
        tensor.copy_(clew.where(outside, again, tensor))
    return tensor


def _uniform_accepted(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> Tensor:
    """Draw from U(a, b), accept with the normal's density: better where little of the normal is inside."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    pending = clew.ones_like(tensor, dtype=clew.bool)
    while True:
        candidate = clew.empty_like(tensor).uniform_(a, b, generator=generator)
        log_density = ((candidate - mean) / std).pow(2) * -0.5 - peak
        refused = clew.empty_like(tensor).uniform_(generator=generator).log() > log_density
        tensor.copy_(clew.where(pending, candidate, tensor))
        pending = pending & refused
        if not bool(pending.any()):
            return tensor


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill the tensor with the value `val`.

    Example:
        >>> torch.nn.init.constant_(torch.empty(2), 0.5)
        tensor([0.5000, 0.5000])
    """
    with clew.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill the tensor with ones.

    Example:
        >>> torch.nn.init.ones_(torch.empty(2))
        tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill the tensor with zeros.

    Example:
        >>> torch.nn.init.zeros_(torch.empty(2))
        tensor([0., 0.])
    """
    return constant_(tensor, 0.0)


def _fans(tensor: Tensor) -> tuple[int, int]:
    """How many inputs an output has, and how many outputs an input."""
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions, "
            f"got {tensor.dim()}; use uniform_ or normal_"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ("fan_in", "fan_out")
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {list(modes)}")
    return _fans(tensor)[modes.index(mode.lower())]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with draws from U(-a, a), a = gain * sqrt(6 / (fan_in + fan_out)).

    Glorot and Bengio, 2010, https://proceedings.mlr.press/v9/glorot10a.html. For a weight (out, in, ...) fan_in is `in`
    times the sizes after it, fan_out `out` times those.

    Raises:
        ValueError: fewer than two dimensions.

    Example:
        >>> weight = torch.nn.init.xavier_uniform_(torch.empty(3, 3))
        >>> bool((weight.abs() <= 1).all())
        True
    """
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with draws from N(0, std²), std = gain * sqrt(2 / (fan_in + fan_out)). See `xavier_uniform_`.

    Raises:
        ValueError: fewer than two dimensions.

    Example:
        >>> torch.nn.init.xavier_normal_(torch.empty(100, 100)).std().item() < 0.11
        True
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))), generator)


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill with draws from U(-b, b), b = gain * sqrt(3 / fan) (He et al., https://arxiv.org/abs/1502.01852).

    Args:
        a: the slope of `"leaky_relu"`.
        mode: `"fan_in"` keeps variances in the forward pass, `"fan_out"` in the backward.
        nonlinearity: what comes after the layer; gives the gain, see `calculate_gain`.

    Raises:
        ValueError: another mode or nonlinearity, or fewer than two dimensions.

    Example:
        >>> weight = torch.nn.init.kaiming_uniform_(torch.empty(3, 6))
        >>> bool((weight.abs() <= 1).all())
        True
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else uniform_(tensor, -math.sqrt(3.0) * std, math.sqrt(3.0) * std, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill with draws from N(0, std²), std = gain / sqrt(fan); arguments and errors as for `kaiming_uniform_`.

    Example:
        >>> torch.nn.init.kaiming_normal_(torch.empty(100, 200)).std().item() < 0.11
        True
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def _old_name(name: str) -> Any:
    """The function by its name without the last underscore, which says so."""
    function = globals()[name + "_"]

    @functools.wraps(function)
    def renamed(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    renamed.__name__ = renamed.__qualname__ = name
    return renamed


uniform, normal, constant, eye = map(_old_name, ("uniform", "normal", "constant", "eye"))
dirac, orthogonal, sparse = map(_old_name, ("dirac", "orthogonal", "sparse"))
xavier_uniform, xavier_normal = map(_old_name, ("xavier_uniform", "xavier_normal"))
kaiming_uniform, kaiming_normal = map(_old_name, ("kaiming_uniform", "kaiming_normal"))

# PyTorch's private names, which libraries import.
_calculate_fan_in_and_fan_out = _fans
_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_ = uniform_, normal_, trunc_normal_
_no_grad_fill_, _no_grad_zero_ = constant_, zeros_

_publish([_name for _name in __all__ if _name.endswith("_")], globals(), __name__)
__getattr__ = _missing_from(__name__)
