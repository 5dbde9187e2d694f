"""Row 6.11: names in C, of programs, of tensors, and of numbers that change on the device."""

import re
import subprocess

import numpy as np
import pytest
import torch
from target_support import WARNINGS, CompiledProgram, assert_near, kept_training, mlp

import clew

pytestmark = [
    pytest.mark.skipif(subprocess.run(["which", "gcc"], capture_output=True).returncode != 0, reason="no gcc"),
    pytest.mark.unsanitized("programs for other machines are text"),
]

FIRMWARE = r"""
#include <stdio.h>
#include <string.h>
#include "estimator.h"
#include "policy.h"

/* As over a wire: a name, and bytes. */
static size_t push(const struct clew_tensor *table, const char *name, const void *data)
{
    for (; table->name != NULL; ++table)
        if (strcmp(table->name, name) == 0) {
            memcpy(table->address, data, table->bytes);
            return table->bytes;
        }
    return 0;
}

int main(void)
{
    const float weight[6] = {1, 2, 3, 4, 5, 6}, x[3] = {1, 10, 100};
    if (push(policy_tensors, "layer.weight", weight) != sizeof weight) return 1;
    if (push(policy_tensors, "x", x) != sizeof x || push(policy_tensors, "nobody", x) != 0) return 2;
    policy_run();
    memcpy(estimator_x, policy_y, sizeof policy_y);
    estimator_run();
    for (const struct clew_tensor *one = policy_tensors; one->name != NULL; ++one) {
        printf("%s %s %lu", one->name, one->dtype, (unsigned long)one->bytes);
        for (int i = 0; i < one->rank; ++i) printf(" %ld", one->shape[i]);
        printf("\n");
    }
    printf("%.9g %.9g %.9g\n", (double)policy_y[0], (double)policy_y[1], (double)estimator_norm[0]);
    return policy_error != NULL || estimator_error != NULL;
}
"""


def write_two(folder):
    layer, x = clew.nn.Linear(3, 2, bias=False), clew.zeros(1, 3)
    with clew.keep_graph() as policy:
        y = layer(x)
    policy.name(**{"layer.weight": layer.weight}, x=x, y=y)
    z = clew.zeros(2)
    with clew.keep_graph() as estimator:
        norm = (z * z).sum().sqrt()
    estimator.name(x=z, norm=norm)
    policy.to_c(folder, name="policy")
    estimator.to_c(folder, name="estimator")


@pytest.mark.parametrize("compiler", ["gcc", "g++"])
def test_two_programs_link_into_one_firmware_that_takes_weights_by_name(compiler, tmp_path):
    write_two(tmp_path)
    made = {"main.c", *(f"{one}{end}" for one in ("policy", "estimator") for end in (".c", ".h", "_main.c", ".mk"))}
    (tmp_path / "main.c").write_text(FIRMWARE)
    assert {one.name for one in tmp_path.iterdir()} == made
    subprocess.run(["gcc", *WARNINGS, "-c", "policy.c", "estimator.c"], cwd=tmp_path, check=True)
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-x", "c++"] if compiler == "g++" else WARNINGS
    command = [compiler, *flags, "-c", "main.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    subprocess.run([compiler, "main.o", "policy.o", "estimator.o", "-o", "main", "-lm"], cwd=tmp_path, check=True)
    lines = subprocess.run(["./main"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout.splitlines()
    assert lines[:3] == ["layer.weight float32 24 2 3", "x float32 12 1 3", "y float32 8 1 2"]
    wanted = np.array([[1, 2, 3], [4, 5, 6]]) @ [1, 10, 100]
    np.testing.assert_allclose([float(one) for one in lines[3].split()], [*wanted, np.hypot(*wanted)], rtol=1e-6)


def test_each_is_made_by_its_makefile(tmp_path):
    write_two(tmp_path)
    for name in ("policy", "estimator"):
        subprocess.run(["make", "-f", f"{name}.mk", "CC=gcc"], cwd=tmp_path, check=True, capture_output=True)
        ran = subprocess.run([f"./{name}_main", "3"], cwd=tmp_path, check=True, capture_output=True, text=True)
        assert ran.stdout.startswith("run 1")
    symbols = subprocess.run(["nm", "--defined-only", "policy.o"], cwd=tmp_path, capture_output=True, text=True)
    assert all(line.split()[2].startswith("policy_") for line in symbols.stdout.splitlines())


def busy_program():
    """With state, constants in loops and tables, an index and an integer's quotient."""
    x, index, rows = clew.randn(4), clew.tensor([2, 0]), clew.randn(9, 4)
    total = clew.zeros(4)
    with clew.keep_graph() as program:
        y = x
        for i, row in enumerate([3, 1, 8, 0, 5, 2]):
            y = clew.tanh(y + rows[row]) * (1 + i * i)
        total.add_(y)
        z = total[index] + (index // 2) + index % 2
    program.name(x=x, index=index, z=z)
    return program


def test_two_programs_may_be_one_source(tmp_path):
    program = busy_program()
    for name in ("first", "second", "program"):
        program.to_c(tmp_path, name=name, constants="float16")
    text = (tmp_path / "first.c").read_text()
    for own in ("state_0", "constant_0", "table_0", "arena_float32", "shape_2", "in_range", "quotient", "rest", "half"):
        assert f"first_{own}" in text
        assert not re.search(rf"\b{own}\b", text), own
    (tmp_path / "all.c").write_text('#include "first.c"\n#include "second.c"\n#include "program.c"\n')
    subprocess.run(["gcc", *WARNINGS, "-c", "all.c"], cwd=tmp_path, check=True)
    x = clew.ones(2)
    with clew.keep_graph() as other:
        y = x + 1
    other._names = {"state_0": y}
    with pytest.raises(ValueError, match="first_state_0 is taken by the program itself"):
        other.to_c(tmp_path, name="first")


@pytest.mark.parametrize("name", ["", "my program", "1st", "_hidden", "ä"])
def test_a_name_that_is_no_name_in_c(name, tmp_path):
    x = clew.ones(2)
    with clew.keep_graph() as program:
        y = x + 1
    program.name(y=y)
    with pytest.raises(ValueError, match="to_c: expected a name of letters, digits and _ that begins with a letter"):
        program.to_c(tmp_path, name=name)


OPTIMIZERS = {
    "SGD": (clew.optim.SGD, torch.optim.SGD, {}),
    "momentum": (clew.optim.SGD, torch.optim.SGD, {"momentum": 0.9, "weight_decay": 0.01}),
    "Nesterov": (clew.optim.SGD, torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
    "Adam": (clew.optim.Adam, torch.optim.Adam, {}),
    "AdamW": (clew.optim.AdamW, torch.optim.AdamW, {"weight_decay": 0.1}),
}


class Scaled(clew.nn.Module):
    def __init__(self, model, gain):
        super().__init__()
        self.model, self.gain = model, gain

    def forward(self, x):
        return self.model(x) * self.gain


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_learning_rate_that_is_a_tensor_is_changed_on_the_device(name, tmp_path):
    mine, theirs, options = OPTIMIZERS[name]
    model, rate, gain = mlp(4, 8, 3), clew.tensor(0.01), clew.tensor(1.0)
    oracle = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    oracle.load_state_dict({key: torch.tensor(one.tolist()) for key, one in model.state_dict().items()})
    x, target = clew.randn(16, 4), clew.randint(3, (16,))
    program = kept_training(Scaled(model, gain), mine(model.parameters(), lr=rate, **options), x, target)
    program.name(lr=rate, gain=gain)
    compiled = CompiledProgram(program, tmp_path)
    optimizer = theirs(oracle.parameters(), lr=0.01, **options)
    inputs, labels = torch.tensor(x.tolist()), torch.tensor(target.tolist())
    for step in range(8):
        lr, factor = (0.01, 1.0) if step < 2 else (0.3 / (step + 1), 0.5 + step)
        optimizer.param_groups[0]["lr"] = lr
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(oracle(inputs) * factor, labels)
        loss.backward()
        optimizer.step()
        if step >= 2:  # two were clew's
            compiled["lr"][...], compiled["gain"][...] = lr, factor
            compiled.call("run")
            assert_near(compiled["loss"], loss.detach().numpy(), 1e-5)
    for key, one in oracle.named_parameters():
        assert_near(compiled[f"pmodel_{key.replace('.', '_')}"], one.detach().numpy(), 1e-5)


def test_groups_with_learning_rates_of_their_own(tmp_path):
    w, v = (clew.ones(2, requires_grad=True) for _ in range(2))
    rates = [clew.tensor(0.25), clew.tensor([0.5])]
    optimizer = clew.optim.SGD([{"params": [w], "lr": rates[0]}, {"params": [v], "lr": rates[1]}])
    with clew.keep_graph() as program:
        optimizer.zero_grad()
        (3 * w.sum() + v.sum()).backward()
        optimizer.step()
    program.name(w=w, v=v, first=rates[0], second=rates[1])
    compiled = CompiledProgram(program, tmp_path)
    compiled["first"][...] = 1.0
    compiled.call("run")
    np.testing.assert_array_equal(compiled["w"], [0.25 - 3] * 2)
    np.testing.assert_array_equal(compiled["v"], [0.5 - 0.5] * 2)


def test_naming_a_number_says_how_a_number_gets_a_name():
    x = clew.ones(2)
    with clew.keep_graph() as program:
        _ = x * 0.5
    with pytest.raises(
        TypeError, match=r"name: expected a tensor for 'gain', got float. To do: make it a tensor before"
    ):
        program.name(gain=0.5)


def test_a_number_of_the_same_value_is_no_learning_rate_of_another_group(tmp_path):
    w, v = clew.ones(2, requires_grad=True), clew.ones(2, requires_grad=True)
    rate = clew.tensor(0.5)
    optimizer = clew.optim.SGD([{"params": [w], "lr": rate}, {"params": [v], "lr": 0.5}])
    (w * v).sum().backward()
    with clew.keep_graph() as program:
        optimizer.step()
    program.name(w=w, v=v, rate=rate)
    compiled = CompiledProgram(program, tmp_path)
    compiled["rate"][...] = 0.0
    before = compiled["w"].copy(), compiled["v"].copy()
    compiled.call("run")
    assert (compiled["w"] == before[0]).all()
    assert (compiled["v"] == before[1] - 0.5).all()


def test_a_learning_rate_of_a_program_from_a_file(tmp_path):
    w, rate = clew.ones(2, requires_grad=True), clew.tensor(0.25)
    optimizer = clew.optim.SGD([w], lr=rate)
    with clew.keep_graph() as program:
        optimizer.zero_grad()
        w.sum().backward()
        optimizer.step()
    program.name(w=w, lr=rate)
    program.save(tmp_path / "program.clew")
    compiled = CompiledProgram(clew.load_program(tmp_path / "program.clew"), tmp_path)
    compiled["lr"][...] = 2.0
    compiled.call("run")
    np.testing.assert_array_equal(compiled["w"], [0.75 - 2] * 2)


def steps_if_the_rate_is_large(optimizer, rate, loss):
    if float(rate) > 0.1: optimizer.step()  # fmt: skip  # noqa: E701


def steps_if_the_loss_is_small(optimizer, rate, loss):
    if float(loss) < 10: optimizer.step()  # fmt: skip  # noqa: E701


@pytest.mark.parametrize("is_tensor", [False, True])
@pytest.mark.parametrize("loads", [False, True])
@pytest.mark.parametrize("step", [steps_if_the_rate_is_large, steps_if_the_loss_is_small])
def test_a_number_that_python_goes_by_is_refused(step, is_tensor, loads, tmp_path):
    """In one line with the step, too, where it is read directly before."""
    w, rate = clew.ones(2, requires_grad=True), clew.tensor(0.25)
    optimizer = clew.optim.SGD([w], lr=rate if is_tensor else 0.5)
    with clew.keep_graph() as program:
        optimizer.zero_grad()
        loss = w.sum()
        loss.backward()
        step(optimizer, rate, loss)
    program.name(w=w)
    if loads:
        program.save(tmp_path / "program.clew")
        program = clew.load_program(tmp_path / "program.clew")
    with pytest.raises(NotImplementedError, match=r"read\.float"):
        program.to_c(tmp_path)
