"""Activations as modules.

Each is a function of `nn.functional` with fixed arguments: a class lists the arguments with their defaults, and
`Activation` makes the constructor and the repr from them. All take and give tensors of any shape.
"""

from __future__ import annotations

from typing import Any, ClassVar, dataclass_transform

import clew
from clew import Tensor

from .. import functional as F
from ..parameter import Parameter
from .module import Module

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


def options_of(cls: type, options: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The options of a class by name, as a call gives them by place and by name; the others have their defaults."""
    given = dict(zip(options, args, strict=False))
    unknown = kwargs.keys() - options.keys() | kwargs.keys() & given.keys()
    if unknown or len(args) > len(options):
        raise TypeError(
            f"{cls.__name__}: expected at most ({', '.join(options)}), each once, "
            f"got {len(args)} positional arguments and {sorted(kwargs)}"
        )
    return options | given | kwargs


@dataclass_transform()
class Activation(Module):
    """Base of the activations: annotated class attributes are the constructor's arguments, in order.

    Example:
        >>> torch.nn.LeakyReLU(0.1), torch.nn.LeakyReLU(inplace=True)
        (LeakyReLU(negative_slope=0.1), LeakyReLU(negative_slope=0.01, inplace=True))
    """

    _options: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls) -> None:
        cls._options = {name: getattr(cls, name) for name in cls.__annotations__} or cls._options

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.__dict__.update(options_of(type(self), self._options, args, kwargs))

    def extra_repr(self) -> str:
        """The options; `inplace` only if set."""
        options = {name: self.__dict__[name] for name in self._options}
        return ", ".join(f"{name}={value!r}" for name, value in options.items() if name != "inplace" or value)


class ReLU(Activation):
    """`max(0, x)`."""

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return input.relu_() if self.inplace else clew.relu(input)


class ReLU6(Activation):
    """`min(max(0, x), 6)`."""

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.relu6(input, self.inplace)


class Hardtanh(Activation):
    """`x` limited to `[min_val, max_val]`."""

    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class LeakyReLU(Activation):
    """`x` where positive, else `negative_slope * x`."""

    negative_slope: float = 0.01
    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class ELU(Activation):
    """`x` where positive, else `alpha * (exp(x) - 1)`."""

    alpha: float = 1.0
    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class CELU(Activation):
    """`x` where positive, else `alpha * (exp(x / alpha) - 1)`."""

    alpha: float = 1.0

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha)


class SELU(Activation):
    """Self-normalising `ELU` (Klambauer et al., https://arxiv.org/abs/1706.02515)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input)


class GELU(Activation):
    """`x` times the normal distribution function of `x`; `approximate="tanh"` is the usual approximation."""

    approximate: str = "none"

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)


class SiLU(Activation):
    """`x * sigmoid(x)`."""

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(Activation):
    """`x * tanh(softplus(x))`."""

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class Sigmoid(Activation):
    """`1 / (1 + exp(-x))`."""

    def forward(self, input: Tensor) -> Tensor:
        return clew.sigmoid(input)


class LogSigmoid(Activation):
    """`log(sigmoid(x))`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Hardsigmoid(Activation):
    """`x / 6 + 1 / 2`, limited to `[0, 1]`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input)


class Hardswish(Activation):
    """`x * hardsigmoid(x)`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input)


class Tanh(Activation):
    """Hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        return clew.tanh(input)


class Tanhshrink(Activation):
    """`x - tanh(x)`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Softplus(Activation):
    """`log(1 + exp(beta * x)) / beta`; `x` itself where `beta * x > threshold`."""

    beta: float = 1.0
    threshold: float = 20.0

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)


class Softsign(Activation):
    """`x / (1 + |x|)`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Softmax(Activation):
    """`exp(x)` divided by its sum over `dim`."""

    dim: int | None = None

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)


class Softmin(Activation):
    """`softmax(-x)`."""

    dim: int | None = None

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim)


class LogSoftmax(Activation):
    """`log(softmax(x))`."""

    dim: int | None = None

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)


class Softmax2d(Module):
    """`softmax` over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)


class Hardshrink(Activation):
    """`x` where it is above `lambd` or below `-lambd`, else 0."""

    lambd: float = 0.5

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Softshrink(Hardshrink):
    """`x` moved by `lambd` towards 0, and no farther."""

    lambd: float = 0.5

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class RReLU(Activation):
    """`x` where positive, else `x` times a slope: drawn from U(lower, upper) in training, their mean in evaluation."""

    lower: float = 1.0 / 8
    upper: float = 1.0 / 3
    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class GLU(Activation):
    """Halves the input along `dim`: the first half times the sigmoid of the second."""

    dim: int = -1

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)


class PReLU(Module):
    """`x` where positive, else `weight * x` with a learned weight: one, or one a channel (dimension 1).

    Example:
        >>> torch.nn.PReLU()(torch.tensor([-4.0, 4.0]))
        tensor([-1.,  4.], grad_fn=<PreluKernelBackward0>)
    """

    weight: Parameter

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(clew.full((num_parameters,), init, device=device, dtype=dtype))

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Threshold(Module):
    """`x` where it is above `threshold`, else `value`."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")
