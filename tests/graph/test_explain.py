"""What clew.explain tells, as data and as text."""

from __future__ import annotations

import collections
import dataclasses
import io
import re
import sys
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest

import clew
from clew.graph.model.wording import as_ascii, bytes_text, counted


def line() -> int:
    """The number of the caller's line."""
    return sys._getframe(1).f_lineno


def slots(told: clew.graph.Explanation) -> Iterator[tuple[str, str]]:
    return ((node.name, slot.name) for node in told.nodes for slot in node.saved)


@pytest.fixture
def x() -> Any:
    return clew.tensor([1.0, 2.0, 3.0], requires_grad=True)


def test_each_node_has_operation_line_shapes_and_what_it_saved(x: Any) -> None:
    y = x**2; made = line()  # fmt: skip  # noqa: E702
    told = clew.explain(y.sum(), params={"x": x})
    total, power, leaf = told.nodes
    assert (total.name, power.name, leaf.name) == ("SumBackward0", "PowBackward0", "AccumulateGrad")
    assert power.op == "pow"
    assert power.made_at is not None
    assert (power.made_at.line, power.made_at.function) == (made, sys._getframe().f_code.co_name)
    assert power.made_at.source.startswith("y = x**2")
    assert total.outputs == (((), "float32"),)
    assert power.outputs == (((3,), "float32"),)
    assert total.saved == ()
    (saved,) = (slot for slot in power.saved if slot.name == "self")
    assert (saved.shape, saved.dtype, saved.nbytes, saved.state) == ((3,), "float32", 12, "held")
    assert leaf.leaf is not None
    assert (leaf.leaf.name, leaf.leaf.shape, leaf.leaf.is_gone) == ("x", (3,), False)


def test_text_has_it_all(x: Any) -> None:
    text = str(clew.explain((x.clone() ** 2).sum(), params={"x": x}))
    assert "SumBackward0 (), saved nothing" in text
    assert re.search(r"PowBackward0 \(3,\) +test_explain.py:\d+ in test_text_has_it_all", text)
    assert "clew.explain((x.clone() ** 2).sum()" in text
    assert "saved self (3,) float32, 12 B, held" in text
    assert "○ #4 leaf x (3,) float32" in text


def test_freed_says_by_which_call_at_which_line(x: Any) -> None:
    loss = (x**2).sum()
    loss.backward(); freed = line()  # fmt: skip  # noqa: E702
    told = clew.explain(loss)
    power = told.nodes[1]
    assert {slot.state for slot in power.saved} == {"freed"}
    assert power.released is not None
    assert power.released.kind == "backward"
    assert power.released.place is not None
    assert power.released.place.line == freed
    assert f"freed by backward() at test_explain.py:{freed}" in str(told)
    assert (told.totals.held_bytes, told.totals.held) == (0, 0)
    assert [release.place.line for release in told.totals.releases if release.place] == [freed]


def test_freed_by_grad(x: Any) -> None:
    loss = (x**2).sum()
    clew.autograd.grad(loss, x)
    told = clew.explain(loss)
    assert told.nodes[1].released is not None
    assert told.nodes[1].released.kind == "grad"
    assert "freed by autograd.grad() at test_explain.py" in str(told)


def test_retained_is_held(x: Any) -> None:
    loss = (x**2).sum()
    loss.backward(retain_graph=True)
    told = clew.explain(loss)
    assert told.nodes[1].released is None
    assert (told.totals.held, told.totals.held_bytes) == (1, 12)


def test_a_storage_is_counted_once(x: Any) -> None:
    told = clew.explain((x * x).sum())
    assert (told.totals.held, told.totals.held_bytes) == (2, 12)
    assert [slot.shared_with for slot in told.nodes[1].saved] == ["leaf #3", "leaf #3"]
    assert "saved self (3,) float32, shares memory with leaf #3, held" in str(told)
    h = x.exp()
    told = clew.explain(h * h)
    assert [slot.shared_with for node in told.nodes for slot in node.saved] == [None, "self of #1", "self of #1"]
    assert told.totals.held_bytes == 12


def test_a_view_of_a_large_storage() -> None:
    w = clew.ones(2, requires_grad=True)
    big = clew.ones(100)
    told = clew.explain(w * big[:2])
    (slot,) = told.nodes[0].saved
    assert (slot.view_nbytes, slot.nbytes) == (8, 400)
    assert "8 B of a storage of 400 B" in str(told)


def test_written_in_place_since(x: Any) -> None:
    y = x.exp()
    z = y * 2
    y.mul_(3)
    stale = [slot for node in clew.explain([z, y]).nodes for slot in node.saved if slot.is_stale]
    assert [slot.name for slot in stale] == ["result"]
    assert "modified in place since: version 1, saved at 0" in str(clew.explain(y))


def test_packed_by_a_hook(x: Any) -> None:
    with clew.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
        y = x**2
    told = clew.explain(y)
    assert told.totals.packed == 1
    assert "packed (stored by saved_tensors_hooks)" in str(told)


def test_a_custom_function(x: Any) -> None:
    class Double(clew.autograd.Function):
        @staticmethod
        def forward(ctx: Any, value: Any) -> Any:
            ctx.save_for_backward(value)
            return value * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    told = clew.explain(Double.apply(x))
    assert told.nodes[0].name == "DoubleBackward"
    assert told.totals.held_bytes == 12


def test_memory_of_numpy_is_a_line_of_its_own() -> None:
    import numpy as np

    w = clew.ones(3, requires_grad=True)
    told = clew.explain(w * clew.from_numpy(np.ones(3, np.float32)))
    assert (told.totals.held_bytes, told.totals.foreign_bytes) == (0, 12)
    assert "another library" in str(told)


def test_a_shared_part_is_printed_once(x: Any) -> None:
    h = x.tanh()
    told = clew.explain(h * 2 + h * 3)
    assert [node.name for node in told.nodes].count("TanhBackward0") == 1
    assert str(told).count("● #4 TanhBackward0") == 1
    assert str(told).count("→ #4 TanhBackward0") == 1


def test_a_large_graph_is_summarised(x: Any) -> None:
    z = x
    for _ in range(5000):
        z = z * 1.001
    told = clew.explain(z, limit=10)
    assert len(told.nodes) == 10
    assert told.totals.nodes == 5000
    assert told.hidden == 4991
    assert "… 4,991 more nodes" in str(told)
    assert all(line.startswith(("●", "│", "○", " ")) for line in str(told).splitlines()[2:12])


def test_a_long_chain_is_not_indented(x: Any) -> None:
    z = x
    for _ in range(3000):
        z = z.sin()
    text = str(clew.explain(z, limit=10_000))
    assert max(len(row) - len(row.lstrip(" │├─")) for row in text.splitlines()) < 8


def test_a_leaf(x: Any) -> None:
    assert "a leaf" in str(clew.explain(x))
    assert "has no gradient yet" in str(clew.explain(x))
    x.sum().backward()
    assert "holds a gradient of shape (3,)" in str(clew.explain(x))
    assert clew.explain(x).nodes == ()


def test_an_integer_tensor() -> None:
    assert "int64 values have no gradient" in str(clew.explain(clew.tensor([1, 2])))


def test_a_tensor_without_history() -> None:
    assert "no tensor that it was computed from requires a gradient" in str(clew.explain(clew.ones(2) + 1))


def test_where_history_was_lost(x: Any) -> None:
    h = (x * 2).detach(); lost = line()  # fmt: skip  # noqa: E702
    told = clew.explain(h + 1)
    assert told.lost_by == "detach"
    assert told.lost_at is not None
    assert told.lost_at.line == lost
    assert f"lost by detach at test_explain.py:{lost}" in str(told)


def test_lost_by_a_cast(x: Any) -> None:
    assert "int64" in str(clew.explain(x.long()).lost_by)


def test_a_leaf_that_is_gone() -> None:
    y = clew.ones(2, requires_grad=True) * 2
    leaf = clew.explain(y).nodes[-1].leaf
    assert leaf is not None
    assert leaf.is_gone
    assert "gone: the tensor was freed, so its gradient is discarded" in str(clew.explain(y))


def test_a_node_and_a_sequence(x: Any) -> None:
    a, b = x * 2, x + 1
    assert clew.explain(a.grad_fn).nodes == clew.explain(a).nodes
    told = clew.explain([a, b.grad_fn, clew.ones(1)])
    assert told.totals.nodes == 2
    assert "1 of them without history" in str(told)


@pytest.mark.parametrize("wrong", [3, "x", None, [], [1]])
def test_something_else(wrong: Any) -> None:
    with pytest.raises(TypeError, match="explain: expected a tensor, a node"):
        clew.explain(wrong)


def test_a_module_gets_a_hint() -> None:
    with pytest.raises(TypeError, match="call the module and explain its result"):
        clew.explain(clew.nn.Linear(2, 2))  # type: ignore[arg-type]


def test_limit_must_be_positive(x: Any) -> None:
    with pytest.raises(ValueError, match="at least 1, got 0"):
        clew.explain(x * 2, limit=0)


def test_explaining_changes_nothing(x: Any) -> None:
    y = (x * x).sum()
    before, live = clew._core.graph_counters(), clew.memory.stats().live
    told = clew.explain(y)
    str(told)
    assert clew._core.graph_counters() == before
    assert clew.memory.stats().live == live
    y.backward()
    assert x.grad.tolist() == [2, 4, 6]


def test_an_explanation_does_not_hold_the_graph(x: Any) -> None:
    x.exp()  # from now on x has its AccumulateGrad, and keeps it
    alive = clew._core.graph_counters()["nodes_alive"]
    y = x.exp().sum()
    told = clew.explain(y)
    del y
    assert clew._core.graph_counters()["nodes_alive"] == alive
    assert "ExpBackward0" in str(told)


def test_bytes_are_the_allocators_own() -> None:
    """What goes when the graph goes is what explain said that it holds."""
    w = clew.rand(100, 50, requires_grad=True)
    loss = (w * 2).tanh().exp().sum()
    told, before = clew.explain(loss), clew.memory.stats().live
    del loss
    freed = before - clew.memory.stats().live
    assert freed == told.totals.held_bytes + 4  # and the loss itself


def test_units_and_ascii() -> None:
    assert [bytes_text(n) for n in (0, 1023, 1024, 1536, 2**20, 3 * 2**30, 2**41)] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "1.5 KiB",
        "1.0 MiB",
        "3.0 GiB",
        "2.0 TiB",
    ]
    assert [counted(n, "leaf") for n in (1, 2)] == ["1 leaf", "2 leaves"]
    assert as_ascii("●│├─→…").isascii()


# ------------------------------------------------------------------------------------ what modules return


@dataclasses.dataclass
class Output:
    loss: Any
    logits: Any
    note: str = "fine"


class Plain:
    def __init__(self, loss: Any) -> None:
        self.loss, self.step = loss, 3


@pytest.mark.parametrize(
    "wrap",
    [
        lambda a, b: (a, b),
        lambda a, b: {"loss": a, "logits": b},
        lambda a, b: Output(a, b),
        lambda a, b: {"output": [Output(a, {"inner": (b, None)})], "step": 3},
        lambda a, b: collections.namedtuple("Pair", "a b")(a, b),
        lambda a, b: [Plain(a), b],
    ],
)
def test_outputs_of_modules(x: Any, wrap: Any) -> None:
    a, b = x * 2, x + 1
    told = clew.explain(wrap(a, b))
    assert sorted(node.name for node in told.nodes) == ["AccumulateGrad", "AddBackward0", "MulBackward0"]
    assert "2 tensors" in told.subject


def test_a_container_that_contains_itself(x: Any) -> None:
    loop: list[Any] = [x * 2]
    loop.append(loop)
    assert clew.explain(loop).totals.nodes == 1


def test_containers_without_history() -> None:
    told = clew.explain({"a": clew.ones(1), "b": clew.tensor([1])})
    assert told.nodes == ()
    assert "2 of them without history" in str(told)


# ------------------------------------------------------------------------------------ exceptions


def failure(run: Any) -> BaseException:
    with pytest.raises(RuntimeError) as caught:
        run()
    return caught.value


def test_second_backward(x: Any) -> None:
    y = x.exp(); made = line()  # fmt: skip  # noqa: E702
    loss = y.sum()
    loss.backward(); freed = line()  # fmt: skip  # noqa: E702
    told = clew.explain(failure(loss.backward))
    assert told.subject == "GraphFreedError"
    assert [node.name for node in told.nodes] == ["ExpBackward0", "AccumulateGrad"]
    notes = {note.label: note for note in told.notes}
    assert (notes["created at"].place.line, notes["freed at"].place.line) == (made, freed)  # type: ignore[union-attr]
    assert notes["in the graph of"].text == "`y`, `loss`"
    assert f"freed at test_explain.py:{freed} in test_second_backward: loss.backward()" in str(told)


def test_written_in_place(x: Any) -> None:
    y = x.exp()
    z = y.sum()
    y.mul_(2); written = line()  # fmt: skip  # noqa: E702
    error = failure(z.backward)
    notes = {note.label: note for note in clew.explain(error).notes}
    assert notes["written by"].text == "mul_"
    assert notes["written at"].place.line == written  # type: ignore[union-attr]
    assert notes["raised at"].place.file == __file__  # type: ignore[union-attr]


def test_an_error_that_was_caused_by_one_of_the_graph(x: Any) -> None:
    loss = x.exp().sum()
    loss.backward()

    def wrapped() -> None:
        try:
            loss.backward()
        except RuntimeError as error:
            raise RuntimeError("training failed") from error

    told = clew.explain(failure(wrapped))
    assert told.subject == "RuntimeError, caused by GraphFreedError"
    assert told.nodes[0].name == "ExpBackward0"


def test_an_error_of_others() -> None:
    try:
        int("x"); raised = 0  # fmt: skip  # noqa: E702
    except ValueError as error:
        raised = line() - 2
        told = clew.explain(error)
    assert told.subject == "ValueError"
    assert told.nodes == ()
    assert "invalid literal" in told.remark
    assert {note.place.line for note in told.notes if note.place} == {raised}
    assert "names no node" in str(told)
    assert "without a message" in str(clew.explain(KeyError()))


# ------------------------------------------------------------------------------------ who holds, what goes


def test_what_goes_when_it_goes() -> None:
    w = clew.rand(100, 50, requires_grad=True)
    loss = (w * w).tanh().exp().sum()
    told = clew.explain(loss)
    assert (told.totals.goes_with, told.totals.shared_with) == (("loss",), ("w",))
    assert (told.totals.graph_only_bytes, told.totals.shared_bytes) == (2 * 20_000, 20_000)
    assert "kept alive by the graph alone: 39.1 KiB, freed when `loss` is freed" in str(told)
    assert "also kept alive by your variables (`w`): 19.5 KiB" in str(told)
    before = clew.memory.stats().live
    del loss
    assert before - clew.memory.stats().live == told.totals.graph_only_bytes + 4


def test_what_stays_with_others() -> None:
    w = clew.rand(10, requires_grad=True)
    trunk = w.exp().tanh() * 2.0
    loss = trunk.sigmoid().sum()
    told = clew.explain(loss)
    assert told.totals.graph_only_bytes - told.totals.staying_bytes == 40
    assert "except" in str(told)
    before = clew.memory.stats().live
    del loss
    assert before - clew.memory.stats().live == 40 + 4
    assert trunk.requires_grad


def test_leaves_get_the_names_of_variables(x: Any) -> None:
    model = clew.nn.Linear(3, 1)
    told = clew.explain(model(x).sum())
    assert {node.leaf.name for node in told.nodes if node.leaf} == {"x", "model.weight", "model.bias"}


def test_looking_for_names_keeps_nothing_alive(x: Any) -> None:
    """Reading f_locals of a running function would leave a copy of its variables in the frame."""
    h = x.exp()
    loss = (h * h).sum()
    clew.explain(loss)
    clew.why_alive(h)
    clew.graph.ledger(loss)
    before = clew.memory.stats().live
    del h, loss
    assert before - clew.memory.stats().live == 12 + 4


def test_variables_that_the_user_asked_for_stay(x: Any) -> None:
    loss = x.exp().sum()
    mine = locals()
    clew.explain(loss)
    assert mine["loss"] is loss


# ------------------------------------------------------------------------------------ large graphs, other forms


def test_a_large_graph_is_summed_up_by_line(x: Any) -> None:
    z = x
    for _ in range(3000):
        z = z.sin()
    told = clew.explain(z, limit=5)
    (sines, leaf) = told.groups
    assert (sines.name, sines.nodes, sines.slots, sines.nbytes) == ("SinBackward0", 3000, 3000, 36_000)
    assert sines.made_at is not None
    assert sines.made_at.source == "z = z.sin()"
    assert leaf.nodes == 1
    assert "3,000 SinBackward0 (3,), saved 35.2 KiB" in str(told)
    assert clew.explain(z, limit=4000).groups == ()


@pytest.mark.slow
def test_ten_million_nodes() -> None:
    x = clew.ones(1, requires_grad=True)
    z = x
    for _ in range(10_000_000):
        z = z.sin()
    told = clew.explain(z)
    assert told.totals.nodes == 10_000_000
    assert told.totals.graph_only_bytes == 4 * (10_000_000 - 1)  # the leaf has its own
    assert len(told.nodes) == 200


def test_html(x: Any) -> None:
    html = clew.explain((x * x).sum(), params={"<w>": x})._repr_html_()
    assert "&lt;w&gt;" in html
    assert "<w>" not in html
    assert "<script" not in html
    parser = ElementTree.fromstring(html.replace("<br>", "<br/>").replace("<details open>", "<details>"))
    assert [cell.text for cell in parser.iter("th")] == ["what was saved", "tensors", "bytes", "by whom"]
    assert "MulBackward0 (3,)" in "".join(parser.find(".//pre").itertext())  # type: ignore[union-attr]


def test_rich(x: Any) -> None:
    from rich.console import Console

    told = clew.explain((x.clone() ** 2).sum())
    console = Console(width=150, file=io.StringIO(), force_terminal=True, color_system="standard", record=True)
    console.print(told)
    text = console.export_text()
    assert "● #2 PowBackward0 (3,)" in text
    assert re.search(r"only by the graph +12 B", text)
    assert "\x1b[" in console.file.getvalue()  # type: ignore[attr-defined]


def test_show_is_plain_where_no_one_looks(x: Any, capsys: pytest.CaptureFixture[str]) -> None:
    told = clew.explain(x * 2)
    told.show()
    assert capsys.readouterr().out == str(told) + "\n"
    assert repr(told) == str(told)
