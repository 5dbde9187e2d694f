"""Automatic differentiation with PyTorch's names and semantics, and a graph that can be inspected and kept.

Example:
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.])

    Beyond PyTorch: `explain` tells what a graph saved and freed, `memory.stats` what that comes to, and errors of the
    graph name the lines of the program that they are about.
"""

from __future__ import annotations

import math as _math
import os as _os
import sys as _sys
from importlib import import_module as _import_module
from typing import Any as _Any

from . import _main_interpreter as _main_interpreter  # before the core is loaded

# isort: split
from . import _core
from . import _numeric as _numeric
from . import _subclass as _subclass  # gives Tensor its __torch_function__
from . import _tensor as _tensor  # gives Tensor its methods
from . import _tensor_conversions as _tensor_conversions  # more of them
from . import autograd as autograd
from . import memory as memory
from . import ops as ops
from ._core import Node as Node
from ._core import Tensor as Tensor
from ._core import dtype as dtype
from ._core import get_num_threads as get_num_threads
from ._core import set_flush_denormal as set_flush_denormal
from ._core import set_num_threads as set_num_threads
from ._device import contiguous_format as contiguous_format
from ._device import device as device
from ._device import get_default_device as get_default_device
from ._device import jagged as jagged
from ._device import layout as layout
from ._device import memory_format as memory_format
from ._device import preserve_format as preserve_format
from ._device import set_default_device as set_default_device
from ._device import sparse_bsc as sparse_bsc
from ._device import sparse_bsr as sparse_bsr
from ._device import sparse_coo as sparse_coo
from ._device import sparse_csc as sparse_csc
from ._device import sparse_csr as sparse_csr
from ._device import strided as strided
from ._methods import publish as _publish
from ._numeric import can_cast as can_cast
from ._numeric import finfo as finfo
from ._numeric import get_default_dtype as get_default_dtype
from ._numeric import iinfo as iinfo
from ._numeric import is_complex as is_complex
from ._numeric import is_floating_point as is_floating_point
from ._numeric import is_nonzero as is_nonzero
from ._numeric import is_tensor as is_tensor
from ._numeric import numel as numel
from ._numeric import promote_types as promote_types
from ._numeric import result_type as result_type
from ._numeric import set_default_dtype as set_default_dtype
from ._numeric import typename as typename
from ._size import Size as Size
from ._size import broadcast_shapes as broadcast_shapes
from ._storage import TYPED_STORAGES as _STORAGES
from ._storage import TypedStorage as TypedStorage
from ._storage import UntypedStorage as UntypedStorage
from ._storage import is_storage as is_storage
from ._switches import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from ._switches import get_float32_matmul_precision as get_float32_matmul_precision
from ._switches import set_float32_matmul_precision as set_float32_matmul_precision
from ._switches import use_deterministic_algorithms as use_deterministic_algorithms
from ._tensor_protocols import from_dlpack as from_dlpack
from ._tensor_protocols import frombuffer as frombuffer
from ._typed import CONSTRUCTORS as _CONSTRUCTORS
from ._typed import set_default_tensor_type as set_default_tensor_type
from ._unsupported import PlaceholderFinder as _PlaceholderFinder
from ._unsupported import missing_from as _missing_from
from .autograd import enable_grad as enable_grad
from .autograd import inference_mode as inference_mode
from .autograd import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from .autograd import is_anomaly_enabled as is_anomaly_enabled
from .autograd import is_grad_enabled as is_grad_enabled
from .autograd import is_inference_mode_enabled as is_inference_mode_enabled
from .autograd import no_grad as no_grad
from .autograd import set_grad_enabled as set_grad_enabled

__version__ = "0.1.0"

_core.set_package_folder(_os.path.dirname(_os.path.abspath(__file__)) + _os.sep)
if _core.isa_of_processor() not in _core.isas:
    from ._instruction_sets import warn_of_another_processor as _warn_of_another_processor

    _warn_of_another_processor(_core.isas, _core.isa_of_processor())
# Who never seeds draws other numbers each time.
_core.default_stream().seed(int.from_bytes(_os.urandom(8), "little") >> 11)
globals().update(_core.dtypes)
globals().update(_core.dtype_names)
globals().update(_CONSTRUCTORS)
globals().update(_STORAGES)
globals().update(_core.functions)
globals().update({_name: getattr(ops, _name) for _name in ops.__all__})  # written in Python: they have the last word
_of_tensors = [_name for _name in vars(_numeric) if _name in vars(Tensor)]  # is_complex and the like
_publish([*_of_tensors, "result_type", *ops.__all__], globals(), __name__)

from_numpy = _core.from_numpy
inf, nan, pi, e = _math.inf, _math.nan, _math.pi, _math.e
newaxis = None

# Loaded when they are first asked for: they are large, or few programs need them.
_MODULES = {
    "_C",
    "__config__",
    "_utils",
    "amp",
    "backends",
    "cli",
    "compiler",
    "cuda",
    "distributed",
    "fft",
    "futures",
    "hub",
    "func",
    "fx",
    "distributions",
    "graph",
    "jit",
    "keep",
    "library",
    "linalg",
    "multiprocessing",
    "nn",
    "onnx",
    "optim",
    "overrides",
    "profiler",
    "quasirandom",
    "random",
    "serialization",
    "sparse",
    "special",
    "testing",
    "types",
    "utils",
    "version",
}
_FUNCTIONS = {
    "as_torch": "_as_torch",
    "GradScaler": "amp",
    "autocast": "amp",
    "clear_autocast_cache": "amp.autocast_mode",
    "get_autocast_cpu_dtype": "amp.autocast_mode",
    "get_autocast_dtype": "amp.autocast_mode",
    "get_autocast_gpu_dtype": "amp.autocast_mode",
    "is_autocast_cache_enabled": "amp.autocast_mode",
    "is_autocast_cpu_enabled": "amp.autocast_mode",
    "is_autocast_enabled": "amp.autocast_mode",
    "set_autocast_cache_enabled": "amp.autocast_mode",
    "set_autocast_dtype": "amp.autocast_mode",
    "set_autocast_enabled": "amp.autocast_mode",
    "compile": "keep",
    "explain": "graph",
    "BudgetError": "autograd.errors",
    "KeepError": "keep",
    "KeepWarning": "keep",
    "ProgramError": "keep",
    "ReplayError": "keep",
    "_assert": "_checks",
    "_check": "_checks",
    "_check_index": "_checks",
    "_check_is_size": "_checks",
    "_check_type": "_checks",
    "_check_value": "_checks",
    "_check_with": "_checks",
    "keep_graph": "keep",
    "load_program": "keep",
    "pure": "keep",
    "load": "serialization",
    "save": "serialization",
    "set_printoptions": "_tensor_str",
    "_convert_indices_from_coo_to_csr": "sparse",
    "_convert_indices_from_csr_to_coo": "sparse",
    "dsmm": "sparse",
    "hsmm": "sparse",
    "spmm": "sparse",
    "sparse_compressed_tensor": "sparse",
    "sparse_coo_tensor": "sparse",
    "sparse_csc_tensor": "sparse",
    "sparse_csr_tensor": "sparse",
    "vmap": "func",
    "why_alive": "graph",
    "istft": "fft._short_time",
    "pca_lowrank": "linalg._low_rank",
    "stft": "fft._short_time",
    "svd_lowrank": "linalg._low_rank",
    "bilinear": "nn.functional",
    "channel_shuffle": "nn.functional",
    "cosine_similarity": "nn.functional",
    "hardshrink": "nn.functional",
    "native_channel_shuffle": "nn.functional",
    "pairwise_distance": "nn.functional",
    "pixel_shuffle": "nn.functional",
    "pixel_unshuffle": "nn.functional",
    "rms_norm": "nn.functional",
    "selu_": "nn.functional",
}


_missing = _missing_from(__name__)
_sys.meta_path.append(_PlaceholderFinder())  # type: ignore[arg-type]


def __getattr__(name: str) -> _Any:
    if name in _MODULES:
        return _import_module(f"{__name__}.{name}")
    if name in _FUNCTIONS:
        found = getattr(_import_module(f"{__name__}.{_FUNCTIONS[name]}"), name)
        globals()[name] = found
        return found
    if name.startswith("_foreach_"):
        found = _import_module(f"{__name__}._foreach").find(name)
        if found is not None:
            globals()[name] = found
            return found
    return _missing(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_FUNCTIONS})


__all__ = [_name for _name in __dir__() if not _name.startswith("_") and _name != "annotations"]
