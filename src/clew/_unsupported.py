"""Names that PyTorch has and clew has not: asking for one says so, and what to use instead."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from typing import Any

PAGE = "docs/coverage.md"
_NAMES = os.path.join(os.path.dirname(__file__), "_pytorch_names.txt")

# The most special comes first. Names as in PyTorch's documentation, without `torch.`.
_SUBSTITUTES = [
    (r"(Tensor\.)?(cuda|xpu|mps|mtia|ipu|hpu|vulkan|accelerator)\b.*", "the CPU, the only device"),
    (r"backends\..*|.*cudnn.*|.*miopen.*|.*mkldnn.*|.*fbgemm.*|.*\.nnapi.*", "the CPU, the only device"),
    (r"(Tensor\.)?(pin_memory|record_stream|get_device|is_pinned)", "the CPU, the only device"),
    (r"(nn\.)?(quant|quantization|ao|intrinsic|qat|quantizable)\b.*|.*quant(?!ile).*", "float32 and float64"),
    (r"q(int8|uint8|int32|uint4x2|uint2x4)|.*(Q(U?Int\d+)|Quantized).*", "float32 and float64"),
    (r"(Tensor\.)?(stft|istft)", "fft.rfft (fft.irfft) of frames that unfold makes"),
    (r".*complex.*|.*chalf", "complex64 and complex128"),
    (r".*sparse.*|.*(coalesce|_values|_indices|crow_|col_ind|ccol_|row_ind|sspmm|smm).*", "dense tensors"),
    (r"(Tensor\.)?(align_|rename|refine_names|names|has_names|unflatten_names).*", "dimensions by their numbers"),
    (r"func\..*", "func (grad, vjp, jvp, jacrev, jacfwd, hessian) and vmap"),
    (r"compile|compiler\..*|_dynamo.*|_inductor.*", "clew.compile(f), and its f.why() and f.check()"),
    (r"export(\..*)?", "clew.keep_graph(), and its program.save(), to_onnx(), to_c() or to_jax()"),
    (r"onnx\..*", "clew.keep_graph(), and its program.to_onnx(path)"),
    (r"fx\..*", "clew.keep_graph(), and its program.steps"),
    (r"jit\..*", "the function itself"),
    (r"(autograd\.)?profiler.*", "`clew xray`, memory.timeline() and graph.explain()"),
    (r"utils\.benchmark.*", "timeit, or `clew bench`"),
    (r"nn\.attention.*", "nn.functional.scaled_dot_product_attention"),
    (r"nn\.utils\.prune.*", "nn.utils.parametrize, with a module that multiplies by a mask"),
    (r"__config__", "`clew doctor`"),
    (r"distributed\..*", "the collectives of clew.distributed, over MPI"),
    (r"package\..*|hub\..*", "save and load of state dicts"),
    (r"nested\..*|masked\..*", "padded tensors with a mask"),
    (r"storage|.*Storage.*|Tensor\.set_.*", "tensors; untyped_storage() of a tensor"),
]  # fmt: skip


# Modules that PyTorch has, of whose names no account is kept.
_MODULES = {"__config__", "_dynamo", "_inductor", "nn.attention", "nn.utils.prune", "utils.benchmark"}


class UnsupportedError(NotImplementedError, AttributeError):
    """PyTorch has this name, clew has not.

    It is an `AttributeError` too, so that `hasattr` answers False.

    Example:
        >>> hasattr(clew, "stft")
        False
    """


class UnsupportedModuleError(ModuleNotFoundError, NotImplementedError):
    """PyTorch has this module, clew has not. It is a `ModuleNotFoundError` too, as scripts look for one."""


@functools.cache
def pytorch_names() -> dict[str, frozenset[str]]:
    """The public names of PyTorch by place: "" for `torch` itself, "Tensor", "nn.functional"."""
    with open(_NAMES, encoding="utf-8") as file:
        lines = file.read().splitlines()
    return {place: frozenset(names.split()) for place, _, names in (line.partition(":") for line in lines)}


def is_pytorchs(place: str, name: str) -> bool:
    """Whether PyTorch has the name there, as something or as a module."""
    full = f"{place}.{name}".lstrip(".")
    return name in pytorch_names().get(place, ()) or full in pytorch_names() or full in _MODULES


def substitute(name: str) -> str:
    """What to use instead, or nothing."""
    return next((text for pattern, text in _SUBSTITUTES if re.fullmatch(pattern, name)), "")


def told(name: str) -> str:
    """The text for a name as users write it, without `torch.`."""
    instead = substitute(name)
    return f"{name}: clew does not have it (yet); " + (f"use {instead}; " if instead else "") + f"see {PAGE}"


def unsupported(name: str) -> UnsupportedError:
    """The error for a name of PyTorch's, written as users write it (`torch.compile` is `compile`)."""
    return UnsupportedError(told(name))


def missing_from(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module that has the name of one of PyTorch's."""
    place = module.partition(".")[2]

    def __getattr__(name: str) -> Any:
        if is_pytorchs(place, name):
            raise unsupported(f"{place}.{name}".lstrip("."))
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return __getattr__
