"""Functions and operations of users under vmap, beside PyTorch's."""

import numpy
import pytest
import torch

import clew

BOTH = pytest.mark.parametrize("module", [clew, torch], ids=["clew", "torch"])


def scaled(module, generated=False, rule=None):
    """x * y with a gradient that is twice the true one, so that it can be told from that of `*`."""

    def forward(x, y):
        return x * y

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        return gradient * y * 2, gradient * x * 2

    members = {"forward": forward, "setup_context": setup_context, "backward": backward}
    if rule:
        members["vmap"] = rule
    members = {name: staticmethod(member) for name, member in members.items()}
    return type("Scaled", (module.autograd.Function,), {**members, "generate_vmap_rule": generated})


def by_rule(module, seen):
    def rule(info, in_dims, x, y):
        seen.append((info.batch_size, info.randomness, in_dims))
        x = x if in_dims[0] is None else x.movedim(in_dims[0], -1)
        y = y if in_dims[1] is None else y.movedim(in_dims[1], -1)
        x = x.unsqueeze(-1) if in_dims[0] is None else x
        y = y.unsqueeze(-1) if in_dims[1] is None else y
        return function.apply(x, y), -1

    function = scaled(module, rule=rule)
    return function


@BOTH
@pytest.mark.parametrize("in_dims", [(0, 0), (0, None), (None, 1)])
@pytest.mark.parametrize("generated", [True, False])
def test_values_and_gradients(module, in_dims, generated):
    values = numpy.random.default_rng(0)
    seen = []
    function = scaled(module, generated=True) if generated else by_rule(module, seen)
    arrays = [values.standard_normal((3, 3) if dim is not None else 3) for dim in in_dims]
    x, y = (module.tensor(array, requires_grad=True) for array in arrays)
    found = module.vmap(function.apply, in_dims=in_dims)(x, y)
    wanted = module.vmap(lambda a, b: a * b, in_dims=in_dims)(x, y)
    numpy.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy())
    weights = module.tensor(values.standard_normal((3, 3)))
    of_found = module.autograd.grad(found, (x, y), weights)
    of_wanted = module.autograd.grad(wanted, (x, y), weights)
    for one, other in zip(of_found, of_wanted, strict=True):
        numpy.testing.assert_allclose(one.numpy(), 2 * other.numpy())
    if not generated:
        batched = tuple(None if dim is None else 0 for dim in in_dims)
        assert [(size, randomness) for size, randomness, _ in seen] == [(3, "error")]
        assert [tuple(None if dim is None else 0 for dim in dims) for _, _, dims in seen] == [batched]


@BOTH
def test_nested_and_with_grad(module):
    function = scaled(module, generated=True)
    x, y = module.arange(6.0).reshape(2, 3), module.arange(3.0)
    nested = module.vmap(module.vmap(function.apply), in_dims=(0, None))(x, y)
    assert nested.tolist() == (x * y).tolist()
    per_sample = module.vmap(module.func.grad(lambda a, b: function.apply(a, b).sum()), in_dims=(0, None))(x, y)
    assert per_sample.tolist() == [[0.0, 2.0, 4.0]] * 2


@BOTH
def test_functions_without_a_rule(module):
    x = module.ones(2, 3)
    with pytest.raises(RuntimeError, match="does not have vmap support"):
        module.vmap(scaled(module).apply)(x, x)
    with pytest.raises(RuntimeError, match="has both generate_vmap_rule=True and an overridden vmap"):
        module.vmap(scaled(module, True, lambda *_: None).apply)(x, x)
    with pytest.raises(RuntimeError, match="two returns"):
        module.vmap(scaled(module, rule=lambda info, in_dims, x, y: x).apply)(x, x)


def operation(module, name):
    def forward(x, y):
        return module.from_numpy(numpy.cross(x.detach().numpy(), y.detach().numpy()))

    forward.__annotations__ = {"x": module.Tensor, "y": module.Tensor, "return": module.Tensor}
    made = module.library.custom_op(f"vmap_tests::{name}", forward, mutates_args=())
    made.register_autograd(
        lambda ctx, g: (module.linalg.cross(ctx.y, g), module.linalg.cross(g, ctx.x)),
        setup_context=lambda ctx, inputs, output: vars(ctx).update(x=inputs[0], y=inputs[1]),
    )
    return made


def test_operations_of_users_run_for_each_sample():
    cross = operation(clew, "looped")
    x, y = clew.tensor(numpy.eye(3), requires_grad=True), clew.tensor([1.0, 2.0, 3.0], dtype=clew.float64)
    found = clew.vmap(cross, in_dims=(0, None))(x, y)
    numpy.testing.assert_allclose(found.detach().numpy(), numpy.cross(numpy.eye(3), y.numpy()))
    (gradient,) = clew.autograd.grad(found.sum(), x)
    numpy.testing.assert_allclose(gradient.numpy(), numpy.tile(numpy.cross(y.numpy(), numpy.ones(3)), (3, 1)))


@BOTH
def test_operations_of_users_run_by_their_rule(module):
    cross = operation(module, "ruled")
    calls = []

    def rule(info, in_dims, x, y):
        calls.append((info.batch_size, in_dims))
        return cross(x, y.expand(info.batch_size, 3) if in_dims[1] is None else y), 0

    module.library.register_vmap(cross, rule)
    x, y = module.tensor(numpy.eye(3)), module.tensor([1.0, 2.0, 3.0], dtype=module.float64)
    found = module.vmap(cross, in_dims=(0, None))(x, y)
    numpy.testing.assert_allclose(found.numpy(), numpy.cross(numpy.eye(3), y.numpy()))
    assert calls == [(3, (0, None))]
