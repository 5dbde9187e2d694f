"""Tensors of which it counts which object they are: as arguments, as .grad, as state that goes from call to call."""

import operator

import clew

from .harness import program
from .values import Plain, w3, x3


@program
def an_argument_that_is_in_an_attribute(s):
    state = Plain(first=x3())
    f = s.compile(lambda x: x * 3 if x is state.first else x * 2)
    s.calls(2, f, x3())
    s.calls(3, f, state.first)
    s.call(f, x3())


@program
def an_argument_that_is_looked_for_in_a_list(s):
    kept = [x3(), x3()]

    @s.compile
    def f(x):
        for i, one in enumerate(kept):
            if one is x:
                return x * (3 + i)
        return x * 2

    s.calls(2, f, x3())
    s.calls(2, f, kept[1])
    s.calls(2, f, kept[0])


@program
def the_id_of_an_argument(s):
    f = s.compile(lambda x: (x * 2, id(x)))
    given = [x3() for _ in range(3)]
    for one in given * 2:
        _, number = f(one)
        s.note(number == id(one), one is given[0])


@program
def a_hidden_state_that_is_compared(s):
    state = s.watch(Plain(first=x3() * 5, hidden=x3()))

    @s.compile
    def f(x):
        y = x * 3 if state.hidden is state.first else x + state.hidden
        state.hidden = y.detach()
        return y

    s.calls(3, f, x3())
    state.hidden = state.first
    s.call(f, x3())


@program
def the_id_of_a_hidden_state(s):
    state = s.watch(Plain(hidden=x3()))

    @s.compile
    def f(x):
        number = id(state.hidden)
        state.hidden = (x + state.hidden).detach()
        return number

    for _ in range(4):
        before = state.hidden
        number = f(x3())
        s.note(number == id(before))


@program
def a_hidden_state_that_is_given(s):
    state = s.watch(Plain(hidden=x3(), before=None, log=[]))

    @s.compile
    def f(x):
        before = state.hidden
        state.before = before
        state.log.append(before)
        state.hidden = (x * 2 + before).detach()
        return before, before + 1

    s.calls(4, f, x3())


@program
def the_grad_of_an_argument(s):
    f = s.compile(lambda x: (x * 2, x.grad))
    for factor in (1, 2, 3):
        x = w3()
        x.grad = x3() * factor
        s.watch(x)
        s.call(f, x)


@program
def the_grad_of_a_captured_tensor(s):
    w = s.watch(w3())
    state = s.watch(Plain(last=None))

    @s.compile
    def f(x):
        state.last = w.grad
        return x * 2, w.grad

    for factor in (1, 2, 3):
        w.grad = x3() * factor
        s.call(f, x3())


@program
def a_grad_that_is_compared(s):
    w, kept = w3(), x3()
    w.grad = x3()
    f = s.compile(lambda x: x * 2 if w.grad is kept else x * 3)
    s.calls(2, f, x3())
    w.grad = kept
    s.calls(2, f, x3())


@program
def a_gradient_that_was_accumulated(s):
    w = s.watch(w3())
    state = s.watch(Plain(last=None))

    @s.compile
    def f(x):
        (w * x).sum().backward()
        state.last = w.grad
        return w.grad

    s.calls(4, f, x3())


@program
def a_count_that_is_set_by_object(s):
    state = s.watch(Plain(calls=0, other=0))

    @s.compile
    def f(x):
        state.calls += 1
        object.__setattr__(state, "calls", 5)
        state.other += 1
        state.__dict__["other"] = 7
        return x * 2

    s.calls(3, f, x3())
    s.call(f, x3() * 2)


@program
def a_class_that_is_named_like_clews(s):
    class clewish:
        pass

    state = clewish()
    state.factor = 2
    f = s.compile(lambda x: x * state.__dict__["factor"])
    s.calls(2, f, x3())
    state.factor = 3
    s.calls(2, f, x3())


@program
def names_that_have_no_bytes(s):
    state = s.watch(Plain())
    state.__dict__["\ud800"] = 2
    f = s.compile(lambda x, name: (x * getattr(state, "\ud800"), getattr(x, "\ud800", 3), getattr(clew, name, 4)))
    s.calls(2, f, x3(), "\ud801")
    state.__dict__["\ud800"] = 3
    s.calls(2, f, x3(), "\ud801")
    s.call(f, x3(), "\ud802")


@program
def a_set_that_is_changed(s):
    kept = s.watch({1, 2})

    @s.compile
    def f(x):
        kept.symmetric_difference_update({1})
        return x * 2

    s.calls(4, f, x3())


@program
def a_compiled_function_in_another(s):
    state = s.watch(Plain(factor=2, calls=0))

    @s.compile
    def inner(x):
        state.calls += 1
        return x * state.factor

    outer = s.compile(lambda x: inner(x) + 1)
    s.calls(3, outer, x3())
    state.factor = 3
    s.calls(2, outer, x3())
    s.call(inner, x3())


@program
def a_count_of_a_module(s):
    class Counts(clew.nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x * 2

    class Stops(Counts):
        def __setattr__(self, name, value):
            if name != "calls" or value < 3:
                super().__setattr__(name, value)

    counts, stops = s.watch(Counts()), s.watch(Stops())
    s.calls(4, s.compile(lambda x: counts(x)), x3())
    s.calls(6, s.compile(lambda x: stops(x)), x3())


@program
def requires_grad_of_a_tensor_that_nothing_reads(s):
    def frozen(x):
        x.requires_grad_(False)

    def asked(x):
        x.requires_grad = True

    for function, make in ((frozen, w3), (clew.Tensor.detach_, w3), (clew.Tensor.requires_grad_, x3), (asked, x3)):
        f = s.compile(lambda x, function=function: function(x) and None)
        for _ in range(4):
            s.call(f, s.watch(make()))


@program
def the_data_of_a_view(s):
    f = s.compile(lambda x: x.data)
    for factor in (1, 2, 3):
        s.call(f, (clew.ones(3, 1) * factor).t())


@program
def a_view_of_what_the_argument_is_a_view_of(s):
    f = s.compile(lambda x: [x.detach().requires_grad_(), x[0], x.detach()._base is None])
    for factor in (1, 2, 3):
        x = (clew.arange(8.0) * factor)[::2]
        y, z, _ = f(x)
        s.note(y.tolist(), z.tolist(), y._base is x._base, z._base is x._base)


@program
def the_data_of_a_captured_view(s):
    base, other = clew.arange(4.0), clew.ones(2) * 7
    view = base[::2]
    f = s.compile(lambda x: (x * 2, view.data, view.detach()))
    s.calls(3, f, x3())
    view.data = other
    s.calls(2, f, x3())


@program
def a_view_that_can_not_be_read_any_more(s):
    @s.compile
    def f(x):
        view = x.detach().requires_grad_().diagonal()
        with clew.no_grad():
            copy = x.clone()
        copy.requires_grad_()
        stale = copy.diagonal()
        with clew.no_grad():
            copy.mul_(2)
        return [view, stale, copy]

    for factor in (1, 2, 3):
        results = f(clew.ones(2, 2) * factor)
        s.note(results[0].tolist(), results[2].tolist())


@program
def a_leaf_that_gets_a_history_through_a_view(s):
    @s.compile
    def f(x, y):
        x.detach_()
        x[None] = y

    for _ in range(3):
        x = w3()
        s.call(f, x, w3()[None].detach().requires_grad_())
        s.note(x.is_leaf, x.requires_grad, x.tolist(), len(s.outcomes))


def a_grad_that_is_known_by_another_name(s, factor):
    leaf, kept = w3(), x3()
    leaf.grad = kept
    f, x = s.compile(lambda x: x * factor(leaf, kept)), x3()
    s.calls(2, f, x)
    leaf.grad = x3()
    s.calls(2, f, x)


@program
def which_tensor_a_grad_is(s):
    a_grad_that_is_known_by_another_name(s, lambda leaf, kept: 1 if leaf.grad is kept else 2)


@program
def which_tensor_a_grad_is_as_a_function(s):
    a_grad_that_is_known_by_another_name(s, lambda leaf, kept: 1 if operator.is_(leaf.grad, kept) else 2)


@program
def which_tensor_a_grad_is_by_its_id(s):
    a_grad_that_is_known_by_another_name(s, lambda leaf, kept: 1 if id(leaf.grad) == id(kept) else 2)


@program
def which_tensor_a_grad_is_as_a_key(s):
    a_grad_that_is_known_by_another_name(s, lambda leaf, kept: {kept: 1}.get(leaf.grad, 2))


@program
def which_tensor_a_grad_is_in_a_set(s):
    a_grad_that_is_known_by_another_name(s, lambda leaf, kept: len({leaf.grad, kept}))


@program
def which_tensor_a_grad_is_as_the_key_of_a_subscript(s):
    a_grad_that_is_known_by_another_name(s, lambda leaf, kept: {kept: 1, leaf.grad: 2}[kept])


@program
def which_tensor_a_grad_is_among_others(s):
    a_grad_that_is_known_by_another_name(s, lambda leaf, kept: 1 if any(leaf.grad is one for one in [kept]) else 2)
