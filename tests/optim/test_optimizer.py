"""What all optimizers share: groups, state, hooks, closures, text, errors."""

import copy
import pickle

import numpy
import pytest


def parameter(torch, *values):
    return torch.nn.Parameter(torch.tensor(values or (1.0, 2.0)))


def with_gradient(torch, *values):
    weight = parameter(torch, *values)
    (weight * weight).sum().backward()
    return weight


KINDS = [
    ("SGD", {"momentum": 0.9}),
    ("Adam", {"amsgrad": True}),
    ("AdamW", {}),
    ("Adagrad", {}),
    ("RMSprop", {"centered": True, "momentum": 0.5}),
    ("Adadelta", {}),
    ("Adamax", {}),
    ("NAdam", {}),
    ("RAdam", {}),
    ("Rprop", {}),
    ("ASGD", {}),
    ("Adafactor", {}),
]


def test_the_text_is_pytorchs(agree):
    def program(m):
        weights = [parameter(m), parameter(m)]
        return [
            repr(m.optim.SGD([{"params": weights[0], "lr": 0.5}, {"params": weights[1]}], lr=0.1)),
            repr(m.optim.Adam(weights)),
            repr(m.optim.AdamW(weights, lr=0.1)),
            repr(m.optim.LBFGS(weights)),
        ]

    agree(program)


@pytest.mark.unsanitized("comparisons with PyTorch are made without sanitizers")
def test_options_and_defaults_are_pytorchs(agree):
    def program(m):
        weights = [parameter(m)]
        optimizers = [getattr(m.optim, kind)(weights) for kind in [*dict(KINDS), "LBFGS", "SparseAdam"]]
        saved = [optimizer.state_dict() for optimizer in optimizers]
        groups = [optimizer.defaults for optimizer in optimizers] + [state["param_groups"][0] for state in saved]
        # The order of options means nothing.
        return [sorted(group.items()) for group in groups], [state["state"] for state in saved]

    agree(program)


@pytest.mark.beyond
def test_a_result_among_the_parameters_is_named_with_its_line(torch):
    w = torch.ones(2, requires_grad=True)
    scaled = w / 2
    with pytest.raises(ValueError, match=r"`scaled`, which div computed at test_optimizer\.py:\d+\. To do: optimize"):
        torch.optim.SGD([w, scaled], lr=0.1)
    with pytest.raises(ValueError, match=r"got one of shape \(2,\), which mul computed at test_optimizer\.py"):
        torch.optim.Adam([w * 3], lr=0.1)


@pytest.mark.parametrize(
    ("act", "error", "text"),
    [
        (lambda m, w: m.optim.SGD(w), TypeError, "params argument given to the optimizer should be an iterable"),
        (lambda m, w: m.optim.SGD([]), ValueError, "optimizer got an empty parameter list"),
        (lambda m, w: m.optim.SGD([3]), TypeError, "optimizer can only optimize Tensors, but one of the params is int"),
        (lambda m, w: m.optim.SGD([w * 2]), ValueError, "can't optimize a non-leaf Tensor"),
        (lambda m, w: m.optim.SGD([{"params": {w}}]), TypeError, "ordered collections"),
        (lambda m, w: m.optim.SGD([w], lr=-1.0), ValueError, "Invalid learning rate: -1.0"),
        (lambda m, w: m.optim.SGD([w], lr=m.ones(2)), ValueError, "Tensor lr must be 1-element"),
        (lambda m, w: m.optim.SGD([w], momentum=-1.0), ValueError, "Invalid momentum value: -1.0"),
        (lambda m, w: m.optim.SGD([w], weight_decay=-1.0), ValueError, "Invalid weight_decay value: -1.0"),
        (lambda m, w: m.optim.SGD([w], nesterov=True), ValueError, "Nesterov momentum requires a momentum"),
        (lambda m, w: m.optim.Adam([w], lr=-1.0), ValueError, "Invalid learning rate: -1.0"),
        (lambda m, w: m.optim.Adam([w], eps=-1.0), ValueError, "Invalid epsilon value: -1.0"),
        (lambda m, w: m.optim.Adam([w], betas=(1.0, 0.9)), ValueError, "Invalid beta parameter at index 0: 1.0"),
        (lambda m, w: m.optim.Adam([w], betas=(0.9, -0.1)), ValueError, "Invalid beta parameter at index 1: -0.1"),
        (lambda m, w: m.optim.AdamW([w], weight_decay=-1.0), ValueError, "Invalid weight_decay value: -1.0"),
        (lambda m, w: m.optim.Adagrad([w], lr_decay=-1.0), ValueError, "Invalid lr_decay value: -1.0"),
        (lambda m, w: m.optim.Rprop([w], etas=(1.5, 1.2)), ValueError, r"Invalid eta values: 1\.5, 1\.2"),
        (lambda m, w: m.optim.Adadelta([w], rho=1.5), ValueError, r"Invalid rho value: 1\.5"),
        (lambda m, w: m.optim.NAdam([w], betas=(1.0, 0.9)), ValueError, "Invalid beta parameter at index 0: 1.0"),
        (lambda m, w: m.optim.Adafactor([w], d=0.5), ValueError, "Clipping threshold d should be >= 1 but is: 0.5"),
        (lambda m, w: m.optim.Muon([w], adjust_lr_fn="none"), ValueError, "function none is not supported"),
        (lambda m, w: m.optim.Muon([w]), ValueError, "Muon only supports 2D parameters whereas we found"),
        (lambda m, w: m.optim.SGD([w], fused=True, foreach=True), RuntimeError, "cannot be `True` together"),
        (lambda m, w: m.optim.SGD([w]).add_param_group([w]), TypeError, "param_group must be a dict"),
        (lambda m, w: m.optim.SGD([w]).add_param_group({"params": [w]}), ValueError, "more than one parameter group"),
        (
            lambda m, w: m.optim.LBFGS([{"params": [w]}, {"params": [parameter(m)]}]),
            ValueError,
            "LBFGS doesn't support",
        ),
        (lambda m, w: m.optim.LBFGS([w]).step(), TypeError, None),
    ],
)
def test_bad_arguments_are_refused(act, error, text, torch):
    with pytest.raises(error, match=text):
        act(torch, parameter(torch))


def test_sparse_adam_wants_sparse_gradients(torch):
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients"):
        torch.optim.SparseAdam([with_gradient(torch)]).step()


def test_duplicates_in_a_group_warn(torch):
    weight = parameter(torch)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        torch.optim.SGD([weight, weight])


def test_named_parameters_are_taken(torch):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.named_parameters())
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.param_groups[0]["params"][0] is model.weight
    with pytest.raises(ValueError, match="with/without names"):
        optimizer.add_param_group({"params": [parameter(torch)]})


def test_a_group_is_added_with_the_defaults(torch):
    optimizer = torch.optim.SGD([parameter(torch)], lr=0.1, momentum=0.9)
    added = with_gradient(torch, 1.0)
    optimizer.add_param_group({"params": [added], "momentum": 0})
    assert optimizer.param_groups[1]["lr"] == 0.1
    optimizer.step()
    assert added.item() == pytest.approx(0.8)


def test_options_may_change_between_steps(torch):
    weight = with_gradient(torch, 1.0)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    optimizer.param_groups[0]["lr"] = 0.5
    optimizer.step()
    assert weight.item() == 0.0


def test_zero_grad_drops_or_zeroes(torch):
    weight = with_gradient(torch)
    optimizer = torch.optim.SGD([weight])
    grad = weight.grad
    optimizer.zero_grad(set_to_none=False)
    assert weight.grad is grad
    assert not grad.any()
    optimizer.zero_grad()
    assert weight.grad is None
    optimizer.step()


def test_a_closure_is_evaluated_with_gradients(torch):
    weight = parameter(torch, 1.0)
    for optimizer in (torch.optim.SGD([weight], lr=0.25), torch.optim.Adam([weight])):
        weight.grad = None

        def closure():
            loss = (weight * weight).sum()
            loss.backward()
            return loss

        with torch.no_grad():
            before = weight.item()
            assert optimizer.step(closure).item() == before**2
        assert weight.item() != before


def test_hooks_run_around_a_step(torch):
    events = []
    optimizer = torch.optim.SGD([with_gradient(torch)])
    before = optimizer.register_step_pre_hook(lambda opt, args, kwargs: events.append(("before", args[1:], kwargs)))
    after = optimizer.register_step_post_hook(lambda opt, args, kwargs: events.append(("after", opt is optimizer)))
    optimizer.step()
    optimizer.step(closure=None)
    before.remove()
    after.remove()
    optimizer.step()
    assert events == [("before", (), {}), ("after", True), ("before", (), {"closure": None}), ("after", True)]


def test_a_step_hook_may_replace_the_arguments(torch):
    weight = with_gradient(torch, 1.0)
    optimizer = torch.optim.SGD([weight])
    handle = optimizer.register_step_pre_hook(lambda opt, args, kwargs: ((opt, lambda: "loss"), {}))
    assert optimizer.step() == "loss"
    handle.remove()
    optimizer.register_step_pre_hook(lambda opt, args, kwargs: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        optimizer.step()


def test_optimizers_of_users(torch):
    class Sign(torch.optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for weight in group["params"]:
                    if weight.grad is not None:
                        weight.add_(weight.grad.sign(), alpha=-group["lr"])
                        self.state[weight]["steps"] = self.state[weight].get("steps", 0) + 1

    events = []
    weight = with_gradient(torch, 1.0)
    optimizer = Sign([weight], 0.5)
    optimizer.register_step_post_hook(lambda *args: events.append(1))
    optimizer.step()
    assert weight.item() == 0.5
    assert events == [1]
    assert optimizer.state_dict()["state"] == {0: {"steps": 1}}


def test_hooks_run_once_when_a_step_calls_its_base_class(torch, on_oracle):
    class Counting(torch.optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    events = []
    optimizer = Counting([with_gradient(torch)])
    optimizer.register_step_post_hook(lambda *args: events.append(1))
    optimizer.step()
    assert on_oracle or events == [1]


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_state_goes_to_pytorch_and_back(kind, options, torch, oracle):
    def step(m, weight, optimizer):
        optimizer.zero_grad()
        (weight**3).sum().backward()
        optimizer.step()
        return weight.detach().numpy().copy()

    def across(value, target):
        if hasattr(value, "detach"):
            return target.from_numpy(value.detach().numpy().copy())
        if isinstance(value, dict):
            return {key: across(part, target) for key, part in value.items()}
        return [across(part, target) for part in value] if isinstance(value, list) else value

    def start(m):
        weight = parameter(m)
        return m, weight, getattr(m.optim, kind)([weight], lr=0.1, **options)

    ours, theirs = start(torch), start(oracle)
    for _ in range(3):
        step(*ours)
    for (_, weight, optimizer), (target, other_weight, other_optimizer) in [(ours, theirs), (theirs, ours)]:
        other_optimizer.load_state_dict(across(optimizer.state_dict(), target))
        with target.no_grad():
            other_weight.copy_(across(weight, target))
        for _ in range(2):
            numpy.testing.assert_allclose(step(*ours), step(*theirs), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_loaded_state_is_fitted_to_the_parameters(kind, options, torch):
    weight = with_gradient(torch)
    optimizer = getattr(torch.optim, kind)([weight], **options)
    optimizer.step()
    twin = torch.nn.Parameter(torch.ones(2, dtype=torch.float64))
    other = getattr(torch.optim, kind)([twin], **options)
    other.load_state_dict(optimizer.state_dict())
    for name, value in other.state[twin].items():
        assert value.dtype == (torch.float32 if name == "step" else torch.float64)
    (twin * twin).sum().backward()
    other.step()


@pytest.mark.beyond
def test_loaded_state_is_a_copy(torch):
    weight = with_gradient(torch)
    optimizer = torch.optim.SGD([weight], momentum=0.9)
    optimizer.step()
    other = torch.optim.SGD([weight], momentum=0.9)
    other.load_state_dict(optimizer.state_dict())
    before = optimizer.state[weight]["momentum_buffer"].tolist()
    other.step()
    assert optimizer.state[weight]["momentum_buffer"].tolist() == before


def test_state_of_another_shape_is_refused(torch):
    one = torch.optim.SGD([parameter(torch)])
    two = torch.optim.SGD([{"params": [parameter(torch)]}, {"params": [parameter(torch)]}])
    more = torch.optim.SGD([parameter(torch), parameter(torch)])
    with pytest.raises(ValueError, match="different number of parameter groups"):
        one.load_state_dict(two.state_dict())
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        one.load_state_dict(more.state_dict())


def test_hooks_run_around_saving_and_loading(torch):
    events = []
    optimizer = torch.optim.SGD([parameter(torch)])
    optimizer.register_state_dict_pre_hook(lambda opt: events.append("before saving"))
    optimizer.register_state_dict_post_hook(lambda opt, state: {**state, "note": 1})
    optimizer.register_load_state_dict_pre_hook(lambda opt, state: events.append(state.get("note")))
    optimizer.register_load_state_dict_post_hook(lambda opt: events.append("after loading"))
    optimizer.load_state_dict(optimizer.state_dict())
    assert events == ["before saving", 1, "after loading"]


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_copies_go_on_from_the_same_state(kind, options, torch):
    weight = with_gradient(torch)
    optimizer = getattr(torch.optim, kind)([weight], **options)
    optimizer.step()
    for weights, twin in (copy.deepcopy(([weight], optimizer)), pickle.loads(pickle.dumps(([weight], optimizer)))):
        assert twin.param_groups[0]["params"][0] is weights[0]
        assert list(twin.state) == weights
        (weights[0] ** 2).sum().backward()
        twin.step()


def test_a_subclass_need_not_call_init(agree):
    """As accelerate's AcceleratedOptimizer, which hands all on."""

    def program(m):
        class Wrapped(m.optim.Optimizer):
            def __init__(self, optimizer):
                self.optimizer = optimizer

            param_groups = property(lambda self: self.optimizer.param_groups)

            def step(self, closure=None):
                self.optimizer.step(closure)

        parameter = m.nn.Parameter(m.ones(2))
        parameter.grad = m.ones(2)
        wrapped = Wrapped(m.optim.SGD([parameter], 0.1))
        wrapped.step()
        return parameter

    agree(program)
