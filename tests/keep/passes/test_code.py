"""Row 6.2: code that the system's C compiler makes of small elementwise calls gives eager's bits, and is never needed.

See Note [Code takes over] in core/program/code/coded.h. With CLEW_CODE=now the first replay by a plan waits for it.
"""

import os
import pickle
import random
import shutil
import stat
import subprocess
import sys
import time

import numpy as np
import pytest

import clew

pytestmark = [
    pytest.mark.unsanitized("it calls a compiler"),
    pytest.mark.records_calls,
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
]
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-42, 3e38]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CLEW_CODE", "now")
    monkeypatch.setenv("CLEW_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("CLEW_CC", raising=False)
    return tmp_path / "cache" / "code"


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """A program in place of the compiler."""

    def make(text):
        path = tmp_path / "compiler"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o700)
        monkeypatch.setenv("CLEW_CC", str(path))

    return make


def bits(results):
    """Where any NaN is as good as another: which of two NaNs a sum hands on is up to the compiler."""
    values = [one.detach().numpy() for one in results]
    return [np.where(np.isnan(one), np.array(np.nan, one.dtype), one).tobytes() for one in values]


def chain(links):
    def run(x, y):
        x = x.detach().requires_grad_()
        y = y.detach().requires_grad_()
        z = x
        for _ in range(links):
            z = z * y
        return (z.detach(), *clew.autograd.grad(z.sum(), [x, y]))

    return run


def check(function, *, calls=5, size=4, dtype=np.float32, seed=0):
    """Compares calls of the compiled function with the function itself, on new data each time."""
    compiled = clew.compile(function)
    rng = np.random.default_rng(seed)
    for _ in range(calls):
        drawn = [rng.standard_normal(size).astype(dtype) for _ in range(2)]
        for one in drawn:
            one[rng.random(size) < 0.1] = rng.choice(SPECIAL)
        given = [clew.from_numpy(one) for one in drawn]
        assert bits(compiled(*given)) == bits(function(*given))
    return compiled


def statements(seed):
    draw = random.Random(seed)
    operations = [
        lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b, lambda a, b: a**2 - b**3,
        lambda a, b: clew.relu(a) + 0.1 * b, lambda a, b: clew.tanh(a) * b, lambda a, b: clew.maximum(a, b),
        lambda a, b: clew.minimum(a, -b), lambda a, b: a.abs().sqrt() - b, lambda a, b: b.sign() - a.square(),
        lambda a, b: clew.cat([a[1:], b[:1]]), lambda a, b: a[:1] * b, lambda a, b: clew.where(a > b, a, b),
        lambda a, b: a.sum() * b, lambda a, b: clew.nn.functional.leaky_relu(a, 0.3) / (1.0 + b),
        lambda a, b: clew.add(a, b, alpha=-0.3), lambda a, b: clew.addcmul(a, a, b, value=0.7), lambda a, b: 1.0 - a,
    ]  # fmt: skip
    return [(draw.choice(operations), draw.random(), draw.random()) for _ in range(draw.randint(5, 40))]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 16, 17])
def test_drawn_programs(size, dtype):
    used = 0
    for seed in range(6):
        steps = statements(seed)

        def function(x, y, steps=steps):
            x = x.detach().requires_grad_()
            made = [x, y]
            for operation, one, other in steps:
                made.append(operation(made[int(one * len(made))], made[int(other * len(made))]))
            made[2:] = [one[0] if one.ndim == 0 else one for one in made[2:]]
            total = sum(one.sum() for one in made[2:])
            return (
                *(one.detach() for one in made[-2:]),
                *clew.autograd.grad(total, [x], allow_unused=True, materialize_grads=True),
            )

        compiled = check(function, size=size, dtype=dtype, seed=seed)
        used += any("pieces" in line for line in compiled.code)
    assert size > 16 or used >= 5


def test_what_repeats_itself_is_a_loop(cache):
    for links in (70, 94, 118):  # longer ones are folded before: test_repeated_iterations.py
        compiled = check(chain(links))
        (line,) = compiled.code
        assert "2 of them loops" in line
    assert len(list(cache.glob("*.so"))) == 1  # one text for all lengths


def test_state_that_goes_from_step_to_step():
    """Views, writes in place and slices of one memory."""

    def function(x, y):
        state = x.clone()
        for _ in range(60):
            state[0:1] += 0.1 * y[1:2] - state[2:3]
            state[1:].mul_(0.9)
            state = clew.cat([state[2:], state[:2] * y[:2]])
        return state, y * 2.0

    assert any("loops" in line for line in check(function).code)


def test_inputs_that_are_written():
    weights = [clew.ones(4), clew.ones(4)]

    def function(x, y):
        for one in weights:
            one -= 0.1 * (x * one - y)
        return x * weights[0], y * weights[1]

    compiled = clew.compile(function)
    for _ in range(5):
        x, y = clew.randn(4), clew.randn(4)
        before = [one.clone() for one in weights]
        got = bits(compiled(x, y)) + bits(weights)
        for one, old in zip(weights, before, strict=True):
            one.copy_(old)
        assert got == bits(function(x, y)) + bits(weights)


def test_memory_that_is_used_again():
    """What code writes and nobody reads after it leaves its place to others."""
    place = clew.tensor([1])

    def function(x, y):
        made = x * 2
        chosen = clew.stack([x, y]).index_select(0, place)[0]  # may fail, so it stays between
        made.add_(chosen)
        first = made * chosen
        second = (first + 1) * first
        return (second - first + second,)

    (line,) = check(function).code
    assert "pieces" in line


def test_kept_programs():
    x, y = clew.randn(4), clew.randn(4)
    with clew.keep_graph() as program:
        z = chain(50)(x, y)
    for _ in range(4):
        x.copy_(clew.randn(4))
        program.run()
        assert bits(z) == bits(chain(50)(x, y))


def test_no_compiler(monkeypatch):
    monkeypatch.setenv("CLEW_CC", "no-such-compiler")
    (line,) = check(chain(50)).code
    assert "no C compiler: 'no-such-compiler' was not found" in line


def test_a_compiler_that_fails(compiler):
    compiler("echo it is broken; exit 1")
    (line,) = check(chain(50)).code
    assert "failed: it is broken" in line


def test_a_compiler_that_gives_garbage(compiler, cache):
    compiler('while [ "$1" != -o ]; do shift; done; echo garbage > "$2"')
    (line,) = check(chain(50)).code
    assert "none (" in line
    assert not list(cache.iterdir())


def test_a_compiler_that_makes_something_else(compiler):
    compiler('for last; do :; done; sed -i "s/a \\* b/a + b/" "$last"; exec cc "$@"')
    (line,) = check(chain(50)).code
    assert "results differ" in line


def call_until_coded(compiled):
    end = time.monotonic() + 60
    while "pieces" not in compiled.code[0] and time.monotonic() < end:
        compiled(clew.ones(4), clew.ones(4))
        time.sleep(0.01)
    assert "pieces" in compiled.code[0]


def test_nobody_waits(compiler, monkeypatch, tmp_path):
    monkeypatch.setenv("CLEW_CODE", "1")
    compiler(f'touch {tmp_path}/begun; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; exec cc "$@"')
    compiled = check(chain(120), calls=1500)
    (line,) = compiled.code
    assert "still being compiled" in line
    (tmp_path / "go").touch()
    call_until_coded(compiled)
    assert (tmp_path / "begun").exists()


def test_the_environment_is_that_of_the_call_that_asked(compiler, cache, monkeypatch, tmp_path):
    """The thread compiles one after the other, and what it has not begun yet may wait for a while."""
    monkeypatch.setenv("CLEW_CODE", "1")
    compiler(f'while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; exec cc "$@"')
    first, second = check(chain(120), calls=1500), check(chain(121), calls=1500)
    monkeypatch.setenv("CLEW_CACHE_DIR", str(tmp_path / "other"))
    monkeypatch.setenv("CLEW_CC", "no-such-compiler")
    (tmp_path / "go").touch()
    for compiled in first, second:
        call_until_coded(compiled)
    assert len(list(cache.iterdir())) == 2
    assert not (tmp_path / "other").exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes can't be forked here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_goes_on(monkeypatch):
    """Its parent's thread is not there."""
    monkeypatch.setenv("CLEW_CODE", "1")
    compiled = check(chain(1000), calls=60)  # asks the thread
    child = os.fork()
    if child == 0:
        try:
            check(chain(1001), calls=60)
            x, y = clew.ones(4), clew.ones(4)
            same = bits(compiled(x, y)) == bits(chain(1000)(x, y))
        except BaseException:
            same = False
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def in_other_processes(count, cache):
    program = "import clew, test_code as t; print(t.check(t.chain(50)).code)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
    started = [
        subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    said = [one.communicate()[0] for one in started]
    assert all(one.returncode == 0 for one in started)
    assert all("pieces" in one for one in said)
    assert len(list(cache.iterdir())) == 1
    return next(cache.iterdir())


def test_several_processes_at_once(cache):
    in_other_processes(3, cache)


@pytest.mark.parametrize("damage", ["cut", "changed", "emptied"])
def test_a_damaged_file_is_made_anew(cache, damage):
    path = in_other_processes(1, cache)
    whole = path.read_bytes()
    changed = bytearray(whole)
    changed[len(whole) // 2] ^= 1
    path.write_bytes({"cut": whole[:-100], "changed": bytes(changed), "emptied": b""}[damage])
    assert in_other_processes(1, cache).read_bytes()[-32:] != b""
    assert path.stat().st_size == len(whole)


def test_the_folder_is_the_users_alone(cache):
    check(chain(50))
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700


def test_a_folder_that_others_may_write_to_is_refused(cache):
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    (line,) = check(chain(50)).code
    assert "expected a folder that you own and nobody else may write to" in line
    assert not list(cache.iterdir())


def test_without_code(monkeypatch, cache):
    assert clew.compile(chain(50), code=False).code == []
    compiled = clew.compile(chain(50), code=False)
    for _ in range(3):
        compiled(clew.ones(4), clew.ones(4))
    assert compiled.code == []
    monkeypatch.setenv("CLEW_CODE", "0")
    assert check(chain(50)).code == []
    assert not cache.exists()


def test_nothing_grows():
    compiled = check(chain(20))
    x, y = clew.ones(4), clew.ones(4)
    compiled(x, y)
    before = clew.memory.stats().live
    for _ in range(10_000):
        compiled(x, y)
    assert clew.memory.stats().live == before


def test_a_kept_program_may_do_without(cache):
    x = clew.rand(4)
    for wanted in (False, True):
        with clew.keep_graph(code=wanted) as program:
            y = x
            for _ in range(8):
                y = y * 1.5 + 0.25
        for _ in range(4):
            program.run()
        assert bool(program.code) is wanted
    program.name(x=x, y=y)
    path = cache.parent / "program.clew"
    program.save(path)
    loaded = clew.load_program(path, code=False)
    for _ in range(4):
        loaded.run()
    assert loaded.code == []
    for wanted in (False, True):  # a pickle says it itself
        copied = pickle.loads(pickle.dumps(clew.load_program(path, code=wanted)))
        for _ in range(4):
            copied.run()
        assert bool(copied.code) is wanted


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_numbers_that_c_has_no_constant_for(number):
    """An added number is a tensor, of which code reads the value; see below for numbers in the code itself."""

    def function(x):
        y = x
        for _ in range(6):
            y = y * 0.5 + number
            y = y - x
        return y

    compiled = clew.compile(function)
    x = clew.tensor([1.0, -2.0, np.inf, 0.0])
    for _ in range(4):
        np.testing.assert_array_equal(compiled(x).numpy(), function(x).numpy())
    assert compiled.code
    assert all("ready" in line for line in compiled.code), compiled.code


EDGES = {
    "a threshold at infinity": (
        lambda x: clew.threshold(x * 2.0, np.inf, -np.inf) + clew.threshold(x, 0.5, np.nan),
        "f",
    ),
    "a factor that is none": (lambda x: clew.add(x, x * 0.5, alpha=np.nan) - clew.add(x, x, alpha=np.inf), "f"),
    "beyond float32": (lambda x: clew.add(x * 1e-3, x, alpha=1e300) - clew.threshold(x, 0.0, 1e300) * 1e-3, "d"),
}


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("size", [4, 9_001])
def test_numbers_in_the_code(name, size):
    """Infinity and NaN are no constants of C; and the numbers of float64 go further than those of float32."""
    function, dtype = EDGES[name]

    def repeated(x):
        y = x
        for _ in range(4):
            y = function(y) * 0.25 + x
        return y

    compiled = clew.compile(repeated)
    for seed in range(4):
        x = np.random.default_rng(seed).standard_normal(size).astype(dtype)
        x[:4] = [1.0, -2.0, np.inf, 0.0]
        given = clew.from_numpy(x)
        assert bits([compiled(given)]) == bits([repeated(given)])
    (line,) = compiled.code
    assert "ready" in line, line
    if size > 16:
        assert ": 1 pieces" in line, line  # all of it is code


def test_a_power_that_is_none():
    """It is no square, though it compares with no number."""

    def function(x):
        y = x**np.nan
        for _ in range(6):
            y = y * x + 1.0
        return y

    compiled = clew.compile(function)
    x = clew.tensor([1.0, -2.0, 0.5, 0.0])
    for _ in range(4):
        assert bits([compiled(x)]) == bits([function(x)])
    (line,) = compiled.code
    assert "ready" in line, line
