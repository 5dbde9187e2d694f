"""PyTorch's lists of what `autocast` casts on the CPU, and what calls of these names do with their arguments.

Importing this module gives the rules to the operations and to the public functions of these names (Note [Autocast] in
bind/transforms/autocast.h). The first region does so. tests/test_autocast.py compares the lists with those of PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import clew
from clew import _core, fft, linalg
from clew._core import Tensor
from clew.nn import functional

_LOWER = """
    addbmm addmm baddbmm bmm conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d linalg_vecdot
    linear matmul mm prelu scaled_dot_product_attention
"""
_FLOAT32 = """
    adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy binary_cross_entropy_with_logits cdist
    cholesky cholesky_inverse cholesky_solve cosine_embedding_loss cross_entropy fft_fft fft_fft2 fft_fftn fft_hfft
    fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftn grid_sample
    hinge_embedding_loss huber_loss inverse kl_div l1_loss linalg_cholesky linalg_cholesky_ex linalg_cond linalg_eig
    linalg_eigh linalg_eigvals linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq
    linalg_matrix_rank linalg_qr linalg_solve linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve lu_solve
    margin_ranking_loss max_pool3d max_unpool2d max_unpool3d mse_loss multi_margin_loss multilabel_margin_loss
    nanquantile nll_loss orgqr pinverse poisson_nll_loss polar prod qr quantile reflection_pad1d reflection_pad2d
    replication_pad1d replication_pad2d replication_pad3d smooth_l1_loss soft_margin_loss stft svd trace
    triangular_solve triplet_margin_loss view_as_complex
"""
LOWER, FLOAT32 = _LOWER.split(), _FLOAT32.split()
PROMOTE = ["cat", "index_copy", "stack"]

# PyTorch computes the first by max_unpool2d. It takes a float32 matrix beside lower values in the second.
_ALSO_FLOAT32, _ALSO_PROMOTE = ["max_unpool1d"], ["linalg_solve_triangular"]

_NORMALIZATIONS = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "rms_norm"]
_HALVES = (clew.bfloat16, clew.float16)
_NAMESPACES = {"linalg_": linalg, "fft_": fft}


def _places(name: str) -> Iterator[Any]:
    """Whatever has this name: the operation, or else functions and methods that are written in Python."""
    found = [vars(_core.ops).get(name)]
    for prefix, module in _NAMESPACES.items():
        if name.startswith(prefix):
            found.append(getattr(module, name.removeprefix(prefix), None))
    if found == [None]:
        found = [getattr(place, name, None) for place in (functional, clew, Tensor)]
    for one in found:
        yield from _callable(one)


def _callable(found: Any) -> Iterator[Any]:
    """What takes a rule, also behind the wrapper of a tool that looks on."""
    while type(found) is FunctionType:
        found = getattr(found, "__wrapped__", None)
    if type(found) in (_core.Operation, _core.OverridableFunction):
        yield found


def _wide(tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.dtype in _HALVES else tensor


def _rounded(value: Any) -> Any:
    """A tensor in float32 with values of the region's dtype."""
    lower = _core.autocast_lower(value)
    return _wide(lower) if isinstance(lower, Tensor) else lower


def recurrent_layer(call: Callable[..., Any], *tensors: Any, packed: bool = False) -> Any:
    """A layer of an LSTM or RNN is of the lower dtype. One whose state stays in float32 between its products is not.

    That is a GRU and, of sequences of different lengths, an LSTM. The state is the first or the second after the input.
    """
    *given, kind, reverse = tensors
    stays = given[1] if kind == 1 else given[2] if kind == 0 and packed else None
    if stays is not None and stays.dtype is clew.float32:
        input, hx, cx, *weights = given
        return call(_rounded(input), _wide(hx), cx, *map(_rounded, weights), kind, reverse)
    return call(*_core.autocast_lower(given), kind, reverse)


def _lstm_cell(call: Callable[..., Any], input: Tensor, hx: Any, *weights: Any, **named: Any) -> Any:
    """The state stays in float32 between its products."""
    of = _rounded if hx[1].dtype is clew.float32 else _core.autocast_lower
    state = (of(hx[0]), hx[1]) if of is _rounded else _core.autocast_lower(tuple(hx))
    return call(of(input), state, *map(of, weights), **{name: of(value) for name, value in named.items()})


def _pinv(call: Callable[..., Any], input: Tensor, *others: Any, **named: Any) -> Any:
    """Of float32, but for the product that it ends with."""
    return _core.autocast_lower(call(_wide(input), *others, **named))


def _normalization(call: Callable[..., Any], input: Tensor, *others: Any, **named: Any) -> Tensor:
    """float32 weights and statistics beside an input of the lower dtype: computed in float32, rounded once."""
    float32 = any(isinstance(one, Tensor) and one.dtype is clew.float32 for one in (*others, *named.values()))
    if not float32 or input.dtype not in _HALVES:
        plain: Tensor = call(input, *others, **named)
        return plain
    result: Tensor = call(input.float(), *others, **named).to(input.dtype)
    return result


def _local_response_norm(call: Callable[..., Any], input: Tensor, *others: Any, **named: Any) -> Any:
    """PyTorch computes it by avg_pool3d, except along one axis."""
    return call(_wide(input) if input.ndim > 3 else input, *others, **named)


def _max_pool3d(call: Callable[..., Any], input: Tensor, *others: Any, **named: Any) -> Any:
    """Of float32, but for the one that gives indices."""
    indices = named.get("return_indices", others[5] if len(others) > 5 else False)
    return call(input if indices else _wide(input), *others, **named)


def _give(names: list[str], kind: int, handler: Callable[..., Any] | None = None) -> None:
    for name in names:
        for place in _places(name):
            _core.set_autocast_rule(place, kind, handler)


_give(LOWER, 1)
_give(FLOAT32 + _ALSO_FLOAT32, 2)
_give(PROMOTE + _ALSO_PROMOTE, 3)
# These functions do not always call the operations of their names.
for _function, _rule in (("adaptive_avg_pool3d", (2,)), ("max_pool3d", (4, _max_pool3d))):
    for _place in _callable(vars(functional)[_function]):
        _core.set_autocast_rule(_place, *_rule)
_give(["linalg_pinv"], 4, _pinv)
_give(["local_response_norm"], 4, _local_response_norm)
_give(["lstm_cell"], 4, _lstm_cell)
_give(["_recurrent_layer"], 4, recurrent_layer)
_give(_NORMALIZATIONS, 4, _normalization)
