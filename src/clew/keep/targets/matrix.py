"""Products of vectors and matrices: sums of products over broadcast operands."""

from __future__ import annotations

from .kernels import Builder
from .layout import Operand
from .table import Call, lowers


def multiply(k: Builder, out: Operand, left: Operand, right: Operand) -> None:
    """[..., m, k] times [..., k, n]."""
    rank = out.rank
    k.product(out.inserted(rank), left.moved(-1, -1).inserted(rank - 1), right.moved(-2, -1).inserted(rank - 2))


def _transposed(x: Operand, really: bool) -> Operand:
    return x.moved(-1, -2) if really else x


@lowers("mm", "bmm")
def _mm(k: Builder, step: Call) -> None:
    multiply(k, step.out, step.input(0), step.input(1))


@lowers("_product", "_batched_product")
def _product(k: Builder, step: Call) -> None:
    left = _transposed(step.input(0), step.attributes["transpose_self"])
    right = _transposed(step.input(1), step.attributes["transpose_other"])
    multiply(k, step.out, left, right)


@lowers("mv")
def _mv(k: Builder, step: Call) -> None:
    k.product(step.out.inserted(1), step.input(0), step.input(1).inserted(0))


@lowers("dot", "vdot")
def _dot(k: Builder, step: Call) -> None:
    k.product(step.out.inserted(0), step.input(0), step.input(1))


@lowers("outer")
def _outer(k: Builder, step: Call) -> None:
    k.assign(step.out, lambda x, y: x * y, step.input(0).inserted(1), step.input(1).inserted(0))


@lowers("addmm", "baddbmm", "addmv")
def _addmm(k: Builder, step: Call) -> None:
    alpha, beta = step.attributes["alpha"], step.attributes["beta"]
    added, left, right = (step.input(i) for i in range(3))
    out = step.out
    product = k.like(out)
    if step.op == "addmv":
        k.product(product.inserted(1), left, right.inserted(0))
    else:
        multiply(k, product, left, right)
    if beta == 0:
        return k.assign(out, lambda x: x * alpha, product)
    return k.assign(out, lambda x, added: x * alpha + added * beta, product, added)
