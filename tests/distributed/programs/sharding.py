"""Optimizers' state shared out among ranks, against the plain optimizer. training.py runs these checks."""

import copy

import numpy
from common import clew, raises, rank, size

from clew import nn
from clew.distributed.optim import ZeroRedundancyOptimizer as Zero


class Counting(clew.optim.Optimizer):
    """Keeps its count among the options of its groups."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr, "count": 0})

    def step(self, closure=None):
        with clew.no_grad():
            for group in self.param_groups:
                group["count"] += 1
                for parameter in group["params"]:
                    parameter.sub_(parameter.grad, alpha=group["lr"] / group["count"])


OPTIMIZERS = (
    (Counting, {"lr": 0.01}),
    (clew.optim.AdamW, {"lr": 0.01, "weight_decay": 0.1}),
    (clew.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    (clew.optim.RMSprop, {"lr": 0.01}),
)


def make():
    clew.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2), nn.Linear(2, 1).double())


def groups(model):
    """Two of them, with options of their own and parameters of two dtypes."""
    return [{"params": model[0].parameters()}, {"params": [*model[2].parameters(), *model[3].parameters()], "lr": 0.02}]


def train(model, optimizer, steps, schedule=None):
    """The same on all ranks, as after a reduction of gradients."""
    for step in range(steps):
        optimizer.zero_grad()
        x = clew.from_numpy(numpy.random.default_rng(step).standard_normal((5, 3)).astype("float32"))
        model[3](model[:3](x).double()).square().sum().backward()
        optimizer.step()
        if schedule is not None:
            schedule.step()


def same_state(found, expected):
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same_state(found[key], expected[key]) for key in expected)
    if isinstance(expected, clew.Tensor):
        return found.dtype == expected.dtype and clew.equal(found, expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same_state, found, expected))
    return found == expected


def check_parameters_and_state_are_those_of_the_plain_optimizer():
    for kind, options in OPTIMIZERS:
        for as_views in (False, True):
            plain_model, model = make(), make()
            plain = kind(groups(plain_model), **options)
            shared = Zero(groups(model), kind, parameters_as_bucket_view=as_views, **options)
            for one, trained in ((plain, plain_model), (shared, model)):
                train(trained, one, 3, clew.optim.lr_scheduler.ExponentialLR(one, 0.5))
            assert same_state(model.state_dict(), plain_model.state_dict()), (kind, as_views)
            raises(RuntimeError, "has not been consolidated on this rank", shared.state_dict)
            shared.consolidate_state_dict(to=size - 1)
            if rank == size - 1:
                assert same_state(shared.state_dict(), plain.state_dict()), (kind, shared.state_dict())
            else:
                raises(RuntimeError, f"to={rank}", shared.state_dict)


def check_each_rank_keeps_its_part():
    model = make()
    optimizer = Zero(model.parameters(), clew.optim.Adam)
    train(model, optimizer, 1)
    sizes = [parameter.numel() for parameter in model.parameters()]
    kept = [key.numel() for key in optimizer.state]
    assert sum(kept) <= sum(sizes) / size + max(sizes), (kept, sizes)
    assert len(kept) < len(sizes)


def check_training_goes_on_from_a_plain_optimizers_state():
    plain_model, model = make(), make()
    plain = clew.optim.Adam(groups(plain_model), lr=0.01)
    train(plain_model, plain, 3)
    saved = copy.deepcopy(plain.state_dict())
    model.load_state_dict(plain_model.state_dict())
    shared = Zero(groups(model), clew.optim.Adam, lr=0.5)
    shared.load_state_dict(saved)
    train(plain_model, plain, 2)
    train(model, shared, 2)
    assert same_state(model.state_dict(), plain_model.state_dict())


def check_groups_that_come_later():
    plain_model, model = make(), make()
    plain = clew.optim.SGD(plain_model[0].parameters(), lr=0.1, momentum=0.5)
    shared = Zero(model[0].parameters(), clew.optim.SGD, lr=0.1, momentum=0.5)
    for one, trained in ((plain, plain_model), (shared, model)):
        train(trained, one, 1)
        one.add_param_group({"params": trained[2].parameters(), "lr": 0.01})
        train(trained, one, 2)
    assert same_state(model.state_dict(), plain_model.state_dict())


def check_what_is_not_supported():
    raises(
        NotImplementedError,
        "overlap_with_ddp",
        lambda: Zero(make().parameters(), clew.optim.SGD, overlap_with_ddp=True),
    )
