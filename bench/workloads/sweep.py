"""Operations one by one, from 1 to ten million elements, forward and backward.

An operation is an expression. ``everywhere`` is what clew, PyTorch, NumPy, JAX and autograd all understand; where they
differ, ``torch`` (clew and PyTorch) and ``numpy`` (the others) have their own. ``m`` is the module, ``F`` the functions
of networks; ``x`` and ``y`` have n elements (``y`` is positive), ``X`` and ``Y`` the same as matrices, ``row`` a row of
them, ``mask`` is boolean, ``places`` are n random indices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.workload import Jit, Module, Run, Workload
from bench.workloads._shared import Array, aligned, values

POWERS = range(8)


@dataclass(frozen=True, slots=True)
class Operation:
    """``reads`` and ``writes``: the bytes an element of elementwise operations, which memory's speed limits."""

    name: str
    everywhere: str = ""
    torch: str = ""
    numpy: str = ""
    jax: str = ""
    reads: int = 0
    writes: int = 0
    wanted: Sequence[str] = ("x",)  # the inputs that the gradient is for
    without: Sequence[str] = ()  # who has no gradient of it

    def expression(self, rival: str) -> str:
        """What a rival runs; empty if it has no such thing."""
        if rival in self.without:
            return ""
        if rival == "jax" and self.jax:
            return self.jax
        return self.everywhere or (self.torch if rival == "torch" else self.numpy)


OPERATIONS = (
    Operation("add", "x + y", reads=8, writes=4, wanted=("x", "y")),
    Operation("add a row", "X + row", reads=4, writes=4, wanted=("X", "row")),
    Operation("mul", "x * y", reads=8, writes=4, wanted=("x", "y")),
    Operation("div", "x / y", reads=8, writes=4, wanted=("x", "y")),
    Operation("exp", "m.exp(x)", reads=4, writes=4),
    Operation("log", "m.log(y)", reads=4, writes=4, wanted=("y",)),
    Operation("tanh", "m.tanh(x)", reads=4, writes=4),
    Operation("sigmoid", torch="m.sigmoid(x)", numpy="1 / (1 + m.exp(-x))", jax="F.sigmoid(x)", reads=4, writes=4),
    Operation("relu", torch="m.relu(x)", numpy="m.maximum(x, 0)", jax="F.relu(x)", reads=4, writes=4),
    Operation("gelu", torch="F.gelu(x)", jax="F.gelu(x, approximate=False)", reads=4, writes=4),
    Operation("pow", "y ** 2.5", reads=4, writes=4, wanted=("y",)),
    Operation("where", "m.where(mask, x, y)", reads=9, writes=4, wanted=("x", "y")),
    Operation("sum", "m.sum(x)"),
    Operation("sum of rows", "m.sum(X, 1)", wanted=("X",)),
    Operation("max", "m.max(x)"),
    Operation("softmax", torch="m.softmax(X, 1)", numpy="softmax(X)", jax="F.softmax(X, axis=1)", wanted=("X",)),
    Operation(
        "log_softmax",
        torch="m.log_softmax(X, 1)",
        numpy="log_softmax(X)",
        jax="F.log_softmax(X, axis=1)",
        wanted=("X",),
    ),
    Operation("cumsum", "m.cumsum(x, 0)"),
    Operation("cat", torch="m.cat((x, y))", numpy="m.concatenate((x, y))", wanted=("x", "y")),
    Operation("index", "x[places]"),
    Operation(
        "transposed copy",
        torch="X.T.contiguous()",
        numpy="m.ascontiguousarray(X.T)",
        jax="X.T",
        wanted=("X",),
        without=("autograd",),
    ),
)


def inputs(power: int) -> dict[str, Array]:
    size = 10**power
    shape = 10 ** (power // 2), 10 ** (power - power // 2)
    x, y = values(size), aligned(np.abs(values(size, seed=1)) + np.float32(0.5))
    rng = np.random.default_rng(2)
    return {
        "x": x,
        "y": y,
        "X": x.reshape(shape),
        "Y": y.reshape(shape),
        "row": values(shape[1], seed=3),
        "mask": aligned(rng.random(size) > 0.5),
        "places": aligned(rng.integers(0, size, size)),
    }


def _function(expression: str, names: Sequence[str], scope: dict[str, Any]) -> Callable[..., Any]:
    made: Callable[..., Any] = eval(f"lambda {', '.join(names)}: {expression}", scope)
    return made


def _statement(expression: str, scope: dict[str, Any]) -> Run:
    """The expression in a loop of its own: no call of a Python function is timed with it."""
    source = (
        f"def made({', '.join(scope)}):\n"
        f"    def loop(calls):\n"
        f"        for _ in repeat(None, calls):\n"
        f"            result = {expression}\n"
        f"        return result\n"
        f"    return loop\n"
    )
    built: dict[str, Any] = {}
    exec(f"from itertools import repeat\n{source}", built)
    loop = built["made"](**scope)
    return Run(lambda: loop(1), loop=loop)


def _listed(run: Run) -> Run:
    """The run, its results compared one by one."""
    run.check = lambda: list(run.call())
    return run


class Swept(Workload):
    group = "sweep"
    tolerance = 10

    def __init__(self, operation: Operation, power: int, backward: bool) -> None:
        self.operation, self.power, self.backward = operation, power, backward
        self.name = f"sweep {operation.name}, 10^{power}, {'backward' if backward else 'forward'}"

    def facts(self) -> dict[str, Any]:
        moved = 0 if self.backward else (self.operation.reads + self.operation.writes) * 10**self.power
        return {
            "operation": self.operation.name,
            "size": 10**self.power,
            "direction": "backward" if self.backward else "forward",
            "bytes": moved,
        }

    def has(self, method: str) -> bool:
        if method == "machine" or not super().has(method):
            return False
        if method == ("numpy" if self.backward else "autograd"):
            return False  # NumPy has the forward only, and autograd's forward is NumPy's
        return bool(self.operation.expression("torch" if method == "eager" else method))

    def eager(self, m: Module, jit: Jit) -> Run:
        scope: dict[str, Any] = {name: m.from_numpy(array) for name, array in inputs(self.power).items()}
        scope |= {"m": m, "F": m.nn.functional}
        expression = self.operation.expression("torch")
        if not self.backward:
            return _statement(expression, scope)
        wanted = [scope[name].requires_grad_() for name in self.operation.wanted]
        out = eval(expression, dict(scope))
        slope = m.from_numpy(values(*out.shape, seed=4))
        scope = {"out": out, "slope": slope, "wanted": wanted, "grad": m.autograd.grad}
        return _statement("grad(out, wanted, slope, retain_graph=True)", scope)

    def numpy(self, np: Module) -> Run:
        return _statement(self.operation.expression("numpy"), inputs(self.power) | self._composed(np))

    def jax(self, jax: Module) -> Run:
        expression = self.operation.expression("jax")
        named = compile(expression, "<sweep>", "eval").co_names
        scope = {name: jax.numpy.asarray(array) for name, array in inputs(self.power).items() if name in named}
        function = _function(expression, list(scope), {"m": jax.numpy, "F": jax.nn})
        if not self.backward:
            return _statement(f"f({', '.join(scope)}).block_until_ready()", scope | {"f": jax.jit(function)})
        wanted = self.operation.wanted

        def of_wanted(*chosen: Any) -> Any:
            return function(**scope | dict(zip(wanted, chosen, strict=True)))

        out, back = jax.vjp(of_wanted, *(scope[name] for name in wanted))
        slope = jax.numpy.asarray(values(*out.shape, seed=4))
        scope = {
            "back": back,
            "slope": slope,
            "f": jax.jit(lambda back, slope: back(slope)),
            "wait": jax.block_until_ready,
        }
        return _listed(_statement("wait(f(back, slope))", scope))

    def autograd(self, autograd: Module) -> Run:
        import autograd.numpy as anp

        every = inputs(self.power)
        function = _function(self.operation.expression("autograd"), list(every), self._composed(anp))
        wanted = self.operation.wanted
        back, out = autograd.make_vjp(lambda chosen: function(**every | dict(zip(wanted, chosen, strict=True))))(
            tuple(every[name] for name in wanted)
        )
        slope = values(*np.shape(out), seed=4)
        return _listed(_statement("back(slope)", {"back": back, "slope": slope}))

    @staticmethod
    def _composed(np_: Module) -> dict[str, Any]:
        """What one writes with NumPy where it has no such function."""

        def log_softmax(x: Any) -> Any:
            shifted = x - np_.max(x, axis=1, keepdims=True)
            return shifted - np_.log(np_.sum(np_.exp(shifted), axis=1, keepdims=True))

        def softmax(x: Any) -> Any:
            exponentials = np_.exp(x - np_.max(x, axis=1, keepdims=True))
            return exponentials / np_.sum(exponentials, axis=1, keepdims=True)

        return {"m": np_, "softmax": softmax, "log_softmax": log_softmax}


WORKLOADS = tuple(
    Swept(operation, power, backward) for operation in OPERATIONS for backward in (False, True) for power in POWERS
)
