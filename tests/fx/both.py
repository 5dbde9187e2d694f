"""The programs of `programs.py` in both libraries."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import torch

import clew

TEXT = (Path(__file__).parent / "programs.py").read_text()


def loaded(name: str) -> types.ModuleType:
    """`programs.py` with `torch` as the module of this name."""
    module = types.ModuleType(f"programs_of_{name}")
    text = TEXT.replace("import torch\n", f"import {name} as torch\n").replace("import torch.nn.", f"import {name}.nn.")
    text = text.replace("from torch import", f"from {name} import")
    exec(
        compile(
            text.replace("import torch.fx", f"import {name}.fx"), f"<programs of {name}>", "exec", dont_inherit=True
        ),
        vars(module),
    )
    return module


torch.fx.symbolic_trace  # noqa: B018  # loads it
OURS, THEIRS = loaded("clew"), loaded("torch")


def made(name: str) -> tuple[Any, Any]:
    """A program in both, with the same parameters."""
    ours, theirs = getattr(OURS, name), getattr(THEIRS, name)
    if isinstance(ours, type):
        torch.manual_seed(0)
        ours, theirs = ours(), theirs().eval()
        ours.eval().load_state_dict({key: to_clew(value) for key, value in theirs.state_dict().items()})
    return ours, theirs


def to_clew(value: Any) -> Any:
    return clew.from_numpy(value.detach().numpy().copy()) if isinstance(value, torch.Tensor) else value


def rows(graph: Any) -> list[tuple[str, str, str]]:
    """Operation, name and target of each node; of functions the name, which has its module's in PyTorch."""
    places = ("linalg_", "special_", "fft_")
    return [
        (node.op, node.name, node.target if isinstance(node.target, str) else _without(node.target.__name__, places))
        for node in graph.nodes
    ]


def _without(name: str, starts: tuple[str, ...]) -> str:
    for start in starts:
        name = name.removeprefix(start)
    return name


def neutral(code: str) -> str:
    """Code, with functions as they are called here: PyTorch prints where some are defined."""
    for private, public in (
        ("torch._C._nn.", "torch.nn.functional."),
        ("torch._C._linalg.linalg_vector_norm", "torch.linalg.vector_norm"),
        ("torch._C._linalg.linalg_", "torch.linalg."),
        ("torch._C._special.special_", "torch.special."),
        ("torch._C._fft.fft_", "torch.fft."),
        ("torch.avg_pool1d", "torch.nn.functional.avg_pool1d"),
        ("torch.adaptive_avg_pool1d", "torch.nn.functional.adaptive_avg_pool1d"),
        ("programs_of_torch", "programs_of_clew"),
        ("torch.fx._symbolic_trace.wrap", "torch.fx.wrap"),
        ("torch.functional.", "torch."),
        (", _stacklevel = 3", ""),
        (", out = None", ""),
    ):
        code = code.replace(private, public)
    return code
