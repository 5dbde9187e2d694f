"""`clew xray --html`: everything on one page, and the script's own output and exit code as they were."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

TRAINING = """
    import clew
    from clew import nn
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = clew.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        optimizer.zero_grad()
        loss = model(clew.ones(2, 3)).square().mean()
        loss.backward()
        optimizer.step()
    print("own output")
"""


def sections(page: str) -> list[str]:
    return re.findall(r'<button role="tab"[^>]*>([^<]*)</button>', page)


def test_a_training_script(xray: Run, tmp_path: Path) -> None:
    ran = xray(TRAINING, options=("--html", "report.html"))
    assert ran.returncode == 0
    assert ran.stdout.startswith("own output\n")
    page = (tmp_path / "report.html").read_text()
    assert sections(page) == ["Graph", "Memory", "Summary", "Growth"]
    assert "after backward 20 at train.py:8" in page  # the last
    assert ">16 of 20 at train.py:8</option>" in page  # and earlier ones
    assert "2 · Linear" in page
    assert "model.0.weight" in page
    assert "activations saved by the graph" in page
    assert "No line kept the graphs" in page
    assert not re.search(r'(src|href)="(?!data:)', page)  # nothing is loaded from anywhere


def test_a_script_that_leaks_and_ends_in_our_error(xray: Run, tmp_path: Path) -> None:
    ran = xray(
        """
        import clew
        w = clew.ones(3, requires_grad=True)
        total = 0
        for _ in range(30):
            loss = (w * w).sum()
            total = total + loss
            loss.backward()
        shared = w.exp()
        for _ in range(2):
            shared.sum().backward()
        """,
        options=("--html", "report.html"),
    )
    assert ran.returncode == 1
    page = (tmp_path / "report.html").read_text()
    assert sections(page)[0] == "Error"
    assert "clew.autograd.errors.GraphFreedError" in page.replace("<wbr>", "")
    assert re.search(r"created at</td><td>train.py:8", page)
    assert re.search(r"train.py:6[^<]*</td><td>total</td>", page)
    assert "`total` keeps the graphs of" in ran.stdout  # in the text, too


def test_a_script_without_a_graph(xray: Run, tmp_path: Path) -> None:
    assert xray("print('<script>')", options=("--html", "report.html")).returncode == 0
    assert sections((tmp_path / "report.html").read_text()) == ["Summary", "Growth"]


@pytest.mark.parametrize(("path", "why"), [(".", "a folder"), ("no/such/report.html", "no folder")])
def test_a_page_that_cannot_be_written_is_refused_before_the_script_runs(xray: Run, path: str, why: str) -> None:
    ran = xray("print('ran')", options=("--html", path))
    assert ran.returncode == 2
    assert why in ran.stderr
    assert "ran" not in ran.stdout.splitlines()


def test_node_by_node(xray: Run) -> None:
    ran = xray(
        """
        import clew
        x = clew.ones(2, requires_grad=True)
        (x * 2).sum().backward()
        (x * x).sum().backward()
        print(x.grad.tolist())
        """,
        options=("--step", "--at", "4"),
    )
    lines = ran.stdout.splitlines()
    assert lines[0] == "backward called at train.py:4, node by node, in the order in which they run"
    assert [line.split()[1].rstrip(":") for line in lines[1:4]] == ["SumBackward0", "MulBackward0", "AccumulateGrad"]
    assert "train.py:4" in lines[2]
    assert lines[4] == "[4.0, 4.0]"
    assert "The only backward called from train.py:4" in ran.stdout  # the one that was shown is counted, too


def test_questions_after_each_node(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import clew
    from clew.cli.stepping import Stepper

    answers = iter(["p", "what", "", "c"])
    stepper = Stepper(None, lambda: next(answers))
    x = clew.ones(2, requires_grad=True)
    stepper.start()
    try:
        (x * 3).sum().backward()
        (x * 3).sum().backward()  # runs as ever
    finally:
        stepper.stop()
    out = capsys.readouterr().out
    assert "  came: tensor(1.)" in out
    assert out.count("Enter: next node") == 2  # at the start, and as the answer to "what"
    assert [line.split()[1] for line in out.splitlines() if re.match(" +[0-9]", line)] == [
        "SumBackward0:",
        "MulBackward0:",
    ]
    assert next(answers, None) is None
    assert x.grad.tolist() == [6, 6]


def test_leaving_in_the_middle() -> None:
    import clew
    from clew.cli.stepping import Stepper

    x = clew.ones(2, requires_grad=True)
    stepper = Stepper(None, lambda: "q")
    stepper.start()
    try:
        with pytest.raises(SystemExit):
            x.exp().sum().backward()
    finally:
        stepper.stop()
    x.exp().sum().backward()
    assert x.grad is not None
