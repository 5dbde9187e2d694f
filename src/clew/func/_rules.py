"""What a user's rule says an operation does with a batch: `autograd.Function.vmap`, `library.register_vmap`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .. import _core
from .._core import Tensor
from ..utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from ._vmap import spread


class VmapInfo(NamedTuple):
    """What a rule is told of the batch."""

    batch_size: int
    randomness: str


def innermost_batch(*trees: Any) -> int:
    """The batch that began last, of those that tensors in the trees stand for; 0 if there is none."""
    return max((_core.batch_of(one) for one in tree_leaves(trees) if isinstance(one, Tensor)), default=0)


def info_of(batch: int) -> VmapInfo:
    """Of an active batch."""
    return VmapInfo(dict(_core.active_batches())[batch], _core.randomness_of(batch))


def is_of(value: Any, batch: int) -> bool:
    """Whether it is a sample of the batch."""
    return isinstance(value, Tensor) and _core.batch_of(value) == batch


def run_rule(rule: Callable[..., Any], who: str, batch: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The outputs as samples, by `rule(info, in_dims, *args)`, which returns outputs and their axes."""
    in_dims = tree_map(lambda one: 0 if is_of(one, batch) else None, args)
    values = tree_map(lambda one: _core.batch_value(one) if is_of(one, batch) else one, args)
    given = rule(info_of(batch), in_dims, *values, **kwargs)
    if not (isinstance(given, tuple) and len(given) == 2):
        raise RuntimeError(
            f"Expected {who} to have two returns, an output and out_dims with pytree structure compatible with the "
            "output."
        )
    output, out_dims = given
    leaves, spec = tree_flatten(output)
    misfit = f"{who}: out_dims is not compatible with the structure of the output; got {out_dims} for {spec}"
    dims = spread(out_dims, spec, output, lambda _: ValueError(misfit))
    samples = [
        one if dim is None or not isinstance(one, Tensor) else _core.make_batched(one.movedim(dim, 0), batch)
        for one, dim in zip(leaves, dims, strict=True)
    ]
    return tree_unflatten(samples, spec)


def run_loop(function: Callable[..., Any], batch: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The outputs as samples, by a call for each sample."""

    def sample(index: int) -> Any:
        return tree_map(lambda one: _core.batch_value(one)[index] if is_of(one, batch) else one, (args, kwargs))

    results = []
    for index in range(info_of(batch).batch_size):
        places, named = sample(index)
        results.append(tree_flatten(function(*places, **named)))
    if not results:
        raise RuntimeError("vmap: an operation of a user's can't be run for an empty batch; give it a rule")
    spec = results[0][1]
    stacked = [_core.ops.stack(list(of_one), 0) for of_one in zip(*(leaves for leaves, _ in results), strict=True)]
    return tree_unflatten([_core.make_batched(one, batch) for one in stacked], spec)
