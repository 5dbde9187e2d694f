"""Python that runs in the middle of a call, and that no line of the call calls: finalizers, callbacks, handlers."""

import gc
import signal
import weakref

import clew

from .harness import program
from .values import Plain, x3


def ending_with(log):
    """A class whose objects' finalizer writes to the list."""

    class Ending:
        def __del__(self):
            log.append("died")

    return Ending


@program
def a_finalizer_that_the_first_call_sets_off(s):
    log, holder = s.watch([]), Plain()
    holder.value = ending_with(log)()

    @s.compile
    def f(x):
        holder.value = None
        return x * 2

    s.calls(3, f, x3())
    holder.value = ending_with(log)()
    s.calls(2, f, x3())


@program
def a_finalizer_of_what_the_collector_finds(s):
    log = s.watch([])
    one = ending_with(log)()
    one.itself = one
    del one
    f = s.compile(lambda x: x * len([[i] for i in range(3000)]))
    before = gc.get_threshold()
    gc.set_threshold(100, 1, 1)
    try:
        s.calls(4, f, x3())
    finally:
        gc.set_threshold(*before)
    s.calls(2, f, x3() * 2)


@program
def a_finalizer_of_an_object_that_it_makes(s):
    made = ending_with(s.watch([]))

    @s.compile
    def f(x):
        one = made()
        one.itself = one
        return x * 2

    for _ in range(4):
        f(x3())
        gc.collect()
        s.note()


@program
def a_callback_of_a_weak_reference(s):
    log, holder = s.watch([]), Plain(value=x3())

    @s.compile
    def f(x):
        holder.value = x * 3
        return x * 2

    for turn in range(5):
        reference = weakref.ref(holder.value, lambda _, turn=turn: log.append(turn))
        s.call(f, x3())
        s.note(reference() is None)


@program
def a_callback_that_calls_a_compiled_function(s):
    results, holder = s.watch([]), Plain(value=x3())
    double = s.compile(lambda x: x * 2)

    @s.compile
    def f(x):
        holder.value = x * 3
        return x * 5

    for turn in range(6):
        reference = weakref.ref(holder.value, lambda _, turn=turn: results.append(double(x3() + turn)))
        s.call(f, x3())
        s.note(reference() is None)


@program
def the_end_of_a_generator_from_before(s):
    log, holder = s.watch([]), Plain()

    def parts():
        try:
            yield 1.0
            yield 2.0
        finally:
            log.append("ended")

    @s.compile
    def f(x):
        holder.parts = None
        return x * 2

    for turn in range(6):
        if turn % 3 == 0:
            holder.parts = parts()
            next(holder.parts)
        s.call(f, x3())


@program
def the_handler_of_a_signal(s):
    log = s.watch([])

    @s.compile
    def f(x):
        for _ in range(400):
            x = x + 1
        return x

    before = signal.signal(signal.SIGALRM, lambda number, frame: log.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 1e-4)
        while not log:
            f(x3())
    finally:
        signal.signal(signal.SIGALRM, before)
    log[:] = ["handled"]
    s.calls(4, f, x3())
    f = s.compile(lambda x: x * len(log))
    s.calls(2, f, x3())
    log.append("again")
    s.call(f, x3())


@program
def a_callback_in_which_a_call_is_recorded(s):
    """All tensors are looked at while one of them dies."""
    holder, weight = Plain(value=x3()), clew.ones(3, requires_grad=True)
    f = s.compile(lambda x: (x * weight).sum())
    for turn in range(5):
        reference = weakref.ref(holder.value, lambda _, turn=turn: s.call(f, x3() * turn))
        holder.value = x3()
        s.note(reference() is None)
