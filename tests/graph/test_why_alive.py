"""Who keeps a tensor or a node alive."""

from __future__ import annotations

import functools
import re
from typing import Any

import pytest

import clew


def test_names_and_nodes_that_saved_it() -> None:
    class Keeper: ...

    keeper = Keeper()
    keeper.best = clew.ones(3, requires_grad=True) * 2  # type: ignore[attr-defined]
    square = keeper.best * keeper.best  # type: ignore[attr-defined]
    told = clew.graph.why_alive(keeper.best)  # type: ignore[attr-defined]
    assert [holder.path for holder in told.holders] == ["keeper.best", "square", "square"]
    assert [holder.slot for holder in told.holders] == [None, "self", "other"]
    assert "square → MulBackward0 (test_why_alive.py:" in str(told)
    assert square.requires_grad


def test_a_view_shares_memory() -> None:
    x = clew.ones(4)
    part = x[1:]
    told = str(clew.graph.why_alive(x))
    assert "  part, which shares its memory" in told
    assert "16 B" in told
    assert part.shape == (3,)


def test_freed_slots_keep_nothing() -> None:
    x = clew.ones(3, requires_grad=True).clone()
    loss = (x * x).sum()
    loss.backward()
    assert [holder.path for holder in clew.graph.why_alive(x).holders] == ["x"]


def test_a_node() -> None:
    h = clew.ones(3, requires_grad=True) * 2
    losses = [h.sum(), h.exp()]
    told = clew.graph.why_alive(h.grad_fn)
    assert [holder.path for holder in told.holders] == ["h", "losses[0]", "losses[1]"]
    assert "is in its graph" in str(told)
    assert losses


def test_nobody() -> None:
    told = clew.graph.why_alive(clew.ones(2), {})
    assert told.holders == ()
    assert "no variable" in str(told)


@pytest.mark.parametrize("wrong", [None, 3, "x"])
def test_something_else(wrong: Any) -> None:
    with pytest.raises(TypeError, match="why_alive: expected a tensor or a node"):
        clew.graph.why_alive(wrong)


# ------------------------------------------------------------------------------------ kinds of path


def paths(x: Any, **scope: Any) -> list[str]:
    return [holder.path for holder in clew.why_alive(x, scope).holders]


def test_all_names_and_containers_of_one_tensor() -> None:
    x = clew.ones(2)
    assert paths(x, a=x, b=[x], c={"k": (x,)}) == ["a", "b[0]", "c['k'][0]"]


def test_containers_functions_generators_and_errors() -> None:
    x = clew.ones(2)

    def closure() -> Any:
        return x

    def generate() -> Any:
        local = x
        yield local

    def fail() -> None:
        here = x
        raise ValueError(here.shape)

    class Owner:
        def method(self) -> None: ...

    @functools.lru_cache
    def cached() -> Any:
        return x

    stream, owner = generate(), Owner()
    next(stream)
    owner.kept = x  # type: ignore[attr-defined]
    cached()
    try:
        fail()
    except ValueError as caught:
        error = caught
    assert paths(x, f=closure) == ["f:x"]
    assert paths(x, g=stream) == ["g:local", "g:x"]  # its own variable, and that of the function around it
    assert paths(x, m=owner.method) == ["m.__self__.kept"]
    assert paths(x, p=functools.partial(print, x)) == ["p.args[0]"]
    assert paths(x, i=iter([x])) == ["i{...}[0]"]
    assert paths(x, d={x: 1}) == ["d: a key"]
    assert "e.__traceback__:here" in paths(x, e=error)
    assert paths(x, a=x.numpy()) == ["a.base"]
    assert any(path.startswith("c{...}") for path in paths(x, c=cached))
    del error


def test_gradients_buffers_and_the_state_of_an_optimizer() -> None:
    model = clew.nn.Linear(3, 1)
    model.register_buffer("running_mean", clew.zeros(3))
    optimizer = clew.optim.Adam(model.parameters())
    model(clew.rand(4, 3)).pow(2).sum().backward()
    optimizer.step()
    scope = {"model": model, "optimizer": optimizer}
    assert paths(model.weight.grad, **scope) == ["model.weight.grad"]
    assert paths(model.running_mean, **scope) == ["model.running_mean"]
    moments = optimizer.state[model.weight]["exp_avg"]
    assert paths(moments, **scope) == ["optimizer.state[Parameter of shape (1, 3)]['exp_avg']"]


def test_attributes_of_tensors_and_bases_of_views() -> None:
    x, y = clew.ones(4), clew.ones(1)
    y.note = x
    assert paths(x, y=y) == ["y.note"]
    part = x[1:]
    told = clew.why_alive(x, {"part": part})
    assert [holder.path for holder in told.holders] == ["part", "part._base"]


def test_hooks_and_contexts() -> None:
    class Keep(clew.autograd.Function):
        @staticmethod
        def forward(ctx: Any, value: Any) -> Any:
            ctx.kept = clew.ones(5)
            return value * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    w = clew.ones(3, requires_grad=True)
    y = Keep.apply(w)
    loss = y.sum()
    (path,) = paths(y.grad_fn.kept, loss=loss)
    assert re.fullmatch(r"loss → KeepBackward \(test_why_alive.py:\d+\) → ctx\['kept'\]", path)

    scale = clew.ones(7)
    handle = y.register_hook(lambda grad: grad * scale.sum())
    (path,) = paths(scale, loss=loss)
    assert re.fullmatch(r"loss → KeepBackward \(test_why_alive.py:\d+\) → tensor hook:scale", path)
    handle.remove()
    assert paths(scale, loss=loss) == []

    w.register_post_accumulate_grad_hook(lambda leaf: print(scale))
    assert paths(scale, w=w) == ["w → AccumulateGrad (" + path_of_accumulator(w) + ") → post-accumulate hook:scale"]


def path_of_accumulator(w: Any) -> str:
    site = clew.autograd.graph.get_gradient_edge(w).node.made_at
    assert site is not None
    return f"test_why_alive.py:{site.line}"


def test_packed_values() -> None:
    w = clew.ones(3, requires_grad=True)
    kept: list[Any] = []

    def pack(tensor: Any) -> Any:
        kept.append(tensor.detach().clone())
        return {"value": kept[-1]}

    with clew.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed["value"]):
        loss = w.exp().sum()
    (path,) = paths(kept[0], loss=loss)
    assert re.fullmatch(r"loss → ExpBackward0 \(test_why_alive.py:\d+\) → packed result\['value'\]", path)


def test_a_loss_in_a_list() -> None:
    w = clew.rand(1000, requires_grad=True)
    losses = [(w * w).exp().sum() for _ in range(20)]
    told = clew.why_alive(losses[17])
    assert [holder.path for holder in told.holders] == ["losses[17]"]
    assert re.search(r"^  losses\[17\] → tensor → SumBackward0 \(test_why_alive.py:\d+\) → 7.8 KiB$", str(told), re.M)


def test_what_holds_the_graph_but_not_the_tensor() -> None:
    h = clew.ones(3, requires_grad=True) * 2
    total = h.sum() + 1
    told = clew.why_alive(h)
    assert [holder.path for holder in told.holders] == ["h"]
    assert [holder.path for holder in told.graph_holders] == ["total"]
    assert "its graph is also kept alive by the graph of\n  total → MulBackward0" in str(told)
    assert total.requires_grad


def test_a_freed_graph() -> None:
    w = clew.ones(3, requires_grad=True)
    h = w.exp()
    loss = h.sum()
    loss.backward()
    told = clew.why_alive(h)
    assert [holder.path for holder in told.holders] == ["h"]
    assert [holder.path for holder in told.graph_holders] == ["loss"]
    assert "→ 0 B" in str(told)


def test_a_node_that_a_variable_holds() -> None:
    node = (clew.ones(3, requires_grad=True) * 2).grad_fn
    told = clew.why_alive(node)
    assert [holder.path for holder in told.holders] == ["node"]


def test_every_root_of_a_shared_trunk() -> None:
    w = clew.ones(3, requires_grad=True)
    trunk = w.exp()
    heads = [trunk.sum(), trunk.mean(), w.sum()]
    told = clew.why_alive(trunk, {"heads": heads})
    assert [holder.path for holder in told.holders] == ["heads[0]", "heads[1]"]
    assert {holder.slot for holder in told.holders} == {"result"}


@pytest.mark.timeout(60)
def test_a_list_of_many() -> None:
    w = clew.ones(3, requires_grad=True)
    losses = [(w * clew.ones(3)).sum() for _ in range(100_000)]
    wanted = losses[99_999]
    told = clew.why_alive(wanted, {"losses": losses})
    assert [holder.path for holder in told.holders] == ["losses[99999]"]
    trunk = clew.why_alive(w, {"losses": [(w.detach() * w).sum() for _ in range(1000)]})
    assert len(trunk.holders) == 1000
    assert "losses[0] … losses[999] (1,000 tensors) → MulBackward0" in str(trunk)


@pytest.mark.timeout(60)
def test_many_hooks() -> None:
    """Linear in hooks and tensors, not their product."""
    w, scale = clew.ones(3, requires_grad=True), clew.ones(2)
    losses = []
    for _ in range(5000):
        losses.append(w.exp())
        losses[-1].register_hook(lambda grad: grad * scale.sum())
    told = clew.why_alive(scale, {"losses": losses})
    assert len(told.holders) == 5000


def test_it_keeps_nothing_alive_and_changes_nothing() -> None:
    w = clew.ones(100, requires_grad=True)
    h = w.exp()
    loss = (h * h).sum()
    before, live = clew._core.graph_counters(), clew.memory.stats().live
    told = clew.why_alive(h)
    assert clew._core.graph_counters() == before
    assert clew.memory.stats().live == live
    del h, loss
    assert live - clew.memory.stats().live == 400 + 4
    assert told.holders
