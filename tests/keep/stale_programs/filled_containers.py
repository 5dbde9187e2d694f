"""Containers of the call that a method fills from one that is older."""

import collections
import functools

import clew

from .harness import program
from .values import Plain, x3


def filled(s, make, fill, read, change):
    older = make()

    def function(x):
        young = [] if isinstance(older, list | tuple) else {}
        young = fill(young, older) or young
        return x * read(young)

    f = s.compile(function)
    s.calls(3, f, x3())
    change(older)
    s.calls(2, f, x3())


def first(items):
    items[0] = 50.0


def slice_of(young, older):
    young[:] = older


def slice_in_between(young, older):
    young[0:0] = older


LISTS = {
    "extend": lambda young, older: young.extend(older),
    "extend_of_the_class": lambda young, older: list.extend(young, older),
    "extend_of_a_variable": lambda young, older: functools.partial(young.extend)(older),
    "iadd": lambda young, older: young.__iadd__(older),
    "init": lambda young, older: young.__init__(older),
    "slice": slice_of,
    "slice_in_between": slice_in_between,
}
DICTS = {
    "update": lambda young, older: young.update(older),
    "update_and_names": lambda young, older: young.update(older, q=1.0),
    "update_of_pairs": lambda young, older: young.update(list(older.items())),
    "ior": lambda young, older: young.__ior__(older),
    "init": lambda young, older: young.__init__(older),
    "ordered": lambda young, older: (new := collections.OrderedDict(), new.update(older), new)[2],
    "default": lambda young, older: (new := collections.defaultdict(float), new.update(older), new)[2],
}
SETS = {
    "update": lambda young, older: young.update(older),
    "ior": lambda young, older: young.__ior__(set(older)),
    "init": lambda young, older: young.__init__(older),
    "difference": lambda young, older: (young.update({1.0, 2.0, 50.0}), young.difference_update(older))[1],
    "intersection": lambda young, older: (young.update({1.0, 2.0, 50.0}), young.intersection_update(older))[1],
    "symmetric": lambda young, older: (young.update({1.0, 3.0}), young.symmetric_difference_update(older))[1],
}


def register(name, function):
    function.__name__ = name
    program(function)


for name, fill in LISTS.items():
    register(f"a_list_filled_by_{name}", lambda s, fill=fill: filled(s, lambda: [1.0, 2.0], fill, sum, first))
for name, fill in DICTS.items():
    register(
        f"a_dict_filled_by_{name}",
        lambda s, fill=fill: filled(
            s,
            lambda: {"a": 1.0, "b": 2.0},
            fill,
            lambda young: sum(young.values()),
            lambda older: older.update(a=50.0),
        ),
    )
for name, fill in SETS.items():
    register(
        f"a_set_filled_by_{name}",
        lambda s, fill=fill: filled(
            s, lambda: [1.0, 2.0], lambda young, older: (new := set(), fill(new, older), new)[2], sum, first
        ),
    )


@program
def a_list_that_is_removed_from(s):
    wanted = [1.0]

    def function(x):
        lists = [[1.0], [2.0]]
        lists.remove(wanted)
        return x * lists[0][0]

    f = s.compile(function)
    s.calls(3, f, x3())
    wanted[0] = 2.0
    s.calls(2, f, x3())


@program
def a_list_of_objects_that_is_filled(s):
    log, number = s.watch([]), Plain(a=2.0)

    def function(x):
        both = []
        both.extend([log, number])
        both[0].append(both[1].a)
        return x * both[1].a

    f = s.compile(function)
    s.calls(3, f, x3())
    number.a = 7.0
    s.calls(2, f, x3())


@program
def a_list_of_lists_that_is_filled(s):
    lists = ([1.0], s.watch([]))

    def function(x):
        both = []
        both.extend(lists)
        both[1].append(3.0)
        return x * both[0][0]

    f = s.compile(function)
    s.calls(3, f, x3())
    lists[0][0] = 7.0
    s.calls(2, f, x3())


@program
def parameters_that_are_gathered(s):
    model = clew.nn.Linear(3, 1)
    more = [clew.ones(3, requires_grad=True)]
    s.watch(more)

    def function(x):
        parameters = list(model.parameters())
        parameters.extend(more)
        loss = model(x).sum() + sum(one.sum() for one in more)
        for one in parameters:
            one.grad = None
        loss.backward()
        clew.nn.utils.clip_grad_norm_(parameters, 0.5)
        return [one.grad.clone() for one in parameters]

    f = s.compile(function)
    s.calls(3, f, x3())
    more.append(clew.full((3,), 2.0, requires_grad=True))
    s.calls(2, f, x3())
    more[0] = clew.full((2,), 2.0, requires_grad=True)
    s.calls(2, f, x3())


@program
def settings_of_an_object_that_are_updated(s):
    settings = {"a": 1.0}

    def function(x):
        made = Plain(a=0.0)
        made.__dict__.update(settings)
        return x * made.a

    f = s.compile(function)
    s.calls(3, f, x3())
    settings["a"] = 5.0
    s.calls(2, f, x3())


@program
def numbers_of_tensors_that_are_gathered(s):
    def function(x):
        losses = []
        losses.extend([x.sum().item(), (x * x).sum().item()])
        return x, losses

    f = s.compile(function)
    for factor in range(5):
        s.call(f, x3() * factor)
