"""Hooks of tensors and of nodes, and functions of users with their own backward."""

import clew

from .harness import program
from .values import w3, x3


@program
def hooks_on_results(s):
    weight, seen = s.watch(w3()), s.watch([])
    f = s.compile(lambda x: (x * weight).exp())
    for factor in range(3):
        y = s.call(f, x3() * factor / 3)
        y.register_hook(lambda gradient: seen.append(gradient.sum().item()))
        y.register_hook(lambda gradient: gradient * 2)
        s.call(y.sum().backward)


@program
def hooks_inside(s):
    weight, factor = s.watch(w3()), [2.0]

    @s.compile
    def f(x):
        y = (x * weight).exp()
        y.register_hook(lambda gradient: gradient * factor[0])
        return y.sum()

    s.call(s.call(f, x3()).backward)
    loss = s.call(f, x3())
    factor[0] = 10.0
    s.call(loss.backward)
    s.call(s.call(f, x3()).backward)


@program
def hooks_inside_with_the_backward(s):
    weight, seen, factor = s.watch(w3()), s.watch([]), [2.0]

    @s.compile
    def f(x):
        y = (x * weight).exp()
        y.register_hook(lambda gradient: gradient * factor[0])
        y.register_hook(lambda gradient: seen.append(gradient.sum().item()))
        y.sum().backward()

    s.calls(3, f, x3())
    factor[0] = 10.0
    s.calls(2, f, x3())


@program
def a_gradient_that_is_retained(s):
    weight = s.watch(w3())

    @s.compile
    def f(x):
        y = x * weight
        y.retain_grad()
        (y * y).sum().backward()
        return y.grad

    s.calls(3, f, x3())
    later = s.compile(lambda x: x * weight)
    for _ in range(3):
        y = s.call(later, x3())
        y.retain_grad()
        s.call(y.exp().sum().backward)
        s.note(y.grad)


@program
def a_hook_that_writes(s):
    weight, total = s.watch(w3()), s.watch(clew.zeros(3))
    weight.register_hook(lambda gradient: total.add_(gradient) and None)

    @s.compile
    def f(x):
        (x * weight).sum().backward()
        return total * 2

    s.calls(4, f, x3())


@program
def a_hook_of_a_leaf_that_counts(s):
    weight, seen = s.watch(w3()), s.watch({"n": 0})

    def count(gradient):
        seen["n"] += 1

    weight.register_hook(count)
    f = s.compile(lambda x: (x * weight).sum().backward())
    s.calls(4, f, x3())


@program
def a_function_of_the_users(s):
    class Scale(clew.autograd.Function):
        factor = 2.0

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.factor = Scale.factor
            return x * Scale.factor

        @staticmethod
        def backward(ctx, gradient):
            return gradient * ctx.factor * ctx.saved_tensors[0]

    weight = s.watch(w3())
    f = s.compile(lambda x: Scale.apply(x * weight).sum())
    s.call(s.call(f, x3()).backward)
    loss = s.call(f, x3())
    Scale.factor = 5.0
    s.call(loss.backward)
    s.call(s.call(f, x3()).backward)
    Scale.backward = staticmethod(lambda ctx, gradient: gradient * 100)
    s.call(s.call(f, x3()).backward)


@program
def a_function_with_effects_in_its_backward(s):
    seen = s.watch([])

    class Count(clew.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            seen.append(len(seen))
            return gradient * len(seen)

    weight = s.watch(w3())
    f = s.compile(lambda x: Count.apply(x * weight).sum().backward())
    s.calls(4, f, x3())


@program
def saved_tensor_hooks_around_the_call(s):
    weight, seen = s.watch(w3()), s.watch([])
    f = s.compile(lambda x: (x * weight).exp().sum())
    s.calls(2, f, x3())
    with clew.autograd.graph.saved_tensors_hooks(lambda x: (seen.append(1), x * 2)[1], lambda x: x):
        loss = s.call(f, x3())
    s.call(loss.backward)
    s.call(s.call(f, x3()).backward)
