"""jacfwd and hessian of a function that reads values of its point, which is the same for all directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch as pytorch

import clew as torch

pytestmark = pytest.mark.filterwarnings(
    "ignore:`torch.jit:DeprecationWarning", "ignore:There is a performance drop", "ignore:Converting a tensor"
)


def branch(of: Any, x: Any) -> Any:
    return (of * x).sum() if of[0] > 0 else x.sum()


def clipped(x: Any) -> Any:
    y = x**2
    y[x > 1.5] = 3.0
    return y


def filled(m: Any, x: Any) -> Any:
    """Writes into a tensor of its own making, which PyTorch's jacfwd, whose point has no batch, takes."""
    out = m.zeros(2, 3, dtype=x.dtype)
    for i in range(3):
        out[0, i] = x[i] ** 3
    out[1] += x * x.sum()
    return out.prod(0).sum() if out[0, 0] > 0 else out.sum()


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "bool": lambda m, x: (x**2).sum() if (x > 0).any() else x.prod(),
    "item": lambda m, x: (x * x.max().item()).sum() ** 2,
    "float": lambda m, x: (x * float(x[0])).prod(),
    "int": lambda m, x: (x ** int(x.abs().max())).sum(),
    "tolist": lambda m, x: (x * m.tensor(x.tolist())).prod(),
    "index": lambda m, x: x[x.argmax()] ** 2,
    "mask": lambda m, x: x[x > 0].sum() ** 2,
    "masked_select": lambda m, x: x.masked_select(x > 0).prod(),
    "nonzero": lambda m, x: (x.nonzero().sum() * x).prod(),
    "written": lambda m, x: x.clone().mul_(x).cumsum(0).sum() if x.clone().abs_().sum() > 1 else x.sum(),
    "checked arguments": lambda m, x: m.distributions.Normal(x, x.exp()).log_prob(x * 2).sum(),
    "a gradient": lambda m, x: branch(m.func.grad(lambda x: (x**3).sum())(x), x),
    "a pulled cotangent": lambda m, x: branch(m.func.vjp(lambda x: x**3, x)[1](x)[0], x),
    "an assignment by a mask": lambda m, x: clipped(x).prod() * x.sum(),
    "written element by element": filled,
    "a checked loss": lambda m, x: m.nn.functional.gaussian_nll_loss(x, x * 2, x * x),
}
WAYS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "jacfwd": lambda m, f, x: m.func.jacfwd(f)(x),
    "hessian": lambda m, f, x: m.func.hessian(f)(x),
    "jacfwd(jacfwd)": lambda m, f, x: m.func.jacfwd(m.func.jacfwd(f))(x),
    "jacrev(jacfwd)": lambda m, f, x: m.func.jacrev(m.func.jacfwd(f))(x),
    "vmap(jvp)": lambda m, f, x: m.vmap(lambda v: m.func.jvp(f, (x,), (v,))[1])(m.eye(3, dtype=x.dtype)),
    "vmap(jvp(grad))": lambda m, f, x: m.vmap(lambda v: m.func.jvp(m.func.grad(f), (x,), (v,))[1])(
        m.eye(3, dtype=x.dtype)
    ),
    "jacrev(jacrev)": lambda m, f, x: m.func.jacrev(m.func.jacrev(f))(x),
    "functional.jacobian": lambda m, f, x: m.autograd.functional.jacobian(
        f, x, vectorize=True, strategy="forward-mode"
    ),
}


@pytest.mark.unsanitized("comparisons with PyTorch are made without sanitizers")
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("way", WAYS)
def test_as_pytorch(function: str, way: str) -> None:
    if way.startswith("vmap") and function == "written element by element":
        pytest.skip("who calls vmap gets its batch: only jacfwd can take the directions one by one")

    def derivative(module: Any, way: str) -> Any:
        x = module.tensor([1.0, 2.0, -3.0], dtype=module.float64)
        return WAYS[way](module, lambda x: FUNCTIONS[function](module, x), x).tolist()

    # PyTorch can't read values where a gradient is the outer derivative: there the Hessian is the same.
    expected = derivative(pytorch, "hessian" if way.startswith("jacrev(jac") else way)
    numpy.testing.assert_allclose(derivative(torch, way), expected, rtol=1e-12, atol=1e-12)


def choose(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else -x


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.vmap(choose)(torch.ones(2, 3)),
        lambda: torch.func.jacfwd(torch.vmap(choose))(torch.ones(2, 3)),
        lambda: torch.vmap(torch.func.jacfwd(choose))(torch.ones(2, 3)),
        lambda: torch.func.jacfwd(lambda x: choose(x + torch.rand(())), randomness="different")(torch.ones(3)),
        lambda: torch.func.jacfwd(lambda x: choose(x.clone().normal_()), randomness="different")(torch.ones(3)),
        lambda: torch.func.jacrev(lambda x: torch.vmap(choose)(x))(torch.ones(2, 3)),
        lambda: torch.vmap(torch.func.grad(lambda x: choose(x).sum()))(torch.ones(2, 3)),
        lambda: torch.vmap(lambda v: choose(torch.func.vjp(torch.sin, torch.ones(3))[1](v)[0]))(torch.eye(3)),
    ],
)
def test_samples_that_may_differ_are_not_read(call: Callable[[], Any]) -> None:
    with pytest.raises(RuntimeError, match="data-dependent control flow"):
        call()


def test_a_tangent_is_not_read() -> None:
    forward_ad = torch.autograd.forward_ad

    def sign_of_tangent(v: Any) -> Any:
        with forward_ad.dual_level():
            tangent = forward_ad.unpack_dual(forward_ad.make_dual(torch.ones(3), v) * 2).tangent
            return tangent if tangent.sum() > 0 else -tangent

    with pytest.raises(RuntimeError, match="data-dependent control flow"):
        torch.vmap(sign_of_tangent)(torch.eye(3))


def test_a_write_of_what_differs_ends_it() -> None:
    def written(v: Any) -> Any:
        def f(x: Any) -> Any:
            y = x.clone()
            y.copy_(v)
            return y * x if y.sum() > 0 else x

        return torch.func.jvp(f, (torch.ones(3),), (v,))[1]

    with pytest.raises(RuntimeError):
        torch.vmap(written)(torch.eye(3))


def test_a_function_that_writes_and_draws() -> None:
    def f(x: Any) -> Any:
        out = torch.zeros(3)
        out[0] = x[0] * torch.rand(())
        return out

    x = torch.ones(3)
    with pytest.raises(RuntimeError, match="random"):
        torch.func.jacfwd(f)(x)
    torch.manual_seed(0)
    drawn = torch.rand(()).item()
    torch.manual_seed(0)
    assert torch.func.jacfwd(f, randomness="same")(x)[0].tolist() == [drawn, 0.0, 0.0]


def test_aux_of_a_function_that_writes() -> None:
    def f(x: Any) -> Any:
        out = torch.zeros(3)
        out[:2] = x**2
        return out, (out.sum(), x)

    jacobian, (total, point) = torch.func.jacfwd(f, has_aux=True)(torch.tensor([1.0, 2.0]))
    assert jacobian.tolist() == [[2.0, 0.0], [0.0, 4.0], [0.0, 0.0]]
    assert total.item() == 5
    assert point.tolist() == [1.0, 2.0]


def test_a_write_under_vmap_is_refused() -> None:
    def f(x: Any) -> Any:
        out = torch.zeros(3)
        out[0] = x.sum()
        return out

    for call in (lambda: torch.vmap(f)(torch.ones(2, 3)), lambda: torch.vmap(torch.func.jacfwd(f))(torch.ones(2, 3))):
        with pytest.raises(RuntimeError, match=r"copy_.* is not possible because there exists a Tensor"):
            call()
