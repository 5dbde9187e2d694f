"""``--as-torch``: a script written for PyTorch runs on clew as it stands."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

Run = Callable[..., "subprocess.CompletedProcess[str]"]


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
        assert torch is clew and nn is clew.nn and F is clew.nn.functional and optim is clew.optim
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
    assert "The last of 100 backwards called from train.py:12" in ran.stdout
    assert "leaf model.weight (1, 10) float32" in ran.stdout


def test_a_part_that_is_not_there(xray: Run) -> None:
    ran = xray("import torch.onnx", options=("--as-torch",))
    assert ran.returncode == 1
    assert "No module named 'torch.onnx': with --as-torch it means 'clew.onnx', which is not there" in ran.stderr
    ran = xray("try:\n    import torch.onnx\nexcept ImportError as e:\n    print(e.name)", options=("--as-torch",))
    assert ran.stdout.startswith("torch.onnx\n")


def test_without_the_option_torch_is_not_touched(xray: Run) -> None:
    ran = xray("import sys, clew\nprint('torch' in sys.modules)")
    assert ran.stdout.startswith("False\n")
