"""Layers that normalise channels: over the batch, or over one sample."""

from __future__ import annotations

from typing import Any, ClassVar

import clew
from clew import Tensor

from .. import functional as F
from .normalization import ScaleAndShift

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
]


class _NormBase(ScaleAndShift):
    """Scale, shift and running statistics of channels."""

    ranks: ClassVar[tuple[int, ...]]  # that an input may have
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self._make_parameters(num_features, affine, bias, device, dtype)
        for name in ("running_mean", "running_var"):
            kept = clew.empty(num_features, device=device, dtype=dtype) if track_running_stats else None
            self.register_buffer(name, kept)
        self.register_buffer("num_batches_tracked", clew.tensor(0) if track_running_stats else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Mean zero, variance one, no batch seen."""
        if self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Scale by one, shift by zero, no batch seen."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self.ranks:
            expected = " or ".join(f"{rank}D" for rank in self.ranks)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                return self._with_mean_of_all_batches(input, self.num_batches_tracked)
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        keep = not self.training or self.track_running_stats
        running = (self.running_mean, self.running_var) if keep else (None, None)
        return self._normalized(input, *running, by_batch, 0.0 if self.momentum is None else self.momentum)

    def _with_mean_of_all_batches(self, input: Tensor, count: Tensor) -> Tensor:
        # The weight of this batch stays a tensor: a number would be read from it, and a recorded step be of one batch.
        running = self.running_mean, self.running_var
        of_batch = [None if value is None else clew.empty_like(value) for value in running]
        result = self._normalized(input, of_batch[0], of_batch[1], True, 1.0)
        with clew.no_grad():
            weight = 1.0 / count.to(clew.float64)
            for value, new in zip(running, of_batch, strict=True):
                if value is not None and new is not None:
                    value.copy_(weight * new + (1 - weight) * value)
        return result

    def _normalized(
        self, input: Tensor, mean: Tensor | None, variance: Tensor | None, by_batch: bool, momentum: float
    ) -> Tensor:
        return F.batch_norm(input, mean, variance, self.weight, self.bias, by_batch, momentum, self.eps)


class BatchNorm1d(_BatchNorm):
    """Normalises each channel of inputs (N, C) or (N, C, L) over the batch: see `clew.nn.functional.batch_norm`.

    Args:
        num_features: C.
        eps: added to the variance.
        momentum: the weight of a new batch in the running statistics; None makes them the mean over all batches.
        affine: whether there are a learned scale `weight` (ones at first) and shift `bias` (zeros).
        track_running_stats: whether there are running statistics, which count in evaluation.
        bias: whether there is a shift.

    Attributes:
        running_mean, running_var: of shape (C); num_batches_tracked: how many batches they have seen.

    Example:
        >>> torch.nn.BatchNorm1d(1, affine=False)(torch.tensor([[1.0], [3.0]]))
        tensor([[-1.0000],
                [ 1.0000]])
    """

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalises each channel of images (N, C, H, W) over the batch. Arguments as for `BatchNorm1d`.

    Raises:
        ValueError: in a call, another number of dimensions, or in training one element per channel only.

    Example:
        >>> y = torch.nn.BatchNorm2d(3)(torch.randn(2, 3, 4, 4))
        >>> torch.allclose(y.mean((0, 2, 3)), torch.zeros(3), atol=1e-6)
        True
    """

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalises each channel of volumes (N, C, D, H, W) over the batch. Arguments as for `BatchNorm1d`.

    Raises:
        ValueError: in a call, another number of dimensions, or in training one element per channel only.

    Example:
        >>> y = torch.nn.BatchNorm3d(3)(torch.randn(2, 3, 2, 2, 2))
        >>> torch.allclose(y.mean((0, 2, 3, 4)), torch.zeros(3), atol=1e-6)
        True
    """

    ranks = (5,)
