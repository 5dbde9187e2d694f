"""Programs made from a seed: operations of all kinds on a pool of 4 by 4 tensors, of which some are dropped on the way.

What they compute is of no interest; what their graphs hold is.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import clew
from clew.autograd import Function
from clew.utils.checkpoint import checkpoint

SIZE = 4


class Cube(Function):
    """Saves an input, an output, and a tensor that is neither; keeps another as an attribute."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        square = x * x
        result = square * x
        ctx.save_for_backward(x, square, result)
        ctx.note = clew.zeros(3)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        _, square, _ = ctx.saved_tensors
        return grad * square * 3


class Halve(Function):
    """Writes its input in place."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(0.5)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 0.5


class Program:
    """Run ``step()`` a number of times, then ``finish()``; ``everything`` is what its variables hold."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.leaves = [clew.rand(SIZE, SIZE).requires_grad_() for _ in range(3)]
        self.pool: list[Any] = [leaf * 1.0 for leaf in self.leaves]
        self.others: list[Any] = []  # losses, gradients, what hooks close over

    @property
    def everything(self) -> list[Any]:
        grads = [leaf.grad for leaf in self.leaves if leaf.grad is not None]
        return [*self.leaves, *self.pool, *self.others, *grads]

    def pick(self) -> Any:
        return self.chance.choice(self.pool)

    def step(self) -> None:
        operation = self.chance.choice(OPERATIONS)
        self.pool.append(operation(self))
        if len(self.pool) > 5 or self.chance.random() < 0.3:
            self.pool.pop(self.chance.randrange(len(self.pool) - 1))

    def loss(self) -> Any:
        return sum(value.sum() for value in self.chance.sample(self.pool, 2)) + self.leaves[0].sum()

    def finish(self) -> str:
        """A backward of some kind. It may be refused, because of a write in place or because a part was freed."""
        kind = self.chance.choice(FINISHES)
        loss = self.loss()
        self.others.append(loss)
        try:
            kind(self, loss)
        except RuntimeError as error:
            return type(error).__name__
        return kind.__name__


def on_slices(x: Any) -> Any:
    upper, lower = x[:2], x[2:]
    return clew.cat([lower, upper], 0)


def write_to_view(x: Any) -> Any:
    y = x.clone()
    y[1].mul_(2.0)
    return y


def set_item(x: Any, value: Any) -> Any:
    y = x.clone()
    y[0] = value[1]
    return y


def stale_view(program: Program) -> Any:
    """A view whose base is written through another view."""
    y = program.pick().clone()
    first = y[0]
    y[1:].sigmoid_()
    program.others.append(first)
    return y


def spoiled(x: Any) -> Any:
    """Its backward is refused."""
    y = x.tanh()
    result = y * y
    y.mul_(0.5)
    return result


def chunk_and_stack(x: Any) -> Any:
    a, b = x.split(2, 1)
    return clew.cat([a * b, b], 1)


def hooked(program: Program) -> Any:
    y = program.pick() * 1.5
    scale = clew.full((SIZE, SIZE), 0.9)
    y.register_hook(lambda grad: grad * scale)
    return y


def packed(program: Program) -> Any:
    pack, unpack = program.chance.choice(
        [
            (lambda t: t, lambda t: t),
            (lambda t: t.detach().clone(), lambda t: t),
            (lambda t: t.detach().numpy().copy(), clew.from_numpy),
            (lambda t: (t.detach().clone(), "note"), lambda pair: pair[0]),
        ]
    )
    with clew.autograd.graph.saved_tensors_hooks(pack, unpack):
        return program.pick().tanh() * program.pick()


def checkpointed(program: Program) -> Any:
    reentrant = program.chance.random() < 0.5
    return checkpoint(lambda a, b: (a @ b).tanh() * a, program.pick(), program.pick(), use_reentrant=reentrant)


def gradient_with_graph(program: Program) -> Any:
    leaf = program.chance.choice(program.leaves)
    y = (program.pick().tanh() * leaf).sum()
    try:
        (gradient,) = clew.autograd.grad(y, leaf, create_graph=True)
    except RuntimeError:  # a part of it was freed or written
        return y.expand(SIZE, SIZE) * 1.0
    return gradient


def with_numpy(program: Program) -> Any:
    return program.pick() * clew.from_numpy(np.ones((SIZE, SIZE), np.float32))


def unary(function: Callable[[Any], Any]) -> Callable[[Program], Any]:
    return lambda program: function(program.pick())


def binary(function: Callable[[Any, Any], Any]) -> Callable[[Program], Any]:
    return lambda program: function(program.pick(), program.pick())


OPERATIONS: list[Callable[[Program], Any]] = [
    binary(lambda a, b: a + b),
    binary(lambda a, b: a - 2 * b),
    binary(lambda a, b: a * b),
    binary(lambda a, b: a / (b * b + 1)),
    binary(lambda a, b: a @ b),
    binary(lambda a, b: clew.where(a > b, a, b)),
    binary(set_item),
    binary(lambda a, b: a.clone().addcmul_(a, b)),
    unary(lambda a: a.tanh()),
    unary(lambda a: a.sigmoid()),
    unary(lambda a: a.clamp(-2, 2).exp()),
    unary(lambda a: a.relu()),
    unary(lambda a: a**2),
    unary(lambda a: a.softmax(1)),
    unary(lambda a: a.t()),
    unary(lambda a: a.reshape(-1).view(SIZE, SIZE)),
    unary(lambda a: a.sum(0, keepdim=True).expand(SIZE, SIZE)),
    unary(lambda a: a - a.mean()),
    unary(lambda a: a.max(1, keepdim=True).values * a),
    unary(lambda a: a[[3, 1, 0, 2]]),
    unary(lambda a: a.masked_fill(a > 0.5, 0.0)),
    unary(lambda a: a.detach() * a),
    unary(spoiled),
    unary(on_slices),
    unary(chunk_and_stack),
    unary(write_to_view),
    unary(lambda a: a.clone().mul_(3.0).tanh_()),
    unary(lambda a: clew.nn.functional.layer_norm(a, (SIZE,))),
    unary(Cube.apply),
    unary(lambda a: Halve.apply(a.clone())),
    unary(lambda a: (a if a.is_contiguous() else a.clone()).mul_(1.1)),  # may spoil what an earlier operation saved
    stale_view,
    hooked,
    packed,
    checkpointed,
    gradient_with_graph,
    with_numpy,
]


def plain(program: Program, loss: Any) -> None:
    loss.backward()


def retained(program: Program, loss: Any) -> None:
    loss.backward(retain_graph=True)


def twice(program: Program, loss: Any) -> None:
    loss.backward(retain_graph=True)
    loss.backward()


def partial(program: Program, loss: Any) -> None:
    leaf = program.chance.choice(program.leaves)
    program.others += [g for g in clew.autograd.grad(loss, [leaf], allow_unused=True) if g is not None]


def of_inputs(program: Program, loss: Any) -> None:
    loss.backward(inputs=[program.leaves[0]])


def with_graph(program: Program, loss: Any) -> None:
    loss.backward(create_graph=True)


FINISHES = [plain, retained, twice, partial, of_inputs, with_graph]
