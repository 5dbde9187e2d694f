"""Public reports on forward mode and on the transforms of `func`, each as a test.

The first line of a docstring is the report.
"""

import pytest

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")


def test_writes_to_a_transposed_view_reach_the_tangent_of_the_base(torch):
    """https://github.com/pytorch/pytorch/issues/67800

    A write to a transposed view gave its base a copy of the tangent, so that later writes did not reach it.
    """
    forward_ad = torch.autograd.forward_ad
    base = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    view = base.t()
    primal, tangent = torch.tensor([[1.0, 10.0], [100.0, 1000.0]]), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    with forward_ad.dual_level():
        view.mul_(forward_ad.make_dual(primal, tangent))
        first = forward_ad.unpack_dual(base).tangent.clone()
        view *= 2
        again = forward_ad.unpack_dual(base).tangent
        expected = (torch.tensor([[1.0, 3.0], [2.0, 4.0]]) * tangent).t()
        assert first.equal(expected)
        assert again.equal(2 * expected)
        assert forward_ad.unpack_dual(view).tangent.equal(2 * expected.t())


def test_a_write_leaves_the_tangent_that_was_given(torch):
    """https://github.com/pytorch/pytorch/pull/79664

    `a.add(1)` passed on `a`'s tangent itself, so that `b.sub_(dual)` changed `a`'s tangent.
    """
    forward_ad = torch.autograd.forward_ad
    for function in (
        lambda x: x.add(1),
        lambda x: x.sub(1),
        lambda x: x + 0,
        lambda x: x.clone(),
        lambda x: x.contiguous() + 1,
    ):
        tangent = torch.ones(2)
        with forward_ad.dual_level():
            a = forward_ad.make_dual(torch.zeros(2), tangent)
            b = function(a)
            b.mul_(5)
            assert forward_ad.unpack_dual(a).tangent.tolist() == [1, 1]
            assert forward_ad.unpack_dual(b).tangent.tolist() == [5, 5]
        assert tangent.tolist() == [1, 1]


def test_tangents_that_lie_otherwise_in_memory(torch):
    """https://github.com/pytorch/pytorch/issues/67800, https://github.com/pytorch/pytorch/pull/66293

    A tangent whose strides differ from the value's has to be laid out as it before a view is taken.
    """
    forward_ad = torch.autograd.forward_ad
    x = torch.arange(6.0).reshape(2, 3)
    for tangent in (torch.arange(6.0).reshape(3, 2).t(), torch.tensor([[1.0], [2.0]]).expand(2, 3)):
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, tangent)
            assert forward_ad.unpack_dual(dual.view(3, 2)).tangent.equal(tangent.reshape(3, 2))
            assert forward_ad.unpack_dual(dual.view(-1)).tangent.equal(tangent.reshape(-1))
            part = forward_ad.unpack_dual(dual.as_strided((2, 2), (3, 1), 1)).tangent
            assert part.equal(tangent[:, 1:])


def test_higher_derivatives_through_a_function_with_jvp(torch):
    """https://github.com/pytorch/pytorch/issues/197867

    Nested `jacfwd` through a custom function gave [108, 0, 0] for the derivatives of x^4 at 3: right are 108, 108, 72.
    """

    class Square(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

        @staticmethod
        def jvp(ctx, dx):
            (x,) = ctx.saved_tensors
            return 2 * x * dx

    function = lambda x: Square.apply(Square.apply(x)).sum()  # noqa: E731
    x = torch.tensor([3.0], dtype=torch.float64)
    func = torch.func
    assert func.jacrev(func.jacfwd(function))(x).item() == 108
    assert func.jacrev(func.jacrev(function))(x).item() == 108
    if torch.__name__ == "torch":
        return  # [108, 0, 0]
    for expected in (108, 108, 72):
        function = func.jacfwd(function)
        assert function(x).item() == expected


def test_saved_tensors_in_jvp(torch):
    """https://github.com/pytorch/pytorch/issues/121084

    What `save_for_backward` kept was missing in `jvp`, which unpacked an empty tuple; `save_for_forward` is for it.
    """

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x**3, 3 * x**2

        @staticmethod
        def setup_context(ctx, inputs, outputs):
            ctx.mark_non_differentiable(outputs[1])
            ctx.save_for_backward(outputs[1])
            ctx.save_for_forward(outputs[1])

        @staticmethod
        def backward(ctx, g, _):
            (slope,) = ctx.saved_tensors
            return g * slope

        @staticmethod
        def jvp(ctx, dx):
            (slope,) = ctx.saved_tensors
            return dx * slope, None

    x = torch.tensor(2.0, dtype=torch.float64)
    function = lambda x: Cube.apply(x)[0]  # noqa: E731
    assert torch.func.grad(function)(x).item() == 12
    assert torch.func.jvp(function, (x,), (torch.ones_like(x),))[1].item() == 12


def test_functions_inside_transforms(torch):
    """https://github.com/pytorch/functorch/issues/207

    A custom function inside `vmap` or `grad` was silently wrong: its backward was passed over.
    """

    class Scaled(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x.clone()

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 7

    x = torch.tensor([1.0, 2.0])
    func = torch.func
    assert func.grad(lambda x: Scaled.apply(x).sum())(x).tolist() == [7, 7]
    assert torch.vmap(func.grad(Scaled.apply))(x).tolist() == [7, 7]
    assert func.jacrev(Scaled.apply)(x).tolist() == [[7, 0], [0, 7]]

    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g * 7

    if torch.__name__ == "torch":
        with pytest.raises(RuntimeError, match="setup_context"):
            func.grad(Plain.apply)(torch.tensor(1.0))
    else:
        assert func.grad(Plain.apply)(torch.tensor(1.0)).item() == 7


def test_vjp_of_jvp_leaves_the_module_alone(torch):
    """https://github.com/pytorch/pytorch/issues/164759

    `vjp` over `jvp` of a `functional_call` left the module with wrapped parameters, so that later gradients failed.
    """
    module = torch.nn.Linear(2, 1)
    before = dict(module.named_parameters())
    x = torch.tensor([[1.0, 2.0]])
    values = {name: p.detach().clone() for name, p in before.items()}
    square = lambda values: torch.func.functional_call(module, values, (x,)) ** 2  # noqa: E731
    ones = {name: torch.ones_like(p) for name, p in values.items()}
    tangent, back = torch.func.vjp(lambda v: torch.func.jvp(square, (v,), (ones,))[1], values)
    (given,) = back(torch.ones_like(tangent))
    assert torch.allclose(given["weight"], 2 * 4 * x)
    assert all(p is before[name] and type(p) is torch.nn.Parameter for name, p in module.named_parameters())
    module(x).sum().backward()
    assert torch.allclose(module.weight.grad, x)


def test_writes_in_vmap_need_a_tensor_of_the_batch(torch):
    """https://github.com/pytorch/pytorch/issues/103329, https://github.com/facebookresearch/theseus/issues/650,
    https://github.com/pytorch/functorch/issues/1025

    A sample cannot be written into `zeros(...)`, which there is once; of `zeros_like(x)` and `new_zeros` there is one
    for each sample.
    """

    def filled(make):
        def function(x):
            out = make(x)
            out[0] = out[1] + x[0]
            return out

        return torch.vmap(function)(torch.arange(6.0).reshape(2, 3))

    assert filled(torch.zeros_like).tolist() == [[0, 0, 0], [3, 0, 0]]
    assert filled(lambda x: x.new_zeros(x.shape)).tolist() == [[0, 0, 0], [3, 0, 0]]
    assert filled(lambda x: x.new_ones(x.shape)).tolist() == [[1, 1, 1], [4, 1, 1]]
    assert filled(lambda x: x.new_full((3,), 2)).tolist() == [[2, 2, 2], [5, 2, 2]]
    assert filled(lambda x: x.new_empty(3).zero_()).tolist() == [[0, 0, 0], [3, 0, 0]]
    assert filled(lambda x: x.new_empty_strided((3,), (2,)).zero_()).tolist() == [[0, 0, 0], [3, 0, 0]]
    with pytest.raises(RuntimeError, match="vmap"):
        filled(lambda x: torch.zeros(x.shape))

    def table(x, y):
        out = x.new_zeros(2)
        out[0] = x.sum()
        return out

    nested = torch.vmap(torch.vmap(table, (None, 0)), (0, None))(torch.ones(3, 2), torch.ones(4))
    assert nested.tolist() == [[[2, 0]] * 4] * 3


def test_gradients_of_slices_for_each_sample(torch):
    """https://github.com/pytorch/functorch/issues/105, https://github.com/pytorch/functorch/issues/247

    Gradients of each sample failed in the backward of slices and of `clamp`, with an error on writes in `vmap`.
    """
    x = torch.randn(3, 4, 4, dtype=torch.float64)
    loss = lambda x: (x[::2, 1:].clamp(-0.5, 0.5) ** 2).sum() + x[1:, 1:].max()  # noqa: E731
    batch = torch.vmap(torch.func.grad(loss))(x)
    for sample, one in zip(batch, x, strict=True):
        assert torch.allclose(sample, torch.func.grad(loss)(one))


def test_gradients_for_each_sample_of_a_net(torch):
    """https://github.com/pytorch/functorch/issues/977

    Gradients of each sample have to be those of a loop over the samples.
    """
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(8, 3),
    ).double()
    x, target = torch.randn(4, 1, 4, 4, dtype=torch.float64), torch.tensor([0, 2, 1, 2])
    values = {name: p.detach() for name, p in net.named_parameters()}

    def loss(values, x, target):
        out = torch.func.functional_call(net, values, (x[None],))
        return torch.nn.functional.cross_entropy(out, target[None])

    batch = torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(values, x, target)
    for i in range(4):
        net.zero_grad()
        torch.nn.functional.cross_entropy(net(x[i : i + 1]), target[i : i + 1]).backward()
        for name, p in net.named_parameters():
            assert torch.allclose(batch[name][i], p.grad), name


def test_tensors_in_vmap_are_no_leaves(torch):
    """https://github.com/pytorch/pytorch/issues/158610

    `requires_grad` of a tensor in `vmap` is False, whatever it is outside; the gradient comes by itself or by `grad`.
    """
    x = torch.zeros(2, requires_grad=True)
    seen = []

    def function(x):
        seen.append(x.requires_grad)
        return x - 1

    torch.vmap(function)(x).sum().backward()
    assert x.grad.tolist() == [1, 1]


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_random_numbers_in_vmap(torch, randomness):
    """https://github.com/pytorch/functorch/issues/408, https://github.com/pytorch/rl/issues/2313

    Random numbers in `vmap` must be asked for; then dropout is the same for each sample, or differs.
    """
    x = torch.ones(8, 64)
    drop = lambda x: torch.nn.functional.dropout(x, 0.5)  # noqa: E731
    with pytest.raises(RuntimeError, match="randomness"):
        torch.vmap(drop)(x)
    out = torch.vmap(drop, randomness=randomness)(x)
    assert (out == out[0]).all().item() is (randomness == "same")
    assert set(out.flatten().tolist()) == {0.0, 2.0}


def test_tied_weights_in_functional_call(torch):
    """https://github.com/pytorch/pytorch/issues/86708

    A value given for one name of a shared parameter was not used under its other name.
    """

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(2, 2, bias=False)
            self.second = torch.nn.Linear(2, 2, bias=False)
            self.second.weight = self.first.weight

        def forward(self, x):
            return self.second(self.first(x))

    module = Tied()
    x = torch.tensor([[1.0, 2.0]])
    weight = torch.tensor([[2.0, 0.0], [0.0, 3.0]], requires_grad=True)
    out = torch.func.functional_call(module, {"first.weight": weight}, (x,))
    assert out.tolist() == [[4, 18]]
    out.sum().backward()
    assert weight.grad.tolist() == [[4, 10], [5, 12]]
    module.second.weight.data.copy_(weight.detach())
    module(x).sum().backward()
    assert module.first.weight.grad.equal(weight.grad)


def test_least_squares_in_forward_mode(torch):
    """https://github.com/pytorch/pytorch/issues/93982, https://github.com/pytorch/pytorch/issues/77225

    Backward and forward mode of `lstsq` failed for a right-hand side that is a vector.
    """
    a = torch.randn(5, 5, dtype=torch.float64, requires_grad=True)
    b = torch.randn(5, 1, dtype=torch.float64, requires_grad=True)
    solve = lambda a, b: torch.linalg.lstsq(a, b).solution  # noqa: E731
    assert torch.autograd.gradcheck(solve, (a, b), check_forward_ad=True)
    a = torch.randn(2, 3, 2, dtype=torch.float64, requires_grad=True)
    b = torch.randn(2, 3, 1, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(solve, (a, b), check_forward_ad=True)


def test_factors_in_forward_mode(torch):
    """https://github.com/pytorch/pytorch/issues/196682, https://github.com/pytorch/pytorch/issues/196694

    The tangents of `cholesky_inverse` and `cholesky_solve` have the factors in the wrong order.
    """

    def inverse(t):
        factor = torch.stack((t + 1, 0 * t, 1 + 0 * t, 2 + 0 * t)).reshape(2, 2)
        return torch.cholesky_inverse(factor).sum()

    t = torch.tensor(0.7, dtype=torch.float64)
    right = -5 / (2 * 1.7**3) + 1 / (2 * 1.7**2)
    assert torch.func.grad(inverse)(t).item() == pytest.approx(right)
    if torch.__name__ != "torch":  # -0.499
        assert torch.func.jvp(inverse, (t,), (torch.ones_like(t),))[1].item() == pytest.approx(right)


def test_triangular_solves_in_forward_mode(torch):
    """https://github.com/jax-ml/jax/issues/1458

    The other triangle's tangent leaked into the tangent of a triangular solve.
    """
    a = torch.tensor([[1.0, -1.0], [0.0, 2.0]], dtype=torch.float64)
    b = torch.ones(2, 1, dtype=torch.float64)
    below = torch.tensor([[0.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
    solve = lambda a: torch.linalg.solve_triangular(a, b, upper=True)  # noqa: E731
    assert torch.func.jvp(solve, (a,), (below,))[1].tolist() == [[0], [0]]
    assert torch.func.grad(lambda a: solve(a).sum())(a)[1, 0].item() == 0


def test_maximum_in_forward_mode(torch):
    """https://github.com/pytorch/pytorch/issues/69034

    The tangents of `max` and `min` were wrong; at ties forward and reverse mode have to share one convention.
    """
    x = torch.tensor([2.0, 2.0, 1.0], dtype=torch.float64)
    for function in (torch.max, torch.amax, lambda x: x.max(0)[0], torch.median, lambda x: x.norm(float("inf"))):
        reverse = torch.func.grad(function)(x)
        forward = torch.func.jacfwd(function)(x)
        assert reverse.equal(forward), function


def test_derivatives_of_a_number_by_a_number(torch):
    """https://github.com/tensorflow/tensorflow/issues/127753

    Forward over forward mode counted a value that is used twice wrongly: (x x) x at 0.7 has the derivative 6 x = 4.2.
    """

    def cube(x):
        m = x.clone()
        return (m * m) * m

    func = torch.func
    x = torch.tensor(0.7, dtype=torch.float64)
    for outer in (func.jacfwd, func.jacrev, func.grad):
        assert outer(cube)(x).item() == pytest.approx(3 * 0.49)
        for inner in (func.jacfwd, func.jacrev, func.grad):
            assert outer(inner(cube))(x).item() == pytest.approx(4.2)
    assert func.hessian(cube)(x).item() == pytest.approx(4.2)
    assert torch.autograd.functional.jacobian(cube, x).item() == pytest.approx(3 * 0.49)
    assert torch.autograd.functional.hessian(cube, x, vectorize=True).item() == pytest.approx(4.2)


def test_jvp_of_a_module_needs_no_graph(torch):
    """https://github.com/pytorch/pytorch/issues/151782

    The tangent of a `jvp` requires a gradient where a parameter does; under `no_grad` it does not.
    """
    module = torch.nn.Linear(2, 1)
    x, v = torch.ones(1, 2), torch.ones(1, 2)
    assert torch.func.jvp(module, (x,), (v,))[1].requires_grad
    with torch.no_grad():
        out, tangent = torch.func.jvp(module, (x,), (v,))
    assert not out.requires_grad
    assert not tangent.requires_grad
    assert torch.allclose(tangent, module.weight.detach().sum().reshape(1, 1))


IN_A_BATCH = {
    "histc": lambda m, x: m.histc(x, 3),
    "bincount": lambda m, x: m.bincount(x.long(), minlength=4),
    "one_hot": lambda m, x: m.nn.functional.one_hot(x.long(), 4),
    "quantile": lambda m, x: m.quantile(x, x / 4),
    "nanquantile": lambda m, x: m.nanquantile(x, x / 4),
    "xlog1py": lambda m, x: m.special.xlog1py(x, x * x),
    "bessel_j0": lambda m, x: m.special.bessel_j0(x),
    "modified_bessel_k1": lambda m, x: m.special.modified_bessel_k1(x),
}


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", IN_A_BATCH)
def test_functions_that_look_at_values_in_a_batch(torch, name):
    """https://github.com/pytorch/pytorch/issues/99719, https://github.com/pytorch/functorch/issues/839

    In `vmap` such a function (reported: `histc`) has to give what it gives for each sample.
    """
    x = torch.tensor([[1.0, 2.0, 3.5], [0.0, 3.0, 2.0]], dtype=torch.float64)
    function = lambda x: IN_A_BATCH[name](torch, x)  # noqa: E731
    expected = torch.stack([function(one) for one in x])
    assert torch.allclose(torch.vmap(function)(x), expected)
    twice = torch.vmap(torch.vmap(function))(x.expand(2, 2, 3))
    assert torch.allclose(twice, expected.expand(2, *expected.shape))
