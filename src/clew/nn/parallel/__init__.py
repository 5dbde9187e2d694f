"""`torch.nn.parallel`: on one device there is nothing to share out, but several processes train together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._core import functions
from ..._unsupported import missing_from
from ..modules.module import Module
from .distributed import DistributedDataParallel

__all__ = [
    "DataParallel",
    "DistributedDataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
]


class DataParallel(Module):
    """A module that calls another: on one device there is nothing to share out.

    Its parameters have the names that they have in PyTorch (``module.weight``), so that state dicts fit.

    Example:
        >>> model = torch.nn.DataParallel(torch.nn.Linear(2, 1))
        >>> [name for name, _ in model.named_parameters()], model(torch.ones(3, 2)).shape
        (['module.weight', 'module.bias'], torch.Size([3, 1]))
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module gives."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """`module(*inputs)`: on one device nothing is split.

    Example:
        >>> clew.nn.parallel.data_parallel(clew.nn.ReLU(), clew.tensor([-1.0, 1.0]))
        tensor([0., 1.])
    """
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*given, **(module_kwargs or {}))


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """The network itself, once for each device named, all of which are the CPU.

    Example:
        >>> len(clew.nn.parallel.replicate(clew.nn.Linear(2, 1), ["cpu", "cpu"]))
        2
    """
    return [network for _ in devices]


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """A tensor split along `dim` into as many parts as there are devices named.

    Example:
        >>> clew.nn.parallel.scatter(clew.arange(4), ["cpu", "cpu"])
        [tensor([0, 1]), tensor([2, 3])]
    """
    return list(inputs.chunk(len(target_gpus), dim))


def gather(outputs: Sequence[Any], target_device: Any = None, dim: int = 0) -> Any:
    """Tensors concatenated along `dim`.

    Example:
        >>> clew.nn.parallel.gather([clew.tensor([0, 1]), clew.tensor([2, 3])])
        tensor([0, 1, 2, 3])
    """
    return functions["cat"](list(outputs), dim)


def parallel_apply(
    modules: Sequence[Module], inputs: Sequence[Any], kwargs_tup: Any = None, devices: Any = None
) -> Any:
    """Each module's result for its inputs, computed one after the other.

    Example:
        >>> clew.nn.parallel.parallel_apply([clew.nn.ReLU()] * 2, [clew.tensor([-1.0]), clew.tensor([1.0])])
        [tensor([0.]), tensor([1.])]
    """
    named = kwargs_tup or [{}] * len(modules)
    given = [one if isinstance(one, list | tuple) else (one,) for one in inputs]
    return [module(*one, **more) for module, one, more in zip(modules, given, named, strict=True)]


__getattr__ = missing_from(__name__)
