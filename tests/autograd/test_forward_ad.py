"""Dual tensors, beside PyTorch's."""

import gc
import weakref

import numpy
import pytest
import torch

import clew

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
BOTH = pytest.mark.parametrize("module", [clew, torch], ids=["clew", "torch"])


def forward_ad(module):
    import importlib

    return importlib.import_module(f"{module.__name__}.autograd.forward_ad")


def real(*shape, seed=0):
    return numpy.random.default_rng(seed).standard_normal(shape)


def rows(function, *arrays):
    """The tangent of what function(module, *duals) gives, in both modules; arrays are values, then tangents."""
    found = []
    for module in (clew, torch):
        ad = forward_ad(module)
        half = len(arrays) // 2
        with ad.dual_level():
            duals = [
                ad.make_dual(module.tensor(x), module.tensor(t))
                for x, t in zip(arrays[:half], arrays[half:], strict=True)
            ]
            tangent = ad.unpack_dual(function(module, *duals)).tangent
        found.append(None if tangent is None else tangent.detach().numpy().copy())
    return found


def written_row(m, x):
    y = m.zeros(3, 4, dtype=x.dtype)
    y[1] = x
    y[1:].mul_(x)
    return y * 2


def view_before(m, x):
    y = m.zeros(3, 4, dtype=x.dtype)
    row, column = y[1], y[:, 2]
    row.copy_(x)
    return column * 3


def view_of_dual(m, x):
    y = x.clone()
    part = y[1:3]
    y.mul_(x)
    return part.exp()


def part_of_transposed(m, x):
    y = (x.unsqueeze(0) * x.unsqueeze(1)).t()
    y[0].add_(x)
    y[:, 1].zero_()
    return y


def axes_in_place(m, x):
    y = m.outer(x, x).reshape(2, 8)
    y.t_()
    y.unsqueeze_(0)
    return y * y


PROGRAMS = {
    "elementwise": lambda m, x: m.sin(x) * x + x.exp() / 3,
    "a sum": lambda m, x: (x * x).sum(),
    "a product": lambda m, x: m.outer(x, x) @ x,
    "softmax": lambda m, x: x.softmax(0),
    "no tangent": lambda m, x: x.detach() * 2,
    "a comparison": lambda m, x: m.where(x > 0, x, x * 0.1),
    "no_grad": lambda m, x: m.no_grad()(lambda: x**3)(),
    "in place": lambda m, x: x.clone().mul_(x).add_(1).sin_(),
    "a row that is written": written_row,
    "a view made before": view_before,
    "a view of what is written": view_of_dual,
    "parts of a transposed one": part_of_transposed,
    "axes in place": axes_in_place,
    "filled": lambda m, x: x.clone().fill_(2.0) * x,
    "sorted": lambda m, x: x.sort().values,
    "an integer power": lambda m, x: m.stack([x, x**2]).prod(0),
    "split": lambda m, x: x.split(2)[1] * 2,
}


@pytest.mark.unsanitized("comparisons with PyTorch are made without sanitizers")
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_pytorch(name):
    ours, theirs = rows(PROGRAMS[name], real(4), real(4, seed=1))
    if theirs is None:
        assert ours is None or not ours.any()
    else:
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@BOTH
def test_levels(module):
    ad = forward_ad(module)
    x, t = module.tensor([1.0, 2.0]), module.tensor([1.0, 0.0])
    with pytest.raises(RuntimeError, match="no level exists"):
        ad.make_dual(x, t)
    assert ad.unpack_dual(x) == (x, None)
    assert ad.enter_dual_level() == 0
    with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
        ad.enter_dual_level()
    y = ad.make_dual(x, t)
    assert ad.unpack_dual(y).tangent is t or ad.unpack_dual(y).tangent.tolist() == [1.0, 0.0]
    assert ad.unpack_dual(ad.unpack_dual(y).primal).tangent is None
    with pytest.raises(RuntimeError, match="already has a forward gradient"):
        ad.make_dual(y, t)
    with pytest.raises(RuntimeError, match="different size"):
        ad.make_dual(x, module.ones(3))
    with pytest.raises(ValueError, match="Expected primal to be floating point"):
        ad.make_dual(module.tensor([1]), t)
    with pytest.raises(RuntimeError, match="not the last one"):
        ad.exit_dual_level(level=3)
    ad.exit_dual_level()
    assert ad.unpack_dual(y).tangent is None
    with pytest.raises(RuntimeError):
        ad.exit_dual_level()


@BOTH
def test_a_tangent_shows(module):
    ad = forward_ad(module)
    with ad.dual_level():
        assert repr(ad.make_dual(module.tensor(1.0), module.tensor(2.0))) == "tensor(1., tangent=2.0)"


@BOTH
def test_out_is_refused(module):
    ad = forward_ad(module)
    with ad.dual_level():
        x = ad.make_dual(module.ones(2), module.ones(2))
        with pytest.raises(NotImplementedError, match="out= function"):
            module.exp(x, out=module.empty(2))


@BOTH
def test_forward_over_reverse(module):
    ad = forward_ad(module)
    x = module.tensor([1.0, 2.0], requires_grad=True)
    with ad.dual_level():
        dual = ad.make_dual(x, module.tensor([1.0, 3.0]))
        y = (dual.exp() * dual).sum()
        del dual
        (gradient,) = module.autograd.grad(y, x)
        found = ad.unpack_dual(gradient).tangent
    point = x.detach().numpy()
    numpy.testing.assert_allclose(found.detach().numpy(), (2 + point) * numpy.exp(point) * [1, 3], rtol=1e-6)


@BOTH
def test_reverse_over_forward(module):
    ad = forward_ad(module)
    x = module.tensor([1.0, 2.0], requires_grad=True)
    t = module.tensor([1.0, 3.0], requires_grad=True)
    with ad.dual_level():
        tangent = ad.unpack_dual((ad.make_dual(x, t) ** 3).sum()).tangent
    of_x, of_t = module.autograd.grad(tangent, (x, t))
    assert of_x.tolist() == [6.0, 36.0]
    assert of_t.tolist() == [3.0, 12.0]


def test_reverse_over_forward_through_writes():
    def function(x, t):
        def written(x):
            y = clew.zeros(3, dtype=x.dtype)
            y[1:].copy_(x)
            y.mul_(x.sum()).add_(x[0])
            y[0].mul_(x[1])
            return y.sin()

        return clew.func.jvp(written, (x,), (t,))[1]

    x, t = (clew.tensor(real(2, seed=seed), requires_grad=True) for seed in (0, 1))
    assert clew.autograd.gradcheck(function, (x, t))


@BOTH
def test_functions(module):
    class Cube(module.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            ctx.factor = factor
            return factor * x**3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 3 * ctx.factor * x**2, None

        @staticmethod
        def jvp(ctx, tangent, factor):
            assert factor is None
            (x,) = ctx.saved_tensors
            return tangent * 3 * ctx.factor * x**2

    ad = forward_ad(module)
    x = module.tensor([1.0, 2.0], requires_grad=True)
    with ad.dual_level():
        y = Cube.apply(ad.make_dual(x, module.ones(2)), 2.0)
        assert ad.unpack_dual(y).tangent.tolist() == [6.0, 24.0]
        (gradient,) = module.autograd.grad(y.sum(), x)
        assert gradient.tolist() == [6.0, 24.0]


@BOTH
def test_a_function_gets_zeros_for_a_missing_tangent(module):
    class Product(module.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_forward(x, y)
            return x * y

        @staticmethod
        def jvp(ctx, of_x, of_y):
            x, y = ctx.saved_tensors
            return of_x * y + x * of_y

    ad = forward_ad(module)
    with ad.dual_level():
        found = Product.apply(ad.make_dual(module.ones(2), module.ones(2)), module.tensor([2.0, 3.0]))
        assert ad.unpack_dual(found).tangent.tolist() == [2.0, 3.0]


@BOTH
def test_a_function_without_jvp(module):
    class Double(module.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with forward_ad(module).dual_level(), pytest.raises(NotImplementedError, match="must implement the jvp"):
        Double.apply(forward_ad(module).make_dual(module.ones(2), module.ones(2)))


def test_functions_of_functions():
    def make(module):
        class Cube(module.autograd.Function):
            generate_vmap_rule = True

            @staticmethod
            def forward(x):
                return x**3

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(*inputs)
                ctx.save_for_forward(*inputs)

            @staticmethod
            def backward(ctx, grad):
                return grad * 3 * ctx.saved_tensors[0] ** 2

            @staticmethod
            def jvp(ctx, tangent):
                return tangent * 3 * ctx.saved_tensors[0] ** 2

        return Cube

    cases = [
        lambda m, f, x: m.func.jacfwd(f)(x),
        lambda m, f, x: m.func.jacfwd(m.func.jacrev(f))(x),
        lambda m, f, x: m.func.jacrev(m.func.jacfwd(f))(x),
        lambda m, f, x: m.vmap(m.func.jacfwd(f))(m.stack([x, 2 * x])),
    ]
    for case in cases:
        ours, theirs = (case(m, make(m).apply, m.tensor(real(3))) for m in (clew, torch))
        numpy.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-12)
    # PyTorch gives zeros.
    x = clew.tensor(real(3))
    twice = clew.func.jvp(lambda y: clew.func.jvp(make(clew).apply, (y,), (y,))[1], (x,), (clew.ones_like(x),))[1]
    numpy.testing.assert_allclose(twice.numpy(), 9 * real(3) ** 2, rtol=1e-9)


def test_a_write_that_reads_what_it_writes():
    # PyTorch reads what has been written.
    x, t = clew.tensor(real(3)), clew.tensor(real(3, seed=1))

    def square(x):
        y = x.clone()
        return y.mul_(y)

    assert clew.func.jvp(square, (x,), (t,))[1].tolist() == (2 * x * t).tolist()


def test_nothing_is_kept():
    ad = forward_ad(clew)
    gc.collect()
    gc.disable()
    try:
        x = clew.ones(3, requires_grad=True)
        with ad.dual_level():
            y = ad.make_dual(x, clew.ones(3)).exp()
            gone = weakref.ref(ad.unpack_dual(y).tangent)
            (y * y).sum().backward()
        assert gone() is None
        del x
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()


def test_gradcheck():
    x = clew.tensor(real(3), requires_grad=True)
    z = clew.complex(clew.tensor(real(2)), clew.tensor(real(2, seed=1))).requires_grad_()
    for fast in (False, True):
        assert clew.autograd.gradcheck(lambda x: (x.sin(), x.sum()), x, check_forward_ad=True, fast_mode=fast)
        assert clew.autograd.gradcheck(lambda z: (z.exp(), abs(z)), z, check_forward_ad=True, fast_mode=fast)
        assert clew.autograd.gradcheck(lambda x: x.tanh(), x, check_forward_ad=True, check_backward_ad=False)
        assert clew.autograd.gradgradcheck(lambda x: x.tanh() * x, x, check_fwd_over_rev=True, fast_mode=fast)

    class Wrong(clew.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 3

    with pytest.raises(RuntimeError, match="computed with forward mode mismatch for output 0"):
        clew.autograd.gradcheck(Wrong.apply, x, check_forward_ad=True)


@pytest.mark.parametrize("several", [False, True])
def test_functional(several):
    def function(m, x, y):
        if several:
            found = m.autograd.functional.jacobian(
                lambda a, b: (a.outer(b).tanh(), a.sum()), (x, y), vectorize=True, strategy="forward-mode"
            )
        else:
            found = m.autograd.functional.jacobian(m.sin, x, vectorize=True, strategy="forward-mode")
        hessian = m.autograd.functional.hessian(
            lambda a: (a**3).sum() * a[0], x, vectorize=True, outer_jacobian_strategy="forward-mode"
        )
        return [*(one for row in found for one in row), hessian] if several else [found, hessian]

    ours, theirs = (function(m, m.tensor(real(3)), m.tensor(real(2))) for m in (clew, torch))
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == tuple(other.shape)
        assert not one.requires_grad
        numpy.testing.assert_allclose(one.numpy(), other.detach().numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("layer", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("learns", [False, True])
def test_recurrent_layers(layer, learns):
    found = []
    for module in (clew, torch):
        module.manual_seed(0)
        model = getattr(module.nn, layer)(3, 4, num_layers=2).double().requires_grad_(learns)
        x, t = module.tensor(real(5, 2, 3)), module.tensor(real(5, 2, 3, seed=1))
        _, tangent = module.func.jvp(lambda x: model(x)[0], (x,), (t,))  # noqa: B023
        assert tangent.requires_grad == learns
        weight = next(iter(model.parameters()))
        gradient = module.autograd.grad(tangent.sum(), weight)[0] if learns else tangent

        def of_x(x):
            return module.func.grad(lambda x: model(x)[0].sum())(x)  # noqa: B023

        _, second = module.func.jvp(of_x, (x,), (t,))
        found.append([one.detach().numpy() for one in (tangent, gradient, second)])
    for one, other in zip(*found, strict=True):
        numpy.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


def test_in_what_is_kept_and_compiled():
    def derivative(x, t):
        return clew.func.jvp(lambda x: (x.softmax(0) * x).cumsum(0), (x,), (t,))[1]

    x, t = clew.tensor(real(3)), clew.tensor(real(3, seed=1))
    compiled = clew.compile(derivative)
    with clew.keep_graph():
        kept = derivative(x, t)
    for seed in range(3):
        x.copy_(clew.tensor(real(3, seed=seed)))
        expected = derivative(x, t)
        assert compiled(x, t).tolist() == expected.tolist()
        kept.forward()
        assert kept.tolist() == expected.tolist()
    assert compiled.hits == 2


def test_compiled_functions_are_differentiated():
    x, t = clew.tensor(real(3)), clew.tensor(real(3, seed=1))

    def function(x):
        return x.exp() * x

    compiled = clew.compile(function)
    compiled(x), compiled(x)
    for _ in range(2):
        assert clew.func.jvp(compiled, (x,), (t,))[1].tolist() == clew.func.jvp(function, (x,), (t,))[1].tolist()


def test_through_checkpoints_and_into_grad():
    ad = forward_ad(clew)
    x = clew.tensor(real(3), requires_grad=True)
    with ad.dual_level():
        dual = ad.make_dual(x, clew.ones(3, dtype=x.dtype))
        y = clew.utils.checkpoint.checkpoint(lambda z: z.exp() * z, dual, use_reentrant=False)
        y.sum().backward(create_graph=True)
        found = ad.unpack_dual(x.grad).tangent.detach()
        x.grad = None
        numpy.testing.assert_allclose(found.numpy(), (2 + real(3)) * numpy.exp(real(3)), rtol=1e-9)
