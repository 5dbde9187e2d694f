"""Gradients, and calls of backward inside a function and after it."""

import clew
from clew import nn

from .harness import program
from .values import w3, x3


@program
def backward_of_results_later(s):
    weight = s.watch(w3())
    f = s.compile(lambda x: (x * weight).exp().sum())
    losses = [s.call(f, x3() * factor / 3) for factor in range(4)]
    for loss in reversed(losses):
        s.call(loss.backward)


@program
def backward_after_a_step(s):
    weight = s.watch(w3())
    f = s.compile(lambda x: (x * weight * weight).sum())
    losses = [s.call(f, x3()) for _ in range(3)]
    s.call(losses[0].backward)
    with clew.no_grad():
        weight.add_(1)
    s.call(losses[1].backward)
    s.call(s.call(f, x3()).backward)


@program
def backward_twice(s):
    weight = s.watch(w3())
    f = s.compile(lambda x: (x * weight).exp().sum())
    for _ in range(3):
        loss = s.call(f, x3())
        s.call(loss.backward, retain_graph=True)
        s.call(loss.backward)
        s.call(loss.backward)


@program
def double_backward_through_results(s):
    weight = s.watch(w3())
    f = s.compile(lambda x: (x * weight * weight).sin().sum())
    for factor in range(3):
        loss = s.call(f, x3() * factor)
        (gradient,) = clew.autograd.grad(loss, [weight], create_graph=True)
        s.note(gradient)
        s.call((gradient**2).sum().backward)


@program
def double_backward_inside(s):
    weight = s.watch(w3())

    @s.compile
    def f(x):
        (gradient,) = clew.autograd.grad((x * weight**3).sum(), [weight], create_graph=True)
        penalty = (gradient**2).sum()
        penalty.backward()
        return gradient, penalty

    for factor in range(4):
        s.call(f, x3() * factor)


@program
def a_gradient_of_an_argument(s):
    f = s.compile(lambda x: (x**3).sum())
    for factor in range(1, 4):
        x = (x3() * factor).requires_grad_()
        loss = s.call(f, x)
        s.note(clew.autograd.grad(loss, [x])[0])


@program
def backward_through_an_argument_inside(s):
    weight = s.watch(w3())

    @s.compile
    def f(x):
        x.sum().backward()
        return x * 2

    s.call(f, weight * 2)
    s.call(f, weight * 2)
    s.call(f, weight.exp())
    s.call(f, x3().requires_grad_())
    s.call(f, x3())


@program
def accumulation_into_a_gradient_that_is_shared(s):
    weight = s.watch(w3())
    gradient = s.watch(clew.zeros(3))
    weight.grad = gradient
    f = s.compile(lambda x: (x * weight).sum().backward())
    s.calls(3, f, x3())
    weight.grad = clew.ones(3)
    s.calls(2, f, x3())
    weight.grad = weight.grad.expand(3)
    s.call(f, x3())
    s.note(weight.grad is gradient)


@program
def a_gradient_that_is_kept(s):
    weight, kept = s.watch(w3()), s.watch([])

    @s.compile
    def f(x):
        weight.grad = None
        (x * weight).exp().sum().backward()
        return weight.grad

    for factor in range(4):
        result = s.call(f, x3() * factor / 3)
        s.note(result is weight.grad)
        kept.append(result)


@program
def inputs_of_a_backward(s):
    a, b = s.watch(w3()), w3()
    s.watch(b)
    chosen = [a]
    f = s.compile(lambda x: (x * a * b).sum().backward(inputs=chosen))
    s.calls(3, f, x3())
    chosen[0] = b
    s.calls(2, f, x3())
    chosen.append(a)
    s.call(f, x3())


@program
def a_gradient_that_is_given(s):
    weight = s.watch(w3())
    gradient = clew.ones(3)
    f = s.compile(lambda x: (x * weight).backward(gradient))
    s.calls(3, f, x3())
    gradient.mul_(5)
    s.call(f, x3())
    gradient.data = clew.ones(4)
    s.call(f, x3())


@program
def retained_graphs_inside(s):
    weight, retain = s.watch(w3()), [True]

    @s.compile
    def f(x):
        loss = (x * weight).exp().sum()
        loss.backward(retain_graph=retain[0])
        return loss

    for retain[0] in (True, True, False, True):
        s.call(s.call(f, x3()).backward)


@program
def anomaly_detection_around_the_call(s):
    weight = s.watch(w3())
    f = s.compile(lambda x: (x * weight).sqrt().sum().backward())
    s.calls(2, f, x3())
    with clew.autograd.set_detect_anomaly(True):
        s.call(f, x3())
    s.call(f, -x3())


@program
def checkpointing(s):
    model = s.watch(nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)))
    use = [True]

    @s.compile
    def f(x):
        y = clew.utils.checkpoint.checkpoint(model, x, use_reentrant=False) if use[0] else model(x)
        y.sum().backward()
        return y

    s.calls(3, f, x3())
    use[0] = False
    s.calls(2, f, x3())


@program
def a_call_inside_a_backward(s):
    weight, factor = s.watch(w3()), [2.0]
    inner = s.compile(lambda gradient: gradient * factor[0])
    y = None
    for factor[0] in (2.0, 2.0, 3.0):
        y = x3() * weight
        y.register_hook(inner)
        s.call(y.sum().backward)
    s.call(inner, x3())
