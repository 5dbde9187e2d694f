"""Memory over time: the peak is the allocator's, and every byte is told under the line that caused it."""

import json

import pytest

import clew
from clew import nn

pytestmark = [pytest.mark.beyond, pytest.mark.usefixtures("no_leak")]


def line_of(mark):
    """The number of this file's line that ends in a comment."""
    with open(__file__) as file:
        return next(number for number, line in enumerate(file, 1) if line.rstrip().endswith(f"# {mark}"))


def train(width, steps=3):
    model = nn.Sequential(nn.Linear(20, width), nn.Tanh(), nn.Linear(width, 5))
    optimizer = clew.optim.Adam(model.parameters())
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(clew.randn(16, 20)) ** 2).mean()
        loss.backward()
        optimizer.step()


def attention(width):
    x = clew.randn(12, width, requires_grad=True)
    y = (x @ x.T).softmax(-1) @ x
    y.square().sum().backward()


def second_order(width):
    x = clew.randn(width, requires_grad=True)
    (gradient,) = clew.autograd.grad(x.sin().exp().sum(), x, create_graph=True)
    (gradient * gradient).sum().backward()


def checkpointed(width):
    x = clew.randn(width, width, requires_grad=True)
    y = clew.utils.checkpoint.checkpoint(lambda x: x.tanh().sin().cos(), x, use_reentrant=False)
    y.sum().backward()


def failing(width):
    x = clew.randn(width, requires_grad=True)
    with pytest.raises(RuntimeError):
        (x.exp() @ clew.ones(width + 1)).backward()


def rnn(width):
    cell = nn.LSTMCell(8, width)
    state = None
    for _ in range(7):
        state = cell(clew.randn(4, 8), state)
    state[0].sum().backward()


@pytest.mark.parametrize("program", [train, attention, second_order, checkpointed, failing, rnn])
@pytest.mark.parametrize("width", [3, 200])
def test_the_peak_is_the_allocators(program, width):
    clew.memory.reset_peak()
    with clew.memory.timeline() as t:
        program(width)
    assert t.peak == clew.memory.stats().peak
    assert sum(share.nbytes for share in t.at_peak()) == t.peak
    assert sum(share.nbytes for share in t.at_end()) == clew.memory.stats().live
    assert int(t.series().total.max()) == t.peak


def test_each_byte_is_told_under_its_forward_line():
    x = clew.ones(1000, requires_grad=True)
    with clew.memory.timeline() as t:
        y = x.exp()  # makes y
        z = y * y  # makes z
        z.sum().backward()
    told = {(share.place.line, share.phase): share.nbytes for share in t.at_peak() if share.place}
    assert told[line_of("makes y"), "forward"] == 4000
    assert told[line_of("makes z"), "forward"] == 4000
    # The derivative of the product takes at least one tensor while both its operands are still held.
    assert told[line_of("makes z"), "backward"] >= 4000
    assert {share.phase for share in t.at_end()} == {"forward", "backward"}
    gradient = [share for share in t.at_end() if share.phase == "backward"]
    # What the derivative of the product took, the derivative of exp wrote over.
    assert [(share.place.line, share.nbytes) for share in gradient] == [(line_of("makes z"), 4000)]


def test_strips_of_large_gradients_are_told_under_their_forward_lines():
    x = clew.ones(1_200_000, requires_grad=True)  # more than 4 MiB: Note [Strips]
    with clew.memory.timeline() as t:
        y = x.exp()  # makes large y
        z = (y * 2.0).tanh()
        z.sum().backward()
    gradient = [share for share in t.at_end() if share.phase == "backward"]
    assert [(share.place.line, share.nbytes) for share in gradient] == [(line_of("makes large y"), 4_800_000)]


def test_modules_are_named():
    model = nn.Sequential(nn.Linear(20, 30), nn.Sequential(nn.Tanh()))
    with clew.memory.timeline() as t:
        y = model(clew.ones(8, 20))
    told = {share.module: share.nbytes for share in t.at_peak() if not share.is_earlier}
    assert told["Sequential.0"] == told["Sequential.1.0"] == 8 * 30 * 4
    assert y.shape == (8, 30)


def test_bytes_from_before_leave_when_they_go():
    x = clew.ones(1000)
    live = clew.memory.stats().live
    with clew.memory.timeline() as t:
        del x
        y = clew.ones(10)
    assert sum(share.nbytes for share in t.at_end() if share.is_earlier) == live - 4000
    assert t.peak == live
    assert t.peak_seconds == 0
    assert y.sum() == 10


def test_two_timelines_at_once():
    counts = [clew.memory.stats().allocations]
    with clew.memory.timeline() as outer:
        x = clew.ones(100)
        counts.append(clew.memory.stats().allocations)
        with clew.memory.timeline() as inner:
            y = x + 1
    counts.append(clew.memory.stats().allocations)
    assert (outer.allocations, inner.allocations) == (counts[2] - counts[0], counts[2] - counts[1])
    assert y.sum() == 200


def test_nothing_is_written_down_afterwards():
    with clew.memory.timeline() as t:
        pass
    clew.ones(1000)
    assert t.allocations == 0
    assert str(t).startswith("peak ")


def test_the_trace_is_what_chrome_reads(tmp_path):
    with clew.memory.timeline() as t:
        train(10)
    t.save(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    counters = [event for event in events if event["ph"] == "C"]
    assert max(sum(event["args"].values()) for event in counters) == t.peak
    times = [event["ts"] for event in counters]
    assert times == sorted(times)
    assert all({"pid", "ts", "name"} <= event.keys() for event in counters)


def test_wrong_use_is_refused(tmp_path):
    with clew.memory.timeline() as t:
        with pytest.raises(RuntimeError, match="timeline: expected the `with` block to have ended"):
            t.at_peak()
        with pytest.raises(RuntimeError, match="timeline: expected a fresh one"), t:
            pass
    with pytest.raises(ValueError, match=r"expected a name that ends in .json or .html"):
        t.save(tmp_path / "trace.txt")


def test_a_timeline_that_was_not_begun_can_not_end() -> None:
    ended = clew.memory.timeline()
    with ended:
        pass
    for one in (clew.memory.timeline(), ended):
        with pytest.raises(RuntimeError, match="timeline: expected a recording that was begun"):
            one.__exit__(None, None, None)


@pytest.mark.beyond
def test_a_timeline_that_recorded_nothing(torch):
    with pytest.raises(RuntimeError, match="expected one whose block has ended"):
        torch.memory.timeline().section()


@pytest.mark.beyond
def test_a_film_is_of_a_picture(torch):
    """What is no picture must not be told of later backward passes."""
    with pytest.raises(TypeError, match="expected a Picture"):
        torch.graph.Film(3)
