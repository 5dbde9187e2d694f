"""Tangents where they used to be lost: gradients that are views, other layouts, writes under no_grad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch as pytorch

import clew as torch
from clew.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")

F64 = torch.float64
forward_ad = torch.autograd.forward_ad

# The rule of what is applied to x directly ends in a view. Each with its Hessian at x along v, by mathematics.
ENDS_IN_A_VIEW: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {
    "sum": (lambda x: x.sum() ** 2, lambda x, v: 2 * v.sum() * numpy.ones_like(x)),
    "mean": (lambda x: x.mean() ** 3, lambda x, v: 6 * x.mean() * v.mean() / x.size * numpy.ones_like(x)),
    "reshape": (lambda x: (x.reshape(-1) ** 3).sum(), lambda x, v: 6 * x * v),
    "transpose": (lambda x: (x.t() ** 3).sum(), lambda x, v: 6 * x * v),
    "expand": (lambda x: (x.expand(4, 2, 3) ** 3).sum(), lambda x, v: 24 * x * v),
    "select": (lambda x: (x[0] ** 3).sum(), lambda x, v: 6 * x * v * numpy.array([[1.0], [0.0]])),
}
X, V = numpy.array([[1.0, 2.0, -3.0], [0.5, -1.0, 4.0]]), numpy.array([[1.0, -1.0, 2.0], [0.0, 3.0, 1.0]])


@pytest.mark.parametrize("name", ENDS_IN_A_VIEW)
@pytest.mark.parametrize("layout", ["plain", "transposed"])
def test_forward_over_reverse(name: str, layout: str) -> None:
    f, product = ENDS_IN_A_VIEW[name]
    expected = product(X, V)
    x, v = torch.tensor(X), torch.tensor(V)
    if layout == "transposed":
        x, v = x.t().contiguous().t(), v.t().contiguous().t()
    one = torch.ones((), dtype=F64)
    found = {
        "jvp(grad)": jvp(grad(f), (x,), (v,))[1],
        "jvp(vjp)": jvp(lambda x: vjp(f, x)[1](one)[0], (x,), (v,))[1],
        "jacfwd(grad)": torch.einsum("abcd,cd->ab", jacfwd(grad(f))(x), v),
        "hessian": torch.einsum("abcd,cd->ab", hessian(f)(x), v),
        "vmap": vmap(lambda v: jvp(grad(f), (x,), (v,))[1])(v[None])[0],
    }
    for create_graph in (False, True):
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x.clone().requires_grad_(), v)
            (gradient,) = torch.autograd.grad(f(dual), dual, create_graph=create_graph)
            found[f"autograd.grad, {create_graph=}"] = forward_ad.unpack_dual(gradient).tangent
    for way, value in found.items():
        numpy.testing.assert_allclose(value.detach().numpy(), expected, rtol=1e-12, atol=1e-12, err_msg=way)


def test_a_product_is_differentiated_by_its_direction() -> None:
    x, v = torch.tensor(X), torch.tensor(V)
    f = ENDS_IN_A_VIEW["reshape"][0]
    found = grad(lambda v: (jvp(grad(f), (x,), (v,))[1] ** 2).sum())(v)
    numpy.testing.assert_allclose(found.numpy(), 2 * (6 * X) ** 2 * V)
    assert not jvp(grad(f), (x,), (v,))[1].requires_grad


TANGENTS = {
    "transposed": lambda m: m.arange(6.0).reshape(3, 2).t(),
    "expanded": lambda m: m.arange(3.0).expand(2, 3),
    "with gaps": lambda m: m.arange(12.0).reshape(2, 6)[:, ::2],
}
VIEWS = {
    "view": lambda x: x.view(3, 2),
    "reshape": lambda x: x.reshape(6),
    "as_strided": lambda x: x.as_strided((5,), (1,)),
    "as_strided that overlaps": lambda x: x.as_strided((2, 3), (1, 2)),
    "view_as_complex": lambda x: x[:, :2].contiguous().view(1, 2, 2)[0, 1],
}


@pytest.mark.parametrize("tangent", TANGENTS)
@pytest.mark.parametrize("view", VIEWS)
def test_a_tangent_lies_as_its_value(tangent: str, view: str) -> None:
    found = []
    for module in (torch, pytorch):
        x, t = module.arange(6.0).reshape(2, 3), TANGENTS[tangent](module)
        found.append([one.tolist() for one in module.func.jvp(VIEWS[view], (x,), (t,))])
    assert found[0] == found[1]
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.arange(6.0).reshape(2, 3), TANGENTS[tangent](torch))
        assert forward_ad.unpack_dual(dual).tangent.stride() == (3, 1)


def test_derivatives_of_products_by_forward_mode_alone() -> None:
    w, x = torch.ones(3, 2, dtype=F64), torch.arange(10.0, dtype=F64).reshape(5, 2)
    f = lambda w: ((x @ w.t()) ** 2).sum()  # noqa: E731
    expected = jacrev(jacrev(f))(w)
    numpy.testing.assert_allclose(jacfwd(jacfwd(f))(w).numpy(), expected.numpy())
    numpy.testing.assert_allclose(expected[1, :, 1].numpy(), 2 * (x.t() @ x).numpy())


def test_a_view_of_a_value_that_overlaps_itself() -> None:
    """Of an expanded value, views that are turned have the strides of the value, but not its tangent."""
    x, t = torch.tensor(1.0).expand(2, 2), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert jvp(lambda x: x.t() * 1, (x,), (t,))[1].tolist() == [[1.0, 3.0], [2.0, 4.0]]
    x, t = torch.arange(3.0).unfold(0, 2, 1), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert jvp(lambda x: x.t() * 1, (x,), (t,))[1].tolist() == [[1.0, 3.0], [2.0, 4.0]]


def test_rules_that_read_parts_of_a_sample() -> None:
    """The samples of an expanded value lie at one place; the rule of a layer reads its steps by place."""
    layer = torch.nn.GRU(2, 2).to(F64)
    layer.requires_grad_(False)
    at = torch.ones(3, 1, 2, dtype=F64)
    f = lambda v: jvp(lambda x: layer(x)[0], (at,), (v,))[1]  # noqa: E731
    v = torch.arange(6.0, dtype=F64).reshape(3, 1, 2)
    numpy.testing.assert_allclose(jacfwd(f)(v).numpy(), jacrev(f)(v).numpy(), rtol=1e-12, atol=1e-14)
    columns = [f(unit).numpy() for unit in torch.eye(6, dtype=F64).reshape(6, 3, 1, 2)]  # linear in v
    numpy.testing.assert_allclose(jacfwd(f)(v).numpy().reshape(3, 1, 2, 6), numpy.stack(columns, -1), rtol=1e-12)


def test_as_strided_of_samples() -> None:
    f = lambda x: (x.as_strided((2, 2), (1, 2)) ** 3).sum()  # noqa: E731
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=F64)
    for way in (jacfwd, jacrev):
        assert way(f)(x).tolist() == [3.0, 12.0, 27.0, 48.0]
        for outer in (jacfwd, jacrev):
            assert outer(way(f))(x).tolist() == torch.diag(6 * x).tolist()


def test_elements_that_share_a_place_share_its_gradient() -> None:
    found = []
    for module in (torch, pytorch):
        leaf = module.ones(3, 1, requires_grad=True)
        y = leaf.expand(3, 2).as_strided((3, 2), (1, 0))
        found.append(module.autograd.grad(y.sum(), leaf)[0].tolist())
        x = module.arange(4.0, requires_grad=True)
        y = x.unfold(0, 2, 1).as_strided((4,), (1,))
        found[-1].append(module.autograd.grad((y * module.arange(4.0)).sum(), x)[0].tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("write", ["clamp_", "mul_", "an element", "a view read late"])
def test_a_write_under_no_grad_keeps_the_history_of_the_tangent(write: str) -> None:
    """The value's derivative takes no notice of the write; that of the tangent is of what the tangent became."""
    a = torch.tensor([0.1, 0.2], dtype=F64)

    def f(t: Any) -> Any:
        v = (t * t + a).clone()
        part = v[0]
        with torch.no_grad():
            if write == "clamp_":
                v.clamp_(min=1e-6)
            elif write == "mul_":
                v.mul_(1.0)
            elif write == "an element":
                v[0] = v[0] * 1.0
            else:
                part.mul_(1.0)
                part.sum()  # its tangent is worked out here
        return v.log().sum() + part

    t = torch.tensor(0.3, dtype=F64)
    along = lambda f: lambda t: jvp(f, (t,), (torch.ones_like(t),))[1]  # noqa: E731
    first = along(f)
    right = ((first(t + 1e-5) - first(t - 1e-5)) / 2e-5).item()
    assert along(first)(t).item() == pytest.approx(right, rel=1e-6)
    if write in ("clamp_", "mul_"):
        assert grad(first)(t).item() == pytest.approx(right, rel=1e-6)


def test_third_order_through_a_write() -> None:
    def f(x: Any) -> Any:
        y = x * x
        y[0] = (y[1] + 0.0) * x[0]
        y.mul_(x)
        return (y * y).sum()

    x, v = torch.tensor([0.7, -1.2, 0.4], dtype=F64), torch.tensor([1.0, 0.5, -2.0], dtype=F64)
    product = lambda x: jvp(grad(f), (x,), (v,))[1]  # noqa: E731
    third = jacrev(jacrev(jacrev(f)))(x)
    numpy.testing.assert_allclose(jacrev(product)(x).numpy(), torch.einsum("abc,b->ac", third, v).numpy(), rtol=1e-12)
    numpy.testing.assert_allclose(jacfwd(product)(x).numpy(), torch.einsum("abc,b->ac", third, v).numpy(), rtol=1e-12)
