"""Row 6.2: code of elementwise chains over long arrays gives the bits of eager's loops, and is never needed.

See Note [Code of strips] in core/program/code/pieces.h. With CLEW_CODE=now the first replay by a plan waits for it.
"""

import pickle
import shutil
import subprocess
import sys

import pytest
import test_code
from test_replays_in_strips import gelu, of_a_chain, run, statements, values

import clew

pytestmark = [
    pytest.mark.unsanitized("it calls a compiler"),
    pytest.mark.records_calls,
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
]
LENGTH = 9_001
bits, cache, compiler = test_code.bits, test_code.cache, test_code.compiler


@pytest.mark.parametrize("seed", range(6))
def test_drawn_programs(seed):
    dtype = ["float32", "float64"][seed % 2]
    steps = statements(seed)

    def function(*inputs):
        return run(steps, *inputs)[-2 - seed % 3 :: 2]  # the others may have no memory

    compiled = clew.compile(function)
    for place in range(5):
        given = [values(2 * place, dtype, LENGTH), values(2 * place + 1, dtype, LENGTH)]
        assert bits(compiled(*given)) == bits(function(*given)), steps
    assert not any("results differ" in line for line in compiled.code)


EXPRESSIONS = {
    "arithmetic": lambda a, b: (a + b) * (a - b) / (b * b + 1.0),
    "extremes": lambda a, b: clew.maximum(a, b) - clew.minimum(a, -b),
    "roots": lambda a, b: a.abs().sqrt() + b.square().rsqrt() - a.sign() * b.reciprocal(),
    "activations": lambda a, b: clew.relu(a) + clew.nn.functional.leaky_relu(b, 0.3) - clew.threshold(a, 0.1, 0.2),
    "with numbers": lambda a, b: (
        clew.add(clew.addcmul(a, a, b, value=0.7), clew.addcdiv(a, a, b, value=0.1), alpha=-2) * b
    ),
    "powers": lambda a, b: a**2 - b**3 + a.abs() ** 0.5 - b**-1,
    "one number": lambda a, b: (a * b[:1] + a[7]) * b - b[:1],
}


@pytest.mark.parametrize(("index", "name"), list(enumerate(EXPRESSIONS)))
def test_expressions(index, name):
    dtype, length = ["float32", "float64"][index % 2], [LENGTH, 700, 2048][index % 3]
    compiled = clew.compile(EXPRESSIONS[name])
    for place in range(4):
        given = [values(2 * place, dtype, length), values(2 * place + 1, dtype, length)]
        assert bits([compiled(*given)]) == bits([EXPRESSIONS[name](*given)])
    assert any("pieces" in line for line in compiled.code)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_chain_and_its_gradient(threads):
    before = clew.get_num_threads()
    clew.set_num_threads(threads)
    try:
        compiled = clew.compile(of_a_chain)
        for _ in range(5):
            x = clew.randn(100_003).requires_grad_()
            assert bits(compiled(x)) == bits(of_a_chain(x))
    finally:
        clew.set_num_threads(before)
    (line,) = compiled.code
    assert "3 pieces" in line  # before tanh, tanh, after it


def test_writes_in_place():
    """To parameters, as an optimizer's step by hand writes them."""
    weight = clew.ones(LENGTH)

    def step(x, y):
        weight.sub_(0.1 * (x * weight - y))
        weight.mul_(0.9).add_(x, alpha=0.01)
        return weight * 2.0

    compiled = clew.compile(step)
    for _ in range(5):
        given = [clew.randn(LENGTH), clew.randn(LENGTH)]
        before = weight.clone()
        got = bits([compiled(*given), weight])
        weight.copy_(before)
        assert got == bits([step(*given), weight])
    assert any("pieces" in line for line in compiled.code)


def test_a_compiler_that_makes_something_else(compiler):
    compiler('for last; do :; done; sed -i "s/a \\* b/a + b/" "$last"; exec cc "$@"')
    compiled = clew.compile(gelu)
    for _ in range(5):
        x = clew.randn(LENGTH)
        assert bits([compiled(x)]) == bits([gelu(x)])
    (line,) = compiled.code
    assert "results differ" in line


@pytest.mark.parametrize("also_kept", [False, True])
def test_other_bits_that_only_a_sum_reads(compiler, also_kept):
    """What the strips make has no memory, and is compared all the same."""
    compiler('for last; do :; done; sed -i "s/a \\* b/a + b/" "$last"; exec cc "$@"')

    def function(x, y):
        z = x * y + 1.0
        total = (z**2).sum()
        return [total, z.abs().sum(), z - y] if also_kept else [total]

    compiled = clew.compile(function)
    for _ in range(5):
        given = [clew.randn(LENGTH), clew.randn(LENGTH)]
        assert bits(compiled(*given)) == bits(function(*given))
    (line,) = compiled.code
    assert "results differ" in line


ZIG = """
import shutil
shutil.which = lambda *args, **more: None
import clew, test_replays_in_strips as t
compiled = clew.compile(t.gelu)
for _ in range(4):
    x = clew.randn(9001)
    assert compiled(x).numpy().tobytes() == t.gelu(x).numpy().tobytes()
print(compiled.code)
"""


ZIG_LATER = """
import shutil
shutil.which = lambda *args, **more: None
import pickle, sys, clew
program = clew.load_program("PATH") if "HOW" == "load" else pickle.load(open("PATH", "rb"))
for _ in range(4):
    program.run()
print(program.code)
"""


def without_cc(text, tmp_path):
    pytest.importorskip("ziglang")
    environment = {
        "CLEW_CODE": "now",
        "CLEW_CACHE_DIR": str(tmp_path),
        "HOME": str(tmp_path),
        "PATH": str(tmp_path),
        "PYTHONPATH": ":".join([path for path in sys.path if path]),
    }
    ran = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "3 pieces" in ran.stdout, ran.stdout


def test_the_spare_compiler(tmp_path):
    """Where there is no `cc`, the one in the package ziglang."""
    without_cc(ZIG, tmp_path)


@pytest.mark.parametrize("how", ["load", "unpickle"])
def test_the_spare_compiler_for_a_program_from_elsewhere(how, tmp_path):
    x = clew.randn(LENGTH)
    with clew.keep_graph() as program:
        y = gelu(x)
    program.name(x=x, y=y)
    path = tmp_path / "program.clew"
    program.save(path) if how == "load" else path.write_bytes(pickle.dumps(program))
    without_cc(ZIG_LATER.replace("PATH", str(path)).replace("HOW", how), tmp_path)
