"""Softmax and its relatives, as modules."""

from __future__ import annotations

from clew import Tensor

from .. import functional as F
from .activation_base import Activation
from .module import Module


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
