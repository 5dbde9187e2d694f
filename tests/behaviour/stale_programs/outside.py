"""The world outside: clocks, files, the environment, random numbers of others, NumPy, print, iterators."""

import contextlib
import functools
import io
import itertools
import os
import pathlib
import random
import tempfile
import time
import warnings

import numpy

import clew

from .harness import program

ROWS = itertools.count()


def x3():
    return clew.tensor([1.0, 2.0, 3.0])


@program
def the_environment(s):
    os.environ["CLEW_TEST_FACTOR"] = "2"
    f = s.compile(lambda x: x * float(os.environ["CLEW_TEST_FACTOR"]))
    s.calls(2, f, x3())
    os.environ["CLEW_TEST_FACTOR"] = "3"
    s.call(f, x3())
    del os.environ["CLEW_TEST_FACTOR"]
    s.call(f, x3())


@program
def the_environment_with_a_default(s):
    os.environ.pop("CLEW_TEST_FACTOR", None)
    f = s.compile(lambda x: x * float(os.environ.get("CLEW_TEST_FACTOR", "5")) + len(os.getenv("CLEW_TEST_FACTOR", "")))
    s.calls(2, f, x3())
    os.environ["CLEW_TEST_FACTOR"] = "3"
    s.call(f, x3())
    del os.environ["CLEW_TEST_FACTOR"]


@program
def a_clock(s):
    f = s.compile(lambda x: (x * 2, time.perf_counter()))
    times = [f(x3())[1] for _ in range(5)]
    s.note()
    s.note([earlier < later for earlier, later in itertools.pairwise(times)])


@program
def a_clock_of_a_thread_that_is_patched(s):
    before = time.time
    try:
        time.time = lambda: 2.0
        f = s.compile(lambda x: x * time.time())
        s.calls(2, f, x3())
        time.time = lambda: 3.0
        s.call(f, x3())
    finally:
        time.time = before


@program
def random_of_python(s):
    random.seed(3)
    f = s.compile(lambda x: x * random.random())
    s.calls(4, f, x3())
    s.note(random.random())


@program
def a_generator_of_python(s):
    generator = random.Random(3)
    f = s.compile(lambda x: x * generator.choice([1.0, 2.0, 3.0]) if generator.randint(0, 3) else x)
    s.calls(6, f, x3())
    s.note(generator.random())


@program
def random_of_numpy(s):
    numpy.random.seed(3)
    f = s.compile(lambda x: x * float(numpy.random.rand()))
    s.calls(4, f, x3())
    s.note(float(numpy.random.rand()))


@program
def a_generator_of_numpy(s):
    generator = numpy.random.default_rng(3)
    f = s.compile(lambda x: x[clew.from_numpy(generator.permutation(3))])
    s.calls(4, f, x3())


@program
def an_array_that_it_captures(s):
    array = numpy.array([1.0, 2.0, 3.0], dtype=numpy.float32)
    f = s.compile(lambda x: x + clew.from_numpy(array))
    s.calls(2, f, x3())
    array[1] = 20.0
    s.call(f, x3())


@program
def an_item_of_an_array(s):
    array = numpy.array([1.0, 2.0, 3.0])
    f = s.compile(lambda x: x * array[1] + array.sum() + len(array))
    s.calls(2, f, x3())
    array[1] = 20.0
    s.call(f, x3())


@program
def a_tensor_of_an_array(s):
    array = numpy.array([1.0, 2.0, 3.0])
    f = s.compile(lambda x: x + clew.tensor(array) * clew.as_tensor(array))
    s.calls(2, f, x3())
    array[1] = 20.0
    s.call(f, x3())


@program
def an_array_as_argument(s):
    array = numpy.array([1.0, 2.0, 3.0], dtype=numpy.float32)
    f = s.compile(lambda x, array: x + clew.from_numpy(array))
    s.calls(2, f, x3(), array)
    array[1] = 20.0
    s.call(f, x3(), array)


@program
def a_scalar_of_numpy_as_argument(s):
    f = s.compile(lambda x, factor: x * factor)
    for factor in (2.0, 2.0, 3.0):
        s.call(f, x3(), numpy.float64(factor))
        s.call(f, x3(), numpy.float32(factor))
    s.call(f, x3(), 2.0)


@program
def an_array_made_from_a_tensor(s):
    f = s.compile(lambda x: float(numpy.sin(x.numpy()).sum()) * x)
    for factor in (1.0, 1.0, 2.0):
        s.call(f, x3() * factor)


@program
def memory_shared_with_an_array(s):
    array = numpy.array([1.0, 2.0, 3.0], dtype=numpy.float32)
    weight = clew.from_numpy(array)

    @s.compile
    def f(x):
        weight.add_(x)
        return weight * 2

    for _ in range(3):
        s.call(f, x3())
        s.note(array.tolist())
    array[:] = 0.0
    s.call(f, x3())
    s.note(array.tolist())


@program
def a_file(s):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "factor"
        path.write_text("2")
        f = s.compile(lambda x: x * float(path.read_text()))
        s.calls(2, f, x3())
        path.write_text("3")
        s.call(f, x3())
        path.unlink()
        s.call(f, x3())


@program
def a_file_that_it_writes(s):
    stream = io.StringIO()

    @s.compile
    def f(x):
        stream.write(f"{x.sum().item()}\n")
        return x * 2

    for factor in range(4):
        s.call(f, x3() * factor)
        s.note(stream.getvalue())


@program
def what_it_prints(s):
    @s.compile
    def f(x):
        print("loss", x.sum().item())
        return x * 2

    for factor in range(4):
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            s.call(f, x3() * factor)
        s.note(stream.getvalue())


@program
def what_it_warns(s):
    @s.compile
    def f(x):
        warnings.warn("the user's warning", UserWarning, stacklevel=1)
        return x * 2

    for factor in range(4):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            warnings.simplefilter("ignore", clew.KeepWarning)
            s.call(f, x3() * factor)
        s.note([str(one.message) for one in caught if one.category is UserWarning])


@program
def a_count_of_itertools(s):
    count = itertools.count()
    f = s.compile(lambda x: x * next(count))
    s.calls(4, f, x3())


@program
def a_cycle_of_itertools(s):
    factors = itertools.cycle([1.0, 2.0, 3.0])
    f = s.compile(lambda x: x * next(factors))
    s.calls(5, f, x3())


@program
def an_iterator_of_a_list(s):
    batches = iter([1.0, 2.0, 3.0])

    @s.compile
    def f(x):
        for factor in batches:
            return x * factor
        return x - 1

    s.calls(5, f, x3())


@program
def a_generator_from_before(s):
    def batches():
        factor = 1.0
        while True:
            yield factor
            factor *= 2

    generator = batches()
    f = s.compile(lambda x: x * next(generator))
    s.calls(4, f, x3())


@program
def a_zip_from_before(s):
    pairs = zip([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], strict=True)

    @s.compile
    def f(x):
        (a, b), *_ = itertools.islice(pairs, 1)
        return x * a + b

    s.calls(5, f, x3())


@program
def an_iterator_as_argument(s):
    factors = iter([1.0, 2.0, 3.0, 4.0])
    f = s.compile(lambda x, factors: x * next(factors, 0.0))
    s.calls(6, f, x3(), factors)


@program
def an_iterator_of_a_users_class(s):
    class Batches:
        def __init__(self):
            self.at = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.at += 1
            if self.at > 2:
                self.at = 0
                raise StopIteration
            return self.at

    batches = s.watch(Batches())

    @s.compile
    def f(x):
        for factor in batches:
            return x * factor
        return x - 100

    s.calls(5, f, x3())


@program
def a_generator_that_is_sent_to(s):
    def machine():
        total = 0.0
        while True:
            total += yield total

    running = machine()
    next(running)
    f = s.compile(lambda x: x * running.send(1.0))
    s.calls(4, f, x3())


@program
def a_partial(s):
    def scale(factor, x, shift=0.0):
        return x * factor + shift

    part = functools.partial(scale, 2.0, shift=1.0)
    f = s.compile(lambda x: part(x))
    s.calls(2, f, x3())
    part.keywords["shift"] = 5.0
    s.call(f, x3())
    part.__setstate__((scale, (3.0,), {}, None))
    s.call(f, x3())


@program
def a_partial_that_is_compiled(s):
    factors = [2.0]
    part = functools.partial(lambda factors, x, shift: x * factors[0] + shift, factors, shift=1.0)
    f = s.compile(part)
    s.calls(2, f, x3())
    factors[0] = 3.0
    s.call(f, x3())
    part.keywords["shift"] = 5.0
    s.call(f, x3())


@program
def a_cache_of_functools(s):
    factor = [2.0]

    @functools.lru_cache
    def table(n):
        return clew.full((n,), factor[0])

    f = s.compile(lambda x: x * table(3))
    s.calls(3, f, x3())
    factor[0] = 3.0
    s.call(f, x3())
    table.cache_clear()
    s.call(f, x3())


@program
def a_single_dispatch(s):
    @functools.singledispatch
    def way(option, x):
        return x * 2

    f = s.compile(lambda x: way(1, x))
    s.calls(2, f, x3())
    way.register(int, lambda option, x: x * 3)
    s.call(f, x3())


@program
def a_wrapped_function(s):
    def plain(x):
        return x * 2

    @functools.wraps(plain)
    def wrapper(x):
        return wrapper.__wrapped__(x) + 1

    f = s.compile(lambda x: wrapper(x))
    s.calls(2, f, x3())
    wrapper.__wrapped__ = lambda x: x * 50
    s.call(f, x3())


@program
def the_frames_that_call(s):
    import sys

    f = s.compile(lambda x: x * len(sys._getframe(0).f_code.co_name) + sys.getrecursionlimit())
    s.calls(2, f, x3())
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + 100)
    s.call(f, x3())
    sys.setrecursionlimit(before)


@program
def a_variable_of_a_context(s):
    import contextvars

    factor = contextvars.ContextVar("factor", default=2.0)
    f = s.compile(lambda x: x * factor.get())
    s.calls(2, f, x3())
    token = factor.set(3.0)
    s.call(f, x3())
    factor.reset(token)
    s.call(f, x3())


@program
def an_import_inside(s):
    import sys
    import types

    module = sys.modules["clew_test_settings"] = types.ModuleType("clew_test_settings")
    module.factor = 2.0

    @s.compile
    def f(x):
        from clew_test_settings import factor

        return x * factor

    s.calls(2, f, x3())
    module.factor = 3.0
    s.call(f, x3())
    sys.modules["clew_test_settings"] = types.ModuleType("clew_test_settings")
    s.call(f, x3())
    del sys.modules["clew_test_settings"]
    s.call(f, x3())


@program
def a_default_dtype_around_the_call(s):
    f = s.compile(lambda x: x * clew.ones(3) + clew.tensor(0.1))
    s.calls(2, f, x3())
    clew.set_default_dtype(clew.float64)
    try:
        s.calls(2, f, clew.tensor([1.0, 2.0, 3.0], dtype=clew.float32))
    finally:
        clew.set_default_dtype(clew.float32)
    s.call(f, x3())


@program
def grad_mode_around_the_call(s):
    weight = clew.ones(3, requires_grad=True)
    f = s.compile(lambda x: x * weight if clew.is_grad_enabled() else x * weight * 2)
    s.calls(2, f, x3())
    with clew.no_grad():
        s.calls(2, f, x3())
    with clew.inference_mode():
        s.call(f, x3())
    s.call(f, x3())


@program
def seeds_between_calls(s):
    f = s.compile(lambda x: x + clew.rand(3) + clew.randn(3) * clew.randint(0, 5, (3,)))
    s.calls(3, f, x3())
    clew.manual_seed(7)
    s.calls(2, f, x3())
    state = clew.random.get_rng_state()
    s.call(f, x3())
    clew.random.set_rng_state(state)
    s.call(f, x3())


@program
def a_generator_of_ones_own(s):
    generator = s.watch(clew.Generator().manual_seed(5))
    f = s.compile(lambda x: x + clew.randn(3, generator=generator))
    s.calls(3, f, x3())
    generator.manual_seed(9)
    s.calls(2, f, x3())


@program
def a_seed_inside_the_call(s):
    seed = [4]

    @s.compile
    def f(x):
        clew.manual_seed(seed[0])
        return x + clew.rand(3)

    s.calls(3, f, x3())
    seed[0] = 5
    s.calls(2, f, x3())
    clew.rand(2)
    s.call(f, x3())


@program
def the_generators_state_inside_the_call(s):
    f = s.compile(lambda x: x * clew.random.get_rng_state().sum().item() + clew.initial_seed())
    s.calls(2, f, x3())
    clew.manual_seed(9)
    s.call(f, x3())
