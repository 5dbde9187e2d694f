"""Batch normalization over the batches of all ranks."""

from __future__ import annotations

from typing import Any

import clew
from clew import Tensor

from .batchnorm import _BatchNorm
from .module import Module

__all__ = ["SyncBatchNorm"]


class SyncBatchNorm(_BatchNorm):
    """Normalises each channel of inputs (N, C, ...) over the batches of all ranks, which may differ in size.

    Ranks exchange mean, variance and number of their elements, once forward and once backward; so all ranks call it,
    and its backward, in the same order. In evaluation, without a process group or in a group of one rank it is batch
    normalization of the rank's own batch. The gradients of `weight` and `bias` are those of the rank's own loss, which
    `DistributedDataParallel` averages.

    Args:
        num_features: C.
        eps: added to the variance.
        momentum: the weight of a new batch in the running statistics; None makes them the mean over all batches.
        affine: whether there are a learned scale `weight` (ones at first) and shift `bias` (zeros).
        track_running_stats: whether there are running statistics, which count in evaluation.
        process_group: the ranks whose batches count together; by default all.

    Raises:
        ValueError: in a call, an input of fewer than two dimensions or with no channels, or in training one element
            per channel in all ranks together.

    Example:
        >>> torch.nn.SyncBatchNorm(1, affine=False).eval()(torch.tensor([[1.0], [3.0]]))
        tensor([[1.0000],
                [3.0000]])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def _normalized(
        self, input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, by_batch: bool, momentum: float
    ) -> Tensor:
        from ... import distributed as dist

        if not (by_batch and self.training and dist.is_initialized()) or dist.get_world_size(self.process_group) < 2:
            return super()._normalized(input, running_mean, running_var, by_batch, momentum)
        x = input if input.dtype == clew.float64 else input.float()
        mean, variance, count = _statistics(x, self.process_group)
        if count <= 1:
            raise ValueError(
                f"Expected more than 1 value per channel when training, got {count:g} in all ranks with input size "
                f"{tuple(input.shape)}"
            )
        if running_mean is not None and running_var is not None:
            with clew.no_grad():
                _move(running_mean, mean, momentum)
                _move(running_var, variance * (count / (count - 1)), momentum)
        sizes = (1, -1) + (1,) * (x.dim() - 2)
        scale = (variance + self.eps).rsqrt()
        scale = scale if self.weight is None else scale * self.weight.to(x.dtype)
        result = (x - mean.view(sizes)) * scale.view(sizes)
        if self.bias is not None:
            result = result + self.bias.to(x.dtype).view(sizes)
        return result.to(input.dtype)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Replace each BatchNorm layer of the module, at any depth, by one over all ranks with its parameters.

        Returns:
            The module; or, if it is a BatchNorm layer itself, its replacement.

        Example:
            >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
            >>> torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)[1]
            SyncBatchNorm(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
        """
        result = module
        if isinstance(module, _BatchNorm):
            result = cls(
                module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats,
                process_group, bias=module.bias is not None,
            )  # fmt: skip
            result.training = module.training
            for table in ("_parameters", "_buffers"):
                getattr(result, table).update(getattr(module, table))
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result


def _statistics(x: Tensor, group: Any) -> tuple[Tensor, Tensor, float]:
    """Mean and variance of each channel over all ranks, and how many elements it has there.

    Ranks' squares are of distances from their own means, which are put together as Chan, Golub and LeVeque do (1983):
    squares of the values themselves would cancel.
    """
    from ...distributed.nn.functional import all_gather

    dims = [dim for dim in range(x.dim()) if dim != 1]
    count = x.numel() // x.shape[1]
    mean = x.sum(dims) / max(count, 1)
    squares = (x - mean.view((1, -1) + (1,) * (x.dim() - 2))).square().sum(dims)
    rows = clew.stack(all_gather(clew.cat([mean, squares, mean.new_full((1,), count)]), group))
    means, squares_of_all, counts = rows.split([x.shape[1], x.shape[1], 1], 1)
    counts = counts.detach()
    total = float(counts.sum())
    mean = (means * counts).sum(0) / max(total, 1)
    variance = (squares_of_all + (means - mean).square() * counts).sum(0) / max(total, 1)
    return mean, variance, total


def _move(kept: Tensor, value: Tensor, momentum: float) -> None:
    kept.mul_(1 - momentum).add_(value.to(kept.dtype), alpha=momentum)
