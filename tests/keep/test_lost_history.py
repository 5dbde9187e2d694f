"""6.2: why a tensor has no history: a replay says it as eager does."""

import pytest

import clew

pytestmark = [pytest.mark.beyond]


def said(tensor):
    with pytest.raises(RuntimeError) as caught:
        tensor.sum().backward()
    return str(caught.value)


def test_an_argument_that_lost_its_history_elsewhere():
    q = clew.ones(4, requires_grad=True)

    def without_grad():
        with clew.no_grad():
            return q * 2

    def detached():
        return (q * 2).detach()

    def function(x):
        return x * 1

    f = clew.compile(function)
    for make in (without_grad, without_grad, without_grad, detached, without_grad, lambda: clew.ones(4)):
        assert said(f(make())) == said(function(make()))
    assert f.hits >= 4


def test_a_gradient_that_a_replay_made():
    q = clew.ones(4, requires_grad=True)

    def function(x):
        (x * q).square().sum().backward()

    f, texts = clew.compile(function), set()
    for _ in range(5):
        for one in (function, f):
            q.grad = None
            one(clew.ones(4))
            texts.add(said(q.grad))
    assert len(texts) == 1
    assert "backward without create_graph" in texts.pop()
    assert f.hits >= 3


def test_a_gradient_that_the_call_set():
    q = clew.ones(4, requires_grad=True)

    def function(x):
        q.grad = x * 2

    f = clew.compile(function)
    for _ in range(5):
        f(clew.ones(4))
        assert "history was lost" not in said(q.grad)


def test_a_dtype_is_given():
    f = clew.compile(lambda x: (x * 2, x.dtype))
    for _ in range(4):
        y, dtype = f(clew.ones(2))
        assert dtype is clew.float32
        assert y.tolist() == [2.0, 2.0]
    assert f.hits >= 2
