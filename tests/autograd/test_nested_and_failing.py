"""3.8 A backward inside a backward; exceptions; Ctrl-C."""

import os
import signal
import subprocess
import sys

import pytest
from graph_support import assert_close, assert_equal, collector_off, live_bytes, nodes_of


def test_a_backward_inside_a_hook(torch):
    x, w = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    h = x * x

    def hook(grad):
        with torch.enable_grad():
            (w * w).backward()
        return grad * w.grad

    h.register_hook(hook)
    (h * 5).backward()
    assert_equal(w.grad, [6])
    assert_equal(x.grad, [5 * 6 * 4])


def test_a_backward_inside_a_functions_backward(torch):
    class Recompute(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.exp().sin()

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            with torch.enable_grad():
                inner = x.detach().requires_grad_()
                inner.exp().sin().backward(grad)
            return inner.grad

    x = torch.tensor([0.1, 0.2], requires_grad=True)
    Recompute.apply(x).sum().backward()
    value = x.detach().exp()
    assert_close(x.grad, (value.cos() * value).tolist())


@pytest.mark.parametrize("depth", [3, 50])
def test_backward_passes_nest_deeply(torch, depth):
    class Nested(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, left):
            ctx.left = left
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            with torch.enable_grad():
                inner = torch.ones(1, requires_grad=True)
                (Nested.apply(inner, ctx.left - 1) if ctx.left else inner * 2).backward(grad)
            return inner.grad, None

    x = torch.ones(1, requires_grad=True)
    Nested.apply(x, depth).backward()
    assert_equal(x.grad, [2])


def test_a_hook_may_run_the_graph_it_is_in(torch):
    x = torch.tensor([3.0], requires_grad=True)
    y = x * x
    z = y * 2
    entered, seen = [], []

    def hook(grad):
        if not entered:
            entered.append(1)
            seen.append(torch.autograd.grad(y, x, retain_graph=True)[0].tolist())

    y.register_hook(hook)
    z.backward()
    assert seen == [[6.0]]
    assert_equal(x.grad, [12])


def test_checkpoint_reentrant_and_not(torch):
    from importlib import import_module

    checkpoint = import_module(torch.__name__ + ".utils.checkpoint").checkpoint
    for reentrant in (True, False):
        x = torch.tensor([0.3, 0.6], requires_grad=True)
        calls = []

        def part(t, calls=calls):
            calls.append(1)
            return (t * 2).exp().tanh()

        y = checkpoint(part, x * 1, use_reentrant=reentrant)
        assert calls == [1]
        y.sum().backward()
        assert calls == [1, 1], "the part runs again for the backward"
        expected = x.detach().clone().requires_grad_()
        part(expected * 1).sum().backward()
        assert_close(x.grad, expected.grad.tolist())


class MineError(Exception):
    pass


def failing_once(torch):
    """A graph in which a hook in the middle raises the first time."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x**2
    k = h.exp()
    y = k.sum()
    left = [1]

    def hook(grad):
        if left:
            left.pop()
            raise MineError("stop")

    h.register_hook(hook)
    expected = (2 * x * (x**2).exp()).tolist()
    return x, y, expected


def test_an_exception_comes_through_as_it_is(torch):
    _, y, _ = failing_once(torch)
    with pytest.raises(MineError, match=r"^stop$"):
        y.backward()


def test_after_an_exception_a_retained_graph_is_whole(torch):
    x, y, expected = failing_once(torch)
    with pytest.raises(MineError):
        y.backward(retain_graph=True)
    assert x.grad is None
    y.backward(retain_graph=True)
    assert_close(x.grad, expected)
    (again,) = torch.autograd.grad(y, x)
    assert_close(again, expected)


@pytest.mark.beyond
def test_after_an_exception_every_slot_of_a_retained_graph_is_held(torch):
    _, y, _ = failing_once(torch)
    with pytest.raises(MineError):
        y.backward(retain_graph=True)
    assert {slot.state for node in nodes_of(y) for slot in node.saved} == {"held"}
    assert {node.released for node in nodes_of(y)} == {None}


def test_after_an_exception_the_engine_works(torch):
    x, y, _ = failing_once(torch)
    for _ in range(3):
        with pytest.raises((MineError, RuntimeError)):
            y.backward()
        assert torch.is_grad_enabled()
        w = torch.tensor([3.0], requires_grad=True)
        (w * w).backward()
        assert_equal(w.grad, [6])
    assert x.grad is None


def test_an_exception_in_a_nested_backward(torch):
    w = torch.tensor([1.0], requires_grad=True)
    inner = w * 2
    left = [1]

    def fail(grad):
        if left:
            left.pop()
            raise MineError

    inner.register_hook(fail)
    x = torch.tensor([1.0], requires_grad=True)
    y = x * 3
    y.register_hook(lambda grad: inner.backward(retain_graph=True))
    with pytest.raises(MineError):
        y.backward(retain_graph=True)
    y.backward()
    assert_equal(x.grad, [3])
    assert_equal(w.grad, [2])


@pytest.mark.beyond
def test_gradients_in_flight_are_freed_by_an_exception(torch):
    x = torch.ones(1000, requires_grad=True)

    def fail(grad):
        raise MineError

    with collector_off():
        h = x.exp()
        y = (h.tanh() * 2).sum()
        h.register_hook(fail)
        before = live_bytes(torch)
        try:
            y.backward(retain_graph=True)
        except MineError as error:
            error.__traceback__ = None
        assert live_bytes(torch) == before
        del h, y


INTERRUPTED = """
import sys

x = torch.ones(1, requires_grad=True)
y = x
for _ in range(int(sys.argv[1])):
    y = -y
hook = y.register_hook(lambda gradient: print("running", flush=True))
try:
    y.backward(retain_graph=True)
    print("ran to its end")
except KeyboardInterrupt:
    print("interrupted")
assert x.grad is None  # it did not get there
hook.remove()
y.backward()
assert x.grad.tolist() == [1.0]
"""


@pytest.mark.unsanitized("it starts one process after the other")
@pytest.mark.beyond
def test_ctrl_c_stops_a_long_backward(torch, tmp_path, script_environment):
    script = tmp_path / "script.py"
    script.write_text(f"import {torch.__name__} as torch\n{INTERRUPTED}")
    command = [sys.executable, str(script), str(3_000_000)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=script_environment) as running:
        try:
            assert running.stdout.readline() == "running\n"
            os.kill(running.pid, signal.SIGINT)
            output, _ = running.communicate(timeout=60)
        finally:
            running.kill()
    assert running.returncode == 0
    assert output == "interrupted\n"
