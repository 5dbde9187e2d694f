"""All totals of one report of ``clew xray`` are of one account, and the allocator keeps the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from clew_command import environment

# A random net whose backward is bracketed by the allocator's counters; some results are kept, some dropped unused.
SCRIPT = """
import json, random, sys
import clew as torch
from clew import _core

def unowned():
    tensors = [t for t in _core.live_tensors() if not _core.storage_is_foreign(t)]
    return torch.memory.stats().live - sum({t._storage_id: t._storage_nbytes for t in tensors}.values())

chance = random.Random(int(sys.argv[1]))
weights = [torch.rand(8, 8).requires_grad_() for _ in range(3)]
def build():
    h = torch.rand(8, 8)
    for _ in range(chance.randrange(3, 9)):
        w = chance.choice(weights)
        h = chance.choice([lambda: (h @ w.t()).tanh(), lambda: h * w * h, lambda: (h @ w).exp() - h])()
    return h
kept = [build() for _ in range(2)]
build()
loss = (build() * weights[0]).sum()
before = unowned()
loss.backward()
print(json.dumps({"released": before - unowned()}))
"""

# The report as numbers, where the command prints text.
REPORT = """
import json, sys
from clew.cli import main, report

def as_numbers(told):
    c, totals = told.counters, told.chosen.explanation.totals
    picture = told.chosen.pictures[told.chosen.count]
    slots = [slot for row in picture.rows() for slot in row.saved if not slot.is_shared]
    rows = dict(report.totals_rows(told))
    print(json.dumps({
        "counters": dict(c),
        "freed": totals.freed_bytes - totals.elsewhere_bytes,
        "released": totals.released_bytes,
        "page": {fate: sum(slot.nbytes for slot in slots if slot.fate == fate) for fate in ("released", "dropped")},
        "holders": sum(one.saved_bytes for one in told.held),
        "row": rows["freed by backward"],
    }))

report.show = as_numbers
main(["xray", "--html", "report.html", "train.py", sys.argv[1]])
"""


@pytest.mark.parametrize("seed", range(6))
def test_one_account(seed: int, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    ran = subprocess.run(
        [sys.executable, "-c", REPORT, str(seed)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert ran.returncode == 0, ran.stderr
    measured, told = (json.loads(line) for line in ran.stdout.splitlines())
    counters: dict[str, Any] = told["counters"]
    assert told["released"] == measured["released"] == counters["bytes_released_by_backward"] > 0
    assert told["freed"] == counters["bytes_freed_by_backward"]
    dropped = told["freed"] - told["released"]
    assert told["page"] == {"released": told["released"], "dropped": dropped}
    assert counters["bytes_saved"] == told["freed"] + counters["bytes_freed_by_scope"] + told["holders"]
    assert counters["bytes_released_by_scope"] > 0
    assert "released to the allocator" in told["row"]
