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
    """`max(0, x)`, elementwise; `inplace=True` writes over the input.

    Example:
        >>> torch.nn.ReLU()(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return input.relu_() if self.inplace else clew.relu(input)


class ReLU6(Activation):
    """`min(max(0, x), 6)`, elementwise.

    Example:
        >>> torch.nn.ReLU6()(torch.tensor([-1.0, 2.0, 8.0]))
        tensor([0., 2., 6.])
    """

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.relu6(input, self.inplace)


class Hardtanh(Activation):
    """`x` clamped to `[min_val, max_val]`.

    Raises:
        ValueError: in a call, `min_val > max_val`.

    Example:
        >>> torch.nn.Hardtanh()(torch.tensor([-3.0, 0.5]))
        tensor([-1.0000,  0.5000])
    """

    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class LeakyReLU(Activation):
    """`x` where positive, else `negative_slope * x`.

    Example:
        >>> torch.nn.LeakyReLU(0.1)(torch.tensor([-1.0, 2.0]))
        tensor([-0.1000,  2.0000])
    """

    negative_slope: float = 0.01
    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class ELU(Activation):
    """`x` where positive, else `alpha * (exp(x) - 1)` (Clevert et al., https://arxiv.org/abs/1511.07289).

    Example:
        >>> torch.nn.ELU()(torch.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """

    alpha: float = 1.0
    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class CELU(Activation):
    """`x` where positive, else `alpha * (exp(x / alpha) - 1)` (Barron, https://arxiv.org/abs/1704.07483).

    Example:
        >>> torch.nn.CELU(2.0)(torch.tensor([-1.0, 2.0]))
        tensor([-0.7869,  2.0000])
    """

    alpha: float = 1.0

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha)


class SELU(Activation):
    """`ELU` with the constants that keep mean 0 and variance 1 (Klambauer et al., https://arxiv.org/abs/1706.02515).

    Example:
        >>> torch.nn.SELU()(torch.tensor([-1.0, 2.0]))
        tensor([-1.1113,  2.1014])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input)


class GELU(Activation):
    """`x * Phi(x)`, Phi the distribution function of N(0, 1); see `clew.nn.functional.gelu`.

    Args:
        approximate: "none", or "tanh" for the approximation by a tanh.

    Example:
        >>> torch.nn.GELU()(torch.tensor([-1.0, 2.0]))
        tensor([-0.1587,  1.9545])
    """

    approximate: str = "none"

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)


class SiLU(Activation):
    """`x * sigmoid(x)`, also called swish.

    Example:
        >>> torch.nn.SiLU()(torch.tensor([-1.0, 2.0]))
        tensor([-0.2689,  1.7616])
    """

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(Activation):
    """`x * tanh(softplus(x))` (Misra, https://arxiv.org/abs/1908.08681).

    Example:
        >>> torch.nn.Mish()(torch.tensor([-1.0, 2.0]))
        tensor([-0.3034,  1.9440])
    """

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class Sigmoid(Activation):
    """`1 / (1 + exp(-x))`, elementwise.

    Example:
        >>> torch.nn.Sigmoid()(torch.tensor([-1.0, 2.0]))
        tensor([0.2689, 0.8808])
    """

    def forward(self, input: Tensor) -> Tensor:
        return clew.sigmoid(input)


class LogSigmoid(Activation):
    """`log(sigmoid(x))`, without the `log(0)` that this would give for very negative x.

    Example:
        >>> torch.nn.LogSigmoid()(torch.tensor([-200.0, 0.0]))
        tensor([-200.0000,   -0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Hardsigmoid(Activation):
    """`x / 6 + 1 / 2`, clamped to `[0, 1]`.

    Example:
        >>> torch.nn.Hardsigmoid()(torch.tensor([-4.0, 1.5]))
        tensor([0.0000, 0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input)


class Hardswish(Activation):
    """`x * hardsigmoid(x)` (Howard et al., https://arxiv.org/abs/1905.02244).

    Example:
        >>> torch.nn.Hardswish()(torch.tensor([1.5, 4.0]))
        tensor([1.1250, 4.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input)


class Tanh(Activation):
    """Hyperbolic tangent, elementwise.

    Example:
        >>> torch.nn.Tanh()(torch.tensor([-1.0, 2.0]))
        tensor([-0.7616,  0.9640])
    """

    def forward(self, input: Tensor) -> Tensor:
        return clew.tanh(input)


class Tanhshrink(Activation):
    """`x - tanh(x)`, elementwise.

    Example:
        >>> torch.nn.Tanhshrink()(torch.tensor([-1.0, 2.0]))
        tensor([-0.2384,  1.0360])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Softplus(Activation):
    """`log(1 + exp(beta * x)) / beta`; `x` itself where `beta * x > threshold`.

    Example:
        >>> torch.nn.Softplus()(torch.tensor([-1.0, 30.0]))
        tensor([ 0.3133, 30.0000])
    """

    beta: float = 1.0
    threshold: float = 20.0

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)


class Softsign(Activation):
    """`x / (1 + |x|)`, elementwise.

    Example:
        >>> torch.nn.Softsign()(torch.tensor([-1.0, 3.0]))
        tensor([-0.5000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Softmax(Activation):
    """`exp(x)` divided by its sum along `dim`, which sums to 1 afterwards.

    Without `dim` an axis is guessed, with a warning, as PyTorch does.

    Example:
        >>> torch.nn.Softmax(dim=0)(torch.tensor([1.0, 2.0, 3.0]))
        tensor([0.0900, 0.2447, 0.6652])
    """

    dim: int | None = None

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)


class Softmin(Activation):
    """`softmax(-x)` along `dim`.

    Example:
        >>> torch.nn.Softmin(dim=0)(torch.tensor([1.0, 2.0, 3.0]))
        tensor([0.6652, 0.2447, 0.0900])
    """

    dim: int | None = None

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim)


class LogSoftmax(Activation):
    """`log(softmax(x))` along `dim`, which neither overflows nor gives `log(0)`.

    Example:
        >>> torch.nn.LogSoftmax(dim=0)(torch.tensor([0.0, 200.0]))
        tensor([-200.,    0.])
    """

    dim: int | None = None

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)


class Softmax2d(Module):
    """`softmax` over the channels of (N, C, H, W) or (C, H, W): at each place they sum to 1.

    Raises:
        ValueError: in a call, another number of dimensions.

    Example:
        >>> torch.nn.Softmax2d()(torch.zeros(2, 1, 2))
        tensor([[[0.5000, 0.5000]],
        <BLANKLINE>
                [[0.5000, 0.5000]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)


class Hardshrink(Activation):
    """`x` where `|x| > lambd`, else 0.

    Example:
        >>> torch.nn.Hardshrink()(torch.tensor([-1.0, 0.2]))
        tensor([-1.,  0.])
    """

    lambd: float = 0.5

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Softshrink(Hardshrink):
    """`x` moved towards 0 by `lambd`, and 0 where `|x| <= lambd`.

    Raises:
        RuntimeError: in a call, `lambd` is negative.

    Example:
        >>> torch.nn.Softshrink()(torch.tensor([-1.0, 0.2]))
        tensor([-0.5000,  0.0000])
    """

    lambd: float = 0.5

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class RReLU(Activation):
    """`x` where positive, else `slope * x`: in training a slope drawn from U(lower, upper), in evaluation their mean.

    Raises:
        RuntimeError: in a call, `lower > upper`.

    Example:
        >>> torch.nn.RReLU(0.1, 0.3).eval()(torch.tensor([-1.0, 2.0]))
        tensor([-0.2000,  2.0000])
    """

    lower: float = 1.0 / 8
    upper: float = 1.0 / 3
    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class GLU(Activation):
    """`a * sigmoid(b)`, where a and b are the halves of the input along `dim`.

    Raises:
        RuntimeError: in a call, the size of the axis is odd.

    Example:
        >>> torch.nn.GLU()(torch.tensor([1.0, 2.0, 0.0, 0.0]))
        tensor([0.5000, 1.0000])
    """

    dim: int = -1

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)


class PReLU(Module):
    """`x` where positive, else `weight * x` with a learned slope (He et al., https://arxiv.org/abs/1502.01852).

    Args:
        num_parameters: 1, or the number of channels (dimension 1), each with a slope of its own.
        init: the slope at first.

    Attributes:
        weight: of shape (num_parameters).

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
    """`x` where it is above `threshold`, else `value`.

    Example:
        >>> torch.nn.Threshold(1.0, 20.0)(torch.tensor([0.5, 2.0]))
        tensor([20.,  2.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")
