"""Replays in the report of ``clew xray``: those that ran, and what keeping a step would win (BEHAVIOUR 6.9)."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable

import pytest

from clew import _core

pytestmark = pytest.mark.skipif(not _core.records_calls, reason="calls are not recorded on this Python")
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


def test_a_replay_is_one_event_with_its_line_calls_and_time(xray: Run) -> None:
    ran = xray(
        STEP + "fast = torch.compile(step)\nfor _ in range(50):\n    fast()\nassert fast.hits == 49, fast.why()\n"
    )
    assert ran.returncode == 0, ran.stderr
    told = re.search(
        r"  step called from train.py:17 in <module>: 49 replays, [\d.]+ .s each, [\d.]+ .s in all", ran.stdout
    )
    assert told, ran.stdout
    opened = ran.stdout[told.end() :].splitlines()[1]
    assert re.search(r"\d+ steps: .*\d+ at train.py:11 in step", opened)
    assert "The only backward called from train.py:11" in ran.stdout  # that of the recorded call


def test_a_kept_program_is_one_event(xray: Run) -> None:
    script = "step()\nwith torch.keep_graph() as program:\n    step()\nfor _ in range(7):\n    program.run()\n"
    ran = xray(STEP.replace("return loss.item()", "return loss") + script)
    assert ran.returncode == 0, ran.stderr
    assert "program.run called from train.py:19 in <module>: 7 replays" in ran.stdout


def test_what_keeping_would_win_is_told(xray: Run) -> None:
    ran = xray(STEP + "for _ in range(101):\n    step()\n")
    assert ran.returncode == 0, ran.stderr
    hint = re.search(
        r"this step is the same in (\d+) of 100 iterations; keeping it .* take ([\d.]+) µs, not", ran.stdout
    )
    assert hint, ran.stdout
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
    ran = xray(STEP + loop)
    assert ran.returncode == 0, ran.stderr
    assert "keeping it" not in ran.stdout
    assert "replays" not in ran.stdout


def test_a_script_that_keeps_graphs_itself_goes_on(xray: Run) -> None:
    loop = "for i in range(40):\n    step()\n    with torch.keep_graph() as program:\n"
    loop += "        y = (x * 2).sum()\n    y.forward()\n"
    ran = xray(STEP + loop + "print(program)\n")
    assert ran.returncode == 0, ran.stderr
    budget = "for i in range(40):\n    with torch.memory.budget(10**6):\n        step()\n"
    assert xray(STEP + budget).returncode == 0
