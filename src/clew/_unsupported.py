"""Names that PyTorch has and clew has not: asking for one says so, and what to use instead.

Those in `_placeholders.txt` are there, and say so when they are called.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

PAGE = "docs/coverage.md"
_NAMES = os.path.join(os.path.dirname(__file__), "_pytorch_names.txt")

# The most special comes first. Names as in PyTorch's documentation, without `torch.`.
_SUBSTITUTES = [
    (r"(Tensor\.)?(cuda|xpu|mps|mtia|ipu|hpu|vulkan|accelerator)\b.*", "the CPU, the only device"),
    (r"nn\.parallel\.comm.*", "the collectives of clew.distributed, over MPI"),
    (r"__future__.*", "nothing: modules keep their parameters"),
    (r"backends\..*|.*cudnn.*|.*miopen.*|.*mkldnn.*|.*fbgemm.*|.*\.nnapi.*", "the CPU, the only device"),
    (r"(Tensor\.)?(pin_memory|record_stream|get_device|is_pinned)", "the CPU, the only device"),
    (r"(nn\.)?(quant|quantization|ao|intrinsic|qat|quantizable)\b.*|.*quant(?!ile).*", "float32 and float64"),
    (r"q(int8|uint8|int32|uint4x2|uint2x4)|.*(Q(U?Int\d+)|Quantized).*", "float32 and float64"),
    (r".*complex.*|.*chalf", "complex64 and complex128"),
    (r".*sparse.*|.*(coalesce|_values|_indices|crow_|col_ind|ccol_|row_ind|sspmm|smm).*", "dense tensors"),
    (r"(Tensor\.)?(align_|rename|refine_names|names|has_names|unflatten_names).*", "dimensions by their numbers"),
    (r"func\..*", "func (grad, vjp, jvp, jacrev, jacfwd, hessian) and vmap"),
    (r"onnx\..*|_C\._onnx.*", "clew.keep_graph(), and its program.to_onnx(path)"),
    (r"functorch\.(compile|dim|make_fx|experimental).*", "func (grad, vjp, jvp, jacrev, jacfwd, hessian) and vmap"),
    (r"compile|compiler\..*|_(dynamo|inductor|functorch|decomp|higher_order_ops|guards|export)\b.*",
     "clew.compile(f), and its f.why() and f.check()"),
    (r"export(\..*)?", "clew.keep_graph(), and its program.save(), to_onnx(), to_c() or to_jax()"),
    (r"fx\..*", "fx.symbolic_trace(f), or clew.keep_graph(), and its program.steps"),
    (r"(jit|_jit_internal)\..*|Script.*", "the function itself"),
    (r"utils\.mobile_optimizer.*|utils\.bundled_inputs.*", "save and load of state dicts"),
    (r"_C\..*distributed.*", "the collectives of clew.distributed, over MPI"),
    (r"_C\._(autograd|profiler).*", "`clew xray`, memory.timeline() and graph.explain()"),
    (r"_C\.(Dispatch|_get_dispatch|_functorch).*|utils\.(_python_dispatch|flop_|module_tracker).*|_subclasses.*|_ops\..*",
     "a Tensor subclass with __torch_function__, or an interpreter (docs/extending.md)"),
    (r"_C\..*", "the function itself, which runs as Python"),
    (r"utils\.cpp_extension.*|utils\.ThroughputBenchmark", "library.custom_op of a function that uses ctypes"),
    (r"ops\.aten\..*", "a composition of functions that there are (docs/operations.md)"),
    (r"(ops\.load_|_?)library.*|utils\..*(backend_reg|privateuse1).*", "library.custom_op, whose kernel is Python"),
    (r"utils\.data\.(.*DataPipe.*|(datapipes|graph|DF|DataChunk).*)", "utils.data.IterableDataset"),
    (r"utils\.data\..*", "utils.data.DataLoader"),
    (r"utils\.(weak|swap_tensors|flop).*", "tensors as they are"),
    (r"nn\..*([Ll]azy|Uninitialized).*", "the layer with its sizes given"),
    (r"nn\.(functional\.)?([Ee]mbedding_?[Bb]ag)", "nn.functional.embedding, and a sum or mean over the bag"),
    (r"nn\.(functional\.)?(grid_sample|affine_grid)", "indexing with weights of your own (autograd.Function)"),
    (r"nn\.functional\.multi_head_attention_forward", "nn.MultiheadAttention"),
    (r"nn\.(modules\.|functional\.|[A-Z]).*", "a composition of functions that there are (docs/operations.md)"),
    (r"optim\.lbfgs.*", "optim.LBFGS(line_search_fn='strong_wolfe')"),
    (r"_tensor_str\..*", "repr of a tensor"),
    (r"segment_reduce", "scatter_reduce, with an index that says the segment of each row"),
    (r"_scaled_mm|_nested.*", "matmul of dense tensors"),
    (r"autograd\._(dis|en)able_profiler", "autograd.profiler.profile"),
    (r"autograd\.functional\..*", "autograd.functional (jacobian, hessian, vjp, jvp)"),
    (r"utils\.checkpoint\..*", "utils.checkpoint.checkpoint of the parts to compute again"),
    (r"nn\._reduction.*", "the words 'none', 'mean' and 'sum'"),
    (r"nn\.utils\..*", "func.functional_call, or assigning to the module's parameters under no_grad()"),
    (r"Sym(Int|Float|Bool)|sym_.*", "int, float and bool"),
    (r"(cpu\.)?(Stream|Event)|DeviceObjType|cpu\..*|mtia.*", "the CPU, the only device"),
    (r"PyTorchFile.*|_storage.*", "save and load"),
    (r"is_.*|qscheme", "float32 and float64"),
    (r"(autograd\.)?profiler.*", "`clew xray`, memory.timeline() and graph.explain()"),
    (r"nn\.attention.*", "nn.functional.scaled_dot_product_attention"),
    (r"__config__", "`clew doctor`"),
    (r"distributed\..*", "the collectives of clew.distributed, over MPI"),
    (r"package\..*|hub\..*", "save and load of state dicts"),
    (r"nested\..*|masked\..*", "padded tensors with a mask"),
    (r"storage|.*Storage.*|Tensor\.set_.*", "tensors; untyped_storage() of a tensor"),
]  # fmt: skip


# Names that begin as those of the language do, and are PyTorch's.
_DUNDERS = {"__config__", "__future__"}
# Modules that PyTorch has, of whose names no account is kept.
_MODULES = {"__config__", "_dynamo", "_inductor"}


@functools.cache
def _placeholders() -> Any:
    return import_module("clew._placeholders")  # not as an attribute of clew, whose look-up leads here


class UnsupportedError(NotImplementedError, AttributeError):
    """PyTorch has this name, clew has not.

    It is an `AttributeError` too, so that `hasattr` answers False.

    Example:
        >>> hasattr(clew, "empty_quantized")
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
        if not name.startswith("__") or name in _DUNDERS:  # the import system asks for others at each start
            placeholders = _placeholders()
            if placeholders.has(place, name):
                value = placeholders.make(place, name)
                setattr(sys.modules[module], name, value)
                return value
        if is_pytorchs(place, name):
            raise unsupported(f"{place}.{name}".lstrip("."))
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return __getattr__


def refuses(value: Any) -> bool:
    """Whether this stands for something of PyTorch's that clew has not: calling it raises NotImplementedError."""
    return "__refuses__" in getattr(value, "__dict__", ())


class PlaceholderFinder:
    """Finds the modules of clew that are in the table of placeholders only. It is asked last."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if not name.startswith("clew."):
            return None
        placeholders = _placeholders()
        if name.partition(".")[2] not in placeholders.table():
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, placeholders.Loader(), is_package=True)
