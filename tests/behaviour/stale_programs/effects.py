"""What a call leaves in objects that are older than it."""

import collections
import gc
import weakref

import clew
from clew import nn

from .harness import program


class Plain:
    """With the attributes that it is given."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def x3():
    return clew.tensor([1.0, 2.0, 3.0])


@program
def a_count(s):
    state = s.watch(Plain(calls=0))

    @s.compile
    def f(x):
        state.calls += 1
        return x * 2

    s.calls(4, f, x3())
    state.calls = 100
    s.calls(2, f, x3())
    state.calls = 1.5
    s.call(f, x3())


@program
def a_count_that_is_used(s):
    state = s.watch(Plain(calls=0))

    @s.compile
    def f(x):
        state.calls += 1
        return x * state.calls

    s.calls(5, f, x3())


@program
def a_warm_up(s):
    state = s.watch(Plain(calls=0))

    @s.compile
    def f(x):
        state.calls += 1
        return x * 2 if state.calls < 4 else x * 3

    s.calls(7, f, x3())


@program
def a_hidden_state(s):
    state = s.watch(Plain(h=clew.zeros(3)))

    @s.compile
    def f(x):
        state.h = (state.h * 0.5 + x).detach()
        return state.h.sum()

    s.calls(4, f, x3())
    state.h = clew.ones(3)
    s.calls(2, f, x3() * 2)
    state.h = clew.ones(1)
    s.calls(2, f, x3())


@program
def a_hidden_state_of_a_network(s):
    cell = nn.RNNCell(3, 4)
    state = Plain(h=clew.zeros(1, 4))
    s.watch(state, cell)

    @s.compile
    def f(x):
        out = cell(x, state.h)
        state.h = out.detach()
        loss = out.sum()
        loss.backward()
        return loss.item()

    for factor in range(5):
        s.call(f, x3().view(1, 3) * factor)
    cell.zero_grad()
    s.calls(2, f, x3().view(1, 3))


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
def a_cache_by_shape(s):
    cache = s.watch({})

    @s.compile
    def f(x):
        if x.shape not in cache:
            cache[x.shape] = clew.arange(float(x.numel()))
        return x * cache[x.shape]

    s.calls(3, f, x3())
    s.calls(2, f, clew.ones(4))
    cache[clew.Size([3])] = clew.ones(3)
    s.call(f, x3())
    cache.clear()
    s.call(f, x3())


@program
def a_moving_average(s):
    model, average = nn.Linear(3, 2), collections.OrderedDict()
    for name, one in model.named_parameters():
        average[name] = one.detach().clone()
    s.watch(model, average)

    @s.compile
    def f(decay):
        with clew.no_grad():
            for name, one in model.named_parameters():
                average[name].mul_(decay).add_(one, alpha=1 - decay)

    for decay in (0.9, 0.9, 0.5):
        s.call(f, decay)
        with clew.no_grad():
            model.weight.mul_(2)
    average["bias"] = clew.zeros(2)
    s.call(f, 0.9)


@program
def a_moving_average_in_a_dict_of_results(s):
    average = s.watch({"m": clew.zeros(3)})

    @s.compile
    def f(x):
        average["m"] = 0.9 * average["m"] + 0.1 * x
        return average["m"] * 2

    for factor in range(5):
        s.call(f, x3() * factor)


@program
def a_weak_reference(s):
    target = Plain(factor=2.0)
    reference = weakref.ref(target)
    f = s.compile(lambda x: x * reference().factor if reference() is not None else x)
    s.calls(2, f, x3())
    del target
    gc.collect()
    s.call(f, x3())


@program
def an_identity(s):
    a, b = Plain(), Plain()
    pair = [a, a]
    f = s.compile(lambda x: x * 2 if pair[0] is pair[1] else x * 3 if id(pair[0]) == id(a) else x)
    s.calls(2, f, x3())
    pair[1] = b
    s.call(f, x3())
    pair[0] = b
    s.call(f, x3())


@program
def letting_go_of_the_model(s):
    model = nn.Linear(3, 2)
    f = s.compile(lambda x: model(x).sum())
    s.calls(3, f, x3())
    found = weakref.ref(model)
    s.compiled.clear()
    del f, model
    gc.collect()
    s.note(found() is None)


@program
def letting_go_of_the_function_in_a_cycle(s):
    class Trainer:
        def __init__(self):
            self.model = nn.Linear(3, 2)
            self.step = s.wrap(lambda x: self.model(x).sum())

    trainer = Trainer()
    s.calls(3, trainer.step, x3())
    found = weakref.ref(trainer), weakref.ref(trainer.model)
    del trainer
    gc.collect()
    s.note([one() is None for one in found])


@program
def letting_go_of_arguments_and_results(s):
    f = s.compile(lambda x: [x * 2])
    for factor in range(3):
        x = x3() * factor
        result = f(x)
        s.note(result[0])
        found = weakref.ref(x), weakref.ref(result[0])
        del x, result
        gc.collect()
        s.note([one() is None for one in found])


@program
def what_an_attribute_held_is_let_go(s):
    state = Plain(value=Plain(factor=2.0))
    f = s.compile(lambda x: x * state.value.factor)
    s.calls(2, f, x3())
    found = []
    state.value.__class__ = type("Watched", (Plain,), {"__del__": lambda self: found.append(1)})
    s.call(f, x3())
    s.note()


@program
def an_attribute_of_the_compiled_function(s):
    def plain(x):
        return x * plain.factor

    plain.factor = 2.0
    f = s.compile(plain)
    s.calls(2, f, x3())
    plain.factor = 3.0
    s.call(f, x3())
