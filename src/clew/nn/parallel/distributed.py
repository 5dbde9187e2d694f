"""A module that is trained by several processes, each on its part of the data."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import clew

from ..modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """A module whose gradients are the means over all ranks: each computes those of its part of the batch.

    Backward reduces gradients in buckets while it still runs: a bucket that is complete is sent while the gradients of
    layers before it are computed. If the loss of a rank is a mean over a part as large as the others', gradients
    are those of the mean over the whole batch.

    Parameters and buffers are those of rank 0 at first; buffers (running statistics) are in each forward. The
    parameters have the names that they have in PyTorch (``module.weight``); save ``model.module.state_dict()`` on
    rank 0 to load it with any number of ranks.

    Args:
        module: the same in all ranks: parameters of the same names, shapes and dtypes.
        device_ids: None, or an empty list: the CPU is the only device.
        output_device: None.
        dim: ignored.
        broadcast_buffers: whether each forward takes the buffers of rank 0.
        init_sync: whether parameters and buffers become those of rank 0 at first.
        process_group: the ranks that take part; by default all.
        bucket_cap_mb: the size of a bucket in MiB, by default 25; the first has at most 1.
        find_unused_parameters: whether some parameters may get no gradient in some steps. Each forward then walks
            the graph to find them.
        gradient_as_bucket_view: taken, without effect: gradients have their own memory.
        static_graph: taken, without effect.
        deterministic: whether sums are taken in the order of the ranks, so that their bits depend neither on MPI nor
            on buckets. It moves as much data, in two steps.

    Raises:
        ValueError: there is no process group, or devices are named.
        RuntimeError: no parameter requires a gradient, or ranks have other parameters.

    Example:
        >>> try:
        ...     torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        ... except ValueError as error:
        ...     print(str(error)[:21])
        Default process group
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        *,
        deterministic: bool = False,
    ) -> None:
        from ...distributed._groups import group_of
        from ._reducer import Reducer

        super().__init__()
        self.process_group = group_of(process_group)
        if device_ids or output_device is not None:
            raise ValueError(f"DistributedDataParallel: expected no devices, got {device_ids}; the CPU is the only one")
        named = [(name, one) for name, one in module.named_parameters() if one.requires_grad]
        if not named:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameters that require a "
                "gradient."
            )
        self.module = module
        self.broadcast_buffers, self.find_unused_parameters = broadcast_buffers, find_unused_parameters
        self.require_backward_grad_sync = True
        self._check_alike()
        if init_sync:
            self._take_over([*module.parameters(), *module.buffers()])
        names, parameters = [name for name, _ in named], [one for _, one in named]
        limit = int((25 if bucket_cap_mb is None else bucket_cap_mb) * (1 << 20))
        self._reducer = Reducer(names, parameters, self.process_group, limit, deterministic)

    def _check_alike(self) -> None:
        from ... import distributed as dist

        told = [
            (name, tuple(one.shape), str(one.dtype), one.requires_grad) for name, one in self.module.named_parameters()
        ]
        everyones: list[Any] = [None] * self.process_group.size()
        dist.all_gather_object(everyones, told, self.process_group)
        for rank, others in enumerate(everyones):
            if others != everyones[0]:
                mine, theirs = next(
                    pair for pair in zip([*everyones[0], None], [*others, None], strict=False) if pair[0] != pair[1]
                )
                raise RuntimeError(
                    f"DistributedDataParallel: expected the same parameters on all ranks, got {mine} on rank 0 of the "
                    f"group and {theirs} on rank {rank}"
                )

    def _take_over(self, tensors: list[Any]) -> None:
        """Write rank 0's values into those of the others."""
        from ... import distributed as dist

        works = [dist.broadcast(one, group=self.process_group, group_src=0, async_op=True) for one in tensors]
        for work in works:
            assert work is not None
            work.wait()

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module gives; a backward from there reduces gradients, unless in `no_sync`."""
        if self.broadcast_buffers and self.require_backward_grad_sync:
            self._take_over(list(self.module.buffers()))
        result = self.module(*inputs, **kwargs)
        if clew.is_grad_enabled():
            armed = self.require_backward_grad_sync
            unused = self._reducer.not_reached(result) if armed and self.find_unused_parameters else None
            self._reducer.arm(armed, unused)
        return result

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Inside, forward passes whose gradients are added up by this rank alone; the next one outside reduces all.

        Example:
            >>> def accumulate(model, parts):
            ...     with model.no_sync():
            ...         for x in parts[:-1]:
            ...             model(x).sum().backward()
            ...     model(parts[-1]).sum().backward()
        """
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before
