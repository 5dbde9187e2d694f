"""What C code reads or writes through a view, an iterator, a bound method or a callable that it is given."""

import functools

import clew

from .harness import program
from .values import call_with_other_values, x3


@program
def lengths_of_values_of_a_dict(s):
    losses = {"a": [1.0, 2.0], "b": [3.0]}
    f, x = s.compile(lambda x: x * sum(map(len, losses.values()))), x3()
    s.calls(2, f, x)
    losses["a"].append(4.0)
    s.calls(2, f, x)


@program
def truth_of_lists_from_a_generator(s):
    queues = [[1], [2]]
    f, x = s.compile(lambda x: (x * 1, all(queue for queue in queues))), x3()
    s.calls(2, f, x)
    queues[0].clear()
    s.calls(2, f, x)


@program
def a_key_that_gives_a_list_from_before(s):
    order = {"a": [2.0], "b": [1.0]}
    f, x = s.compile(lambda x: (x * 1, sorted("ab", key=lambda name: order[name]))), x3()
    s.calls(2, f, x)
    order["a"][0] = 0.0
    s.calls(2, f, x)


@program
def the_largest_of_lists_in_a_dict(s):
    rows = {"a": [2.0], "b": [1.0]}
    f, x = s.compile(lambda x: (x * 1, list(max(rows.values())))), x3()
    s.calls(2, f, x)
    rows["b"][0] = 5.0
    s.calls(2, f, x)


@program
def objects_in_lists_that_are_added_up(s):
    class Layer:
        pass

    layer = s.watch(Layer())
    layers = {"a": [], "b": [layer]}

    def note(x):
        for one in sum(layers.values(), []):  # noqa: RUF017
            one.last = x.sum().item()
        return x * 1

    call_with_other_values(s, note)


@program
def a_generator_from_before_that_a_list_is_made_of(s):
    numbers = (i for i in range(3))
    f, x = s.compile(lambda x: (x * 1, list(numbers))), x3()
    s.calls(4, f, x)


@program
def an_item_that_a_subclass_of_dict_sets(s):
    class Log(dict):
        def __setitem__(self, key, value):
            super().__setitem__(key, value)

    log = s.watch(Log())

    def note(x):
        log["sum"] = x.sum().item()
        return x * 1

    call_with_other_values(s, note)


@program
def a_method_of_a_dict_that_was_kept(s):
    log = s.watch({})
    put = log.__setitem__

    def note(x):
        put("sum", x.sum().item())
        return x * 1

    call_with_other_values(s, note)


@program
def getattr_that_map_calls(s):
    class Options:
        factor = 1.0

    f, x = s.compile(lambda x: x * sum(map(getattr, [Options], ["factor"]))), x3()
    s.calls(2, f, x)
    Options.factor = 2.0
    s.calls(2, f, x)


@program
def pop_that_map_calls(s):
    queues = s.watch([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])
    f, x = s.compile(lambda x: x * sum(map(list.pop, queues))), x3()
    s.calls(5, f, x)


@program
def init_of_a_list_that_is_there(s):
    log = s.watch([0.0])

    def reset(x):
        log.__init__([1.0])
        return x * 1

    f, x = s.compile(reset), x3()
    for value in (1.0, 2.0, 3.0, 4.0):
        log[:] = [value, value]
        s.call(f, x)


@program
def a_partial_of_max_itself(s):
    f = s.compile(functools.partial(max, key=lambda one: one.sum().item()))
    small, large = clew.ones(2), clew.ones(3)
    for factor in (1.0, 1.0, 1.0, 5.0, 5.0, 1.0):
        s.call(f, [small * factor, large])


@program
def the_text_of_an_exception_of_a_list(s):
    class Stop(Exception):
        pass

    def text(x):
        log = [1.0]
        stop = Stop(log)
        log.append(x.sum().item())
        return str(stop)

    call_with_other_values(s, text)


@program
def a_slice_that_a_method_sets(s):
    def total(x):
        log = [1.0]
        log.__setitem__(slice(None), x.tolist())
        return sum(log)

    call_with_other_values(s, total)


@program
def an_option_that_is_read_and_then_set(s):
    weight = clew.nn.Parameter(clew.ones(3))
    optimizer = clew.optim.SGD([weight], lr=0.1)
    group = optimizer.param_groups[0]

    def step(x):
        before = group["lr"]
        weight.grad = x * 1
        optimizer.step()
        group["lr"] = 0.05
        return before

    f, x = s.compile(step), x3()
    for rate in (0.1, 0.1, 0.2, 0.3, 0.1):
        group["lr"] = rate
        s.call(f, x)
