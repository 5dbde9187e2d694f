"""Functions under vmap: by their own rule, or by one that is made of `forward` and `backward`.

Note [Generated rules]
The graph has one node for all samples (Note [Derivatives under vmap] in src/clew/func/_batches.py): that of a Function
made for the call, whose forward and backward run those of the user's on samples, within a batch of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor
from ..func._batches import Batches, values_in
from ..func._rules import VmapInfo, info_of, run_rule
from ..utils._pytree import tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from .function import Function


def apply_vmapped(cls: type[Function], base: type[Function], batch: int, args: tuple[Any, ...]) -> Any:
    """`cls.apply(*args)`, some of which stand for samples of the batch. `base` is Function."""
    name = cls.__name__
    has_rule = cls.vmap is not base.vmap
    if cls.setup_context is base.setup_context:
        raise RuntimeError(
            f"In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
            f"override the setup_context staticmethod. {name} has a forward that takes ctx; split it in two"
        )
    if has_rule and cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {name}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
            "ambiguity."
        )
    if has_rule:
        return run_rule(cls.vmap, "the vmap staticmethod", batch, args, {})
    if not cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {name}, but it does not have vmap support. Please override and implement the vmap "
            "staticmethod or set generate_vmap_rule=True."
        )
    return _apply_generated(cls, base, args)


class _SampleContext:
    """What `setup_context` and `backward` of the user's get: like a context, for one sample."""

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self._materialize = True
        self.saved_tensors: tuple[Any, ...] = ()
        self.saved_for_forward: tuple[Any, ...] = ()
        self._constant: tuple[Tensor, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        self.saved_for_forward = tensors

    def set_materialize_grads(self, value: bool) -> None:
        self._materialize = value

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        self._constant = tensors

    def mark_dirty(self, *_: Tensor) -> None:
        raise NotImplementedError("Function: generate_vmap_rule=True does not support mark_dirty; write a vmap rule")


class _Batch:
    """Several batches as one: those of the call, begun again within the forward or backward of its node."""

    def __init__(self, infos: list[VmapInfo]) -> None:
        self.numbers = [_core.begin_batch(*info) for info in infos]
        self.sizes = [info.batch_size for info in infos]

    def end(self) -> None:
        for number in reversed(self.numbers):
            _core.end_batch(number)

    def sample(self, values: Tensor) -> Tensor:
        for number in self.numbers:
            values = _core.make_batched(values, number)
        return values

    def values(self, sample: Any) -> Any:
        if not _is_sample(sample):
            return sample
        for number, size in zip(reversed(self.numbers), reversed(self.sizes), strict=True):
            sample = values_in(sample, number, size)
        return sample


def _is_sample(value: Any) -> bool:
    """Whether it stands for a batch."""
    return isinstance(value, Tensor) and _core.batch_of(value) != 0


def _within(infos: list[VmapInfo], run: Callable[[_Batch], Any]) -> Any:
    batch = _Batch(infos)
    try:
        return run(batch)
    finally:
        batch.end()


def _wrapped(values: Any, has_batch: list[bool], batch: _Batch) -> list[Any]:
    return [batch.sample(one) if has else one for one, has in zip(values, has_batch, strict=True)]


def _of_all(samples: Sequence[Any], batch: _Batch) -> list[Any]:
    """Their values, with an axis for each batch."""
    return [
        one if one is None else batch.values(one) if _is_sample(one) else one.expand(*batch.sizes, *one.shape)
        for one in samples
    ]


def _apply_generated(cls: type[Function], base: type[Function], args: tuple[Any, ...]) -> Any:
    outside = Batches()
    infos = [info_of(number) for number, _ in _core.active_batches()]
    sizes = [info.batch_size for info in infos]
    batched_args = [_is_sample(one) for one in args]
    structure: list[Any] = []

    def forward(ctx: Any, *values: Any) -> tuple[Tensor, ...]:
        inner = _SampleContext(ctx.needs_input_grad)

        def run(batch: _Batch) -> tuple[list[Any], list[Any]]:
            samples = _wrapped(values, batched_args, batch)
            output = cls.forward(*samples)
            cls.setup_context(inner, tuple(samples), output)
            leaves, spec = tree_flatten(output)
            structure.append(spec)
            ctx.constant = [any(one is other for other in inner._constant) for one in leaves]
            ctx.saved_have_batch = list(map(_is_sample, inner.saved_tensors))
            ctx.forward_has_batch = list(map(_is_sample, inner.saved_for_forward))
            ctx.save_for_forward(*map(batch.values, inner.saved_for_forward))
            return _of_all(leaves, batch), list(map(batch.values, inner.saved_tensors))

        found, saved = _within(infos, run)
        inner.saved_tensors = inner.saved_for_forward = ()
        ctx.inner = inner
        ctx.set_materialize_grads(inner._materialize)
        ctx.save_for_backward(*saved)
        ctx.mark_non_differentiable(*[one for one, constant in zip(found, ctx.constant, strict=True) if constant])
        return tuple(found)

    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        def run(batch: _Batch) -> list[Any]:
            inner = ctx.inner
            inner.saved_tensors = tuple(_wrapped(ctx.saved_tensors, ctx.saved_have_batch, batch))
            given = _wrapped(gradients, [one is not None for one in gradients], batch)
            try:
                results = cls._rule()(inner, *given)
            finally:
                inner.saved_tensors = ()
            results = results if isinstance(results, tuple) else (results,)
            return [
                None if one is None else _fitted(batch.values(one), _is_sample(one), has, sizes)
                for one, has in zip(results, batched_args, strict=True)
            ]

        return tuple(_within(infos, run))

    def jvp(ctx: Any, *tangents: Any) -> tuple[Any, ...]:
        def run(batch: _Batch) -> list[Any]:
            inner = ctx.inner
            inner.saved_tensors = tuple(_wrapped(ctx.saved_tensors, ctx.forward_has_batch, batch))
            has_batch = [has and one is not None for one, has in zip(tangents, batched_args, strict=True)]
            try:
                results = cls.jvp(inner, *_wrapped(tangents, has_batch, batch))
            finally:
                inner.saved_tensors = ()
            return _of_all(results if isinstance(results, tuple) else (results,), batch)

        return tuple(_within(infos, run))

    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward), "jvp": staticmethod(jvp)}
    made: Any = type(cls.__name__, (base,), methods)
    results = made.apply(*(outside.below(one) if has else one for one, has in zip(args, batched_args, strict=True)))
    return tree_unflatten([outside.above(one) for one in results], structure[0])


def _fitted(gradient: Tensor, of_each: bool, has_batch: bool, sizes: list[int]) -> Tensor:
    """All samples' gradients for an input that is a batch, their sum for one that they share."""
    if has_batch:
        return gradient if of_each else gradient.expand(*sizes, *gradient.shape)
    return gradient.sum(tuple(range(len(sizes)))) if of_each else gradient * math.prod(sizes)
