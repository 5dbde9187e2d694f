"""Activations made of straight pieces, as modules."""

from __future__ import annotations

from typing import Any

import clew
from clew import Tensor

from .. import functional as F
from .. import init as initial
from ..parameter import Parameter
from .activation_base import Activation
from .module import Module


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

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""  # as in PyTorch


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

    def reset_parameters(self) -> None:
        """Set the slopes to what they were at first."""
        initial.constant_(self.weight, self.init)

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
