"""``--as-torch``: a script written for PyTorch runs on clew as it stands."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import clew
from clew.version import PYTORCH, TorchVersion

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def python(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=cwd)


def run(program: str, *arguments: str) -> list[str]:
    """The lines that a program prints under ``clew run --as-torch``."""
    ran = python("-m", "clew.cli", "run", "--as-torch", "-c", program, *arguments)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def test_every_way_to_import(xray: Run) -> None:
    ran = xray(
        """
        import clew
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        import torch.optim
        from torch import optim, tensor
        from torch.nn import Linear
        from torch.utils.data import DataLoader, TensorDataset
        import torch.utils.data
        assert nn is clew.nn and F is clew.nn.functional and optim is clew.optim
        assert torch.nn is clew.nn and tensor is clew.tensor and Linear is clew.nn.Linear
        assert torch.utils.data.DataLoader is DataLoader is clew.utils.data.DataLoader
        assert clew.__name__ == "clew" and clew.__spec__.name == "clew" and clew.nn.__name__ == "clew.nn"
        print("all clew")
        """,
        options=("--as-torch",),
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("all clew\n")


def test_a_training_script(xray: Run) -> None:
    ran = xray(
        """
        import torch
        import torch.nn as nn

        model = nn.Linear(10, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        x = torch.randn(32, 10)
        y = torch.randn(32, 1)
        for epoch in range(100):
            pred = model(x)
            loss = ((pred - y) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        options=("--as-torch",),
    )
    assert ran.returncode == 0, ran.stderr
    assert "The last of 100 backward passes called from train.py:12" in ran.stdout
    assert "leaf model.weight (1, 10) float32" in ran.stdout


def test_reads_writes_and_deletes_reach_clew() -> None:
    program = """
import clew, torch
torch.patched = lambda: "patched"
print(clew.patched(), "patched" in dir(torch))
del torch.patched
print(hasattr(clew, "patched"), hasattr(torch, "patched"), torch.ones is clew.ones, set(dir(clew)) <= set(dir(torch)))
before, torch.relu = torch.relu, abs
print(clew.relu is abs)
"""
    assert run(program) == ["patched True", "False False True True", "True"]


def test_operators_and_methods_can_be_exchanged(tmp_path: Path) -> None:
    program = """
import torch
x, weight = torch.ones(1), torch.nn.Parameter(torch.ones(1))
before = torch.Tensor.__add__, torch.Tensor.__repr__, torch.Tensor.__getitem__, torch.Tensor.sum
torch.Tensor.__add__ = lambda self, other: "added"
torch.Tensor.__repr__ = lambda self: "<" + before[1](self) + ">"
torch.Tensor.__getitem__ = lambda self, key: ("item", key)
torch.Tensor.sum = lambda self: "summed"
print(x + 1, weight + 1, 1 + x, x, x[3], x.sum())
torch.Tensor.__add__, torch.Tensor.__repr__, torch.Tensor.__getitem__, torch.Tensor.sum = before
print(x + 1, weight + 1, x, x[0], x.sum())
torch.Tensor.of_ones_own = 3
print(x.of_ones_own)
del torch.Tensor.of_ones_own
print(hasattr(x, "of_ones_own"))
"""
    file = tmp_path / "program.py"
    file.write_text(program)
    told = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True).stdout
    assert run(program) == told.splitlines()


def test_what_is_part_of_a_module_is_imported_as_one() -> None:
    program = """
import torch.backends.cudnn as cudnn
from torch.cuda.amp import autocast, GradScaler
import torch.cuda.amp as amp
import torch.utils._pytree, importlib.util
cudnn.benchmark = True
print(torch.backends.cudnn.benchmark, amp.autocast is autocast, torch.utils._pytree.tree_leaves([1]))
print(importlib.util.find_spec("torch.package.importer"), importlib.util.find_spec("torch.nn.CTCLoss"))
"""
    assert run(program) == ["True True [1]", "None None"]


@pytest.mark.parametrize(
    "statement",
    ["from torch import sparse_bsr_tensor", "from torch.linalg import ldl_factor",
     "from torch.testing import make_tensor", "from torch.random import thread_safe_generator"],
)  # fmt: skip
def test_an_import_of_what_is_missing_says_so(statement: str) -> None:
    program = f"""
try:
    {statement}
except ModuleNotFoundError as error:
    print(isinstance(error, NotImplementedError), "docs/coverage.md" in str(error))
"""
    assert run(program) == ["True True"]


def test_what_is_not_there() -> None:
    program = """
import importlib.util, torch
x = torch.ones(1)
statements = (
    "from torch.testing import make_tensor", "from torch import sparse_bsr_tensor", "torch.empty_quantized",
    "torch.nn.no_such", "x.dequantize",
)
for statement in statements:
    try:
        exec(statement)
    except Exception as error:
        print([kind.__name__ for kind in (ImportError, AttributeError, NotImplementedError) if isinstance(error, kind)])
        print(error)
print(hasattr(torch, "empty_quantized"), hasattr(x, "dequantize"))
print(importlib.util.find_spec("torch.no_such_module"))
"""
    told = run(program)
    assert told[0::2] == [
        "['ImportError', 'NotImplementedError']",
        "['ImportError', 'NotImplementedError']",
        "['AttributeError', 'NotImplementedError']",
        "['AttributeError']",
        "['AttributeError', 'NotImplementedError']",
        "False False",
    ]
    assert told[11] == "None"
    missing = "clew does not have it (yet)"
    assert told[3].startswith(
        f"No module named 'torch.sparse_bsr_tensor': sparse_bsr_tensor: {missing}; use dense tensors"
    )
    assert told[5] == f"empty_quantized: {missing}; use float32 and float64; see docs/coverage.md"


def test_who_looks_for_pytorch_finds_clew() -> None:
    program = """
import importlib.metadata, importlib.util
print(importlib.util.find_spec("torch") is not None, importlib.metadata.version("torch"))
import torch
from packaging.version import Version
print(torch.__version__, torch.version.__version__, torch.version.cuda)
print(Version(torch.__version__) >= Version("2.4"), torch.__version__ >= (1, 10), torch.__version__ < "1.9")
"""
    version = f"{PYTORCH}+clew{clew.__version__}"
    assert run(program) == [f"True {version}", f"{version} {version} None", "True True False"]


def test_child_processes_inherit_it() -> None:
    program = """
import importlib.metadata, multiprocessing, subprocess, sys
child = "import importlib.metadata as m; print(m.version('torch')); import torch.nn as nn, clew; print(nn is clew.nn)"
print(subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=True).stdout.split())
"""
    assert run(program) == [f"['{PYTORCH}+clew{clew.__version__}', 'True']"]


def test_a_process_that_is_spawned_imports_torch(tmp_path: Path) -> None:
    script = tmp_path / "spawns.py"
    script.write_text("""
import multiprocessing
import torch

def home(_):
    return torch.nn.Linear.__module__.partition(".")[0]

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(home, [0]))
""")
    ran = python("-m", "clew.cli", "run", "--as-torch", str(script))
    assert (ran.returncode, ran.stdout) == (0, "['clew']\n"), ran.stderr


def test_in_a_program() -> None:
    ran = python("-c", "import clew; clew.as_torch(); clew.as_torch(); import torch; print(torch.ones(1))")
    assert (ran.returncode, ran.stdout) == (0, "tensor([1.])\n"), ran.stderr


def test_the_module_has_itself() -> None:
    ran = python("-c", "import clew; clew.as_torch(); import torch; print(torch.torch is torch, torch.torch.Tensor)")
    assert (ran.returncode, ran.stdout) == (0, "True <class 'torch.Tensor'>\n"), ran.stderr


def test_tests_that_were_written_for_pytorch(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import torch\ndef test_it():\n    assert torch.nn.Linear.__module__.startswith('clew.')\n"
    )
    options = ["-q", "-p", "clew.pytest_as_torch", "-p", "no:cacheprovider"]
    ran = python("-m", "pytest", *options, "test_it.py", cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 passed" in ran.stdout


def test_without_the_option_torch_is_not_touched(xray: Run) -> None:
    ran = xray("import sys, clew\nprint('torch' in sys.modules)")
    assert ran.stdout.startswith("False\n")


def test_a_version_compares_as_pytorchs_does(oracle: object) -> None:
    from torch.torch_version import TorchVersion as Theirs

    others = ["2.13.0", "2.4", "2.13.1", "10.0", "2.9.1", "2.13", "2.13.0rc1", "2.13.0a0", "2.13.0.dev1", (2, 13), (3,)]
    for version, other in itertools.product(["2.13.0", "2.13.0+cpu"], others):
        ours, theirs = TorchVersion(version), Theirs(version)
        told = [ours < other, ours <= other, ours == other, ours >= other, ours > other]
        assert told == [theirs < other, theirs <= other, theirs == other, theirs >= other, theirs > other]
        equal = ours == other
        assert (ours != other) is not equal


@pytest.mark.beyond
def test_compiled_functions_read_torch_and_see_its_patches():
    lines = run("""
import torch

@torch.compile
def step(x):
    return torch.sin(x) + torch.nn.functional.relu(x)

x = torch.ones(2)
for _ in range(4):
    step(x)
print(step.hits)
torch.sin = torch.cos
print(torch.equal(step(x), x.cos() + x.relu()))
""")
    assert lines == ["3", "True"]


def test_a_place_of_the_table_lists_its_public_names() -> None:
    told = run('import torch.functional\nprint("einsum" in torch.functional.__all__, "F" in torch.functional.__all__)')
    assert told == ["True True"]
