"""Row 6.11: constants in C that take fewer bytes."""

import subprocess

import numpy as np
import pytest
from target_programs import CASES
from target_support import CompiledProgram, assert_near, expected, recorded

import clew
from clew.keep.targets.in_numpy import results
from clew.keep.targets.layout import Memory
from clew.keep.targets.lower import lower
from clew.keep.targets.storage import encoded

pytestmark = [
    pytest.mark.skipif(subprocess.run(["which", "gcc"], capture_output=True).returncode != 0, reason="no gcc"),
    pytest.mark.unsanitized("programs for other machines are text"),
]

UNDEFINED = ("-fsanitize=undefined", "-fno-sanitize-recover=all")


def kept_net(dtype="float32"):
    clew.manual_seed(0)
    nn = clew.nn
    net = nn.Sequential(nn.Linear(40, 24), nn.Tanh(), nn.Linear(24, 3)).to(getattr(clew, dtype))
    x = clew.randn(5, 40, dtype=getattr(clew, dtype))
    with clew.keep_graph() as program:
        y = net(x)
    program.name(x=x, y=y)
    return net, program


def as_float16(values):
    return values.astype(np.float16).astype(np.float64) if values.size >= 16 else values


def as_int8(values):
    """Rounded to 255 levels within each 32 elements."""
    flat = values.astype(np.float64).ravel().copy()
    for i in range(0, flat.size if flat.size >= 16 else 0, 32):
        step = abs(flat[i : i + 32]).max() / 127
        flat[i : i + 32] = np.rint(flat[i : i + 32] / step) * step
    return flat.reshape(values.shape)


def output(net, x, rounded=lambda values: values):
    w1, b1, w2, b2 = (rounded(one.detach().numpy()) for one in net.parameters())
    return np.tanh(x @ w1.T + b1) @ w2.T + b2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("kind", "rounded", "share"), [("float16", as_float16, 2), ("int8", as_int8, 3.3)])
def test_constants_are_rounded_and_the_error_is_told(kind, rounded, share, dtype, tmp_path):
    net, program = kept_net(dtype)
    whole = program.to_c(tmp_path)
    compiled = CompiledProgram(program, tmp_path, *UNDEFINED, constants=kind)
    compiled.call("run")
    x = program["x"].numpy()
    assert_near(compiled["y"], output(net, x, rounded), 1e-6)
    exact = output(net, x)
    error = abs(compiled["y"] - exact).max() / abs(exact).max()
    assert 1e-5 < error < (1e-3 if kind == "float16" else 3e-2)
    assert compiled.sizes.errors["y"] == pytest.approx(error, rel=0.02)
    assert f"{compiled.sizes.constants} bytes of constants as {kind}, whose errors are {error:.0e}"[:-6] in str(
        compiled.sizes
    )
    factor = share if dtype == "float32" else share * 2 if kind == "float16" else 6
    assert whole.constants / compiled.sizes.constants > 0.95 * factor
    assert whole.errors == {}


def test_every_finite_float16_is_read_exactly(tmp_path):
    bits = np.arange(2**16, dtype=np.uint16)
    values = bits.view(np.float16)
    values = values[np.isfinite(values)].astype(np.float32)
    constant, x = clew.from_numpy(values), clew.zeros(values.size)
    with clew.keep_graph() as program:
        y = constant - x
    program.name(x=x, y=y)
    compiled = CompiledProgram(program, tmp_path, *UNDEFINED, constants="float16")
    compiled.call("run")
    np.testing.assert_array_equal(compiled["y"], values)
    assert compiled.sizes.errors == {"y": 0.0}


@pytest.mark.parametrize("kind", ["float16", "int8"])
def test_in_loops_over_layers_and_in_lookups(kind, tmp_path):
    layers = clew.nn.Sequential(*(clew.nn.Sequential(clew.nn.Linear(6, 6), clew.nn.Tanh()) for _ in range(12)))
    table, index = clew.randn(9, 6), clew.tensor([8, 0, 3])
    with clew.keep_graph() as program:
        y = layers(clew.nn.functional.embedding(index, table)) + table[2:5]
    program.name(index=index, y=y)
    compiled = CompiledProgram(program, tmp_path, *UNDEFINED, constants=kind)
    compiled.call("run")
    rounded = as_float16 if kind == "float16" else as_int8
    rows = rounded(table.numpy())
    value = rows[[8, 0, 3]]
    for layer in layers:
        w, b = (rounded(one.detach().numpy()) for one in layer[0].parameters())
        value = np.tanh(value @ w.T + b)
    assert_near(compiled["y"], value + rows[2:5], 1e-6)


@pytest.mark.parametrize(("kind", "value"), [("float16", 1e5), ("int8", float("inf")), ("float16", float("nan"))])
def test_what_cannot_be_stored_is_refused(kind, value, tmp_path):
    constant, x = clew.ones(20), clew.ones(20)
    constant[3] = value
    with clew.keep_graph() as program:
        y = x * constant
    program.name(x=x, y=y)
    with pytest.raises(ValueError, match=rf"to_c: expected constants of at most .* for constants='{kind}', got one of"):
        program.to_c(tmp_path, constants=kind)
    with pytest.raises(ValueError, match="to_c: expected constants='float16', 'int8' or None, got 'int4'"):
        program.to_c(tmp_path, constants="int4")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("name", CASES)
def test_what_errors_are_computed_with_agrees_with_pytorch(name):
    found = results(lower(recorded(CASES[name]), "to_c"))
    for one, value in expected(CASES[name]).items():
        assert_near(found[one].reshape(value.shape), value, CASES[name].tolerance)


def test_subnormal_constants_keep_their_sign():
    """Their scale is a multiple of the smallest number, so that 190 of these are more than 127 scales."""
    smallest = np.finfo(np.float32).smallest_subnormal
    memory = Memory("float32", 32, np.full(32, 190 * smallest, np.float32), stored="int8")
    integers, scales = encoded(memory)
    assert scales.item() == smallest
    assert (integers == 127).all()
