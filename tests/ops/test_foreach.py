"""`_foreach_*` against PyTorch: values, what is written and returned, gradients."""

import numpy
import pytest
import torch

import clew
from clew._foreach import _UNARY

# Each argument: a list of tensors ("t"), numbers ("n"), one number or a 0-dim tensor.
CALLS = [
    *[(name, (), {}) for name in _UNARY.split() if name != "zero"],
    *[(name, (other,), {}) for name in ("add", "sub", "mul", "div", "pow") for other in ("t", "n", 2.0)],
    *[(name, (other,), {}) for name in ("clamp_min", "clamp_max", "maximum", "minimum") for other in ("t", "n", 0.8)],
    *[(name, ("t",), {"alpha": 3.0}) for name in ("add", "sub")],
    *[(name, ("t", "t", *more), {}) for name in ("addcmul", "addcdiv") for more in ((), (0.5,), ("n",))],
    *[(name, ("t", "t"), {"value": 0.5}) for name in ("addcmul", "addcdiv")],
    *[("lerp", ("t", weight), {}) for weight in (0.3, "t")],
    *[("norm", more, {}) for more in ((), (1,), (float("inf"),))],
    ("max", (), {}),
    ("mul", ("0-dim",), {}),
    ("addcmul", ("t", "t", "1-dim"), {}),
]


def values(seed):
    draw = numpy.random.default_rng(seed)
    return [draw.uniform(0.2, 0.9, shape) for shape in ((2, 3), (4,), ())]


def made(library, argument, seed):
    if argument == "t":
        return [library.tensor(one, requires_grad=True) for one in values(seed)]
    if argument == "0-dim":
        return library.tensor(2.0, dtype=library.float64)
    if argument == "1-dim":
        return library.tensor([0.5, 1.5, 2.5], dtype=library.float64)
    return [0.5, 1.5, 2.5] if argument == "n" else argument


def run(library, name, arguments, options, in_place):
    leaves = made(library, "t", 0)
    given = [made(library, one, seed + 1) for seed, one in enumerate(arguments)]
    function = getattr(library, f"_foreach_{name}{'_' * in_place}")
    start = [leaf * 1 for leaf in leaves] if in_place else leaves
    results = function(start, *given, **options)
    returned = results is None
    results = start if in_place else results
    try:
        sum((one * one).sum() for one in results).backward()
    except (RuntimeError, IndexError):
        assert library is torch  # which has no derivative for some of them
        return returned, [one.detach().numpy() for one in results], None
    inputs = [*leaves, *(one for group in given if isinstance(group, list) for one in group if hasattr(one, "grad"))]
    return returned, [one.detach().numpy() for one in results], [one.grad.numpy() for one in inputs]


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize(("name", "arguments", "options"), CALLS)
def test_they_are_pytorchs(name, arguments, options, in_place):
    if in_place and name in ("norm", "max"):
        assert not hasattr(clew, f"_foreach_{name}_")
        return
    ours, theirs = (run(library, name, arguments, options, in_place) for library in (clew, torch))
    if not in_place:
        assert ours[0] == theirs[0]
    for one, other in zip(ours[1], theirs[1], strict=True):
        numpy.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    for one, other in zip(ours[2], theirs[2] or ours[2], strict=True):
        numpy.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_what_writes_only():
    tensors = [clew.ones(2), clew.ones(3)]
    clew._foreach_copy_(tensors, [clew.zeros(2), clew.full((3,), 2.0)])
    assert [one.tolist() for one in tensors] == [[0.0, 0.0], [2.0, 2.0, 2.0]]
    clew._foreach_zero_(tensors)
    assert [one.tolist() for one in tensors] == [[0.0, 0.0], [0.0, 0.0, 0.0]]
    powers = clew._foreach_pow(2.0, [clew.tensor(3.0), clew.tensor(0.5)])
    assert [one.item() for one in powers] == pytest.approx([8, 2**0.5])


def test_errors():
    with pytest.raises(RuntimeError, match="same number of tensors"):
        clew._foreach_add([clew.ones(1)], [clew.ones(1), clew.ones(1)])
    with pytest.raises(RuntimeError, match="empty"):
        clew._foreach_add([], 1)
    for name in ("_foreach_nothing", "_foreach_copy", "_foreach_zero", "_foreach_"):
        assert not hasattr(clew, name)
