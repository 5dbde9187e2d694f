"""What recording costs: products of 4 elements, where arithmetic takes no time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from bench.workload import Jit, Module, Run, Workload
from bench.workloads._shared import values

PRODUCTS = 1000


def factors() -> tuple[Any, Any]:
    """The second so near to 1 that its hundred thousandth power is a number."""
    return values(4), values(4, seed=1, scale=1e-5) + 1


def operands(m: Module) -> tuple[Any, Any]:
    x, y = map(m.from_numpy, factors())
    return x.requires_grad_(), y.requires_grad_()


def products(x: Any, y: Any) -> Callable[[], Any]:
    def run() -> Any:
        for _ in repeat(None, PRODUCTS):
            z = x * y
        return z

    return run


def link_up(x: Any, y: Any, links: int) -> Callable[[], Any]:
    def run() -> Any:
        z = x
        for _ in repeat(None, links):
            z = z * y
        return z

    return run


class Overhead(Workload):
    group = "overhead"
    count = PRODUCTS


class Product(Overhead):
    name = "product of 4 elements, recorded"

    def eager(self, m: Module, jit: Jit) -> Run:
        return Run(products(*operands(m)))

    def numpy(self, np: Module) -> Run:
        return Run(products(*factors()))


class ProductNoGrad(Product):
    name = "product of 4 elements, no_grad"

    def eager(self, m: Module, jit: Jit) -> Run:
        multiply = products(*operands(m))

        def run() -> Any:
            with m.no_grad():
                return multiply()

        return Run(run)


class ForwardChain(Overhead):
    name = "chain of 1000 products, forward"

    def eager(self, m: Module, jit: Jit) -> Run:
        return Run(link_up(*operands(m), PRODUCTS))

    def numpy(self, np: Module) -> Run:
        return Run(link_up(*factors(), PRODUCTS))


class SmallGradient(Workload):
    name = "gradient of tanh(v * v).sum(), 4 elements"
    group = "overhead"
    replayed = True

    def eager(self, m: Module, jit: Jit) -> Run:
        v, _ = operands(m)

        def run() -> Any:
            v.grad = None
            m.tanh(v * v).sum().backward()
            return v.grad

        return Run(run)

    def jax(self, jax: Module) -> Run:
        gradient = jax.jit(jax.grad(lambda v: jax.numpy.tanh(v * v).sum()))
        v = jax.numpy.asarray(factors()[0])
        return Run(lambda: gradient(v), ready=jax.block_until_ready)


class GraphFreed(Overhead):
    name = "graph of 1000 nodes freed"

    def eager(self, m: Module, jit: Jit) -> Run:
        build = link_up(*operands(m), PRODUCTS)

        def free(holder: list[Any]) -> list[Any]:
            holder.clear()
            return holder

        return Run(free, prepare=lambda: [build()])


class Provenance(Overhead):
    """The product with and without noting the user's line: called directly, and through three frames of clew."""

    clew_alone = True

    def __init__(self, noted: bool, frames: bool) -> None:
        self.noted, self.frames = noted, frames
        self.name = f"product, line {'noted' if noted else 'not noted'}" + ", through three frames" * frames

    def eager(self, m: Module, jit: Jit) -> Run:
        x, y = operands(m)
        run = self._through_clew(m, x, y) if self.frames else products(x, y)

        def switched() -> Any:
            m._core.provenance(self.noted)
            try:
                return run()
            finally:
                m._core.provenance(True)

        return Run(switched)

    @staticmethod
    def _through_clew(clew: Module, x: Any, y: Any) -> Callable[[], Any]:
        frames = "def one(x, y): return two(x, y)\ndef two(x, y): return three(x, y)\ndef three(x, y): return x * y\n"
        scope: dict[str, Any] = {}
        # The engine knows its frames by the very object that holds the file's name.
        exec(compile(frames, clew.explain.__code__.co_filename, "exec"), scope)
        one = scope["one"]

        def run() -> Any:
            for _ in repeat(None, PRODUCTS):
                z = one(x, y)
            return z

        return run


WORKLOADS = (
    SmallGradient(),
    Product(),
    ProductNoGrad(),
    ForwardChain(),
    GraphFreed(),
    *(Provenance(noted, frames) for frames in (False, True) for noted in (True, False)),
)
