"""6.8: a replay that fails changes nothing; one that succeeds changes all at once."""

import sys
import threading
from pathlib import Path

import numpy
import pytest
from graph_support import assert_equal

import clew

pytestmark = pytest.mark.beyond


class Stop(Exception):
    pass


def failing():
    """A program with every kind of effect before a step that can fail, and what it may have changed."""
    w = clew.ones(3, requires_grad=True)
    x, counter, index = clew.ones(3), clew.zeros(1), clew.tensor([0])
    w.grad = clew.ones(3)
    own = clew.Generator().manual_seed(3)
    fails = []

    @clew.pure
    def check(t):
        if fails:
            raise fails[0]
        return t.clone()

    with clew.keep_graph() as program:
        counter.add_(1)
        noise = clew.rand(3) + clew.rand(3, generator=own)
        y = ((w * x).exp() + noise).sum()
        y.backward()
        with clew.no_grad():
            w.sub_(w.grad)
        h = x[index] * 2
        last = check(h)

    def state():
        tensors = (w, w.grad, x, counter, y, h, last, noise)
        return [(one.detach().numpy().tobytes(), one._version) for one in tensors] + [
            own.get_state().numpy().tobytes(),
            clew.random.get_rng_state().numpy().tobytes(),
        ]

    return program, fails, index, state


def test_a_step_that_fails_changes_nothing():
    program, fails, index, state = failing()
    program.run()
    before = state()
    index.fill_(9)
    with pytest.raises(clew.ReplayError, match="index"):
        program.run()
    assert state() == before
    index.fill_(0)
    fails.append(Stop())
    with pytest.raises(clew.ReplayError) as caught:
        program.run()
    assert isinstance(caught.value.__cause__, Stop)
    assert Path(caught.value.site.file) == Path(__file__)
    assert state() == before
    fails.clear()
    program.run()
    assert state() != before


def test_an_interrupt_in_a_python_step_changes_nothing():
    program, fails, _, state = failing()
    before = state()
    fails.append(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        program.run()
    assert state() == before


def test_a_program_may_run_itself():
    """From a step of its own: the inner run commits first."""
    x, again = clew.ones(1), []

    @clew.pure
    def outer(t):
        if again:
            again.pop()
            program.run()
        return t * 2

    with clew.keep_graph() as program:
        x.add_(1)
        y = outer(x)
    again.append(True)
    program.run()
    assert y.item() in (6, 8)


def test_threads_run_programs_at_once():
    def train(results, place):
        clew.manual_seed(0)
        w = clew.full((64,), 1.0 + place, requires_grad=True)
        made.wait()
        with lock, clew.keep_graph() as program:
            w.grad = None
            y = (w * w).sum()
            y.backward()
            with clew.no_grad():
                w.sub_(w.grad, alpha=0.1)
        for _ in range(300):
            program.run()
        results[place] = w.detach().numpy().copy()

    made, lock = threading.Barrier(3), threading.Lock()
    results = {}
    threads = [threading.Thread(target=train, args=(results, place)) for place in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for place in range(3):
        expected = numpy.full(64, 1.0 + place, dtype=numpy.float32)
        for _ in range(301):
            expected = expected - numpy.float32(0.1) * (expected + expected)
        numpy.testing.assert_allclose(results[place], expected, rtol=1e-4)


def test_not_while_another_block_is_kept():
    x = clew.ones(2)
    with clew.keep_graph() as program:
        y = x * 2
    with clew.keep_graph():
        for call in (program.run, y.forward):
            with pytest.raises(NotImplementedError, match="do it outside"):
                call()
    x.fill_(3)
    program.run()
    assert_equal(y, [6, 6])


def test_versions_of_what_was_written_are_eagers():
    x = clew.zeros(4)
    with clew.keep_graph() as program:
        x.add_(1)
        x[1:].mul_(2)
        x.data.sub_(1)  # by another counter
    version = x._version
    program.run()
    assert x._version == version + 2


def test_a_graph_from_outside_sees_that_its_values_were_written():
    x = clew.ones(2)
    w = clew.ones(2, requires_grad=True)
    with clew.keep_graph() as program:
        x.add_(1)
    y = (w * x).sum()
    program.run()
    with pytest.raises(RuntimeError, match=r"(?s)modified by an inplace operation.*'add_'"):
        y.backward()


def test_a_write_of_no_elements_through_data_leaves_what_was_saved():
    x, index = clew.ones(3, requires_grad=True), clew.tensor([0])
    with clew.keep_graph() as program:
        y = x.index_fill(0, index, 0.0).sum()
        index.data[0:0].zero_()
    program.run()
    y.backward()
    assert x.grad.tolist() == [0.0, 1.0, 1.0]


@pytest.mark.unsanitized("a depth that takes minutes here")
def test_deep_chains_of_programs_die_one_by_one():
    """Each block reads what the one before made: no recursion when the last result goes."""
    assert sys.getrecursionlimit() < 20_000
    h = clew.zeros(1)
    for _ in range(20_000):
        with clew.keep_graph():
            h = h + 1
    assert h.item() == 20_000
    del h
