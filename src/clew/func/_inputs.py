"""What functions of functions share: arguments to differentiate by, and what a function returned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import clew

from .. import _core
from .._core import Tensor
from ..autograd.gradients import grad as gradients_of
from ..utils._pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten
from ._batches import Batches

Func = Callable[..., Any]
Argnums = int | tuple[int, ...]


class Inputs:
    """Tensors to differentiate by, and what they are for the graph."""

    def __init__(self, tree: Any, name: str) -> None:
        self.batches = Batches()
        given, self.spec = tree_flatten(tree)
        for one in given:
            if not isinstance(one, Tensor):
                raise ValueError(
                    f"{name}: Expected all inputs to be Tensors, got {type(one).__name__}; leave others out by argnums"
                )
        self.given = given
        below = [self.batches.below(one) for one in given]
        self.records = clew.is_grad_enabled()
        self.have_history = self.records and any(one.requires_grad for one in below)
        with clew.enable_grad():
            self.leaves = [
                one.view_as(one) if self.records and one.requires_grad else detached(one).requires_grad_()
                for one in below
            ]

    def samples(self) -> list[Tensor]:
        samples = [self.batches.above(leaf) for leaf in self.leaves]
        for given, sample in zip(self.given, samples, strict=True):
            _core.carry_alike([given], sample)
        return samples

    def tree(self) -> Any:
        return tree_unflatten(self.samples(), self.spec)

    def outside(self, outputs: Sequence[Tensor]) -> bool:
        """Whether the outputs depend on something else that asks for a gradient, so that derivatives need a graph."""
        return self.records and (self.have_history or _core.leads_elsewhere(list(outputs), self.leaves))

    def gradients(self, outputs: Sequence[Tensor], weights: Sequence[Tensor], keep: bool, record: bool) -> list[Tensor]:
        """Below the batches."""
        used = [(output, weight) for output, weight in zip(outputs, weights, strict=True) if output.requires_grad]
        if not used:
            return [clew.zeros_like(leaf) for leaf in self.leaves]
        found = gradients_of(
            [output for output, _ in used],
            self.leaves,
            [weight for _, weight in used],
            retain_graph=keep or record,
            create_graph=record,
            materialize_grads=True,
        )
        return [one if one is not None else clew.zeros(()) for one in found]

    def finished(self, values: Sequence[Tensor], sources: Sequence[Tensor]) -> Any:
        """Gradients as the function sees them. They are computed from what the `sources`, outputs and weights, are."""
        found = [self.batches.above(one) for one in values]
        for one in found:
            _core.carry_alike(list(sources), one)
        return tree_unflatten(found, self.spec)


def chosen_of(args: tuple[Any, ...], argnums: Argnums, name: str) -> Any:
    several = isinstance(argnums, tuple)
    if several and not argnums:
        raise RuntimeError(f"{name}: Expected argnums to contain at least one number, got an empty tuple")
    for number in argnums if isinstance(argnums, tuple) else (argnums,):
        if not isinstance(number, int):
            raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
        if not -len(args) <= number < len(args):
            raise RuntimeError(f"Got argnum={number}, but only {len(args)} positional inputs")
    return tuple(args[number] for number in argnums) if isinstance(argnums, tuple) else args[argnums]


def replaced(args: tuple[Any, ...], argnums: Argnums, values: Any) -> tuple[Any, ...]:
    replaced = list(args)
    for number, value in zip(argnums, values, strict=True) if isinstance(argnums, tuple) else ((argnums, values),):
        replaced[number] = value
    return tuple(replaced)


def of_chosen_alone(
    func: Func, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Argnums, name: str
) -> tuple[Func, tuple[Any, ...]]:
    """`func` as a function of the chosen arguments alone, and these."""
    several = isinstance(argnums, tuple)
    chosen = chosen_of(args, argnums, name)

    def of_chosen(*primals: Any) -> Any:
        return func(*replaced(args, argnums, primals if several else primals[0]), **kwargs)

    return of_chosen, chosen if several else (chosen,)


def with_aux(result: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True, got {type(result)}"
        )
    return result


def detached(tensor: Tensor) -> Tensor:
    """The same value without history, but with its tangents: derivatives further out still ask for it."""
    found = tensor.detach()
    _core.carry_tangents(tensor, found)
    return found


def loose(tree: Any) -> Any:
    """Without history, where nothing but the inputs of the derivative asked for it."""
    return tree_map(lambda one: detached(one) if isinstance(one, Tensor) else one, tree)


def outputs_of(output: Any, name: str) -> tuple[list[Tensor], TreeSpec]:
    found, spec = tree_flatten(output)
    for one in found:
        if not isinstance(one, Tensor):
            raise RuntimeError(f"{name}: Expected f(*primals) to return only Tensors, got unsupported type {type(one)}")
    return found, spec
