"""2.8 It can be inspected: what each node saved, what became of it, and who keeps it alive. Bytes agree exactly."""

import inspect

import numpy
import pytest
from graph_support import collector_off, line_here, live_bytes, node_named, nodes_of

pytestmark = pytest.mark.beyond


def told_bytes(torch, result):
    """Bytes of what the graph holds in our own memory, each storage once."""
    slots = [slot for node in nodes_of(result) for slot in node.saved]
    ours = {slot.storage: slot.nbytes for slot in slots if slot.state == "held" and not slot.is_foreign}
    return sum(ours.values())


def test_what_a_slot_tells(torch):
    a = torch.ones(2, 3, requires_grad=True)
    b = torch.full((3,), 2.0, dtype=torch.float32).requires_grad_()
    node = (a * b).grad_fn
    slots = {slot.name: slot for slot in node.saved}
    assert set(slots) == {"self", "other"}
    assert [slots[name].shape for name in ("self", "other")] == [(2, 3), (3,)]
    assert [slots[name].nbytes for name in ("self", "other")] == [24, 12]
    assert [slots[name].dtype for name in ("self", "other")] == [torch.float32, torch.float32]
    assert {slot.state for slot in node.saved} == {"held"}
    assert slots["self"].storage != slots["other"].storage
    assert not slots["self"].is_foreign
    assert type(node.saved) is tuple
    assert type(slots["self"].shape) is tuple


def test_node_tells_its_outputs_and_its_own_bytes(torch):
    x = torch.ones(2, 3, requires_grad=True)
    assert x.sum(1).grad_fn.outputs == (((2,), torch.float32),)
    assert x.unbind()[0].grad_fn.outputs == (((3,), torch.float32),) * 2


def test_all_that_a_recorded_operation_allocates_is_200_bytes(torch):
    x, y = torch.ones(4, requires_grad=True), torch.ones(4, requires_grad=True)
    nodes = [(x * y).grad_fn for _ in range(10)]
    before = torch.memory.stats().objects
    nodes += [(x * y).grad_fn for _ in range(1000)]
    allocated = torch.memory.stats().objects - before
    assert allocated / 1000 == nodes[-1].nbytes
    assert 0 < allocated / 1000 <= 200


def test_shared_memory_has_one_number(torch):
    x = torch.ones(4, requires_grad=True)
    y = x * x
    left, right = y.grad_fn.saved
    assert left.storage == right.storage != 0
    view = x[:2]
    z = view * view
    slot = z.grad_fn.saved[0]
    assert slot.storage == left.storage
    assert (slot.nbytes, slot.view_nbytes) == (16, 8)
    other = (x.clone() ** 2).grad_fn.saved[0]
    assert other.storage != left.storage


def test_versions_of_a_slot(torch):
    h = torch.ones(3, requires_grad=True).clone()
    y = h * h
    slot = y.grad_fn.saved[0]
    assert slot.version == slot.current_version == h._version
    with torch.no_grad():
        h.add_(1)
    slot = y.grad_fn.saved[0]
    assert slot.current_version == slot.version + 1 == h._version


def test_freed_by_which_call_at_which_line(torch):
    x = torch.ones(3, requires_grad=True)
    y = (x * x).sum()
    product = node_named(y, "MulBackward")
    assert product.released is None
    _, line = y.backward(), line_here()
    release = product.released
    assert release.kind == "backward"
    assert (release.site.file, release.site.line) == (__file__, line)
    assert release.site.function == inspect.currentframe().f_code.co_name
    assert {slot.state for slot in product.saved} == {"freed"}
    assert {slot.storage for slot in product.saved} == {0}
    assert {slot.name for slot in product.saved} == {"self", "other"}
    assert {slot.nbytes for slot in product.saved} == {12}

    y = (x * x).sum()
    _, line = torch.autograd.grad(y, x), line_here()
    later = node_named(y, "MulBackward").released
    assert (later.kind, later.site.line) == ("grad", line)
    assert later.serial > release.serial


def test_one_call_is_one_release(torch):
    x = torch.ones(3, requires_grad=True)
    y = (x.exp() * x).sum()
    y.backward()
    releases = {node.released.serial for node in nodes_of(y) if node.saved}
    assert len(releases) == 1


def test_a_retained_graph_has_no_release(torch):
    x = torch.ones(3, requires_grad=True)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    assert {node.released for node in nodes_of(y)} == {None}
    assert {slot.state for node in nodes_of(y) for slot in node.saved} == {"held"}


def test_packed_objects_are_told_apart(torch):
    x = torch.ones(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.detach().numpy(), torch.from_numpy):
        y = x**2
    (slot,) = y.grad_fn.saved
    assert slot.state == "packed"
    assert told_bytes(torch, y) == 0


def test_memory_of_numpy_is_told_apart(torch):
    array = numpy.ones(1000, dtype=numpy.float32)
    x, w = torch.from_numpy(array), torch.ones(1000, requires_grad=True)
    y = x * w
    (slot,) = y.grad_fn.saved
    assert slot.is_foreign
    assert slot.nbytes == 4000
    assert told_bytes(torch, y) == 0


def a_chain(torch):
    x = torch.rand(50, 20, requires_grad=True)
    return (x.exp() * 2).tanh().sin().sum()


def a_network(torch):
    model = torch.nn.Sequential(
        torch.nn.Linear(20, 30), torch.nn.Tanh(), torch.nn.LayerNorm(30), torch.nn.Linear(30, 5)
    )
    return torch.nn.functional.cross_entropy(model(torch.rand(8, 20)), torch.arange(8) % 5)


def shared_views(torch):
    x = torch.rand(40, requires_grad=True)
    rows = (x * 1.5).view(4, 10)
    return sum((row * row).sum() for row in rows.unbind())


def indices_and_masks(torch):
    x = torch.rand(30, requires_grad=True)
    return x[x > 0.5].sum() + x[[3, 4, 4]].sum() + x.sort().values[:3].prod() + x.max(0).values


def in_place_work(torch):
    y = torch.rand(100, requires_grad=True).exp()
    y = y * 2
    y[:50] *= 3
    return y.sigmoid_().sum()


@pytest.mark.parametrize("program", [a_chain, a_network, shared_views, indices_and_masks, in_place_work])
def test_bytes_agree_with_the_allocator(torch, program):
    """All that outlives the program's own names is its result and what the graph saved: counted both ways."""
    program(torch)
    with collector_off():
        before = live_bytes(torch)
        result = program(torch)
        told = told_bytes(torch, result)
        assert told > 0
        assert live_bytes(torch) - before == told + result.nbytes
        assert torch.explain(result).totals.held_bytes == told
        del result
        assert live_bytes(torch) == before


def test_explain_tells_the_same(torch):
    x = torch.rand(50, 20, requires_grad=True)
    y, made = (x.exp() * 2).tanh().sum(), line_here()
    before = torch.explain(y)
    assert before.totals.held_bytes == told_bytes(torch, y)
    text = str(before)
    for expected in ("SumBackward0", "TanhBackward0", "MulBackward0", "ExpBackward0", f"test_saved_records.py:{made}"):
        assert expected in text
    assert "held" in text
    _, freed = y.backward(), line_here()
    after = torch.explain(y)
    assert after.totals.held == 0
    assert after.totals.freed == before.totals.held
    assert after.totals.freed_bytes == before.totals.held_bytes
    assert "freed" in str(after)
    assert f":{freed}" in str(after)
    assert f":{freed}" not in str(before)


def test_explain_takes_a_node(torch):
    y = (torch.ones(3, requires_grad=True) ** 2).sum()
    assert "PowBackward0" in str(torch.explain(y.grad_fn.next_functions[0][0]))


def test_asking_changes_nothing(torch):
    x = torch.ones(3, requires_grad=True)
    y = (x.exp() * x).sum()
    with collector_off():
        held = live_bytes(torch)
        str(torch.explain(y))
        assert told_bytes(torch, y) > 0
        assert live_bytes(torch) == held
    y.backward()
    assert x.grad is not None


def test_counters_of_saved_and_freed(torch):
    counters = torch._core.graph_counters
    x = torch.ones(100, requires_grad=True)
    x * x
    before = counters()
    y = (x * x).sum()
    during = counters()
    assert during["bytes_saved"] - before["bytes_saved"] == 400, "a storage once: two slots have it"
    assert during["slots_alive"] - before["slots_alive"] == 2
    y.backward()
    after = counters()
    assert after["bytes_freed_by_backward"] - before["bytes_freed_by_backward"] == 400
    assert after["bytes_released_by_backward"] == before["bytes_released_by_backward"], "x has it still"
    assert after["nodes_freed_by_backward"] - before["nodes_freed_by_backward"] == 1
    assert after["bytes_freed_by_scope"] == before["bytes_freed_by_scope"]
    assert after["slots_alive"] == before["slots_alive"]
    z = (x * x).sum()
    del z
    last = counters()
    assert last["bytes_freed_by_scope"] - after["bytes_freed_by_scope"] == 400
    assert last["nodes_freed_by_scope"] - after["nodes_freed_by_scope"] == 1


def test_who_keeps_a_tensor_alive(torch):
    class Keeper:
        pass

    keeper = Keeper()
    keeper.favourite = torch.ones(3, requires_grad=True)
    assert "favourite" in str(torch.graph.why_alive(keeper.favourite))
    h = torch.ones(3, requires_grad=True) * 2
    square = h * h
    told = str(torch.graph.why_alive(h))
    assert "MulBackward0" in told, "the product saved it"
    assert square.requires_grad


def test_living_tensors_can_be_listed(torch):
    x = torch.ones(3)
    assert any(tensor is x for tensor in torch._core.live_tensors())
    number = len(torch._core.live_tensors())
    y = torch.ones(3)
    assert len(torch._core.live_tensors()) == number + 1
    del y
    assert len(torch._core.live_tensors()) == number
