"""Hooks of modules: order, arguments, replacement, removal."""

import pickle

import pytest


def test_hooks_run_in_pytorchs_order(agree):
    def program(m):
        events = []
        model = m.nn.Sequential(m.nn.Linear(2, 3), m.nn.Tanh())
        for name, module in model.named_modules():
            note = lambda event, name=name: lambda *args: events.append(f"{event} {name}")  # noqa: E731
            module.register_forward_pre_hook(note("before"))
            module.register_forward_pre_hook(note("first before"), prepend=True)
            module.register_forward_hook(note("after"))
            module.register_forward_hook(note("first after"), prepend=True)
            module.register_full_backward_pre_hook(note("backward before"))
            module.register_full_backward_hook(note("backward after"))
            module.register_full_backward_hook(note("first backward after"), prepend=True)
        x = m.rand(4, 2, requires_grad=True)
        y = model(x)
        y.sum().backward()
        return events, y, x.grad

    agree(program)


def test_forward_hooks_replace_arguments_and_results(torch):
    layer = torch.nn.Identity()
    layer.register_forward_pre_hook(lambda module, args: args[0] + 1)
    layer.register_forward_pre_hook(lambda module, args: (args[0] * 10,))
    layer.register_forward_hook(lambda module, args, output: output + args[0])
    layer.register_forward_hook(lambda module, args, output: None)
    assert layer(torch.tensor(2.0)).item() == 60


def test_hooks_with_keyword_arguments(torch):
    class Scale(torch.nn.Module):
        def forward(self, x, factor=1):
            return x * factor

    seen = []
    layer = Scale()
    layer.register_forward_pre_hook(lambda module, args, kwargs: (args, {"factor": 5}), with_kwargs=True)
    layer.register_forward_hook(lambda module, args, kwargs, output: seen.append(kwargs), with_kwargs=True)
    assert layer(torch.tensor(2.0), factor=3).item() == 10
    assert seen == [{"factor": 5}]


def test_a_pre_hook_with_keyword_arguments_returns_a_pair(torch):
    layer = torch.nn.Identity()
    layer.register_forward_pre_hook(lambda module, args, kwargs: args, with_kwargs=True)
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        layer(1)


def test_hooks_that_are_always_called_run_when_forward_fails(torch):
    class Failing(torch.nn.Module):
        def forward(self, x):
            raise ValueError("from forward")

    seen = []
    layer = Failing()
    layer.register_forward_hook(lambda module, args, output: seen.append("never"))
    layer.register_forward_hook(lambda module, args, output: seen.append(output), always_call=True)
    with pytest.raises(ValueError, match="from forward"):
        layer(1)
    assert seen == [None]

    def failing_hook(module, args, output):
        raise KeyError("from hook")

    layer.register_forward_hook(failing_hook, always_call=True)
    with pytest.warns(UserWarning, match="from hook"), pytest.raises(ValueError, match="from forward"):
        layer(1)


def test_a_hook_that_is_always_called_runs_once_when_a_later_hook_fails(torch):
    seen = []

    def failing_hook(module, args, output):
        raise KeyError("from hook")

    layer = torch.nn.Identity()
    layer.register_forward_hook(lambda module, args, output: seen.append(output), always_call=True)
    layer.register_forward_hook(failing_hook)
    with pytest.raises(KeyError):
        layer(1)
    assert seen == [1]


def test_handles_remove_their_hooks(torch):
    seen = []
    layer = torch.nn.Identity()
    handle = layer.register_forward_hook(lambda *args: seen.append(1))
    with layer.register_forward_hook(lambda *args: seen.append(2)):
        layer(0)
    layer(0)
    handle.remove()
    handle.remove()
    layer(0)
    assert seen == [1, 2, 1]


def test_a_hook_may_remove_itself(torch):
    seen = []
    layer = torch.nn.Identity()

    def once(module, args):
        seen.append(1)
        handle.remove()

    handle = layer.register_forward_pre_hook(once)
    layer(0)
    layer(0)
    assert seen == [1]


def noting_hook(module, args, output):
    return output * 2


def test_hooks_are_pickled_with_the_module(torch):
    layer = torch.nn.Identity()
    layer.register_forward_hook(noting_hook)
    twin = pickle.loads(pickle.dumps(layer))
    assert twin(torch.tensor(2.0)).item() == 4


def test_backward_hooks_see_gradients_of_positional_arguments(agree):
    def program(m):
        class Mixed(m.nn.Module):
            def forward(self, a, number, b):
                return a * number, (a * b).sum()

        seen = []
        layer = Mixed()
        layer.register_full_backward_pre_hook(lambda module, grad_output: seen.append(grad_output))
        layer.register_full_backward_hook(
            lambda module, grad_input, grad_output: seen.append((grad_input, grad_output))
        )
        a, b = m.rand(3, requires_grad=True), m.rand(3, requires_grad=True)
        first, second = layer(a, 2.0, b)
        (first.sum() + second * 3).backward()
        return seen, a.grad

    agree(program)


def test_backward_hooks_replace_gradients(agree):
    def program(m):
        layer = m.nn.Linear(2, 2)
        layer.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 2,))
        layer.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] * 10,))
        layer.register_full_backward_hook(lambda module, grad_input, grad_output: None)
        x = m.rand(3, 2, requires_grad=True)
        layer(x).sum().backward()
        return x.grad, layer.weight.grad

    agree(program)


def test_backward_hooks_of_a_module_whose_inputs_take_no_gradient(torch):
    seen = []
    layer = torch.nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append((grad_input, grad_output)))
    with pytest.warns(UserWarning, match="Full backward hook is firing"):
        layer(torch.ones(1, 2)).sum().backward()
    (((grad_input, grad_output)),) = seen
    assert grad_input == (None,)
    assert grad_output[0].tolist() == [[1.0, 1.0]]


def test_backward_hooks_do_nothing_without_gradients(torch):
    seen = []
    layer = torch.nn.Identity()
    layer.register_full_backward_hook(lambda *args: seen.append(1))
    x = torch.ones(2)
    assert layer(x) is x
    with torch.no_grad():
        layer(torch.ones(2, requires_grad=True))
    assert seen == []


def test_backward_hooks_must_return_as_many_gradients(torch):
    x = torch.ones(2, requires_grad=True)
    layer = torch.nn.Identity()
    with layer.register_full_backward_hook(lambda module, grad_input, grad_output: ()):
        y = layer(x)
        with pytest.raises(RuntimeError, match="invalid number of grad_input, got 0, but expected 1"):
            y.sum().backward()
    with layer.register_full_backward_pre_hook(lambda module, grad_output: (None, None)):
        y = layer(x)
        with pytest.raises(RuntimeError, match="invalid number of grad_output, got 2, but expected 1"):
            y.sum().backward()


def test_writing_in_place_to_the_output_of_a_hooked_module_is_an_error(torch):
    layer = torch.nn.Identity()
    layer.register_full_backward_hook(lambda *args: None)
    y = layer(torch.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match=r"Output 0 of BackwardHookFunction.* is being modified inplace"):
        y += 1


def test_backward_hooks_work_in_a_double_backward(agree):
    def program(m):
        count = []
        layer = m.nn.Linear(2, 1)
        layer.register_full_backward_hook(lambda *args: count.append(1))
        x = m.rand(3, 2, requires_grad=True)
        y = layer(x * x).tanh().sum()
        (g,) = m.autograd.grad(y, x, create_graph=True)
        g.sum().backward()
        return x.grad, layer.weight.grad, len(count)

    agree(program)


def test_hooks_for_all_modules(torch):
    from importlib import import_module

    module = import_module(f"{torch.__name__}.nn.modules.module")
    events = []
    handles = [
        module.register_module_forward_pre_hook(lambda m, args: events.append("before")),
        module.register_module_forward_hook(lambda m, args, output: events.append("after")),
        module.register_module_full_backward_hook(lambda m, gi, go: events.append("backward")),
    ]
    try:
        torch.nn.Identity()(torch.ones(1, requires_grad=True)).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    torch.nn.Identity()(torch.ones(1))
    assert events == ["before", "after", "backward"]
