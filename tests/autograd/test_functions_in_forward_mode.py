"""Functions in forward mode that save, write, return views or bad tangents; steps and threads while a level is open."""

import importlib
import subprocess
import sys

import numpy
import pytest
import torch

import clew

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
BOTH = pytest.mark.parametrize("module", [clew, torch], ids=["clew", "torch"])


def forward_ad(module):
    return importlib.import_module(f"{module.__name__}.autograd.forward_ad")


def test_a_function_saves_for_backward_and_for_jvp_apart():
    class Square(clew.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x * 100)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 * ctx.saved_tensors[0]

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * ctx.saved_tensors[0] / 50

    ad = forward_ad(clew)
    x = clew.tensor([3.0], requires_grad=True)
    with ad.dual_level():
        y = Square.apply(x)  # no argument has a tangent
    y.sum().backward()
    assert x.grad.tolist() == [6.0]
    assert clew.func.jvp(Square.apply, (clew.tensor([3.0]),), (clew.tensor([1.0]),))[1].tolist() == [6.0]


@BOTH
def test_a_function_that_returns_a_view(module):
    class Column(module.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view(2, 1)

        @staticmethod
        def jvp(ctx, tangent):
            return tangent.view(2, 1)

    ad = forward_ad(module)
    for write_input in (True, False):
        with ad.dual_level():
            x = ad.make_dual(module.ones(2), module.tensor([1.0, 3.0])) * 1
            y = Column.apply(x)
            (x if write_input else y).mul_(2)
            assert ad.unpack_dual(y).tangent.tolist() == [[2.0], [6.0]]
            assert ad.unpack_dual(x).tangent.tolist() == [2.0, 6.0]


@BOTH
def test_a_function_that_returns_a_view_and_a_new_tangent(module):
    class Column(module.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view(2, 1)

        @staticmethod
        def jvp(ctx, tangent):
            return tangent.view(2, 1) * 1

    ad = forward_ad(module)
    with ad.dual_level(), pytest.raises(RuntimeError, match=r"not\s+returning a view"):
        Column.apply(ad.make_dual(module.ones(2), module.ones(2)) * 1)


@pytest.mark.parametrize("found", ["new", "none"])
def test_a_function_that_writes_its_input(found):
    class Double(clew.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2) if found == "new" else x.fill_(7)

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 2 if found == "new" else None

    ad = forward_ad(clew)
    with ad.dual_level():
        x = ad.make_dual(clew.ones(2), clew.tensor([1.0, 3.0])) * 1
        before = x[0]
        Double.apply(x)
        assert ad.unpack_dual(x).tangent.tolist() == ([2.0, 6.0] if found == "new" else [0.0, 0.0])
        assert ad.unpack_dual(before).tangent.item() == (2.0 if found == "new" else 0.0)


@pytest.mark.parametrize(("tangent", "error"), [("t.double()", RuntimeError), ("5", TypeError)])
def test_what_jvp_may_return(tangent, error):
    class Same(clew.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def jvp(ctx, t):
            return eval(tangent)

    ad = forward_ad(clew)
    with ad.dual_level(), pytest.raises(error, match=r"Same\.jvp: expected a t"):
        Same.apply(ad.make_dual(clew.ones(2), clew.ones(2)))


@BOTH
def test_unpacked_in_forward(module):
    class Square(module.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            forward_ad(module).unpack_dual(x)
            return module.mul(x, x, out=module.empty(2))

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 2

    ad = forward_ad(module)
    with ad.dual_level():
        y = Square.apply(ad.make_dual(module.ones(2), module.ones(2)))
        assert ad.unpack_dual(y).tangent.tolist() == [2.0, 2.0]


@BOTH
def test_a_tangent_of_zeros(module):
    ad = forward_ad(module)
    with ad.dual_level():
        x = ad.make_dual(module.ones(2), module.ones(2)) * 1
        assert ad.unpack_dual(x.zero_()).tangent.tolist() == [0.0, 0.0]


@BOTH
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_a_step_with_a_level_open(module, kind):
    ad = forward_ad(module)
    weight = module.ones(2, requires_grad=True)
    optimizer = getattr(module.optim, kind)([weight], lr=0.25)
    with ad.dual_level():
        (ad.make_dual(module.ones(2), module.ones(2)) * weight).sum().backward()
        assert ad.unpack_dual(weight.grad).tangent is None
        optimizer.step()
    numpy.testing.assert_allclose(weight.detach().numpy(), [0.75, 0.75], rtol=1e-5)


_LEFT_OPEN = """
import threading
import clew
from clew.autograd import forward_ad

class Cube(clew.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.kept = Kept()
        ctx.save_for_backward(x)
        return x**3
    @staticmethod
    def backward(ctx, grad):
        return grad
    @staticmethod
    def jvp(ctx, tangent):
        return tangent

class Kept:
    def __del__(self):
        len([])

def leave_open():
    forward_ad.enter_dual_level()
    x = clew.ones(2, requires_grad=True)
    forward_ad.make_dual(x, Cube.apply(x)).exp()

thread = threading.Thread(target=leave_open)
thread.start()
thread.join()
leave_open()
print("done")
"""


def test_levels_that_are_left_open():
    found = subprocess.run([sys.executable, "-c", _LEFT_OPEN], capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stdout, found.stderr) == (0, "done\n", "")
