"""``clew run --check``: what differs from PyTorch is found, at its line; what is right is not reported."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from clew_command import environment

import clew
from clew._operation import _Rules
from clew.cli import script
from clew.cli.check import checked
from clew.cli.check.channel import Channel
from clew.nn.functional import margin_loss
from clew.special import _operations

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
KINDS = ("operations", "functions made of operations", "gradients", "optimizer steps")


class Report(NamedTuple):
    """Of one run."""

    code: int
    text: str

    def counts(self, kind: str) -> tuple[int, int, int, int]:
        """Of one kind: how many ran, agree, differ, were not checked."""
        found = re.search(rf"^{kind}: (\S+) ran; (\S+) agree, (\S+) differ, (\S+) not checked", self.text, re.M)
        assert found is not None, self.text
        ran, agree, differ, rest = (int(one.replace(",", "")) for one in found.groups())
        return ran, agree, differ, rest

    def is_right(self) -> bool:
        """Nothing differs, and nothing is missing from the account."""
        assert "No difference." in self.text, self.text
        assert "without an answer" not in self.text
        assert "unseen" not in self.text
        for kind in KINDS:
            if f"\n{kind}:" in self.text and "passed over" not in self.text:
                ran, agree, _, rest = self.counts(kind)
                assert ran == agree + rest
        return self.code == 0


Check = Callable[..., Report]


@pytest.fixture(scope="module")
def channel() -> Iterator[Channel]:
    """One process of PyTorch's for all of these tests: to import it takes seconds."""
    made = Channel()
    made.wait_for_pytorch()
    yield made
    made.close()


@pytest.fixture
def check(channel: Channel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """``check(source, every=2)`` runs a script as ``clew run --check --every 2`` does."""

    def run(source: str, **options: Any) -> Report:
        (tmp_path / "main.py").write_text(textwrap.dedent(source).lstrip("\n"))
        given = {"script": "main.py", "check": "all", "every": 1, "arguments": []} | options
        monkeypatch.chdir(tmp_path)
        for name in ("argv", "path"):
            monkeypatch.setattr(sys, name, list(getattr(sys, name)))
        monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
        ending, text = checked(script.load_file("main.py"), argparse.Namespace(**given), channel, "2.13")
        return Report(ending.exit_code, text)

    return run


# What is right ------------------------------------------------------------------------------------------------------


def test_a_classifier(check: Check, capsys: pytest.CaptureFixture[str]) -> None:
    report = check(
        """
        import clew as torch
        torch.manual_seed(0)
        net = torch.nn.Sequential(
            torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Flatten(), torch.nn.Linear(64, 10), torch.nn.Dropout(0.2),
        )
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
        x, y = torch.randn(8, 1, 8, 8), torch.randint(0, 10, (8,))
        for _ in range(3):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
        net.eval()
        print(net(x).argmax(1).shape)
        """
    )
    assert report.is_right()
    assert capsys.readouterr().out == "torch.Size([8])\n"
    assert report.counts("gradients")[1] >= 3 * 7
    assert report.counts("gradients")[3] == 0
    assert report.counts("optimizer steps")[:2] == (3, 3)


def test_recurrent_layers_and_a_transformer_block(check: Check) -> None:
    report = check(
        """
        import clew as torch
        torch.manual_seed(0)
        x = torch.randn(3, 5, 8)
        for kind in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):
            layer = kind(8, 8, 2, batch_first=True, bidirectional=True)
            layer(x)[0].square().mean().backward()
        block = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.1)
        optimizer = torch.optim.SGD(block.parameters(), lr=0.1, momentum=0.9, nesterov=True)
        for _ in range(3):
            optimizer.zero_grad()
            block(x).square().mean().backward()
            optimizer.step()
        """
    )
    assert report.is_right()
    assert report.counts("gradients")[1] > 50


def test_distributions_layouts_and_writes(check: Check) -> None:
    report = check(
        """
        import clew as torch
        from clew.distributions import Gamma, Normal, kl_divergence
        torch.manual_seed(0)
        scale = torch.tensor([0.5, 1.5], requires_grad=True)
        (Normal(0.0, scale).rsample((4,)).sum() + kl_divergence(Gamma(scale, 1.0), Gamma(2.0, scale)).sum()).backward()
        x = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
        y = (x.t()[::2] * 2).clone()
        y[1] = 3.0
        y[y > 1] = x.sum()
        y.mul_(2).add_(x.expand(3, 4, 6)[:, :, 0].mean(), alpha=2)
        y.transpose(0, 1)[1:].index_add_(0, torch.tensor([0, 0]), torch.ones(2, 3, dtype=torch.float64))
        y.logsumexp(0).sum().backward()
        z = torch.tensor([float("nan"), float("inf"), -0.0, 1.0])
        torch.sort(torch.tensor([1, 1, 0, 1])), torch.tensor([2.0, 2.0, 1.0]).argmax(), z.sqrt(), z / 0, z.half()
        torch.empty(3, 3).fill_(2.0).tril_(), torch.add(z, 1, out=torch.empty(4)), torch.linalg.svd(torch.ones(3, 3))
        """
    )
    assert report.is_right()
    assert re.search(r"a write into a part of a tensor: .*\(gradient\)", report.text)


def test_functions_in_a_region_of_autocast(check: Check) -> None:
    report = check(
        """
        import clew as torch
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Conv1d(2, 4, 3), torch.nn.BatchNorm1d(4), torch.nn.Flatten(),
                                    torch.nn.Linear(16, 3))
        for dtype in (torch.bfloat16, torch.float16):
            with torch.autocast("cpu", dtype=dtype):
                y = model(torch.randn(5, 2, 6))
                loss = torch.nn.functional.cross_entropy(y, torch.tensor([0, 1, 2, 0, 1]))
                y = torch.nn.functional.linear(y, y) + torch.einsum("ij,kj->ik", y, y)
            (loss + y.float().mean()).backward()
        """
    )
    assert report.is_right()
    assert report.counts("functions made of operations")[1] > 0


def test_an_example(check: Check) -> None:
    pytest.importorskip("sklearn")
    assert check((EXAMPLES / "digits.py").read_text(), every=100).is_right()


def test_a_sum_that_is_only_rounded_otherwise_is_no_difference(check: Check) -> None:
    report = check(
        """
        import clew as torch
        torch.manual_seed(0)
        x = torch.randn(200_000) * 1e3
        x.sum(), (x - x.mean()).sum(), (x / 1e3).square().mean(), x.cumsum(0), x.view(400, 500).sum(0)
        x[:4096].view(64, 64) @ x[:4096].view(64, 64)
        """
    )
    assert report.is_right()


# What is wrong is found ---------------------------------------------------------------------------------------------

HEAD = """
import clew as torch
def head(x):
    return torch.special.entr(x)
x = torch.rand(4, requires_grad=True)
for _ in range(3):
    head(x).sum().backward()
"""


def test_a_wrong_function_of_python(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    source = """
        import clew as torch
        x = torch.randn(4)
        print(x.exp().shape)
        loss = torch.nn.functional.soft_margin_loss(x, torch.ones(4))
    """
    assert check(source).is_right()
    right = margin_loss.soft_margin_loss

    def soft_margin_loss(*args: Any, **kwargs: Any) -> Any:
        return right(*args, **kwargs) * 1.001

    soft_margin_loss.__module__, soft_margin_loss.__qualname__ = right.__module__, right.__qualname__
    monkeypatch.setattr(margin_loss, "soft_margin_loss", soft_margin_loss)
    monkeypatch.setattr(clew.nn.functional, "soft_margin_loss", soft_margin_loss)
    report = check(source)
    assert report.code == 1
    assert re.search(r"^nn\.functional\.soft_margin_loss, value, at main\.py:4 in <module>$", report.text, re.M)
    assert re.search(r"^    clew \S+, PyTorch \S+, a difference of .*\n    tolerance 1\.3e-06 of ", report.text, re.M)
    assert report.counts("functions made of operations")[2] == 1
    assert report.counts("operations")[2] == 0


def test_a_wrong_operation(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(HEAD).is_right()
    forward = _operations.numpy.where
    monkeypatch.setattr(_operations.numpy, "where", lambda *given: forward(*given) * 1.01)
    report = check(HEAD)
    assert report.code == 1
    assert re.search(r"^\w*entr, value, at main\.py:3 in head, in 3 calls$", report.text, re.M)


def test_a_wrong_derivative(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    gradient = _Rules._gradient
    monkeypatch.setattr(_Rules, "_gradient", lambda self, *given: 1.01 * gradient(self, *given))
    report = check(HEAD)
    assert report.code == 1, report.text
    found = r"^\w*entr, gradient of input 0, at main\.py:3 in head, in 3 calls$"
    assert re.search(found, report.text, re.M), report.text
    forward = check(HEAD, check="forward")
    assert forward.is_right()
    assert "gradients:" not in forward.text


def test_a_wrong_step(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    source = """
        import clew as torch
        w = torch.nn.Parameter(torch.ones(3))
        optimizer = torch.optim.Adam([w], lr=0.1)
        w.square().sum().backward()
        optimizer.step()
    """
    assert check(source).is_right()
    step = clew.optim.Adam.step

    def wrong(self: Any, closure: Any = None) -> Any:
        self.param_groups[0]["lr"] *= 1.01
        step(self, closure)
        self.param_groups[0]["lr"] /= 1.01

    monkeypatch.setattr(clew.optim.Adam, "step", wrong)
    report = check(source)
    assert report.code == 1
    assert re.search(r"^Adam, a parameter, at main\.py:5 in <module>$", report.text, re.M)


# What is not checked is counted -------------------------------------------------------------------------------------


def test_what_pytorch_lacks_and_what_is_drawn_is_listed(check: Check) -> None:
    report = check(
        """
        import clew as torch
        library = torch.library.Library("mine", "DEF")
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
        torch.ops.mine.twice(torch.rand(3))
        """
    )
    assert report.is_right()
    assert re.search(r"PyTorch has no operation of this name: .*twice 1", report.text)
    assert re.search(r"draws random numbers, which are taken from clew: _?rand 1", report.text)


def test_every_so_many_th_call_of_a_line(check: Check) -> None:
    source = "import clew as torch\nfor _ in range(10):\n    torch.ones(3).mul(2)\n"
    assert check(source).counts("operations")[1] == 20
    report = check(source, every=4)
    assert report.counts("operations")[:2] == (20, 6)
    assert re.search(r"^passed over: 21 later calls at the same lines$", report.text, re.M)


def test_operations_of_other_threads_are_told_of(check: Check) -> None:
    report = check(
        """
        import clew as torch, threading
        thread = threading.Thread(target=lambda: torch.ones(3) * 2)
        thread.start(); thread.join()
        """
    )
    assert report.is_right()
    assert report.counts("operations") == (2, 0, 0, 2)
    assert "2: in another thread: _full 1, mul 1" in report.text


def test_the_scripts_own_end(check: Check) -> None:
    assert check("import sys\nsys.exit(3)\n").code == 3
    report = check("import clew as torch\ntorch.ones(2) @ torch.ones(3)\n")
    assert report.code == 1
    assert "raises an error in clew: " in report.text


# The command --------------------------------------------------------------------------------------------------------


def command(folder: Path, source: str, *options: str, **more: str) -> subprocess.CompletedProcess[str]:
    """``clew run OPTIONS main.py``."""
    (folder / "main.py").write_text(source)
    start = [sys.executable, "-m", "clew", "run", *options, "main.py"]
    return subprocess.run(start, cwd=folder, env=environment(**more), capture_output=True, text=True, timeout=100)


def test_a_script_that_imports_torch(tmp_path: Path) -> None:
    source = "import torch\nprint(torch.ones(2).softmax(0).tolist(), torch.__version__.count('clew'))\n"
    ran = command(tmp_path, source, "--as-torch", "--check=forward", "--every", "2")
    assert (ran.returncode, ran.stdout) == (0, "[0.5, 0.5] 1\n")
    assert "No difference." in ran.stderr
    assert "beside PyTorch 2." in ran.stderr


def test_without_pytorch(tmp_path: Path) -> None:
    (tmp_path / "hidden" / "torch").mkdir(parents=True)
    (tmp_path / "hidden" / "torch" / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\")")
    path = os.pathsep.join([str(tmp_path / "hidden"), environment()["PYTHONPATH"]])
    ran = command(tmp_path, "print('ran')\n", "--check", PYTHONPATH=path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("clew run --check: expected PyTorch, to compare with, got ModuleNotFoundError")
