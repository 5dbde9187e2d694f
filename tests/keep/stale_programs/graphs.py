"""Histories of tensors, what their nodes hold, and the modes that decide whether there are any."""

import clew

from .harness import program
from .values import w3, x3


@program
def history_of_an_argument(s):
    weight = s.watch(w3())
    f = s.compile(lambda x: (x * x, x + 1))
    for factor in range(4):
        a, b = s.call(f, (weight * factor) if factor % 3 else weight.exp())
        s.call((a.sum() + b.sum()).backward)


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
def a_result_whose_graph_is_freed(s):
    weight = s.watch(w3())
    f = s.compile(lambda x: ((x * weight).exp(), (x * weight).sum()))
    for _ in range(3):
        a, b = s.call(f, x3())
        s.call((a.sum() + b).backward)
        s.call(b.backward)
        s.call(a.sum().backward)


@program
def a_made_leaf_that_asks_for_a_gradient_after_the_call(s):
    weight = s.watch(w3())

    @s.compile
    def f(x):
        made = x.clone().requires_grad_()
        y = (made * weight).sum()
        made.requires_grad_(False)
        return made, y

    for turn in range(3):
        made, y = s.call(f, x3() * turn)
        made.requires_grad_()
        s.call(y.backward)


@program
def a_made_leaf_that_is_written_after_a_node_has_saved_it(s):
    weight = s.watch(w3())

    @s.compile
    def f(x):
        made = x.clone().requires_grad_()
        y = (made * made).sum()
        made.detach_()
        made.mul_(weight)
        return made, y

    for turn in range(3):
        made, y = s.call(f, x3() * turn)
        s.call(y.backward)
        s.call(made.sum().backward)
