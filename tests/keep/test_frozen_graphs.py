"""6.10: live graphs in files: what is thawed gives the gradients, in another process too."""

import random
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy
import pytest

import clew
from clew import nn

sys.path.append(str(Path(__file__).resolve().parent.parent))

from hostile import program_files

pytestmark = [pytest.mark.beyond]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "graph.clew"


def bits(tensor):
    return numpy.ascontiguousarray(tensor.detach().numpy()).tobytes()


def compare(y, path, names, create_graph=False):
    """The gradients of a graph and of what comes back from its file."""
    clew.graph.freeze(y, path, names=names)
    thawed = clew.graph.thaw(path)
    assert bits(thawed) == bits(y)
    found = clew.graph.leaves(thawed)
    assert set(names) <= set(found)
    expected = clew.autograd.grad(y, list(names.values()), create_graph=create_graph)
    given = clew.autograd.grad(thawed, [found[name] for name in names], create_graph=create_graph)
    assert [bits(one) for one in given] == [bits(one) for one in expected]
    return expected, given, found


def test_gradients_in_another_process(path, script_environment):
    clew.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 5), nn.LayerNorm(5), nn.SiLU(), nn.Dropout(0.3), nn.Linear(5, 2))
    loss = model(clew.randn(4, 3)).log_softmax(1)[:, 0].mean()
    clew.graph.freeze(loss, path, names=dict(model.named_parameters()))
    script = """
        import sys, clew
        y = clew.graph.thaw(sys.argv[1])
        y.backward()
        for name, leaf in sorted(clew.graph.leaves(y).items()):
            print(name, leaf.grad.numpy().tobytes().hex())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(path)],
        capture_output=True,
        text=True,
        env=script_environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loss.backward()
    names = sorted(model.named_parameters())
    assert done.stdout.splitlines() == [f"{name} {bits(one.grad).hex()}" for name, one in names]


@pytest.mark.parametrize(
    "compute",
    [
        lambda w, v: (w * v).exp().sum(),
        lambda w, v: w.sort().values.cumsum(0).max() + v.prod() / w.norm(),
        lambda w, v: clew.cat([w, v[:1], w]).std() + clew.stack([w, v]).logsumexp(0).sum(),
        lambda w, v: clew.einsum("i,j->ij", w, v).tril().det() + v[clew.tensor([0, 0, 2])].sum(),
        lambda w, v: clew.where(w > 0, w, v * 2).pow(3).sum(),
    ],
)
def test_many_operations_and_second_derivatives(path, compute):
    w, v = clew.tensor([0.5, -1.0, 2.0], requires_grad=True), clew.tensor([1.5, 0.3, -0.7], requires_grad=True)
    expected, given, found = compare(compute(w, v), path, {"w": w, "v": v}, create_graph=True)
    second = clew.autograd.grad(sum(one.sum() for one in expected), [w, v], allow_unused=True)
    again = clew.autograd.grad(sum(one.sum() for one in given), [found["w"], found["v"]], allow_unused=True)
    assert [one is not None and bits(one) for one in again] == [one is not None and bits(one) for one in second]


def test_writes_through_views(path):
    w = clew.tensor([1.0, 2.0, 3.0], requires_grad=True)
    h = w * 1
    h[1:].mul_(w[:2])
    h[0] = 5 * w[2]
    compare((h * h).sum(), path, {"w": w})


@pytest.mark.parametrize("name", ["pictures", "tokens", "recurrent"])
def test_networks(path, name):
    model, x, loss_of = program_files.models()[name]
    compare(loss_of(model(x)), path, dict(model.named_parameters()))


def test_a_gradient_by_mathematics(path):
    w = clew.tensor([0.5, 2.0], dtype=clew.float64, requires_grad=True)
    clew.graph.freeze((w.sin() * w).sum(), path, names={"w": w})
    y = clew.graph.thaw(path)
    y.backward()
    x = numpy.array([0.5, 2.0])
    numpy.testing.assert_allclose(clew.graph.leaves(y)["w"].grad.numpy(), numpy.sin(x) + x * numpy.cos(x), rtol=1e-15)


def test_the_graph_keeps_its_leaves_alive(path):
    w, b = clew.ones(2, requires_grad=True), clew.ones(2, requires_grad=True)
    clew.graph.freeze((w * 3 + b).sum(), path, names={"w": w})
    y = clew.graph.thaw(path)
    z = y * 2
    del y
    z.backward()
    assert {name: leaf.grad.tolist() for name, leaf in clew.graph.leaves(z).items()} == {
        "w": [6, 6],
        "leaf.0": [2, 2],
    }
    variables = [getattr(node, "variable", None) for node, _ in z.grad_fn.next_functions[0][0].next_functions]
    assert all(one is None or one.requires_grad for one in variables)


def test_what_was_written_since_is_refused(path):
    w = clew.ones(2, requires_grad=True)
    h = w.exp()
    y = h.sum()
    h.add_(1)
    with pytest.raises(RuntimeError, match="ExpBackward0 has saved was written since"):
        clew.graph.freeze(y, path)


def test_lines_travel(path):
    w = clew.ones(2, requires_grad=True)
    y = w.exp().sum()
    clew.graph.freeze(y, path)
    assert str(clew.graph.thaw(path).grad_fn.made_at) == str(y.grad_fn.made_at)


class Triple(clew.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 3


def hooked(x):
    y = x * 2
    y.register_hook(lambda gradient: gradient)
    return y


def hooked_leaf(x):
    x.register_post_accumulate_grad_hook(lambda leaf: None)
    return x * 2


@pytest.mark.parametrize(
    ("compute", "error", "match"),
    [
        (Triple.apply, NotImplementedError, "TripleBackward is an autograd.Function.*test_frozen_graphs"),
        (hooked, NotImplementedError, "MulBackward0 has hooks.*test_frozen_graphs"),
        (hooked_leaf, NotImplementedError, "AccumulateGrad has hooks"),
        (lambda x: x.detach(), RuntimeError, "with a history"),
    ],
)
def test_what_cannot_be_frozen(path, compute, error, match):
    leaf = clew.ones(2, requires_grad=True)
    y = compute(leaf).sum()
    with pytest.raises(error, match=match):
        clew.graph.freeze(y, path)
    assert not list(path.parent.iterdir())


def test_a_leaf_that_no_longer_asks_gets_no_gradient(path):
    w, b = clew.tensor([1.0, 2.0], requires_grad=True), clew.tensor([3.0, 4.0], requires_grad=True)
    y = (w * b).sum()
    b.requires_grad_(False)
    clew.graph.freeze(y, path, names={"w": w})
    thawed = clew.graph.thaw(path)
    thawed.backward()
    assert list(clew.graph.leaves(thawed)) == ["w"]
    numpy.testing.assert_array_equal(clew.graph.leaves(thawed)["w"].grad.numpy(), [3, 4])


def test_a_freed_graph_is_refused(path):
    w = clew.ones(2, requires_grad=True)
    y = w.exp().sum()
    y.backward()
    with pytest.raises(RuntimeError, match="has dropped what it saved"):
        clew.graph.freeze(y, path)


def test_a_name_of_no_leaf_is_refused(path):
    w = clew.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="'x' to be a leaf"):
        clew.graph.freeze(w * 2, path, names={"x": clew.ones(2)})


def test_names_that_would_be_lost_are_refused(path):
    w = clew.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="one name for each leaf, got 'w' and 'v' for one"):
        clew.graph.freeze(w * 2, path, names={"w": w, "v": w})
    with pytest.raises(ValueError, match="at least one letter"):
        clew.graph.freeze(w * 2, path, names={"": w})
    with pytest.raises(TypeError, match="expected a tensor with a history, got NoneType"):
        clew.graph.freeze(None, path)
    assert not path.exists()


def test_another_kind_of_file_is_refused(path):
    w = clew.ones(2, requires_grad=True)
    with clew.keep_graph() as program:
        y = w * 2
    program.save(path)
    with pytest.raises(clew.ProgramError, match="another kind"):
        clew.graph.thaw(path)
    clew.graph.freeze(y, path)
    with pytest.raises(clew.ProgramError, match="another kind"):
        clew.load_program(path)


def test_a_normalization_without_the_statistics_that_it_asks_for(path):
    x = clew.randn(5, 4, requires_grad=True)
    clew.graph.freeze(nn.functional.batch_norm(x, None, None, training=True).sin().sum(), path)
    content, memories, header = program_files.take_apart(path)
    (node,) = (one for one in content["nodes"] if one["kind"] == "native_batch_norm")
    assert node["attributes"][0] is True
    node["attributes"][0] = False  # of evaluation
    program_files.put_together(path, "clew graph", content, memories, header)
    with pytest.raises(clew.ProgramError, match="batch_norm: expected operands that fit each other"):
        clew.graph.thaw(path)


@pytest.mark.parametrize("inside", [False, True])
def test_what_a_budget_has_dropped_is_computed_again(path, inside):
    w = clew.linspace(0.1, 1, 1000).requires_grad_()

    def compute():
        x = w
        for _ in range(10):
            x = x.sin()
        return x.sum()

    with clew.memory.budget("16 kB") as budget:
        loss = compute()
        if inside:
            clew.graph.freeze(loss, path, names={"w": w})
    if not inside:
        clew.graph.freeze(loss, path, names={"w": w})
    assert budget.report().peak <= 16_000
    thawed = clew.graph.thaw(path)
    thawed.backward()
    (expected,) = clew.autograd.grad(compute(), w)
    assert bits(clew.graph.leaves(thawed)["w"].grad) == bits(expected)
    loss.backward()
    assert bits(w.grad) == bits(expected)


def test_a_graph_of_two_runs_is_refused(path):
    x = clew.ones(3, requires_grad=True)
    with clew.keep_graph():
        h = x.exp()
        y, z = (h * x).sum(), (h * 3).sum()
    y.forward()
    with pytest.raises(RuntimeError, match="freeze: expected a graph of one run"):
        clew.graph.freeze(z, path)
    assert not path.exists()


FRESH = {
    "padding": lambda x: nn.functional.pad(x.reshape(1, 1, 4, 4), (1, 1, 1, 1), mode="reflect").square().sum(),
    "norm": lambda x: clew.autograd.grad(nn.functional.normalize(x, dim=1)[0, 0], x, create_graph=True)[0].sum(),
    "inverse": lambda x: clew.linalg.inv(x @ x.T + clew.eye(4)).sum(),
    "spectrum": lambda x: clew.fft.fft(x).abs().sum(),
    "special": lambda x: clew.special.i1(x).sum(),
}


@pytest.mark.parametrize("name", FRESH)
@pytest.mark.parametrize("kind", ["graph", "program"])
def test_operations_that_a_new_process_has_not_met(path, script_environment, name, kind):
    clew.manual_seed(2)
    x = clew.randn(4, 4, requires_grad=True)
    if kind == "graph":
        y = FRESH[name](x)
        clew.graph.freeze(y, path, names={"x": x})
        script = "y = clew.graph.thaw(sys.argv[1]); y.backward(); g = clew.graph.leaves(y)['x'].grad"
    else:
        with clew.keep_graph() as program:
            y = FRESH[name](x)
            (g,) = clew.autograd.grad(y, x, retain_graph=True)
        program.name(y=y, g=g)
        program.save(path)
        script = "p = clew.load_program(sys.argv[1]); p.run(); y, g = p['y'], p['g']"
    script = f"import sys, clew; {script}; print(y.item(), g.numpy().tobytes().hex())"
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, env=script_environment, check=False
    )
    assert done.returncode == 0, done.stderr
    (expected,) = clew.autograd.grad(y, x)
    assert done.stdout.split() == [str(y.item()), bits(expected).hex()]


def test_all_modules_that_define_operations_are_known(run_script):
    script = """
        import importlib, pkgutil, clew
        from clew import _core, _operation
        met, define = [], _core.define_operation
        _core.define_operation = lambda *given: met.append(given[0]) or define(*given)
        _operation.define_all()
        assert len(met) > 50
        known = len(met)
        for one in pkgutil.walk_packages(clew.__path__, "clew.", onerror=lambda name: None):
            if "__main__" in one.name or one.name.startswith("clew.distributed"):
                continue
            try:
                importlib.import_module(one.name)
            except ImportError:
                pass
        assert met[known:] == []
    """
    run_script(textwrap.dedent(script))


@pytest.mark.may_leak
@pytest.mark.filterwarnings("ignore")
def test_mutated_graphs_have_one_kind_of_error(path):
    outcomes = program_files.check_graphs(path, 150, "suite ")
    assert outcomes["refused"] > 40
    assert outcomes["ran"] > 5


@pytest.mark.slow
@pytest.mark.may_leak
@pytest.mark.filterwarnings("ignore")
def test_a_thousand_mutated_graphs(path):
    assert sum(program_files.check_graphs(path, 1000).values()) == 1000


@pytest.mark.may_leak
def test_damage_is_seen(path):
    w = clew.ones(2, requires_grad=True)
    clew.graph.freeze(w.exp().sum(), path)
    raw = path.read_bytes()
    draw = random.Random(1)
    for _ in range(50):
        path.write_bytes(program_files.damage(raw, draw))
        if path.read_bytes() != raw:
            with pytest.raises(clew.ProgramError):
                clew.graph.thaw(path)
