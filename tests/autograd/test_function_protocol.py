"""autograd.Function: the corners of its protocol, and the words of its errors."""

from importlib import import_module

import pytest


def leaf(module):
    return module.tensor([1.0, 2.0], requires_grad=True)


def function(module, forward, backward=lambda ctx, *grads: grads[0], **more):
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    methods.update({name: staticmethod(method) for name, method in more.items()})
    return type("Made", (module.autograd.Function,), methods)


def outcome(module, program):
    """What a program gives: a value, or the type and text of its error."""
    try:
        return program(module)
    except Exception as error:
        return type(error).__name__, str(error).split(";")[0].split(":")[0]


PROGRAMS = {
    "no forward": lambda m: type("Made", (m.autograd.Function,), {}).apply(leaf(m)),
    "a list is no tuple": lambda m: [type(x).__name__ for x in function(m, lambda ctx, x: [x * 2]).apply(leaf(m))],
    "a number": lambda m: function(m, lambda ctx, x: 5).apply(leaf(m)),
    "nothing": lambda m: function(m, lambda ctx, x: None).apply(leaf(m)),
    "a gradient for a number": lambda m: (
        function(m, lambda ctx, x, n: x * n, lambda ctx, g: (g, g)).apply(leaf(m), 2).sum().backward()
    ),
    "too many gradients": lambda m: (
        function(m, lambda ctx, x: x * 2, lambda ctx, g: (g, g)).apply(leaf(m)).sum().backward()
    ),
    "too few": lambda m: function(m, lambda ctx, x, n: x * n, lambda ctx, g: g).apply(leaf(m), 2).sum().backward(),
    "dirty but not returned": lambda m: function(m, lambda ctx, x: (ctx.mark_dirty(x), x.add_(1), x * 2)[2]).apply(
        leaf(m) * 1
    ),
    "saves a number": lambda m: function(m, lambda ctx, x: (ctx.save_for_backward(5), x * 2)[1]).apply(leaf(m)),
    "saves a list": lambda m: function(m, lambda ctx, x: (ctx.save_for_backward(x, [x]), x * 2)[1]).apply(leaf(m)),
    "backward and vjp": lambda m: (
        function(m, lambda ctx, x: x * 2, vjp=lambda ctx, g: g).apply(leaf(m)).sum().backward()
    ),
    "no arguments": lambda m: function(m, lambda ctx: 7).apply(),
    "no tensor arguments": lambda m: function(m, lambda ctx, n: n * 2).apply(4),
    "none as argument": lambda m: (
        function(m, lambda ctx, x, n: x * 2 if n is None else x).apply(leaf(m), None).tolist()
    ),
    "mode inside": lambda m: function(m, lambda ctx, x: m.is_grad_enabled()).apply(leaf(m)),
    "needs of no_grad": lambda m: m.no_grad()(
        lambda: function(m, lambda ctx, x: ctx.needs_input_grad).apply(leaf(m))
    )(),
    "keywords": lambda m: (
        function(m, lambda x, factor=3: x * factor, setup_context=lambda ctx, inputs, output: None)
        .apply(x=leaf(m), factor=2)
        .tolist()
    ),
    "defaults are inputs": lambda m: (
        function(
            m,
            lambda x, factor=3: x * factor,
            lambda ctx, g: (g * ctx.factor, None),
            setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", inputs[1]),
        )
        .apply(x=leaf(m))
        .tolist()
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_agrees_with_pytorch(torch, oracle, name):
    assert outcome(torch, PROGRAMS[name]) == outcome(oracle, PROGRAMS[name])


def test_ctx_is_the_node(torch):
    contexts = []

    def forward(ctx, x):
        contexts.append(ctx)
        ctx.note = "mine"
        return x * 2

    made = function(torch, forward)
    y = made.apply(leaf(torch))
    assert y.grad_fn is contexts[0]
    assert isinstance(y.grad_fn, import_module(torch.__name__ + ".autograd.function").FunctionCtx)
    assert type(y.grad_fn).__name__ == y.grad_fn.name() == "MadeBackward"
    assert type(y.grad_fn) is made._backward_cls
    assert y.grad_fn.note == "mine"
    assert y.grad_fn.metadata == {}


def test_saved_tensors_while_forward_runs(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return ctx.saved_tensors

    assert function(torch, forward).apply(leaf(torch)) == ()


def test_one_output_twice(torch):
    seen = []

    def forward(ctx, x):
        y = x * 2
        return y, y

    def backward(ctx, a, b):
        seen.append((a.tolist(), b.tolist()))
        return (a + b) * 2

    x = leaf(torch)
    a, b = function(torch, forward, backward).apply(x)
    assert a is b
    (a.sum() + b.sum()).backward()
    assert seen == [([0.0, 0.0], [2.0, 2.0])]


def test_inheritance(torch):
    class Base(torch.autograd.Function):
        factor = 2

        @classmethod
        def scaled(cls, x):
            return cls.apply(x, cls.factor)

        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None

    class Derived(Base):
        factor = 5

    x = leaf(torch)
    a, b = Base.scaled(x), Derived.scaled(x)
    assert (a.grad_fn.name(), b.grad_fn.name()) == ("BaseBackward", "DerivedBackward")
    (a + b).sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]


def test_a_named_tuple_comes_back_as_a_tuple(torch):
    from collections import namedtuple

    Pair = namedtuple("Pair", "first second")
    result = function(torch, lambda ctx, x: Pair(x * 1, x * 2)).apply(leaf(torch))
    assert type(result) is tuple
    assert [one.tolist() for one in result] == [[1.0, 2.0], [2.0, 4.0]]


def test_an_output_is_written_in_place_later(torch):
    x = leaf(torch)
    y = function(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply(x)
    y.mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_a_returned_view_is_not_written_in_place(torch):
    x = leaf(torch)
    base = x * 1
    y = function(torch, lambda ctx, x: x[:1], lambda ctx, g: torch.cat([g, g * 0])).apply(base)
    with pytest.raises(RuntimeError, match="custom Function"):
        y.mul_(2)


def test_keywords_without_setup_context(torch):
    needs = []

    def forward(ctx, x, factor, w=None):
        needs.append(ctx.needs_input_grad)
        return x * factor

    x = leaf(torch)
    y = function(torch, forward, lambda ctx, g: (g * 3, None, None)).apply(x, w=torch.ones(1), factor=3)
    y.sum().backward()
    assert needs == [(True, False, False)]
    assert x.grad.tolist() == [3.0, 3.0]
    with pytest.raises(TypeError, match="bananas"):
        function(torch, forward).apply(x, 3, bananas=1)


def test_what_backward_returns_for_no_gradient_wanted(torch):
    seen = []

    def backward(ctx, grad):
        seen.append(ctx.needs_input_grad)
        return grad, None

    x, w = leaf(torch), leaf(torch)
    y = function(torch, lambda ctx, x, w: x * w, backward).apply(x, w)
    torch.autograd.grad(y.sum(), x)
    assert seen == [(True, True)]


@pytest.mark.beyond
def test_a_graph_of_functions_is_freed_without_recursion(torch):
    double = function(torch, lambda ctx, x: x * 1)
    x = y = leaf(torch)
    for _ in range(100_000):
        y = double.apply(y)
    before = torch._core.graph_counters()["nodes_alive"]
    del y
    assert torch._core.graph_counters()["nodes_alive"] == before - 100_000
    assert x.is_leaf


def test_the_second_differentiation_of_once_differentiable(torch):
    once = import_module(torch.__name__ + ".autograd.function").once_differentiable

    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    @once
    def backward(ctx, grad):
        _, w = ctx.saved_tensors
        return grad * w, None

    x, w = leaf(torch), torch.ones(2)
    made = function(torch, forward, backward)
    (first,) = torch.autograd.grad((made.apply(x, w) ** 2).sum(), x, create_graph=True)
    assert first.tolist() == [2.0, 4.0]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


def test_timing_of_materialized_zeros(torch):
    """Zeros are made only for outputs that got no gradient, with the output's shape and dtype."""
    seen = []

    def backward(ctx, a, b):
        seen.append((tuple(b.shape), b.dtype, b.sum().item()))
        return a

    x = leaf(torch)
    a, _ = function(torch, lambda ctx, x: (x * 1, torch.ones(3, 4, dtype=torch.float64)), backward).apply(x)
    a.sum().backward()
    assert seen == [((3, 4), torch.float64, 0.0)]
