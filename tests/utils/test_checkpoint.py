"""Checkpoints: the same results and gradients, less kept, random numbers repeated, mistakes told."""

import gc
import importlib
import weakref

import pytest


@pytest.fixture
def checkpoint_module(torch):
    return importlib.import_module(f"{torch.__name__}.utils.checkpoint")


@pytest.fixture
def checkpoint(checkpoint_module):
    return checkpoint_module.checkpoint


def plain(function, *args, use_reentrant=None, **options):
    return function(*args)


def run(torch, apply, nested, reentrant):
    """Outputs, gradients and the next random number of a small model, whose parts are run by `apply`."""
    torch.manual_seed(0)
    weight = torch.randn(4, 4, requires_grad=True)
    x = torch.randn(3, 4, requires_grad=True)

    def inner(x):
        return torch.dropout((x @ weight).tanh(), 0.5, True).exp()

    def outer(x):
        y = apply(inner, x, use_reentrant=reentrant).sin()
        return apply(inner, y, use_reentrant=reentrant).cos()

    output = apply(outer, x, use_reentrant=reentrant) if nested else outer(x)
    output.sum().backward()
    return output, weight.grad, x.grad, torch.rand(1)


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("reentrant", [False, True])
def test_results_and_gradients_are_the_same(nested, reentrant, torch, checkpoint, on_oracle):
    if on_oracle and nested and reentrant:
        pytest.skip("PyTorch warns of the inner checkpoint's inputs")
    expected = run(torch, plain, nested, reentrant)
    got = run(torch, checkpoint, nested, reentrant)
    for one, other in zip(expected, got, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("reentrant", [False, True])
def test_nothing_inside_is_kept(reentrant, torch, checkpoint):
    seen = []

    def function(x):
        middle = x.exp()
        seen.append(weakref.ref(middle))
        return middle.exp()

    x = torch.ones(3, requires_grad=True)
    y = checkpoint(function, x, use_reentrant=reentrant)
    gc.collect()
    assert seen[0]() is None
    y.sum().backward()
    assert len(seen) == 2
    assert torch.allclose(x.grad, x.detach().exp() * x.detach().exp().exp())


def test_recomputed_tensors_are_given_up_one_by_one(torch, checkpoint, checkpoint_module):
    x = torch.ones(3, requires_grad=True)
    y = checkpoint(lambda x: x.exp().exp(), x, use_reentrant=False)
    for _ in range(3):
        x.grad = None
        y.sum().backward(retain_graph=True)
        assert torch.allclose(x.grad, torch.tensor(1.0).exp() * torch.tensor(1.0).exp().exp())


def test_derivatives_of_higher_order(torch, checkpoint):
    def derivatives(apply):
        x = torch.linspace(0.1, 1.0, 3, dtype=torch.float64).requires_grad_()
        y = apply(lambda x: x.exp() * x.sin(), x, use_reentrant=False)
        (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
        return first, second

    for one, other in zip(derivatives(plain), derivatives(checkpoint), strict=True):
        assert torch.allclose(one, other)


@pytest.mark.parametrize("early_stop", [False, True])
@pytest.mark.parametrize("retain", [False, True])
def test_a_backward_inside_the_function(early_stop, retain, torch, checkpoint, checkpoint_module):
    def function(x):
        y = x.sin()
        z = y.cos()
        (inner,) = torch.autograd.grad(z.sum(), x, retain_graph=retain)
        return inner * (z if retain else x.cos())

    gradients = []
    for apply in (plain, checkpoint):
        x = torch.linspace(0.1, 1.0, 3).requires_grad_()
        with checkpoint_module.set_checkpoint_early_stop(early_stop):
            y = apply(function, x, use_reentrant=False)
        y.sum().backward()
        gradients.append(x.grad)
    assert torch.allclose(*gradients)


@pytest.mark.parametrize(("early_stop", "lines"), [(True, 1), (False, 2)])
def test_recomputation_stops_early(early_stop, lines, torch, checkpoint):
    ran = []

    def function(x):
        ran.append("first")
        y = x.exp()
        ran.append("second")
        return y + 1

    x = torch.ones(2, requires_grad=True)
    y = checkpoint(function, x, use_reentrant=False, early_stop=early_stop)
    ran.clear()
    y.sum().backward()
    assert len(ran) == lines


def test_random_numbers_may_be_left_alone(torch, checkpoint):
    x = torch.ones(1000, requires_grad=True)
    y = checkpoint(lambda x: torch.dropout(x, 0.5, True) * x, x, use_reentrant=False, preserve_rng_state=False)
    y.sum().backward()
    assert not torch.equal(x.grad, 2 * y.detach())


def test_arguments_of_all_kinds(torch, checkpoint):
    x, y = torch.ones(2, requires_grad=True), torch.full((2,), 3.0)

    def function(x, number, y, *, factor):
        return x * number * y * factor, x + y

    first, second = checkpoint(function, x, 2, y, use_reentrant=False, factor=5)
    (first.sum() + second.sum()).backward()
    assert x.grad.tolist() == [31.0, 31.0]
    x.grad = None
    first, second = checkpoint(lambda *args: function(*args, factor=5), x, 2, y, use_reentrant=True)
    (first.sum() + second.sum()).backward()
    assert x.grad.tolist() == [31.0, 31.0]


def test_without_gradients_the_function_just_runs(torch, checkpoint):
    with torch.no_grad():
        assert not checkpoint(lambda x: x * 2, torch.ones(1, requires_grad=True), use_reentrant=False).requires_grad
    assert not checkpoint(lambda x: x * 2, torch.ones(1), use_reentrant=False).requires_grad


def test_contexts_around_forward_and_recomputation(torch, checkpoint):
    import contextlib

    events = []

    @contextlib.contextmanager
    def note(name):
        events.append(name)
        yield
        events.append(f"after {name}")

    x = torch.ones(1, requires_grad=True)
    y = checkpoint(
        lambda x: x.exp() + 1,
        x,
        use_reentrant=False,
        early_stop=False,
        context_fn=lambda: (note("forward"), note("recomputation")),
    )
    y.sum().backward()
    assert events == ["forward", "after forward", "recomputation", "after recomputation"]


def changing(torch, variants):
    """A function that does another thing each time it is run."""
    left = list(variants)
    return lambda x: left.pop(0)(x)


def test_other_numbers_of_saved_tensors_are_an_error(torch, checkpoint, checkpoint_module):
    x = torch.ones(2, requires_grad=True)
    y = checkpoint(changing(torch, [lambda x: x.exp().exp(), lambda x: x.exp()]), x, use_reentrant=False)
    with pytest.raises(checkpoint_module.CheckpointError, match="A different number of tensors was saved"):
        y.sum().backward()
    y = checkpoint(
        changing(torch, [lambda x: x.exp(), lambda x: x.exp().exp()]), x, use_reentrant=False, early_stop=False
    )
    with pytest.raises(checkpoint_module.CheckpointError, match="trying to save more tensors"):
        y.sum().backward()


def test_other_shapes_are_an_error_unless_not_asked(torch, checkpoint, checkpoint_module):
    variants = [lambda x: x.exp(), lambda x: x[:1].exp()]
    x = torch.ones(2, requires_grad=True)
    y = checkpoint(changing(torch, variants), x, use_reentrant=False)
    with pytest.raises(checkpoint_module.CheckpointError, match="have different metadata"):
        y.sum().backward()
    y = checkpoint(changing(torch, variants), x, use_reentrant=False, determinism_check="none")
    y.sum().backward()


def test_an_exception_in_the_recomputation_comes_through(torch, checkpoint):
    def fail(x):
        raise KeyError("second run")

    x = torch.ones(2, requires_grad=True)
    y = checkpoint(changing(torch, [lambda x: x.exp(), fail]), x, use_reentrant=False)
    with pytest.raises(KeyError, match="second run"):
        y.sum().backward()
    assert torch.is_grad_enabled()


def test_the_reentrant_kind_refuses_what_it_cannot_do(torch, checkpoint):
    x = torch.ones(2, requires_grad=True)
    y = checkpoint(lambda x: x.exp(), x, use_reentrant=True)
    with pytest.raises(RuntimeError, match=r"incompatible.*with .grad\(\) or passing an `inputs` parameter"):
        torch.autograd.grad(y.sum(), x)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: factor"):
        checkpoint(lambda x: x, x, use_reentrant=True, factor=2)
    with pytest.raises(ValueError, match="only supported when"):
        checkpoint(lambda x: x, x, use_reentrant=True, debug=True)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(lambda x: x, torch.ones(1), use_reentrant=True)
    y = checkpoint(lambda x: x.detach(), x, use_reentrant=True)
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        y.sum().backward()


def test_the_kind_should_be_named(torch, checkpoint):
    with pytest.warns(UserWarning, match="use_reentrant parameter should be"):
        checkpoint(lambda x: x.exp(), torch.ones(1, requires_grad=True))


@pytest.mark.beyond
def test_what_is_not_supported_says_so(torch, checkpoint):
    with pytest.raises(NotImplementedError, match="debug=True is not supported"):
        checkpoint(lambda x: x, torch.ones(1), use_reentrant=False, debug=True)


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_sequence_in_segments(reentrant, torch, checkpoint_module):
    model = torch.nn.Sequential(*[torch.nn.Linear(3, 3) for _ in range(5)])
    x = torch.rand(2, 3, requires_grad=True)
    gradients = []
    for apply in (model, lambda x: checkpoint_module.checkpoint_sequential(model, 2, x, use_reentrant=reentrant)):
        model.zero_grad()
        x.grad = None
        apply(x).sum().backward()
        gradients.append([x.grad, *(parameter.grad for parameter in model.parameters())])
    assert all(torch.allclose(one, other) for one, other in zip(*gradients, strict=True))


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpointed_graph_dies_without_the_collector(reentrant, torch, checkpoint):
    gc.collect()
    gc.disable()
    try:
        weight = torch.ones(3, requires_grad=True)
        gone = weakref.ref(weight)
        y = checkpoint(lambda x: (x * 2).exp(), weight, use_reentrant=reentrant)
        del weight
        z = y.sum()
        del y
        z.backward()
        del z
        assert gone() is None
    finally:
        gc.enable()
