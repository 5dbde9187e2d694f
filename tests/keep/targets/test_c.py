"""Row 6.11: `program.to_c(folder)`."""

import re
import subprocess

import numpy as np
import pytest
import torch
from graph_support import line_here
from sklearn.datasets import load_digits
from target_programs import CASES
from target_support import WARNINGS, CompiledProgram, assert_near, clang, expected, kept_training, mlp, recorded

import clew

pytestmark = [
    pytest.mark.skipif(subprocess.run(["which", "gcc"], capture_output=True).returncode != 0, reason="no gcc"),
    pytest.mark.unsanitized("programs for other machines are text"),
]

OPTIMIZERS = {
    "SGD": lambda parameters: clew.optim.SGD(parameters, lr=0.1),
    "momentum": lambda parameters: clew.optim.SGD(parameters, lr=0.1, momentum=0.9, dampening=0.1),
    "Nesterov": lambda parameters: clew.optim.SGD(parameters, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "maximize": lambda parameters: clew.optim.SGD(parameters, lr=0.01, maximize=True),
    "Adam": lambda parameters: clew.optim.Adam(parameters, lr=0.01, weight_decay=0.01),
    "AdamW": lambda parameters: clew.optim.AdamW(parameters, lr=0.01),
    "AMSGrad": lambda parameters: clew.optim.Adam(parameters, lr=0.01, amsgrad=True),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients_are_those_of_pytorch(name, dtype, tmp_path):
    compiled = CompiledProgram(recorded(CASES[name], dtype), tmp_path)
    wanted = expected(CASES[name], dtype)
    for one in wanted:
        compiled[one][...] = 99  # so that it has to be computed
    compiled.call("run")
    for one, value in wanted.items():
        assert_near(compiled[one], value, 2e-5 if dtype == "float32" else CASES[name].tolerance)
    assert compiled.error is None


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_agrees_with_clew(name, tmp_path):
    model = mlp(4, 8, 3)
    x, target = clew.randn(16, 4), clew.randint(3, (16,))
    program = kept_training(model, OPTIMIZERS[name](model.parameters()), x, target)
    compiled = CompiledProgram(program, tmp_path)
    for name in program._names:
        np.testing.assert_array_equal(compiled[name], program[name].detach().numpy())  # at the start
    for _ in range(5):
        x.normal_()
        compiled["x"][...] = x.numpy()
        program.run()
        for part in ("forward", "backward", "step"):
            compiled.call(part)
        for name in program._names:
            assert_near(compiled[name], program[name].detach().numpy(), 1e-6)


def small_net():
    """Convolution, normalization and pooling, in training mode, with clipped gradients."""
    clew.manual_seed(0)
    nn = clew.nn
    return nn.Sequential(
        *(nn.Conv2d(1, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(4, 6, 3), nn.GELU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(6, 3)),
    )


def kept_net():
    model = small_net()
    x, target = clew.randn(5, 1, 8, 8), clew.tensor([0, 1, 2, 1, 0])
    program = kept_training(model, clew.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), x, target)
    program.name(mean=model[1].running_mean, var=model[1].running_var, batches=model[1].num_batches_tracked)
    return program


def test_a_convolution_net_trains_as_in_clew(tmp_path):
    program = kept_net()
    compiled = CompiledProgram(program, tmp_path)
    first = float(compiled["loss"])
    for _ in range(30):
        program.run()
        compiled.call("run")
    for name in program._names:
        assert_near(compiled[name], program[name].detach().numpy(), 1e-6)
    assert compiled["batches"] == 31 + 1
    assert compiled["loss"] < first / 2


@pytest.mark.parametrize("name", ["momentum", "Adam"])
def test_digits_are_learned_to_the_same_accuracy(name, tmp_path):
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(images))
    images, labels = (images[order] / 16).astype(np.float32), labels[order]
    model = mlp(64, 64, 10, activation=clew.nn.ReLU())
    x, target = clew.zeros(64, 64), clew.zeros(64, dtype=clew.int64)
    program = kept_training(model, OPTIMIZERS[name](model.parameters()), x, target)
    compiled = CompiledProgram(program, tmp_path)
    train = range(450, len(images))
    for step in range(500):
        chosen = [train[(64 * step + i) % len(train)] for i in range(64)]
        compiled["x"][...], compiled["target"][...] = images[chosen], labels[chosen]
        x.copy_(clew.from_numpy(images[chosen])), target.copy_(clew.from_numpy(labels[chosen]))
        program.run()
        compiled.call("run")

    def accuracy(w1, b1, w2, b2):
        scores = np.maximum(images[:450] @ w1.T + b1, 0) @ w2.T + b2
        return (scores.argmax(1) == labels[:450]).mean()

    parameters = [one for one in program._names if one.startswith("p")]
    in_c = accuracy(*(compiled[one] for one in parameters))
    in_clew = accuracy(*(program[one].detach().numpy() for one in parameters))
    assert in_c > 0.95
    assert abs(in_c - in_clew) < 0.01


def test_what_is_written_compiles_without_a_warning_and_runs_clean_under_sanitizers(tmp_path):
    kept_net().to_c(tmp_path)
    flags = "CFLAGS=-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
    made = subprocess.run(["make", "CC=gcc", flags], cwd=tmp_path, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    assert all(flag in made.stdout for flag in WARNINGS)
    ran = subprocess.run(["./main", "20"], cwd=tmp_path, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    losses = [float(text) for text in re.findall(r"loss (\S+)", ran.stdout)]
    assert losses[-1] < losses[0]


@pytest.mark.skipif(clang() is None, reason="no clang")
def test_clang_takes_it_too(tmp_path):
    kept_net().to_c(tmp_path)
    command = [*clang(), *WARNINGS, "-O1", "program.c", "main.c", "-o", "main", "-lm"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (made.returncode, made.stderr) == (0, "")
    ran = subprocess.run(["./main", "20"], cwd=tmp_path, capture_output=True, text=True, check=True)
    losses = [float(text) for text in re.findall(r"loss (\S+)", ran.stdout)]
    assert losses[-1] < losses[0]


def test_it_needs_nothing_but_libm_and_takes_no_memory(tmp_path):
    sizes = kept_net().to_c(tmp_path)
    subprocess.run(
        ["make", "program.o", "CC=gcc", "CFLAGS=-O0 -fno-pie"], cwd=tmp_path, check=True, capture_output=True
    )
    undefined = subprocess.run(["nm", "-u", "program.o"], cwd=tmp_path, capture_output=True, text=True).stdout.split()
    assert {name for name in undefined if name != "U"} <= {
        "expf",
        "erff",
        "logf",
        "sqrtf",
        "fabsf",
        "_GLOBAL_OFFSET_TABLE_",
    }
    listed = subprocess.run(["size", "program.o"], cwd=tmp_path, capture_output=True, text=True).stdout.split()
    _, data, bss = map(int, listed[6:9])
    assert sizes.ram <= data + bss <= sizes.ram + 400  # alignment, and the pointer to an error
    assert str(sizes.ram) in str(sizes)
    assert f"{sizes}" in (tmp_path / "program.h").read_text()


def test_values_that_do_not_live_at_the_same_time_share_memory(tmp_path):
    x = clew.randn(1000)
    with clew.keep_graph() as program:
        y = x
        for _ in range(20):
            y = (y * 1.5).tanh()
    program.name(x=x, y=y)
    sizes = program.to_c(tmp_path)
    assert (sizes.named, sizes.arena) == (2 * 4000, 4000)  # each is written where the one before was
    compiled = CompiledProgram(program, tmp_path)
    compiled.call("run")
    assert_near(compiled["y"], y.numpy(), 1e-6)


def test_comments_name_operations_and_lines(tmp_path):
    x = clew.randn(3)
    with clew.keep_graph() as program:
        y = x.exp().sum(); line = line_here()  # fmt: skip  # noqa: E702
    program.name(y=y)
    program.to_c(tmp_path)
    text = (tmp_path / "program.c").read_text()
    for operation in ("exp", "sum"):
        assert f"/* {operation}: test_c.py:{line} in test_comments_name_operations_and_lines */" in text


def test_a_gradient_from_before_is_added_to(tmp_path):
    w = clew.tensor([1.0, 2.0], requires_grad=True)
    w.grad = clew.tensor([10.0, 20.0])
    with clew.keep_graph() as program:
        (w * w).sum().backward()
    program.name(w=w, gradient=w.grad)
    compiled = CompiledProgram(program, tmp_path)
    compiled.call("run")
    np.testing.assert_array_equal(compiled["gradient"], [14.0, 28.0])
    compiled.call("run")
    np.testing.assert_array_equal(compiled["gradient"], [16.0, 32.0])


def test_inputs_that_are_views(tmp_path):
    base = clew.arange(12.0).reshape(3, 4)
    column, turned = base[:, 1], base.t()
    with clew.keep_graph() as program:
        y = column * 2
        part = y[1:]
        z = turned.sum(0)
        base.add_(1)
    program.name(column=column, y=y, z=z, part=part)
    compiled = CompiledProgram(program, tmp_path)  # base is 1, 2, 3, ... by now
    compiled["column"][...] = [5, 6, 7]
    compiled.call("run")
    np.testing.assert_array_equal(compiled["y"], [10, 12, 14])
    np.testing.assert_array_equal(compiled["part"], [12, 14])
    np.testing.assert_array_equal(compiled["column"], [6, 7, 8])
    np.testing.assert_array_equal(compiled["z"], [13, 26, 39])
    compiled.call("run")
    np.testing.assert_array_equal(compiled["z"], [17, 30, 43])  # base was written, and column with it
    np.testing.assert_array_equal(compiled["y"], [12, 14, 16])


@pytest.mark.parametrize("name", ["relu6", "hardtanh", "hardsigmoid", "hardswish"])
def test_the_gradient_at_nan_is_nan(name, tmp_path):
    x = clew.full((3,), float("nan"), requires_grad=True)
    with clew.keep_graph() as program:
        getattr(clew.nn.functional, name)(x).sum().backward()
    program.name(gradient=x.grad)
    compiled = CompiledProgram(program, tmp_path)
    compiled.call("run")
    assert np.isnan(compiled["gradient"]).all()
    assert x.grad.isnan().all()


def layouts():
    x = clew.arange(1.0, 7)
    return {
        "transposed": x.reshape(2, 3).t(),
        "every second": x[::2],
        "with others": x[1:4],
        "expanded": x[:3].reshape(3, 1).expand(3, 2),
        "channels last": x.reshape(1, 2, 3, 1).permute(0, 3, 1, 2),
    }


@pytest.mark.parametrize("name", layouts())
def test_inputs_that_are_only_read_and_not_contiguous(name, tmp_path):
    x = layouts()[name]
    with clew.keep_graph() as program:
        y = x * 2
    program.name(x=x, y=y)
    compiled = CompiledProgram(program, tmp_path)
    compiled["x"][...] = 5
    compiled.call("run")
    np.testing.assert_array_equal(compiled["y"], np.full(tuple(x.shape), 10.0))


def test_parts_of_one_buffer(tmp_path):
    buffer = clew.arange(6.0)
    x, y = buffer[:3], buffer[3:]
    with clew.keep_graph() as program:
        z = x * y
    program.name(x=x, y=y, z=z)
    compiled = CompiledProgram(program, tmp_path)
    compiled["x"][...], compiled["y"][...] = [1, 2, 3], [4, 5, 6]
    compiled.call("run")
    np.testing.assert_array_equal(compiled["z"], [4, 10, 18])


def test_named_inputs_that_share_elements_are_refused(tmp_path):
    base = clew.arange(5.0)
    for other in (base[1:4], base):
        with clew.keep_graph() as program:
            y = base.sum() + other.sum()
        program.name(base=base, other=other, y=y)
        message = "to_c: expected named inputs with elements of their own, got 'base' and 'other', which share memory"
        with pytest.raises(ValueError, match=message):
            program.to_c(tmp_path)


def test_a_block_that_run_refuses_is_refused(tmp_path):
    w = clew.ones(2, requires_grad=True)
    optimizer = clew.optim.SGD([w], 0.1, momentum=0.9)
    with clew.keep_graph() as first_step:
        (w * w).sum().backward()
        optimizer.step()
    with pytest.raises(clew.ReplayError, match="makes its state in this step"):
        first_step.to_c(tmp_path)
    with pytest.raises(RuntimeError, match="failed"), clew.keep_graph() as failed:
        raise RuntimeError("failed")
    with pytest.raises(RuntimeError, match="expected a block that has ended; it is under way or failed"):
        failed.to_c(tmp_path)
    assert not any(tmp_path.iterdir())


def test_an_input_of_another_layout_is_refused(tmp_path):
    x = clew.arange(6.0).reshape(2, 3)
    with clew.keep_graph() as program:
        y = x.sum()
    program.name(x=x, y=y)
    before = x.data
    for other in (before.double(), before.t().contiguous().t(), before[:1]):
        x.data = other
        with pytest.raises(ValueError, match=r"to_c: expected 'x' as in the recorded run, of shape \(2, 3\)"):
            program.to_c(tmp_path)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
def test_integers_wrap_around(dtype, tmp_path):
    """As they do in PyTorch, and with no overflow that C does not define."""
    top = torch.iinfo(getattr(torch, dtype)).max
    values = [[top, 3], [top - 1, top]]
    x, t = (m.tensor(values, dtype=getattr(m, dtype)) for m in (clew, torch))

    def results(m, x):
        index = m.tensor([0, 0])
        return {
            "sum": x.sum(dtype=x.dtype),
            "prod": x.prod(dtype=x.dtype),
            "cumsum": x.cumsum(1, dtype=x.dtype),
            "product": x @ x,
            "added": m.zeros(2, 2, dtype=x.dtype).index_add(0, index, x),
            "quotient": x // -3,
            "remainder": x % -3,
            "rest": m.fmod(x, -3),
            "any": x.any(),
        }

    with clew.keep_graph() as program:
        made = results(clew, x)
    program.name(x=x, **made)
    compiled = CompiledProgram(program, tmp_path, "-fsanitize=undefined", "-fno-sanitize-recover=all")
    compiled.call("run")
    for name, one in results(torch, t).items():
        np.testing.assert_array_equal(compiled[name], one.numpy(), err_msg=name)


def test_integers_divided_by_zero_and_by_minus_one(tmp_path):
    x = clew.tensor([-(2**31), 7], dtype=clew.int32)
    y = clew.tensor([-1, 2], dtype=clew.int32)
    with clew.keep_graph() as program:
        quotient, rest = x // y, x % y
    program.name(x=x, y=y, quotient=quotient, rest=rest)
    compiled = CompiledProgram(program, tmp_path, "-fsanitize=undefined", "-fno-sanitize-recover=all")
    compiled.call("run")
    assert not compiled.error
    np.testing.assert_array_equal(compiled["rest"], [0, 1])
    assert compiled["quotient"].tolist() == [-(2**31), 3]
    compiled["y"][1] = 0
    compiled.call("run")
    assert compiled.error == "an integer is divided by 0"


def test_an_index_out_of_range_is_told(tmp_path):
    table, index = clew.randn(4, 2), clew.tensor([1, 3])
    with clew.keep_graph() as program:
        y = clew.nn.functional.embedding(index, table)
    program.name(index=index, y=y)
    compiled = CompiledProgram(program, tmp_path, "-fsanitize=undefined", "-fno-sanitize-recover=all")
    for bad in (4, -1, 2**62):
        compiled["index"][0] = bad
        compiled.call("run")
        assert "out of range" in compiled.error


def test_a_program_from_a_file(tmp_path):
    program = kept_net()
    program.save(tmp_path / "program.clew")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = CompiledProgram(program, tmp_path / "a")
    second = CompiledProgram(clew.load_program(tmp_path / "program.clew"), tmp_path / "b")
    for _ in range(3):
        first.call("run")
        second.call("run")
    for name in program._names:
        np.testing.assert_array_equal(first[name], second[name])


def refused(block, error=NotImplementedError):
    with clew.keep_graph() as program:
        block()
    with pytest.raises(error) as caught:
        program.to_c("/nowhere/at/all")  # nothing is written: it would fail otherwise
    return str(caught.value)


def test_what_c_cannot_express_is_named_with_its_line():
    x = clew.randn(3, 3)
    told = refused(lambda: (clew.dropout(x, 0.5, True), clew.sort(x), x.sum().item(), clew.linalg.inv(x)))
    for operation in ("bernoulli|dropout", "sort", r"read\.item", "inv"):
        assert re.search(rf"({operation}).*? \(at test_c\.py:\d+ in", told), told
    assert "to_c" in told
    assert "float16" in refused(lambda: x.to(clew.float16) + 1)
    assert "complex64" in refused(lambda: clew.complex(x, x) + 1)


def test_a_python_function_is_no_operation_of_the_same_name():
    @clew.pure
    def exp(x):
        return clew.from_numpy(x.numpy() * 100)

    x = clew.ones(2)
    assert re.search(r"can't express exp \(a Python function\) \(at test_c\.py", refused(lambda: exp(x)))


def test_bad_names():
    x = clew.ones(2)
    with clew.keep_graph() as program:
        y = x + 1
    cases = [(["a b"], "letters"), (["ä"], "letters"), (["forward"], "program_forward"), (["tensors"], "taken by")]
    for names, said in [*cases, (["a.b", "a_b"], r"'a\.b' and 'a_b', which are both program_a_b")]:
        program._names = dict.fromkeys(names, y)
        with pytest.raises(ValueError, match=said):
            program.to_c("/nowhere/at/all")
    program._names = {"other": clew.ones(2)}
    with pytest.raises(ValueError, match="'other' is no tensor that the program reads or computes"):
        program.to_c("/nowhere/at/all")


def test_a_name_with_dots_is_an_identifier_in_c(tmp_path):
    layer = clew.nn.Linear(2, 1)
    x = clew.ones(2)
    with clew.keep_graph() as program:
        y = layer(x)
    program.name(**{f"layer.{name}": one for name, one in layer.named_parameters()}, x=x, y=y)
    program.to_c(tmp_path)
    assert "program_layer_weight[2]; /* input, shape [1, 2], layer.weight */" in (tmp_path / "program.h").read_text()
    subprocess.run(["make", "CC=gcc"], cwd=tmp_path, check=True, capture_output=True)


def test_files_of_others_are_not_written_over(tmp_path):
    program = kept_net()
    program.to_c(tmp_path)
    made = {one.name: one.read_text() for one in tmp_path.iterdir()}
    (tmp_path / "main.c").write_text("int main(void) { return 3; }\n")
    with (tmp_path / "Makefile").open("a") as file:
        file.write("# mine\n")
    (tmp_path / "program.h").unlink()
    with pytest.warns(UserWarning, match="Makefile and main.c in .* were edited"):
        program.to_c(tmp_path)  # what is edited by its user
    assert (tmp_path / "main.c").read_text() == "int main(void) { return 3; }\n"
    assert (tmp_path / "Makefile").read_text() == made["Makefile"] + "# mine\n"
    assert (tmp_path / "program.h").read_text() == made["program.h"]
    for name in ("program.c", "program.h"):
        (tmp_path / name).write_text(made[name].replace("error", "failure"))
        with pytest.raises(FileExistsError, match=rf"{name} in .*overwrite=True"):
            program.to_c(tmp_path)
        program.to_c(tmp_path, overwrite=True)
    assert {one.name: one.read_text() for one in tmp_path.iterdir()} == made
