"""Tuples from before the call whose items become the arguments of a call: f(*t)."""

import collections
import contextlib
import functools
import itertools

import clew
from clew import nn

from .harness import program
from .values import Plain, x3


@program
def a_tuple_of_containers_given_on(s):
    settings, log = {"scale": 1.0}, s.watch([])
    state = (settings, log)

    def body(settings, log, x):
        log.append(1)
        return x * settings["scale"]

    f = s.compile(lambda x: body(*state, x) + body(*(*state, x)))
    g = s.compile(lambda x: functools.partial(body, x=x)(*state))
    for function in (f, g):
        s.calls(3, function, x3())
        settings["scale"] += 6.0
        s.calls(2, function, x3())


@program
def a_tuple_of_objects_given_on(s):
    log = s.watch(Plain(n=0, items=[], scale=2.0))
    state = (log,)

    def note(log):
        log.n += 1
        log.items.append(log.scale)
        return log.scale

    f = s.compile(lambda x: x * note(*state))
    s.calls(3, f, x3())
    log.scale = 5.0
    s.calls(2, f, x3())


def trained_by_a_tuple(s, change):
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))
    optimizer = clew.optim.SGD(model.parameters(), lr=0.1)
    s.watch(model.state_dict())
    state = (model, optimizer)

    def train(model, optimizer, x):
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        return loss

    f = s.compile(lambda x: train(*state, *(x,)))
    s.calls(4, f, x3())
    change(model, optimizer)
    s.calls(4, f, x3())


@program
def a_rate_of_an_optimizer_in_a_tuple(s):
    trained_by_a_tuple(s, lambda model, optimizer: optimizer.param_groups[0].update(lr=0.5))


@program
def a_mode_of_a_module_in_a_tuple(s):
    trained_by_a_tuple(s, lambda model, optimizer: model.eval())


@program
def a_parameter_of_a_module_in_a_tuple(s):
    trained_by_a_tuple(s, lambda model, optimizer: setattr(model[0], "weight", nn.Parameter(clew.ones(3, 3))))


@program
def a_layer_of_a_module_in_a_tuple(s):
    trained_by_a_tuple(s, lambda model, optimizer: model.__setitem__(1, nn.ReLU()))


@program
def a_hook_of_a_module_in_a_tuple(s):
    hook = lambda module, inputs, output: output * 2  # noqa: E731
    trained_by_a_tuple(s, lambda model, optimizer: model[0].register_forward_hook(hook))


@program
def a_rate_of_dropout_in_a_tuple(s):
    trained_by_a_tuple(s, lambda model, optimizer: setattr(model[1], "p", 0.1))


@program
def tuples_given_to_what_is_written_in_c(s):
    pair = ([1.0, 2.0], [3.0, 4.0])
    functions = [
        lambda x: x * sum(a * b for a, b in zip(*pair, strict=True)),
        lambda x: x * sum(a * b for a, b in itertools.product(*pair)),
        lambda x: x * max(*pair)[0],
        lambda x: x * sum(set().union(*pair)),
        lambda x: x * sum(map(lambda a, b: a * b, *pair)),
    ]
    for f in map(s.compile, functions):
        s.calls(3, f, x3())
        pair[0][0] += 50.0
        s.calls(2, f, x3())


@program
def a_tuple_given_to_a_class(s):
    Pair = collections.namedtuple("Pair", "first second")
    pair = ([1.0], {"a": 2.0})
    f = s.compile(lambda x: (both := Pair(*pair), x * both.first[0] * both.second["a"])[1])
    s.calls(3, f, x3())
    pair[0][0] = 5.0
    s.calls(2, f, x3())
    pair[1]["a"] = 7.0
    s.calls(2, f, x3())


@program
def a_tuple_given_to_a_generator(s):
    pair = ([1.0, 2.0], {"a": 3.0})

    def products(numbers, names):
        for one in numbers:
            yield one * names["a"]

    f = s.compile(lambda x: x * sum(products(*pair)))
    s.calls(3, f, x3())
    pair[1]["a"] = 7.0
    s.calls(2, f, x3())


@program
def a_tuple_beside_names(s):
    given = Plain(args=({"scale": 1.0},), named={"log": s.watch([])})

    def body(settings, log):
        log.append(settings["scale"])
        return settings["scale"]

    f = s.compile(lambda x: x * body(*given.args, **given.named))
    s.calls(3, f, x3())
    given.args[0]["scale"] = 4.0
    s.calls(2, f, x3())


@program
def a_number_of_a_call_whose_arguments_did_not_fit(s):
    def body(x):
        return (x * x).sum().item()

    def both(x, nothing):
        with contextlib.suppress(TypeError):
            body(*nothing)
        return x + next(map(body, [x])) * 2

    f = s.compile(lambda x: both(x, ()))
    for factor in (1.0, 1.0, 2.0, 3.0):
        s.call(f, x3() * factor)
