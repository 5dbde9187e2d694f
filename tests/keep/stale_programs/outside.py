"""The world outside: clocks, files, the environment, prints, frames, imports and modes of the process."""

import contextlib
import io
import itertools
import os
import pathlib
import sys
import tempfile
import time
import warnings

import clew

from .harness import program
from .values import x3


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
def the_frames_that_call(s):
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
def a_trace_function_that_it_sets(s):
    before = sys.gettrace()

    def trace(frame, event, argument):
        return None

    @s.compile
    def f(x):
        sys.settrace(trace)
        return x * 2

    try:
        for _ in range(4):
            s.call(f, x3())
            s.note(sys.gettrace() is trace)
            sys.settrace(before)
    finally:
        sys.settrace(before)


@program
def the_monitoring_tool_that_watches_is_freed(s):
    """From CPython 3.12 on."""
    seen, factor = s.watch([]), [1.0]

    @s.compile
    def f(x):
        monitoring = getattr(sys, "monitoring", None)
        if monitoring and monitoring.get_tool(5):
            monitoring.free_tool_id(5)
        seen.append(len(seen))
        return x * factor[0]

    @s.compile
    def g(x):
        return x * factor[0]

    for function in (f, g):
        for factor[0] in (1.0, 1.0, 1.0, 2.0, 3.0):
            s.call(function, x3())
