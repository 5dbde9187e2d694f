"""An optimizer whose state is shared out among ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import clew
from clew import Tensor

from ...optim import Optimizer
from ...optim.groups import Params
from ...optim.state import pack_state
from .._collectives import broadcast
from .._groups import group_of
from .._objects import gather_object
from .._ranks import get_process_group_ranks

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer):
    """Another optimizer, of which each rank keeps the state of some parameters, updates these and sends them to all.

    A rank then needs 1/n of the memory for state, as in the first stage of ZeRO (Rajbhandari et al.,
    https://arxiv.org/abs/1910.02054). Parameters and gradients are whole and the same on all ranks, as after a backward
    of `DistributedDataParallel`. The curve is that of the plain optimizer, to the bit. All ranks call each method in
    the same order.

    Args:
        params: parameters, or groups, as the optimizer takes them.
        optimizer_class: the optimizer, which must update each parameter by itself, as all do but `LBFGS`.
        process_group: the ranks that share the work; by default all.
        parameters_as_bucket_view: whether the parameters of a rank become views of one tensor, so that they are sent
            without copies. They are moved: a tensor that shared memory with one no longer does.
        overlap_with_ddp: must be False.
        defaults: the optimizer's options.

    Attributes:
        optim: the rank's own optimizer, of its parameters alone; its state is `state`.

    Raises:
        ValueError: there is no process group, or what the optimizer raises for parameters and options.

    Example:
        >>> try:
        ...     clew.distributed.optim.ZeroRedundancyOptimizer(clew.nn.Linear(2, 1).parameters(), clew.optim.Adam)
        ... except ValueError as error:
        ...     print(str(error)[:21])
        Default process group
    """

    def __init__(
        self,
        params: Params,
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        self.process_group = group_of(process_group)
        if overlap_with_ddp:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer: overlap_with_ddp is not supported; leave it out: gradients are reduced while "
                "backward runs in any case"
            )
        self.rank, self.world_size = self.process_group.rank(), self.process_group.size()
        self.parameters_as_bucket_view = parameters_as_bucket_view
        self._owners: dict[int, int] = {}  # the rank that updates a parameter, by the parameter's id
        self._loads = [0] * self.world_size  # elements of each rank
        self._rows: list[tuple[int, Tensor | None, list[Tensor]]] = []
        self._collected: dict[int, Any] | None = None
        self.optim: Optimizer | None = None
        super().__init__(params, defaults)
        self.optim = optimizer_class([self._own_part(group) for group in self.param_groups], **defaults)
        for group, own in zip(self.param_groups, self.optim.param_groups, strict=True):
            for name, value in own.items():
                group.setdefault(name, value)
        self.state = self.optim.state
        self._lay_out()

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """As `Optimizer.add_param_group`; the parameters are shared out so that ranks have as many elements.

        Example:
            >>> def thaw(optimizer, layer):  # a layer that trains from now on
            ...     optimizer.add_param_group({"params": layer.parameters(), "lr": 1e-4})
        """
        super().add_param_group(param_group)
        for parameter in sorted(self.param_groups[-1]["params"], key=Tensor.numel, reverse=True):
            owner = self._loads.index(min(self._loads))
            self._owners[id(parameter)] = owner
            self._loads[owner] += parameter.numel()
        if self.optim is not None:  # otherwise the constructor makes it of all groups
            self.optim.add_param_group(self._own_part(self.param_groups[-1]))
            self._lay_out()

    def _own_part(self, group: dict[str, Any]) -> dict[str, Any]:
        own = [one for one in group["params"] if self._owners[id(one)] == self.rank]
        return {name: value for name, value in group.items() if name != "param_names"} | {"params": own}

    def _lay_out(self) -> None:
        """Rows of parameters that one rank sends together: its parameters of one dtype."""
        rows: defaultdict[Any, list[Tensor]] = defaultdict(list)
        for group in self.param_groups:
            for parameter in group["params"]:
                rows[self._owners[id(parameter)], str(parameter.dtype)].append(parameter)
        self._rows = [(owner, None, parameters) for (owner, _), parameters in sorted(rows.items())]
        if self.parameters_as_bucket_view:
            self._rows = [(owner, _joined(parameters), parameters) for owner, _, parameters in self._rows]
            for _, row, parameters in self._rows:
                assert row is not None
                for parameter, part in zip(parameters, _parts(row, parameters), strict=True):
                    parameter.data = part

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the rank's own parameters from their gradients, and take over what the others updated.

        Example:
            >>> def train(model, optimizer, x):
            ...     optimizer.zero_grad()
            ...     model(x).square().mean().backward()
            ...     optimizer.step()
        """
        assert self.optim is not None
        _take_options(self.optim.param_groups, self.param_groups)
        loss = self.optim.step() if closure is None else self.optim.step(closure)
        _take_options(self.param_groups, self.optim.param_groups)  # an optimizer may count in its groups
        with clew.no_grad():
            self._exchange()
        return loss

    def _exchange(self) -> None:
        under_way = []
        for owner, row, parameters in self._rows:
            sent = row
            if sent is None:
                sent = _joined(parameters) if owner == self.rank else parameters[0].new_empty(_length(parameters))
            work = broadcast(sent, group=self.process_group, group_src=owner, async_op=True)
            under_way.append((work, owner, sent, row, parameters))
        for work, owner, sent, row, parameters in under_way:
            assert work is not None
            work.wait()
            if row is None and owner != self.rank:
                for parameter, part in zip(parameters, _parts(sent, parameters), strict=True):
                    parameter.copy_(part)

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Collect the state of all parameters on one rank, whose `state_dict()` then is that of the plain optimizer.

        Args:
            to: the rank in the group.

        Example:
            >>> def checkpoint(model, optimizer, path):  # on all ranks
            ...     optimizer.consolidate_state_dict()
            ...     if clew.distributed.get_rank() == 0:
            ...         clew.save([model.state_dict(), optimizer.state_dict()], path)
        """
        own = {number: self.state[parameter] for number, parameter in enumerate(self._all()) if parameter in self.state}
        parts: list[Any] | None = [None] * self.world_size if self.rank == to else None
        gather_object(own, parts, get_process_group_ranks(self.process_group)[to], self.process_group)
        self._collected = None if parts is None else {number: kept for part in parts for number, kept in part.items()}

    def _all(self) -> list[Tensor]:
        return [parameter for group in self.param_groups for parameter in group["params"]]

    def state_dict(self) -> dict[str, Any]:
        """What the plain optimizer's would be at the last `consolidate_state_dict` to this rank; it fits any number.

        Raises:
            RuntimeError: there was none.

        Example:
            >>> def save(optimizer, path):
            ...     optimizer.consolidate_state_dict(to=0)
            ...     if optimizer.rank == 0:
            ...         clew.save(optimizer.state_dict(), path)
        """
        if self._collected is None:
            raise RuntimeError(
                f"Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to="
                f"{self.rank})` on all ranks beforehand if you meant to save the global state."
            )
        return super().state_dict()

    def _packed(self) -> dict[str, Any]:
        assert self._collected is not None
        return pack_state({}, self.param_groups) | {"state": dict(sorted(self._collected.items()))}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over options, and the state of the rank's own parameters, from a whole state dict, on all ranks.

        Raises:
            ValueError: the number of groups, or of parameters in one, differs.

        Example:
            >>> def resume(optimizer, path):
            ...     optimizer.load_state_dict(clew.load(path))
        """
        assert self.optim is not None
        own = {number for number, one in enumerate(self._all()) if self._owners[id(one)] == self.rank}
        numbers = [number for group in state_dict["param_groups"] for number in group["params"]]
        others = {number for place, number in enumerate(numbers) if place not in own}
        part = {number: value for number, value in state_dict["state"].items() if number not in others}
        super().load_state_dict({**state_dict, "state": part})
        self.optim.state = self.state
        self._collected = None


def _take_options(groups: list[dict[str, Any]], others: list[dict[str, Any]]) -> None:
    for group, other in zip(groups, others, strict=True):
        group.update({name: value for name, value in other.items() if name not in ("params", "param_names")})


def _joined(parameters: list[Tensor]) -> Tensor:
    return clew.cat([one.detach().reshape(-1) for one in parameters])


def _length(parameters: list[Tensor]) -> int:
    return sum(one.numel() for one in parameters)


def _parts(row: Tensor, parameters: list[Tensor]) -> list[Tensor]:
    """Views of the row in the parameters' shapes."""
    parts = row.split([one.numel() for one in parameters])
    return [part.view(tuple(one.shape)) for part, one in zip(parts, parameters, strict=True)]
