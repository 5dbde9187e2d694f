"""Objects that must be let go, and identities."""

import gc
import weakref

from clew import nn

from .harness import program
from .values import Plain, x3


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
    f = s.compile(lambda x: model(x).sum())  # noqa: F821 - deleted below
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
