"""Row 6.11: `program.to_jax()`."""

import numpy as np
import pytest
from target_programs import CASES, LAYERS, PRODUCTS, REDUCTIONS, SHAPES
from target_support import assert_near, expected, kept_training, mlp, recorded

import clew

jax = pytest.importorskip("jax")


@pytest.fixture(autouse=True, scope="module")
def no_caches_for_the_tests_after():
    yield
    jax.clear_caches()


@pytest.fixture(autouse=True)
def float64():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def arrays(program, letter="x"):
    return {name: one.detach().numpy() for name, one in program._names.items() if name.startswith(letter)}


@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients_are_those_of_pytorch(name):
    program = recorded(CASES[name])
    found = jax.jit(program.to_jax())(arrays(program))
    wanted = expected(CASES[name])
    assert found.keys() == wanted.keys()
    for one, value in wanted.items():
        assert_near(np.asarray(found[one]), value, CASES[name].tolerance)


@pytest.mark.parametrize("name", [*SHAPES, *REDUCTIONS, *PRODUCTS, *LAYERS])
def test_gradients_by_jax_are_those_of_clew(name):
    program = recorded(CASES[name])
    function, inputs = program.to_jax(), arrays(program)
    leaves = {name: one for name, one in inputs.items() if one.dtype.kind == "f"}
    weights = np.arange(1, program["y"].numel() + 1).reshape(tuple(program["y"].shape))
    found = jax.jit(jax.grad(lambda leaves: (function(inputs | leaves)["y"] * weights).sum()))(leaves)
    for one, value in arrays(program, "g").items():
        assert_near(np.asarray(found["x" + one[1:]]), value, 1e-9)


def kept_mlp(dtype=clew.float32):
    model = mlp(4, 8, 3).to(dtype)
    x, target = clew.randn(16, 4, dtype=dtype), clew.randint(3, (16,))
    optimizer = clew.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    program = kept_training(model, optimizer, x, target)
    program.name(**{f"m{i}": state["momentum_buffer"] for i, state in enumerate(optimizer.state.values())})
    return program


def test_a_training_step_under_jit_carries_its_state():
    program = kept_mlp()
    step = jax.jit(program.to_jax())
    values = {name: program[name].detach().numpy().copy() for name in program._names if name != "loss"}
    for _ in range(5):
        program.run()
        values |= step(values)
        assert_near(np.asarray(values.pop("loss")), program["loss"].item(), 1e-6)
    for name, value in values.items():
        assert_near(np.asarray(value), program[name].detach().numpy(), 1e-6)


def test_it_is_pure():
    program = kept_mlp()
    step, values = jax.jit(program.to_jax()), {"x": program["x"].numpy()}
    first = step(values)
    program.run()
    second = step(values)
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name])


def test_float32_programs_need_no_wide_types():
    jax.config.update("jax_enable_x64", False)
    program = kept_mlp()
    found = jax.jit(program.to_jax())({"x": program["x"].numpy()})
    program.run()
    assert found["loss"].dtype == np.float32
    assert_near(np.asarray(found["loss"]), program["loss"].item(), 1e-6)
    with pytest.raises(RuntimeError, match="jax_enable_x64"):
        kept_mlp(clew.float64).to_jax()({})


def test_export_and_second_derivatives():
    x = clew.tensor([0.5, 1.0], dtype=clew.float64)
    with clew.keep_graph() as program:
        y = (x**3).sum()
    program.name(x=x, y=y)
    function = program.to_jax()
    exported = jax.export.export(jax.jit(function))({"x": jax.ShapeDtypeStruct((2,), np.float64)})
    again = jax.export.deserialize(exported.serialize())
    assert float(again.call({"x": np.array([1.0, 2.0])})["y"]) == 9.0
    second = jax.hessian(lambda x: function({"x": x})["y"])(np.array([1.0, 2.0]))
    np.testing.assert_allclose(second, [[6, 0], [0, 12]])


def test_an_index_out_of_range_gives_nan():
    table, index = clew.randn(4, 2), clew.tensor([1, 3])
    with clew.keep_graph() as program:
        y = clew.nn.functional.embedding(index, table)
    program.name(index=index, y=y)
    found = program.to_jax()({"index": np.array([4, 0])})["y"]
    assert np.isnan(found[0]).all()
    np.testing.assert_array_equal(found[1], table[0].numpy())


def test_errors():
    x = clew.randn(3)
    with clew.keep_graph() as program:
        y = x * 2
        clew.sort(x)
    program.name(x=x, y=y)
    with pytest.raises(NotImplementedError, match=r"to_jax: can't express sort \(at test_6_11_jax\.py:\d+ in"):
        program.to_jax()
    with clew.keep_graph() as program:
        y = x * 2
    program.name(x=x, y=y)
    function = program.to_jax()
    with pytest.raises(ValueError, match="'z' is no named input"):
        function({"z": np.ones(3)})
    with pytest.raises(ValueError, match=r"expected 'x' of shape \(3,\), got \(4,\)"):
        function({"x": np.ones(4)})


@pytest.mark.parametrize("name", ["abs", "sign"])
def test_a_dtype_that_jax_does_not_take_is_refused_at_once(name):
    x = clew.tensor([True, False])
    with clew.keep_graph() as program:
        y = getattr(clew, name)(x)
    program.name(x=x, y=y)
    with pytest.raises(NotImplementedError, match=rf"to_jax: can't express {name} .*bool"):
        program.to_jax()
