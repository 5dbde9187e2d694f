"""Histories of results, gradients, hooks, and what a backward does later."""

import clew
from clew import nn

from .harness import program


def x3():
    return clew.tensor([1.0, 2.0, 3.0])


def w3():
    return clew.tensor([0.5, -1.0, 2.0], requires_grad=True)


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
def history_of_an_argument(s):
    weight = s.watch(w3())
    f = s.compile(lambda x: (x * x, x + 1))
    for factor in range(4):
        a, b = s.call(f, (weight * factor) if factor % 3 else weight.exp())
        s.call((a.sum() + b.sum()).backward)


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
def history_of_a_captured_tensor(s):
    weight = s.watch(w3())
    box = [weight * 2]
    f = s.compile(lambda x: (x * box[0]).sum())
    s.call(s.call(f, x3()).backward, retain_graph=True)
    s.call(s.call(f, x3()).backward)
    s.call(s.call(f, x3()).backward)
    box[0] = weight * 5
    s.call(s.call(f, x3()).backward)


@program
def a_captured_tensor_that_gets_a_history(s):
    weight, state = s.watch(w3()), clew.zeros(3)
    f = s.compile(lambda x: (x * state).sum())
    s.calls(2, f, x3())
    state.add_(weight)
    loss = s.call(f, x3())
    s.call(loss.backward)


@program
def a_state_that_grows_a_history(s):
    weight = s.watch(w3())
    box = {"h": clew.ones(3)}

    @s.compile
    def f(x):
        box["h"] = box["h"] * weight + x
        return box["h"].sum()

    losses = [s.call(f, x3()) for _ in range(4)]
    s.call(losses[-1].backward)


@program
def names_of_nodes(s):
    weight = w3()
    f = s.compile(lambda x: (x * weight).exp().sum())
    for _ in range(3):
        loss = s.call(f, x3())
        names, node = [], loss.grad_fn
        while node is not None:
            names.append(node.name())
            node = (
                node.next_functions[0][0] or (node.next_functions[1:] or [(None,)])[0][0]
                if node.next_functions
                else None
            )
        s.note(names, loss.is_leaf, loss.output_nr)
        with clew.no_grad():
            weight.add_(1)


@program
def what_nodes_saved(s):
    weight = w3()
    f = s.compile(lambda x: (x * weight).exp())
    for factor in range(3):
        y = s.call(f, x3() * factor)
        s.note(y.grad_fn._saved_result, y.grad_fn.next_functions[0][0]._saved_self)


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
def a_graph_that_is_used_after_a_write(s):
    weight = s.watch(w3())
    f = s.compile(lambda x: (x * weight).exp())
    for _ in range(3):
        y = s.call(f, x3())
        loss = y.sum()
        with clew.no_grad():
            y.add_(1)
        s.call(loss.backward)


@program
def a_write_to_an_argument_that_was_saved(s):
    weight = s.watch(w3())
    f = s.compile(lambda x: (x * weight).sum())
    for _ in range(3):
        x = x3()
        loss = s.call(f, x)
        x.add_(1)
        s.call(loss.backward)


@program
def a_write_with_history_to_an_argument(s):
    weight = s.watch(w3())

    @s.compile
    def f(x):
        x.mul_(weight)
        return x.sum()

    for _ in range(3):
        x = x3()
        loss = s.call(f, x)
        s.note(x.requires_grad, x.is_leaf, x.grad_fn is not None and x.grad_fn.name())
        s.call((loss + x.sum()).backward)
    s.call(f, w3())


@program
def a_view_of_an_older_base_with_history(s):
    weight, base = s.watch(w3()), clew.zeros(2, 3)
    view = base[1]

    @s.compile
    def f(x):
        view.copy_(x * weight)
        return base.sum()

    for _ in range(3):
        loss = s.call(f, x3())
        s.call(loss.backward, retain_graph=True)
        base.detach_() if base.grad_fn is None else None


@program
def detach_and_requires_grad_inside(s):
    weight = s.watch(w3())

    @s.compile
    def f(x):
        y = (x * weight).detach().requires_grad_()
        (y * y).sum().backward()
        (x * weight).backward(y.grad)
        return y

    for factor in range(4):
        s.call(f, x3() * factor)
    s.call(s.given[1].sum().backward)


@program
def no_grad_and_enable_grad_inside(s):
    weight = s.watch(w3())
    enabled = [True]

    @s.compile
    def f(x):
        with clew.no_grad():
            y = x * weight
        with clew.set_grad_enabled(enabled[0]):
            z = x * weight
        return y, (y + z).sum()

    for enabled[0] in (True, True, False, False, True):
        s.call(f, x3())


@program
def a_mode_that_stays_switched(s):
    weight = w3()

    @s.compile
    def f(x):
        clew.set_grad_enabled(not clew.is_grad_enabled())
        return x * weight

    try:
        for _ in range(5):
            s.call(f, x3())
            s.note(clew.is_grad_enabled())
    finally:
        clew.set_grad_enabled(True)


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
def saved_tensor_hooks_around_the_call(s):
    weight, seen = s.watch(w3()), s.watch([])
    f = s.compile(lambda x: (x * weight).exp().sum())
    s.calls(2, f, x3())
    with clew.autograd.graph.saved_tensors_hooks(lambda x: (seen.append(1), x * 2)[1], lambda x: x):
        loss = s.call(f, x3())
    s.call(loss.backward)
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


@program
def a_result_whose_graph_is_freed(s):
    weight = s.watch(w3())
    f = s.compile(lambda x: ((x * weight).exp(), (x * weight).sum()))
    for _ in range(3):
        a, b = s.call(f, x3())
        s.call((a.sum() + b).backward)
        s.call(b.backward)
        s.call(a.sum().backward)
