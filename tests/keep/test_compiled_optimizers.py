"""6.6, last sentence: optimizers compute from `step` and their options by recorded operations and read no number.

So every optimizer's step can be run again by a kept program, with the bits of a step by Python.
"""

import inspect
import re
import warnings

import pytest

import clew

pytestmark = pytest.mark.beyond

# LBFGS decides by values how often it calls its closure; SparseAdam takes no dense gradient.
BY_VALUES = {"LBFGS", "SparseAdam"}
OPTIMIZERS = sorted(
    name
    for name, kind in vars(clew.optim).items()
    if inspect.isclass(kind) and issubclass(kind, clew.optim.Optimizer) and name not in ("Optimizer", *BY_VALUES)
)
# Whatever of these an optimizer has, all at once. Its path changes after some steps (t0, and RAdam's bound).
MANY = {
    "momentum": 0.9,
    "weight_decay": 0.1,
    "maximize": True,
    "amsgrad": True,
    "centered": True,
    "lr_decay": 0.1,
    "t0": 4.0,
    "decoupled_weight_decay": True,
    "betas": (0.5, 0.6),
}


def options_of(name, chosen):
    taken = inspect.signature(getattr(clew.optim, name)).parameters
    return {key: value for key, value in chosen.items() if key in taken}


def trainer(name, options):
    """A step of training, and all tensors that it changes."""
    clew.manual_seed(3)
    weight, parts = clew.nn.Parameter(clew.randn(3, 2)), [clew.nn.Parameter(clew.randn(2))]
    parameters = [weight] if name == "Muon" else [weight, *parts]
    optimizer = getattr(clew.optim, name)(parameters, **options)
    x = clew.randn(5, 3)

    def step():
        optimizer.zero_grad()
        y = (x @ weight + parts[0]).tanh().square().sum()
        y.backward()
        optimizer.step()

    def state():
        tensors = [value for one in parameters for value in optimizer.state[one].values()]
        return [one.detach().numpy().tobytes() for one in (*parameters, *tensors)]

    return step, state


def test_the_list_of_optimizers_is_not_empty():
    assert {"SGD", "Adam", "NAdam", "RAdam", "Adamax", "ASGD", "Adafactor"} < set(OPTIMIZERS)


@pytest.mark.parametrize("chosen", [{}, MANY], ids=["defaults", "options"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_kept_step_goes_on_as_eager_does(name, chosen):
    options = options_of(name, chosen)
    (step, state), (eager_step, eager_state) = trainer(name, options), trainer(name, options)
    step(), eager_step()
    with clew.keep_graph() as program:
        step()
    eager_step()
    for _ in range(10):
        before = state()
        program.run()
        eager_step()
        assert state() == eager_state()
        assert state() != before
    assert not [one.op for one in program.steps if one.op.startswith("read.")]


@pytest.mark.parametrize(("key", "value"), [("lr", 0.01), ("betas", (0.5, 0.9))])
def test_an_option_is_as_it_was_recorded_and_a_change_of_it_is_told_once(key, value):
    """What the block's Python read is constant; eager with the old option is what the program goes on with."""
    (step, state), (eager_step, eager_state) = trainer("Adam", {}), trainer("Adam", {})
    step(), eager_step()
    optimizer = inspect.getclosurevars(step).nonlocals["optimizer"]
    with clew.keep_graph() as program:
        step()
    eager_step()
    program.run(), eager_step()  # nothing to tell: warnings are errors
    was = optimizer.param_groups[0][key]
    optimizer.param_groups[0][key] = value
    said = f"run: expected `{key}` of Adam to be {was}, as in the recorded run, got {value}; "
    with pytest.warns(clew.KeepWarning, match=re.escape(said) + ".*To do: use clew.compile"):
        program.run()
    program.run(), eager_step(), eager_step()
    assert state() == eager_state()


def test_a_state_that_was_loaded_is_told_once():
    """The program goes on with the tensors that it has recorded, which the optimizer has no longer."""
    step, _ = trainer("Adam", {})
    step()
    optimizer = inspect.getclosurevars(step).nonlocals["optimizer"]
    with clew.keep_graph() as program:
        step()
    program.run()  # nothing to tell: warnings are errors
    optimizer.load_state_dict(optimizer.state_dict())
    with pytest.warns(clew.KeepWarning, match=r"run: expected the state of Adam .*load_state_dict.*To do: use clew"):
        program.run()
    program.run()


def test_each_option_of_each_group_is_told_once():
    """What was told of one hides nothing of the others, nor of the state."""
    first, second = clew.ones(2).requires_grad_(), clew.ones(2).requires_grad_()
    optimizer = clew.optim.SGD([{"params": [first]}, {"params": [second], "lr": 0.5}], lr=0.25, momentum=0.5)

    def step():
        optimizer.zero_grad()
        (first * second).sum().backward()
        optimizer.step()

    def told():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            program.run()
        return [
            re.match("run: expected (.*?) to be (.*?)[,;].*? got (.*?)[,;]", str(one.message)).groups()
            for one in caught
        ]

    step()
    with clew.keep_graph() as program:
        step()
    assert told() == []
    groups = optimizer.param_groups
    groups[0]["lr"] = 0.125
    assert told() == [("`lr` of group 0 of SGD", "0.25", "0.125")]
    groups[0]["lr"] = 0.0625
    groups[1]["lr"] = 0.125
    groups[1]["momentum"] = 0.25
    assert sorted(told()) == [
        ("`lr` of group 1 of SGD", "0.5", "0.125"),
        ("`momentum` of group 1 of SGD", "0.5", "0.25"),
    ]
    assert told() == []
    groups[0]["momentum"] = 0.25
    optimizer.load_state_dict(optimizer.state_dict())
    said = told()
    assert said[0][0] == "the state of SGD"
    assert said[1:] == [("`momentum` of group 0 of SGD", "0.5", "0.25")]
    assert told() == []
    del optimizer.param_groups[1]
    with pytest.warns(clew.KeepWarning, match="SGD to have as many groups as in the recorded run"):
        program.run()
    assert told() == []


def test_a_rate_that_is_a_tensor_is_a_guard():
    weight = clew.ones(3).requires_grad_()
    optimizer = clew.optim.SGD([weight], lr=clew.tensor(0.5))
    schedule = clew.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    weight.grad = clew.ones(3)
    with clew.keep_graph() as program:
        optimizer.step()
    program.run()
    schedule.step()
    before = weight.tolist()
    with pytest.raises(clew.ReplayError, match=r"0\.5 then, 0\.25 now"):
        program.run()
    assert weight.tolist() == before == [0.0] * 3


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_a_differentiable_step_reads_no_number(name):
    weight = clew.ones(3).requires_grad_()
    optimizer = getattr(clew.optim, name)([weight], lr=0.1, differentiable=True)
    with clew.keep_graph() as program:
        optimizer.param_groups[0]["params"] = [moved := weight.clone()]
        moved.grad = clew.tensor([1.0, 2.0, 3.0])
        optimizer.step()
        moved.sum().backward()
    assert not [one.op for one in program.steps if one.op.startswith("read.")]


VARIANTS = {
    "SGD": [{}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1, "maximize": True}],
    "Adam": [{}, {"amsgrad": True, "weight_decay": 0.1}, {"maximize": True, "betas": (0.5, 0.6), "eps": 1e-3}],
    "AdamW": [{}, {"amsgrad": True}, {"capturable": True}, {"foreach": True}, {"fused": True}],
}


@pytest.mark.parametrize(
    ("name", "options"), [(name, options) for name, several in VARIANTS.items() for options in several], ids=str
)
@pytest.mark.records_calls
def test_a_compiled_step_follows_its_schedule(name, options):
    """Memory that is dense, transposed, in steps, float64 and complex; the learning rate is another one each time."""

    def trainer(compile):
        clew.manual_seed(5)
        parameters = [
            clew.randn(3, 2),
            clew.randn(4, 3).T,
            clew.randn(3, 8)[:, ::2],
            clew.randn(50000),
            clew.randn(3, dtype=clew.float64),
            clew.randn(2, dtype=clew.complex64),
        ]
        for one in parameters:
            one.requires_grad_()
        optimizer = getattr(clew.optim, name)(parameters, lr=0.1, **options)
        scheduler = clew.optim.lr_scheduler.ExponentialLR(optimizer, 0.7)

        def step(scale):
            optimizer.zero_grad()
            loss = sum((one * one.conj()).real.mul(scale).tanh().sum() for one in parameters)
            loss.backward()
            optimizer.step()
            return loss.item()

        run = clew.compile(step) if compile else step

        def state():
            tensors = [value for one in parameters for value in optimizer.state[one].values() if value is not None]
            return [one.detach().resolve_conj().numpy().tobytes() for one in (*parameters, *tensors)]

        def call(i):
            result = run(clew.full((), 1.0 + i))
            scheduler.step()
            return result, state()

        return call, run

    (kept, run), (eager, _) = trainer(True), trainer(False)
    for i in range(8):
        assert kept(i) == eager(i)
    assert run.hits >= 5
