"""6.12: a budget beside what else looks at a backward or changes it: the gradients stay as they are."""

import contextlib
import threading

import pytest

import clew
from clew.utils.checkpoint import checkpoint

pytestmark = pytest.mark.beyond

LIMIT = "40 kB"  # of about 160 kB


def link(x):
    return (x.sin() * 1.1).cos()


def chain(x, links=20):
    for _ in range(links):
        x = link(x)
    return x.sum()


def leaf():
    return clew.linspace(0, 1, 1000).requires_grad_()


@pytest.fixture(scope="module")
def expected():
    w = leaf()
    chain(w).backward()
    return w.grad.numpy().tobytes()


def in_parts(w, reentrant):
    x = w
    for _ in range(4):
        x = checkpoint(lambda part: link(link(part)), x, use_reentrant=reentrant)
    return chain(x, 12)


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize(
    ("context", "run"),
    [
        (contextlib.nullcontext, lambda w: in_parts(w, False).backward()),
        (contextlib.nullcontext, lambda w: in_parts(w, True).backward()),
        (clew.autograd.detect_anomaly, lambda w: chain(w).backward()),
        (clew.memory.timeline, lambda w: chain(w).backward()),
        (contextlib.nullcontext, lambda w: list(clew.graph.step(chain(w)))),
    ],
    ids=["checkpoint", "reentrant checkpoint", "anomaly", "timeline", "stepped"],
)
def test_gradients_are_the_same(context, run, expected):
    w = leaf()
    with clew.memory.budget(LIMIT) as budget, context():
        run(w)
    assert budget.report().recomputed > 0
    assert budget.report().peak <= budget.limit
    assert w.grad.numpy().tobytes() == expected


def test_what_saved_tensor_hooks_keep_is_theirs(expected):
    w = leaf()
    hooks = clew.autograd.graph.saved_tensors_hooks(lambda one: one.clone(), lambda one: one)
    with clew.memory.budget(LIMIT) as budget, hooks:
        chain(w).backward()
    assert budget.report().recomputed == 0
    assert w.grad.numpy().tobytes() == expected


def test_a_backward_on_another_thread(expected):
    w = leaf()
    with clew.memory.budget(LIMIT) as budget:
        loss = chain(w)
    thread = threading.Thread(target=loss.backward)
    thread.start()
    thread.join()
    assert budget.report().recomputed > 0
    assert w.grad.numpy().tobytes() == expected


def test_a_kept_program_that_runs_again_after_the_block(expected):
    w = leaf()
    with clew.memory.budget(LIMIT):
        with clew.keep_graph():
            loss = chain(w)
        with pytest.raises(NotImplementedError, match="another interpreter"):
            loss.forward()
        loss.backward()
    assert w.grad.numpy().tobytes() == expected
    with clew.no_grad():
        w.mul_(0.5)
    w.grad = None
    loss.forward().backward()
    v = (leaf().detach() * 0.5).requires_grad_()
    chain(v).backward()
    assert w.grad.numpy().tobytes() == v.grad.numpy().tobytes()


def test_what_was_dropped_takes_no_bytes_where_a_graph_is_looked_at():
    w = leaf()
    saved = 4000 + 20 * 8  # w, and a number of Python's in each link, which are not the budget's
    with clew.memory.budget(LIMIT) as budget:
        loss = chain(w)
        slots = [slot for node in clew.explain(loss).nodes for slot in node.saved]
        assert 30_000 < sum(slot.nbytes for slot in slots) <= budget.limit + saved
        assert sum(slot.nbytes == 0 for slot in slots) == budget.report().drops
        assert clew.graph.draw(loss).dot.count("SinBackward0") == 20
