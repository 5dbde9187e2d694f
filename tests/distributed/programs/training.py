"""Training on all ranks, each on its part of the batch, against one process with all of it."""

import contextlib

import normalizing
import numpy
import real_models
import sharding
from common import clew, dist, raises, rank, run, same, size

from clew import nn
from clew.distributed import _shared
from clew.nn.parallel import DistributedDataParallel as DDP

BATCH = 4  # of each rank
INPUTS = numpy.random.default_rng(0).standard_normal((5, size, BATCH, 6))
TARGETS = numpy.random.default_rng(1).standard_normal((5, size, BATCH, 3))


def make(seed=0):
    clew.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3)).double()


def step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = ((model(clew.tensor(x)) - clew.tensor(y)) ** 2).mean()
    loss.backward()
    optimizer.step()
    return loss.item()


def curves(**options):
    """Losses of a model on all ranks, their mean taken; and of one process with the whole batch."""
    model, whole = DDP(make(seed=rank), **options), make(seed=0)
    assert all(same(x, y.detach().numpy()) for x, y in zip(model.module.parameters(), whole.parameters(), strict=True))
    optimizers = [clew.optim.Adam(one.parameters(), lr=0.01) for one in (model, whole)]
    pairs = []
    for x, y in zip(INPUTS, TARGETS, strict=True):
        mine = clew.tensor(step(model, optimizers[0], x[rank], y[rank]))
        dist.all_reduce(mine, dist.ReduceOp.AVG)
        pairs.append((mine.item(), step(whole, optimizers[1], x.reshape(-1, 6), y.reshape(-1, 3))))
    return numpy.array(pairs), model


def check_the_curve_is_that_of_one_process():
    for options in ({}, {"bucket_cap_mb": 1e-4}, {"find_unused_parameters": True}, {"deterministic": True}):
        pairs, _ = curves(**options)
        assert numpy.allclose(pairs[:, 0], pairs[:, 1], rtol=1e-6), (options, pairs)


def check_ranks_that_share_no_memory_send_messages():
    """As on several machines, or where there is too little of it."""
    with no_shared_memory():
        for options in ({}, {"bucket_cap_mb": 1e-4}, {"deterministic": True}):
            pairs, model = curves(**options)
            assert model._reducer._shared is None
            assert numpy.allclose(pairs[:, 0], pairs[:, 1], rtol=1e-6), (options, pairs)
    assert curves()[1]._reducer._shared is not None


@contextlib.contextmanager
def no_shared_memory():
    group, folder = dist.GroupMember.WORLD, _shared._FOLDER
    group.shared, _shared._FOLDER = None, "/nowhere"
    try:
        yield
    finally:
        _shared._FOLDER = folder


def check_sums_in_the_order_of_ranks():
    sums_in_the_order_of_ranks()
    with no_shared_memory():
        sums_in_the_order_of_ranks()


def sums_in_the_order_of_ranks():
    """Against NumPy's, to the bit, with small and large buckets, in three dtypes."""
    for name in ("float32", "float64", "float16"):
        for cap in (1e-5, 25):
            model = DDP(nn.ParameterList([nn.Parameter(clew.zeros(n, dtype=getattr(clew, name))) for n in (7, 1, 30)]),
                        bucket_cap_mb=cap, deterministic=True)  # fmt: skip
            model.module.forward = lambda parts, model=model: [
                (p * x).sum() for p, x in zip(model.module, parts, strict=True)
            ]
            parts = [[numpy.random.default_rng((one, n)).standard_normal(n).astype(name) for n in (7, 1, 30)]
                     for one in range(size)]  # fmt: skip
            sum(model([clew.from_numpy(x) for x in parts[rank]])).backward()
            for place, parameter in enumerate(model.module):
                wide = "float32" if name == "float16" else name
                total = parts[0][place].astype(wide)
                for other in parts[1:]:
                    total = total + other[place].astype(wide)
                assert same(parameter.grad, (total / numpy.asarray(size, wide)).astype(name)), (name, cap)


def check_buckets_are_sent_while_backward_runs():
    """When the gradient of the first layer comes, those of the last are under way or there."""
    model = DDP(make(), bucket_cap_mb=1e-4)
    launched = []
    model.module[0].weight.register_hook(lambda _: launched.append(model._reducer._launched))
    model(clew.tensor(INPUTS[0, rank])).sum().backward()
    assert launched[0] >= 3
    assert model._reducer._launched == 0  # and after it all are done


def check_two_backwards_of_one_graph():
    model, alone = DDP(make()), make()
    loss = model(clew.tensor(INPUTS[0, rank])).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    (2 * alone(clew.tensor(INPUTS[0].reshape(-1, 6))).sum() / size).backward()
    for ours, theirs in zip(model.parameters(), alone.parameters(), strict=True):
        assert numpy.allclose(ours.grad.numpy(), theirs.grad.numpy())


def check_no_sync():
    """Gradients of three passes are added up by each rank, and averaged once."""
    model = DDP(make())
    points = [clew.tensor(x[rank]) for x in INPUTS[:3]]
    with model.no_sync():
        for x in points[:2]:
            model(x).sum().backward()
    alone = make()
    sum(alone(x).sum() for x in points[:2]).backward()
    for ours, theirs in zip(model.parameters(), alone.parameters(), strict=True):
        assert numpy.allclose(ours.grad.numpy(), theirs.grad.numpy())
    model(points[2]).sum().backward()
    whole = make()
    (sum(whole(clew.tensor(x.reshape(-1, 6))).sum() for x in INPUTS[:3]) / size).backward()
    for ours, theirs in zip(model.parameters(), whole.parameters(), strict=True):
        assert numpy.allclose(ours.grad.numpy(), theirs.grad.numpy())


class Branches(nn.Module):
    """Rank 0 takes the first layer, the others the second; nobody the third."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 1) for _ in range(3)])

    def forward(self, x):
        return {"result": (self.layers[min(rank, 1)](x), None)}


def check_unused_parameters():
    model = DDP(Branches(), find_unused_parameters=True)
    x = numpy.arange(2.0) + rank
    for _ in range(2):
        model(clew.tensor(x, dtype=clew.float32))["result"][0].sum().backward()
        first, second, third = (layer.weight.grad for layer in model.module.layers)
        assert third is None
        expected = [numpy.arange(2.0) / size, sum(numpy.arange(2.0) + one for one in range(1, size)) / size]
        assert numpy.allclose(numpy.stack([first[0].numpy(), second[0].numpy()]), expected)
        model.zero_grad()
    model = DDP(Branches())
    model(clew.ones(2))["result"][0].sum().backward()
    raises(RuntimeError, "layers.2.weight", lambda: model(clew.ones(2)))


def check_buffers_are_those_of_rank_0():
    model = DDP(nn.BatchNorm1d(3, momentum=1.0))
    points = [numpy.random.default_rng(one).standard_normal((8, 3)).astype("float32") for one in range(size)]
    model(clew.from_numpy(points[rank])).sum().backward()
    model.eval()
    model(clew.ones(2, 3))
    assert numpy.allclose(model.module.running_mean.numpy(), points[0].mean(0), atol=1e-6)


def check_what_is_refused():
    raises(RuntimeError, "on rank 1", lambda: DDP(nn.Linear(2, 1 + (rank == 1))))
    raises(RuntimeError, "any parameters", lambda: DDP(nn.ReLU()))
    raises(ValueError, "the CPU", lambda: DDP(nn.Linear(1, 1), device_ids=[0]))


def check_the_sampler_asks_the_group():
    taken = list(clew.utils.data.DistributedSampler(range(10), shuffle=False))
    assert taken == [(rank + size * one) % 10 for one in range(-(-10 // size))]


run(globals() | vars(normalizing) | vars(real_models) | vars(sharding))
