"""Replays in the report of ``clew xray``: those that ran, and what keeping a step would win (BEHAVIOUR 6.9)."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.records_calls
Run = Callable[..., "subprocess.CompletedProcess[str]"]

STEP = """
import time
import clew as torch

model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.ones(3, 4)

def step():
    optimizer.zero_grad()
    loss = (model(x) ** 2).mean()
    loss.backward()
    optimizer.step()
    return loss.item()

"""


def reported(xray: Run, script: str) -> str:
    """What is printed for a script that ends well."""
    ran = xray(script)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def runs_without_a_hint(xray: Run, script: str) -> None:
    """To its end, and nothing is said of what keeping its step would win."""
    printed = reported(xray, script + "print('went on')\n")
    assert "went on" in printed
    assert "these would take" not in printed


def test_a_replay_is_one_event_with_its_line_calls_and_time(xray: Run) -> None:
    loop = "fast = torch.compile(step)\nfor _ in range(50):\n    fast()\nassert fast.hits == 49, fast.why()\n"
    printed = reported(xray, STEP + loop)
    told = re.search(
        r"  step called from train.py:17 in <module>: 49 replays, [\d.]+ .s each, [\d.]+ .s in all", printed
    )
    assert told, printed
    opened = printed[told.end() :].splitlines()[1]
    assert re.search(r"\d+ steps: .*\d+ at train.py:11 in step", opened)
    assert "The only backward called from train.py:11" in printed  # that of the recorded call


def test_a_kept_program_is_one_event(xray: Run) -> None:
    script = "step()\nwith torch.keep_graph() as program:\n    step()\nfor _ in range(7):\n    program.run()\n"
    printed = reported(xray, STEP.replace("return loss.item()", "return loss") + script)
    assert "program.run called from train.py:19 in <module>: 7 replays" in printed


def test_what_keeping_would_win_is_told(xray: Run) -> None:
    printed = reported(xray, STEP + "for _ in range(101):\n    step()\n")
    hint = re.search(
        r"(\d+) of 100 iterations run the same operations; under clew.compile these would take ([\d.]+) µs, "
        r"now the step takes [\d.]+ .s",
        printed,
    )
    assert hint, printed
    assert int(hint[1]) >= 99  # of the first, an optimizer's state is made
    assert float(hint[2]) > 0


@pytest.mark.parametrize(
    "loop",
    [
        "for _ in range(5):\n    step()\n",  # too few
        "for i in range(60):\n    x = torch.ones(3 + i, 4)\n    step()\n",  # none like the other
        "for i in range(60):\n    torch.manual_seed(0)\n    step()\n",  # can't be kept
    ],
)
def test_where_nothing_would_be_won_it_is_silent(xray: Run, loop: str) -> None:
    printed = reported(xray, STEP + loop)
    assert "these would take" not in printed
    assert "replays" not in printed


@pytest.mark.parametrize(
    "loop",
    [
        "    step()\n    with torch.keep_graph() as program:\n        y = (x * 2).sum()\n    y.forward()\n",
        "    with torch.memory.budget(10**6):\n        step()\n",
    ],
)
def test_a_script_that_keeps_graphs_itself_goes_on(xray: Run, loop: str) -> None:
    reported(xray, STEP + "for i in range(40):\n" + loop)


NINE = "for _ in range(9):\n    step()\n"  # the next one is recorded
SIXTY = "for _ in range(60):\n    step()\n"
THREADS = """
import threading
def on_another_thread(body):
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
"""


def test_another_thread_that_keeps_a_graph_ends_the_probe(xray: Run) -> None:
    script = NINE + THREADS
    script += "def keep():\n    global program, y\n    with torch.keep_graph() as program:\n        y = (x * 2).sum()\n"
    script += "model(x)\non_another_thread(keep)\n" + SIXTY + "y.forward()\nassert y.item() == 24\n"
    runs_without_a_hint(xray, STEP + script)


def test_another_thread_that_compiles_ends_the_probe(xray: Run) -> None:
    script = NINE + THREADS + "fast = torch.compile(lambda x: (x * 2).sum())\n"
    script += "def call():\n    for _ in range(5):\n        fast(x)\n"
    script += "model(x)\non_another_thread(call)\nassert fast.hits == 4, fast.why()\n" + SIXTY
    runs_without_a_hint(xray, STEP + script)


def test_a_backward_on_another_thread_leaves_the_probe_alone(xray: Run) -> None:
    script = NINE + THREADS + "model(x)\nfor _ in range(3):\n    on_another_thread(step)\n" + SIXTY
    reported(xray, STEP + script)


@pytest.mark.parametrize("read", ["", "    y.sum().item()\n"])
def test_a_probe_whose_line_does_not_come_again_holds_no_memory(xray: Run, read: str) -> None:
    script = NINE + "def rest():\n  for _ in range(20_000):\n    y = x + 1\n" + read
    script += "with torch.no_grad():\n    before = torch.memory.stats().live\n    rest()\n"
    script += "    assert torch.memory.stats().live <= before, torch.memory.stats().live - before\n"
    script += "w = torch.ones(3, requires_grad=True)\nw.sum().backward()\nstep()\n"
    reported(xray, STEP + script)


def test_a_line_that_comes_much_later_ends_the_probe(xray: Run) -> None:
    script = NINE + "time.sleep(0.2)\nw = torch.ones(3, requires_grad=True)\nw.sum().backward()\n" + SIXTY
    runs_without_a_hint(xray, STEP + script)


def test_a_step_that_runs_python_is_not_run_again(xray: Run) -> None:
    pure = "calls = 0\n@torch.pure\ndef shifted(x):\n    global calls\n    calls += 1\n    return x + 1\n"
    script = STEP.replace("x = torch.ones(3, 4)\n", "x = torch.ones(3, 4)\n" + pure)
    script = script.replace("model(x)", "model(shifted(x))")
    runs_without_a_hint(xray, script + SIXTY + "assert calls == 60, calls\n")


def test_a_step_that_is_compiled_in_part_gets_no_hint(xray: Run) -> None:
    script = STEP.replace("loss = (model(x) ** 2).mean()", "loss = forward(x)")
    script += "forward = torch.compile(lambda x: (model(x) ** 2).mean())\n"
    script += "for _ in range(101):\n    step()\nassert forward.hits > 95, forward.why()\n"
    runs_without_a_hint(xray, script)
