"""vmap: a function of samples as a function of batches.

Note [vmap]
The function runs once. What it gets stands for one sample, and the core runs each operation on all of them (Note
[Batched tensors] in core/ops/batching/batched.h). Here trees of arguments are taken apart, axes are moved to where the
core wants them, the front, and back.

A container whose shape is that of its tensors without their last axes, such as tensordict's, is a leaf if it has the
methods `_add_batch_dim` and `_maybe_remove_batch_dim`. They call the functions of these names here for each tensor.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from ..utils._pytree import tree_flatten, tree_leaves, tree_unflatten
from ..utils._pytree_nodes import BATCHING

__all__ = ["vmap"]


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The function `func` of samples as a function of batches of them, which runs once for all samples.

    Inside `func`, tensors have the shapes of one sample. Elementwise operations, views, reductions and products run on
    the whole batch at once, others sample by sample. Gradients flow through it, and it may be nested.

    Args:
        func: takes tensors, or trees of them, and other things; returns a tensor or a tree of tensors.
        in_dims: along which axis of each argument the samples lie; None where all samples get the same. One number for
            all arguments, or a tuple for each, whose entries may be trees as the arguments are.
        out_dims: along which axis of each result they lie then. None for a result that is the same for all samples and
            has no axis for them.
        randomness: what random operations do in `func`: "error", or draw "different" numbers for each sample, or the
            "same".
        chunk_size: run at most so many samples at once, to save memory.

    Returns:
        A function of the same arguments. Those by name are the same for all samples.

    Raises:
        ValueError: `in_dims` or `out_dims` do not fit, or batches have different sizes, or there is none.
        RuntimeError: `func` reads values (`item()`, `if tensor`), writes a batch into a tensor that is none, or the
            shape of a result depends on values.

    Example:
        >>> x, y = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 10.0])
        >>> torch.vmap(torch.dot, in_dims=(0, None))(x, y)
        tensor([21., 43.])
    """
    _check_randomness(randomness)
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, dims, spec, size = _taken_apart(func, in_dims, args)
        call = _Call(func, spec, dims, out_dims, randomness, kwargs)
        if chunk_size is None or size <= chunk_size:
            return call.finished(call.run(leaves, size))
        return call.finished(call.run_in_chunks(leaves, size, chunk_size))

    return wrapped


def _check_randomness(randomness: str) -> None:
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")


class _Call:
    """One call of a function that is vmapped."""

    def __init__(
        self, func: Callable[..., Any], spec: Any, in_dims: list[Any], out_dims: Any, randomness: str, kwargs: Any
    ) -> None:
        self.func, self.spec, self.in_dims, self.out_dims = func, spec, in_dims, out_dims
        self.randomness, self.kwargs = randomness, kwargs
        self.result_spec: Any = None
        self.result_dims: list[int | None] = []

    def run(self, leaves: list[Any], size: int) -> list[Any]:
        """The results with their batch in front, where they have one."""
        values = [
            one if not dim or _is_container(one) else one.movedim(dim, 0)
            for one, dim in zip(leaves, self.in_dims, strict=True)
        ]
        self.values = values
        batch = _core.begin_batch(size, self.randomness)
        try:
            given = [
                value if dim is None else _in_batch(value, dim, batch)
                for value, dim in zip(values, self.in_dims, strict=True)
            ]
            returned = self.func(*tree_unflatten(given, self.spec), **self.kwargs)
            results, self.result_spec = tree_flatten(returned, _leaves())
        finally:
            _core.end_batch(batch)
        returned = tree_unflatten(results, self.result_spec)
        self.result_dims = spread(self.out_dims, self.result_spec, returned, self._out_dims_do_not_fit)
        found = [self._value(one, dim, batch, size) for one, dim in zip(results, self.result_dims, strict=True)]
        # A tensor of its own, as of any operation, even where nothing was done.
        return [
            _core.ops._alias(one) if isinstance(one, Tensor) and any(one is value for value in values) else one
            for one in found
        ]

    def run_in_chunks(self, leaves: list[Any], size: int, chunk_size: int) -> list[Any]:
        start = _core.default_stream().get_state() if self.randomness == "same" else None
        if any(_is_container(one) for one in leaves):
            raise NotImplementedError("vmap: expected tensors with chunk_size, got a container; use chunk_size=None")
        parts = []
        for begin in range(0, size, chunk_size):
            if start is not None:
                _core.default_stream().set_state(start)
            length = min(chunk_size, size - begin)
            part = [
                one if dim is None else one.narrow(dim, begin, length)
                for one, dim in zip(leaves, self.in_dims, strict=True)
            ]
            parts.append(self.run(part, length))
        return [
            of_one[0] if dim is None else _core.ops.cat(list(of_one), 0)
            for of_one, dim in zip(zip(*parts, strict=True), self.result_dims, strict=True)
        ]

    def finished(self, results: list[Any]) -> Any:
        moved = [
            one if not dim or _is_container(one) else one.movedim(0, dim)
            for one, dim in zip(results, self.result_dims, strict=True)
        ]
        return tree_unflatten(moved, self.result_spec)

    def _value(self, result: Any, dim: int | None, batch: int, size: int) -> Any:
        name = _name(self.func)
        is_batched = isinstance(result, Tensor) and _core.batch_of(result) == batch
        if dim is None:
            if is_batched or (_is_container(result) and not self._is_unbatched(result)):
                raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
            return result
        if _is_container(result):
            return result._maybe_remove_batch_dim(name, vmap_level=batch, batch_size=size, out_dim=dim)
        if not isinstance(result, Tensor):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(result)}. Did you mean to set "
                "out_dims= to None for output?"
            )
        return _core.batch_value(result) if is_batched else result.expand(size, *result.shape)

    def _is_unbatched(self, result: Any) -> bool:
        return any(result is one and dim is None for one, dim in zip(self.values, self.in_dims, strict=True))

    def _out_dims_do_not_fit(self, spec: Any) -> ValueError:
        given = tree_flatten(self.out_dims)[1]
        return ValueError(
            f"vmap({_name(self.func)}, ..., out_dims={self.out_dims})(<inputs>): out_dims is not compatible with the "
            f"structure of `outputs`. out_dims has structure {given} but outputs has structure {spec}."
        )


def _taken_apart(
    func: Callable[..., Any], in_dims: Any, args: tuple[Any, ...]
) -> tuple[list[Any], list[Any], Any, int]:
    """The leaves of the arguments, the axis of each, their structure, and the size of the batch."""
    said = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, int | tuple | list):
        raise ValueError(
            f"{said}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap "
            "over a function with no inputs. The latter is unsupported."
        )
    leaves, spec = tree_flatten(args, _leaves())
    dims = spread(tuple(in_dims) if isinstance(in_dims, list) else in_dims, spec, args, lambda spec: ValueError(
        f"{said}in_dims is not compatible with the structure of inputs. in_dims has structure "
        f"{tree_flatten(in_dims)[1]} but inputs has structure {spec}."
    ))  # fmt: skip
    found = [_axis(said, leaf, dim) for leaf, dim in zip(leaves, dims, strict=True)]
    sizes = [leaf.shape[dim] for leaf, dim in zip(leaves, found, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return leaves, found, spec, sizes[0]


def _axis(said: str, leaf: Any, dim: Any) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(f"{said}Got in_dim={dim} for an input but in_dim must be either an integer dimension or None.")
    if not isinstance(leaf, Tensor) and not _is_container(leaf):
        raise ValueError(
            f"{said}Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over "
            "non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -leaf.ndim <= dim < leaf.ndim:
        raise ValueError(
            f"{said}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {leaf.ndim} so "
            f"expected in_dim to satisfy -{leaf.ndim} <= in_dim < {leaf.ndim}."
        )
    return dim % int(leaf.ndim)


def spread(dims: Any, spec: Any, tree: Any, misfit: Callable[[Any], ValueError]) -> list[Any]:
    """The axes for each leaf of the tree, of which `dims` may name one for a whole branch."""
    if dims is None or isinstance(dims, int):
        return [dims] * spec.num_leaves
    axes, spec_of_dims = tree_flatten(dims)
    try:
        branches: Sequence[Any] = spec_of_dims.flatten_up_to(tree)
    except ValueError:
        raise misfit(spec) from None
    return [axis for axis, branch in zip(axes, branches, strict=True) for _ in tree_leaves(branch, _leaves())]


def _is_container(value: Any) -> bool:
    return bool(BATCHING) and isinstance(value, tuple(BATCHING))


def _leaves() -> Callable[[Any], bool] | None:
    return _is_container if BATCHING else None


def _in_batch(value: Any, dim: int, batch: int) -> Any:
    return (
        value._add_batch_dim(in_dim=dim, vmap_level=batch) if _is_container(value) else _core.make_batched(value, batch)
    )


def _add_batch_dim(tensor: Tensor, in_dim: int, vmap_level: int) -> Any:
    """The tensor as that of one sample."""
    return _core.make_batched(tensor.movedim(in_dim, 0), vmap_level)


def _maybe_remove_batch_dim(name: str, tensor: Any, vmap_level: int, batch_size: int, out_dim: int | None) -> Any:
    """The tensor with all samples along an axis."""
    if out_dim is None:
        return tensor
    whole = (
        _core.batch_value(tensor) if _core.batch_of(tensor) == vmap_level else tensor.expand(batch_size, *tensor.shape)
    )
    return whole.movedim(0, out_dim)


def _remove_batch_dim(tensor: Tensor, vmap_level: int, batch_size: int, out_dim: int) -> Any:
    """The tensor with all samples along an axis."""
    return _maybe_remove_batch_dim("", tensor, vmap_level, batch_size, out_dim)


def _name(func: Callable[..., Any]) -> str:
    return getattr(func, "__name__", repr(func))
