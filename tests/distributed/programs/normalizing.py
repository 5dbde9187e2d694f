"""Batch normalization over all ranks' batches, against one over the whole batch. training.py runs these checks."""

import numpy
from common import clew, dist, raises, rank, size

from clew import nn
from clew.nn.parallel import DistributedDataParallel as DDP

LENGTHS = [(3 * one) % 7 for one in range(1, size + 1)]  # of the ranks' batches: 3, 6, 2, 5
STARTS = numpy.cumsum([0, *LENGTHS])


def batch(*shape, seed=0):
    """The whole batch, far from zero, and this rank's part of it."""
    whole = 100 + numpy.random.default_rng(seed).standard_normal((STARTS[-1], *shape))
    return whole, whole[STARTS[rank] : STARTS[rank + 1]]


def check_values_gradients_and_statistics_are_those_of_the_whole_batch():
    for kind, shape, dtype, tolerance in (
        (nn.BatchNorm1d, (5,), clew.float64, 1e-9),
        (nn.BatchNorm2d, (2, 3, 4), clew.float32, 2e-4),
        (nn.BatchNorm1d, (2, 3), clew.float16, 0.3),
    ):
        for momentum in (0.1, None):
            clew.manual_seed(0)
            whole = kind(shape[0], momentum=momentum, dtype=dtype)
            whole = whole.float() if dtype == clew.float16 else whole
            with clew.no_grad():
                whole.weight.uniform_(0.5, 2)
                whole.bias.uniform_(-1, 1)
            synced = nn.SyncBatchNorm.convert_sync_batchnorm(kind(shape[0], momentum=momentum, dtype=dtype))
            synced.load_state_dict(whole.state_dict())
            for seed in range(2):
                x_whole, x_part = batch(*shape, seed=seed)
                x_whole = clew.tensor(x_whole, dtype=whole.weight.dtype, requires_grad=True)
                x_part = clew.tensor(x_part, dtype=dtype, requires_grad=True)
                slopes = clew.tensor(batch(*shape, seed=9)[0] - 100, dtype=whole.weight.dtype)
                here = slice(STARTS[rank], STARTS[rank + 1])
                expected, found = whole(x_whole), synced(x_part)
                (expected * slopes).sum().backward()
                (found * slopes[here].to(dtype)).sum().backward()
                pairs = [(found, expected[here]), (x_part.grad, x_whole.grad[here])]
                pairs += [(getattr(synced, name), getattr(whole, name)) for name in ("running_mean", "running_var")]
                for one in (synced.weight, synced.bias):  # DistributedDataParallel would average them
                    dist.all_reduce(one.grad)
                pairs += [(synced.weight.grad, whole.weight.grad), (synced.bias.grad, whole.bias.grad)]
                for ours, theirs in pairs:
                    ours, theirs = ours.detach().double(), theirs.detach().double()
                    assert clew.allclose(ours, theirs, rtol=tolerance, atol=tolerance), (kind, dtype, ours, theirs)
                assert found.dtype == dtype
                synced.zero_grad()
                whole.zero_grad()


def check_gradients_of_gradients():
    x_whole, x_part = batch(2)
    whole, synced = nn.BatchNorm1d(2).double(), nn.SyncBatchNorm(2).double()
    results = []
    for layer, x in ((whole, x_whole), (synced, x_part)):
        x = clew.tensor(x, requires_grad=True)
        (slope,) = clew.autograd.grad(layer(x).pow(3).sum(), x, create_graph=True)
        slope.square().sum().backward()
        results.append(x.grad.numpy())
    assert numpy.allclose(results[1], results[0][STARTS[rank] : STARTS[rank + 1]], rtol=1e-6, atol=1e-9)


def check_a_rank_without_samples():
    """Its statistics count for nothing: those of the others are those of the whole batch."""
    whole = numpy.random.default_rng(3).standard_normal((2 * (size - 1), 3))
    slopes = numpy.random.default_rng(4).standard_normal(whole.shape)
    here = slice(0, 0) if rank == 0 else slice(2 * (rank - 1), 2 * rank)
    layers, inputs = (nn.BatchNorm1d(3).double(), nn.SyncBatchNorm(3).double()), []
    for layer, part in zip(layers, (slice(None), here), strict=True):
        inputs.append(clew.tensor(whole[part], requires_grad=True))
        (layer(inputs[-1]) * clew.tensor(slopes[part])).sum().backward()
    assert clew.allclose(layers[1].running_mean, layers[0].running_mean)
    assert clew.allclose(layers[1].running_var, layers[0].running_var)
    assert clew.allclose(inputs[1].grad, inputs[0].grad[here])


def check_statistics_that_are_not_tracked_stay():
    layer = nn.SyncBatchNorm(2)
    layer.track_running_stats = False
    layer(clew.tensor(batch(2)[1], dtype=clew.float32))
    assert layer.running_mean.tolist() == [0, 0]


def check_a_rank_outside_of_the_group_normalizes_alone():
    group = dist.new_group([0])
    x = batch(2)[1]
    found = nn.SyncBatchNorm(2, process_group=group).double()(clew.tensor(x))
    assert clew.allclose(found, nn.BatchNorm1d(2).double()(clew.tensor(x)))


def check_training_with_it_is_training_with_the_whole_batch():
    x_whole, x_part = batch(4)
    curves = []
    for x in (x_part, x_whole):
        clew.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Linear(6, 1)).double()
        if x is x_part:
            model = DDP(nn.SyncBatchNorm.convert_sync_batchnorm(model))
        optimizer = clew.optim.SGD(model.parameters(), lr=0.1)
        curve = []
        for _ in range(4):
            optimizer.zero_grad()
            # The gradients' mean over ranks times their number is the sum over all samples.
            loss = model(clew.tensor(x)).square().sum() * (size if x is x_part else 1) / len(x_whole)
            loss.backward()
            optimizer.step()
            curve.append(loss.item() / (size if x is x_part else 1))
        curves.append(numpy.array(curve))
    total = clew.tensor(curves[0])
    dist.all_reduce(total)
    assert numpy.allclose(total.numpy(), curves[1], rtol=1e-9), (total, curves[1])


def check_what_it_refuses():
    raises(ValueError, "at least 2D", lambda: nn.SyncBatchNorm(3)(clew.ones(3)))
    raises(ValueError, "got 1 in all ranks", lambda: nn.SyncBatchNorm(3)(clew.ones(int(rank == 0), 3)))
