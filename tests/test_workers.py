"""What travels to other processes: modules, tensors, losses, optimizers and kept programs, by whatever sends them."""

import concurrent.futures
import copy
import importlib
import multiprocessing
import pickle
import subprocess
import sys
from multiprocessing.reduction import ForkingPickler

import pytest

import clew
from clew import nn

pytestmark = pytest.mark.beyond


def kept_step():
    """A training step, its second run kept; its parameters, data and loss named."""
    clew.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.LayerNorm(8), nn.GELU(), nn.Dropout(0.1), nn.Linear(8, 1))
    optimizer = clew.optim.Adam(model.parameters(), lr=0.01)
    x, y = clew.randn(16, 3), clew.randn(16, 1)

    def step():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    step()
    optimizer.zero_grad()
    with clew.keep_graph() as program:
        loss = step()
    program.name(x=x, loss=loss, weight=model[0].weight)
    return program


def curve(program, steps=3):
    """Losses of further steps."""
    losses = []
    for _ in range(steps):
        program.run()
        losses.append(program["loss"].item())
    return losses


@pytest.fixture(params=["pickle", "cloudpickle"])
def dumps(request):
    return pytest.importorskip(request.param).dumps


def test_a_kept_program_replays_in_a_process_that_has_no_source(dumps, script_environment):
    program = kept_step()
    script = """if True:
        import pickle, sys
        program = pickle.load(sys.stdin.buffer)
        for _ in range(3):
            program.run()
            print(repr(program["loss"].item()))
        """
    done = subprocess.run(
        [sys.executable, "-c", script], input=dumps(program), capture_output=True, check=True, env=script_environment
    )
    assert [float(line) for line in done.stdout.split()] == curve(program)


def test_a_program_that_is_copied_goes_its_own_way():
    program = kept_step()
    other = copy.deepcopy(program)
    assert curve(other) == curve(program)
    assert other["weight"] is not program["weight"]


def test_a_program_with_python_in_it_does_not_travel():
    @clew.pure
    def half(x):
        return x / 2

    x = clew.ones(2)
    with clew.keep_graph() as program:
        half(x)
    with pytest.raises(NotImplementedError, match="half"):
        pickle.dumps(program)


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.TransformerEncoderLayer(8, 2, 16),
        lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten()),
        lambda: nn.CrossEntropyLoss(weight=clew.tensor([1.0, 2.0])),
        lambda: nn.functional.mse_loss,
        lambda: clew.exp,
        lambda: clew.compile(nn.functional.relu),
        lambda: clew.float32,
    ],
    ids=["transformer", "convolution", "loss module", "loss function", "operation", "compiled function", "dtype"],
)
def test_what_travels_comes_back(make, dumps):
    given = make()
    found = pickle.loads(dumps(given))
    assert type(found) is type(given)
    if isinstance(given, nn.Module):
        assert found.state_dict().keys() == given.state_dict().keys()
        assert all(clew.equal(value, given.state_dict()[name]) for name, value in found.state_dict().items())
        assert str(found) == str(given)


def test_an_optimizer_travels_with_its_module(dumps):
    model = nn.Linear(2, 1)
    optimizer = clew.optim.Adam(model.parameters(), lr=0.1)

    def step(model, optimizer):
        model(clew.ones(4, 2)).square().sum().backward()
        optimizer.step()
        return model.weight.tolist()

    step(model, optimizer)
    optimizer.zero_grad()
    assert step(*pickle.loads(dumps((model, optimizer)))) == step(model, optimizer)


def test_a_class_of_the_callers_travels_by_cloudpickle():
    cloudpickle = pytest.importorskip("cloudpickle")

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(clew.full((1,), 2.0))

        def forward(self, x):
            return self.scale * x

    found = pickle.loads(cloudpickle.dumps(Twice()))
    assert found(clew.ones(1)).item() == 2.0


def test_what_has_a_history_comes_back_as_a_leaf(dumps, oracle):
    for library in (clew, oracle):
        found = pickle.loads(dumps(library.full((1,), 2.0, requires_grad=True).square()))
        assert (found.item(), found.requires_grad, found.is_leaf, found.grad_fn) == (4.0, True, True, None)


def test_what_has_a_history_says_how_to_send_it_to_a_process(oracle):
    for library in (clew, oracle):
        importlib.import_module(f"{library.__name__}.multiprocessing")
        with pytest.raises(RuntimeError, match=r"detach\(\)"):
            ForkingPickler.dumps(library.ones(1, requires_grad=True).exp())


def work(program, model, loss, x):
    """In a worker: what a replay, a forward and a loss give there."""
    return curve(program), loss(model(x), clew.zeros(4, 1)).item()


def by_futures(*given):
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        return pool.submit(work, *given).result()


def by_joblib(*given):
    joblib = pytest.importorskip("joblib")
    return joblib.Parallel(n_jobs=2)([joblib.delayed(work)(*given)] * 2)[1]


def by_dask(*given):
    dask = pytest.importorskip("dask")
    delayed = dask.delayed(work)(*map(dask.delayed, given))
    return delayed.compute(scheduler="processes", num_workers=1)


def by_ray(*given):
    ray = pytest.importorskip("ray")
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # its workers can't import a test
    ray.init(num_cpus=1, include_dashboard=False)
    try:
        return ray.get(ray.remote(work).remote(*given))
    finally:
        ray.shutdown()


@pytest.mark.parametrize(
    "send", [by_futures, by_joblib, *(pytest.param(one, marks=pytest.mark.slow) for one in (by_dask, by_ray))]
)
def test_workers_compute_what_the_caller_does(send):
    given = kept_step(), nn.Linear(3, 1), nn.SmoothL1Loss(), clew.randn(4, 3)
    assert send(*given) == work(*given)
