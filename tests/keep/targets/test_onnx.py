"""Row 6.11: `program.to_onnx(path)`."""

import numpy as np
import pytest
from graph_support import line_here
from target_programs import CASES
from target_support import assert_near, expected, kept_training, mlp, recorded

import clew

pytestmark = pytest.mark.unsanitized("programs for other machines are text")

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

LACKING = ("erfc", "lgamma")


class Session:
    def __init__(self, path):
        self.session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        self.inputs = [one.name for one in self.session.get_inputs()]
        self.outputs = [one.name for one in self.session.get_outputs()]
        self.with_default = [one.name for one in self.session.get_overridable_initializers()]

    def __call__(self, values):
        given = {name: np.asarray(values[name]) for name in (*self.inputs, *self.with_default) if name in values}
        return dict(zip(self.outputs, self.session.run(None, given), strict=True))


@pytest.mark.parametrize("name", [name for name in CASES if name not in LACKING])
def test_results_and_gradients_are_those_of_pytorch(name, tmp_path):
    program = recorded(CASES[name], "float32")
    program.to_onnx(tmp_path / "model.onnx")
    found = Session(tmp_path / "model.onnx")({name: one.detach().numpy() for name, one in program._names.items()})
    for one, value in expected(CASES[name], "float32").items():
        assert_near(found[one], value, 2e-5)


def kept_mlp():
    model = mlp(4, 8, 3)
    x, target = clew.randn(16, 4), clew.randint(3, (16,))
    return kept_training(model, clew.optim.SGD(model.parameters(), lr=0.1), x, target)


def test_a_training_step_trains(tmp_path):
    program = kept_mlp()
    program.to_onnx(tmp_path / "step.onnx")
    session = Session(tmp_path / "step.onnx")
    parameters = [name for name in program._names if name.startswith("p")]
    assert sorted(session.inputs) == ["target", "x"]
    assert sorted(session.with_default) == sorted(parameters)
    assert sorted(session.outputs) == sorted(["loss", *(f"{name}_next" for name in parameters)])
    values = {name: program[name].detach().numpy().copy() for name in program._names}
    for _ in range(5):
        program.run()
        found = session(values)
        assert_near(found["loss"], program["loss"].item(), 1e-6)
        values |= {name: found[f"{name}_next"] for name in parameters}
    for name in parameters:
        assert_near(values[name], program[name].detach().numpy(), 1e-6)


@pytest.mark.parametrize("loads", [False, True])
def test_a_named_parameter_has_its_present_value_as_default(loads, tmp_path):
    layer, x = clew.nn.Linear(3, 2), clew.randn(5, 3)
    with clew.keep_graph() as program:
        y = layer(x)
    program.name(x=x, y=y, weight=layer.weight)
    layer.weight.data.mul_(3)  # after the recording
    if loads:
        program.save(tmp_path / "program.clew")
        program = clew.load_program(tmp_path / "program.clew")
    program.to_onnx(tmp_path / "model.onnx")
    session = Session(tmp_path / "model.onnx")
    assert (session.inputs, session.with_default) == (["x"], ["weight"])
    given = {"x": np.ones((5, 3), np.float32)}
    w, b = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    assert_near(session(given)["y"], given["x"] @ w.T + b, 1e-6)
    assert_near(session(given | {"weight": 2 * w})["y"], given["x"] @ w.T * 2 + b, 1e-6)


def test_a_learning_rate_that_is_a_tensor_is_an_input(tmp_path):
    model, rate = mlp(4, 8, 3), clew.tensor(0.1)
    x, target = clew.randn(16, 4), clew.randint(3, (16,))
    program = kept_training(model, clew.optim.SGD(model.parameters(), lr=rate), x, target)
    gradients = {name: program[name].grad.numpy().copy() for name in program._names if name.startswith("p")}
    program.name(lr=rate)
    program.to_onnx(tmp_path / "step.onnx")
    session = Session(tmp_path / "step.onnx")
    values = {name: program[name].detach().numpy().copy() for name in program._names}
    for name in gradients:  # as before the recorded step
        values[name] += values["lr"] * gradients[name]
    found = session(values | {"lr": np.float32(0.5)})
    for name, gradient in gradients.items():
        assert_near(found[f"{name}_next"], values[name] - 0.5 * gradient, 1e-5)


def test_it_passes_the_checker_and_carries_names_and_lines(tmp_path):
    x, w = clew.randn(5, 3), clew.randn(2, 3)
    with clew.keep_graph() as program:
        y = clew.nn.functional.linear(x, w).exp(); line = line_here()  # fmt: skip  # noqa: E702
    program.name(x=x, y=y)
    program.to_onnx(tmp_path / "model.onnx")
    model = onnx.load(tmp_path / "model.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert [one.name for one in model.graph.input] == ["x"]
    held = [onnx.numpy_helper.to_array(one) for one in model.graph.initializer]
    assert any(one.size == 6 and np.array_equal(one.reshape(2, 3), w.numpy()) for one in held)
    (node,) = [one for one in model.graph.node if one.op_type == "Exp"]
    assert node.name.startswith("exp")
    assert node.doc_string == f"exp: test_onnx.py:{line} in test_it_passes_the_checker_and_carries_names_and_lines"


def test_an_index_out_of_range_raises(tmp_path):
    table, index = clew.randn(4, 2), clew.tensor([1, 3])
    with clew.keep_graph() as program:
        y = clew.nn.functional.embedding(index, table)
    program.name(index=index, y=y)
    program.to_onnx(tmp_path / "model.onnx")
    session = Session(tmp_path / "model.onnx")
    np.testing.assert_array_equal(session({"index": [2, 0]})["y"], table.numpy()[[2, 0]])
    with pytest.raises(Exception, match="out of"):
        session({"index": [4, 0]})


@pytest.mark.parametrize("name", LACKING)
def test_what_onnx_lacks_is_named_with_its_line(name, tmp_path):
    program = recorded(CASES[name])
    with pytest.raises(NotImplementedError, match=rf"to_onnx: can't express {name} .*\(at target_programs\.py:\d+ in"):
        program.to_onnx(tmp_path / "model.onnx")
    assert not (tmp_path / "model.onnx").exists()


def test_a_name_that_a_new_value_takes():
    x = clew.ones(2)
    with clew.keep_graph() as program:
        y = x + 1
        x.add_(1)
    program.name(x=x, x_next=y)
    with pytest.raises(ValueError, match="'x_next' is the new value of 'x'"):
        program.to_onnx("/nowhere/at/all")


@pytest.mark.parametrize(
    ("compute", "said"),
    [
        (lambda x: -x, "neg of uint8, which ONNX's Neg does not take"),
        (lambda x: x.to(clew.int16) @ x.to(clew.int16), "mm of int16, which ONNX's ReduceSum does not take"),
        (lambda x: x.to(clew.int16).amax(0), "amax of int16, which ONNX's ReduceMax does not take"),
    ],
)
def test_dtypes_that_onnx_lacks_are_named_with_their_line(compute, said, tmp_path):
    x = clew.ones(2, 2, dtype=clew.uint8)
    with clew.keep_graph() as program:
        y = compute(x)
    program.name(x=x, y=y)
    with pytest.raises(NotImplementedError, match=rf"to_onnx: can't express {said} \(at test_onnx.py:"):
        program.to_onnx(tmp_path / "model.onnx")
    assert not (tmp_path / "model.onnx").exists()


@pytest.mark.parametrize("shape", [(2, 0, 3), (0, 3), (3, 0)])
def test_an_axis_without_elements(shape, tmp_path):
    x = clew.ones(shape)
    with clew.keep_graph() as program:
        doubled, flat, total = x * 2, x.flatten(0), x.sum(0)
    program.name(x=x, doubled=doubled, flat=flat, total=total)
    program.to_onnx(tmp_path / "model.onnx")
    found = Session(tmp_path / "model.onnx")({"x": np.ones(shape, np.float32)})
    assert [found[name].shape for name in ("doubled", "flat")] == [shape, (0,)]
    np.testing.assert_array_equal(found["total"], np.ones(shape, np.float32).sum(0))


REFUSED = {name: (clew.float64, getattr(clew, name)) for name in ("tan", "asin", "acos", "atan", "sinh", "cosh", "erf")}
REFUSED |= {name: (clew.float64, getattr(clew, name)) for name in ("asinh", "acosh", "atanh")}
REFUSED |= {"gelu": (clew.float64, clew.nn.functional.gelu), "clamp": (clew.int16, lambda x: x.clamp(-1, 2))}
REFUSED |= {"where": (clew.int16, lambda x: clew.where(x > 1, x, x * 2))}
RUN = {name: (clew.float64, getattr(clew, name)) for name in ("exp", "log", "sin", "cos", "tanh", "sigmoid")}
RUN |= {name: (clew.int16, getattr(clew, name)) for name in ("neg", "square")}


def kept_function(dtype, function):
    x = clew.tensor([3, 1, 2], dtype=dtype)
    with clew.keep_graph() as program:
        y = function(x)
    program.name(x=x, y=y)
    return program


@pytest.mark.parametrize("name", REFUSED)
def test_what_onnxruntime_has_no_kernel_for_is_refused(name, tmp_path):
    """ONNX's operators take these dtypes."""
    with pytest.raises(NotImplementedError, match="for which onnxruntime has no"):
        kept_function(*REFUSED[name]).to_onnx(tmp_path / "model.onnx")
    assert not (tmp_path / "model.onnx").exists()


@pytest.mark.parametrize("name", RUN)
def test_other_functions_of_these_dtypes_run(name, tmp_path):
    program = kept_function(*RUN[name])
    program.to_onnx(tmp_path / "model.onnx")
    found = Session(tmp_path / "model.onnx")({"x": program["x"].numpy()})
    np.testing.assert_allclose(found["y"], program["y"].numpy(), rtol=1e-12)


def test_a_model_gives_something(tmp_path):
    with clew.keep_graph() as program:
        pass
    with pytest.raises(ValueError, match="expected a named result"):
        program.to_onnx(tmp_path / "model.onnx")
