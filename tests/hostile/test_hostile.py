"""No call crashes, hangs, takes all memory or raises what is meant for nobody: specimens, and random calls."""

import os
import secrets

import pytest

from .children import Child
from .net import Net
from .specimens import SPECIMENS

pytestmark = pytest.mark.beyond
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")  # AddressSanitizer reports a crash and exits


@pytest.mark.parametrize("name", SPECIMENS)
def test_specimens(name):
    outcome = Child({}).run([f"effect({SPECIMENS[name]!r})"])
    assert not outcome.died, f"{outcome.died}\n{SPECIMENS[name]}\n{outcome.errors}"
    assert not outcome.reports


def call(seed, calls):
    net = Net(seed)
    findings = net.run(calls=calls)
    assert not findings, (
        f"{len(findings)} findings in {net.calls} calls, seed {net.seed}; the first:\n{findings[0].script()}"
    )


def test_hostile_calls():
    call(1, 500 if SANITIZED else 4000)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_hostile_calls_of_a_new_seed():
    call(secrets.randbits(32), 100_000)


def test_the_net_finds_what_is_there():
    """It names the call that killed a child, and the fewest calls that show it."""
    net = Net(1, only="torch.Tensor.item")
    texts = ["1 + 1", "effect('torch.killing = 1')", "2 + 2", "getattr(torch, 'killing', 0) and ctypes.string_at(0)"]
    outcome = net.child.run(texts)
    assert outcome.died == ("exit with status 1" if SANITIZED else "killed by SIGSEGV")
    assert len(outcome.statuses) == 3
    assert net._shortest(texts, outcome.died, whole=False) == [texts[1], texts[3]]


@pytest.mark.unsanitized("it waits")
def test_the_net_names_what_hangs():
    outcome = Child({}).run(["1", "all(iter(int, 1)) or [None for _ in iter(int, 1)]"])
    assert outcome.died.startswith("hang")
    assert len(outcome.statuses) == 1


def test_the_net_calls_what_is_public():
    names = {target.name for target in Net(1).targets}
    assert {"torch.add", "torch.Tensor.add_", "torch.nn.Linear", "torch.nn.functional.conv1d", "torch.load"} <= names
    assert {"torch.autograd.grad", "torch.optim.SGD.step", "torch.Tensor.grad", "torch.nn.init.normal_"} <= names
