"""Layers that normalise the channels of each sample."""

from __future__ import annotations

from typing import Any

from clew import Tensor

from .. import functional as F
from .batchnorm import _NormBase

__all__ = [
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
]


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        batched = input if input.dim() == max(self.ranks) else input.unsqueeze(0)
        if self.affine and batched.shape[1] != self.num_features:
            raise ValueError(
                f"expected input's size at dim=1 to match num_features ({self.num_features}), but got: "
                f"{batched.shape[1]}."
            )
        result = F.instance_norm(
            batched,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return result if batched is input else result.squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Normalises each channel of each sample of inputs (N, C, L) or (C, L): see `clew.nn.functional.instance_norm`.

    Arguments as for `BatchNorm1d`, but there are neither scale and shift nor running statistics unless `affine` and
    `track_running_stats` ask for them.

    Raises:
        ValueError: in a call, another number of dimensions, or one element per channel only.

    Example:
        >>> torch.nn.InstanceNorm1d(2)(torch.tensor([[[1.0, 3.0], [10.0, 30.0]]]))
        tensor([[[-1.0000,  1.0000],
                 [-1.0000,  1.0000]]])
    """

    ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalises each channel of each image (N, C, H, W) or (C, H, W): see `InstanceNorm1d`.

    Example:
        >>> torch.nn.InstanceNorm2d(1)(torch.tensor([[[1.0, 3.0]]]))
        tensor([[[-1.0000,  1.0000]]])
    """

    ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalises each channel of each volume (N, C, D, H, W) or (C, D, H, W): see `InstanceNorm1d`.

    Example:
        >>> torch.nn.InstanceNorm3d(1)(torch.tensor([[[[1.0, 3.0]]]]))
        tensor([[[[-1.0000,  1.0000]]]])
    """

    ranks = (4, 5)
