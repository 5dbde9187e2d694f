"""What ``clew xray`` tells about a script's graphs."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from clew_command import environment

Run = Callable[..., "subprocess.CompletedProcess[str]"]

TRAIN = """
import clew as torch
from clew import nn

def main():
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        loss = (model(torch.ones(3, 4)) ** 2).mean()
        loss.backward()
        optimizer.step()
    return loss

last = main()
print("trained")
"""


def test_the_whole_report(xray: Run) -> None:
    ran = xray(TRAIN)
    assert ran.returncode == 0, ran.stderr
    out = ran.stdout
    assert out.startswith("trained\n\n── clew xray train.py")
    assert "The last of 5 backward passes called from train.py:10 in main: loss.backward()" in out
    assert "MeanBackward0 ()" in out
    assert "train.py:9 in main: loss = (model(torch.ones(3, 4)) ** 2).mean()" in out
    assert "freed by backward() at train.py:10" in out
    assert "leaf model.0.weight (8, 4) float32" in out
    for row in (
        "nodes built",
        "bytes saved by nodes",
        "peak of all tensors",
        "freed by backward",
        "released with the last",
    ):
        assert f"  {row}" in out
    for row in ("building the graph", "forward kernels", "backward", "elsewhere: Python, optimizer"):
        assert f"  {row}" in out
    assert "by last: " in out
    assert "of 4 steps" in out


def test_precision_names_the_line_that_loses_digits(xray: Run, tmp_path: Path) -> None:
    loses = TRAIN.replace("** 2).mean()", "** 2).mean() + 1e5 - 1e5").replace('"trained"', '"trained", last.item() > 0')
    plain, ran = xray(loses), xray(loses, options=("--precision",))
    assert ran.returncode == 0, ran.stderr
    head = ran.stdout.split("── precision ──")
    assert head[0].startswith(plain.stdout.splitlines()[0])
    told = head[1].split("The last of")[0]
    assert re.search(r"train.py:9: sub leaves an error of .* digits lost.*To do: nearly equal numbers", told)
    assert "precision" not in plain.stdout
    healthy = xray(TRAIN, options=("--precision", "--html", "page.html")).stdout
    assert "nothing to report: no line loses" in healthy
    assert "nothing to report: no line loses" in (tmp_path / "page.html").read_text()


def test_the_shares_of_a_step_add_up(xray: Run) -> None:
    lines = xray(TRAIN).stdout.split("── the step")[1].splitlines()
    shares = [float(line.split(" %")[0].split()[-1]) for line in lines if " %" in line]
    assert len(shares) == 4
    assert sum(shares) == pytest.approx(100, abs=0.3)
    assert all(share >= 0 for share in shares)


def test_totals_count_nodes_and_bytes(xray: Run) -> None:
    out = xray(
        """
        import clew
        x = clew.ones(256, requires_grad=True)
        kept = []
        for _ in range(3):
            kept.append(x.exp())
        x.exp().sum().backward()
        x.exp()
        """
    ).stdout
    assert "nodes built                       7, those of leaves included" in out
    assert "bytes saved by nodes              5.0 KiB" in out
    assert "freed by backward                 1.0 KiB that 1 node saved: 1.0 KiB released to the allocator" in out
    assert "released with the last reference  1.0 KiB that 1 node saved: 1.0 KiB released to the allocator" in out
    assert "still held                        3 nodes and 1 leaf, 3.0 KiB saved" in out
    assert holders(out) == [
        "by kept[0] … kept[2] (3 tensors): 3 nodes, 3.0 KiB saved, created at train.py:5 in <module>"
    ]


def test_the_peak_is_that_of_the_scripts_tensors(xray: Run) -> None:
    assert "peak of all tensors               0 B, graph metadata not included\n" in xray("print(1)").stdout
    assert "peak of all tensors               4.0 KiB, graph" in xray("import clew\nx = clew.ones(1024)").stdout


def test_who_holds(xray: Run) -> None:
    out = xray(
        """
        import clew
        x = clew.ones(256, requires_grad=True)
        class Trainer: pass
        trainer = Trainer()
        trainer.best = {"loss": x.exp()}
        def make():
            hidden = x.tanh()
            return lambda: hidden
        look = make()
        print(look().grad_fn.nbytes)
        """
    ).stdout
    assert "by trainer.best['loss']: 1 node, 1.0 KiB saved, created at train.py:5 in <module>" in holders(out)
    assert "by look:hidden: 1 node, 1.0 KiB saved, created at train.py:7 in make" in holders(out)
    assert f"by look:hidden: 1 node, 1.0 KiB saved, {out.split()[0]} B of graph metadata, created" in out


def holders(out: str) -> list[str]:
    """The lines below the total, without the bytes of graph metadata."""
    below = out.split("\n  still held  ")[1].split("\n\n")[0].splitlines()[1:]
    return [re.sub(r", [\d.,]+ (B|KiB) of graph metadata", "", line.strip()) for line in below]


def test_a_leaf_is_held_by_nobody_but_itself(xray: Run) -> None:
    """`x` has what was dropped, as the tree says; no graph is held, so no holder is missing."""
    out = xray(
        """
        import clew
        x = clew.ones(256, requires_grad=True)
        (x * x).sum().backward()
        """
    ).stdout
    assert "by backward() at train.py:3, still referenced by `x`\n" in out  # the slot
    assert "\nstill referenced by `x`\n" in out  # the totals
    assert "still held                        0 nodes and 1 leaf, 0 B saved" in out
    assert holders(out) == []


def test_each_holder_of_a_graph_is_named(xray: Run) -> None:
    out = xray(
        """
        import clew
        x = clew.ones(256, requires_grad=True)
        losses, outputs = [], []
        def step():
            outputs.append(x.exp())
            losses.append(outputs[-1].sum())
            losses[-1].backward()
        class Log:
            best = None
        for _ in range(3):
            step()
        Log.best = x.tanh()
        """
    ).stdout
    assert "`losses` keeps the graphs of 3 earlier losses" in out
    assert holders(out) == [
        "by Log.best: 1 node, 1.0 KiB saved, created at train.py:12 in <module>",
        "by losses[0] … losses[2] (3 tensors): 6 nodes, 0 B saved, created at train.py:6 in step",
        "by outputs[0] … outputs[2] (3 tensors): only nodes that are listed above, created at train.py:5 in step",
    ]


EVALUATION = """
import clew
model = clew.nn.Linear(4, 1)
losses = []
{train}
for _ in range(5):
    losses.append(model(clew.ones(3, 4)).mean()){backward}
"""


@pytest.mark.parametrize(
    ("train", "backward", "said"),
    [
        ("", "", "`losses` keeps the graphs of 5 losses without a backward: 15 nodes"),
        ("model(clew.ones(3, 4)).mean().backward()", "", "`losses` keeps the graphs of 5 losses without a backward"),
        ("", "; losses[-1].backward()", "`losses` keeps the graphs of 5 earlier losses, whose backward has run"),
        ("", "; _ > 2 and losses[-1].backward()", ""),  # the first three may have been left over
    ],
)
def test_a_list_of_graphs_is_noted(xray: Run, train: str, backward: str, said: str) -> None:
    out = xray(EVALUATION.format(train=train, backward=backward)).stdout
    assert said in out
    assert ("keeps the graphs" in out) == bool(said)


def test_what_no_name_leads_to_is_counted(xray: Run) -> None:
    out = xray(
        """
        import sys
        import clew
        x = clew.ones(256, requires_grad=True)
        named = x.tanh()
        clew.hidden = x.exp().exp()
        """
    ).stdout
    assert "still held                        3 nodes and 1 leaf" in out
    assert holders(out)[1:] == ["by something that no variable of the script references: 2 nodes"]


def test_at_a_line(xray: Run) -> None:
    source = """
        import clew
        x = clew.ones(2, requires_grad=True)
        for _ in range(3):
            x.exp().sum().backward()
            x.tanh().sum().backward()
        """
    out = xray(source).stdout
    assert "TanhBackward0" in out
    assert "ExpBackward0" not in out
    out = xray(source, options=("--at", "4")).stdout
    assert "The last of 3 backward passes called from train.py:4" in out
    assert "ExpBackward0" in out
    assert "TanhBackward0" not in out
    out = xray(source, options=("--at", "2")).stdout
    assert "No backward was called from train.py:2; backward was called from train.py:4, train.py:5." in out


def test_autograd_grad_is_a_backward(xray: Run) -> None:
    out = xray("import clew\nx = clew.ones(2, requires_grad=True)\nclew.autograd.grad(x.exp().sum(), x)").stdout
    assert "freed by autograd.grad() at train.py:3" in out


def test_no_backward(xray: Run) -> None:
    out = xray("import clew\nprint('hello')").stdout
    assert out.startswith("hello\n")
    assert "No backward pass ended" in out
    assert "nodes built                       0" in out


def test_a_script_that_ran_on_pytorch_is_told_so(xray: Run, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("")
    out = xray("import torch").stdout
    assert "clew can't see PyTorch's graphs" in out
    assert "totals" not in out
    assert "PyTorch" not in xray("import torch", options=("--as-torch",)).stdout


def test_only_one_backward(xray: Run) -> None:
    out = xray("import clew\nclew.ones(2, requires_grad=True).exp().sum().backward()").stdout
    assert "The only backward called from train.py:2" in out
    assert "Others:" not in out
    assert "── from the script's start until the end of this backward: " in out
    assert "── the step" not in out
    assert "train.py:2 called backward once, so there is no step" in out


def test_a_line_of_several_that_call_backward(xray: Run, tmp_path: Path) -> None:
    script = """
        import clew
        x = clew.ones(2, requires_grad=True)
        for _ in range(2):
            x.exp().sum().backward()
        x.tanh().sum().backward()
        """
    out = xray(script, options=("--html", "report.html")).stdout
    assert "The only backward called from train.py:5" in out
    assert "Others: 2 from train.py:4; --at train.py:4 shows the graph of that line" in out
    assert "1 backward pass at train.py:5, 2 at other lines" in (tmp_path / "report.html").read_text()


def test_a_backward_that_was_shown_node_by_node_is_not_timed(xray: Run) -> None:
    out = xray("import clew\nclew.ones(2, requires_grad=True).exp().sum().backward()", options=("--step",)).stdout
    assert re.search(r"^  backward +not timed, because it was shown node by node$", out, re.MULTILINE)


def test_an_error_of_ours_ends_the_script_and_the_report_is_there(xray: Run) -> None:
    ran = xray(
        """
        import clew
        def fail():
            x = clew.ones(256, requires_grad=True)
            y = x.exp()
            z = y.sum()
            z.backward()
            w = x.tanh()
            z.backward()
        fail()
        """
    )
    assert ran.returncode == 1
    assert "Trying to backward through the graph a second time" in ran.stderr
    assert "The script ended in" in ran.stdout
    assert "freed by backward() at train.py:6" in ran.stdout
    assert "by w: 1 node, 1.0 KiB saved" in ran.stdout  # a variable of the function that failed


def test_a_backward_inside_a_backward_is_part_of_it(xray: Run) -> None:
    out = xray(
        """
        import clew
        from clew.utils.checkpoint import checkpoint
        lin = clew.nn.Linear(4, 4)
        for _ in range(3):
            x = clew.ones(2, 4, requires_grad=True)
            checkpoint(lambda t: clew.tanh(lin(t)), x, use_reentrant=True).sum().backward()
        """
    ).stdout
    assert "The last of 3 backward passes" in out
    assert "CheckpointFunctionBackward" in out


def test_a_backward_in_a_thread(xray: Run) -> None:
    out = xray(
        """
        import threading
        import clew
        def work():
            clew.ones(2, requires_grad=True).exp().sum().backward()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        """
    ).stdout
    assert "The only backward called from train.py:4 in work" in out


def test_colour_on_a_terminal(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    pytest.importorskip("rich")
    (tmp_path / "train.py").write_text("import clew\nclew.ones(2, requires_grad=True).exp().sum().backward()\n")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "clew.cli", "xray", "train.py"]
    colours = environment(TERM="xterm-256color", NO_COLOR="", FORCE_COLOR="1")
    process = subprocess.Popen(command, cwd=tmp_path, env=colours, stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while block := os.read(ours, 4096):
            shown += block
    os.close(ours)
    assert process.wait(timeout=60) == 0
    text = shown.decode()
    assert "\x1b[" in text
    assert "ExpBackward0" in re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_limit(xray: Run) -> None:
    out = xray(
        """
        import clew
        x = z = clew.ones(2, requires_grad=True)
        for _ in range(1000):
            z = z.sin()
        z.sum().backward()
        """,
        options=("--limit", "5"),
    ).stdout
    assert "… 997 more nodes" in out


def test_the_report_does_not_change_what_lives(xray: Run) -> None:
    out = xray(
        """
        import gc, weakref
        import clew
        gc.disable()
        x = clew.ones(2, requires_grad=True)
        graphs = []
        for _ in range(3):
            y = x.exp().sum()
            y.backward(retain_graph=True)
            graphs.append(weakref.ref(y.grad_fn))
        print([graph() is not None for graph in graphs])
        """
    ).stdout
    assert out.startswith("[False, False, True]\n")


def test_nor_what_lives_in_a_function(xray: Run) -> None:
    # Python 3.11 and 3.12 keep a copy of a function's variables once somebody has asked for them.
    out = xray(
        """
        import gc, weakref
        import clew

        def main():
            graphs = []
            for _ in range(3):
                x = clew.ones(2, requires_grad=True)  # a new leaf each time: its name is looked for
                y = x.exp().sum()
                y.backward(retain_graph=True)
                graphs.append(weakref.ref(y.grad_fn))
            del x, y
            print([graph() is not None for graph in graphs])

        gc.disable()
        main()
        """
    ).stdout
    assert out.startswith("[False, False, False]\n")


def test_plain_ascii_where_nothing_else_can_be_shown(xray: Run) -> None:
    ran = xray(TRAIN, PYTHONIOENCODING="ascii")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.isascii()
    assert "* #1 MeanBackward0" in ran.stdout


def test_a_reader_that_has_seen_enough(xray: Run) -> None:
    ran = xray("import os, sys\nos.close(1)\nread, write = os.pipe()\nos.close(read)\nos.dup2(write, 1)")
    assert "Traceback" not in ran.stderr


def test_the_last_of_many_backwards_is_what_is_shown(xray: Run) -> None:
    out = xray(
        """
        import clew
        x = clew.ones(2, requires_grad=True)
        for number in range(1, 14):
            y = x
            for _ in range(number):
                y = y.tanh()
            y.sum().backward(retain_graph=number == 13)
        """
    ).stdout
    assert "The last of 13 backward passes called from train.py:7" in out
    graph = out.split("── totals")[0]
    assert graph.count("TanhBackward0") == 13
    assert "14 nodes and 1 leaf" in graph
    assert "leaf x (2,) float32" in graph
    assert "saved result (2,) float32, 8 B, held" in graph
    assert "freed" not in graph


def test_of_a_large_graph_the_nearest_nodes_and_sums_are_shown(xray: Run) -> None:
    source = """
        import clew
        x = clew.ones(2, requires_grad=True)
        for _ in range(3):
            y = x
            for _ in range(30):
                y = y.tanh()
            y.sum().backward()
        """
    graph = xray(source, options=("--limit", "5")).stdout.split("── totals")[0]
    assert "#5 TanhBackward0" in graph
    assert "#6" not in graph
    assert "31 nodes and 1 leaf" in graph
    assert "30" in graph.split("#5")[1]  # the nodes of the line, summed up


def test_a_graph_with_packed_values_before_and_after_one_without(xray: Run) -> None:
    source = """
        import clew
        x = clew.ones(2, requires_grad=True)
        def step(pack):
            with clew.autograd.graph.saved_tensors_hooks(lambda t: t.detach().numpy(), clew.from_numpy):
                packed = x.exp()
            y = packed if pack else x.tanh()
            y.sum().backward(retain_graph=True)
        for pack in (False, True, False, {last}):
            step(pack)
        """
    packed = xray(source.format(last=True)).stdout.split("── totals")[0]
    assert "ExpBackward0" in packed
    assert "saved result (2,) float32, 8 B, held" not in packed
    plain = xray(source.format(last=False)).stdout.split("── totals")[0]
    assert "TanhBackward0" in plain
    assert "ExpBackward0" not in plain
    assert "saved result (2,) float32, 8 B, held" in plain


def test_leaves_are_named_when_a_later_one_has_the_address_of_one_that_is_gone(xray: Run) -> None:
    out = xray(
        """
        import clew
        def first():
            old = clew.ones(2, requires_grad=True)
            step(old)
        def second():
            new = clew.ones(2, requires_grad=True)
            step(new)
        def step(leaf):
            leaf.exp().sum().backward()
        first()
        second()
        """
    ).stdout
    assert "leaf old" not in out
    assert "leaf leaf (2,) float32" in out or "leaf new (2,) float32" in out
