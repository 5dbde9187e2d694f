"""Row 6.11: iterations that repeat are loops in C."""

import itertools
import re
import subprocess

import numpy as np
import pytest
import torch
from target_support import CompiledProgram, assert_near

import clew
from clew.keep.targets.rolling import Loop, _rolled, instances, leaves

pytestmark = [
    pytest.mark.skipif(subprocess.run(["which", "gcc"], capture_output=True).returncode != 0, reason="no gcc"),
    pytest.mark.unsanitized("programs for other machines are text"),
]

SANITIZERS = "-fsanitize=address,undefined -fno-sanitize-recover=all"
STEP = 0.02


def weights(m, dtype):
    """Of a damped cart with a small network as its controller."""
    rng = np.random.default_rng(0)
    made = {
        "A": np.array([[0, 1, 0, 0], [-2, -0.6, 1, 0], [0, 0, 0, 1], [0, 0.5, -3, -0.7]]),
        "B": np.array([[0.0, 1, 0, 0.3]]),
        "w1": rng.normal(size=(4, 8)) / 2,
        "w2": rng.normal(size=(8, 1)) / 2,
    }
    return {key: m.tensor(one.tolist(), dtype=getattr(m, dtype)) for key, one in made.items()}


def rollout(m, x, w, count):
    """`count` steps of Runge and Kutta, and the sum of the squared states."""

    def slope(x):
        return x @ w["A"].T + m.tanh(x @ w["w1"]) @ w["w2"] @ w["B"]

    cost = 0
    for _ in range(count):
        k1 = slope(x)
        k2 = slope(x + STEP / 2 * k1)
        k3 = slope(x + STEP / 2 * k2)
        k4 = slope(x + STEP * k3)
        x = x + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        cost = cost + (x * x).sum()
    return x, cost


BEGIN = [[1.0, -0.5, 0.3, 2.0]]


def kept_rollout(count, dtype="float32", trains=False):
    w = weights(clew, dtype)
    for name in ("w1", "w2"):
        w[name].requires_grad_(trains)
    x0 = clew.tensor(BEGIN, dtype=getattr(clew, dtype))
    with clew.keep_graph() as program:
        x, cost = rollout(clew, x0, w, count)
        if trains:
            cost.backward()
    program.name(x0=x0, x=x, cost=cost)
    if trains:
        program.name(w1=w["w1"], g1=w["w1"].grad, g2=w["w2"].grad)
    return program


def sections(folder):
    """What `size` finds, of -Os: code and what is read only, data, zeros."""
    subprocess.run(["gcc", "-std=c11", "-Os", "-fno-pie", "-c", "program.c", "-o", "small.o"], cwd=folder, check=True)
    listed = subprocess.run(["size", "small.o"], cwd=folder, capture_output=True, text=True, check=True).stdout
    return tuple(map(int, listed.split()[6:9]))


def test_a_thousand_steps_take_the_code_of_one_and_agree_also_under_sanitizers(tmp_path):
    program = kept_rollout(1000)
    compiled = CompiledProgram(program, tmp_path)
    flags = f"CFLAGS=-O1 -g {SANITIZERS}"
    subprocess.run(["make", "CC=gcc", flags], cwd=tmp_path, check=True, capture_output=True)
    ran = subprocess.run(["./main", "1"], cwd=tmp_path, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert_near(np.float64(re.search(r"cost (\S+)", ran.stdout).group(1)), program["cost"].numpy(), 1e-6)

    code, data, zeros = sections(tmp_path)
    assert code + data <= 64_000 // 8  # 64 kB are promised
    assert compiled.sizes.ram <= data + zeros <= compiled.sizes.ram + 64
    assert compiled.sizes.arena < 1000
    program["x0"].copy_(clew.tensor([[0.2, 0.4, -1.0, 0.1]]))
    program.run()
    compiled["x0"][...] = program["x0"].numpy()
    compiled["x"][...] = compiled["cost"][...] = 99
    compiled.call("run")
    for name in ("x", "cost"):
        assert_near(compiled[name], program[name].numpy(), 1e-6)
    exact = {key: one.numpy() for key, one in weights(torch, "float64").items()}
    x, cost = rollout(np, program["x0"].numpy().astype(np.float64), exact, 1000)
    assert_near(compiled["x"], x, 1e-5)
    assert_near(compiled["cost"], cost, 1e-5)
    before, after = re.search(r"With loops (\S+) kB .* unrolled (\S+) kB", str(compiled.sizes)).groups()
    assert int(before) < 20 < 5000 < int(after.replace(",", ""))
    assert compiled.sizes.unrolled[1] <= compiled.sizes.ram <= 1.1 * compiled.sizes.unrolled[1]


def test_float64_agrees_with_numpy(tmp_path):
    compiled = CompiledProgram(kept_rollout(100, "float64"), tmp_path)
    compiled.call("run")
    exact = {key: one.numpy() for key, one in weights(torch, "float64").items()}
    x, cost = rollout(np, np.array(BEGIN), exact, 100)
    assert_near(compiled["x"], x, 1e-13)
    assert_near(compiled["cost"], cost, 1e-13)


def test_a_backward_through_a_rollout_agrees_with_pytorch_and_takes_the_code_of_a_few_steps(tmp_path):
    sizes = []
    for count in (10, 60):
        folder = tmp_path / str(count)
        folder.mkdir()
        compiled = CompiledProgram(kept_rollout(count, "float64", trains=True), folder)
        for name in ("g1", "g2", "cost"):
            compiled[name][...] = 99
        for part in ("forward", "backward", "step"):
            compiled.call(part)
        w = weights(torch, "float64")
        for name in ("w1", "w2"):
            w[name].requires_grad_()
        _, cost = rollout(torch, torch.tensor(BEGIN, dtype=torch.float64), w, count)
        cost.backward()
        assert_near(compiled["cost"], cost.detach().numpy(), 1e-12)
        assert_near(compiled["g1"], w["w1"].grad.numpy(), 1e-12)
        assert_near(compiled["g2"], w["w2"].grad.numpy(), 1e-12)
        sizes.append(sections(folder)[0])
    assert sizes[1] < 1.03 * sizes[0] < 20_000


def test_state_does_not_grow_with_the_iterations(tmp_path):
    sizes = [kept_rollout(count).to_c(tmp_path).ram for count in (3, 30, 300)]
    assert sizes[0] == sizes[1] == sizes[2]


def test_unroll_writes_every_iteration_out(tmp_path):
    program = kept_rollout(10)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    rolled, unrolled = (
        CompiledProgram(program, tmp_path / "a"),
        CompiledProgram(program, tmp_path / "b", unroll=True),
    )
    texts = [(tmp_path / one / "program.c").read_text() for one in "ab"]
    assert ["n0" in text for text in texts] == [True, False]
    assert len(texts[1]) > 4 * len(texts[0])
    assert unrolled.sizes.unrolled is None
    assert abs(rolled.sizes.unrolled[0] / unrolled.sizes.statements - 1) < 0.15
    for one in (rolled, unrolled):
        one.call("run")
    for name in ("x", "cost"):
        np.testing.assert_array_equal(rolled[name], unrolled[name])


def test_numbers_and_places_that_differ_from_iteration_to_iteration_become_tables(tmp_path):
    x = clew.linspace(-1, 1, 40).reshape(10, 4)
    order = [7, 2, 9, 4, 0, 1, 8, 3, 6, 5]
    with clew.keep_graph() as program:
        total = clew.zeros(4)
        for i, row in enumerate(order):
            total = (total + x[row]) * (1 + 0.1 * i * i)
        y = total
    program.name(x=x, y=y)
    compiled = CompiledProgram(program, tmp_path, *SANITIZERS.split()[1:])
    text = (tmp_path / "program.c").read_text()
    assert "static const uint8_t table_" in text
    assert "static const float table_" in text
    compiled.call("run")
    wanted = np.zeros(4)
    for i, row in enumerate(order):
        wanted = (wanted + np.linspace(-1, 1, 40).reshape(10, 4)[row]) * (1 + 0.1 * i * i)
    assert_near(compiled["y"], wanted, 1e-6)


def planned(m, horizon, rounds):
    """Inputs of a double integrator that gradient descent improves `rounds` times: the start, the inputs, the cost."""
    A, B = m.tensor([[1.0, 0.1], [0.0, 1.0]], dtype=m.float64), m.tensor([[0.0], [0.1]], dtype=m.float64)
    start, u = m.tensor([1.0, -0.5], dtype=m.float64), m.zeros(horizon, 1, dtype=m.float64, requires_grad=True)

    def plan():
        for _ in range(rounds):
            x, cost = start, 0.0
            for i in range(horizon):
                x = A @ x + B @ u[i]
                cost = cost + (x * x).sum() + 0.01 * (u[i] * u[i]).sum()
            (slope,) = m.autograd.grad(cost, u)
            with m.no_grad():
                u.sub_(0.05 * slope)
        return cost

    return start, u, plan


def test_loops_in_loops_of_a_model_predictive_controller(tmp_path):
    start, u, plan = planned(clew, 15, 10)
    with clew.keep_graph() as program:
        cost = plan()
    program.name(start=start, u=u, cost=cost)
    compiled = CompiledProgram(program, tmp_path, *SANITIZERS.split()[1:])
    assert "for (long n1 = 0;" in (tmp_path / "program.c").read_text()
    assert sections(tmp_path)[0] < 8000
    assert compiled.sizes.ram <= 1.02 * compiled.sizes.unrolled[1]
    _, wanted, plan_again = planned(torch, 15, 10)
    plan_again()  # the recorded one
    for _ in range(3):
        cost = plan_again()
        compiled.call("run")
        assert_near(compiled["u"], wanted.detach().numpy(), 1e-12)
        assert_near(compiled["cost"], cost.detach().numpy(), 1e-12)


def test_a_kalman_filter_agrees_with_numpy(tmp_path):
    rng = np.random.default_rng(0)
    given = {"A": np.eye(3) + 0.1 * rng.normal(size=(3, 3)), "C": rng.normal(size=(1, 3)), "Q": 0.01 * np.eye(3)}
    given |= {"z": rng.normal(size=(60, 1)), "mean": np.zeros((3, 1)), "spread": np.eye(3)}

    def filtered(A, C, Q, z, mean, spread):
        for one in z:
            mean, spread = A @ mean, A @ spread @ A.T + Q
            gain = spread @ C.T / (C @ spread @ C.T + 0.1)
            mean, spread = mean + gain * (one - C @ mean), spread - gain @ (C @ spread)
        return mean

    tensors = {key: clew.from_numpy(one) for key, one in given.items()}
    with clew.keep_graph() as program:
        found = filtered(**tensors)
    program.name(found=found, z=tensors["z"])
    compiled = CompiledProgram(program, tmp_path, *SANITIZERS.split()[1:])
    given["z"] = rng.normal(size=(60, 1))
    compiled["z"][...] = given["z"]
    compiled.call("run")
    assert_near(compiled["found"], filtered(**given), 1e-12)
    assert sections(tmp_path)[0] < 5000


def test_layers_with_weights_of_their_own_are_a_loop(tmp_path):
    layers = clew.nn.Sequential(*(clew.nn.Sequential(clew.nn.Linear(6, 6), clew.nn.Tanh()) for _ in range(12)))
    x = clew.randn(2, 6)
    with clew.keep_graph() as program:
        y = layers(x)
    program.name(x=x, y=y, first=layers[3][0].weight)
    compiled = CompiledProgram(program, tmp_path)
    assert re.search(r"for \(long n0 = 0; n0 < 1[012];", (tmp_path / "program.c").read_text())
    compiled.call("run")
    value = x.numpy().astype(np.float64)
    for layer in layers:
        w, b = (one.detach().numpy().astype(np.float64) for one in layer[0].parameters())
        value = np.tanh(value @ w.T + b)
    assert_near(compiled["y"], value, 1e-6)


def test_loops_take_hardly_more_ram_where_a_backward_frees_what_the_forward_made(tmp_path):
    """The memory of activations goes to gradients: where that is not regular, places are in tables."""
    layers = clew.nn.Sequential(*(clew.nn.Sequential(clew.nn.Linear(12, 12), clew.nn.Tanh()) for _ in range(12)))
    x, target = clew.randn(24, 12), clew.randn(24, 12)
    optimizer = clew.optim.Adam(layers.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        loss = clew.nn.functional.mse_loss(layers(x), target)
        loss.backward()
        optimizer.step()
        return loss

    step()
    with clew.keep_graph() as program:
        loss = step()
    program.name(x=x, target=target, loss=loss, w=layers[5][0].weight)
    compiled = CompiledProgram(program, tmp_path)
    assert compiled.sizes.ram < 1.03 * compiled.sizes.unrolled[1]
    assert compiled.sizes.statements < compiled.sizes.unrolled[0] / 4
    for _ in range(3):
        program.run()
        compiled.call("run")
    for name in ("loss", "w"):
        assert_near(compiled[name], program[name].detach().numpy(), 1e-6)


def random_block(rng, m, x, stack):
    """A loop over steps that carry states of one to three iterations before, with what is odd now and then."""
    states = [x, x * 0.5, x + 0.25]
    depth, nested, count = rng.integers(1, 4), rng.integers(0, 2), rng.integers(3, 9)
    odd = rng.integers(0, count, 3)
    kinds = rng.integers(0, 10, rng.integers(2, 5))
    for i in range(count):
        value = states[-depth]
        for _ in range(1 + 2 * nested):
            for kind in kinds:
                other = states[-1 if kind % 2 else -depth]
                if kind == 0:
                    value = m.tanh(value + other)
                elif kind == 1:
                    value = value * (0.5 + i / 20)
                elif kind == 2:
                    value = value + stack[i % len(stack)]
                elif kind == 3:
                    value = value - other.mean(0, keepdim=True)
                elif kind == 4:
                    value = m.tanh(value @ (value.t() @ value) / 16)
                elif kind == 5:
                    value = value.flip(0) + 0.1
                elif kind == 6:
                    value = m.where(value > 0.1 * i - 0.3, value, other * 0.5)
                elif kind == 7:
                    value = value.gather(0, (value > other).to(m.int64) * (1 + i % 2))
                elif kind == 8:
                    value = value.index_add(0, value[:, 0].argmax().reshape(1), other[1:2] * 0.1)
                else:
                    stack[i % len(stack)].mul_(0.5).add_(value[0], alpha=0.25)
        if i == odd[0]:
            value = value + states[0]
        states.append(m.sin(value))
        if i != odd[1]:
            states.pop(0)
    return states


def random_program(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 5))
    x = clew.tensor(rng.normal(size=(3, size)).tolist(), dtype=clew.float64)
    rows = clew.tensor(rng.normal(size=(5, size)).tolist(), dtype=clew.float64)
    w = clew.tensor(rng.normal(size=(3, size)).tolist(), dtype=clew.float64, requires_grad=True)
    trains = bool(rng.integers(0, 2))
    with clew.keep_graph() as program:
        base = rows * 1.0
        first = random_block(rng, clew, x * w if trains else x, [one.clone() for one in base] if trains else base)
        states = random_block(rng, clew, first[-1], [base[i] for i in range(5)])
        y = states[-1] + states[0]
        if trains:
            y.sum().backward()
    program.name(x=x, y=y)
    if trains:
        program.name(w=w, gradient=w.grad)
        w.grad = None
    return program


@pytest.mark.parametrize("seed", range(24))
def test_random_loops_give_the_bits_of_unrolled_code_and_the_numbers_of_clew(seed, tmp_path):
    program = random_program(seed)
    found = []
    for way in ("loops", "unrolled"):
        (tmp_path / way).mkdir()
        options = SANITIZERS.replace("address,", "").split() if way == "loops" else ["-O0"]
        found.append(CompiledProgram(program, tmp_path / way, *options, unroll=way == "unrolled"))
        found[-1]["y"][...] = 99
        for _ in range(2):
            found[-1].call("run")
    for name in program._names:
        np.testing.assert_array_equal(found[0][name], found[1][name])
    program.run()
    assert_near(found[0]["y"], program["y"].detach().numpy(), 1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_rolling_keeps_each_kernel_at_its_time(seed):
    rng = np.random.default_rng(seed)
    symbols: list[int] = []
    for _ in range(rng.integers(1, 5)):
        body = rng.integers(0, 5, rng.integers(1, 12)).tolist() * int(rng.integers(1, 5))
        symbols += (body + [9] * int(rng.integers(0, 2))) * int(rng.integers(1, 9))
    nodes = _rolled(np.array(symbols), 0)

    def in_time(nodes, start):
        for node in nodes:
            if isinstance(node, Loop):
                for i in range(node.count):
                    yield from in_time(node.body, start + i * node.period)
            else:
                yield start + node

    assert list(in_time(nodes, 0)) == list(range(len(symbols)))
    placed = [instances(place, axes).ravel() for place, axes in leaves(nodes)]
    assert sorted(itertools.chain(*(one.tolist() for one in placed))) == list(range(len(symbols)))
    assert all(len({symbols[i] for i in one}) == 1 for one in placed)


def test_a_run_of_a_thousand_is_found_in_what_surrounds_it():
    body = [*range(3), 3, 4, 3, 4, 3, 4, 3, 4, 3, 4, 5]
    symbols = [7, 8, *body * 1000, 8, 7]
    nodes = _rolled(np.array(symbols), 0)
    (loop,) = [node for node in nodes if isinstance(node, Loop)]
    assert (loop.count, loop.period) == (1000, len(body))
    (inner,) = [node for node in loop.body if isinstance(node, Loop)]
    assert (inner.count, inner.period) == (5, 2)
