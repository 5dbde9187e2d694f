"""What a call leaves in objects that are older than it."""

import clew

from .harness import program
from .values import Plain, x3


@program
def a_history_of_losses(s):
    history = s.watch([])

    @s.compile
    def f(x):
        loss = (x * x).sum()
        history.append(loss.item())
        return loss

    for factor in range(5):
        s.call(f, x3() * factor)
    del history[1:]
    s.call(f, x3())


@program
def a_history_of_tensors(s):
    history = s.watch([])

    @s.compile
    def f(x):
        history.append(x * 2)
        return x + 1

    for factor in range(4):
        s.call(f, x3() * factor)
    history[0].fill_(-1.0)
    s.call(f, x3())


@program
def a_history_that_is_read(s):
    history = s.watch([])

    @s.compile
    def f(x):
        history.append((x * 2).detach())
        return sum(history) / len(history)

    for factor in range(4):
        s.call(f, x3() * factor)


@program
def what_it_appended_is_read_again(s):
    history = s.watch([x3()])

    @s.compile
    def f(x):
        before = history[-1]
        history.append(x * 2)
        return history[-1] + before

    for factor in range(4):
        s.call(f, x3() * factor)


@program
def what_it_set_is_read_again(s):
    log = s.watch({"last": None})

    @s.compile
    def f(x):
        log["last"] = x * 2
        log["new"] = log["last"] + 1
        return log["new"] * (len(log) - 1)

    s.calls(3, f, x3())
    log.pop("new")
    s.call(f, x3() * 2)


@program
def a_dict_of_logs(s):
    log = s.watch({})

    @s.compile
    def f(x):
        loss = x.sum()
        log["loss"] = loss.item()
        log["norms"] = {"x": x.norm().item()}
        log.update(step=1)
        return loss

    for factor in range(4):
        s.call(f, x3() * factor)


@program
def a_list_of_a_users_class_is_appended(s):
    class Log(list):
        def append(self, value):
            super().append(("logged", value))

    log = s.watch(Log())

    @s.compile
    def f(x):
        log.append(x.sum().item())
        return x * 2

    for factor in range(4):
        s.call(f, x3() * factor)


@program
def the_method_is_kept_under_a_name(s):
    history = s.watch([])
    append = history.append

    @s.compile
    def f(x):
        append(x.sum().item())
        return x * 2

    for factor in range(4):
        s.call(f, x3() * factor)


@program
def extend_and_insert(s):
    history = s.watch([])

    @s.compile
    def f(x):
        history.extend([x.sum().item()])
        history.insert(0, x * 2)
        history[:] = history[-3:]
        return x + len(history)

    for factor in range(4):
        s.call(f, x3() * factor)


@program
def an_object_that_it_makes_and_keeps(s):
    state = s.watch(Plain(last=None))

    @s.compile
    def f(x):
        state.last = Plain(value=x * 2)
        return x + 1

    for factor in range(4):
        s.call(f, x3() * factor)


@program
def effects_in_their_order(s):
    log = s.watch([])
    state = s.watch(Plain(n=0))

    @s.compile
    def f(x):
        log.append("first")
        state.n = len(log)
        log.append(x.sum().item())
        state.n = "last"
        return x * 2

    for factor in range(4):
        s.call(f, x3() * factor)


@program
def effects_and_an_error(s):
    log, index = s.watch([]), clew.tensor([0])

    @s.compile
    def f(x):
        log.append("before")
        y = x[index]
        log.append("after")
        return y

    s.calls(2, f, x3())
    index.fill_(7)
    s.call(f, x3())
    index.fill_(1)
    s.call(f, x3())


@program
def a_deleted_attribute(s):
    state = s.watch(Plain(once=5.0))

    @s.compile
    def f(x):
        if hasattr(state, "once"):
            x = x * state.once
            del state.once
        return x + 1

    s.calls(4, f, x3())
    state.once = 2.0
    s.calls(2, f, x3())


@program
def an_attribute_of_the_compiled_function(s):
    def plain(x):
        return x * plain.factor

    plain.factor = 2.0
    f = s.compile(plain)
    s.calls(2, f, x3())
    plain.factor = 3.0
    s.call(f, x3())
